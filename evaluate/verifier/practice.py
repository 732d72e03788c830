"""Easy arithmetic by template: problems a small model gets right now and then, to train a first verifier on."""

from __future__ import annotations

import random

from multilingual_math_audit.records import Problem

BENCHMARK = "practice_en"
STORIES = (
    "{name} has {a} {thing} and buys {b} more. How many {thing} does {name} have?",
    "There are {a} {thing} in one box and {b} in another. How many {thing} are there altogether?",
    "What is {a} + {b}?",
    "Compute {a} + {b}.",
)
LOSSES = (
    "{name} has {a} {thing} and gives away {b}. How many {thing} are left?",
    "What is {a} - {b}?",
    "Compute {a} - {b}.",
)
PRODUCTS = (
    "Each of {a} bags holds {b} {thing}. How many {thing} are there in all?",
    "What is {a} * {b}?",
)
NAMES = ("Ana", "Deniz", "Ines", "Mert", "Sofia", "Umut")
THINGS = ("apples", "pens", "stamps", "shells", "coins")


def practice_problems(count: int, seed: int = 0) -> list[Problem]:
    """`count` different problems with one operation each, of growing size in turn, their keys computed here.

    >>> practice_problems(2, seed=1)[1].question, practice_problems(2, seed=1)[1].answer
    ('What is 8 - 4?', '4')
    """
    draw = random.Random(seed)
    problems: dict[str, Problem] = {}
    while len(problems) < count:
        place = len(problems)
        question, answer = _one(draw, kind=place % 3, largest=(5, 9, 20, 60)[place // 3 % 4])
        name = f"{BENCHMARK}/{place + 1}"
        problems.setdefault(
            question, Problem(name, BENCHMARK, f"practice/{place + 1}", "en", question, str(answer), "integer")
        )
    return list(problems.values())


def _one(draw: random.Random, *, kind: int, largest: int) -> tuple[str, int]:
    a, b = draw.randint(1, largest), draw.randint(1, largest)
    texts: tuple[str, ...] = STORIES
    answer = a + b
    if kind == 1:
        a, b = a + b, b
        texts, answer = LOSSES, a - b
    elif kind == 2:
        b = min(b, 12)
        texts, answer = PRODUCTS, a * b
    text = draw.choice(texts).format(a=a, b=b, name=draw.choice(NAMES), thing=draw.choice(THINGS))
    return text, answer
