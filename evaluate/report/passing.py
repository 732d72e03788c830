"""Tables of Pass@k beside CoT-Pass@k: per cell, per solver, per group, and along k."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np

from multilingual_math_audit.evaluate.metrics import Interval, question_bootstrap
from multilingual_math_audit.evaluate.report.contrasts import CellValues, group_weights, question_weights, subtract
from multilingual_math_audit.evaluate.report.entries import Entry, Grouping, count_missing, count_pending
from multilingual_math_audit.evaluate.report.material import Material, dropped_rows
from multilingual_math_audit.evaluate.report.tables import Column, Table, Value, percent
from multilingual_math_audit.evaluate.report.values import (
    averaged_benchmarks,
    cot_values,
    largest_k,
    pass_values,
)
from multilingual_math_audit.evaluate.score import ladder

NAN = float("nan")
AVERAGE = "average"
UNDEFINED_NOTE = "A dash is undefined: judgments are pending, samples are missing or ungraded, or there are none."


def pass_table(material: Material) -> Table:
    """Pass@n and CoT-Pass@n of every cell with the interval of their difference over questions."""
    columns = (
        Column("solver", "Solver"), Column("mode", "Mode"), Column("benchmark", "Benchmark"),
        Column("questions", "Questions", "count"), Column("k", "k = n", "count"), Column("correct", "Correct", "count"),
        Column("pass_at_n", "Pass@n", "points"), Column("judge", "Judge"),
        Column("cot_pass_at_n", "CoT-Pass@n", "points"),
        Column("difference", "Difference", "points"), Column("pending", "Pending", "count"),
        Column("in_grid", "In the grid"),
    )  # fmt: skip
    rows = [
        row
        for entry in material.entries
        for benchmark in entry.benchmarks
        for row in _cell_rows(material, entry, benchmark)
    ]
    notes = (
        "Difference: Pass@n - CoT-Pass@n in percentage points, 95% percentile interval over resampled questions.",
        UNDEFINED_NOTE,
    )
    return _table(material, "pass", "Pass@n and CoT-Pass@n per solver and benchmark", (columns, rows, notes))


def _table(
    material: Material,
    name: str,
    title: str,
    parts: tuple[tuple[Column, ...], list[dict[str, Value]], tuple[str, ...]],
) -> Table:
    columns, rows, notes = parts
    return Table(name, title, columns, tuple(rows), notes, material.choices.command)


def _cell_rows(material: Material, entry: Entry, benchmark: str) -> Iterator[dict[str, Value]]:
    questions = entry.benchmarks[benchmark]
    k = largest_k(entry, benchmark)
    missing = count_missing(entry, benchmark)
    base = pass_values(questions, k) if k else np.array([NAN])
    common: dict[str, Value] = {
        "solver": entry.label,
        "mode": entry.mode,
        "benchmark": benchmark,
        "questions": len(questions),
        "k": k,
        "correct": sum(q.correct for q in questions),
        "pass_at_n": NAN if missing else 100 * complete_mean(base),
        "in_grid": "yes" if entry in material.grid.entries and benchmark in material.grid.benchmarks else "no",
    }
    if not entry.judges:
        yield common
    for judge in entry.judges:
        pending = count_pending(questions, judge)
        whole = k > 0 and not missing and not pending
        cot = cot_values(questions, judge, k, strategy=material.choices.strategy) if whole else np.array([NAN])
        cell = material.cell(entry, benchmark, judge)
        yield {
            **common,
            "judge": judge,
            "cot_pass_at_n": 100 * complete_mean(cot),
            "difference": material.interval([cell], [1.0]) if whole else None,
            "pending": pending,
        }


def complete_mean(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """The mean of a cell, NaN as soon as one question is undefined: a partial mean is another number.

    >>> complete_mean(np.array([0.0, 1.0])), complete_mean(np.array([0.0, float("nan")]))
    (0.5, nan)
    """
    return float(values.mean()) if values.size else NAN


def ladder_table(material: Material) -> Table:
    """Pass@k and CoT-Pass@k for k = 1, 2, 4 … n: every cell, and each solver's average weighted by questions."""
    columns = (
        Column("solver", "Solver"), Column("benchmark", "Benchmark"), Column("judge", "Judge"),
        Column("k", "k", "count"),
        Column("pass_at_k", "Pass@k", "points"), Column("cot_pass_at_k", "CoT-Pass@k", "points"),
        Column("difference", "Difference", "points"),
    )  # fmt: skip
    rows: list[dict[str, Value]] = []
    for entry in material.entries:
        names, _ = averaged_benchmarks([entry], [name for name in material.grid.benchmarks if name in entry.benchmarks])
        for judge in entry.judges or [""]:
            for benchmark in entry.benchmarks:
                rows += _ladder_rows(material, entry, (benchmark,), judge)
            if len(names) > 1:
                rows += _ladder_rows(material, entry, names, judge)
    return _table(material, "ladder", "Pass@k and CoT-Pass@k along k", (columns, rows, (UNDEFINED_NOTE,)))


def _ladder_rows(
    material: Material, entry: Entry, benchmarks: tuple[str, ...], judge: str
) -> Iterator[dict[str, Value]]:
    questions = [q for name in benchmarks for q in entry.benchmarks[name]]
    incomplete = any(count_missing(entry, name) for name in benchmarks)
    for k in ladder(min(largest_k(entry, name) for name in benchmarks)):
        base = pass_values(questions, k)
        cot = cot_values(questions, judge, k, strategy=material.choices.strategy) if judge else np.full(base.size, NAN)
        cells = [material.cell(entry, name, judge, k) for name in benchmarks] if judge else []
        whole = bool(cells) and not incomplete and not np.isnan(cot).any()
        yield {
            "solver": entry.label,
            "benchmark": benchmarks[0] if len(benchmarks) == 1 else AVERAGE,
            "judge": judge,
            "k": k,
            "pass_at_k": NAN if incomplete else 100 * complete_mean(base),
            "cot_pass_at_k": NAN if incomplete else 100 * complete_mean(cot),
            "difference": material.interval(cells, question_weights(cells)) if whole else None,
        }


def matrix_table(material: Material) -> Table:
    """Each solver's average Pass@n - CoT-Pass@n under every judge, and the averages of groups over solvers."""
    columns = (
        Column("grouping", "Grouping"), Column("solver", "Solver or group"),
        *(Column(_of(judge), judge, "points") for judge in material.judges),
    )  # fmt: skip
    rows: list[dict[str, Value]] = []
    for entry in material.entries:
        if entry.judges:
            differences = {_of(judge): solver_difference(material, entry, judge) for judge in entry.judges}
            rows.append({"grouping": "", "solver": entry.label, **differences})
    for grouping in material.groupings or [Grouping("all", {"all solvers": tuple(e.label for e in material.entries)})]:
        for group in grouping.groups:
            averages = {_of(judge): group_difference(material, grouping, group, judge) for judge in material.judges}
            rows.append({"grouping": grouping.name, "solver": f"average of {group}", **averages})
    names = sorted({name for e in material.entries for name in averaged_benchmarks([e], _own(material, e))[0]})
    notes = (
        (
            f"Averages over {', '.join(names) or 'no benchmark'}: weighted by questions within a solver, then "
            "unweighted "
            "over the solvers of a group. Benchmarks with fewer samples per question are left out of averages."
        ),
        "A group averages the solvers that meet the inclusion rule under that judge.",
    )
    return _table(material, "judge_matrix", "Pass@n - CoT-Pass@n per solver and judge", (columns, rows, notes))


def _of(judge: str) -> str:
    """The name of a judge's column, which no other column can have."""
    return f"difference:{judge}"


def _own(material: Material, entry: Entry) -> list[str]:
    return [name for name in material.grid.benchmarks if name in entry.benchmarks]


def solver_difference(material: Material, entry: Entry, judge: str) -> Interval | None:
    """A solver's average difference under a judge; None while a cell of it is incomplete."""
    cells = material.average_cells(entry, judge)
    if not cells or _is_incomplete(entry, cells):
        return None
    return material.interval(cells, question_weights(cells))


def _is_incomplete(entry: Entry, cells: list[CellValues]) -> bool:
    missing = any(
        count_missing(entry, name) for name in entry.benchmarks if f"{entry.label}|{name}" in {c.name for c in cells}
    )
    return missing or any(np.isnan(value) for cell in cells for value in cell.values)


def group_cells(material: Material, grouping: Grouping, group: str, judge: str) -> Mapping[str, list[CellValues]]:
    """The average cells of a group's solvers that may be compared under a judge."""
    members = grouping.entries_of(group, material.compared(judge))
    solvers = {entry.label: material.average_cells(entry, judge) for entry in members}
    return {
        label: cells
        for label, cells in solvers.items()
        if cells and not any(np.isnan(value) for cell in cells for value in cell.values)
    }


def group_difference(material: Material, grouping: Grouping, group: str, judge: str) -> Interval | None:
    """A group's average difference under a judge, unweighted over its solvers; None without a solver."""
    solvers = group_cells(material, grouping, group, judge)
    return material.interval(*group_weights(solvers)) if solvers else None


def bootstrap_table(material: Material) -> Table:
    """Question-bootstrap intervals of the difference: cells, solvers, groups and contrasts between groups."""
    columns = (
        Column("kind", "Kind"), Column("name", "Name"), Column("benchmark", "Benchmark"), Column("judge", "Judge"),
        Column("solvers", "Solvers", "count"), Column("difference", "Difference", "points"),
        Column("joint", "Same questions drawn together", "points"),
    )  # fmt: skip
    rows = [row for judge in material.judges for row in _bootstrap_rows(material, judge)]
    notes = (
        (
            f"{material.choices.resamples:,} resamples of questions, percentile interval. First interval: cells drawn "
            "independently of each other. Second: solvers and translations that share questions are drawn together, "
            "since "
            "they are not independent."
        ),
    )
    return _table(material, "bootstrap", "Intervals of Pass@n - CoT-Pass@n over questions", (columns, rows, notes))


def _bootstrap_rows(material: Material, judge: str) -> Iterator[dict[str, Value]]:
    compared = material.compared(judge)
    for entry in compared:
        for benchmark in _own(material, entry):
            cell = material.cell(entry, benchmark, judge)
            yield _bootstrap_row(material, ("cell", entry.label, benchmark, judge, 1), [cell], [1.0])
        cells = material.average_cells(entry, judge)
        if len(cells) > 1:
            yield _bootstrap_row(material, ("solver", entry.label, AVERAGE, judge, 1), cells, question_weights(cells))
    for grouping in material.groupings:
        yield from _group_rows(material, grouping, judge)


def _group_rows(material: Material, grouping: Grouping, judge: str) -> Iterator[dict[str, Value]]:
    groups = {group: group_cells(material, grouping, group, judge) for group in grouping.groups}
    groups = {group: solvers for group, solvers in groups.items() if solvers}
    for group, solvers in groups.items():
        names = ("group", f"{grouping.name}: {group}", AVERAGE, judge, len(solvers))
        yield _bootstrap_row(material, names, *group_weights(solvers))
    for first, second in combinations(groups, 2):
        name = f"{grouping.name}: {first} - {second}"
        solvers_in = len(groups[first]) + len(groups[second])
        for benchmark in (*material.grid.benchmarks, AVERAGE):
            sides = [_pick(groups[group], benchmark) for group in (first, second)]
            if all(sides):
                cells, weights = subtract(group_weights(sides[0]), group_weights(sides[1]))
                yield _bootstrap_row(material, ("contrast", name, benchmark, judge, solvers_in), cells, weights)


def _pick(solvers: Mapping[str, list[CellValues]], benchmark: str) -> dict[str, list[CellValues]]:
    if benchmark == AVERAGE:
        return dict(solvers)
    picked = {
        label: [cell for cell in cells if cell.name == f"{label}|{benchmark}"] for label, cells in solvers.items()
    }
    return {label: cells for label, cells in picked.items() if cells}


def _bootstrap_row(
    material: Material, names: tuple[str, str, str, str, int], cells: list[CellValues], weights: list[float]
) -> dict[str, Value]:
    kind, name, benchmark, judge, solvers = names
    undefined = any(np.isnan(value) for cell in cells for value in cell.values)
    return {
        "kind": kind,
        "name": name,
        "benchmark": benchmark,
        "judge": judge,
        "solvers": solvers,
        "difference": None if undefined else material.interval(cells, weights),
        "joint": None if undefined else material.interval(cells, weights, design="joint"),
    }


def dropped_table(material: Material) -> Table:
    """Which solvers were left out of which grid, and why."""
    columns = (Column("grid", "Grid of"), Column("solver", "Solver"), Column("why", "Why"))
    rows: list[dict[str, Value]] = [
        {"grid": grid, "solver": drop.label, "why": drop.why} for grid, drop in dropped_rows(material)
    ]
    notes = (
        (
            f"A solver enters a grid only if every cell has verdicts on at least {material.choices.min_correct} "
            "correct "
            "solutions and nothing is pending."
        ),
    )
    return _table(material, "dropped", "Left out of comparisons", (columns, rows, notes))


def pooled_pass(entry: Entry, k: int) -> Interval:
    """Pass@k over all questions of an entry in percent, each question once."""
    values = np.concatenate([pass_values(questions, k) for questions in entry.benchmarks.values()])
    return percent(question_bootstrap(values))
