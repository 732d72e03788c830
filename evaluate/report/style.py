"""The look of every figure: two themes, one palette, intervals always drawn, numbers at the ends of rows.

The palette is Okabe and Ito's eight colours (Color Universal Design, 2008), darkened for paper and lightened for a dark
page so that each keeps a contrast of at least 3:1 with its background; series also differ by marker, never by colour
alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from multilingual_math_audit.errors import MissingExtra
from multilingual_math_audit.store import storage_errors, write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN_WIDTH = 3.4
TEXT_WIDTH = 6.9
ROW_HEIGHT = 0.2
HEADER_HEIGHT = 0.4
FONT_SIZE = 7.5
DPI = 200
TALLEST_PIXELS = 30_000
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")
LINES = ("-", "--", "-.", ":")


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of one background; `series` are told apart by people with any colour vision."""

    name: Literal["light", "dark"]
    ink: str
    paper: str
    muted: str
    rule: str
    series: tuple[str, ...]

    def color(self, index: int) -> str:
        """The colour of a series, the same in every figure of a report.

        >>> LIGHT.color(0), LIGHT.color(8) == LIGHT.color(0)
        ('#0072b2', True)
        """
        return self.series[index % len(self.series)]


LIGHT = Theme(
    name="light",
    ink="#1b1f24",
    paper="#ffffff",
    muted="#5d6670",
    rule="#e1e5ea",
    series=("#0072b2", "#c85000", "#008562", "#a8558a", "#8a6d00", "#2a83b8", "#6b6f75", "#1b1f24"),
)
DARK = Theme(
    name="dark",
    ink="#e8eaed",
    paper="#15181c",
    muted="#a3abb5",
    rule="#2f353c",
    series=("#56b4e9", "#ff9d5c", "#2fc49a", "#e59ac6", "#f0e442", "#9fd3f2", "#aab0b8", "#e8eaed"),
)
THEMES: tuple[Theme, ...] = (LIGHT, DARK)
Draw = Callable[[Theme], "Figure"]


def relative_luminance(color: str) -> float:
    """The relative luminance of a colour such as `#0072b2`, from 0 to 1 (WCAG 2.2).

    >>> relative_luminance("#ffffff"), relative_luminance("#000000")
    (1.0, 0.0)
    """
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return round(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2], 6)


def contrast(first: str, second: str) -> float:
    """The contrast of two colours, from 1 to 21 (WCAG 2.2).

    >>> contrast("#000000", "#ffffff")
    21.0
    """
    light, dark = sorted((relative_luminance(first), relative_luminance(second)), reverse=True)
    return round((light + 0.05) / (dark + 0.05), 2)


@contextmanager
def styled(theme: Theme) -> Iterator[None]:
    """The theme's settings for the figures drawn inside; raises MissingExtra without matplotlib."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise MissingExtra("Drawing figures", "figures") from None
    with mpl.rc_context(_settings(theme)):
        yield


def _settings(theme: Theme) -> dict[str, Any]:
    return {
        "font.family": "DejaVu Sans",
        "font.size": FONT_SIZE,
        "axes.titlesize": FONT_SIZE + 0.5,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.labelsize": FONT_SIZE,
        "xtick.labelsize": FONT_SIZE - 0.5,
        "ytick.labelsize": FONT_SIZE - 0.5,
        "legend.fontsize": FONT_SIZE - 0.5,
        "figure.facecolor": theme.paper,
        "axes.facecolor": theme.paper,
        "savefig.facecolor": theme.paper,
        "text.color": theme.ink,
        "axes.labelcolor": theme.ink,
        "axes.edgecolor": theme.muted,
        "xtick.color": theme.muted,
        "ytick.color": theme.ink,
        "grid.color": theme.rule,
        "axes.grid": False,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.6,
        "lines.linewidth": 1.2,
        "lines.markersize": 4,
        "legend.frameon": False,
        "svg.hashsalt": "multilingual-math-audit",
        "svg.fonttype": "path",
    }


def new_figure(*, width: float = COLUMN_WIDTH, height: float = 2.4, rows: int = 1, **options: Any) -> tuple[Any, Any]:
    """A figure and the list of its axes, one below the other, to be called inside `styled`.

    >>> with styled(LIGHT):
    ...     figure, axes = new_figure(height=2.0, rows=2)
    >>> float(figure.get_size_inches()[1]), len(axes)
    (2.0, 2)
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, 1, squeeze=False, **options)
    return figure, list(axes[:, 0])


@dataclass(frozen=True, slots=True)
class Margins:
    """Room around the panels of a figure, and between them, in inches."""

    left: float
    right: float
    top: float = 0.1
    bottom: float = 0.45
    between: float = HEADER_HEIGHT


def new_panels(heights: Sequence[float], margins: Margins, *, width: float = COLUMN_WIDTH) -> tuple[Any, list[Any]]:
    """A figure of panels below each other with a common value axis; heights in inches, each with room for a title.

    Places are computed and not searched for, which makes large figures quick and the same everywhere.

    >>> with styled(LIGHT):
    ...     figure, axes = new_panels([1.0, 2.0], Margins(1.0, 0.5))
    >>> len(axes), round(float(figure.get_size_inches()[1]), 2)
    (2, 4.35)
    """
    from matplotlib.figure import Figure

    total = margins.top + margins.bottom + sum(heights) + margins.between * len(heights)
    figure = Figure(figsize=(width, total))
    axes: list[Any] = []
    top = total - margins.top
    for height in heights:
        top -= margins.between
        place = (
            margins.left / width,
            (top - height) / total,
            1 - (margins.left + margins.right) / width,
            height / total,
        )
        axes.append(figure.add_axes(place, sharex=axes[0] if axes else None))
        top -= height
    return figure, axes


def write_title(figure: Figure, axes: Axes, text: str, theme: Theme) -> None:
    """A panel's title above it, from the left edge of the figure, so that long ones fit."""
    box = axes.get_position()
    inches = float(figure.get_size_inches()[1])
    figure.text(
        0.012, box.y1 + 0.07 / inches, text, fontsize=FONT_SIZE + 0.5, fontweight="bold", va="bottom", color=theme.ink
    )


def draw_interval(
    axes: Axes, *, at: tuple[float, float], ends: tuple[float, float] | None, look: Mapping[str, Any]
) -> None:
    """A point with its horizontal interval; an absent interval is shown as a hollow marker, never as none at all.

    `at` is (value, row), `ends` the interval in the units of the value, `look` has `color` and `marker`.
    """
    value, row = at
    color = look["color"]
    if ends is not None and ends[0] < ends[1]:
        axes.plot(ends, (row, row), color=color, linewidth=1.3, solid_capstyle="butt", zorder=2)
    filled = ends is not None and ends[0] < ends[1]
    axes.plot(
        [value],
        [row],
        marker=look.get("marker", "o"),
        color=color,
        markerfacecolor=color if filled else axes.get_facecolor(),
        linestyle="none",
        zorder=3,
    )


def write_row_end(axes: Axes, row: float, text: str, theme: Theme) -> None:
    """A row's number at its right end, outside the axes."""
    axes.annotate(
        text,
        xy=(1.0, row),
        xycoords=("axes fraction", "data"),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        ha="left",
        fontsize=FONT_SIZE - 1,
        color=theme.muted,
        annotation_clip=False,
    )


def label_rows(axes: Axes, labels: Sequence[str], theme: Theme, *, every: float = 1.0) -> None:
    """Row labels from the top down, with a light rule behind each row."""
    rows = [index * every for index in range(len(labels))]
    axes.set_yticks(rows, labels)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(rows[-1] + every * 0.6 if rows else 1, -every * 0.6)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=theme.rule, linewidth=0.6, zorder=0)
    axes.set_axisbelow(True)


def add_legend(figure: Figure, names: Sequence[tuple[str, Mapping[str, Any]]], *, columns: int | None = None) -> None:
    """One legend above the axes, a marker and a colour for each name."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D(
            [], [], color=look["color"], marker=look.get("marker", "o"), linestyle=look.get("line", "none"), label=name
        )
        for name, look in names
    ]
    figure.legend(
        handles=handles,
        loc="outside upper left" if figure.get_layout_engine() is not None else "upper left",
        ncols=columns or min(len(handles), 4),
        handletextpad=0.3,
        columnspacing=1.0,
        borderaxespad=0.2,
    )


def series_look(index: int, theme: Theme) -> dict[str, Any]:
    """Colour, marker and line of a series: three ways to tell it from the others."""
    return {
        "color": theme.color(index),
        "marker": MARKERS[(index + index // len(MARKERS)) % len(MARKERS)],
        "line": LINES[(index + index // len(MARKERS)) % len(LINES)],
    }


def render_svg(draw: Draw, theme: Theme) -> bytes:
    """A figure as SVG, letters as shapes, the same bytes every time."""
    with styled(theme):
        return _as_svg(draw(theme))


def render_png(draw: Draw, theme: Theme, *, dpi: int = DPI) -> bytes:
    """A figure as PNG."""
    with styled(theme):
        return _as_png(draw(theme), dpi)


def _as_svg(figure: Figure) -> bytes:
    buffer = BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return re.sub(
        rb"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>", b"", buffer.getvalue(), flags=re.DOTALL
    ).lstrip()


def _as_png(figure: Figure, dpi: int) -> bytes:
    buffer = BytesIO()
    fitting = min(float(dpi), TALLEST_PIXELS / float(figure.get_size_inches()[1]))
    figure.savefig(buffer, format="png", dpi=fitting, metadata={"Software": None})
    return buffer.getvalue()


def recolor(svg: bytes, *, before: Theme, after: Theme) -> bytes:
    """A drawing in another theme's colours.

    >>> recolor(b"fill: #ffffff", before=LIGHT, after=DARK)
    b'fill: #15181c'
    """
    colors = dict(zip(before.series, after.series, strict=True))
    colors |= {before.ink: after.ink, before.paper: after.paper, before.muted: after.muted, before.rule: after.rule}
    pattern = re.compile("|".join(map(re.escape, colors)).encode())
    return pattern.sub(lambda match: colors[match[0].decode()].encode(), svg)


def save_figure(draw: Draw, folder: Path, name: str) -> list[Path]:
    """Write `name.svg`, `name.png`, `name-dark.svg` and `name-dark.png`; gives their paths."""
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with styled(LIGHT):
        figure = draw(LIGHT)
        svg, png = _as_svg(figure), _as_png(figure, DPI)
    drawn = {
        f"{name}.svg": svg,
        f"{name}.png": png,
        f"{name}-dark.svg": recolor(svg, before=LIGHT, after=DARK),
        f"{name}-dark.png": render_png(draw, DARK),
    }
    for file, data in drawn.items():
        write_atomically(folder / file, data)
    return [folder / file for file in drawn]
