"""`math-audit inject`: draw a panel of correct solutions and corrupt it."""

from __future__ import annotations

import os
import sys

import click
from rich.console import Console
from rich.table import Table

from multilingual_math_audit.cli import examples
from multilingual_math_audit.options import PANEL_OPTIONS, Target, options


@click.command(
    epilog=examples(
        "math-audit inject starter -o panels/starter",
        "math-audit inject runs/first -o panels/first",
        "math-audit inject runs/first -o panels/short --min-tokens 40 --per-cell 10 --natural 5",
        "math-audit inject runs/first -o panels/dose --edits load_bearing,dose,operator,deletion,swap",
    )
)
@click.argument("run_folder", metavar="RUN", type=click.Path())
@click.option("--out", "-o", required=True, type=Target(), help="Folder of the panel, a run folder of its own.")
@options(PANEL_OPTIONS)
@click.option("--jobs", type=int, help="Processes that edit [default: one per CPU].")
def command(
    run_folder: str,
    out: str,
    per_cell: int,
    max_per_question: int,
    min_tokens: int,
    edits: tuple[str, ...],
    natural: int,
    seed: int,
    jobs: int | None,
) -> None:
    """Draw correct solutions of a run evenly over its questions and make five variants of each.

    The variants: clean, one number changed in the middle (intermediate), the end cut off (truncation), a wrong box
    (final_answer), and the same wrong value throughout (consistent). The same run and options give the same bytes.
    RUN may be the word `starter`: the worked solutions that ship with the starter problems.
    """
    from multilingual_math_audit.evaluate.panel import PanelPlan, draw_panel, write_panel
    from multilingual_math_audit.evaluate.worked import open_source
    from multilingual_math_audit.provenance import describe

    run, worked = open_source(run_folder)
    plan = PanelPlan(per_cell, max_per_question, 0 if worked else min_tokens, edits, natural, seed)
    drawn = draw_panel(run, plan, jobs=jobs or os.cpu_count() or 1)
    panel = write_panel(drawn, run, plan, out, **describe(sys.argv))
    table = Table(title="Panel", title_justify="left")
    table.add_column("solver and benchmark")
    table.add_column("originals", justify="right")
    table.add_column("passed over")
    for cell, originals in sorted(drawn.originals.items()):
        reasons = sorted(drawn.passed_over[cell].items())
        table.add_row(cell, str(originals), ", ".join(f"{count} {reason}" for reason, count in reasons) or "none")
    console = Console()
    console.print(table)
    console.print(f"{len(drawn.solutions)} variants, digest {drawn.digest()}")
    click.echo(f"Panel: {panel.folder}")
