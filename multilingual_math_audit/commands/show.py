"""`math-audit show`: everything about a run or one of its solutions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Column, Table
from rich.text import Text

from multilingual_math_audit.cli import examples
from multilingual_math_audit.commands.pipeline import wide_console
from multilingual_math_audit.errors import UnknownName
from multilingual_math_audit.records import Grade, Judgment, Problem, Solution
from multilingual_math_audit.store import Run

CONTROL = {code: f"\\x{code:02x}" for code in (*range(9), *range(11, 32), *range(127, 160))}
CONTROL |= {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}


@click.command(
    epilog=examples(
        "math-audit show runs/first",
        "math-audit show runs/first --problem starter_en/3",
        "math-audit show runs/first --problem starter_en/3 --sample 0",
        "math-audit show runs/first --solution 0a1b2c3d4e5f6071",
    )
)
@click.argument("run_folder", metavar="RUN", type=click.Path())
@click.option("--problem", help="Id of a problem: lists its solutions.")
@click.option("--sample", type=int, help="With --problem: the sample to print whole.")
@click.option("--solution", help="Id of a solution to print whole.")
def command(run_folder: str, problem: str | None, sample: int | None, solution: str | None) -> None:
    """Print a run's state; a problem's solutions; or one solution with its problem, chain, grade and judgments."""
    run = Run.open(run_folder)
    console = Console()
    if solution is not None or sample is not None:
        _show_solutions(run, console, problem=problem, sample=sample, solution=solution)
    elif problem is not None:
        _show_problem(run, console, problem)
    else:
        _show_run(run, console)


def _show_run(run: Run, console: Console) -> None:
    from multilingual_math_audit.evaluate.score import count_questions

    solver = run.settings.get("solver")
    described = solver if isinstance(solver, dict) else {"solver": solver}
    console.print(_plain(", ".join(f"{name} {value}" for name, value in described.items() if value is not None)))
    numbers = ("questions", "samples", "correct", "ungraded", "stopped")
    table = Table(_name("benchmark"), *numbers, _name("judge"), "judged", "pending", box=SIMPLE_HEAD, pad_edge=False)
    counts = count_questions(run)
    for benchmark in dict.fromkeys(question.benchmark for question in counts):
        mine = [question for question in counts if question.benchmark == benchmark]
        start = [
            benchmark,
            str(len(mine)),
            str(sum(q.n for q in mine)),
            str(sum(q.correct for q in mine)),
            str(sum(q.ungraded for q in mine)),
            str(sum(q.stopped for q in mine)),
        ]
        judges = sorted({judge for question in mine for judge in question.judges})
        for judge in judges or ["-"]:
            said = [question.judges[judge] for question in mine if judge in question.judges]
            judged = [str(sum(j.judged for j in said)), str(sum(j.pending for j in said))] if said else ["-", "-"]
            table.add_row(*start, escape(judge), *judged)
    wide_console().print(table)
    for engine in run.manifest.get("engines", []):
        versions = ", ".join(f"{name} {version}" for name, version in engine.get("versions", {}).items())
        console.print(_plain(f"{engine.get('role')}: {engine.get('name')} on {engine.get('engine')} ({versions})"))
    _say_damage(run, console)


def _show_problem(run: Run, console: Console, name: str) -> None:
    problem = _find_problem(run, name)
    console.print(_panel(problem.question, f"Problem {problem.id}, key {problem.answer} ({problem.answer_kind})"))
    grades = {grade.solution_id: grade for grade in run.read(Grade)}
    verdicts: dict[str, Counter[str]] = {}
    for judgment in run.read(Judgment):
        said = verdicts.setdefault(judgment.solution_id, Counter())
        said[judgment.verdict or judgment.reason] += 1
    table = Table("sample", "solution", "edit", "finish", "tokens", "answer", "grade", "judgments")
    for solution in run.read(Solution):
        if solution.problem_id == name:
            grade = grades.get(solution.id)
            said = verdicts.get(solution.id, Counter())
            table.add_row(
                str(solution.sample),
                escape(solution.id),
                solution.edit or "-",
                solution.finish_reason,
                str(solution.completion_tokens or "-"),
                _plain(grade.extracted or "-")[:40] if grade else "-",
                grade.status if grade else "not graded",
                ", ".join(f"{count} {value}" for value, count in said.most_common()) or "-",
            )
    console.print(table)
    _say_damage(run, console)


def _show_solutions(
    run: Run, console: Console, *, problem: str | None, sample: int | None, solution: str | None
) -> None:
    found = list(_find_solutions(run, problem=problem, sample=sample, solution=solution))
    if not found:
        raise UnknownName(
            f"The run at {run.folder} has no such solution.",
            "Give a solution's id, or a problem and a sample: --problem NAME/1 --sample 0. "
            f"'math-audit show {run.folder}' says what there is.",
        )
    ids = {one.id for one in found}
    grades = [grade for grade in run.read(Grade) if grade.solution_id in ids]
    judgments = [judgment for judgment in run.read(Judgment) if judgment.solution_id in ids]
    for one in found:
        asked = _find_problem(run, one.problem_id)
        console.print(_panel(asked.question, f"Problem {asked.id}, key {asked.answer} ({asked.answer_kind})"))
        edited = f", {one.edit} of {one.parent}" if one.edit else ""
        console.print(
            _panel(
                one.whole_text,
                f"Solution {one.id}, sample {one.sample}{edited}, finish {one.finish_reason}, "
                f"{one.completion_tokens} tokens, seed {one.seed}",
            )
        )
        for grade in (g for g in grades if g.solution_id == one.id):
            console.print(
                _plain(
                    f"Grade (grader {grade.grader}): {grade.status}; answer {grade.extracted!r} found "
                    f"{grade.where or 'nowhere'}, decided by {grade.method or '-'}, doubt {grade.doubt}"
                )
            )
        for judgment in (j for j in judgments if j.solution_id == one.id):
            said = judgment.verdict or f"no verdict ({judgment.reason})"
            text = judgment.text if judgment.thinking is None else f"{judgment.thinking}\n\n{judgment.text}"
            title = f"Judgment {judgment.sample} of {judgment.judge}: {said}, finish {judgment.finish_reason}"
            console.print(_panel(text, title + (f", {judgment.source}" if judgment.source else "")))
    _say_damage(run, console)


def _find_solutions(run: Run, *, problem: str | None, sample: int | None, solution: str | None) -> Iterator[Solution]:
    for one in run.read(Solution):
        if solution is not None:
            if one.id == solution or one.parent == solution:
                yield one
        elif one.problem_id == problem and one.sample == sample:
            yield one


def _find_problem(run: Run, name: str) -> Problem:
    problems = {problem.id: problem for problem in run.read(Problem)}
    if name not in problems:
        import difflib

        near = ", ".join(difflib.get_close_matches(name, problems, n=3) or list(problems)[:3])
        raise UnknownName(f"The run at {run.folder} has no problem {name!r}.", f"Near: {near}." if near else "")
    return problems[name]


def _say_damage(run: Run, console: Console) -> None:
    for damage in run.damage[:10]:
        console.print(_plain(f"{damage.file} line {damage.line} was passed over: {damage.why}"))


def _name(header: str) -> Column:
    # Names differ at their ends: on a narrow terminal they are broken, never cut.
    return Column(header, overflow="fold")


def _panel(text: str, title: str) -> Panel:
    return Panel(_plain(text), title=escape(title.translate(CONTROL)), title_align="left")


def _plain(text: str) -> Text:
    # A model's text may hold escape sequences that would act on the terminal; they are shown, not sent.
    return Text(text.translate(CONTROL))
