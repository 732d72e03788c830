"""Per-question counts: what every score, table, submission and row of the leaderboard is computed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from multilingual_math_audit.evaluate.verdicts import Strategy
from multilingual_math_audit.records import Language, VerdictReason


@dataclass(frozen=True, slots=True)
class JudgeCounts:
    """What one judge said about the correct solutions of one question.

    `approved` counts correct solutions per strategy; a correct solution without all its judgments is `pending` and is
    counted in no strategy. `no_verdict` counts judgments by why they have none; `stopped` those that met the limit,
    with a verdict or not; `single_vote` the majority acceptances that rest on one yes; `credited` the correct solutions
    approved under majority when stopped judgments without a verdict are turned into approvals (the counterfactual).
    `copied` of the judgments were taken over from a solution of the same text. `unknown_stops` of them do not say
    whether they met the limit and `unknown_tokens` not how long they were (both of runs of other harnesses).
    """

    judged: int
    pending: int
    approved: Mapping[Strategy, int]
    judgments: int
    copied: int
    no_verdict: Mapping[VerdictReason, int]
    stopped: int
    single_vote: int
    credited: int
    completion_tokens: int
    unknown_stops: int = 0
    unknown_tokens: int = 0


@dataclass(frozen=True, slots=True)
class QuestionCounts:
    """One question of one solver: n samples, how many are correct, how many met the limit, and each judge's counts.

    `ungraded` samples are in n and not in `correct`; a question with any is incomplete. `unknown_stops` samples do not
    say whether they met the limit, `unknown_tokens` not how long they were.
    """

    problem_id: str
    item: str
    benchmark: str
    language: Language
    solver: str
    n: int
    correct: int
    ungraded: int
    stopped: int
    completion_tokens: int
    judges: Mapping[str, JudgeCounts] = field(default_factory=dict)
    unknown_stops: int = 0
    unknown_tokens: int = 0
