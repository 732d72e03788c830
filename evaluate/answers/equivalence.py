"""Whether two answers are the same mathematics."""

from __future__ import annotations

from dataclasses import dataclass

from multilingual_math_audit.records import Doubt


@dataclass(frozen=True, slots=True)
class Comparison:
    """Whether two answers are equal, which method decided, and how doubtful the verdict is."""

    equal: bool
    method: str
    doubt: Doubt = "none"


def answers_equal(
    key: str, answer: str, *, language: str = "any", answer_kind: str | None = None, ordered: bool | None = None
) -> Comparison:
    """Whether an answer says the same as the key.

    >>> answers_equal("42", "42").equal
    True
    """
    return Comparison(key.strip() == answer.strip(), "string")
