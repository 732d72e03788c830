"""Panels are drawn evenly, from ids alone, with every original in all its variants."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from arithmetic_panel import make_run
from small_run import make_run as make_small_run

from multilingual_math_audit.errors import SettingsMismatch, UndefinedScore, UsageError
from multilingual_math_audit.evaluate.answers.grading import GRADER_VERSION
from multilingual_math_audit.evaluate.inject import PAPER_EDITS
from multilingual_math_audit.evaluate.panel import PanelPlan, draw_panel, write_panel
from multilingual_math_audit.records import Grade, Problem, Solution
from multilingual_math_audit.store import Run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Four problems in three languages, eight correct samples each and two wrong ones."""
    return make_run(tmp_path_factory.mktemp("run") / "run", items=4, samples=8, wrong=2)


def originals(run: Run, plan: PanelPlan) -> list[tuple[str, str]]:
    """Problem and original of every clean variant."""
    drawn = draw_panel(run, plan)
    return [(s.problem_id, s.parent or "") for s in drawn.solutions if s.edit == "clean"]


def test_a_cell_takes_one_of_each_question_per_round(run: Run) -> None:
    """Six per cell from four questions: two questions give two, two give one; never more than one round apart."""
    drawn = originals(run, PanelPlan(per_cell=6))
    assert len(drawn) == 18
    per_question = Counter(problem for problem, _ in drawn)
    assert sorted(Counter(per_question.values()).items()) == [(1, 6), (2, 6)]


def test_no_question_gives_more_than_its_share(run: Run) -> None:
    """With 72 wanted and six per question the four questions of a cell give 24."""
    per_question = Counter(problem for problem, _ in originals(run, PanelPlan()))
    assert set(per_question.values()) == {6}
    assert len(per_question) == 12


def test_the_draw_depends_on_ids_and_not_on_the_order_of_lines(run: Run, tmp_path: Path) -> None:
    """The same records in reverse order give the same panel to the byte; another seed gives another one."""
    turned = Run.create(tmp_path / "turned", run.settings)
    for kind in (Problem, Solution, Grade):
        turned.append(reversed(list(run.read(kind))))
    plan = PanelPlan(per_cell=5, edits=("foreign", "dose"), natural=2)
    first, second = draw_panel(run, plan), draw_panel(turned, plan)
    assert [s.to_json() for s in first.solutions] == [s.to_json() for s in second.solutions]
    assert first.digest() == second.digest() == draw_panel(run, plan, jobs=2).digest()
    assert draw_panel(run, PanelPlan(per_cell=5, seed=1)).digest() != draw_panel(run, PanelPlan(per_cell=5)).digest()


def test_every_original_has_all_variants_and_their_grades(run: Run) -> None:
    """Each parent comes with the five variants, each graded; only clean keeps the parent's text and tokens."""
    drawn = draw_panel(run, PanelPlan(per_cell=4))
    edits = Counter(solution.parent for solution in drawn.solutions)
    assert set(edits.values()) == {len(PAPER_EDITS)}
    grades = {grade.solution_id: grade for grade in drawn.grades}
    texts = {solution.id: solution.whole_text for solution in run.read(Solution)}
    for solution in drawn.solutions:
        right = solution.edit in ("clean", "intermediate", "truncation")
        assert grades[solution.id].correct is right
        assert grades[solution.id].grader == GRADER_VERSION
        assert (solution.text == texts[solution.parent or ""]) is (solution.edit == "clean")
        assert (solution.edit_record or {})["verdict"] == ("yes" if solution.edit == "clean" else "no")
        assert (solution.edit_record or {})["regrade"] == ("correct" if right else "wrong")


def test_wrong_short_and_stopped_solutions_are_passed_over_and_counted(tmp_path: Path) -> None:
    """A wrong one, a stopped one, one of exactly 600 tokens and one of unknown length are out, each with its reason."""
    run = make_run(tmp_path / "run", items=1, samples=1)
    base = next(run.read(Solution))
    odd = {
        "wrong": {"completion_tokens": 700},
        "stopped_at_the_limit": {"finish_reason": "length", "completion_tokens": 700},
        "too_short": {"completion_tokens": 600},
        "of_unknown_length": {},
    }
    for name, fields in odd.items():
        right = name != "wrong"
        run.append([Solution(name, base.problem_id, "scripted", 9, base.text, **fields)])  # type: ignore[arg-type]
        run.append([Grade(name, GRADER_VERSION, right, "correct" if right else "wrong")])
    drawn = draw_panel(run, PanelPlan())
    assert dict(drawn.passed_over["scripted/jars_en"]) == dict.fromkeys(odd, 1)
    assert drawn.originals["scripted/jars_en"] == 1


def test_natural_errors_are_the_solver_s_own_wrong_solutions(run: Run) -> None:
    """With natural = 3 each cell gets three wrong solutions as they are, named so."""
    drawn = draw_panel(run, PanelPlan(per_cell=2, natural=3))
    natural = [solution for solution in drawn.solutions if solution.edit == "natural"]
    wrong = {grade.solution_id for grade in run.read(Grade) if not grade.correct}
    assert len(natural) == 9
    assert {solution.parent for solution in natural} <= wrong


def test_a_panel_is_a_run_folder_and_drawing_it_again_changes_nothing(run: Run, tmp_path: Path) -> None:
    """The second command leaves every file as it was; another seed is refused there."""
    plan = PanelPlan(per_cell=3)
    write_panel(draw_panel(run, plan), run, plan, str(tmp_path / "panel"))
    before = {path.name: path.read_bytes() for path in (tmp_path / "panel").glob("*.json*")}
    panel = write_panel(draw_panel(run, plan), run, plan, str(tmp_path / "panel"))
    assert {path.name: path.read_bytes() for path in (tmp_path / "panel").glob("*.json*")} == before
    assert len(list(panel.read(Solution))) == 3 * 3 * 5
    other = PanelPlan(per_cell=3, seed=9)
    with pytest.raises(SettingsMismatch, match="seed"):
        write_panel(draw_panel(run, other), run, other, str(tmp_path / "panel"))


def test_nothing_to_draw_says_why_and_what_to_do(run: Run, tmp_path: Path) -> None:
    """When all chains are too short the message counts them and names the option."""
    with pytest.raises(UndefinedScore, match=r"96 too short.*--min-tokens"):
        draw_panel(run, PanelPlan(min_tokens=5000))
    with pytest.raises(UndefinedScore, match="it has none"):
        draw_panel(Run.create(tmp_path / "empty", {}), PanelPlan())
    with pytest.raises(UsageError, match="--per-cell"):
        draw_panel(run, PanelPlan(per_cell=0))


def test_run_whose_chains_take_no_edit_gives_no_panel(tmp_path: Path) -> None:
    """Where every eligible chain is passed over, the reasons are said and no empty panel is written."""
    run = make_small_run(tmp_path / "run")
    with pytest.raises(UndefinedScore, match="takes every edit"):
        draw_panel(run, PanelPlan(min_tokens=0))
