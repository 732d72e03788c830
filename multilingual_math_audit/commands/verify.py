"""`math-audit verify`: is a run whole and sound?"""

from __future__ import annotations

import sys

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from multilingual_math_audit.cli import examples
from multilingual_math_audit.store import Run


@click.command(epilog=examples("math-audit verify runs/first"))
@click.argument("run_folder", metavar="RUN", type=click.Path())
def command(run_folder: str) -> None:
    """Check a run: every line, id, join and digest, and what is still missing.

    The exit code is 0 for a run that is whole and sound, else 1.
    """
    from multilingual_math_audit.evaluate.soundness import check_run

    findings = check_run(Run.open(run_folder))
    if findings:
        table = Table("", "what", "how many", "for one")
        for finding in findings:
            table.add_row(finding.kind, escape(finding.what), str(finding.count), escape(finding.example))
        Console().print(table)
    if any(finding.kind != "note" for finding in findings):
        sys.exit(1)
    click.echo(f"{run_folder} is whole and sound.")
