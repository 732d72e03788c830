"""The published numbers of the cross-generation grid from the authors' table of one row per run and question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from multilingual_math_audit.evaluate.report.acceptance import compare_benchmarks, count_accepted
from multilingual_math_audit.evaluate.report.comparison import PRINTED, Comparison, Omission
from multilingual_math_audit.evaluate.report.contrasts import bootstrap_sum, group_weights, question_weights, subtract
from multilingual_math_audit.evaluate.report.entries import Entry
from multilingual_math_audit.evaluate.report.published import Published, paper_numbers, read_report_tasks
from multilingual_math_audit.evaluate.report.values import difference_cell

SHORT = {"EN": "aime2026", "TR": "aime2026_tr", "PT": "aime2026_pt", "TUB": "tubitak_math2026"}
FEWEST_SOLUTIONS = 50
POINT = 1.0


def check_report_tasks(published: Published, name: str, data: Any) -> Iterator[Comparison | Omission]:
    """Averages per solver and judge, generation averages, intervals and language tests of the grid."""
    numbers = paper_numbers()
    entries = {entry.solver: entry for entry in read_report_tasks(data)}
    for generation, rows in numbers["judge_matrix"].items():
        for judge, printed in numbers["judge_matrix_average"][generation].items():
            solvers = {s: entries[s] for s in rows if s in entries and _covers(entries[s], judge)}
            for solver, entry in solvers.items():
                if judge in rows[solver]:
                    yield Comparison(
                        name, f"average difference, {solver}, {judge}", _average(entry, judge), rows[solver][judge]
                    )
            if len(solvers) == len(rows):
                cells = {solver: _cells(entry, judge) for solver, entry in solvers.items()}
                ours = 100 * bootstrap_sum(*group_weights(cells), resamples=1).value
                yield Comparison(name, f"average difference, {generation}, {judge}", ours, printed)
            else:
                why = f"{len(rows) - len(solvers)} of its solvers have no counts in the table"
                yield Omission(name, f"average difference, {generation}, {judge}", why)
    yield from _language_tests(name, numbers, entries)
    yield from _interval_rows(published, entries)


def _covers(entry: Entry, judge: str) -> bool:
    grid = paper_numbers()["grid_benchmarks"]
    return all(any(judge in q.judges for q in entry.benchmarks.get(name, ())) for name in grid)


def _cells(entry: Entry, judge: str) -> list[Any]:
    return [difference_cell(entry, name, judge, 64) for name in paper_numbers()["grid_benchmarks"]]


def _average(entry: Entry, judge: str) -> float:
    cells = _cells(entry, judge)
    return 100 * bootstrap_sum(cells, question_weights(cells), resamples=1).value


def _language_tests(
    name: str, numbers: Mapping[str, Any], entries: Mapping[str, Entry]
) -> Iterator[Comparison | Omission]:
    grid = [solver for rows in numbers["judge_matrix"].values() for solver in rows]
    for judge, tests in numbers["language_tests"].items():
        solvers = [entries[s] for s in grid if s in entries and _covers(entries[s], judge)]
        for pair, (mean, p) in tests.items():
            if len(solvers) < len(grid):
                yield Omission(name, f"acceptance {pair}, {judge}", "not all ten solvers of the grid have counts")
                continue
            first, second = pair.split("-")
            test = compare_benchmarks(solvers, judge, first=SHORT[first], second=SHORT[second])
            yield Comparison(name, f"acceptance {pair}, {judge}", test.mean, mean)
            yield Comparison(name, f"p of {pair}, {judge}", test.p, p, 0.00051, form="p")


def _interval_rows(published: Published, entries: Mapping[str, Entry]) -> Iterator[Comparison | Omission]:
    rows = published.files.get("diff_bootstrap_ci.csv")
    if not isinstance(rows, list):
        return
    judge = paper_numbers()["bootstrap_judge"]
    matrix = paper_numbers()["judge_matrix"]
    cells = {
        s.split("|")[0]: _cells(entries[s], judge)
        for group in matrix.values()
        for s in group
        if s in entries and _covers(entries[s], judge)
    }
    groups = {
        generation: {s.split("|")[0]: cells[s.split("|")[0]] for s in group if s.split("|")[0] in cells}
        for generation, group in matrix.items()
    }
    for row in rows:
        summed = _summed(row, cells, groups)
        label = f"{row['level']} {row['model']} {row['benchmark']}"
        if summed is None:
            yield Omission("diff_bootstrap_ci.csv", label, "its solver has no counts in report_tasks.csv")
            continue
        ours = bootstrap_sum(*summed)
        ends = 100 / ours.n + PRINTED if row["level"] == "cell" else POINT
        yield Comparison("diff_bootstrap_ci.csv", f"difference, {label}", 100 * ours.value, float(row["obs"]))
        yield Comparison("diff_bootstrap_ci.csv", f"low end, {label}", 100 * ours.low, float(row["lo"]), ends)
        yield Comparison("diff_bootstrap_ci.csv", f"high end, {label}", 100 * ours.high, float(row["hi"]), ends)


def _summed(
    row: Mapping[str, str], cells: Mapping[str, list[Any]], groups: Mapping[str, Mapping[str, list[Any]]]
) -> tuple[list[Any], list[float]] | None:
    level, model, benchmark = row["level"], row["model"], row["benchmark"]
    if level in ("cell", "model_avg"):
        own = [c for c in cells.get(model, []) if level == "model_avg" or c.name.endswith(f"|{benchmark}")]
        return (own, question_weights(own)) if own else None
    if level == "generation":
        return group_weights(groups[model]) if groups.get(model) else None
    if not all(groups.values()):
        return None
    sides = [
        group_weights({s: [c for c in own if benchmark in ("all4", c.name.rsplit("|", 1)[-1])] for s, own in g.items()})
        for g in (groups["earlier"], groups["current"])
    ]
    return subtract(sides[0], sides[1])


def check_selection_rule(published: Published, name: str, data: Any) -> Iterator[Comparison | Omission]:
    """Balanced cells, their acceptance and paired tests; needs the table of all runs."""
    rows = published.files.get("report_tasks.csv")
    if not isinstance(rows, list):
        why = "needs the counts of all 22 cells (report_tasks.csv), which are not among the sources"
        yield Omission(name, "balanced cells, acceptance and Wilcoxon tests", why)
        return
    entries = read_report_tasks(rows)
    for judge, printed in data["acceptance_pct_balanced"].items():
        balanced = [entry for entry in entries if _covers(entry, judge)]
        if judge == "V4-Flash":
            yield Omission(name, f"balanced cells, {judge}", "the published ones include judgments without thinking")
            continue
        yield Comparison(name, f"balanced cells, {judge}", len(balanced), printed["cells"], 0)
        for short, benchmark in SHORT.items():
            pooled = [q for entry in balanced for q in entry.benchmarks[benchmark]]
            accepted = count_accepted(pooled, judge)
            yield Comparison(name, f"acceptance, {judge}, {short}", 100 * accepted.share, printed[short])
            if short == "EN":
                yield Comparison(name, f"correct solutions, {judge}, EN", accepted.judged, printed["EN_denominator"], 0)
        yield from _paired_tests(name, judge, balanced, data["paired_wilcoxon_cells_with_denominator_ge_50"].get(judge))


def _paired_tests(name: str, judge: str, balanced: Sequence[Entry], printed: object) -> Iterator[Comparison | Omission]:
    if not isinstance(printed, dict):
        yield Omission(name, f"paired tests, {judge}", "too few cells, as published")
        return
    kept = [
        entry
        for entry in balanced
        if all(count_accepted(entry.benchmarks[b], judge).judged >= FEWEST_SOLUTIONS for b in SHORT.values())
    ]
    yield Comparison(name, f"cells with 50 correct solutions, {judge}", len(kept), printed["cells"], 0)
    for pair, row in printed.items():
        if pair != "cells":
            first, second = pair.split("-")
            test = compare_benchmarks(kept, judge, first=SHORT[first], second=SHORT[second])
            yield Comparison(name, f"acceptance {pair}, {judge}", test.mean, row[0])
            yield Comparison(name, f"p of {pair}, {judge}", test.p, row[1], 0.00051, form="p")
