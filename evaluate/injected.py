"""The injected suite as a data set: one row per variant of a panel, with the verdict that is right by construction."""

from __future__ import annotations

from typing import Any

import orjson

from multilingual_math_audit.benchmarks.build import Table
from multilingual_math_audit.benchmarks.catalogue import find_spec
from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.records import Problem, Solution
from multilingual_math_audit.store import Run

TITLE = "Solutions with known errors"


def injected_table(panel: Run) -> Table:
    """The configuration `injected` of a panel, rows sorted by original and edit.

    Columns: the variant's id, benchmark, item, language, question and key, the solver, the parent (the original
    solution), the edit, the text, the expected verdict (yes or no), whether the answer is right, the edit record as
    JSON, and the licence of the problem. Raises UsageError for a run without variants.
    """
    problems = {problem.id: problem for problem in panel.read(Problem)}
    rows = [_row(solution, problems[solution.problem_id]) for solution in panel.read(Solution) if solution.parent]
    if not rows:
        raise UsageError(f"The run at {panel.folder} holds no variants.", "Draw a panel first: math-audit inject")
    rows.sort(key=lambda row: (row["benchmark"], row["parent"], row["edit"]))
    return Table(TITLE, rows, _columns())


def _row(solution: Solution, problem: Problem) -> dict[str, Any]:
    record = solution.edit_record or {}
    return {
        "id": solution.id,
        "benchmark": problem.benchmark,
        "item": problem.item,
        "language": problem.language,
        "question": problem.question,
        "answer": problem.answer,
        "solver": solution.solver,
        "parent": solution.parent,
        "edit": solution.edit,
        "solution": solution.whole_text,
        "expected_verdict": record.get("verdict", ""),
        "answer_correct": record.get("answer") == "right",
        "edit_record": orjson.dumps(record, option=orjson.OPT_SORT_KEYS).decode(),
        "licence": find_spec(problem.benchmark).licence,
    }


def _columns() -> dict[str, Any]:
    import datasets

    text, truth = datasets.Value("string"), datasets.Value("bool")
    names = ("id", "benchmark", "item", "language", "question", "answer", "solver", "parent", "edit", "solution")
    after = {"expected_verdict": text, "answer_correct": truth, "edit_record": text, "licence": text}
    return {**dict.fromkeys(names, text), **after}
