"""The published numbers of the error-injection study from its counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from multilingual_math_audit.evaluate.report.comparison import Comparison, Omission, relative
from multilingual_math_audit.evaluate.report.published import Published
from multilingual_math_audit.evaluate.statistics import mcnemar_exact, paired_bootstrap, wilson_interval

HALF_POINT = 0.5
CONDITIONS = {
    "clean": "clean",
    "intermediate_error": "intermediate",
    "truncated": "truncation",
    "boxed_only": "final_answer",
    "consistent_error": "consistent",
}


def check_mcnemar(published: Published, name: str, data: Any) -> Iterator[Comparison | Omission]:
    """Exact McNemar tests and both acceptance rates from the four counts of each pair."""
    for pair in data["pooled"]:
        label = _pair_label(pair)
        both, only_a, only_b, neither = _four_counts(pair)
        yield Comparison(name, f"pairs, {label}", both + only_a + only_b + neither, pair["n"], 0)
        ours = mcnemar_exact(only_a, only_b)
        printed = float(pair["exact_p_published"])
        yield Comparison(name, f"p, {label}", ours, printed, relative(printed), form="p")
        yield Comparison(
            name, f"acceptance of {label.split(' / ')[0]}", 100 * (both + only_a) / pair["n"], pair["accept_a_pct"]
        )
        yield Comparison(name, f"acceptance after {label}", 100 * (both + only_b) / pair["n"], pair["accept_b_pct"])


def _pair_label(pair: Mapping[str, Any]) -> str:
    return f"{pair['judge']} {pair['a']} / {pair['b']}"


def _four_counts(pair: Mapping[str, Any]) -> tuple[int, int, int, int]:
    names = ("both_accept", "a_accept_b_reject", "a_reject_b_accept", "both_reject")
    both, only_a, only_b, neither = (int(pair[name]) for name in names)
    return both, only_a, only_b, neither


def check_paired_bootstrap(published: Published, name: str, data: Any) -> Iterator[Comparison | Omission]:
    """Paired differences with their intervals, from the counts of mcnemar.json."""
    counts = {_pair_label(pair): pair for pair in published.files.get("mcnemar.json", {}).get("pooled", [])}
    for row in data["pairs"]:
        label = _pair_label(row)
        pair = counts.get(label)
        if pair is None:
            yield Omission(name, f"difference, {label}", "needs the counts of mcnemar.json")
            continue
        cells = _four_counts(pair)
        a, b = np.repeat([1, 1, 0, 0], cells), np.repeat([1, 0, 1, 0], cells)
        ours = paired_bootstrap(a, b)
        yield Comparison(name, f"difference, {label}", 100 * ours.value, row["diff_points"])
        yield Comparison(name, f"low end, {label}", 100 * ours.low, row["ci95"][0], HALF_POINT)
        yield Comparison(name, f"high end, {label}", 100 * ours.high, row["ci95"][1], HALF_POINT)


def check_error_rules(published: Published, name: str, data: Any) -> Iterator[Comparison | Omission]:
    """Acceptance under three rules with Wilson's intervals, and its agreement with the paired counts."""
    paired = _majority_margins(published)
    for judge, conditions in data["table"].items():
        for condition, row in conditions.items():
            label = f"{judge} {condition}"
            for rule, printed in row["pct"].items():
                yield Comparison(name, f"acceptance, {label}, {rule}", 100 * row["count"][rule] / row["n"], printed)
            low, high = wilson_interval(row["count"]["majority"], row["n"])
            yield Comparison(name, f"Wilson low, {label}", 100 * low, row["majority_wilson95"][0])
            yield Comparison(name, f"Wilson high, {label}", 100 * high, row["majority_wilson95"][1])
            if label in paired:
                yield Comparison(name, f"approved in mcnemar.json, {label}", paired[label], row["count"]["majority"], 0)


def _majority_margins(published: Published) -> dict[str, int]:
    margins: dict[str, int] = {}
    for pair in published.files.get("mcnemar.json", {}).get("pooled", []):
        both, only_a, only_b, _ = _four_counts(pair)
        margins[f"{pair['judge']} {pair['a']}"] = both + only_a
        margins[f"{pair['judge']} {pair['b']}"] = both + only_b
    return margins


def check_by_benchmark(published: Published, name: str, data: Any) -> Iterator[Comparison | Omission]:
    """Acceptance per benchmark from counts, and the pooled counts they must add up to."""
    n = data["_meta"]["n_per_benchmark"]
    pooled = published.files.get("error_rules.json", {}).get("table", {})
    for judge, conditions in data["acceptance"].items():
        for condition, cells in conditions.items():
            for benchmark, cell in cells.items():
                ours = 100 * cell["count"] / n
                yield Comparison(name, f"acceptance, {judge} {condition}, {benchmark}", ours, cell["pct"])
            if judge in pooled:
                total = sum(cell["count"] for cell in cells.values())
                printed = pooled[judge][condition]["count"]["majority"]
                yield Comparison(name, f"approved in all, {judge} {condition}", total, printed, 0)


def check_pool(published: Published, name: str, data: Any) -> Iterator[Comparison | Omission]:
    """The whole pool under one judge: three judgments per solution, and rules that contain each other."""
    rows = [dict(zip(data["columns"], row, strict=True)) for row in data["rows"]]
    for row in rows:
        label = f"{row['model']} {row['benchmark']} {CONDITIONS.get(row['error_type'], row['error_type'])}"
        judgments = row["gen_yes"] + row["gen_no"] + row["gen_invalid"]
        yield Comparison(name, f"judgments, {label}", judgments, 3 * row["n_solutions"], 0)
        decided = row["maj_yes"] + row["cot_false"] + row["maj_invalid"]
        yield Comparison(name, f"decisions, {label}", decided, row["n_solutions"], 0)
        nested = row["correct_any"] >= row["correct_maj"] >= row["correct_all"]
        yield Comparison(name, f"any >= majority >= all, {label}", float(nested), 1, 0)


def check_panel(published: Published, name: str, data: Any) -> Iterator[Comparison | Omission]:
    """The published panel, one decision per judge, solution and condition: margins against the other tables."""
    decisions: dict[tuple[str, str], dict[str, int]] = {}
    for row in data:
        condition = CONDITIONS.get(row["condition"], row["condition"])
        decisions.setdefault((row["judge_short"], condition), {})[row["solution_id"]] = int(float(row["correct_maj"]))
    table = published.files.get("error_rules.json", {}).get("table", {})
    if not table:
        yield Omission(
            name, "acceptance per condition", "the printed table (error_rules.json) is not among the sources"
        )
    for (judge, condition), found in sorted(decisions.items()):
        if judge in table and condition in table[judge]:
            printed = table[judge][condition]
            yield Comparison(
                name, f"approved, {judge} {condition}", sum(found.values()), printed["count"]["majority"], 0
            )
    for pair in published.files.get("mcnemar.json", {}).get("pooled", []):
        first, second = (decisions.get((pair["judge"], pair[side]), {}) for side in "ab")
        shared = sorted(first.keys() & second.keys())
        only_a = sum(first[s] > second[s] for s in shared)
        only_b = sum(first[s] < second[s] for s in shared)
        printed = float(pair["exact_p_published"])
        yield Comparison(
            name, f"p, {_pair_label(pair)}", mcnemar_exact(only_a, only_b), printed, relative(printed), "p"
        )


Check = Callable[[Published, str, Any], Iterator[Comparison | Omission]]
ERROR_CHECKS: dict[str, Check] = {
    "mcnemar.json": check_mcnemar,
    "bootstrap_paired.json": check_paired_bootstrap,
    "error_rules.json": check_error_rules,
    "error_injection_by_benchmark.json": check_by_benchmark,
    "cell_summary_v4flash_pool.json": check_pool,
    "error_injection_panel_3judges.csv": check_panel,
}
