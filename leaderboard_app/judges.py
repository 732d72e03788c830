"""What the audits on record say of each judge; the intervals and the verdict are the audit's own functions."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from multilingual_math_audit.evaluate.sensitivity import Sensitivity, Words, judge_intervals, measure_sensitivity
from multilingual_math_audit.evaluate.statistics import (
    Difference,
    balanced_bootstrap,
    paired_bootstrap,
    wilson_interval,
)
from multilingual_math_audit.leaderboard_app.board import Board, JudgeKey, judge_key
from multilingual_math_audit.submissions.accept import Entry
from multilingual_math_audit.submissions.submission import Audit, Edit, Judge, Pair

AuditMark = Literal["no_judge", "unaudited", "reads", "blind", "unclear"]
MARKS: dict[str, AuditMark] = {
    "reads the chain": "reads",
    "does not react to the tested chain errors": "blind",
    "not enough data": "unclear",
}
UNKNOWN = Difference(math.nan, math.nan, math.nan, True)
Expanded = tuple[list[bool], list[bool]]


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The share of variants of one edit that a judge accepted under majority, with Wilson's 95% interval."""

    edit: str
    accepted: int
    n: int
    low: float
    high: float

    @property
    def value(self) -> float:
        return self.accepted / self.n


@dataclass(frozen=True, slots=True)
class JudgeLine:
    """One judge on record: acceptance per edit, the three sensitivities and the verdict.

    Over some of the audit's benchmarks the verdict stays that of the whole audit; where the audit has no counts per
    question, its pairs pool all benchmarks, and over some of them the sensitivities are not defined (`split`).
    """

    judge: Judge
    entry: Entry
    originals: int
    acceptances: tuple[Acceptance, ...]
    sensitivity: Sensitivity
    verdict: tuple[Words, ...]
    clustered: bool
    split: bool
    benchmarks: tuple[tuple[str, tuple[Acceptance, ...]], ...]

    @property
    def mark(self) -> AuditMark:
        return MARKS.get(self.verdict[0], "unclear")


def sort_lines(lines: Sequence[JudgeLine]) -> list[JudgeLine]:
    """Lines of judges, the most sensitive to the chain first; undefined ones last."""
    return sorted(lines, key=lambda line: (math.isnan(v := line.sensitivity.chain.value), -v, line.judge.model))


def audit_mark(board: Board, judge: Judge | None) -> AuditMark:
    """How a row's judge stands: no judge, no audit on record, or what its audit says."""
    if judge is None:
        return "no_judge"
    key = judge_key(judge)
    return describe_audit(board, key).mark if key in board.audits else "unaudited"


def describe_audit(board: Board, key: JudgeKey, names: Sequence[str] = ()) -> JudgeLine:
    """The line of one judge on record, over some of its audit's benchmarks or over all of them."""
    judge, audit, entry = board.audits[key]
    chosen = tuple(name for name in audit.benchmarks if not names or name in names)
    return _describe(judge, audit, entry, chosen)


# Keyed by content, so an audit is described once however often the page is drawn.
_CACHE: dict[tuple[str, JudgeKey, tuple[str, ...]], JudgeLine] = {}
_MOST_CACHED = 2_000


def _describe(judge: Judge, audit: Audit, entry: Entry, names: tuple[str, ...]) -> JudgeLine:
    place = (entry.submission.digest, judge_key(judge), names)
    if place not in _CACHE:
        if len(_CACHE) >= _MOST_CACHED:
            _CACHE.clear()
        _CACHE[place] = _line(judge, audit, entry, names)
    return _CACHE[place]


def _line(judge: Judge, audit: Audit, entry: Entry, names: tuple[str, ...]) -> JudgeLine:
    whole = names == tuple(audit.benchmarks)
    part = audit.model_copy(update={"benchmarks": {name: audit.benchmarks[name] for name in names}})
    edits = _common_edits(audit)
    clustered = all(counts.per_question is not None for counts in part.benchmarks.values())
    originals = sum(counts.originals for counts in part.benchmarks.values())
    if clustered:
        sensitivity = _from_questions(part)
    elif whole:
        sensitivity = _from_pairs(part)
    else:
        sensitivity = Sensitivity(originals, originals, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)
    return JudgeLine(
        judge=judge,
        entry=entry,
        originals=originals,
        acceptances=tuple(_acceptance(part, edit, names) for edit in edits),
        sensitivity=sensitivity,
        verdict=judge_intervals(sensitivity)
        if whole
        else _describe(judge, audit, entry, tuple(audit.benchmarks)).verdict,
        clustered=clustered,
        split=not clustered and not whole,
        benchmarks=tuple((name, tuple(_acceptance(part, edit, [name]) for edit in edits)) for name in names),
    )


def _common_edits(audit: Audit) -> list[str]:
    first, *others = audit.benchmarks.values()
    shared = set(first.accepted).intersection(*(part.accepted for part in others))
    return [edit for edit in get_args(Edit) if edit in shared]


def _acceptance(audit: Audit, edit: str, names: Sequence[str]) -> Acceptance:
    parts = [audit.benchmarks[name] for name in names]
    accepted = sum(count.majority for part in parts for key, count in part.accepted.items() if key == edit)
    n = sum(part.originals for part in parts)
    return Acceptance(edit, accepted, n, *wilson_interval(accepted, n))


def _from_questions(audit: Audit) -> Sensitivity:
    """From counts per question: within a question only sums matter to intervals that resample questions."""
    edits = [edit for edit in _common_edits(audit) if edit in ("clean", "intermediate", "final_answer", "consistent")]
    accepted: dict[str, list[bool]] = {edit: [] for edit in edits}
    clusters: list[str] = []
    for part in audit.benchmarks.values():
        if part.per_question is None:
            continue
        per = part.per_question
        for place, (question, originals) in enumerate(zip(per.questions, per.originals, strict=True)):
            clusters += [item_of(question)] * originals
            for edit in edits:
                yes = next(column for key, column in per.accepted.items() if key == edit)[place]
                accepted[edit] += [True] * yes + [False] * (originals - yes)
    if len(edits) < 4:
        return Sensitivity(len(clusters), len(set(clusters)), UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)
    return measure_sensitivity(accepted, clusters)


def _from_pairs(audit: Audit) -> Sensitivity:
    """From pooled pairs: the originals are known pair by pair, but not which question they are of."""
    n = sum(part.originals for part in audit.benchmarks.values())
    pairs = {(pair.first, pair.second): pair for pair in audit.pairs or ()}

    def minus(first: str, second: str) -> Difference:
        for (a, b), pair in pairs.items():
            if {a, b} == {first, second}:
                left, right = _expand(pair)
                return paired_bootstrap(*((right, left) if a == first else (left, right)))
        return UNKNOWN

    chain = next((pair for place, pair in pairs.items() if place == ("clean", "intermediate")), None)
    balance = balanced_bootstrap(*_expand(chain), clusters=range(n)) if chain else UNKNOWN
    return Sensitivity(
        n,
        n,
        minus("clean", "intermediate"),
        minus("clean", "final_answer"),
        minus("consistent", "final_answer"),
        balance,
    )


def _expand(pair: Pair) -> Expanded:
    first = [True] * (pair.both + pair.first_only) + [False] * (pair.second_only + pair.neither)
    second = [True] * pair.both + [False] * pair.first_only + [True] * pair.second_only + [False] * pair.neither
    return first, second


@functools.lru_cache(maxsize=4096)
def item_of(question: str) -> str:
    """What a question is across translations.

    >>> item_of("aime2026_tr/7"), item_of("pt_exams/3")
    ('aime2026/7', 'pt_exams/3')
    """
    name, _, number = question.rpartition("/")
    return f"{name.removesuffix('_en').removesuffix('_tr').removesuffix('_pt')}/{number}"
