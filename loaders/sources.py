"""Pinned source files: taken from a folder, from the cache, or downloaded, and checked.

    SourceError
    ├── MissingSource   the file is not in the folder, or no route to it answered
    ├── GatedSource     the Hub wants a login or an accepted licence first
    ├── WrongDigest     the file is another one than pinned
    ├── ChangedSource   columns, rows or keys are not the pinned ones
    └── EmptyBenchmark  the source holds no rows

Environment: `MATH_AUDIT_SOURCES` (a folder with the files), `MATH_AUDIT_CACHE` (where downloads are kept),
`MATH_AUDIT_RAW_BASE` (in place of https://raw.githubusercontent.com), `HF_ENDPOINT`, `HF_TOKEN`.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import tempfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn
from urllib.parse import quote

from multilingual_math_audit.benchmarks.catalogue import Source, Spec
from multilingual_math_audit.errors import SourceError, StorageError, UsageError

RAW_BASE = "https://raw.githubusercontent.com"
TIMEOUT_S = 30.0
_BLOCK = 1 << 16
Where = Literal["package", "folder", "cache", "download"]


class MissingSource(SourceError):
    """The file is not in the folder, or no route to it answered."""


class GatedSource(SourceError):
    """The Hub wants a login or an accepted licence first."""


class WrongDigest(SourceError):
    """The file is another one than pinned."""


class ChangedSource(SourceError):
    """Columns, rows or keys are not the pinned ones."""


class EmptyBenchmark(SourceError):
    """The source holds no rows."""


class _NoAnswer(Exception):
    """One route did not give the file; the next may."""


@dataclass(frozen=True, slots=True)
class Found:
    """A source file on this machine."""

    source: Source
    path: Path


def find_source(spec: Spec, folder: str | Path | None = None) -> Found:
    """The file of a benchmark: from `folder` or MATH_AUDIT_SOURCES if given, else from the cache, else downloaded.

    Raises MissingSource, GatedSource or WrongDigest, each saying what to do.
    """
    folder = folder or os.environ.get("MATH_AUDIT_SOURCES") or None
    found = _find_in_folder(spec, Path(folder)) if folder else (_find_cached(spec) or _download(spec))
    _check_digest(found, label=str(found.path))
    return found


def locate_source(spec: Spec, folder: str | Path | None = None) -> Where:
    """Where the problems of a benchmark would come from, without fetching anything.

    >>> from multilingual_math_audit.benchmarks.catalogue import find_spec
    >>> locate_source(find_spec("starter_tr"))
    'package'
    """
    if spec.ships:
        return "package"
    folder = folder or os.environ.get("MATH_AUDIT_SOURCES") or None
    if folder and any((Path(folder) / name).is_file() for source in spec.sources for name in source.names):
        return "folder"
    return "cache" if _find_cached(spec) else "download"


def source_url(source: Source) -> str:
    """The address of the pinned file.

    >>> from multilingual_math_audit.benchmarks.catalogue import find_spec
    >>> source_url(find_spec("tubitak2026").sources[0])[:60]
    'https://raw.githubusercontent.com/ttasalti/evalhub/98a672ac3'
    """
    if source.route == "hub":
        base = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
        return f"{base.rstrip('/')}/datasets/{source.repository}/resolve/{source.revision}/{quote(source.path)}"
    base = os.environ.get("MATH_AUDIT_RAW_BASE") or RAW_BASE
    return f"{base.rstrip('/')}/{source.repository}/{source.revision}/{quote(source.path)}"


def cache_folder() -> Path:
    """Where downloaded sources are kept."""
    if chosen := os.environ.get("MATH_AUDIT_CACHE"):
        return Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "multilingual-math-audit" / "sources"


def _find_in_folder(spec: Spec, folder: Path) -> Found:
    if not folder.is_dir():
        raise UsageError(f"The sources folder {folder} is not there.", "Give a folder that holds the source files.")
    for source in spec.sources:
        for name in source.names:
            if (folder / name).is_file():
                return Found(source, folder / name)
    wanted = " or ".join(name for source in spec.sources for name in source.names)
    raise MissingSource(
        f"{spec.name} is not in the sources folder {folder}: it holds no {wanted}.",
        f"Put the file there (it comes from {source_url(spec.sources[0])}), or leave the folder out to download it.",
    )


def _cached_path(source: Source) -> Path:
    mark = (source.sha256 or source.revision)[:12]
    return cache_folder() / f"{mark}-{source.file}"


def _find_cached(spec: Spec) -> Found | None:
    for source in spec.sources:
        if (path := _cached_path(source)).is_file():
            return Found(source, path)
    return None


def _download(spec: Spec) -> Found:
    failures = []
    for source in spec.sources:
        try:
            return Found(source, _store(source))
        except _NoAnswer as failure:
            failures.append(f"{source_url(source)}: {failure}.")
    raise MissingSource(
        f"{spec.name} could not be downloaded.",
        *failures,
        f"Check the network, or put {spec.sources[0].file} in a folder",
        "and name the folder with --sources or MATH_AUDIT_SOURCES.",
    )


def _store(source: Source) -> Path:
    """Fetch into a file of its own, check it, and only then give it its place in the cache."""
    target = _cached_path(source)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix="part-")
        os.close(handle)
        part = Path(name)
        try:
            _fetch(source, part)
            _check_digest(Found(source, part), label=f"The download {source_url(source)}")
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(
            f"The cache {target.parent} cannot be written: {error.strerror or error}.",
            "Free some space, or set MATH_AUDIT_CACHE to another folder.",
        ) from None
    return target


def _fetch(source: Source, part: Path) -> None:
    request = urllib.request.Request(source_url(source), headers={"User-Agent": "multilingual-math-audit"})
    if source.route == "hub":
        from huggingface_hub import get_token

        if token := get_token():
            # Unredirected: the Hub answers large files with an address elsewhere, which must not see the token.
            request.add_unredirected_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            _copy(answer, part, label=source.file)
    except urllib.error.HTTPError as error:
        _explain_refusal(error, source)
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise _NoAnswer(f"no answer ({getattr(error, 'reason', None) or error})") from None


def _explain_refusal(error: urllib.error.HTTPError, source: Source) -> NoReturn:
    said = error.headers.get("X-Error-Code", "")
    if said == "GatedRepo":
        raise GatedSource(
            f"The data set {source.repository} is gated.",
            f"Accept its terms at https://huggingface.co/datasets/{source.repository}, log in with `hf auth login`",
            "(or set HF_TOKEN) and repeat the command.",
        ) from None
    if said == "RepoNotFound":
        raise _NoAnswer("the data set is not there, or is private and needs HF_TOKEN") from None
    if error.code in (401, 403):
        raise GatedSource(
            f"{source_url(source)} refuses access (HTTP {error.code}).",
            "Download it by hand and name its folder with --sources.",
        ) from None
    raise _NoAnswer(f"HTTP {error.code}") from None


def _copy(answer: http.client.HTTPResponse, part: Path, *, label: str) -> None:
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    total = int(answer.headers.get("Content-Length") or 0) or None
    bar = Progress(console=console, transient=True, disable=not console.is_terminal)
    with part.open("wb") as file, bar as progress:
        task = progress.add_task(f"Downloading {label}", total=total)
        seen = 0
        while block := answer.read(_BLOCK):
            seen += file.write(block)
            progress.update(task, completed=seen)
    if total is not None and seen != total:
        raise ConnectionError(f"the connection broke after {seen} of {total} bytes")


def _check_digest(found: Found, *, label: str) -> None:
    wanted = found.source.sha256
    if wanted is None:
        return
    try:
        seen = hashlib.sha256(found.path.read_bytes()).hexdigest()
    except OSError as error:
        raise MissingSource(f"{label} cannot be read: {error.strerror or error}.", "Look at its permissions.") from None
    if seen != wanted:
        raise WrongDigest(
            f"{label} is another file than the pinned one:",
            f"its sha256 is {seen}, the pinned one is {wanted}.",
            f"Fetch {found.source.repository} at {found.source.revision[:12]} ({found.source.path}) again,",
            "or remove the file to have it downloaded.",
        )
