"""`math-audit import`: start from another harness's outputs."""

from __future__ import annotations

import sys

import click

from multilingual_math_audit.cli import examples
from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.loaders.outputs.formats import FORMATS, read_outputs
from multilingual_math_audit.loaders.outputs.importing import ImportPlan, ImportReport, import_outputs
from multilingual_math_audit.options import Target
from multilingual_math_audit.records import Grade, Problem
from multilingual_math_audit.store import Run

SHOWN = 10


@click.command(
    name="import",
    epilog=examples(
        "math-audit import lm-eval out/MODEL/samples_aime26.jsonl --benchmarks aime2026_en -o runs/from-lm-eval",
        "math-audit import inspect logs/run.eval --benchmarks starter_en -o runs/from-inspect",
        "math-audit import evalhub results/MODEL_t0.6_max16384/aime2026_tr --benchmarks aime2026_tr -o runs/paper",
        "math-audit import table samples.csv --columns text=output,question=prompt,answer=gold --language en -o runs/t",
    ),
)
@click.argument("format_name", metavar="FORMAT", type=click.Choice(list(FORMATS)))
@click.argument("path", type=click.Path())
@click.option("--out", "-o", required=True, type=Target(), help="Run folder to make.")
@click.option("--benchmarks", help="Benchmarks whose problems the samples answer, joined by commas.")
@click.option("--sources", type=click.Path(), help="Folder with the benchmarks' source files.")
@click.option("--rename", multiple=True, metavar="OLD=NEW", help="How problem ids begin there, and here; repeatable.")
@click.option("--columns", help="Format table: field=column, joined by commas.")
@click.option("--language", type=click.Choice(["en", "tr", "pt"]), help="Language of the problems made from the file.")
@click.option("--name", default="imported", help="Benchmark name of the problems made from the file.")
@click.option("--solver-name", help="Name of the solver, where the file does not say.")
@click.option("--judge-name", default="imported-judge", help="Name of the judge whose votes the file holds.")
@click.option("--grade/--no-grade", default=True, help="Grade the answers with this package's grader [default: yes].")
def command(format_name: str, path: str, out: str, grade: bool, **names: object) -> None:
    """Make a run from samples of another harness.

    Problems are matched by the text of the question, else by id and key; what does not match is listed and left out.
    Truncated and failed samples stay in. The harness's own marks are kept beside the new grades. Then go on with
    `math-audit judge` or `math-audit score`.

    \b
    Formats:
      lm-eval       samples_*.jsonl of lm-evaluation-harness
      lighteval     details_*.parquet
      inspect       .eval logs
      evalhub       the paper's harness: a folder with raw, results and majority files
      nemo-skills   output-rsN.jsonl
      matharena     JSON files of one competition and model
      table         any JSONL or CSV
    """
    columns = _pairs(str(names["columns"]).split(","), "--columns") if names["columns"] else None
    rename = _pairs(names["rename"], "--rename") if names["rename"] else {}  # type: ignore[arg-type]
    if format_name == "evalhub":
        from multilingual_math_audit.loaders.outputs.evalhub import RENAME

        rename = {**RENAME, **rename}
    plan = ImportPlan(
        format_name,
        solver=names["solver_name"],  # type: ignore[arg-type]
        rename=rename,
        language=names["language"],  # type: ignore[arg-type]
        name=str(names["name"]),
        judge=str(names["judge_name"]),
    )
    from multilingual_math_audit.provenance import describe

    problems = _problems(names["benchmarks"], names["sources"])  # type: ignore[arg-type]
    run, report = import_outputs(
        lambda: read_outputs(format_name, path, columns), problems, out, plan, **describe(sys.argv)
    )
    _print(report)
    if grade:
        _grade(run, format_name)
    click.echo(f"Run folder: {run.folder}")
    if report.left_out:
        sys.exit(1)


def _problems(names: str | None, sources: str | None) -> list[Problem]:
    from multilingual_math_audit.loaders.problems import load_benchmark

    return [
        problem
        for name in (names or "").split(",")
        if name.strip()
        for problem in load_benchmark(name.strip(), sources=sources, with_errata=True)
    ]


def _pairs(words: tuple[str, ...] | list[str], option: str) -> dict[str, str]:
    pairs = {}
    for word in words:
        left, equals, right = word.partition("=")
        if not equals:
            raise UsageError(f"{option} takes pairs with an equals sign, not {word!r}.")
        pairs[left.strip()] = right.strip()
    return pairs


def _print(report: ImportReport) -> None:
    for benchmark, count in report.taken.items():
        click.echo(f"{benchmark}: {count} samples")
    click.echo("How they ended: " + ", ".join(f"{count} {reason}" for reason, count in report.finished.most_common()))
    if report.left_out:
        click.echo(f"{len(report.left_out)} samples were left out:", err=True)
        for name, why in report.left_out[:SHOWN]:
            click.echo(f"  {name}: {why}", err=True)


def _grade(run: Run, format_name: str) -> None:
    from multilingual_math_audit.evaluate.stages import grade_stage

    grade_stage(run)
    marks = {grade.solution_id: grade.correct for grade in run.read(Grade) if grade.grader == format_name}
    ours = {grade.solution_id: grade.correct for grade in run.read(Grade) if grade.grader != format_name}
    click.echo(f"{sum(ours.values())} of {len(ours)} are correct by this package's grader.")
    if both := marks.keys() & ours.keys():
        differ = sorted(name for name in both if marks[name] != ours[name])
        click.echo(
            f"The harness's own marks differ in {len(differ)} of {len(both)}"
            + (f": {differ[0]} for one." if differ else ".")
        )
