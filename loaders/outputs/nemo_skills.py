"""NeMo-Skills: `output.jsonl`, or `output-rsN.jsonl` with one sample of every problem in each file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from multilingual_math_audit.loaders.outputs.foreign import (
    ForeignRun,
    ForeignSample,
    count_of,
    find_files,
    finish_of,
    need,
    read_jsonl,
    text_of,
)


def read(path: Path) -> ForeignRun:
    """Every line of every seed's file, in the order of the seeds."""
    files = find_files(path, "output*.jsonl", "output-rsN.jsonl of NeMo-Skills")
    files = [file for file in files if not file.name.endswith("-async")]
    return ForeignRun(_samples(sorted(files, key=_seed)))


def _seed(file: Path) -> tuple[int, str]:
    found = re.search(r"-rs(\d+)", file.name)
    return (int(found[1]) if found else -1, file.name)


def _samples(files: list[Path]) -> Iterator[ForeignSample]:
    for file in files:
        for number, (place, row) in enumerate(read_jsonl(file)):
            need(row, ("generation", "expected_answer"), place, "an output of NeMo-Skills")
            yield ForeignSample(
                own_id=f"{file.stem}/{number}",
                text=text_of(row["generation"]),
                problem=next((str(row[name]) for name in ("id", "problem_id") if name in row), None),
                question=text_of(row.get("problem") or row.get("question")) or None,
                answer=text_of(row["expected_answer"]),
                thinking=text_of(row.get("reasoning_content")) or None,
                finish_reason=finish_of(row.get("finish_reason")),
                prompt_tokens=count_of(row.get("num_input_tokens")),
                completion_tokens=count_of(row.get("num_generated_tokens")),
                correct=_mark(row),
            )


def _mark(row: dict[str, Any]) -> bool | None:
    value = row.get("symbolic_correct", row.get("is_correct"))
    return value if isinstance(value, bool) else None
