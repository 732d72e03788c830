"""Best of N: which answer a scorer picks, how often it is right, and how well its confidence is calibrated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multilingual_math_audit.errors import UndefinedScore, UsageError
from multilingual_math_audit.evaluate.calibration import brier, ece, summary
from multilingual_math_audit.evaluate.verifier.groups import Group
from multilingual_math_audit.evaluate.verifier.scorers import Scorer, Scores, class_sizes

Recalibration = Callable[[Scores], Scores]


class Pick(NamedTuple):
    """The answer a scorer chose in one block of N sequences."""

    problem: int
    answer: int
    confidence: float
    correct: bool


@dataclass(frozen=True, slots=True)
class BestOf:
    """Best-of-N at one N: accuracy of the picks, ECE and Brier of their confidence, and what it was taken over."""

    size: int
    picks: tuple[Pick, ...]
    skipped: int

    @property
    def accuracy(self) -> float:
        """Share of blocks whose pick is right; NaN without blocks."""
        return float(np.mean([pick.correct for pick in self.picks])) if self.picks else float("nan")

    def calibration(self, recalibrate: Recalibration | None = None) -> dict[str, float]:
        """ECE (15 bins) and Brier of (confidence, correct) of the picks."""
        confidence = np.array([pick.confidence for pick in self.picks])
        correct = [pick.correct for pick in self.picks]
        confidence = recalibrate(confidence) if recalibrate is not None else confidence
        if confidence.size and (confidence.min() < 0 or confidence.max() > 1):
            return {"ece": float("nan"), "brier": float("nan")}
        return {"ece": ece(confidence, correct), "brier": brier(confidence, correct)}


def choose(scores: Scores, sizes: NDArray[np.int64]) -> int:
    """The place of the highest score; ties go to the larger class, then to the first.

    Scores within 1e-9 of the highest tie, since averaged logits of one class differ by rounding.

    >>> choose(np.array([0.5, 0.7, 0.7, 0.7]), np.array([1, 1, 2, 2]))
    2
    """
    if scores.size == 0 or np.isnan(scores).any():
        raise UndefinedScore(f"{int(np.isnan(scores).sum())} of {scores.size} answers have no score, so none is best.")
    tied = np.flatnonzero(scores >= scores.max() - 1e-9)
    return int(tied[np.argmax(sizes[tied])])


def best_of(problems: Sequence[Group], scorer: Scorer, size: int) -> BestOf:
    """Best-of-`size` over disjoint blocks of consecutive sequences of every problem (terminal answers).

    A problem with fewer than `size` sequences, or a block without any answer, is skipped and counted.
    """
    if size < 1:
        raise UsageError(f"Asked for the best of {size}.", "Give at least 1.")
    picks, skipped = [], 0
    for number, problem in enumerate(problems):
        final = problem.terminals()
        skipped += final.size < size
        answering = set(final.sequence.tolist())
        for at in range(0, final.size - size + 1, size):
            if not answering & set(range(at, at + size)):
                skipped += 1
                continue
            block = final.subset(range(at, at + size))
            if block.correct is None:
                raise UsageError("An answer's correctness is not known.", "Grade the run first: math-audit grade RUN.")
            scores = scorer(block)
            best = choose(scores, class_sizes(block))
            picks.append(Pick(number, best, float(scores[best]), bool(block.correct[best])))
    return BestOf(size, tuple(picks), skipped)


def sizes_up_to(problems: Sequence[Group]) -> list[int]:
    """1, 2, 4 and so on up to the most sequences any problem has.

    >>> from multilingual_math_audit.evaluate.verifier.groups import groups_from_arrays
    >>> sizes_up_to(groups_from_arrays({"x": np.zeros((1, 5, 1, 2)), "cls": [[0] * 5], "y": [[1] * 5]}))
    [1, 2, 4]
    """
    most = max(problem.size for problem in problems)
    return [2**power for power in range(most.bit_length()) if 2**power <= most]


def score_answers(problems: Sequence[Group], scorer: Scorer, size: int) -> tuple[Scores, NDArray[np.bool_]]:
    """Scores and correctness of every answer, each read in its block of `size` sequences (the last may be smaller)."""
    scores, labels = [], []
    for problem in problems:
        answering = set(problem.sequence.tolist())
        for at in range(0, problem.size, size):
            span = range(at, min(at + size, problem.size))
            if not answering & set(span):
                continue
            block = problem.subset(span)
            if block.correct is None:
                raise UsageError("An answer's correctness is not known.", "Grade the run first: math-audit grade RUN.")
            scores.append(scorer(block))
            labels.append(block.correct.numpy())
    return np.concatenate(scores), np.concatenate(labels)


def answer_scores(problems: Sequence[Group], scorer: Scorer, size: int) -> dict[str, float]:
    """AUROC, Brier, ECE and NLL per answer; all but AUROC are NaN for scores that are no probabilities."""
    scores, labels = score_answers(problems, scorer, size)
    if scores.min() < 0 or scores.max() > 1:
        from multilingual_math_audit.evaluate.calibration import auroc

        return {"auroc": auroc(scores, labels), "brier": np.nan, "ece": np.nan, "nll": np.nan}
    return summary(scores, labels)


def by_problem(result: BestOf, count: int) -> NDArray[np.float64]:
    """[count]: best-of-N accuracy of each problem, NaN where it has no block; what a paired bootstrap resamples."""
    totals, hits = np.zeros(count), np.zeros(count)
    for pick in result.picks:
        totals[pick.problem] += 1
        hits[pick.problem] += pick.correct
    return np.asarray(np.divide(hits, totals, out=np.full(count, np.nan), where=totals > 0))
