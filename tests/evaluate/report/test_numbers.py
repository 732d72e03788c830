"""Tables of acceptance, saturation, budgets and cost against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.budget import budget_rung, credited_values, stop_rate
from multilingual_math_audit.evaluate.counts import JudgeCounts, QuestionCounts
from multilingual_math_audit.evaluate.report.acceptance import (
    acceptance_table,
    compare_benchmarks,
    language_table,
    saturation_rows,
    saturation_table,
)
from multilingual_math_audit.evaluate.report.budgets import (
    cost_table,
    counterfactual_table,
    ladder_budget_table,
    mode_table,
    stops_table,
)
from multilingual_math_audit.evaluate.report.entries import Counted, gather_entries
from multilingual_math_audit.evaluate.report.material import Choices, Material, gather_material
from multilingual_math_audit.evaluate.report.passing import bootstrap_table, ladder_table
from multilingual_math_audit.evaluate.statistics import wilson_interval


def question(
    place: str, counts: tuple[int, int, int], *, solver: str = "m", credited: int | None = None
) -> QuestionCounts:
    """A question of four samples; counts are (correct, approved, stopped judgments)."""
    benchmark, item = place.split("/")
    correct, approved, stopped = counts
    judge = JudgeCounts(
        correct, 0, {"majority": approved}, 3 * correct, 0, {"stopped_at_limit": stopped}, stopped, 1,
        approved if credited is None else credited, 10 * correct,
    )  # fmt: skip
    language = {"a": "en", "b": "tr", "c": "pt"}[benchmark]
    return QuestionCounts(place, item, benchmark, language, solver, 4, correct, 0, 1, 40, {"j": judge})


def material(questions: list[QuestionCounts], *, budget: int = 64) -> Material:
    """Material of one run without an inclusion rule."""
    entries = gather_entries([Counted("thinking", budget, questions, {"j": 32})])
    return gather_material(entries, choices=Choices(min_correct=0, resamples=200))


QUESTIONS = [
    question("a/1", (4, 3, 2), credited=4),
    question("a/2", (1, 0, 1), credited=1),
    question("a/3", (0, 0, 0)),
    question("b/1", (2, 2, 0)),
    question("b/2", (2, 0, 0)),
    question("b/3", (0, 0, 0)),
]


def test_acceptance_pools_solutions() -> None:
    """3 of 5 correct solutions on a, 2 of 4 on b, with Wilson's interval."""
    rows = {row["benchmark"]: row for row in acceptance_table(material(QUESTIONS)).rows}
    assert (rows["a"]["approved"], rows["a"]["judged"]) == (3, 5)
    low, high = wilson_interval(3, 5)
    assert rows["a"]["acceptance"].value == 60.0
    assert (rows["a"]["acceptance"].low, rows["a"]["acceptance"].high) == (100 * low, 100 * high)
    assert rows["b"]["acceptance"].value == 50.0


def test_saturation_bins() -> None:
    """Bins double; questions are pooled per bin, and one without an approved solution is not kept."""
    rows = {row["c"]: row for row in saturation_rows(material(QUESTIONS).entries, "j")}
    assert list(rows) == ["1", "2-3", "4"]
    assert (rows["1"]["questions"], rows["1"]["kept"]) == (1, 0)
    assert (rows["2-3"]["questions"], rows["2-3"]["kept"], rows["2-3"]["judged"]) == (2, 1, 4)
    assert rows["4"]["acceptance"].value == 75.0
    assert saturation_table(material(QUESTIONS)).rows[0]["group"] == "all"


def test_language_tests_pair_solvers() -> None:
    """Differences in acceptance per solver; with five solvers all in one direction p is 2/32."""
    counted = []
    for rank in range(5):
        solver = f"m{rank}"
        rows = [
            question("a/1", (4, 1, 0), solver=solver),
            question("b/1", (4, 2 + (rank % 2), 0), solver=solver),
        ]
        counted.append(Counted("base", 1, rows))
    entries = gather_entries(counted)
    test = compare_benchmarks(entries, "j", first="b", second="a")
    assert sorted(test.differences) == [25.0, 25.0, 25.0, 50.0, 50.0]
    assert (test.mean, test.median, test.higher, test.lower) == (35.0, 25.0, 5, 0)
    assert test.p == 2 / 32
    (row,) = language_table(gather_material(entries, choices=Choices(min_correct=0))).rows
    assert (row["kind"], row["p"]) == ("language", 2 / 32)
    assert math.isnan(compare_benchmarks(entries[:1], "j", first="b", second="a").p)
    assert compare_benchmarks(entries, "none", first="b", second="a").differences == ()


def test_stops_and_lost_questions() -> None:
    """3 of 15 judgments on a stopped; one of three questions is lost."""
    rows = {row["benchmark"]: row for row in stops_table(material(QUESTIONS)).rows}
    assert rows["a"]["judge_stops"].value == pytest.approx(20.0)
    assert rows["a"]["solver_stops"].value == 25.0
    assert rows["a"]["questions_lost"] == 1
    assert rows["a"]["difference"].value == pytest.approx(100 / 3)
    with pytest.raises(UsageError, match="stops among"):
        stop_rate(2, 1)


def test_counterfactual_only_lowers() -> None:
    """Crediting the stopped judgments brings the lost question of a back: 33.3 becomes 0, the mean of cells halves."""
    (row,) = counterfactual_table(material(QUESTIONS)).rows
    assert (row["cells"], row["left_out"]) == (2, 0)
    assert row["observed"].value == pytest.approx(100 / 3)
    assert row["credited"].value == pytest.approx(100 / 6)
    with pytest.raises(UsageError, match="fewer than"):
        credited_values([question("a/1", (2, 2, 0), credited=1)], "j", 4)


def test_budget_ladder_needs_two_budgets() -> None:
    """A solver with one budget has no ladder; with two, each benchmark has a row per budget in order."""
    assert ladder_budget_table(material(QUESTIONS)).rows == ()
    entries = gather_entries([Counted("thinking", budget, QUESTIONS) for budget in (900, 64)])
    rows = ladder_budget_table(gather_material(entries, choices=Choices(min_correct=0))).rows
    assert [(row["benchmark"], row["budget"]) for row in rows] == [("a", 64), ("a", 900), ("b", 64), ("b", 900)]
    assert rows[0]["pass_at_1"] == pytest.approx(100 * (1 + 0.25 + 0) / 3)
    assert (rows[0]["pass_at_n"], rows[0]["solved"]) == (pytest.approx(200 / 3), 2)
    rung = budget_rung([], budget=1)
    assert math.isnan(rung.pass_at_1)
    assert math.isnan(rung.stops.value)


def test_modes_compare_translations_only() -> None:
    """Benchmarks with the same items in several languages enter, others do not."""
    rows = mode_table(material(QUESTIONS)).rows
    assert [(row["language"], round(float(row["pass_at_n"]), 1)) for row in rows] == [("EN", 66.7), ("TR", 66.7)]
    assert mode_table(material([*QUESTIONS[:3], question("b/9", (1, 1, 0))])).rows == ()


def test_cost_of_judging() -> None:
    """9 correct solutions, 27 judgments, 90 judge tokens beside 240 solver tokens."""
    solving, judging = cost_table(material(QUESTIONS)).rows
    assert (solving["samples"], solving["tokens"]) == (24, 240)
    assert (judging["samples"], judging["tokens"], judging["per_solution"]) == (27, 90, 10.0)
    assert judging["share"] == 37.5


def test_ladder_has_every_k_and_the_average() -> None:
    """k = 1, 2, 4 for both benchmarks and their average; Pass@1 of a is the mean of c/n."""
    rows = ladder_table(material(QUESTIONS)).rows
    assert [(row["benchmark"], row["k"]) for row in rows] == [(b, k) for b in ("a", "b", "average") for k in (1, 2, 4)]
    assert rows[0]["pass_at_k"] == pytest.approx(100 * 5 / 12)
    assert rows[0]["cot_pass_at_k"] == pytest.approx(100 * 3 / 12)
    assert rows[0]["difference"].value == pytest.approx(100 * 2 / 12)


def test_groups_and_contrasts(synthetic_material: Material) -> None:
    """A contrast is the difference of its groups, which are the unweighted means of their solvers."""
    rows = [row for row in bootstrap_table(synthetic_material).rows if row["judge"] == "strict-judge"]
    average = {row["name"]: row["difference"].value for row in rows if row["benchmark"] == "average"}
    earlier = [average[f"lab/model-{size}b"] for size in (1, 3, 7, 32)]
    assert average["generation: earlier"] == pytest.approx(sum(earlier) / 4)
    contrast = average["generation: earlier"] - average["generation: current"]
    assert average["generation: earlier - current"] == pytest.approx(contrast)
