"""What `math-audit show` prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from small_run import make_run

from multilingual_math_audit.cli import cli
from multilingual_math_audit.errors import UnknownName
from multilingual_math_audit.records import Judgment, Solution
from multilingual_math_audit.store import Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A small whole run."""
    return make_run(tmp_path / "run")


def show(run: Run, *words: str) -> str:
    """The command's output on a wide terminal."""
    result = CliRunner(env={"COLUMNS": "200"}).invoke(cli, ["show", str(run.folder), *words], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_run_problem_and_solution(run: Run) -> None:
    """A run's counts, a problem's solutions, and one solution with its problem, chain, grade and every judgment."""
    assert "toy" in show(run)
    assert show(run, "--problem", "toy/2").count("stop") == 4
    judged = {judgment.solution_id for judgment in run.read(Judgment)}
    solution = next(s for s in run.read(Solution) if s.id in judged)
    for words in (["--solution", solution.id], ["--problem", solution.problem_id, "--sample", str(solution.sample)]):
        said = show(run, *words)
        assert "What is" in said
        assert solution.text in said
        assert "Grade (grader" in said
        assert said.count("Judgment ") == 3


def test_hostile_text_is_shown_not_obeyed(run: Run) -> None:
    """Escape sequences and markup in a model's text are printed as what they are."""
    run.append([Solution("evil", "toy/1", "tiny", 99, "\x1b[2J [red]hi[/red] \u202eback \\boxed{1}")])
    said = show(run, "--solution", "evil")
    assert "\\x1b[2J [red]hi[/red] \\u202eback" in said
    assert "\x1b[2J" not in said


def test_unknown_names_say_what_there_is(run: Run) -> None:
    """A problem or solution that does not exist is an error that names near ones."""
    for words, near in ((["--problem", "toy/11"], "toy/1"), (["--solution", "none"], "no such solution")):
        with pytest.raises(UnknownName, match=near):
            CliRunner().invoke(cli, ["show", str(run.folder), *words], catch_exceptions=False)


def test_names_are_whole_in_a_log(tmp_path: Path) -> None:
    """Where there is no terminal, no name and no header of the table is cut."""
    run = make_run(tmp_path / "run")
    result = CliRunner(env={"COLUMNS": ""}).invoke(cli, ["show", str(run.folder)], catch_exceptions=False)
    for header in ("benchmark", "questions", "samples", "correct", "ungraded", "stopped", "judged", "pending"):
        assert header in result.output
    assert "…" not in result.output
