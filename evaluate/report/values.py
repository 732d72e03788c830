"""Per-question values of a cell: Pass@k, CoT-Pass@k and their difference from counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multilingual_math_audit.evaluate.counts import QuestionCounts
from multilingual_math_audit.evaluate.metrics import Numbers, pass_at_k
from multilingual_math_audit.evaluate.report.contrasts import CellValues
from multilingual_math_audit.evaluate.report.entries import Entry, judge_counts
from multilingual_math_audit.evaluate.verdicts import Strategy

NAN = float("nan")


def pass_values(questions: Sequence[QuestionCounts], k: int) -> Numbers:
    """Pass@k of each question, shape (questions,); NaN with fewer than k samples or with ungraded ones."""
    values = np.atleast_1d(pass_at_k([q.n for q in questions], [q.correct for q in questions], k)).astype(np.float64)
    values[[q.ungraded > 0 for q in questions]] = NAN
    return values


def cot_values(questions: Sequence[QuestionCounts], judge: str, k: int, *, strategy: Strategy = "majority") -> Numbers:
    """CoT-Pass@k of each question, shape (questions,); NaN where judgments are pending or the strategy was not kept.

    A question without a correct solution is 0 whether the judge was asked or not.
    """
    approved = [approved_count(q, judge, strategy) for q in questions]
    known = [0 if count is None else count for count in approved]
    values = np.atleast_1d(pass_at_k([q.n for q in questions], known, k)).astype(np.float64)
    values[[count is None or q.ungraded > 0 for q, count in zip(questions, approved, strict=True)]] = NAN
    return values


def approved_count(question: QuestionCounts, judge: str, strategy: Strategy = "majority") -> int | None:
    """How many correct solutions of a question a judge approves; None while that is not decided."""
    if question.correct == 0:
        return 0
    counts = judge_counts(question, judge)
    if counts is None or counts.pending or strategy not in counts.approved:
        return None
    return counts.approved[strategy]


def difference_values(
    questions: Sequence[QuestionCounts], judge: str, k: int, *, strategy: Strategy = "majority"
) -> Numbers:
    """Pass@k - CoT-Pass@k of each question, shape (questions,); NaN where either is."""
    return pass_values(questions, k) - cot_values(questions, judge, k, strategy=strategy)


def difference_cell(entry: Entry, benchmark: str, judge: str, k: int, *, strategy: Strategy = "majority") -> CellValues:
    """The differences of one solver on one benchmark, ready for the bootstrap."""
    questions = entry.benchmarks[benchmark]
    values = difference_values(questions, judge, k, strategy=strategy)
    return make_cell(entry, benchmark, [float(value) for value in values])


def pass_cell(entry: Entry, benchmark: str, k: int) -> CellValues:
    """The Pass@k of one solver on one benchmark, ready for the bootstrap."""
    values = pass_values(entry.benchmarks[benchmark], k)
    return make_cell(entry, benchmark, [float(value) for value in values])


def make_cell(entry: Entry, benchmark: str, values: Sequence[float]) -> CellValues:
    """Values of one solver on one benchmark, one per question in the order of the items."""
    items = tuple(q.item or q.problem_id for q in entry.benchmarks[benchmark])
    return CellValues(f"{entry.label}|{benchmark}", items, tuple(values))


def largest_k(entry: Entry, benchmark: str) -> int:
    """The samples every question of a cell has: the k of its Pass@n.

    >>> largest_k(Entry("m", "base", None, {}), "none")
    0
    """
    return min((q.n for q in entry.benchmarks.get(benchmark, ())), default=0)


def averaged_benchmarks(entries: Sequence[Entry], benchmarks: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """The benchmarks that enter a solver's average, and their common k.

    Pass@n of different n cannot be averaged, so the average is over the benchmarks with the largest number of samples.
    """
    ks = {name: min((largest_k(entry, name) for entry in entries if name in entry.benchmarks), default=0)
          for name in benchmarks}  # fmt: skip
    k = max(ks.values(), default=0)
    return tuple(name for name in benchmarks if ks[name] == k and k > 0), k
