"""The Space: a folder that holds the app, what it needs of this package, and the accepted submissions."""

from __future__ import annotations

import importlib.resources
import shutil
from importlib.resources.abc import Traversable
from pathlib import Path

from multilingual_math_audit.errors import UsageError

PACKAGE = "multilingual_math_audit"
# A Space installs requirements.txt before it has the folder, so the package cannot come from a file in it.
NEEDED: dict[str, tuple[str, ...]] = {
    "": ("__init__.py", "errors.py", "records.py", "store.py", "py.typed"),
    "evaluate/answers": ("boxes.py", "thinking.py"),
    "evaluate": ("metrics.py", "statistics.py", "verdicts.py", "sensitivity.py"),
    "submissions": (
        "accept.py", "count_checks.py", "part_checks.py", "question_sets.py", "strict_json.py", "submission.py",
        "validate.py",
    ),
    "submissions/schema": ("questions.json",),
    "leaderboard_app": (),
}  # fmt: skip
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
    for room, names in NEEDED.items():
        source = _room(room)
        target = folder / PACKAGE / room
        target.mkdir(parents=True, exist_ok=True)
        for item in source.iterdir():
            if item.is_file() and (
                item.name in names or (not names and item.name.endswith((".py", ".css", ".js", ".yaml")))
            ):
                (target / item.name).write_bytes(item.read_bytes())
    app = _room("leaderboard_app")
    for name in ("README.md", "requirements.txt"):
        (folder / name).write_bytes((app / name).read_bytes())
    (folder / "app.py").write_text(STARTER, encoding="utf-8")
    (folder / "accepted").mkdir()
    for entry in sorted(accepted.glob("*.json")):
        shutil.copyfile(entry, folder / "accepted" / entry.name)
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def _room(room: str) -> Traversable:
    parts = room.split("/") if room else []
    found: Traversable = importlib.resources.files(".".join([PACKAGE, *parts[:1]]))
    for part in parts[1:]:
        found = found / part
    return found
