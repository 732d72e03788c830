"""Our tasks inside other harnesses give the answers and grades that `math-audit grade` gives on the same samples."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import chat_server
import pytest

from multilingual_math_audit.evaluate.answers.grading import GRADER_VERSION
from multilingual_math_audit.evaluate.stages import grade_stage
from multilingual_math_audit.loaders.outputs.formats import read_outputs
from multilingual_math_audit.loaders.outputs.importing import ImportPlan, import_outputs
from multilingual_math_audit.loaders.problems import load_benchmark
from multilingual_math_audit.records import Grade, Solution

pytestmark = [pytest.mark.slow, pytest.mark.harness]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def harness() -> str:
    """The interpreter of the environment that holds the other harnesses."""
    named = os.environ.get("MATH_AUDIT_HARNESS_PYTHON") or str(ROOT / ".venv-harness" / "bin" / "python")
    if not Path(named).exists():
        missing = (
            f"needs lm-eval and inspect: 'make harness' makes .venv-harness, or set MATH_AUDIT_HARNESS_PYTHON ({named})"
        )
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return named


@pytest.fixture
def server() -> Iterator[chat_server.ChatServer]:
    """A model that is right, wrong, in words, in Turkish notation or silent, by turns."""
    keys = {p.question: p.answer for name in ("starter_en", "starter_tr") for p in load_benchmark(name)}
    turns = iter(range(10**6))

    def answer(messages: list[dict[str, str]], seed: int) -> str:
        key = next(key for question, key in keys.items() if question in messages[-1]["content"])
        shapes = (
            f"So \\boxed{{{key}}}.", f"<think>\\boxed{{1}}</think>The answer is {key}", "I do not know.",
            f"\\boxed{{{key}}} or rather \\boxed{{99999}}", f"**Cevap: ${key}$**",
        )  # fmt: skip
        return shapes[next(turns) % len(shapes)]

    with chat_server.ChatServer(answer, model="tiny") as running:
        yield running


def environment() -> dict[str, str]:
    """No network, no key that matters."""
    return {**os.environ, "HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "none", "INSPECT_DISPLAY": "none"}


def run(*words: str, folder: Path) -> None:
    """Run a harness; its last words are shown when it fails."""
    done = subprocess.run(
        words, cwd=folder, env=environment(), capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


def test_lm_eval_extracts_what_we_extract(harness: str, server: chat_server.ChatServer, tmp_path: Path) -> None:
    """Every sample of lm-evaluation-harness has the extracted answer and the grade that our own import gives it."""
    run(
        harness, "-m", "lm_eval", "run", "--model", "local-chat-completions", "--model_args",
        f"base_url={server.url}/chat/completions,model=tiny,num_concurrent=1", "--apply_chat_template",
        "--include_path", str(ROOT / "integrations" / "lm_eval"),
        "--tasks", "math_audit_starter_en,math_audit_starter_tr", "--limit", "12",
        "--output_path", "out", "--log_samples", folder=tmp_path,
    )  # fmt: skip
    for language in ("en", "tr"):
        (file,) = (tmp_path / "out" / "tiny").glob(f"samples_math_audit_starter_{language}_*.jsonl")
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        theirs = {row["doc"]["id"]: (row["extracted"], row["correct"]) for row in rows}
        problems = load_benchmark(f"starter_{language}")
        made, report = import_outputs(
            lambda file=file: read_outputs("lm-eval", file), problems, tmp_path / language, ImportPlan("lm-eval")
        )  # type: ignore[misc]
        assert report.left_out == []
        grade_stage(made)
        grades = {grade.solution_id: grade for grade in made.read(Grade) if grade.grader == GRADER_VERSION}
        ours: dict[str, list[Grade]] = {}
        for solution in made.read(Solution):
            ours.setdefault(solution.problem_id, []).append(grades[solution.id])
        assert len(theirs) == 12
        for name, mine in ours.items():
            assert ([g.extracted for g in mine], sum(g.correct for g in mine) / len(mine)) == theirs[name]
        assert 0 < sum(share for _, share in theirs.values()) < 12


def test_inspect_grades_as_we_grade(harness: str, server: chat_server.ChatServer, tmp_path: Path) -> None:
    """Every sample of inspect has the extracted answer and the mark that our own import gives it."""
    run(
        harness, "-m", "inspect_ai", "eval", f"{ROOT}/integrations/inspect_math_audit.py@math_audit",
        "-T", "benchmark=starter_tr", "--model", "openai-api/local/tiny", "--model-base-url", server.url,
        "-M", "api_key=none", "--limit", "12", "--epochs", "3", "--log-dir", "logs", folder=tmp_path,
    )  # fmt: skip
    (file,) = (tmp_path / "logs").glob("*.eval")
    problems = load_benchmark("starter_tr")
    made, report = import_outputs(
        lambda: read_outputs("inspect", file), problems, tmp_path / "run", ImportPlan("inspect")
    )
    assert report.left_out == []
    assert report.taken == {"starter_tr": 36}
    grade_stage(made)
    marks = {g.solution_id: g.correct for g in made.read(Grade) if g.grader == "inspect"}
    ours = {g.solution_id: g for g in made.read(Grade) if g.grader == GRADER_VERSION}
    assert marks == {name: grade.correct for name, grade in ours.items()}
    assert 0 < sum(marks.values()) < 36
    script = (
        "import json, sys; from inspect_ai.log import read_eval_log\n"
        "print(json.dumps({s.uuid: s.scores['math_audit_grade'].answer for s in read_eval_log(sys.argv[1]).samples}))"
    )
    said = subprocess.run([harness, "-c", script, str(file)], capture_output=True, text=True, check=True).stdout
    answers = json.loads(said)
    for solution in made.read(Solution):
        assert answers[(solution.source or "").removeprefix("inspect: ")] == ours[solution.id].extracted
