"""The part of a reply that is meant for the reader: what follows the model's thinking."""

from __future__ import annotations

import re

_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|seed:think"
_OPEN = (
    rf"<\s*(?:{_NAMES})\s*>|\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|START_THINKING\|>"
    r"|<\|channel\|>analysis<\|message\|>"
)
_CLOSE = (
    rf"<\s*/\s*(?:{_NAMES})\s*>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|END_THINKING\|>"
    r"|<\|channel\|>final<\|message\|>"
)
_TAG = re.compile(f"(?P<open>{_OPEN})|(?P<close>{_CLOSE})", re.IGNORECASE)
_AFTER_ANGLE = frozenset("tTsSrR/| ")
_MANY = 40


def may_think(text: str) -> bool:
    """Whether the text may hold a thinking tag; quick, and never wrong when it says no.

    >>> may_think("x < 5"), may_think("<think>")
    (False, True)
    """
    position = text.find("<")
    seen = 0
    while position >= 0:
        if text[position + 1 : position + 2] in _AFTER_ANGLE and (seen := seen + 1) and _TAG.match(text, position):
            return True
        if seen > _MANY:
            return _TAG.search(text, position) is not None
        position = text.find("<", position + 1)
    if "◁" in text:
        return True
    # Bracket tags open a reply; a closing one stands before the visible part.
    return "[" in text and ("[THINK]" in text[:400].upper() or "[/THINK]" in text)


def visible_part(text: str) -> str:
    """The text after the last closing thinking tag; all of it without tags, '' when thinking never closes.

    >>> visible_part("<think>maybe 5</think> The answer is 7.")
    ' The answer is 7.'
    >>> visible_part("<think>maybe 5")
    ''
    """
    start, end = visible_span(text)
    return text[start:end] if start or end < len(text) else text


def visible_span(text: str) -> tuple[int, int]:
    """Where the visible part starts and ends, in characters of the text.

    >>> visible_span("<think>a</think> b")
    (16, 18)
    """
    if not may_think(text):
        return 0, len(text)
    start = 0
    opened: int | None = None
    for match in _TAG.finditer(text):
        if match["close"]:
            start, opened = match.end(), None
        elif opened is None:
            opened = match.start()
    if opened is None:
        return start, len(text)
    # What comes before an unclosed block was said aloud only if a block was closed before it.
    return (start, opened) if start else (len(text), len(text))


def closed_thinking(text: str) -> str | None:
    """The thinking of a reply that closes it and then says nothing; None in every other case."""
    tags = list(_TAG.finditer(text))
    if not tags or not tags[-1]["close"] or text[tags[-1].end() :].strip():
        return None
    return text[: tags[-1].start()]
