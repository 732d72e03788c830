"""Live early stopping in vLLM: requests step together, due answers are elicited between steps, the rest is aborted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from multilingual_math_audit.evaluate.engines.protocol import EngineFacts, Request, Sample, SamplingSettings
from multilingual_math_audit.evaluate.verifier.checkers import Checker
from multilingual_math_audit.evaluate.verifier.elicitation import Branch, every
from multilingual_math_audit.evaluate.verifier.live import Outcome, Watch, delimiter_of
from multilingual_math_audit.evaluate.verifier.model import MultiSequenceVerifier
from multilingual_math_audit.evaluate.verifier.vllm_elicitation import VllmElicitor


@dataclass(slots=True)
class _Stream:
    """One request in flight: its tokens so far, and up to where its answers have been asked for."""

    request: Request
    number: int
    tokens: list[int] = field(default_factory=list)
    asked: int = 0
    reason: str | None = None


class VllmEarlyStopEngine:
    """An engine that decodes all samples of a problem in vLLM and aborts those still running once one answer is sure.

    vLLM moves its requests on together, so that answers of one time are there before any later one is scored.
    """

    def __init__(
        self,
        elicitor: VllmElicitor,
        model: MultiSequenceVerifier,
        threshold: float,
        checker: Checker,
        on_outcome: Callable[[list[str], Outcome], None],
    ) -> None:
        self.delimiter = delimiter_of(model, elicitor.facts, threshold)
        self.step = every(self.delimiter) if self.delimiter.startswith("every:") else 0
        self.elicitor, self.verifier, self.threshold = elicitor, model, threshold
        self.checker, self.on_outcome = checker, on_outcome
        self.aborted: list[str] = []

    def facts(self) -> EngineFacts:
        """Model and revision."""
        return EngineFacts("vllm", self.elicitor.facts.model, self.elicitor.facts.revision)

    def close(self) -> None:
        """Let go of vLLM."""
        self.elicitor.close()

    def generate(self, requests: Iterable[Request], settings: SamplingSettings) -> Iterator[Sample]:
        """Samples problem by problem."""
        for _, group in groupby(requests, key=lambda request: request.messages):
            streams = [_Stream(request, number) for number, request in enumerate(group)]
            prompt = self.elicitor.facts.template.encode(streams[0].request.messages, settings.mode)
            outcome = self._solve(streams, prompt, settings)
            self.on_outcome([stream.request.id for stream in streams], outcome)
            opening = self.elicitor.facts.template.opening(settings.mode)
            for stream in streams:
                ended = bool(stream.tokens) and stream.tokens[-1] == self.elicitor.tokenizer.eos_token_id
                yield Sample(
                    request_id=stream.request.id,
                    text=opening + self.elicitor.decode(stream.tokens[:-1] if ended else stream.tokens),
                    finish_reason="stop" if stream.reason == "stop" else "length" if stream.reason else "aborted",
                    prompt_tokens=len(prompt),
                    completion_tokens=len(stream.tokens),
                    seed=stream.request.seed,
                )

    def _solve(self, streams: list[_Stream], prompt: list[int], settings: SamplingSettings) -> Outcome:
        from vllm import SamplingParams

        engine = self.elicitor.writer.llm_engine
        watch, outcome = Watch(self.verifier, len(streams), self.threshold, self.checker), Outcome()
        by_name = {stream.request.id: stream for stream in streams}
        for stream in streams:
            parameters = SamplingParams(
                temperature=settings.temperature,
                top_p=settings.top_p,
                max_tokens=settings.max_tokens,
                seed=stream.request.seed,
                detokenize=False,
            )
            engine.add_request(stream.request.id, {"prompt_token_ids": prompt}, parameters)
        spent = {"generation": 0.0, "elicitation": 0.0}
        sure = False
        while not sure:
            start = time.perf_counter()
            if engine.has_unfinished_requests():
                for output in engine.step():
                    stream = by_name[output.request_id]
                    stream.tokens = list(output.outputs[0].token_ids)
                    stream.reason = output.outputs[0].finish_reason if output.finished else None
            spent["generation"] += time.perf_counter() - start
            ready = self._ready(streams)
            if not ready and not engine.has_unfinished_requests():
                break
            for moment, due in ready:
                start = time.perf_counter()
                answers = self._ask(due, prompt, engine, by_name)
                spent["elicitation"] += time.perf_counter() - start
                outcome.branch += sum(len(answer.tokens) for answer in answers)
                outcome.branch += len(self.elicitor.question) * len(answers)
                outcome.time = moment
                if sure := watch.see(moment, answers, ended=[ended for _, _, ended in due]):
                    break
        running = [stream.request.id for stream in streams if stream.reason is None]
        if running:
            engine.abort_request(running)
            self.aborted += running
        outcome.generated = sum(len(stream.tokens) for stream in streams)
        outcome.aborted, outcome.finished = len(running), len(streams) - len(running)
        outcome.seconds = spent
        return watch.conclude(stopped=sure, outcome=outcome)

    def _ready(self, streams: list[_Stream]) -> list[tuple[int, list[tuple[_Stream, int, bool]]]]:
        """Times whose answers can be asked for: all that every running request has passed, in order."""
        running = [len(stream.tokens) for stream in streams if stream.reason is None]
        horizon = min(running) if running else 10**9
        due: dict[int, list[tuple[_Stream, int, bool]]] = {}
        for stream in streams:
            length = len(stream.tokens)
            for at in range(stream.asked + 1, min(length, horizon) + 1):
                stream.asked = at
                if at == length and stream.reason is not None:
                    due.setdefault(at, []).append((stream, length - 1, True))
                elif self.step and at % self.step == 0:
                    due.setdefault(at, []).append((stream, at, False))
                elif not self.step and self.elicitor.decode([stream.tokens[at - 1]]).strip() == self.delimiter:
                    due.setdefault(at, []).append((stream, at - 1, False))
        return sorted(due.items(), key=lambda item: item[0])

    def _ask(
        self, due: list[tuple[_Stream, int, bool]], prompt: list[int], engine: Any, by_name: dict[str, _Stream]
    ) -> list[Any]:
        """The answers of one time, elicited in the same engine while the other requests move on."""

        def note(output: Any) -> None:
            stream = by_name[output.request_id]
            stream.tokens = list(output.outputs[0].token_ids)
            stream.reason = output.outputs[0].finish_reason if output.finished else None

        branches = [Branch(stream.number, keep, keep) for stream, keep, _ in due]
        texts = [stream.tokens[:keep] for stream, keep, _ in due]
        prompts = [[*prompt, *tokens] for tokens in texts]
        return self.elicitor.ask_between(prompts, branches, engine, note)
