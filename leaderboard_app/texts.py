"""The words of the interface in English, Turkish and Portuguese, and numbers as each language writes them."""

from __future__ import annotations

import importlib.resources
import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from multilingual_math_audit.records import Language

LANGUAGES: dict[Language, str] = {"en": "English", "tr": "Türkçe", "pt": "Português"}
ABSENT = "–"


@dataclass(frozen=True)
class Texts:
    """One language of the interface.

    >>> texts = Texts("tr")
    >>> texts("page_leaderboard"), texts.percent(0.2049), texts.percent(None)
    ('Sıralama', '20,5', '–')
    """

    language: Language

    def __call__(self, key: str, **values: Any) -> str:
        """The text of a key with its values filled in."""
        text = _table()[key][self.language]
        return text.format(**values) if values else text

    def percent(self, share: float | None, *, signed: bool = False) -> str:
        """A share as a percentage with one decimal, without the sign for percent."""
        return self.decimal(None if share is None else 100 * share, places=1, signed=signed)

    def decimal(self, value: float | None, *, places: int = 1, signed: bool = False) -> str:
        """A number with its decimal mark; a dash where there is none."""
        if value is None or math.isnan(value):
            return ABSENT
        text = f"{value:{'+' if signed else ''}.{places}f}"
        if float(text) == 0:
            text = text.lstrip("+-")
        return self._localise(text.replace("-", "−"))

    def whole(self, value: float | None) -> str:
        """A whole number with its thousands marked."""
        return ABSENT if value is None or math.isnan(value) else f"{value:,.0f}".replace(",", "\u202f")

    def _localise(self, text: str) -> str:
        return text if self.language == "en" else text.replace(".", ",")


@cache
def _table() -> dict[str, dict[str, str]]:
    file = importlib.resources.files("multilingual_math_audit.leaderboard_app") / "texts.yaml"
    table: dict[str, dict[str, str]] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return table


def keys() -> list[str]:
    """Every key there is a text for."""
    return list(_table())
