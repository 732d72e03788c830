"""A panel: correct solutions of a run, drawn evenly over questions, each with all its variants."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from multilingual_math_audit.errors import RecordError, UndefinedScore, UsageError
from multilingual_math_audit.evaluate.answers.grading import GRADER_VERSION
from multilingual_math_audit.evaluate.inject import (
    INJECTOR_VERSION,
    PAPER_EDITS,
    EditName,
    Variant,
    construction_of,
    expand_edits,
    inject,
)
from multilingual_math_audit.evaluate.score import current_grades
from multilingual_math_audit.records import Grade, Problem, Solution, digest, seed_from
from multilingual_math_audit.store import Run

NATURAL = "natural"


@dataclass(frozen=True, slots=True)
class PanelPlan:
    """What to draw: per cell (solver and benchmark) so many originals, at most so many of one question.

    Eligible are correct solutions that finished before the limit with more than `min_tokens` tokens and to which every
    edit of the paper can be applied. `edits` are made in addition to those; `natural` wrong solutions of the solver
    are added to each cell.
    """

    per_cell: int = 72
    max_per_question: int = 6
    min_tokens: int = 600
    edits: tuple[EditName, ...] = ()
    natural: int = 0
    seed: int = 0

    def settings(self) -> dict[str, Any]:
        """What decides the panel, as its manifest holds it."""
        return {
            "per_cell": self.per_cell,
            "max_per_question": self.max_per_question,
            "min_tokens": self.min_tokens,
            "edits": list(expand_edits((*PAPER_EDITS, *self.edits))),
            "natural": self.natural,
            "seed": self.seed,
            "injector": INJECTOR_VERSION,
            "grader": GRADER_VERSION,
        }


class Candidate(NamedTuple):
    """An eligible solution, without its text."""

    solution: str
    problem: str
    solver: str
    benchmark: str


@dataclass(slots=True)
class Drawn:
    """What a draw gave: variants and wrong originals with their grades, and counts of what was passed over."""

    solutions: list[Solution] = field(default_factory=list)
    grades: list[Grade] = field(default_factory=list)
    originals: Counter[str] = field(default_factory=Counter)
    passed_over: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def digest(self) -> str:
        """A digest of the drawn texts."""
        return digest(sorted([solution.id, digest(solution.text)] for solution in self.solutions))


def order_evenly(candidates: Iterable[Candidate], *, seed: int) -> list[Candidate]:
    """Candidates of one cell in drawing order: one of each question per round, questions and solutions in drawn order.

    The order depends on ids and seed alone.

    >>> cell = [Candidate(s, s[0], "m", "b") for s in ("a1", "a2", "b1")]
    >>> sorted(c.problem for c in order_evenly(cell, seed=0)[:2])
    ['a', 'b']
    """
    of_problem: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        of_problem[candidate.problem].append(candidate)
    problems = sorted(of_problem, key=lambda problem: digest("panel", seed, problem))
    queues = [sorted(of_problem[p], key=lambda c: digest("panel", seed, c.solution)) for p in problems]
    return [c for turn in itertools.zip_longest(*queues) for c in turn if c is not None]


def draw_panel(run: Run, plan: PanelPlan, *, jobs: int = 1) -> Drawn:
    """Draw a panel from a run; the same run and plan give the same bytes, whatever the order of the run's lines.

    Texts are read only of the solutions that are tried, in rounds, and edited by `jobs` processes. Raises
    UndefinedScore when nothing is eligible.
    """
    _check(plan)
    problems = {problem.id: problem for problem in run.read(Problem)}
    cells, seen = eligible_cells(run, problems, plan)
    if not cells:
        raise UndefinedScore(f"The run at {run.folder} has no solution that can be drawn: {_say(seen)}.", _advice(seen))
    drawn = Drawn()
    for cell, reasons in seen.items():
        drawn.passed_over[cell].update(reasons)
    queues = {cell: order_evenly(found, seed=plan.seed) for cell, found in sorted(cells.items())}
    taken = _fill_cells(run, problems, queues, plan, drawn, jobs)
    _add_variants(taken, problems, plan, drawn, jobs)
    if plan.natural:
        _add_natural(run, problems, plan, drawn)
    if not drawn.solutions:
        raise UndefinedScore(
            f"No solution of the run at {run.folder} takes every edit: {_say(drawn.passed_over)}.",
            "More samples, or a smaller --min-tokens, give a panel something to be drawn from.",
        )
    return drawn


def _check(plan: PanelPlan) -> None:
    for name in ("per_cell", "max_per_question"):
        if getattr(plan, name) < 1:
            raise UsageError(f"--{name.replace('_', '-')} must be at least 1, not {getattr(plan, name)}.")
    if plan.min_tokens < 0 or plan.natural < 0:
        raise UsageError("--min-tokens and --natural cannot be below 0.")
    expand_edits(plan.edits)


def _say(seen: Mapping[str, Counter[str]]) -> str:
    total: Counter[str] = sum(seen.values(), Counter())
    return ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in sorted(total.items())) or "it has none"


def _advice(seen: Mapping[str, Counter[str]]) -> str:
    total: Counter[str] = sum(seen.values(), Counter())
    if total["too_short"]:
        return "Give a smaller --min-tokens to draw from shorter chains."
    return "Grade the run first (math-audit grade), or solve more."


def eligible_cells(
    run: Run, problems: Mapping[str, Problem], plan: PanelPlan
) -> tuple[dict[str, list[Candidate]], dict[str, Counter[str]]]:
    """The eligible solutions by cell, and why others are not."""
    correct = {grade.solution_id: grade.correct for grade in current_grades(run)}
    cells: dict[str, list[Candidate]] = defaultdict(list)
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for solution in run.read(Solution):
        if solution.parent is not None:
            continue
        if solution.problem_id not in problems:
            raise RecordError(
                f"The run has solutions of {solution.problem_id!r}, a problem that it does not hold.",
                "Put the run's problems.jsonl back.",
            )
        benchmark = problems[solution.problem_id].benchmark
        cell = f"{solution.solver}/{benchmark}"
        reason = _why_not(solution, correct.get(solution.id), plan.min_tokens)
        if reason:
            seen[cell][reason] += 1
        else:
            cells[cell].append(Candidate(solution.id, solution.problem_id, solution.solver, benchmark))
    return cells, seen


def _why_not(solution: Solution, correct: bool | None, min_tokens: int) -> str:
    if correct is None:
        return "not_graded"
    if not correct:
        return "wrong"
    if solution.finish_reason != "stop":
        return "stopped_at_the_limit" if solution.finish_reason == "length" else "not_finished"
    if solution.completion_tokens is None and min_tokens:
        return "of_unknown_length"
    return "too_short" if min_tokens and (solution.completion_tokens or 0) <= min_tokens else ""


def _fill_cells(
    run: Run,
    problems: Mapping[str, Problem],
    queues: Mapping[str, list[Candidate]],
    plan: PanelPlan,
    drawn: Drawn,
    jobs: int,
) -> dict[str, list[tuple[Solution, dict[EditName, Variant]]]]:
    """Per cell the originals to which every edit of the paper applies, in drawing order."""
    taken: dict[str, list[tuple[Solution, dict[EditName, Variant]]]] = {cell: [] for cell in queues}
    per_question: dict[str, Counter[str]] = defaultdict(Counter)
    waiting = {cell: list(reversed(queue)) for cell, queue in queues.items()}
    while True:
        tried: list[tuple[str, Candidate]] = []
        for cell, queue in waiting.items():
            tried += [(cell, c) for c in _next_in(queue, plan, len(taken[cell]), per_question[cell])]
        if not tried:
            return taken
        texts = _texts(run, {candidate.solution for _, candidate in tried})
        work = [(texts[c.solution], problems[c.problem], PAPER_EDITS, plan.seed, None) for _, c in tried]
        for (cell, candidate), variants in zip(tried, _inject_all(work, jobs), strict=True):
            skipped = sorted({f"{v.edit}:{v.skip_reason}" for v in variants.values() if not v.applied})
            if skipped:
                drawn.passed_over[cell].update(skipped[:1])
                per_question[cell][candidate.problem] -= 1
            else:
                taken[cell].append((texts[candidate.solution], variants))


def _next_in(queue: list[Candidate], plan: PanelPlan, have: int, per_question: Counter[str]) -> list[Candidate]:
    """The candidates to try next: as many as are missing, none of a question that has its share."""
    tried: list[Candidate] = []
    held: list[Candidate] = []
    while queue and have + len(tried) < plan.per_cell:
        candidate = queue.pop()
        if per_question[candidate.problem] < plan.max_per_question:
            per_question[candidate.problem] += 1
            tried.append(candidate)
        else:
            held.append(candidate)
    queue += reversed(held)
    return tried


def _texts(run: Run, ids: set[str]) -> dict[str, Solution]:
    return {solution.id: solution for solution in run.read(Solution) if solution.id in ids}


Work = tuple[Solution, Problem, tuple[EditName, ...], int, str | None]


def _inject_all(work: Sequence[Work], jobs: int) -> Iterator[dict[EditName, Variant]]:
    if jobs > 1 and len(work) > 8:
        with ProcessPoolExecutor(jobs) as pool:
            yield from pool.map(_inject_one, work, chunksize=4)
    else:
        yield from map(_inject_one, work)


def _inject_one(work: Work) -> dict[EditName, Variant]:
    solution, problem, edits, seed, foreign = work
    return inject(
        solution.whole_text,
        key=problem.answer,
        question=problem.question,
        language=problem.language,
        seed=seed_from("inject", seed, solution.id),
        edits=edits,
        foreign=foreign,
        answer_kind=problem.answer_kind,
    )


def _add_variants(
    taken: Mapping[str, list[tuple[Solution, dict[EditName, Variant]]]],
    problems: Mapping[str, Problem],
    plan: PanelPlan,
    drawn: Drawn,
    jobs: int,
) -> None:
    further = expand_edits(plan.edits)
    for cell, originals in taken.items():
        drawn.originals[cell] = len(originals)
        extra: Iterable[dict[EditName, Variant]] = ({} for _ in originals)
        if further:
            work = [
                (solution, problems[solution.problem_id], further, plan.seed, _foreign(originals, index, problems))
                for index, (solution, _) in enumerate(originals)
            ]
            extra = _inject_all(work, jobs)
        for (solution, variants), more in zip(originals, extra, strict=True):
            for variant in {**variants, **more}.values():
                if variant.applied:
                    _add(drawn, solution, variant, plan)
                else:
                    drawn.passed_over[cell][f"{variant.edit}:{variant.skip_reason}"] += 1


def _foreign(originals: Sequence[tuple[Solution, Any]], index: int, problems: Mapping[str, Problem]) -> str | None:
    item = problems[originals[index][0].problem_id].item
    around = [*originals[index + 1 :], *originals[:index]]
    return next((s.whole_text for s, _ in around if problems[s.problem_id].item != item), None)


def _add(drawn: Drawn, original: Solution, variant: Variant, plan: PanelPlan) -> None:
    made = construction_of(variant.edit)
    solution = Solution(
        id=digest("variant", original.id, variant.edit, plan.seed, INJECTOR_VERSION),
        problem_id=original.problem_id,
        solver=original.solver,
        sample=original.sample,
        text=variant.text or "",
        finish_reason="stop",
        completion_tokens=original.completion_tokens if variant.edit == "clean" else None,
        settings=original.settings,
        parent=original.id,
        edit=variant.edit,
        edit_record={**variant.record(), "answer": made.answer, "verdict": made.verdict},
    )
    drawn.solutions.append(solution)
    drawn.grades.append(
        Grade(
            solution.id,
            GRADER_VERSION,
            variant.regrade == "correct",
            variant.regrade or "wrong",
            variant.extracted,
            method="regrade",
        )
    )


def _add_natural(run: Run, problems: Mapping[str, Problem], plan: PanelPlan, drawn: Drawn) -> None:
    """Wrong solutions that the solver finished by itself, drawn as the correct ones are."""
    grades = {grade.solution_id: grade for grade in current_grades(run) if not grade.correct}
    cells: dict[str, list[Candidate]] = defaultdict(list)
    for s in run.read(Solution):
        if s.parent is None and s.id in grades and s.finish_reason == "stop" and grades[s.id].status == "wrong":
            benchmark = problems[s.problem_id].benchmark
            cells[f"{s.solver}/{benchmark}"].append(Candidate(s.id, s.problem_id, s.solver, benchmark))
    chosen: set[str] = set()
    for cell in sorted(drawn.originals):
        queue = list(reversed(order_evenly(cells[cell], seed=plan.seed)))
        share = dataclasses.replace(plan, per_cell=plan.natural)
        chosen |= {candidate.solution for candidate in _next_in(queue, share, 0, Counter())}
    texts = _texts(run, chosen)
    for solution in sorted(texts.values(), key=lambda solution: solution.id):
        grade = grades[solution.id]
        wrong = Variant(NATURAL, solution.whole_text, True, regrade=grade.status, extracted=grade.extracted)
        _add(drawn, solution, wrong, plan)


def write_panel(drawn: Drawn, run: Run, plan: PanelPlan, folder: str, **facts: Any) -> Run:
    """Write a panel as a run folder of its own; the same panel again changes nothing.

    Raises SettingsMismatch when the folder holds another panel.
    """
    used = {solution.problem_id for solution in drawn.solutions}
    settings = {
        "panel": plan.settings(),
        "solver": run.settings.get("solver", {}),
        "drawn": drawn.digest(),
    }
    counts = {
        "originals": dict(sorted(drawn.originals.items())),
        "passed_over": {cell: dict(sorted(reasons.items())) for cell, reasons in sorted(drawn.passed_over.items())},
    }
    panel = Run.create(folder, settings, counts=counts, **facts)
    known = (panel.keys(Problem), panel.keys(Solution), panel.keys(Grade))
    panel.append(p for p in run.read(Problem) if p.id in used and p.key not in known[0])
    panel.append(s for s in drawn.solutions if s.key not in known[1])
    panel.append(g for g in drawn.grades if g.key not in known[2])
    return panel
