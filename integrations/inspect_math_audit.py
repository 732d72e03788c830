"""Inspect tasks for our benchmarks: our problems and prompt, our extraction and grading.

    inspect eval integrations/inspect_math_audit.py@math_audit -T benchmark=starter_tr --model PROVIDER/MODEL
    inspect eval integrations/inspect_math_audit.py@aime2026_tr --model PROVIDER/MODEL --epochs 64

Source files are looked for in MATH_AUDIT_SOURCES, then downloaded.
"""

from __future__ import annotations

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import TaskState, generate

from multilingual_math_audit.benchmarks.prompts import solver_prompt
from multilingual_math_audit.evaluate.answers.grading import grade_answer
from multilingual_math_audit.loaders.problems import load_benchmark

STOPS = {"max_tokens": "length", "model_length": "length", "stop": "stop"}


@scorer(metrics=[accuracy(), stderr(cluster="item")])
def math_audit_grade() -> Scorer:
    """Our grade of the visible answer; the explanation says what decided."""

    async def score(state: TaskState, target: Target) -> Score:
        facts = state.metadata
        grade = grade_answer(
            state.output.completion,
            target.text,
            language=facts["language"],
            answer_kind=facts["answer_kind"],
            ordered=facts["ordered"],
            finish_reason=STOPS.get(str(state.output.stop_reason), "unknown"),
        )
        return Score(
            value=CORRECT if grade.correct else INCORRECT,
            answer=grade.extracted,
            explanation=f"{grade.status}: found {grade.where}, decided by {grade.method}, doubt {grade.doubt}",
            metadata={"status": grade.status, "doubt": grade.doubt},
        )

    return score


@task
def math_audit(benchmark: str = "starter_en", sources: str | None = None, epochs: int = 1) -> Task:
    """One benchmark by its name."""
    samples = [
        Sample(
            id=problem.id,
            input=solver_prompt(problem),
            target=problem.answer,
            metadata={
                "item": problem.item,
                "language": problem.language,
                "answer_kind": problem.answer_kind,
                "ordered": problem.ordered,
            },
        )
        for problem in load_benchmark(benchmark, sources=sources)
    ]
    return Task(
        dataset=MemoryDataset(samples, name=benchmark),
        solver=generate(),
        scorer=math_audit_grade(),
        config=GenerateConfig(temperature=0.6, top_p=0.95, max_tokens=16_384),
        epochs=epochs,
        name=f"math_audit_{benchmark}",
    )


@task
def aime2026_en() -> Task:
    """AIME 2026 in English."""
    return math_audit("aime2026_en")


@task
def aime2026_tr() -> Task:
    """AIME 2026 in Turkish."""
    return math_audit("aime2026_tr")


@task
def aime2026_pt() -> Task:
    """AIME 2026 in Portuguese."""
    return math_audit("aime2026_pt")


@task
def tubitak2026() -> Task:
    """The Turkish olympiad of 2026."""
    return math_audit("tubitak2026")


@task
def pt_exams() -> Task:
    """Portuguese national exams."""
    return math_audit("pt_exams")
