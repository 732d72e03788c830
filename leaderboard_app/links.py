"""A view as the query of a link, and back; what does not belong there is passed over."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, get_args
from urllib.parse import urlencode

from multilingual_math_audit.evaluate.verdicts import STRATEGIES
from multilingual_math_audit.leaderboard_app.board import Board
from multilingual_math_audit.leaderboard_app.rows import NO_JUDGE, SIZES, SORT_KEYS, View
from multilingual_math_audit.records import Language, Mode
from multilingual_math_audit.submissions.accept import TRUSTS

PAGES = ("leaderboard", "judges", "budgets", "verifiers", "questions", "compare", "submit", "about")


def choices(board: Board) -> dict[str, tuple[str, ...]]:
    """What each filter of the board can be set to."""
    rows = board.rows
    return {
        "benchmarks": tuple(board.cells),
        "languages": tuple(
            language
            for language in get_args(Language)
            if any(cell.questions.language == language for cell in board.cells.values())
        ),
        "families": tuple(sorted({row.solver.family for row in rows if row.solver.family})),
        "sizes": tuple(name for name, _ in SIZES),
        "modes": (*get_args(Mode), "unknown"),
        "judges": tuple(sorted({row.judge_label or NO_JUDGE for row in rows})),
        "trusts": tuple(TRUSTS),
        "budgets": tuple(str(budget) for budget in sorted({row.budget for row in rows})),
    }


def write_query(view: View, page: str = "leaderboard") -> str:
    """The query of a view: only what differs from the first look.

    >>> write_query(View(k=8, families=("A", "B")))
    'k=8&families=A&families=B'
    """
    first = View()
    pairs: list[tuple[str, str]] = [] if page == "leaderboard" else [("tab", page)]
    for field in dataclasses.fields(View):
        value = getattr(view, field.name)
        name = "at" if field.name == "page" else field.name
        if value == getattr(first, field.name):
            continue
        if isinstance(value, tuple):
            pairs += [(name, item) for item in value]
        else:
            pairs.append((name, "1" if value is True else str(value)))
    return urlencode(pairs)


def read_query(board: Board, query: Mapping[str, list[str]]) -> tuple[View, str]:
    """The view and the page of a query; unknown names and values are passed over."""
    allowed = choices(board)
    fields: dict[str, Any] = {
        name: tuple(value for value in query.get(name, []) if value in allowed[name]) for name in allowed
    }

    def one(name: str, among: tuple[str, ...], default: str) -> str:
        value = (query.get(name) or [default])[-1]
        return value if value in among else default

    fields["strategy"] = one("strategy", tuple(STRATEGIES), "majority")
    fields["sort"] = one("sort", tuple(SORT_KEYS), "cot_pass_k")
    fields["search"] = (query.get("search") or [""])[-1][:100]
    fields["audited"], fields["ascending"] = (query.get(name) == ["1"] for name in ("audited", "ascending"))
    fields["k"] = min(_whole(query.get("k")), board.largest_n)
    fields["page"] = _whole(query.get("at"))
    return View(**fields), one("tab", PAGES, "leaderboard")


def _whole(values: list[str] | None) -> int:
    text = (values or ["1"])[-1]
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 6 else 1
