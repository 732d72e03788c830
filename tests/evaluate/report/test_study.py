"""Studies: what a file expands into, and what is wrong with one that cannot be run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from multilingual_math_audit.cli import VERBS
from multilingual_math_audit.commands import study as study_command
from multilingual_math_audit.errors import AuditError, UndefinedScore, UnknownName, UsageError
from multilingual_math_audit.evaluate.report.study import (
    Step,
    count_samples,
    parse_study,
    plan_steps,
    read_study,
    shard_commands,
)

SMALL = {
    "name": "s",
    "benchmarks": ["starter_en"],
    "n": 2,
    "limit": 3,
    "solvers": [{"model": "org/m", "mode": "base", "budgets": [64, 128]}, {"model": "org/n", "name": "N"}],
    "judges": [
        {"model": "org/j", "budget": 32, "samples": 3, "solvers": ["N"]},
        {"model": "org/k", "panel_only": True},
    ],
    "panel": {"per_cell": 4, "edits": ["dose", "operator"], "solvers": ["N"], "judges": ["org/k"]},
    "groups": {"size": {"small": ["org/m"], "large": ["N"]}},
    "expected": {"correct": 0.5, "tokens_per_gpu_second": 100},
}


def test_steps_in_order() -> None:
    """Solve, grade, judge, score and panel per run, then one report; judges and panels only where they were asked."""
    steps = list(plan_steps(parse_study(SMALL)))
    assert [(step.verb, step.run) for step in steps] == [
        ("solve", "runs/s/m-base-64"), ("grade", "runs/s/m-base-64"), ("score", "runs/s/m-base-64"),
        ("solve", "runs/s/m-base-128"), ("grade", "runs/s/m-base-128"), ("score", "runs/s/m-base-128"),
        ("solve", "runs/s/N-thinking-16384"), ("grade", "runs/s/N-thinking-16384"),
        ("judge", "runs/s/N-thinking-16384"), ("score", "runs/s/N-thinking-16384"),
        ("inject", "runs/s/N-thinking-16384/panel"), ("audit", "runs/s/N-thinking-16384/panel"), ("report", "runs/s"),
    ]  # fmt: skip
    assert "dose,operator" in steps[10].arguments
    assert steps[-1].arguments[-2:] == ("--groups", "runs/s/groups.yaml")


def test_expected_cost() -> None:
    """3 questions x 2 samples x 32 tokens (half of 64); 3 expected correct, judged 3 times at 0.3 x 32 tokens."""
    study = parse_study(SMALL)
    assert count_samples(study, "starter_en") == 6
    steps = list(plan_steps(study))
    assert (steps[0].samples, steps[0].tokens) == (6, 6 * 32)
    assert (steps[8].samples, steps[8].tokens) == (9, pytest.approx(9 * 9.6))
    assert steps[0].gpu_hours(study.expected) == pytest.approx(192 / 100 / 3600)


def test_commands_are_accepted() -> None:
    """Every command of every study that ships is one the command line can read."""
    for path in sorted(Path(__file__).parents[3].glob("studies/*.yaml")):
        for step in plan_steps(read_study(path)):
            module = __import__(f"multilingual_math_audit.commands.{VERBS[step.verb][0]}", fromlist=["command"])
            context = module.command.make_context(step.verb, list(step.arguments), resilient_parsing=False)
            assert context.params, (path.name, step)


def test_shards() -> None:
    """A sharded solve is K commands into folders of their own and one that joins them; other steps stay whole."""
    study = parse_study({**SMALL, "shards": 3})
    solve, grade, *_ = plan_steps(study)
    commands = shard_commands(study, solve)
    assert [command[0] for command in commands] == ["solve", "solve", "solve", "merge"]
    assert commands[1][-2:] == ("--shard", "2/3")
    assert "runs/s/m-base-64-shard2" in commands[1]
    assert shard_commands(study, grade) == [("grade", "runs/s/m-base-64")]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"solvres": []}, "'solvers'"),
        ({"solvers": []}, "at least one"),
        ({"solvers": [{"model": "m", "budget": 3}]}, "'budgets'"),
        ({"solvers": [{"mode": "base"}]}, "no model"),
        ({"solvers": [{"model": "m", "mode": "deep"}]}, "mode of m"),
        ({"solvers": [{"model": "m", "budgets": [0]}]}, "budgets of m"),
        ({"benchmarks": []}, "names no benchmarks"),
        ({"benchmarks": ["aime"]}, "no benchmark 'aime'"),
        ({"n": "many"}, "whole number"),
        ({"panel": {"per_sell": 2}}, "'per_cell'"),
        ({"expected": {"speed": 2}}, "unknown key"),
        ({"groups": {"g": {"a": ["m"], "b": ["m"]}}}, "both as"),
    ],
)
def test_faults_are_named(change: dict, says: str) -> None:
    """A misspelt key, a missing model or an impossible value is named with what is possible."""
    with pytest.raises(AuditError, match=says):
        parse_study({**SMALL, **change})
    with pytest.raises(UsageError, match="holds no keys"):
        parse_study(["a"])
    with pytest.raises(UsageError, match="cannot be read"):
        read_study("nowhere.yaml")
    assert issubclass(UnknownName, AuditError)


def test_plan_prints_commands(root: Path) -> None:
    """--plan prints the matrix with its total and every command, and runs nothing."""
    result = CliRunner().invoke(study_command.command, [str(root / "studies" / "small.yaml"), "--plan"])
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert sum(line.startswith("math-audit solve") for line in lines) == 2
    assert lines[-1].startswith("math-audit report")


def test_a_failed_step_does_not_stop_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps after a failed solve of the same run are left, other runs go on, and the exit code is 1."""
    ran: list[tuple[str, str]] = []

    def run_step(step: Step) -> bool:
        ran.append((step.verb, step.run))
        return not (step.verb == "solve" and step.run.endswith("m-base-64"))

    monkeypatch.setattr(study_command, "run_step", run_step)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(json.dumps(SMALL))
    result = CliRunner().invoke(study_command.command, ["s.yaml"])
    assert result.exit_code == 1
    assert [verb for verb, run in ran if run.endswith("m-base-64")] == ["solve"]
    assert ("report", "runs/s") in ran
    assert (tmp_path / "runs" / "s" / "groups.yaml").is_file()


def test_a_step_without_anything_to_do_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A panel that no solution can be drawn for is listed with the audit that needs it; the exit code is 0."""
    study = {**SMALL, "panel": {"per_cell": 2, "solvers": ["N", "org/m"], "judges": ["org/k"]}}
    ran: list[tuple[str, str]] = []

    def run_step(step: Step) -> bool:
        ran.append((step.verb, step.run))
        if step.verb == "inject" and "m-base-64" in step.run:
            raise UndefinedScore("No solution takes every edit.")
        return True

    monkeypatch.setattr(study_command, "run_step", run_step)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(json.dumps(study))
    result = CliRunner().invoke(study_command.command, ["s.yaml"])
    assert result.exit_code == 0, result.output
    assert "Nothing to inject: No solution takes every edit." in result.output
    assert "steps have nothing to work on" in result.output
    assert not [run for verb, run in ran if verb == "audit" and "m-base-64" in run]
    assert [run for verb, run in ran if verb == "audit"]
