"""Boxes, thinking tags, numbers and final statements: where they are and what they say."""

from __future__ import annotations

from fractions import Fraction

import pytest

from multilingual_math_audit.evaluate.answers.boxes import all_boxes, last_box
from multilingual_math_audit.evaluate.answers.extraction import extract_answer
from multilingual_math_audit.evaluate.answers.glyphs import fold
from multilingual_math_audit.evaluate.answers.numbers import (
    CONTINENTAL,
    ENGLISH,
    find_numbers,
    read_number,
)
from multilingual_math_audit.evaluate.answers.thinking import visible_part, visible_span


def test_boxes_have_exact_positions() -> None:
    """Every box's spans cut the text where they say, in prose, nested braces and without braces."""
    text = r"a \boxed{1} b $\boxed {\frac{2}{3}}$ c \fbox{x} d \boxed5 e \boxed\frac12 f \boxed{9"
    boxes = all_boxes(text)
    assert [box.content for box in boxes] == ["1", r"\frac{2}{3}", "x", "5", r"\frac12"]
    for box in boxes:
        assert text[box.content_start : box.content_end] == box.content
        assert text[box.start] == "\\"
        assert box.content in text[box.start : box.end]
    assert last_box(text) == boxes[-1]


def test_escaped_braces_do_not_count() -> None:
    r"""`\{` inside a box is a sign, not a brace."""
    assert [box.content for box in all_boxes(r"\boxed{\{1,2\}} and \boxed{\}}")] == [r"\{1,2\}", r"\}"]


@pytest.mark.parametrize(
    "text",
    [
        "<think>a</think>b",
        "a</think>b",
        "<thinking>a</thinking>b",
        "[THINK]a[/THINK]b",
        "◁think▷a◁/think▷b",
        "<|begin_of_thought|>a<|end_of_thought|>b",
        "<reasoning>a</reasoning>b",
        "<THINK>a</THINK>b",
        "<think>x</think><think>y</think>b",
    ],
)
def test_visible_part_follows_the_last_closing_tag(text: str) -> None:
    """Every common style of thinking tag."""
    assert visible_part(text) == "b"
    start, end = visible_span(text)
    assert text[start:end] == "b"


def test_thinking_that_never_closes_shows_nothing() -> None:
    """Nor does a block reopened at the end take back what was shown before it."""
    assert visible_part("<think>a") == ""
    assert visible_part("intro <think>a") == ""
    assert visible_part("<think>a</think>b<think>c") == "b"
    assert visible_part("x < 3 and 5 > 4") == "x < 3 and 5 > 4"


@pytest.mark.parametrize(
    ("text", "language", "values"),
    [
        ("1.234,5", "tr", ["2469/2"]),
        ("1,234.5", "en", ["2469/2"]),
        ("3,14", "pt", ["157/50"]),
        ("30 240", "pt", ["30240"]),
        ("1{,}234", "en", ["1234"]),
        ("12{,}5", "pt", ["25/2"]),
        ("-3/4", "any", ["-3/4"]),
        (r"\frac{-2}{3}", "any", ["-2/3"]),
        (r"2\frac12", "any", ["5/2"]),
        ("%25 ve 25%", "tr", ["1/4", "1/4"]),
        ("5-3", "any", ["5", "3"]),
        ("x_1 + 2", "any", ["2"]),
        ("x^2 = 9", "any", ["9"]),
        ("A4 paper, 7", "any", ["7"]),
        ("1, 2, 3", "any", ["1", "2", "3"]),
        ("1,2,3", "any", ["1", "2", "3"]),
        ("1,2,3", "tr", ["1", "2", "3"]),
        ("-1,2,3/4", "en", ["-1", "2", "3/4"]),
        ("10,20,30%", "pt", ["10", "20", "3/10"]),
        ("1,234,567 and 1,234", "en", ["1234567", "1234"]),
        ("1,5", "pt", ["3/2"]),
        ("x_{1,2} and a_1,2", "en", []),
        (r"3\cdot12\times-4", "any", ["3", "12", "-4"]),
        (r"x\le5, \pm2", "any", ["5", "2"]),
        (r"\alpha1 and \label12", "any", []),
        ("0.5.", "any", ["1/2"]),
    ],
)
def test_numbers_are_read_whole(text: str, language: str, values: list[str]) -> None:
    """Decimals, groups, fractions, percents and signs; never an exponent, an index or a part of a word."""
    found = list(find_numbers(text, language))
    assert [number.value for number in found] == [Fraction(value) for value in values]
    assert all(text[number.start : number.end] == number.text for number in found)


def test_comma_and_dot_follow_the_notation() -> None:
    """The same digits in two notations."""
    english, turkish = read_number("1,234", 0, ENGLISH), read_number("1,234", 0, CONTINENTAL)
    assert english is not None
    assert turkish is not None
    assert (english.value, turkish.value) == (1234, Fraction("1.234"))


def test_digits_of_every_script_are_digits() -> None:
    """Full-width, Arabic and Devanagari digits and raised ones fold to ASCII."""
    assert fold("１٢३²") == "123^{2}"


def test_last_statement_counts_and_a_bare_number_does_not() -> None:
    """A number somewhere in a text is no answer."""
    assert extract_answer("We saw 12 birds and 5 cats in the garden on our way.").answer is None
    assert extract_answer("Answer: 5. On second thought, answer: 6.").answer == "6"
