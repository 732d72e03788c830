"""`math-audit merge`: join the shards of a run."""

from __future__ import annotations

import sys

import click

from multilingual_math_audit.cli import examples
from multilingual_math_audit.options import Target
from multilingual_math_audit.shards import MergeReport, merge
from multilingual_math_audit.store import Run

SHOWN = 10


@click.command(
    epilog=examples(
        "math-audit merge runs/a-1 runs/a-2 runs/a-3 runs/a-4 -o runs/a",
        "math-audit merge runs/a-* -o runs/a",
    )
)
@click.argument("folders", metavar="RUN...", nargs=-1, required=True, type=click.Path())
@click.option("--out", "-o", required=True, type=Target(), help="Folder of the joined run.")
def command(folders: tuple[str, ...], out: str) -> None:
    """Join runs that each did a part of the work, by the ids of their records.

    Runs with other settings are refused. What is already in the joined run is kept, so the same command goes on where
    it stopped and takes in what the parts have done since. Samples that no part holds are listed, and the exit code is
    then 1.
    """
    sources = [Run.open(folder) for folder in folders]
    report = merge(sources, out)
    for source in sources:
        for damage in source.damage[:SHOWN]:
            click.echo(f"{source.folder}/{damage.file} line {damage.line} was passed over: {damage.why}", err=True)
    _print(report)
    click.echo(f"Run folder: {out}")
    if report.holes:
        sys.exit(1)


def _print(report: MergeReport) -> None:
    for file, taken in report.taken.items():
        click.echo(f"{file}: {taken} taken, {report.duplicates[file]} already there or duplicate")
    if report.conflicts:
        click.echo(
            f"{len(report.conflicts)} records have the same id and other contents ({report.conflicts[0]} for one): "
            "the first run's count.",
            err=True,
        )
    if report.holes:
        listed = ", ".join(f"{problem} sample {sample}" for problem, sample in report.holes[:SHOWN])
        more = f" and {len(report.holes) - SHOWN} more" if len(report.holes) > SHOWN else ""
        click.echo(f"{len(report.holes)} samples are in no part: {listed}{more}.", err=True)
