"""`math-audit verify-submission`: recompute a submission from its raw run."""

from __future__ import annotations

from pathlib import Path

import click

from multilingual_math_audit.cli import examples
from multilingual_math_audit.errors import UsageError


@click.command(epilog=examples("math-audit verify-submission runs/first/submission.json runs/first"))
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("run_folder", metavar="RUN", type=click.Path())
def command(file: Path, run_folder: str) -> None:
    """Recompute every count of FILE from the records of RUN; exits with 1 and lists what differs."""
    from multilingual_math_audit.store import Run
    from multilingual_math_audit.submissions.recompute import compare_with_run
    from multilingual_math_audit.submissions.validate import check

    try:
        checked = check(file.read_bytes())
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from None
    if checked.submission is None:
        raise UsageError(f"{file} is not a sound submission: {'; '.join(map(str, checked.faults[:5]))}.")
    faults = compare_with_run(checked.submission, Run.open(run_folder))
    for fault in faults[:50]:
        click.echo(str(fault))
    if faults:
        click.echo(f"{len(faults)} counts differ.")
        raise SystemExit(1)
    click.echo(f"Every count of {file} follows from the records of {run_folder}.")
