"""The three forms that every figure takes: rows with intervals, lines along k, and stacked shares."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from multilingual_math_audit.evaluate.report.style import (
    COLUMN_WIDTH,
    FONT_SIZE,
    ROW_HEIGHT,
    Margins,
    Theme,
    add_legend,
    label_rows,
    new_figure,
    new_panels,
    series_look,
    write_row_end,
    write_title,
)

LABEL_WIDTH = 22
POINT_STEP = 0.62


@dataclass(frozen=True, slots=True)
class Point:
    """One value of a series with its interval; without one it is drawn hollow."""

    series: int
    value: float
    ends: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled row of points with a number at its end."""

    label: str
    points: tuple[Point, ...]
    end: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Rows under one title."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """One line along k: for each k a value and its interval."""

    label: str
    points: tuple[tuple[int, float, tuple[float, float] | None], ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """The value axis: its label, its limits where they are fixed, and a line to compare with."""

    label: str
    limits: tuple[float, float] | None = None
    zero: float | None = None


def short_name(label: str, *, width: int = LABEL_WIDTH) -> str:
    """A label that fits beside a figure: without the organisation, on at most two lines, long ones shortened.

    >>> short_name("Qwen/Qwen2.5-7B")
    'Qwen2.5-7B'
    >>> short_name("some-org/a-model-with-a-name-that-never-seems-to-end-at-all")
    'a-model-with-a-name-\\nthat-never-seems-to-…'
    """
    name = label.rsplit("/", 1)[-1] if label.count("/") == 1 else label
    lines = textwrap.wrap(name, width, max_lines=2, placeholder="…", break_on_hyphens=True)
    return "\n".join(lines).replace("$", r"\$")


def draw_rows(sections: Sequence[Section], series: Sequence[str], axis: Axis, theme: Theme) -> Any:
    """Sections of rows, one below the other, each point with its interval and each row with its numbers at the end.

    Several points of a row are set below each other, so that no interval hides another.
    """
    sections = [section for section in sections if section.rows]
    if not sections:
        return draw_message("There is nothing to show.", theme)
    labels = [short_name(row.label) for section in sections for row in section.rows]
    ends = [line for section in sections for row in section.rows for line in row.end.split("\n")]
    names = [short_name(name, width=40) for name in series]
    step = max(1.0, POINT_STEP * max(len(row.points) for section in sections for row in section.rows) + 0.3)
    figure, axes = new_panels(
        [len(section.rows) * step * ROW_HEIGHT for section in sections],
        Margins(left=_room(labels) + 0.08, right=_room(ends) + 0.1, top=_legend_height(names)),
    )
    for panel, section in zip(axes, sections, strict=True):
        label_rows(panel, [short_name(row.label) for row in section.rows], theme, every=step)
        write_title(figure, panel, short_name(section.title, width=60), theme)
        if axis.zero is not None:
            panel.axvline(axis.zero, color=theme.muted, linewidth=0.8, zorder=1)
        _draw_points(panel, section.rows, step, theme)
    axes[-1].set_xlabel(axis.label)
    low, high = axis.limits or axes[-1].get_xlim()
    axes[-1].set_xlim((low, high) if axis.limits else (min(low, -0.2), max(high, 1.0)))
    if len(series) > 1:
        looks = [(name, _dot(series_look(index, theme))) for index, name in enumerate(names)]
        add_legend(figure, looks, columns=_legend_columns(names))
    return figure


def _room(texts: Sequence[str]) -> float:
    """The width that texts need, in inches."""
    longest = max((len(line) for text in texts for line in text.split("\n")), default=0)
    return 0.0585 * longest + 0.04


def _legend_columns(names: Sequence[str]) -> int:
    longest = max(len(name) for name in names) + 5
    return max(1, min(len(names), int(COLUMN_WIDTH / (0.062 * longest))))


def _legend_height(names: Sequence[str]) -> float:
    return 0.08 if len(names) < 2 else 0.05 + 0.16 * math.ceil(len(names) / _legend_columns(names))


def _dot(look: dict[str, Any]) -> dict[str, Any]:
    return {**look, "line": "none"}


def _draw_points(panel: Any, rows: Sequence[Row], step: float, theme: Theme) -> None:
    placed: dict[int, list[tuple[Point, float]]] = {}
    for number, row in enumerate(rows):
        start = number * step - POINT_STEP * (len(row.points) - 1) / 2
        ends = row.end.split("\n") if row.end else []
        for index, point in enumerate(row.points):
            placed.setdefault(point.series, []).append((point, start + POINT_STEP * index))
            if index < len(ends) and len(ends) > 1:
                write_row_end(panel, start + POINT_STEP * index, ends[index], theme)
        if len(ends) == 1:
            write_row_end(panel, number * step, ends[0], theme)
    for series, points in placed.items():
        _draw_series(panel, [pair for pair in points if not math.isnan(pair[0].value)], series_look(series, theme))


def _draw_series(panel: Any, points: Sequence[tuple[Point, float]], look: dict[str, Any]) -> None:
    """All points of one series at once: an interval for each, hollow where it has no width or there is none."""
    drawn = [(point, at) for point, at in points if point.ends is not None and point.ends[0] < point.ends[1]]
    lows, highs = [p.ends[0] for p, _ in drawn if p.ends], [p.ends[1] for p, _ in drawn if p.ends]
    panel.hlines([at for _, at in drawn], lows, highs, color=look["color"], linewidth=1.3, zorder=2)
    hollow = [pair for pair in points if pair not in drawn]
    for chosen, face in ((drawn, look["color"]), (hollow, panel.get_facecolor())):
        panel.plot(
            [point.value for point, _ in chosen], [at for _, at in chosen], marker=look["marker"], linestyle="none",
            color=look["color"], markerfacecolor=face, zorder=3,
        )  # fmt: skip


def draw_lines(panels: Sequence[tuple[str, Sequence[Line]]], axis: Axis, theme: Theme) -> Any:
    """Lines along k = 1, 2, 4 …, one panel per title, intervals as bars, each line named at its end."""
    names = [f"{short_name(line.label, width=18).splitlines()[0]} 00.0" for _, lines in panels for line in lines]
    figure, axes = new_panels([2.0] * len(panels), Margins(left=0.5, right=_room(names) + 0.1))
    for panel, (title, lines) in zip(axes, panels, strict=False):
        write_title(figure, panel, short_name(title, width=60), theme)
        panel.set_xscale("log", base=2)
        panel.grid(axis="y", color=theme.rule, linewidth=0.6)
        panel.set_ylabel(axis.label)
        steps = sorted({k for line in lines for k, _, _ in line.points})
        panel.set_xticks(steps, [str(k) for k in steps])
        panel.minorticks_off()
        for index, line in enumerate(lines):
            _draw_line(panel, line, (index, len(lines)), theme)
        _name_lines(panel, lines, theme)
        if axis.limits is not None:
            panel.set_ylim(*axis.limits)
    axes[-1].set_xlabel("k")
    return figure


def _draw_line(panel: Any, line: Line, place: tuple[int, int], theme: Theme) -> None:
    index, count = place
    look = series_look(index, theme)
    shift = 2 ** (0.16 * (index - (count - 1) / 2) / max(1, count - 1)) if count > 1 else 1.0
    xs = [k * shift for k, _, _ in line.points]
    ys = [value for _, value, _ in line.points]
    panel.plot(xs, ys, color=look["color"], linestyle=look["line"], marker=look["marker"], markersize=3)
    for x, (_, _, ends) in zip(xs, line.points, strict=True):
        if ends is not None:
            panel.plot((x, x), ends, color=look["color"], linewidth=0.8, alpha=0.65)


def _name_lines(panel: Any, lines: Sequence[Line], theme: Theme) -> None:
    """Names and last values at the right, moved apart where lines end close to each other."""
    tops = [max([v, *([e[1]] if e else [])]) for line in lines for _, v, e in line.points]
    if not tops:
        return
    panel.set_ylim(min(0.0, min(v for line in lines for _, v, _ in line.points)), max(max(tops) * 1.08, 1.0))
    low, high = panel.get_ylim()
    gap = (high - low) / 13
    ends = sorted(((line.points[-1][1], index) for index, line in enumerate(lines) if line.points), reverse=True)
    place = high
    for value, index in ends:
        place = min(place, value + gap * 0.2 if place == high else place)
        at = min(value, place)
        label = f"{short_name(lines[index].label, width=18).splitlines()[0]} {value:.1f}"
        panel.annotate(
            label,
            xy=(1.0, at),
            xycoords=("axes fraction", "data"),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=FONT_SIZE - 1,
            color=series_look(index, theme)["color"],
            annotation_clip=False,
        )
        place = at - gap


@dataclass(frozen=True, slots=True)
class Stack:
    """One row of shares in percent, adding up to 100, with a number at its end."""

    label: str
    shares: tuple[float, ...]
    end: str = ""


def draw_stacks(sections: Sequence[tuple[str, Sequence[Stack]]], parts: Sequence[str], axis: Axis, theme: Theme) -> Any:
    """Rows of stacked shares under titles; shares of at least 12% carry their number."""
    sections = [(title, stacks) for title, stacks in sections if stacks]
    if not sections:
        return draw_message("There is nothing to show.", theme)
    stacked = [stack for _, stacks in sections for stack in stacks]
    figure, axes = new_panels(
        [len(stacks) * ROW_HEIGHT * 1.25 for _, stacks in sections],
        Margins(
            left=_room([short_name(stack.label) for stack in stacked]) + 0.08,
            right=_room([stack.end for stack in stacked]) + 0.1,
            top=_legend_height(parts),
        ),
    )
    for panel, (title, stacks) in zip(axes, sections, strict=False):
        label_rows(panel, [short_name(stack.label) for stack in stacks], theme)
        write_title(figure, panel, short_name(title, width=60), theme)
        for place, stack in enumerate(stacks):
            left = 0.0
            for index, share in enumerate(stack.shares):
                color = theme.color(index)
                panel.barh(
                    place, share, left=left, height=0.62, color=color, edgecolor=theme.paper, hatch=HATCHES[index % 4]
                )
                if share >= 12:
                    _write_in_bar(panel, (left + share / 2, place), f"{share:.0f}", theme)
                left += share
            write_row_end(panel, place, stack.end, theme)
    axes[-1].set_xlim(0, 100)
    axes[-1].set_xlabel(axis.label)
    names = [(part, {"color": theme.color(i), "marker": "s"}) for i, part in enumerate(parts)]
    add_legend(figure, names, columns=_legend_columns(parts))
    return figure


HATCHES = ("", "////", "....", "xxxx")


def _write_in_bar(panel: Any, at: tuple[float, float], text: str, theme: Theme) -> None:
    box = {"boxstyle": "round,pad=0.15", "facecolor": theme.paper, "edgecolor": "none", "alpha": 0.9}
    panel.text(*at, text, ha="center", va="center", fontsize=FONT_SIZE - 1.5, color=theme.ink, bbox=box)


def draw_message(text: str, theme: Theme) -> Any:
    """A figure that says in words why there is nothing to draw."""
    figure, axes = new_figure(width=COLUMN_WIDTH, height=0.8)
    axes[0].axis("off")
    axes[0].text(0.5, 0.5, textwrap.fill(text, 52), ha="center", va="center", color=theme.muted)
    return figure
