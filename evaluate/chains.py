"""The texts of a run whose language is identified, and what judges decided about them."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from multilingual_math_audit.evaluate.agenda import is_decided
from multilingual_math_audit.evaluate.language import ChainLanguage, Text
from multilingual_math_audit.evaluate.score import current_grades
from multilingual_math_audit.evaluate.verdicts import approves
from multilingual_math_audit.records import Judgment, Problem, Solution, Verdict, seed_from
from multilingual_math_audit.store import Run

JUDGMENTS_PER_CELL = 300


@dataclass(frozen=True, slots=True)
class Identified:
    """A language record with where it belongs: whose text, on which benchmark, and each judge's decision about it.

    `by` is the solver of a chain and the judge of a judgment; `accepted` holds the decided judges of a correct chain.
    """

    record: ChainLanguage
    by: str
    mode: str
    budget: int | None
    benchmark: str
    accepted: Mapping[str, bool]


def chain_texts(run: Run, *, every: bool = False, done: Collection[str] = ()) -> Iterator[Text]:
    """The chains of a run, thinking included: those of correct solutions, or all; ids in `done` are left out."""
    problems = {problem.id: problem for problem in run.read(Problem)}
    correct = {grade.solution_id for grade in current_grades(run) if grade.correct}
    for solution in run.read(Solution):
        if solution.id not in done and (every or solution.id in correct) and solution.problem_id in problems:
            problem = problems[solution.problem_id]
            yield Text(solution.id, solution.whole_text, problem.language, problem.question)


def judgment_texts(
    run: Run, *, per_cell: int = JUDGMENTS_PER_CELL, seed: int = 0, done: Collection[str] = ()
) -> Iterator[Text]:
    """A seeded sample of each judge's output per benchmark, thinking included; restatements are not dropped there."""
    problems = {problem.id: problem for problem in run.read(Problem)}
    problem_of = {solution.id: solution.problem_id for solution in run.read(Solution)}
    cells: dict[tuple[str, str], list[str]] = defaultdict(list)
    for judgment in run.read(Judgment):
        if (problem := problems.get(problem_of.get(judgment.solution_id, ""))) is not None:
            cells[judgment.judge, problem.benchmark].append(judgment.id)
    chosen: set[str] = set()
    for (judge, benchmark), ids in sorted(cells.items()):
        draw = random.Random(seed_from("judgment languages", judge, benchmark, seed))
        chosen.update(draw.sample(sorted(ids), min(per_cell, len(ids))))
    for judgment in run.read(Judgment):
        if judgment.id in chosen and judgment.id not in done:
            text = f"{judgment.thinking}\n{judgment.text}" if judgment.thinking else judgment.text
            language = problems[problem_of[judgment.solution_id]].language
            yield Text(judgment.id, text, language, of="judgment")


def read_identified(run: Run) -> list[Identified]:
    """The language records of a run, each with its solver or judge, benchmark and the judges' decisions.

    Where several detectors labelled a text, the one that labelled last counts.
    """
    latest: dict[tuple[str, str], ChainLanguage] = {}
    for record in run.read(ChainLanguage):
        latest[record.of, record.id] = record
    if not latest:
        return []
    benchmarks = {problem.id: problem.benchmark for problem in run.read(Problem)}
    solutions = {
        solution.id: (solution.solver, benchmarks.get(solution.problem_id, "")) for solution in run.read(Solution)
    }
    decisions = _decisions(run)
    judgments = {judgment.id: (judgment.judge, judgment.solution_id) for judgment in run.read(Judgment)}
    solver = run.settings.get("solver")
    settings = solver if isinstance(solver, dict) else {}
    mode, budget = str(settings.get("mode", "unknown")), settings.get("budget")
    found = []
    for record in latest.values():
        if record.of == "chain" and record.id in solutions:
            by, benchmark = solutions[record.id]
            found.append(Identified(record, by, mode, budget, benchmark, decisions.get(record.id, {})))
        elif record.of == "judgment" and record.id in judgments:
            judge, about = judgments[record.id]
            found.append(Identified(record, judge, "judge", None, solutions.get(about, ("", ""))[1], {}))
    return found


def _decisions(run: Run) -> dict[str, dict[str, bool]]:
    asked = {name: int(row.get("samples", 3)) for name, row in run.manifest.get("judges", {}).items()}
    verdicts: dict[tuple[str, str], dict[int, Verdict | None]] = defaultdict(dict)
    for judgment in run.read(Judgment):
        verdicts[judgment.solution_id, judgment.judge][judgment.sample] = judgment.verdict
    correct = {grade.solution_id for grade in current_grades(run) if grade.correct}
    decided: dict[str, dict[str, bool]] = defaultdict(dict)
    for (solution, judge), by_sample in verdicts.items():
        said = [by_sample[sample] for sample in sorted(by_sample)]
        if solution in correct and is_decided(said, samples=asked.get(judge, 3)):
            decided[solution][judge] = approves(said)
    return decided
