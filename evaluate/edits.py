"""The edits of the paper: a wrong number in the middle, the end cut off, a wrong box, a wrong value throughout."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from multilingual_math_audit.evaluate.answers.boxes import Box, all_boxes
from multilingual_math_audit.evaluate.answers.equivalence import answers_equal
from multilingual_math_audit.evaluate.answers.thinking import visible_span
from multilingual_math_audit.evaluate.dice import Dice
from multilingual_math_audit.evaluate.keys import (
    Edit,
    Key,
    Unfit,
    WrongValue,
    displayed,
    expression_edits,
    key_places,
    key_values,
    numbers_of,
    quantities_of,
    rewrite,
    wrong_values,
)
from multilingual_math_audit.evaluate.near_misses import Formed, Miss, place_misses
from multilingual_math_audit.evaluate.number_words import spelled_in
from multilingual_math_audit.evaluate.numerals import Place, literal_matches, read_digits, read_places
from multilingual_math_audit.evaluate.rare_forms import other_expression, rare_form
from multilingual_math_audit.evaluate.roles import computes, role_of

WINDOW = (0.4, 0.7)
KEPT = 0.75
_REACH = 80


class Skip(Exception):
    """Why an edit cannot be made, in one word with underscores."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An edited text with what was changed: old and new as written, and their values where they are numbers."""

    text: str
    position: int
    old: str | None = None
    new: str | None = None
    formed: str | None = None
    fallback: bool = False
    occurrences: int = 1
    size: float | None = None


@dataclass(frozen=True)
class Chain:
    """A solution to edit, and what its edits may not use."""

    text: str
    key: Key
    question: str
    language: str
    seed: int

    @cached_property
    def boxes(self) -> list[Box]:
        """Every complete box."""
        return all_boxes(self.text)

    @cached_property
    def box(self) -> Box:
        """The last box of the visible part; raises Skip without one."""
        start, end = visible_span(self.text)
        visible = [box for box in self.boxes if start <= box.start and box.end <= end]
        if not visible:
            raise Skip("no_box")
        return visible[-1]

    @cached_property
    def given(self) -> set[Fraction]:
        """Every number of the question and the key: none is edited in the middle, and none is introduced."""
        return numbers_of(self.question, self.language) | numbers_of(self.key.text, self.language)

    def dice(self, purpose: str) -> Dice:
        """The draws of one purpose."""
        return Dice("inject", self.seed, purpose)

    def draw_places(self, window: tuple[float, float], dice: Dice) -> Iterator[Place]:
        """The numbers lying wholly inside a window of the text, in drawn order, read only as far as asked for."""
        low, high = math.ceil(window[0] * len(self.text)), math.floor(window[1] * len(self.text))
        start, end = _boundary(self.text, low, -1), _boundary(self.text, high, 1)
        inside = [m for m in literal_matches(self.text, start, end) if low <= m.start() and m.end() <= high]
        for match in dice.shuffled(inside):
            yield from read_places(self.text, match, self.language)

    def is_editable(self, place: Place) -> bool:
        """Whether a number computes something and may be changed without touching the question, key or answer."""
        if place.doubtful or place.form == "mixed" or (place.percent and place.form != "plain"):
            return False
        values = {abs(value) for value in place.values()}
        if not values or values & self.given or values & {0, 1} or place.components() & self.given:
            return False
        if place.percent and {value / 100 for value in values} & self.given:
            return False
        if displayed(place, self.key) is not None:
            return False
        if any(box.start <= place.start < box.end for box in self.boxes):
            return False
        return role_of(self.text, place, self.language) == "quantity"


def _boundary(text: str, at: int, step: int) -> int:
    """A place at or beyond `at` that is not inside a number."""
    while 0 < at < len(text) and not (text[at - 1].isalpha() or text[at - 1] == "\n"):
        at += step
    return max(0, min(at, len(text)))


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """The text with its replacements made; they do not overlap."""
    parts, at = [], 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        parts += [text[at : edit.start], edit.new]
        at = edit.end
    return "".join(parts) + text[at:]


def relative_size(old: Fraction, new: Fraction) -> float | None:
    """|new - old| / |old|, absent when old is 0."""
    return None if old == 0 else float(abs(new - old) / abs(old))


# --- one number in the middle -----------------------------------------------------------------------------------------


def edit_intermediate(chain: Chain) -> Draft:
    """Change one number between 40% and 70% of the characters; one beside an operator, where there is one."""
    reserve = None
    dice = chain.dice("intermediate")
    for place in chain.draw_places(WINDOW, dice):
        if reserve is not None and not computes(chain.text, place):
            continue
        if not chain.is_editable(place) or (miss := first_miss(chain, place, dice)) is None:
            continue
        if computes(chain.text, place):
            return draft_of_miss(chain, place, miss)
        reserve = (place, miss)
    if reserve is None:
        raise Skip("no_editable_number")
    return draft_of_miss(chain, *reserve)


def first_miss(chain: Chain, place: Place, dice: Dice) -> Miss | None:
    """The first near miss of a number that introduces nothing given."""
    forbidden = chain.given | {Fraction(0), Fraction(1)}
    for miss in place_misses(place, dice, forbidden=forbidden):
        if abs(miss.value) in forbidden or (place.percent and abs(miss.value) / 100 in forbidden):
            continue
        return miss
    return None


def edit_of_miss(place: Place, miss: Miss) -> Edit:
    """The replacement that writes a near miss in the number's own notation."""
    new = place.readings[miss.part][0].render(miss.numeral)
    assert new is not None  # a near miss has the decimals of its number
    return Edit(*place.spans[miss.part], new)


def draft_of_miss(chain: Chain, place: Place, miss: Miss) -> Draft:
    """The chain with one number changed."""
    edit = edit_of_miss(place, miss)
    text = apply_edits(chain.text, [edit])
    return Draft(
        text,
        edit.start,
        old=chain.text[place.start : place.end],
        new=text[place.start : place.end + len(edit.new) - (edit.end - edit.start)],
        formed=miss.formed,
        fallback=miss.fallback,
        size=relative_size(place.values()[0], miss.value),
    )


# --- the end cut off --------------------------------------------------------------------------------------------------


def edit_truncation(chain: Chain) -> Draft:
    """Keep the first 75% of the characters, never half a number, and put the last box on a new line if it was cut."""
    text, box = chain.text, chain.box
    cut = _whole_cut(text, int(len(text) * KEPT))
    if box.end <= cut:
        return Draft(text[:cut], cut)
    cut = min(cut, box.start)
    kept = text[:cut].rstrip()
    closing = "\n</think>\n" if visible_span(kept) == (len(kept), len(kept)) and kept else "\n"
    return Draft(kept + closing + text[box.start : box.end], cut)


def _whole_cut(text: str, cut: int) -> int:
    """The cut, moved back to the start of the number or the command that it would split."""
    for match in literal_matches(text, _boundary(text, cut, -1), min(len(text), cut + _REACH)):
        if match.start() < cut < match.end():
            return match.start()
    command = re.search(r"\\[A-Za-z]*$", text[max(0, cut - 20) : cut])
    return cut - len(command[0]) if command and text[cut : cut + 1].isalpha() else cut


# --- the answer -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AnswerEdits:
    """The wrong value of both answer edits, the replacements of each, and why the consistent one cannot be made."""

    wrong: WrongValue
    old: str
    new: str
    boxed: tuple[Edit, ...]
    everywhere: tuple[Edit, ...] | None
    why_not: str
    occurrences: int = 1


def plan_answer_edits(chain: Chain) -> AnswerEdits:
    """One wrong value for the box and, where every form of the key can take it, for the whole chain."""
    box, reason = chain.box, _consistent_obstacle(chain)
    places: list[tuple[Place, Fraction]] = []
    if not reason and chain.key.place is not None:
        try:
            places = key_places(chain.text, chain.key, chain.language)
        except Unfit as unfit:
            reason = str(unfit)
    first: AnswerEdits | None = None
    for wrong in wrong_values(chain.key, chain.dice("answer"), forbidden=chain.given):
        try:
            boxed, new = _box_edits(chain, wrong)
        except Unfit:
            continue
        plan = AnswerEdits(wrong, chain.text[box.content_start : box.content_end], new, boxed, None, reason)
        first = first or plan
        if reason:
            break
        try:
            everywhere, occurrences = _all_edits(chain, wrong, places, boxed)
            return AnswerEdits(wrong, plan.old, new, boxed, everywhere, "", occurrences)
        except Unfit as unfit:
            reason = str(unfit) if str(unfit) != "no_wrong_value_fits" else reason
    if first is None:
        raise Skip("no_number_in_key" if chain.key.place is None and not chain.key.numerals else "no_wrong_value")
    return AnswerEdits(first.wrong, first.old, first.new, first.boxed, None, reason or "no_wrong_value_fits")


def _consistent_obstacle(chain: Chain) -> str:
    values = key_values(chain.key)
    if set(values) & quantities_of(chain.question, chain.language):
        return "key_in_question"
    if values and spelled_in(chain.text, values[0], chain.language):
        return "key_in_words"
    if values:
        return rare_form(chain.text, values[0], chain.language)
    return "key_in_another_form" if other_expression(chain.text, chain.key) else ""


def _box_edits(chain: Chain, wrong: WrongValue) -> tuple[tuple[Edit, ...], str]:
    box, key = chain.box, chain.key
    span = (box.content_start, box.content_end)
    if key.place is not None:
        edits = [
            edit
            for place, shown in key_places(chain.text, key, chain.language, span)
            for edit in rewrite(place, shown, wrong)
        ]
    else:
        edits = expression_edits(chain.text, key, wrong, chain.language, span) or _same_numeral(chain, wrong)
    if not edits:
        edits = [Edit(*span, wrong_key(key, wrong))]
    _refuse_given(chain, edits)
    shifted = [Edit(edit.start - span[0], edit.end - span[0], edit.new) for edit in edits]
    return tuple(edits), apply_edits(box.content, shifted)


def _same_numeral(chain: Chain, wrong: WrongValue) -> list[Edit]:
    """In a box that writes the expression otherwise: the last numeral equal to the one that changes."""
    old = chain.key.numerals[wrong.index].values()[0]
    box, edits = chain.box, []
    for match in literal_matches(chain.text, box.content_start, box.content_end):
        for place in read_places(chain.text, match, chain.language):
            for span, readings in zip(place.spans, place.readings, strict=True):
                if readings[0].value == abs(old) and role_of(chain.text, place, chain.language) == "quantity":
                    new = readings[0].render(wrong.miss.numeral)
                    edits += [Edit(*span, new)] if new is not None else []
    return edits[-1:]


def wrong_key(key: Key, wrong: WrongValue) -> str:
    """The key as written, with the wrong value in it."""
    place = key.place if key.place is not None else key.numerals[wrong.index]
    return apply_edits(key.text, [edit_of_miss(place, wrong.miss)])


def _all_edits(
    chain: Chain, wrong: WrongValue, places: list[tuple[Place, Fraction]], boxed: tuple[Edit, ...]
) -> tuple[tuple[Edit, ...], int]:
    """The replacements in the whole chain, and in how many places the key stood, the box counted once."""
    box = chain.box
    if chain.key.place is not None:
        found = [rewrite(place, shown, wrong) for place, shown in places]
    else:
        found = [[edit] for edit in expression_edits(chain.text, chain.key, wrong, chain.language)]
    elsewhere = [edits for edits in found if not all(box.start <= edit.start < box.end for edit in edits)]
    outside = [edit for edits in elsewhere for edit in edits]
    _refuse_given(chain, outside)
    everywhere = tuple(sorted([*outside, *boxed], key=lambda edit: edit.start))
    text = apply_edits(chain.text, everywhere)
    if chain.key.place is not None:
        left = bool(key_places(text, chain.key, chain.language))
    else:
        left = bool(expression_edits(text, chain.key, wrong, chain.language))
    if left:
        raise Unfit("no_wrong_value_fits")
    kept = (other.content for other in all_boxes(text))
    if any(answers_equal(chain.key.text, content, language=chain.language).equal for content in kept):
        raise Unfit("key_in_another_form")
    return everywhere, len(elsewhere) + 1


def _refuse_given(chain: Chain, edits: Sequence[Edit]) -> None:
    """A form such as `24/2` of 12 may bring in a number of the question; then another wrong value is taken."""
    for edit in edits:
        readings = read_digits(edit.new, chain.language)
        if readings and readings[0].value in chain.given:
            raise Unfit("no_wrong_value_fits")


def edit_final_answer(chain: Chain, plan: AnswerEdits) -> Draft:
    """Change the last box only."""
    return _answer_draft(chain, plan, plan.boxed, 1)


def edit_consistent(chain: Chain, plan: AnswerEdits) -> Draft:
    """Change every form of the key, the box included, to the same wrong value."""
    if plan.everywhere is None:
        raise Skip(plan.why_not)
    return _answer_draft(chain, plan, plan.everywhere, plan.occurrences)


def _answer_draft(chain: Chain, plan: AnswerEdits, edits: Sequence[Edit], occurrences: int) -> Draft:
    miss: Miss = plan.wrong.miss
    formed: Formed = miss.formed
    place = chain.key.place if chain.key.place is not None else chain.key.numerals[plan.wrong.index]
    return Draft(
        apply_edits(chain.text, edits),
        min(edit.start for edit in edits),
        old=plan.old,
        new=plan.new,
        formed=formed,
        fallback=miss.fallback,
        occurrences=occurrences,
        size=relative_size(place.values()[0], miss.value),
    )
