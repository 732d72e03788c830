"""Replay: recorded samples of a run folder or a JSONL file instead of a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson

from multilingual_math_audit.errors import EngineError, RecordError
from multilingual_math_audit.evaluate.engines.catalogue import EngineConfig
from multilingual_math_audit.evaluate.engines.protocol import EngineFacts, Request, Sample, SamplingSettings
from multilingual_math_audit.records import Judgment, Solution, digest

_FIELDS = ("text", "thinking", "finish_reason", "prompt_tokens", "completion_tokens", "cached_tokens", "seed")


class ReplayEngine:
    """Answers each request with the recorded sample of the same id.

    `config.recorded` is a run folder (its solutions and judgments are read) or a JSONL file of objects with `id` (or
    `request_id`), `text`, and whatever else of a Sample is known. Only the places of the lines are held in memory.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
    ...     _ = file.write('{"id": "a", "text": "It is 4."}\\n'); file.flush()
    ...     engine = ReplayEngine(EngineConfig("replay", "recorded", recorded=file.name))
    ...     [sample.text for sample in engine.generate([Request("a", (), 0)], SamplingSettings())]
    ['It is 4.']
    """

    def __init__(self, config: EngineConfig) -> None:
        if config.recorded is None:
            raise EngineError("The replay engine needs recorded samples.", "Give a run folder or a JSONL file.")
        self.config = config
        self.source = Path(config.recorded)
        self._places: dict[str, tuple[Path, int]] = {}
        for file in self._files():
            self._index(file)

    def facts(self) -> EngineFacts:
        """Repeatable by nature; the digest is of the recorded ids."""
        details = {"recorded": len(self._places), "ids": digest(sorted(self._places))}
        return EngineFacts(
            engine="replay",
            model=self.config.model,
            repeatable=True,
            repeatable_why="recorded samples",
            details=details,
        )

    def generate(self, requests: Iterable[Request], settings: SamplingSettings) -> Iterator[Sample]:
        """The recorded samples in the order asked; raises EngineError at the end when some are not recorded."""
        missing: list[str] = []
        found = 0
        for request in requests:
            if request.id in self._places:
                found += 1
                yield self._sample(request.id)
            else:
                missing.append(request.id)
        if missing:
            raise EngineError(
                f"{len(missing):,} of {found + len(missing):,} requests are not recorded in {self.source}.",
                f"The first is {missing[0]}.",
                "Ids depend on problem, model, settings and sample number: give those of the recorded run.",
            )

    def close(self) -> None:
        """Nothing is held open."""

    def _files(self) -> list[Path]:
        if self.source.is_dir():
            files = [self.source / kind.file for kind in (Solution, Judgment) if (self.source / kind.file).exists()]
            if not files:
                raise EngineError(f"{self.source} holds no solutions and no judgments.", "Give a run folder to replay.")
            return files
        if not self.source.exists():
            raise EngineError(f"There is nothing at {self.source} to replay.", "Give a run folder or a JSONL file.")
        return [self.source]

    def _index(self, file: Path) -> None:
        place = 0
        with file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                row = self._row(line, f"{file}, line {number}") if line.strip() else {}
                name = row.get("id", row.get("request_id"))
                if isinstance(name, str) and isinstance(row.get("text"), str):
                    self._places.setdefault(name, (file, place))
                elif row:
                    raise RecordError(f"{file}, line {number}: a recorded sample has an `id` and a `text`.")
                place += len(line)

    def _row(self, line: bytes, where: str) -> dict[str, Any]:
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            if self.source.is_dir():
                return {}  # a run passes over a damaged line, whose work counts as not done
            raise RecordError(f"{where}: not a line of JSON: {error}.") from None
        if not isinstance(row, dict):
            raise RecordError(f"{where}: a recorded sample is a JSON object.")
        return row

    def _sample(self, name: str) -> Sample:
        file, place = self._places[name]
        with file.open("rb") as lines:
            lines.seek(place)
            row = orjson.loads(lines.readline())
        return Sample(request_id=name, **{field: row[field] for field in _FIELDS if row.get(field) is not None})
