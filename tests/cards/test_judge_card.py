"""The judge card: its numbers are the audit's, its figures have room for every label, outside names are text."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from arithmetic_panel import make_run

from multilingual_math_audit.cards.judge_card import plain, write_judge_card
from multilingual_math_audit.cards.judge_figures import (
    draw_acceptance,
    draw_benchmarks,
    draw_dose,
    draw_numbers,
    draw_sizes,
)
from multilingual_math_audit.evaluate.audit import Audit, audit_panel
from multilingual_math_audit.evaluate.panel import PanelPlan, draw_panel, write_panel
from multilingual_math_audit.evaluate.report.style import DARK, LIGHT, Theme, styled
from multilingual_math_audit.records import Judgment, Solution, Verdict, digest, judgment_id
from multilingual_math_audit.store import Run

JUDGE = "kurum/değerlendirici-ção"


@pytest.fixture(scope="module")
def panel(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A panel with all further edits, judged by a judge of mixed opinions drawn from ids."""
    folder = tmp_path_factory.mktemp("card")
    run = make_run(folder / "run", items=6, wrong=1)
    plan = PanelPlan(edits=("load_bearing", "dose", "operator", "instruction"), natural=2)
    panel = write_panel(draw_panel(run, plan), run, plan, str(folder / "panel"))
    panel.add_settings("judges", JUDGE, {"judge": JUDGE, "samples": 3, "budget": 20_480, "prompt": "0123abcd"})
    records = []
    for solution in panel.read(Solution):
        for sample in range(3):
            drawn = int(digest("vote", solution.id, sample), 16) % 10
            share = 9 if solution.edit == "clean" else 4
            vote: Verdict | None = "yes" if drawn < share else "no" if drawn < 9 else None
            name = judgment_id(solution.id, JUDGE, "s", sample)
            reason = "verdict" if vote else "no_box"
            records.append(Judgment(name, solution.id, JUDGE, sample, "", reason, vote))  # type: ignore[arg-type]
    panel.append(records)
    return panel


@pytest.fixture(scope="module")
def audit(panel: Run) -> Audit:
    return audit_panel(panel, JUDGE, resamples=2000)


@pytest.fixture(scope="module")
def card(panel: Run, audit: Audit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the card."""
    return write_judge_card(audit, panel, tmp_path_factory.mktemp("written")).parent


def test_the_card_holds_markdown_json_and_figures_in_both_themes(card: Path, audit: Audit) -> None:
    """At least three figures, each as PNG and SVG, light and dark; the Markdown names files that are there."""
    text = (card / "judge_card.md").read_text("utf-8")
    names = re.findall(r'src="figures/([a-z]+)\.png"', text)
    assert len(names) >= 3
    assert {"acceptance", "benchmarks", "sizes", "dose"} <= set(names)
    for name in names:
        for ending in (".png", "-dark.png", ".svg", "-dark.svg"):
            assert (card / "figures" / f"{name}{ending}").stat().st_size > 1000
    assert JUDGE in text
    assert "0123abcd" in text
    assert audit.panel_digest in text
    assert "${" not in text
    assert "nan" not in text.lower().split()


def test_the_card_s_json_is_the_audit(panel: Run, audit: Audit, tmp_path: Path) -> None:
    """The JSON holds every rate and contrast of the audit, the protocol and the panel's plan, and no NaN."""
    write_judge_card(audit, panel, tmp_path, figures=False)
    facts = json.loads((tmp_path / "judge_card.json").read_text("utf-8"))
    assert facts["audit"] == json.loads(json.dumps(audit.to_dict(), allow_nan=False))
    assert facts["protocol"]["budget"] == 20_480
    assert facts["panel"]["max_per_question"] == 6
    clean = next(
        r for r in facts["audit"]["rates"] if (r["edit"], r["group"], r["strategy"]) == ("clean", "all", "all")
    )
    assert clean["n"] == 18


def test_the_same_audit_gives_the_same_card(card: Path, panel: Run, audit: Audit, tmp_path: Path) -> None:
    """A second rendering is equal to the byte, figures included."""
    write_judge_card(audit, panel, tmp_path)
    files = sorted(path.relative_to(card) for path in card.rglob("*") if path.is_file())
    assert len(files) > 10
    assert all((card / file).read_bytes() == (tmp_path / file).read_bytes() for file in files)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("draw", [draw_acceptance, draw_benchmarks, draw_sizes, draw_dose, draw_numbers])
def test_no_labels_of_a_figure_overlap_or_leave_it(audit: Audit, draw: object, theme: Theme) -> None:
    """The boxes of all visible tick labels, titles and row ends are apart and inside the figure."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with styled(theme):
        figure = draw(audit, theme)  # type: ignore[operator]
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        renderer = canvas.get_renderer()
        boxes = []
        for axes in figure.axes:
            texts = [*axes.get_xticklabels(), *axes.texts, axes.xaxis.label, axes.title, axes._left_title]
            texts += axes.get_yticklabels() if axes is figure.axes[0] else []
            boxes += [t.get_window_extent(renderer) for t in texts if t.get_text() and t.get_visible()]
        width, height = canvas.get_width_height()
    for index, box in enumerate(boxes):
        assert box.x0 >= -1
        assert box.y0 >= -1
        assert box.x1 <= width + 1
        assert box.y1 <= height + 1
        assert not any(box.overlaps(other) for other in boxes[:index])


def test_a_name_from_outside_is_text() -> None:
    """Markup, tables and HTML in a judge's name are shown and not obeyed."""
    hostile = "x|y <script>alert(1)</script>\n# [a](b) `c`"
    shown = plain(hostile)
    assert "<" not in shown
    assert "\n" not in shown
    assert not re.search(r"(?<!\\)[|\[\]`]", shown)
