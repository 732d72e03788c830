"""Whether two answers are the same mathematics, whatever form they are written in."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from fractions import Fraction

from multilingual_math_audit.evaluate.answers.comparison import Rules, forms_equal
from multilingual_math_audit.evaluate.answers.exact import Undefined, rational
from multilingual_math_audit.evaluate.answers.forms import read, strip
from multilingual_math_audit.evaluate.answers.glyphs import fold, fold_case
from multilingual_math_audit.evaluate.answers.numbers import (
    CONTINENTAL_LISTING,
    ENGLISH,
    EVERY_MARK_DECIMAL,
    POINT_OR_COMMA,
    Notation,
    is_ambiguous,
    notations,
)
from multilingual_math_audit.evaluate.answers.realsets import is_set
from multilingual_math_audit.evaluate.answers.scalars import Verdict
from multilingual_math_audit.evaluate.answers.shapes import Form
from multilingual_math_audit.evaluate.answers.tokens import MAX_CHARS, TooLarge
from multilingual_math_audit.evaluate.answers.trees import Unreadable
from multilingual_math_audit.records import Doubt

_PLAIN_INTEGER = re.compile(r"[+-]?\d{1,4000}")
_RUN = 12
_PLAIN_RATIONAL = re.compile(
    r"(-)?(?:(\d{1,18})(?:\.(\d{1,12}))?|\\[dt]?frac\{(\d{1,18})\}\{(\d{1,18})\}|(\d{1,18})/(\d{1,18}))"
)
_DECIMAL_COMMA = re.compile(r"-?\d+(?:,|\{,\})\d+")
_BRACKET = re.compile(r"(?<!\\frac)(?<!\\text)(?<!sqrt)(?:[(\[\]]|\\?\{(?![,.]\}))")
_DISPLAY = re.compile(
    r"\\left(?![a-z])|\\right(?![a-z])|\\displaystyle|\$|\\\(|\\\)|\\(?:text|mathrm|mbox|textbf|mathbf)(?=\{)"
)

# A space between two digits or two letters tells `1 2` from `12`; any other is for the eye.
_SPACES = re.compile(r"(?<![^\W_])(?:\s|~|\\[,;:! ])+|(?:\s|~|\\[,;:! ])+(?![^\W_])")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Whether two answers are equal, which method decided, and how doubtful the verdict is."""

    equal: bool
    method: str
    doubt: Doubt = "none"


def answers_equal(
    key: str, answer: str, *, language: str = "any", answer_kind: str | None = None, ordered: bool | None = None
) -> Comparison:
    r"""Whether an answer says the same as the key.

    `language` decides what a comma and a dot between digits mean; `ordered` says whether the order of a list matters
    (None: of tuples it does, of sets and bare lists it does not).

    >>> answers_equal("1/2", r"\frac{2}{4}").equal, answers_equal("3,14", "3.14", language="tr").equal
    (True, True)
    >>> answers_equal("[-2,7]", r"-2 \le x \le 7").method
    'set'
    """
    key, answer = key.strip(), answer.strip()
    if _PLAIN_INTEGER.fullmatch(key) and _PLAIN_INTEGER.fullmatch(answer):
        return Comparison(int(key) == int(answer), "integer")
    if key == answer and key:
        return Comparison(True, "string")
    left, right = _plain_rational(key, language), _plain_rational(answer, language)
    if left is not None and right is not None:
        return Comparison(left == right, "rational")
    key, answer = _peeled(key), _peeled(answer)
    if len(key) > MAX_CHARS or len(answer) > MAX_CHARS:
        return _compare_long(key, answer)
    try:
        return _compare(fold(key), fold(answer), language, Rules(answer_kind, ordered))
    except (ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, ValueError):
        # No reply may end a run; what no rule foresaw is rejected and shown to a person.
        return Comparison(False, "limit", "high")


def is_readable(key: str, language: str = "any") -> bool:
    """Whether a key is an answer at all: a value, a list, a relation, a word; nothing empty, no torn formula.

    >>> is_readable("3/4"), is_readable("Ankara"), is_readable(""), is_readable(r"\\frac{1}{")
    (True, True, False, False)
    """
    return _form(key, language) is not None


def _form(key: str, language: str) -> Form | None:
    """The form of a key in its likeliest notation; words that are no formula are a text."""
    folded = fold(key.strip())
    if not folded or len(folded) > MAX_CHARS:
        return None
    for notation in notations(language):
        try:
            return read(folded, notation)
        except Unreadable:
            continue
        except (TooLarge, RecursionError):
            return None
    torn = folded.count("{") != folded.count("}") or folded.count("(") != folded.count(")")
    return None if torn and not re.search(r"[\[\]]", folded) else Form("text", text=folded)


def reads_as(key: str, kind: str, *, language: str = "any") -> bool:
    """Whether a key reads as an answer kind and equals itself by its mathematics, not only by its letters.

    >>> reads_as("0,5", "decimal", language="pt"), reads_as("0,5", "integer", language="pt")
    (True, False)
    """
    form = _form(key, language)
    if form is None:
        return False
    try:
        same = form.kind == "text" or forms_equal(form, form, Rules(kind)).equal
    except (Unreadable, TooLarge):
        return False
    return same and _is_of_kind(form, kind)


def _is_of_kind(form: Form, kind: str) -> bool:
    value = None
    if form.kind == "scalar" and form.node is not None:
        with contextlib.suppress(Undefined):
            value = rational(form.node)
    match kind:
        case "integer":
            return value is not None and value.denominator == 1
        case "fraction" | "decimal":
            return value is not None
        case "percent":
            return value is not None
        case "radical":
            return form.kind == "scalar"
        case "interval":
            return is_set(form) or form.kind == "empty"
        case "tuple":
            return form.kind in ("group", "list", "matrix")
        case "set":
            return form.kind in ("set", "list", "empty", "union", "builder", "reals", "scalar")
        case "equation":
            return form.kind == "relation" or (form.kind == "list" and form.items[0].kind == "relation")
        case "choice":
            return bool(
                re.fullmatch(r"\\?\(?[A-H]\)?|.*\b[A-H]\b.*", form.text or (form.node.name if form.node else ""))
            )
    return True


def _peeled(text: str) -> str:
    """The text without a long run of redundant braces or parentheses around it."""
    opening = text[:1]
    if opening not in ("{", "(") or text[:_RUN] != opening * _RUN:
        return text
    closing = "}" if opening == "{" else ")"
    count = min(len(text) - len(text.lstrip(opening)), len(text) - len(text.rstrip(closing)))
    inner = text[count : len(text) - count]
    depth = 0
    for mark in inner:
        depth += (mark == opening) - (mark == closing)
        if depth < 0:
            return text
    return inner if depth == 0 else text


def _plain_rational(text: str, language: str) -> Fraction | None:
    """The value of a plain integer, decimal or fraction of integers; None for everything that needs a closer look."""
    match = _PLAIN_RATIONAL.fullmatch(text)
    if match is None:
        return None
    sign, whole, places, *parts = match.groups()
    top, bottom = (part for part in parts if part) if whole is None else ("", "")
    if whole is not None:
        # A long decimal may round something, and three places may be a group of thousands.
        if places and (len(places) > 8 or (len(places) == 3 and language in ("tr", "pt"))):
            return None
        value = Fraction(int(whole + (places or "")), 10 ** len(places or ""))
    elif int(bottom) == 0:
        return None
    else:
        value = Fraction(int(top), int(bottom))
    return -value if sign else value


def _compare_long(key: str, answer: str) -> Comparison:
    """Two integers of any length; nothing else that long is compared."""
    if key.isascii() and answer.isascii() and key.isdigit() and answer.isdigit():
        return Comparison(key.lstrip("0") == answer.lstrip("0"), "integer")
    return Comparison(False, "limit", "high")


def _compare(key: str, answer: str, language: str, rules: Rules) -> Comparison:
    if not answer:
        return Comparison(False, "string")
    if shown(key) == shown(answer):
        return Comparison(True, "string")
    first: Comparison | None = None
    for notation in _readings(key, answer, language):
        verdict = _compare_in(key, answer, notation, rules)
        if verdict.equal:
            return verdict
        first = first or verdict
    first = first or Comparison(False, "text")
    if first.doubt == "none" and is_ambiguous(answer):
        others = (ENGLISH, EVERY_MARK_DECIMAL, CONTINENTAL_LISTING)
        if any(_compare_in(key, answer, notation, rules).equal for notation in others):
            return Comparison(False, first.method, "high")
    return first


def _readings(key: str, answer: str, language: str) -> list[Notation]:
    """The notations both are read in; a second one only where it cannot turn one clear number into another."""
    first, *others = notations(language)
    if not (is_ambiguous(key) or is_ambiguous(answer)):
        return [first]
    if language in ("tr", "pt"):
        clear = all(not is_ambiguous(text) or (_BRACKET.search(text) and ";" not in text) for text in (key, answer))
        return [first, *others] if clear else [first]
    scalar = not is_ambiguous(key) or _DECIMAL_COMMA.fullmatch(key)
    return [first, *(n for n in others if n is not POINT_OR_COMMA or scalar)]


def _compare_in(key: str, answer: str, notation: Notation, rules: Rules) -> Comparison:
    try:
        left = _read(key, notation)
        right = _read(answer, notation)
    except TooLarge:
        return Comparison(False, "limit", "high")
    if left is None or right is None:
        return Comparison(_same_words(key, answer), "text")
    try:
        verdict = forms_equal(left, right, rules)
    except Unreadable:
        verdict = Verdict(False, "unreadable", "low")
    except TooLarge:
        return Comparison(False, "limit", "high")
    return Comparison(verdict.equal, verdict.method, verdict.doubt)


def _read(text: str, notation: Notation) -> Form | None:
    try:
        return read(text, notation)
    except Unreadable:
        return None


def shown(text: str) -> str:
    """The text without what cannot be seen or does not matter: spaces, sizes, dollars, text wrappers."""
    text = _SPACES.sub("", _DISPLAY.sub("", strip(text))).replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac")
    text = text.replace("\\ldots", "...").replace("\\dots", "...").replace("\\cdots", "...")
    return text.replace("{", "").replace("}", "") if "{" in text and text.count("{") == 1 and text[0] == "{" else text


def _same_words(key: str, answer: str) -> bool:
    left, right = (" ".join(re.findall(r"\w+", fold_case(re.sub(r"\\[a-z]+", " ", text)))) for text in (key, answer))
    wordy = len(re.findall(r"[^\W\d_]{3,}", left)) > 0
    marks = [re.findall(r"\d+|[^\w\s{}.,$\\]|\\[a-z]+", _DISPLAY.sub("", text)) for text in (key, answer)]
    return wordy and left == right and marks[0] == marks[1]
