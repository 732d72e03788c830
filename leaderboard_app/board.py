"""Accepted submissions as arrays: one row per solver, mode, judge and budget; one column per question."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from multilingual_math_audit.evaluate.metrics import pass_at_k
from multilingual_math_audit.evaluate.verdicts import STRATEGIES, Strategy
from multilingual_math_audit.submissions.accept import TRUSTS, Entry, Trust, Unreadable, read_entries
from multilingual_math_audit.submissions.question_sets import QuestionSet, question_sets
from multilingual_math_audit.submissions.submission import Audit, BenchmarkCounts, Judge, Model

Counts = NDArray[np.int32]
Numbers = NDArray[np.float64]
Contamination = Literal["before", "after", "unknown"]
JudgeKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the board: a submission under one of its judges, or under none."""

    id: str
    entry: Entry
    solver: Model
    judge_label: str | None
    judge: Judge | None
    sums: dict[str, dict[str, int | None]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def trust(self) -> Trust:
        return self.entry.acceptance.trust

    @property
    def budget(self) -> int:
        """The solver's token budget; 0 where it is not known."""
        return self.solver.settings.budget or 0

    @property
    def words(self) -> str:
        """What a search looks through."""
        who = self.entry.submission.submitter.name
        return " ".join((self.solver.model, self.solver.family or "", self.judge_label or "", who)).casefold()

    def contamination(self, benchmark: QuestionSet) -> Contamination:
        """Whether the model was released before the questions were public."""
        if self.solver.released is None:
            return "unknown"
        return "before" if self.solver.released < benchmark.date else "after"


@dataclass(frozen=True)
class Cell:
    """One benchmark of the board: arrays of shape [rows, counted questions].

    `covered` says which rows have it, `judged` which rows' judge has. `approved` is by strategy and -1 where a strategy
    has no counts; `pending` and `ungraded` are whole numbers per row.
    """

    questions: QuestionSet
    covered: NDArray[np.bool_]
    judged: NDArray[np.bool_]
    n: Counts
    correct: Counts
    approved: dict[Strategy, Counts]
    pending: Counts
    ungraded: Counts

    @cached_property
    def pairs(self) -> dict[str, tuple[Counts, NDArray[np.intp]]]:
        """The distinct (n, count) pairs of each kind of count, and where each question's pair stands among them."""
        kinds: dict[str, Counts] = {"correct": self.correct} | {str(key): part for key, part in self.approved.items()}
        return {name: self._pairs(counts) for name, counts in kinds.items()}

    def _pairs(self, counts: Counts) -> tuple[Counts, NDArray[np.intp]]:
        width = int(self.n.max(initial=0)) + 1
        codes = self.n.astype(np.int64) * width + np.maximum(counts, 0)
        unique, inverse = np.unique(codes, return_inverse=True)
        return np.stack([unique // width, unique % width]).astype(np.int32), inverse.reshape(codes.shape)

    def values(self, kind: Literal["correct"] | Strategy, k: int) -> Numbers:
        """Pass@k per row and question from the correct samples, or CoT-Pass@k from those approved under a strategy.

        NaN where it is not defined: no counts, samples without a grade, pending judgments, or fewer samples than k.
        """
        pairs, inverse = self.pairs[kind]
        values: Numbers = np.asarray(pass_at_k(pairs[0], pairs[1], k), dtype=np.float64)[inverse]
        undefined = ~self.covered | (self.ungraded > 0)
        if kind != "correct":
            undefined = undefined | ~self.judged | (self.pending > 0) | (self.approved[kind] < 0).any(axis=1)
        return np.where(undefined[:, None], np.nan, values)


@dataclass(frozen=True)
class Board:
    """The whole board."""

    entries: tuple[Entry, ...]
    unreadable: tuple[Unreadable, ...]
    rows: tuple[Row, ...]
    cells: dict[str, Cell]
    audits: dict[JudgeKey, tuple[Judge, Audit, Entry]] = field(default_factory=dict)

    @cached_property
    def largest_n(self) -> int:
        """The most samples any question has; the end of the k slider."""
        return max((int(cell.n.max(initial=1)) for cell in self.cells.values()), default=1)

    @cached_property
    def place(self) -> dict[str, int]:
        """Where a row stands, by id."""
        return {row.id: index for index, row in enumerate(self.rows)}

    @cached_property
    def judge_labels(self) -> dict[JudgeKey, frozenset[str]]:
        """Under which labels each judge stands in the submissions."""
        labels: dict[JudgeKey, set[str]] = {}
        for entry in self.entries:
            for label, judge in entry.submission.judges.items():
                labels.setdefault(judge_key(judge), set()).add(label)
        return {key: frozenset(found) for key, found in labels.items()}

    @cached_property
    def default_benchmarks(self) -> tuple[str, ...]:
        """The benchmarks that most rows have in common."""
        kinds: dict[tuple[str, ...], int] = {}
        for index in range(len(self.rows)):
            held = tuple(name for name, cell in self.cells.items() if cell.covered[index])
            kinds[held] = kinds.get(held, 0) + 1
        return max(kinds, key=lambda held: (kinds[held], len(held)), default=())


def load_board(folder: Path) -> Board:
    """The board of a folder of accepted submissions; an empty or missing folder gives an empty board."""
    with _collecting_later():
        found = list(read_entries(folder)) if folder.is_dir() else []
    return build_board(
        [item for item in found if isinstance(item, Entry)], [item for item in found if isinstance(item, Unreadable)]
    )


@contextmanager
def _collecting_later() -> Iterator[None]:
    """No search for reference cycles meanwhile: entries have none, and every search walks all of them again."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        # Entries stay as long as the board does: later searches need not walk them either.
        gc.freeze()
        if collecting:
            gc.enable()


def build_board(entries: Iterable[Entry], unreadable: Iterable[Unreadable] = ()) -> Board:
    """The board of entries that were checked; of one content accepted twice the entry of the highest trust stands."""
    best: dict[str, Entry] = {}
    for entry in entries:
        other = best.setdefault(entry.submission.digest, entry)
        if TRUSTS.index(entry.acceptance.trust) > TRUSTS.index(other.acceptance.trust):
            best[entry.submission.digest] = entry
    kept = tuple(best.values())
    rows = tuple(row for entry in kept for row in _rows(entry))
    cells = {
        name: _cell(known, rows)
        for name, known in question_sets().items()
        if any(name in row.entry.submission.benchmarks for row in rows)
    }
    return Board(kept, tuple(unreadable), rows, cells, _audits(kept))


def judge_key(judge: Judge) -> JudgeKey:
    """What makes two judges the same for the question whether one was audited: the model and its mode."""
    return judge.model, judge.mode


def _rows(entry: Entry) -> list[Row]:
    submission = entry.submission
    if submission.solver is None or not submission.benchmarks:
        return []
    used = sorted({label for counts in submission.benchmarks.values() for label in counts.judges})
    labels: list[str | None] = [*used] or [None]
    return [
        Row(
            id=f"{submission.digest}-{number}",
            entry=entry,
            solver=submission.solver,
            judge_label=label,
            judge=submission.judges[label] if label else None,
        )
        for number, label in enumerate(labels)
    ]


def _audits(entries: Iterable[Entry]) -> dict[JudgeKey, tuple[Judge, Audit, Entry]]:
    """The audit on record of each judge: of the highest trust, then of the most originals, then the newest.

    So nobody puts a small or unchecked audit in the place of a larger or a checked one.
    """
    found = [
        (judge, judge.audit, entry)
        for entry in entries
        for judge in entry.submission.judges.values()
        if judge.audit is not None
    ]
    return {judge_key(judge): (judge, audit, entry) for judge, audit, entry in sorted(found, key=_weight)}


def _weight(found: tuple[Judge, Audit, Entry]) -> tuple[int, int, str, str]:
    _, audit, entry = found
    originals = sum(part.originals for part in audit.benchmarks.values())
    return TRUSTS.index(entry.acceptance.trust), originals, entry.acceptance.day, entry.submission.digest


def _cell(known: QuestionSet, rows: tuple[Row, ...]) -> Cell:
    shape = (len(rows), len(known.counted))
    cell = Cell(
        questions=known,
        covered=np.zeros(len(rows), bool),
        judged=np.zeros(len(rows), bool),
        n=np.zeros(shape, np.int32),
        correct=np.zeros(shape, np.int32),
        approved={strategy: np.full(shape, -1, np.int32) for strategy in STRATEGIES},
        pending=np.zeros(len(rows), np.int32),
        ungraded=np.zeros(len(rows), np.int32),
    )
    for index, row in enumerate(rows):
        counts = row.entry.submission.benchmarks.get(known.name)
        if counts is not None:
            _fill(cell, index, row, counts)
    return cell


def _fill(cell: Cell, index: int, row: Row, counts: BenchmarkCounts) -> None:
    order: slice | NDArray[np.intp] = slice(None)
    if tuple(counts.questions) != cell.questions.counted:
        columns = [cell.questions.place.get(question, -1) for question in counts.questions]
        order = np.argsort(np.array(columns), kind="stable")[sum(column < 0 for column in columns) :]

    def column(values: list[int] | None) -> Counts:
        return np.asarray(values if values is not None else [0] * len(counts.questions), dtype=np.int32)[order]

    cell.covered[index] = True
    cell.n[index], cell.correct[index] = column(counts.n), column(counts.correct)
    cell.ungraded[index] = column(counts.ungraded).sum()
    judged = counts.judges.get(row.judge_label) if row.judge_label else None
    if judged is None:
        return
    cell.judged[index] = True
    cell.pending[index] = column(judged.pending).sum()
    for strategy in STRATEGIES:
        values: list[int] | None = getattr(judged.approved, strategy)
        if values is not None:
            cell.approved[strategy][index] = column(values)
