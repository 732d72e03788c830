"""The report of real run folders, and its page in a real browser."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner

from multilingual_math_audit.commands.report import command
from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.report import build
from multilingual_math_audit.evaluate.report.build import write_report
from multilingual_math_audit.evaluate.report.figures import material_figures
from multilingual_math_audit.evaluate.report.material import Choices
from multilingual_math_audit.evaluate.report.page import Heading, Part, render_page
from multilingual_math_audit.evaluate.report.runs import gather_runs
from multilingual_math_audit.evaluate.report.tables import Column, Table
from multilingual_math_audit.store import Run

HOSTILE = "lab/<img src=x onerror=alert(1)>"


class Links(HTMLParser):
    """Collects tags, links and ids of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "href" and value and not value.startswith("data:"):
                self.links.append(value)
            if name == "id" and value:
                self.ids.append(value)


def read(page: Path) -> Links:
    """The tags and links of a page."""
    links = Links()
    links.feed(page.read_text(encoding="utf-8"))
    return links


def test_report_of_runs(make_run: Callable[..., Run], tmp_path: Path) -> None:
    """Two runs give a page whose links all exist, no script, unique ids, and tables that hold both solvers."""
    folders = []
    for number, solver in enumerate(["lab/small", HOSTILE]):
        make_run(tmp_path / f"run{number}", solver, languages=("tr",))
        folders.append(str(tmp_path / f"run{number}"))
    out = tmp_path / "report"
    result = CliRunner().invoke(command, [*folders, "-o", str(out), "--min-correct", "2", "--resamples", "200"])
    assert result.exit_code == 0, result.output
    page = read(out / "index.html")
    assert {"script", "img", "iframe"} & set(page.tags) == set()
    assert len(page.ids) == len(set(page.ids))
    files = [link for link in page.links if not link.startswith("#")]
    assert [link for link in files if not (out / link).is_file()] == []
    assert [link for link in page.links if link.startswith("#") and link[1:] not in page.ids] == []
    rows = list(csv.DictReader((out / "tables" / "pass.csv").open()))
    assert {row["solver"] for row in rows} == {"lab/small", HOSTILE}
    strict = [row for row in rows if row["judge"] == "strict-judge"]
    assert {(row["pass_at_n"], row["cot_pass_at_n"], row["in_grid"]) for row in strict} == {
        ("100.0000", "100.0000", "yes")
    }


def test_counts_of_a_run(make_run: Callable[..., Run], tmp_path: Path) -> None:
    """Worked by hand: 2 of 4 samples correct, the strict judge approves one of the two, 1 of 4 samples stopped."""
    make_run(tmp_path / "run", "m", items=2)
    material, extras = gather_runs([str(tmp_path / "run")], choices=Choices(min_correct=0, resamples=50))
    assert extras == []
    (entry,) = material.entries
    assert (entry.mode, entry.budget, entry.judge_budgets) == (
        "thinking", 512, {"strict-judge": 256, "lenient-judge": 256},
    )  # fmt: skip
    question = entry.benchmarks["tiny_tr"][0]
    assert (question.n, question.correct, question.stopped) == (4, 2, 1)
    assert question.judges["strict-judge"].approved["majority"] == 1
    assert question.judges["lenient-judge"].approved["majority"] == 2


def test_same_input_same_bytes(make_run: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables, figures and page of two reports are equal to the byte."""
    monkeypatch.setattr(build, "material_figures", lambda material: list(islice(material_figures(material), 1)))
    make_run(tmp_path / "run", "m", languages=("tr",), judges=("strict-judge",))
    for name in ("a", "b"):
        material, _ = gather_runs([str(tmp_path / "run")], choices=Choices(min_correct=0, resamples=50))
        write_report(material, tmp_path / name)
    for path in sorted((tmp_path / "a").rglob("*.*")):
        assert path.read_bytes() == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes(), path.name


def test_page_escapes_everything() -> None:
    """Titles, notes, cells and the command are text."""
    table = Table("t", HOSTILE, (Column("x", HOSTILE),), ({"x": HOSTILE},), (HOSTILE,), HOSTILE)
    page = render_page(Heading(HOSTILE, HOSTILE, (HOSTILE,), HOSTILE), [Part("p", HOSTILE, (table,))])
    assert "<img" not in page
    assert page.count("&lt;img") >= 8


def test_panels_alone_are_refused(make_run: Callable[..., Run], tmp_path: Path) -> None:
    """A folder without a run, and a panel without its run, say what to give."""
    with pytest.raises(UsageError, match="no run at"):
        gather_runs([str(tmp_path / "nothing")])
    run = make_run(tmp_path / "run", "m")
    panel = Run.create(tmp_path / "panel", {**run.settings, "panel": {"seed": 0}})
    with pytest.raises(UsageError, match="panels"):
        gather_runs([str(panel.folder)])


def test_panel_becomes_audit_tables(
    make_run: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A judged panel below a run becomes tables and figures with all five variants."""
    monkeypatch.setattr(build, "material_figures", lambda material: [])
    from multilingual_math_audit.evaluate.inject import PAPER_EDITS
    from multilingual_math_audit.records import Judgment, Problem, Solution, judgment_id

    run = make_run(tmp_path / "run", "m", items=4, languages=("tr",), judges=("strict-judge",))
    panel = Run.create(tmp_path / "run" / "panel", {**run.settings, "panel": {"seed": 0}})
    panel.add_settings("judges", "strict-judge", {"samples": 3})
    problems = list(run.read(Problem))
    panel.append(problems)
    for number, problem in enumerate(problems):
        for edit in PAPER_EDITS:
            one = f"{problem.id}-{edit}"
            panel.append(
                [Solution(one, problem.id, "m", 0, "x", parent=problem.id, edit=edit, edit_record={"size": 0.05})]
            )
            verdict = "yes" if edit in ("clean", "intermediate") or number % 4 == 0 else "no"
            panel.append(
                Judgment(judgment_id(one, "strict-judge", "s", i), one, "strict-judge", i, "x", "verdict", verdict)
                for i in range(3)
            )
    material, (extra,) = gather_runs([str(run.folder)], choices=Choices(min_correct=0, resamples=50))
    rows = {row["edit"]: row["majority"].value for row in extra.tables[0].rows}
    assert rows == {"clean": 100.0, "intermediate": 100.0, "truncation": 25.0, "final_answer": 25.0, "consistent": 25.0}
    assert {table.name for table in extra.tables} == {
        "error_rules", "error_benchmarks", "error_contrasts", "error_sizes",
    }  # fmt: skip
    paths = write_report(material, tmp_path / "report", extras=[extra])
    assert {"errors.svg", "error_sizes.png"} <= {path.name for path in paths}
    assert 'id="errors"' in paths[0].read_text(encoding="utf-8")


def test_panels_of_several_solvers_are_pooled(make_run: Callable[..., Run], tmp_path: Path) -> None:
    """One judge on the panels of two solvers is one row per variant over all originals."""
    from multilingual_math_audit.evaluate.inject import PAPER_EDITS
    from multilingual_math_audit.records import Judgment, Problem, Solution, judgment_id

    for name in ("a", "b"):
        run = make_run(tmp_path / name, name, items=2, languages=("tr",), judges=("strict-judge",))
        panel = Run.create(run.folder / "panel", {**run.settings, "panel": {"seed": 0}})
        panel.add_settings("judges", "strict-judge", {"samples": 1})
        problems = list(run.read(Problem))
        panel.append(problems)
        for problem, edit in ((problem, edit) for problem in problems for edit in PAPER_EDITS):
            one = f"{name}-{problem.id}-{edit}"
            verdict = "yes" if name == "a" else "no"
            judgment = judgment_id(one, "strict-judge", "s", 0)
            panel.append(
                [
                    Solution(one, problem.id, name, 0, "x", parent=f"{name}-{problem.id}", edit=edit),
                    Judgment(judgment, one, "strict-judge", 0, "x", "verdict", verdict),
                ]
            )
    _, (extra,) = gather_runs([str(tmp_path / "a"), str(tmp_path / "b")], choices=Choices(min_correct=0, resamples=50))
    assert [(row["n"], row["majority"].value) for row in extra.tables[0].rows] == [(4, 50.0)] * 5


def chromium() -> str:
    """A Chromium on this machine; the test skips where there is none."""
    pytest.importorskip("playwright", reason="needs playwright")
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("needs a Chromium on this machine")
    return found


@pytest.mark.slow
@pytest.mark.browser
def test_page_in_a_browser(make_run: Callable[..., Run], tmp_path: Path) -> None:
    """No console message, no request, no sideways scrolling at phone width; letters of at least 10 px on a phone."""
    executable = chromium()
    from playwright.sync_api import sync_playwright

    make_run(tmp_path / "run", HOSTILE, languages=("tr",))
    material, extras = gather_runs([str(tmp_path / "run")], choices=Choices(min_correct=0, resamples=50))
    page_file = write_report(material, tmp_path / "report", extras=extras)[0]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for width, scheme in ((1200, "light"), (360, "dark")):
            page = browser.new_page(viewport={"width": width, "height": 740}, color_scheme=scheme)
            messages: list[str] = []
            requests: list[str] = []
            page.on("console", lambda message, seen=messages: seen.append(message.text))
            page.on("pageerror", lambda error, seen=messages: seen.append(str(error)))
            page.on("request", lambda request, seen=requests: seen.append(request.url))
            page.goto(page_file.as_uri())
            page.wait_for_load_state("networkidle")
            assert messages == []
            assert [url for url in requests if not re.match(r"file:.*index\.html$|data:", url)] == []
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            scale = page.evaluate(
                "(s => s.getBoundingClientRect().width / s.viewBox.baseVal.width)(document.querySelector('figure svg'))"
            )
            assert 7 * scale >= 9
            background = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (background == "rgb(255, 255, 255)") == (scheme == "light")
            assert page.locator("summary").first.is_visible()
        browser.close()
