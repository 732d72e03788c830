"""What a model may write to hang, crash or fool a grader."""

from __future__ import annotations

import asyncio
import os
import random
import resource
import sys
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from multilingual_math_audit.evaluate.answers import equivalence
from multilingual_math_audit.evaluate.answers.comparison import Rules
from multilingual_math_audit.evaluate.answers.equivalence import answers_equal
from multilingual_math_audit.evaluate.answers.glyphs import fold
from multilingual_math_audit.evaluate.answers.grading import AnswerGrade, grade_answer

HOSTILE = {
    "tower": "9^{9^{9^{9}}}",
    "decimal tower": "10^{10^{10}}",
    "factorial of a factorial": "(10!)!",
    "large factorial": "100000000!",
    "factorials in a row": "3!!!!!!!!!!!!",
    "binomial": r"\binom{1000000000}{500000000}",
    "long sum": r"\sum_{k=1}^{1000000000} \sin(k^2)",
    "long product": r"\prod_{k=1}^{10000000} k",
    "nested sums": r"\sum_{a=1}^{99}\sum_{b=1}^{99}\sum_{c=1}^{99}\sum_{d=1}^{99} abcd",
    "braces": "{" * 50_000 + "42" + "}" * 50_000,
    "parentheses that hold another": "(" * 10_000 + "43" + ")" * 10_000,
    "open parentheses": "(" * 5_000,
    "fractions": r"\frac{1}{1+" * 300 + "1" + "}" * 300,
    "radicals": r"\sqrt{" * 300 + "2" + "}" * 300,
    "radical words": "sqrt (" * 3_000,
    "signs": "-" * 5_000 + "1",
    "sum of ones": "+".join(["1"] * 2_000),
    "many variables": "+".join(f"x_{{{n}}}" for n in range(900)),
    "large power of a sum": "(a+b+c+d+e+f)^{100000}",
    "large exponent": "1.0e999999999",
    "exponent tower of e": "e^{e^{e^{e^{e}}}}",
    "sine of a tower": r"\sin(10^{10^{10}})",
    "logarithms": r"\ln \ln \ln \ln 10^{10^{10^{10}}}",
    "system": "__import__('os').system('touch /tmp/x')",
    "attribute": "x.__class__.__bases__",
    "format": "{0.__class__} %s %n",
    "division by zero": r"\frac{1}{0}",
    "null byte": "4\x002",
    "right to left": "\u202e24",
    "many bars": "|" * 2_001,
    "many commas": "," * 5_000,
    "long list": ", ".join(str(n) for n in range(2_000)),
    "matrix": r"\begin{pmatrix}" + "1&" * 2_000 + r"1\end{pmatrix}",
    "digits": "9" * 11_000,
    "more digits": "9" * 2_000_000,
    "text in text": r"\text{" * 200 + "42" + "}" * 200,
    "conditions": r"|x| + |x-1| + |x-2| + |x-3| < 4",
    "high degree": "x^{50} + x < 3",
    "marks before a word": "\\mp\\arcsin\n\nDM\n" + "`" * 40 + "grou\x00",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_answers_are_wrong(name: str) -> None:
    """None of them is 42, and each comes back with a status rather than an exception."""
    content = HOSTILE[name]
    grade = grade_answer(rf"\boxed{{{content}}}", "42")
    assert isinstance(grade, AnswerGrade)
    # Redundant braces are no other answer.
    assert grade.correct is (name == "braces")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_keys_do_not_crash(name: str) -> None:
    """The same texts as keys."""
    assert not answers_equal(HOSTILE[name], "43.5").equal


def test_identical_towers_are_equal_without_being_computed() -> None:
    """Two that differ only high up are not."""
    assert answers_equal("9^{9^{9^{9}}}", "9^{9^{9^9}}").equal
    assert not answers_equal("9^{9^{9^{9}}}", "9^{9^{9^{8}}}").equal
    assert answers_equal("2^{1000000000}", "4^{500000000}").equal


def test_large_text_is_read_from_its_end() -> None:
    """20 MB of text with the answer at the end, without a copy of it in memory for each rule."""
    text = "we compute $x$ and go on. " * 800_000 + r"So \boxed{42}."
    tracemalloc.start()
    assert grade_answer(text, "42").correct
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000_000


REPETITIONS = [
    "The answer is 1 ",
    "Answer: ",
    "cevap ",
    " is our answer",
    "R: ",
    "\n",
    " ",
    "1 ",
    "$",
    "$1$ ",
    "\\[ ",
    "(",
    "(1 ",
    "The answer is not ",
    "\\boxed{1} ",
    "\\boxed{",
    "$\\boxed{5 ",
    "1,",
    "sqrt (",
    "<think>",
    "</think>",
    "<t",
    "a ",
    "So it is. ",
    "*",
    "\\text{",
    "'",
    "-",
    "yüzde ",
]


@pytest.mark.parametrize("piece", REPETITIONS)
def test_repetitions_are_read_in_linear_time(piece: str) -> None:
    """The work for a text twenty times as long stays within what reading it costs."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += 1

    def cost(repeats: int) -> int:
        nonlocal calls
        calls = 0
        sys.setprofile(count)
        try:
            grade_answer(piece * repeats, "42")
        finally:
            sys.setprofile(None)
        return calls

    assert cost(20_000) <= 40 * cost(1_000) + 400_000


PIECES = [
    *REPETITIONS,
    *'`"_<>{}[]\\|&.;:=^%/@#é½²,',
    "**",
    "__",
    "<b>",
    "</b>",
    "$$",
    "\\\\",
    "()",
    "{}",
    "(a)",
    "is ",
]
PIECES += [
    "1.",
    "1,234",
    "123 ",
    "12",
    "a.",
    "a, ",
    "x=1",
    "ab",
    "A)",
    "\\ ",
    "\\,",
    "\\left(",
    "\\frac12",
    "\r\n",
    "3/4 ",
    "ve ",
]


def test_no_repetition_makes_a_pattern_backtrack() -> None:
    """Every piece 26 times and 600 times, before a word that fits nothing, as box and as sentence, comes back.

    A process of its own reads them all within a CPU limit that one exponential pattern alone would exceed.
    """
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (300, 300))
        for piece in PIECES:
            for times in (26, 600):
                for text in (f"x{piece * times}grou\x00", f"{piece * times}\n!", f"({piece * times}"):
                    answers_equal("42", text)
                    grade_answer(rf"So \boxed{{{text}}}.", "42")
                    grade_answer(f"The answer is {text}", "42")
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def test_nothing_is_executed(tmp_path: Path) -> None:
    """A file that the answer's code would create is not there afterwards."""
    mark = tmp_path / "mark"
    for code in (
        f"__import__('os').system('touch {mark}')",
        rf"\immediate\write18{{touch {mark}}}",
        f"open('{mark}','w')",
    ):
        grade_answer(rf"\boxed{{{code}}}", "0")
        grade_answer(f"The answer is {code}", code)
    assert not mark.exists()


def test_same_verdict_from_threads_tasks_and_forks() -> None:
    """Threads, asyncio and a forked process give the verdicts of the main thread."""
    pairs = [
        (r"\boxed{\frac{2}{4}}", "1/2"),
        (r"\boxed{\sqrt{8}}", r"2\sqrt2"),
        (r"\boxed{\int_0^1 x\,dx}", "0.5"),
        (r"\boxed{9^{9^{9^9}}}", "3"),
        (r"\boxed{e^{i\pi}}", "-1"),
    ]
    expected = [grade_answer(text, key).correct for text, key in pairs]
    assert expected == [True, True, True, False, True]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            assert list(pool.map(lambda pair: grade_answer(*pair).correct, pairs)) == expected

    async def gather() -> list[bool]:
        calls = [asyncio.to_thread(lambda p=pair: grade_answer(*p).correct) for pair in pairs]
        return list(await asyncio.gather(*calls))

    assert asyncio.run(gather()) == expected
    child = os.fork()
    if child == 0:
        os._exit(0 if [grade_answer(*pair).correct for pair in pairs] == expected else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_no_signal_is_touched() -> None:
    """A grade outside the main thread, where signal handlers cannot be set, works."""
    results: list[bool] = []
    thread = threading.Thread(target=lambda: results.append(grade_answer(r"\boxed{\sqrt{4}}", "2").correct))
    thread.start()
    thread.join()
    assert results == [True]


def test_mutated_texts_come_back() -> None:
    """A short deterministic fuzz: pieces of real notation, cut and joined at random, always give a grade."""
    dice = random.Random(20260101)
    pieces = [
        "\\frac",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "\\boxed{",
        "$",
        "1",
        "23",
        ",",
        ".",
        "\\sqrt",
        "^",
        "_",
        "x",
        "!",
        "|",
        "\\{",
        "\\}",
        "\\text{",
        "and",
        " ve ",
        "%",
        "\\cup",
        "=",
        "<",
        "\\le",
        "\\begin{pmatrix}",
        "&",
        "\\\\",
        "\\end{pmatrix}",
        "\\sum_{k=1}^{n}",
        "\\int_0^1",
        "dx",
        "\\infty",
        "e",
        "i",
        "\\pi",
        "-",
        "+",
        "±",
        "½",
        "²",
        "°",
        "Cevap: ",
        "The answer is ",
        "não é",
        "</think>",
        "<think>",
        "\x00",
        "'dir",
        "1.234,5",
        "\\overline{",
        "\\log_",
        "\\binom",
        ":",
        ";",
        "\\pm",
        "\\left",
        "\\right",
        "\n",
        "\\circ",
    ]
    for _ in range(800):
        text = "".join(dice.choice(pieces) for _ in range(dice.randint(1, 25)))
        key = "".join(dice.choice(pieces) for _ in range(dice.randint(1, 6)))
        grade = grade_answer(text, key, language=dice.choice(["en", "tr", "pt", "any"]))
        assert grade.status in ("correct", "wrong", "no_answer", "unfinished", "unreadable_key", "limit")


@pytest.mark.parametrize("environment", ["cases", "aligned", "array", "matrix", "pmatrix", "align*"])
@pytest.mark.parametrize("key", ["42", "[0,1)", "x \\le 3", "\\{1,2\\}", "(-1, 2) \\cup (3, 4)"])
def test_an_empty_environment_is_no_set(environment: str, key: str) -> None:
    """Below the guard that turns an unforeseen exception into a rejection, a list without items is refused as such."""
    empty = f"\\begin{{{environment}}}\\end{{{environment}}}"
    for language in ("any", "en", "tr", "pt"):
        for left, right in ((key, empty), (empty, key), (empty + " ", empty + " x")):
            assert not equivalence._compare(fold(left), fold(right), language, Rules()).equal
