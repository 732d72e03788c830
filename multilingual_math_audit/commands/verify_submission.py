"""`math-audit verify-submission`: recompute a submission from its raw run."""

from __future__ import annotations

from pathlib import Path

import click

from multilingual_math_audit.cli import examples
from multilingual_math_audit.errors import UsageError

SHOWN = 50


@click.command(
    epilog=examples(
        "math-audit verify-submission runs/first/submission.json --run runs/first",
        "math-audit verify-submission incoming/0123456789abcdef.json --run runs/theirs --panel panels/theirs",
    )
)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("run_folder", metavar="[RUN]", required=False, type=click.Path())
@click.option("--run", "run_option", metavar="PATH", type=click.Path(), help="The raw run; the same as RUN.")
@click.option("--panel", "panels", multiple=True, type=click.Path(), help="A panel of an audit [default: RUN/panel].")
def command(file: Path, run_folder: str | None, run_option: str | None, panels: tuple[str, ...]) -> None:
    """Recompute every count of FILE from the records of a run; exits with 1 and lists what differs.

    FILE is a submission, or one that was accepted. Compared are the counts per question, the models with their
    settings, the audits of judges and the verifier's counts.
    """
    from multilingual_math_audit.store import Run
    from multilingual_math_audit.submissions.accept import read_submission
    from multilingual_math_audit.submissions.recompute import compare_with_run

    folder = run_option or run_folder
    if folder is None:
        raise UsageError("No run is named.", "Say where its records lie: --run PATH")
    if run_option and run_folder and Path(run_option).resolve() != Path(run_folder).resolve():
        raise UsageError(f"Two runs are named: {run_folder} and {run_option}.", "Give one of them.")
    submission = read_submission(file)
    faults = compare_with_run(submission, Run.open(folder), panels)
    for fault in faults[:SHOWN]:
        click.echo(str(fault))
    if len(faults) > SHOWN:
        click.echo(f"and {len(faults) - SHOWN} more.")
    if faults:
        click.echo(f"{len(faults)} {'field differs' if len(faults) == 1 else 'fields differ'}.")
        raise SystemExit(1)
    click.echo(f"Every count of {file} follows from the records of {folder}.")
