"""A judge's verdict: read from one judgment, and decided from several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from multilingual_math_audit.records import FinishReason, VerdictReason
from multilingual_math_audit.records import Verdict as VerdictValue

Strategy = Literal["any", "majority", "all", "strict_majority"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one judgment says: `value` is yes, no or None, and `reason` says why there is none."""

    value: VerdictValue | None
    reason: VerdictReason


def parse_verdict(text: str, *, finish_reason: FinishReason = "stop") -> Verdict:
    """The verdict of one judgment."""
    raise RuntimeError("written next")


def approves(verdicts: Sequence[VerdictValue | None], strategy: Strategy = "majority") -> bool:
    """Whether the verdicts on one solution approve it: any has a yes; majority has more yes than no; all has nothing
    but yes; strict_majority has a yes in more than half of all judgments asked for.

    No judgments approve nothing.

    >>> approves(["yes", None, None]), approves(["yes", "no", None]), approves([])
    (True, False, False)
    >>> approves(["yes", None, None], "strict_majority"), approves(["yes", "yes", None], "all")
    (False, False)
    """
    yes, no = verdicts.count("yes"), verdicts.count("no")
    if strategy == "any":
        return yes > 0
    if strategy == "majority":
        return yes > no
    if strategy == "all":
        return 0 < yes == len(verdicts)
    return 2 * yes > len(verdicts)
