"""The check of a reply's final answer against the key."""

from __future__ import annotations

from dataclasses import dataclass

from multilingual_math_audit.evaluate.answers.equivalence import answers_equal
from multilingual_math_audit.evaluate.answers.extraction import extract_answer
from multilingual_math_audit.records import Doubt, GradeStatus

GRADER_VERSION = "1"


@dataclass(frozen=True, slots=True)
class AnswerGrade:
    """The check of one reply: its verdict, the extracted answer, what decided, and how doubtful it is."""

    correct: bool
    status: GradeStatus
    extracted: str | None
    where: str
    method: str
    doubt: Doubt


def grade_answer(
    text: str, key: str, *, language: str = "any", answer_kind: str | None = None, finish_reason: str = "stop"
) -> AnswerGrade:
    r"""Check the final answer of a reply against the key.

    >>> grade_answer(r"so \boxed{42}.", "42").correct
    True
    """
    found = extract_answer(text, language=language, answer_kind=answer_kind)
    if found.answer is None:
        status: GradeStatus = "unfinished" if finish_reason == "length" else "no_answer"
        return AnswerGrade(False, status, None, found.where, "extraction", found.doubt)
    verdict = answers_equal(key, found.answer, language=language, answer_kind=answer_kind)
    return AnswerGrade(verdict.equal, "correct" if verdict.equal else "wrong", found.answer, found.where, verdict.method, verdict.doubt)


def check_key(key: str, *, language: str = "any", answer_kind: str | None = None) -> None:
    """Raise AuditError when a key does not read as its kind."""
