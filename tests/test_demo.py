"""The first command a newcomer types: a real model solves, a real judge judges, and everything is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from multilingual_math_audit.records import Grade, Judgment, Score, Solution
from multilingual_math_audit.store import Run

pytestmark = [pytest.mark.slow, pytest.mark.training]


def _demo(out: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "multilingual_math_audit", "demo", "--limit", "2", "--n", "2", "--out", str(out)],
        env={**os.environ, "COLUMNS": "110"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


def test_demo(tmp_path: Path) -> None:
    """Two problems in three languages, twice each: twelve solutions, every one graded, every correct one judged three
    times; the output has the table, one judged solution, what a weak judge means, and three next commands. The same
    command again adds nothing and loads no model."""
    out = tmp_path / "demo"
    first = _demo(out)
    assert first.returncode == 0, first.stderr[-3000:]
    run = Run.open(out)
    solutions, grades = list(run.read(Solution)), list(run.read(Grade))
    correct = {grade.solution_id for grade in grades if grade.correct}
    judgments = list(run.read(Judgment))
    assert len(solutions) == len(grades) == 12
    assert len({solution.seed for solution in solutions}) == 12
    assert {(j.solution_id, j.sample) for j in judgments} == {(name, i) for name in correct for i in range(3)}
    assert all(solution.completion_tokens and solution.prompt_tokens for solution in solutions)
    assert any(score.metric == "pass_at_k" and score.value is not None for score in run.read(Score))
    for words in ("CoT-Pass@k", "135 million", "Next:", "audit", "leaderboard", "starter_pt"):
        assert words in first.stdout, first.stdout
    assert (out / "submission.json").exists()
    before = {path.name: path.read_bytes() for path in out.glob("*.jsonl") if path.name != "scores.jsonl"}
    again = _demo(out)
    assert again.returncode == 0, again.stderr[-3000:]
    assert {path.name: path.read_bytes() for path in out.glob("*.jsonl") if path.name != "scores.jsonl"} == before
