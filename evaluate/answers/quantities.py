"""A value with its unit, percent sign, degree sign or currency, and answers in words."""

from __future__ import annotations

from multilingual_math_audit.evaluate.answers import words
from multilingual_math_audit.evaluate.answers.glyphs import fold_case
from multilingual_math_audit.evaluate.answers.parser import parse
from multilingual_math_audit.evaluate.answers.shapes import EMPTY, Form
from multilingual_math_audit.evaluate.answers.tokens import Token
from multilingual_math_audit.evaluate.answers.trees import Node, Unreadable, number

_TEMPERATURES = frozenset({"c", "f", "celsius", "fahrenheit"})
_ARTICLES = frozenset({"a", "an", "the", "bir", "um", "uma", "o", "os", "as"})


def read_quantity(tokens: list[Token], partner: list[int], start: int, end: int) -> Form:
    """A value with its unit, or a text."""
    if all(token.kind == "word" for token in tokens[start:end]):
        return read_words([token.text for token in tokens[start:end]])
    prefix: list[str] = []
    while start < end and tokens[start].kind == "word":
        prefix.append(fold_case(tokens[start].text))
        start += 1
    stop = _unit_start(tokens, partner, start, end)
    if stop == end and not prefix:
        return _with_degree(parse(tokens, partner, start, end), None)
    phrase = " ".join(token.text for token in tokens[stop:end] if token.text not in ("group", "(", ")", ".", "*"))
    for word in [*prefix, *fold_case(phrase).split()]:
        if word in words.QUALIFIERS:
            raise Unreadable(f"{word!r} changes the value")
    node = parse(tokens, partner, start, stop)
    if any(word not in words.ROUNDED and word not in words.PERCENT and not words.unit_of(word) for word in prefix):
        raise Unreadable("words before the value")
    folded = fold_case(phrase).replace(" / ", "/").replace(" ^ ", "^")
    if folded.replace(" ", "") in words.PERCENT or words.PERCENT & set(prefix) or folded in ("por cento", "per cent"):
        return Form("scalar", node=Node("pct", (node,)))
    if folded in words.MULTIPLIERS:
        return Form("scalar", node=Node("mul", (node, number(10 ** words.MULTIPLIERS[folded]))))
    if node.op == "deg" and folded in _TEMPERATURES:
        return Form("scalar", node=node.args[0], unit="deg" + folded[0].upper())
    if folded.replace(" ", "") in ("am", "pm"):
        return Form("scalar", node=node, unit=folded.replace(" ", ""))
    if folded == "in":
        return Form("scalar", node=node, unit=words.unit_of("inch"))
    unit = words.unit_of(folded) or next((words.unit_of(word) for word in prefix if words.unit_of(word)), None)
    return _with_degree(node, unit)


def _unit_start(tokens: list[Token], partner: list[int], start: int, end: int) -> int:
    """Where the words after the value start; `end` when there are none."""
    for p in range(start + 1, end):
        token = tokens[p]
        remark = token.text == "(" and partner[p] == end - 1 and all(t.kind == "word" for t in tokens[p + 1 : end - 1])
        minutes = token.kind == "fn" and token.text == "min" and p == end - 1
        if p == start + 1 and tokens[start].kind == "num" and _is_short_unit(tokens[p:end]):
            return p
        if (token.kind == "word" or remark or minutes) and all(_is_unit_token(tokens, q, p) for q in range(p, end)):
            return p
    return end


def _is_short_unit(tokens: list[Token]) -> bool:
    """`8 m` and `5 m/s` in plain text: letters that are units because a space sets them apart from the number."""
    letters = [token for token in tokens if token.kind == "sym" and token.text in words.SHORT_UNITS]
    if not tokens or not tokens[0].spaced or not letters:
        return False
    return len(tokens) == 1 or (len(tokens) == 3 and len(letters) == 2 and tokens[1].text == "/")


def _is_unit_token(tokens: list[Token], position: int, first: int) -> bool:
    token, before = tokens[position], tokens[position - 1]
    if token.kind == "word" or token.text in ("group", "(", ")", ".", "/", "^", "-", "*", "min"):
        return True
    if token.kind == "sym":
        return before.text == "/" and position > first
    return token.kind == "num" and token.text in ("2", "3") and (before.text in ("^", "group") or not token.spaced)


def read_words(parts: list[str]) -> Form:
    """The form of an answer in words."""
    if len(parts) > 1 and fold_case(parts[0]) in _ARTICLES:
        parts = parts[1:]
    phrase = fold_case(" ".join(parts))
    if len(parts) == 1 and phrase in words.FIXED:
        return Form("text", text=words.FIXED[phrase])
    if phrase in words.EMPTY:
        return EMPTY
    if len(parts) == 1 and len(parts[0]) == 1:
        return Form("scalar", node=Node("const" if phrase in "ei" else "sym", name=parts[0]))
    return Form("text", text=phrase)


def _with_degree(node: Node, unit: str | None) -> Form:
    if node.op == "deg":
        return Form("scalar", node=node.args[0], unit="deg")
    if node.op == "mul" and node.args[0].value == -1 and len(node.args) == 2 and node.args[1].op == "deg":
        return Form("scalar", node=Node("mul", (node.args[0], node.args[1].args[0])), unit="deg")
    if node.op == "mul" and len(node.args) == 2 and node.args[0].op == "deg" and node.args[1].name in ("C", "F"):
        return Form("scalar", node=node.args[0].args[0], unit="deg" + node.args[1].name)
    return Form("scalar", node=node, unit=unit)
