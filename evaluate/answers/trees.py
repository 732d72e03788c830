"""The expression tree every formula is read into."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from multilingual_math_audit.evaluate.answers.tokens import TooLarge

Operation = Literal[
    "num", "sym", "const", "add", "mul", "pow", "root", "fact", "dfact", "fn", "idx", "sum", "prod", "int", "lim",
    "deg", "pct", "pm", "base",
]  # fmt: skip

MAX_DEPTH = 60
MAX_NODES = 8_000


class Unreadable(Exception):
    """The tokens are no formula."""


@dataclass(frozen=True, slots=True)
class Node:
    """One operation with its operands; `value` is a number's value, `name` a symbol's, function's or decimal's name."""

    op: Operation
    args: tuple[Node, ...] = ()
    value: Fraction | None = None
    name: str = ""


ONE = Node("num", value=Fraction(1))
MINUS_ONE = Node("num", value=Fraction(-1))
ZERO = Node("num", value=Fraction(0))
TWO = Node("num", value=Fraction(2))
INFINITY = Node("const", name="inf")


def number(value: int | Fraction, name: str = "") -> Node:
    """A number; `name` is its plain decimal form when it was written with a decimal mark."""
    return Node("num", value=value if isinstance(value, Fraction) else Fraction(value), name=name)


def negative(node: Node) -> Node:
    """Minus the node."""
    if node.op == "num" and node.value is not None:
        return Node("num", value=-node.value, name=node.name)
    return Node("mul", (MINUS_ONE, node))


def power(base: Node, exponent: Node) -> Node:
    """The base raised to the exponent."""
    return Node("pow", (base, exponent))


def quotient(top: Node, bottom: Node) -> Node:
    """Top over bottom; of two integers a single number."""
    if top.op == bottom.op == "num" and top.value is not None and bottom.value and not top.name and not bottom.name:
        return Node("num", value=top.value / bottom.value)
    return Node("mul", (top, power(bottom, MINUS_ONE)))


def children_checked(nodes: list[Node]) -> tuple[Node, ...]:
    """The nodes as operands; raises TooLarge for more than anybody writes."""
    if len(nodes) > MAX_NODES:
        raise TooLarge("too many operands")
    return tuple(nodes)


def symbols(node: Node) -> set[str]:
    """The free symbols of a tree."""
    found: set[str] = set()
    stack = [(node, frozenset[str]())]
    while stack:
        current, bound = stack.pop()
        if current.op == "sym" and current.name not in bound:
            found.add(current.name)
        if current.op in ("sum", "prod", "int", "lim"):
            bound |= {current.name}
        stack.extend((child, bound) for child in current.args)
    return found


def contains(node: Node, *operations: str) -> bool:
    """Whether an operation occurs anywhere in a tree."""
    stack = [node]
    while stack:
        current = stack.pop()
        if current.op in operations:
            return True
        stack.extend(current.args)
    return False
