"""`math-audit run`: solve, grade, judge and score in one go."""

from __future__ import annotations

from typing import Any

import click

from multilingual_math_audit.cli import examples
from multilingual_math_audit.commands.pipeline import finish, judge_run, score_and_print, solve_run
from multilingual_math_audit.evaluate.stages import grade_stage
from multilingual_math_audit.options import (
    BENCHMARK_OPTIONS,
    ENGINE_OPTIONS,
    JUDGE_OPTIONS,
    SOLVER_OPTIONS,
    Numbers,
    options,
    with_endpoints,
)
from multilingual_math_audit.runfile import load_config


@click.command(
    epilog=examples(
        "math-audit run --solver smollm2 --judge smollm2 --engine transformers --mode non-thinking --shots 3 "
        "--judge-mode non-thinking --judge-shots 3 --benchmarks starter_en,starter_tr,starter_pt --limit 4 --n 2 "
        "--budget 128 --judge-budget 128 --out runs/first",
        "math-audit run run.yaml",
    )
)
@click.argument("run_file", required=False, type=click.Path())
@options(SOLVER_OPTIONS, JUDGE_OPTIONS, BENCHMARK_OPTIONS, ENGINE_OPTIONS)
@click.option("--k", type=Numbers(int), help="Values of k to print [default: 1 and n].")
@click.option("--out", type=click.Path(), help="Run folder; the same command goes on where it stopped.")
def command(run_file: str | None, **values: Any) -> None:
    """Solve benchmarks, grade the answers, judge the correct solutions, and score.

    Everything is kept in the run folder --out. Killed at any moment, the same command goes on. A run file (YAML) holds
    the same options, one `name: value` a line; options given beside it win.
    """
    config = load_config(with_endpoints(values), file=run_file)
    run, failures = solve_run(config, keep_engine=True)
    grade_stage(run)
    judged = judge_run(run, config) if config.judge else None
    score_and_print(run, ks=config.k)
    finish(run, failures, *([judged] if judged is not None else []))
