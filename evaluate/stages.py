"""The stages on a run folder: open it, see what is pending, do it, append each record the moment it is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from multilingual_math_audit.display import StageDisplay
from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.agenda import Budget, next_samples
from multilingual_math_audit.evaluate.engines.protocol import Engine, EngineFacts, Sample
from multilingual_math_audit.evaluate.judge import Agenda, JudgePlan, judge
from multilingual_math_audit.evaluate.solve import Failures, SolvePlan, solve, solve_units
from multilingual_math_audit.records import Grade, Judgment, Problem, Solution, digest
from multilingual_math_audit.store import Run


def open_solve_run(folder: str, problems: Sequence[Problem], plan: SolvePlan, **facts: Any) -> Run:
    """The run folder of a solver over problems, made if it is not there, its problems recorded.

    Raises SettingsMismatch when the folder holds a run with other settings, UsageError when there is nothing to solve.
    """
    if not problems:
        raise UsageError(
            "There is nothing to solve: no problem is left.", "Choose other --benchmarks or a larger --limit."
        )
    settings: dict[str, Any] = {
        "solver": plan.settings(),
        "samples": {name: plan.samples[name] for name in sorted({p.benchmark for p in problems})},
        "problems": digest(sorted([p.id, p.question, p.answer] for p in problems)),
    }
    if plan.shard is not None:
        settings["shard"] = list(plan.shard)
    run = Run.create(folder, settings, **facts)
    known = run.keys(Problem)
    run.append(problem for problem in problems if problem.id not in known)
    return run


def record_engine(run: Run, role: str, name: str, facts: EngineFacts) -> None:
    """Note in the manifest which engine served a role; a resumed run may be served by several."""
    entry = {
        "role": role,
        "name": name,
        "engine": facts.engine,
        "model": facts.model,
        "revision": facts.revision,
        "versions": dict(facts.versions),
        "template": facts.template_digest,
        "repeatable": facts.repeatable,
        "repeatable_why": facts.repeatable_why,
        "details": dict(facts.details),
    }
    engines = run.manifest.setdefault("engines", [])
    if entry not in engines:
        engines.append(entry)
        run.save_manifest()


def solve_stage(run: Run, engine: Engine, plan: SolvePlan) -> Failures:
    """Sample what the run lacks; every solution is appended the moment it is finished."""
    from multilingual_math_audit.evaluate.answers.grading import grade_answer

    problems = {problem.id: problem for problem in run.read(Problem)}
    done = run.keys(Solution)
    total = sum(1 for _ in solve_units(problems.values(), plan))
    failures = Failures()
    record_engine(run, "solver", plan.solver, engine.facts())
    with run.writer(Solution) as writer, StageDisplay("solve", total=total, done=len(done), share="correct") as display:

        def note_failure(sample: Sample) -> None:
            failures.add(sample)
            display.fail()

        for solution in solve(list(problems.values()), engine, plan, done=done, on_failure=note_failure):
            writer.append(solution)
            problem = problems[solution.problem_id]
            grade = grade_answer(
                solution.whole_text,
                problem.answer,
                language=problem.language,
                answer_kind=problem.answer_kind,
                finish_reason=solution.finish_reason,
            )
            display.advance(
                tokens=solution.completion_tokens, stopped=solution.finish_reason == "length", hit=grade.correct
            )
    return failures


def grade_stage(run: Run, *, jobs: int | None = None) -> int:
    """Grade the solutions that this version of the grader has not graded; gives how many were graded."""
    from multilingual_math_audit.evaluate.answers.grading import GRADER_VERSION, grade_solutions

    problems = {problem.id: problem for problem in run.read(Problem)}
    graded = {grade.solution_id for grade in run.read(Grade) if grade.grader == GRADER_VERSION}
    # Grades of a solution that was damaged are still there until the writer takes the lock; they are none that is done.
    there = [solution.id in graded for solution in run.read(Solution)]
    pending = (solution for solution in run.read(Solution) if solution.id not in graded)
    count = 0
    with (
        run.writer(Grade) as writer,
        StageDisplay("grade", total=len(there), done=sum(there), share="correct") as display,
    ):
        for grade in grade_solutions(pending, problems, jobs=jobs):
            writer.append(grade)
            display.advance(hit=grade.correct)
            count += 1
    return count


def correct_solutions(run: Run) -> set[str]:
    """The ids of the solutions that are answer-correct by the current grades."""
    from multilingual_math_audit.evaluate.score import current_grades

    return {grade.solution_id for grade in current_grades(run) if grade.correct}


def judge_stage(run: Run, engine: Engine, plan: JudgePlan, *, agenda: Agenda, budget: Budget | None = None) -> Failures:
    """Judge what the agenda holds as often as the plan asks; every judgment is appended the moment it is there."""
    run.add_settings("judges", plan.judge, plan.settings())
    record_engine(run, "judge", plan.judge, engine.facts())
    if budget is not None:
        budget.spend(judgment for judgment in run.read(Judgment) if judgment.judge == plan.judge)
    done = sum(len(verdicts) for verdicts in agenda.verdicts.values())
    left = sum(
        len(next_samples(agenda.verdicts[place.id], samples=plan.samples, stop_early=plan.stop_early))
        for place in agenda.places
    )
    failures = Failures()
    with run.writer(Judgment) as writer, StageDisplay("judge", total=done + left, done=done, share="yes") as display:

        def note_failure(sample: Sample) -> None:
            failures.add(sample)
            display.fail()

        for judgment in judge(agenda, engine, plan, budget=budget, on_failure=note_failure):
            writer.append(judgment)
            display.total = max(display.total, display.done + 1)
            display.advance(
                tokens=judgment.completion_tokens,
                stopped=judgment.finish_reason == "length",
                hit=judgment.verdict == "yes",
            )
    return failures
