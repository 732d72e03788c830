"""The authors' table of one row per run against their table of one row per run and question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any

from multilingual_math_audit.evaluate.budget import stop_rate
from multilingual_math_audit.evaluate.metrics import pass_at_k
from multilingual_math_audit.evaluate.report.comparison import Comparison, Omission
from multilingual_math_audit.evaluate.report.published import Published, read_count
from multilingual_math_audit.evaluate.score import ladder

SIX_DECIMALS = 1e-6
KEY = ("model", "state", "benchmark", "solver_max_tokens", "judge_short", "judge_state", "judge_max_tokens")


def check_report(published: Published, name: str, data: Any) -> Iterator[Comparison | Omission]:
    """Pass@k and CoT-Pass@k of every published run from its per-question counts, and its stop rates from its counts."""
    counts: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for row in published.files.get("report_tasks.csv", []):
        counts[_key(row)].append((read_count(row["n_generations"]), read_count(row["true_count"])))
    for row in data:
        key = _key(row)
        label = " ".join(part for part in key if part)
        for word, part, whole in (
            ("solver", "solver_capped_count", "n_generations"),
            ("judge", "judge_capped_count", "n_verdicts"),
        ):
            if row.get(part) and row.get(f"{word}_cap_rate"):
                ours = stop_rate(read_count(row[part]), read_count(row[whole])).value
                yield Comparison(name, f"{word} stops, {label}", ours, float(row[f"{word}_cap_rate"]), SIX_DECIMALS)
        if key not in counts:
            yield Omission(name, f"Pass@k, {label}", "its per-question counts are not in report_tasks.csv")
            continue
        n, right = zip(*counts[key], strict=True)
        for k in (1, ladder(min(n))[-1]):
            if row.get(f"pass@{k}"):
                ours = fmean(pass_at_k(list(n), list(right), k).tolist())
                yield Comparison(
                    name, f"Pass@{k}, {label}", 100 * ours, 100 * float(row[f"pass@{k}"]), 100 * SIX_DECIMALS
                )


def _key(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(_plain(row.get(name) or "") for name in KEY)


def _plain(text: str) -> str:
    return text.removesuffix(".0")
