"""The prompts are the protocol's to the letter, and filling them disturbs nothing."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multilingual_math_audit.benchmarks.prompts import (
    LANGUAGES,
    judge_messages,
    judge_prompt,
    prompt_digest,
    solver_messages,
    solver_prompt,
)
from multilingual_math_audit.errors import UnknownName, UsageError
from multilingual_math_audit.records import Language, Problem

# The sha256 of the protocol's English judge prompt, taken from the protocol's own text.
ENGLISH_JUDGE = "76ffc0a50be9abbb1170601fed56c9ecd6d44ef402bdc4fe37a98b48ef0924f4"
SENTENCES: dict[Language, str] = {
    "en": "Let's think step by step and output the final answer within \\boxed{}.",
    "tr": "Adım adım düşün ve nihai cevabı \\boxed{} içerisinde ver.",
    "pt": "Vamos pensar passo a passo e apresentar a resposta final dentro de \\boxed{}.",
}


def problem(language: Language, question: str = "Q") -> Problem:
    return Problem("b/1", "b", "b/1", language, question, "1", "integer")


def test_the_english_judge_prompt_is_the_protocol() -> None:
    """Byte for byte, by its digest."""
    text = judge_prompt("{question}", "{solution}", "en")
    assert hashlib.sha256(text.encode()).hexdigest() == ENGLISH_JUDGE


@pytest.mark.parametrize(("language", "tag"), [("tr", "Turkish"), ("pt", "Portuguese")])
def test_translations_differ_in_two_places_only(language: str, tag: str) -> None:
    """The language tag after "math problem" and task 4: taking both away gives the English prompt."""
    text = judge_prompt("Q", "S", language)
    fourth = (
        f"4. **Language Consideration**: Ignore whether the solution is provided in {tag}, English, or a combination "
        "of both (language switching). Focus exclusively on mathematical and logical correctness, disregarding the "
        "language used in the evaluation.\n"
    )
    assert text.count(f"a given math problem **(written in {tag})**, with") == 1
    assert text.count(fourth) == 1
    assert text.replace(f" **(written in {tag})**", "").replace(fourth, "") == judge_prompt("Q", "S", "en")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_solver_prompt_is_problem_space_sentence(language: Language) -> None:
    """The instruction sentence of each language, after one space."""
    assert solver_prompt(problem(language, "Kaç?")) == f"Kaç? {SENTENCES[language]}"


@given(question=st.text(), solution=st.text())
def test_filling_changes_nothing_of_either_text(question: str, solution: str) -> None:
    """Any question and solution stand whole in the prompt, at their places, and nothing else changes."""
    before, after = judge_prompt("", "\0", "en").split("\0")
    middle = "\n**Solution (Provided by another AI model)**:\n"
    start = before.removesuffix(middle)
    assert judge_prompt(question, solution, "en") == start + question + middle + solution + after


@pytest.mark.parametrize(
    "trap", ["{solution}", "{question}", "{}", "{0}", "%s", "\\g<1>", "{{solution}}", "\\boxed{42}"]
)
def test_placeholders_inside_texts_stay(trap: str) -> None:
    """The words of the template inside a problem or a solution are text like any other."""
    text = judge_prompt(f"Ask {trap} now", f"Say {trap} now", "tr")
    assert text.count(f"Ask {trap} now") == 1
    assert text.count(f"Say {trap} now") == 1


def test_unknown_languages_are_refused() -> None:
    """No silent fall-back to English."""
    with pytest.raises(UnknownName, match="'de'"):
        judge_prompt("Q", "S", "de")


@pytest.mark.parametrize("language", LANGUAGES)
def test_examples_for_weak_models(language: Language) -> None:
    """Three solved examples that box an answer; judged ones with both verdicts among the first two."""
    turns = solver_messages(problem(language), shots=3)
    assert [role for role, _ in turns] == ["user", "assistant"] * 3 + ["user"]
    assert [text.split("\\boxed{")[1].split("}")[0] for role, text in turns if role == "assistant"] == [
        "14",
        "15",
        "18",
    ]
    assert all(text.endswith(SENTENCES[language]) for role, text in turns if role == "user")
    judged = judge_messages("Q", "S", language, shots=3)
    verdicts = [text.rsplit("\\boxed{", 1)[1] for role, text in judged if role == "assistant"]
    assert verdicts == ["yes}", "no}", "yes}"]


def test_no_more_examples_than_there_are() -> None:
    """A fourth example is asked for in vain, and said so."""
    with pytest.raises(UsageError, match="There are 3"):
        solver_messages(problem("en"), shots=4)
    with pytest.raises(UsageError):
        judge_messages("Q", "S", "en", shots=-1)


def test_digests_tell_the_prompts_apart() -> None:
    """One digest for each part, the same on every call."""
    assert prompt_digest("solver") == prompt_digest("solver") != prompt_digest("judge")
