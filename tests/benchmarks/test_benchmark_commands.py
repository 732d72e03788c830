"""Wrong uses of the benchmark verbs end with one paragraph on standard error and exit code 2."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from multilingual_math_audit.cli import main


def run(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    out, err = capsys.readouterr()
    return int(str(ended.value.code or 0)), out, err


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing listens on port 9 of this machine, and the cache is empty."""
    monkeypatch.setenv("MATH_AUDIT_RAW_BASE", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("MATH_AUDIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MATH_AUDIT_SOURCES", raising=False)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["benchmarks", "--check", "aime2026"], "Did you mean"),
        (["benchmarks", "--check", "tubitak2026"], "could not be downloaded"),
        (["benchmarks", "--check", "aime2026_tr", "--sources", "WRONG"], "sha256"),
        (["benchmarks", "--check", "pt_exams", "--sources", "WRONG"], "holds no pheb_mathematics_a.json"),
        (["benchmarks", "--check", "tubitak2026", "--sources", "WRONG"], "holds no rows"),
        (["benchmarks", "--check", "pt_exams", "--sources", "NOWHERE"], "is not there"),
        (["build", "WRONG", "--benchmarks", "starter_en"], "holds something else"),
        (["build", "OUT", "--benchmarks", "starter"], "Choose from"),
        (["build", "OUT"], "could not be downloaded"),
        (["build", "WRONG/tubitak_math2026.csv/OUT", "--benchmarks", "starter_en"], "cannot be written"),
        (["push", "WRONG", "--repo", "org/name"], "not a built data set"),
    ],
)
def test_wrong_uses(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Exit code 2, one line that starts with Error and says what to do, and nothing of a traceback."""
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    (wrong / "aime2026_tr.parquet").write_bytes(b"PAR1")
    (wrong / "tubitak_math2026.csv").write_text("Question_Number,Question_Text,Answer\n")
    places = {"WRONG": str(wrong), "NOWHERE": str(tmp_path / "nowhere"), "OUT": str(tmp_path / "out")}
    for word, place in places.items():
        arguments = [argument.replace(word, place) for argument in arguments]
    code, _, err = run(arguments, capsys)
    assert code == 2
    assert says in err
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_the_list_names_every_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    """One line a benchmark, with its rows and where it would come from."""
    code, out, _ = run(["benchmarks"], capsys)
    assert code == 0
    lines = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert "161 (+5)" in lines["pt_exams"]
    assert "to be downloaded" in lines["tubitak2026"]
    assert "in the package" in lines["starter_pt"]


def test_one_benchmark_is_read_whole(capsys: pytest.CaptureFixture[str]) -> None:
    """--check loads it, counts its kinds and names its rights."""
    code, out, _ = run(["benchmarks", "--check", "starter_tr"], capsys)
    assert code == 0
    assert "72 problems" in out
    assert "25 integer" in out
    assert "cc-by-4.0" in out


@pytest.mark.parametrize("verb", ["benchmarks", "build", "push"])
def test_help_ends_with_examples(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each verb's help shows commands that can be copied."""
    code, out, _ = run([verb, "--help"], capsys)
    assert code == 0
    assert f"math-audit {verb} " in out.split("Examples:")[1]
