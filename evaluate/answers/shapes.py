"""The form of an answer: its kind, its parts, and what the kind needs beyond them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from multilingual_math_audit.evaluate.answers.tokens import Token
from multilingual_math_audit.evaluate.answers.trees import Node, Unreadable, quotient

FormKind = Literal[
    "scalar",
    "list",
    "set",
    "group",
    "union",
    "relation",
    "matrix",
    "ratio",
    "text",
    "empty",
    "reals",
    "choice",
    "builder",
]


@dataclass(frozen=True, slots=True)
class Form:
    """One answer as read.

    `text` holds what the kind needs beyond its items: the brackets of a group, the signs of a relation or a union,
    the connective of a list, the words of a text, the letter of a choice.
    """

    kind: FormKind
    items: tuple[Form, ...] = ()
    node: Node | None = None
    text: str = ""
    unit: str | None = None
    tokens: tuple[Token, ...] = ()


EMPTY = Form("empty")
REALS = Form("reals")


def ratio_value(form: Form) -> Node:
    """The quotient of a ratio of two values."""
    first, second = form.items[0].node, form.items[1].node
    if first is None or second is None:
        raise Unreadable("a ratio of no numbers")
    return quotient(first, second)
