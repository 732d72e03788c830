"""`eval.yaml`: the tasks of the data set, for Inspect and for the leaderboards of the Hub."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from multilingual_math_audit.benchmarks.catalogue import Spec, find_spec
from multilingual_math_audit.benchmarks.prompts import judge_prompt

SAMPLING = {"temperature": 0.6, "top_p": 0.95, "max_tokens": 16384}
CLOSING = "Please format your response as follows:"
GRADING = (
    "Describe every issue you find. Then write, alone on the last line, GRADE: C if the solution is logically sound "
    "and free of errors in reasoning, and GRADE: I if it is not."
)


def describe_evaluation(benchmarks: Sequence[str]) -> dict[str, Any]:
    """What `eval.yaml` says: for each benchmark one task for Pass@1 and one for CoT-Pass@1.

    Inspect can run both. It has no scorer for "right and approved", so there the second reports its two halves apart,
    with one judgment and a letter for a verdict; CoT-Pass@1 itself is computed by this package.

    >>> [task["id"] for task in describe_evaluation(["tubitak2026"])["tasks"]]
    ['tubitak2026__pass_at_1', 'tubitak2026__cot_pass_at_1']
    """
    tasks = [task for name in benchmarks for task in _tasks(find_spec(name))]
    return {
        "name": "Multilingual Math Audit",
        "description": (
            "Mathematics in English, Turkish and Portuguese. Pass@1 is the share of right answers; CoT-Pass@1 the "
            "share of right answers whose reasoning a judge approves (majority of three judgments), as math-audit "
            "computes it. Values are percent, higher is better."
        ),
        "evaluation_framework": "inspect-ai",
        "tasks": tasks,
    }


def _tasks(spec: Spec) -> list[dict[str, Any]]:
    right = {"name": "math"}
    approved = {
        "name": "model_graded_qa",
        "args": {"template": judge_template(spec.language), "instructions": GRADING},
    }
    return [
        _task(spec, metric="pass_at_1", scorers=[right]),
        _task(spec, metric="cot_pass_at_1", scorers=[right, approved]),
    ]


def _task(spec: Spec, *, metric: str, scorers: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": f"{spec.name}__{metric}",
        "config": spec.name,
        "split": "test",
        "field_spec": {"input": "prompt", "target": "answer", "id": "id"},
        "epochs": spec.samples,
        "epoch_reducer": "mean",
        "solvers": [{"name": "generate", "args": SAMPLING}],
        "scorers": scorers,
    }


def judge_template(language: str) -> str:
    """The judge's instructions as a template of Inspect, which asks for a letter where ours asks for a box.

    >>> judge_template("tr").endswith("{instructions}")
    True
    """
    asked, _, _ = judge_prompt("{question}", "{answer}", language).partition(CLOSING)
    return f"{asked}{{instructions}}"
