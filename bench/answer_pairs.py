"""Random pairs of equal and of different answers, proved by SymPy, against the answer grader.

    python bench/answer_pairs.py --pairs 20000 --seed 0

Every pair is built from a random SymPy expression: an equal partner by rewriting it, a different one by changing a
number. A pair counts only if SymPy proves it (the difference expands or simplifies to zero, or is numerically far from
zero). Prints the number of disagreements and exits 1 if there is any.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import sympy

X, Y = sympy.symbols("x y", positive=True)
_ANGLES = [sympy.pi / n for n in (2, 3, 4, 6)]


class Pair(NamedTuple):
    """Two answers in LaTeX and whether SymPy proves them equal."""

    key: str
    answer: str
    equal: bool


def pairs(count: int, seed: int) -> Iterator[Pair]:
    """That many proved pairs, about half of them equal, the same for the same seed."""
    dice = random.Random(seed)
    made = 0
    while made < count:
        expression = _expression(dice, dice.choice((1, 2, 2, 3)))
        equal = dice.random() < 0.5
        partner = _rewritten(dice, expression) if equal else _changed(dice, expression)
        if partner is None or _proof(expression, partner) is not equal:
            continue
        key, answer = (_latex(dice, side) for side in dice.sample((expression, partner), 2))
        if len(key) < 300 and len(answer) < 300:
            made += 1
            yield Pair(key, answer, equal)


def _number(dice: random.Random) -> Any:
    kind = dice.random()
    if kind < 0.5:
        return sympy.Integer(dice.randint(-12, 30))
    if kind < 0.75:
        return sympy.Rational(dice.randint(-9, 20), dice.randint(2, 12))
    if kind < 0.9:
        return sympy.sqrt(dice.choice((2, 3, 5, 6, 7, 8, 12, 18)))
    return dice.choice((sympy.pi, sympy.E, sympy.cbrt(2), sympy.sqrt(2) / 2))


def _expression(dice: random.Random, depth: int) -> Any:
    if depth == 0:
        return dice.choice((X, Y, X)) if dice.random() < 0.3 else _number(dice)
    a, b = _expression(dice, depth - 1), _expression(dice, depth - 1)
    kind = dice.random()
    if kind < 0.32:
        return a + b
    if kind < 0.6:
        return a * b
    if kind < 0.72:
        return a / b if b != 0 else a
    if kind < 0.84:
        return a ** dice.choice((2, 2, 3, -1)) if a != 0 else b
    if kind < 0.9:
        return dice.choice((sympy.sin, sympy.cos))(dice.choice(_ANGLES) * dice.randint(1, 7)) + a
    if kind < 0.95:
        return sympy.log(sympy.Integer(dice.randint(2, 12))) + a
    return sympy.sqrt(dice.randint(2, 30)) + b


def _rewritten(dice: random.Random, expression: Any) -> Any:
    rewrite = dice.choice((sympy.expand, sympy.factor, sympy.together, sympy.radsimp, sympy.expand_log, sympy.cancel))
    try:
        return rewrite(expression)
    except (ValueError, TypeError, NotImplementedError, ZeroDivisionError, sympy.PolynomialError):
        return None


def _changed(dice: random.Random, expression: Any) -> Any:
    numbers = sorted((n for n in expression.atoms(sympy.Integer) if n != 0), key=int)
    if not numbers:
        return expression + 1
    old = dice.choice(numbers)
    return expression.xreplace({old: old + dice.choice((-2, -1, 1, 2))})


def _proof(left: Any, right: Any) -> bool | None:
    difference = left - right
    if difference.has(sympy.nan, sympy.zoo, sympy.oo) or left.has(sympy.nan, sympy.zoo, sympy.oo):
        return None
    if difference == 0 or sympy.expand(difference) == 0:
        return True
    at = difference.subs({X: sympy.Rational(17, 13), Y: sympy.Rational(23, 29)}).evalf(30)
    if at.is_number and abs(at) > sympy.Float("1e-12"):
        return False
    return True if sympy.simplify(difference) == 0 else None


def _latex(dice: random.Random, expression: Any) -> str:
    return str(
        sympy.latex(
            expression,
            ln_notation=True,
            mul_symbol=dice.choice((None, None, "dot", "times")),
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    from multilingual_math_audit.evaluate.answers.equivalence import answers_equal

    wrong, equal, spent = 0, 0, 0.0
    for pair in pairs(options.pairs, options.seed):
        start = time.perf_counter()
        given = answers_equal(pair.key, pair.answer)
        spent += time.perf_counter() - start
        equal += pair.equal
        if given.equal is not pair.equal:
            wrong += 1
            print(f"SymPy proves {'equal' if pair.equal else 'different'}: {pair.key} | {pair.answer} ({given.method})")
    print(
        f"{options.pairs} pairs, {equal} equal and {options.pairs - equal} different by SymPy: {wrong} disagreements; "
        f"{options.pairs / spent:.0f} comparisons a second"
    )
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
