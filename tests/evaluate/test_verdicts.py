"""Verdicts: read from a judge's words, and decided from several."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from multilingual_math_audit.evaluate.verdicts import STRATEGIES, approves, parse_verdict

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("case", CASES, ids=[f"{case['id']} {case['why']}" for case in CASES])
def test_case(case: dict[str, str]) -> None:
    """Each judge output of the case file gives the verdict and the reason a person reads in it."""
    verdict = parse_verdict(case["text"], finish_reason=case["finish_reason"])  # type: ignore[arg-type]
    assert (verdict.value, verdict.reason) == (case["value"], case["reason"])


def test_there_are_enough_cases() -> None:
    """The case file holds at least sixty outputs, no two alike."""
    assert len({(case["text"], case["finish_reason"]) for case in CASES}) == len(CASES) >= 60


@pytest.mark.parametrize(
    "filler", ["a", "\\boxed{1} ", "{", "<think>x</think>", "\\boxed{yes} or \\boxed{no}\n", "\n", "`", "<"]
)
def test_two_megabytes(filler: str) -> None:
    """Two megabytes of anything before a verdict leave it readable."""
    text = filler * (2_000_000 // len(filler)) + "\nOverall: \\boxed{no}"
    assert parse_verdict(text).value == "no"


def test_strategies_by_enumeration() -> None:
    """Over all outcomes of three judgments each strategy is its definition, written out here a second time."""
    for outcome in itertools.product(("yes", "no", None), repeat=3):
        yes, no = outcome.count("yes"), outcome.count("no")
        expected = {
            "any": yes >= 1,
            "majority": yes > no,
            "all": outcome == ("yes", "yes", "yes"),
            "strict_majority": yes >= 2,
        }
        assert {strategy: approves(outcome, strategy) for strategy in STRATEGIES} == expected


def test_nothing_approves_nothing() -> None:
    """Without a judgment no strategy approves: the record fails closed."""
    assert not any(approves([], strategy) for strategy in STRATEGIES)
