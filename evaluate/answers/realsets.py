"""Sets of real numbers: intervals, unions, differences and the inequalities that define them, compared as sets."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from multilingual_math_audit.evaluate.answers.exact import Undefined
from multilingual_math_audit.evaluate.answers.numeric import Evaluation, Unknown, context, height
from multilingual_math_audit.evaluate.answers.scalars import infinite
from multilingual_math_audit.evaluate.answers.shapes import Form
from multilingual_math_audit.evaluate.answers.trees import MINUS_ONE, Node, Unreadable, number, symbols

_DIGITS = 100
_MAX_DEGREE = 6
_MAX_BREAKS = 200
_ORDER = {"<": (-1, False), "<=": (-1, True), ">": (1, False), ">=": (1, True)}
INEQUALITIES = frozenset({"<", "<=", ">", ">=", "!="})


@dataclass(frozen=True, slots=True)
class RealSet:
    """A set by where its membership may change and by a test of membership."""

    breaks: tuple[Any, ...]
    has: Callable[[Any], bool]


def sets_equal(left: Form, right: Form) -> bool:
    """Whether two forms describe the same set of reals; raises Unreadable where one is no such set.

    >>> from multilingual_math_audit.evaluate.answers.forms import read
    >>> from multilingual_math_audit.evaluate.answers.numbers import ENGLISH
    >>> sets_equal(read(r"|x| \\le 3", ENGLISH), read("[-3, 3]", ENGLISH))
    True
    """
    names = [name for form in (left, right) if (name := variable(form))]
    if len(set(names)) > 1:
        return False
    name = names[0] if names else ""
    free = (_names(left) | _names(right)) - {name}
    return all(_same_at(left, right, name, point) for point in ((0, 1, 2) if free else (0,)))


def variable(form: Form) -> str:
    """The variable an inequality is about; '' for a set that names none."""
    if form.kind == "relation":
        signs = form.text.split()
        if signs == ["in"] and form.items[0].node is not None:
            return form.items[0].node.name
        found: set[str] = set().union(*(symbols(item.node) for item in form.items if item.node is not None))
        alone = [item.node.name for item in form.items if item.node is not None and item.node.op == "sym"]
        return "x" if "x" in found else min(found) if len(found) == 1 else alone[0] if len(set(alone)) == 1 else ""
    if form.kind == "list" and form.items:
        names = {variable(item) for item in form.items}
        return names.pop() if len(names) == 1 else ""
    return variable(form.items[1]) if form.kind == "builder" else ""


def is_set(form: Form) -> bool:
    """Whether a form describes a set of reals rather than a value, a tuple or a word."""
    if form.kind in ("union", "reals", "builder"):
        return True
    if form.kind == "group":
        return len(form.items) == 2
    if form.kind == "relation":
        signs = form.text.split()
        return (signs == ["in"] and is_set(form.items[1])) or all(sign in INEQUALITIES for sign in signs)
    if form.kind == "list":
        return all(item.kind == "relation" and is_set(item) for item in form.items) or (
            all(item.kind == "group" and is_set(item) for item in form.items))  # fmt: skip
    return False


def _names(form: Form) -> set[str]:
    own = symbols(form.node) if form.node is not None else set()
    return own.union(*(_names(item) for item in form.items))


def _reach(form: Form) -> float:
    own = height(form.node) if form.node is not None and not infinite(form.node) else 0.0
    return max([own, *(_reach(item) for item in form.items)])


def _same_at(left: Form, right: Form, name: str, point: int) -> bool:
    reach = max(_reach(left), _reach(right))
    if reach > 1000:
        raise Unreadable("ends too large to compare")
    builder = _Builder(Evaluation(context(_DIGITS + 2 * int(reach)), point), name)
    first, second = builder.build(left), builder.build(right)
    return all(first.has(x) == second.has(x) for x in builder.probes(first.breaks + second.breaks))


class _Builder:
    def __init__(self, evaluation: Evaluation, name: str) -> None:
        self.evaluation, self.ctx, self.name = evaluation, evaluation.ctx, name
        self.tolerance = self.ctx.mpf(10) ** -(self.ctx.dps - 60)

    def close(self, a: Any, b: Any) -> bool:
        return bool(
            a == b or (self.ctx.isfinite(a) and self.ctx.isfinite(b) and abs(a - b) <= self.tolerance * max(1, abs(a)))
        )

    def probes(self, breaks: tuple[Any, ...]) -> list[Any]:
        """Every point where membership may change, and one point of every gap."""
        points: list[Any] = []
        for value in sorted(x for x in breaks if self.ctx.isfinite(x)):
            if not points or not self.close(points[-1], value):
                points.append(value)
        if not points:
            return [self.ctx.mpf(0)]
        if len(points) > _MAX_BREAKS:
            raise Unreadable("too many pieces")
        gaps = [(a + b) / 2 for a, b in itertools.pairwise(points)]
        return [points[0] - 1, *points, *gaps, points[-1] + 1]

    def value(self, form: Form) -> Any:
        if form.kind != "scalar" or form.node is None:
            raise Unreadable("an end that is no number")
        if sign := infinite(form.node):
            return self.ctx.inf * sign
        try:
            value = self.evaluation.value(form.node)
        except (Undefined, Unknown, ZeroDivisionError, ValueError, OverflowError, TypeError):
            raise Unreadable("an end without a value") from None
        if self.ctx.im(value) != 0:
            raise Unreadable("an end that is not real")
        return self.ctx.re(value)

    def build(self, form: Form) -> RealSet:
        if form.kind in ("list", "union", "relation", "builder") and not form.items:
            raise Unreadable("nothing between the signs")
        match form.kind:
            case "reals":
                return RealSet((), lambda x: True)
            case "empty":
                return RealSet((), lambda x: False)
            case "group" if len(form.items) == 2:
                return self.interval(form)
            case "set" | "scalar":
                points = tuple(self.value(item) for item in (form.items or (form,)))
                return RealSet(points, lambda x: any(self.close(x, p) for p in points))
            case "union":
                return self.combined([self.build(item) for item in form.items], form.text.split())
            case "relation":
                return self.relation(form)
            case "list":
                return self.listed(form)
            case "builder":
                parts = [self.build(form.items[1])]
                if form.items[0].kind == "relation":
                    parts.append(self.build(form.items[0]))
                return self.combined(parts, ["cap"] * (len(parts) - 1))
        raise Unreadable("no set of reals")

    def interval(self, form: Form) -> RealSet:
        low, high = self.value(form.items[0]), self.value(form.items[1])
        low_in, high_in = form.text[0] == "[", form.text[1] == "]"
        if low > high and not self.close(low, high):
            raise Unreadable("an interval that runs backwards")
        if self.close(low, high) and not (low_in and high_in):
            raise Unreadable("an interval with nothing inside")

        def has(x: Any) -> bool:
            if self.close(x, low) or self.close(x, high):
                return (low_in or not self.close(x, low)) and (high_in or not self.close(x, high))
            return bool(low < x < high)

        return RealSet((low, high), has)

    def combined(self, sets: list[RealSet], signs: list[str]) -> RealSet:
        def has(x: Any) -> bool:
            inside = sets[0].has(x)
            for other, sign in zip(sets[1:], signs, strict=True):
                match sign:
                    case "cup":
                        inside = inside or other.has(x)
                    case "cap":
                        inside = inside and other.has(x)
                    case _:
                        inside = inside and not other.has(x)
            return inside

        return RealSet(tuple(x for each in sets for x in each.breaks), has)

    def listed(self, form: Form) -> RealSet:
        """Inequalities joined by words; a bare comma means "and" unless nothing satisfies all of them."""
        sets = [self.build(item) for item in form.items]
        if form.items[0].kind == "group" or form.text == "or":
            return self.combined(sets, ["cup"] * (len(sets) - 1))
        both = self.combined(sets, ["cap"] * (len(sets) - 1))
        if any(both.has(x) for x in self.probes(both.breaks)):
            return both
        return self.combined(sets, ["cup"] * (len(sets) - 1))

    def relation(self, form: Form) -> RealSet:
        signs = form.text.split()
        if signs == ["in"]:
            return self.build(form.items[1])
        if signs == ["="] and form.items[0].node is not None and form.items[0].node.name == self.name:
            return self.build(form.items[1])
        if not self.name or not all(sign in INEQUALITIES for sign in signs):
            raise Unreadable("no inequality in one variable")
        nodes = [item.node for item in form.items]
        pairs = []
        for left, right, sign in zip(nodes, nodes[1:], signs, strict=False):
            if left is None or right is None:
                raise Unreadable("an inequality of no numbers")
            pairs.append(self.inequality(left, right, sign))
        return self.combined(pairs, ["cap"] * (len(pairs) - 1))

    def inequality(self, left: Node, right: Node, sign: str) -> RealSet:
        if infinite(left) or infinite(right):
            return RealSet((), lambda x: True)

        def has(x: Any) -> bool:
            try:
                a, b = (self.evaluation.value(side, {self.name: x}) for side in (left, right))
            except (Undefined, Unknown, ZeroDivisionError, ValueError, OverflowError, TypeError):
                return False
            if abs(self.ctx.im(a)) > self.tolerance or abs(self.ctx.im(b)) > self.tolerance:
                return False
            difference = self.ctx.re(a) - self.ctx.re(b)
            same = abs(difference) <= self.tolerance * max(1, abs(a))
            if sign == "!=":
                return not same
            side, closed = _ORDER[sign]
            return closed if same else bool(difference * side > 0)

        return RealSet(self.roots(Node("add", (left, Node("mul", (MINUS_ONE, right))))), has)

    def roots(self, node: Node) -> tuple[Any, ...]:
        """Where an expression in the variable may change its sign; raises Unreadable when that cannot be found."""
        inner = _parts(node)
        bars = [part for part in inner if part.op == "fn" and part.name == "abs"]
        others = [part.args[0] for part in inner if part not in bars]
        if len(bars) > 3:
            raise Unreadable("too many absolute values")
        found: list[Any] = []
        for part in [*others, *(bar.args[0] for bar in bars)]:
            if self.name in symbols(part):
                found += self.roots(part)
        for signs in itertools.product((1, -1), repeat=len(bars)):
            branch = _without_bars(node, dict(zip(bars, signs, strict=True)))
            found += self.polynomial_roots(branch, others)
        return tuple(found)

    def polynomial_roots(self, node: Node, factors: list[Node]) -> list[Any]:
        ctx = self.ctx
        points = [ctx.mpf(n) + ctx.mpf(1) / 7 for n in range(1, _MAX_DEGREE + 4)]
        values = []
        for x in points:
            try:
                value = self.evaluation.value(node, {self.name: x})
                for factor in factors:
                    value *= self.evaluation.value(factor, {self.name: x})
            except (Undefined, Unknown, ZeroDivisionError, ValueError, OverflowError, TypeError):
                raise Unreadable("no polynomial") from None
            values.append(value)
        coefficients = _newton(points, values)
        size = max(abs(c) for c in coefficients)
        degree = max((n for n, c in enumerate(coefficients) if abs(c) > size * self.tolerance), default=0)
        if size == 0 or degree == 0:
            return []
        if degree > _MAX_DEGREE:
            raise Unreadable("no polynomial of small degree")
        dense = _dense(points, coefficients[: degree + 1])
        try:
            roots = (
                ctx.polyroots(dense[::-1], maxsteps=120, extraprec=ctx.prec) if degree > 1 else [-dense[0] / dense[1]]
            )
        except ctx.NoConvergence:
            raise Unreadable("roots that cannot be found") from None
        return [ctx.re(r) for r in roots if abs(ctx.im(r)) <= ctx.mpf(10) ** -30]


def _parts(node: Node) -> list[Node]:
    """The absolute values, radicals, logarithms and divisors inside an expression."""
    found, stack = [], [node]
    while stack:
        current = stack.pop()
        divides = current.op == "pow" and current.args[1].value is not None and current.args[1].value < 0
        breaks = divides or current.op == "root" or (current.op == "fn" and current.name in ("abs", "ln", "log"))
        if breaks and current not in found:
            found.append(current)
        stack.extend(current.args)
    return found


def _without_bars(node: Node, signs: dict[Node, int]) -> Node:
    if node in signs:
        return Node("mul", (number(signs[node]), _without_bars(node.args[0], signs)))
    if not node.args:
        return node
    return replace(node, args=tuple(_without_bars(arg, signs) for arg in node.args))


def _newton(points: list[Any], values: list[Any]) -> list[Any]:
    """Divided differences: the coefficients of Newton's interpolation polynomial."""
    table = list(values)
    for level in range(1, len(points)):
        for n in range(len(points) - 1, level - 1, -1):
            table[n] = (table[n] - table[n - 1]) / (points[n] - points[n - level])
    return table


def _dense(points: list[Any], coefficients: list[Any]) -> list[Any]:
    """The coefficients by powers, constant first, of a polynomial in Newton's form."""
    dense = [coefficients[-1]]
    for n in range(len(coefficients) - 2, -1, -1):
        shifted = [0, *dense]
        dense = [a - points[n] * b for a, b in zip(shifted, [*dense, 0], strict=True)]
        dense[0] += coefficients[n]
    return dense
