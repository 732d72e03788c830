"""Numbers in a chain of reasoning: where they stand, how they are written, and how another number is written there.

The grader asks what value an answer has; an edit must also know what may be changed without touching anything else, and
keep the notation. So a number here is a place in the text with all its plausible readings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

Form = Literal["plain", "fraction", "mixed"]
# Longer runs are no numbers of a solution, and int() refuses a few thousand digits.
MAX_DIGITS = 400

_MARK = (
    r"(?:\{,\}|\{\.\}|\{\\,\}|\\[,;:](?=[0-9]{3}(?![0-9]))|[~\u00a0\u2009\u202f](?=[0-9]{3}(?![0-9]))"
    r"| (?=[0-9]{3}(?![0-9]))|[.,'](?=[0-9]))"
)
_DIGITS = rf"[0-9]+(?:{_MARK}[0-9]+)*"
_INSIDE = rf"\s?[-−]?\s?{_DIGITS}\s?"
_LITERAL = re.compile(
    rf"(?P<mixed>[0-9]+\s?)?\\[dtc]?frac\s?(?:\{{(?P<top>{_INSIDE})\}}|(?P<top1>[0-9]))\s?"
    rf"(?:\{{(?P<low>{_INSIDE})\}}|(?P<low1>[0-9]))"
    rf"|(?P<run>{_DIGITS})(?:(?P<bar>\s?/\s?)(?P<under>{_DIGITS})(?!\s?/\s?[0-9]|[0-9]))?"
    rf"|(?<![0-9.,])\.(?P<bare>[0-9]+)"
)
_PIECES = re.compile(rf"({_MARK})")
_PERCENT = re.compile(r"\s?\\?%")
_WORD = re.compile(r"(?<![\\A-Za-z])[^\W\d_]{2,}")
_SPACES = ("~", "\u00a0", "\u2009", "\u202f", " ", "\\,", "\\;", "\\:", "{\\,}")


@dataclass(frozen=True, slots=True)
class Numeral:
    """One reading of a run of digits: what stands before and after the decimal mark, and its marks."""

    whole: str
    tail: str = ""
    mark: str = ""
    separator: str = ""

    @property
    def value(self) -> Fraction:
        """The number, without its sign."""
        return Fraction(int((self.whole or "0") + self.tail), 10 ** len(self.tail))

    def render(self, value: Fraction) -> str | None:
        """Another number in the same notation; None when it needs more decimals than this one has.

        >>> Numeral("30", "75", ",").render(Fraction(61, 2)), Numeral("1234", separator="{,}").render(Fraction(98765))
        ('30,50', '98{,}765')
        >>> Numeral("0", "5", ".").render(Fraction(1, 4)) is None
        True
        """
        scaled = value * 10 ** len(self.tail)
        if value < 0 or scaled.denominator != 1:
            return None
        digits = str(scaled.numerator).zfill(len(self.tail) + (1 if self.whole else 0))
        whole = digits[: len(digits) - len(self.tail)]
        if len(self.whole) > 1 and self.whole.startswith("0"):
            whole = whole.zfill(len(self.whole))
        return _grouped(whole, self.separator) + self.mark + digits[len(digits) - len(self.tail) :]


def _grouped(whole: str, separator: str) -> str:
    if not separator or len(whole) < 4:
        return whole
    head = len(whole) % 3
    groups = ([whole[:head]] if head else []) + [whole[i : i + 3] for i in range(head, len(whole), 3)]
    return separator.join(groups)


@dataclass(frozen=True, slots=True)
class Place:
    """A number of a text: `text[start:end]` is its digits and marks, without sign and percent sign.

    `readings` are the plausible readings of each of its parts (one for a plain number; numerator and denominator for a
    fraction; whole, numerator and denominator for a mixed number), the likeliest first; `spans` where the parts stand.
    `doubtful` marks a run that may also be a list, such as `(12,5)`.
    """

    start: int
    end: int
    form: Form
    spans: tuple[tuple[int, int], ...]
    readings: tuple[tuple[Numeral, ...], ...]
    negative: bool = False
    percent: bool = False
    doubtful: bool = False

    def values(self) -> list[Fraction]:
        """The plausible values as displayed: with the sign, a percent sign left out; the likeliest first."""
        sign = -1 if self.negative else 1
        first = self.readings[0]
        if self.form == "plain":
            return [sign * numeral.value for numeral in first]
        parts = [readings[0].value for readings in self.readings]
        if parts[-1] == 0:
            return []
        quotient = parts[-2] / parts[-1]
        return [sign * (quotient + parts[0] if self.form == "mixed" else quotient)]

    def components(self) -> set[Fraction]:
        """Every plausible value of every part."""
        return {numeral.value for readings in self.readings for numeral in readings}


@lru_cache(maxsize=65_536)
def read_digits(run: str, language: str) -> tuple[Numeral, ...]:
    """The plausible readings of a run of digits and marks as one number, the likeliest first; () when it is none.

    >>> [str(n.value) for n in read_digits("1,234", "en")], [str(n.value) for n in read_digits("1,234", "tr")]
    (['1234'], ['617/500', '1234'])
    >>> read_digits("1,2,3", "en")
    ()
    """
    if len(run) > MAX_DIGITS:
        return ()
    pieces = _PIECES.split(run)
    digits, marks = pieces[::2], pieces[1::2]
    if not marks:
        return (Numeral(run),)
    groups = len(digits[0]) <= 3 and not digits[0].startswith("0")
    if len(set(marks)) == 1:
        grouped = groups and all(len(part) == 3 for part in digits[1:])
        together = Numeral("".join(digits), separator=marks[0])
        decimal = Numeral(digits[0], digits[1], marks[0]) if len(marks) == 1 else None
        return _readings(marks[0], together if grouped else None, decimal, language)
    whole, last = digits[:-1], marks[-1]
    separators = set(marks[:-1])
    if len(separators) == 1 and last in (".", ",", "{,}", "{.}") and groups and all(len(p) == 3 for p in whole[1:]):
        return (Numeral("".join(whole), digits[-1], last, marks[0]),)
    return ()


def _readings(mark: str, together: Numeral | None, decimal: Numeral | None, language: str) -> tuple[Numeral, ...]:
    if mark in _SPACES or mark == "'":
        return (together,) if together else ()
    comma = mark in (",", "{,}")
    if together is None or decimal is None:
        # A bare comma between few digits is a list in English: `C(10,3)`.
        found = together or (None if mark == "," and language == "en" and decimal and decimal.whole != "0" else decimal)
        return (found,) if found else ()
    if language == "en":
        return (together,) if comma else (decimal,)
    return (decimal, together) if mark == "," else (together, decimal)


def find_places(text: str, language: str, start: int = 0, end: int | None = None) -> Iterator[Place]:
    r"""Every number of `text[start:end]`, read whole, in reading order.

    >>> text = r"12,5 ve 30 240, sonra -3/4 ile %25 ve \dfrac{1}{2}"
    >>> [(text[p.start:p.end], str(p.values()[0])) for p in find_places(text, "tr")]
    [('12,5', '25/2'), ('30 240', '30240'), ('3/4', '-3/4'), ('25', '25'), ('\\dfrac{1}{2}', '1/2')]
    """
    for match in _LITERAL.finditer(text, start, len(text) if end is None else end):
        yield from read_places(text, match, language)


def literal_matches(text: str, start: int = 0, end: int | None = None) -> Iterator[re.Match[str]]:
    """What `find_places` would read, unread: cheap enough to look at every number of a long chain."""
    return _LITERAL.finditer(text, start, len(text) if end is None else end)


def read_places(text: str, match: re.Match[str], language: str) -> Iterator[Place]:
    """The numbers of one match of `literal_matches`: one, or those of a list."""
    if match["run"] is None and match["bare"] is None:
        yield from _latex_fraction(text, match, language)
        return
    if match["bare"] is not None:
        if len(match["bare"]) <= MAX_DIGITS:
            yield _place(text, match.span(), (Numeral("", match["bare"], "."),))
        return
    spans = (match.span("run"), match.span("under"))
    if (
        match["under"] is not None
        and not is_attached(text, match.start())
        and text[max(0, match.start() - 1) : match.start()] != "/"
    ):
        parts = tuple(read_digits(match[name], language) for name in ("run", "under"))
        if all(parts) and text[match.end() : match.end() + 1] not in ("^", "!"):
            yield _place(text, match.span(), *parts, form="fraction", spans=spans)
            return
    for name, span in zip(("run", "under"), spans, strict=True):
        if match[name] is not None:
            yield from _run(text, span, language)


def _run(text: str, span: tuple[int, int], language: str) -> Iterator[Place]:
    run = text[slice(*span)]
    readings = read_digits(run, language)
    if not readings and run.count(",") == 1 and "." not in run and not is_nested(text, span[0]):
        # A list of two has a space or a bracket; what is left is a decimal comma in an English text.
        whole, _, tail = run.partition(",")
        readings = (Numeral(whole, tail, ","),) if whole.isdigit() and tail.isdigit() else ()
    if readings:
        listed = not run.isdigit() and "," in run and "{,}" not in run and is_nested(text, span[0])
        yield _place(text, span, readings, doubtful=listed)
        return
    if run.count(".") > 1 or ("." in run and "," not in run):
        return  # a version, a date or a section number
    for part in re.finditer(r"[0-9]+(?:\.[0-9]+)?", run):
        inner = (span[0] + part.start(), span[0] + part.end())
        yield _place(text, inner, read_digits(part[0], language))


def _latex_fraction(text: str, match: re.Match[str], language: str) -> Iterator[Place]:
    spans, readings = [], []
    negative = False
    for names in (("mixed",), ("top", "top1"), ("low", "low1")):
        name = next((name for name in names if match[name] is not None), None)
        if name is None:
            continue
        digits = re.search(_DIGITS, match[name])
        if digits is None or not (read := read_digits(digits[0], language)):
            return
        negative ^= bool(re.search("[-−]", match[name]))
        spans.append((match.start(name) + digits.start(), match.start(name) + digits.end()))
        readings.append(read)
    form: Form = "mixed" if len(readings) == 3 else "fraction"
    yield _place(text, match.span(), *readings, form=form, spans=tuple(spans), flipped=negative)


def _place(
    text: str,
    span: tuple[int, int],
    *readings: tuple[Numeral, ...],
    form: Form = "plain",
    spans: tuple[tuple[int, int], ...] = (),
    doubtful: bool = False,
    flipped: bool = False,
) -> Place:
    start, end = span
    percent = _PERCENT.match(text, end) is not None or _percent_before(text, start)
    negative = is_negative(text, start) ^ flipped
    return Place(start, end, form, spans or (span,), readings, negative, percent, doubtful)


def _percent_before(text: str, start: int) -> bool:
    before = text[max(0, start - 3) : start].rstrip(" ")
    return before.endswith("%") and not before[:-1].rstrip("\\")[-1:].isdigit()


_UNARY = re.compile(
    r"(?:^|[=(\[{,;:<>+*/×·^&|$≤≥→≈∈\n]|\\(?:times|cdot|leq?|geq?|to|i[mn]plies|in|approx|equiv|pm|left|quad|neq?|div)"
    r"|(?:^|[^\\A-Za-z])[^\W\d_]{2,})\s*$"
)
_AFTER_OPERAND = re.compile(r"(?:\\right|\\rangle)\s*[)\]}|.]?\s*$")


def is_negative(text: str, start: int) -> bool:
    """Whether a minus that is a sign, not an operation, stands before the number at `start`.

    >>> [is_negative(t, len(t) - 1) for t in ("x-2", "= -2", "(-2", "is -2", "x - 2", "5 · -2", "$-2")]
    [False, True, True, True, False, True, True]
    """
    at = start - 1
    if at >= 0 and text[at] == " ":
        at -= 1
    if at < 0 or text[at] not in "-−–":
        return False
    before = text[max(0, at - 24) : at]
    if before[-1:].isalpha() and at != start - 1:
        return False
    if before[-1:].isalpha() and not re.search(r"\\[A-Za-z]+$", before):
        return False
    return bool(_UNARY.search(before)) and not _AFTER_OPERAND.search(before)


def is_attached(text: str, start: int) -> bool:
    """Whether the digits at `start` belong to what stands before them: `x^2`, `a_1`, `P2`; not `\\times2`."""
    before = text[start - 1 : start]
    if before in ("^", "_"):
        return True
    return before.isalpha() and not re.search(r"\\[A-Za-z]+$", text[max(0, start - 16) : start])


def is_nested(text: str, start: int) -> bool:
    """Whether a bracket opened on the same line is still open at `start`, with no word since: a list may stand there.

    >>> is_nested("C(10,3)", 2), is_nested("(that is 1,277)", 9)
    (True, False)
    """
    line = text[max(text.rfind("\n", 0, start) + 1, start - 200) : start]
    depth = 0
    for at in range(len(line) - 1, -1, -1):
        if line[at] in ")]" or line.startswith("\\}", at):
            depth += 1
        elif line[at] in "([" or line.startswith("\\{", at):
            if depth == 0:
                return _WORD.search(line, at + 1) is None
            depth -= 1
    return False
