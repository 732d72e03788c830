"""Properties that hold for every answer: reflexivity, symmetry, and invariance under what only changes the look."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multilingual_math_audit.evaluate.answers.equivalence import answers_equal
from multilingual_math_audit.evaluate.answers.grading import grade_answer

CASES = Path(__file__).resolve().parents[2] / "cases"

_atoms = st.one_of(
    st.integers(-99, 99).map(str),
    st.tuples(st.integers(-20, 20), st.integers(1, 12)).map(lambda pair: rf"\frac{{{pair[0]}}}{{{pair[1]}}}"),
    st.integers(2, 30).map(lambda n: rf"\sqrt{{{n}}}"),
    st.sampled_from(["x", "y", "n", r"\pi", r"2^{10}", "3!", r"\sin x", r"\ln 2", "0.25"]),
)
_expressions = st.recursive(
    _atoms,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: f"{p[0]} + ({p[1]})"),
        st.tuples(inner, inner).map(lambda p: rf"\left({p[0]}\right) \cdot \left({p[1]}\right)"),
        inner.map(lambda s: rf"\left({s}\right)^{{2}}"),
    ),
    max_leaves=4,
)
_answers = st.one_of(
    _expressions,
    st.lists(_atoms, min_size=2, max_size=4, unique=True).map(lambda items: r"\{" + ", ".join(items) + r"\}"),
    st.tuples(_atoms, _atoms).map(lambda pair: f"({pair[0]}, {pair[1]})"),
    st.tuples(st.integers(-9, 0), st.integers(1, 9)).map(lambda pair: f"[{pair[0]}, {pair[1]})"),
    _expressions.map(lambda text: f"y = {text}"),
)


@settings(max_examples=150, deadline=None)
@given(_answers)
def test_reflexive(text: str) -> None:
    """Every answer equals itself, also where its letters are hidden behind another look."""
    assert answers_equal(text, text).equal
    assert answers_equal(text, "{" + text + "}").equal


@settings(max_examples=150, deadline=None)
@given(_answers, _answers)
def test_symmetric(left: str, right: str) -> None:
    """The verdict does not depend on which side is the key."""
    assert answers_equal(left, right).equal is answers_equal(right, left).equal


_LOOKS = [
    lambda s: f"  {s}  ",
    lambda s: f"${s}$",
    lambda s: rf"\displaystyle {s}",
    lambda s: s.replace(r"\frac", r"\dfrac"),
    lambda s: s.replace(r"\left", "").replace(r"\right", ""),
    lambda s: (
        s.replace("(", r"\left(")
        .replace(")", r"\right)")
        .replace(r"\left\left", r"\left")
        .replace(r"\right\right", r"\right")
    ),
    lambda s: s.replace(" + ", "+").replace(", ", r",\ "),
    lambda s: s + ".",
    lambda s: rf"\boxed{{{s}}}",
]


@settings(max_examples=120, deadline=None)
@given(_answers, _answers, st.sampled_from(range(len(_LOOKS))))
def test_looks_do_not_matter(key: str, answer: str, look: int) -> None:
    """White space, sizes, dollars and fraction styles change no verdict."""
    changed = _LOOKS[look](answer)
    assert answers_equal(answer, changed).equal
    assert answers_equal(key, changed).equal is answers_equal(key, answer).equal


@settings(max_examples=100, deadline=None)
@given(_expressions, st.sampled_from(["en", "tr", "pt", "any"]))
def test_hint_does_not_matter_where_notation_is_clear(text: str, hint: str) -> None:
    """Without a comma or a grouping dot the language hint changes nothing."""
    assert answers_equal(text, f"({text})", language=hint).equal
    assert not answers_equal(text, f"{text} + 1", language=hint).equal


@pytest.mark.parametrize("name", ["answers_own"])
def test_cases_are_symmetric(name: str) -> None:
    """The labelled pairs whose prediction is only a box keep their label with key and answer exchanged."""
    wrong = []
    for line in (CASES / f"{name}.jsonl").read_text("utf-8").splitlines():
        case = json.loads(line)
        prediction = case["prediction"]
        if not (prediction.startswith(r"\boxed{") and prediction.endswith("}") and prediction.count(r"\boxed") == 1):
            continue
        if case["kind"] in ("mcq", "hostile", "equation", "plus_minus"):
            continue
        forward = answers_equal(case["gold"], prediction[7:-1], language=case["lang"]).equal
        back = answers_equal(prediction[7:-1], case["gold"], language=case["lang"]).equal
        if forward is not back:
            wrong.append(case["id"])
    assert wrong == []


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=80), st.text(alphabet=r"\{}[]()^_$0123456789.,;:=<>+-*/!%| abcefrtxqovdni'", max_size=80))
def test_no_text_raises(first: str, second: str) -> None:
    """Whatever is written, a grade comes back."""
    for text in (first, second):
        assert grade_answer(text, "42").correct in (True, False)
        assert grade_answer(rf"\boxed{{{text}}}", second).correct in (True, False)
