"""`math-audit judge`: ask a judge about a run's correct solutions."""

from __future__ import annotations

from typing import Any

import click

from multilingual_math_audit.cli import examples
from multilingual_math_audit.commands.pipeline import finish, judge_run
from multilingual_math_audit.options import ENGINE_OPTIONS, JUDGE_OPTIONS, options, with_endpoints
from multilingual_math_audit.runfile import load_config
from multilingual_math_audit.store import Run


@click.command(
    epilog=examples(
        "math-audit judge runs/first --judge smollm2 --engine transformers --judge-mode non-thinking "
        "--judge-shots 3 --judge-budget 128",
        "math-audit judge runs/first --judge ORG/JUDGE --engine server --endpoint http://localhost:8000/v1",
        "math-audit judge runs/first --judge ORG/JUDGE --stop-early --dedupe",
    )
)
@click.argument("run_folder", metavar="RUN", type=click.Path())
@click.option("--run-file", type=click.Path(), help="Run file that holds the same options.")
@options(JUDGE_OPTIONS, ENGINE_OPTIONS)
@click.option("--temperature", type=float, help="[default: 0.6]")
@click.option("--top-p", type=float, help="[default: 0.95]")
def command(run_folder: str, run_file: str | None, **values: Any) -> None:
    """Ask a judge about every correct solution of a run, three times each.

    A solution without all its judgments is pending, never approved. The same command goes on where it stopped.
    """
    config = load_config(with_endpoints(values), file=run_file)
    run = Run.open(run_folder)
    finish(run, judge_run(run, config))
