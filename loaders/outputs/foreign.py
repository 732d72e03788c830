"""What a file of another harness says of one sample, in our words, and how such files are read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from multilingual_math_audit.errors import RecordError, UsageError
from multilingual_math_audit.records import FinishReason

FINISH: dict[str, FinishReason] = {
    "stop": "stop", "eos": "stop", "end_turn": "stop", "stop_sequence": "stop", "completed": "stop",
    "length": "length", "max_tokens": "length", "model_length": "length", "max_output_tokens": "length",
    "abort": "aborted", "aborted": "aborted", "error": "error", "content_filter": "error", "refusal": "error",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ForeignSample:
    """One sample of another harness: how it names the problem, what the model said, and what the harness made of it.

    `own_id` is the harness's own name of the sample. `correct` is the harness's own mark, None where it has none;
    `votes` are a judge's yes, no and invalid judgments, where only their number is kept.
    """

    own_id: str
    text: str
    problem: str | None = None
    question: str | None = None
    answer: str | None = None
    thinking: str | None = None
    finish_reason: FinishReason = "unknown"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    correct: bool | None = None
    votes: tuple[int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class ForeignRun:
    """Samples in the order of the file, and what it says of the model and its settings."""

    samples: Iterable[ForeignSample]
    solver: str | None = None
    facts: Mapping[str, Any] | None = None


def read_jsonl(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSONL file, each with `file:line`; raises RecordError at the first line that is none."""
    for number, line in enumerate(_open_lines(path), 1):
        if not line.strip():
            continue
        place = f"{path.name}:{number}"
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            row = _lenient(line, place)
        if not isinstance(row, dict):
            raise RecordError(f"{place} is not a JSON object.", "Is this the file of samples?")
        yield place, row


def read_json(path: Path) -> Any:
    """The contents of a JSON file, plain or compressed with zstd (`.zst`); raises RecordError when it is none."""
    try:
        if path.suffix == ".zst":
            import pyarrow

            with pyarrow.input_stream(str(path), compression="zstd") as stream:
                return orjson.loads(stream.read())
        return orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise RecordError(f"{path} cannot be read as JSON: {error}.") from None


def need(row: Mapping[str, Any], names: Iterable[str], place: str, what: str) -> None:
    """Raise RecordError, naming the place and what was expected, unless a row has all these fields."""
    if missing := [name for name in names if name not in row]:
        raise RecordError(
            f"{place} has no {missing[0]!r}, so it is not {what}.", f"Its fields: {', '.join(list(row)[:12])}."
        )


def find_files(path: Path, pattern: str, what: str) -> list[Path]:
    """The file itself, or those below a folder that match the pattern; raises UsageError when there are none."""
    if path.is_file():
        return [path]
    if found := sorted(path.rglob(pattern)) if path.is_dir() else []:
        return found
    raise UsageError(f"{path} holds no {what}.", f"Looked for {pattern}.")


def finish_of(word: Any) -> FinishReason:
    """Our word for a harness's finish reason.

    >>> finish_of("max_tokens"), finish_of("stop"), finish_of(None)
    ('length', 'stop', 'unknown')
    """
    return FINISH.get(str(word).lower(), "unknown")


def count_of(value: Any) -> int | None:
    """A token count, or None where the file has no whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def text_of(value: Any) -> str:
    """A text; None is the empty text, and parts of a message are joined.

    >>> text_of(None), text_of([{"type": "text", "text": "a"}, {"type": "image"}, "b"]), text_of(7)
    ('', 'ab', '7')
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(part if isinstance(part, str) else str(part.get("text") or "") for part in value)
    return str(value)


def _open_lines(path: Path) -> Iterator[bytes]:
    try:
        with open(path, "rb") as file:
            yield from file
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}.") from None


def _lenient(line: bytes, place: str) -> Any:
    # Python's own writer lets NaN and lone surrogates through; such files are common.
    try:
        return json.loads(line.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{place} is not a line of JSON: {error}.") from None
