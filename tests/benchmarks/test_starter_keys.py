"""Every key of the starter set is computed here, from the question alone, and compared with the stored one."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

import pytest
import sympy
from sympy.parsing.sympy_parser import (
    implicit_multiplication,
    parse_expr,
    standard_transformations,
)

from multilingual_math_audit.benchmarks.prompts import LANGUAGES, solver_messages
from multilingual_math_audit.loaders.problems import load_benchmark
from multilingual_math_audit.records import Problem

x, y, a, n, k = sympy.symbols("x y a n k")
ITEMS = {
    item: problems
    for item, *problems in zip(
        [problem.item for problem in load_benchmark("starter_en")],
        *(load_benchmark(f"starter_{language}") for language in LANGUAGES),
        strict=True,
    )
}
WEEKDAYS = {
    "en": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    "tr": ["pazartesi", "salı", "çarşamba", "perşembe", "cuma", "cumartesi", "pazar"],
    "pt": [
        "segunda-feira", "terça-feira", "quarta-feira", "quinta-feira", "sexta-feira", "sábado", "domingo",
    ],
}  # fmt: skip
PARITIES = {"en": ["even", "odd"], "tr": ["çift", "tek"], "pt": ["par", "ímpar"]}
FRIENDS = {"en": ["Anna", "Ben", "Clara"], "tr": ["Ayşe", "Burak", "Ceren"], "pt": ["Ana", "Bruno", "Clara"]}


def words(table: dict[str, list[str]], at: int) -> dict[str, str]:
    """The word at a place, in each language."""
    return {language: table[language][at] for language in LANGUAGES}


def letter(options: Sequence[Any], right: Callable[[Any], bool]) -> str:
    """The letter of the only option that is right."""
    found = [at for at, option in enumerate(options) if right(option)]
    assert len(found) == 1
    return "ABCD"[found[0]]


def two_blue() -> Fraction:
    balls = ["red"] * 3 + ["blue"] * 5 + ["green"] * 4
    draws = list(itertools.permutations(balls, 2))
    return Fraction(sum(draw == ("blue", "blue") for draw in draws), len(draws))


def closest_to_a_third() -> str:
    options = [Fraction(3, 10), Fraction(4, 11), Fraction(5, 16), Fraction(7, 20)]
    best = min(options, key=lambda option: abs(option - Fraction(1, 3)))
    return letter(options, lambda option: option == best)


def vase() -> dict[str, str]:
    """Anna blames Ben; Ben and Clara deny. The culprit for whom exactly one statement is true."""
    true = [[guilty == 1, guilty != 1, guilty != 2].count(True) for guilty in range(3)]
    assert true.count(1) == 1
    return words(FRIENDS, true.index(1))


def weekday() -> dict[str, str]:
    first = next(day for year in range(2000, 2028) if (day := date(year, 3, 1)).weekday() == 2)
    return words(WEEKDAYS, (first + timedelta(days=100)).weekday())


def last_number_parity() -> dict[str, str]:
    """Small boards, every way of playing: the last number always has the parity of the sum; then 1 to 2027."""
    for size in range(1, 7):
        boards = {tuple(range(1, size + 1))}
        while len(next(iter(boards))) > 1:
            boards = {
                tuple(sorted([*(board[m] for m in range(len(board)) if m not in (i, j)), abs(board[i] - board[j])]))
                for board in boards
                for i, j in itertools.combinations(range(len(board)), 2)
            }
        assert {board[0] % 2 for board in boards} == {sum(range(1, size + 1)) % 2}
    return words(PARITIES, sum(range(1, 2028)) % 2)


def square_with_negative_a() -> tuple[sympy.Expr, sympy.Expr]:
    p, q, b = sympy.symbols("p q b")
    target = x**4 + a * x**3 + b * x**2 - 8 * x + 4
    equations = sympy.Poly(sympy.expand((x**2 + p * x + q) ** 2 - target), x).coeffs()
    found = {(s[a], s[b]) for s in sympy.solve(equations, [p, q, a, b], dict=True) if s[a].is_real and s[a] < 0}
    assert len(found) == 1
    return next(iter(found))


def sum_of_two_distances() -> sympy.Interval:
    """The least value of |x-1| + |x-4| is 3, taken on a whole segment; above it there are two solutions, one a side."""
    grid = [Fraction(step, 8) for step in range(-1000, 1001)]
    values = [abs(point - 1) + abs(point - 4) for point in grid]
    assert min(values) == 3
    assert values.count(Fraction(3)) == 25
    for level in (Fraction(49, 16), Fraction(81, 16), Fraction(1601, 16)):
        assert sum((p < level) != (q < level) for p, q in itertools.pairwise(values)) == 2
    return sympy.Interval.open(3, sympy.oo)


def three_roots() -> sympy.Interval:
    """A cubic has three different real roots exactly where its discriminant is positive."""
    return sympy.solveset(sympy.discriminant(x**3 - 12 * x + a, x) > 0, a, sympy.S.Reals)


def perpendicular_bisector() -> sympy.Expr:
    """The points as far from one end as from the other."""
    return sympy.expand((x + 1) ** 2 + (y - 4) ** 2 - (x - 3) ** 2 - (y - 2) ** 2)


def octahedron() -> sympy.Expr:
    """Two square pyramids with base a by a; the apex is a away from every corner of the base."""
    height = sympy.sqrt(a**2 - (a * sympy.sqrt(2) / 2) ** 2)
    return sympy.simplify(2 * a**2 * height / 3).subs(sympy.sqrt(a**2), a)


def tilings() -> int:
    """Boards of 2 rows, column by column: every first step, counted by brute recursion over the uncovered cells."""

    def count(free: frozenset[tuple[int, int]]) -> int:
        if not free:
            return 1
        column, row = min(free)
        shapes = [[(0, 0), (0, 1)], [(0, 0), (1, 0)], [(0, 0), (0, 1), (1, 0), (1, 1)]]
        placed = [frozenset((column + c, row + r) for c, r in shape) for shape in shapes]
        return sum(count(free - cells) for cells in placed if cells <= free)

    return count(frozenset(itertools.product(range(12), range(2))))


def calm_tosses() -> int:
    return sum(
        toss.count("H") == 7 and "HHH" not in toss and "TTT" not in toss
        for toss in map("".join, itertools.product("HT", repeat=14))
    )


def centres_of_13_14_15() -> sympy.Expr:
    """Coordinates: B(0, 0), C(14, 0), A(5, 12) has AB = 13 and AC = 15."""
    p, q, r = sympy.Point(5, 12), sympy.Point(0, 0), sympy.Point(14, 0)
    assert (p.distance(q), p.distance(r), q.distance(r)) == (13, 15, 14)
    triangle = sympy.Triangle(p, q, r)
    return triangle.incenter.distance(triangle.circumcenter)


def product_over_roots() -> sympy.Expr:
    """The product of p over the roots of x^11 - 1 is the resultant of the two, x^11 - 1 being monic."""
    exact = sympy.resultant(x**11 - 1, x**2 - 3 * x + 1, x)
    roots = [complex(math.cos(2 * math.pi * j / 11), math.sin(2 * math.pi * j / 11)) for j in range(11)]
    assert abs(math.prod(w * w - 3 * w + 1 for w in roots) - int(exact)) < 1e-6
    return exact


def ant() -> Fraction:
    good = 0
    for steps in itertools.product((1, -1), repeat=10):
        places = list(itertools.accumulate(steps, lambda at, step: (at + step) % 6, initial=0))
        good += places[-1] == 0 and len(set(places)) == 6
    return Fraction(good, 2**10)


def no_difference_of_three() -> int:
    return sum(not mask & mask << 3 for mask in range(2**15))


def pell() -> tuple[int, int]:
    return next((math.isqrt(1 + 29 * s * s), s) for s in itertools.count(1) if _is_square(1 + 29 * s * s))


def _is_square(value: int) -> bool:
    return math.isqrt(value) ** 2 == value


def tetrahedron() -> sympy.Expr:
    """Cayley-Menger: 288 V^2 is the determinant over the squared edges."""
    ab, ac, ad, bc, bd, cd = (length**2 for length in (5, 6, 7, 7, 6, 5))
    matrix = sympy.Matrix(
        [[0, 1, 1, 1, 1], [1, 0, ab, ac, ad], [1, ab, 0, bc, bd], [1, ac, bc, 0, cd], [1, ad, bd, cd, 0]]
    )
    return sympy.sqrt(matrix.det() / 288)


def weighted_sum() -> sympy.Expr:
    """The sum for n up to 12 by brute force fixes c in c*n*3^(n-1), and the form holds at each."""
    sums = [sum(j * math.comb(m, j) * 2**j for j in range(m + 1)) for m in range(1, 13)]
    assert {Fraction(total, m * 3 ** (m - 1)) for m, total in enumerate(sums, 1)} == {2}
    return 2 * n * 3 ** (n - 1)


def decreasing_numbers() -> int:
    return sum(all(p > q for p, q in itertools.pairwise(str(number))) for number in range(1000, 10000))


def integer_quotients() -> frozenset[int]:
    """For |n - 1| > 6 the quotient 1 + 6/(n - 1) lies strictly between 0 and 2 and is not 1: no integer further out."""
    return frozenset(m for m in range(-50, 51) if m != 1 and (m + 5) % (m - 1) == 0)


def lcm_triples() -> int:
    divisors = sympy.divisors(648)
    return sum(math.lcm(*triple) == 648 for triple in itertools.product(divisors, repeat=3))


def central_binomials() -> int:
    found, value = 0, 1
    for m in range(1, 1001):
        value = value * 2 * (2 * m - 1) // m
        found += value % 3 != 0
    assert value == math.comb(2000, 1000)
    return found


PROOFS: dict[int, Callable[[], Any]] = {
    1: lambda: 7 + 5,
    2: lambda: 15 - 6,
    3: lambda: 4 * 6,
    4: lambda: Fraction(20, 4),
    5: lambda: 9 * 3,
    6: lambda: Fraction(18, 2),
    7: lambda: 2 * 60,
    8: lambda: 100 - 40,
    9: lambda: 8 + (8 - 6),
    10: lambda: Fraction(1, 5) + Fraction(2, 5),
    11: lambda: Fraction("0.5") + Fraction("0.2"),
    12: lambda: Fraction(35, 100) * 100,
    13: lambda: letter([12, 21, 17, 9], lambda option: option == max(12, 21, 17, 9)),
    14: lambda: words(PARITIES, 7 % 2),
    15: lambda: 4 * 3,
    16: lambda: 3 * 20,
    17: lambda: 2**3,
    18: lambda: 11 - 9,
    19: lambda: Fraction(50, 5),
    20: lambda: 3 - 5,
    21: lambda: 3 - Fraction("0.75"),
    22: lambda: letter([51, 57, 59, 87], sympy.isprime),
    23: two_blue,
    24: lambda: Fraction("6.5") * 260 / 100,
    25: lambda: (Fraction(120, 100) * Fraction(85, 100) - 1) * 100,
    26: lambda: Fraction(87, 240) * 100,
    27: lambda: sympy.Point(0, 0).distance(sympy.Point(4, 6)),
    28: lambda: sympy.sqrt(72) - sympy.sqrt(8),
    29: lambda: sympy.expand((2 * x - 3) * (x + 4)),
    30: lambda: sympy.interpolate([sum(4 + 3 * j for j in range(terms)) for terms in range(1, 13)], n),
    31: lambda: sympy.pi * 6**2 * sympy.Rational(150, 360),
    32: lambda: sympy.solveset(x**2 - 3 * x - 10 < 0, x, sympy.S.Reals),
    33: lambda: sympy.Intersection(*(sympy.solveset(c, x, sympy.S.Reals) for c in (2 * x + 1 >= 7, x < 9))),
    34: lambda: sympy.solveset(4 - 2 * x > 0, x, sympy.S.Reals),
    35: lambda: next(iter(sympy.linsolve([2 * x + y - 11, x - y - 1], [x, y]))),
    36: lambda: (sympy.Rational(6, 2), (x**2 - 6 * x + 5).subs(x, 3)),
    37: lambda: next(iter(sympy.linsolve([x + y - 5, y + k - 9, x + k - 8], [x, y, k]))),
    38: lambda: (Fraction(1 + 6, 2), Fraction(6 - 1, 2)),
    39: lambda: frozenset(sympy.solveset(x**3 - 6 * x**2 + 11 * x - 6, x, sympy.S.Reals)),
    40: lambda: frozenset(sympy.solveset(x**4 - 5 * x**2 + 6, x, sympy.S.Reals)),
    41: lambda: (y - 2) * (3 - 1) - (x - 1) * (8 - 2),
    42: lambda: sympy.expand((x - 2) ** 2 + (y + 1) ** 2 - 3**2),
    43: weekday,
    44: closest_to_a_third,
    45: vase,
    46: lambda: Fraction(60, 100) * Fraction("16.5") + Fraction(40, 100) * Fraction("14.5"),
    47: lambda: 1 / (Fraction(1, 3) + Fraction(1, 4)),
    48: lambda: Fraction(sum(9 * Fraction(-2, 3) ** j for j in range(400))).limit_denominator(1000),
    49: lambda: 2000 * Fraction(105, 100) ** 2,
    50: lambda: (200 * Fraction(10, 100) + 300 * Fraction(25, 100)) / (200 + 300) * 100,
    51: decreasing_numbers,
    52: lambda: pow(7, 2026, 100),
    53: lambda: sympy.sqrtdenest(sympy.sqrt(7 + 4 * sympy.sqrt(3))),
    54: octahedron,
    55: square_with_negative_a,
    56: sum_of_two_distances,
    57: three_roots,
    58: perpendicular_bisector,
    59: integer_quotients,
    60: weighted_sum,
    61: tilings,
    62: central_binomials,
    63: lcm_triples,
    64: calm_tosses,
    65: lambda: sum((m * m + m + 1) % 91 == 0 for m in range(1, 2027)),
    66: centres_of_13_14_15,
    67: product_over_roots,
    68: ant,
    69: no_difference_of_three,
    70: pell,
    71: tetrahedron,
    72: last_number_parity,
}


@functools.cache
def prove(number: int) -> Any:
    """The proved value of an item, computed once."""
    return PROOFS[number]()


def read_expression(text: str) -> sympy.Expr:
    """A key's LaTeX as an expression: fractions, roots, powers, pi and juxtaposition are all there is."""
    text = re.sub(r"\\frac\{((?:[^{}]|\{[^{}]*\})*)\}\{([^{}]*)\}", r"((\1)/(\2))", text)
    text = re.sub(r"\\sqrt\{([^{}]*)\}", r"sqrt(\1)", text)
    text = re.sub(r"\^\{([^{}]*)\}", r"**(\1)", text).replace("^", "**")
    text = text.replace("\\cdot", "*").replace("\\pi", "pi").replace("\\infty", "oo")
    names = {"x": x, "y": y, "a": a, "n": n, "sqrt": sympy.sqrt, "pi": sympy.pi, "oo": sympy.oo}
    text = re.sub(r"(?<=[0-9)])\s*(?=[a-z(])|(?<=\bn)(?=\()", "*", text)
    return parse_expr(text, local_dict=names, transformations=(*standard_transformations, implicit_multiplication))


def read_number(text: str, language: str) -> Fraction:
    """A decimal in the notation of its language: a comma in Turkish and Portuguese, a point in English."""
    assert ("." if language == "en" else ",") in text or text.lstrip("-").isdigit()
    assert ("," if language == "en" else ".") not in text
    return Fraction(text.replace(",", "."))


def read_key(problem: Problem) -> Any:
    """The value a key stands for, read in the notation of its language."""
    text, language, kind = problem.answer, problem.language, problem.answer_kind
    if kind in ("integer", "decimal"):
        return read_number(text, language)
    if kind == "percent":
        assert text.startswith("%") if language == "tr" else text.endswith("%")
        return read_number(text.strip("%"), language)
    if kind == "interval":
        left, right = (read_expression(end) for end in text[1:-1].split(","))
        opens, closes = ("][", "[]") if language == "pt" else ("()", "[]")
        assert text[0] in (opens[0], closes[0])
        return sympy.Interval(left, right, left_open=text[0] == opens[0], right_open=text[-1] == opens[1])
    if kind == "tuple":
        parts = text[1:-1].split(";" if ";" in text else ",")
        return tuple(
            read_number(part.strip(), language) if ";" in text or "." in part else read_expression(part)
            for part in parts
        )
    if kind == "set":
        return frozenset(read_expression(part) for part in text[2:-2].split(","))
    if kind == "equation":
        left, right = (read_expression(side) for side in text.split("="))
        return sympy.expand(left - right)
    return text if kind in ("text", "choice") else read_expression(text)


def agree(key: Any, proved: Any, kind: str) -> bool:
    """Whether a key's value is the proved one; an equation may differ from it by a constant factor."""
    if kind == "equation":
        ratio = sympy.cancel(key / proved)
        return bool(ratio.is_number and ratio != 0)
    if kind in ("radical", "expression", "fraction"):
        difference = key - sympy.sympify(proved)
        point = {x: 1.37, y: 0.61, a: 2.3, n: 3}
        return abs(complex(difference.subs(point))) < 1e-9 and sympy.simplify(difference) == 0
    if kind == "tuple":
        return len(key) == len(proved) and all(bool(p == q) for p, q in zip(key, proved, strict=True))
    return bool(key == proved)


def test_every_item_has_a_proof() -> None:
    """There is one proof per item and no proof without an item."""
    assert {f"starter/{number}" for number in PROOFS} == set(ITEMS)


@pytest.mark.parametrize("number", PROOFS)
def test_keys_are_proved(number: int) -> None:
    """The computed value equals the stored key in each of the three languages."""
    proved = prove(number)
    for problem in ITEMS[f"starter/{number}"]:
        wanted = proved[problem.language] if isinstance(proved, dict) else proved
        assert agree(read_key(problem), wanted, problem.answer_kind), (problem.id, problem.answer, wanted)


@pytest.mark.parametrize("number", PROOFS)
def test_proofs_tell_keys_apart(number: int) -> None:
    """A proof is no rubber stamp: the key of another item of the same kind, with another value, does not agree."""
    problem = ITEMS[f"starter/{number}"][0]
    if isinstance(proved := prove(number), dict):
        proved = proved["en"]
    others = [p[0] for p in ITEMS.values() if p[0].answer_kind == problem.answer_kind and p[0].answer != problem.answer]
    assert others
    for other in others:
        assert not agree(read_key(other), proved, problem.answer_kind), other.id


@pytest.mark.parametrize("item", ITEMS)
def test_translations_state_the_same_problem(item: str) -> None:
    """Item, kind, level and every number in the text are the same in the three languages."""
    numbers = []
    for problem in ITEMS[item]:
        assert problem.item == item
        text = problem.question.replace("1'den", "1 ")
        marks = re.findall(r"\d+[.,]\d+(?!\d)|\d+", re.sub(r"(\d),(\s)", r"\1 ,\2", text))
        numbers.append(sorted(mark.replace(",", ".") for mark in marks))
    assert numbers[0] == numbers[1] == numbers[2]
    assert len({(problem.answer_kind, problem.level, problem.topic) for problem in ITEMS[item]}) == 1


def test_decimals_are_written_as_the_language_does() -> None:
    """No decimal point in Turkish or Portuguese, no decimal comma in English."""
    for problems in ITEMS.values():
        for problem in problems:
            wrong = r"\d,\d" if problem.language == "en" else r"\d\.\d"
            assert not re.search(wrong, problem.question + " " + problem.answer), problem.id


def test_choices_stand_in_the_question() -> None:
    """Each option of a choice item is in its text after its letter, and the key is one of the letters."""
    choices = [problem for problems in ITEMS.values() for problem in problems if problem.answer_kind == "choice"]
    assert len(choices) == 9
    for problem in choices:
        assert problem.choices is not None
        for mark, option in zip("ABCD", problem.choices, strict=True):
            assert f"({mark}) {option}" in problem.question
        assert problem.answer in "ABCD"


def test_every_kind_and_level_is_there() -> None:
    """Each answer kind occurs at least three times; there are enough easy and enough hard items."""
    first = [problems[0] for problems in ITEMS.values()]
    kinds = [problem.answer_kind for problem in first]
    assert min(kinds.count(kind) for kind in set(kinds)) >= 3
    assert set(kinds) == {
        "integer", "fraction", "decimal", "percent", "radical", "expression",
        "interval", "tuple", "set", "equation", "text", "choice",
    }  # fmt: skip
    levels = [problem.level for problem in first]
    assert levels.count("one-step") >= 16
    assert levels.count("hard") >= 8
    assert len(first) >= 48


def test_worked_examples_are_not_in_the_set() -> None:
    """The examples shown to a weak model give away no item."""
    for language, problems in zip(LANGUAGES, zip(*ITEMS.values(), strict=True), strict=True):
        shown = {text for _, text in solver_messages(problems[0], shots=3)[:-1]}
        assert not shown & {solver_messages(problem)[0][1] for problem in problems}, language
