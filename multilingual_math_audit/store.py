"""A run folder: `manifest.json` and one append-only JSONL file per record type.

What a killed process, a power loss, a full disk and a second writer can and cannot cost is said in `journal`. A line
that is no record (a torn write, an edit by hand) is passed over and noted in `Run.damage`; the next writer moves it to
`quarantine.jsonl`, and since its record is absent its work is done again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

import orjson

from multilingual_math_audit.errors import RecordError, SettingsMismatch, UsageError
from multilingual_math_audit.journal import (
    Damage,
    Writer,
    read_lines,
    release_lock,
    set_aside,
    storage_errors,
    take_lock,
    write_atomically,
)
from multilingual_math_audit.records import Grade, Judgment, Problem, Record, Score, Solution

__all__ = ["KINDS", "Damage", "Run", "Writer", "storage_errors", "write_atomically"]

FORMAT = 1
KINDS: tuple[type[Record], ...] = (Problem, Solution, Grade, Judgment, Score)
R = TypeVar("R", bound=Record)


class Run:
    """A run folder, read by anyone and written by one process at a time.

    >>> import tempfile
    >>> from multilingual_math_audit.records import Grade
    >>> run = Run.create(tempfile.mkdtemp() + "/run", {"solver": {"model": "m"}})
    >>> run.append([Grade("s1", "1", True, "correct")])
    >>> [grade.solution_id for grade in run.read(Grade)]
    ['s1']
    """

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder = folder
        self.manifest = manifest
        self._damage: dict[Damage, None] = {}

    @classmethod
    def create(cls, folder: str | Path, settings: Mapping[str, Any], **facts: Any) -> Self:
        """Open the run at `folder`, making it if it is not there.

        `settings` are what decides numbers: a run that holds other ones is refused with SettingsMismatch, which lists
        the differences. `facts` (versions, hardware, command) are recorded when the run is made and never compared.
        """
        path = Path(folder)
        if (path / "manifest.json").exists():
            run = cls.open(path)
            run.require(settings)
            return run
        if path.is_dir() and any(p.suffix == ".jsonl" for p in path.iterdir()):
            raise UsageError(
                f"{path} holds records but no manifest.json.",
                "Give another folder, or put its manifest back.",
            )
        manifest = {"format": FORMAT, "settings": _plain(settings), **_plain(facts)}
        with storage_errors(path):
            path.mkdir(parents=True, exist_ok=True)
        run = cls(path, manifest)
        run.save_manifest()
        return run

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Open an existing run; raises UsageError when there is none at `folder`."""
        path = Path(folder)
        file = path / "manifest.json"
        try:
            manifest = orjson.loads(file.read_bytes())
        except FileNotFoundError:
            raise UsageError(
                f"There is no run at {path}: it has no manifest.json.",
                "Give a run folder, or make one with: math-audit solve --out DIR.",
            ) from None
        except (OSError, orjson.JSONDecodeError) as error:
            raise RecordError(f"{file} cannot be read: {error}.") from None
        if not isinstance(manifest, dict) or not isinstance(manifest.get("settings"), dict):
            raise RecordError(f"{file} is not a manifest: it has no settings.")
        if manifest.get("format") != FORMAT:
            raise RecordError(f"{file} has format {manifest.get('format')!r}; this version reads format {FORMAT}.")
        if (fault := _misshapen(manifest)) is not None:
            raise RecordError(f"{file} is not a manifest: {fault}.", "Put back the one the run was made with.")
        return cls(path, manifest)

    @property
    def damage(self) -> list[Damage]:
        """The damaged lines met so far that are not yet in quarantine."""
        return list(self._damage)

    @property
    def settings(self) -> dict[str, Any]:
        """What decides the run's numbers."""
        settings: dict[str, Any] = self.manifest["settings"]
        return settings

    def require(self, settings: Mapping[str, Any]) -> None:
        """Raise SettingsMismatch, listing the differences, unless the run has just these settings."""
        differences = list(_differences(self.settings, _plain(settings)))
        if differences:
            raise SettingsMismatch(
                f"The run at {self.folder} was made with other settings: {'; '.join(differences)}.",
                "Give the same settings to go on with it, or another --out for a new run.",
            )

    def add_settings(self, section: str, name: str, settings: Mapping[str, Any]) -> None:
        """Record the settings of one more judge, grader or selector; the same name with other settings is refused."""
        plain = _plain(settings)
        if name not in self.manifest.get(section, {}):
            with self.lock():
                # Another process may have written the manifest since it was read.
                self.manifest = type(self).open(self.folder).manifest
                self.manifest.setdefault(section, {}).setdefault(name, plain)
                self.save_manifest()
        if differences := list(_differences(self.manifest[section][name], plain)):
            raise SettingsMismatch(
                f"The run at {self.folder} has {section} {name!r} with other settings: {'; '.join(differences)}.",
                "Give the same settings to go on with it, or another name.",
            )

    def save_manifest(self) -> None:
        """Write the manifest so that a reader sees either the old or the new one, never half of it."""
        write_atomically(
            self.folder / "manifest.json",
            orjson.dumps(self.manifest, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n",
        )

    def path(self, kind: type[Record]) -> Path:
        """The file of a record type."""
        return self.folder / kind.file

    def has(self, kind: type[Record]) -> bool:
        """Whether the run holds any record of this type."""
        path = self.path(kind)
        return path.exists() and path.stat().st_size > 0

    def read(self, kind: type[R]) -> Iterator[R]:
        """The records of one type in the order they were written; damaged lines are passed over and noted in `damage`.

        A record whose key was seen before in the file is the same work done twice and is not given again.
        """
        for _, record in self.scan(kind):
            yield record

    def scan(self, kind: type[R]) -> Iterator[tuple[int, R]]:
        """As `read`, each record with the byte offset of its line, at which `read_at` finds it again."""
        seen: set[str] = set()
        for number, offset, line in read_lines(self.path(kind)):
            try:
                record = kind.from_json(line)
            except RecordError as error:
                self._damage[Damage(kind.file, number, str(error) if line.endswith(b"\n") else "torn last line")] = None
                continue
            if (key := record.key) not in seen:
                seen.add(key)
                yield offset, record

    def read_at(self, kind: type[R], offset: int) -> R:
        """The record whose line begins at a byte offset given by `scan`; raises RecordError if it is there no more."""
        for _, _, line in read_lines(self.path(kind), offset):
            return kind.from_json(line)
        raise RecordError(f"{self.path(kind)} has no line at byte {offset}: it was changed meanwhile.")

    def keys(self, kind: type[Record]) -> set[str]:
        """The keys of all records of one type."""
        return {record.key for record in self.read(kind)}

    @contextmanager
    def writer(self, kind: type[R]) -> Iterator[Writer[R]]:
        """A writer that appends records of one type; holds the run's lock while it is open."""
        with self.lock():
            writer = Writer(self.path(kind), kind)
            try:
                yield writer
            finally:
                writer.close()

    def append(self, records: Iterable[Record]) -> None:
        """Append records of any types, flushed to disk before returning."""
        writers: dict[type[Record], Writer[Any]] = {}
        with self.lock():
            try:
                for record in records:
                    kind = type(record)
                    if kind not in writers:
                        writers[kind] = Writer(self.path(kind), kind)
                    writers[kind].append(record)
            finally:
                for writer in writers.values():
                    writer.close()

    def replace(self, kind: type[R], records: Iterable[R]) -> None:
        """Write a derived file (scores) anew, all or nothing."""
        write_atomically(self.path(kind), (record.to_json() + b"\n" for record in records))

    _lock_depth = 0
    _lock_file: int | None = None

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the run against other writers until the process ends; raises RunLocked, saying who holds it.

        What reading found damaged is moved to quarantine when the lock is taken.
        """
        if self._lock_depth == 0:
            self._lock_file = take_lock(self.folder / ".lock")
        self._lock_depth += 1
        try:
            if self._lock_depth == 1:
                self._tidy()
            yield
        finally:
            self._lock_depth -= 1
            if self._lock_depth == 0 and self._lock_file is not None:
                release_lock(self._lock_file)
                self._lock_file = None

    def _tidy(self) -> None:
        for left in self.folder.glob(".*.part"):
            with suppress(OSError):
                left.unlink()
        damaged = {damage.file for damage in self._damage}
        for kind in KINDS:
            if kind.file in damaged:
                self._quarantine(kind)
        if Solution.file in damaged:
            # The text that is sampled anew may differ: what was said about the lost one does not hold for it.
            kept = self.keys(Solution)
            for dependent in (Grade, Judgment):
                self._quarantine(dependent, solutions=kept)
        self._damage.clear()

    def _quarantine(self, kind: type[Record], *, solutions: set[str] | None = None) -> None:
        found: dict[int, tuple[int, str, bytes]] = {}
        for number, _, line in read_lines(self.path(kind)):
            try:
                record = kind.from_json(line)
            except RecordError as error:
                found[number] = (number, str(error), line)
            else:
                if solutions is not None and getattr(record, "solution_id", None) not in solutions:
                    found[number] = (number, "its solution was damaged", line)
        if found:
            # Lines are safe in quarantine before the file without them takes its place.
            set_aside(self.folder, kind.file, found.values())
            lines = (line for number, _, line in read_lines(self.path(kind)) if number not in found)
            write_atomically(self.path(kind), (line if line.endswith(b"\n") else line + b"\n" for line in lines))


def _misshapen(manifest: Mapping[str, Any]) -> str | None:
    """What in a manifest is not of the kind its readers take it for; None where all is."""
    settings, judges, engines = manifest["settings"], manifest.get("judges", {}), manifest.get("engines", [])
    samples = settings.get("samples", {})
    for name, value in {"facts": manifest.get("facts", {}), "judges": judges, "settings.samples": samples}.items():
        if not isinstance(value, dict):
            return f"{name} is no mapping"
    for name, value in judges.items():
        if not isinstance(value, dict) or type(value.get("samples", 3)) is not int:
            return f"judges.{name} is no judge's settings"
    if not isinstance(settings.get("solver", {}), dict):
        return "settings.solver is no mapping"
    for name, value in samples.items():
        if type(value) is not int:
            return f"settings.samples.{name} is no number of samples"
    if not isinstance(engines, list) or not all(
        isinstance(engine, dict) and isinstance(engine.get("versions", {}), dict) for engine in engines
    ):
        return "engines is no list of engines"
    return None


def _plain(value: Any) -> Any:
    return orjson.loads(orjson.dumps(value))


def _differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted({*old, *new}):
            yield from _differences(old.get(name), new.get(name), f"{path}.{name}" if path else name)
    elif old != new:
        yield f"{path} is {old!r:.80} there and {new!r:.80} here"
