"""`math-audit benchmarks`: what can be asked, and whether its source can be had."""

from __future__ import annotations

import click
from rich import box
from rich.console import Console
from rich.table import Table

from multilingual_math_audit.benchmarks.catalogue import benchmark_names, find_spec
from multilingual_math_audit.cli import examples
from multilingual_math_audit.loaders.sources import Where, locate_source

WHERE: dict[Where, str] = {
    "package": "in the package",
    "folder": "in the sources folder",
    "cache": "downloaded",
    "download": "to be downloaded",
}


@click.command(
    epilog=examples(
        "math-audit benchmarks",
        "math-audit benchmarks --sources DIR",
        "math-audit benchmarks --check starter_tr",
    )
)
@click.option("--sources", type=click.Path(), help="Folder with the source files (or MATH_AUDIT_SOURCES).")
@click.option("--check", metavar="NAME", help="Load one benchmark whole and say what it holds, with its errata.")
def command(sources: str | None, check: str | None) -> None:
    """List the benchmarks: rows, language, samples per question, licence, and where the problems come from."""
    if check:
        _show_one(check, sources)
        return
    table = Table("benchmark", "lang", "rows", "samples", "licence", "problems", box=box.SIMPLE)
    for name in benchmark_names():
        spec = find_spec(name)
        faulty = sum(erratum.exclude for erratum in spec.errata)
        rows = f"{spec.rows - faulty}" + (f" (+{faulty})" if faulty else "")
        licence = spec.licence if spec.publish else "all rights kept"
        table.add_row(name, spec.language, rows, str(spec.samples), licence, WHERE[locate_source(spec, sources)])
    Console().print(table)
    click.echo("(+n): rows known to be faulty, left out unless --with-errata. --check NAME reads one whole.")


def _show_one(name: str, sources: str | None) -> None:
    from collections import Counter

    from multilingual_math_audit.loaders.problems import load_benchmark

    spec = find_spec(name)
    problems = load_benchmark(name, sources=sources, with_errata=True)
    kinds = Counter(problem.answer_kind for problem in problems)
    click.echo(f"{name}: {spec.title}, {len(problems)} problems, source as pinned.")
    click.echo(f"Answers: {', '.join(f'{count} {kind}' for kind, count in kinds.most_common())}.")
    click.echo(f"Rights: {spec.licence}. {spec.licence_note}")
    click.echo(f"Credit: {spec.credit}")
    for erratum in spec.errata:
        click.echo(f"{name}/{erratum.row}{' (left out)' if erratum.exclude else ''}: {erratum.reason}")
