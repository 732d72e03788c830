"""Small whole numbers in words, so that an edit knows when a chain also spells out its answer."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

_UNITS = {
    "en": "one two three four five six seven eight nine",
    "tr": "bir iki üç dört beş altı yedi sekiz dokuz",
    "pt": "um|uma dois|duas três quatro cinco seis sete oito nove",
}
_TENS = {
    "en": "ten twenty thirty forty|fourty fifty sixty seventy eighty ninety",
    "tr": "on yirmi otuz kırk elli altmış yetmiş seksen doksan",
    "pt": "dez vinte trinta quarenta cinquenta|cinqüenta sessenta setenta oitenta noventa",
}
_TEENS = {
    "en": "eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
    "tr": "",
    "pt": "onze doze treze catorze|quatorze quinze dezasseis|dezesseis dezassete|dezessete dezoito dezanove|dezenove",
}
_JOINT = {"en": r"[-\s]", "tr": r"\s?", "pt": r"\se\s"}
# "One" and "two" are in every text as plain words; they are taken for words, not for answers.
SMALLEST = 3


@lru_cache(maxsize=4096)
def number_words(value: int, language: str) -> str:
    """A pattern of the number from 1 to 99 in words; '' beyond.

    >>> bool(re.fullmatch(number_words(42, "pt"), "quarenta e dois")), number_words(12, "en"), number_words(120, "en")
    (True, 'twelve', '')
    """
    if not 0 < value < 100:
        return ""
    tens, unit = divmod(value, 10)
    teens = _TEENS[language].split()
    if tens == 1 and unit and teens:
        return _group(teens[unit - 1])
    parts = ([_group(_TENS[language].split()[tens - 1])] if tens else []) + (
        [_group(_UNITS[language].split()[unit - 1])] if unit else []
    )
    return _JOINT[language].join(parts)


def _group(words: str) -> str:
    return f"(?:{words})" if "|" in words else words


def spelled_in(text: str, value: Fraction, language: str) -> bool:
    """Whether a text spells out a whole number from 3 to 99, in its language or in English, not inside another one.

    >>> spelled_in("There are twelve ways.", Fraction(12), "tr"), spelled_in("yirmi üç", Fraction(3), "tr")
    (True, False)
    """
    if value.denominator != 1 or not SMALLEST <= value < 100:
        return False
    lowered = text.lower()
    for spoken in {language, "en"} & set(_UNITS):
        pattern = number_words(int(value), spoken)
        for match in re.finditer(rf"(?<![^\W\d_])(?<!-){pattern}(?![^\W\d_])", lowered):
            if not _is_inside(lowered, match, spoken, int(value)):
                return True
    return False


def _is_inside(text: str, match: re.Match[str], language: str, value: int) -> bool:
    """Whether the words belong to a larger number: `twenty-three` holds three and twenty."""
    tens = "|".join(_TENS[language].split())
    units = "|".join(_UNITS[language].split())
    joint = _JOINT[language]
    before = value < 10 and re.search(rf"(?:{tens}){joint}$", text[max(0, match.start() - 24) : match.start()])
    after = value % 10 == 0 and re.match(rf"{joint}(?:{units})(?![^\W\d_])", text[match.end() : match.end() + 24])
    return bool(before or after)
