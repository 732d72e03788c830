"""Live early stopping: all samples of a problem decode together, and decoding stops once an answer is sure enough.

Intermediate answers branch off the running sequences' cache; the verifier scores them as they appear; when one passes
the threshold, the sequences still running are aborted.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
import torch

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.engines.protocol import EngineFacts, Request, Sample, SamplingSettings
from multilingual_math_audit.evaluate.engines.sampler import draw_tokens
from multilingual_math_audit.evaluate.verifier.checkers import Checker, normalised
from multilingual_math_audit.evaluate.verifier.elicitation import (
    END,
    Branch,
    Elicited,
    ModelFacts,
    TransformersElicitor,
    every,
)
from multilingual_math_audit.evaluate.verifier.model import MultiSequenceVerifier
from multilingual_math_audit.evaluate.verifier.streaming import NewAnswer, StreamingVerifier


@dataclass(slots=True)
class Outcome:
    """How one problem ended: when, with which answer and how sure, and what was spent on it.

    `time` is in tokens of a sequence; `generated` counts the tokens of all sequences, `branch` those of elicited
    answers; `aborted` sequences were still running. Seconds are split by what they were spent on.
    """

    stopped: bool = False
    time: int = 0
    answer: str = ""
    confidence: float = float("nan")
    generated: int = 0
    branch: int = 0
    aborted: int = 0
    finished: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The outcome as plain values."""
        return asdict(self)


class Watch:
    """The answers of one problem so far: each is compared, scored and remembered, and the surest one so far is kept."""

    def __init__(self, model: MultiSequenceVerifier, size: int, threshold: float, checker: Checker) -> None:
        self.online = StreamingVerifier(model, size)
        self.threshold, self.checker = threshold, checker
        self.texts: list[str] = []
        self.known: dict[tuple[str, str], bool] = {}
        self.best: tuple[float, int, str] = (-1.0, 0, "")
        self.terminal: dict[int, tuple[float, str]] = {}
        self.seconds = {"checker": 0.0, "verifier": 0.0}

    def see(self, moment: int, answers: Sequence[Elicited], *, ended: Sequence[bool]) -> bool:
        """Score the answers of one time; true once one of them passes the threshold."""
        start = time.perf_counter()
        self.texts += [answer.text for answer in answers]
        equal = [np.array([self._same(answer.text, text) for text in self.texts]) for answer in answers]
        for row, place in zip(equal, range(len(self.texts) - len(answers), len(self.texts)), strict=True):
            row[place] = True
        middle = time.perf_counter()
        arrivals = [
            NewAnswer(answer.branch.sequence, torch.stack(answer.states), row)
            for answer, row in zip(answers, equal, strict=True)
        ]
        scores = self.online.append(moment, arrivals)
        self.seconds["checker"] += middle - start
        self.seconds["verifier"] += time.perf_counter() - middle
        for answer, score, end in zip(answers, scores.tolist(), ended, strict=True):
            if end:
                self.terminal[answer.branch.sequence] = (score, answer.text)
        highest = int(np.argmax(scores))
        if scores[highest] > self.threshold:
            self.best = (float(scores[highest]), moment, answers[highest].text)
            return True
        return False

    def _same(self, a: str, b: str) -> bool:
        pair = (normalised(a), normalised(b))
        if pair not in self.known:
            self.known[pair] = self.known[pair[::-1]] = bool(self.checker(list(pair))[0, 1])
        return self.known[pair]

    def conclude(self, *, stopped: bool, outcome: Outcome) -> Outcome:
        """The outcome's answer: the one that passed, else the surest terminal one, the first of equals."""
        if not stopped and self.terminal:
            _, best = min((-score, sequence) for sequence, (score, _) in self.terminal.items())
            score, text = self.terminal[best]
            self.best = (score, outcome.time, text)
        outcome.stopped, outcome.confidence, outcome.answer = stopped, self.best[0], self.best[2]
        outcome.seconds |= self.seconds
        return outcome


def delimiter_of(model: MultiSequenceVerifier, facts: ModelFacts, threshold: float) -> str:
    """Where a verifier asks for answers; raises UsageError for a threshold that is none and states it does not know."""
    if not 0 <= threshold <= 1:
        raise UsageError(f"A threshold of {threshold} is no probability.")
    about = {"model": facts.model, "revision": facts.revision, "layer": facts.layer, "norm": facts.norm}
    model.require(facts.width, about)
    return str((model.config.source or {}).get("delimiter", END))


@dataclass(slots=True)
class _Row:
    request: Request
    number: int
    generator: random.Random
    tokens: list[int] = field(default_factory=list)


class EarlyStopEngine:
    """An engine that answers like the transformers engine it wraps, but stops a problem once the verifier is sure.

    Consecutive requests with the same conversation are one problem. A finished sample is what the wrapped engine would
    have given, token for token; an aborted one has its text so far and the finish reason `unknown`. `on_outcome` is
    told each problem's request ids and outcome.
    """

    def __init__(
        self,
        elicitor: TransformersElicitor,
        model: MultiSequenceVerifier,
        threshold: float,
        checker: Checker,
        on_outcome: Callable[[list[str], Outcome], None],
    ) -> None:
        self.delimiter = delimiter_of(model, elicitor.facts, threshold)
        self.elicitor, self.verifier, self.threshold = elicitor, model, threshold
        self.checker, self.on_outcome = checker, on_outcome
        self.step = every(self.delimiter) if self.delimiter.startswith("every:") else 0

    def facts(self) -> EngineFacts:
        """Those of the wrapped engine."""
        facts: EngineFacts = self.elicitor.engine.facts()
        return facts

    def close(self) -> None:
        """Let go of the model."""
        self.elicitor.close()

    def generate(self, requests: Iterable[Request], settings: SamplingSettings) -> Iterator[Sample]:
        """Samples problem by problem: those that finished, then those that were aborted."""
        for _, group in groupby(requests, key=lambda request: request.messages):
            rows = [_Row(request, number, random.Random(request.seed)) for number, request in enumerate(group)]
            names = [row.request.id for row in rows]
            samples, outcome = self._solve(rows, settings)
            self.on_outcome(names, outcome)
            yield from samples

    def _solve(self, rows: list[_Row], settings: SamplingSettings) -> tuple[list[Sample], Outcome]:
        prompt = self.elicitor.engine.template.encode(rows[0].request.messages, settings.mode)
        watch = Watch(self.verifier, len(rows), self.threshold, self.checker)
        outcome, samples, moment = Outcome(), [], 0
        generation = elicitation = 0.0
        with torch.inference_mode():
            start = time.perf_counter()
            cache, logits = self._begin(prompt, len(rows))
            while rows:
                moment += 1
                drawn = draw_tokens(
                    logits, [r.generator for r in rows], temperature=settings.temperature, top_p=settings.top_p
                )
                outcome.generated += len(rows)
                ended = self._take(rows, drawn, settings)
                generation += time.perf_counter() - start
                start = time.perf_counter()
                answers = self._ask(cache, [rows[place] for place in ended], ended, len(prompt), fed=moment - 1)
                elicitation += time.perf_counter() - start
                samples += [self._sample(rows[place], prompt, settings, done=True) for place in ended]
                going = [place for place in range(len(rows)) if place not in set(ended)]
                start = time.perf_counter()
                rows = [rows[place] for place in going]
                if rows:
                    logits = self._advance(cache, rows, going, shrink=bool(ended))
                generation += time.perf_counter() - start
                start = time.perf_counter()
                due = [place for place, row in enumerate(rows) if self._is_due(row, moment)]
                more = self._ask(cache, [rows[p] for p in due], due, len(prompt), fed=moment - (self.step == 0))
                elicitation += time.perf_counter() - start
                outcome.branch += sum(len(answer.tokens) for answer in [*answers, *more])
                outcome.branch += len(self.elicitor.question) * (len(answers) + len(more))
                flags = [True] * len(answers) + [False] * len(more)
                if flags and watch.see(moment, [*answers, *more], ended=flags):
                    break
                start = time.perf_counter()
        outcome.time, outcome.aborted, outcome.finished = moment, len(rows), len(samples)
        outcome.seconds = {"generation": generation, "elicitation": elicitation}
        samples += [self._sample(row, prompt, settings, done=False) for row in rows]
        stopped = watch.best[0] > self.threshold
        return samples, watch.conclude(stopped=stopped, outcome=outcome)

    def _begin(self, prompt: list[int], count: int) -> tuple[Any, torch.Tensor]:
        model = self.elicitor.model
        output = model(input_ids=torch.tensor([prompt], device=model.device), use_cache=True, logits_to_keep=1)
        zeros = torch.zeros(count, dtype=torch.long, device=model.device)
        return self.elicitor.select(output.past_key_values, zeros), output.logits[:, -1][zeros]

    def _take(self, rows: list[_Row], drawn: list[int], settings: SamplingSettings) -> list[int]:
        """Add the tokens drawn; gives the places of the rows that have ended."""
        ended = []
        for place, (row, token) in enumerate(zip(rows, drawn, strict=True)):
            row.tokens.append(token)
            if token in self.elicitor.ends or len(row.tokens) >= settings.max_tokens:
                ended.append(place)
        return ended

    def _advance(self, cache: Any, rows: list[_Row], going: list[int], *, shrink: bool) -> torch.Tensor:
        model = self.elicitor.model
        if shrink:
            cache.batch_select_indices(torch.tensor(going, device=model.device))
        last = torch.tensor([[row.tokens[-1]] for row in rows], device=model.device)
        output = model(input_ids=last, past_key_values=cache, use_cache=True, logits_to_keep=1)
        logits: torch.Tensor = output.logits[:, -1]
        return logits

    def _is_due(self, row: _Row, moment: int) -> bool:
        if self.step:
            return moment % self.step == 0
        return self.delimiter != END and self.elicitor.decode([row.tokens[-1]]).strip() == self.delimiter

    def _ask(self, cache: Any, rows: list[_Row], places: list[int], prompt: int, *, fed: int) -> list[Elicited]:
        if not rows:
            return []
        chosen = torch.tensor(places, device=self.elicitor.model.device)
        known = torch.full((len(rows),), prompt + fed, device=chosen.device)
        branches = [Branch(row.number, fed, fed) for row in rows]
        return self.elicitor.branch(self.elicitor.select(cache, chosen), branches, known)

    def _sample(self, row: _Row, prompt: list[int], settings: SamplingSettings, *, done: bool) -> Sample:
        closed = row.tokens[-1] in self.elicitor.ends
        text = self.elicitor.decode(row.tokens[:-1] if closed else row.tokens)
        return Sample(
            request_id=row.request.id,
            text=self.elicitor.engine.template.opening(settings.mode) + text,
            finish_reason=("stop" if closed else "length") if done else "aborted",
            prompt_tokens=len(prompt),
            completion_tokens=len(row.tokens),
            seed=row.request.seed,
        )
