"""lm-evaluation-harness: `samples_TASK_TIME.jsonl`, one line per document and filter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from multilingual_math_audit.errors import RecordError
from multilingual_math_audit.loaders.outputs.foreign import (
    ForeignRun,
    ForeignSample,
    find_files,
    need,
    read_json,
    read_jsonl,
    text_of,
)

NAMES = ("id", "problem_id", "problem_idx", "unique_id")
QUESTIONS = ("question", "problem", "prompt", "input")


def read(path: Path) -> ForeignRun:
    """The repeats of every document, once each, whatever number of filters they were written for."""
    files = find_files(path, "samples_*.jsonl", "samples_*.jsonl of lm-evaluation-harness (run it with --log_samples)")
    return ForeignRun(_samples(files), *_model(files[0].parent))


def _samples(files: list[Path]) -> Iterator[ForeignSample]:
    for file in files:
        seen: set[Any] = set()
        for place, row in read_jsonl(file):
            need(row, ("doc_id", "doc", "resps", "target"), place, "a sample of lm-evaluation-harness")
            if row["doc_id"] in seen:
                continue
            seen.add(row["doc_id"])
            doc = row["doc"]
            if not isinstance(doc, dict) or not isinstance(row["resps"], list):
                raise RecordError(f"{place}: doc and resps are not what lm-evaluation-harness writes.")
            repeats = row["resps"][0] if row["resps"] and isinstance(row["resps"][0], list) else row["resps"]
            for number, text in enumerate(repeats):
                yield ForeignSample(
                    own_id=f"{file.stem}/{row['doc_id']}/{number}",
                    text=text_of(text),
                    problem=next((str(doc[name]) for name in NAMES if name in doc), None),
                    question=next((str(doc[name]) for name in QUESTIONS if name in doc), None),
                    answer=text_of(row["target"]),
                    # One metric per line speaks of all repeats together, so no repeat has a mark of its own.
                    correct=None if len(repeats) > 1 else _mark(row),
                )


def _mark(row: dict[str, Any]) -> bool | None:
    value = next((row[name] for name in row.get("metrics", ()) if name in row), None)
    return bool(value) if value in (0, 1) else None


def _model(folder: Path) -> tuple[str | None, dict[str, Any]]:
    results = sorted(folder.glob("results_*.json"))
    if not results:
        return None, {}
    said = read_json(results[-1])
    names = (
        "model_name",
        "model_source",
        "lm_eval_version",
        "transformers_version",
        "task_hashes",
        "chat_template_sha",
    )
    return said.get("model_name"), {name: said[name] for name in names if said.get(name) is not None}
