"""`math-audit reproduce`: the paper's numbers from the authors' counts."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from multilingual_math_audit.cli import examples
from multilingual_math_audit.options import Target


@click.command(
    epilog=examples(
        "math-audit reproduce",
        "math-audit reproduce --sources published -o reproduction",
        "math-audit reproduce --sources published --all",
    )
)
@click.option("--sources", type=click.Path(), help="A folder with the published tables [default: download them].")
@click.option("-o", "--out", type=Target(), help="Write the comparison as CSV, Markdown and LaTeX there.")
@click.option("--all", "show_all", is_flag=True, help="Print every number, not only a summary and what differs.")
def command(sources: str | None, out: str | None, show_all: bool) -> None:
    """Print ours beside the paper's numbers; exit code 1 if any differs by more than its tolerance.

    The counts are the authors' published ones, at a pinned commit; the code is the one that reports on your runs. What
    the counts do not allow to compute is listed with the reason.
    """
    from multilingual_math_audit.evaluate.report.comparison import comparison_table, omission_table
    from multilingual_math_audit.evaluate.report.published import download_published, read_published
    from multilingual_math_audit.evaluate.report.reproduce import reproduce
    from multilingual_math_audit.evaluate.report.tables import save_table
    from multilingual_math_audit.evaluate.report.terminal import print_reproduction

    published = read_published(sources) if sources else download_published()
    comparisons, omissions = reproduce(published)
    if out:
        for table in (comparison_table(comparisons), omission_table(omissions)):
            save_table(table, Path(out))
    print_reproduction(comparisons, omissions, show_all=show_all)
    if not all(comparison.agrees for comparison in comparisons):
        sys.exit(1)
