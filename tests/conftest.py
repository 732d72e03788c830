"""Fixtures of the whole suite."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def shared_folder() -> Path | None:
    """The reference material that lies beside a developer's checkout, if it is there."""
    folder = Path(os.environ.get("MATH_AUDIT_SHARED", ROOT.parent / "shared"))
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The reference material; the test skips, saying so, where it is not there."""
    folder = shared_folder()
    if folder is None:
        pytest.skip("needs the reference material in ../shared, which is not there")
    return folder


sys.path.insert(0, str(ROOT / "tests"))
