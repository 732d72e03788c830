"""The bootstrap of cells, averages and contrasts against exact and independent computations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.report.contrasts import (
    CellValues,
    bootstrap_sum,
    group_weights,
    question_weights,
    subtract,
)


def cell(name: str, values: list[float], items: str = "abcdefghij") -> CellValues:
    """A cell with one letter per item."""
    return CellValues(name, tuple(items[: len(values)]), tuple(values))


def test_interval_of_one_cell_is_the_exact_one() -> None:
    """With four questions all 256 resamples can be listed: their percentiles are those of the bootstrap."""
    values = [0.0, 0.0, 1.0, 1.0]
    every = [np.mean(draw) for draw in itertools.product(values, repeat=4)]
    interval = bootstrap_sum([cell("a", values)], [1.0], resamples=50_000)
    assert (interval.low, interval.high) == tuple(np.percentile(every, [2.5, 97.5]))


def test_independent_cells_add_their_variances() -> None:
    """The variance of a contrast of independent cells is the sum of theirs; drawn together, equal cells cancel."""
    generator = np.random.default_rng(1)
    first = CellValues("a", tuple(map(str, range(200))), tuple(generator.integers(0, 2, 200).astype(float)))
    second = CellValues("b", first.items, first.values)
    interval = bootstrap_sum([first, second], [1.0, -1.0], resamples=20_000)
    p = first.mean
    expected = 1.96 * np.sqrt(2 * p * (1 - p) / 200)
    assert (interval.high - interval.low) / 2 == pytest.approx(expected, rel=0.06)
    assert bootstrap_sum([first, second], [1.0, -1.0], design="joint").degenerate


def test_undefined_questions_are_left_out_and_counted() -> None:
    """NaN questions do not enter the mean; a cell of nothing but NaN makes the sum NaN."""
    interval = bootstrap_sum([cell("a", [1.0, 0.0, float("nan")])], [1.0])
    assert (interval.value, interval.n, interval.undefined) == (0.5, 2, 1)
    assert np.isnan(bootstrap_sum([cell("a", [float("nan")]), cell("b", [1.0])], [0.5, 0.5]).value)


def test_weights() -> None:
    """Questions count equally within a solver, solvers within a group, and a contrast turns the second's sign."""
    small, large = cell("a", [0.0]), cell("b", [0.0, 1.0, 1.0])
    assert question_weights([small, large]) == [0.25, 0.75]
    cells, weights = group_weights({"x": [small, large], "y": [small]})
    assert weights == [0.125, 0.375, 0.5]
    both = subtract((cells, weights), ([large], [1.0]))
    assert both[1] == [0.125, 0.375, 0.5, -1.0]
    with pytest.raises(UsageError, match="weight"):
        bootstrap_sum([small], [])


def test_draws_do_not_depend_on_company() -> None:
    """A cell's interval is the same whatever other cells were drawn before it, and changes with the seed alone."""
    values = list(np.random.default_rng(0).random(10))
    alone = bootstrap_sum([cell("a", values)], [1.0], resamples=500)
    bootstrap_sum([cell("z", values)], [1.0], resamples=500)
    assert bootstrap_sum([cell("a", values)], [1.0], resamples=500) == alone
    assert bootstrap_sum([cell("a", values)], [1.0], resamples=500, seed=1) != alone
