"""The final answer of a reply: which string it is, where it was found, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from multilingual_math_audit.evaluate.answers.boxes import Box, all_boxes, last_box
from multilingual_math_audit.evaluate.answers.thinking import visible_part
from multilingual_math_audit.records import Doubt

Where = Literal["box", "boxes", "statement", "sentence", "whole", "thinking", "none"]

__all__ = ["Box", "Extraction", "Where", "all_boxes", "extract_answer", "last_box", "visible_part"]


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
    r"""The final answer of a reply's visible part.

    >>> extract_answer(r"Hence \boxed{42}.").answer
    '42'
    """
    box = last_box(visible_part(text))
    return Extraction(box.content, "box") if box else Extraction(None, "none")
