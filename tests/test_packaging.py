"""The layout: rooms at the root, one import name, nothing left out of a wheel."""

from __future__ import annotations

import configparser
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOMS = ("benchmarks", "loaders", "evaluate", "submissions", "cards", "leaderboard_app")


# The verifier is a tensor library: its modules, and no others, may need torch and safetensors.
IMPORT_EVERYTHING = """
import importlib, pathlib, sys
import multilingual_math_audit as top

base = pathlib.Path(top.__file__).parent
names = [".".join(path.relative_to(base).with_suffix("").parts) for path in sorted(base.rglob("*.py"))]
failed = []
for name in names:
    if name in ("__init__", "__main__"):
        continue
    try:
        importlib.import_module(f"multilingual_math_audit.{name}")
    except ModuleNotFoundError as error:
        if not (name.startswith("evaluate.verifier.") and error.name in ("torch", "safetensors")):
            failed.append((name, error.name))
print(len(names), failed)
sys.exit(bool(failed) or len(names) < 100)
"""


def _config(root: Path) -> configparser.ConfigParser:
    config = configparser.ConfigParser()
    config.read(root / "setup.cfg", encoding="utf-8")
    return config


def _packages_on_disk(root: Path) -> set[str]:
    found = set()
    for top in ("multilingual_math_audit", *ROOMS):
        prefix = top if top == "multilingual_math_audit" else f"multilingual_math_audit.{top}"
        for folder, names, files in os.walk(root / top, followlinks=False):
            names[:] = [name for name in names if not name.startswith((".", "__pycache__"))]
            if any(file.endswith(".py") for file in files):
                inner = Path(folder).relative_to(root / top).parts
                found.add(".".join((prefix, *inner)))
    return found


def test_links_are_the_rooms(root: Path) -> None:
    """Inside the package stand six links, one per room, and nothing else is a link."""
    links = {path.name: os.readlink(path) for path in (root / "multilingual_math_audit").iterdir() if path.is_symlink()}
    assert links == {room: f"../{room}" for room in ROOMS}


def test_rooms_have_no_init(root: Path) -> None:
    """A room with an `__init__.py` would shadow other projects' packages of the same name."""
    assert [str(path) for room in ROOMS for path in (root / room).rglob("__init__.py")] == []


def test_packages_are_what_is_on_disk(root: Path) -> None:
    """Every folder with modules is listed in setup.cfg, and nothing that is not there."""
    listed = set(_config(root)["options"]["packages"].split())
    assert listed == _packages_on_disk(root)


def test_wheel_holds_every_module_and_data_file(root: Path, tmp_path: Path) -> None:
    """What git tracks in the package and its rooms is what an installed wheel has."""
    pytest.importorskip("setuptools", minversion="77")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--no-deps",
            "--no-build-isolation",
            "-q",
            "-w",
            str(tmp_path),
            str(root),
        ],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    tracked = subprocess.run(
        ["git", "ls-files", "multilingual_math_audit", *ROOMS], cwd=root, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    wanted = {
        name if name.startswith("multilingual_math_audit/") else f"multilingual_math_audit/{name}"
        for name in tracked
        if name and name.removeprefix("multilingual_math_audit/") not in ROOMS and not name.endswith(".gitkeep")
    }
    assert sorted(wanted - held) == []


def test_bare_evaluate_is_the_other_library(root: Path, tmp_path: Path) -> None:
    """With a library called `evaluate` installed, `import evaluate` from the checkout still gives that library."""
    library = tmp_path / "evaluate"
    library.mkdir()
    (library / "__init__.py").write_text("WHOSE = 'the installed library'\n")
    result = subprocess.run(
        [sys.executable, "-c", "import evaluate; print(evaluate.WHOSE)"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout.strip() == "the installed library", result.stderr


@pytest.mark.slow
def test_every_module_imports_with_the_core_alone(root: Path, tmp_path: Path) -> None:
    """In an environment with the core dependencies alone every module can be imported, so that no optional dependency
    is needed by those who do not use it."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", str(root)], check=True, capture_output=True)
    result = subprocess.run(
        [python, "-c", IMPORT_EVERYTHING], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
