"""Bootstrap intervals of cells, of averages of cells and of differences of averages: numbers in, numbers out.

A cell is one solver on one benchmark, with one number per question. Averages and contrasts are weighted sums of cells,
so one rule serves all of them: resample the questions of every cell, take the cell means, add them up with their
weights. Two designs are shown side by side: `independent` draws every cell's questions anew (as the paper does);
`joint` draws the same questions for all cells that share them (the same solver questions, and translations of one
item), which is right when cells depend on each other through their questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.metrics import Interval
from multilingual_math_audit.records import seed_from

Design = Literal["independent", "joint"]
Numbers = NDArray[np.float64]
NAN = float("nan")
RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class CellValues:
    """The per-question numbers of a cell, NaN where undefined, in the order of its items.

    `name` makes the cell's own draws; cells with the same `items` share them under the joint design.
    """

    name: str
    items: tuple[str, ...]
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean over the defined questions; NaN when there is none."""
        defined = np.array([value for value in self.values if not np.isnan(value)])
        return float(defined.mean()) if defined.size else NAN


def bootstrap_sum(
    cells: Sequence[CellValues],
    weights: Sequence[float],
    *,
    design: Design = "independent",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """A weighted sum of cell means with its percentile 95% interval over resampled questions.

    Undefined questions are left out and counted; a cell without a defined question makes the sum NaN. Weights 1/m give
    an average of m cells, n_i / N one weighted by questions, weights of both signs a contrast. Raises UsageError when
    cells and weights differ in number.

    >>> solved = CellValues("a", ("1", "2", "3", "4"), (0.0, 0.0, 1.0, 1.0))
    >>> interval = bootstrap_sum([solved], [1.0])
    >>> interval.value, interval.low, interval.high
    (0.5, 0.0, 1.0)
    >>> bootstrap_sum([solved, solved], [1.0, -1.0], design="joint").degenerate
    True
    """
    if len(cells) != len(weights):
        raise UsageError(f"There are {len(cells)} cells and {len(weights)} weights.", "Give one weight per cell.")
    n = sum(len(cell.values) for cell in cells)
    undefined = sum(int(np.isnan(value)) for cell in cells for value in cell.values)
    if not cells or any(np.isnan(cell.mean) for cell in cells):
        return Interval(NAN, NAN, NAN, n - undefined, undefined)
    total = np.zeros(resamples)
    for cell, weight in zip(cells, weights, strict=True):
        total += weight * draw_means(cell, design=design, resamples=resamples, seed=seed)
    value = round(float(sum(weight * cell.mean for cell, weight in zip(cells, weights, strict=True))), 12) + 0.0
    low, high = (float(round(end, 12)) + 0.0 for end in np.percentile(total, [2.5, 97.5]))
    return Interval(value, low, high, n - undefined, undefined)


def draw_means(cell: CellValues, *, design: Design, resamples: int, seed: int) -> Numbers:
    """Resampled means of one cell, shape (resamples,); the draws depend on names and seed alone."""
    key = cell.name if design == "independent" else "/".join(cell.items)
    drawn: Numbers = _draw_means(cell.values, seed_from("bootstrap", design, key, seed), resamples)
    return drawn


@lru_cache(maxsize=1024)
def _draw_means(values: tuple[float, ...], seed: int, resamples: int) -> Numbers:
    numbers = np.array(values)
    defined = ~np.isnan(numbers)
    filled = np.where(defined, numbers, 0.0)
    if defined.all() and np.ptp(filled) == 0:
        return np.full(resamples, float(filled[0]))
    generator = np.random.default_rng(seed)
    drawn = generator.integers(0, numbers.size, size=(resamples, numbers.size), dtype=np.int32)
    if defined.all():
        return np.asarray(filled[drawn].mean(axis=1))
    counted = defined[drawn].sum(axis=1)
    sums = filled[drawn].sum(axis=1)
    overall = filled.sum() / defined.sum()
    means: Numbers = np.where(counted > 0, sums / np.maximum(counted, 1), overall)
    return means


def question_weights(cells: Sequence[CellValues]) -> list[float]:
    """Weights that average cells by their number of questions.

    >>> question_weights([CellValues("a", ("1",), (0.0,)), CellValues("b", ("1", "2", "3"), (0.0, 1.0, 1.0))])
    [0.25, 0.75]
    """
    sizes = [len(cell.values) for cell in cells]
    return [size / sum(sizes) for size in sizes]


def group_weights(solvers: Mapping[str, Sequence[CellValues]]) -> tuple[list[CellValues], list[float]]:
    """The cells of several solvers with weights that average questions within a solver and solvers equally."""
    cells: list[CellValues] = []
    weights: list[float] = []
    for own in solvers.values():
        cells += own
        weights += [weight / len(solvers) for weight in question_weights(own)]
    return cells, weights


def subtract(
    first: tuple[Sequence[CellValues], Sequence[float]], second: tuple[Sequence[CellValues], Sequence[float]]
) -> tuple[list[CellValues], list[float]]:
    """The contrast of two weighted sums: the cells of both, the second's weights with the sign turned."""
    return [*first[0], *second[0]], [*first[1], *(-weight for weight in second[1])]
