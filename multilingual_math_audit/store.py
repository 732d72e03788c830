"""A run folder: `manifest.json` and one append-only JSONL file per record type.

Lines are appended whole with one write each; a file is flushed to disk (fsync) at least every `FSYNC_SECONDS` and when
a writer closes, so a power loss costs at most that much work and a killed process costs nothing that was appended.
"""

from __future__ import annotations

import fcntl
import os
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import orjson

from multilingual_math_audit.errors import RecordError, RunLocked, SettingsMismatch, StorageError, UsageError
from multilingual_math_audit.records import Record

FORMAT = 1
FSYNC_SECONDS = 5.0
R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class Damage:
    """A line of a run's file that is no record: it is passed over, and its work counts as not done."""

    file: str
    line: int
    why: str


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
        self.damage: list[Damage] = []

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
        return cls(path, manifest)

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
        known = self.manifest.setdefault(section, {})
        plain = _plain(settings)
        if name not in known:
            known[name] = plain
            self.save_manifest()
        elif differences := list(_differences(known[name], plain)):
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
        seen: set[str] = set()
        for number, line in _lines(self.path(kind)):
            try:
                record = kind.from_json(line)
            except RecordError as error:
                self.damage.append(Damage(kind.file, number, str(error)))
                continue
            if (key := record.key) not in seen:
                seen.add(key)
                yield record

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
        write_atomically(self.path(kind), b"".join(record.to_json() + b"\n" for record in records))

    _lock_depth = 0
    _lock_file: int | None = None

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the run against other writers until the process ends; raises RunLocked, saying who holds it."""
        if self._lock_depth == 0:
            self._lock_file = _take_lock(self.folder / ".lock")
        self._lock_depth += 1
        try:
            yield
        finally:
            self._lock_depth -= 1
            if self._lock_depth == 0 and self._lock_file is not None:
                os.close(self._lock_file)
                self._lock_file = None


class Writer(Generic[R]):
    """Appends whole lines to one file; a torn last line left by a killed process is mended first."""

    def __init__(self, path: Path, kind: type[R]) -> None:
        self.path = path
        with storage_errors(path):
            self._file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o644)
            _mend_tail(self._file, path)
        self._synced = time.monotonic()

    def append(self, record: R) -> None:
        """Write one record; raises StorageError when it cannot be written whole."""
        line = record.to_json() + b"\n"
        with storage_errors(self.path):
            start = os.fstat(self._file).st_size
            written = os.write(self._file, line)
            if written < len(line):
                try:
                    os.write(self._file, line[written:])
                except OSError:
                    os.ftruncate(self._file, start)
                    raise
            if time.monotonic() - self._synced > FSYNC_SECONDS:
                os.fsync(self._file)
                self._synced = time.monotonic()

    def close(self) -> None:
        """Flush to disk and close."""
        with storage_errors(self.path):
            try:
                os.fsync(self._file)
            finally:
                os.close(self._file)


def write_atomically(path: Path, data: bytes) -> None:
    """Put `data` at `path` so that a reader sees all of it or what was there before."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    with storage_errors(path):
        try:
            with open(temporary, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn the operating system's refusal to write into a StorageError that names the path."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"Cannot write {path}: {error.strerror or error}.",
            "Everything written before is kept. Free space or mend the rights, then give the same command again.",
        ) from None


def _plain(value: Any) -> Any:
    return orjson.loads(orjson.dumps(value))


def _differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted({*old, *new}):
            yield from _differences(old.get(name), new.get(name), f"{path}.{name}" if path else name)
    elif old != new:
        yield f"{path} is {old!r:.80} there and {new!r:.80} here"


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line
    except FileNotFoundError:
        return


def _mend_tail(file: int, path: Path) -> None:
    size = os.fstat(file).st_size
    if size == 0 or os.pread(file, 1, size - 1) == b"\n":
        return
    start = size
    while start > 0:
        step = min(1 << 16, start)
        block = os.pread(file, step, start - step)
        if (cut := block.rfind(b"\n")) >= 0:
            start = start - step + cut + 1
            break
        start -= step
    tail = os.pread(file, size - start, start)
    try:
        orjson.loads(tail)
    except orjson.JSONDecodeError:
        with open(path.with_suffix(".torn"), "ab") as torn:
            torn.write(tail + b"\n")
        os.ftruncate(file, start)
    else:
        os.write(file, b"\n")


def _take_lock(path: Path) -> int:
    with storage_errors(path):
        file = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.pread(file, 200, 0).decode("utf-8", "replace").strip() or "another process"
        os.close(file)
        raise RunLocked(
            f"{path.parent} is being written by {holder}.",
            "Wait for it to end, or stop it, then give the command again.",
        ) from None
    os.ftruncate(file, 0)
    os.pwrite(file, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
    return file
