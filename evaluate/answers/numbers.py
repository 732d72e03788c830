"""Numbers as people write them in English, Turkish and Portuguese, read whole and exactly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from multilingual_math_audit.evaluate.answers.glyphs import fold

Comma = Literal["group", "decimal", "short", "list"]
Dot = Literal["point", "group"]
NumberForm = Literal["integer", "decimal", "fraction", "mixed", "percent"]

# int() refuses more digits at once, and its time is quadratic in them.
_CHUNK = 4000
MAX_DIGITS = 20_000


@dataclass(frozen=True, slots=True)
class Notation:
    """What a comma and a dot between digits mean, where the digits themselves leave it open."""

    comma: Comma
    dot: Dot


ENGLISH = Notation("group", "point")
CONTINENTAL = Notation("decimal", "group")
LISTING = Notation("list", "point")
CONTINENTAL_LISTING = Notation("list", "group")
POINT_OR_COMMA = Notation("short", "point")
EVERY_MARK_DECIMAL = Notation("decimal", "point")

_FIRST = re.compile(r"\d+|\.\d+")
# What may stand between digits of one number, and the digits after it.
_NEXT = re.compile(r"(\{,\}|\{\.\}|\{\s\}|\\[,;:! ]|\\thinspace ?|\\ |~|[.,'](?=\d)|[ \t](?=\d{3}(?!\d)))(\d+)")
_GAP = re.compile(r"\{\s\}|\\[,;:! ]|\\thinspace ?|\\ |~|[' \t]")
_GROUPED = re.compile(r"\d{1,3}(?:\.\d{3})+")


def to_int(digits: str) -> int:
    """The integer of a string of digits, however long; raises OverflowError beyond 20,000 digits.

    >>> to_int("0" * 5000 + "7")
    7
    """
    if len(digits) <= _CHUNK:
        return int(digits)
    digits = digits.lstrip("0") or "0"
    if len(digits) > MAX_DIGITS:
        raise OverflowError("more digits than a number may have")
    value = 0
    for start in range(0, len(digits), _CHUNK):
        chunk = digits[start : start + _CHUNK]
        value = value * 10 ** len(chunk) + int(chunk)
    return value


@dataclass(frozen=True, slots=True)
class Reading:
    """One number at the start of a run: its value, where it ends in the run, and its plain decimal form."""

    value: Fraction
    end: int
    plain: str

    @property
    def is_decimal(self) -> bool:
        """Whether it was written with a decimal mark."""
        return "." in self.plain


def read_number(text: str, start: int, notation: Notation, *, nested: bool = False) -> Reading | None:
    """The number that starts at `start`, as long as the notation lets it be; None where no digit starts.

    `nested` says that brackets are open, where a comma separates rather than groups.

    >>> read_number("1.234,5", 0, ENGLISH).plain, read_number("3,14", 0, CONTINENTAL).plain
    ('1234.5', '3.14')
    >>> read_number("1,2,3", 0, CONTINENTAL).end
    1
    """
    match = _FIRST.match(text, start)
    if match is None:
        return None
    if start > 1 and text[start - 1] == "," and text[start - 2].isdigit():
        # In `1,2,3` the comma before the 2 separates, so the one after it does too.
        notation = Notation("list", notation.dot)
    parts, marks, ends = _split(text, match)
    if not marks:
        return Reading(Fraction(to_int(parts[0])), ends[0], parts[0])
    for count, plain in _plain_forms(parts, marks, notation, nested=nested):
        whole, _, tail = plain.partition(".")
        value = Fraction(to_int((whole or "0") + tail), 10 ** len(tail)) if tail else Fraction(to_int(whole))
        return Reading(value, ends[count - 1], plain)
    return None


def _plain_forms(parts: list[str], marks: list[str], notation: Notation, *, nested: bool) -> Iterator[tuple[int, str]]:
    """How many parts are one number, and that number with a decimal point and without groups; the most parts first.

    Only the last two parts can differ from groups of three behind one mark. Where the parts before them are no number
    either, that is for a reason that every beginning of more than two parts shares.
    """
    most = len(parts)
    for count in (*range(most, max(2, most - 4), -1), 2, 1):
        # In `1,2,3` no comma is decimal, so its beginning `1,2` is no number either.
        listed = count < most and marks[count - 1] == "," and "," in marks[: count - 1] and "." not in marks[:count]
        if count > most or listed:
            continue
        run = "".join(part + mark for part, mark in zip(parts[:count], [*marks[: count - 1], ""], strict=True))
        if plain := _one_number(run, notation, nested=nested):
            yield count, plain


def _split(text: str, first: re.Match[str]) -> tuple[list[str], list[str], list[int]]:
    """The groups of digits, the marks between them and where each group ends, to one beyond what can be one number."""
    if first[0].startswith("."):
        return ["", first[0][1:]], ["."], [first.start(), first.end()]
    parts, marks, ends = [first[0]], [], [first.end()]
    last = False
    while match := _NEXT.match(text, ends[-1]):
        marks.append(_mark(match[1]))
        parts.append(match[2])
        ends.append(match.end())
        if last:
            break
        last = len(match[2]) != 3 or marks[-1] != marks[0]
    return parts, marks, ends


def _mark(between: str) -> str:
    if _GAP.fullmatch(between):
        return " "
    return {"{,}": ";", "{.}": "."}.get(between, between)


def _one_number(run: str, notation: Notation, *, nested: bool) -> str | None:
    """The plain form of digits with the marks `.`, `,`, `;` (a braced comma) and ` ` if they make one number."""
    marks = {c for c in run if not c.isdigit()}
    if not marks:
        return run
    if " " in marks:
        return _with_gaps(run, notation, nested=nested)
    if len(marks) == 2 and marks != {",", ";"}:
        return _with_two_marks(run.replace(";", ","))
    mark = marks.pop() if len(marks) == 1 else ""
    if mark == ".":
        return _with_dots(run, notation)
    return _with_commas(run, notation, braced=mark == ";", nested=nested) if mark else None


def _with_gaps(run: str, notation: Notation, *, nested: bool) -> str | None:
    match = re.fullmatch(r"(\d{1,3}(?: \d{3})+)(?:([.,;])(\d+))?", run)
    if match is None or match[1].startswith("0"):
        return None
    whole = match[1].replace(" ", "")
    if not match[2]:
        return whole
    if match[2] == "," and (nested or notation.comma == "list"):
        return None
    return f"{whole}.{match[3]}"


def _with_two_marks(run: str) -> str | None:
    """`1,234.5` and `1.234,5`: the mark that comes last and once is decimal, the other one groups."""
    for group, point in ((",", r"\."), (r"\.", ",")):
        match = re.fullmatch(rf"([1-9]\d{{0,2}}(?:{group}\d{{3}})+){point}(\d+)", run)
        if match:
            return f"{re.sub('[.,]', '', match[1])}.{match[2]}"
    return None


def _with_dots(run: str, notation: Notation) -> str | None:
    groups = run.count(".")
    grouped = _GROUPED.fullmatch(run) is not None and not run.startswith("0")
    if groups == 1:
        return run.replace(".", "") if grouped and notation.dot == "group" else run
    return run.replace(".", "") if grouped else None


def _with_commas(run: str, notation: Notation, *, braced: bool, nested: bool) -> str | None:
    run = run.replace(";", ",")
    groups = run.count(",")
    grouped = re.fullmatch(r"[1-9]\d{0,2}(?:,\d{3})+", run) is not None
    if notation.comma == "list" and not braced:
        return None
    if groups > 1:
        return run.replace(",", "") if grouped and (braced or not nested) else None
    # Without a hint a comma before three digits may group them, so that only fewer or more are taken for decimals.
    if notation.comma == "decimal" or (notation.comma == "short" and not grouped):
        return run.replace(",", ".")
    if grouped and not (nested and not braced):
        return run.replace(",", "")
    # `0,5` and `12{,}5` can only be decimal; a bare `12,5` is left to the other notations.
    if braced or (run.startswith("0,") and not nested):
        return run.replace(",", ".")
    return None


def notations(language: str) -> tuple[Notation, ...]:
    """The notations to read a text in, the likeliest first.

    >>> notations("tr")[0].comma
    'decimal'
    """
    if language in ("tr", "pt"):
        return (CONTINENTAL, CONTINENTAL_LISTING)
    if language == "en":
        return (ENGLISH, LISTING)
    return (ENGLISH, LISTING, POINT_OR_COMMA)


def is_ambiguous(text: str) -> bool:
    """Whether another notation may read other numbers in this (folded) text.

    >>> is_ambiguous("1,234"), is_ambiguous("1, 2")
    (True, False)
    """
    return _AMBIGUOUS.search(text) is not None


_AMBIGUOUS = re.compile(r"\d(?:,|\{,\})\d|\d\.\d{3}(?!\d)")


@dataclass(frozen=True, slots=True)
class NumberSpan:
    """A number of a text: `text[start:end]` is the whole of it, sign, fraction bar and percent sign included."""

    start: int
    end: int
    text: str
    value: Fraction
    form: NumberForm


_SIGN = r"(?P<sign>(?<![\w)\]}!%])[-−–+])?"
_NUMBER = r"(?:\d+(?:(?:\{,\}|\\,|~|[.,](?=\d)|[ \u00a0\u2009\u202f](?=\d{3}(?!\d)))\d+)*|(?<![\d.,])\.\d+)"
_ITEM = re.compile(
    rf"(?P<percent>%\s?|\\%\s?)?{_SIGN}(?:"
    rf"(?P<whole>\d{{1,6}}\s?(?=\\[dtc]?frac))?\\[dtc]?frac\s?(?:\{{\s?(?P<top>[-−]?\d+)\s?\}}\s?\{{\s?(?P<bottom>\d+)\s?\}}|(?P<short>\d\d))"
    rf"|(?P<number>{_NUMBER})(?:\s?/\s?(?P<under>\d+)(?![\d/]))?)"
    r"(?P<after>\s?(?:\\?%))?"
)
_SCAN = re.compile(r"(?<![\w\\.,])" + _ITEM.pattern)
# A command that ends where a number begins, `\\cdot12`; its letters are no word that the number is part of.
_OPERATOR = re.compile(
    r"\\(?:cdot|times|div|pm|mp|leq?|geq?|neq?|lt|gt|approx|equiv|sim|to|implies|Rightarrow|quad|qquad|colon|mid|land|lor)(?=[-−+]?\d)"
)
_PART_OF_WORD = re.compile(r"[A-Za-z_]\w*$|[_^]\{?$")


def find_numbers(text: str, language: str = "any") -> Iterator[NumberSpan]:
    r"""Every number of a text, read whole, in reading order.

    >>> [(n.text, str(n.value)) for n in find_numbers("12,5 ve 30 240, sonra -3/4 ile %25", "tr")]
    [('12,5', '25/2'), ('30 240', '30240'), ('-3/4', '-3/4'), ('%25', '1/4')]
    >>> [str(n.value) for n in find_numbers(r"\dfrac{1}{2} of 1{,}234", "en")]
    ['1/2', '1234']
    >>> [n.text for n in find_numbers(r"3\cdot12 and 1,2,3", "en")]
    ['3', '12', '1', '2', '3']
    """
    notation = notations(language)[0]
    text = _OPERATOR.sub(lambda command: "·" * len(command[0]), text)
    position = 0
    while match := _SCAN.search(text, position):
        whole = not _PART_OF_WORD.search(text, max(0, match.start() - 40), match.start())
        items = _listed(match, notation)
        for item in items:
            position = item.end
            if whole:
                yield item
        if items:
            # The last item of `1,2,3/4` may have a bar or a sign behind it.
            match = _ITEM.match(text, position + 1)
            if match is None:
                continue
        span = _span(match, Notation("list", notation.dot) if items else notation)
        position = match.end() if span is None else span.end
        if span is not None and whole:
            yield span


def _listed(match: re.Match[str], notation: Notation) -> list[NumberSpan]:
    """All but the last of the numbers in `1,2,3`; none where the commas are part of one number."""
    written = match["number"] or ""
    if "," not in written or len(run := fold(written)) != len(written):
        return []
    spans: list[NumberSpan] = []
    first, at = match.start("number"), 0
    while (reading := read_number(run, at, notation)) is not None and run[reading.end : reading.end + 1] == ",":
        start, end = first + at if at else match.start(), first + reading.end
        sign = -1 if match["sign"] and match["sign"] != "+" and not at else 1
        form: NumberForm = "decimal" if reading.is_decimal else "integer"
        spans.append(NumberSpan(start, end, match.string[start:end], sign * reading.value, form))
        at = reading.end + 1
    return spans


def _span(match: re.Match[str], notation: Notation) -> NumberSpan | None:
    sign = -1 if match["sign"] and match["sign"] != "+" else 1
    end = match.end()
    form: NumberForm = "fraction"
    if match["number"] is None:
        top, bottom = (match["top"], match["bottom"]) if match["top"] else (match["short"][0], match["short"][1])
        if int(bottom) == 0:
            return None
        value = Fraction(to_int(fold(top).lstrip("-")), to_int(bottom)) * (-1 if top[0] in "-−" else 1)
        if match["whole"]:
            value, form = value + int(match["whole"]), "mixed"
    else:
        reading = read_number(fold(match["number"]), 0, notation)
        if reading is None:
            return None
        if reading.end < len(fold(match["number"])):
            end = match.start("number") + reading.end
            return NumberSpan(match.start(), end, match.string[match.start() : end], sign * reading.value, "integer")
        value, form = reading.value, "decimal" if reading.is_decimal else "integer"
        if match["under"]:
            if int(match["under"]) == 0:
                return None
            value, form = value / to_int(match["under"]), "fraction"
    if match["percent"] or match["after"]:
        value, form = value / 100, "percent"
    return NumberSpan(match.start(), end, match.string[match.start() : end], sign * value, form)
