"""The final answer of a reply: which string it is, where it was found, and how sure that is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from multilingual_math_audit.evaluate.answers import words
from multilingual_math_audit.evaluate.answers.boxes import Box, all_boxes, boxes_from, last_box
from multilingual_math_audit.evaluate.answers.glyphs import fold_case
from multilingual_math_audit.evaluate.answers.statements import RETRACTED, anchored, final_statement
from multilingual_math_audit.evaluate.answers.thinking import closed_thinking, visible_part
from multilingual_math_audit.records import Doubt

Where = Literal["box", "boxes", "statement", "sentence", "whole", "thinking", "none"]

__all__ = ["Box", "Extraction", "Where", "all_boxes", "extract_answer", "last_box", "visible_part"]

# Boxes that stand side by side are one list; anything else between them is a new thought.
_BESIDE = re.compile(
    r"(?:[\s,;$~.]|\\(?:quad|qquad|[,;:! \[\]()])|\\text\{\s*(?:,?\s*(?:and|or|ve|veya|e|ou)?)\s*\}|"
    r"\b(?:and|or|ve|veya|ya da|e|ou|maybe|either|perhaps|belki|talvez|possibly)\b)*",
    re.IGNORECASE,
)
_DENIED_BEFORE = re.compile(r"\b(?:not|isn't|aren't|não\s+é|não)\s*[:$\\(\[\s]*$", re.IGNORECASE)
_DENIED_AFTER = re.compile(
    r"[\s$\\)\].]{0,6}(?:değil|yanlış|(?:(?:is|was)\s+(?:wrong|incorrect|not\s+(?:the\s+)?(?:right|correct|answer))|"
    r"(?:é|está)\s+(?:errad|incorret)))",
    re.IGNORECASE,
)
_UNIT_AFTER = re.compile(r"\$?\s?(?:\\?%|\^\{?\\circ\}?|°|(?:percent|pct|per cent|por cento)\b)", re.IGNORECASE)
_MINUS_BEFORE = re.compile(r"(?:^|[=($ \n{])[-−]$")
_WRONG = re.compile(
    r"wrong|incorrect|not\s+(?:right|correct)|mistake|error|second\s+thought|scratch|forgot|oops|yanlış|hata|unut|errad|"
    r"incorret|erro\b|esqueci",
    re.IGNORECASE,
)
_STYLE = re.compile(r"\\(?:text|textbf|mathrm|mathbf|mbox|textit)\s*\{([^{}]*)\}|[*_${}\\]|\\[,;! ]")
# Braces that show, around nothing, are the empty set.
_NO_ELEMENTS = re.compile(r"[\s$]*(?:\\left)?\\\{\s*(?:\\right)?\\\}[\s$.]*")
_WINDOW = 400


@dataclass(frozen=True, slots=True)
class Extraction:
    """The answer's string as written, where it was found, and how doubtful the finding is."""

    answer: str | None
    where: Where
    doubt: Doubt = "none"

    @property
    def sure(self) -> bool:
        """Whether nobody needs to look at it."""
        return self.doubt == "none"


def extract_answer(text: str, *, language: str = "any", answer_kind: str | None = None) -> Extraction:
    r"""The final answer of a reply's visible part: its last real box, else its final statement, else nothing.

    `language` and `answer_kind` are hints; every language's words are read whatever the hint.

    >>> extract_answer(r"<think>\boxed{1}</think> Hence \boxed{42}.").answer
    '42'
    >>> extract_answer("Bu durumda cevap 12'dir.", language="tr").answer
    '12'
    """
    visible = visible_part(text)
    found = _from_visible(visible)
    if found.answer is None and (thought := closed_thinking(text)) is not None:
        inner = _from_boxes(thought)
        if inner is not None and inner.answer is not None:
            return Extraction(inner.answer, "thinking", "high")
    return found


def _from_visible(text: str) -> Extraction:
    if (found := _from_boxes(text)) is not None:
        return found
    statement = final_statement(text)
    if statement is None:
        return Extraction(None, "none")
    return Extraction(statement.answer, statement.where, statement.doubt)


def _from_boxes(text: str) -> Extraction | None:
    """The answer of the last box that is one; None when the text holds no such box."""
    if "box" not in text:
        return None
    boxes = _last_boxes(text)
    while boxes and (_is_empty(boxes[-1].content) or _is_denied(text, boxes[-1])):
        boxes.pop()
    if not boxes:
        return None
    last = boxes[-1]
    tail = text[last.end : last.end + _WINDOW]
    if (retraction := RETRACTED.search(tail)) is not None and retraction.start() < 120:
        statement = anchored(text[last.end :])
        if statement is not None:
            return Extraction(statement.answer, statement.where, "high")
        if retraction.start() < 40 and _WRONG.search(tail, 0, retraction.end() + 20):
            return Extraction(None, "none", "high")
    group = _beside(text, boxes)
    contents = [box.content for box in group]
    if len(contents) > 1:
        distinct = list(dict.fromkeys(content.strip() for content in contents))
        if len(distinct) > 1:
            return Extraction(", ".join(distinct), "boxes", "low")
    return Extraction(_in_context(text, last), "box")


def _last_boxes(text: str) -> list[Box]:
    """The boxes near the end of the text; all of them only where the end holds none that counts."""
    start = max(text.rfind("\\boxed"), text.rfind("\\fbox"), text.rfind("\\framebox"))
    if start < 0:
        return []
    window = max(0, start - 2 * _WINDOW)
    near = boxes_from(text, window)
    if near and not _is_empty(near[-1].content) and not _is_denied(text, near[-1]):
        return near
    return all_boxes(text)


def _is_empty(content: str) -> bool:
    """Whether a box holds nothing or a placeholder such as `answer` or `...`."""
    if _NO_ELEMENTS.fullmatch(content):
        return False
    plain = " ".join(_STYLE.sub(lambda m: m[1] or "", content).split()).strip(" .…_<>[]()?:")
    return not plain or fold_case(plain) in words.PLACEHOLDERS or plain in ("ldots", "dots", "cdots")


def _is_denied(text: str, box: Box) -> bool:
    before = text[max(0, box.start - 30) : box.start]
    return _DENIED_BEFORE.search(before) is not None or _DENIED_AFTER.match(text, box.end) is not None


def _beside(text: str, boxes: list[Box]) -> list[Box]:
    """The last box and those right before it with nothing but separators between."""
    group = [boxes[-1]]
    for box in reversed(boxes[:-1]):
        between = text[box.end : group[0].start]
        if len(between) > 60 or "\n\n" in between or not _BESIDE.fullmatch(between):
            break
        if re.search(r"\.\s", between):
            break
        if not _is_empty(box.content):
            group.insert(0, box)
    return group


def _in_context(text: str, box: Box) -> str:
    """The content with the sign before the box and the percent or degree sign after it."""
    content = box.content
    if _MINUS_BEFORE.search(text, max(0, box.start - 2), box.start):
        content = f"-({content})"
    if (unit := _UNIT_AFTER.match(text, box.end)) is not None and "%" not in content:
        content += " " + unit[0].lstrip("$ ")
    return content
