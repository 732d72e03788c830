"""A whole audit with a real model on vLLM, killed on the way."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
import tiny_model
import vllm_python
from click.testing import CliRunner

from multilingual_math_audit.cli import cli
from multilingual_math_audit.records import Judgment
from multilingual_math_audit.store import Run

pytestmark = [pytest.mark.slow, pytest.mark.vllm]


def test_an_audit_on_vllm_is_killed_and_goes_on(tmp_path: Path) -> None:
    """360 judgments of 24 worked solutions in five variants: a killed process loses none that was appended, the second
    run asks only the rest, and the card says that all 24 originals are judged in full."""
    model = tmp_path / "tiny"
    tiny_model.save_tiny_model(model, context=8192)
    panel = tmp_path / "panel"
    drawn = CliRunner().invoke(cli, ["inject", "starter", "-o", str(panel)], catch_exceptions=False)
    assert drawn.exit_code == 0, drawn.output
    command = [
        vllm_python.find_vllm_python(), "-m", "multilingual_math_audit", "audit", str(panel), "--judge", str(model),
        "--judge-name", "tiny", "--engine", "vllm", "--judge-mode", "non-thinking", "--judge-budget", "24",
        "--engine-args", f"max_num_seqs=8,kv_cache_memory_bytes={2**28}",
    ]  # fmt: skip
    environment = vllm_python.vllm_environment()
    first = subprocess.Popen(command, env=environment, cwd=vllm_python.ROOT, start_new_session=True)
    file = panel / "judgments.jsonl"
    for _ in range(2400):
        if first.poll() is not None or (file.exists() and file.read_bytes().count(b"\n") >= 40):
            break
        time.sleep(0.1)
    first.send_signal(signal.SIGKILL)
    first.wait()
    before = [judgment.to_json() for judgment in Run.open(panel).read(Judgment)]
    assert 40 <= len(before) < 360
    done = subprocess.run(
        command, env=environment, cwd=vllm_python.ROOT, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    after = [judgment.to_json() for judgment in Run.open(panel).read(Judgment)]
    assert after[: len(before)] == before
    assert len(after) == 360
    card = json.loads((panel / "cards" / "tiny" / "judge_card.json").read_text("utf-8"))
    assert card["audit"]["paired"] == 24
    assert card["audit"]["pending"] == 0
    assert (panel / "cards" / "tiny" / "judge_card.md").exists()
