"""Charts as SVG: they follow the page's colours, scale to a phone, and say every number in a tooltip."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from multilingual_math_audit.leaderboard_app.markup import Markup, join, svg, tag

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 640.0, 56.0, 16.0, 14.0, 44.0
SHAPES = ("circle", "square", "diamond", "triangle", "ring", "cross")
COLOURS = len(SHAPES)
Format = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Point:
    """A point with its interval; `label` is its tooltip."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """Points joined by a line, under one name."""

    name: str
    points: Sequence[Point]


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar with its interval; `group` is the name of what stands side by side."""

    group: str
    name: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Axes:
    """What the axes say; values on y are shares from 0 to 1 unless `top` says otherwise."""

    title: str
    x: str
    y: str
    log_x: bool = False
    top: float = 1.0
    diagonal: bool = False
    write: Format = str


def line_chart(series: Sequence[Series], axes: Axes, *, height: float = 300) -> Markup:
    """Lines with intervals and a legend; y starts at zero."""
    drawn = [item for item in series if item.points]
    if not drawn:
        return Markup("")
    xs = [point.x for item in drawn for point in item.points]
    place_x, ticks = _scale_x(min(xs), max(xs), axes)
    floor = height - BOTTOM

    def place_y(value: float) -> float:
        return floor - min(value, axes.top) / axes.top * (floor - TOP)

    parts = [_grid(place_y, axes, floor), *(_tick_x(place_x(x), text, floor) for x, text in ticks)]
    if axes.diagonal:
        parts.append(svg("line", x1=place_x(0), y1=place_y(0), x2=place_x(1), y2=place_y(1), class_="p-diagonal"))
    for number, item in enumerate(drawn):
        parts.append(_line(item, number, place_x, place_y))
    return _figure(parts, axes, height, [(item.name, number) for number, item in enumerate(drawn)])


def bar_chart(bars: Sequence[Bar], axes: Axes, *, height: float = 300) -> Markup:
    """Groups of bars from zero with their intervals."""
    if not bars:
        return Markup("")
    groups = list(dict.fromkeys(bar.group for bar in bars))
    names = list(dict.fromkeys(bar.name for bar in bars))
    floor = height - BOTTOM
    room = (WIDTH - LEFT - RIGHT) / len(groups)
    width = min(34.0, room * 0.8 / len(names))

    def place_y(value: float) -> float:
        return floor - min(value, axes.top) / axes.top * (floor - TOP)

    parts = [_grid(place_y, axes, floor)]
    for bar in bars:
        middle = LEFT + room * (groups.index(bar.group) + 0.5)
        colour = names.index(bar.name)
        x = middle + width * (colour - len(names) / 2)
        text = f"{bar.group}, {bar.name}: {axes.write(bar.value)} [{axes.write(bar.low)}, {axes.write(bar.high)}]"
        shape = svg(
            "rect", x=x + 1, y=place_y(bar.value), width=width - 2, height=max(floor - place_y(bar.value), 0.5),
            class_=f"p-bar p-c{colour % COLOURS}",
        )  # fmt: skip
        parts.append(svg("g", svg("title", text), shape, _whisker(x + width / 2, place_y(bar.low), place_y(bar.high))))
    for index, group in enumerate(groups):
        parts.append(_tick_x(LEFT + room * (index + 0.5), group, floor))
    return _figure(parts, axes, height, [(name, number) for number, name in enumerate(names)])


def interval_bar(low: float, value: float, high: float, *, limit: float) -> Markup:
    """A small interval for a table's cell, from -limit to limit with a mark at zero."""

    def place(number: float) -> float:
        return 50 + 48 * max(-1.0, min(1.0, number / limit if limit else 0))

    return svg(
        "svg",
        svg("line", x1=50, y1=1, x2=50, y2=13, class_="p-zero"),
        svg("line", x1=place(low), y1=7, x2=place(high), y2=7, class_="p-span"),
        svg("circle", cx=place(value), cy=7, r=3.2, class_="p-dot"),
        viewBox="0 0 100 14", width=84, height=14, class_="mini", aria_hidden="true",
    )  # fmt: skip


def pair_chart(
    lines: Sequence[tuple[str, Sequence[tuple[float, float, float]]]], names: Sequence[str], axes: Axes
) -> Markup:
    """One line per row: several shares with their intervals on a common axis from zero."""
    if not lines:
        return Markup("")
    label, step = 218.0, 30.0
    height = TOP + step * len(lines) + BOTTOM

    def place(value: float) -> float:
        return label + value * (WIDTH - RIGHT - label)

    floor = height - BOTTOM
    parts = []
    for tenth in range(0, 11, 2):
        x = place(tenth / 10)
        parts += [svg("line", x1=x, y1=TOP, x2=x, y2=floor, class_="p-grid"), _tick_x(x, axes.write(tenth / 10), floor)]
    for row, (name, values) in enumerate(lines):
        y = TOP + step * (row + 0.5)
        parts.append(svg("text", _short(name, 36), x=label - 8, y=y + 4, class_="p-text", text_anchor="end"))
        for number, (value, low, high) in enumerate(values):
            at = y + (number - (len(values) - 1) / 2) * 9
            text = f"{name}, {names[number]}: {axes.write(value)} [{axes.write(low)}, {axes.write(high)}]"
            span = svg("line", x1=place(low), y1=at, x2=place(high), y2=at, class_=f"p-span p-s{number}")
            parts.append(svg("g", svg("title", text), span, _marker(number, place(value), at)))
    return _figure(parts, axes, height, [(name, number) for number, name in enumerate(names)])


def _line(item: Series, number: int, place_x: Callable[[float], float], place_y: Callable[[float], float]) -> Markup:
    at = [(float(place_x(point.x)), place_y(point.y), point) for point in item.points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in at)
    parts = [svg("polyline", points=path, class_=f"p-line p-s{number % COLOURS}")]
    for x, y, point in at:
        whisker = (
            _whisker(x, place_y(point.low), place_y(point.high), f" p-s{number % COLOURS}")
            if point.low is not None and point.high is not None
            else ""
        )
        parts.append(svg("g", svg("title", point.label or item.name), whisker, _marker(number, x, y)))
    return join(*parts)


def _whisker(x: float, low: float, high: float, colour: str = "") -> Markup:
    return svg("path", d=f"M{x - 3:.1f} {low:.1f}h6m-3 0V{high:.1f}m-3 0h6", class_=f"p-whisker{colour}")


def _marker(number: int, x: float, y: float) -> Markup:
    shape, colour = SHAPES[number % len(SHAPES)], f"p-mark p-c{number % COLOURS}"
    if shape == "square":
        return svg("rect", x=x - 4, y=y - 4, width=8, height=8, class_=colour)
    if shape == "diamond":
        return svg("path", d=f"M{x:.1f} {y - 5.5:.1f}l5.5 5.5l-5.5 5.5l-5.5 -5.5z", class_=colour)
    if shape == "triangle":
        return svg("path", d=f"M{x:.1f} {y - 5:.1f}l5 9h-10z", class_=colour)
    if shape == "cross":
        return svg("path", d=f"M{x - 4:.1f} {y - 4:.1f}l8 8m-8 0l8 -8", class_=f"p-line p-s{number % COLOURS}")
    return svg("circle", cx=x, cy=y, r=4.2, class_=colour + (" p-ring" if shape == "ring" else ""))


def _scale_x(low: float, high: float, axes: Axes) -> tuple[Callable[[float], float], list[tuple[float, str]]]:
    if axes.log_x:
        a, b = math.log2(max(low, 1e-9)), math.log2(max(high, 1e-9))
        step = max(1, math.ceil((b - a) / 8))
        ticks = [2.0**power for power in range(math.ceil(a), math.floor(b) + 1, step)]
    else:
        a, b = (0.0, 1.0) if axes.diagonal else (0.0, high)
        ticks = [b * part / 5 for part in range(6)]
    width = (b - a) or 1.0

    def place(x: float) -> float:
        share = ((math.log2(max(x, 1e-9)) if axes.log_x else x) - a) / width
        return LEFT + 8 + share * (WIDTH - LEFT - RIGHT - 16)

    return place, [(tick, _number(tick)) for tick in ticks]


def _number(value: float) -> str:
    if value >= 10_000:
        return f"{value / 1000:.0f}k"
    return f"{value:.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


def _grid(place_y: Callable[[float], float], axes: Axes, floor: float) -> Markup:
    parts = []
    for part in range(6):
        value = axes.top * part / 5
        y = place_y(value)
        parts.append(svg("line", x1=LEFT, y1=y, x2=WIDTH - RIGHT, y2=y, class_="p-grid"))
        parts.append(svg("text", axes.write(value), x=LEFT - 8, y=y + 4, text_anchor="end", class_="p-text"))
    parts.append(svg("line", x1=LEFT, y1=floor, x2=WIDTH - RIGHT, y2=floor, class_="p-axis"))
    return join(*parts)


def _tick_x(x: float, text: str, floor: float) -> Markup:
    return svg("text", _short(text, 22), x=x, y=floor + 17, text_anchor="middle", class_="p-text")


def _figure(parts: Sequence[Markup], axes: Axes, height: float, legend: Sequence[tuple[str, int]]) -> Markup:
    below = svg("text", axes.x, x=(LEFT + WIDTH - RIGHT) / 2, y=height - 6, text_anchor="middle", class_="p-label")
    drawing = svg(
        "svg", svg("title", axes.title), *parts, below, viewBox=f"0 0 {WIDTH:.0f} {height:.0f}", role="img",
        aria_label=axes.title, class_="plot", preserveAspectRatio="xMidYMid meet",
    )  # fmt: skip
    keys = [
        tag("li", svg("svg", _marker(number, 7, 7), viewBox="0 0 14 14", width=14, height=14, aria_hidden="true"), name)
        for name, number in legend
    ]
    caption = tag("figcaption", tag("strong", axes.title), tag("span", axes.y, class_="muted") if axes.y else "")
    return tag("figure", caption, tag("ul", *keys, class_="legend") if len(keys) > 1 else "", drawing, class_="figure")


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
