"""The first value in a stretch of prose: a formula, a number, a list of them, a letter, with its unit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from multilingual_math_audit.evaluate.answers import words
from multilingual_math_audit.evaluate.answers.glyphs import fold, fold_case
from multilingual_math_audit.records import Doubt


@dataclass(frozen=True, slots=True)
class Statement:
    """The value a reply states in words: the string, the kind of statement, and how doubtful it is."""

    answer: str
    where: Literal["statement", "sentence", "whole"]
    doubt: Doubt = "none"


@dataclass(frozen=True, slots=True)
class Value:
    """A value in prose: the string to compare, where it ends, the words before it, and whether it was a formula."""

    text: str
    start: int
    end: int
    lead: str
    formula: bool


_MAX_STARTS = 200
_FUNCTION_NAMES = "sqrt|sin|cos|tan|sen|tg|cot|ln|log|arctan|arcsin|pi"
_DELIMITED = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+?)\$|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_CURRENCY = r"(?:R\$|US\$|\\\$|[$€£₺])\s?"
# A value in plain text starts with one of these; a letter only where it stands alone or beside an operator.
_START = re.compile(
    rf"\$\$?|\\[(\[]|{_CURRENCY}(?=[\d.])|%\s?\d|yüzde\s+\d|(?:[-+−–±]\s?)?\.?\d|[-−–]?\\(?![()\[\]])[A-Za-z{{|]+|[-+−–±]?[√π∞∅]|[\[({{\]](?=[^\n]{{0,120}}[)\]}}\[])"
    rf"|(?<![\w'’])(?:{_FUNCTION_NAMES})(?![a-z])(?=\s?[\d(√π\\/*^_]|\s[a-zθ](?!\w)|[\s.]*$)"
    r"|(?<![\w'’])[A-Za-zθα-ω](?:[_'][\w{}']+)?(?=\s?(?:[=<>≤≥⩽⩾≦≧≠∈+*/^]|!=|\\(?:le|ge|ne|in)\b|-\s?\d))|(?<![\w'’])(?:[A-Ha-h]\)|[A-H](?!\w)(?!\s+(?!şık|seçene|değil|olur|is\b|dir|because|since|porque|pois|çünkü|or\b|ou\b|veya)[a-zçğıöşüáéíóúãõâêô]{2,}))|\|"
)
_ATOM = re.compile(
    r"\\(?:text|mathrm|mbox|textbf|mathbf)\s?\{[^{}]*\}|\\[A-Za-z]+|\\[{}|,;:! %$]|\d+(?:[.,]\d+)*|\.\d+|\{[,.]\}"
    rf"|(?:{_FUNCTION_NAMES})(?![a-z])|[A-Za-z](?![^\W\d_])|(?<=\|)[A-Z]{{2}}(?=\|)|[α-ωΔ]"
    r"|[-+−–±×·÷*/^_=<>≤≥⩽⩾≦≧≠≈∈∪∩∖∞∅√π°!%|(){}\[\]²³⁰¹⁴-⁹½⅓⅔¼¾⁻'’]"
)
_FUNCTION = re.compile(rf"(?:{_FUNCTION_NAMES})(?![a-z])")
_AFTER_FUNCTION = re.compile(rf"(?<![A-Za-z])(?:{_FUNCTION_NAMES})(?:_\w|_\{{\w+\}})?$")
_LAST_LETTER = re.compile(r"[A-Za-z][ \t]*[.,;!]?[ \t]*(?:\n|$)")
# `4.5 x 10^4`: the letter as a sign of multiplication.
_TIMES_X = re.compile(r"[xX]\s?(?=10\s?(?:\^|\*\*|[⁰¹²³⁴-⁹⁻]))")
# `3 tam 1/2`: the word of a Turkish mixed number.
_WHOLES = re.compile(r"tam\s+(?=\d+\s?/\s?\d|\\[dt]?frac)")
_WHOLES_BETWEEN = re.compile(r"\s+tam\s+(?=\$(?:\d+/\d|\\[dt]?frac))")
_JOIN = re.compile(
    r"\s*(?:,\s*(?:and|or|ve|veya|e|ou)?|;|\b(?:and|or|ve|veya|ya da|ile|ou|e)\b)\s*(?=[-+−\d(\[{\\$√]|[A-Za-z]\s?=)"
)
# What follows a value and makes it a part of something longer: `5 x 3`, `5th`, `5 to the power of 2`, `5 (or 6)`.
_GOES_ON = re.compile(
    r"[ \t]+\d|\s?(?:\.\.|…)|[ \t]*[-+*/^=][ \t]*\.?[ \t]*(?:\n|$)|(?:st|nd|rd|th)\b|[ \t]?(?:[xX×*&]|:)[ \t]?\d|"
    r"[ \t]*[(\[]\s*(?:or|maybe|perhaps|possibly|veya|belki|ou|talvez)\b|\s+or\s+so\b|"
    r"-[^\W\d_]{2,}|\.?[ºª]\s*[^\W\d_]{3,}|\s+der\b|\s+but\s+(?:is|was|now|then)\b|"
    r",?\s+(?:which|o\s+que)\s+(?:is|é|está)\s+(?:wrong|incorrect|not\s+(?:right|correct)|errad[oa]|incorret[oa])\b|,?\s+(?:no|wait|não|hayır)\s*,|"
    r"\s+(?:is|é)\s+(?:an?\s+(?:error|mistake)|um\s+erro|false|fals[oa]|too|demasiado|not|wrong|incorrect|impossible|muito|impossível)\b|"
    r"\s+(?:minus|eksi|menos|plus|times|vezes|artı|çarpı|bölü|(?:divided|multiplied)\s+by|dividido\s+por)\s+[^\W\d_]|"
    r"\s+(?:sobre|minus|eksi|menos|base|mod|to|out\s+of|in|of|de|em|em\s+cada)\s+(?:base\s+)?\d|"
    r"(?:['’]\s?\w{1,5})?\s+(?:için|ise|iken|olsun|olsa|olabilir|olursa|olduğunda|alınırsa)\b|"
    r"\s+(?:üzeri|üssü|çarpı|bölü|kere)\s+\d|\s+(?:olurdu|olacaktı)\b|"
    r"\s+içinde\b|\s+[^\W\d_]+[ıiuü]yl[ae]\b|\s+ile\s+(?:\w+l[ae]r\b|[^\W\d_]{2,}(?:[aeıiuü]r|[ae]n)\b)|\s+(?:say[ıi]s[ıi]n|kat[ıi]n)\w+|\s+(?!olarak\b)\w{2,}[ae]r[ae]k\b|"
    r"\s+(?:to\s+the|in\s+base|ao\s+quadrado|ao\s+cubo|elevado)\b",
    re.IGNORECASE,
)
_OPTION = re.compile(r"\(?[A-Ha-h]\)?")
_WORD = re.compile(r"\s*(%|\\%|[€₺£$]|[^\W\d_]+(?:[./²³^][^\W_]+|[²³])*)")
_SUFFIX = re.compile(r"['’]\s?[a-zçğıöşü]{1,8}(?!\w)", re.IGNORECASE)
_REMARK = re.compile(r"\(([^()]*)\)")
_STOP = re.compile(r"[.!?;\n]")


def first_value(text: str, start: int, end: int) -> Value | None:
    r"""The first value of `text[start:end]`, taken as far as it goes.

    >>> first_value("is 5x+3 here", 2, 12).text, first_value("are 9 and 10.", 3, 13).text
    ('5x+3', '9 and 10')
    >>> first_value("is 72, in total", 2, 15).text
    '72'
    """
    for match in islice(_START.finditer(text, start, end), _MAX_STARTS):
        found = _value_at(text, match.start(), end)
        if found is not None:
            stop, formula = found
            lead = text[start : match.start()]
            stop, shown = _with_unit(text, match.start(), stop, end)
            return Value(shown, match.start(), stop, lead, formula)
    return None


def goes_on(value: Value, rest: str) -> bool:
    """Whether the text after a value makes it a part of something longer; the text of an option does not.

    >>> five = first_value("5 x 3", 0, 5)
    >>> goes_on(five, " x 3"), goes_on(five, " ways.")
    (True, False)
    """
    return _GOES_ON.match(rest) is not None and _OPTION.fullmatch(value.text) is None


def _value_at(text: str, start: int, end: int) -> tuple[int, bool] | None:
    """Where the value that starts here ends, and whether it is a delimited formula."""
    one = _single(text, start, end)
    if one is None:
        return None
    stop, formula = one
    if formula and (whole := _WHOLES_BETWEEN.match(text, stop, end)) and text[start:stop].strip("$").isdigit():
        part = _single(text, whole.end(), end)
        return (part[0] if part else stop), True
    while join := _JOIN.match(text, stop, end):
        following = _single(text, join.end(), end)
        if following is None:
            break
        stop = following[0]
    return stop, formula


def _single(text: str, start: int, end: int) -> tuple[int, bool] | None:
    if (match := _DELIMITED.match(text, start)) and match.end() <= end:
        inner = next(group for group in match.groups() if group is not None)
        if not re.search(r"[^\W\d_]{3,}\s+[^\W\d_]{3,}", re.sub(r"\\[A-Za-z]+\s?(?:\{[^{}]*\})?", "", inner)):
            return match.end(), True
    if match := re.compile(_CURRENCY).match(text, start):
        start = match.end()
    if text[start : start + 5].casefold() == "yüzde":
        start = re.compile(r"yüzde\s+", re.IGNORECASE).match(text, start).end()  # type: ignore[union-attr]
    stop = _run(text, start, end)
    return (stop, False) if stop > start else None


def _run(text: str, start: int, end: int) -> int:
    """Where a formula in plain text ends: before prose, and before the punctuation that closes it."""
    position = last = start
    depth = 0
    bold = text[max(0, start - 2) : start] == "**"
    while position < end:
        gap = position
        while gap < end and text[gap] in " \t\u00a0":
            gap += 1
        if gap > last > start and text[last - 1].isdigit() and (whole := _WHOLES.match(text, gap, end)):
            position = last = whole.end()
            continue
        match = _ATOM.match(text, gap, end)
        if match is None:
            if depth and text[gap : gap + 1] in (",", ";", ":", ".") and gap < end:
                position = gap + 1
                continue
            if text[gap : gap + 1] == ":" and re.match(r":\s?\d", text[gap : gap + 3]) and text[gap - 1].isdigit():
                position = gap + 1
                continue
            break
        atom = match[0]
        if gap > last > start and text[last - 1].isdigit() and (times := _TIMES_X.match(text, gap)):
            position = last = times.end()
            continue
        # The second pair of asterisks closes the bold type that the first pair before the value opened.
        if bold and text.startswith("**", gap):
            break
        if gap > position and not depth and _is_prose(text, gap, end, last):
            break
        if atom in "'’" and _SUFFIX.match(text, gap):
            break
        if atom in "([{" or atom == "\\{":
            depth += 1
        elif atom in ")]}" or atom == "\\}":
            if depth == 0 and atom in ")}":
                break
            depth = max(0, depth - 1)
        position = last = match.end()
    return _without_tail(text, start, last)


def _is_prose(text: str, position: int, end: int, last: int) -> bool:
    """Whether the atom after a space belongs to the sentence rather than to the formula."""
    if text[position] == "(":
        # `10 (on)` and `42 (see above)`: a remark in words.
        return (
            (remark := _REMARK.match(text, position, end)) is not None
            and re.match(r"[^\d=]*[^\W\d_]{2}|\d+\s+[^\W\d_]{3}", remark[1]) is not None
            and text[last - 1] not in "+-*/^=<>"
        )
    if _FUNCTION.match(text, position):
        return False
    if text[position] in "πθ":
        return False
    if text[position].isalpha():
        before = text[last - 1]
        if before.isdigit() and _LAST_LETTER.match(text, position):
            return False
        if before in "+-−*/^=<>≤≥⩽⩾≦≧×·(∈":
            return False
        return re.match(r"[A-Za-z]\s?[-+*/^=<>≤≥⩽⩾≦≧]", text[position : position + 3]) is None or before.isalpha()
    if text[position].isdigit():
        # Groups of thousands and mixed numbers go on; another number does not.
        run = re.match(r"\d{3}(?!\d)|\d+/\d", text[position:end])
        if _AFTER_FUNCTION.search(text, max(0, last - 16), last):
            return False
        return (
            run is None
            and text[last - 1] not in "+-−*/^=<>≤≥⩽⩾≦≧≠×·÷(√±∈}"
            and not text[:last].endswith(("cdot", "times", "le", "ge", "leq", "geq", "neq", "pm", "ne"))
        )
    return False


def _without_tail(text: str, start: int, end: int) -> int:
    while end > start and text[end - 1] in " =<>+-−*/^_|'’(":
        end -= 1
    return end


def _with_unit(text: str, start: int, stop: int, end: int) -> tuple[int, str]:
    """The value with the unit, percent sign or qualifying word that follows it."""
    shown = text[start:stop]
    position = stop
    if match := _SUFFIX.match(text, stop):
        stop = position = match.end()
    taken: list[str] = []
    boundary = _STOP.search(text, stop, end)
    limit = boundary.start() if boundary else end
    while len(taken) < 4 and (match := _WORD.match(text, position, end)):
        if match.start(1) > limit:
            break
        taken.append(match[1])
        position = match.end()
    folded = [fold_case(word) for word in taken]
    # In `13 and not 12` the second value is denied, not the first.
    if len(folded) > 1 and folded[0] in ("e", "and", "but", "mas", "ama", "ve") and folded[1] in ("not", "não"):
        return stop, shown
    for index, word in enumerate(folded):
        if word == "no" and folded[index + 1 : index + 2] in (["total"], ["fim"], ["final"]):
            break
        if word in words.QUALIFIERS and word not in ("and",):
            return position, shown + " " + " ".join(taken[: index + 1])
    for count in range(len(taken), 0, -1):
        phrase = " ".join(folded[:count])
        known = (
            words.unit_of(fold(phrase))
            or phrase.replace(" ", "") in words.PERCENT
            or phrase in ("%", "\\%", "por cento", "per cent")
        )
        if known or phrase in words.MULTIPLIERS or (count == 1 and phrase in words.CHOICE_WORDS):
            return _end_of(text, stop, count), shown + " " + " ".join(taken[:count])
    return stop, shown


def _end_of(text: str, stop: int, count: int) -> int:
    for _ in range(count):
        match = _WORD.match(text, stop)
        if match is None:
            break
        stop = match.end()
    return stop
