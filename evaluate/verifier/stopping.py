"""Stopping parallel decoding once an answer is sure enough: the rule, its price in tokens, and its curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multilingual_math_audit.errors import UndefinedScore, UsageError
from multilingual_math_audit.evaluate.verifier.groups import Group

THRESHOLDS = tuple(round(0.01 * step, 2) for step in range(101))
HORIZON = 4096
BRANCH_TOKENS = 20


@dataclass(frozen=True, slots=True)
class Stop:
    """Where one problem stopped: its time in tokens (latency), the answer given, and all tokens spent.

    `generated` counts the tokens of all sequences up to the stop, `branch` those of the answers elicited on the way.
    """

    time: int
    answer: int
    triggered: bool
    correct: bool
    generated: int
    branch: int

    @property
    def total(self) -> int:
        """All tokens spent."""
        return self.generated + self.branch


@dataclass(frozen=True, slots=True)
class Point:
    """One threshold over a set of problems: accuracy, and mean latency and total tokens per problem."""

    threshold: float
    accuracy: float
    latency: float
    tokens: float
    saved: float
    triggered: float


def stop(group: Group, scores: NDArray[np.float64], threshold: float, *, elicitation: int = 0) -> Stop:
    """Stop at the first time any visible answer scores above `threshold`, and give that answer.

    Ties at that time go to the higher score, then the lower sequence. If none ever does, the terminal answer with the
    highest score is given at the end of the longest sequence. `elicitation` tokens are spent on asking for each answer
    besides the answer itself.
    """
    if scores.shape != (len(group.lengths),) or np.isnan(scores).any():
        raise UndefinedScore(f"{len(group.lengths)} answers need one score each.", "Score them with stream().")
    time, sequence = group.time.numpy(), group.sequence.numpy()
    sure = np.flatnonzero(scores > threshold)
    here = sure[time[sure] == time[sure].min()] if sure.size else np.flatnonzero(group.terminal.numpy())
    best = int(here[np.lexsort((sequence[here], -scores[here]))[0]])
    ends = np.zeros(group.size, dtype=np.int64)
    np.maximum.at(ends, sequence, time)
    at = int(time[best]) if sure.size else int(ends.max())
    issued = time <= at
    branch = int(group.lengths.numpy()[issued].sum() + elicitation * issued.sum())
    correct = bool(group.correct[best]) if group.correct is not None else False
    return Stop(at, best, bool(sure.size), correct, int(np.minimum(ends, at).sum()), branch)


def whole_cost(group: Group, *, elicitation: int = 0) -> int:
    """Tokens of decoding everything and asking each sequence once, at its end: what stopping is compared with."""
    final = group.terminals()
    return int(final.time.sum() + final.lengths.sum() + elicitation * len(final.lengths))


def curve(
    problems: Sequence[Group],
    scores: Sequence[NDArray[np.float64]],
    thresholds: Sequence[float] = THRESHOLDS,
    *,
    elicitation: int = 0,
) -> list[Point]:
    """One point per threshold: a higher one stops later. Problems without correctness raise UsageError."""
    if not problems or any(problem.correct is None for problem in problems):
        raise UsageError("A stopping curve needs problems whose answers' correctness is known.", "Grade the run first.")
    whole = np.mean([whole_cost(problem, elicitation=elicitation) for problem in problems])
    points = []
    for threshold in thresholds:
        stops = [stop(g, s, threshold, elicitation=elicitation) for g, s in zip(problems, scores, strict=True)]
        tokens = float(np.mean([one.total for one in stops]))
        points.append(
            Point(
                threshold=threshold,
                accuracy=float(np.mean([one.correct for one in stops])),
                latency=float(np.mean([one.time for one in stops])),
                tokens=tokens,
                saved=float(1 - tokens / whole),
                triggered=float(np.mean([one.triggered for one in stops])),
            )
        )
    return points


def count_stops(
    problems: Sequence[Group],
    scores: Sequence[NDArray[np.float64]],
    benchmarks: Sequence[str],
    thresholds: Sequence[float],
    *,
    elicitation: int = 0,
) -> dict[str, list[dict[str, float]]]:
    """What a submission holds: by benchmark and threshold the questions, those answered right, and tokens in all."""
    counts: dict[str, list[dict[str, float]]] = {}
    for threshold in thresholds:
        stops = [stop(g, s, threshold, elicitation=elicitation) for g, s in zip(problems, scores, strict=True)]
        for benchmark in dict.fromkeys(benchmarks):
            mine = [one for one, name in zip(stops, benchmarks, strict=True) if name == benchmark]
            tokens = sum(one.total for one in mine)
            right = sum(one.correct for one in mine)
            entry = {"threshold": threshold, "questions": len(mine), "correct": right, "tokens": tokens}
            counts.setdefault(benchmark, []).append(entry)
    return counts


def autc(points: Sequence[Point], *, horizon: int = HORIZON) -> float:
    """Area under the curve of accuracy against mean latency up to `horizon` tokens, in accuracy times tokens.

    The curve starts at (0, 0) and keeps its last accuracy to the horizon; points of one latency keep the order of
    accuracy. Divide by the horizon for a number in [0, 1].

    >>> autc([Point(0.5, 0.5, 1000.0, 0, 0, 1)], horizon=2000)
    750.0
    """
    if not points:
        raise UndefinedScore("A curve without points has no area.")
    ordered = sorted((point.latency, point.accuracy) for point in points)
    x = np.array([0.0, *(at for at, _ in ordered), float(max(horizon, ordered[-1][0]))])
    y = np.array([0.0, *(accuracy for _, accuracy in ordered), ordered[-1][1]])
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2))


def choose_threshold(points: Sequence[Point], *, accuracy: float | None = None, within: float = 0.005) -> float:
    """The smallest threshold on validation that reaches `accuracy`, or comes `within` it of the best there is.

    Raises UndefinedScore when no threshold reaches the accuracy wished for.
    """
    wished = max(point.accuracy for point in points) - within if accuracy is None else accuracy
    for point in sorted(points, key=lambda one: one.threshold):
        if point.accuracy >= wished - 1e-12:
            return point.threshold
    best = max(point.accuracy for point in points)
    raise UndefinedScore(f"No threshold reaches an accuracy of {wished:.3f} on validation; the best is {best:.3f}.")
