"""Uploads to a Hub of our own: what may go goes, what may not stays, and refusals say why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hub_server
import pytest

from multilingual_math_audit.benchmarks.build import Table, problem_tables, write_dataset
from multilingual_math_audit.benchmarks.catalogue import find_spec
from multilingual_math_audit.benchmarks.push import UploadError, push_dataset
from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.loaders.problems import load_benchmark
from multilingual_math_audit.records import Problem

SECRET = "a text its owner keeps"


def _load(name: str) -> list[Problem]:
    """The starter as it is; two made-up rows in place of a set that is not ours."""
    if find_spec(name).ships:
        return load_benchmark(name)
    language = find_spec(name).language
    return [Problem(f"{name}/{row}", name, f"{name}/{row}", language, SECRET, "7", "integer") for row in (1, 2)]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("push") / "dataset"
    tables: dict[str, Table] = problem_tables(["starter_en", "starter_tr", "tubitak2026", "pt_exams"], _load)
    write_dataset(folder, tables)
    return folder


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    with hub_server.HubServer() as server:
        for name, value in {**server.environment(), "HF_HOME": str(tmp_path / "hf")}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
        yield server


def files_of(hub: Any) -> dict[str, bytes]:
    return dict(hub.repositories[("dataset", "org/audit")].files())


def test_restricted_configurations_stay_and_their_specs_go(hub: Any, built: Path) -> None:
    """Neither text nor rows of the two sets reach the Hub, not even within `all`; their specs do."""
    pushed = push_dataset(built, "org/audit")
    files = files_of(hub)
    assert pushed.left_out == ("tubitak2026", "pt_exams")
    assert pushed.url == f"{hub.endpoint}/datasets/org/audit"
    assert set(files) == {
        "README.md", "eval.yaml", "starter_en/test.parquet", "starter_tr/test.parquet",
        "specs/starter_en.yaml", "specs/starter_tr.yaml", "specs/tubitak2026.yaml", "specs/pt_exams.yaml",
    }  # fmt: skip
    assert not any(SECRET.encode() in data for data in files.values())
    assert b"Not in this repository" in files["README.md"]
    assert b"tubitak2026/test.parquet" not in files["README.md"]


def test_a_second_push_changes_nothing(hub: Any, built: Path) -> None:
    """The same data set again is the same state of the repository."""
    push_dataset(built, "org/audit")
    before = files_of(hub)
    push_dataset(built, "org/audit")
    assert files_of(hub) == before


def test_what_is_allowed_goes(hub: Any, built: Path) -> None:
    """--allow uploads one restricted set and only that one; a later push without it takes it away again."""
    pushed = push_dataset(built, "org/audit", private=True, allow=["tubitak2026"])
    assert pushed.left_out == ("pt_exams",)
    assert hub.repositories[("dataset", "org/audit")].private
    assert "tubitak2026/test.parquet" in files_of(hub)
    push_dataset(built, "org/audit", private=True)
    assert "tubitak2026/test.parquet" not in files_of(hub)


def test_a_public_repository_is_not_written_as_private(hub: Any, built: Path) -> None:
    """--private does not quietly write into a repository that everyone can read."""
    hub.add_repository("dataset", "org/audit")
    with pytest.raises(UploadError, match="is public"):
        push_dataset(built, "org/audit", private=True)
    assert files_of(hub) == {}


def test_nothing_to_upload(built: Path, tmp_path: Path) -> None:
    """Only restricted rows: refused before the Hub is asked."""
    write_dataset(tmp_path / "d", problem_tables(["tubitak2026"], _load))
    with pytest.raises(UsageError, match="rights of tubitak2026 forbid"):
        push_dataset(tmp_path / "d", "org/audit")


def test_wrong_uses(built: Path, tmp_path: Path) -> None:
    """A folder that is none, a name that is none, a configuration that is not there."""
    with pytest.raises(UsageError, match="not a built data set"):
        push_dataset(tmp_path, "org/audit")
    with pytest.raises(UsageError, match="ORGANISATION/NAME"):
        push_dataset(built, "audit")
    with pytest.raises(UsageError, match="no configuration 'aime2026_tr'"):
        push_dataset(built, "org/audit", allow=["aime2026_tr"])


def test_a_refusal_names_the_token(hub: Any, built: Path) -> None:
    """HTTP 403 on creating the repository says how to log in."""
    hub.failures["/api/repos/create"] = 403
    with pytest.raises(UploadError, match="HF_TOKEN"):
        push_dataset(built, "org/audit")


def test_no_answer(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing listens on port 9."""
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_TOKEN", "hf_test")
    with pytest.raises(UploadError, match="gave no answer"):
        push_dataset(built, "org/audit")


def test_pushed_and_loaded_by_name(hub: Any, built: Path) -> None:
    """The command pushes, and load_dataset in another process reads it back from the Hub by name."""
    environment = os.environ | hub.environment()
    arguments = ["push", str(built), "--repo", "org/audit", "--private"]
    run = [sys.executable, "-m", "multilingual_math_audit"]
    pushed = subprocess.run([*run, *arguments], env=environment, capture_output=True, text=True, check=False)
    assert pushed.returncode == 0, pushed.stderr
    assert "Not uploaded, because their rights forbid it: tubitak2026, pt_exams" in pushed.stdout
    script = (
        "import json, datasets; "
        "print(json.dumps([datasets.load_dataset('org/audit', name, split='test').num_rows for name in "
        "['starter_tr', 'all']]))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert loaded.returncode == 0, loaded.stderr
    assert json.loads(loaded.stdout.splitlines()[-1]) == [72, 144]
