"""The whole report: tables, figures and the page, written to a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from multilingual_math_audit.evaluate.report.acceptance import acceptance_table, language_table, saturation_table
from multilingual_math_audit.evaluate.report.budgets import (
    cost_table,
    counterfactual_table,
    ladder_budget_table,
    mode_table,
    stops_table,
)
from multilingual_math_audit.evaluate.report.figures import Figure, material_figures
from multilingual_math_audit.evaluate.report.material import Material
from multilingual_math_audit.evaluate.report.page import Heading, Part, render_page
from multilingual_math_audit.evaluate.report.passing import (
    bootstrap_table,
    dropped_table,
    ladder_table,
    matrix_table,
    pass_table,
)
from multilingual_math_audit.evaluate.report.style import save_figure
from multilingual_math_audit.evaluate.report.tables import Table, join_words, save_table
from multilingual_math_audit.store import write_atomically

SECTIONS: dict[str, tuple[str, tuple[Callable[[Material], Table], ...], str]] = {
    "passing": ("Pass@n beside CoT-Pass@n", (pass_table,), "endpoints"),
    "judges": ("The difference per solver and judge", (matrix_table,), ""),
    "k": ("Along k", (ladder_table,), "ladder"),
    "intervals": ("Intervals and contrasts", (bootstrap_table,), "bootstrap"),
    "acceptance": ("Acceptance of correct solutions", (acceptance_table, language_table), "acceptance"),
    "saturation": ("Saturation", (saturation_table,), "saturation"),
    "stops": ("Stops at the limit", (stops_table, ladder_budget_table, mode_table), "stops"),
    "counterfactual": ("Stopped judgments credited", (counterfactual_table,), "counterfactual"),
    "cost": ("The cost of judging", (cost_table,), ""),
    "dropped": ("Left out of comparisons", (dropped_table,), ""),
}


@dataclass(frozen=True, slots=True)
class Extra:
    """A section made elsewhere (the audit, languages): its title, its tables and its figures."""

    name: str
    title: str
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...] = ()


def write_report(material: Material, folder: str | Path, *, extras: Sequence[Extra] = ()) -> list[Path]:
    """Write `index.html`, `tables/` and `figures/` of a report; gives every path written, the page first."""
    out = Path(folder)
    paths: list[Path] = []
    drawn: dict[str, Figure] = {figure.name: figure for figure in material_figures(material)}
    parts = []
    for name, (title, makers, figure) in SECTIONS.items():
        tables = tuple(table for make in makers if (table := make(material)).rows or make is dropped_table)
        if tables or figure in drawn:
            parts.append(_write_part((name, title), tables, drawn.get(figure), out, paths))
    for extra in extras:
        first, *others = extra.figures or (None,)
        parts.append(_write_part((extra.name, extra.title), extra.tables, first, out, paths))
        for number, figure_ in enumerate(others, 2):
            parts.append(_write_part((f"{extra.name}-{number}", extra.title), (), figure_, out, paths))
    page = out / "index.html"
    write_atomically(page, render_page(_heading(material), parts).encode("utf-8", "replace"))
    return [page, *paths]


def _write_part(
    names: tuple[str, str], tables: Iterable[Table], figure: Figure | None, out: Path, paths: list[Path]
) -> Part:
    kept = tuple(tables)
    for table in kept:
        paths += save_table(table, out / "tables")
    if figure is None:
        return Part(*names, kept)
    written = save_figure(figure.draw, out / "figures", figure.name)
    paths += written
    return Part(*names, kept, written[0].read_bytes(), figure.caption, figure.name)


def _heading(material: Material) -> Heading:
    solvers = join_words([entry.label for entry in material.entries])
    judges = join_words(material.judges) or "none"
    questions = sum(len(cell) for entry in material.entries for cell in entry.benchmarks.values())
    samples = sum(q.n for entry in material.entries for cell in entry.benchmarks.values() for q in cell)
    summary = (
        f"{len(material.entries)} solvers ({solvers}), judges: {judges}; {questions:,} questions with {samples:,} "
        "samples. "
        f"Strategy: {material.choices.strategy}. In the grid: {len(material.grid.entries)} solvers on "
        f"{join_words(material.grid.benchmarks)}."
    )
    return Heading("Does the judged metric check the reasoning?", summary, material.warnings, material.choices.command)
