"""What a report is made from: the entries, who may be compared, and how intervals are drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from multilingual_math_audit.errors import UnknownName, UsageError
from multilingual_math_audit.evaluate.metrics import Interval
from multilingual_math_audit.evaluate.report.contrasts import RESAMPLES, CellValues, Design, bootstrap_sum
from multilingual_math_audit.evaluate.report.entries import (
    MIN_CORRECT,
    Dropped,
    Entry,
    Grid,
    Grouping,
    build_grid,
    unmatched_members,
)
from multilingual_math_audit.evaluate.report.tables import join_words, percent
from multilingual_math_audit.evaluate.report.values import averaged_benchmarks, difference_cell, largest_k
from multilingual_math_audit.evaluate.verdicts import Strategy


@dataclass(frozen=True, slots=True)
class Choices:
    """What the reader may choose: the inclusion rule, the strategy, judges and benchmarks of the grid, resamples."""

    min_correct: int = MIN_CORRECT
    strategy: Strategy = "majority"
    judges: tuple[str, ...] = ()
    benchmarks: tuple[str, ...] = ()
    resamples: int = RESAMPLES
    seed: int = 0
    command: str = ""


@dataclass(frozen=True, slots=True)
class Material:
    """Entries with their groupings, the common grid, and what was chosen."""

    entries: tuple[Entry, ...]
    groupings: tuple[Grouping, ...]
    choices: Choices
    judges: tuple[str, ...]
    grid: Grid
    warnings: tuple[str, ...] = field(default=())

    def covered_by(self, judge: str) -> list[Entry]:
        """The entries a judge says anything about."""
        return [entry for entry in self.entries if judge in entry.judges]

    def grid_of(self, judge: str) -> Grid:
        """The inclusion rule for one judge alone, over the solvers it covers and the benchmarks of the grid."""
        return build_grid(
            self.covered_by(judge),
            (judge,),
            min_correct=self.choices.min_correct,
            benchmarks=self.grid.benchmarks,
        )

    def compared(self, judge: str) -> tuple[Entry, ...]:
        """Who is compared under a judge: its grid, or everyone it covers where the rule leaves nobody."""
        return self.grid_of(judge).entries or tuple(self.covered_by(judge))

    def interval(
        self, cells: Sequence[CellValues], weights: Sequence[float], *, design: Design = "independent"
    ) -> Interval:
        """A weighted sum of cells in percentage points, with its interval."""
        return percent(
            bootstrap_sum(cells, weights, design=design, resamples=self.choices.resamples, seed=self.choices.seed)
        )

    def average_cells(self, entry: Entry, judge: str) -> list[CellValues]:
        """The cells of a solver's average difference under a judge; cells with different n cannot be averaged."""
        names, k = averaged_benchmarks([entry], [name for name in self.grid.benchmarks if name in entry.benchmarks])
        return [difference_cell(entry, name, judge, k, strategy=self.choices.strategy) for name in names]

    def cell(self, entry: Entry, benchmark: str, judge: str, k: int | None = None) -> CellValues:
        """The differences of one cell at k, by default at all its samples."""
        at = largest_k(entry, benchmark) if k is None else k
        return difference_cell(entry, benchmark, judge, at, strategy=self.choices.strategy)


def gather_material(
    entries: Sequence[Entry], *, groupings: Sequence[Grouping] = (), choices: Choices | None = None
) -> Material:
    """Decide the grid of entries and say what it leaves out.

    The judges of the grid are those asked for, or else those that cover every judged solver; the benchmarks are those
    asked for, or else those that every judged solver has. Raises UsageError without an entry, UnknownName for a judge
    or benchmark that no run has.
    """
    chosen = choices or Choices()
    if not entries:
        raise UsageError("There is nothing to report: the runs hold no questions.", "Give runs that were solved.")
    judges = tuple(sorted({judge for entry in entries for judge in entry.judges}))
    benchmarks = sorted({name for entry in entries for name in entry.benchmarks})
    _require(chosen.judges, judges, "judge")
    _require(chosen.benchmarks, benchmarks, "benchmark")
    judged = [entry for entry in entries if entry.judges] or list(entries)
    shared = tuple(name for name in benchmarks if all(name in entry.benchmarks for entry in judged))
    covering = tuple(judge for judge in judges if all(judge in entry.judges for entry in judged))
    grid_judges = chosen.judges or covering or _widest(judges, judged)
    grid = build_grid(
        judged, grid_judges, min_correct=chosen.min_correct, benchmarks=chosen.benchmarks or shared or benchmarks
    )
    warnings = list(_grid_warnings(grid, entries, benchmarks, chosen.min_correct))
    if unmatched := unmatched_members(groupings, entries):
        warnings.append(f"The groups name solvers that are not among the runs: {join_words(unmatched)}.")
    return Material(tuple(entries), tuple(groupings), chosen, judges, grid, tuple(warnings))


def _require(asked: Sequence[str], known: Sequence[str], word: str) -> None:
    if unknown := [name for name in asked if name not in known]:
        raise UnknownName(f"No run has the {word} {unknown[0]!r}.", f"The runs have: {', '.join(known) or 'none'}.")


def _widest(judges: Sequence[str], entries: Sequence[Entry]) -> tuple[str, ...]:
    counts = Counter({judge: sum(judge in entry.judges for entry in entries) for judge in judges})
    return tuple(judge for judge, _ in counts.most_common(1))


def _grid_warnings(grid: Grid, entries: Sequence[Entry], benchmarks: Sequence[str], min_correct: int) -> Sequence[str]:
    warnings = []
    unjudged = [entry.label for entry in entries if not entry.judges]
    if unjudged:
        warnings.append(f"No judge was asked about {join_words(unjudged)}: CoT-Pass@k is undefined there.")
    if left := [name for name in benchmarks if name not in grid.benchmarks]:
        warnings.append(f"Not in the grid, since not every judged solver has them: {join_words(left)}.")
    if grid.judges and not grid.entries:
        warnings.append(
            f"The inclusion rule (verdicts on at least {min_correct} correct solutions in every cell) leaves no "
            "solver. Comparisons below show every judged solver all the same."
        )
    return warnings


def dropped_rows(material: Material) -> list[tuple[str, Dropped]]:
    """Who was left out of which grid, and why: the common one, then each judge's own."""
    rows = [(" + ".join(material.grid.judges) or "no judge", drop) for drop in material.grid.dropped]
    for judge in material.judges:
        if (judge,) != material.grid.judges:
            rows += [(judge, drop) for drop in material.grid_of(judge).dropped]
    return rows
