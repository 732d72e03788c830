"""Forms of a key that no edit can rewrite: a chain that holds one is left without the consistent edit."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from fractions import Fraction

from multilingual_math_audit.evaluate.answers.equivalence import answers_equal
from multilingual_math_audit.evaluate.keys import Key, expression_pattern
from multilingual_math_audit.evaluate.numerals import is_negative, read_digits

_TEN = re.compile(r"10\s?\^\s?\{?\s?([-−]?[0-9]{1,2})(?![0-9])")
_MANTISSA = re.compile(r"(?<![0-9])([0-9]{1,40}(?:(?:\{,\}|[.,])[0-9]{1,40})?)\s?(?:\\times|\\cdot|[×·*])\s?$")
_EXPONENT = re.compile(r"[eE]([-+]?[0-9]{1,2})(?![A-Za-z0-9])")
_BEFORE_E = re.compile(r"(?<![A-Za-z0-9.])([0-9]{1,40}(?:\.[0-9]{1,40})?)$")
_REACH = 100
_REPEATING = re.compile(
    r"(?<![0-9])([0-9]{1,40})(?:\{,\}|[.,])([0-9]{0,40})\\(?:overline|bar|dot)\s?\{?([0-9]{1,40})\}?"
)
_GLYPHS = re.compile(r"(?<![0-9])([0-9]{0,6})([¼½¾⅐-⅞⅓⅔])")
_SEGMENT = re.compile(r"=\s*([^=$\n]{1,80}?)\s*(?=\$|=|\\\]|\\\)|\\\\|\n|[.,;]\s|$)")
_AT_MOST = 60


def rare_form(text: str, value: Fraction, language: str) -> str:
    r"""The name of a form of a value that stands in a text and cannot be rewritten; '' when there is none.

    >>> rare_form(r"about $3 \times 10^4$ ways", Fraction(30000), "en"), rare_form("so ½", Fraction(1, 2), "en")
    ('key_as_power_of_ten', 'key_as_glyph')
    >>> rare_form(r"$0.\overline{3}$", Fraction(1, 3), "en"), rare_form("30000", Fraction(30000), "en")
    ('key_as_repeating_decimal', '')
    """
    for name, values in (
        ("key_as_power_of_ten", _powers(text, language)),
        ("key_as_repeating_decimal", _repeating(text)),
        ("key_as_glyph", _glyphs(text)),
    ):
        if value in values:
            return name
    return ""


def _signed(text: str, start: int, value: Fraction) -> Fraction:
    return -value if is_negative(text, start) else value


def _powers(text: str, language: str) -> Iterator[Fraction]:
    for power, mantissa in ((_TEN, _MANTISSA), (_EXPONENT, _BEFORE_E)):
        for match in power.finditer(text):
            before = mantissa.search(text[max(0, match.start() - _REACH) : match.start()])
            for numeral in read_digits(before[1], language) if before else ():
                exponent = int(match[1].replace("−", "-"))
                start = max(0, match.start() - _REACH) + (before.start() if before else 0)
                yield _signed(text, start, numeral.value * Fraction(10) ** exponent)


def _repeating(text: str) -> Iterator[Fraction]:
    if "\\overline" in text or "\\bar" in text or "\\dot" in text:
        for match in _REPEATING.finditer(text):
            whole, fixed, cycle = match.groups()
            cycles = Fraction(int(cycle), (10 ** len(cycle) - 1) * 10 ** len(fixed))
            yield _signed(text, match.start(), Fraction(int(whole + fixed), 10 ** len(fixed)) + cycles)


def _glyphs(text: str) -> Iterator[Fraction]:
    if not text.isascii():
        for match in _GLYPHS.finditer(text):
            glyph = Fraction(unicodedata.numeric(match[2])).limit_denominator(10)
            yield _signed(text, match.start(), glyph + int(match[1] or 0))


def other_expression(text: str, key: Key) -> bool:
    """Whether a right-hand side of a text equals an expression and is written in another way than the key."""
    if not key.numerals:
        return False
    known = [match.span() for match in expression_pattern(key, 0).finditer(text)]
    segments = {
        match[1].strip(): None
        for match in _SEGMENT.finditer(text)
        if re.search(r"[0-9\\√π]", match[1]) and not any(a < match.end(1) and match.start(1) < b for a, b in known)
    }
    return any(answers_equal(key.text, segment, language=key.language).equal for segment in list(segments)[-_AT_MOST:])
