"""`math-audit score`: Pass@k and CoT-Pass@k of a run."""

from __future__ import annotations

import click

from multilingual_math_audit.cli import examples
from multilingual_math_audit.commands.pipeline import score_and_print
from multilingual_math_audit.options import Numbers
from multilingual_math_audit.store import Run


@click.command(
    epilog=examples("math-audit score runs/first", "math-audit score runs/first --k 1,4 --strategy majority,all")
)
@click.argument("run_folder", metavar="RUN", type=click.Path())
@click.option("--k", type=Numbers(int), help="Values of k to print [default: 1 and the largest].")
@click.option("--strategy", default="majority", help="Strategies to print, joined by commas [default: majority].")
@click.option("--resamples", type=int, default=10_000, help="Resamples of the question bootstrap [default: 10000].")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the question bootstrap [default: 0].")
def command(run_folder: str, k: tuple[int, ...] | None, strategy: str, resamples: int, seed: int) -> None:
    """Compute every score of a run, write scores.jsonl and submission.json, and print the table."""
    score_and_print(
        Run.open(run_folder), ks=k or (), strategies=tuple(strategy.split(",")), resamples=resamples, seed=seed
    )
