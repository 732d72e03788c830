"""Labelled cases: our own, and the larger reference file where it is at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from multilingual_math_audit.evaluate.answers.grading import grade_answer

CASES = Path(__file__).resolve().parents[2] / "cases"


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _mismatches(cases: list[dict[str, Any]]) -> list[str]:
    wrong = []
    for case in cases:
        grade = grade_answer(case["prediction"], case["gold"], language=case["lang"])
        if grade.correct is not case["expected"]:
            wrong.append(f"{case['id']}: {case['gold']!r:.60} | {case['prediction']!r:.90} -> {grade}")
    return wrong


@pytest.mark.parametrize("name", ["answers_own", "extraction_own"])
def test_own_cases(name: str) -> None:
    """Every case labelled by hand, with its reason in the file, gets its label."""
    assert _mismatches(_read(CASES / f"{name}.jsonl")) == []


def test_own_cases_are_many_and_in_three_languages() -> None:
    """At least 400 cases, no two alike, with hints in every language."""
    cases = _read(CASES / "answers_own.jsonl") + _read(CASES / "extraction_own.jsonl")
    assert len({(case["gold"], case["prediction"], case["lang"]) for case in cases}) >= 400
    assert {case["lang"] for case in cases} == {"any", "en", "tr", "pt"}
    assert len({case["id"] for case in cases}) == len(cases)


def test_reference_cases(shared: Path) -> None:
    """All labelled reference cases get their label: no false accept, no false reject."""
    assert _mismatches(_read(shared / "cases" / "grading.jsonl")) == []


@pytest.mark.parametrize("hint", ["en", "tr", "pt", "any"])
def test_unambiguous_cases_hold_whatever_the_hint(shared: Path, hint: str) -> None:
    """A reference case without a language keeps its verdict under every hint, unless a comma or dot is ambiguous."""
    from multilingual_math_audit.evaluate.answers.glyphs import fold
    from multilingual_math_audit.evaluate.answers.numbers import is_ambiguous

    wrong = []
    for case in _read(shared / "cases" / "grading.jsonl"):
        if case["lang"] != "any" or is_ambiguous(fold(case["gold"] + " " + case["prediction"])):
            continue
        if grade_answer(case["prediction"], case["gold"], language=hint).correct is not case["expected"]:
            wrong.append(case["id"])
    assert wrong == []
