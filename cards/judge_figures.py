"""The figures of a judge card: acceptance by edit, by benchmark, by size of the error, and by dose."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multilingual_math_audit.evaluate.audit import Audit, Rate, dose_response
from multilingual_math_audit.evaluate.inject import PAPER_EDITS
from multilingual_math_audit.evaluate.report.style import (
    COLUMN_WIDTH,
    TEXT_WIDTH,
    Theme,
    add_legend,
    draw_interval,
    label_rows,
    save_figure,
    series_look,
    write_row_end,
)
from multilingual_math_audit.evaluate.sensitivity import points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EDIT_LABELS = {
    "clean": "clean", "intermediate": "intermediate\nnumber", "truncation": "truncation",
    "final_answer": "final answer", "consistent": "consistent", "natural": "solver's own\nwrong answers",
}  # fmt: skip
LANGUAGE_NAMES = {"en": "English", "tr": "Türkçe", "pt": "Português"}
SIZE_LABELS = {"<1%": "below 1%", "<10%": "1 to 10%", "<100%": "10 to 100%", "at least 100%": "at least 100%"}


def _blank(*, width: float, height: float, panels: int = 1) -> tuple[Figure, Any]:
    """A figure and its axes side by side (one, or an array of them)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(1, panels, sharey=True)


def label_edit(edit: str) -> str:
    """How a figure names an edit."""
    return EDIT_LABELS.get(edit, edit.replace("_", " "))


def draw_acceptance(audit: Audit, theme: Theme) -> Figure:
    """Acceptance of each edit under majority, with Wilson's interval."""
    rows = [r for r in audit.rates if r.group == "all" and r.strategy == "majority"]
    rows += [r for r in (*audit.further, *audit.natural) if r.group == "all" and not r.edit.startswith("dose_")]
    figure, axes = _blank(width=COLUMN_WIDTH, height=0.7 + 0.27 * len(rows))
    label_rows(axes, [label_edit(row.edit) for row in rows], theme)
    for index, row in enumerate(rows):
        look = {"color": theme.color(0 if row.edit == "clean" else 1), "marker": "o" if row.edit == "clean" else "s"}
        _bar(axes, index, row, look)
        write_row_end(axes, index, _share(row), theme)
    _percent_axis(axes, "Accepted by majority (%)")
    return figure


def _bar(axes: Any, row: int, rate: Rate, look: dict[str, Any]) -> None:
    if math.isnan(rate.value):
        return
    axes.barh(row, 100 * rate.value, height=0.56, color=look["color"], alpha=0.28, zorder=1)
    draw_interval(axes, at=(100 * rate.value, row), ends=(100 * rate.low, 100 * rate.high), look=look)


def _share(rate: Rate) -> str:
    return "not judged" if math.isnan(rate.value) else f"{100 * rate.value:.0f}%  of {rate.n}"


def _percent_axis(axes: Any, label: str) -> None:
    axes.set_xlim(-3, 103)
    axes.set_xticks([0, 25, 50, 75, 100])
    axes.set_xlabel(label)


def draw_benchmarks(audit: Audit, theme: Theme) -> Figure:
    """Acceptance of each edit by benchmark."""
    return _grouped(audit, theme, "benchmark:")


def draw_languages(audit: Audit, theme: Theme) -> Figure:
    """Acceptance of each edit by language."""
    return _grouped(audit, theme, "language:")


def _grouped(audit: Audit, theme: Theme, prefix: str) -> Figure:
    groups = list(dict.fromkeys(r.group for r in audit.rates if r.group.startswith(prefix)))
    figure, axes = _blank(width=TEXT_WIDTH, height=0.75 + 0.24 * max(2, len(groups)), panels=5)
    names = [LANGUAGE_NAMES.get(name, name) for name in (group.removeprefix(prefix) for group in groups)]
    for panel, edit in zip(axes, PAPER_EDITS, strict=True):
        label_rows(panel, names, theme)
        for index, group in enumerate(groups):
            row = next(r for r in audit.rates if (r.edit, r.group, r.strategy) == (edit, group, "majority"))
            look = series_look(0 if edit == "clean" else 1, theme)
            _bar(panel, index, row, look)
        panel.set_title(label_edit(edit).replace("\n", " "), fontweight="normal")
        panel.set_xlim(-4, 104)
        panel.set_xticks([0, 50, 100])
    axes[2].set_xlabel("Accepted by majority (%)")
    return figure


def draw_sizes(audit: Audit, theme: Theme) -> Figure:
    """Acceptance by the relative size of the error, an edit a series."""
    edits = [edit for edit in PAPER_EDITS if any(r.edit == edit and r.n for r in audit.by_size)]
    figure, axes = _blank(width=COLUMN_WIDTH, height=2.3)
    label_rows(axes, list(SIZE_LABELS.values()), theme)
    for series, edit in enumerate(edits):
        look = series_look(series + 1, theme)
        for row in (r for r in audit.by_size if r.edit == edit and r.n):
            at = list(SIZE_LABELS).index(row.group) + 0.22 * (series - (len(edits) - 1) / 2)
            draw_interval(axes, at=(100 * row.value, at), ends=(100 * row.low, 100 * row.high), look=look)
    _percent_axis(axes, "Accepted by majority (%)")
    axes.set_ylabel("Size of the error")
    looks = [(label_edit(edit).replace("\n", " "), series_look(s + 1, theme)) for s, edit in enumerate(edits)]
    add_legend(figure, [(name, {**look, "line": "none"}) for name, look in looks], columns=3)
    return figure


def draw_dose(audit: Audit, theme: Theme) -> Figure:
    """Acceptance by how many numbers of the chain are wrong."""
    doses = dose_response(audit)
    figure, axes = _blank(width=COLUMN_WIDTH, height=2.1)
    positions = range(len(doses))
    look = series_look(1, theme)
    values = [100 * rate.value for _, rate in doses]
    axes.plot(positions, values, color=look["color"], linewidth=1.0, alpha=0.6, zorder=2)
    for position, (_, rate) in zip(positions, doses, strict=True):
        axes.plot([position] * 2, [100 * rate.low, 100 * rate.high], color=look["color"], linewidth=1.3, zorder=2)
        axes.plot([position], [100 * rate.value], marker="o", color=look["color"], zorder=3)
    axes.set_xticks(list(positions), [f"{n}\n(n={rate.n})" for n, rate in doses])
    axes.set_ylim(-3, 103)
    axes.set_yticks([0, 25, 50, 75, 100])
    axes.set_xlabel("Wrong numbers in the chain")
    axes.set_ylabel("Accepted by majority (%)")
    axes.grid(axis="y", color=theme.rule, linewidth=0.6)
    axes.set_axisbelow(True)
    return figure


def draw_numbers(audit: Audit, theme: Theme) -> Figure:
    """The three numbers with their intervals over questions."""
    found = audit.sensitivity
    rows = (
        ("chain sensitivity", found.chain),
        ("answer sensitivity", found.answer),
        ("consistency reward", found.agreement),
    )
    figure, axes = _blank(width=COLUMN_WIDTH, height=1.5)
    label_rows(axes, [name for name, _ in rows], theme)
    axes.axvline(0, color=theme.muted, linewidth=0.8)
    for index, (_, difference) in enumerate(rows):
        if math.isnan(difference.value):
            continue
        ends = (100 * difference.low, 100 * difference.high)
        draw_interval(axes, at=(100 * difference.value, index), ends=ends, look=series_look(index, theme))
        write_row_end(axes, index, points(difference, signed=True).partition(" ")[0], theme)
    axes.set_xlim(-105, 105)
    axes.set_xticks([-100, -50, 0, 50, 100])
    axes.set_xlabel("Difference in acceptance (points)")
    return figure


def save_figures(audit: Audit, folder: Path) -> list[str]:
    """Write every figure that the audit has data for, light and dark; gives their names."""
    drawings = {"acceptance": draw_acceptance, "numbers": draw_numbers}
    if len({r.group for r in audit.rates if r.group.startswith("benchmark:")}) > 0:
        drawings["benchmarks"] = draw_benchmarks
    if len({r.group for r in audit.rates if r.group.startswith("language:")}) > 1:
        drawings["languages"] = draw_languages
    if audit.by_size:
        drawings["sizes"] = draw_sizes
    if dose_response(audit):
        drawings["dose"] = draw_dose
    for name, draw in drawings.items():
        save_figure(lambda theme, draw=draw: draw(audit, theme), folder, name)  # type: ignore[misc]
    return list(drawings)
