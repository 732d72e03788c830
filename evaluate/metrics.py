"""Pass@k, CoT-Pass@k and the question bootstrap: numbers in, numbers out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multilingual_math_audit.errors import UsageError

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95% interval over `n` defined values; `undefined` values were left out.

    `degenerate` marks an interval of no width: every resample gave the same number, so it says nothing of uncertainty.
    """

    value: float
    low: float
    high: float
    n: int
    undefined: int = 0

    @property
    def degenerate(self) -> bool:
        return self.low == self.high


def pass_at_k(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> Any:
    """Unbiased Pass@k, `1 - C(n-c, k) / C(n, k)` (Chen et al., 2021, equation 1), exact before the last rounding.

    `n` samples of which `c` are correct, element by element with broadcasting; a float for scalars, else an array.
    With fewer samples than k (n < k) the value is undefined and NaN. Raises UsageError for counts that cannot be.

    >>> pass_at_k(4, 1, 2)
    0.5
    >>> pass_at_k([10, 10, 3], [0, 3, 3], 5).tolist()
    [0.0, 0.9166666666666666, nan]
    """
    samples, right, draws = np.broadcast_arrays(_whole(n, "n"), _whole(c, "c"), _whole(k, "k"))
    if (draws < 1).any():
        raise UsageError(f"Pass@k needs k of at least 1, not {int(draws.min())}.")
    if (samples < 0).any() or (right < 0).any() or (right > samples).any():
        bad = int(np.flatnonzero((samples < 0) | (right < 0) | (right > samples))[0])
        raise UsageError(f"There cannot be {right.flat[bad]} correct among {samples.flat[bad]} samples.")
    triples = np.stack([samples, right, draws], axis=-1).reshape(-1, 3)
    unique, inverse = np.unique(triples, axis=0, return_inverse=True)
    values = np.array([_pass_at_k(*(int(x) for x in triple)) for triple in unique], dtype=np.float64)
    result = values[inverse.reshape(-1)].reshape(samples.shape)
    return float(result) if result.ndim == 0 else result


def cot_pass_at_k(n: ArrayLike, approved: ArrayLike, k: ArrayLike) -> Any:
    """CoT-Pass@k: Pass@k where only samples that are correct *and* approved by the judge count.

    `approved` is the number of correct samples whose chain the judge approves, under one strategy. It is not defined
    while judgments are pending: leave such questions out or give NaN-free counts.

    >>> cot_pass_at_k(4, 0, 2), pass_at_k(4, 1, 2) - cot_pass_at_k(4, 0, 2)
    (0.0, 0.5)
    """
    return pass_at_k(n, approved, k)


def question_bootstrap(
    values: ArrayLike, *, resamples: int = 10_000, seed: int = 0, weights: ArrayLike | None = None
) -> Interval:
    """The mean of per-question values with a 95% percentile interval from resampling questions with replacement.

    `values` has one number per question, NaN where undefined (left out and counted). `weights` gives questions unequal
    weight in the mean. The interval is the 2.5th and 97.5th percentile of `resamples` resampled means.

    >>> question_bootstrap([0.0, 0.0, 0.0]).degenerate
    True
    >>> interval = question_bootstrap([0.0, 1.0] * 50)
    >>> (interval.value, round(interval.low, 2), round(interval.high, 2))
    (0.5, 0.4, 0.6)
    """
    every = np.asarray(values, dtype=np.float64).reshape(-1)
    share = np.ones_like(every) if weights is None else np.asarray(weights, dtype=np.float64).reshape(-1)
    if share.shape != every.shape:
        raise UsageError(f"There are {every.size} values and {share.size} weights.", "Give one weight per value.")
    if resamples < 1:
        raise UsageError(f"A bootstrap needs at least one resample, not {resamples}.")
    defined = ~np.isnan(every)
    kept, share = every[defined], share[defined]
    undefined = int(every.size - kept.size)
    if kept.size == 0 or share.sum() <= 0:
        return Interval(float("nan"), float("nan"), float("nan"), 0, undefined)
    means = resampled_means(kept, share, resamples=resamples, generator=np.random.default_rng(seed))
    low, high = np.percentile(means, [2.5, 97.5])
    return Interval(float(np.average(kept, weights=share)), float(low), float(high), int(kept.size), undefined)


def resampled_means(values: Numbers, weights: Numbers, *, resamples: int, generator: np.random.Generator) -> Numbers:
    """Weighted means of `resamples` draws with replacement of the given values, shape (resamples,)."""
    means = np.empty(resamples)
    block = max(1, 4_000_000 // max(1, values.size))
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn = generator.integers(0, values.size, size=(rows, values.size))
        share = weights[drawn]
        total = share.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            means[start : start + rows] = (values[drawn] * share).sum(axis=1) / total
    return means[~np.isnan(means)] if np.isnan(means).any() else means


def question_bootstraps(table: ArrayLike, *, resamples: int = 10_000, seed: int = 0) -> list[Interval]:
    """`question_bootstrap` of every row of a table [rows, questions] without undefined values, in one multiplication.

    >>> values = [[0.0, 1.0, 0.5], [1.0, 1.0, 0.0]]
    >>> many, one = question_bootstraps(values), [question_bootstrap(row) for row in values]
    >>> all(abs(a.low - b.low) < 1e-12 and abs(a.high - b.high) < 1e-12 for a, b in zip(many, one))
    True
    """
    values = np.atleast_2d(np.asarray(table, dtype=np.float64))
    if np.isnan(values).any():
        raise UsageError("A table of values to resample must be whole.", "Resample rows with NaN one by one.")
    if values.size == 0:
        return []
    means = values @ question_draws(values.shape[1], resamples=resamples, seed=seed).T / values.shape[1]
    low, high = np.percentile(means, [2.5, 97.5], axis=1)
    value = values.mean(axis=1)
    return [Interval(float(v), float(a), float(b), values.shape[1]) for v, a, b in zip(value, low, high, strict=True)]


@lru_cache(maxsize=4)
def question_draws(questions: int, *, resamples: int = 10_000, seed: int = 0) -> Numbers:
    """How often each question is drawn in each resample of `question_bootstrap`, shape (resamples, questions).

    >>> question_draws(5, resamples=3).sum(axis=1).tolist()
    [5.0, 5.0, 5.0]
    """
    generator = np.random.default_rng(seed)
    counts = np.empty((resamples, questions))
    block = max(1, 4_000_000 // max(1, questions))
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn = generator.integers(0, questions, size=(rows, questions))
        drawn += np.arange(rows)[:, None] * questions
        flat = np.bincount(drawn.reshape(-1), minlength=rows * questions)
        counts[start : start + rows] = flat.reshape(rows, questions)
    counts.setflags(write=False)
    return counts


@lru_cache(maxsize=65_536)
def _pass_at_k(n: int, c: int, k: int) -> float:
    if n < k:
        return float("nan")
    total = comb(n, k)
    return (total - comb(n - c, k)) / total


def _whole(values: ArrayLike, name: str) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.dtype.kind in "iub":
        return array.astype(np.int64)
    numbers = array.astype(np.float64)
    if not (np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all()):
        raise UsageError(f"{name} must be whole numbers, not {array.flat[0]!r}.")
    return numbers.astype(np.int64)
