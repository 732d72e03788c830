"""Samples of another harness on the board: what it did not say is absent there, never zero."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from multilingual_math_audit.evaluate.score import score_run
from multilingual_math_audit.leaderboard_app.board import build_board
from multilingual_math_audit.leaderboard_app.rows import row_totals
from multilingual_math_audit.loaders.outputs.formats import read_outputs
from multilingual_math_audit.loaders.outputs.importing import ImportPlan, import_outputs
from multilingual_math_audit.loaders.problems import load_benchmark
from multilingual_math_audit.store import Run
from multilingual_math_audit.submissions.accept import Acceptance, Entry
from multilingual_math_audit.submissions.pack import pack
from multilingual_math_audit.submissions.recompute import compare_with_run
from multilingual_math_audit.submissions.validate import check


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Two samples of each starter problem, one right, with three votes and neither lengths nor reasons of ending."""
    problems = load_benchmark("starter_en")
    folder = tmp_path / "M_t0.6_max64" / "start"
    folder.mkdir(parents=True)
    results = [
        {
            "task_id": f"START/{p.id.split('/')[1]}",
            "ground_truth": p.answer,
            "solutions": [p.answer, "no idea"],
            "correct": [True, False],
        }
        for p in problems
    ]
    votes = [
        {"task_id": f"{row['task_id']}_gen_0", "yes_count": 2, "no_count": 1, "invalid_count": 0,
         "majority_correct": True}
        for row in results
    ]  # fmt: skip
    for name, rows in (("results", results), ("cot_majority", votes)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"start_{name}.jsonl").write_text(text, encoding="utf-8")
    plan = ImportPlan("evalhub", rename={"START/": "starter_en/"}, judge="org/reader")
    return import_outputs(lambda: read_outputs("evalhub", folder), problems, tmp_path / "run", plan)[0]


def test_an_imported_run_is_submitted_without_what_it_does_not_know(run: Run) -> None:
    """No stop counts, lengths, budget, mode or shots are made up; the counts there are stand and recompute."""
    submission = pack(run)
    assert check(submission.to_json()).faults == ()
    assert compare_with_run(submission, run) == []
    counts = submission.benchmarks["starter_en"]
    judged = counts.judges["org/reader"]
    assert submission.origin == "import"
    assert submission.solver is not None
    assert (submission.solver.mode, submission.solver.settings.shots) == ("unknown", None)
    assert (counts.stopped, counts.completion_tokens) == (None, None)
    assert (judged.stopped, judged.completion_tokens, judged.credited) == (None, None, None)
    assert (sum(counts.correct), sum(counts.n)) == (72, 144)
    assert (sum(judged.judgments or ()), sum(judged.copied or ())) == (216, 0)
    board = build_board([Entry(acceptance=Acceptance(trust="self-reported", day="2026-11-30"), submission=submission)])
    totals = row_totals(board.rows[0], ["starter_en"])
    assert (totals.stop_rate, totals.judge_stop_rate, totals.tokens) == (None, None, None)
    assert totals.acceptance["majority"] == 1.0


def test_a_run_of_ours_knows_how_it_was_asked(run: Run) -> None:
    """The same counts under `run` are refused: it has a mode and a budget."""
    content = json.loads(pack(run).to_json()) | {"origin": "run"}
    paths = {fault.path for fault in check(json.dumps(content).encode()).faults}
    assert {"solver.mode", "solver.settings.budget"} <= paths


def test_votes_of_another_harness_are_no_copies(run: Run) -> None:
    """Imported votes are judgments of their own, of unknown length: no count of copies, no sum of tokens of 0."""
    scores = {s.metric: s for s in score_run(run) if s.benchmark == "starter_en"}
    assert "copied_judgments" not in scores
    assert "credited_acceptance" not in scores
    tokens = scores["judge_tokens"]
    assert (tokens.value, tokens.undefined) == (None, 216)
    assert (scores["judge_stop_rate"].value, scores["judge_stop_rate"].n) == (None, 0)
