"""Token budgets as counts: stop rates, what a larger budget changes, and the counterfactual that credits stops.

Pure functions on counts. A stop is a sample that met its limit of new tokens, with or without an answer or verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.counts import JudgeCounts, QuestionCounts
from multilingual_math_audit.evaluate.metrics import Numbers, pass_at_k
from multilingual_math_audit.evaluate.statistics import wilson_interval

NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Share:
    """`part` of `whole` with Wilson's 95% interval; all NaN when the whole is empty."""

    part: int
    whole: int

    @property
    def value(self) -> float:
        return self.part / self.whole if self.whole else NAN

    @property
    def bounds(self) -> tuple[float, float]:
        low, high = wilson_interval(self.part, self.whole)
        return low, high


def stop_rate(stopped: int, total: int) -> Share:
    """The share of samples that met their limit; raises UsageError for counts that cannot be.

    >>> share = stop_rate(1, 4)
    >>> share.value, [round(end, 3) for end in share.bounds]
    (0.25, [0.046, 0.699])
    """
    if not 0 <= stopped <= total:
        raise UsageError(f"There cannot be {stopped} stops among {total} samples.")
    return Share(stopped, total)


def solver_stops(questions: Iterable[QuestionCounts]) -> Share:
    """The share of a solver's samples that met the limit, among those that say how they ended."""
    rows = list(questions)
    return stop_rate(sum(q.stopped for q in rows), sum(q.n - q.unknown_stops for q in rows))


def judge_stops(questions: Iterable[QuestionCounts], judge: str) -> Share:
    """The share of a judge's judgments that met the limit, with a verdict or not, of those that say how they ended."""
    counts = [q.judges[judge] for q in questions if judge in q.judges]
    return stop_rate(sum(c.stopped for c in counts), sum(c.judgments - c.unknown_stops for c in counts))


def count_tokens(parts: Iterable[QuestionCounts | JudgeCounts]) -> int | None:
    """The new tokens of samples or judgments; None where some do not say how long they are."""
    rows = list(parts)
    return None if any(part.unknown_tokens for part in rows) else sum(part.completion_tokens for part in rows)


def no_verdicts(questions: Iterable[QuestionCounts], judge: str) -> Share:
    """The share of a judge's judgments without a verdict, for whatever reason."""
    counts = [q.judges[judge] for q in questions if judge in q.judges]
    return stop_rate(sum(sum(c.no_verdict.values()) for c in counts), sum(c.judgments for c in counts))


def credited_values(questions: Sequence[QuestionCounts], judge: str, k: int) -> Numbers:
    """CoT-Pass@k of each question with stopped judgments without a verdict credited as approvals, shape (questions,).

    The same majority rule is applied to the credited votes, so the value can only rise. NaN where judgments are
    pending or do not say how they ended; raises UsageError when credited counts lie below the observed ones, which no
    crediting can do.
    """
    credited: list[int] = []
    defined: list[bool] = []
    for question in questions:
        counts = question.judges.get(judge)
        observed = 0 if counts is None else counts.approved.get("majority", 0)
        value = 0 if counts is None else counts.credited
        if value < observed:
            raise UsageError(f"{question.problem_id}: {value} credited approvals are fewer than {observed} observed.")
        credited.append(value)
        defined.append(
            question.correct == 0 or (counts is not None and not counts.pending and not counts.unknown_stops)
        )
    values = np.atleast_1d(pass_at_k([q.n for q in questions], credited, k)).astype(np.float64)
    values[~np.array(defined, dtype=bool)] = NAN
    return values


@dataclass(frozen=True, slots=True)
class Rung:
    """One budget of a ladder: stop rate, Pass@1, Pass@n and how many questions were solved at least once."""

    budget: int | None
    stops: Share
    pass_at_1: float
    pass_at_n: float
    solved: int
    questions: int


def budget_rung(questions: Sequence[QuestionCounts], *, budget: int | None) -> Rung:
    """What a solver does with one budget on one benchmark; NaN where a question is incomplete.

    >>> q = QuestionCounts("b/1", "1", "b", "en", "m", 4, 1, 0, 2, 400)
    >>> rung = budget_rung([q], budget=512)
    >>> rung.stops.value, rung.pass_at_1, rung.pass_at_n, rung.solved
    (0.5, 0.25, 1.0, 1)
    """
    n, correct = [q.n for q in questions], [q.correct for q in questions]
    whole = bool(questions) and min(n) > 0 and not any(q.ungraded for q in questions)
    first = float(np.mean(pass_at_k(n, correct, 1))) if whole else NAN
    last = float(np.mean(pass_at_k(n, correct, min(n)))) if whole else NAN
    return Rung(budget, solver_stops(questions), first, last, sum(c > 0 for c in correct), len(n))


def questions_to_points(lost: int, total: int) -> float:
    """A whole number of questions in percentage points of a benchmark.

    >>> round(questions_to_points(14, 32), 2)
    43.75
    """
    if not 0 <= lost <= total or total == 0:
        raise UsageError(f"There cannot be {lost} of {total} questions.")
    return 100 * lost / total
