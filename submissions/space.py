"""The Space: a folder that holds the app, what it needs of this package, and the accepted submissions."""

from __future__ import annotations

import ast
import importlib.resources
import shutil
from importlib.resources.abc import Traversable
from pathlib import Path

from multilingual_math_audit.errors import UsageError

PACKAGE = "multilingual_math_audit"
# A Space installs requirements.txt before it has the folder, so the package cannot come from a file in it: the modules
# that the app imports are copied, and these files beside them.
DATA = {
    "leaderboard_app": ("style.css", "page.js", "texts.yaml"),
    "submissions/schema": ("questions.json",),
    "": ("__init__.py", "py.typed"),
}
STARTER = '''"""Start the leaderboard on the accepted submissions here, or on LEADERBOARD_DATASET."""

import os
from pathlib import Path

from multilingual_math_audit.leaderboard_app.app import fetch_accepted, launch

if __name__ == "__main__":
    here = Path(__file__).resolve().parent / "accepted"
    folder = fetch_accepted(os.environ.get("LEADERBOARD_DATASET"), otherwise=here)
    launch(folder, host="0.0.0.0", port=int(os.environ.get("PORT", "7860")))
'''


def write_space(folder: Path, accepted: Path) -> list[str]:
    """Write a Space folder that starts alone, with the entries of `accepted`; gives the paths written.

    Raises UsageError when `folder` exists and is not empty.
    """
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty.", "Give a new folder.")
    for module in sorted(imported_modules(f"{PACKAGE}.leaderboard_app.app")):
        path = folder / Path(*module.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_source(module))
    for room, names in DATA.items():
        (folder / PACKAGE / room).mkdir(parents=True, exist_ok=True)
        for name in names:
            (folder / PACKAGE / room / name).write_bytes((_room(room) / name).read_bytes())
    app = _room("leaderboard_app")
    for name in ("README.md", "requirements.txt"):
        (folder / name).write_bytes((app / name).read_bytes())
    (folder / "app.py").write_text(STARTER, encoding="utf-8")
    (folder / "accepted").mkdir()
    for entry in sorted(accepted.glob("*.json")):
        shutil.copyfile(entry, folder / "accepted" / entry.name)
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def imported_modules(start: str) -> set[str]:
    """The modules of this package that a module imports, at its top or within its functions, and theirs in turn.

    >>> "multilingual_math_audit.evaluate.metrics" in imported_modules("multilingual_math_audit.leaderboard_app.rows")
    True
    """
    found, waiting = set[str](), [start]
    while waiting:
        module = waiting.pop()
        if module in found or not _room_of(module).joinpath(f"{module.rpartition('.')[2]}.py").is_file():
            continue
        found.add(module)
        for node in ast.walk(ast.parse(_source(module))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == PACKAGE:
                waiting += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return found


def _source(module: str) -> bytes:
    return _room_of(module).joinpath(f"{module.rpartition('.')[2]}.py").read_bytes()


def _room_of(module: str) -> Traversable:
    return _room("/".join(module.split(".")[1:-1]))


def _room(room: str) -> Traversable:
    found: Traversable = importlib.resources.files(PACKAGE)
    for part in room.split("/") if room else ():
        found = found / part
    return found
