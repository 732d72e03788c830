"""Every example in a docstring runs and gives what it says."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "multilingual_math_audit"
NAMES = sorted(
    {
        "multilingual_math_audit." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for top in (PACKAGE, *(link for link in PACKAGE.iterdir() if link.is_symlink()))
        for path in top.rglob("*.py")
        if path.name not in ("__main__.py", "__init__.py") and not path.name.startswith("_")
    }
)


@pytest.mark.parametrize("name", NAMES)
def test_examples(name: str) -> None:
    """The module's examples hold."""
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("multilingual_math_audit"):
            raise
        pytest.skip(f"needs {error.name}")
    failed, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert failed == 0
