"""The audit's section of a report: acceptance under injected errors by rule, benchmark and size, with paired tests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

from multilingual_math_audit.evaluate.audit import Audit, Rate
from multilingual_math_audit.evaluate.inject import PAPER_EDITS
from multilingual_math_audit.evaluate.metrics import Interval
from multilingual_math_audit.evaluate.report.build import Extra
from multilingual_math_audit.evaluate.report.charts import Axis, Point, Row, Section, draw_rows
from multilingual_math_audit.evaluate.report.figures import Figure
from multilingual_math_audit.evaluate.report.tables import Column, Table, Value
from multilingual_math_audit.evaluate.verdicts import STRATEGIES

BENCHMARK = "benchmark:"


def audit_extra(audits: Sequence[Audit], *, command: str = "") -> Extra | None:
    """Tables and figures of some audits of one or more judges; None without an audit."""
    if not audits:
        return None
    tables = (
        rules_table(audits, command=command),
        benchmark_table(audits, command=command),
        contrast_table(audits, command=command),
        size_table(audits, command=command),
    )
    figures = tuple(figure for figure in (benchmark_figure(audits), size_figure(audits)) if figure is not None)
    return Extra("errors", "Injected errors", tuple(table for table in tables if table.rows), figures)


def rate_interval(rate: Rate) -> Interval | None:
    """A rate in percent with Wilson's interval; None for no variants."""
    if rate.n == 0 or math.isnan(rate.value):
        return None
    return Interval(100 * rate.value, 100 * rate.low, 100 * rate.high, rate.n)


def rules_table(audits: Sequence[Audit], *, command: str = "") -> Table:
    """Acceptance of the five variants under every rule, per judge."""
    columns = (
        Column("judge", "Judge"), Column("edit", "Variant"), Column("n", "n", "count"),
        *(Column(strategy, strategy.replace("_", " "), "points") for strategy in STRATEGIES),
        Column("single_vote", "On one vote", "count"), Column("no_verdict", "No verdict", "count"),
    )  # fmt: skip
    rows: list[dict[str, Value]] = []
    for audit in audits:
        manners = {manner.edit: manner for manner in audit.manners}
        for edit in PAPER_EDITS:
            found = {r.strategy: r for r in audit.rates if r.group == "all" and r.edit == edit}
            manner = manners.get(edit)
            if found:
                rows.append(
                    {
                        "judge": audit.judge,
                        "edit": edit,
                        "n": found["majority"].n,
                        **{strategy: rate_interval(rate) for strategy, rate in found.items()},
                        "single_vote": manner.single_vote if manner else None,
                        "no_verdict": sum(manner.no_verdict.values()) if manner else None,
                    }
                )
    notes = [f"{audit.judge}: {audit.because}" for audit in audits]
    notes += [
        f"{audit.judge}: {audit.pending} originals are pending and left out." for audit in audits if audit.pending
    ]
    title = "Acceptance under injected errors, by rule (%)"
    return Table("error_rules", title, columns, tuple(rows), tuple(notes), command)


def benchmark_table(audits: Sequence[Audit], *, command: str = "") -> Table:
    """Majority acceptance of the five variants per benchmark and judge."""
    benchmarks = _benchmarks(audits)
    columns = (
        Column("judge", "Judge"),
        Column("edit", "Variant"),
        *(Column(name, name, "points") for name in benchmarks),
    )
    rows: list[dict[str, Value]] = []
    for audit in audits:
        for edit in PAPER_EDITS:
            cells: dict[str, Value] = {
                name: rate_interval(rate) for name in benchmarks if (rate := _rate(audit, edit, BENCHMARK + name))
            }
            rows.append({"judge": audit.judge, "edit": edit, **cells})
    title = "Acceptance under injected errors, by benchmark (%, majority)"
    return Table("error_benchmarks", title, columns, tuple(rows), ("Wilson 95% intervals.",), command)


def _benchmarks(audits: Sequence[Audit]) -> list[str]:
    groups = {rate.group for audit in audits for rate in audit.rates if rate.group.startswith(BENCHMARK)}
    return sorted(group.removeprefix(BENCHMARK) for group in groups)


def _rate(audit: Audit, edit: str, group: str) -> Rate | None:
    rows = (r for r in audit.rates if r.edit == edit and r.group == group and r.strategy == "majority")
    return next(rows, None)


def contrast_table(audits: Sequence[Audit], *, command: str = "") -> Table:
    """Paired differences in acceptance with both bootstraps, exact McNemar tests and Holm's adjustment."""
    columns = (
        Column("judge", "Judge"), Column("a", "From"), Column("b", "To"), Column("n", "Pairs", "count"),
        Column("difference", "Difference", "points"), Column("clustered", "Questions resampled", "points"),
        Column("only_a", "Only the first", "count"), Column("only_b", "Only the second", "count"),
        Column("p", "p (McNemar)", "p"), Column("p_holm", "p (Holm)", "p"),
    )  # fmt: skip
    rows: list[dict[str, Value]] = [
        {
            "judge": audit.judge,
            "a": pair.a,
            "b": pair.b,
            "n": pair.n,
            "difference": _points(pair.difference, pair.low, pair.high, pair.n),
            "clustered": _points(pair.difference, pair.clustered_low, pair.clustered_high, pair.n),
            "only_a": pair.only_a,
            "only_b": pair.only_b,
            "p": pair.p,
            "p_holm": pair.p_holm,
        }
        for audit in audits
        for pair in audit.contrasts["majority"]
    ]
    notes = ("The first interval resamples originals as the paper does, the second questions: originals share them.",)
    return Table("error_contrasts", "Paired differences under majority", columns, tuple(rows), notes, command)


def _points(value: float, low: float, high: float, n: int) -> Interval | None:
    return None if math.isnan(value) else Interval(100 * value, 100 * low, 100 * high, n)


def size_table(audits: Sequence[Audit], *, command: str = "") -> Table:
    """Majority acceptance by how the wrong number was formed, how far off it is, and where it stands."""
    columns = (
        Column("judge", "Judge"), Column("by", "By"), Column("edit", "Variant"), Column("group", "Group"),
        Column("n", "n", "count"), Column("acceptance", "Acceptance (%)", "points"),
    )  # fmt: skip
    rows: list[dict[str, Value]] = [
        {"judge": audit.judge, "by": by, "edit": r.edit, "group": r.group, "n": r.n, "acceptance": rate_interval(r)}
        for audit in audits
        for by, rates in (("size", audit.by_size), ("kind", audit.by_form), ("position", audit.by_position))
        for r in rates
    ]
    return Table("error_sizes", "Acceptance by kind, size and place of the error", columns, tuple(rows), (), command)


def benchmark_figure(audits: Sequence[Audit]) -> Figure | None:
    """Acceptance of each variant per benchmark, one section per judge and benchmark."""
    judges = [audit.judge for audit in audits]
    sections = []
    for name in ("all", *_benchmarks(audits)):
        group = name if name == "all" else BENCHMARK + name
        rows = [
            _row(edit.replace("_", " "), [(i, _rate(audit, edit, group)) for i, audit in enumerate(audits)])
            for edit in PAPER_EDITS
        ]
        sections.append(Section("All benchmarks" if name == "all" else name, tuple(row for row in rows if row.points)))
    if not any(section.rows for section in sections):
        return None
    caption = "Acceptance of the five variants under majority, per benchmark and judge, with Wilson 95% intervals."
    draw = partial(draw_rows, sections, judges, Axis("accepted (%)", (-3, 103)))
    return Figure("errors", caption, draw)


def _row(label: str, rates: Sequence[tuple[int, Rate | None]]) -> Row:
    found = [(index, interval) for index, rate in rates if rate and (interval := rate_interval(rate))]
    points = tuple(Point(index, interval.value, (interval.low, interval.high)) for index, interval in found)
    return Row(label, points, "\n".join(f"{interval.value:.1f}" for _, interval in found))


def size_figure(audits: Sequence[Audit]) -> Figure | None:
    """Acceptance by kind and by size of the wrong number."""
    sections = [section for by in ("by_form", "by_size") for section in _size_sections(audits, by)]
    if not any(section.rows for section in sections):
        return None
    caption = "Acceptance by how the wrong number was formed and by how far it is off, with Wilson 95% intervals."
    judges = [audit.judge for audit in audits]
    return Figure("error_sizes", caption, partial(draw_rows, sections, judges, Axis("accepted (%)", (-3, 103))))


def _size_sections(audits: Sequence[Audit], by: str) -> Iterator[Section]:
    title = {"by_form": "kind", "by_size": "size"}[by]
    for edit in PAPER_EDITS:
        found: dict[str, list[tuple[int, Rate | None]]] = {}
        for index, audit in enumerate(audits):
            for rate in getattr(audit, by):
                if rate.edit == edit:
                    found.setdefault(rate.group, []).append((index, rate))
        if found:
            rows = tuple(_row(group, rates) for group, rates in found.items())
            yield Section(f"{edit.replace('_', ' ')}, by {title}", rows)
