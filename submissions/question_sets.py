"""Which questions a benchmark has: their ids alone, so that the board needs no problem text."""

from __future__ import annotations

import importlib.resources
from dataclasses import dataclass
from functools import cache, cached_property

import orjson

from multilingual_math_audit.records import Language


@dataclass(frozen=True)
class QuestionSet:
    """A benchmark as a submission sees it.

    `errata` are faulty questions: a submission may leave out all of them or hold all of them; the board counts none.
    `digests` are the known states of its source; none means any. `date` is the first day the questions were public.
    """

    name: str
    title: str
    language: Language
    date: str
    samples: int
    first: int
    last: int
    errata: frozenset[str]
    digests: tuple[str, ...] = ()

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Every question, faulty ones included, in order."""
        return tuple(f"{self.name}/{number}" for number in range(self.first, self.last + 1))

    @cached_property
    def counted(self) -> tuple[str, ...]:
        """The questions that scores are made of, in order."""
        return tuple(question for question in self.ids if question not in self.errata)

    @cached_property
    def positions(self) -> dict[str, int]:
        """Where each question, faulty ones included, stands in `ids`."""
        return {question: index for index, question in enumerate(self.ids)}

    @cached_property
    def place(self) -> dict[str, int]:
        """Where a counted question stands in `counted`."""
        return {question: index for index, question in enumerate(self.counted)}


@cache
def question_sets() -> dict[str, QuestionSet]:
    """The benchmarks a submission can hold, by name.

    >>> len(question_sets()["aime2026_tr"].counted)
    30
    """
    file = importlib.resources.files("multilingual_math_audit.submissions") / "schema" / "questions.json"
    sets = {}
    for name, facts in orjson.loads(file.read_bytes()).items():
        errata = frozenset(f"{name}/{number}" for number in facts.pop("errata"))
        digests = tuple(facts.pop("digests", ()))
        sets[name] = QuestionSet(name=name, errata=errata, digests=digests, **facts)
    return sets
