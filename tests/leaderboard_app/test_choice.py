"""One choice of rows and benchmarks holds on every page: what each page keeps of it, against the JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from synthetic_submissions import make_submission

from multilingual_math_audit.leaderboard_app.api import judge_rows, question_rows, read_view
from multilingual_math_audit.leaderboard_app.app import accepted_folder
from multilingual_math_audit.leaderboard_app.board import Board, load_board
from multilingual_math_audit.leaderboard_app.chosen import (
    chosen_judges,
    chosen_rows,
    chosen_verifiers,
    first_pair,
    shown_benchmarks,
)
from multilingual_math_audit.leaderboard_app.pages import budgets_html, judges_html, verifiers_html
from multilingual_math_audit.leaderboard_app.questions_page import heat_map_html
from multilingual_math_audit.leaderboard_app.rows import View
from multilingual_math_audit.leaderboard_app.texts import Texts

T = Texts("en")
BEST = {"best_of": [{"size": 1, "groups": 10, "correct": 5}]}
ODD = View(families=("Nobody",))


def write(folder: Path, name: str, submission: dict[str, Any], trust: str = "verified") -> None:
    entry = {"acceptance": {"trust": trust, "day": "2026-11-01"}, "submission": submission}
    (folder / f"{name}.json").write_text(json.dumps(entry))


@pytest.fixture
def board(tmp_path: Path) -> Board:
    """Three solvers: one with an audited judge and a verifier, one with another judge, one without; an audit alone."""
    known = ("aime2026_en", "aime2026_tr")
    first = make_submission(1, benchmarks=known, judges=("judge/A",), audit=True)
    first["verifier"] = {"model": "org/v", "selectors": {"msv": {"aime2026_en": BEST, "aime2026_tr": BEST}}}
    write(tmp_path, "a", first)
    write(tmp_path, "b", make_submission(2, benchmarks=known, judges=("judge/B",)), "self-reported")
    write(tmp_path, "c", make_submission(3, benchmarks=known, judges=()))
    alone = make_submission(4, judges=("judge/Alone",), audit=True)
    write(tmp_path, "d", {key: alone[key] for key in ("format", "origin", "submitter", "day", "judges")})
    return load_board(tmp_path)


def judges(board: Board, view: View) -> list[str]:
    return sorted(line.judge.model for line in chosen_judges(board, view))


def test_judges_are_those_of_the_rows_that_are_kept(board: Board) -> None:
    """Every audit without a filter; with one about solvers those of kept rows; by its own name one without a row."""
    family = board.rows[board.place[next(row.id for row in board.rows if row.judge_label == "judge/A")]].solver.family
    assert judges(board, View()) == ["judge/A", "judge/Alone"]
    assert judges(board, View(families=(str(family),))) == ["judge/A"]
    assert judges(board, View(judges=("judge/B",))) == []
    assert judges(board, View(search="alone")) == ["judge/Alone"]
    assert judges(board, View(search="alone", modes=("thinking", "base", "non-thinking"))) == []
    assert judges(board, View(trusts=("self-reported",))) == []
    assert judges(board, View(languages=("pt",))) == []
    assert "No audit passes" in judges_html(board, T, ODD)


def test_other_pages_keep_the_rows_that_pass(board: Board) -> None:
    """Budgets, questions, verifiers and endpoints show the chosen rows and benchmarks, and say when none is left."""
    for row in board.rows:
        view = View(search=row.solver.model)
        others = [other.solver.model for other in board.rows if other is not row]
        for page in (budgets_html(board, T, view), heat_map_html(board, "aime2026_en", "correct", T, view)):
            assert row.solver.model in page
            assert not any(other in page for other in others)
        assert [found["id"] for found in question_rows(board, "aime2026_en", f"search={row.solver.model}")] == [row.id]
        shown = [benchmark for _, benchmark in chosen_verifiers(board, view)]
        assert shown == (["aime2026_en", "aime2026_tr"] if row.judge_label == "judge/A" else [])
    turkish = View(languages=("tr",))
    assert [benchmark for _, benchmark in chosen_verifiers(board, turkish)] == ["aime2026_tr"]
    assert shown_benchmarks(board, turkish) == ("aime2026_tr",)
    assert "AIME 2026 in Turkish" in verifiers_html(board, T, turkish)
    for page in (
        budgets_html(board, T, ODD),
        verifiers_html(board, T, ODD),
        heat_map_html(board, "aime2026_en", "correct", T, ODD),
    ):
        assert "passes these filters" in page
    assert chosen_rows(board, ODD) == []


def test_compare_starts_with_two_rows_that_can_be_compared(board: Board) -> None:
    """On the starting board, whose first row shares no benchmark with the next, a comparable pair is offered first."""
    published = load_board(accepted_folder())
    first, second = first_pair(published, View())
    assert first != second
    assert {published.rows[published.place[str(row)]].solver.model for row in (first, second)} == {"Qwen2.5-32B"}
    assert first_pair(board, ODD) == (None, None)
    assert first_pair(board, View(search=board.rows[0].solver.model)) == (board.rows[0].id, None)


def test_the_heat_map_follows_the_strategy(board: Board) -> None:
    """Approved samples are those under the chosen strategy."""
    row = next(row for row in board.rows if row.judge_label == "judge/A")
    for strategy in ("any", "all"):
        counts = row.entry.submission.benchmarks["aime2026_en"].judges["judge/A"].approved
        (found,) = question_rows(board, "aime2026_en", f"strategy={strategy}&judges=judge/A")
        assert found["approved"] == getattr(counts, strategy)


def test_an_audit_over_some_benchmarks_counts_those_alone(tmp_path: Path) -> None:
    """With counts per question everything but the verdict is of the chosen benchmarks; with pooled pairs no
    sensitivity is given for some of them; the verdict is always that of the whole audit."""
    submission = make_submission(5, judges=("judge/A",), audit=True)
    audit = submission["judges"]["judge/A"]["audit"]
    other = make_submission(6, judges=("judge/A",), audit=True)["judges"]["judge/A"]["audit"]["benchmarks"][
        "starter_en"
    ]
    other["per_question"]["questions"] = [q.replace("_en", "_tr") for q in other["per_question"]["questions"]]
    audit["benchmarks"]["starter_tr"] = other
    write(tmp_path, "a", submission)
    board = load_board(tmp_path)
    assert not board.unreadable
    whole, part = chosen_judges(board, View())[0], chosen_judges(board, View(languages=("tr",)))[0]
    accepted = {edit: sum(column) for edit, column in other["per_question"]["accepted"].items()}
    assert {a.edit: a.accepted for a in part.acceptances} == accepted
    assert part.originals == other["originals"] == whole.originals - audit["benchmarks"]["starter_en"]["originals"]
    gap = (accepted["clean"] - accepted["intermediate"]) / part.originals
    assert part.sensitivity.chain.value == pytest.approx(gap)
    assert part.verdict == whole.verdict
    published = load_board(accepted_folder())
    lines = [line for line in chosen_judges(published, View(languages=("tr",))) if not line.clustered]
    assert lines
    assert all(math.isnan(line.sensitivity.chain.value) and line.split for line in lines)
    assert {line.verdict for line in lines} <= {line.verdict for line in chosen_judges(published, View())}
    assert "The verdict is always that of the whole audit." in judges_html(published, T, View(languages=("tr",)))


def test_the_endpoints_read_the_query_of_a_link(board: Board) -> None:
    """A query restricts every endpoint as it restricts the page; nonsense in it is passed over."""
    assert [row["judge"] for row in judge_rows(board, "search=alone")] == ["judge/Alone"]
    assert len(judge_rows(board, "search=&judges=<script>&languages=xx&k=-4&tab=../..")) == 2
    assert read_view(board, "k=nine&strategy=none") == View()
    assert read_view(board, "k=9999") == View(k=board.largest_n)
