"""Where the paper's own rules of injection go wrong: each test fails under those rules and passes under ours."""

from __future__ import annotations

import re

import pytest

from multilingual_math_audit.evaluate.answers.grading import grade_answer
from multilingual_math_audit.evaluate.inject import EDITS, Variant, inject

MIDDLE = r"Then $31 \cdot 17 = 527$, next $527 + 88 = 615$, and $615 - 73 = 542$, so $542 \cdot 3 = 1626$ follows. "


def variants(
    text: str, key: str, *, language: str = "en", question: str = "Find it.", seed: int = 0
) -> dict[str, Variant]:
    return inject(text, key=key, question=question, language=language, seed=seed)


def paper_consistent_integer(text: str, old: str, new: str) -> str:
    """The paper's rule for integer keys: every run that touches no other digit."""
    return re.sub(rf"(?<!\d){re.escape(old)}(?!\d)", new, text)


@pytest.mark.parametrize(
    ("key", "answer"), [("1,1", "11"), ("105", "1,05"), ("2,5", "25")]
)  # fmt: skip
def test_spot_10_a_lost_decimal_comma_is_no_right_answer(key: str, answer: str) -> None:
    """10: a matcher that deletes commas calls 11 right for 1,1; a variant must be wrong in the grader that reads it."""
    assert key.replace(",", "") == answer.replace(",", "")  # what the paper's third matcher compares
    assert not grade_answer(rf"Logo \boxed{{{answer}}}", key, language="pt").correct
    text = f"Contas: {MIDDLE}O valor é ${key}$. \\boxed{{{key}}}"
    for seed in range(12):
        made = variants(text, key, language="pt", seed=seed)
        for edit in ("final_answer", "consistent"):
            box = re.findall(r"boxed\{(.*?)\}", made[edit].text or "")[-1]
            assert box.replace(",", "") != key.replace(",", "")


def test_spot_11_an_equation_is_edited_and_graded_whole() -> None:
    """11: cut at the last "=", every equation ending in "= 1" is right, also the one with a wrong number before it."""
    key = r"\frac{x^2}{25} + \frac{y^2}{9} = 1"
    text = f"We find the axes. {MIDDLE}So the ellipse is ${key}$.\n\n$\\boxed{{{key}}}$"
    made = variants(text, key)["final_answer"]
    assert made.applied
    assert made.new is not None
    if made.new.rsplit("=", 1)[1] == key.rsplit("=", 1)[1]:
        assert made.regrade == "wrong"
    assert not grade_answer(made.text or "", key, language="en").correct


def test_spot_12_a_shift_by_one_of_a_large_key_is_wrong() -> None:
    """12: with a tolerance of 1%, 4319 counts as 4320 and the variant is labelled wrong though it is graded right."""
    text = f"Multiplicamos. {MIDDLE}Ficam $4320$ casos. \\boxed{{4320}}"
    near = 0
    for seed in range(40):
        made = variants(text, "4320", language="pt", seed=seed)["final_answer"]
        box = int(re.findall(r"boxed\{(\d+)\}", made.text or "")[-1])
        assert made.regrade == "wrong"
        near += abs(box - 4320) <= 43
    assert near >= 5


def test_spot_13_a_key_with_several_letters_is_graded_as_mathematics() -> None:
    """13: compared as strings, another spelling of the original would be "wrong", so nothing could be injected."""
    key = r"\frac{\ln 10}{t_1}"
    text = f"We take logarithms. {MIDDLE}Hence $k = \\frac{{\\ln(10)}}{{t_1}}$. \\boxed{{\\frac{{\\ln(10)}}{{t_1}}}}"
    made = variants(text, key)
    assert made["clean"].applied
    assert made["final_answer"].applied
    assert "t_1" in str(made["final_answer"].new)


def test_spot_14_a_key_that_the_chain_does_not_reach_gives_no_variant() -> None:
    """14: with a faulty key the "correct" original is wrong; it is skipped, not corrupted."""
    made = variants(f"Sum. {MIDDLE}So \\boxed{{615}}", "614")
    assert {variant.skip_reason for variant in made.values()} == {"original_not_correct"}


def test_spot_15_a_decimal_key_has_boundaries_and_other_forms() -> None:
    """15: replacing the string 0,2 turns 10,25 into another number and leaves 0.2 and \\dfrac{1}{5} behind."""
    text = (
        f"Medimos 10,25 e 0,21 e 30,2. {MIDDLE}A razão é $\\dfrac{{1}}{{5}} = 0.2$, ou seja, 0,20 ou 20\\%. "
        "Logo a resposta é 0,2. \\boxed{0,2}"
    )
    assert "10,35" in text.replace("0,2", "0,3")  # the paper's rule breaks another number
    made = variants(text, "0,2", language="pt")["consistent"]
    assert made.applied, made.skip_reason
    assert made.text is not None
    for kept in ("10,25", "0,21", "30,2."):
        assert kept in made.text
    for gone in (r"\dfrac{1}{5}", "= 0.2$", "0,20", r"20\%", "0,2."):
        assert gone not in made.text.replace("0,21", "").replace("30,2.", "")
    assert made.occurrences == 6


def test_spot_16_an_integer_key_is_never_part_of_another_number() -> None:
    """16: 27 is not in 27.5 or 1,027, 277 not in 1,277, and -2 not in x-2."""
    text = f"We have $27.5$ and 1,027 and $\\frac{{27}}{{4}}$. {MIDDLE}So it is $27$, hence 27. \\boxed{{27}}"
    made = variants(text, "27")["consistent"]
    assert made.applied, made.skip_reason
    assert "27.5" not in paper_consistent_integer(text, "27", "28")
    for kept in ("27.5", "1,027", r"\frac{27}{4}"):
        assert kept in (made.text or "")
    tail = variants(f"Of 1,277 and 1{{,}}277 things. {MIDDLE}So $277$. \\boxed{{277}}", "277")["consistent"]
    assert "1,278" in paper_consistent_integer("1,277", "277", "278")
    assert "Of 1,277 and 1{,}277 things" in (tail.text or "")
    minus = variants(f"Let $x-2 = y$ and $x - 2 = -2$. {MIDDLE}So $x=-2$. \\boxed{{-2}}", "-2")["consistent"]
    assert minus.text is not None
    assert "$x-2 = y$" in minus.text
    assert "$x - 2 = -" in minus.text
    assert "= -2$" not in minus.text
    assert "x=-2" not in minus.text


def test_spot_17_the_box_edit_changes_the_value_and_not_a_label() -> None:
    """17: replacing the first "2" of the box "x_2 = 2" changes the label and leaves the value right."""
    text = f"Two roots. {MIDDLE}So the second root is 2. \\boxed{{x_2 = 2}}"
    made = variants(text, "2")["final_answer"]
    assert made.applied, made.skip_reason
    assert made.new is not None
    assert made.new.startswith("x_2 = ")
    assert made.new != "x_2 = 2"
    assert "the second root is 2." in (made.text or "")
    earlier = variants(f"First \\boxed{{615}}. {MIDDLE}Again \\boxed{{615}}", "615")["final_answer"]
    assert (earlier.text or "").startswith("First \\boxed{615}.")
    assert earlier.position is not None
    assert earlier.position > 100


def test_spot_18_the_middle_edit_hits_a_number_that_computes() -> None:
    """18: exponents, decimals' tails, list numbers, labels, ordinals, steps and years are never the edited number."""
    middle = (
        "4. In step 3 and Case 6 the 9th term of AIME 2025 is $x^{12} + a_{14} + y^7$, see (5) and \\tag{8}. "
        r"We get $31 \cdot 19 = 589$ and $2^{11}$, that is 63.5 or $\sqrt[3]{x}$, P13 too. "
    )
    text = "We begin with a long word about nothing in particular here. " * 2 + middle + "And the end is near now. " * 4
    text += "\\boxed{777}"
    allowed = {"31", "19", "589", "2", "63.5"}
    seen = set()
    for seed in range(60):
        made = variants(text, "777", seed=seed)["intermediate"]
        assert made.applied, made.skip_reason
        seen.add(made.old)
    assert seen <= allowed
    assert len(seen) >= 3


def test_every_edit_says_which_verdict_is_right() -> None:
    """Clean alone is to be approved; all others hold an error by construction."""
    assert {name for name, edit in EDITS.items() if edit.verdict == "yes"} == {"clean"}
