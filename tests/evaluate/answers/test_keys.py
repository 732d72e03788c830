"""The keys of the five benchmarks: each reads as its kind, equals itself, and differs from every near miss."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from multilingual_math_audit.errors import AuditError
from multilingual_math_audit.evaluate.answers.equivalence import answers_equal, is_readable
from multilingual_math_audit.evaluate.answers.grading import check_key, grade_answer


def _keys(shared: Path) -> list[tuple[str, str]]:
    import pandas as pd

    sources = shared / "sources"
    keys = [
        ("en", str(json.loads(line)["answer"]))
        for line in (sources / "aime2026_en.jsonl").read_text("utf-8").splitlines()
    ]
    for language in ("tr", "pt"):
        frame = pd.read_parquet(sources / f"aime2026_{language}.parquet")
        keys += [(language, str(answer)) for answer in frame["answer"]]
    for name, language, column in (("tubitak_math2026", "tr", "Answer"), ("pt_exams_math", "pt", "ground_truth")):
        with open(sources / f"{name}.csv", encoding="utf-8", newline="") as file:
            keys += [(language, row[column].strip("$")) for row in csv.DictReader(file)]
    return keys


def _near_misses(key: str) -> Iterator[str]:
    """The key with one of its numbers one more or less, with two digits exchanged, and with a digit changed."""
    for match in re.finditer(r"\d+", key):
        digits = match[0]
        changed = {str(int(digits) + 1), str(abs(int(digits) - 1))}
        changed |= {digits[:i] + digits[i + 1] + digits[i] + digits[i + 2 :] for i in range(len(digits) - 1)}
        changed |= {digits[:i] + str((int(d) + 3) % 10) + digits[i + 1 :] for i, d in enumerate(digits)}
        for new in changed - {digits}:
            yield key[: match.start()] + new + key[match.end() :]


def test_every_key_is_read_and_equals_itself(shared: Path) -> None:
    """288 of 288 read, equal themselves boxed and in another look, and are found in a boxed reply."""
    keys = _keys(shared)
    assert len(keys) == 288
    for language, key in keys:
        assert is_readable(key, language), key
        check_key(key, language=language, answer_kind="expression")
        look = key.replace(r"\frac", r"\dfrac")
        assert answers_equal(key, rf"\left({look}\right)", language=language).equal or "=" in key, key
        assert grade_answer(rf"Hence $\boxed{{{key}}}$.", key, language=language).correct, key


def test_every_near_miss_is_wrong(shared: Path) -> None:
    """No key accepts a neighbour, unless the change left the value as it was (0,40 for 0,4; 05 for 5)."""
    accepted = []
    tried = 0
    for language, key in _keys(shared):
        for miss in _near_misses(key):
            tried += 1
            if answers_equal(key, miss, language=language).equal:
                accepted.append((key, miss))
    assert tried > 1_000
    assert accepted == []


@pytest.mark.parametrize(
    ("key", "kind", "language"),
    [
        ("12", "integer", "any"),
        ("0,4", "decimal", "pt"),
        ("62,50%", "percent", "pt"),
        (r"\frac{1}{2}", "fraction", "any"),
        (r"3\sqrt{10}", "radical", "any"),
        ("]0,1[", "interval", "pt"),
        ("(1,2)", "tuple", "any"),
        (r"\{1;2\}", "set", "pt"),
        ("y=2x", "equation", "any"),
        ("even", "text", "any"),
        ("C", "choice", "any"),
        ("30 240", "integer", "pt"),
    ],
)
def test_keys_read_as_their_kind(key: str, kind: str, language: str) -> None:
    """One key of each kind passes."""
    check_key(key, language=language, answer_kind=kind)


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("1/2", "integer"),
        ("x+1", "decimal"),
        ("12", "interval"),
        ("12", "equation"),
        ("", "text"),
        (r"\frac{1}{", "expression"),
        ("3", "choice"),
    ],
)
def test_keys_of_another_kind_are_refused(key: str, kind: str) -> None:
    """A key that is not of its kind is refused in words that name it."""
    with pytest.raises(AuditError, match=kind):
        check_key(key, answer_kind=kind)
