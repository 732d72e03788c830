"""The published numbers on token budgets and modes from their counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import fmean
from typing import Any

from multilingual_math_audit.evaluate.budget import questions_to_points
from multilingual_math_audit.evaluate.report.comparison import Comparison, Omission
from multilingual_math_audit.evaluate.report.published import Published, paper_numbers

ROUNDED_TWICE = 0.1001
AIME = {"EN": "aime2026", "PT": "aime2026_pt", "TR": "aime2026_tr"}
NOT_COUNTS = "finish reasons per sample are not among the sources"


def check_conditions(published: Published, name: str, data: Any) -> Iterator[Comparison | Omission]:
    """Differences of thinking solvers from lost questions, and their means over the 64-sample cells."""
    four = paper_numbers()["grid_benchmarks"]
    means: dict[str, list[float]] = {}
    for row in data["rows"]:
        for judge, cell in row.items():
            if isinstance(cell, dict) and "questions_lost" in cell:
                ours = questions_to_points(cell["questions_lost"], row["n_questions"])
                label = f"{row['solver']} on {row['benchmark']}, {judge}"
                yield Comparison(name, f"difference, {label}", ours, cell["diff_points"], 0.0051)
                if row["benchmark"] in four:
                    means.setdefault(judge, []).append(ours)
    for judge, printed in paper_numbers()["conditions_mean"].items():
        if judge in means:
            yield Comparison(
                name, f"mean difference over {len(means[judge])} cells, {judge}", fmean(means[judge]), printed
            )
    yield Omission(name, "stop rates of solvers and judges", NOT_COUNTS)


def check_ladder(published: Published, name: str, data: Any) -> Iterator[Comparison | Omission]:
    """Pass@64 at two budgets from the number of solved questions."""
    sizes = paper_numbers()["questions"]
    for benchmark, solvers in data["table"].items():
        for solver, row in solvers.items():
            for budget, solved in row["questions_solved@64"].items():
                ours = questions_to_points(solved, sizes[benchmark])
                label = f"{solver} on {benchmark}, {budget} budget"
                yield Comparison(name, f"Pass@64, {label}", ours, row["pass@64_pct"][budget])
    yield Omission(
        name, "stop rates and Pass@1 of the ladder", "per-question counts of these runs are not among the sources"
    )


def check_language(published: Published, name: str, data: Any) -> Iterator[Comparison | Omission]:
    """The same items in three languages: thinking rows are means of the ladder's low-budget rows."""
    ladder = published.files.get("ladder.json", {}).get("table", {})
    fields = {"stops_pct": "stops_pct", "pass@1_pct": "pass@1_pct", "pass@64_pct": "pass@64_pct"}
    for language, printed in data["table"].get("think", {}).items():
        solvers = ladder.get(AIME.get(language, ""), {})
        if not solvers:
            yield Omission(name, f"thinking, {language}", "needs ladder.json")
            continue
        for ours_name, theirs in fields.items():
            mean = fmean(row[ours_name]["low"] for row in solvers.values())
            yield Comparison(
                name, f"{theirs.removesuffix('_pct')}, thinking, {language}", mean, printed[theirs], ROUNDED_TWICE
            )
    yield Omission(name, "non-thinking rows", "per-question counts of these runs are not among the sources")


Check = Callable[[Published, str, Any], Iterator[Comparison | Omission]]
BUDGET_CHECKS: dict[str, Check] = {
    "conditions.json": check_conditions,
    "ladder.json": check_ladder,
    "language.json": check_language,
}
