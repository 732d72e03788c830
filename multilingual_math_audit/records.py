"""The words of the project: one frozen record per word, one JSONL file per record type in a run folder."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import orjson

from multilingual_math_audit.errors import RecordError

Language = Literal["en", "tr", "pt"]
AnswerKind = Literal[
    "integer", "fraction", "decimal", "percent", "radical", "expression",
    "interval", "tuple", "set", "equation", "text", "choice",
]  # fmt: skip
FinishReason = Literal["stop", "length", "aborted", "error", "unknown"]
GradeStatus = Literal["correct", "wrong", "no_answer", "unfinished", "unreadable_key", "limit"]
Doubt = Literal["none", "low", "high"]
Verdict = Literal["yes", "no"]
VerdictReason = Literal["verdict", "stopped_at_limit", "no_box", "not_yes_no", "error"]
Mode = Literal["base", "non-thinking", "thinking"]


def digest(*parts: object, length: int = 16) -> str:
    """A hexadecimal digest of values, stable across machines and Python versions.

    >>> digest("aime2026_tr/7", "some/model", 3)
    'f3cc1ca9ef961344'
    """
    data = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    return hashlib.sha256(data).hexdigest()[:length]


def seed_from(*parts: object) -> int:
    """A seed in [0, 2**31) drawn from ids, the same on every machine.

    >>> seed_from("solve", "aime2026_tr/7", 0) == seed_from("solve", "aime2026_tr/7", 0)
    True
    """
    return int(digest("seed", *parts), 16) % 2**31


@dataclass(frozen=True, slots=True)
class Record:
    """What every record can do: become a JSON line and come back from one."""

    file: ClassVar[str]

    @property
    def key(self) -> str:
        """What makes the record unique within its file."""
        raise AttributeError("a Record kind defines its key")

    def to_dict(self) -> dict[str, Any]:
        """The fields by name, absent ones left out."""
        return {name: value for name in _field_types(type(self)) if (value := getattr(self, name)) is not None}

    def to_json(self) -> bytes:
        """One line of JSON, without the line break; lone surrogates in a text become U+FFFD."""
        try:
            return orjson.dumps(self.to_dict())
        except (TypeError, orjson.JSONEncodeError):
            return orjson.dumps(_encodable(self.to_dict()))

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Self:
        """The record of a row; raises RecordError when a field is missing, unknown or of a wrong type."""
        known = _field_types(cls)
        if unknown := [name for name in row if name not in known]:
            raise RecordError(f"A {cls.__name__} has no field {unknown[0]!r}.", f"Fields: {', '.join(known)}.")
        for name, value in row.items():
            if not isinstance(value, known[name]):
                raise RecordError(f"{cls.__name__}.{name} cannot be {value!r:.80}.")
        try:
            return cls(**row)
        except TypeError as error:
            raise RecordError(f"Not a whole {cls.__name__}: {error}.") from None

    @classmethod
    def from_json(cls, line: bytes | str) -> Self:
        """The record of one JSON line; raises RecordError when the line is not one."""
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise RecordError(f"Not a line of JSON: {error}.") from None
        if not isinstance(row, dict):
            raise RecordError(f"A {cls.__name__} is a JSON object, not {type(row).__name__}.")
        return cls.from_dict(row)


_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,), "float": (int, float), "bool": (bool,), "dict": (dict,), "list": (list, tuple),
}  # fmt: skip
_TYPES_OF: dict[type, dict[str, tuple[type, ...]]] = {}


def _field_types(kind: type[Record]) -> dict[str, tuple[type, ...]]:
    if kind not in _TYPES_OF:
        types = {}
        for field in dataclasses.fields(kind):
            name = str(field.type)
            accepted = _PYTHON_TYPES.get(name.split("[")[0].split(" |")[0], (str,))
            types[field.name] = (*accepted, type(None)) if "None" in name else accepted
        _TYPES_OF[kind] = types
    return _TYPES_OF[kind]


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {str(_encodable(name)): _encodable(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 63:
        return str(value)
    return value


@dataclass(frozen=True, slots=True)
class Problem(Record):
    """One question in one language with its key; `item` is the same across translations."""

    file: ClassVar[str] = "problems.jsonl"
    id: str
    benchmark: str
    item: str
    language: Language
    question: str
    answer: str
    answer_kind: AnswerKind
    ordered: bool | None = None
    choices: list[str] | None = None
    topic: str | None = None
    level: str | None = None
    erratum: str | None = None

    @property
    def key(self) -> str:
        return self.id


@dataclass(frozen=True, slots=True)
class Solution(Record):
    """One sample of a solver; a variant (an edited solution) names its parent and its edit.

    `text` is what the model said, thinking tags included where it wrote them itself; `thinking` is set only where
    the engine hands it over apart from the text.
    """

    file: ClassVar[str] = "solutions.jsonl"
    id: str
    problem_id: str
    solver: str
    sample: int
    text: str
    thinking: str | None = None
    finish_reason: FinishReason = "stop"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seed: int | None = None
    settings: str | None = None
    parent: str | None = None
    edit: str | None = None
    edit_record: dict[str, Any] | None = None
    source: str | None = None

    @property
    def key(self) -> str:
        return self.id

    @property
    def whole_text(self) -> str:
        """Thinking and visible answer in one string: what a judge is shown."""
        if self.thinking is None:
            return self.text
        return f"<think>\n{self.thinking}\n</think>\n\n{self.text}"


@dataclass(frozen=True, slots=True)
class Grade(Record):
    """The answer check of one solution by one version of the grader."""

    file: ClassVar[str] = "grades.jsonl"
    solution_id: str
    grader: str
    correct: bool
    status: GradeStatus
    extracted: str | None = None
    where: str | None = None
    method: str | None = None
    doubt: Doubt = "none"

    @property
    def key(self) -> str:
        return f"{self.solution_id}/{self.grader}"


@dataclass(frozen=True, slots=True)
class Judgment(Record):
    """One answer of a judge about one solution; `verdict` is absent when there is none and `reason` says why."""

    file: ClassVar[str] = "judgments.jsonl"
    id: str
    solution_id: str
    judge: str
    sample: int
    text: str
    reason: VerdictReason
    verdict: Verdict | None = None
    thinking: str | None = None
    finish_reason: FinishReason = "stop"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    seed: int | None = None
    settings: str | None = None
    source: str | None = None

    @property
    def key(self) -> str:
        return self.id


@dataclass(frozen=True, slots=True)
class Score(Record):
    """One number of a table with its n, its interval and the digest of its counts; undefined ones have no `value`."""

    file: ClassVar[str] = "scores.jsonl"
    metric: str
    benchmark: str
    n: int
    digest: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    k: int | None = None
    solver: str | None = None
    judge: str | None = None
    strategy: str | None = None
    selector: str | None = None
    pending: int = 0
    undefined: int = 0
    note: str | None = None

    @property
    def key(self) -> str:
        return digest(self.metric, self.benchmark, self.k, self.solver, self.judge, self.strategy, self.selector)


def solution_id(problem_id: str, solver: str, settings: str, sample: int) -> str:
    """The id of a sample: a digest of problem, solver, settings digest and sample number."""
    return digest("solution", problem_id, solver, settings, sample)


def judgment_id(solution: str, judge: str, settings: str, sample: int) -> str:
    """The id of a judgment: a digest of solution id, judge, settings digest and sample number."""
    return digest("judgment", solution, judge, settings, sample)
