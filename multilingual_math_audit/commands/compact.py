"""`math-audit compact`: a run as Parquet, and back."""

from __future__ import annotations

from pathlib import Path

import click

from multilingual_math_audit.cli import examples
from multilingual_math_audit.options import Target
from multilingual_math_audit.parquet import read_parquet, write_parquet
from multilingual_math_audit.store import Run


@click.command(
    epilog=examples(
        "math-audit compact runs/first",
        "math-audit compact runs/first/parquet --back -o runs/again",
        "python -c \"from datasets import load_dataset; load_dataset('parquet', data_dir='runs/first/parquet')\"",
    )
)
@click.argument("folder", metavar="RUN", type=click.Path())
@click.option("--out", "-o", type=Target(), help="Folder to write [default: RUN/parquet].")
@click.option("--back", is_flag=True, help="Make a run folder (-o) from a folder of Parquet files.")
def command(folder: str, out: str | None, back: bool) -> None:
    """Write a run as Parquet files (zstd) that datasets and pandas read; with --back, the run from them.

    The run itself is left as it is. Back again it is equal to the byte.
    """
    if back:
        if out is None:
            raise click.UsageError("--back needs -o: the run folder to make.")
        click.echo(f"Run folder: {read_parquet(folder, out).folder}")
        return
    run = Run.open(folder)
    target = Path(out) if out else run.folder / "parquet"
    for file, rows in write_parquet(run, target).items():
        size = (target / file).stat().st_size
        click.echo(f"{target / file}: {rows} rows, {size / 1e6:.1f} MB")
