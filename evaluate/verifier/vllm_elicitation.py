"""Elicited answers through vLLM: one engine continues the branches, a pooling engine gives the states of what it said.

The pooling engine's token embeddings are the last layer after the final norm, the same as transformers' last hidden
state; its default normalisation must be switched off.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from multilingual_math_audit.errors import EngineError, MissingExtra
from multilingual_math_audit.evaluate.engines.catalogue import EngineConfig
from multilingual_math_audit.evaluate.verifier.elicitation import (
    ELICITATION,
    LONGEST,
    Branch,
    Elicited,
    ModelFacts,
    closing,
)


class VllmElicitor:
    """Answers through vLLM, all branches of a problem at once; the prefix cache reads each sequence only once."""

    def __init__(self, config: EngineConfig, *, elicitation: str = ELICITATION) -> None:
        from multilingual_math_audit.evaluate.engines.template import PromptTemplate
        from multilingual_math_audit.evaluate.engines.vllm import longest_context
        from multilingual_math_audit.evaluate.engines.vllm_settings import (
            engine_arguments,
            prepare_environment,
            runs_on_cpu,
        )
        from multilingual_math_audit.evaluate.engines.weights import explain_load_error, folder_revision, public_name

        cpu = runs_on_cpu()
        os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "1")  # two engines at once, each in its own process
        prepare_environment(cpu=cpu)
        try:
            from vllm import LLM
            from vllm.config import PoolerConfig
        except ImportError:
            raise MissingExtra("The vllm engine", "vllm") from None
        arguments = engine_arguments(config, cpu=cpu, context=longest_context(config) if cpu else None)
        if not cpu:
            arguments.setdefault("gpu_memory_utilization", 0.4)
        pooling = PoolerConfig(task="token_embed")
        whole = {**arguments, "enable_prefix_caching": False}  # else only the states that are not cached come back
        try:
            self.writer = LLM(**arguments)
            self.reader = LLM(**whole, runner="pooling", convert="embed", pooler_config=pooling)
        except Exception as error:
            raise explain_load_error(config.model, error) from error
        self.tokenizer = self.writer.get_tokenizer()
        model = self.writer.llm_engine.model_config
        text = model.hf_text_config
        self.facts = ModelFacts(
            model=public_name(config.model),
            revision=config.revision or folder_revision(config.model),
            layer=int(text.num_hidden_layers),
            width=int(text.hidden_size),
            heads=int(text.num_attention_heads),
            norm="post",
            dtype=str(model.dtype).removeprefix("torch."),
            template=PromptTemplate(self.tokenizer, public_name(config.model)),
        )
        self.question = self.encode(elicitation)
        self.count = 0

    def encode(self, text: str) -> list[int]:
        """A text as tokens, without special ones."""
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def decode(self, tokens: Sequence[int]) -> str:
        """Tokens as text."""
        text: str = self.tokenizer.decode(list(tokens), skip_special_tokens=True)
        return text

    def close(self) -> None:
        """Let go of both engines."""
        import gc

        self.writer = self.reader = None
        gc.collect()

    def elicit(self, prompt: list[int], sequences: Sequence[list[int]], branches: Sequence[Branch]) -> list[Elicited]:
        """The answers at the branches of one problem's sequences, in the order of the branches."""
        from vllm import SamplingParams

        asked = [[*prompt, *sequences[b.sequence][: b.keep], *self.question] for b in branches]
        greedy = SamplingParams(temperature=0.0, max_tokens=LONGEST, logprobs=0, detokenize=False)
        outputs = self.writer.generate([{"prompt_token_ids": ids} for ids in asked], greedy, use_tqdm=False)
        return self._read(asked, branches, outputs)

    def ask_between(
        self, prefixes: Sequence[list[int]], branches: Sequence[Branch], engine: Any, note: Callable[[Any], None]
    ) -> list[Elicited]:
        """The answers after some prefixes while other requests are in flight; `note` is handed the others' outputs."""
        from vllm import SamplingParams

        asked = [[*prefix, *self.question] for prefix in prefixes]
        greedy = SamplingParams(temperature=0.0, max_tokens=LONGEST, logprobs=0, detokenize=False)
        self.count += 1
        names = [f"ask-{self.count}-{place}" for place in range(len(asked))]
        for name, ids in zip(names, asked, strict=True):
            engine.add_request(name, {"prompt_token_ids": ids}, greedy)
        done: dict[str, Any] = {}
        while len(done) < len(names):
            for output in engine.step():
                if output.request_id not in names:
                    note(output)
                elif output.finished:
                    done[output.request_id] = output
        return self._read(asked, branches, [done[name] for name in names])

    def _read(self, asked: Sequence[list[int]], branches: Sequence[Branch], outputs: Sequence[Any]) -> list[Elicited]:
        answers = []
        for branch, output in zip(branches, outputs, strict=True):
            said = output.outputs[0]
            chosen = [said.logprobs[at][token].logprob for at, token in enumerate(said.token_ids)]
            answers.append(self._trim(Elicited(branch, list(said.token_ids), chosen)))
        for answer, states in zip(answers, self._states(asked, answers), strict=True):
            answer.states = list(states)
        return answers

    def _trim(self, answer: Elicited) -> Elicited:
        """Cut an answer after the token in which its brace closes; an end token counts only when nothing was said."""
        end = self.tokenizer.eos_token_id
        if end in answer.tokens[1:]:
            answer.tokens = answer.tokens[: answer.tokens.index(end, 1)]
        for count in range(1, len(answer.tokens) + 1):
            text = self.decode(answer.tokens[:count])
            at = closing(text)
            answer.text = (text if at < 0 else text[:at]).strip()
            if at >= 0:
                answer.closed = True
                answer.tokens = answer.tokens[:count]
                break
        answer.logprobs = answer.logprobs[: len(answer.tokens)]
        return answer

    def _states(self, asked: Sequence[list[int]], answers: Sequence[Elicited]) -> list[Any]:
        """[T, d] float32 states of each answer; an answer that ended at once is read at the question's last token."""
        from vllm import PoolingParams

        end = self.tokenizer.eos_token_id
        texts = [
            ids if answer.tokens == [end] else [*ids, *answer.tokens]
            for ids, answer in zip(asked, answers, strict=True)
        ]
        outputs = self.reader.encode(
            [{"prompt_token_ids": ids} for ids in texts],
            PoolingParams(use_activation=False),
            pooling_task="token_embed",
            use_tqdm=False,
        )
        states = []
        for ids, answer, output in zip(texts, answers, outputs, strict=True):
            rows = output.outputs.data.float().cpu()
            if len(rows) != len(ids):
                raise EngineError(
                    f"vLLM gave {len(rows)} states for {len(ids)} tokens.",
                    "Leave its prefix cache off for pooling (the default), or use --engine transformers.",
                )
            states.append(rows[-len(answer.tokens) :])
        return states
