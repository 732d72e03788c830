"""`math-audit validate`: check submission files."""

from __future__ import annotations

from pathlib import Path

import click

from multilingual_math_audit.cli import examples


@click.command(epilog=examples("math-audit validate runs/first/submission.json", "math-audit validate incoming/*.json"))
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
def command(files: tuple[Path, ...]) -> None:
    """Check submission files: their form, and whether their counts are possible. All faults are printed at once.

    Exits with 1 when a file has a fault.
    """
    from multilingual_math_audit.submissions.validate import Checked, Fault, check, read_file

    bad = 0
    for path in files:
        try:
            checked = check(read_file(Path(path)))
        except OSError as error:
            checked = Checked(None, (Fault("", f"cannot be read: {error.strerror}"),))
        if checked.submission is not None:
            click.echo(f"{path}: sound, digest {checked.submission.digest}")
            continue
        bad += 1
        click.echo(f"{path}: {len(checked.faults) + checked.hidden} faults")
        for fault in checked.faults:
            click.echo(f"  {fault}")
        if checked.hidden:
            click.echo(f"  and {checked.hidden} more")
    if bad:
        raise SystemExit(1)
