"""Calibration numbers against values worked out by hand and by brute force."""

from __future__ import annotations

import numpy as np
import pytest

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate import calibration


def test_auroc_is_the_share_of_ordered_pairs() -> None:
    """AUROC equals the count over all (right, wrong) pairs, ties one half, on random scores with many ties."""
    random = np.random.default_rng(0)
    scores, labels = random.integers(0, 6, 80) / 5, random.integers(0, 2, 80)
    right, wrong = scores[labels == 1], scores[labels == 0]
    pairs = [(a > b) + 0.5 * (a == b) for a in right for b in wrong]
    assert calibration.auroc(scores, labels) == pytest.approx(np.mean(pairs), abs=1e-12)


def test_one_class_or_nothing_is_undefined() -> None:
    """With one kind of label AUROC is NaN, and with no answers every number is, never 0."""
    assert np.isnan(calibration.auroc([0.1, 0.2], [1, 1]))
    assert all(np.isnan(value) for value in calibration.summary([], []).values())


def test_brier_ece_and_nll_by_hand() -> None:
    """Four answers at .8 of which three are right: Brier .19, ECE .05, NLL -(3 ln .8 + ln .2) / 4."""
    found = calibration.summary([0.8] * 4, [1, 1, 1, 0])
    assert found["brier"] == pytest.approx((3 * 0.04 + 0.64) / 4)
    assert found["ece"] == pytest.approx(0.05)
    assert found["nll"] == pytest.approx(-(3 * np.log(0.8) + np.log(0.2)) / 4)


def test_the_last_bin_is_closed_and_nll_is_clipped() -> None:
    """A probability of 1 falls in the last bin, and a certain error costs -ln 1e-6, not infinity."""
    assert calibration.reliability([1.0], [1])[0].high == 1.0
    assert calibration.nll([1.0], [0]) == pytest.approx(-np.log(1e-6))


def test_equal_mass_bins_hold_equal_counts() -> None:
    """Ten answers in three bins of equal mass are 4, 3 and 3."""
    bars = calibration.reliability(np.linspace(0, 1, 10), [0, 1] * 5, bins=3, binning="mass")
    assert [bar.size for bar in bars] == [4, 3, 3]


def test_temperature_recovers_the_one_the_data_were_made_with() -> None:
    """Labels drawn at logit / 3 are fitted by a temperature near 3, and its NLL beats every other on a grid."""
    random = np.random.default_rng(1)
    logits = random.normal(0, 4, 20_000)
    labels = random.random(20_000) < 1 / (1 + np.exp(-logits / 3))
    stated = 1 / (1 + np.exp(-logits))
    fitted = calibration.fit_temperature(stated, labels)
    assert fitted.temperature == pytest.approx(3, rel=0.06)
    best = calibration.nll(fitted(stated), labels)
    assert all(best <= calibration.nll(calibration.Temperature(t)(stated), labels) + 1e-9 for t in (1, 2, 2.8, 3.2, 5))


def test_isotonic_is_the_best_monotone_fit() -> None:
    """Pooling adjacent violators gives the means worked out by hand: 0, then (1 + 0) / 2 twice, then 1."""
    fitted = calibration.fit_isotonic([0.1, 0.2, 0.3, 0.9], [0, 1, 0, 1])
    assert fitted([0.1, 0.2, 0.3, 0.9]).tolist() == [0.0, 0.5, 0.5, 1.0]
    assert (np.diff(fitted(np.linspace(0, 1, 50))) >= 0).all()


@pytest.mark.parametrize(
    ("scores", "labels"),
    [([0.5], [1, 0]), ([1.5], [1]), ([float("nan")], [1]), ([0.5], [2])],
    ids=["lengths", "range", "nan", "label"],
)
def test_bad_input_is_refused(scores: list[float], labels: list[int]) -> None:
    """Lengths that differ, probabilities outside [0, 1], NaN and labels other than 0 and 1 raise UsageError."""
    with pytest.raises(UsageError):
        calibration.brier(scores, labels)
    with pytest.raises(UsageError):
        calibration.fit_temperature([], [])
