"""`math-audit regrade`: what a new grader version changes in a run."""

from __future__ import annotations

from collections import Counter

import click
from rich.console import Console

from multilingual_math_audit.cli import examples
from multilingual_math_audit.records import Grade
from multilingual_math_audit.store import Run


@click.command(epilog=examples("math-audit regrade runs/first", "math-audit regrade runs/first --jobs 2"))
@click.argument("run_folder", metavar="RUN", type=click.Path())
@click.option("--jobs", type=click.IntRange(min=1), help="Processes [default: one for each core].")
def command(run_folder: str, jobs: int | None) -> None:
    """Grade with this version of the grader beside the grades that are there, and show every verdict that changed.

    Old grades stay; scores use the newest. Where the run was graded by this version already, it is compared with the
    version before.
    """
    from multilingual_math_audit.evaluate.answers.grading import GRADER_VERSION
    from multilingual_math_audit.evaluate.stages import grade_stage

    run = Run.open(run_folder)
    grade_stage(run, jobs=jobs)
    new: dict[str, Grade] = {}
    old: dict[str, Grade] = {}
    for grade in run.read(Grade):
        (new if grade.grader == GRADER_VERSION else old)[grade.solution_id] = grade
    console = Console()
    if not old:
        console.print(f"{len(new)} solutions graded by grader {GRADER_VERSION}; no other version graded this run.")
        return
    changed = [(old[key], grade) for key, grade in new.items() if key in old and old[key].correct != grade.correct]
    for before, after in changed:
        line = f"{after.solution_id}: {before.status} ({before.grader}) -> {after.status} ({after.grader})"
        console.print(f"{line} extracted {before.extracted!r:.60} -> {after.extracted!r:.60}", markup=False)
    moves = Counter("now correct" if after.correct else "now wrong" for _, after in changed)
    shown = ", ".join(f"{count} {name}" for name, count in moves.items()) or "no verdict changed"
    console.print(f"{len(new)} solutions, {len(changed)} changed: {shown}")
