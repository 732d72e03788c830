"""Wrong numbers that look right: off by one or two, two digits swapped, or one digit changed."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from multilingual_math_audit.evaluate.dice import Dice
from multilingual_math_audit.evaluate.numerals import Numeral, Place

Formed = Literal["shift", "swap", "digit"]
FORMS: tuple[Formed, ...] = ("shift", "swap", "digit")


@dataclass(frozen=True, slots=True)
class Miss:
    """A near miss of one part of a number: the part's new value, the whole number's, and how it was formed.

    `fallback` says that the way first drawn gave nothing and another one was taken.
    """

    part: int
    numeral: Fraction
    value: Fraction
    formed: Formed
    fallback: bool


def draw_form(dice: Dice) -> Formed:
    """How to form a wrong number: 40% shift, 30% swap, 30% digit."""
    drawn = dice.below(10)
    return "shift" if drawn < 4 else "swap" if drawn < 7 else "digit"


def numeral_misses(numeral: Numeral, formed: Formed, dice: Dice) -> Iterator[Fraction]:
    """Near misses of a number of one form, in drawn order: no more digits, no leading zero, below one if it was.

    >>> sorted(int(v) for v in numeral_misses(Numeral("277"), "shift", Dice(0)))
    [275, 276, 278, 279]
    >>> sorted(float(v) for v in numeral_misses(Numeral("0", "75", ","), "swap", Dice(0)))
    [0.57]
    """
    digits = numeral.whole + numeral.tail
    if formed == "shift":
        value = int(digits)
        made = [str(value + step).zfill(len(digits)) for step in (-2, -1, 1, 2) if value + step >= 0]
    elif formed == "swap":
        pairs = [(i, j) for j in range(len(digits)) for i in range(j) if digits[i] != digits[j]]
        made = [digits[:i] + digits[j] + digits[i + 1 : j] + digits[i] + digits[j + 1 :] for i, j in pairs]
    else:
        made = [digits[:i] + d + digits[i + 1 :] for i in range(len(digits)) for d in "0123456789" if d != digits[i]]
    zero_led = len(numeral.whole) > 1 and digits[0] != "0" and formed != "shift"
    below_one = numeral.whole == "0" and int(digits) > 0
    fitting = [
        new
        for new in made
        if len(new) <= len(digits)
        and not (zero_led and new[0] == "0")
        and not (below_one and new[0] != "0")
        and not (numeral.tail and new[-1] == "0" and digits[-1] != "0")
    ]
    for new in dice.shuffled(fitting):
        yield Fraction(int(new), 10 ** len(numeral.tail))


def place_misses(place: Place, dice: Dice, *, forbidden: Collection[Fraction]) -> Iterator[Miss]:
    """Near misses of a number of a text, the drawn form first; of a fraction, one part changes.

    The type is kept: a number that is no integer stays none, and a fraction in lowest terms stays so. Nothing in
    `forbidden` is given, neither as the whole number nor as the changed part.
    """
    first = draw_form(dice)
    start = 1 if place.form == "mixed" else 0
    parts = list(range(start, len(place.readings)))
    order = list(dice.shuffled(parts)) if len(parts) > 1 else parts
    old = place.values()
    for formed in (first, *(form for form in FORMS if form != first)):
        for part in order:
            for new in numeral_misses(place.readings[part][0], formed, dice):
                value = _value_with(place, part, new)
                if value is None or value in old or value in forbidden or new in forbidden:
                    continue
                yield Miss(part, new, value, formed, formed != first)


def _value_with(place: Place, part: int, new: Fraction) -> Fraction | None:
    """The whole number with one part changed, or None when that would be another type of number."""
    sign = -1 if place.negative else 1
    if place.form == "plain":
        old = place.readings[0][0].value
        if (new == 0 and place.negative) or (old.denominator > 1) != (new.denominator > 1):
            return None
        return sign * new
    values = [readings[0].value for readings in place.readings]
    before = values[-2] / values[-1] if values[-1] else None
    values[part] = new
    if before is None or values[-1] < 2 or values[-2] == 0:
        return None
    quotient = values[-2] / values[-1]
    if (before.denominator > 1) != (quotient.denominator > 1) or (place.form == "mixed" and quotient >= 1):
        return None
    integral = all(value.denominator == 1 for value in values)
    reduced = integral and math.gcd(place.readings[-2][0].value.numerator, place.readings[-1][0].value.numerator) == 1
    if reduced and math.gcd(values[-2].numerator, values[-1].numerator) != 1:
        return None
    return sign * (quotient + values[0] if place.form == "mixed" else quotient)
