"""What kind of thing an answer is: a value, a list, a tuple, an interval, a relation, a matrix, a word."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

from multilingual_math_audit.evaluate.answers import words
from multilingual_math_audit.evaluate.answers.brackets import partners, with_roles
from multilingual_math_audit.evaluate.answers.glyphs import fold_case
from multilingual_math_audit.evaluate.answers.numbers import Notation
from multilingual_math_audit.evaluate.answers.parser import parse
from multilingual_math_audit.evaluate.answers.quantities import read_quantity
from multilingual_math_audit.evaluate.answers.shapes import EMPTY, REALS, Form
from multilingual_math_audit.evaluate.answers.tokens import Token, tokenize
from multilingual_math_audit.evaluate.answers.trees import INFINITY, Node, Unreadable, number

_CLEAN_START = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-+([{")
_CLEAN_END = _CLEAN_START - frozenset("-+([{") | frozenset(")]}")
_OPENING = re.compile(r"(?:\*\*|__|[`\"]|<[a-z]+>)*+")
_DISPLAYS = {"\\[": "\\]", "\\(": "\\)"}
_CLOSING = re.compile(r"(?:\*\*|__|[`\"]|>[a-z]+/<)*+")
_TEXT_COMMAND = re.compile(r"\\(?:text|textbf|textit|mathrm|mbox|textrm|mathbf|operatorname)\s*\{([^{}]*)\}")
_CHOICE = re.compile(r"^\(?\s*([A-Ha-h])\s*[).:]\s*(?![\^*/!_(=)\]|])(\S.*)?$", re.DOTALL)
_MAYBE_CHOICE = re.compile(r"(?<![^\W_])[A-Ha-h](?![^\W_])(?:\s*[).:]|\s|['’]|$)")


def read(text: str, notation: Notation) -> Form:
    r"""The form of a folded answer; raises Unreadable or TooLarge when there is no telling.

    >>> from multilingual_math_audit.evaluate.answers.numbers import ENGLISH
    >>> read(r"x \in [1, 2)", ENGLISH).kind, read("3 and 5", ENGLISH).kind, read("12 cm", ENGLISH).unit
    ('relation', 'list', 'cm')
    """
    text = strip(text)
    plain = _TEXT_COMMAND.sub(r" \1 ", text).replace("$", " ") if "\\" in text or "$" in text else text
    if (form := _fixed(plain)) is not None:
        return form
    if _MAYBE_CHOICE.search(plain) and (form := _choice(plain, notation)) is not None:
        return form
    tokens = with_roles(_without_stray_ends(tokenize(words.without_suffixes(text), notation)))
    return Reader(tokens, partners(tokens)).answer(0, len(tokens))


def strip(text: str) -> str:
    """The text without markdown, quotes and closing punctuation around it."""
    if text and text[-1] in _CLEAN_END and text[0] in _CLEAN_START:
        return text
    previous = None
    while text != previous:
        previous = text
        text = text.strip()
        text = text[_found_end(_OPENING, text) :]
        # Read backwards from the end, so that a long run of marks in the middle costs nothing.
        text = text[: len(text) - _found_end(_CLOSING, text[::-1])].strip()
        # An ellipsis says that more follows; a full stop only ends the sentence.
        if not text.endswith((". .", "..")):
            text = text.rstrip(".;,: ")
        text = text.removesuffix("\\").strip("$ \n\t").removeprefix("= ")
        if text[:2] in _DISPLAYS and text.endswith(_DISPLAYS[text[:2]]) and text.find(text[:2], 2) < 0:
            text = text[2:-2]
    return text


def _found_end(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.match(text)
    return match.end() if match else 0


def _fixed(plain: str) -> Form | None:
    phrase = " ".join(fold_case(plain).replace("\\", " ").strip(" .!").split())
    if phrase in words.EMPTY:
        return EMPTY
    if phrase in words.REALS:
        return REALS
    if phrase in words.INFINITE:
        return Form("scalar", node=INFINITY)
    if (value := words.number_named(phrase)) is not None:
        return Form("scalar", node=number(value))
    if phrase in words.FIXED:
        return Form("text", text=words.FIXED[phrase])
    return None


def _choice(plain: str, notation: Notation) -> Form | None:
    plain = strip(words.without_suffixes(" ".join(plain.split())))
    parts = plain.split()
    inner = [part for part in parts if fold_case(part.strip(":.,*")) not in words.CHOICE_WORDS]
    if len(inner) == 1 and len(parts) > 1 and (match := re.fullmatch(r"\(?([A-Ha-h])\)?[.:]?", inner[0])):
        return Form("choice", text=match[1].upper())
    if match := _CHOICE.match(" ".join(inner)):
        rest = (match[2] or "").strip()
        if not rest and not plain.endswith((")", ".", ":")):
            return None
        items: tuple[Form, ...] = ()
        if rest:
            try:
                items = (read(rest, notation),)
            except Unreadable:
                items = (Form("text", text=fold_case(rest)),)
        elif not match[1].isupper():
            return None
        return Form("choice", items, text=match[1].upper())
    return None


def _without_stray_ends(tokens: list[Token]) -> list[Token]:
    while tokens and tokens[-1].kind == "close" and tokens[-1].text.startswith("env:"):
        opened = sum(token.kind == "open" and token.text == tokens[-1].text for token in tokens)
        if opened >= sum(token.kind == "close" and token.text == tokens[-1].text for token in tokens):
            break
        tokens = tokens[:-1]
    return tokens


class Reader:
    """Splits tokens at the top level into lists, relations, brackets and values."""

    def __init__(self, tokens: list[Token], partner: list[int]) -> None:
        self.tokens, self.partner = tokens, partner

    def top(self, start: int, end: int) -> list[int]:
        """The positions in the span that no bracket encloses."""
        if end - start == 1:
            return [start]
        positions = []
        position = start
        while position < end:
            positions.append(position)
            position = self.partner[position] + 1 if self.tokens[position].kind == "open" else position + 1
        return positions

    def answer(self, start: int, end: int, depth: int = 0) -> Form:
        """A list of items, or the one item there is."""
        if depth > 40:
            raise Unreadable("brackets within brackets")
        start, end = self.unwrapped(self.after_label(start, end), end)
        pieces, sign = self.pieces(start, end)
        if not pieces:
            raise Unreadable("nothing to read")
        if len(pieces) == 1:
            return self.item(*pieces[0], depth)
        return Form("list", tuple(self.item(*piece, depth) for piece in pieces), text=sign)

    def unwrapped(self, start: int, end: int) -> tuple[int, int]:
        """The span inside redundant braces, and inside all but the last of redundant parentheses."""
        while start < end - 1 and self.tokens[start].text in ("group", "(") and self.partner[start] == end - 1:
            inside = self.tokens[start + 1]
            if self.tokens[start].text == "(" and not (inside.text == "(" and self.partner[start + 1] == end - 2):
                break
            # Braces around several values are a set, not redundant.
            if any(self.tokens[p].kind == "sep" for p in self.top(start + 1, end - 1)):
                break
            start, end = start + 1, end - 1
        return start, end

    def after_label(self, start: int, end: int) -> int:
        """Where the answer starts after words such as `Answer:`."""
        position = start
        while position < end and self.tokens[position].kind in ("word", "sym", "op") and position - start < 8:
            token = self.tokens[position]
            if (
                token.kind == "op"
                and token.text == ":"
                and position > start
                and self.tokens[position - 1].kind == "word"
            ):
                label = (fold_case(word.text) for word in self.tokens[start:position])
                return start if any(word in words.QUALIFIERS for word in label) else position + 1
            if token.kind == "op":
                break
            position += 1
        for stop in range(position, start, -1):
            if fold_case(" ".join(token.text for token in self.tokens[start:stop])) in words.LABELS and stop < end:
                return stop + (self.tokens[stop].text in ":=" and self.tokens[stop].kind in ("op", "rel"))
        return start

    def pieces(self, start: int, end: int) -> tuple[list[tuple[int, int]], str]:
        """The spans between top-level separators, and the connective that joins them."""
        positions = self.top(start, end)
        kinds = {p: kind for p in positions if (kind := self.separator(p, start, end))}
        if ";" in kinds.values() and "," in kinds.values():
            kinds = {p: kind for p, kind in kinds.items() if kind != ","}
        sign = next((kind for kind in ("or", "and") if kind in kinds.values()), ",")
        spans, begin = [], start
        for position in [*sorted(kinds), end]:
            if position > begin:
                spans.append((begin, position))
            begin = position + 1
        return spans, sign

    def separator(self, position: int, start: int, end: int) -> str:
        token = self.tokens[position]
        if token.kind == "sep":
            return ";" if token.text == ";" else "," if token.text != "&" else ""
        if token.kind == "op" and token.text in "∧∨":
            return "and" if token.text == "∧" else "or"
        if token.kind == "word" and start < position < end - 1:
            word = fold_case(token.text)
            if word == "ya" and fold_case(self.tokens[position + 1].text) == "da":
                return ""
            if word == "da" and fold_case(self.tokens[position - 1].text) == "ya":
                return "or"
            if word in words.AND or word == words.PORTUGUESE_AND:
                return "and"
            return "or" if word in words.OR else ""
        # A lone spaced `e` between two whole values is the Portuguese "and".
        if token.kind == "sym" and token.text == "e" and token.spaced and start < position < end - 1:
            after, before = self.tokens[position + 1], self.tokens[position - 1]
            following = self.tokens[position + 2] if position + 2 < end else after
            signed = after.text == "-" and following.kind == "num" and not following.spaced
            whole = (before.kind in ("num", "word") and (after.kind == "num" or signed)) or (
                after.kind == "open" and self.is_set_at(position + 1) and before.kind == "close"
            )
            if after.spaced and (whole or any(t.kind == "rel" for t in self.tokens[position:end])):
                return "and"
        return ""

    def item(self, start: int, end: int, depth: int) -> Form:
        """A relation, or a value."""
        start, end = self.trimmed(start, end)
        signs = [p for p in self.top(start, end) if self.tokens[p].kind == "rel"]
        if not signs:
            return self.value(start, end, depth)
        bounds = [start - 1, *signs, end]
        sides = []
        for left, right in itertools.pairwise(bounds):
            if right <= left + 1:
                raise Unreadable("a relation without a side")
            sides.append(self.side(left + 1, right, depth))
        return Form("relation", tuple(sides), text=" ".join(self.tokens[p].text for p in signs))

    def side(self, start: int, end: int, depth: int) -> Form:
        """One side of a relation; a side that is only a name in words keeps its words."""
        try:
            form = self.value(start, end, depth)
        except Unreadable:
            form = Form("text", text=fold_case(" ".join(token.text for token in self.tokens[start:end])))
        return replace(form, tokens=tuple(self.tokens[start:end]))

    def trimmed(self, start: int, end: int) -> tuple[int, int]:
        while start < end and (self.tokens[end - 1].text == ":" or (
            self.tokens[end - 1].kind == "word" and fold_case(self.tokens[end - 1].text) == "ya")):  # fmt: skip
            end -= 1
        return self.after_label(start, end), end

    def value(self, start: int, end: int, depth: int) -> Form:
        """A set operation, a bracket, a ratio, a text, or a number with its unit."""
        if start >= end:
            raise Unreadable("nothing to read")
        if (form := self.operation(start, end, depth)) is not None:
            return form
        token = self.tokens[start]
        enclosed = token.kind == "open" and self.partner[start] == end - 1
        if enclosed and (form := self.bracket(start, end, depth)) is not None:
            return form
        if (form := self.named_set(start, end)) is not None:
            return form
        if (form := self.scaled_matrix(start, end, depth)) is not None:
            return form
        colons = [p for p in self.top(start, end) if self.is_colon(p, start, end)]
        if colons and not any(token.kind == "word" for token in self.tokens[start : colons[-1]]):
            bounds = [start - 1, *colons, end]
            return Form("ratio", tuple(self.value(a + 1, b, depth) for a, b in itertools.pairwise(bounds)))
        return read_quantity(self.tokens, self.partner, start, end)

    def operation(self, start: int, end: int, depth: int) -> Form | None:
        """A union, an intersection or a difference of sets, from left to right."""
        names = {
            "cup": "cup",
            "bigcup": "cup",
            "cap": "cap",
            "setminus": "minus",
            "backslash": "minus",
            "smallsetminus": "minus",
        }
        signs = []
        for p in self.top(start, end):
            token = self.tokens[p]
            if token.kind == "cmd" and token.text in names:
                signs.append((p, names[token.text]))
            elif token.text in ("-", "\\", "U", "u") and start < p < end - 1 and self.is_set_at(p + 1) and (
                self.tokens[p - 1].kind == "close"):  # fmt: skip
                signs.append((p, "cup" if token.text in "Uu" else "minus"))
        if not signs:
            return None
        bounds = [start - 1, *(p for p, _ in signs), end]
        items = tuple(self.value(a + 1, b, depth + 1) for a, b in itertools.pairwise(bounds))
        return Form("union", items, text=" ".join(name for _, name in signs))

    def is_colon(self, position: int, start: int, end: int) -> bool:
        """The sign of a ratio: `:`, or `to` between two numbers."""
        token = self.tokens[position]
        if token.kind == "word" and token.text == "to" and start < position < end - 1:
            return self.tokens[position - 1].kind == self.tokens[position + 1].kind == "num"
        return token.text == ":" and token.kind == "op"

    def scaled_matrix(self, start: int, end: int, depth: int) -> Form | None:
        """`\\frac{1}{2}\\begin{pmatrix}...`: a number times every cell."""
        close = self.tokens[end - 1]
        if close.kind != "close" or not close.text.startswith("env:"):
            return None
        opened = self.partner[end - 1]
        stop = opened - 1 if self.tokens[opened - 1].text == "*" else opened
        if not start < stop < opened + 1 or opened >= end - 1:
            return None
        matrix = self.environment(opened, end, depth)
        if matrix.kind != "matrix" or matrix.text == "det":
            return None
        factor = number(-1) if stop == start + 1 and self.tokens[start].text == "-" else None
        factor = factor or parse(self.tokens, self.partner, start, stop)
        rows = []
        for row in matrix.items:
            if any(cell.node is None or cell.unit for cell in row.items):
                return None
            cells = (replace(cell, node=Node("mul", (factor, cell.node or factor))) for cell in row.items)
            rows.append(replace(row, items=tuple(cells)))
        return replace(matrix, items=tuple(rows))

    def is_set_at(self, position: int) -> bool:
        token = self.tokens[position]
        if token.kind != "open":
            return False
        inner = self.tokens[position + 1 : self.partner[position]]
        return token.text in ("{", "]") or (token.text in "([" and any(t.kind == "sep" for t in inner))

    def bracket(self, start: int, end: int, depth: int) -> Form | None:
        token, close = self.tokens[start], self.tokens[end - 1]
        if token.text.startswith("env:"):
            return self.environment(start, end, depth)
        if token.text in ("floor", "ceil"):
            return None
        spans, _ = self.pieces(start + 1, end - 1)
        if token.text == "{" or (token.text == "group" and len(spans) > 1):
            return self.braces(start, end, depth, spans)
        if token.text == "group" or (len(spans) == 1 and (token.text, close.text) in (("(", ")"), ("[", "]"))):
            inner = self.answer(start + 1, end - 1, depth + 1)
            return inner if token.text == "group" or inner.kind != "list" else Form("group", inner.items, text="()")
        if len(spans) < 2:
            raise Unreadable("an interval with one end")
        items = tuple(self.item(*span, depth + 1) for span in spans)
        return Form("group", items, text="()" if token.text == "<" else _outline(token.text, close.text))

    def braces(self, start: int, end: int, depth: int, spans: list[tuple[int, int]]) -> Form:
        bars = [
            p for p in self.top(start + 1, end - 1) if self.tokens[p].text in ("|", ":") and self.tokens[p].kind == "op"
        ]
        if len(bars) == 1 and any(self.tokens[p].kind == "rel" for p in range(bars[0], end)):
            return Form(
                "builder", (self.answer(start + 1, bars[0], depth + 1), self.answer(bars[0] + 1, end - 1, depth + 1))
            )
        if not spans:
            return EMPTY
        return Form("set", tuple(self.item(*span, depth + 1) for span in spans))

    def environment(self, start: int, end: int, depth: int) -> Form:
        name = self.tokens[start].text.removeprefix("env:")
        rows: list[list[tuple[int, int]]] = [[]]
        begin = start + 1
        for p in [*self.top(start + 1, end - 1), end - 1]:
            token = self.tokens[p]
            if p == end - 1 or (token.kind == "sep" and token.text in ("&", "\\")):
                if p > begin:
                    rows[-1].append((begin, p))
                if token.text == "\\" and token.kind == "sep":
                    rows.append([])
                begin = p + 1
        rows = [row for row in rows if row]
        if name in ("cases", "aligned", "align", "gathered", "split", "equation", "gather", "aligned"):
            return Form("list", tuple(self.item(row[0][0], row[-1][1], depth + 1) for row in rows), text="and")
        if len({len(row) for row in rows}) != 1:
            raise Unreadable("a matrix with uneven rows")
        lines = tuple(Form("list", tuple(self.item(*cell, depth + 1) for cell in row)) for row in rows)
        return Form("matrix", lines, text="det" if name == "vmatrix" else "")

    def named_set(self, start: int, end: int) -> Form | None:
        """`\\mathbb{R}`, `\\emptyset` and their kin."""
        token = self.tokens[start]
        if token.kind == "cmd" and token.text in ("emptyset", "varnothing") and end == start + 1:
            return EMPTY
        if token.kind != "cmd" or token.text != "mathbb":
            return None
        letters = [t.text for t in self.tokens[start + 1 : end] if t.text != "group"]
        zero = Form("scalar", node=number(0))
        infinite = Form("scalar", node=INFINITY)
        if letters == ["R"]:
            return REALS
        if letters in (["R", "^", "+"], ["R", "_", "+"]):
            return Form("group", (zero, infinite), text="()")
        if letters in (["R", "^", "-"], ["R", "_", "-"]):
            return Form("group", (Form("scalar", node=Node("mul", (number(-1), INFINITY))), zero), text="()")
        if letters in (["R", "^", "*"], ["R", "^", "\\ast"]):
            return Form("union", (REALS, Form("set", (zero,))), text="minus")
        return Form("text", text="mathbb " + " ".join(letters))


def _outline(opened: str, closed: str) -> str:
    """The ends of an interval as `[` or `(` and `]` or `)`."""
    return ("(" if opened in "(]" else "[") + (")" if closed in ")[" else "]")
