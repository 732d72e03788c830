"""The commands grade, check-grader and regrade."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from multilingual_math_audit.cli import cli
from multilingual_math_audit.records import Grade, Problem, Solution
from multilingual_math_audit.store import Run

CASES = Path(__file__).resolve().parents[2] / "cases"


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A run with one problem and three solutions."""
    run = Run.create(tmp_path / "run", {"solver": {"model": "m"}})
    run.append([Problem("p", "b", "p", "pt", "?", "0,5", "decimal")])
    run.append(
        [Solution(f"s{n}", "p", "m", n, text) for n, text in enumerate(["Resposta: 1/2", r"\boxed{5}", "Não sei."])]
    )
    return run.folder


def test_grade_writes_grades_once(run_folder: Path) -> None:
    """The first call grades all, the second none."""
    first = CliRunner().invoke(cli, ["grade", str(run_folder)])
    assert first.exit_code == 0, first.output
    assert "3 of them new" in " ".join(first.output.split())
    assert [grade.status for grade in Run.open(run_folder).read(Grade)] == ["correct", "wrong", "no_answer"]
    assert "0 of them new" in " ".join(CliRunner().invoke(cli, ["grade", str(run_folder)]).output.split())


def test_regrade_shows_what_changed(run_folder: Path) -> None:
    """Against an older grader that judged one solution otherwise."""
    run = Run.open(run_folder)
    run.append(
        Grade(f"s{n}", "0", correct, "correct" if correct else "wrong") for n, correct in enumerate((True, True, False))
    )
    done = CliRunner().invoke(cli, ["regrade", str(run_folder)])
    assert done.exit_code == 0, done.output
    assert "3 solutions, 1 changed: 1 now wrong" in done.output
    assert "s1: correct (0) -> wrong" in done.output


def test_check_grader_counts_and_fails_on_a_mismatch(tmp_path: Path) -> None:
    """Own cases pass; a false label is printed and the exit code is 1."""
    passed = CliRunner().invoke(cli, ["check-grader", str(CASES / "extraction_own.jsonl")])
    assert passed.exit_code == 0, passed.output
    assert "0 false accepts, 0 false rejects" in passed.output
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text(json.dumps({"id": "w1", "gold": "4", "prediction": r"\boxed{4}", "expected": False}) + "\n")
    failed = CliRunner().invoke(cli, ["check-grader", str(wrong)])
    assert failed.exit_code == 1
    assert "false accept w1" in failed.output


@pytest.mark.parametrize("content", ["", "{", '{"gold": "4"}', '{"gold": "4", "prediction": "4", "expected": "yes"}'])
def test_check_grader_says_what_is_wrong_with_a_file(tmp_path: Path, content: str) -> None:
    """A file that is no list of cases is named in the message."""
    file = tmp_path / "cases.jsonl"
    file.write_text(content)
    done = CliRunner().invoke(cli, ["check-grader", str(file)])
    assert done.exit_code != 0
    assert "cases.jsonl" in str(done.exception)
