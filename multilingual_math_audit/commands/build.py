"""`math-audit build`: write the data set repository people load."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table as Grid

from multilingual_math_audit.benchmarks.build import Table, problem_tables, write_dataset
from multilingual_math_audit.benchmarks.catalogue import benchmark_names
from multilingual_math_audit.cli import examples
from multilingual_math_audit.errors import UnknownName
from multilingual_math_audit.loaders.problems import load_benchmark
from multilingual_math_audit.records import Problem


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked of the build."""

    sources: str | None
    with_errata: bool

    def load(self, name: str) -> list[Problem]:
        """The problems of a benchmark as asked for."""
        return load_benchmark(name, sources=self.sources, with_errata=self.with_errata)


def _problems(name: str) -> Callable[[Request], Table]:
    return lambda request: problem_tables([name], request.load)[name]


CONFIGURATIONS: dict[str, Callable[[Request], Table]] = {name: _problems(name) for name in benchmark_names()}


@click.command(
    epilog=examples(
        "math-audit build dataset --benchmarks starter_en,starter_tr,starter_pt",
        "math-audit build dataset --sources DIR",
        "math-audit build dataset --benchmarks starter_en,starter_tr,starter_pt --panel starter",
        "math-audit build dataset --sources DIR --with-errata",
    )
)
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--sources", type=click.Path(), help="Folder with the source files (or MATH_AUDIT_SOURCES).")
@click.option("--benchmarks", "chosen", help="Configurations to write, separated by commas [default: all].")
@click.option("--with-errata", is_flag=True, help="Keep the rows that are known to be faulty.")
@click.option(
    "--panel", type=click.Path(), help="Add the configuration `injected`: the variants of this panel, or `starter`."
)
def command(out: Path, sources: str | None, chosen: str | None, with_errata: bool, panel: str | None) -> None:
    """Write the data set to OUT: one Parquet file per configuration, README.md and eval.yaml.

    `load_dataset(OUT, "starter_tr")` reads it; the same input gives the same bytes.
    """
    names = [name.strip() for name in chosen.split(",")] if chosen else list(CONFIGURATIONS)
    if unknown := [name for name in names if name not in CONFIGURATIONS]:
        raise UnknownName(f"There is no configuration {unknown[0]!r}.", f"Choose from {', '.join(CONFIGURATIONS)}.")
    request = Request(sources, with_errata)
    tables = {name: CONFIGURATIONS[name](request) for name in names}
    if panel is not None:
        from multilingual_math_audit.evaluate.injected import injected_table
        from multilingual_math_audit.evaluate.worked import open_panel

        tables["injected"] = injected_table(open_panel(panel))
    write_dataset(out, tables)
    grid = Grid("configuration", "what", "rows", "may be published")
    for name, table in tables.items():
        grid.add_row(name, table.title, str(len(table.rows)), "yes" if table.publishable else "no")
    console = Console()
    console.print(grid)
    console.print(f"Written to {out}. Read it with load_dataset({str(out)!r}, {names[0]!r}).", soft_wrap=True)
