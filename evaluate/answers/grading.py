"""The check of a reply's final answer against the key, for one reply and for all solutions of a run."""

from __future__ import annotations

import functools
import itertools
import multiprocessing
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.answers.equivalence import Comparison, answers_equal, is_readable, reads_as
from multilingual_math_audit.evaluate.answers.extraction import Where, extract_answer
from multilingual_math_audit.evaluate.answers.thinking import may_think
from multilingual_math_audit.records import Doubt, Grade, GradeStatus, Problem, Solution

GRADER_VERSION = "1"

_BOX = "\\boxed{"
_CLOSINGS = frozenset(
    {"", "$", ".", "$.", "$$", "\n", ".\n", "$\n", "$.\n", "**", "\\]", "\\)", "\\).", "\n\\]", "$$\n", " $", "$**"}
)
_NEAR = 96
# A pool of processes costs more than it saves on fewer solutions.
_IN_PROCESS = 4_000
_CHUNK = 500


class AnswerGrade(NamedTuple):
    """The check of one reply: its verdict, the extracted answer, what decided, and how doubtful it is."""

    correct: bool
    status: GradeStatus
    extracted: str | None
    where: Where
    method: str
    doubt: Doubt


def grade_answer(
    text: str,
    key: str,
    *,
    language: str = "any",
    answer_kind: str | None = None,
    finish_reason: str = "stop",
    ordered: bool | None = None,
) -> AnswerGrade:
    r"""Check the final answer of a reply against the key.

    `language` (en, tr, pt, any) decides what a comma and a dot between digits mean; `answer_kind` and `ordered` are
    what the problem declares. Never raises for any text or key, never runs either, and may be called from any thread.

    >>> grade_answer(r"Hence \boxed{\frac{1}{2}}.", "0.5").correct
    True
    >>> grade_answer("Cevap: 1.234", "1234", language="tr").status
    'correct'
    >>> grade_answer(r"<think>\boxed{5}", "5", finish_reason="length").status
    'unfinished'
    """
    if (quick := _plain_integers(text, key)) is not None:
        return quick
    found = extract_answer(text, language=language, answer_kind=answer_kind)
    if found.answer is not None and finish_reason == "length" and found.where not in ("box", "boxes", "statement"):
        return AnswerGrade(False, "unfinished", None, "none", "extraction", "none")
    if found.answer is None:
        stopped = finish_reason == "length" or may_think(text)
        return AnswerGrade(False, "unfinished" if stopped else "no_answer", None, "none", "extraction", found.doubt)
    verdict = answers_equal(key, found.answer, language=language, answer_kind=answer_kind, ordered=ordered)
    return _graded(verdict, found.answer, found.where, found.doubt, key, language)


def _graded(verdict: Comparison, answer: str, where: Where, doubt: Doubt, key: str, language: str) -> AnswerGrade:
    if "high" in (verdict.doubt, doubt):
        doubt = "high"
    elif verdict.doubt == "low":
        doubt = "low"
    if verdict.equal:
        return AnswerGrade(True, "correct", answer, where, verdict.method, doubt)
    if not _is_readable(key, language):
        return AnswerGrade(False, "unreadable_key", answer, where, verdict.method, "high")
    status: GradeStatus = "limit" if verdict.method == "limit" else "wrong"
    return AnswerGrade(False, status, answer, where, verdict.method, doubt)


_is_readable = functools.lru_cache(maxsize=4096)(is_readable)


def _plain_integers(text: str, key: str) -> AnswerGrade | None:
    """The grade of a reply that ends in one box with an integer, when the key is one too; None for all other cases."""
    start = text.rfind(_BOX)
    if start < 0 or not key.isdigit():
        return None
    end = text.find("}", start)
    content = text[start + 7 : end]
    if not content.isdigit() or text[end + 1 :] not in _CLOSINGS or len(content) > 1000 or len(key) > 1000:
        return None
    before = text[start - _NEAR if start > _NEAR else 0 : start]
    if "box" in before or "not" in before or "não" in before or before[-1:] in ("-", "−"):
        return None
    if may_think(text) or not (content.isascii() and key.isascii()):
        return None
    if content == key or int(content) == int(key):
        return AnswerGrade(True, "correct", content, "box", "integer", "none")
    return AnswerGrade(False, "wrong", content, "box", "integer", "none")


def check_key(key: str, *, language: str = "any", answer_kind: str | None = None) -> None:
    """Raise UsageError when a key does not read as its kind or does not equal itself.

    >>> check_key("3/4", answer_kind="fraction")
    >>> try:
    ...     check_key("three", answer_kind="interval")
    ... except UsageError as error:
    ...     print(error)
    The key 'three' does not read as interval. Mend the key, or declare another answer kind.
    """
    kind = answer_kind or "expression"
    if not reads_as(key, kind, language=language):
        raise UsageError(
            f"The key {key!r:.80} does not read as {kind}.", "Mend the key, or declare another answer kind."
        )


def grade_solutions(
    solutions: Iterable[Solution], problems: Mapping[str, Problem] | Iterable[Problem], *, jobs: int | None = None
) -> Iterator[Grade]:
    """A grade for every solution, in order; each pair of key and extracted answer is compared once.

    `jobs` is the number of processes (None: one for each core); few solutions are graded in this process. Raises
    UsageError for a solution whose problem is not given.
    """
    known = problems if isinstance(problems, Mapping) else {problem.id: problem for problem in problems}
    stream = iter(solutions)
    first = list(itertools.islice(stream, _IN_PROCESS))
    yield from (_grade_one(solution, _problem_of(solution, known)) for solution in first)
    workers = jobs if jobs is not None else os.cpu_count() or 1
    if len(first) < _IN_PROCESS or workers <= 1:
        yield from (_grade_one(solution, _problem_of(solution, known)) for solution in stream)
        return
    chunks = iter(lambda: [(s, _problem_of(s, known)) for s in itertools.islice(stream, _CHUNK)], [])
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = [pool.submit(_grade_chunk, chunk) for chunk in itertools.islice(chunks, 2 * workers)]
        while waiting:
            grades = waiting.pop(0).result()
            waiting += [pool.submit(_grade_chunk, chunk) for chunk in itertools.islice(chunks, 1)]
            yield from grades


def _problem_of(solution: Solution, problems: Mapping[str, Problem]) -> Problem:
    problem = problems.get(solution.problem_id)
    if problem is None:
        raise UsageError(
            f"Solution {solution.id} answers {solution.problem_id!r}, which is not among the {len(problems)} problems.",
            "Give the problems of the run it came from.",
        )
    return problem


def _grade_chunk(pairs: list[tuple[Solution, Problem]]) -> list[Grade]:
    return [_grade_one(solution, problem) for solution, problem in pairs]


def _grade_one(solution: Solution, problem: Problem) -> Grade:
    grade = _grade_text(solution, problem)
    return Grade(
        solution_id=solution.id,
        grader=GRADER_VERSION,
        correct=grade.correct,
        status=grade.status,
        extracted=grade.extracted,
        where=grade.where,
        method=grade.method,
        doubt=grade.doubt,
    )


def _grade_text(solution: Solution, problem: Problem) -> AnswerGrade:
    """As `grade_answer`, with the comparison remembered; `text` alone is visible where the thinking lies apart."""
    if (quick := _plain_integers(solution.text, problem.answer)) is not None:
        return quick
    text = solution.text if solution.text.strip() else solution.whole_text
    found = extract_answer(text)
    if found.answer is None or solution.finish_reason == "length":
        return grade_answer(
            text,
            problem.answer,
            language=problem.language,
            answer_kind=problem.answer_kind,
            finish_reason=solution.finish_reason,
            ordered=problem.ordered,
        )
    verdict = _remembered(problem.answer, found.answer, problem.language, problem.answer_kind, problem.ordered)
    return _graded(verdict, found.answer, found.where, found.doubt, problem.answer, problem.language)


@functools.lru_cache(maxsize=100_000)
def _remembered(key: str, answer: str, language: str, answer_kind: str | None, ordered: bool | None) -> Comparison:
    return answers_equal(key, answer, language=language, answer_kind=answer_kind, ordered=ordered)
