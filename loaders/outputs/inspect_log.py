"""inspect: an `.eval` log, a zip archive of one JSON file per sample and epoch."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from multilingual_math_audit.errors import RecordError
from multilingual_math_audit.loaders.outputs.foreign import (
    ForeignRun,
    ForeignSample,
    count_of,
    find_files,
    finish_of,
    need,
    text_of,
)

ZSTANDARD = 93


def read(path: Path) -> ForeignRun:
    """Every sample of every epoch, failed ones with finish reason error; read without inspect being installed."""
    files = find_files(path, "*.eval", ".eval log of inspect")
    said = _Archive(files[0]).load("header.json").get("eval", {})
    names = ("task", "task_version", "created", "packages", "model_generate_config", "revision")
    return ForeignRun(_samples(files), said.get("model"), {name: said[name] for name in names if said.get(name)})


def _samples(files: list[Path]) -> Iterator[ForeignSample]:
    for file in files:
        archive = _Archive(file)
        names = [name for name in archive.names if name.startswith("samples/") and name.endswith(".json")]
        if not names:
            raise RecordError(f"{file.name} holds no samples.", "Was the log written by an evaluation that ran?")
        for name in names:
            yield _sample(archive.load(name), f"{file.name}/{name}")


def _sample(row: dict[str, Any], place: str) -> ForeignSample:
    need(row, ("id", "epoch", "output"), place, "a sample of inspect")
    choices = row["output"].get("choices") or []
    content = (choices[0].get("message") or {}).get("content") if choices else None
    usage = row["output"].get("usage") or {}
    failed = row.get("error") is not None or not choices
    stopped = (row.get("limit") or {}).get("type") in ("token", "context")
    return ForeignSample(
        own_id=str(row.get("uuid") or f"{row['id']}/{row['epoch']}"),
        text=_parts(content, "text"),
        problem=str(row["id"]),
        question=_question(row.get("input")),
        answer=_target(row.get("target")),
        thinking=_parts(content, "reasoning") or None,
        finish_reason="error" if failed else "length" if stopped else finish_of(choices[0].get("stop_reason")),
        prompt_tokens=count_of(usage.get("input_tokens")),
        completion_tokens=count_of(usage.get("output_tokens")),
        correct=_mark(row.get("scores") or {}),
    )


def _parts(content: Any, kind: str) -> str:
    if isinstance(content, list):
        return "".join(str(part.get(kind) or "") for part in content if part.get("type") == kind)
    return text_of(content) if kind == "text" else ""


def _question(asked: Any) -> str | None:
    if isinstance(asked, list):
        return next((_parts(turn.get("content"), "text") for turn in reversed(asked) if turn["role"] == "user"), None)
    return asked if isinstance(asked, str) else None


def _target(target: Any) -> str | None:
    return text_of(target[0]) if isinstance(target, list) and target else text_of(target) or None


def _mark(scores: dict[str, Any]) -> bool | None:
    for score in scores.values():
        value = score.get("value")
        if value in ("C", 1, True):
            return True
        if value in ("I", 0, False):
            return False
    return None


class _Archive:
    """A zip archive whose members may be compressed with zstd, which Python 3.11 does not read by itself."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with zipfile.ZipFile(path) as archive:
                self._members = {member.filename: member for member in archive.infolist()}
        except (OSError, zipfile.BadZipFile) as error:
            raise RecordError(f"{path} is not an .eval log of inspect: {error}.") from None
        self.names = list(self._members)

    def load(self, name: str) -> dict[str, Any]:
        """One member as a JSON object."""
        if name not in self._members:
            raise RecordError(f"{self.path.name} has no {name}, so it is not a whole .eval log of inspect.")
        try:
            row = orjson.loads(self._bytes(self._members[name]))
        except (orjson.JSONDecodeError, OSError, zipfile.BadZipFile, struct.error) as error:
            raise RecordError(f"{self.path.name}: {name} cannot be read: {error}.") from None
        if not isinstance(row, dict):
            raise RecordError(f"{self.path.name}: {name} is not a JSON object.")
        return row

    def _bytes(self, member: zipfile.ZipInfo) -> bytes:
        if member.compress_type != ZSTANDARD:
            with zipfile.ZipFile(self.path) as archive:
                return archive.read(member)
        import pyarrow

        with open(self.path, "rb") as file:
            file.seek(member.header_offset + 26)
            name_length, extra_length = struct.unpack("<HH", file.read(4))
            file.seek(name_length + extra_length, 1)
            packed = file.read(member.compress_size)
        plain: bytes = pyarrow.decompress(packed, decompressed_size=member.file_size, codec="zstd", asbytes=True)
        return plain
