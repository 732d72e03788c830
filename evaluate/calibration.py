"""Does a stated probability mean what it says? Numbers only: arrays of probabilities and labels in, numbers out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multilingual_math_audit.errors import UsageError

Floats = NDArray[np.float64]
Binning = Literal["width", "mass"]
CLIP = 1e-6


def auroc(scores: ArrayLike, labels: ArrayLike) -> float:
    """Area under the ROC curve: the share of (right, wrong) pairs in which the right one scores higher, ties one half.

    `scores` and `labels` have shape [n]; NaN when only one kind of label is there. It is the Mann-Whitney statistic
    over the number of pairs (Hanley and McNeil, 1982).

    >>> auroc([0.9, 0.5, 0.5, 0.1], [1, 1, 0, 0])
    0.875
    """
    values, truth = _checked(scores, labels, probabilities=False)
    positives = int(truth.sum())
    negatives = truth.size - positives
    if positives == 0 or negatives == 0:
        return float("nan")
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return float((ranks[truth == 1].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def brier(probabilities: ArrayLike, labels: ArrayLike) -> float:
    """Mean squared difference of probability and label (Brier, 1950); NaN when there is nothing to score.

    >>> brier([1.0, 0.5], [1, 0])
    0.125
    """
    values, truth = _checked(probabilities, labels)
    return float(np.mean((values - truth) ** 2)) if values.size else float("nan")


def nll(probabilities: ArrayLike, labels: ArrayLike) -> float:
    """Mean negative log-likelihood in nats, probabilities clipped to [1e-6, 1 - 1e-6]; NaN when empty.

    >>> round(nll([0.5, 0.5], [1, 0]), 4)
    0.6931
    """
    values, truth = _checked(probabilities, labels)
    if not values.size:
        return float("nan")
    values = np.clip(values, CLIP, 1 - CLIP)
    return float(-np.mean(np.where(truth == 1, np.log(values), np.log1p(-values))))


class Bin(NamedTuple):
    """One bar of a reliability diagram."""

    low: float
    high: float
    size: int
    confidence: float
    accuracy: float


def reliability(probabilities: ArrayLike, labels: ArrayLike, bins: int = 15, binning: Binning = "width") -> list[Bin]:
    """The non-empty bars of a reliability diagram, from low to high.

    Bins of equal width are [0, 1/M), ... [1 - 1/M, 1]; bins of equal mass hold the sorted probabilities in M parts
    whose sizes differ by one at most. Mean confidence and accuracy are taken within a bin.

    >>> reliability([0.1, 0.9, 1.0], [0, 1, 1], bins=2)[1]
    Bin(low=0.5, high=1.0, size=2, confidence=0.95, accuracy=1.0)
    """
    values, truth = _checked(probabilities, labels)
    if bins < 1:
        raise UsageError(f"Asked for {bins} bins.", "Give at least one.")
    if binning == "width":
        place = np.minimum((values * bins).astype(int), bins - 1)
        members = [np.flatnonzero(place == index) for index in range(bins)]
        edges = [(index / bins, (index + 1) / bins) for index in range(bins)]
    else:
        members = np.array_split(np.argsort(values, kind="stable"), bins)
        edges = [(float(values[m[0]]), float(values[m[-1]])) if m.size else (0.0, 0.0) for m in members]
    return [
        Bin(low, high, int(m.size), float(values[m].mean()), float(truth[m].mean()))
        for m, (low, high) in zip(members, edges, strict=True)
        if m.size
    ]


def ece(probabilities: ArrayLike, labels: ArrayLike, bins: int = 15, binning: Binning = "width") -> float:
    """Expected calibration error: |accuracy - confidence| averaged over bins by their counts; NaN when empty.

    Naeini et al. (2015) with the 15 bins of Guo et al. (2017) by default.

    >>> round(ece([0.8, 0.8, 0.8, 0.8], [1, 1, 1, 0]), 4)
    0.05
    """
    bars = reliability(probabilities, labels, bins, binning)
    total = sum(bar.size for bar in bars)
    return sum(bar.size * abs(bar.accuracy - bar.confidence) for bar in bars) / total if total else float("nan")


def summary(probabilities: ArrayLike, labels: ArrayLike) -> dict[str, float]:
    """AUROC, Brier, ECE (15 bins of equal width) and NLL of one set of answers.

    >>> sorted(summary([0.9, 0.2], [1, 0]))
    ['auroc', 'brier', 'ece', 'nll']
    """
    return {
        "auroc": auroc(probabilities, labels),
        "brier": brier(probabilities, labels),
        "ece": ece(probabilities, labels),
        "nll": nll(probabilities, labels),
    }


@dataclass(frozen=True, slots=True)
class Temperature:
    """p -> sigmoid(logit(p) / temperature)."""

    temperature: float

    def __call__(self, probabilities: ArrayLike) -> Floats:
        """Recalibrated probabilities, same shape."""
        return _sigmoid(_logit(np.asarray(probabilities, dtype=np.float64)) / self.temperature)

    def to_dict(self) -> dict[str, Any]:
        """The fitted numbers, for a JSON file."""
        return {"kind": "temperature", "temperature": self.temperature}


@dataclass(frozen=True, slots=True)
class Isotonic:
    """A non-decreasing step function through the fitted blocks, linear between their centres, flat outside."""

    inputs: tuple[float, ...]
    outputs: tuple[float, ...]

    def __call__(self, probabilities: ArrayLike) -> Floats:
        """Recalibrated probabilities, same shape."""
        return np.interp(np.asarray(probabilities, dtype=np.float64), self.inputs, self.outputs)

    def to_dict(self) -> dict[str, Any]:
        """The fitted numbers, for a JSON file."""
        return {"kind": "isotonic", "inputs": list(self.inputs), "outputs": list(self.outputs)}


def fit_temperature(probabilities: ArrayLike, labels: ArrayLike) -> Temperature:
    """The temperature in [0.01, 100] that minimises NLL, found by golden-section search on its logarithm.

    NLL is convex in 1/temperature (Guo et al., 2017), so the minimum is the only one. Raises UsageError when empty.

    >>> fit_temperature([0.99, 0.99, 0.99, 0.99], [1, 1, 1, 0])([0.99]).round(2)
    array([0.75])
    """
    values, truth = _checked(probabilities, labels)
    if not values.size:
        raise UsageError("Asked to fit a temperature to no probabilities.", "Give a validation set that is not empty.")
    logits = _logit(values)

    def loss(log_temperature: float) -> float:
        scaled = logits * np.exp(-log_temperature)
        return float(np.mean(np.logaddexp(0.0, scaled) - truth * scaled))

    low, high, ratio = np.log(0.01), np.log(100.0), (np.sqrt(5) - 1) / 2
    for _ in range(80):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if loss(left) <= loss(right):
            high = right
        else:
            low = left
    return Temperature(float(np.exp((low + high) / 2)))


def fit_isotonic(probabilities: ArrayLike, labels: ArrayLike) -> Isotonic:
    """The non-decreasing map that minimises squared error, by pooling adjacent violators; equal inputs are one block.

    Raises UsageError when empty.

    >>> fit_isotonic([0.1, 0.2, 0.3, 0.9], [0, 1, 0, 1])([0.25, 0.9])
    array([0.5, 1. ])
    """
    values, truth = _checked(probabilities, labels)
    if not values.size:
        raise UsageError("Asked to fit an isotonic map to nothing.", "Give a validation set that is not empty.")
    inputs, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    sums = np.bincount(inverse, weights=truth)
    blocks: list[list[float]] = []
    for x, total, count in zip(inputs, sums, counts, strict=True):
        blocks.append([float(x), float(x), float(total), float(count)])
        while len(blocks) > 1 and blocks[-2][2] * blocks[-1][3] >= blocks[-1][2] * blocks[-2][3]:
            last = blocks.pop()
            blocks[-1] = [blocks[-1][0], last[1], blocks[-1][2] + last[2], blocks[-1][3] + last[3]]
    points = [(edge, total / count) for low, high, total, count in blocks for edge in sorted({low, high})]
    return Isotonic(tuple(x for x, _ in points), tuple(y for _, y in points))


def _checked(scores: ArrayLike, labels: ArrayLike, *, probabilities: bool = True) -> tuple[Floats, Floats]:
    values, truth = np.asarray(scores, dtype=np.float64).ravel(), np.asarray(labels, dtype=np.float64).ravel()
    if values.size != truth.size:
        raise UsageError(f"{values.size} scores were given for {truth.size} labels.", "Give one label for each score.")
    if not np.isin(truth, (0, 1)).all():
        raise UsageError("A label is neither 0 nor 1.", "Leave out answers whose correctness is not known.")
    if np.isnan(values).any():
        raise UsageError(
            f"{int(np.isnan(values).sum())} of {values.size} scores are NaN.", "Leave out what is not scored."
        )
    if probabilities and values.size and (values.min() < 0 or values.max() > 1):
        raise UsageError(
            f"A probability lies in [0, 1]; the ones given span {values.min():.4g} to {values.max():.4g}.",
            "Put logits through a sigmoid first.",
        )
    return values, truth


def _logit(probabilities: Floats) -> Floats:
    clipped = np.clip(probabilities, CLIP, 1 - CLIP)
    return np.asarray(np.log(clipped) - np.log1p(-clipped))


def _sigmoid(logits: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(logits / 2)))
