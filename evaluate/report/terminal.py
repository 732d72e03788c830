"""The reproduction on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from multilingual_math_audit.evaluate.report.comparison import Comparison, Omission, comparison_table
from multilingual_math_audit.evaluate.report.tables import Table as DataTable
from multilingual_math_audit.evaluate.report.tables import format_value


def print_reproduction(
    comparisons: Sequence[Comparison], omissions: Sequence[Omission], *, show_all: bool = False
) -> None:
    """Print a summary per source, then every number or only those that differ, then what cannot be replayed."""
    console = Console()
    shown = [c for c in comparisons if show_all or not c.agrees]
    if shown:
        console.print(_rows(shown))
    summary = Table(title="Ours beside the published numbers", title_justify="left")
    for heading in ("source", "numbers", "within tolerance", "largest difference in points"):
        summary.add_column(heading, justify="left" if heading == "source" else "right")
    for source in dict.fromkeys(c.source for c in comparisons):
        own = [c for c in comparisons if c.source == source]
        far = max((abs(c.difference) for c in own if c.form != "p"), default=0.0)
        summary.add_row(escape(source), str(len(own)), str(sum(c.agrees for c in own)), f"{far:.2f}")
    console.print(summary)
    for omission in omissions:
        console.print(
            f"Not replayed: {omission.source}: {omission.name}: {omission.why}.", markup=False, highlight=False
        )
    wrong = sum(not c.agrees for c in comparisons)
    console.print(
        f"{len(comparisons)} numbers compared, {wrong} outside their tolerance.", markup=False, highlight=False
    )


def _rows(comparisons: Sequence[Comparison]) -> Table:
    table = comparison_table(comparisons)
    shown = Table()
    for column in table.columns:
        shown.add_column(column.heading, justify="left" if column.name in ("source", "name") else "right")
    for row in table.rows:
        shown.add_row(*(escape(str(row[column.name])) for column in table.columns))
    return shown


def print_table(table: DataTable, *, columns: Sequence[str]) -> None:
    """Print some columns of a table of a report; empty ones are left out, long ones folded by the terminal."""
    shown = Table(title=escape(table.title), title_justify="left")
    chosen = [
        c for c in table.columns if c.name in columns and any(r.get(c.name) not in (None, "") for r in table.rows)
    ]
    for column in chosen:
        shown.add_column(escape(column.heading), justify="left" if column.form == "text" else "right", overflow="fold")
    for row in table.rows:
        shown.add_row(*(escape(format_value(row.get(column.name), column.form)) for column in chosen))
    Console().print(shown)
