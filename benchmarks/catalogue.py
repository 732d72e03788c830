"""What each benchmark is: one flat YAML file in `specs/` per benchmark, read into a `Spec`."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib.resources
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import Any, Literal, TypeVar, get_args

import yaml

from multilingual_math_audit.errors import RecordError, UnknownName
from multilingual_math_audit.records import AnswerKind, Language

Route = Literal["github", "hub"]
Format = Literal["jsonl", "parquet", "csv", "exams"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Source:
    """A pinned file: where it is fetched from, what it is called in a folder of sources, and how it is read.

    `sha256` is absent where the upstream file's is unknown; columns, row count and the digest of the keys are checked
    instead. `answer` is absent where the keys are the spec's own.
    """

    file: str
    route: Route
    repository: str
    revision: str
    path: str
    format: Format
    question: str
    columns: tuple[str, ...]
    answer: str | None = None
    sha256: str | None = None
    strip_suffix: str = ""
    also: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The file names it goes by in a folder of sources."""
        return (self.file, *self.also)


@dataclass(frozen=True, slots=True)
class Erratum:
    """A known fault of one row of the source; `exclude` says whether the row is left out by default."""

    row: int
    reason: str
    exclude: bool


@dataclass(frozen=True, slots=True)
class ExamKey:
    """The key of one exam question, found in its source by year, phase, group and number."""

    year: int
    phase: str
    group: str
    number: str
    kind: AnswerKind
    answer: str


@dataclass(frozen=True, slots=True)
class Spec:
    """One benchmark.

    `first` is the number of its first row; `kind` is the answer kind of every row that `kinds` does not list by number;
    `samples` is how many solutions per question the protocol asks for. A spec without sources ships with the package.
    """

    name: str
    title: str
    language: Language
    family: str
    rows: int
    first: int
    samples: int
    kind: AnswerKind
    licence: str
    licence_note: str
    credit: str
    publish: bool
    sources: tuple[Source, ...] = ()
    keys_sha256: str | None = None
    questions_sha256: str | None = None
    answer_wrapper: str = ""
    kinds: Mapping[int, AnswerKind] = dataclasses.field(default_factory=dict)
    errata: tuple[Erratum, ...] = ()
    keys: tuple[ExamKey, ...] = ()

    @property
    def ships(self) -> bool:
        """Whether the problems come with the package."""
        return not self.sources

    def erratum(self, row: int) -> Erratum | None:
        """The known fault of a row, if it has one."""
        return next((erratum for erratum in self.errata if erratum.row == row), None)

    def kind_of(self, row: int) -> AnswerKind:
        """The answer kind of a row."""
        if self.keys:
            return self.keys[row - self.first].kind
        return self.kinds.get(row, self.kind)


def benchmark_names() -> tuple[str, ...]:
    """The names of all benchmarks.

    >>> "aime2026_tr" in benchmark_names()
    True
    """
    files = (importlib.resources.files("multilingual_math_audit.benchmarks") / "specs").iterdir()
    return tuple(sorted(file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml")))


def find_spec(name: str) -> Spec:
    """The spec of a benchmark; raises UnknownName when there is none of that name.

    >>> find_spec("tubitak2026").rows
    32
    """
    names = benchmark_names()
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else ""
        raise UnknownName(f"There is no benchmark {name!r}.", hint, f"Benchmarks: {', '.join(names)}.")
    return _find(name)


def spec_file(name: str) -> Traversable:
    """The YAML file of a benchmark."""
    return importlib.resources.files("multilingual_math_audit.benchmarks") / "specs" / f"{name}.yaml"


@functools.cache
def _find(name: str) -> Spec:
    return read_spec(spec_file(name).read_text(encoding="utf-8"))


def read_spec(text: str) -> Spec:
    """The spec of a YAML text; raises RecordError when a field is missing, unknown or of a wrong type.

    >>> read_spec("name: x")
    Traceback (most recent call last):
    ...
    multilingual_math_audit.errors.RecordError: Not a whole Spec: it lacks title, language, family, rows, first, ...
    """
    row = read_yaml(text)
    if not isinstance(row, dict):
        raise RecordError("A spec is a mapping of fields to values.", f"Saw {type(row).__name__}.")
    nested = {
        "sources": tuple(_fill(Source, item) for item in row.get("sources", ())),
        "errata": tuple(_fill(Erratum, item) for item in row.get("errata", ())),
        "keys": tuple(ExamKey(*item) for item in row.get("keys", ())),
    }
    spec = _fill(Spec, row | nested)
    _check(spec)
    return spec


def read_yaml(text: str) -> Any:
    """Plain YAML values, read by the C parser where it is there."""
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _fill(kind: type[T], row: Mapping[str, Any]) -> T:
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    if unknown := [name for name in row if name not in fields]:
        raise RecordError(f"A {kind.__name__} has no field {unknown[0]!r}.", f"Fields: {', '.join(fields)}.")
    needed = [
        name
        for name, field in fields.items()
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING and name not in row
    ]
    if needed:
        shown = ", ".join(needed[:5]) + (", ..." if len(needed) > 5 else "")
        raise RecordError(f"Not a whole {kind.__name__}: it lacks {shown}")
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in row.items()})


def _check(spec: Spec) -> None:
    """Closed sets and row numbers, so that a slip in a spec is found where it was made."""
    _one_of(spec.language, get_args(Language), what=f"language of {spec.name}")
    for kind in (spec.kind, *spec.kinds.values(), *(key.kind for key in spec.keys)):
        _one_of(kind, get_args(AnswerKind), what=f"answer kind of {spec.name}")
    for source in spec.sources:
        _one_of(source.route, get_args(Route), what=f"route of {source.file}")
        _one_of(source.format, get_args(Format), what=f"format of {source.file}")
    rows = range(spec.first, spec.first + spec.rows)
    for row in (*spec.kinds, *(erratum.row for erratum in spec.errata)):
        if row not in rows:
            raise RecordError(f"{spec.name} has no row {row}.", f"Rows: {rows.start} to {rows.stop - 1}.")
    if spec.keys and len(spec.keys) != spec.rows:
        raise RecordError(f"{spec.name} has {spec.rows} rows and {len(spec.keys)} keys.")


def _one_of(value: str, allowed: Sequence[str], *, what: str) -> None:
    if value not in allowed:
        raise RecordError(f"The {what} cannot be {value!r}.", f"Allowed: {', '.join(allowed)}.")
