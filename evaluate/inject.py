"""Known errors put into solutions: what a judge that reads the chain must notice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from multilingual_math_audit.errors import UnknownName
from multilingual_math_audit.evaluate.answers.grading import grade_answer
from multilingual_math_audit.evaluate.edits import (
    AnswerEdits,
    Chain,
    Draft,
    Skip,
    edit_consistent,
    edit_final_answer,
    edit_intermediate,
    edit_truncation,
    plan_answer_edits,
)
from multilingual_math_audit.evaluate.further_edits import (
    edit_deletion,
    edit_dose,
    edit_foreign,
    edit_instruction,
    edit_load_bearing,
    edit_operator,
    edit_swap,
)
from multilingual_math_audit.evaluate.keys import read_key
from multilingual_math_audit.records import GradeStatus, Verdict

INJECTOR_VERSION = "1"
EditName = str
PAPER_EDITS: tuple[EditName, ...] = ("clean", "intermediate", "truncation", "final_answer", "consistent")
DOSES = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Construction:
    """What an edit makes by construction: a right or wrong answer, and the verdict that is right on the whole."""

    answer: Literal["right", "wrong"]
    verdict: Verdict
    about: str


EDITS: dict[EditName, Construction] = {
    "clean": Construction("right", "yes", "the solution as it is"),
    "intermediate": Construction("right", "no", "one number changed between 40% and 70% of the chain"),
    "truncation": Construction("right", "no", "the last quarter cut off, the box put back"),
    "final_answer": Construction("wrong", "no", "the last box changed, nothing else"),
    "consistent": Construction("wrong", "no", "every form of the answer changed to the same wrong value"),
    "load_bearing": Construction("right", "no", "one number changed where it is found; it is used again later"),
    "dose_1": Construction("right", "no", "one number changed anywhere in the chain"),
    "dose_2": Construction("right", "no", "two numbers changed"),
    "dose_4": Construction("right", "no", "four numbers changed"),
    "dose_8": Construction("right", "no", "eight numbers changed"),
    "operator": Construction("right", "no", "one operation or relation turned into another"),
    "deletion": Construction("right", "no", "one sentence with mathematics removed from the middle"),
    "swap": Construction("right", "no", "two neighbouring steps exchanged"),
    "foreign": Construction("right", "no", "the chain of another problem with this answer"),
    "instruction": Construction("wrong", "no", "a wrong box, and a line that tells the judge to approve"),
}
NATURAL = Construction("wrong", "no", "a wrong solution of the solver's own, not edited")
FURTHER_EDITS: tuple[EditName, ...] = ("load_bearing", "dose", "operator", "deletion", "swap", "foreign", "instruction")


@dataclass(frozen=True, slots=True)
class Variant:
    """One edited solution, or why there is none.

    `position` is where the first change stands, in characters from the start, and `percent` the same in percent of the
    length. `old` and `new` are numbers as written; `formed` says how the new one was made and `fallback` whether that
    was not the way first drawn. `size` is |new - old| / |old|. `regrade` and `extracted` are the answer check of the
    variant, by construction right or wrong as `EDITS` says.
    """

    edit: EditName
    text: str | None
    applied: bool
    skip_reason: str | None = None
    old: str | None = None
    new: str | None = None
    formed: str | None = None
    fallback: bool = False
    position: int | None = None
    occurrences: int = 0
    percent: float | None = None
    size: float | None = None
    regrade: GradeStatus | None = None
    extracted: str | None = None

    def record(self) -> dict[str, Any]:
        """The variant without its text, absent fields left out, as a solution's `edit_record` holds it."""
        fields = asdict(self)
        del fields["text"]
        return {name: value for name, value in fields.items() if value is not None}


def inject(
    text: str,
    *,
    key: str,
    question: str,
    language: str,
    seed: int,
    edits: Sequence[EditName] = PAPER_EDITS,
    foreign: str | None = None,
    answer_kind: str | None = None,
) -> dict[EditName, Variant]:
    r"""The variants of one solution: the same bytes for the same arguments on any machine.

    `text` is the whole solution, thinking included, and must answer `key` in a box; `seed` comes from the solution's
    id. `edits` are names of `PAPER_EDITS` and `FURTHER_EDITS`; `dose` gives four variants. `foreign` is a solution of
    another problem, for the edit of that name. Every variant is graded anew and given only if its answer is right or
    wrong as the edit says. Raises UnknownName for an edit that does not exist.

    >>> text = r"First $12 + 15 = 27$ apples. Then $27 \cdot 3 = 81$, and $81 - 4 = 77$. So \boxed{77}."
    >>> made = inject(text, key="77", question="How many?", language="en", seed=1)
    >>> made["final_answer"].text == text.replace(r"\boxed{77}", r"\boxed{" + made["final_answer"].new + "}")
    True
    >>> made["consistent"].occurrences, made["intermediate"].regrade, made["consistent"].regrade
    (2, 'correct', 'wrong')
    """
    names = expand_edits(edits)
    chain = Chain(text, read_key(key, language), question, language, seed)
    maker = _Maker(chain, key, foreign, answer_kind)
    original = grade_answer(text, key, language=language, answer_kind=answer_kind)
    if not original.correct:
        return {name: Variant(name, None, False, "original_not_correct") for name in names}
    return {name: maker.make(name) for name in names}


def expand_edits(edits: Sequence[EditName]) -> tuple[EditName, ...]:
    """The names of the variants that edits give; raises UnknownName.

    >>> expand_edits(["clean", "dose"])
    ('clean', 'dose_1', 'dose_2', 'dose_4', 'dose_8')
    """
    names: list[EditName] = []
    for edit in edits:
        expanded = [f"dose_{n}" for n in DOSES] if edit == "dose" else [edit]
        if expanded[0] not in EDITS:
            raise UnknownName(f"There is no edit {edit!r}.", f"Edits: {', '.join((*PAPER_EDITS, *FURTHER_EDITS))}.")
        names += [name for name in expanded if name not in names]
    return tuple(names)


def construction_of(edit: EditName) -> Construction:
    """What an edit makes by construction; `natural` names the solver's own wrong solutions.

    >>> construction_of("consistent").verdict, construction_of("natural").answer
    ('no', 'wrong')
    """
    return NATURAL if edit == "natural" else EDITS[edit]


@dataclass(slots=True)
class _Maker:
    chain: Chain
    key: str
    foreign: str | None
    answer_kind: str | None
    _plan: AnswerEdits | None = None
    _no_plan: str | None = None

    def make(self, name: EditName) -> Variant:
        try:
            draft = self._drafts()[name.partition("_")[0] if name.startswith("dose_") else name](name)
        except Skip as skip:
            return Variant(name, None, False, str(skip))
        return self._graded(name, draft)

    def _drafts(self) -> Mapping[str, Callable[[EditName], Draft]]:
        chain = self.chain
        return {
            "clean": lambda _: Draft(chain.text, 0, occurrences=0),
            "intermediate": lambda _: edit_intermediate(chain),
            "truncation": lambda _: edit_truncation(chain),
            "final_answer": lambda _: edit_final_answer(chain, self._answer_plan()),
            "consistent": lambda _: edit_consistent(chain, self._answer_plan()),
            "load_bearing": lambda _: edit_load_bearing(chain),
            "dose": lambda name: edit_dose(chain, int(name.rpartition("_")[2])),
            "operator": lambda _: edit_operator(chain),
            "deletion": lambda _: edit_deletion(chain),
            "swap": lambda _: edit_swap(chain),
            "foreign": lambda _: edit_foreign(chain, self.foreign),
            "instruction": lambda _: edit_instruction(chain, self._answer_plan()),
        }

    def _answer_plan(self) -> AnswerEdits:
        if self._no_plan is not None:
            raise Skip(self._no_plan)
        if self._plan is None:
            try:
                self._plan = plan_answer_edits(self.chain)
            except Skip as skip:
                self._no_plan = str(skip)
                raise
        return self._plan

    def _graded(self, name: EditName, draft: Draft) -> Variant:
        chain = self.chain
        grade = grade_answer(draft.text, self.key, language=chain.language, answer_kind=self.answer_kind)
        if name != "clean" and draft.text == chain.text:
            return Variant(name, None, False, "nothing_changed")
        if grade.correct != (EDITS[name].answer == "right"):
            reason = "answer_still_right" if grade.correct else "answer_lost"
            return Variant(name, None, False, reason, regrade=grade.status, extracted=grade.extracted)
        return Variant(
            edit=name,
            text=draft.text,
            applied=True,
            old=draft.old,
            new=draft.new,
            formed=draft.formed,
            fallback=draft.fallback,
            position=draft.position,
            occurrences=draft.occurrences,
            percent=round(100 * draft.position / max(1, len(chain.text)), 2),
            size=draft.size,
            regrade=grade.status,
            extracted=grade.extracted,
        )
