"""Does a judged reasoning metric really check the reasoning?"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multilingual_math_audit.benchmarks.prompts import judge_prompt, solver_prompt
    from multilingual_math_audit.evaluate.answers.extraction import extract_answer
    from multilingual_math_audit.evaluate.answers.grading import grade_answer
    from multilingual_math_audit.evaluate.inject import inject
    from multilingual_math_audit.evaluate.metrics import cot_pass_at_k, pass_at_k, question_bootstrap
    from multilingual_math_audit.evaluate.statistics import (
        holm,
        mcnemar_exact,
        paired_bootstrap,
        wilcoxon_exact,
        wilson_interval,
    )
    from multilingual_math_audit.evaluate.verdicts import parse_verdict
    from multilingual_math_audit.evaluate.verifier.model import MultiSequenceVerifier
    from multilingual_math_audit.loaders.problems import load_benchmark

_HOMES = {
    "load_benchmark": "loaders.problems",
    "solver_prompt": "benchmarks.prompts",
    "judge_prompt": "benchmarks.prompts",
    "extract_answer": "evaluate.answers.extraction",
    "grade_answer": "evaluate.answers.grading",
    "parse_verdict": "evaluate.verdicts",
    "pass_at_k": "evaluate.metrics",
    "cot_pass_at_k": "evaluate.metrics",
    "question_bootstrap": "evaluate.metrics",
    "wilson_interval": "evaluate.statistics",
    "mcnemar_exact": "evaluate.statistics",
    "paired_bootstrap": "evaluate.statistics",
    "wilcoxon_exact": "evaluate.statistics",
    "holm": "evaluate.statistics",
    "inject": "evaluate.inject",
    "MultiSequenceVerifier": "evaluate.verifier.model",
}

__all__ = [
    "load_benchmark",
    "solver_prompt",
    "judge_prompt",
    "extract_answer",
    "grade_answer",
    "parse_verdict",
    "pass_at_k",
    "cot_pass_at_k",
    "question_bootstrap",
    "wilson_interval",
    "mcnemar_exact",
    "paired_bootstrap",
    "wilcoxon_exact",
    "holm",
    "inject",
    "MultiSequenceVerifier",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"multilingual_math_audit.{_HOMES[name]}"), name)
    raise AttributeError(f"multilingual_math_audit has no {name!r}; it has {', '.join(__all__)}.")


def __dir__() -> list[str]:
    return sorted(__all__)
