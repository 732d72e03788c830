"""Where the boxes of a text are, with exact character positions, in time linear in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# The command word must end there: \boxed and \boxedx are different commands.
_COMMAND = re.compile(r"\\(?:boxed|fbox|framebox)(?![A-Za-z])")
_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)
_BARE = re.compile(r"\\[A-Za-z]+|[+\-−]?\d+(?:[.,]\d+)*|[^\s{}$\\.,;:!?)\]]")
_DOLLAR = re.compile(r"(?<!\\)\$")
# A formula whose brace was lost is short; the bound keeps the scan of many lost braces linear.
_LOST_BRACE = 400


@dataclass(frozen=True, slots=True)
class Box:
    """One box of a text: `text[start:end]` is the whole of it, `text[content_start:content_end]` what is inside."""

    start: int
    end: int
    content_start: int
    content_end: int
    content: str


def all_boxes(text: str) -> list[Box]:
    r"""Every complete outermost box in reading order; a box whose braces never close is not one.

    >>> [box.content for box in all_boxes(r"\boxed{1}, \fbox {\frac{2}{3}}, \boxed 5, \boxed{6")]
    ['1', '\\frac{2}{3}', '5']
    """
    return list(_boxes(text, 0))


def boxes_from(text: str, start: int) -> list[Box]:
    """The boxes that start at `start` or later."""
    return list(_boxes(text, start))


def last_box(text: str) -> Box | None:
    r"""The last complete outermost box, or None.

    >>> box = last_box(r"\boxed{1} then \boxed{2}.")
    >>> (box.content, box.start, box.end)
    ('2', 15, 24)
    """
    last = None
    for last in _boxes(text, 0):  # noqa: B007 - the value left over is the answer
        pass
    return last


def _boxes(text: str, start: int) -> Iterator[Box]:
    closes = None
    position = text.find("\\", start)
    while position >= 0 and (match := _COMMAND.search(text, position)):
        if closes is None:
            closes = closing_braces(text, match.start())
        box = _box_at(text, match.start(), match.end(), closes)
        if box is not None:
            yield box
        position = match.end() if box is None else box.end


def closing_braces(text: str, start: int) -> dict[int, int]:
    """For each opening brace from `start` on that closes, where it closes; one pass over the text."""
    closes: dict[int, int] = {}
    opened: list[int] = []
    for match in _BRACES.finditer(text, start):
        mark = match[0]
        if mark == "{":
            opened.append(match.start())
        elif mark == "}" and opened:
            closes[opened.pop()] = match.start()
    return closes


def _box_at(text: str, start: int, position: int, closes: dict[int, int]) -> Box | None:
    while position < len(text) and text[position] in " \t\n":
        position += 1
    if position < len(text) and text[position] == "{":
        inner = position + 1
        close = closes.get(position)
        if close is not None:
            return Box(start, close + 1, inner, close, text[inner:close])
        # `$\boxed{5$`: the brace was lost and the formula ends with the dollar.
        dollar = _DOLLAR.search(text, inner, inner + _LOST_BRACE)
        if dollar is None or "\n\n" in text[inner : dollar.start()] or not _opens_formula(text, start):
            return None
        return Box(start, dollar.start(), inner, dollar.start(), text[inner : dollar.start()])
    match = _BARE.match(text, position)
    if match is None or (position > start and match[0][0].isalpha() and match[0][0] != "\\"):
        return None
    end = _end_of_bare(text, match)
    return Box(start, end, position, end, text[position:end])


def _opens_formula(text: str, start: int) -> bool:
    line = text.rfind("\n", 0, start) + 1
    return text.count("$", line, start) % 2 == 1 or text.startswith("$$", max(0, start - 2))


def _end_of_bare(text: str, match: re.Match[str]) -> int:
    """`\\boxed \\frac12` takes the arguments of its command along."""
    end = match.end()
    if not match[0].startswith("\\"):
        return end
    while end < len(text) and text[end] in "{0123456789" and end - match.end() < _LOST_BRACE:
        if text[end] != "{":
            end += 1
            continue
        close = text.find("}", end)
        if close < 0:
            break
        end = close + 1
    return end
