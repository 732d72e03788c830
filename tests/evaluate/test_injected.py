"""The worked starter solutions and the data set made of their variants."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from multilingual_math_audit.cli import cli
from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.answers.grading import grade_answer
from multilingual_math_audit.evaluate.inject import EDITS, PAPER_EDITS
from multilingual_math_audit.evaluate.injected import injected_table
from multilingual_math_audit.evaluate.worked import open_panel, open_worked_run, worked_solutions
from multilingual_math_audit.records import Grade


def test_every_worked_solution_reaches_its_key() -> None:
    """24 solutions, eight problems in three languages, each graded right against the proved key."""
    pairs = worked_solutions()
    assert Counter(problem.language for problem, _ in pairs) == {"en": 8, "tr": 8, "pt": 8}
    for problem, solution in pairs:
        assert grade_answer(solution.text, problem.answer, language=problem.language).correct, problem.id


def test_every_equation_of_a_worked_solution_holds() -> None:
    """Recomputed exactly: a clean chain must not hold a wrong equation, or the audit's clean row would be unfair."""
    import re
    from fractions import Fraction

    def value(text: str) -> Fraction:
        return Fraction(text.replace(",", "."))

    number = r"\d+(?:[.,]\d+)?"
    checked = 0
    for problem, solution in worked_solutions():
        pattern = (
            rf"(?<![\d_}}])({number}) (\\cdot|[-+/]) ({number})(?: (\\cdot) ({number}))? = ({number})(?![\d,.]*\d)"
        )
        for a, operator, b, _, c, result in re.findall(pattern, solution.text):
            x, y = value(a), value(b)
            if c and operator != "\\cdot":
                found = x + y * value(c)
            else:
                found = {"\\cdot": x * y, "+": x + y, "-": x - y, "/": x / y}[operator] * (value(c) if c else 1)
            assert found == value(result), (problem.id, a, operator, b, c, result)
            checked += 1
    assert checked >= 150


def test_a_panel_of_the_worked_solutions_has_all_120_variants() -> None:
    """Every edit of the paper applies to each of the 24."""
    table = injected_table(open_panel("starter"))
    assert Counter(row["edit"] for row in table.rows) == dict.fromkeys(PAPER_EDITS, 24)
    for row in table.rows:
        assert row["expected_verdict"] == EDITS[row["edit"]].verdict
        assert row["answer_correct"] is (EDITS[row["edit"]].answer == "right")
        assert json.loads(row["edit_record"])["edit"] == row["edit"]
    assert table.publishable


def test_the_data_set_can_be_built_and_loaded(tmp_path: Path) -> None:
    """`math-audit build --panel starter` writes the configuration, and `load_dataset` reads its 120 rows."""
    datasets = pytest.importorskip("datasets")
    result = CliRunner().invoke(
        cli,
        ["build", str(tmp_path / "data"), "--benchmarks", "starter_en", "--panel", "starter"],
        catch_exceptions=False,
    )
    assert result.exit_code == 0, result.output
    rows = datasets.load_dataset(str(tmp_path / "data"), "injected", cache_dir=str(tmp_path / "cache"))["test"]
    assert len(rows) == 120
    assert {"benchmark", "edit", "parent", "expected_verdict", "edit_record"} <= set(rows.column_names)


def test_a_run_without_variants_is_no_data_set(tmp_path: Path) -> None:
    """The run of the originals themselves is refused with the command that draws a panel."""
    run = open_worked_run(str(tmp_path / "run"))
    assert all(grade.correct for grade in run.read(Grade))
    with pytest.raises(UsageError, match="math-audit inject"):
        injected_table(run)
