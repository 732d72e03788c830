"""What a solver and a judge are asked, word for word, one file per language in `wording/`."""

from __future__ import annotations

import functools
import importlib.resources
from typing import Any, Literal

import yaml

from multilingual_math_audit.errors import UnknownName, UsageError
from multilingual_math_audit.records import Language, Problem, digest

Part = Literal["solver", "judge"]
Turn = tuple[Literal["user", "assistant"], str]
LANGUAGES: tuple[Language, ...] = ("en", "tr", "pt")


def solver_prompt(problem: Problem) -> str:
    """The problem, a space and its language's instruction sentence.

    >>> problem = Problem("starter_en/1", "starter_en", "starter/1", "en", "What is 7 + 5?", "12", "integer")
    >>> print(solver_prompt(problem))
    What is 7 + 5? Let's think step by step and output the final answer within \\boxed{}.
    """
    return _ask(problem.question, problem.language)


def judge_prompt(question: str, solution: str, language: str) -> str:
    """The judge's instructions with a question and a solution filled in; braces inside either are left alone.

    Raises UnknownName for a language without a prompt.

    >>> text = judge_prompt("What is {solution}?", "It is {question}.", "en")
    >>> "What is {solution}?" in text and "It is {question}." in text
    True
    """
    before, between, after = _judge_parts(language)
    return f"{before}{question}{between}{solution}{after}"


def solver_messages(problem: Problem, *, shots: int = 0) -> list[Turn]:
    """The conversation a solver is given: worked examples, if any, then the problem.

    Raises UsageError when there are not that many examples.

    >>> problem = Problem("starter_en/1", "starter_en", "starter/1", "en", "What is 7 + 5?", "12", "integer")
    >>> [role for role, _ in solver_messages(problem, shots=1)]
    ['user', 'assistant', 'user']
    """
    turns: list[Turn] = []
    for shot in _shots(problem.language, part="solver", count=shots):
        turns += [("user", _ask(shot["question"], problem.language)), ("assistant", shot["reply"])]
    return [*turns, ("user", solver_prompt(problem))]


def judge_messages(question: str, solution: str, language: str, *, shots: int = 0) -> list[Turn]:
    """The conversation a judge is given: judged examples, if any, then the question and the solution.

    Raises UsageError when there are not that many examples.

    >>> turns = judge_messages("What is 2 + 2?", "It is 5.", "en", shots=2)
    >>> [text.splitlines()[-1] for role, text in turns if role == "assistant"]
    ['\\\\boxed{yes}', '\\\\boxed{no}']
    """
    turns: list[Turn] = []
    for shot in _shots(language, part="judge", count=shots):
        asked = judge_prompt(shot["question"], shot["solution"], language)
        turns += [("user", asked), ("assistant", shot["reply"])]
    return [*turns, ("user", judge_prompt(question, solution, language))]


def prompt_digest(part: Part) -> str:
    """A digest of every word a solver or a judge can be shown, examples included, in all languages.

    >>> prompt_digest("solver") != prompt_digest("judge")
    True
    """
    texts = [_read(f"{part}_{language}.txt") for language in LANGUAGES]
    return digest(part, texts, [_all_shots(language)[part] for language in LANGUAGES])


def _ask(question: str, language: str) -> str:
    return f"{question} {_read(f'solver_{_known(language)}.txt')}"


def _known(language: str) -> str:
    if language not in LANGUAGES:
        raise UnknownName(f"There is no prompt in the language {language!r}.", f"Languages: {', '.join(LANGUAGES)}.")
    return language


@functools.cache
def _read(name: str) -> str:
    """The text of a prompt file, without the line break that ends the file."""
    folder = importlib.resources.files("multilingual_math_audit.benchmarks") / "wording"
    return (folder / name).read_text(encoding="utf-8").removesuffix("\n")


@functools.cache
def _judge_parts(language: str) -> tuple[str, str, str]:
    before, rest = _read(f"judge_{_known(language)}.txt").split("{question}")
    between, after = rest.split("{solution}")
    return before, between, after


@functools.cache
def _all_shots(language: str) -> dict[Part, list[dict[str, str]]]:
    shots: Any = yaml.safe_load(_read(f"shots_{_known(language)}.yaml"))
    return {"solver": shots["solver"], "judge": shots["judge"]}


def _shots(language: str, *, part: Part, count: int) -> list[dict[str, str]]:
    shots = _all_shots(language)[part]
    if not 0 <= count <= len(shots):
        raise UsageError(f"Asked for {count} worked examples.", f"There are {len(shots)}; give a number up to that.")
    return shots[:count]
