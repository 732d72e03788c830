"""Every view as an endpoint: plain values in, plain values out."""

from __future__ import annotations

import dataclasses
import math
from typing import Any
from urllib.parse import parse_qs

from multilingual_math_audit.leaderboard_app import links
from multilingual_math_audit.leaderboard_app.board import Board
from multilingual_math_audit.leaderboard_app.chosen import (
    chosen_judges,
    chosen_rows,
    chosen_verifiers,
    shown_benchmarks,
)
from multilingual_math_audit.leaderboard_app.compare import compare_rows
from multilingual_math_audit.leaderboard_app.rows import Line, View, all_lines, passes, row_totals
from multilingual_math_audit.submissions.validate import check


def register(gr: Any, board: Board) -> None:
    """Give the app its endpoints: leaderboard, judges, budgets, verifiers, questions, compare, validate."""

    def leaderboard(query: str = "") -> list[dict[str, Any]]:
        """All rows of a view; `query` is the query of a link to it, such as 'k=8&strategy=all'."""
        return leaderboard_rows(board, query)

    def judges(query: str = "") -> list[dict[str, Any]]:
        """The judges on record that a view keeps: acceptance per edit, sensitivities, verdict."""
        return judge_rows(board, query)

    def budgets(query: str = "") -> list[dict[str, Any]]:
        """Stop rates and tokens of the rows that a view keeps, over its benchmarks that they have."""
        view = read_view(board, query)
        return [
            {"id": row.id, "solver": row.solver.model, "mode": row.solver.mode, "budget": row.budget or None}
            | plain(dataclasses.asdict(row_totals(row, shown_benchmarks(board, view))))
            for row in chosen_rows(board, view)
        ]

    def verifiers(query: str = "") -> list[dict[str, Any]]:
        """The counts of every verifier that a view keeps."""
        kept = {id(entry): entry for entry, _ in chosen_verifiers(board, read_view(board, query))}
        return [
            entry.submission.verifier.model_dump(exclude_none=True)
            for entry in kept.values()
            if entry.submission.verifier is not None
        ]

    def questions(benchmark: str, query: str = "") -> list[dict[str, Any]]:
        """Per row that a view keeps the questions of a benchmark with samples, correct and approved counts."""
        return question_rows(board, benchmark, query)

    def compare(first: str, second: str, k: int = 1, metric: str = "cot_pass_k", query: str = "") -> dict[str, Any]:
        """Two rows by id, paired per question, over the benchmarks and under the strategy of a view."""
        view = read_view(board, query)
        found = compare_rows(
            board,
            first,
            second,
            names=shown_benchmarks(board, view),
            k=max(1, int(k)),
            metric="pass_k" if metric == "pass_k" else "cot_pass_k",
            strategy=view.strategy,
        )
        return dict(plain(dataclasses.asdict(found))) if found else {}

    def validate(text: str) -> list[str]:
        """The faults of a submission given as JSON text; none means that it is sound."""
        return [str(fault) for fault in check(text.encode("utf-8", "surrogatepass")).faults]

    for endpoint in (leaderboard, judges, budgets, verifiers, questions, compare, validate):
        gr.api(endpoint, api_name=endpoint.__name__)


def read_view(board: Board, query: str) -> View:
    """The view of a link's query; what does not belong there is passed over."""
    return links.read_query(board, parse_qs(str(query)[:4000]))[0]


def leaderboard_rows(board: Board, query: str) -> list[dict[str, Any]]:
    """All rows of a view as plain values; an undefined number is None."""
    return [line_values(line) for line in all_lines(board, read_view(board, query))]


def line_values(line: Line) -> dict[str, Any]:
    """One line as plain values."""
    values = {field.name: getattr(line, field.name) for field in dataclasses.fields(Line) if field.name not in ("row",)}
    for name in ("pass_k", "cot_pass_k", "difference"):
        values[name] = dataclasses.asdict(values[name]) if values[name] is not None else None
    row = line.row
    return dict(
        plain({"id": row.id, "solver": row.solver.model, "judge": row.judge_label, "trust": row.trust} | values)
    )


def judge_rows(board: Board, query: str = "") -> list[dict[str, Any]]:
    """The judges on record that a view keeps, as plain values."""
    return [
        plain(
            {
                "judge": line.judge.model,
                "mode": line.judge.mode,
                "verdict": list(line.verdict),
                "originals": line.originals,
                "clustered": line.clustered,
                "acceptance": {part.edit: [part.accepted, part.n, part.low, part.high] for part in line.acceptances},
                "chain": line.sensitivity.chain._asdict(),
                "answer": line.sensitivity.answer._asdict(),
                "agreement": line.sensitivity.agreement._asdict(),
                "balance": line.sensitivity.balance._asdict(),
            }
        )
        for line in chosen_judges(board, read_view(board, query))
    ]


def question_rows(board: Board, benchmark: str, query: str = "") -> list[dict[str, Any]]:
    """Per row that a view keeps the counts of every question of a benchmark."""
    if benchmark not in board.cells:
        return []
    cell, view = board.cells[benchmark], read_view(board, query)
    found = []
    for place, row in enumerate(board.rows):
        if cell.covered[place] and passes(board, row, view):
            approved = cell.approved[view.strategy][place]
            found.append(
                {
                    "id": row.id,
                    "questions": list(cell.questions.counted),
                    "n": cell.n[place].tolist(),
                    "correct": cell.correct[place].tolist(),
                    "approved": approved.tolist() if (approved >= 0).all() else None,
                }
            )
    return found


def plain(value: Any) -> Any:
    """Values that JSON has: NaN becomes None, tuples lists."""
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
