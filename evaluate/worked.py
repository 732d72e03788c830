"""The worked solutions that ship with the starter problems: a run to audit a judge on without any solver."""

from __future__ import annotations

import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from multilingual_math_audit.evaluate.answers.grading import GRADER_VERSION, grade_answer
from multilingual_math_audit.evaluate.panel import PanelPlan, draw_panel, write_panel
from multilingual_math_audit.loaders.problems import load_benchmark
from multilingual_math_audit.records import Grade, Problem, Solution, digest
from multilingual_math_audit.store import Run

WORD = "starter"
SOLVER = "worked-solutions"
BENCHMARKS = ("starter_en", "starter_tr", "starter_pt")


def worked_solutions() -> list[tuple[Problem, Solution]]:
    """The shipped solutions with their problems, in English, Turkish and Portuguese.

    >>> pairs = worked_solutions()
    >>> len(pairs), sorted({problem.language for problem, _ in pairs})
    (24, ['en', 'pt', 'tr'])
    """
    problems = {(p.item, p.language): p for name in BENCHMARKS for p in load_benchmark(name)}
    text = files("multilingual_math_audit.benchmarks").joinpath("starter/solutions.yaml").read_text("utf-8")
    entries: list[dict[str, Any]] = yaml.safe_load(text)
    pairs = []
    for entry in entries:
        for language in ("en", "tr", "pt"):
            problem = problems[entry["item"], language]
            name = digest("worked", problem.id, entry[language])
            pairs.append((problem, Solution(name, problem.id, SOLVER, 0, entry[language])))
    return pairs


def open_worked_run(folder: str, **facts: Any) -> Run:
    """A graded run of the worked solutions at `folder`, made if it is not there."""
    pairs = worked_solutions()
    settings = {"solver": {"solver": SOLVER}, "worked": digest([solution.id for _, solution in pairs])}
    run = Run.create(folder, settings, **facts)
    known = run.keys(Solution)
    for problem, solution in pairs:
        if solution.id not in known:
            grade = grade_answer(
                solution.text, problem.answer, language=problem.language, answer_kind=problem.answer_kind
            )
            run.append(
                [
                    problem,
                    Grade(solution.id, GRADER_VERSION, grade.correct, grade.status, grade.extracted),
                    solution,
                ]
            )
    return run


def open_source(folder: str) -> tuple[Run, bool]:
    """The run at `folder`, or the worked solutions where the word is `starter` and no such run exists; says which."""
    if folder != WORD or (Path(folder) / "manifest.json").exists():
        return Run.open(folder), False
    return open_worked_run(tempfile.mkdtemp(prefix="worked-")), True


def open_panel(folder: str) -> Run:
    """The panel at `folder`, or a panel of the worked solutions where the word is `starter` and no such run exists."""
    run, worked = open_source(folder)
    if not worked:
        return run
    plan = PanelPlan(min_tokens=0)
    return write_panel(draw_panel(run, plan), run, plan, tempfile.mkdtemp(prefix="panel-"))
