"""What a judge reacts to, from its verdicts on paired variants alone: four pairs, three numbers, a verdict in words."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from multilingual_math_audit.evaluate.statistics import (
    Difference,
    balanced_bootstrap,
    holm,
    mcnemar_exact,
    paired_bootstrap,
)

# The pairs of the paper: what is taken from the first is seen in the second.
PAIRS: tuple[tuple[str, str], ...] = (
    ("clean", "intermediate"),
    ("clean", "truncation"),
    ("clean", "final_answer"),
    ("final_answer", "consistent"),
)
Words = Literal["reads the chain", "does not react to the tested chain errors", "rewards agreement", "not enough data"]
# A judge whose reaction is with 95% confidence below ten points does not react; fewer questions than five tell nothing.
NEGLIGIBLE = 0.10
FEWEST_ORIGINALS, FEWEST_QUESTIONS = 10, 5
Accepted = Mapping[str, Sequence[bool]]


@dataclass(frozen=True, slots=True)
class Contrast:
    """Acceptance of `b` minus acceptance of `a` over paired originals, with intervals and an exact test.

    `low` and `high` resample originals, `clustered_low` and `clustered_high` questions. `p` is McNemar's, `p_holm` the
    same adjusted over the family of four.
    """

    a: str
    b: str
    n: int
    both: int
    only_a: int
    only_b: int
    neither: int
    difference: float
    low: float
    high: float
    clustered_low: float
    clustered_high: float
    degenerate: bool
    p: float
    p_holm: float


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The three numbers and the balance, each with its interval over resampled questions.

    `chain` is clean minus intermediate acceptance, `answer` clean minus final-answer acceptance, `agreement` consistent
    minus final-answer acceptance; `balance` is the harmonic mean of clean acceptance and the rejection of intermediate.
    """

    originals: int
    questions: int
    chain: Difference
    answer: Difference
    agreement: Difference
    balance: Difference

    def verdict(self) -> tuple[Words, ...]:
        """The verdict in words, from the intervals alone."""
        return judge_intervals(self)


def compare_pairs(accepted: Accepted, clusters: Sequence[Hashable], *, resamples: int = 20_000) -> list[Contrast]:
    """The four pairs of the paper; `accepted` has one entry per original under each edit, `clusters` its question."""
    tests = [_counts(accepted[a], accepted[b]) for a, b in PAIRS]
    p_values = [mcnemar_exact(only_a, only_b) for _, only_a, only_b, _ in tests]
    adjusted = holm(p_values)
    contrasts = []
    for index, (a, b) in enumerate(PAIRS):
        plain = paired_bootstrap(accepted[a], accepted[b], resamples=resamples)
        clustered = paired_bootstrap(accepted[a], accepted[b], clusters=clusters, resamples=resamples)
        both, only_a, only_b, neither = tests[index]
        contrasts.append(
            Contrast(
                a,
                b,
                len(clusters),
                both,
                only_a,
                only_b,
                neither,
                plain.value,
                plain.low,
                plain.high,
                clustered.low,
                clustered.high,
                clustered.degenerate,
                p_values[index],
                adjusted[index],
            )
        )
    return contrasts


def _counts(a: Sequence[bool], b: Sequence[bool]) -> tuple[int, int, int, int]:
    pairs = list(zip(a, b, strict=True))
    return (
        sum(x and y for x, y in pairs),
        sum(x and not y for x, y in pairs),
        sum(y and not x for x, y in pairs),
        sum(not x and not y for x, y in pairs),
    )


def measure_sensitivity(accepted: Accepted, clusters: Sequence[Hashable], *, resamples: int = 20_000) -> Sensitivity:
    """The three numbers and the balance.

    >>> every = [True] * 20
    >>> found = measure_sensitivity(dict.fromkeys(["clean", "intermediate", "final_answer", "consistent"], every),
    ...                             [f"q{i}" for i in range(20)])
    >>> found.chain.value, found.balance.value, found.verdict()
    (0.0, 0.0, ('does not react to the tested chain errors',))
    """

    def minus(a: str, b: str) -> Difference:
        return paired_bootstrap(accepted[b], accepted[a], clusters=clusters, resamples=resamples)

    return Sensitivity(
        originals=len(clusters),
        questions=len(set(clusters)),
        chain=minus("clean", "intermediate"),
        answer=minus("clean", "final_answer"),
        agreement=minus("consistent", "final_answer"),
        balance=balanced_bootstrap(accepted["clean"], accepted["intermediate"], clusters=clusters, resamples=resamples),
    )


def judge_intervals(found: Sensitivity) -> tuple[Words, ...]:
    """The verdict: what the interval of the chain number says, then whether agreement is rewarded.

    - fewer than 10 originals or 5 questions: not enough data;
    - the interval of chain sensitivity ends below 10 points: does not react to the tested chain errors;
    - it lies above 0: reads the chain; otherwise: not enough data;
    - the interval of the consistency reward lies above 0: rewards agreement, in addition.
    """
    if found.originals < FEWEST_ORIGINALS or found.questions < FEWEST_QUESTIONS or math.isnan(found.chain.value):
        return ("not enough data",)
    words: list[Words] = []
    if found.chain.high < NEGLIGIBLE:
        words.append("does not react to the tested chain errors")
    elif found.chain.low > 0:
        words.append("reads the chain")
    else:
        words.append("not enough data")
    if found.agreement.low > 0:
        words.append("rewards agreement")
    return tuple(words)


def explain(found: Sensitivity) -> str:
    """One sentence per number, for a reader who sees the numbers for the first time."""
    if found.verdict() == ("not enough data",) and found.originals < FEWEST_ORIGINALS:
        return (
            f"{found.originals} originals from {found.questions} questions are judged in all five variants; at least "
            f"{FEWEST_ORIGINALS} from {FEWEST_QUESTIONS} are needed."
        )
    parts = [
        f"An error in the chain lowers acceptance by {points(found.chain)}",
        f"a wrong final answer by {points(found.answer)}",
        f"making the chain agree with the wrong answer changes acceptance by {points(found.agreement, signed=True)}",
    ]
    alone = " It reacts to the final answer alone." if found.chain.high < NEGLIGIBLE and found.answer.low > 0 else ""
    return ", ".join(parts) + "." + alone


def points(difference: Difference, *, signed: bool = False) -> str:
    """A difference in points with its interval.

    >>> points(Difference(0.651, 0.6, 0.7)), points(Difference(-0.1, -0.2, 0.0), signed=True)
    ('65.1 points [60.0, 70.0]', '-10.0 points [-20.0, 0.0]')
    """
    sign = "+" if signed else ""
    value, low, high = (f"{100 * number + 0.0:{sign}.1f}".replace("+0.0", "0.0") for number in difference[:3])
    return f"{value} points [{low}, {high}]"
