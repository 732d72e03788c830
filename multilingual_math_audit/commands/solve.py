"""`math-audit solve`: sample solutions of a solver."""

from __future__ import annotations

from typing import Any

import click

from multilingual_math_audit.cli import examples
from multilingual_math_audit.commands.pipeline import finish, solve_run
from multilingual_math_audit.options import (
    BENCHMARK_OPTIONS,
    ENGINE_OPTIONS,
    SOLVER_OPTIONS,
    STOP_OPTIONS,
    options,
    with_endpoints,
)
from multilingual_math_audit.runfile import load_config


@click.command(
    epilog=examples(
        "math-audit solve --solver smollm2 --engine transformers --mode non-thinking --shots 3 "
        "--benchmarks starter_en --limit 4 --n 2 --budget 128 --out runs/first",
        "math-audit solve run.yaml",
        "math-audit solve --solver Qwen/Qwen3-4B --benchmarks aime2026_tr --shard 1/8 --out runs/shard-1",
    )
)
@click.argument("run_file", required=False, type=click.Path())
@options(SOLVER_OPTIONS, BENCHMARK_OPTIONS, ENGINE_OPTIONS, STOP_OPTIONS)
@click.option("--out", type=click.Path(), help="Run folder; the same command goes on where it stopped.")
def command(run_file: str | None, stop_early_verifier: str | None, stop_threshold: float | None, **values: Any) -> None:
    """Sample solutions of a solver, each with its own seed, and append each the moment it is finished.

    Killed at any moment, the same command goes on: no sample twice, none lost.
    """
    config = load_config(with_endpoints(values), file=run_file)
    if stop_early_verifier is not None:
        from multilingual_math_audit.commands.early import solve_early

        run, failures = solve_early(config, stop_early_verifier, stop_threshold)
    else:
        run, failures = solve_run(config)
    finish(run, failures)
