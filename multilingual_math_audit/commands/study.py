"""`math-audit study`: plan and run a whole study."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from multilingual_math_audit.cli import examples
from multilingual_math_audit.errors import AuditError, UndefinedScore
from multilingual_math_audit.evaluate.report.console import shorten

if TYPE_CHECKING:
    from multilingual_math_audit.evaluate.report.study import Step, Study


@click.command(
    epilog=examples(
        "math-audit study studies/small.yaml --plan",
        "math-audit study studies/small.yaml",
        "math-audit study studies/cross_generation.yaml --plan",
    )
)
@click.argument("study_file", metavar="STUDY.yaml", type=click.Path())
@click.option("--plan", is_flag=True, help="Only print the matrix, expected tokens and GPU hours, and the commands.")
def command(study_file: str, plan: bool) -> None:
    """Run what is pending of a study and report at the end.

    The file names solvers with modes and budgets, judges, benchmarks and groups. Every step is one of the other
    commands and goes on where it stopped; one that fails does not stop those that do not need it, and one that its
    data give nothing to do (no solution a panel could be drawn from) is listed at the end.
    """
    from multilingual_math_audit.evaluate.report.study import plan_steps, read_study, shard_commands

    study = read_study(study_file)
    steps = list(plan_steps(study))
    print_plan(study, steps)
    if plan:
        for step in steps:
            for words in shard_commands(study, step):
                click.echo(shlex.join(["math-audit", *words]))
        return
    _write_groups(study)
    failed: list[Step] = []
    empty: list[Step] = []
    for step in steps:
        for stopped in (failed, empty):
            if any(before.run == step.run and before.verb in ("solve", "inject") for before in stopped):
                stopped.append(step)
                break
        else:
            click.echo(f"\n{step.verb}: {step.what}", err=True)
            try:
                if not run_step(step):
                    failed.append(step)
            except UndefinedScore as error:
                click.echo(f"Nothing to {step.verb}: {error}", err=True)
                empty.append(step)
    if empty:
        click.echo(f"{len(empty)} of {len(steps)} steps have nothing to work on:", err=True)
        for step in empty:
            click.echo(f"  {step.verb}: {step.what}", err=True)
    if failed:
        click.echo(f"{len(failed)} of {len(steps)} steps did not finish; the same command tries them again:", err=True)
        for step in failed:
            click.echo(f"  {step.verb}: {step.what}", err=True)
        sys.exit(1)


def run_step(step: Step) -> bool:
    """Run one step in this process; whether it finished. Raises UndefinedScore where its data give it nothing to do."""
    from multilingual_math_audit.cli import cli

    try:
        cli.main(args=[step.verb, *step.arguments], standalone_mode=False)
    except SystemExit as stop:
        return not stop.code
    except UndefinedScore:
        raise
    except (AuditError, click.ClickException) as error:
        click.echo(f"Error: {error if isinstance(error, AuditError) else error.format_message()}", err=True)
        return False
    return True


def print_plan(study: Study, steps: list[Step]) -> None:
    """Print the matrix of a study with expected samples, tokens and GPU hours."""
    table = Table(title=f"Study {escape(study.name)}", title_justify="left")
    for heading in ("step", "what", "samples", "tokens", "GPU hours"):
        table.add_column(heading, justify="left" if heading in ("step", "what") else "right")
    for step in steps:
        if step.samples:
            hours = step.gpu_hours(study.expected)
            row = (f"{step.samples:,}", shorten(step.tokens), _hours(hours))
            table.add_row(step.verb, escape(step.what), *row)
    total = sum(step.tokens for step in steps)
    hours = sum(step.gpu_hours(study.expected) for step in steps)
    table.add_row("all", "", "", shorten(total), _hours(hours))
    Console().print(table)
    click.echo(
        f"Expected: {study.expected.correct:.0%} of answers correct, "
        f"{study.expected.tokens_per_gpu_second:,.0f} tokens per GPU and second."
    )


def _hours(hours: float) -> str:
    return f"{hours:,.2g}" if hours < 10 else f"{hours:,.0f}"


def _write_groups(study: Study) -> None:
    import yaml

    from multilingual_math_audit.store import storage_errors, write_atomically

    if study.groups:
        folder = Path(study.out)
        with storage_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        groups = {g.name: {name: list(members) for name, members in g.groups.items()} for g in study.groups}
        write_atomically(folder / "groups.yaml", yaml.safe_dump(groups, allow_unicode=True, sort_keys=False).encode())
