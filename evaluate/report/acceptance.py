"""Tables of acceptance: how many of the correct solutions a judge approves, by benchmark, language and difficulty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, median

from multilingual_math_audit.evaluate.counts import QuestionCounts
from multilingual_math_audit.evaluate.metrics import Interval
from multilingual_math_audit.evaluate.report.entries import Entry, count_pending
from multilingual_math_audit.evaluate.report.material import Material
from multilingual_math_audit.evaluate.report.tables import Column, Table, Value
from multilingual_math_audit.evaluate.statistics import holm, wilcoxon_exact, wilson_interval
from multilingual_math_audit.evaluate.verdicts import Strategy

NAN = float("nan")
FEWEST_PAIRS = 2


@dataclass(frozen=True, slots=True)
class Accepted:
    """How many of the judged correct solutions are approved; pending ones are in neither."""

    approved: int
    judged: int

    @property
    def share(self) -> float:
        """Approved of judged; NaN when nothing was judged."""
        return self.approved / self.judged if self.judged else NAN

    @property
    def interval(self) -> Interval | None:
        """The share in percent with Wilson's 95% interval; None when nothing was judged."""
        if not self.judged:
            return None
        low, high = wilson_interval(self.approved, self.judged)
        return Interval(100 * self.share, 100 * low, 100 * high, self.judged)


def count_accepted(questions: Sequence[QuestionCounts], judge: str, *, strategy: Strategy = "majority") -> Accepted:
    """Pool a judge's decisions about the correct solutions of some questions.

    >>> count_accepted([], "j").share
    nan
    """
    counts = [q.judges[judge] for q in questions if judge in q.judges]
    kept = [c for c in counts if strategy in c.approved]
    return Accepted(sum(c.approved[strategy] for c in kept), sum(c.judged for c in kept))


def acceptance_table(material: Material) -> Table:
    """Acceptance of correct solutions per solver, benchmark and judge, with Wilson's interval."""
    columns = (
        Column("solver", "Solver"), Column("benchmark", "Benchmark"), Column("judge", "Judge"),
        Column("approved", "Approved", "count"), Column("judged", "Judged", "count"),
        Column("acceptance", "Acceptance (%)", "points"), Column("single_vote", "On one vote", "count"),
        Column("pending", "Pending", "count"), Column("in_grid", "In the grid"),
    )  # fmt: skip
    rows = [
        _acceptance_row(material, entry, benchmark, judge)
        for entry in material.entries
        for benchmark in entry.benchmarks
        for judge in entry.judges
    ]
    notes = (
        (
            f"Strategy: {material.choices.strategy}. Interval: Wilson 95%, over solutions; solutions of one question "
            "are "
            "not independent, so it is too narrow where few questions carry many solutions."
        ),
        "On one vote: majority approvals that rest on a single yes.",
    )
    title = "Acceptance of correct solutions"
    return Table("acceptance", title, columns, tuple(rows), notes, material.choices.command)


def _acceptance_row(material: Material, entry: Entry, benchmark: str, judge: str) -> dict[str, Value]:
    questions = entry.benchmarks[benchmark]
    accepted = count_accepted(questions, judge, strategy=material.choices.strategy)
    return {
        "solver": entry.label,
        "benchmark": benchmark,
        "judge": judge,
        "approved": accepted.approved,
        "judged": accepted.judged,
        "acceptance": accepted.interval,
        "single_vote": sum(q.judges[judge].single_vote for q in questions if judge in q.judges),
        "pending": count_pending(questions, judge),
        "in_grid": "yes" if entry in material.compared(judge) and benchmark in material.grid.benchmarks else "no",
    }


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Acceptance on two benchmarks, paired by solver: differences in points, and the exact Wilcoxon p-value."""

    differences: tuple[float, ...]
    mean: float
    median: float
    higher: int
    lower: int
    p: float


def compare_benchmarks(
    entries: Sequence[Entry], judge: str, *, first: str, second: str, strategy: Strategy = "majority"
) -> PairedTest:
    """Acceptance on `first` minus acceptance on `second` over the solvers that have both; equal pairs are dropped.

    With fewer than two solvers the p-value is NaN.
    """
    pairs = []
    for entry in entries:
        shares = [
            count_accepted(entry.benchmarks.get(name, ()), judge, strategy=strategy).share for name in (first, second)
        ]
        if shares[0] == shares[0] and shares[1] == shares[1]:
            pairs.append((100 * shares[0], 100 * shares[1]))
    differences = tuple(round(a - b, 10) for a, b in pairs)
    if not differences:
        return PairedTest((), NAN, NAN, 0, 0, NAN)
    enough = len(differences) >= FEWEST_PAIRS
    p = wilcoxon_exact([a for a, _ in pairs], [b for _, b in pairs]) if enough else NAN
    higher, lower = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    return PairedTest(differences, fmean(differences), median(differences), higher, lower, p)


def language_table(material: Material) -> Table:
    """Exact Wilcoxon tests of acceptance between benchmarks over solvers: language against benchmark."""
    columns = (
        Column("judge", "Judge"), Column("first", "Benchmark"), Column("second", "minus"), Column("kind", "Compares"),
        Column("solvers", "Solvers", "count"), Column("mean", "Mean", "points"), Column("median", "Median", "points"),
        Column("higher", "Higher", "count"), Column("lower", "Lower", "count"), Column("p", "p", "p"),
        Column("p_holm", "p (Holm)", "p"),
    )  # fmt: skip
    rows = [row for judge in material.judges for row in _language_rows(material, judge)]
    notes = (
        (
            "Pairs are solvers that meet the inclusion rule; differences in percentage points; exact two-sided "
            "Wilcoxon "
            "signed-rank test, equal pairs dropped; Holm within a judge."
        ),
        "Language: the same items in two languages. Benchmark: other items, so the language is not all that differs.",
    )
    title = "Language against benchmark: acceptance paired by solver"
    return Table("language_tests", title, columns, tuple(rows), notes, material.choices.command)


def _language_rows(material: Material, judge: str) -> Iterator[dict[str, Value]]:
    entries = material.compared(judge)
    pairs = list(combinations(material.grid.benchmarks, 2))
    tests = [
        compare_benchmarks(entries, judge, first=second, second=first, strategy=material.choices.strategy)
        for first, second in pairs
    ]
    for (first, second), test, adjusted in zip(pairs, tests, holm([test.p for test in tests]), strict=True):
        if test.differences:
            yield {
                "judge": judge,
                "first": second,
                "second": first,
                "kind": "language" if share_items(entries, first, second) else "benchmark",
                "solvers": len(test.differences),
                "mean": test.mean,
                "median": test.median,
                "higher": test.higher,
                "lower": test.lower,
                "p": test.p,
                "p_holm": adjusted,
            }


def share_items(entries: Sequence[Entry], first: str, second: str) -> bool:
    """Whether two benchmarks hold the same items: translations of each other."""
    for entry in entries:
        a, b = ({q.item for q in entry.benchmarks.get(name, ())} for name in (first, second))
        if a and b:
            return a == b
    return False


def saturation_bins(n: int) -> list[tuple[int, int]]:
    """Bins of the number of correct samples c that double: 1, 2-3, 4-7 … n.

    >>> saturation_bins(16)
    [(1, 1), (2, 3), (4, 7), (8, 15), (16, 16)]
    >>> saturation_bins(4)
    [(1, 1), (2, 3), (4, 4)]
    """
    bins, low = [], 1
    while low <= n:
        bins.append((low, min(2 * low - 1, n)))
        low *= 2
    return bins


def saturation_table(material: Material) -> Table:
    """By bins of c: how many questions keep an approved solution (CoT-Pass@n), and the acceptance of solutions."""
    columns = (
        Column("judge", "Judge"), Column("grouping", "Grouping"), Column("group", "Solvers"), Column("n", "n", "count"),
        Column("c", "Correct of n"), Column("questions", "Questions", "count"),
        Column("kept", "With an approved one", "count"), Column("cot_pass_at_n", "CoT-Pass@n", "points"),
        Column("judged", "Judged", "count"), Column("acceptance", "Acceptance (%)", "points"),
    )  # fmt: skip
    rows = [
        row
        for judge in material.judges
        for grouping, group, entries in _groups(material, judge)
        for row in saturation_rows(entries, judge, names=(grouping, group), strategy=material.choices.strategy)
    ]
    notes = (
        (
            "Every question with at least one correct solution has Pass@n = 1, so CoT-Pass@n below 100 is all "
            "difference. "
            "Intervals: Wilson 95%."
        ),
    )
    title = "Saturation: CoT-Pass@n and acceptance by the number of correct solutions"
    return Table("saturation", title, columns, tuple(rows), notes, material.choices.command)


def _groups(material: Material, judge: str) -> Iterator[tuple[str, str, Sequence[Entry]]]:
    compared = material.compared(judge)
    yield "", "all", compared
    for grouping in material.groupings:
        for group in grouping.groups:
            if members := grouping.entries_of(group, compared):
                yield grouping.name, group, members


def saturation_rows(
    entries: Sequence[Entry], judge: str, *, names: tuple[str, str] = ("", "all"), strategy: Strategy = "majority"
) -> Iterator[dict[str, Value]]:
    """The rows of one judge and one group of solvers: one per number of samples and bin of c; empty bins are left out.

    Questions with pending judgments are left out.
    """
    by_n: dict[int, list[QuestionCounts]] = {}
    for entry in entries:
        for questions in entry.benchmarks.values():
            for q in questions:
                if q.correct and judge in q.judges and not q.judges[judge].pending and not q.ungraded:
                    by_n.setdefault(q.n, []).append(q)
    for n in sorted(by_n, reverse=True):
        for low, high in saturation_bins(n):
            within = [q for q in by_n[n] if low <= q.correct <= high and strategy in q.judges[judge].approved]
            if within:
                kept = sum(q.judges[judge].approved[strategy] > 0 for q in within)
                yield {
                    "judge": judge,
                    "grouping": names[0],
                    "group": names[1],
                    "n": n,
                    "c": str(low) if low == high else f"{low}-{high}",
                    "questions": len(within),
                    "kept": kept,
                    "cot_pass_at_n": Accepted(kept, len(within)).interval,
                    "judged": sum(q.judges[judge].judged for q in within),
                    "acceptance": count_accepted(within, judge, strategy=strategy).interval,
                }
