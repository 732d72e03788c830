"""Figures: their look is measured, their drawings compared with golden images."""

from __future__ import annotations

import io
import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from matplotlib.text import Text

from multilingual_math_audit.evaluate.report.charts import Axis, Point, Row, Section, Stack, draw_rows, draw_stacks
from multilingual_math_audit.evaluate.report.entries import gather_entries
from multilingual_math_audit.evaluate.report.figures import material_figures
from multilingual_math_audit.evaluate.report.material import Choices, Material, gather_material
from multilingual_math_audit.evaluate.report.style import (
    DARK,
    LIGHT,
    THEMES,
    Theme,
    contrast,
    render_png,
    render_svg,
    save_figure,
    series_look,
    styled,
)

LETTERS = "ğüşıöçĞÜŞİÖÇ ãõâêôáéíóúàç"
# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB.
DEFICIENCIES = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
}


def lab(color: str, matrix: list[list[float]] | None) -> np.ndarray:
    """A colour in CIELAB (D65), seen through a deficiency."""
    srgb = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    if matrix is not None:
        linear = np.clip(np.array(matrix) @ linear, 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ linear
    ratio = xyz / np.array([0.9505, 1.0, 1.089])
    f = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_colors_are_legible(theme: Theme) -> None:
    """Ink and muted text reach 4.5:1 with the page, every series 3:1 (WCAG 2.2, 1.4.3 and 1.4.11)."""
    assert contrast(theme.ink, theme.paper) >= 7
    assert contrast(theme.muted, theme.paper) >= 4.5
    assert min(contrast(color, theme.paper) for color in theme.series) >= 3


@pytest.mark.parametrize("deficiency", [None, *DEFICIENCIES])
@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_first_colors_differ_for_everybody(theme: Theme, deficiency: str | None) -> None:
    """The first four colours are at least 10 apart in CIELAB with full and with missing colour vision."""
    matrix = DEFICIENCIES[deficiency] if deficiency else None
    seen = [lab(color, matrix) for color in theme.series[:4]]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 10


def test_series_differ_by_more_than_color() -> None:
    """Colour, marker and line together tell at least 16 series apart, neighbours by marker too."""
    looks = [tuple(series_look(index, LIGHT).values()) for index in range(16)]
    assert len(set(looks)) == 16
    assert all(a[1] != b[1] for a, b in itertools.pairwise(looks))


def example(theme: Theme) -> object:
    """Rows with Turkish and Portuguese letters, an interval without width, and an absent one."""
    rows = (
        Row(f"org/{LETTERS}", (Point(0, 40.0, (30.0, 50.0)), Point(1, 60.0, (60.0, 60.0))), "40.0\n60.0"),
        Row("a $model_1$ with a name that is too long for its row", (Point(0, 5.0), Point(1, float("nan"))), "5.0\n–"),
    )
    return draw_rows([Section("Bölüm ğış", rows)], ["Yargıç İ", "juízes ã"], Axis("doğru (%)", (0, 100)), theme)


def stacks(theme: Theme) -> object:
    """Stacked shares."""
    parts = [Stack("bir", (70.0, 20.0, 10.0), "n=10"), Stack("dois", (0.0, 0.0, 100.0), "n=3")]
    return draw_stacks([("Türkçe", parts)], ["target", "mixed", "english"], Axis("%"), theme)


def pixels(png: bytes) -> np.ndarray:
    """An image as an array of shape (height, width, 4), values from 0 to 1."""
    return np.asarray(imread(io.BytesIO(png)), dtype=np.float64)


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
@pytest.mark.parametrize("draw", [example, stacks], ids=lambda draw: draw.__name__)
def test_golden_image(draw: object, theme: Theme, root: Path) -> None:
    """The drawing has the golden one's size, and on average a pixel differs by less than 1%."""
    made = render_png(draw, theme, dpi=100)
    golden = root / "tests" / "golden" / "report" / f"{draw.__name__}-{theme.name}.png"
    if os.environ.get("MATH_AUDIT_GOLDEN"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_bytes(made)
    expected, found = pixels(golden.read_bytes()), pixels(made)
    assert found.shape == expected.shape
    assert np.abs(found - expected).mean() < 0.01


def test_drawings_repeat_to_the_byte() -> None:
    """The same data give the same SVG, with letters as shapes and no date."""
    svg = render_svg(example, LIGHT)
    assert svg == render_svg(example, LIGHT)
    assert b"<text" not in svg
    assert b"dc:date" not in svg


def test_letters_have_glyphs() -> None:
    """The font has every Turkish and Portuguese letter: none is drawn as the box of a missing glyph."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    font = get_font(findfont(FontProperties(family="DejaVu Sans")))
    assert [letter for letter in LETTERS if letter != " " and not font.get_char_index(ord(letter))] == []


def test_intervals_are_always_drawn() -> None:
    """Each point with an interval has a line of that width; without width it is hollow."""
    with styled(LIGHT):
        panel = example(LIGHT).axes[0]
        segments = [segment for lines in panel.collections for segment in lines.get_segments()]
        hollow = [line for line in panel.lines if line.get_markerfacecolor() == panel.get_facecolor()]
    assert [(a[0], b[0]) for a, b in segments] == [(30.0, 50.0)]
    assert sum(len(line.get_xdata()) for line in hollow) == 2


def test_every_figure_of_a_study_draws(synthetic_material: Material) -> None:
    """All seven figures of two solvers of the study are drawn, and no label leaves its figure."""
    two = [synthetic_material.entries[0], synthetic_material.entries[4]]
    material = gather_material(two, groupings=synthetic_material.groupings, choices=Choices(resamples=50))
    drawn = {figure.name: figure for figure in material_figures(material)}
    assert list(drawn) == ["endpoints", "ladder", "bootstrap", "acceptance", "saturation", "stops", "counterfactual"]
    for figure in drawn.values():
        with styled(DARK):
            made = figure.draw(DARK)
            made.draw_without_rendering()
            width, height = made.bbox.width, made.bbox.height
            ticks = {label for axes in made.axes for label in axes.get_xticklabels()}
            for text in made.findobj(Text):
                box = text.get_window_extent()
                if text.get_visible() and text.get_text() and text not in ticks:
                    assert box.x0 > -2, (figure.name, text.get_text())
                    assert box.x1 < width + 2, (figure.name, text.get_text())
                    assert -2 < box.y0 < box.y1 < height + 2, (figure.name, text.get_text())


def test_saved_in_both_themes(tmp_path: Path) -> None:
    """SVG and PNG, light and dark."""
    names = [path.name for path in save_figure(example, tmp_path, "x")]
    assert names == ["x.svg", "x.png", "x-dark.svg", "x-dark.png"]


def test_a_run_without_judges_still_has_figures() -> None:
    """Pass@n alone is drawn; figures that need a judge are left out rather than empty."""
    from multilingual_math_audit.evaluate.counts import QuestionCounts
    from multilingual_math_audit.evaluate.report.entries import Counted

    question = QuestionCounts("b/1", "1", "b", "en", "m", 4, 2, 0, 1, 40)
    material = gather_material(gather_entries([Counted("base", 1, [question])]), choices=Choices(min_correct=0))
    assert [figure.name for figure in material_figures(material)] == ["endpoints", "stops"]
