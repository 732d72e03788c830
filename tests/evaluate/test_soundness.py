"""A whole run passes the check, and every kind of fault in it is found and named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner
from small_run import JUDGE, make_run

from multilingual_math_audit.cli import cli
from multilingual_math_audit.evaluate.score import score_run
from multilingual_math_audit.evaluate.soundness import check_run
from multilingual_math_audit.records import Grade, Judgment, Problem, Record, Score, Solution
from multilingual_math_audit.store import Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A whole, scored run."""
    run = make_run(tmp_path / "run")
    run.replace(Score, score_run(run, resamples=10))
    return run


def change(run: Run, kind: type[Record], edit: Callable[[dict[str, object]], object]) -> None:
    """Edit the first line of a file by hand."""
    first, *rest = run.path(kind).read_bytes().splitlines(keepends=True)
    row = orjson.loads(first)
    edit(row)
    run.path(kind).write_bytes(orjson.dumps(row) + b"\n" + b"".join(rest))


def drop(run: Run, kind: type[Record]) -> None:
    """Delete the first line of a file by hand."""
    run.path(kind).write_bytes(b"".join(run.path(kind).read_bytes().splitlines(keepends=True)[1:]))


def test_whole_run_has_no_findings(run: Run) -> None:
    """A run as the commands leave it is whole and sound; with early stopping too."""
    assert check_run(run) == []
    early = make_run(run.folder.parent / "early", judge={**JUDGE, "stop_early": "majority"})
    assert check_run(early) == []
    assert sum(1 for _ in early.read(Judgment)) < sum(1 for _ in run.read(Judgment))


@pytest.mark.parametrize(
    ("kind", "field", "value", "what"),
    [
        (Problem, "answer", "999", "problems are other ones"),
        (Solution, "sample", 17, "solution ids that do not fit"),
        (Solution, "settings", "other", "sampled with other settings"),
        (Solution, "problem_id", "toy/99", "of a problem the run does not hold"),
        (Grade, "status", "limit", "grades that contradict themselves"),
        (Grade, "solution_id", "nobody", "grades of a solution the run does not hold"),
        (Judgment, "verdict", "maybe", "verdicts that are not what"),
        (Judgment, "text", "\\boxed{no} or not", "verdicts that are not what"),
        (Judgment, "reason", "no_box", "judgments that contradict themselves"),
        (Judgment, "judge", "stranger", "judge the manifest does not name"),
        (Judgment, "solution_id", "nobody", "judgments of a solution the run does not hold"),
    ],
)
def test_edit_by_hand_is_found(run: Run, kind: type[Record], field: str, value: object, what: str) -> None:
    """Each field that decides a number, changed by hand in one line, is a fault."""
    if (kind, field) == (Judgment, "text"):
        first = next(run.read(Judgment))
        value = "\\boxed{no}" if first.verdict == "yes" else "\\boxed{yes}"
    change(run, kind, lambda row: row.update({field: value}))
    faults = [finding for finding in check_run(Run.open(run.folder)) if finding.kind == "fault"]
    assert any(what in fault.what for fault in faults), faults


@pytest.mark.parametrize(
    ("kind", "what"),
    [(Solution, "samples not solved"), (Grade, "solutions not graded"), (Judgment, "has not judged in full")],
)
def test_missing_work_is_listed(run: Run, kind: type[Record], what: str) -> None:
    """A line that is gone is work that is missing, and the scores are said to be of an earlier state."""
    drop(run, kind)
    findings = check_run(Run.open(run.folder))
    assert any(what in finding.what for finding in findings if finding.kind == "missing"), findings
    assert any("earlier state" in finding.what for finding in findings if finding.kind == "note")


def test_damaged_line_is_a_fault_with_its_number(run: Run) -> None:
    """A damaged line is named with file and line."""
    path = run.path(Judgment)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b"{oops\n", *lines[2:]]))
    (damaged,) = check_run(Run.open(run.folder))
    assert (damaged.what, damaged.example[:7]) == ("damaged lines in judgments.jsonl", "line 3:")


def test_command_exits_by_what_it_found(run: Run) -> None:
    """Exit code 0 for a sound run, 1 with a table for one that is not."""
    good = CliRunner().invoke(cli, ["verify", str(run.folder)])
    assert (good.exit_code, "whole and sound" in good.output) == (0, True)
    drop(run, Judgment)
    bad = CliRunner().invoke(cli, ["verify", str(run.folder)])
    assert bad.exit_code == 1
    assert "missing" in bad.output


def test_quarantined_lines_are_counted_and_grading_counts_what_is_there(run: Run) -> None:
    """The note says how many lines are in quarantine; progress counts no grade of a solution that is gone."""
    path = run.path(Solution)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"[]\n{}\n" + b"".join(lines[2:]))
    result = CliRunner().invoke(cli, ["grade", str(run.folder), "--jobs", "1"])
    assert f"grade {len(lines) - 2}/{len(lines) - 2}" in result.output
    aside = (run.folder / "quarantine.jsonl").read_bytes().count(b"\n")
    assert aside > 2
    note = next(found for found in check_run(Run.open(run.folder)) if found.what == "lines in quarantine.jsonl")
    assert note.count == aside
