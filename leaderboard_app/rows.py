"""The lines of the leaderboard: a view of the board in, numbers out; no widget and no markup."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from multilingual_math_audit.evaluate.metrics import Interval, question_bootstraps, question_draws
from multilingual_math_audit.evaluate.verdicts import STRATEGIES, Strategy
from multilingual_math_audit.leaderboard_app.board import Board, Contamination, Numbers, Row, judge_key
from multilingual_math_audit.leaderboard_app.judges import AuditMark, audit_mark

SortKey = Literal[
    "cot_pass_k", "pass_k", "pass_1", "difference", "stop_rate", "judge_stop_rate", "tokens", "solver", "judge",
    "budget", "trust",
]  # fmt: skip
SORT_KEYS: tuple[SortKey, ...] = get_args(SortKey)
RANKED: tuple[SortKey, ...] = ("cot_pass_k", "pass_k", "pass_1")
PAGE_SIZE = 25
# A label cannot begin with a bracket, so no judge is called so.
NO_JUDGE = "(none)"
SIZES: tuple[tuple[str, float], ...] = (("<3", 3), ("3-10", 10), ("10-40", 40), (">40", math.inf))


@dataclass(frozen=True, slots=True)
class View:
    """What a visitor asked to see; empty tuples mean all."""

    k: int = 1
    strategy: Strategy = "majority"
    benchmarks: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    trusts: tuple[str, ...] = ()
    budgets: tuple[str, ...] = ()
    audited: bool = False
    search: str = ""
    sort: SortKey = "cot_pass_k"
    ascending: bool = False
    page: int = 1


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table. A number that is not defined is None, and `why` says why.

    Rates and differences are shares (0 to 1). `rank` is shared by lines whose paired difference is within chance.
    """

    row: Row
    rank: int | None
    pass_1: float | None
    pass_k: Interval | None
    cot_pass_k: Interval | None
    difference: Interval | None
    acceptance: float | None
    stop_rate: float | None
    judge_stop_rate: float | None
    tokens: float | None
    pending: int
    covered: int
    why: str
    mark: AuditMark
    contamination: Contamination


@dataclass(frozen=True, slots=True)
class Table:
    """One page of lines, how many there are on all pages, and what they are averages of."""

    lines: tuple[Line, ...]
    total: int
    pages: int
    page: int
    benchmarks: tuple[str, ...]
    questions: int


def chosen_benchmarks(board: Board, view: View) -> tuple[str, ...]:
    """The benchmarks a view averages over, in the board's order."""
    wanted = view.benchmarks or board.default_benchmarks
    return tuple(
        name
        for name, cell in board.cells.items()
        if name in wanted and (not view.languages or cell.questions.language in view.languages)
    )


def make_table(board: Board, view: View, *, page_size: int = PAGE_SIZE) -> Table:
    """One page of the leaderboard.

    Averages weight every question alike. A row without all chosen benchmarks has no averages and stands last, as does
    every line without the number that is sorted by.
    """
    names = chosen_benchmarks(board, view)
    kept = np.array([index for index, row in enumerate(board.rows) if passes(board, row, view)], dtype=np.intp)
    if names:
        kept = kept[np.any([board.cells[name].covered[kept] for name in names], axis=0)] if len(kept) else kept
    else:
        kept = kept[:0]
    numbers = _Numbers(board, view, names, kept)
    order = numbers.order()
    pages = max(1, -(-len(order) // page_size))
    page = min(max(view.page, 1), pages)
    ranks = numbers.ranks(order, until=page * page_size)
    shown = order[(page - 1) * page_size : page * page_size]
    lines = numbers.lines(shown, ranks)
    questions = sum(len(board.cells[name].questions.counted) for name in names)
    return Table(tuple(lines), len(order), pages, page, names, questions)


def all_lines(board: Board, view: View) -> tuple[Line, ...]:
    """Every line of a view, for a download."""
    return make_table(board, dataclasses.replace(view, page=1), page_size=max(1, len(board.rows))).lines


def size_of(row: Row) -> str | None:
    """The size class of a row's solver; None where its size is not known."""
    size = row.solver.parameters
    return None if size is None else next(name for name, limit in SIZES if size < limit)


def passes(board: Board, row: Row, view: View) -> bool:
    """Whether a row passes every filter of a view."""
    return (
        (not view.families or row.solver.family in view.families)
        and (not view.sizes or size_of(row) in view.sizes)
        and (not view.modes or row.solver.mode in view.modes)
        and (not view.judges or (row.judge_label or NO_JUDGE) in view.judges)
        and (not view.trusts or row.trust in view.trusts)
        and (not view.budgets or str(row.budget) in view.budgets)
        and (not view.audited or (row.judge is not None and judge_key(row.judge) in board.audits))
        and all(word in row.words for word in view.search.casefold().split())
    )


class _Numbers:
    """The numbers of the kept rows, each computed for all of them at once or for a page only."""

    def __init__(self, board: Board, view: View, names: Sequence[str], kept: NDArray[np.intp]) -> None:
        self.board, self.view, self.names, self.kept = board, view, names, kept
        self.rows = [board.rows[index] for index in kept]
        self.pass_k = self._per_question("correct", view.k)
        self.cot_k = self._per_question(view.strategy, view.k)
        self.pass_1 = self.pass_k if view.k == 1 else self._per_question("correct", 1)

    def _per_question(self, kind: Literal["correct"] | Strategy, k: int) -> Numbers:
        if not self.names:
            return np.empty((len(self.kept), 0))
        return np.concatenate([self.board.cells[name].values(kind, k)[self.kept] for name in self.names], axis=1)

    def _sorted_by(self) -> Numbers:
        """The number each row is sorted by, NaN where it has none."""
        key = self.view.sort
        if key in ("pass_k", "pass_1", "cot_pass_k", "difference"):
            means: Numbers = self._table(key).mean(axis=1) if self.names else np.full(len(self.rows), np.nan)
            return means
        values: list[float | None]
        if key == "budget":
            values = [row.budget or None for row in self.rows]
        elif key == "trust":
            values = [{"self-reported": 0, "reproducible": 1, "verified": 2}[row.trust] for row in self.rows]
        else:
            values = [getattr(row_totals(row, self.names), key, None) for row in self.rows]
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)

    def _table(self, key: str) -> Numbers:
        tables = {"pass_k": self.pass_k, "pass_1": self.pass_1, "cot_pass_k": self.cot_k}
        return tables[key] if key in tables else self.pass_k - self.cot_k

    def order(self) -> NDArray[np.intp]:
        """The rows in the order asked for; those without the number last, whichever way; ties by name."""
        names = [(row.solver.model.casefold(), row.judge_label or "", row.id) for row in self.rows]
        if self.view.sort == "judge":
            names = [(judge.casefold(), solver, row) for solver, judge, row in names]
        by_name = sorted(range(len(names)), key=names.__getitem__)
        if self.view.sort in ("solver", "judge"):
            return np.array(by_name if self.view.ascending else by_name[::-1], dtype=np.intp)
        place = np.empty(len(names), dtype=np.intp)
        place[by_name] = np.arange(len(names))
        values = self._sorted_by()
        return np.lexsort((place, np.nan_to_num(values if self.view.ascending else -values), np.isnan(values)))

    def ranks(self, order: NDArray[np.intp], *, until: int) -> dict[int, int]:
        """Ranks of the first rows: a row that is not below the leader of its group beyond chance shares its rank.

        Whether it is, is read from the paired question bootstrap of the difference to the leader: shared unless its
        95% interval lies above zero.
        """
        if self.view.sort not in RANKED or self.view.ascending:
            return {}
        table = self._table(self.view.sort)
        ranked = [int(index) for index in order if not np.isnan(table[index]).any()]
        if not ranked or table.shape[1] == 0:
            return {}
        draws = question_draws(table.shape[1])
        ranks: dict[int, int] = {}
        start = 0
        while start < min(len(ranked), until):
            end = _group_end(table[ranked], start, draws)
            ranks.update(dict.fromkeys(ranked[start:end], start + 1))
            start = end
        return ranks

    def lines(self, shown: NDArray[np.intp], ranks: Mapping[int, int]) -> list[Line]:
        """The lines of some rows, with their intervals."""
        intervals = {key: self._intervals(self._table(key)[shown]) for key in ("pass_k", "cot_pass_k", "difference")}
        return [
            self._line(int(index), ranks.get(int(index)), {key: found[at] for key, found in intervals.items()})
            for at, index in enumerate(shown)
        ]

    def _intervals(self, table: Numbers) -> list[Interval | None]:
        whole = ~np.isnan(table).any(axis=1) & (table.shape[1] > 0)
        found = iter(question_bootstraps(table[whole]) if whole.any() else [])
        return [next(found) if there else None for there in whole]

    def _line(self, index: int, rank: int | None, intervals: Mapping[str, Interval | None]) -> Line:
        row = self.rows[index]
        totals = row_totals(row, self.names)
        pass_1 = float(self.pass_1[index].mean()) if self.names else math.nan
        return Line(
            row=row,
            rank=rank,
            pass_1=None if math.isnan(pass_1) else pass_1,
            pass_k=intervals["pass_k"],
            cot_pass_k=intervals["cot_pass_k"],
            difference=intervals["difference"],
            acceptance=totals.acceptance.get(self.view.strategy),
            stop_rate=totals.stop_rate,
            judge_stop_rate=totals.judge_stop_rate,
            tokens=totals.tokens,
            pending=totals.pending,
            covered=totals.covered,
            why=self._why(row, totals, intervals),
            mark=audit_mark(self.board, row.judge),
            contamination=contamination_over(row, self.board, self.names),
        )

    def _why(self, row: Row, totals: Totals, intervals: Mapping[str, Interval | None]) -> str:
        if totals.covered < len(self.names):
            return "not_covered"
        if totals.ungraded:
            return "ungraded"
        if intervals["pass_k"] is None:
            return "k_too_large"
        if row.judge is None:
            return "no_judge"
        if totals.pending:
            return "pending"
        return "" if intervals["cot_pass_k"] is not None else "no_counts"


def _group_end(table: Numbers, start: int, draws: Numbers, *, step: int = 16) -> int:
    """Where the group of rows that begins at `start` ends."""
    for at in range(start + 1, len(table), step):
        below = (table[start] - table[at : at + step]) @ draws.T
        beyond = ((below <= 1e-12).mean(axis=1) < 0.025).nonzero()[0]
        if len(beyond):
            return at + int(beyond[0])
    return len(table)


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums of a row over benchmarks that are shares or counts; None where the submission does not have them."""

    covered: int
    pending: int
    ungraded: int
    stop_rate: float | None
    judge_stop_rate: float | None
    tokens: float | None
    acceptance: Mapping[str, float]


def row_totals(row: Row, names: Sequence[str]) -> Totals:
    """A row's stop rates, tokens per sample and acceptance over the chosen benchmarks that it has."""
    parts = [_sums(row, name) for name in names if name in row.entry.submission.benchmarks]
    judged = [part for part in parts if part["judged"] is not None]

    def total(key: str, over: Sequence[Mapping[str, int | None]]) -> int | None:
        values = [part[key] for part in over]
        return None if not values or None in values else sum(value or 0 for value in values)

    samples, solutions = total("n", parts) or 0, total("judged", judged) or 0
    shares = {strategy: _share(total(strategy, judged), solutions) for strategy in STRATEGIES}
    return Totals(
        covered=len(parts),
        pending=total("pending", judged) or 0,
        ungraded=total("ungraded", parts) or 0,
        stop_rate=_share(total("stopped", parts), samples),
        judge_stop_rate=_share(total("judge_stopped", judged), total("judgments", judged) or 0),
        tokens=_share(total("tokens", parts), samples),
        acceptance={strategy: share for strategy, share in shares.items() if share is not None},
    )


def _sums(row: Row, name: str) -> Mapping[str, int | None]:
    """The sums of one benchmark's columns for one row, added up once."""
    if name not in row.sums:
        counts = row.entry.submission.benchmarks[name]
        judged = counts.judges.get(row.judge_label or "")
        row.sums[name] = {
            "n": sum(counts.n),
            "ungraded": sum(counts.ungraded or ()),
            "stopped": _sum(counts.stopped),
            "tokens": _sum(counts.completion_tokens),
            "judged": _sum(judged.judged) if judged else None,
            "pending": _sum(judged.pending) if judged else None,
            "judgments": _sum(judged.judgments) if judged else None,
            "judge_stopped": _sum(judged.stopped) if judged else None,
        } | {strategy: _sum(getattr(judged.approved, strategy)) if judged else None for strategy in STRATEGIES}
    return row.sums[name]


def contamination_over(row: Row, board: Board, names: Sequence[str]) -> Contamination:
    """The worst contamination mark of a row over benchmarks."""
    marks = {row.contamination(board.cells[name].questions) for name in names}
    return "unknown" if "unknown" in marks or not marks else "after" if "after" in marks else "before"


def _sum(column: Sequence[int] | None) -> int | None:
    return None if column is None else sum(column)


def _share(part: int | None, whole: int) -> float | None:
    return None if part is None or whole == 0 else part / whole
