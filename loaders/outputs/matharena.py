"""MathArena: one JSON file per problem with N conversations, plain or compressed with zstd."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from multilingual_math_audit.errors import RecordError, UsageError
from multilingual_math_audit.loaders.outputs.foreign import (
    ForeignRun,
    ForeignSample,
    count_of,
    need,
    read_json,
    text_of,
)


def read(path: Path) -> ForeignRun:
    """Every conversation's last answer; a conversation that the model never answered is a failed sample."""
    files = [path] if path.is_file() else sorted([*path.glob("*.json"), *path.glob("*.json.zst")], key=_number)
    if not files:
        raise UsageError(f"{path} holds no JSON files of MathArena.", "Give outputs/COMPETITION/MODEL.")
    return ForeignRun(_samples(files), path.name if path.is_dir() else path.parent.name)


def _number(file: Path) -> tuple[int, str]:
    stem = file.name.split(".")[0]
    return (int(stem) if stem.isdigit() else 0, file.name)


def _samples(files: list[Path]) -> Iterator[ForeignSample]:
    for file in files:
        row = read_json(file)
        if not isinstance(row, dict):
            raise RecordError(f"{file.name} is not a JSON object, so it is not of MathArena.")
        need(row, ("problem", "gold_answer", "messages"), file.name, "a problem of MathArena")
        for number, messages in enumerate(row["messages"]):
            yield _sample(row, messages, number, file.name.split(".")[0])


def _sample(row: dict[str, Any], messages: list[dict[str, Any]], number: int, stem: str) -> ForeignSample:
    costs, marks = row.get("detailed_costs") or [], row.get("correct") or []
    cost = costs[number] if number < len(costs) and isinstance(costs[number], dict) else {}
    said = [turn for turn in messages if turn.get("role") == "assistant"]
    thoughts = [text_of(turn.get("content")) for turn in said if turn.get("type") == "cot"]
    answers = [text_of(turn.get("content")) for turn in said if turn.get("type") != "cot"]
    return ForeignSample(
        own_id=f"{stem}/{number}",
        text=answers[-1] if answers else "",
        problem=str(row.get("idx", stem)),
        question=text_of(row["problem"]),
        answer=text_of(row["gold_answer"]),
        thinking="\n\n".join(thoughts) or None,
        finish_reason="unknown" if answers else "error",
        prompt_tokens=count_of(cost.get("input_tokens")),
        completion_tokens=count_of(cost.get("output_tokens")),
        correct=marks[number] if number < len(marks) and isinstance(marks[number], bool) else None,
    )
