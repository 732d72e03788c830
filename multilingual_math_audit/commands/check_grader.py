"""`math-audit check-grader`: the answer grader against labelled cases."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import click
import orjson
from rich.console import Console
from rich.table import Table

from multilingual_math_audit.cli import examples
from multilingual_math_audit.errors import RecordError, UsageError

_FIELDS = ("gold", "prediction", "expected")


@click.command(
    epilog=examples(
        "math-audit check-grader tests/cases/answers_own.jsonl",
        "math-audit check-grader tests/cases/answers_own.jsonl --jobs 2",
    )
)
@click.argument("case_files", metavar="CASES.jsonl...", nargs=-1, required=True, type=click.Path())
@click.option("--jobs", type=click.IntRange(min=1), default=1, help="Processes [default: 1].")
def command(case_files: Sequence[str], jobs: int) -> None:
    """Grade labelled cases and print correct verdicts by kind and language, and every mismatch; exit 1 if any.

    A case is a line {"gold", "prediction", "expected"} with optional "id", "kind", "lang" (en, tr, pt, any) and "why".
    """
    cases = [case for name in case_files for case in read_cases(Path(name))]
    if jobs > 1:
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            grades = list(pool.map(_verdict, cases, chunksize=64))
    else:
        grades = [_verdict(case) for case in cases]
    console = Console()
    for title, field in (("kind", "kind"), ("language", "lang")):
        console.print(_table(title, field, cases, grades))
    wrong = [
        (case, grade) for case, grade in zip(cases, grades, strict=True) if grade["correct"] is not case["expected"]
    ]
    for case, grade in wrong:
        what = "false accept" if grade["correct"] else "false reject"
        line = f"{what} {case.get('id', '')} gold {case['gold']!r:.80} extracted {grade['extracted']!r:.80} "
        console.print(
            line + f"({grade['status']}, {grade['method']}) {case.get('why', '')}", markup=False, highlight=False
        )
    right = len(cases) - len(wrong)
    accepts = sum(grade["correct"] for _, grade in wrong)
    console.print(
        f"{right} of {len(cases)} correct ({100 * right / len(cases):.1f}%), "
        f"{accepts} false accepts, {len(wrong) - accepts} false rejects"
    )
    if wrong:
        raise SystemExit(1)


def read_cases(path: Path) -> list[dict[str, Any]]:
    """The labelled cases of a file; raises UsageError or RecordError naming the file and line."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise UsageError(
            f"Cannot read {path}: {error.strerror}.", "Give a file of cases, one JSON object a line."
        ) from None
    cases = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            case = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise RecordError(f"{path}, line {number}: not a line of JSON: {error}.") from None
        missing = [name for name in _FIELDS if not isinstance(case, dict) or name not in case]
        if missing or not isinstance(case["expected"], bool):
            raise RecordError(f"{path}, line {number}: a case has {', '.join(_FIELDS)} (true or false).")
        cases.append(case)
    if not cases:
        raise UsageError(f"{path} holds no cases.", "Give a file of cases, one JSON object a line.")
    return cases


def _verdict(case: dict[str, Any]) -> dict[str, Any]:
    from multilingual_math_audit.evaluate.answers.grading import grade_answer

    return grade_answer(
        case["prediction"],
        case["gold"],
        language=case.get("lang", "any"),
        answer_kind=case.get("answer_kind"),
        ordered=case.get("ordered"),
    )._asdict()


def _table(title: str, field: str, cases: list[dict[str, Any]], grades: list[dict[str, Any]]) -> Table:
    table = Table(title=f"By {title}", title_justify="left")
    table.add_column(title)
    for column in ("cases", "correct", "false accepts", "false rejects"):
        table.add_column(column, justify="right")
    groups: dict[str, list[tuple[bool, bool]]] = {}
    for case, grade in zip(cases, grades, strict=True):
        groups.setdefault(str(case.get(field, "-")), []).append((case["expected"], grade["correct"]))
    for name, pairs in sorted(groups.items()):
        accepts = sum(given and not expected for expected, given in pairs)
        rejects = sum(expected and not given for expected, given in pairs)
        right = len(pairs) - accepts - rejects
        table.add_row(name, str(len(pairs)), str(right), str(accepts), str(rejects))
    return table
