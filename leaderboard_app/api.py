"""Every view as an endpoint: plain values in, plain values out."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from multilingual_math_audit.leaderboard_app import links
from multilingual_math_audit.leaderboard_app.board import Board
from multilingual_math_audit.leaderboard_app.compare import compare_rows
from multilingual_math_audit.leaderboard_app.judges import judge_lines
from multilingual_math_audit.leaderboard_app.rows import Line, all_lines, row_totals
from multilingual_math_audit.submissions.validate import check


def register(gr: Any, board: Board) -> None:
    """Give the app its endpoints: leaderboard, judges, budgets, verifiers, questions, compare, validate."""

    def leaderboard(query: str = "") -> list[dict[str, Any]]:
        """All rows of a view; `query` is the query of a link to it, such as 'k=8&strategy=all'."""
        return leaderboard_rows(board, query)

    def judges() -> list[dict[str, Any]]:
        """Every judge on record: acceptance per edit, sensitivities, verdict."""
        return judge_rows(board)

    def budgets() -> list[dict[str, Any]]:
        """Stop rates and tokens of every row over the benchmarks it has."""
        return [
            {"id": row.id, "solver": row.solver.model, "mode": row.solver.mode, "budget": row.budget or None}
            | plain(dataclasses.asdict(row_totals(row, tuple(board.cells))))
            for row in board.rows
        ]

    def verifiers() -> list[dict[str, Any]]:
        """The counts of every verifier."""
        return [
            entry.submission.verifier.model_dump(exclude_none=True)
            for entry in board.entries
            if entry.submission.verifier is not None
        ]

    def questions(benchmark: str) -> list[dict[str, Any]]:
        """Per row the questions of a benchmark with samples, correct and (majority) approved counts."""
        return question_rows(board, benchmark)

    def compare(first: str, second: str, k: int = 1, metric: str = "cot_pass_k") -> dict[str, Any]:
        """Two rows by id, paired per question."""
        found = compare_rows(
            board,
            first,
            second,
            names=tuple(board.cells),
            k=max(1, int(k)),
            metric="pass_k" if metric == "pass_k" else "cot_pass_k",
            strategy="majority",
        )
        return dict(plain(dataclasses.asdict(found))) if found else {}

    def validate(text: str) -> list[str]:
        """The faults of a submission given as JSON text; none means that it is sound."""
        return [str(fault) for fault in check(text.encode("utf-8", "surrogatepass")).faults]

    for endpoint in (leaderboard, judges, budgets, verifiers, questions, compare, validate):
        gr.api(endpoint, api_name=endpoint.__name__)


def leaderboard_rows(board: Board, query: str) -> list[dict[str, Any]]:
    """All rows of a view as plain values; an undefined number is None."""
    from urllib.parse import parse_qs

    view, _ = links.read_query(board, parse_qs(query[:4000]))
    return [line_values(line) for line in all_lines(board, view)]


def line_values(line: Line) -> dict[str, Any]:
    """One line as plain values."""
    values = {field.name: getattr(line, field.name) for field in dataclasses.fields(Line) if field.name not in ("row",)}
    for name in ("pass_k", "cot_pass_k", "difference"):
        values[name] = dataclasses.asdict(values[name]) if values[name] is not None else None
    row = line.row
    return dict(
        plain({"id": row.id, "solver": row.solver.model, "judge": row.judge_label, "trust": row.trust} | values)
    )


def judge_rows(board: Board) -> list[dict[str, Any]]:
    """Every judge on record as plain values."""
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
        for line in judge_lines(board)
    ]


def question_rows(board: Board, benchmark: str) -> list[dict[str, Any]]:
    """Per row the counts of every question of a benchmark."""
    if benchmark not in board.cells:
        return []
    cell = board.cells[benchmark]
    found = []
    for place, row in enumerate(board.rows):
        if cell.covered[place]:
            approved = cell.approved["majority"][place]
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
