"""Intervals and tests against published numbers, brute force and SciPy."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.statistics import (
    holm,
    mcnemar_exact,
    paired_bootstrap,
    pairs_needed,
    wilcoxon_exact,
    wilson_interval,
)


def reference(shared: Path, name: str) -> Any:
    return json.loads((shared / "reference" / name).read_text(encoding="utf-8"))


def discordant_pairs(row: dict[str, int]) -> tuple[list[int], list[int]]:
    cells = [
        (1, 1, row["both_accept"]),
        (1, 0, row["a_accept_b_reject"]),
        (0, 1, row["a_reject_b_accept"]),
        (0, 0, row["both_reject"]),
    ]
    a = [first for first, _, count in cells for _ in range(count)]
    b = [second for _, second, count in cells for _ in range(count)]
    return a, b


def test_every_published_mcnemar_p_value(shared: Path) -> None:
    """All twelve exact p-values of the paper's pooled tables, to three significant digits."""
    rows = reference(shared, "mcnemar.json")["pooled"]
    assert len(rows) == 12
    for row in rows:
        p = mcnemar_exact(row["a_accept_b_reject"], row["a_reject_b_accept"])
        assert p == pytest.approx(row["exact_p_recomputed"], rel=1e-9)
        assert f"{p:.3g}" == f"{float(row['exact_p_published']):.3g}"


def test_every_published_rate_and_wilson_interval(shared: Path) -> None:
    """Fifteen rows of the three-rules table: each rate under each rule, and the interval of the majority rate."""
    table = reference(shared, "error_rules.json")["table"]
    rows = [row for judge in table.values() for row in judge.values()]
    assert len(rows) == 15
    for row in rows:
        for rule, count in row["count"].items():
            assert round(100 * count / row["n"], 1) == row["pct"][rule]
        low, high = wilson_interval(row["count"]["majority"], row["n"])
        assert [round(100 * low, 1), round(100 * high, 1)] == row["majority_wilson95"]


def test_every_published_rate_by_benchmark_adds_up_to_the_pooled_one(shared: Path) -> None:
    """75 cells of 144: the published rate is inside its own interval, and the five counts sum to the pooled count."""
    cells = reference(shared, "error_injection_by_benchmark.json")
    table = reference(shared, "error_rules.json")["table"]
    seen = 0
    for judge, edits in cells["acceptance"].items():
        for edit, benchmarks in edits.items():
            counts = [cell["count"] for cell in benchmarks.values()]
            assert sum(counts) == table[judge][edit]["count"]["majority"]
            for cell in benchmarks.values():
                assert round(100 * cell["count"] / 144, 1) == cell["pct"]
                low, high = wilson_interval(cell["count"], 144)
                assert low <= cell["count"] / 144 <= high
                seen += 1
    assert seen == 75


def test_every_published_paired_interval(shared: Path) -> None:
    """Twelve paired differences and both ends of their intervals, within 0.3 points, from the 2x2 counts alone."""
    tables = {(row["judge"], row["a"], row["b"]): row for row in reference(shared, "mcnemar.json")["pooled"]}
    pairs = reference(shared, "bootstrap_paired.json")["pairs"]
    assert len(pairs) == 12
    for pair in pairs:
        a, b = discordant_pairs(tables[pair["judge"], pair["a"], pair["b"]])
        found = paired_bootstrap(a, b)
        assert round(100 * found.value, 1) == pair["diff_points"]
        assert 100 * found.low == pytest.approx(pair["ci95"][0], abs=0.3)
        assert 100 * found.high == pytest.approx(pair["ci95"][1], abs=0.3)


def test_wilson_interval_solves_the_score_equation() -> None:
    """Both ends p satisfy |share - p| = z sqrt(p(1-p)/n), the equation Wilson's interval is defined by."""
    for n in (1, 7, 144, 5000):
        for successes in {0, 1, n // 3, n - 1, n}:
            for p in wilson_interval(successes, n):
                assert abs(successes / n - p) == pytest.approx(1.96 * math.sqrt(p * (1 - p) / n), abs=1e-9)


def test_an_interval_of_nothing_is_undefined_and_impossible_counts_are_refused() -> None:
    """n = 0 gives NaN, never 0; more successes than trials is an error that says so."""
    assert all(math.isnan(end) for end in wilson_interval(0, 0))
    with pytest.raises(UsageError, match="5 of 4"):
        wilson_interval(5, 4)
    with pytest.raises(UsageError):
        mcnemar_exact(-1, 3)


@given(st.integers(0, 14), st.integers(0, 14))
@settings(max_examples=60, deadline=None)
def test_mcnemar_is_the_sum_over_outcomes_no_likelier(b: int, c: int) -> None:
    """p equals the summed probability of all splits of the discordant pairs that are no likelier than the one seen."""
    n = b + c
    chances = [math.comb(n, i) / 2**n for i in range(n + 1)]
    expected = sum(chance for chance in chances if chance <= chances[b] * (1 + 1e-9))
    assert mcnemar_exact(b, c) == pytest.approx(min(1.0, expected))
    assert mcnemar_exact(b, c) == mcnemar_exact(c, b)


def brute_wilcoxon(differences: list[float]) -> float:
    kept = [d for d in differences if d != 0]
    order = sorted(abs(d) for d in kept)
    ranks = [sum(i + 1 for i, v in enumerate(order) if v == abs(d)) / order.count(abs(d)) for d in kept]
    observed = sum(rank for rank, d in zip(ranks, kept, strict=True) if d > 0)
    sums = [
        sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
        for signs in itertools.product([0, 1], repeat=len(kept))
    ]
    below = sum(s <= observed + 1e-9 for s in sums) / len(sums)
    above = sum(s >= observed - 1e-9 for s in sums) / len(sums)
    return min(1.0, 2 * min(below, above))


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
@settings(max_examples=80, deadline=None)
def test_wilcoxon_is_exact_with_ties_and_zeros(differences: list[int]) -> None:
    """p equals the count over all sign patterns, ties and zeros included, which the usual tables leave out."""
    assert wilcoxon_exact(differences, [0] * len(differences)) == pytest.approx(brute_wilcoxon(list(differences)))


def test_wilcoxon_agrees_with_scipy_without_ties() -> None:
    """SciPy's exact method on 25 distinct differences gives the same p."""
    from scipy.stats import wilcoxon

    generator = np.random.default_rng(3)
    x, y = generator.normal(size=25), generator.normal(0.4, size=25)
    assert wilcoxon_exact(x, y) == pytest.approx(wilcoxon(x, y, method="exact").pvalue)


def test_paired_bootstrap_does_not_depend_on_the_order_of_pairs() -> None:
    """The same pairs in another order, with their clusters, give the same bytes."""
    a = [1, 0, 1, 1, 0, 1, 1, 0]
    b = [0, 0, 1, 0, 1, 0, 1, 1]
    clusters = ["q1", "q1", "q2", "q3", "q3", "q4", "q4", "q4"]
    turned = paired_bootstrap(a[::-1], b[::-1], clusters=clusters[::-1], resamples=500)
    assert paired_bootstrap(a, b, clusters=clusters, resamples=500) == turned


def test_clusters_of_copies_are_as_wide_as_their_originals() -> None:
    """Six copies of each pair in one cluster add nothing: the interval is that of the pairs without the copies."""
    generator = np.random.default_rng(5)
    a = generator.integers(0, 2, 60).tolist()
    b = generator.integers(0, 2, 60).tolist()
    single = paired_bootstrap(a, b)
    names = [index for index in range(60) for _ in range(6)]
    copied = paired_bootstrap(np.repeat(a, 6), np.repeat(b, 6), clusters=names)
    naive = paired_bootstrap(np.repeat(a, 6), np.repeat(b, 6))
    assert (copied.low, copied.high) == pytest.approx((single.low, single.high), abs=1e-9)
    assert naive.high - naive.low < 0.6 * (copied.high - copied.low)


def test_clustered_bootstrap_matches_resampling_by_hand() -> None:
    """Ends agree with a plain loop that draws questions one by one and pools their pairs."""
    generator = np.random.default_rng(11)
    sizes = generator.integers(1, 6, 25)
    clusters = np.repeat(np.arange(25), sizes)
    a, b = generator.integers(0, 2, clusters.size), generator.integers(0, 2, clusters.size)
    by_hand = []
    for _ in range(4000):
        drawn = generator.integers(0, 25, 25)
        chosen = np.concatenate([np.flatnonzero(clusters == question) for question in drawn])
        by_hand.append((b[chosen] - a[chosen]).mean())
    found = paired_bootstrap(a, b, clusters=clusters.tolist())
    assert [found.low, found.high] == pytest.approx(np.quantile(by_hand, [0.025, 0.975]), abs=0.02)


def test_degenerate_and_undefined_intervals_say_so() -> None:
    """Pairs that never differ give [0, 0] flagged degenerate; no pairs give NaN; NaN values are refused."""
    assert paired_bootstrap([1, 1, 1], [1, 1, 1]) == (0.0, 0.0, 0.0, True)
    assert math.isnan(paired_bootstrap([], []).value)
    with pytest.raises(UsageError, match="finite"):
        paired_bootstrap([1, float("nan")], [1, 0])
    with pytest.raises(UsageError, match="cluster"):
        paired_bootstrap([1, 0], [0, 1], clusters=["q"])


def test_holm_steps_down() -> None:
    """Holm's own step-down: the smallest times m, never falling, at most 1, in the order given; NaN is left out."""
    assert holm([0.01, 0.02, 0.03, 0.5]) == pytest.approx([0.04, 0.06, 0.06, 0.5])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    kept = holm([0.02, float("nan"), 0.03])
    assert kept[0] == pytest.approx(0.04)
    assert math.isnan(kept[1])
    assert kept[2] == pytest.approx(0.04)
    with pytest.raises(UsageError):
        holm([1.2])


def test_pairs_needed_gives_the_width_it_promises() -> None:
    """A panel of the planned size has a bootstrap interval of the wished half-width, within a tenth."""
    n = pairs_needed(0.04, discordant=0.3, difference=0.1)
    only_a, only_b = round(n * 0.1), round(n * 0.2)
    a = [1] * only_a + [0] * only_b + [1] * (n - only_a - only_b)
    b = [0] * only_a + [1] * only_b + [1] * (n - only_a - only_b)
    found = paired_bootstrap(a, b)
    assert (found.high - found.low) / 2 == pytest.approx(0.04, rel=0.1)
