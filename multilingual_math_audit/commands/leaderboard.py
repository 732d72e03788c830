"""`math-audit leaderboard`: browse the leaderboard."""

from __future__ import annotations

from pathlib import Path

import click

from multilingual_math_audit.cli import examples


@click.command(
    epilog=examples(
        "math-audit leaderboard",
        "math-audit leaderboard --accepted accepted --runs runs --port 7861",
        "math-audit leaderboard --csv board.csv",
    )
)
@click.option(
    "--accepted", type=click.Path(path_type=Path), help="Folder of accepted submissions [default: the package's]."
)
@click.option("--dataset", metavar="ORG/NAME", help="Read accepted/*.json of a data set on the Hub.")
@click.option("--runs", type=click.Path(path_type=Path), help="Folder of public runs by digest, for single solutions.")
@click.option("--port", type=int, default=7860, help="Port [default: 7860].")
@click.option("--host", default="127.0.0.1", help="Address to listen on [default: 127.0.0.1].")
@click.option("--csv", "csv_file", type=click.Path(path_type=Path), help="Write the first view as CSV and end.")
@click.option("--k", type=click.IntRange(min=1), default=1, help="With --csv: k [default: 1].")
def command(
    accepted: Path | None, dataset: str | None, runs: Path | None, port: int, host: str, csv_file: Path | None, k: int
) -> None:
    """Serve the leaderboard in a browser, or write it as a table."""
    from multilingual_math_audit.leaderboard_app.app import accepted_folder, fetch_accepted, launch
    from multilingual_math_audit.leaderboard_app.board import load_board
    from multilingual_math_audit.leaderboard_app.leaderboard_page import csv_text
    from multilingual_math_audit.leaderboard_app.rows import View

    folder = fetch_accepted(dataset, otherwise=accepted or accepted_folder())
    if csv_file is not None:
        csv_file.write_text(csv_text(load_board(folder), View(k=k)), encoding="utf-8")
        click.echo(f"Wrote {csv_file}")
        return
    click.echo(f"The leaderboard is at http://{host}:{port} (Ctrl+C ends it)")
    launch(folder, host=host, port=port, runs=runs)
