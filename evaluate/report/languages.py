"""The languages' section of a report: shares of classes, acceptance by class, and how far the two layers agree."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import partial

from multilingual_math_audit.evaluate.chains import Identified, read_identified
from multilingual_math_audit.evaluate.language import THRESHOLDS, ChainClass, layers_agree
from multilingual_math_audit.evaluate.report.acceptance import Accepted
from multilingual_math_audit.evaluate.report.build import Extra
from multilingual_math_audit.evaluate.report.charts import Axis, Point, Row, Section, Stack, draw_rows, draw_stacks
from multilingual_math_audit.evaluate.report.figures import Figure
from multilingual_math_audit.evaluate.report.material import Material
from multilingual_math_audit.evaluate.report.tables import Column, Table, Value, join_words
from multilingual_math_audit.store import Run

CLASSES: tuple[ChainClass, ...] = ("target", "mixed", "english")
FEWEST_CHAINS = 20
Cell = tuple[str, str, int | None, str, str]


def languages_extra(runs: Sequence[Run], material: Material) -> Extra | None:
    """The languages' tables and figures of runs; None where no run was identified."""
    found = [item for run in runs for item in read_identified(run)]
    if not found:
        return None
    command = material.choices.command
    tables = (share_table(found, command=command), class_table(found, command=command))
    figures = [figure for figure in (share_figure(found), class_figure(found)) if figure is not None]
    return Extra("languages", "The language of chains and judgments", tables, tuple(figures))


def _cells(found: Iterable[Identified]) -> dict[Cell, list[Identified]]:
    cells: dict[Cell, list[Identified]] = defaultdict(list)
    for item in found:
        cells[item.by, item.mode, item.budget, item.benchmark, item.record.of].append(item)
    return dict(sorted(cells.items(), key=lambda pair: [str(part) for part in pair[0]]))


def share_table(found: Sequence[Identified], *, command: str = "") -> Table:
    """Shares of the classes per solver or judge, mode, budget and benchmark, at three thresholds, and the layers."""
    columns = (
        Column("of", "Text"), Column("by", "By"), Column("mode", "Mode"), Column("budget", "Budget", "count"),
        Column("benchmark", "Benchmark"), Column("n", "n", "count"), Column("none", "Without prose", "count"),
        *(
            Column(f"{name}_{round(100 * threshold)}", f"{name} at {round(100 * threshold)}%", "points")
            for threshold in THRESHOLDS
            for name in CLASSES
        ),
        Column("restated", "Restated segments", "count"), Column("agree", "Layers agree (%)", "points"),
        Column("detector", "Detector"),
    )  # fmt: skip
    rows = [_share_row(cell, items) for cell, items in _cells(found).items()]
    notes = (
        (
            "A text is target if so many of its letters are in the benchmark's language, English if so many are "
            "English, else "
            "mixed; English in an English benchmark is the target. Letters labelled und or zxx are left out."
        ),
        "The target share hardly depends on the threshold; how the rest splits into mixed and English does.",
        "Layers agree: the strongest language by MaskLID is that of most letters; a dash where it was not run.",
    )
    return Table("languages", "The language of chains and judgments (%)", columns, tuple(rows), notes, command)


def _share_row(cell: Cell, items: Sequence[Identified]) -> dict[str, Value]:
    by, mode, budget, benchmark, of = cell
    row: dict[str, Value] = {
        "of": of, "by": by, "mode": mode, "budget": budget, "benchmark": benchmark,
        "restated": sum(item.record.restated for item in items),
        "detector": join_words(sorted({item.record.detector for item in items})),
    }  # fmt: skip
    for threshold in THRESHOLDS:
        shares = class_shares(items, threshold=threshold)
        for name in CLASSES:
            row[f"{name}_{round(100 * threshold)}"] = shares.get(name)
    row["none"] = without = sum(item.record.classify() == "none" for item in items)
    row["n"] = len(items) - without
    agreed = [verdict for item in items if (verdict := layers_agree(item.record)) is not None]
    row["agree"] = 100 * sum(agreed) / len(agreed) if agreed else None
    return row


def class_shares(items: Sequence[Identified], *, threshold: float = 0.8) -> dict[ChainClass, float]:
    """The share of each class in percent among texts with prose; empty without one."""
    counts = Counter(item.record.classify(threshold) for item in items)
    total = sum(counts[name] for name in CLASSES)
    return {name: 100 * counts[name] / total for name in CLASSES} if total else {}


def class_table(found: Sequence[Identified], *, command: str = "") -> Table:
    """Acceptance of correct chains by class, within solver and judge; classes under 20 chains are counted only."""
    columns = (
        Column("solver", "Solver"), Column("mode", "Mode"), Column("budget", "Budget", "count"),
        Column("judge", "Judge"), Column("class", "Class"), Column("n", "n", "count"),
        Column("acceptance", "Acceptance (%)", "points"),
    )  # fmt: skip
    rows: list[dict[str, Value]] = []
    for (solver, mode, budget, judge, name), accepted in _accepted(found).items():
        interval = accepted.interval if accepted.judged >= FEWEST_CHAINS else None
        rows.append(
            {"solver": solver, "mode": mode, "budget": budget, "judge": judge, "class": name,
             "n": accepted.judged, "acceptance": interval}
        )  # fmt: skip
    notes = (f"Benchmarks in other languages than English; classes with fewer than {FEWEST_CHAINS} chains are blank.",)
    return Table("language_acceptance", "Acceptance by language class", columns, tuple(rows), notes, command)


def _accepted(found: Sequence[Identified]) -> dict[tuple[str, str, int | None, str, ChainClass], Accepted]:
    counts: dict[tuple[str, str, int | None, str, ChainClass], list[bool]] = defaultdict(list)
    for item in found:
        if item.record.of == "chain" and item.record.language != "en":
            for judge, approved in item.accepted.items():
                name = item.record.classify()
                if name != "none":
                    counts[item.by, item.mode, item.budget, judge, name].append(approved)
    order = sorted(counts, key=lambda key: ([str(part) for part in key[:4]], CLASSES.index(key[4])))
    return {key: Accepted(sum(counts[key]), len(counts[key])) for key in order}


def share_figure(found: Sequence[Identified]) -> Figure | None:
    """Shares of the classes, one row per solver or judge, one section per benchmark and kind of text."""
    sections: dict[str, list[Stack]] = {}
    for (by, mode, budget, benchmark, of), items in _cells(found).items():
        shares = class_shares(items)
        if shares:
            detail = "" if of == "judgment" else f", {mode}" + (f", {budget:,}" if budget else "")
            n = sum(item.record.classify() != "none" for item in items)
            stack = Stack(f"{by.rsplit('/', 1)[-1]}{detail}", tuple(shares[name] for name in CLASSES), f"n={n}")
            sections.setdefault(f"{benchmark}, {of}s", []).append(stack)
    if not sections:
        return None
    caption = (
        f"Language of the texts by {join_words(sorted({i.record.detector for i in found}))}: target, mixed, English."
    )
    axis = Axis("texts (%)")
    return Figure("languages", caption, partial(draw_stacks, list(sections.items()), CLASSES, axis))


def class_figure(found: Sequence[Identified]) -> Figure | None:
    """Acceptance by class within solver, one section per judge; classes under 20 chains are not drawn."""
    sections: dict[str, dict[str, list[tuple[int, Accepted]]]] = {}
    for (solver, mode, budget, judge, name), accepted in _accepted(found).items():
        if accepted.judged >= FEWEST_CHAINS:
            label = f"{solver.rsplit('/', 1)[-1]}, {mode}" + (f", {budget:,}" if budget else "")
            sections.setdefault(judge, {}).setdefault(label, []).append((CLASSES.index(name), accepted))
    if not sections:
        return None
    drawn = [
        Section(f"Judge: {judge}", tuple(_class_row(label, cells) for label, cells in rows.items()))
        for judge, rows in sections.items()
    ]
    caption = f"Acceptance of correct chains by language class, Wilson 95% intervals; under {FEWEST_CHAINS} not drawn."
    draw = partial(draw_rows, drawn, CLASSES, Axis("accepted (%)", (-3, 103)))
    return Figure("language_acceptance", caption, draw)


def _class_row(label: str, cells: Sequence[tuple[int, Accepted]]) -> Row:
    intervals = [(index, interval, accepted.judged) for index, accepted in cells if (interval := accepted.interval)]
    points = tuple(Point(index, interval.value, (interval.low, interval.high)) for index, interval, _ in intervals)
    return Row(label, points, "\n".join(f"{interval.value:.0f} (n={n})" for _, interval, n in intervals))
