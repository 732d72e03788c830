"""Benchmarks as problems: `load_benchmark` reads a source, checks it against its spec, and gives records."""

from __future__ import annotations

import csv
import hashlib
import importlib.resources
import io
import json
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from multilingual_math_audit.benchmarks.catalogue import Source, Spec, find_spec, read_yaml
from multilingual_math_audit.errors import SourceError
from multilingual_math_audit.loaders.sources import ChangedSource, EmptyBenchmark, find_source
from multilingual_math_audit.records import Problem

Row = Mapping[str, Any]


class TextDiffers(UserWarning):
    """The questions of an unpinned file are not word for word those the spec was written for."""


def load_benchmark(name: str, *, sources: str | Path | None = None, with_errata: bool = False) -> list[Problem]:
    """The problems of a benchmark, in the order of its source; faulty rows are left out unless `with_errata`.

    `sources` is a folder that holds the source file; without it MATH_AUDIT_SOURCES, the cache and a download are tried.
    Raises UnknownName for a name that is not there, and a SourceError (MissingSource, GatedSource, WrongDigest,
    ChangedSource, EmptyBenchmark) where the source cannot be had or is another one than pinned.

    >>> problems = load_benchmark("starter_pt")
    >>> problems[10].question, problems[10].answer
    ('Quanto é 0,5 + 0,2?', '0,7')
    """
    spec = find_spec(name)
    problems = _read_starter(spec) if spec.ships else _read_source(spec, sources)
    if not problems:
        raise EmptyBenchmark(f"{name} has no problems: its source holds no rows.", "Fetch the source again.")
    excluded = {f"{name}/{erratum.row}" for erratum in spec.errata if erratum.exclude}
    return [problem for problem in problems if with_errata or problem.id not in excluded]


def _read_starter(spec: Spec) -> list[Problem]:
    file = importlib.resources.files("multilingual_math_audit.benchmarks") / "starter" / "items.yaml"
    return [_starter_problem(item, spec) for item in read_yaml(file.read_text(encoding="utf-8"))]


def _starter_problem(item: Mapping[str, Any], spec: Spec) -> Problem:
    answer = item["answer"]
    return Problem(
        id=f"{spec.name}/{item['item'].split('/')[1]}",
        benchmark=spec.name,
        item=item["item"],
        language=spec.language,
        question=item[spec.language],
        answer=answer[spec.language] if isinstance(answer, dict) else answer,
        answer_kind=item["kind"],
        ordered=_ordered(item["kind"]),
        choices=item.get("choices"),
        topic=item["topic"],
        level=item["level"],
    )


def _ordered(kind: str) -> bool | None:
    return {"tuple": True, "set": False}.get(kind)


def _read_source(spec: Spec, folder: str | Path | None) -> list[Problem]:
    found = find_source(spec, folder)
    source = found.source
    rows = _read_rows(found.path, source)
    if not rows:
        raise EmptyBenchmark(f"{spec.name} has no problems: {found.path.name} holds no rows.", "Fetch it again.")
    _check_columns(rows, source, spec)
    if source.format == "exams":
        rows = _pick_exam_rows(rows, spec)
    if len(rows) != spec.rows:
        raise ChangedSource(f"{spec.name} has {spec.rows} rows; {source.file} holds {len(rows)}.", _what_to_do(source))
    pairs = [_question_and_answer(row, source, spec) for row in rows]
    _check_texts(pairs, source, spec)
    return [_source_problem(spec, spec.first + at, pair) for at, pair in enumerate(pairs)]


def _source_problem(spec: Spec, row: int, pair: tuple[str, str]) -> Problem:
    question, answer = pair
    erratum = spec.erratum(row)
    kind = spec.kind_of(row)
    return Problem(
        id=f"{spec.name}/{row}",
        benchmark=spec.name,
        item=f"{spec.family}/{row}",
        language=spec.language,
        question=question,
        answer=answer,
        answer_kind=kind,
        ordered=_ordered(kind),
        erratum=erratum.reason if erratum else None,
    )


def _read_rows(path: Path, source: Source) -> list[Row]:
    """The rows of a file as mappings; raises SourceError when it is not of the format it should be."""
    try:
        if source.format == "parquet":
            import pyarrow.parquet

            rows: list[Row] = pyarrow.parquet.read_table(path).to_pylist()
            return rows
        text = path.read_text(encoding="utf-8-sig")
        if source.format == "csv":
            return list(csv.DictReader(io.StringIO(text, newline="")))
        if source.format == "jsonl":
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        return list(json.loads(text))
    except (ValueError, TypeError, OSError, csv.Error) as error:
        raise SourceError(f"{path.name} cannot be read as {source.format}: {error}.", _what_to_do(source)) from None


def _check_columns(rows: Iterable[Row], source: Source, spec: Spec) -> None:
    for row in rows:
        seen = list(row) if isinstance(row, dict) else [f"({type(row).__name__})"]
        if lacking := [column for column in source.columns if column not in seen]:
            raise ChangedSource(
                f"The columns of {spec.name} have changed: {source.file} lacks {', '.join(lacking)}.",
                f"Seen: {', '.join(map(str, seen))}. Expected: {', '.join(source.columns)}.",
                _what_to_do(source),
            )


def _pick_exam_rows(rows: Iterable[Row], spec: Spec) -> list[Row]:
    """The questions of the key table, each found by year, phase, group and number, with our key as its answer."""
    places: dict[tuple[int, str, str, str], list[Row]] = {}
    for row in rows:
        places.setdefault((row["year"], row["phase"], row["question_group"], row["question_number"]), []).append(row)
    picked: list[Row] = []
    for key in spec.keys:
        found = places.get((key.year, key.phase, key.group, key.number), [])
        if len(found) != 1:
            raise ChangedSource(
                f"{spec.name}: {key.year}, {key.phase}, group {key.group}, question {key.number} is in the source",
                f"{len(found)} times, not once.",
                _what_to_do(spec.sources[0]),
            )
        picked.append({**found[0], "_key": key.answer})
    return picked


def _question_and_answer(row: Row, source: Source, spec: Spec) -> tuple[str, str]:
    question = str(row[source.question]).strip().removesuffix(source.strip_suffix).strip()
    answer = str(row[source.answer or "_key"]).strip()
    if spec.answer_wrapper:
        answer = answer.removeprefix(spec.answer_wrapper).removesuffix(spec.answer_wrapper)
    return question, answer


def _check_texts(pairs: list[tuple[str, str]], source: Source, spec: Spec) -> None:
    if spec.keys_sha256 and _digest(answer for _, answer in pairs) != spec.keys_sha256:
        raise ChangedSource(f"The keys in {source.file} are not those of {spec.name}.", _what_to_do(source))
    if spec.questions_sha256 and _digest(" ".join(text.split()) for text, _ in pairs) != spec.questions_sha256:
        warnings.warn(
            f"The questions in {source.file} are not word for word those of {spec.name}; its keys are. "
            "Scores may differ a little from those made with the pinned text.",
            TextDiffers,
            stacklevel=4,
        )


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def _what_to_do(source: Source) -> str:
    return f"Fetch {source.path} of {source.repository} at {source.revision[:12]} again."
