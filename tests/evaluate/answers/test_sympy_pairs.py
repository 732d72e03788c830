"""Random pairs that SymPy proves equal or different."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from multilingual_math_audit.evaluate.answers.equivalence import answers_equal


@pytest.fixture(scope="module")
def answer_pairs(root: Path) -> ModuleType:
    """The generator of bench/answer_pairs.py."""
    spec = importlib.util.spec_from_file_location("answer_pairs", root / "bench" / "answer_pairs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["answer_pairs"] = module
    spec.loader.exec_module(module)
    return module


def test_no_pair_disagrees_with_sympy(answer_pairs: ModuleType) -> None:
    """200 pairs here; the bench runs 20,000."""
    wrong = [
        pair
        for pair in answer_pairs.pairs(200, seed=11)
        if answers_equal(pair.key, pair.answer).equal is not pair.equal
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("key", "answer", "equal"),
    [
        (r"\int_0^1 x^2\,dx", r"\frac13", True),
        (r"\int_0^1 x^2\,dx", r"\frac12", False),
        (r"\lim_{x\to 0} \frac{\sin x}{x}", "1", True),
        (r"\sum_{k=1}^{\infty} \frac{1}{k^2}", r"\frac{\pi^2}{6}", True),
        (r"\sum_{k=0}^{\infty} \frac{1}{2^k}", "2", True),
        (r"\lim_{n\to\infty} \left(1+\frac1n\right)^n", "e", True),
        (r"\lim_{n\to\infty} \left(1+\frac1n\right)^n", "1", False),
    ],
)
def test_integrals_limits_and_endless_sums(key: str, answer: str, equal: bool) -> None:
    """Values known from any calculus book, through the bounded process."""
    verdict = answers_equal(key, answer)
    assert (verdict.equal, verdict.method) == (equal, "sympy")
