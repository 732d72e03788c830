"""Runs become entries, and the inclusion rule decides who is compared."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from multilingual_math_audit.errors import RecordError, UnknownName, UsageError
from multilingual_math_audit.evaluate.counts import JudgeCounts, QuestionCounts
from multilingual_math_audit.evaluate.report.entries import (
    Counted,
    build_grid,
    gather_entries,
    parse_groupings,
    read_groupings,
    unmatched_members,
)
from multilingual_math_audit.evaluate.report.material import Choices, dropped_rows, gather_material
from multilingual_math_audit.evaluate.report.passing import dropped_table, matrix_table, pass_table
from multilingual_math_audit.evaluate.report.values import cot_values, pass_values


def judged(correct: int, approved: int, *, pending: int = 0) -> JudgeCounts:
    """Counts of a judge with majority approvals."""
    return JudgeCounts(correct - pending, pending, {"majority": approved}, 3 * correct, 0, {}, 0, 0, approved, 0)


def question(
    item: int, correct: int, approved: int | None, *, solver: str = "m", benchmark: str = "b", pending: int = 0
) -> QuestionCounts:
    """A question with eight samples and, unless None, a judge's approvals."""
    judges = {} if approved is None else {"j": judged(correct, approved, pending=pending)}
    return QuestionCounts(f"{benchmark}/{item}", str(item), benchmark, "en", solver, 8, correct, 0, 0, 0, judges)


def test_labels_say_what_tells_runs_apart() -> None:
    """A name alone where it is enough, with mode or budget where it is shared."""
    runs = [
        Counted("thinking", 100, [question(1, 1, 1)]),
        Counted("thinking", 2000, [question(1, 1, 1)]),
        Counted("base", 100, [question(1, 1, 1, solver="other")]),
    ]
    assert [entry.label for entry in gather_entries(runs)] == ["m · 100", "m · 2,000", "other"]
    with pytest.raises(UsageError, match="Two runs hold"):
        gather_entries([runs[0], runs[0]])


def test_inclusion_rule_names_every_reason() -> None:
    """Too few verdicts, pending ones, missing samples and a benchmark that was not run each drop a solver whole."""
    good = [question(i, 8, 4, solver="good") for i in range(4)]
    few = [question(i, 1, 1, solver="few") for i in range(4)]
    slow = [question(i, 8, 4, solver="slow", pending=int(i == 0)) for i in range(4)]
    entries = gather_entries(
        [Counted("base", 1, good, expected={"b": 8}), Counted("base", 1, few), Counted("base", 1, slow),
         Counted("base", 1, [question(1, 8, 4, solver="elsewhere", benchmark="c")])]
    )  # fmt: skip
    grid = build_grid(entries, ("j",), min_correct=30, benchmarks=("b",))
    assert [entry.label for entry in grid.entries] == ["good"]
    reasons = {drop.label: drop.why for drop in grid.dropped}
    assert "4 judged correct solutions under j, 30 needed" in reasons["few"]
    assert "1 pending under j" in reasons["slow"]
    assert reasons["elsewhere"] == "b was not run"
    short = [dataclasses.replace(entries[0], expected={"b": 16})]
    assert "32 samples missing" in build_grid(short, ("j",), min_correct=1).dropped[0].why


def test_nobody_left_is_said_aloud() -> None:
    """Where the rule leaves nobody, the report shows all and warns; the dropped table lists them."""
    material = gather_material(gather_entries([Counted("base", 1, [question(1, 2, 1)])]))
    assert material.grid.entries == ()
    assert "leaves no solver" in material.warnings[0]
    assert [entry.label for entry in material.compared("j")] == ["m"]
    assert dropped_table(material).rows[0]["solver"] == "m"
    assert dropped_rows(material)[0][0] == "j"


def test_pending_is_never_approved() -> None:
    """A question with pending judgments, or without any of a judge, has no CoT-Pass@k; one with no correct has 0."""
    questions = [question(1, 4, 4), question(2, 4, 2, pending=1), question(3, 4, None), question(4, 0, None)]
    values = cot_values(questions, "j", 8)
    assert values[0] == 1.0
    assert str(values[1:3]) == "[nan nan]"
    assert values[3] == 0.0
    material = gather_material(gather_entries([Counted("base", 1, questions)]), choices=Choices(min_correct=0))
    (row,) = pass_table(material).rows
    assert str(row["cot_pass_at_n"]) == "nan"
    assert row["difference"] is None
    assert row["pending"] == 5
    assert matrix_table(material).rows[0]["difference:j"] is None


def test_ungraded_questions_are_undefined() -> None:
    """Pass@k of a question with ungraded samples is NaN."""
    ungraded = dataclasses.replace(question(1, 4, 4), ungraded=1)
    assert str(pass_values([ungraded], 1)) == "[nan]"


def test_groups_are_given_not_guessed(tmp_path: Path) -> None:
    """Groups come from the file; misspelt members, double ones and broken files are named."""
    entries = gather_entries([Counted("base", 1, [question(1, 8, 4)])])
    groupings = parse_groupings({"generation": {"old": ["m"], "new": ["missing"]}})
    assert groupings[0].group_of(entries[0]) == "old"
    assert unmatched_members(groupings, entries) == ["generation/new: missing"]
    with pytest.raises(RecordError, match="both as"):
        parse_groupings({"g": {"a": ["m"], "b": ["m"]}})
    with pytest.raises(RecordError, match="must map"):
        parse_groupings({"g": ["m"]})
    (tmp_path / "groups.yaml").write_text("a: [")
    with pytest.raises(RecordError, match=r"groups\.yaml"):
        read_groupings(tmp_path / "groups.yaml")
    with pytest.raises(UnknownName, match="nobody"):
        gather_material(entries, choices=Choices(judges=("nobody",)))
    with pytest.raises(UsageError, match="nothing to report"):
        gather_material([])
