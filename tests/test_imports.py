"""Imports go one way, and heavy libraries are imported only where they are used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ORDER = ("benchmarks", "loaders", "evaluate", "submissions", "cards", "leaderboard_app")
ROOF = {"cli.py", "__main__.py", "__init__.py", "runfile.py", "options.py"}
NUMBERS_ONLY = {"metrics.py", "statistics.py", "calibration.py"}
HEAVY = {
    "vllm", "torch", "transformers", "ray", "gradio", "matplotlib", "pandas", "scipy", "sympy", "datasets", "plotly",
    "fasttext", "lingua", "pyarrow", "accelerate", "math_verify",
}  # fmt: skip


def _modules(root: Path) -> Iterator[tuple[str, Path]]:
    for room in ("multilingual_math_audit", *ORDER):
        for path in sorted((root / room).rglob("*.py")):
            if not any(part.is_symlink() for part in path.parents if part != root):
                yield room, path


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def _top_imports(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from _imports(node)


def test_imports_go_one_way(root: Path) -> None:
    """spine <- benchmarks <- loaders <- evaluate <- submissions <- cards, leaderboard_app; commands are the roof."""
    breaches = []
    for room, path in _modules(root):
        if room == "multilingual_math_audit" and (path.name in ROOF or path.parent.name == "commands"):
            continue
        own = ORDER.index(room) if room in ORDER else -1
        for name in _imports(ast.parse(path.read_text(encoding="utf-8"))):
            parts = name.split(".")
            if parts[0] != "multilingual_math_audit" or len(parts) < 2:
                continue
            if parts[1] in ("commands", "cli", "runfile", "options"):
                breaches.append(f"{path.relative_to(root)} imports the roof: {name}")
            if parts[1] in ORDER and ORDER.index(parts[1]) > own:
                breaches.append(f"{path.relative_to(root)} imports {name}")
            if parts[1] == "cards" and room == "leaderboard_app":
                breaches.append(f"{path.relative_to(root)} imports {name}")
    assert breaches == []


def test_numbers_only_modules_know_no_record(root: Path) -> None:
    """Metrics, statistics and calibration take numbers and give numbers."""
    for name in NUMBERS_ONLY:
        path = root / "evaluate" / name
        if path.exists():
            names = set(_imports(ast.parse(path.read_text(encoding="utf-8"))))
            assert not {
                n for n in names if n.startswith(("multilingual_math_audit.records", "multilingual_math_audit.store"))
            }


def test_heavy_libraries_are_imported_late(root: Path) -> None:
    """No module but the verifier's (a tensor library) and the builders (`datasets` classes) imports one at its top."""
    breaches = []
    for _, path in _modules(root):
        if "verifier" in path.relative_to(root).parts or path == root / "benchmarks" / "builders.py":
            continue
        for name in _top_imports(ast.parse(path.read_text(encoding="utf-8"))):
            if name.split(".")[0] in HEAVY:
                breaches.append(f"{path.relative_to(root)} imports {name} at its top")
    assert breaches == []


@pytest.mark.parametrize("word", ["utils", "common", "helpers", "base", "manager", "misc"])
def test_no_module_is_named_after_nothing(root: Path, word: str) -> None:
    """Modules are named after what they give."""
    assert [str(path) for _, path in _modules(root) if path.stem == word] == []


def test_modules_are_short(root: Path) -> None:
    """No module is longer than 450 lines."""
    long = {str(p.relative_to(root)): n for _, p in _modules(root) if (n := len(p.read_text().splitlines())) > 450}
    assert long == {}
