"""`math-audit export`: a run in another tool's format."""

from __future__ import annotations

import click

from multilingual_math_audit.cli import examples
from multilingual_math_audit.loaders.exports import export_every_eval_ever, export_lm_eval
from multilingual_math_audit.options import Target
from multilingual_math_audit.parquet import write_parquet
from multilingual_math_audit.store import Run

FORMATS = ("every-eval-ever", "lm-eval", "parquet")


@click.command(
    epilog=examples(
        "math-audit export every-eval-ever runs/first -o out --organization ORG",
        "math-audit export lm-eval runs/first -o out",
        "math-audit export parquet runs/first -o out",
    )
)
@click.argument("format_name", metavar="FORMAT", type=click.Choice(FORMATS))
@click.argument("run_folder", metavar="RUN", type=click.Path())
@click.option("--out", "-o", required=True, type=Target(), help="Folder to write.")
@click.option("--organization", default="unknown", help="Who ran the evaluation (every-eval-ever).")
def command(format_name: str, run_folder: str, out: str, organization: str) -> None:
    """Write a run as every-eval-ever (scores and samples), lm-eval (samples) or parquet files."""
    run = Run.open(run_folder)
    if format_name == "parquet":
        for file, rows in write_parquet(run, out).items():
            click.echo(f"{out}/{file}: {rows} rows")
        return
    paths = (
        export_lm_eval(run, out)
        if format_name == "lm-eval"
        else export_every_eval_ever(run, out, organization=organization)
    )
    for path in paths:
        click.echo(str(path))
