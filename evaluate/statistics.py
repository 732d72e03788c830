"""Intervals and tests for paired verdicts: numbers in, numbers out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multilingual_math_audit.errors import UsageError

NAN = float("nan")
CELLS_AT_ONCE = 2_000_000


class Bounds(NamedTuple):
    """Both ends of an interval."""

    low: float
    high: float


class Difference(NamedTuple):
    """A difference of two means with both ends of its interval.

    `degenerate` is true when every resample gave the same number: the interval then says nothing about its width.
    """

    value: float
    low: float
    high: float
    degenerate: bool = False


def wilson_interval(successes: int, n: int, *, z: float = 1.96) -> Bounds:
    """Wilson's score interval of a share (Wilson, 1927), 95% by default; NaN at both ends when n is 0.

    Raises UsageError unless 0 <= successes <= n.

    >>> low, high = wilson_interval(669, 720)
    >>> f"{low:.3f} {high:.3f}"
    '0.908 0.946'
    """
    if not 0 <= successes <= n:
        raise UsageError(f"wilson_interval needs 0 <= successes <= n, not {successes} of {n}.")
    if n == 0:
        return Bounds(NAN, NAN)
    share = successes / n
    scale = 1 + z * z / n
    middle = (share + z * z / (2 * n)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == n else min(1.0, middle + half)
    return Bounds(low, high)


def mcnemar_exact(b: int, c: int) -> float:
    """Exact two-sided p-value of McNemar's test (1947) from the two counts of discordant pairs.

    `b` pairs are accepted only under the first condition, `c` only under the second. Under the null hypothesis b is
    binomial(b + c, 1/2); without a discordant pair p is 1. Raises UsageError for a negative count.

    >>> f"{mcnemar_exact(92, 139):.4f}", mcnemar_exact(0, 0)
    ('0.0024', 1.0)
    """
    if b < 0 or c < 0:
        raise UsageError(f"mcnemar_exact needs counts, not {b} and {c}.")
    if b == c:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(min(b, c), b + c, 0.5).pvalue)


def paired_bootstrap(
    a: ArrayLike,
    b: ArrayLike,
    *,
    clusters: Sequence[Hashable] | None = None,
    resamples: int = 20_000,
    seed: int = 0,
) -> Difference:
    """mean(b) - mean(a) with its percentile 95% interval over resampled pairs (Efron and Tibshirani, 1993).

    `a` and `b` have shape [n], pair by pair. With `clusters` (n labels: questions) whole clusters are resampled, so
    that pairs of one cluster may depend on each other. The order of the pairs does not change the result. Without a
    pair all numbers are NaN. Raises UsageError for lengths that differ and for values that are not finite.

    >>> paired_bootstrap([1, 1, 1, 0], [1, 0, 0, 0]).value
    -0.5
    >>> paired_bootstrap([1, 1, 0, 0], [0, 0, 0, 0], clusters=["q1", "q1", "q2", "q2"])[:3]
    (-0.5, -1.0, 0.0)
    """
    first, second = _paired(a, b)
    labels: Sequence[Hashable] = range(first.size) if clusters is None else clusters
    if len(labels) != first.size:
        raise UsageError(f"paired_bootstrap needs a cluster for each of {first.size} pairs, not {len(labels)}.")
    if resamples < 1:
        raise UsageError(f"paired_bootstrap needs at least one resample, not {resamples}.")
    if first.size == 0:
        return Difference(NAN, NAN, NAN, True)
    draws = _resampled_means((second - first)[:, None], labels, resamples=resamples, seed=seed)[:, 0]
    low, high = np.quantile(draws, [0.025, 0.975])
    return Difference(float(second.mean() - first.mean()), float(low), float(high), bool(np.ptp(draws) == 0))


def _paired(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise UsageError(f"Paired values need two lists of one length, not shapes {first.shape} and {second.shape}.")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise UsageError("Paired values must be finite; leave pairs without both values out, and count them.")
    return first, second


def balanced_bootstrap(
    a: ArrayLike,
    b: ArrayLike,
    *,
    clusters: Sequence[Hashable] | None = None,
    resamples: int = 20_000,
    seed: int = 0,
) -> Difference:
    """The harmonic mean of mean(a) and 1 - mean(b), with its interval as in `paired_bootstrap`; 0 when either is 0.

    `a` says of each pair whether the clean chain was accepted, `b` whether the corrupted one was: whoever accepts
    everything or rejects everything scores 0.

    >>> balanced_bootstrap([1, 1, 1, 1], [1, 1, 1, 1]).value, balanced_bootstrap([1, 1], [0, 0]).value
    (0.0, 1.0)
    """
    accepted, corrupted = _paired(a, b)
    if accepted.size == 0:
        return Difference(NAN, NAN, NAN, True)
    labels: Sequence[Hashable] = range(accepted.size) if clusters is None else clusters
    draws = _resampled_means(np.stack([accepted, 1 - corrupted], axis=1), labels, resamples=resamples, seed=seed)
    low, high = np.quantile(harmonic_mean(draws), [0.025, 0.975])
    value = harmonic_mean(np.array([[accepted.mean(), 1 - corrupted.mean()]]))[0]
    return Difference(float(value), float(low), float(high), bool(np.ptp(harmonic_mean(draws)) == 0))


def harmonic_mean(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """The harmonic mean of the two shares of each row; 0 where either is 0."""
    total = shares.sum(axis=1)
    mean: NDArray[np.float64] = np.divide(2 * shares.prod(axis=1), total, out=np.zeros_like(total), where=total > 0)
    return mean


def _resampled_means(
    columns: NDArray[np.float64], labels: Iterable[Hashable], *, resamples: int, seed: int
) -> NDArray[np.float64]:
    """Column means over resampled clusters, [resamples, columns]; like clusters are one class of a multinomial draw."""
    sums: dict[Hashable, NDArray[np.float64]] = {}
    sizes: Counter[Hashable] = Counter()
    for label, row in zip(labels, columns, strict=True):
        sums[label] = sums[label] + row if label in sums else row
        sizes[label] += 1
    alike = Counter((*np.round(sums[label], 12).tolist(), sizes[label]) for label in sums)
    classes = sorted(alike.items())
    totals = np.array([key[:-1] for key, _ in classes])
    widths = np.array([key[-1] for key, _ in classes], dtype=np.float64)
    shares = np.array([count for _, count in classes], dtype=np.float64)
    generator = np.random.default_rng(seed)
    means = np.empty((resamples, columns.shape[1]))
    step = max(1, CELLS_AT_ONCE // len(classes))
    for start in range(0, resamples, step):
        stop = min(start + step, resamples)
        drawn = generator.multinomial(len(sums), shares / shares.sum(), size=stop - start)
        means[start:stop] = (drawn @ totals) / (drawn @ widths)[:, None]
    return means


def wilcoxon_exact(x: ArrayLike, y: ArrayLike) -> float:
    """Exact two-sided p-value of Wilcoxon's signed-rank test (1945) for pairs; zero differences are left out.

    `x` and `y` have shape [n]. Tied differences get their mean rank, and the distribution is the exact one of those
    ranks under random signs. Without a difference p is 1. Raises UsageError as `paired_bootstrap` does.

    >>> wilcoxon_exact([1, 2, 3, 4, 5], [0, 0, 0, 0, 0])
    0.0625
    """
    first, second = _paired(x, y)
    differences = np.round(first - second, 12)
    differences = differences[differences != 0]
    if differences.size == 0:
        return 1.0
    from scipy.stats import rankdata

    doubled = np.rint(2 * rankdata(np.abs(differences))).astype(np.int64)
    observed = int(doubled[differences > 0].sum())
    total = int(doubled.sum())
    chances = np.zeros(total + 1)
    chances[0] = 1.0
    for rank in doubled.tolist():
        moved = chances.copy()
        moved[rank:] += chances[:-rank]
        chances = moved / 2
    tail = min(observed, total - observed)
    return min(1.0, float(2 * chances[: tail + 1].sum()))


def holm(pvalues: Sequence[float]) -> list[float]:
    """Holm's (1979) adjusted p-values in the order given; NaN ones stay NaN and do not count in the family.

    Raises UsageError for a value outside [0, 1].

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    defined = [index for index, p in enumerate(pvalues) if not math.isnan(p)]
    if wrong := [pvalues[index] for index in defined if not 0 <= pvalues[index] <= 1]:
        raise UsageError(f"A p-value lies between 0 and 1, not {wrong[0]}.")
    adjusted = [NAN] * len(pvalues)
    floor = 0.0
    for rank, index in enumerate(sorted(defined, key=lambda index: pvalues[index])):
        floor = max(floor, min(1.0, (len(defined) - rank) * pvalues[index]))
        adjusted[index] = floor
    return adjusted


def pairs_needed(half_width: float, *, discordant: float, difference: float = 0.0, design_effect: float = 1.0) -> int:
    """How many pairs give a paired difference of shares a 95% interval of +- `half_width`.

    `discordant` is the share of pairs whose verdicts differ and `difference` the expected difference, so that one
    pair's variance is discordant - difference**2. `design_effect` is how much more the mean varies because pairs of
    one question depend on each other: 1 + (pairs per question - 1) * correlation (Kish, 1965). Raises UsageError for
    impossible shares.

    >>> pairs_needed(0.05, discordant=0.2)
    308
    >>> pairs_needed(0.05, discordant=0.2, design_effect=2.5)
    769
    """
    if not (half_width > 0 and abs(difference) <= discordant <= 1 and design_effect > 0):
        raise UsageError(
            f"No panel gives +-{half_width} for a difference of {difference} with {discordant} of pairs discordant.",
            "The half-width and the design effect are above 0, and |difference| <= discordant <= 1.",
        )
    variance = (discordant - difference**2) * design_effect
    return max(1, math.ceil(1.96**2 * variance / half_width**2 - 1e-9))
