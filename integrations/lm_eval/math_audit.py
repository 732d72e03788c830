"""What the task files beside this one call: our problems, our prompt, our extraction and our grading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from multilingual_math_audit.benchmarks.prompts import solver_prompt
from multilingual_math_audit.evaluate.answers.grading import grade_answer
from multilingual_math_audit.loaders.problems import load_benchmark


def load(benchmark: str, **_: Any) -> dict[str, Any]:
    """The problems of a benchmark as the split `test`; MATH_AUDIT_SOURCES names a folder with source files."""
    import datasets

    rows = [
        {
            "id": problem.id,
            "prompt": solver_prompt(problem),
            "question": problem.question,
            "answer": problem.answer,
            "answer_kind": problem.answer_kind,
            "ordered": problem.ordered,
            "language": problem.language,
        }
        for problem in load_benchmark(benchmark)
    ]
    return {"test": datasets.Dataset.from_list(rows)}


def grade(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
    """The share of right samples of one problem, and what was extracted from each."""
    samples = results[0] if isinstance(results[0], list | tuple) else results
    grades = [
        grade_answer(
            str(sample),
            doc["answer"],
            language=doc["language"],
            answer_kind=doc["answer_kind"],
            ordered=doc["ordered"],
            finish_reason="unknown",
        )
        for sample in samples
    ]
    return {
        "correct": sum(one.correct for one in grades) / len(grades),
        "extracted": [one.extracted for one in grades],
    }


def share_found(extracted: Iterable[Sequence[str | None]]) -> float:
    """The share of samples in which an answer was found."""
    every = [answer for answers in extracted for answer in answers]
    return sum(answer is not None for answer in every) / len(every)
