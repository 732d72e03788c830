"""The figures of a report from its material: each is a function of a theme, drawn by `style.save_figure`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from multilingual_math_audit.evaluate.metrics import Interval
from multilingual_math_audit.evaluate.report.acceptance import count_accepted, saturation_rows
from multilingual_math_audit.evaluate.report.budgets import counterfactual_table, stops_table
from multilingual_math_audit.evaluate.report.charts import (
    Axis,
    Line,
    Point,
    Row,
    Section,
    draw_lines,
    draw_rows,
)
from multilingual_math_audit.evaluate.report.contrasts import CellValues, group_weights
from multilingual_math_audit.evaluate.report.entries import Entry, count_missing, count_pending
from multilingual_math_audit.evaluate.report.material import Material
from multilingual_math_audit.evaluate.report.passing import bootstrap_table
from multilingual_math_audit.evaluate.report.style import Theme
from multilingual_math_audit.evaluate.report.values import (
    averaged_benchmarks,
    cot_values,
    largest_k,
    make_cell,
    pass_cell,
)
from multilingual_math_audit.evaluate.score import ladder

MOST_LINES = 10


class Figure(NamedTuple):
    """A figure: its file name, its caption, and how it is drawn."""

    name: str
    caption: str
    draw: Callable[[Theme], Any]


def material_figures(material: Material) -> Iterator[Figure]:
    """The figures that the material has something to show in."""
    for make in (endpoint_figure, ladder_figure, bootstrap_figure, acceptance_figure, saturation_figure, stops_figure,
                 counterfactual_figure):  # fmt: skip
        figure = make(material)
        if figure is not None:
            yield figure


def _ends(interval: Interval | None) -> tuple[float, float] | None:
    return None if interval is None or math.isnan(interval.low) else (interval.low, interval.high)


def _point(series: int, interval: Interval | None) -> Point:
    return Point(series, math.nan if interval is None else interval.value, _ends(interval))


def _text(interval: Interval | None) -> str:
    if interval is None or math.isnan(interval.value):
        return "–"
    return f"{interval.value:.1f} [{interval.low:.1f}, {interval.high:.1f}]"


def endpoint_figure(material: Material) -> Figure | None:
    """Pass@n beside CoT-Pass@n of every solver and benchmark, one row each."""
    judges = material.grid.judges or material.judges[:1]
    series = ("Pass@n", *(f"CoT-Pass@n, {judge}" for judge in judges))
    sections = []
    for benchmark in _benchmarks(material.entries):
        rows = [
            Row(entry.label, (), "")
            if not largest_k(entry, benchmark)
            else _endpoints(material, entry, benchmark, judges)
            for entry in material.entries
            if benchmark in entry.benchmarks and not count_missing(entry, benchmark)
        ]
        sections.append(Section(benchmark, tuple(row for row in rows if row.points)))
    if not any(section.rows for section in sections):
        return None
    caption = (
        "Pass@n and CoT-Pass@n in percent per solver and benchmark, with 95% intervals over resampled questions. "
        "A hollow marker has an interval without width."
    )
    draw = partial(draw_rows, sections, series, Axis("questions solved (%)", (-3, 103)))
    return Figure("endpoints", caption, draw)


def _benchmarks(entries: Sequence[Entry]) -> list[str]:
    return sorted({name for entry in entries for name in entry.benchmarks})


def _endpoints(material: Material, entry: Entry, benchmark: str, judges: Sequence[str]) -> Row:
    k = largest_k(entry, benchmark)
    points = [_point(0, _whole(material, pass_cell(entry, benchmark, k)))]
    for index, judge in enumerate(judges, 1):
        if judge in entry.judges and not count_pending(entry.benchmarks[benchmark], judge):
            values = cot_values(entry.benchmarks[benchmark], judge, k, strategy=material.choices.strategy)
            points.append(_point(index, _whole(material, make_cell(entry, benchmark, values.tolist()))))
    kept = tuple(point for point in points if not math.isnan(point.value))
    return Row(entry.label, kept, "\n".join(f"{point.value:.1f}" for point in kept))


def _whole(material: Material, cell: CellValues) -> Interval | None:
    """The interval of a cell; None as soon as one question is undefined."""
    return None if any(math.isnan(value) for value in cell.values) else material.interval([cell], [1.0])


def ladder_figure(material: Material) -> Figure | None:
    """The difference against k, averaged over questions: one line per group, or per solver without groups."""
    panels = []
    for judge in material.judges:
        names, n = averaged_benchmarks(material.compared(judge), material.grid.benchmarks)
        lines = [
            _ladder_line(material, label, solvers, (judge, names, n)) for label, solvers in _lines(material, judge)
        ]
        lines = [line for line in lines if line.points]
        if lines and n > 1:
            panels.append((f"Judge: {judge}", lines[:MOST_LINES]))
    if not panels:
        return None
    caption = (
        "Pass@k - CoT-Pass@k along k, averaged over the questions of the benchmarks with most samples; bars are 95% "
        "intervals over resampled questions."
    )
    return Figure("ladder", caption, partial(draw_lines, panels, Axis("difference (points)")))


def _lines(material: Material, judge: str) -> list[tuple[str, list[Entry]]]:
    compared = material.compared(judge)
    groups = [
        (group, grouping.entries_of(group, compared)) for grouping in material.groupings for group in grouping.groups
    ]
    return [(group, members) for group, members in groups if members] or [(e.label, [e]) for e in compared]


def _ladder_line(
    material: Material, label: str, solvers: Sequence[Entry], where: tuple[str, tuple[str, ...], int]
) -> Line:
    judge, names, n = where
    points = []
    for k in ladder(n):
        cells = {e.label: [material.cell(e, name, judge, k) for name in names if name in e.benchmarks] for e in solvers}
        whole = all(not math.isnan(v) for own in cells.values() for cell in own for v in cell.values)
        if whole and all(cells.values()):
            interval = material.interval(*group_weights(cells))
            points.append((k, interval.value, _ends(interval)))
    return Line(label, tuple(points))


def bootstrap_figure(material: Material) -> Figure | None:
    """Intervals of the difference: solvers' averages, groups, and contrasts between groups."""
    rows = [row for row in bootstrap_table(material).rows if isinstance(row.get("difference"), Interval)]
    titles = {
        "solver": "Solvers",
        "group": "Groups of solvers",
        "contrast": "Contrasts between groups",
        "cell": "Cells",
    }
    kinds = [kind for kind in ("solver", "group", "contrast") if any(row["kind"] == kind for row in rows)] or ["cell"]
    sections = []
    for judge in material.judges:
        for kind in kinds:
            found = [row for row in rows if row["kind"] == kind and row["judge"] == judge]
            sections.append(Section(f"{titles[kind]}, {judge}", tuple(_bootstrap_row(row, kind) for row in found)))
    if not any(section.rows for section in sections):
        return None
    caption = (
        "Pass@n - CoT-Pass@n with 95% intervals from resampling questions: filled circles draw every cell on its own, "
        "squares draw shared questions together. Hollow: the interval has no width."
    )
    series = ("cells drawn independently", "same questions drawn together")
    return Figure("bootstrap", caption, partial(draw_rows, sections, series, Axis("difference (points)", zero=0.0)))


def _bootstrap_row(row: Any, kind: str) -> Row:
    name = str(row["name"]).split(": ", 1)[-1]
    label = f"{name}, {row['benchmark']}" if kind in ("contrast", "cell") and row["benchmark"] != "average" else name
    points = (_point(0, row["difference"]), _point(1, row["joint"]))
    return Row(label, points, f"{_text(row['difference'])}\n{_text(row['joint'])}")


def acceptance_figure(material: Material) -> Figure | None:
    """Acceptance of correct solutions per solver and benchmark, one section per judge."""
    benchmarks = _benchmarks(material.entries)
    sections = []
    for judge in material.judges:
        rows = []
        for entry in material.covered_by(judge):
            points = [
                _point(
                    index, count_accepted(entry.benchmarks[name], judge, strategy=material.choices.strategy).interval
                )
                for index, name in enumerate(benchmarks)
                if name in entry.benchmarks
            ]
            kept = tuple(point for point in points if not math.isnan(point.value))
            if kept:
                rows.append(Row(entry.label, kept, "\n".join(f"{point.value:.1f}" for point in kept)))
        sections.append(Section(f"Judge: {judge}", tuple(rows)))
    if not any(section.rows for section in sections):
        return None
    caption = "Acceptance of correct solutions in percent (Wilson 95% intervals) per solver, benchmark and judge."
    draw = partial(draw_rows, sections, benchmarks, Axis("accepted (%)", (-3, 103)))
    return Figure("acceptance", caption, draw)


def saturation_figure(material: Material) -> Figure | None:
    """CoT-Pass@n and acceptance by the number of correct solutions."""
    sections = []
    for judge in material.judges:
        found = list(saturation_rows(material.compared(judge), judge, strategy=material.choices.strategy))
        for n in dict.fromkeys(row["n"] for row in found):
            rows = tuple(
                Row(
                    f"{row['c']} of {n} correct",
                    (_interval_point(0, row["cot_pass_at_n"]), _interval_point(1, row["acceptance"])),
                    f"{row['kept']}/{row['questions']} questions\n{row['judged']} solutions",
                )
                for row in found
                if row["n"] == n
            )
            sections.append(Section(f"Judge: {judge}", rows))
    if not any(section.rows for section in sections):
        return None
    caption = (
        "By the number of correct solutions of a question: how many questions keep an approved one (CoT-Pass@n given "
        "Pass@n = 1), and how many solutions are accepted. Wilson 95% intervals."
    )
    draw = partial(draw_rows, sections, ("CoT-Pass@n", "acceptance"), Axis("%", (-3, 103)))
    return Figure("saturation", caption, draw)


def _interval_point(series: int, value: object) -> Point:
    return _point(series, value if isinstance(value, Interval) else None)


def stops_figure(material: Material) -> Figure | None:
    """Stop rates of solvers and judges per benchmark."""
    rows = stops_table(material).rows
    judges = list(material.judges)
    sections = []
    for benchmark in dict.fromkeys(str(row["benchmark"]) for row in rows):
        drawn = []
        for solver in dict.fromkeys(str(row["solver"]) for row in rows if row["benchmark"] == benchmark):
            own = [row for row in rows if row["benchmark"] == benchmark and row["solver"] == solver]
            points = [_interval_point(0, own[0]["solver_stops"])]
            points += [
                _interval_point(judges.index(str(row["judge"])) + 1, row["judge_stops"])
                for row in own
                if row.get("judge")
            ]
            kept = tuple(point for point in points if not math.isnan(point.value))
            drawn.append(Row(solver, kept, "\n".join(f"{point.value:.1f}" for point in kept)))
        sections.append(Section(benchmark, tuple(row for row in drawn if row.points)))
    if not any(point.value > 0 for section in sections for row in section.rows for point in row.points):
        return None
    series = ("solver", *(f"judge {judge}" for judge in judges))
    caption = "Samples and judgments that met their limit, in percent (Wilson 95% intervals)."
    return Figure("stops", caption, partial(draw_rows, sections, series, Axis("stopped at the limit (%)", zero=0.0)))


def counterfactual_figure(material: Material) -> Figure | None:
    """The difference as observed and with stopped judgments credited, per judge and mode."""
    sections = []
    table = counterfactual_table(material)
    for judge in dict.fromkeys(str(value) for value in table.column("judge")):
        rows = tuple(
            Row(
                f"{row['mode']}, {row['budget']:,}" if isinstance(row["budget"], int) else str(row["mode"]),
                (_interval_point(0, row["observed"]), _interval_point(1, row["credited"])),
                f"{_text(_maybe(row['observed']))}\n{_text(_maybe(row['credited']))}",
            )
            for row in table.rows
            if row["judge"] == judge and isinstance(row["observed"], Interval)
        )
        sections.append(Section(f"Judge: {judge}", rows))
    if not any(section.rows for section in sections):
        return None
    caption = (
        "The mean difference over cells as observed, and with stopped judgments without a verdict credited as "
        "approvals; 95% intervals over resampled questions."
    )
    draw = partial(draw_rows, sections, ("observed", "stops credited"), Axis("difference (points)", zero=0.0))
    return Figure("counterfactual", caption, draw)


def _maybe(value: object) -> Interval | None:
    return value if isinstance(value, Interval) else None
