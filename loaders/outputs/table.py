"""Any JSONL or CSV file with one sample a row, and a map that says which column is which."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from multilingual_math_audit.errors import RecordError, UsageError
from multilingual_math_audit.loaders.outputs.foreign import (
    ForeignRun,
    ForeignSample,
    finish_of,
    need,
    read_jsonl,
    text_of,
)

FIELDS = (
    "text", "id", "problem", "question", "answer", "thinking", "finish_reason", "prompt_tokens", "completion_tokens",
)  # fmt: skip


def read(path: Path, columns: Mapping[str, str] | None = None) -> ForeignRun:
    """Every row; without a map a column is taken for the field of its own name."""
    columns = dict(columns or {name: name for name in FIELDS})
    if unknown := set(columns) - set(FIELDS):
        raise UsageError(f"--columns names no field {sorted(unknown)[0]!r}.", f"Fields: {', '.join(FIELDS)}.")
    if "text" not in columns or not {"problem", "question"} & set(columns):
        raise UsageError(
            "--columns must say where the text is, and where the problem's id or its question.",
            "As in: --columns text=output,problem=task_id",
        )
    return ForeignRun(_samples(path, columns))


def _samples(path: Path, columns: Mapping[str, str]) -> Iterator[ForeignSample]:
    rows = _read_csv(path) if path.suffix.lower() in (".csv", ".tsv") else read_jsonl(path)
    for number, (place, row) in enumerate(rows):
        need(row, (columns["text"],), place, "a table with the columns you named")
        named = {field: row.get(column) for field, column in columns.items()}
        yield ForeignSample(
            own_id=text_of(named.get("id")) or f"{path.stem}/{number}",
            text=text_of(named["text"]),
            problem=text_of(named.get("problem")) or None,
            question=text_of(named.get("question")) or None,
            answer=text_of(named.get("answer")) or None,
            thinking=text_of(named.get("thinking")) or None,
            finish_reason=finish_of(named.get("finish_reason")),
            prompt_tokens=_count(named.get("prompt_tokens"), place),
            completion_tokens=_count(named.get("completion_tokens"), place),
        )


def _count(value: Any, place: str) -> int | None:
    if value is None or value == "":
        return None
    try:
        return int(value)
    except (TypeError, ValueError):
        raise RecordError(f"{place}: {value!r:.40} is not a number of tokens.") from None


def _read_csv(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            # Strict: a quote that is never closed would swallow the rows behind it.
            reader = csv.DictReader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",", strict=True)
            names = reader.fieldnames or []
            if twice := [name for name in names if names.count(name) > 1]:
                raise RecordError(f"{path} cannot be read as a table: two of its columns are called {twice[0]!r}.")
            for row in reader:
                if any(row.pop(None, ())):
                    raise RecordError(f"{path.name}:{reader.line_num} has more cells than the table has columns.")
                yield f"{path.name}:{reader.line_num}", row
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RecordError(f"{path} cannot be read as a table: {error}.") from None
