"""Grades: statuses, doubt, and the stage over the solutions of a run."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.answers import grading
from multilingual_math_audit.evaluate.answers.extraction import extract_answer
from multilingual_math_audit.evaluate.answers.grading import GRADER_VERSION, grade_answer, grade_solutions
from multilingual_math_audit.records import Problem, Solution


@pytest.mark.parametrize(
    ("text", "key", "finish", "status"),
    [
        (r"\boxed{4}", "4", "stop", "correct"),
        (r"\boxed{5}", "4", "stop", "wrong"),
        ("I do not know.", "4", "stop", "no_answer"),
        (r"We try 4 and", "4", "length", "unfinished"),
        (r"<think>\boxed{4}", "4", "length", "unfinished"),
        (r"<think>\boxed{4}", "4", "stop", "unfinished"),
        (r"<think>5</think>\boxed{4} and then", "4", "length", "correct"),
        ("The answer is 4.", "4", "length", "correct"),
        ("So it is 4", "4", "length", "unfinished"),
        (r"\boxed{4}", r"\frac{1}{", "stop", "unreadable_key"),
        (r"\boxed{4}", "", "stop", "unreadable_key"),
        (r"\boxed{9^{9^{9^9}}}", "4", "stop", "limit"),
        ("", "4", "error", "no_answer"),
    ],
)
def test_statuses(text: str, key: str, finish: str, status: str) -> None:
    """Each status for the reason it is named after."""
    assert grade_answer(text, key, finish_reason=finish).status == status


def test_doubt_marks_what_a_person_should_see() -> None:
    """A clear verdict is without doubt; a notation that could be read otherwise, and a limit, are doubtful."""
    assert grade_answer(r"\boxed{4}", "4").doubt == "none"
    assert grade_answer(r"\boxed{12.375}", "12,375", language="tr").doubt == "high"
    assert grade_answer(r"\boxed{9^{9^{9^9}}}", "4").doubt == "high"


def test_closed_thinking_with_nothing_after_it_is_read_and_doubtful() -> None:
    """The text before the closing tag counts only if nothing follows."""
    found = extract_answer(r"<think>so \boxed{7}</think>")
    assert (found.answer, found.where, found.doubt, found.sure) == ("7", "thinking", "high", False)
    assert extract_answer(r"<think>so \boxed{7}</think> Hm.").answer is None


def test_order_matters_as_the_problem_says() -> None:
    """A tuple's order matters and a list's does not, unless the problem says otherwise."""
    assert grade_answer(r"\boxed{2, 1}", "1, 2").correct
    assert not grade_answer(r"\boxed{2, 1}", "1, 2", ordered=True).correct
    assert not grade_answer(r"\boxed{(2, 1)}", "(1, 2)").correct
    assert grade_answer(r"\boxed{(2, 1)}", "(1, 2)", ordered=False).correct


def _problem(name: str, key: str) -> Problem:
    return Problem(name, "b", name, "tr", "?", key, "expression")


def test_solutions_are_graded_in_order_with_thinking_apart() -> None:
    """One grade a solution, by this version, from the visible text."""
    problems = [_problem("p1", "1.234"), _problem("p2", r"\frac{1}{2}")]
    solutions = [
        Solution("s1", "p1", "m", 0, "Cevap: 1234"),
        Solution("s2", "p2", "m", 0, r"\boxed{0,5}", thinking=r"\boxed{7}"),
        Solution("s3", "p2", "m", 1, "", thinking=r"so \boxed{\frac{1}{2}}", finish_reason="length"),
    ]
    grades = list(grade_solutions(solutions, problems))
    assert [(g.solution_id, g.correct, g.status, g.grader) for g in grades] == [
        ("s1", True, "correct", GRADER_VERSION),
        ("s2", True, "correct", GRADER_VERSION),
        ("s3", False, "unfinished", GRADER_VERSION),
    ]


def test_processes_give_the_same_grades(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes and one give the same records in the same order."""
    monkeypatch.setattr(grading, "_MANY_PAIRS", 5)
    monkeypatch.setattr(grading, "_CHUNK", 40)
    problems = {"p": _problem("p", r"2\sqrt{2}")}
    solutions = [Solution(str(n), "p", "m", n, rf"\boxed{{\sqrt{{{n % 12}}}}}") for n in range(90)]
    one = list(grade_solutions(solutions, problems, jobs=1))
    assert list(grade_solutions(solutions, problems, jobs=2)) == one
    assert [g.solution_id for g in one if g.correct] == [str(n) for n in range(90) if n % 12 == 8]


def test_unknown_problem_is_said() -> None:
    """A solution without its problem is no silent wrong."""
    with pytest.raises(UsageError, match="'p9'"):
        list(grade_solutions([Solution("s", "p9", "m", 0, "4")], [_problem("p1", "4")]))


def test_grader_alone_needs_no_heavy_library() -> None:
    """Importing and using the grader loads neither torch, datasets, vllm nor SymPy."""
    code = (
        "import sys; from multilingual_math_audit.evaluate.answers.grading import grade_answer; "
        "assert grade_answer(r'\\boxed{\\frac12}', '0.5').correct; "
        "print([m for m in ('torch', 'datasets', 'vllm', 'sympy', 'pandas', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names() -> None:
    """Both functions are importable from the package itself."""
    package = importlib.import_module("multilingual_math_audit")
    assert package.grade_answer is grade_answer
    assert package.extract_answer is extract_answer
