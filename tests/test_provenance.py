"""The manifest's facts say how a run was made and nothing about who made it."""

from __future__ import annotations

import getpass
import json
import os
import socket
import sys
from pathlib import Path

import pytest

from multilingual_math_audit import provenance
from multilingual_math_audit.provenance import describe, without_paths, without_secrets


def test_facts_hold_versions_and_hardware() -> None:
    """Package, Python, libraries, processor, memory, start and command are there."""
    facts = describe(["math-audit", "solve", "--n", "4"])["facts"]
    assert facts["python"] == ".".join(map(str, sys.version_info[:3]))
    assert facts["libraries"]["numpy"]
    assert facts["cores"] == os.cpu_count()
    assert facts["command"] == "math-audit solve --n 4"
    assert facts["started"].endswith("+00:00")


def test_no_person_no_place_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """No user, host, home folder, absolute path or key gets in, in whatever form a command line holds it."""
    monkeypatch.setenv("HF_TOKEN", "hf_" + "s" * 20)
    home = str(Path.home())
    said = json.dumps(
        describe(
            [f"{home}/bin/math-audit", "run", "--out", f"{home}/runs/a", f"--sources={home}/data",
             "--token", "t0psecret", "--api-key=t0psecret", "--endpoint", "https://u:t0psecret@host/v1",
             "hf_" + "s" * 20, "~/x/y", "--engine-args", "max_num_seqs=64", "--max-tokens", "1000"]
        )
    )  # fmt: skip
    for hidden in (home + "/", "t0psecret", "hf_ss", "~/x"):
        assert hidden not in said
    assert socket.gethostname() not in said
    assert getpass.getuser() == "root" or getpass.getuser() not in said
    assert "max_num_seqs=64" in said
    assert "--max-tokens 1000" in said
    assert without_paths("a=b=/c/d") == "a=b=d"
    assert without_secrets([]) == []


def test_gpus_are_read_from_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each GPU's model is named, without loading torch."""
    for number in range(2):
        (tmp_path / f"0000:0{number}").mkdir()
        (tmp_path / f"0000:0{number}" / "information").write_text("Model: \t\t NVIDIA X\nIRQ: 1\n", encoding="utf-8")
    monkeypatch.setattr(provenance, "_DRIVER", str(tmp_path))
    assert describe([])["facts"]["gpus"] == ["NVIDIA X", "NVIDIA X"]
