"""Run files: the options as YAML, options given beside it win, nothing is guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.options import with_endpoints
from multilingual_math_audit.runfile import load_config, parse_shard


def _file(folder: Path, text: str) -> str:
    path = folder / "run.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_run_file_is_the_options(tmp_path: Path) -> None:
    """Every kind of value is read: names, lists, numbers, flags, mappings; dashes are underscores."""
    file = _file(
        tmp_path,
        "solver: org/m\nbenchmarks: [starter_en, starter_tr]\nn: 4\ntop-p: 1\nstop_early: true\n"
        "engine-args: {max_num_seqs: 8}\nprices: [0.5, 2]\n",
    )
    config = load_config({}, file=file)
    assert (config.solver, config.benchmarks, config.n) == ("org/m", ("starter_en", "starter_tr"), 4)
    assert (config.top_p, config.stop_early, config.prices) == (1.0, True, (0.5, 2))
    assert config.engine_args == {"max_num_seqs": 8}


def test_options_beside_the_file_win(tmp_path: Path) -> None:
    """A value of the command line replaces the file's, zero included; an absent flag leaves the file's."""
    file = _file(tmp_path, "solver: org/m\ntemperature: 0.6\nn: 4\nwith_errata: true\nshots: 3\n")
    config = load_config({"temperature": 0.0, "n": None, "with_errata": False, "shots": 0}, file=file)
    assert (config.temperature, config.n, config.with_errata, config.shots) == (0.0, 4, True, 0)


def test_names_may_be_joined_by_commas(tmp_path: Path) -> None:
    """`a, b` in a file is the list of both."""
    assert load_config({}, file=_file(tmp_path, "benchmarks: a, b\n")).benchmarks == ("a", "b")


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "1/0", "-1/2", ""])
def test_shards_that_are_none(text: str) -> None:
    """K runs from 1 to N; anything else is refused."""
    with pytest.raises(UsageError, match="K/N"):
        parse_shard(text)


@pytest.mark.parametrize(
    "values",
    [
        {"n": 0},
        {"n": -1},
        {"budget": 0},
        {"limit": 0},
        {"temperature": -0.1},
        {"temperature": float("nan")},
        {"temperature": float("inf")},
        {"top_p": float("nan")},
        {"shots": -1},
        {"judge_shots": -1},
        {"k": (0,)},
        {"k": (1, -1)},
        {"top_p": 1.5},
        {"n": True},
        {"n": 2.5},
        {"judge_samples": 0},
        {"mode": "chat"},
        {"solver": 7},
        {"benchmarks": 7},
        {"engine_args": [1]},
        {"n": 2, "k": (4,)},
    ],
)
def test_values_that_cannot_be(values: dict[str, object]) -> None:
    """A value of a wrong kind or range is named."""
    with pytest.raises(UsageError):
        load_config({"solver": "m", **values})


def test_a_slurm_array_is_a_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Task 7 of an array 5-8 is the third part of four."""
    for name, value in {"TASK_ID": "7", "TASK_MIN": "5", "TASK_COUNT": "4"}.items():
        monkeypatch.setenv(f"SLURM_ARRAY_{name}", value)
    assert with_endpoints({"shard": "slurm"})["shard"] == "3/4"


def test_endpoints_from_a_file(tmp_path: Path) -> None:
    """One URL a line; empty lines and remarks are passed over; an empty file is refused."""
    file = tmp_path / "endpoints"
    file.write_text("# ours\nhttp://a/v1\n\nhttp://b/v1\n")
    assert with_endpoints({"endpoints_file": str(file)})["endpoints"] == ("http://a/v1", "http://b/v1")
    file.write_text("# none\n")
    with pytest.raises(UsageError, match="names no endpoint"):
        with_endpoints({"endpoints_file": str(file)})
