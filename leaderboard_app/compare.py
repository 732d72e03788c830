"""Two rows of the board, question by question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from multilingual_math_audit.evaluate.metrics import Interval, question_bootstrap
from multilingual_math_audit.evaluate.statistics import mcnemar_exact
from multilingual_math_audit.evaluate.verdicts import Strategy
from multilingual_math_audit.leaderboard_app.board import Board, Numbers

Metric = Literal["pass_k", "cot_pass_k"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """First row minus second over the questions both have.

    `won`, `lost` and `tied` count questions by who has the higher value; `p` is the exact two-sided sign test of won
    against lost (McNemar's test of the untied questions). `largest` holds the questions that differ most.
    """

    difference: Interval
    won: int
    lost: int
    tied: int
    p: float
    largest: tuple[tuple[str, float, float], ...]


def compare_rows(
    board: Board, first: str, second: str, *, names: Sequence[str], k: int, metric: Metric, strategy: Strategy
) -> Comparison | None:
    """The paired comparison of two rows; None where they share no question with a defined value."""
    if first not in board.place or second not in board.place:
        return None
    kind: Literal["correct"] | Strategy = "correct" if metric == "pass_k" else strategy
    cells = [board.cells[name] for name in names if name in board.cells]
    if not cells:
        return None
    questions = np.array([question for cell in cells for question in cell.questions.counted])
    table: Numbers = np.concatenate([cell.values(kind, k) for cell in cells], axis=1)
    a, b = table[board.place[first]], table[board.place[second]]
    both = ~np.isnan(a) & ~np.isnan(b)
    if not both.any():
        return None
    a, b, questions = a[both], b[both], questions[both]
    # Values that differ by less than rounding are the same number reached by two roads.
    sign = np.sign(np.where(np.abs(a - b) < 1e-12, 0, a - b))
    won, lost = int((sign > 0).sum()), int((sign < 0).sum())
    order = np.argsort(-np.abs(a - b), kind="stable")[:10]
    largest = tuple((str(questions[i]), float(a[i]), float(b[i])) for i in order if sign[i])
    return Comparison(question_bootstrap(a - b), won, lost, len(a) - won - lost, mcnemar_exact(won, lost), largest)
