"""Exact values: rationals within a bit budget, and a normal form that proves equality of what is never expanded."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from multilingual_math_audit.evaluate.answers.trees import Node

# A number of this many bits is still computed; a larger one stays a power or a factorial.
MAX_BITS = 300_000
MAX_FACTORIAL = 20_000
MAX_TERMS = 10_000
_EXPANDED = 120


class Undefined(Exception):
    """The expression has no value: a division by zero, a logarithm of zero."""


class Inexact(Exception):
    """The value is no rational that fits the budget."""


def rational(node: Node) -> Fraction | None:
    """The exact rational value of a tree, None when it has none or one beyond the budget; raises Undefined.

    >>> from multilingual_math_audit.evaluate.answers.trees import number, power
    >>> str(rational(power(number(2), number(-3))))
    '1/8'
    """
    try:
        return _value(node, {}, [MAX_TERMS])
    except Inexact:
        return None


def _value(node: Node, bound: dict[str, Fraction], steps: list[int]) -> Fraction:
    op = node.op
    if op == "num" and node.value is not None:
        return node.value
    steps[0] -= 1
    if steps[0] < 0:
        raise Inexact
    if op == "add":
        values = [_value(arg, bound, steps) for arg in node.args]
        return sum(values[1:], values[0])
    if op == "mul":
        return _product([_value(arg, bound, steps) for arg in node.args])
    if op == "pow":
        return _power(_value(node.args[0], bound, steps), _value(node.args[1], bound, steps))
    if op == "root":
        return _root(_value(node.args[0], bound, steps), _value(node.args[1], bound, steps))
    if op == "fact":
        return Fraction(math.factorial(_small_integer(_value(node.args[0], bound, steps))))
    if op == "pct":
        return _value(node.args[0], bound, steps) / 100
    if op == "sym" and node.name in bound:
        return bound[node.name]
    if op == "base":
        return _in_base(node, bound, steps)
    if op in ("sum", "prod"):
        return _series(node, bound, steps)
    if op == "fn":
        return _function(node.name, [_value(arg, bound, steps) for arg in node.args])
    raise Inexact


def _product(values: list[Fraction]) -> Fraction:
    result = values[0]
    for value in values[1:]:
        if _bits(result) + _bits(value) > MAX_BITS:
            raise Inexact
        result *= value
    return result


def _bits(value: Fraction) -> int:
    return value.numerator.bit_length() + value.denominator.bit_length()


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        root = _root(base, Fraction(exponent.denominator))
        return _power(root, Fraction(exponent.numerator))
    if base == 0 and exponent < 0:
        raise Undefined
    if base == 0 and exponent == 0:
        return Fraction(1)
    if abs(base) != 1 and _bits(base) * abs(exponent) > MAX_BITS:
        raise Inexact
    if base == -1:
        return Fraction(1 if exponent % 2 == 0 else -1)
    return base ** int(exponent) if base != 1 else base


def _root(value: Fraction, degree: Fraction) -> Fraction:
    """The real root when it is rational."""
    if degree.denominator != 1 or not 1 <= degree <= 64:
        raise Inexact
    n = int(degree)
    if value < 0:
        if n % 2 == 0:
            raise Inexact
        return -_root(-value, degree)
    top, bottom = integer_root(value.numerator, n), integer_root(value.denominator, n)
    if top is None or bottom is None:
        raise Inexact
    return Fraction(top, bottom)


def integer_root(value: int, n: int) -> int | None:
    """The n-th root of a non-negative integer when it is an integer.

    >>> integer_root(27, 3), integer_root(28, 3)
    (3, None)
    """
    if n == 1 or value < 2:
        return value
    if n == 2:
        root = math.isqrt(value)
    else:
        root = 1 << -(-value.bit_length() // n)
        while (better := ((n - 1) * root + value // root ** (n - 1)) // n) < root:
            root = better
    return root if root**n == value else None


def _small_integer(value: Fraction) -> int:
    if value.denominator != 1:
        raise Inexact
    if value < 0:
        raise Undefined
    if value > MAX_FACTORIAL:
        raise Inexact
    return int(value)


def _in_base(node: Node, bound: dict[str, Fraction], steps: list[int]) -> Fraction:
    base = _value(node.args[0], bound, steps)
    if base.denominator != 1 or not 2 <= base <= 36:
        raise Inexact
    try:
        return Fraction(int(node.name, int(base)))
    except ValueError:
        raise Undefined from None


def _series(node: Node, bound: dict[str, Fraction], steps: list[int]) -> Fraction:
    body, lower, upper = node.args
    first, last = _value(lower, bound, steps), _value(upper, bound, steps)
    if first.denominator != 1 or last.denominator != 1 or last - first > MAX_TERMS:
        raise Inexact
    total = Fraction(0 if node.op == "sum" else 1)
    for index in range(int(first), int(last) + 1):
        term = _value(body, {**bound, node.name: Fraction(index)}, steps)
        total = total + term if node.op == "sum" else _product([total, term])
        if _bits(total) > MAX_BITS:
            raise Inexact
    return total


def _function(name: str, values: list[Fraction]) -> Fraction:
    first = values[0]
    if name == "abs":
        return abs(first)
    if name in ("floor", "ceil"):
        return Fraction(math.floor(first) if name == "floor" else math.ceil(first))
    if name == "sgn":
        return Fraction((first > 0) - (first < 0))
    if name in ("max", "min"):
        return max(values) if name == "max" else min(values)
    if name in ("gcd", "lcm") and all(value.denominator == 1 for value in values):
        integers = [int(value) for value in values]
        return Fraction(math.gcd(*integers) if name == "gcd" else math.lcm(*integers))
    if name == "binomial" and len(values) == 2 and all(value.denominator == 1 for value in values):
        n, k = int(first), int(values[1])
        if 0 <= k <= n and min(k, n - k) * n.bit_length() <= MAX_BITS and n <= 10**9:
            return Fraction(math.comb(n, k))
        if 0 <= n < k:
            return Fraction(0)
    if name in ("ln", "log") and len(values) == 1 and first == 1:
        return Fraction(0)
    if name in ("ln", "log") and first == 0:
        raise Undefined
    raise Inexact


# A normal form is a sum of monomials with rational coefficients; a monomial maps atoms to exponents, which are normal
# forms themselves. Equal forms are equal expressions; different forms prove nothing.
Form = frozenset[tuple[Any, Fraction]]


def normal_form(node: Node) -> Form | None:
    """A hashable form that equal polynomials in the same atoms share; None beyond the budget.

    >>> from multilingual_math_audit.evaluate.answers.trees import Node, number, power
    >>> huge = power(number(2), number(10**9))
    >>> normal_form(Node("mul", (huge, huge))) == normal_form(power(number(4), number(10**9)))
    True
    """
    try:
        return _frozen(_normal(node))
    except (Undefined, Inexact, OverflowError, ZeroDivisionError):
        return None


_UNIT: Any = frozenset()
_ONE: dict[Any, Fraction] = {_UNIT: Fraction(1)}


def _frozen(form: dict[Any, Fraction]) -> Form:
    return frozenset(form.items())


def _normal(node: Node) -> dict[Any, Fraction]:
    value = rational(node)
    if value is not None:
        return {_UNIT: value} if value else {}
    if node.op == "add":
        total: dict[Any, Fraction] = {}
        for arg in node.args:
            for monomial, coefficient in _normal(arg).items():
                total[monomial] = total.get(monomial, Fraction(0)) + coefficient
        return {monomial: coefficient for monomial, coefficient in total.items() if coefficient}
    if node.op == "mul":
        product = _ONE
        for arg in node.args:
            product = _times(product, _normal(arg))
        return product
    if node.op == "pow":
        return _raised(node.args[0], _normal(node.args[1]))
    if node.op == "root":
        degree = rational(node.args[1])
        if degree is not None and degree.denominator == 1 and degree > 0 and rational(node.args[0]) is not None:
            return _raised(node.args[0], {_UNIT: 1 / degree})
    if node.op == "pct":
        return {monomial: coefficient / 100 for monomial, coefficient in _normal(node.args[0]).items()}
    return _atom((node.op, node.name, tuple(_frozen(_normal(arg)) for arg in node.args)))


def _atom(atom: Any) -> dict[Any, Fraction]:
    return {frozenset({(atom, _frozen(_ONE))}): Fraction(1)}


def _times(left: dict[Any, Fraction], right: dict[Any, Fraction]) -> dict[Any, Fraction]:
    if len(left) * len(right) > _EXPANDED:
        raise Inexact
    product: dict[Any, Fraction] = {}
    for first, a in left.items():
        for second, b in right.items():
            monomial, factor = _joined(dict(first), dict(second))
            product[monomial] = product.get(monomial, Fraction(0)) + a * b * factor
    return {monomial: coefficient for monomial, coefficient in product.items() if coefficient}


def _joined(left: dict[Any, Form], right: dict[Any, Form]) -> tuple[Any, Fraction]:
    for atom, exponent in right.items():
        total = dict(left.get(atom, frozenset()))
        for monomial, coefficient in exponent:
            total[monomial] = total.get(monomial, Fraction(0)) + coefficient
        left[atom] = _frozen({m: c for m, c in total.items() if c})
    factor = Fraction(1)
    for atom, exponent in list(left.items()):
        if not exponent:
            del left[atom]
        elif atom[0] == "prime" and len(exponent) == 1 and next(iter(exponent))[0] == _UNIT:
            # The integer part of a prime's exponent belongs to the coefficient while that stays small.
            power = next(iter(exponent))[1]
            whole = math.floor(power)
            if whole and abs(whole) * atom[1].bit_length() <= MAX_BITS:
                factor *= Fraction(atom[1]) ** whole
                rest = power - whole
                left[atom] = frozenset({(_UNIT, rest)})
                if not rest:
                    del left[atom]
    return frozenset(left.items()), factor


def _raised(base: Node, exponent: dict[Any, Fraction]) -> dict[Any, Fraction]:
    constant = exponent.get(_UNIT, Fraction(0)) if len(exponent) <= 1 and (not exponent or _UNIT in exponent) else None
    value = rational(base)
    if value is not None and value > 0:
        result = _ONE
        for prime, power in _factors(value):
            scaled = _frozen({m: c * power for m, c in exponent.items()})
            monomial, factor = _joined({}, {("prime", prime): scaled})
            result = _times(result, {monomial: factor})
        return result
    form = _normal(base)
    if constant is not None and constant.denominator == 1:
        if len(form) == 1:
            ((monomial, coefficient),) = form.items()
            if abs(constant) * _bits(coefficient) > MAX_BITS:
                raise Inexact
            scaled_monomial = {atom: _frozen({m: c * constant for m, c in power}) for atom, power in monomial}
            joined, factor = _joined({}, scaled_monomial)
            return {joined: factor * coefficient ** int(constant)}
        if 0 < constant <= 6:
            result = _ONE
            for _ in range(int(constant)):
                result = _times(result, form)
            return result
        content = max(abs(coefficient) for coefficient in form.values())
        primitive = {m: c / content for m, c in form.items()}
        if abs(constant) * _bits(content) > MAX_BITS:
            raise Inexact
        return {frozenset({(("form", _frozen(primitive)), _frozen(exponent))}): content ** int(constant)}
    if base.op == "const" and base.name == "e":
        return {frozenset({(("const", "e", ()), _frozen(exponent))}): Fraction(1)}
    return _atom(("pow", _frozen(form), _frozen(exponent)))


def _factors(value: Fraction) -> list[tuple[int, int]]:
    """Small primes and what is left, with their exponents; a large cofactor stays whole."""
    result = []
    for part, sign in ((value.numerator, 1), (value.denominator, -1)):
        rest = part
        for prime in range(2, 2000):
            count = 0
            while rest % prime == 0:
                rest //= prime
                count += 1
            if count:
                result.append((prime, sign * count))
            if prime * prime > rest:
                break
        if rest > 1:
            for degree in (5, 3, 2):
                if (root := integer_root(rest, degree)) is not None:
                    result.append((root, sign * degree))
                    break
            else:
                result.append((rest, sign))
    return result
