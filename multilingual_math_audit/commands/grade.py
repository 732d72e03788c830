"""`math-audit grade`: check the answers of a run's solutions."""

from __future__ import annotations

from collections import Counter

import click
from rich.console import Console
from rich.table import Table

from multilingual_math_audit.cli import examples
from multilingual_math_audit.store import Run


@click.command(epilog=examples("math-audit grade runs/first", "math-audit grade runs/first --jobs 4"))
@click.argument("run_folder", metavar="RUN", type=click.Path())
@click.option("--jobs", type=click.IntRange(min=1), help="Processes [default: one for each core].")
def command(run_folder: str, jobs: int | None) -> None:
    """Check the final answer of every solution that this version of the grader has not graded.

    Each pair of key and extracted answer is compared once; a killed command goes on where it stopped.
    """
    from multilingual_math_audit.evaluate.answers.grading import GRADER_VERSION
    from multilingual_math_audit.evaluate.stages import grade_stage
    from multilingual_math_audit.records import Grade

    run = Run.open(run_folder)
    added = grade_stage(run, jobs=jobs)
    grades = [grade for grade in run.read(Grade) if grade.grader == GRADER_VERSION]
    counts = Counter(grade.status for grade in grades)
    table = Table(title=f"{len(grades)} grades by grader {GRADER_VERSION}, {added} of them new", title_justify="left")
    table.add_column("status")
    table.add_column("solutions", justify="right")
    for status, count in counts.most_common():
        table.add_row(status, str(count))
    console = Console()
    console.print(table)
    if doubtful := [grade for grade in grades if grade.doubt == "high"]:
        console.print(f"{len(doubtful)} doubtful, for a person to look at. The first:")
        for grade in doubtful[:5]:
            console.print(
                f"  {grade.solution_id} {grade.status} by {grade.method}: {grade.extracted!r:.80}", markup=False
            )
