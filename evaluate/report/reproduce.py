"""The paper's numbers from the authors' counts, through the same code as our own runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from multilingual_math_audit.errors import AuditError, RecordError, SourceError
from multilingual_math_audit.evaluate.metrics import Interval
from multilingual_math_audit.evaluate.report.comparison import PRINTED, Comparison, Omission
from multilingual_math_audit.evaluate.report.contrasts import (
    CellValues,
    bootstrap_sum,
    group_weights,
    question_weights,
    subtract,
)
from multilingual_math_audit.evaluate.report.entries import Entry
from multilingual_math_audit.evaluate.report.material import Choices, gather_material
from multilingual_math_audit.evaluate.report.passing import complete_mean, solver_difference
from multilingual_math_audit.evaluate.report.published import Published, paper_numbers, read_per_question
from multilingual_math_audit.evaluate.report.reproduce_budgets import BUDGET_CHECKS
from multilingual_math_audit.evaluate.report.reproduce_errors import ERROR_CHECKS
from multilingual_math_audit.evaluate.report.reproduce_grid import check_report_tasks, check_selection_rule
from multilingual_math_audit.evaluate.report.reproduce_runs import check_report
from multilingual_math_audit.evaluate.report.tables import percent
from multilingual_math_audit.evaluate.report.values import largest_k, pass_values

Result = Comparison | Omission
Check = Callable[[Published, str, Any], Iterator[Result]]
POINT = 1.0
"""How far an endpoint of an average's bootstrap interval may be from the published one, in points."""


def reproduce(published: Published) -> tuple[list[Comparison], list[Omission]]:
    """Compare every number the published files allow; what they do not allow is listed with the reason.

    Raises RecordError for a file that is not what its name says, SourceError when no file is known.
    """
    results: list[Result] = []
    for name, data in published.files.items():
        check = next((check for start, check in CHECKS.items() if name.startswith(start)), None)
        if check is None:
            continue
        try:
            results += list(check(published, name, data))
        except AuditError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError) as error:
            raise RecordError(f"{name} is not what its name says: {type(error).__name__} {error}.") from None
    comparisons = [result for result in results if isinstance(result, Comparison)]
    omissions = [result for result in results if isinstance(result, Omission)]
    if not comparisons:
        raise SourceError(
            f"{published.origin} holds nothing to compare.", f"Known files: {', '.join(f'{name}*' for name in CHECKS)}."
        )
    return comparisons, omissions


def check_per_question(published: Published, name: str, data: Any) -> Iterator[Result]:
    """Per-question counts of one solver: Pass@n, the average difference under each judge, and its interval."""
    entry = read_per_question(data)
    material = gather_material([entry], choices=Choices(min_correct=0))
    averages = {judge: solver_difference(material, entry, judge) for judge in entry.judges}
    meta = data.get("_meta", {})
    verified = meta.get("verified", {})
    printed = _paper_row(entry.solver, str(meta.get("state", "")))
    rows: list[tuple[str, Mapping[str, float], float]] = [
        ("average difference", verified.get("weighted Pass@64-CoT-Pass@64 (points)", {}), 0.0051),
        ("average difference as printed", verified.get("paper Table 2 row", printed), PRINTED),
    ]
    for title, numbers, tolerance in rows:
        for judge, value in numbers.items():
            ours = averages.get(judge)
            yield Comparison(name, f"{title}, {judge}", ours.value if ours else float("nan"), value, tolerance)
    intervals = published.files.get("diff_bootstrap_ci.json", {}).get("solvers", {}).get(entry.solver)
    judge = paper_numbers()["bootstrap_judge"]
    if intervals and judge in entry.judges and intervals.get("state", meta.get("state")) == meta.get("state"):
        for benchmark, cell in intervals["cells"].items():
            values = material.cell(entry, benchmark, judge)
            yield from _interval(name, f"{benchmark}, {judge}", material.interval([values], [1.0]), cell)
        average = averages[judge]
        if average is not None:
            yield from _interval(name, f"average, {judge}", average, intervals["all4"], ends=POINT)
    for benchmark in entry.benchmarks:
        yield from _pass_at_n(published, name, entry, benchmark)


def _paper_row(solver: str, state: str) -> Mapping[str, float]:
    for rows in paper_numbers()["judge_matrix"].values():
        if (row := rows.get(f"{solver}|{state}")) is not None:
            return dict(row)
    return {}


def _pass_at_n(published: Published, name: str, entry: Entry, benchmark: str) -> Iterator[Result]:
    k = largest_k(entry, benchmark)
    ours = 100 * complete_mean(pass_values(entry.benchmarks[benchmark], k))
    solved = sum(q.correct > 0 for q in entry.benchmarks[benchmark])
    share = 100 * solved / len(entry.benchmarks[benchmark])
    yield Comparison(name, f"Pass@{k} against solved questions, {benchmark}", ours, share, 1e-9)


def _interval(
    source: str, name: str, ours: Interval, cell: Mapping[str, Any], *, ends: float | None = None
) -> Iterator[Comparison]:
    """A difference with both ends; an end of a single cell may be one question away."""
    yield Comparison(source, f"difference, {name}", ours.value, cell["diff"])
    tolerance = ends if ends is not None else 100 / ours.n + PRINTED
    for word, end, printed in (("low", ours.low, cell["ci95"][0]), ("high", ours.high, cell["ci95"][1])):
        yield Comparison(source, f"{word} end, {name}", end, printed, tolerance)


def check_bootstrap(published: Published, name: str, data: Any) -> Iterator[Result]:
    """Lost questions of every cell: differences and intervals of cells, solvers, generations and contrasts."""
    solvers: dict[str, dict[str, list[CellValues]]] = {}
    for solver, row in data["solvers"].items():
        cells = [_lost_cell(solver, benchmark, cell) for benchmark, cell in row["cells"].items()]
        solvers.setdefault(row["generation"], {})[solver] = cells
        for values, cell in zip(cells, row["cells"].values(), strict=True):
            yield from _interval(name, values.name, _points([values], [1.0]), cell)
        average = _points(cells, question_weights(cells))
        yield from _interval(name, f"{solver}, average", average, row["all4"], ends=POINT)
    for generation, row in data.get("generation", {}).items():
        yield from _interval(name, generation, _points(*group_weights(solvers[generation])), row, ends=POINT)
    first, second = solvers.get("earlier", {}), solvers.get("current", {})
    for benchmark, row in data.get("benchmark_contrast_earlier_minus_current", {}).items():
        sides = [
            {solver: [c for c in cells if c.name == f"{solver}|{benchmark}"] for solver, cells in group.items()}
            for group in (first, second)
        ]
        contrast = _points(*subtract(group_weights(sides[0]), group_weights(sides[1])))
        yield from _interval(name, f"earlier - current, {benchmark}", contrast, row, ends=POINT)
    if "earlier_minus_current" in data:
        contrast = _points(*subtract(group_weights(first), group_weights(second)))
        yield from _interval(name, "earlier - current", contrast, data["earlier_minus_current"], ends=POINT)


def _lost_cell(solver: str, benchmark: str, cell: Mapping[str, Any]) -> CellValues:
    lost, total = int(cell["questions_lost"]), int(cell["n_questions"])
    if not 0 <= lost <= total:
        raise RecordError(f"{solver} on {benchmark}: there cannot be {lost} lost of {total} questions.")
    values = (1.0,) * lost + (0.0,) * (total - lost)
    return CellValues(f"{solver}|{benchmark}", tuple(str(i) for i in range(total)), values)


def _points(cells: Sequence[CellValues], weights: Sequence[float]) -> Interval:
    return percent(bootstrap_sum(cells, weights))


def check_bootstrap_csv(published: Published, name: str, data: Any) -> Iterator[Result]:
    """The authors' CSV of intervals: compared with intervals from their per-question table when that is there."""
    if "report_tasks.csv" not in published.files:
        yield Omission(name, "all intervals", "needs report_tasks.csv, which is not among the sources")


def check_code_switching(published: Published, name: str, data: Any) -> Iterator[Result]:
    """Language classes: the chains themselves are not published, but two breakdowns of them must agree."""
    shares = data["class_shares_by_threshold"]
    rows = data["main_three_non_english_benchmarks"]
    for generation in ("current", "earlier"):
        chosen = [row for label, row in rows.items() if label != "columns" and _generation(label) == generation]
        cells = [row for label, row in shares.items() if label.endswith(f"|{generation}")]
        total = sum(row[-1] for row in chosen)
        yield Comparison(name, f"chains, {generation}", total, sum(row[0] for row in cells), 0)
        by_solver = sum(row[0] * row[-1] for row in chosen) / total
        by_benchmark = sum(row[2][0] * row[0] for row in cells) / total
        yield Comparison(name, f"target share, {generation} (whole percents in)", by_solver, by_benchmark, 0.55)
    yield Omission(
        name, "class shares and acceptance by class", "the texts of the chains are not published, only their classes"
    )


def _generation(label: str) -> str:
    return "earlier" if label.startswith("Q2.5") else "current"


CHECKS: dict[str, Check] = {
    "per_question_": check_per_question,
    "diff_bootstrap_ci.json": check_bootstrap,
    "diff_bootstrap_ci.csv": check_bootstrap_csv,
    "code_switching.json": check_code_switching,
    "report_tasks.csv": check_report_tasks,
    "report.csv": check_report,
    "selection_rule.json": check_selection_rule,
    **ERROR_CHECKS,
    **BUDGET_CHECKS,
}
