"""A key as a chain may write it: every form of it found, and the same wrong value written in each."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from multilingual_math_audit.evaluate.dice import Dice
from multilingual_math_audit.evaluate.near_misses import Miss, place_misses
from multilingual_math_audit.evaluate.numerals import (
    Place,
    find_places,
    is_negative,
    literal_matches,
    read_digits,
    read_places,
)
from multilingual_math_audit.evaluate.roles import role_of

_DECORATION = re.compile(
    r"\\(?:text|mathrm|textrm|textbf|mathbf|operatorname)\s?\{[^{}]*\}|\\(?:left|right|displaystyle|quad|circ|degree)"
    r"|\\[,;:! $%]|[A-Za-z]\s?=|[^\W\d_]{2,}|\^\{?\s*(?=\})|[$€£₺°%\s{}()^.;]|R\$"
)
_SPACE = r"(?:\s|\\[,;:! ]|~|\\left|\\right|\\displaystyle|\{\})*"
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[0-9]+(?:(?:\{,\}|[.,])[0-9]+)*|\S")
_ALIKE = {
    "\\frac": r"\\[dtc]?frac", "\\dfrac": r"\\[dtc]?frac", "\\tfrac": r"\\[dtc]?frac", "\\sqrt": r"(?:\\sqrt|√)",
    "√": r"(?:\\sqrt|√)", "\\pi": r"(?:\\pi(?![A-Za-z])|π)", "π": r"(?:\\pi(?![A-Za-z])|π)", "{": r"\{?", "}": r"\}?",
    "-": "[-−–]", "−": "[-−–]", "\\cdot": r"(?:\\cdot(?![A-Za-z])|\\times(?![A-Za-z])|[·×*])", "*": r"(?:\\cdot|[·×*])",
    "\\infty": r"(?:\\infty(?![A-Za-z])|∞)",
}  # fmt: skip
_NOT_DIGIT = re.compile(r"[^0-9]+")
_SKIPPED = {"\\left", "\\right", "\\displaystyle", "\\,", "\\;", "\\!", "\\:", "\\ ", "$", "~"}


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement: `text[start:end]` becomes `new`."""

    start: int
    end: int
    new: str


class Unfit(Exception):
    """A wrong value that one of the forms cannot take, or a form that cannot be read with certainty."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key: `place` is its number if it is one number; `numerals` are the editable numbers of an expression."""

    text: str
    language: str
    place: Place | None = None
    numerals: tuple[Place, ...] = ()
    values: tuple[Fraction, ...] = ()


@dataclass(frozen=True, slots=True)
class WrongValue:
    """A near miss of a key: pairs of old and new values as displayed, or the index of the numeral that changed."""

    miss: Miss
    pairs: tuple[tuple[Fraction, Fraction], ...] = ()
    index: int = 0


def read_key(key: str, language: str) -> Key:
    """A key as one number, with or without a unit, or as an expression with numbers in it.

    >>> read_key("12", "en").place is not None, len(read_key(r"2\\\\sqrt{3}", "en").numerals)
    (True, 2)
    """
    places = [place for place in find_places(key, language) if role_of(key, place, language) in ("quantity", "year")]
    if len(places) == 1 and not places[0].doubtful:
        rest = key[: places[0].start] + " " + key[places[0].end :]
        if not _DECORATION.sub("", rest.replace("-", "", 1) if places[0].negative else rest):
            value = places[0].values()[0]
            return Key(key, language, places[0], values=(value, value / 100) if places[0].percent else (value,))
    spaced = re.sub(r"(\\[dtc]?frac)\s?([0-9])\s?([0-9])", r"\1{\2}{\3}", key)
    return Key(spaced, language, numerals=tuple(_editable(spaced, language)))


def _editable(key: str, language: str) -> Iterator[Place]:
    for place in find_places(key, language):
        if role_of(key, place, language) in ("quantity", "year"):
            yield from _parts(place)


def _parts(place: Place) -> Iterator[Place]:
    for span, readings in zip(place.spans, place.readings, strict=True):
        yield Place(span[0], span[1], "plain", (span,), (readings,), percent=place.percent)


def key_numbers(key: Key) -> set[Fraction]:
    """Every number a key is or holds, with a percent sign read both ways."""
    return numbers_of(key.text, key.language)


def numbers_of(text: str, language: str) -> set[Fraction]:
    """Every value that some reading of some number of a text has, parts and exponents included."""
    found: set[Fraction] = {Fraction(int(run)) for run in re.findall(r"[0-9]+", text) if len(run) < 400}
    for place in find_places(text, language):
        values = {abs(value) for value in place.values()} | set(place.values()) | place.components()
        found |= values | ({value / 100 for value in values} if place.percent else set())
    return found


def quantities_of(text: str, language: str) -> set[Fraction]:
    """The values of a text's numbers that are quantities, with a percent sign read both ways."""
    found: set[Fraction] = set()
    for place in find_places(text, language):
        if role_of(text, place, language) in ("quantity", "year"):
            found |= set(place.values()) | ({value / 100 for value in place.values()} if place.percent else set())
    return found


def key_values(key: Key) -> tuple[Fraction, ...]:
    """What a number equal to the key displays; () when the key is no number."""
    return key.values


def wrong_values(key: Key, dice: Dice, *, forbidden: set[Fraction]) -> Iterator[WrongValue]:
    """Near misses of a key in drawn order, the type kept; none when the key has no number that may change."""
    if key.place is not None:
        old = key.place.values()[0]
        for miss in place_misses(key.place, dice, forbidden=forbidden):
            pairs = [(old, miss.value)] + ([(old / 100, miss.value / 100)] if key.place.percent else [])
            yield WrongValue(miss, tuple(pairs))
        return
    for index in dice.shuffled(list(range(len(key.numerals)))):
        under_root = re.search(r"(?:\\sqrt\s?\{?|√\s?)$", key.text[: key.numerals[index].start]) is not None
        for miss in place_misses(key.numerals[index], dice, forbidden=forbidden | {Fraction(0), Fraction(1)}):
            if not (under_root and math.isqrt(int(miss.numeral)) ** 2 == miss.numeral):
                yield WrongValue(miss, index=index)


def key_places(text: str, key: Key, language: str, span: tuple[int, int] | None = None) -> list[tuple[Place, Fraction]]:
    """The places of a text that display a number equal to the key, with the key's value that each displays.

    Exponents, subscripts, labels, ordinals and parts of other numbers are none. Raises Unfit where a run of digits
    that may be the key may also be something else.
    """
    values = key_values(key)
    may_be_key = _quick_filter(values)
    found = []
    for match in literal_matches(text, *(span or (0, len(text)))):
        for place in read_places(text, match, language) if may_be_key(match) else ():
            value = displayed(place, key)
            if place.doubtful and (value is not None or _holds(text, place, values)):
                raise Unfit("key_in_doubtful_number")
            role = role_of(text, place, language) if value is not None else None
            if role == "tag":
                raise Unfit("key_in_doubtful_number")
            if value is not None and role in ("quantity", "year"):
                found.append((place, value))
    return found


def _quick_filter(values: tuple[Fraction, ...]) -> Callable[[re.Match[str]], bool]:
    """A cheap test that lets every match pass that may be the key: most numbers of a chain need no closer look."""
    targets = [abs(v) for value in values for v in (value, value * 100)]
    digits = {str(v.numerator) for v in targets if v.denominator == 1}
    significant = {str(v.numerator).strip("0") for v in targets if v.denominator == 1}
    whole = all(v.denominator == 1 for v in targets)
    ratios = [(v.numerator, v.denominator) for v in targets]

    def may_be_key(match: re.Match[str]) -> bool:
        run = match["run"]
        if run is not None:
            under = match["under"]
            if run.isdigit():
                if under is None or run.lstrip("0") in digits:
                    return run.lstrip("0") in digits or run in digits
                return not under.isdigit() or under in digits or _equals(run, under)
            if under is not None or not whole:
                return True
            return _NOT_DIGIT.sub("", run).strip("0") in significant or any(d in run for d in digits)
        top, low = match["top"], match["low"]
        return match["mixed"] is not None or top is None or low is None or not top.isdigit() or _equals(top, low)

    def _equals(top: str, low: str) -> bool:
        if not low.isdigit() or len(top) + len(low) > 30:
            return True
        a, b = int(top), int(low)
        return any(a * denominator == b * numerator for numerator, denominator in ratios)

    return may_be_key


def displayed(place: Place, key: Key) -> Fraction | None:
    """The value of the key that a place displays, rounded or cut decimals included; None when it displays another one.

    `36%` and `0.36` display the key `36%`, and so does a bare `36`; `25%` and `0.25` display the keys `25` and `0.25`.
    """
    values = key_values(key)
    exact = values[:1] if place.percent and len(values) == 2 else values
    for shown in place.values():
        for value in exact:
            scales = (1, 100) if place.percent and len(values) == 1 else (1,)
            for scale in scales:
                if shown == value * scale or (place.form == "plain" and _rounds(place, shown, value * scale)):
                    return value
    return None


def _rounds(place: Place, shown: Fraction, value: Fraction) -> bool:
    """Whether a decimal is the key rounded or cut: three digits at least, or two of a key without an end."""
    numeral = place.readings[0][0]
    places, digits = len(numeral.tail), len((numeral.whole + numeral.tail).lstrip("0"))
    fewest = 3 if _terminates(value) or places < 2 else 2
    if not places or shown * value <= 0 or digits < fewest:
        return False
    scaled = abs(value) * 10**places
    return scaled.denominator != 1 and abs(shown) * 10**places in (int(scaled), int(scaled + Fraction(1, 2)))


def _terminates(value: Fraction) -> bool:
    """Whether a number has finitely many decimals."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def _holds(text: str, place: Place, values: tuple[Fraction, ...]) -> bool:
    pieces = re.findall(r"[0-9]+(?:\.[0-9]+)?", text[place.start : place.end])
    return any(Fraction(piece) == abs(value) for piece in pieces for value in values)


def rewrite(place: Place, shown: Fraction, wrong: WrongValue) -> list[Edit]:
    """The edits that make a place display the wrong value in its own notation; raises Unfit when it cannot."""
    new = dict(wrong.pairs)[shown]
    display = place.values()[0]
    if place.percent and len(wrong.pairs) == 1 and abs(display / 100 - shown) < abs(display - shown):
        new, shown = new * 100, shown * 100
    if place.form == "plain":
        numeral = next((n for n in place.readings[0] if n.value == abs(shown)), place.readings[0][0])
        exact = numeral.value == abs(shown)
        target = abs(new) if exact else Fraction(round(abs(new) * 10 ** len(numeral.tail)), 10 ** len(numeral.tail))
        return [_edit(place.spans[0], numeral.render(target))]
    numerals = [readings[0] for readings in place.readings]
    bottom = numerals[-1].value
    target = abs(new)
    if place.form == "mixed":
        if target < 1 or ((target % 1) * bottom).denominator != 1 or target % 1 == 0:
            raise Unfit("no_wrong_value_fits")
        parts = [Fraction(target.numerator // target.denominator), (target % 1) * bottom, bottom]
    elif abs(shown).denominator == bottom and bottom > 1:
        # A fraction in lowest terms stays in lowest terms.
        parts = [Fraction(target.numerator), Fraction(target.denominator)]
    elif (target * bottom).denominator == 1:
        parts = [target * bottom, bottom]
    else:
        scale = numerals[0].value / abs(shown).numerator
        parts = [target.numerator * scale, target.denominator * scale]
    return [
        _edit(span, numeral.render(part))
        for span, numeral, part in zip(place.spans, numerals, parts, strict=True)
        if part != numeral.value
    ]


def _edit(span: tuple[int, int], new: str | None) -> Edit:
    if new is None:
        raise Unfit("no_wrong_value_fits")
    return Edit(span[0], span[1], new)


def expression_edits(
    text: str, key: Key, wrong: WrongValue, language: str, span: tuple[int, int] | None = None
) -> list[Edit]:
    """The edits that change one numeral of an expression wherever the text writes that expression."""
    numeral = key.numerals[wrong.index]
    if not re.fullmatch(_TOKEN, key.text[numeral.start : numeral.end]):
        raise Unfit("key_in_doubtful_number")
    pattern = expression_pattern(key, wrong.index)
    edits = []
    for match in pattern.finditer(text, *(span or (0, len(text)))):
        if is_negative(text, match.start()) and not key.text.lstrip("$ ").startswith(("-", "−")):
            continue
        readings = read_digits(match["edited"], language)
        if not readings:
            raise Unfit("key_in_doubtful_number")
        edits.append(_edit(match.span("edited"), readings[0].render(wrong.miss.numeral)))
    return edits


def expression_pattern(key: Key, index: int) -> re.Pattern[str]:
    """A pattern for an expression however spaced and braced; the numeral with this index is the group `edited`."""
    edited = key.numerals[index].start
    parts = []
    for match in _TOKEN.finditer(key.text):
        token = match[0]
        if token in _SKIPPED:
            continue
        if token[0].isdigit():
            digits = re.sub(r"\\\{,\\\}|\\\.|,", r"(?:\\{,\\}|[.,])", re.escape(token))
            parts.append(f"(?P<edited>{digits})" if match.start() == edited else digits)
        else:
            parts.append(_ALIKE.get(token, re.escape(token) + (r"(?![A-Za-z])" if token[0] == "\\" else "")))
    return re.compile(r"(?<![0-9A-Za-z.,\\])" + _SPACE.join(parts) + r"(?![0-9]|[.,][0-9])")
