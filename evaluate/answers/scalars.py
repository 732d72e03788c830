"""Whether two expressions are equal: the cheapest proof first, and never a verdict from rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from multilingual_math_audit.evaluate.answers.exact import Undefined, normal_form, rational
from multilingual_math_audit.evaluate.answers.floats import far_apart
from multilingual_math_audit.evaluate.answers.numeric import (
    FAR_POINTS,
    MAX_DIGITS,
    Evaluation,
    Unknown,
    context,
    height,
)
from multilingual_math_audit.evaluate.answers.tail import needs_tail, proved_equal
from multilingual_math_audit.evaluate.answers.trees import Node, contains, symbols
from multilingual_math_audit.records import Doubt

# A decimal with this many digits stands for the number it rounds.
ENOUGH_DIGITS = 15
# Values that need more digits than this are first told apart, if they can be, with few.
_QUICK = 150
_POINTS = (0, 1, 2, 3, 4)
_ROUNDING = frozenset({"floor", "ceil"})
_CORNERS = _ROUNDING | {"abs", "max", "min", "sgn"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether two values are equal, by which method, and how doubtful that is."""

    equal: bool
    method: str
    doubt: Doubt = "none"


def scalars_equal(left: Node, right: Node) -> Verdict:
    r"""Whether two trees have the same value, for all values of their symbols.

    >>> from multilingual_math_audit.evaluate.answers.trees import Node, number, power
    >>> scalars_equal(power(number(4), number(3)), number(64)).method
    'rational'
    """
    if left.op == right.op == "num" and not (left.name or right.name):
        return Verdict(left.value == right.value, "rational")
    if left == right:
        return Verdict(True, "structure")
    try:
        a, b = rational(left), rational(right)
    except Undefined:
        return Verdict(False, "undefined")
    if a is not None and b is not None:
        return Verdict(True, "rational") if a == b else _rounded(left, right, a, b) or Verdict(False, "rational")
    if infinite(left) or infinite(right):
        return Verdict(infinite(left) == infinite(right), "infinity")
    if _computes_with_infinity(left) or _computes_with_infinity(right):
        return Verdict(False, "undefined", "low")
    if far_apart(left, right):
        return _long_decimal(left, right) or Verdict(False, "numeric")
    if (form := normal_form(left)) is not None and form == normal_form(right):
        return Verdict(True, "algebra")
    return _numeric(left, right)


def infinite(node: Node) -> int:
    """1 for plus infinity, -1 for minus infinity, 0 for anything else."""
    if node.op == "const" and node.name == "inf":
        return 1
    if node.op == "mul" and contains(node, "const"):
        signs = [infinite(arg) or (_sign(arg) if arg.op == "num" else 0) for arg in node.args]
        return math.prod(signs) if any(infinite(arg) for arg in node.args) else 0
    return 0


def _computes_with_infinity(node: Node) -> bool:
    """Whether infinity is a term or a factor, as in `5 + \\infty - \\infty`, rather than a bound or a limit point."""
    stack = [node]
    while stack:
        current = stack.pop()
        if current.op == "const" and current.name == "inf":
            return True
        stack.extend(current.args[:1] if current.op in ("sum", "prod", "int", "lim") else current.args)
    return False


def _sign(node: Node) -> int:
    return 0 if not node.value else 1 if node.value > 0 else -1


def _rounded(left: Node, right: Node, a: Fraction, b: Fraction) -> Verdict | None:
    """A long decimal that is just the rounding of the other value."""
    for decimal, shown, exact in ((left, a, b), (right, b, a)):
        if decimal.op == "num" and _is_rounding(decimal.name, shown, exact):
            return Verdict(True, "rounding", "low")
    return None


def _is_rounding(name: str, shown: Fraction, exact: Fraction) -> bool:
    digits = name.replace(".", "").lstrip("0")
    if len(digits) < ENOUGH_DIGITS or "." not in name:
        return False
    places = len(name.partition(".")[2])
    scaled = abs(exact) * 10**places
    if scaled.denominator == 1 or (shown < 0) != (exact < 0):
        return False
    units = abs(shown) * 10**places
    # A binary float printed in full is off by up to one unit in its last place.
    if len(digits) > ENOUGH_DIGITS:
        return bool(abs(units - scaled) <= 1)
    return units in (math.floor(scaled), math.floor(scaled + Fraction(1, 2)))


def _numeric(left: Node, right: Node) -> Verdict:
    try:
        digits = height(left) + height(right)
    except OverflowError:
        digits = math.inf
    capped = digits > MAX_DIGITS
    reach = MAX_DIGITS if capped else int(digits)
    names = symbols(left) | symbols(right)
    indexed = contains(left, "idx") or contains(right, "idx")
    integers = contains(left, "sum", "prod", "fact") or contains(right, "sum", "prod", "fact")
    if reach > _QUICK and _clearly_different(left, right, integers and bool(names)):
        return Verdict(False, "numeric")
    agreed = 0
    whole = integers and bool(names)
    points = [(0, whole)]
    if names or indexed:
        points = [(point, whole) for point in _POINTS + (FAR_POINTS if _has_corners(left, right) else ())]
        # Rounding functions jump at integers, where no random value falls.
        points += [(point, True) for point in _POINTS if _has(_ROUNDING, left, right)]
    for point, at_integers in points:
        try:
            same = _same_at(left, right, Evaluation(context(2 * reach + 60), point, at_integers), reach)
        except Undefined:
            continue
        except Unknown:
            return _by_sympy(left, right)
        except (ZeroDivisionError, ValueError, OverflowError, MemoryError, TypeError):
            continue
        if same is False:
            return _long_decimal(left, right) or Verdict(False, "numeric")
        agreed += same is True
    if agreed < min(2, len(points)):
        return Verdict(False, "undefined", "high")
    if capped:
        return Verdict(False, "limit", "high")
    return Verdict(True, "numeric", "none")


def _has_corners(*nodes: Node) -> bool:
    """Whether an expression may agree with another near zero and not far from it: absolute values, floors, radicals."""
    return any(contains(node, "root") for node in nodes) or _has(_CORNERS, *nodes)


def _has(names: frozenset[str], *nodes: Node) -> bool:
    """Whether one of these functions occurs anywhere in the trees."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if node.op == "fn" and node.name in names:
            return True
        stack.extend(node.args)
    return False


def _by_sympy(left: Node, right: Node) -> Verdict:
    proof = proved_equal(left, right) if needs_tail(left, right) else None
    if proof is None:
        return Verdict(False, "limit", "high")
    return Verdict(proof, "sympy", "low")


def _clearly_different(left: Node, right: Node, integers: bool) -> bool:
    """Whether two precisions agree on both values and these are far apart: no rounding explains that."""
    seen: list[list[Any]] = []
    for digits in (60, 120):
        evaluation = Evaluation(context(digits), 0, integers)
        try:
            seen.append([evaluation.value(left), evaluation.value(right)])
        except (Undefined, Unknown, ZeroDivisionError, ValueError, OverflowError, TypeError):
            return False
    ctx = context(120)
    (a, b), (c, d) = seen
    if not all(ctx.isfinite(value) for value in (a, b, c, d)):
        return False
    tiny = ctx.mpf(10) ** -30
    stable = abs(a - c) <= tiny * abs(c) and abs(b - d) <= tiny * abs(d)
    return bool(stable and abs(c - d) > ctx.mpf(10) ** -15 * max(abs(c), abs(d)))


def _same_at(left: Node, right: Node, evaluation: Evaluation, reach: int) -> bool | None:
    """Whether both sides agree at one point; None where neither is real and nothing can be said."""
    ctx = evaluation.ctx
    a, b = evaluation.value(left), evaluation.value(right)
    if not (ctx.isfinite(a) and ctx.isfinite(b)):
        raise Undefined
    tolerance = ctx.mpf(10) ** -(reach + 40)
    if evaluation.point >= 3 and _is_complex(ctx, a, tolerance) and _is_complex(ctx, b, tolerance):
        return None
    return bool(abs(a - b) <= tolerance * max(1, abs(a)))


def _is_complex(ctx: Any, value: Any, tolerance: Any) -> bool:
    return bool(abs(ctx.im(value)) > tolerance * max(1, abs(value)))


def _long_decimal(left: Node, right: Node) -> Verdict | None:
    """A decimal of fifteen digits and more that rounds an irrational value."""
    for decimal, other in ((left, right), (right, left)):
        if (
            decimal.op != "num"
            or decimal.value is None
            or len(decimal.name.replace(".", "").lstrip("0")) < ENOUGH_DIGITS
        ):
            continue
        if symbols(other) or len(decimal.name) > MAX_DIGITS:
            return None
        ctx = context(len(decimal.name) + 40)
        try:
            value = Evaluation(ctx, 0).value(other)
        except (Undefined, Unknown, ZeroDivisionError, ValueError, OverflowError, TypeError):
            return None
        if ctx.im(value) == 0:
            exact = Fraction(int(ctx.floor(value * 10 ** (len(decimal.name) + 20))), 10 ** (len(decimal.name) + 20))
            if _is_rounding(decimal.name, decimal.value, exact):
                return Verdict(True, "rounding", "low")
    return None
