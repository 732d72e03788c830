"""The check of a reply's final answer against the key, for one reply and for all solutions of a run."""

from __future__ import annotations

import contextlib
import functools
import itertools
import multiprocessing
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.answers.equivalence import Comparison, answers_equal, is_readable, reads_as
from multilingual_math_audit.evaluate.answers.extraction import Extraction, Where, extract_answer
from multilingual_math_audit.evaluate.answers.thinking import may_think
from multilingual_math_audit.records import Doubt, Grade, GradeStatus, Problem, Solution

GRADER_VERSION = "1"

_BOX = "\\boxed{"
_CLOSINGS = frozenset(
    {"", "$", ".", "$.", "$$", "\n", ".\n", "$\n", "$.\n", "**", "\\]", "\\)", "\\).", "\n\\]", "$$\n", " $", "$**"}
)
_NEAR = 96
_CHUNK = 500
# Fewer new pairs than these are compared before a pool of processes has started.
_MANY_PAIRS = 200


class _Pair(NamedTuple):
    """All that a comparison depends on."""

    key: str
    answer: str
    language: str
    answer_kind: str | None
    ordered: bool | None


class _Draft(NamedTuple):
    """A solution whose answer is extracted: its grade already, or the pair to compare."""

    solution_id: str
    found: AnswerGrade | Extraction
    pair: _Pair | None


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
    found = _quick_or_found(text, key, finish_reason)
    if isinstance(found, AnswerGrade):
        return found
    answer = found.answer or ""
    verdict = answers_equal(key, answer, language=language, answer_kind=answer_kind, ordered=ordered)
    return _graded(verdict, answer, found, key, language)


def _quick_or_found(text: str, key: str, finish_reason: str) -> AnswerGrade | Extraction:
    """The grade where no comparison is needed, else the extracted answer to compare."""
    if (quick := _plain_integers(text, key)) is not None:
        return quick
    found = extract_answer(text)
    # A text cut off at its limit states an answer only where it says that it does.
    cut = finish_reason == "length" and found.where not in ("box", "boxes", "statement")
    if found.answer is not None and not cut:
        return found
    unfinished = finish_reason == "length" or may_think(text)
    return AnswerGrade(False, "unfinished" if unfinished else "no_answer", None, "none", "extraction", found.doubt)


def _graded(verdict: Comparison, answer: str, found: Extraction, key: str, language: str) -> AnswerGrade:
    doubt = found.doubt
    if verdict.doubt == "high" or (verdict.doubt == "low" and doubt == "none"):
        doubt = verdict.doubt
    if verdict.equal:
        return AnswerGrade(True, "correct", answer, found.where, verdict.method, doubt)
    if not _is_readable(key, language):
        return AnswerGrade(False, "unreadable_key", answer, found.where, verdict.method, "high")
    status: GradeStatus = "limit" if verdict.method == "limit" else "wrong"
    return AnswerGrade(False, status, answer, found.where, verdict.method, doubt)


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

    Extraction is quick and stays in this process; where many new pairs come together they are compared by `jobs`
    processes (None: one for each core). Raises UsageError for a solution whose problem is not given.
    """
    known = problems if isinstance(problems, Mapping) else {problem.id: problem for problem in problems}
    compared: dict[_Pair, Comparison] = {}
    stream = iter(solutions)
    with contextlib.ExitStack() as stack:
        pool: ProcessPoolExecutor | None = None
        while chunk := list(itertools.islice(stream, _CHUNK)):
            drafts = [_draft(solution, _problem_of(solution, known)) for solution in chunk]
            pairs = (draft.pair for draft in drafts if draft.pair is not None and draft.pair not in compared)
            fresh = list(dict.fromkeys(pairs))
            if pool is None and len(fresh) >= _MANY_PAIRS and (jobs or os.cpu_count() or 1) > 1:
                spawned = multiprocessing.get_context("spawn")
                pool = stack.enter_context(ProcessPoolExecutor(jobs, mp_context=spawned))
            results = map(_compare, fresh) if pool is None else pool.map(_compare, fresh, chunksize=16)
            compared.update(zip(fresh, results, strict=True))
            yield from (_finished(draft, compared) for draft in drafts)


def _problem_of(solution: Solution, problems: Mapping[str, Problem]) -> Problem:
    problem = problems.get(solution.problem_id)
    if problem is None:
        raise UsageError(
            f"Solution {solution.id} answers {solution.problem_id!r}, which is not among the {len(problems)} problems.",
            "Give the problems of the run it came from.",
        )
    return problem


def _draft(solution: Solution, problem: Problem) -> _Draft:
    """A solution with its answer extracted; `text` alone is visible where the thinking lies apart."""
    text = solution.text if solution.text.strip() else solution.whole_text
    found = _quick_or_found(text, problem.answer, solution.finish_reason)
    if isinstance(found, AnswerGrade):
        return _Draft(solution.id, found, None)
    pair = _Pair(problem.answer, found.answer or "", problem.language, problem.answer_kind, problem.ordered)
    return _Draft(solution.id, found, pair)


def _compare(pair: _Pair) -> Comparison:
    return answers_equal(
        pair.key, pair.answer, language=pair.language, answer_kind=pair.answer_kind, ordered=pair.ordered
    )


def _finished(draft: _Draft, compared: Mapping[_Pair, Comparison]) -> Grade:
    grade = draft.found
    if isinstance(grade, Extraction) and draft.pair is not None:
        pair = draft.pair
        grade = _graded(compared[pair], pair.answer, grade, pair.key, pair.language)
    if not isinstance(grade, AnswerGrade):
        raise TypeError("a draft holds a grade, or an extraction and a pair")
    return Grade(
        solution_id=draft.solution_id,
        grader=GRADER_VERSION,
        correct=grade.correct,
        status=grade.status,
        extracted=grade.extracted,
        where=grade.where,
        method=grade.method,
        doubt=grade.doubt,
    )
