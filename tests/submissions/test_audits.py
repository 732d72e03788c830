"""What a run's folder holds besides its counts reaches the board: audits of its judges, and a verifier's choices."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from starter_run import make_panel, make_run

from multilingual_math_audit.cli import cli
from multilingual_math_audit.errors import AuditError, UsageError
from multilingual_math_audit.evaluate.audit import audit_panel
from multilingual_math_audit.evaluate.language import ChainLanguage
from multilingual_math_audit.leaderboard_app.api import judge_rows
from multilingual_math_audit.leaderboard_app.board import build_board, load_board
from multilingual_math_audit.leaderboard_app.pages import budgets_html, judges_html, verifiers_html
from multilingual_math_audit.leaderboard_app.rows import View, make_table
from multilingual_math_audit.leaderboard_app.texts import Texts
from multilingual_math_audit.records import Solution
from multilingual_math_audit.store import Run
from multilingual_math_audit.submissions.accept import Acceptance, Entry
from multilingual_math_audit.submissions.hub import plan_submission
from multilingual_math_audit.submissions.pack import pack, refresh_submission, write_submission
from multilingual_math_audit.submissions.recompute import compare_with_run
from multilingual_math_audit.submissions.submission import Submission
from multilingual_math_audit.submissions.validate import check

EDITS = ("clean", "intermediate", "truncation", "final_answer", "consistent")
BEST = [{"size": 1, "groups": 144, "correct": 60}, {"size": 2, "groups": 72, "correct": 40}]
VERIFIER = {"model": "/models/org/tiny", "revision": "r1", "selectors": {"msv2": {"starter_en": {"best_of": BEST}}}}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A whole run whose folder holds a judged panel and a verifier's counts."""
    made = make_run(tmp_path / "run")
    make_panel(made.folder / "panel")
    (made.folder / "verifier.json").write_text(json.dumps(VERIFIER))
    return made


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def count_by_hand(panel: Path) -> tuple[dict[str, int], int]:
    """Variants accepted by majority per edit, and originals whose five variants have three judgments; plain loops."""
    said: dict[str, list[str | None]] = defaultdict(list)
    for judgment in lines(panel / "judgments.jsonl"):
        said[judgment["solution_id"]].append(judgment.get("verdict"))
    edits: dict[str, dict[str, list[str | None]]] = defaultdict(dict)
    for solution in lines(panel / "solutions.jsonl"):
        edits[solution["parent"]][solution["edit"]] = said[solution["id"]]
    whole = [parts for parts in edits.values() if all(len(parts[edit]) == 3 for edit in EDITS)]
    return {edit: sum(p[edit].count("yes") > p[edit].count("no") for p in whole) for edit in EDITS}, len(whole)


def test_an_audit_and_a_verifier_go_from_the_run_to_the_board(tmp_path: Path, run: Run) -> None:
    """Run folder, submission.json, `validate`, `accept`, page: the same numbers at every step, with no hand work."""
    file = write_submission(run)
    assert call("validate", str(file)).exit_code == 0
    assert call("accept", str(file), "--into", str(tmp_path / "accepted"), "--run", str(run.folder)).exit_code == 0
    board = load_board(tmp_path / "accepted")
    assert not board.unreadable
    expected, originals = count_by_hand(run.folder / "panel")
    (shown,) = judge_rows(board)
    assert {edit: counts[:2] for edit, counts in shown["acceptance"].items()} == {
        edit: [accepted, originals] for edit, accepted in expected.items()
    }
    audit = audit_panel(Run.open(run.folder / "panel"), "org/reader")
    assert originals == audit.paired == audit.originals - 1
    for name in ("chain", "answer", "agreement"):
        assert shown[name]["value"] == pytest.approx(getattr(audit.sensitivity, name).value)
        assert shown[name]["low"] == pytest.approx(getattr(audit.sensitivity, name).low, abs=0.02)
    assert tuple(shown["verdict"]) == audit.verdict
    page = judges_html(board, Texts("en"))
    assert Texts("en").percent(expected["clean"] / originals) in page
    assert "N = 2: 55.6" in verifiers_html(board, Texts("en"))
    (line,) = make_table(board, View(benchmarks=("starter_en",))).lines
    assert line.mark == "reads"


def test_counts_per_question_add_up(run: Run) -> None:
    """Per benchmark and question the audit's counts add up to the whole, in every language of the panel."""
    audit = pack(run).judges["org/reader"].audit
    assert audit is not None
    assert set(audit.benchmarks) == {"starter_en", "starter_tr", "starter_pt"}
    assert audit.day == "2026-11-02"
    for name, part in audit.benchmarks.items():
        assert part.per_question is not None
        assert sum(part.per_question.originals) == part.originals
        assert all(question.startswith(f"{name}/") for question in part.per_question.questions)
        assert sum(part.per_question.accepted["clean"]) == part.accepted["clean"].majority
        assert (part.accepted["clean"].any or 0) >= part.accepted["clean"].majority
    missing = sum(part.no_verdict["clean"] for part in audit.benchmarks.values() if part.no_verdict)
    assert missing > 0


def test_an_audit_in_another_mode_stands_beside_the_judge(tmp_path: Path) -> None:
    """A judge audited in another mode than it judged in is not marked as audited; its audit has an entry of its own."""
    made = make_run(tmp_path / "run")
    make_panel(made.folder / "panel", mode="non-thinking")
    judges = pack(made).judges
    assert judges["org/reader"].audit is None
    assert judges["org/reader (non-thinking)"].audit is not None
    assert check(pack(made).to_json()).faults == ()


def test_a_panel_alone_is_a_submission_of_its_judges(tmp_path: Path) -> None:
    """A judge's author needs no solver: the panel is submitted with its audits and stands on the Judges page."""
    panel = make_panel(tmp_path / "panel", "org/other")
    saved = tmp_path / "out" / "judge.json"
    done = call("submit", str(panel.folder), "--submitter", "Someone", "--save", str(saved))
    assert done.exit_code == 0, (done.output, done.exception)
    submission = check(saved.read_bytes()).submission
    assert submission is not None
    assert submission.solver is None
    assert call("accept", str(saved), "--into", str(tmp_path / "accepted")).exit_code == 0
    assert [row["judge"] for row in judge_rows(load_board(tmp_path / "accepted"))] == ["org/other"]
    assert call("verify-submission", str(saved), "--run", str(panel.folder)).exit_code == 0


def test_panels_elsewhere_are_named(tmp_path: Path) -> None:
    """--panel takes an audit from another folder; a folder that is no panel is refused by name."""
    made = make_run(tmp_path / "run")
    panel = make_panel(tmp_path / "elsewhere" / "drawn")
    assert pack(made).judges["org/reader"].audit is None
    assert pack(made, panels=[panel.folder]).judges["org/reader"].audit is not None
    with pytest.raises(UsageError, match="is no panel"):
        pack(made, panels=[made.folder])
    file = write_submission(made)
    file.write_bytes(pack(made, panels=[panel.folder]).to_json())
    told = call("verify-submission", str(file), "--run", str(made.folder))
    assert told.exit_code == 1
    assert "judges.org/reader.audit: in the submission, not in the records" in told.output
    good = call("verify-submission", str(file), "--run", str(made.folder), "--panel", str(panel.folder))
    assert good.exit_code == 0, good.output


def test_a_panel_that_nobody_judged_is_no_audit(tmp_path: Path) -> None:
    """Variants without judgments give no audit, and the submission is as sound as without them."""
    made = make_run(tmp_path / "run")
    make_panel(made.folder / "panel")
    (made.folder / "panel" / "judgments.jsonl").unlink()
    assert pack(made).judges["org/reader"].audit is None


def test_submissions_are_written_anew_where_there_is_one(run: Run) -> None:
    """What was found out after scoring is in submission.json; a run without one is left alone."""
    refresh_submission(run.folder)
    assert not (run.folder / "submission.json").exists()
    (run.folder / "submission.json").write_text("{}")
    refresh_submission(run.folder)
    assert json.loads((run.folder / "submission.json").read_text())["verifier"]["model"] == "tiny"


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        (("solver", "model"), "org/large", "solver.model: org/large in the submission, org/tiny in the records"),
        (("solver", "settings", "temperature"), 0.7, "solver.settings.temperature: 0.7 in the submission, 0.6"),
        (("judges", "org/reader", "audit", "panel"), "abcdef0123", "judges.org/reader.audit.panel: abcdef0123"),
        (("verifier", "selectors", "msv2", "starter_en", "best_of", 1, "correct"), 41, "best_of[1].correct: 41"),
        (("judges", "org/reader", "settings", "budget"), 256, "judges.org/reader.settings.budget: 256"),
    ],
)
def test_verify_submission_names_each_field_that_differs(
    tmp_path: Path, run: Run, field: tuple[Any, ...], value: Any, told: str
) -> None:
    """One changed field besides the counts per question is found, named with both values, and ends in exit code 1."""
    content = json.loads(pack(run).to_json())
    part = content
    for key in field[:-1]:
        part = part[key]
    part[field[-1]] = value
    (tmp_path / "s.json").write_text(json.dumps(content))
    result = call("verify-submission", str(tmp_path / "s.json"), "--run", str(run.folder))
    assert result.exit_code == 1, result.exception
    assert told in result.output
    assert "1 field differs." in result.output


def test_verify_submission_says_what_it_needs(tmp_path: Path, run: Run) -> None:
    """No run, two runs, an unsound file and a missing one are told in a sentence; an accepted file is read too."""
    file = write_submission(run)
    assert "No run is named" in str(call("verify-submission", str(file)).exception)
    two = call("verify-submission", str(file), str(run.folder), "--run", str(tmp_path))
    assert "Two runs are named" in str(two.exception)
    (tmp_path / "bad.json").write_text("[1]")
    bad = call("verify-submission", str(tmp_path / "bad.json"), "--run", str(run.folder))
    assert isinstance(bad.exception, AuditError)
    assert "a JSON object is asked for" in str(bad.exception)
    absent = call("verify-submission", str(tmp_path / "absent.json"), "--run", str(run.folder))
    assert "cannot be read" in str(absent.exception)
    assert call("accept", str(file), "--into", str(tmp_path / "accepted")).exit_code == 0
    (entry,) = (tmp_path / "accepted").iterdir()
    good = call("verify-submission", str(entry), "--run", str(run.folder))
    assert good.exit_code == 0, good.output


def test_records_sent_with_a_submission_recompute_its_audit(tmp_path: Path, run: Run) -> None:
    """What --with-run would send is enough: written into a folder, it verifies with audit and verifier."""
    submission = pack(run)
    sending = plan_submission(submission, run)
    assert set(plan_submission(submission).files) == {f"incoming/{submission.digest}.json"}
    for path, data in sending.files.items():
        (tmp_path / "hub" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "hub" / path).write_bytes(data)
    there = tmp_path / "hub" / "runs" / submission.digest
    assert (there / "panel" / "judgments.jsonl").exists()
    told = call("verify-submission", str(tmp_path / "hub" / "incoming" / f"{submission.digest}.json"), str(there))
    assert told.exit_code == 0, told.output


def test_the_languages_of_chains_go_from_the_run_to_the_board(tmp_path: Path, run: Run) -> None:
    """Of five chains told apart, three Turkish, one mixed and one English stand in the counts; one of no prose in none.

    A share changed by hand is found against the records, and the page of budgets shows 60%, 20% and 20%.
    """
    letters: list[dict[str, int]] = [
        {"tur": 9},
        {"tur": 8, "eng": 2},
        {"tur": 80},
        {"tur": 5, "eng": 5},
        {"eng": 3},
        {},
    ]
    solutions = list(run.read(Solution))[: len(letters)]
    run.append(
        ChainLanguage(solution.id, "chain", "lingua 2", "tr", 1, found)
        for solution, found in zip(solutions, letters, strict=True)
    )
    submission = pack(run)
    assert check(submission.to_json()).faults == ()
    shares = submission.benchmarks["starter_en"].languages
    assert shares is not None
    assert (shares.target, shares.mixed, shares.english, shares.detector) == (3, 1, 1, "lingua 2")
    assert compare_with_run(submission, run) == []
    content = json.loads(submission.to_json())
    content["benchmarks"]["starter_en"]["languages"]["target"] = 4
    (fault,) = compare_with_run(Submission.model_validate(content), run)
    assert fault.path == "benchmarks.starter_en.languages.target"
    board = build_board([Entry(acceptance=Acceptance(trust="self-reported", day="2026-11-30"), submission=submission)])
    assert "60.0 · 20.0 · 20.0" in budgets_html(board, Texts("en"))
