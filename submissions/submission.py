"""What a submission holds: who, what, settings, and counts per question. No score is in it; every score follows.

The counts of a benchmark are columns: the entry at place i of every column belongs to question i of `questions`.
"""

from __future__ import annotations

import datetime
import hashlib
import unicodedata
from functools import cached_property
from typing import Annotated, Any, Literal

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from multilingual_math_audit.evaluate.verdicts import Strategy
from multilingual_math_audit.records import Mode

FORMAT = "multilingual-math-audit/submission-1"
MAX_BYTES = 4_000_000
MAX_QUESTIONS = 2_000
MAX_SAMPLES = 4_096
MAX_ORIGINALS = 10_000
MOST_MARKS = 3
# Letters and signs without ink, which would make two names look alike or one look empty.
_INKLESS = frozenset("\u115f\u1160\u3164\uffa0\u2800")

Edit = Literal[
    "clean", "intermediate", "truncation", "final_answer", "consistent", "load_bearing", "dose_1", "dose_2", "dose_4",
    "dose_8", "operator", "deletion", "swap", "foreign", "instruction", "natural",
]  # fmt: skip
WhyNone = Literal["stopped_at_limit", "no_box", "not_yes_no", "error"]


def _plain(text: str) -> str:
    marks = 0
    for character in text:
        category = unicodedata.category(character)
        if category in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") or character in _INKLESS:
            raise ValueError(f"holds the character U+{ord(character):04X}, which controls the display or is none")
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if marks > MOST_MARKS:
            raise ValueError(f"piles more than {MOST_MARKS} marks on one letter")
    if not text.strip():
        raise ValueError("holds nothing but spaces")
    return text


def _no_climbing(text: str) -> str:
    if any(part in ("", ".", "..") for part in text.split("/")):
        raise ValueError("has an empty, '.' or '..' part between its slashes")
    if text != " ".join(text.split()):
        raise ValueError("ends in a space or has two in a row, so that two names would look alike")
    return text


def _date(text: str) -> str:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        raise ValueError("is not a day of the calendar written as YYYY-MM-DD") from None
    return text


Text = Annotated[str, StringConstraints(min_length=1, max_length=500), AfterValidator(_plain)]
Label = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+:/@() -]*$", max_length=96),
    AfterValidator(_no_climbing),
]
Hex = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{7,64}$")]
Day = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$"), AfterValidator(_date)]
Url = Annotated[
    str, StringConstraints(pattern=r"^https://[A-Za-z0-9.-]+(:\d+)?(/[A-Za-z0-9._~%/+@:#?=&-]*)?$", max_length=300)
]
Repository = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$", max_length=96)]
Count = Annotated[int, Field(ge=0, le=10**9)]
Tokens = Annotated[int, Field(ge=0, le=10**14)]
Column = Annotated[list[Count], Field(max_length=MAX_QUESTIONS)]
TokenColumn = Annotated[list[Tokens], Field(max_length=MAX_QUESTIONS)]
# Checked against the ids there are, which is stricter and faster than a pattern.
QuestionIds = Annotated[
    list[Annotated[str, StringConstraints(max_length=96)]], Field(min_length=1, max_length=MAX_QUESTIONS)
]
Amount = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Submitter(_Part):
    """Who sends the submission."""

    name: Text = Field(description="A person or a group, as it should stand on the board.")
    url: Url | None = Field(None, description="A page about the submitter.")
    contact: Text | None = Field(None, description="Optional; shown as it is.")


class Settings(_Part):
    """How a model was asked; together with the model it decides the numbers."""

    budget: Annotated[int, Field(ge=1, le=10**8)] | None = Field(None, description="Most new tokens of one sample.")
    temperature: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] | None = Field(None)
    top_p: Share | None = Field(None)
    engine: Label | None = Field(None, description="vllm, server, transformers, ray or replay.")
    versions: Annotated[dict[Label, Label], Field(max_length=40)] = Field(
        default_factory=dict, description="Versions of the engine and of what it stands on."
    )
    shots: Annotated[int, Field(ge=0, le=100)] | None = Field(None, description="Worked examples before the problem.")
    prompt_digest: Hex | None = Field(None, description="Digest of the prompts in all languages.")
    template_digest: Hex | None = Field(None, description="Digest of the chat template; absent in mode base.")


class Model(_Part):
    """A language model and how it was used."""

    model: Label = Field(description="The model's id, on the Hub where it is there.")
    revision: Label | None = Field(None, description="Commit or version of the weights.")
    family: Label | None = Field(None, description="For filtering: Qwen2.5, Gemma4, ...")
    parameters: Annotated[float, Field(gt=0, le=100_000, allow_inf_nan=False)] | None = Field(
        None, description="Size in billions of parameters."
    )
    mode: Mode | Literal["unknown"] = Field(
        description="base, non-thinking or thinking; unknown for samples of another harness, which do not say."
    )
    released: Day | None = Field(None, description="Day of the model's release; decides the contamination mark.")
    settings: Settings


class Approved(_Part):
    """Correct solutions a judge approved, per question, under each strategy its judgments decide."""

    any: Column | None = Field(None, description="At least one yes.")
    majority: Column | None = Field(None, description="More yes than no.")
    all: Column | None = Field(None, description="Nothing but yes.")
    strict_majority: Column | None = Field(None, description="A yes in more than half of all judgments asked for.")


class JudgeColumns(_Part):
    """What one judge said about the correct solutions of each question."""

    judged: Column = Field(description="Correct solutions with all their judgments.")
    pending: Column = Field(description="Correct solutions without; they are approved under no strategy.")
    approved: Approved
    judgments: Column | None = Field(None, description="Judgments asked for and had.")
    copied: Column | None = Field(None, description="Judgments copied from an identical solution's.")
    no_verdict: dict[WhyNone, Column] | None = Field(None, description="Judgments without a verdict, by why.")
    stopped: Column | None = Field(None, description="Judgments that met the token limit.")
    single_vote: Column | None = Field(None, description="Majority approvals that rest on one yes.")
    credited: Column | None = Field(
        None, description="Majority approvals if stopped judgments without a verdict counted as yes."
    )
    completion_tokens: TokenColumn | None = None


class LanguageShares(_Part):
    """Chains by the language they are written in, of those that were looked at and hold prose."""

    target: Count = Field(description="At least 80% in the benchmark's language.")
    mixed: Count
    english: Count = Field(description="At least 80% English; none where English is the benchmark's language.")
    detector: Label | None = Field(None, description="What told the languages apart.")

    @property
    def total(self) -> int:
        """All chains counted."""
        return self.target + self.mixed + self.english


class BenchmarkCounts(_Part):
    """One benchmark: its questions and, in the same order, their counts."""

    revision: Label | None = Field(None, description="Revision of the source the questions came from.")
    digest: Hex | None = Field(None, description="Digest of the source file.")
    samples: Annotated[int, Field(ge=1, le=MAX_SAMPLES)] = Field(description="Samples asked for per question.")
    questions: QuestionIds
    n: Column = Field(description="Samples had; equal to `samples` for every question.")
    correct: Column = Field(description="Samples whose answer is right.")
    ungraded: Column | None = Field(None, description="Samples without a grade.")
    stopped: Column | None = Field(None, description="Samples that met the token limit.")
    completion_tokens: TokenColumn | None = None
    judges: Annotated[dict[Label, JudgeColumns], Field(max_length=20)] = Field(default_factory=dict)
    languages: LanguageShares | None = None


class AuditQuestions(_Part):
    """An audit's counts per question, under majority: what clustered intervals are made of."""

    questions: QuestionIds
    originals: Column
    accepted: dict[Edit, Column]


class Accepted(_Part):
    """Variants accepted under each strategy."""

    any: Count | None = None
    majority: Count
    all: Count | None = None
    strict_majority: Count | None = None


class AuditCounts(_Part):
    """One benchmark of an audit: how many variants of each edit the judge accepted."""

    originals: Annotated[int, Field(ge=1, le=MAX_ORIGINALS)] = Field(description="Solutions judged in every edit.")
    accepted: dict[Edit, Accepted]
    no_verdict: dict[Edit, Count] | None = Field(None, description="Judgments without a verdict.")
    per_question: AuditQuestions | None = None


class Pair(_Part):
    """The same originals under two edits, all benchmarks pooled, under majority."""

    first: Edit
    second: Edit
    both: Count
    first_only: Count
    second_only: Count
    neither: Count


class Audit(_Part):
    """An error-injection audit of a judge."""

    panel: Hex | None = Field(None, description="Digest of the panel of variants.")
    judgments: Annotated[int, Field(ge=1, le=99)] = Field(description="Judgments per variant.")
    budget: Annotated[int, Field(ge=1, le=10**8)] | None = None
    day: Day | None = None
    benchmarks: Annotated[dict[Label, AuditCounts], Field(min_length=1, max_length=40)]
    pairs: Annotated[list[Pair], Field(max_length=40)] | None = None


class Judge(Model):
    """A judge, its protocol and, where there is one, its audit."""

    judgments: Annotated[int, Field(ge=1, le=99)] = Field(3, description="Judgments per solution.")
    stop_early: Strategy | None = Field(None, description="The strategy whose decision ended the asking.")
    dedupe: bool = Field(False, description="Whether identical solutions were judged once.")
    audit: Audit | None = None


class BestOf(_Part):
    """Best-of-N: disjoint groups of `size` samples, and in how many the chosen sample is right."""

    size: Annotated[int, Field(ge=1, le=MAX_SAMPLES)]
    groups: Count
    correct: Count


class Bin(_Part):
    """One bin of a reliability diagram."""

    count: Count
    correct: Count
    confidence: Amount = Field(description="Sum of the confidences in the bin.")


class Stop(_Part):
    """Early stopping at one threshold."""

    threshold: Share
    questions: Count
    correct: Count
    tokens: Tokens = Field(description="Tokens spent on all of these questions.")


class Selector(_Part):
    """What one selector did on one benchmark."""

    best_of: Annotated[list[BestOf], Field(max_length=40)] = Field(default_factory=list)
    reliability: Annotated[list[Bin], Field(max_length=100)] = Field(default_factory=list)
    early_stopping: Annotated[list[Stop], Field(max_length=200)] = Field(default_factory=list)


class Verifier(_Part):
    """A verifier and every selector it was compared with."""

    model: Label
    revision: Label | None = None
    selectors: Annotated[dict[Label, dict[Label, Selector]], Field(min_length=1, max_length=40)] = Field(
        description="By selector, then by benchmark."
    )


class Cost(_Part):
    """What the run cost, where it is known."""

    usd: Amount | None = None
    gpu_hours: Amount | None = None
    hardware: Label | None = None


class Published(_Part):
    """Counts taken from a publication: whose they are and where they stand."""

    credit: Text
    url: Url
    commit: Hex | None = None
    path: Label | None = None


class RawRun(_Part):
    """Where the records behind the counts lie: a public data set on the Hub."""

    repository: Repository
    revision: Hex
    path: Label | None = None


class Submission(_Part):
    """A submission to the leaderboard."""

    format: Literal["multilingual-math-audit/submission-1"]
    origin: Literal["run", "import", "publication"] = Field(
        description="From a run of this package, from samples of another harness, or from published counts."
    )
    submitter: Submitter
    day: Day | None = Field(None, description="The day the run was begun.")
    solver: Model | None = Field(None, description="Absent only where a judge's audit is all there is.")
    judges: Annotated[dict[Label, Judge], Field(max_length=20)] = Field(default_factory=dict)
    benchmarks: Annotated[dict[Label, BenchmarkCounts], Field(max_length=40)] = Field(default_factory=dict)
    verifier: Verifier | None = None
    cost: Cost | None = None
    records: Annotated[dict[Label, Hex], Field(max_length=40)] = Field(
        default_factory=dict, description="Digests of the run's record files."
    )
    raw_run: RawRun | None = None
    published: Published | None = None
    note: Text | None = None

    @cached_property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that stand for the content, whatever the order of its keys."""
        return hashlib.sha256(self.to_json()).hexdigest()[:16]

    def to_json(self) -> bytes:
        """The submission as canonical JSON: sorted keys, absent fields left out, one line break at the end."""
        return orjson.dumps(self.model_dump(exclude_none=True), option=orjson.OPT_SORT_KEYS) + b"\n"


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a submission, as in `schema/submission-1.json`.

    >>> json_schema()["title"]
    'Submission'
    """
    schema = Submission.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "submission-1.json", **schema}
