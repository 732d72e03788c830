"""Files of lines that survive: whole appends, torn tails mended, replacement in one step, a lock that names its holder.

What is promised, and by what:

- A killed process loses nothing it appended: each line is handed to the system with one write.
- A power loss costs the last seconds: a file is flushed to disk (fsync) by the first append more than `FSYNC_SECONDS`
  after the last flush, and when its writer closes; what came after is with the system, which writes it within about
  half a minute by itself. Files that are replaced whole are flushed before they take the old one's name.
- A full disk stops the writer with an error before a half line stays behind.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import os
import socket
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Generic, TypeVar

import orjson

from multilingual_math_audit.errors import RunLocked, StorageError
from multilingual_math_audit.records import Record

FSYNC_SECONDS = 5.0
BLOCK = 1 << 16
R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class Damage:
    """A line of a run's file that is no record: it is passed over, and its work counts as not done."""

    file: str
    line: int
    why: str


class Writer(Generic[R]):
    """Appends whole lines to one file; a torn last line left by a killed process is mended first."""

    def __init__(self, path: Path, kind: type[R]) -> None:
        self.path = path
        with storage_errors(path):
            new = not path.exists()
            self._file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o644)
            _mend_tail(self._file, path)
            if new:
                _sync_folder(path.parent)
        self._synced = time.monotonic()

    def append(self, record: R) -> None:
        """Write one record; raises StorageError when it cannot be written whole."""
        with storage_errors(self.path):
            _write_whole(self._file, record.to_json() + b"\n")
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


def read_lines(path: Path, start: int = 0) -> Iterator[tuple[int, int, bytes]]:
    """The lines of a file that are not blank, as (line number, byte offset, line); none where there is no file."""
    try:
        with open(path, "rb", buffering=1 << 20) as file:
            offset = file.seek(start)
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, offset, line
                offset += len(line)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageError(f"Cannot read {path}: {error.strerror or error}.") from None


def write_atomically(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Put `data` (or its pieces, one after the other) at `path` so that a reader sees all of it or what was before."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    with storage_errors(path):
        try:
            with open(temporary, "wb") as file:
                for piece in [data] if isinstance(data, bytes) else data:
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
            _sync_folder(path.parent)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def set_aside(folder: Path, file: str, found: Iterable[tuple[int, str, bytes]]) -> None:
    """Append lines, as (line number, why, line), to the folder's `quarantine.jsonl`, flushed to disk."""
    rows = [
        {"file": file, "line": number, "why": why, "text": line.rstrip(b"\n").decode("utf-8", "backslashreplace")}
        for number, why, line in found
    ]
    path = folder / "quarantine.jsonl"
    with storage_errors(path), open(path, "ab") as quarantine:
        quarantine.write(b"".join(orjson.dumps(row) + b"\n" for row in rows))
        quarantine.flush()
        os.fsync(quarantine.fileno())


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


def _write_whole(file: int, line: bytes) -> None:
    written = os.write(file, line)
    while written < len(line):
        try:
            written += os.write(file, line[written:])
        except OSError:
            os.ftruncate(file, os.fstat(file).st_size - written)
            raise


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        # Some network file systems cannot flush a folder; the files in it are flushed all the same.
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _mend_tail(file: int, path: Path) -> None:
    size = os.fstat(file).st_size
    if size == 0 or os.pread(file, 1, size - 1) == b"\n":
        return
    start = size
    while start > 0:
        step = min(BLOCK, start)
        block = os.pread(file, step, start - step)
        if (cut := block.rfind(b"\n")) >= 0:
            start = start - step + cut + 1
            break
        start -= step
    tail = os.pread(file, size - start, start)
    try:
        whole = isinstance(orjson.loads(tail), dict)
    except orjson.JSONDecodeError:
        whole = False
    if whole:
        os.write(file, b"\n")
    else:
        set_aside(path.parent, path.name, [(0, "torn last line", tail)])
        os.ftruncate(file, start)


_locks: set[int] = set()


def take_lock(path: Path) -> int:
    """Lock a file against other processes until it is closed or the process ends; raises RunLocked, naming the holder.

    The lock is the system's, not the file's existence: a killed holder leaves nothing behind that must be removed.
    """
    with storage_errors(path):
        file = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(file, 300, 0).decode("utf-8", "replace").strip() or "another process"
        os.close(file)
        raise RunLocked(
            f"{path.parent} is being written by {holder}.",
            "Wait for it to end, or stop it, then give the command again.",
        ) from None
    except OSError as error:
        os.close(file)
        raise StorageError(
            f"The file system of {path.parent} has no locks ({error.strerror or error}).",
            "Keep the run folder on a local disk, and copy it when it is done.",
        ) from None
    os.ftruncate(file, 0)
    os.pwrite(file, _holder().encode("utf-8", "replace"), 0)
    _locks.add(file)
    return file


def release_lock(file: int) -> None:
    """Let others write."""
    _locks.discard(file)
    with contextlib.suppress(OSError):
        os.ftruncate(file, 0)
        fcntl.flock(file, fcntl.LOCK_UN)
    os.close(file)


def _holder() -> str:
    program = PurePath(sys.argv[0]).name if sys.argv else "python"
    verb = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    since = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return f"process {os.getpid()} on {socket.gethostname()} ({program} {verb}".rstrip() + f", since {since})"


def _forget_locks() -> None:
    # A forked child (a worker of an engine) shares its parent's lock and would keep it after the parent is killed.
    while _locks:
        with contextlib.suppress(OSError):
            os.close(_locks.pop())


os.register_at_fork(after_in_child=_forget_locks)
