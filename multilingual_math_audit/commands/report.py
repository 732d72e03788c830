"""`math-audit report`: tables and figures from runs."""

from __future__ import annotations

import shlex
import sys
from typing import get_args

import click

from multilingual_math_audit.cli import examples
from multilingual_math_audit.evaluate.verdicts import Strategy
from multilingual_math_audit.options import Names, Target


@click.command(
    epilog=examples(
        "math-audit report runs/first -o report",
        "math-audit report runs/* -o report --groups groups.yaml --min-correct 30",
    )
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path())
@click.option("-o", "--out", required=True, type=Target(), help="The folder to write the report to.")
@click.option("--groups", type=click.Path(), help="YAML with groups of solvers: {generation: {earlier: [...]}}.")
@click.option("--min-correct", type=click.IntRange(min=0), default=30, help="Inclusion rule [default: 30].")
@click.option("--strategy", type=click.Choice(get_args(Strategy)), default="majority", help="[default: majority]")
@click.option(
    "--judges", type=Names(), default=(), help="Judges of the grid [default: those that judged every solver]."
)
@click.option(
    "--benchmarks", type=Names(), default=(), help="Benchmarks of the grid [default: those all solvers have]."
)
@click.option("--resamples", type=click.IntRange(min=1), default=10_000, help="Of the bootstrap [default: 10000].")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Of the bootstrap [default: 0].")
def command(
    runs: tuple[str, ...],
    out: str,
    groups: str | None,
    min_correct: int,
    strategy: Strategy,
    judges: tuple[str, ...],
    benchmarks: tuple[str, ...],
    resamples: int,
    seed: int,
) -> None:
    """Write every table (CSV, Markdown, LaTeX) and figure (SVG, PNG) of one or more runs, and one HTML page.

    A solver enters the comparisons only if every judge has verdicts on at least --min-correct of its correct solutions
    on every benchmark; the report lists who was left out and why. Panels of injected errors among the runs become
    the audit's tables and figures.
    """
    from multilingual_math_audit.evaluate.report.build import write_report
    from multilingual_math_audit.evaluate.report.entries import read_groupings
    from multilingual_math_audit.evaluate.report.material import Choices
    from multilingual_math_audit.evaluate.report.runs import gather_runs

    made_by = shlex.join(["math-audit", *sys.argv[1:]])
    choices = Choices(min_correct, strategy, judges, benchmarks, resamples, seed, made_by)
    material, extras = gather_runs(runs, groupings=read_groupings(groups) if groups else (), choices=choices)
    paths = write_report(material, out, extras=extras)
    for warning in material.warnings:
        click.echo(f"Note: {warning}", err=True)
    click.echo(f"{paths[0]} and {len(paths) - 1} tables and figures.")
