"""Killed at any moment, the same command goes on: no sample twice, none lost, and the same numbers at the end."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import chat_server

from multilingual_math_audit.records import Judgment, Score, Solution
from multilingual_math_audit.store import Run


def _answer(messages: list[dict[str, str]], seed: int) -> Any:
    delay = 0.002 * (seed % 5)
    if "expert in mathematics" in messages[-1]["content"]:
        return chat_server.Reply(("Sound. \\boxed{yes}", "Not sound. \\boxed{no}", "Hm.")[seed % 3], delay=delay)
    return chat_server.Reply(f"Let me see.\n\nSo \\boxed{{{10 + seed % 4}}}.", delay=delay)


def _command(url: str, out: Path) -> list[str]:
    return [
        sys.executable, "-m", "multilingual_math_audit", "run", "--solver", "tiny", "--judge", "tiny",
        "--engine", "server", "--endpoint", url, "--concurrency", "4",
        "--benchmarks", "starter_en,starter_tr,starter_pt", "--limit", "12", "--n", "24", "--out", str(out),
    ]  # fmt: skip


def _contents(out: Path) -> tuple[dict[str, bytes], dict[str, bytes], list[bytes]]:
    run = Run.open(out)
    solutions = {s.id: s.to_json() for s in run.read(Solution)}
    judgments = {j.id: j.to_json() for j in run.read(Judgment)}
    scores = [score.to_json() for score in run.read(Score)]
    assert run.damage == []
    return solutions, judgments, scores


def test_killed_ten_times(tmp_path: Path) -> None:
    """After ten SIGKILLs at random moments the run holds what an undisturbed one holds: the same samples and judgments
    to the byte, no duplicate line, no torn line, and equal scores."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with chat_server.ChatServer(_answer, model="tiny") as server:
        subprocess.run(_command(server.url, tmp_path / "calm"), check=True, capture_output=True, env=environment)
        dice = random.Random(7)
        kills = 0
        for _ in range(40):
            process = subprocess.Popen(
                _command(server.url, tmp_path / "killed"),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )
            _let_run(process, tmp_path / "killed", dice)
            if process.poll() is not None or kills >= 10:
                process.wait(timeout=120)
                break
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=60)
            kills += 1
        final = subprocess.run(_command(server.url, tmp_path / "killed"), capture_output=True, env=environment)
        assert final.returncode == 0, final.stderr
    assert kills == 10
    calm, killed = _contents(tmp_path / "calm"), _contents(tmp_path / "killed")
    assert killed == calm
    for kind in (Solution, Judgment):
        lines = (tmp_path / "killed" / kind.file).read_bytes().splitlines()
        assert len(lines) == len(set(lines))


def _let_run(process: subprocess.Popen[bytes], out: Path, dice: random.Random) -> None:
    """Wait until the process has written something new, then a random moment more."""
    before = _size(out)
    until = time.monotonic() + 30
    while _size(out) == before and process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
    time.sleep(dice.random() * 0.25)


def _size(out: Path) -> int:
    return sum(path.stat().st_size for path in out.glob("*.jsonl")) if out.exists() else 0
