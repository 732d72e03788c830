"""A quick look in floating point, with a bound of its error: it can only tell that two values differ."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable

from multilingual_math_audit.evaluate.answers.trees import Node

_EPSILON = 2.3e-16
# Twice the largest part of the bounds below that rounding in the functions themselves could miss, and more.
_SAFETY = 1e4
_FUNCTIONS: dict[str, Callable[[float], float]] = {"sin": math.sin, "cos": math.cos, "atan": math.atan, "abs": abs}
_MAX_NODES = 200


class _Skipped(Exception):
    """Nothing is claimed about this expression."""


def far_apart(left: Node, right: Node) -> bool:
    """Whether two expressions certainly differ at one positive value of each symbol.

    >>> from multilingual_math_audit.evaluate.answers.trees import Node, number
    >>> x = Node("sym", name="x")
    >>> far_apart(Node("add", (x, number(1))), Node("add", (x, number(2)))), far_apart(x, x)
    (True, False)
    """
    try:
        a, error_a = _value(left, [_MAX_NODES])
        b, error_b = _value(right, [_MAX_NODES])
    except (_Skipped, OverflowError, ZeroDivisionError, ValueError):
        return False
    return math.isfinite(a) and math.isfinite(b) and abs(a - b) > _SAFETY * (error_a + error_b)


def _value(node: Node, steps: list[int]) -> tuple[float, float]:
    """A value and a bound of its error."""
    steps[0] -= 1
    op = node.op
    if steps[0] < 0:
        raise _Skipped
    if op == "num" and node.value is not None:
        value = node.value.numerator / node.value.denominator
        return value, abs(value) * _EPSILON
    if op == "sym":
        return 0.6 + (zlib.crc32(node.name.encode()) % 9973) / 7919, _EPSILON
    if op == "const" and node.name in ("pi", "e"):
        return (math.pi if node.name == "pi" else math.e), _EPSILON
    if op == "add":
        return _sum([_value(arg, steps) for arg in node.args])
    if op == "mul":
        return _product([_value(arg, steps) for arg in node.args])
    if (
        op == "pow"
        and (exponent := node.args[1].value) is not None
        and exponent.denominator == 1
        and abs(exponent) < 60
    ):
        return _power(_value(node.args[0], steps), int(exponent))
    if op == "root" and node.args[1].value == 2:
        value, error = _value(node.args[0], steps)
        if value <= 100 * error:
            raise _Skipped
        root = math.sqrt(value)
        return root, error / root + root * _EPSILON
    if op == "fn" and node.name in _FUNCTIONS:
        value, error = _value(node.args[0], steps)
        return _FUNCTIONS[node.name](value), error + abs(value) * _EPSILON + _EPSILON
    if op == "fn" and node.name == "ln":
        value, error = _value(node.args[0], steps)
        if value <= 100 * error:
            raise _Skipped
        return math.log(value), 2 * error / value + _EPSILON
    raise _Skipped


def _sum(parts: list[tuple[float, float]]) -> tuple[float, float]:
    size = sum(abs(value) for value, _ in parts)
    return sum(value for value, _ in parts), sum(error for _, error in parts) + size * len(parts) * _EPSILON


def _product(parts: list[tuple[float, float]]) -> tuple[float, float]:
    value, error = parts[0]
    for other, other_error in parts[1:]:
        error = abs(value) * other_error + abs(other) * error + error * other_error + abs(value * other) * _EPSILON
        value *= other
    return value, error


def _power(base: tuple[float, float], exponent: int) -> tuple[float, float]:
    value, error = base
    if abs(value) <= 100 * error:
        raise _Skipped
    result = value**exponent
    return result, abs(result) * (2 * abs(exponent) * error / abs(value) + (abs(exponent) + 1) * _EPSILON)
