"""The app's pieces without a browser: texts, links, markup, downloads, the solution shown as text."""

from __future__ import annotations

import json
import string
from pathlib import Path
from urllib.parse import parse_qs

import pytest
import yaml
from synthetic_submissions import make_submission, write_entries

from multilingual_math_audit.leaderboard_app import texts
from multilingual_math_audit.leaderboard_app.app import accepted_folder, build_app
from multilingual_math_audit.leaderboard_app.board import load_board
from multilingual_math_audit.leaderboard_app.leaderboard_page import csv_text, row_html, table_html
from multilingual_math_audit.leaderboard_app.links import read_query, write_query
from multilingual_math_audit.leaderboard_app.markup import tag
from multilingual_math_audit.leaderboard_app.pages import budgets_html, judges_html, verifiers_html
from multilingual_math_audit.leaderboard_app.public_runs import as_inert_markdown
from multilingual_math_audit.leaderboard_app.questions_page import heat_map_html
from multilingual_math_audit.leaderboard_app.rows import View, make_table
from multilingual_math_audit.leaderboard_app.texts import LANGUAGES, Texts


def test_every_text_is_there_in_three_languages() -> None:
    """No key lacks a language, and all three take the same values."""
    folder = Path(texts.__file__).parent
    table = yaml.safe_load((folder / "texts.yaml").read_text(encoding="utf-8"))
    for key, words in table.items():
        assert set(words) == set(LANGUAGES), key
        holes = [{name for _, name, _, _ in string.Formatter().parse(text) if name} for text in words.values()]
        assert holes[0] == holes[1] == holes[2], key


def test_an_empty_folder_is_a_board() -> None:
    """Every page can be drawn with no submission at all, in every language."""
    board = load_board(Path("/nonexistent"))
    for language in LANGUAGES:
        t = Texts(language)
        assert "empty" in table_html(board, make_table(board, View()), View(), t)
        assert "empty" in judges_html(board, t)
        assert "empty" in budgets_html(board, t)
        assert "empty" in verifiers_html(board, t)
        assert "empty" in heat_map_html(board, "aime2026_en", "correct", t)


@pytest.mark.parametrize("samples", [0, 1])
def test_the_app_is_built_of_nothing_and_of_single_samples(tmp_path: Path, samples: int) -> None:
    """An empty folder, an audit alone and one sample a question make an app; the k slider has two ends all the same."""
    pytest.importorskip("gradio")
    if samples:
        submission = make_submission(1, benchmarks=("aime2026_en",), judges=())
        counts = submission["benchmarks"]["aime2026_en"]
        ones = [1] * len(counts["n"])
        counts |= {"samples": 1, "n": ones, "correct": ones, "stopped": ones, "completion_tokens": ones}
        entry = {"acceptance": {"trust": "verified", "day": "2026-11-01"}, "submission": submission}
        (tmp_path / "a.json").write_text(json.dumps(entry))
    board = load_board(tmp_path)
    assert (len(board.rows), len(board.unreadable)) == (samples, 0)
    assert build_app(board).blocks


def test_a_link_brings_the_view_back() -> None:
    """Writing and reading a query gives the same view; nonsense in a query is passed over."""
    board = load_board(accepted_folder())
    view = View(k=8, strategy="majority", judges=("Qwen3.6",), search="qwen 32", sort="pass_1", ascending=True, page=1)
    assert read_query(board, parse_qs(write_query(view, "judges"))) == (view, "judges")
    odd = "k=-3&k=9999999&strategy=<script>&judges=nobody&sort=__class__&tab=../x&at=x&audited=yes"
    assert read_query(board, parse_qs(odd)) == (View(), "leaderboard")


def test_filters_keep_what_they_say(tmp_path: Path) -> None:
    """Each filter keeps exactly the rows that have the property."""
    write_entries(tmp_path, 30, benchmarks=("aime2026_en",))
    board = load_board(tmp_path)
    for field, of in (
        ("families", lambda row: row.solver.family),
        ("modes", lambda row: row.solver.mode),
        ("trusts", lambda row: row.trust),
        ("budgets", lambda row: str(row.budget)),
    ):
        value = of(board.rows[0])
        table = make_table(board, View(**{field: (value,)}), page_size=100)
        assert {line.row.id for line in table.lines} == {row.id for row in board.rows if of(row) == value}
    assert make_table(board, View(search="solver-3 GROUP"), page_size=100).total == 1
    assert make_table(board, View(audited=True)).total == 0


def test_pages_hold_every_row_once(tmp_path: Path) -> None:
    """Paging through gives each row exactly once, in the order of one long page."""
    write_entries(tmp_path, 30, benchmarks=("aime2026_en",))
    board = load_board(tmp_path)
    whole = [line.row.id for line in make_table(board, View(), page_size=100).lines]
    paged = [line.row.id for page in (1, 2) for line in make_table(board, View(page=page)).lines]
    assert paged == whole
    assert len(set(whole)) == 30


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    """What a submitter may write freely appears escaped wherever it is shown, and as text in the CSV."""
    bad = '=cmd|"<img src=x onerror=alert(1)>[x](javascript:alert(1))'
    submission = make_submission(1, benchmarks=("aime2026_en",))
    submission["submitter"]["name"] = bad
    submission["note"] = bad
    entry = {"acceptance": {"trust": "verified", "day": "2026-11-01", "evidence": bad}, "submission": submission}
    (tmp_path / "a.json").write_text(json.dumps(entry))
    board = load_board(tmp_path)
    shown = row_html(board, board.rows[0].id, Texts("en"))
    assert "<img" not in shown
    assert "&lt;img src=x onerror=alert(1)&gt;" in shown
    assert row_html(board, "<script>", Texts("en")) == ""
    assert "\n=" not in csv_text(board, View())


def test_unsound_files_are_left_out_and_said(tmp_path: Path) -> None:
    """A damaged or impossible entry never reaches the table; its name and fault do."""
    write_entries(tmp_path, 2, benchmarks=("aime2026_en",))
    (tmp_path / "<b>.json").write_text('{"acceptance": 1}')
    entry = json.loads((tmp_path / f"{0:016x}.json").read_text())
    entry["submission"]["benchmarks"]["aime2026_en"]["correct"][0] = 999
    (tmp_path / "c.json").write_text(json.dumps(entry))
    board = load_board(tmp_path)
    assert len(board.rows) == 2
    assert {item.file for item in board.unreadable} == {"<b>.json", "c.json"}
    shown = table_html(board, make_table(board, View()), View(), Texts("en"))
    assert "&lt;b&gt;.json" in shown
    assert "<b>.json" not in shown


@pytest.mark.parametrize(
    "text",
    [
        "![x](http://evil/x.png)",
        "<img src=x>",
        "http://evil/x",
        "# head",
        "$\\href{javascript:x}{y}$",
        "`a` *b* [c](d)",
    ],
)
def test_a_solution_is_inert(text: str) -> None:
    """No Markdown or HTML sign of a model's text survives outside mathematics, and no fetching command inside."""
    shown = as_inert_markdown(text)
    assert not set("![](<>`*#:/") & set(shown.replace("&#", "").replace("$", "")) or text.startswith("$")
    assert "\\href" not in shown


def test_markup_refuses_what_it_cannot_name() -> None:
    """An element's name is never taken from outside."""
    with pytest.raises(ValueError, match="no element"):
        tag("img onerror=x", "y")
