"""Which bracket closes which, intervals such as `]a, b[` and `[a, b)` included."""

from __future__ import annotations

from multilingual_math_audit.evaluate.answers.tokens import Token
from multilingual_math_audit.evaluate.answers.trees import Unreadable

_ROUND = "()[]"


def _ends_operand(token: Token | None) -> bool:
    if token is None:
        return False
    if token.kind in ("num", "sym", "word", "close"):
        return True
    return token.text in ("infty", "pi", "emptyset", "!", "%", "circ") or token.text == "'"


def _ends_item(token: Token | None) -> bool:
    return (
        token is None
        or token.kind in ("sep", "rel", "close", "word")
        or token.text in ("cup", "cap", "setminus", "backslash")
    )


def with_roles(tokens: list[Token]) -> list[Token]:
    """The tokens with `]` made an opener and `[` a closer where an outward bracket means an open end.

    >>> from multilingual_math_audit.evaluate.answers.numbers import CONTINENTAL
    >>> from multilingual_math_audit.evaluate.answers.tokens import tokenize
    >>> [t.kind for t in with_roles(tokenize("]0;1[", CONTINENTAL))]
    ['open', 'num', 'sep', 'num', 'close']
    """
    if not any(token.text in ("[", "]") for token in tokens):
        return tokens
    result: list[Token] = []
    depth = 0
    for index, token in enumerate(tokens):
        before = result[-1] if result else None
        after = tokens[index + 1] if index + 1 < len(tokens) else None
        if token.text == "]" and not _ends_operand(before):
            token = Token("open", "]", token.spaced)
        elif token.text == "[" and depth and _ends_operand(before) and (_ends_item(after) or after is None):
            token = Token("close", "[", token.spaced)
        depth += {"open": 1, "close": -1}.get(token.kind, 0)
        result.append(token)
    return result


def partners(tokens: list[Token]) -> list[int]:
    """For each bracket the index of its partner, -1 elsewhere; raises Unreadable when they do not match."""
    partner = [-1] * len(tokens)
    stack: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind == "open":
            stack.append(index)
        elif token.kind == "close":
            if not stack:
                raise Unreadable("a bracket closes that was never opened")
            start = stack.pop()
            opened = tokens[start].text
            if not (opened == token.text or (opened in _ROUND and token.text in _ROUND) or _angle(opened, token.text)):
                raise Unreadable("brackets do not match")
            partner[start], partner[index] = index, start
    if stack:
        raise Unreadable("a bracket never closes")
    return partner


def _angle(opened: str, closed: str) -> bool:
    return opened == "<" and closed == ">"
