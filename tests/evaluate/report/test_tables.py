"""A table in its four forms, and golden CSVs to the byte."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import pytest

from multilingual_math_audit.evaluate.metrics import Interval
from multilingual_math_audit.evaluate.report.acceptance import acceptance_table, language_table, saturation_table
from multilingual_math_audit.evaluate.report.budgets import cost_table, counterfactual_table, stops_table
from multilingual_math_audit.evaluate.report.material import Material
from multilingual_math_audit.evaluate.report.passing import bootstrap_table, ladder_table, matrix_table, pass_table
from multilingual_math_audit.evaluate.report.tables import (
    Column,
    Table,
    _defused,
    format_value,
    to_csv,
    to_html,
    to_latex,
    to_markdown,
)

HOSTILE = "<script>|_x_ & 50% $\\alpha$"
TABLE = Table(
    "t",
    "A title",
    (Column("name", "Name"), Column("d", "Difference", "points"), Column("p", "p", "p"), Column("n", "n", "count")),
    (
        {"name": HOSTILE, "d": Interval(1.25, 0.0, 2.5, 8), "p": 1e-12, "n": 1234},
        {"name": "=1+1", "d": Interval(0.0, 0.0, 0.0, 8), "p": float("nan"), "n": None},
    ),
    ("A note.",),
    "math-audit report x",
)


def test_csv_is_read_back() -> None:
    """An interval is four columns, undefined is empty, and no cell can be a spreadsheet's formula."""
    rows = list(csv.DictReader(io.StringIO(to_csv(TABLE))))
    assert rows[0]["name"] == HOSTILE
    assert [rows[0][f"d{part}"] for part in ("", "_low", "_high", "_degenerate")] == [
        "1.2500",
        "0.0000",
        "2.5000",
        "no",
    ]
    assert [_defused(text) for text in ("", "a", "-x", "@x", "\tx")] == ["", "a", "-x", "'@x", "'\tx"]
    assert (rows[1]["name"], rows[1]["d_degenerate"], rows[1]["p"], rows[1]["n"]) == ("'=1+1", "yes", "", "")


def test_texts_are_escaped() -> None:
    """Names from models and files are text in every form."""
    assert "<script>" not in to_html(TABLE)
    assert "&lt;script&gt;" in to_html(TABLE)
    latex = to_latex(TABLE)
    assert r"50\% \$\textbackslash{}alpha\$" in latex
    assert r"\_x\_ \&" in latex
    markdown = to_markdown(TABLE)
    assert r"\<script\>\|\_x\_" in markdown
    assert "Made by `math-audit report x`." in markdown
    assert sum(line.startswith("|") for line in markdown.splitlines()) == 4


def test_degenerate_intervals_are_marked_and_explained() -> None:
    """An interval without width carries a dagger, and a note says what it means, only where there is one."""
    assert "0.0 [0.0, 0.0]†" in to_markdown(TABLE)
    assert "says nothing about uncertainty" in to_markdown(TABLE)
    assert r"$^\dagger$" in to_latex(TABLE)
    plain = Table("t", "T", TABLE.columns, TABLE.rows[:1])
    assert "uncertainty" not in to_markdown(plain)


def test_values_people_read() -> None:
    """No minus before a zero, thousands in groups, small p-values in powers."""
    assert format_value(-0.001, "points") == "0.0"
    assert format_value(-0.26, "points") == "-0.3"
    assert format_value(12345, "count") == "12,345"
    assert format_value(0.0000123, "p") == "1.2e-05"
    assert format_value(Interval(float("nan"), 0, 0, 0), "points") == "–"


MAKERS = {
    "pass": pass_table, "ladder": ladder_table, "judge_matrix": matrix_table, "bootstrap": bootstrap_table,
    "acceptance": acceptance_table, "language_tests": language_table, "saturation": saturation_table,
    "stops": stops_table, "counterfactual": counterfactual_table, "cost": cost_table,
}  # fmt: skip


@pytest.mark.parametrize("name", MAKERS)
def test_golden_csv(name: str, synthetic_material: Material, root: Path) -> None:
    """Every table of the synthetic study is the golden one to the byte; MATH_AUDIT_GOLDEN=1 writes them anew."""
    made = to_csv(MAKERS[name](synthetic_material))
    golden = root / "tests" / "golden" / "report" / f"{name}.csv"
    if os.environ.get("MATH_AUDIT_GOLDEN"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(made, encoding="utf-8", newline="")
    assert made == golden.read_text(encoding="utf-8")
