"""Pass@k, CoT-Pass@k and the question bootstrap against brute force and closed forms."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import multilingual_math_audit as mma
from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.metrics import cot_pass_at_k, pass_at_k, question_bootstrap


def test_pass_at_k_by_enumeration() -> None:
    """For every n up to 7 the value is the share of k-subsets of the samples that hold a correct one."""
    for n in range(1, 8):
        for c in range(n + 1):
            for k in range(1, n + 1):
                subsets = list(itertools.combinations(range(n), k))
                share = Fraction(sum(any(i < c for i in subset) for subset in subsets), len(subsets))
                assert pass_at_k(n, c, k) == pytest.approx(float(share), abs=1e-15)


def test_known_values() -> None:
    """Values by hand: 1 - C(3,2)/C(5,2) = 7/10; one of 64 at k = 64 is certain; none at any k is zero."""
    assert pass_at_k(5, 2, 2) == 0.7
    assert pass_at_k(64, 1, 64) == 1.0
    assert pass_at_k(64, 0, 64) == 0.0
    assert pass_at_k(64, 1, 1) == 1 / 64


def test_exact_where_products_of_floats_are_not() -> None:
    """For n = 10,000 the value is the correctly rounded quotient of two exact binomials."""
    from math import comb

    exact = 1 - Fraction(comb(9_990, 5_000), comb(10_000, 5_000))
    assert pass_at_k(10_000, 10, 5_000) == float(exact)


def test_fewer_samples_than_k_is_undefined() -> None:
    """n < k gives NaN, also when every sample is correct or there is none."""
    assert np.isnan(pass_at_k(3, 3, 4))
    assert np.isnan(pass_at_k(0, 0, 1))
    assert np.isnan(pass_at_k([3, 8], [3, 8], 4)).tolist() == [True, False]


def test_shapes() -> None:
    """Arrays broadcast, scalars give a float, and nothing gives an empty array."""
    assert isinstance(pass_at_k(4, 1, 2), float)
    assert pass_at_k([[4], [8]], 1, [1, 2]).shape == (2, 2)
    assert pass_at_k([], [], 1).shape == (0,)


@pytest.mark.parametrize(
    ("n", "c", "k"), [(4, 5, 1), (4, -1, 1), (-1, -1, 1), (4, 1, 0), (4, 1.5, 1), (4, float("nan"), 1)]
)
def test_impossible_counts(n: float, c: float, k: float) -> None:
    """Counts that cannot be are refused, never turned into a number."""
    with pytest.raises(UsageError):
        pass_at_k(n, c, k)


@given(st.integers(1, 60), st.data())
@settings(max_examples=200, deadline=None)
def test_monotone(n: int, data: st.DataObject) -> None:
    """More correct samples or more draws never lower the value, and it lies in [0, 1]."""
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    value = pass_at_k(n, c, k)
    assert 0 <= value <= 1
    assert c == n or pass_at_k(n, c + 1, k) >= value
    assert k == n or pass_at_k(n, c, k + 1) >= value


def test_cot_pass_at_k_is_never_above_pass_at_k() -> None:
    """With approved <= correct the difference is never negative."""
    correct = np.arange(0, 17)
    for approved in range(17):
        mask = correct >= approved
        assert (pass_at_k(16, correct[mask], 4) >= cot_pass_at_k(16, approved, 4)).all()


def test_question_bootstrap_against_the_normal_interval() -> None:
    """For 400 values the percentile interval is the mean ± 1.96 standard errors within 5% of its width."""
    values = np.random.default_rng(7).normal(size=400)
    interval = question_bootstrap(values)
    half = 1.96 * values.std() / 20
    assert interval.value == pytest.approx(values.mean())
    assert (interval.low, interval.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.1 * half)


def test_question_bootstrap_by_enumeration() -> None:
    """For three values the interval is the quantile of all 27 resamples, which are equally likely."""
    values = [0.0, 0.3, 1.0]
    means = sorted(sum(draw) / 3 for draw in itertools.product(values, repeat=3))
    interval = question_bootstrap(values, resamples=200_000)
    assert (interval.low, interval.high) == (means[0], means[-1])


def test_question_bootstrap_says_what_is_undefined() -> None:
    """NaN values are left out and counted; nothing defined gives NaN, no width is flagged."""
    interval = question_bootstrap([0.5, float("nan"), 0.5])
    assert (interval.value, interval.n, interval.undefined, interval.degenerate) == (0.5, 2, 1, True)
    assert np.isnan(question_bootstrap([float("nan")]).value)
    assert np.isnan(question_bootstrap([]).value)


def test_question_bootstrap_repeats() -> None:
    """The same seed gives the same bits, another seed another interval."""
    values = list(np.random.default_rng(0).random(30))
    assert question_bootstrap(values) == question_bootstrap(values)
    assert question_bootstrap(values, seed=1) != question_bootstrap(values)


def test_weights() -> None:
    """A weight of two counts a value twice in the mean; a missing weight is refused."""
    assert question_bootstrap([0.0, 1.0], weights=[1, 2]).value == pytest.approx(2 / 3)
    with pytest.raises(UsageError):
        question_bootstrap([0.0, 1.0], weights=[1])


def test_public_names() -> None:
    """The metrics are where the README says."""
    assert mma.pass_at_k(4, 1, 2) == 0.5
    assert mma.cot_pass_at_k(4, 1, 2) == 0.5
    assert mma.question_bootstrap([1.0]).value == 1.0
