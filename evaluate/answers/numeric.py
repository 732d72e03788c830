"""High-precision values of expressions, with symbols given random values: two that differ anywhere are not equal."""

from __future__ import annotations

import hashlib
import math
import threading
from dataclasses import dataclass
from typing import Any

from multilingual_math_audit.evaluate.answers.exact import Undefined
from multilingual_math_audit.evaluate.answers.trees import Node

MAX_STEPS = 20_000
MAX_DIGITS = 2_500
# An exponent or an argument beyond this has no digits that could be computed.
_MAX_MAGNITUDE = 10**15
# Points whose values are tens, hundreds, thousands and more, some of them negative.
FAR_POINTS = (5, 6, 7, 8, 9, 10)
_NEGATIVE = (3, 8, 10)
_local = threading.local()


class Unknown(Exception):
    """No value can be computed within the budget."""


def context(digits: int) -> Any:
    """This thread's own mpmath context at a precision in decimal digits."""
    if not hasattr(_local, "context"):
        import mpmath

        _local.context = mpmath.MPContext()
    _local.context.dps = digits
    return _local.context


def height(node: Node) -> float:
    """About how many decimal digits the numbers inside a tree have; infinity when that is beyond reckoning.

    >>> from multilingual_math_audit.evaluate.answers.trees import number, power
    >>> 600 < height(power(number(2), number(2025))) < 2100
    True
    """
    op, args = node.op, node.args
    if op == "num" and node.value is not None:
        return max(node.value.numerator.bit_length(), node.value.denominator.bit_length()) * 0.302 + 0.1
    if not args:
        return 0.5
    if op == "pow":
        return height(args[0]) * max(1.0, abs(_estimate(args[1]))) + 1
    if op in ("fact", "dfact"):
        size = abs(_estimate(args[0]))
        return size * math.log10(size + 10)
    if op == "fn" and node.name == "binomial":
        return abs(_estimate(args[0])) * 0.4 + 1
    if op == "fn" and node.name in ("sinh", "cosh", "tanh"):
        return abs(_estimate(args[0])) + 1
    parts = [height(arg) for arg in args]
    return max(parts) + math.log10(len(parts)) if op == "add" else sum(parts)


def _estimate(node: Node) -> float:
    """A rough size of an exponent."""
    if node.op == "num" and node.value is not None:
        return float(node.value) if abs(node.value) < 10**300 else math.inf
    parts = [abs(_estimate(arg)) for arg in node.args]
    if node.op == "add":
        return sum(parts)
    if node.op == "mul":
        return math.prod(parts)
    if node.op == "pow":
        base, exponent = max(parts[0], 1.0), parts[1]
        return (
            math.exp(min(700.0, math.log(base) * exponent))
            if base > 1 and exponent < 1e6
            else base
            if base <= 1
            else math.inf
        )
    if node.op in ("fact", "dfact"):
        return math.exp(min(700.0, parts[0] * math.log(parts[0] + 1))) if parts[0] < 1e6 else math.inf
    return max(parts, default=4.0)


@dataclass(slots=True)
class Evaluation:
    """One evaluation of trees: a precision, random values seeded by `point`, and a budget of steps."""

    ctx: Any
    point: int
    integers: bool = False
    steps: int = MAX_STEPS

    def value(self, node: Node, bound: dict[str, Any] | None = None) -> Any:
        """The real or complex value; raises Undefined, or Unknown beyond the budget."""
        self.steps -= 1
        if self.steps < 0:
            raise Unknown("too many steps")
        bound = bound or {}
        op = node.op
        if op == "num" and node.value is not None:
            return self.ctx.mpf(node.value.numerator) / node.value.denominator
        if op == "sym":
            return bound[node.name] if node.name in bound else self.symbol(node.name)
        if op == "const":
            return self.constant(node.name)
        if op in ("sum", "prod"):
            return self.series(node, bound)
        if op in ("int", "lim"):
            raise Unknown(f"no numeric value of {op}")
        values = [self.value(arg, bound) for arg in node.args]
        if op == "add":
            return self.ctx.fsum(values)
        if op == "mul":
            return self.ctx.fprod(values)
        return self.operation(node, values)

    def constant(self, name: str) -> Any:
        if name == "inf":
            raise Unknown("infinity inside a formula")
        return {"pi": +self.ctx.pi, "e": +self.ctx.e, "i": self.ctx.mpc(0, 1)}[name]

    def symbol(self, name: str) -> Any:
        draw = int.from_bytes(hashlib.blake2b(f"{name}/{self.point}".encode(), digest_size=8).digest(), "big")
        if self.integers:
            return self.ctx.mpf(3 + draw % (5 + 2 * self.point))
        size = self.ctx.mpf(draw % 10**9 + 10**8) / (4 * 10**8)
        if self.point in FAR_POINTS:
            size *= 10 ** (self.point - FAR_POINTS[0] + 1)
        negative = self.point in _NEGATIVE or (self.point == 4 and draw >> 60 & 1)
        return -size if negative else size

    def operation(self, node: Node, values: list[Any]) -> Any:
        first = values[0]
        match node.op:
            case "pow":
                return self.power(first, values[1], node.args[1])
            case "root":
                return self.root(first, values[1])
            case "fact":
                return self.factorial(first)
            case "deg":
                return first * self.ctx.pi / 180
            case "pct":
                return first / 100
            case "idx":
                key = "/".join(self.ctx.nstr(value, 12) for value in values)
                return self.symbol(f"{node.name}[{key}]")
            case "base":
                raise Undefined
            case "fn":
                return self.function(node.name, values)
            case "dfact":
                return self.double_factorial(first)
        raise Unknown(f"no numeric value of {node.op}")

    def power(self, base: Any, exponent: Any, written: Node) -> Any:
        if base == 0:
            if exponent == 0:
                return self.ctx.mpf(1)
            if self.ctx.re(exponent) <= 0:
                raise Undefined
            return base
        if abs(exponent) > _MAX_MAGNITUDE or (
            abs(exponent) > 10**5 and abs(self.ctx.log(abs(base))) * abs(exponent) > _MAX_MAGNITUDE
        ):
            raise Unknown("an exponent beyond what can be computed")
        # An odd root of a negative number is its real one, as at school.
        odd = written.value is not None and written.value.denominator % 2 == 1 and written.value.denominator > 1
        if odd and written.value is not None and self.ctx.im(base) == 0 and self.ctx.re(base) < 0:
            size = self.ctx.power(-base, exponent)
            return -size if written.value.numerator % 2 else size
        return self.ctx.power(base, exponent)

    def root(self, value: Any, degree: Any) -> Any:
        if degree == 2:
            return self.ctx.sqrt(value)
        if degree == 0:
            raise Undefined
        if value == 0:
            return value
        if self.ctx.im(value) == 0 and self.ctx.re(value) < 0 and degree == self.ctx.floor(degree) and degree % 2 == 1:
            return -self.ctx.power(-value, 1 / degree)
        return self.ctx.power(value, 1 / degree)

    def factorial(self, value: Any) -> Any:
        if abs(value) > 10**9:
            raise Unknown("a factorial beyond what can be computed")
        if self.ctx.isint(value) and self.ctx.re(value) < 0:
            raise Undefined
        return self.ctx.factorial(value)

    def double_factorial(self, value: Any) -> Any:
        if not self.ctx.isint(value) or not 0 <= value < 3000:
            raise Unknown("a double factorial of no small integer")
        return self.ctx.mpf(math.prod(range(int(value), 0, -2)))

    def function(self, name: str, values: list[Any]) -> Any:
        ctx, first = self.ctx, values[0]
        if abs(first) > _MAX_MAGNITUDE and name not in ("ln", "log", "abs", "max", "min", "floor", "ceil", "sgn"):
            raise Unknown("an argument beyond what can be computed")
        try:
            match name:
                case "ln":
                    return ctx.ln(first)
                case "log":
                    return ctx.ln(first) / ctx.ln(values[1]) if len(values) > 1 else ctx.ln(first) / ctx.ln(10)
                case "abs":
                    return abs(first)
                case "floor" | "ceil":
                    return getattr(ctx, name)(self._settled(first))
                case "sgn":
                    return ctx.sign(first)
                case "max" | "min":
                    return max(values) if name == "max" else min(values)
                case "binomial":
                    return self.binomial(values)
                case (
                    "sin"
                    | "cos"
                    | "tan"
                    | "cot"
                    | "sec"
                    | "csc"
                    | "asin"
                    | "acos"
                    | "atan"
                    | "acot"
                    | "sinh"
                    | "cosh"
                    | "tanh"
                ):
                    return getattr(ctx, name)(first)
                case "re" | "im" | "arg":
                    return getattr(ctx, name)(first)
        except (ZeroDivisionError, ValueError):
            raise Undefined from None
        raise Unknown(f"no numeric value of {name}")

    def _settled(self, value: Any) -> Any:
        """A value that misses an integer by no more than rounding is that integer."""
        nearest = self.ctx.nint(value)
        return nearest if abs(value - nearest) < self.ctx.mpf(10) ** (-self.ctx.dps // 2) else value

    def binomial(self, values: list[Any]) -> Any:
        n, k = values
        if abs(n) > 10**9 or abs(k) > 10**9:
            raise Unknown("a binomial beyond what can be computed")
        return self.ctx.binomial(n, k)

    def series(self, node: Node, bound: dict[str, Any]) -> Any:
        body, lower, upper = node.args
        first, last = self.value(lower, bound), self.value(upper, bound)
        if not (self.ctx.isint(first) and self.ctx.isint(last)) or last - first > MAX_STEPS:
            raise Unknown("a sum without end")
        terms = [self.value(body, {**bound, node.name: self.ctx.mpf(n)}) for n in range(int(first), int(last) + 1)]
        return self.ctx.fsum(terms) if node.op == "sum" else self.ctx.fprod(terms)
