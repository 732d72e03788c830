"""Real vLLM in Ray's actors over the whole starter set, with the actor killed on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest
import tiny_model
import vllm_python
from click.testing import CliRunner

from multilingual_math_audit.cli import cli
from multilingual_math_audit.records import Solution
from multilingual_math_audit.store import Run

pytestmark = [pytest.mark.slow, pytest.mark.vllm, pytest.mark.ray]
PLAN = ["--benchmarks", "starter_en,starter_tr,starter_pt", "--n", "1", "--budget", "24", "--mode", "base"]


def test_vllm_in_actors_over_the_starter_set(tmp_path: Path) -> None:
    """All 216 samples are there once although the actor was killed, with the scores of an engine in this process."""
    pytest.importorskip("torch", reason="needs the transformers extra")
    model = tiny_model.save_tiny_model(tmp_path / "tiny", context=2048)
    there, here = tmp_path / "there", tmp_path / "here"
    layout = "block=24,actors=1,max_num_seqs=8,kv_cache_memory_bytes=268435456"
    command = [vllm_python.find_vllm_python(), "-m", "multilingual_math_audit", "solve", "--engine", "ray", *PLAN]
    command += ["--solver", str(model), "--solver-name", "tiny", "--dtype", "float32", "--engine-args", layout]
    command += ["--out", str(there)]
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            command, env=vllm_python.vllm_environment(), cwd=vllm_python.ROOT, stdout=log, stderr=log
        )
        try:
            killed = kill_an_actor(process, there)
            assert process.wait(timeout=900) == 0, (tmp_path / "log").read_text()[-4000:]
        finally:
            process.kill()
    assert killed
    solutions = [line for line in (there / Solution.file).read_bytes().splitlines() if line]
    assert len(solutions) == len(Run.open(there).keys(Solution)) == 216
    math_audit("solve", *PLAN, "--solver", "tiny", "--engine", "replay", "--recorded", str(there), "--out", str(here))
    for run in (there, here):
        math_audit("grade", str(run))
        math_audit("score", str(run))
    assert (there / "scores.jsonl").read_bytes() == (here / "scores.jsonl").read_bytes()


def kill_an_actor(process: subprocess.Popen[bytes], run: Path) -> bool:
    """Kill the worker that holds vLLM once the first block is written; whether there was one."""
    until = time.monotonic() + 900
    while process.poll() is None and time.monotonic() < until:
        written = (run / Solution.file).read_bytes().count(b"\n") if (run / Solution.file).exists() else 0
        for child in psutil.Process(process.pid).children(recursive=True) if written else ():
            try:
                words = child.cmdline()
            except psutil.Error:
                continue
            if words and words[0].startswith("ray::") and "MapWorker" in words[0]:
                os.kill(child.pid, signal.SIGKILL)
                return True
        time.sleep(0.1)
    return False


def math_audit(*words: str) -> None:
    """Run a command in this process."""
    result = CliRunner().invoke(cli, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
