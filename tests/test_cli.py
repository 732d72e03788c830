"""The command line: help that works, and wrong uses answered in one paragraph with exit code 2."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from small_run import make_run

from multilingual_math_audit.cli import VERBS


def call(*words: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command as a user does."""
    return subprocess.run(
        [sys.executable, "-m", "multilingual_math_audit", *words],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "COLUMNS": "100", **(env or {})},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def refused(result: subprocess.CompletedProcess[str]) -> str:
    """The error's text, after checking that it is one paragraph, exit code 2 and no traceback."""
    assert result.returncode == 2, result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    paragraphs = [part for part in result.stderr.strip().split("\n\n") if part.strip()]
    assert len(paragraphs) == 1, result.stderr
    return result.stderr


def test_help_names_every_verb() -> None:
    """`math-audit --help` lists each verb with its line and closes with examples."""
    result = call("--help")
    assert result.returncode == 0
    for name, (_, line) in VERBS.items():
        assert name in result.stdout
        assert line.split()[0] in result.stdout
    assert "Examples:" in result.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_each_verb(verb: str) -> None:
    """Each verb's help is there and shows examples."""
    from click.testing import CliRunner

    from multilingual_math_audit.cli import cli

    result = CliRunner().invoke(cli, [verb, "--help"])
    assert result.exit_code == 0, result.output
    assert "Examples:" in result.output


START = ("--solver", "m", "--engine", "replay", "--recorded", "nothing.jsonl")


def test_unknown_verb_suggests_the_nearest() -> None:
    """A mistyped verb is answered with the one that was meant."""
    assert "Did you mean 'judge'?" in call("jugde").stderr


def test_unknown_benchmark(tmp_path: Path) -> None:
    """An unknown benchmark is answered with the names of those there are."""
    error = refused(call("solve", *START, "--benchmarks", "aime2027", "--out", str(tmp_path / "r")))
    assert "aime2027" in error
    assert "starter_en" in error


def test_fewer_samples_than_k(tmp_path: Path) -> None:
    """Pass@8 of four samples is refused before anything is sampled."""
    words = ("--benchmarks", "starter_en", "--n", "4", "--k", "1,8", "--out", str(tmp_path / "r"))
    error = refused(call("run", *START, *words))
    assert "Pass@8" in error
    assert not (tmp_path / "r").exists()


@pytest.mark.skipif(os.geteuid() == 0 and not Path("/proc/version").exists(), reason="needs a place nobody may write")
def test_unwritable_folder() -> None:
    """A folder that cannot be written is named, with what to do."""
    error = refused(call("solve", *START, "--benchmarks", "starter_en", "--out", "/proc/nowhere/r"))
    assert "/proc/nowhere" in error


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("solver: [unclosed", "not YAML"),
        ("slover: m\nbenchmarks: starter_en", "Did you mean 'solver'"),
        ("solver: m\nn: four", "n must be a whole number"),
        ("solver: m\nmode: dreaming", "mode must be one of"),
        ("- just a list", "holds no keys"),
        ("solver: m\ntop_p: 0", "top_p"),
        ("solver: m\nshard: 5/4", "--shard"),
    ],
)
def test_bad_run_file(tmp_path: Path, text: str, seen: str) -> None:
    """A run file that cannot be read, has an unknown key or a wrong value says which and what would be right."""
    file = tmp_path / "run.yaml"
    file.write_text(text)
    assert seen in refused(call("solve", str(file), "--out", str(tmp_path / "r")))


def test_missing_run_file(tmp_path: Path) -> None:
    """A run file that is not there is named."""
    assert "none.yaml" in refused(call("solve", str(tmp_path / "none.yaml")))


def test_unreachable_server(tmp_path: Path) -> None:
    """A server that does not answer is named within the retries' time."""
    words = ("--solver", "m", "--engine", "server", "--endpoint", "http://127.0.0.1:9/v1", "--benchmarks", "starter_en")
    error = refused(call("solve", *words, "--limit", "1", "--n", "1", "--out", str(tmp_path / "r")))
    assert "127.0.0.1:9" in error


def test_wrong_sha(tmp_path: Path) -> None:
    """A source file with other bytes than pinned is refused by name."""
    (tmp_path / "aime2026_en.jsonl").write_text('{"answer": "1", "prompt": "?"}\n')
    words = ("--benchmarks", "aime2026_en", "--sources", str(tmp_path), "--out", str(tmp_path / "r"))
    assert "aime2026_en" in refused(call("solve", *START, *words))


def test_empty_benchmark(tmp_path: Path) -> None:
    """No benchmark at all is said."""
    assert "--benchmarks" in refused(call("solve", *START, "--out", str(tmp_path / "r")))


def test_clashing_settings_on_resume(tmp_path: Path) -> None:
    """Going on with another temperature is refused with both values, and the run is left as it was."""
    recorded = tmp_path / "recorded.jsonl"
    recorded.write_text("")
    words = ("--solver", "m", "--engine", "replay", "--recorded", str(recorded), "--benchmarks", "starter_en")
    out = ("--n", "1", "--limit", "1", "--out", str(tmp_path / "r"))
    call("solve", *words, *out)
    before = (tmp_path / "r" / "manifest.json").read_bytes()
    error = refused(call("solve", *words, *out, "--temperature", "1.0"))
    assert "temperature" in error
    assert "0.6" in error
    assert "1.0" in error
    assert (tmp_path / "r" / "manifest.json").read_bytes() == before


def test_unknown_model(tmp_path: Path) -> None:
    """A model that cannot be had is named, and leaves no run behind that would block the right name."""
    words = ("--solver", "nobody/no-such-model", "--engine", "transformers", "--benchmarks", "starter_en")
    assert "nobody/no-such-model" in refused(call("solve", *words, "--limit", "1", "--out", str(tmp_path / "r")))
    assert list((tmp_path / "r").iterdir()) == []


@pytest.mark.skipif(importlib.util.find_spec("vllm") is not None, reason="vLLM is installed here")
def test_missing_extra(tmp_path: Path) -> None:
    """An engine whose library is not installed says what to install."""
    words = ("--solver", "m", "--engine", "vllm", "--benchmarks", "starter_en", "--limit", "1")
    error = refused(call("solve", *words, "--out", str(tmp_path / "r")))
    assert "pip install" in error
    assert "vllm" in error


def test_no_run_there(tmp_path: Path) -> None:
    """Verbs that read a run say when there is none."""
    for verb in ("score", "grade"):
        assert "no run" in refused(call(verb, str(tmp_path))).lower()
    assert "no run" in refused(call("judge", str(tmp_path), "--judge", "m")).lower()


@pytest.mark.parametrize(
    "words",
    [
        ("score", "{run}", "--k", "0"),
        ("score", "{run}", "--k", "1,-1"),
        ("score", "{run}", "--seed", "-5"),
        ("report", "{run}", "-o", ""),
        ("report", "{run}", "-o", "report", "--seed", "-1"),
        ("export", "lm-eval", "{run}", "-o", ""),
        ("compact", "{run}", "-o", ""),
        ("merge", "{run}", "-o", ""),
        ("inject", "{run}", "-o", "", "--min-tokens", "0"),
        ("import", "table", "{run}/solutions.jsonl", "--language", "en", "-o", ""),
        ("export", "parquet", "{run}", "-o", "{loop}"),
        ("merge", "{run}", "-o", "{loop}"),
    ],
)
def test_values_no_command_can_take(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A k below 1, a negative seed, an empty folder name and a link to itself are refused, and nothing is written."""
    run = make_run(tmp_path / "run")
    before = sorted(path.name for path in run.folder.iterdir())
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "here").mkdir()
    result = call(*(w.format(run=run.folder, loop=tmp_path / "loop") for w in words), cwd=tmp_path / "here")
    assert result.returncode == 2, result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    assert "Error: " in result.stderr
    assert not list((tmp_path / "here").iterdir())
    assert sorted(path.name for path in run.folder.iterdir()) == before
