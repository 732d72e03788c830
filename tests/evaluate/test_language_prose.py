"""Mathematics out, prose kept, sentences cut, restatements dropped."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multilingual_math_audit.evaluate.prose import (
    count_letters,
    is_restatement,
    question_words,
    split_segments,
    strip_mathematics,
)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (r"so $x^2+1$ ends", "so ends"),
        (r"so \(x^2+1\) ends", "so ends"),
        (r"so \[ x = \frac{a}{b} \] ends", "so ends"),
        ("so $$x\n= 2$$ ends", "so ends"),
        (r"so \begin{align*} a &= b \\ c &= d \end{align*} ends", "so ends"),
        (r"so \begin{pmatrix} a & b \end{pmatrix} ends", "so ends"),
        (r"so \boxed{\frac{\text{seven}}{2}} ends", "so ends"),
        (r"so \fbox{x} ends", "so ends"),
        (r"so $x \text{ if it is odd}$ ends", "so if it is odd ends"),
        (r"so \[ x \quad \text{için geçerli} \] ends", "so için geçerli ends"),
        (r"\textbf{Step one:} so \emph{this} ends", "Step one: so this ends"),
        (r"so \frac{\sqrt{a}}{b_{1}} \cdot \alpha ends", "so ends"),
        ("so ```python\nprint(word)\n``` ends", "so ends"),
        ("so ```python\nprint(word)", "so"),
        ("see https://example.org/a?b=c now", "see now"),
        ("## Title\n- **bold** `code` 12,5 = 3/4", "Title bold code"),
        ("<think>\nhmm\n</think>\nyes", "hmm yes"),
        ("<|im_start|>assistant says", "assistant says"),
        ("a costs $5 and the second one costs about $7 then", "a costs and the second one costs about then"),
        (r"unfinished \[ x + y", "unfinished"),
        ("unfinished $$ x + y\n\nand then words", "unfinished and then words"),
        (r"a lone \$ and a lone $ stay harmless here", "a lone and a lone stay harmless here"),
    ],
)
def test_stripping(text: str, left: str) -> None:
    """Each kind of mathematics leaves; prose within it stays."""
    assert strip_mathematics(text).split() == left.split()


def test_an_unpaired_dollar_eats_no_prose() -> None:
    """A stray dollar before a sentence with mathematics leaves all of its words."""
    text = "We pay $ for every one of the tickets that we buy and $x$ is their number."
    assert {"tickets", "every", "buy", "their", "number"} <= set(strip_mathematics(text).replace(".", "").split())


def test_segments() -> None:
    """Breaks after . ! ? ; : and at line ends; fewer than 20 letters are dropped, digits do not count."""
    text = "This one has more than twenty letters: so has this one after a colon; short. 12345 12345 12345 12345 abc"
    assert list(split_segments(text)) == ["This one has more than twenty letters:", "so has this one after a colon;"]
    assert list(split_segments("exactly twenty letterss")) == ["exactly twenty letterss"]
    assert list(split_segments("a" * 19)) == []
    assert list(split_segments("首先我们需要求出方程的所有根，然后把它们加起来得到答案。" * 2))


def test_restatements_need_seventy_percent() -> None:
    """7 of 10 words of four letters are a restatement, 6 of 10 are not; shorter words do not count."""
    words = question_words("alpha bravo charlie delta echo foxtrot golf")
    others = ["hotel", "india", "juliet", "kilo"]
    assert is_restatement("alpha bravo charlie delta echo foxtrot golf " + " ".join(others[:3]), words)
    assert not is_restatement("alpha bravo charlie delta echo foxtrot the and " + " ".join(others), words)
    assert not is_restatement("a to be or", words)


def test_letters_of_any_script() -> None:
    """Letters count in any script, digits and signs do not."""
    assert count_letters("ağ 1 中 я é -") == 5


@given(st.text(alphabet=st.sampled_from("a$\\[](){}`~<>|^_ \n.1éş"), max_size=300))
def test_hostile_texts_are_survived(text: str) -> None:
    """Any mixture of marks and letters is stripped without an error and without a dollar or backslash left."""
    stripped = strip_mathematics(text)
    assert "$" not in stripped
    assert "\\" not in stripped
    list(split_segments(stripped))


@pytest.mark.parametrize(
    "unit",
    ["$", "\\[", "\\(", "{", "\\frac{", "\\boxed{", "`", "```", "<|", "\\begin{align}", "_{", "a$b ", "\n", "\n "],
)
def test_long_hostile_texts_are_quick(unit: str) -> None:
    """A repeated unit grows the time about in proportion, not with the square: no pattern backtracks over the text."""
    times = []
    for size in (2_000, 16_000):
        text = unit * size
        start = time.process_time()
        strip_mathematics(text)
        times.append(time.process_time() - start)
    assert times[1] < 40 * max(times[0], 0.005)
