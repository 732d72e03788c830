"""`math-audit audit`: does this judge read the chain?"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from multilingual_math_audit.cli import examples
from multilingual_math_audit.commands.pipeline import finish, judge_wanted
from multilingual_math_audit.errors import MissingExtra, UsageError
from multilingual_math_audit.evaluate.solve import Failures
from multilingual_math_audit.options import ENGINE_OPTIONS, JUDGE_OPTIONS, PANEL_OPTIONS, options, with_endpoints
from multilingual_math_audit.runfile import RunConfig, load_config
from multilingual_math_audit.store import Run

PANEL_NAMES = ("per_cell", "max_per_question", "min_tokens", "edits", "natural", "seed")


@click.command(
    epilog=examples(
        "math-audit audit starter --judge ORG/JUDGE --engine server --endpoint http://localhost:8000/v1",
        "math-audit audit runs/first --judge smollm2 --engine transformers --judge-mode non-thinking --judge-shots 3 "
        "--judge-budget 128 --min-tokens 40 --per-cell 8",
        "math-audit audit --plan 0.05",
    )
)
@click.argument("folder", metavar="[RUN_OR_PANEL]", type=click.Path(), required=False)
@click.option("--run-file", type=click.Path(), help="Run file that holds the same options.")
@click.option("--panel", type=click.Path(), help="Where a panel drawn from a run goes [default: RUN/panel].")
@click.option("--card", type=click.Path(), help="Where the judge card goes [default: PANEL/cards/JUDGE].")
@click.option("--plan", type=float, help="Only say how large a panel gives intervals of +- this share, as in 0.05.")
@options(JUDGE_OPTIONS, ENGINE_OPTIONS, PANEL_OPTIONS)
@click.option("--temperature", type=float, help="[default: 0.6]")
@click.option("--top-p", type=float, help="[default: 0.95]")
def command(
    folder: str | None, run_file: str | None, panel: str | None, card: str | None, plan: float | None, **values: Any
) -> None:
    """Ask a judge about corrupted solutions and say whether it reads the chain.

    Of a run, a panel is drawn first (see math-audit inject); the word `starter` stands for the worked solutions that
    ship with the starter problems. Each variant is judged three times; the same command goes on where it stopped.
    Writes a judge card: Markdown, JSON and figures.
    """
    drawing = {name: values.pop(name) for name in PANEL_NAMES}
    config = load_config(with_endpoints(values), file=run_file)
    if plan is not None:
        _print_plan(plan, folder, config)
        return
    if folder is None:
        raise UsageError("No run and no panel is named.", "Give the folder of one: math-audit audit RUN --judge J")
    opened = _open_panel(folder, panel, drawing)
    failures = judge_panel(opened, config)
    _report(opened, config.judge_plan().judge, card)
    finish(opened, failures)


def _open_panel(folder: str, panel: str | None, drawing: dict[str, Any]) -> Run:
    from multilingual_math_audit.evaluate.panel import PanelPlan, draw_panel, write_panel
    from multilingual_math_audit.evaluate.worked import open_source
    from multilingual_math_audit.provenance import describe

    run, worked = open_source(folder)
    if "panel" in run.settings:
        return run
    plan = PanelPlan(**{**drawing, "min_tokens": 0 if worked else drawing["min_tokens"]})
    drawn = draw_panel(run, plan, jobs=os.cpu_count() or 1)
    default = "panels/starter" if worked else str(run.folder / "panel")
    return write_panel(drawn, run, plan, panel or default, **describe(sys.argv))


def judge_panel(panel: Run, config: RunConfig) -> Failures:
    """Judge every variant of a panel as often as asked; a panel that lacks nothing loads no model."""
    if config.stop_early or config.dedupe:
        raise UsageError(
            "An audit needs every judgment of every variant.", "Leave out --stop-early and --dedupe for it."
        )
    return judge_wanted(
        panel, config, wanted=lambda solution: solution.parent is not None, nothing="The panel is empty."
    )


def _report(panel: Run, judge: str, card: str | None) -> None:
    from multilingual_math_audit.cards.judge_card import write_judge_card
    from multilingual_math_audit.evaluate.audit import audit_panel
    from multilingual_math_audit.submissions.audits import PANEL
    from multilingual_math_audit.submissions.pack import refresh_submission

    audit = audit_panel(panel, judge)
    console = Console()
    table = Table(title=f"Accepted by {judge} (majority)", title_justify="left")
    for column in ("variant", "accepted", "of", "%", "95%"):
        table.add_column(column, justify="left" if column == "variant" else "right")
    for rate in audit.rates:
        if rate.group == "all" and rate.strategy == "majority" and rate.n:
            ends = f"{100 * rate.low:.1f} to {100 * rate.high:.1f}"
            table.add_row(rate.edit, str(rate.accepted), str(rate.n), f"{100 * rate.value:.1f}", ends)
    console.print(table)
    if audit.pending:
        console.print(f"{audit.pending} of {audit.originals} originals are not judged in all variants and left out.")
    console.print(f"[bold]{'; '.join(audit.verdict)}[/bold]")
    console.print(audit.because)
    safe = "".join(c if c.isalnum() or c in "-._" else "-" for c in judge)
    folder = Path(card) if card else panel.folder / "cards" / safe
    try:
        path = write_judge_card(audit, panel, folder)
    except MissingExtra as missing:
        click.echo(f"The card has no figures: {missing}", err=True)
        path = write_judge_card(audit, panel, folder, figures=False)
    click.echo(f"Judge card: {path}")
    if panel.folder.name == PANEL:
        # The panel drawn from a run lies in it, and the run's submission carries the audit.
        refresh_submission(panel.folder.resolve().parent)


def _print_plan(half_width: float, folder: str | None, config: RunConfig) -> None:
    from multilingual_math_audit.evaluate.audit import audit_panel, plan_panel

    if not 0 < half_width < 1:
        raise UsageError(f"--plan {half_width:g} is no share of a panel.", "0.05 asks for intervals of +-5 points.")
    audit = audit_panel(Run.open(folder), config.judge_plan().judge) if folder else None
    table = Table(title=f"Originals for an interval of +-{100 * half_width:g} points", title_justify="left")
    for column in ("pair", "discordant pairs", "design effect", "originals"):
        table.add_column(column, justify="left" if column == "pair" else "right")
    for row in plan_panel(half_width, audit):
        pair = f"{row.a} and {row.b}" if row.a != "any" else "any"
        table.add_row(pair, f"{100 * row.discordant:.1f}%", f"{row.design_effect:.2f}", str(row.originals))
    Console().print(table)
