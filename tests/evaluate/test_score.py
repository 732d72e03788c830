"""From records to counts to scores, on small runs whose numbers are worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from multilingual_math_audit.evaluate.answers.grading import GRADER_VERSION
from multilingual_math_audit.evaluate.score import AVERAGE, count_questions, ladder, score_counts, score_run
from multilingual_math_audit.records import Grade, Judgment, Problem, Score, Solution, Verdict
from multilingual_math_audit.store import Run
from multilingual_math_audit.submissions.pack import pack


def _problem(number: int, benchmark: str = "toy") -> Problem:
    return Problem(f"{benchmark}/{number}", benchmark, f"toy/{number}", "en", "?", "1", "integer")


def _solution(problem: Problem, sample: int, finish: str = "stop") -> Solution:
    return Solution(
        id=f"{problem.id}-{sample}",
        problem_id=problem.id,
        solver="s",
        sample=sample,
        text="t",
        finish_reason=finish,  # type: ignore[arg-type]
        completion_tokens=10,
    )


def _judgment(solution: str, sample: int, verdict: Verdict | None, *, capped: bool = False) -> Judgment:
    reason = "verdict" if verdict else "stopped_at_limit" if capped else "no_box"
    return Judgment(
        id=f"{solution}/{sample}",
        solution_id=solution,
        judge="j",
        sample=sample,
        text="",
        reason=reason,  # type: ignore[arg-type]
        verdict=verdict,
        finish_reason="length" if capped else "stop",
        completion_tokens=5,
    )


def _run(folder: Path, *, judge: dict[str, object] | None = None) -> tuple[Run, list[Problem]]:
    """Two questions, four samples each: 2 of 4 correct in the first, 1 of 4 in the second, one sample stopped."""
    run = Run.create(folder / "run", {"solver": {"solver": "s"}, "samples": {"toy": 4}})
    problems = [_problem(1), _problem(2)]
    solutions = [_solution(p, i, "length" if (p.id, i) == ("toy/2", 3) else "stop") for p in problems for i in range(4)]
    right = {"toy/1-0", "toy/1-1", "toy/2-0"}
    grades = [Grade(s.id, GRADER_VERSION, s.id in right, "correct" if s.id in right else "wrong") for s in solutions]
    run.append([*problems, *solutions, *grades])
    if judge is not None:
        run.add_settings("judges", "j", judge)
    return run, problems


def _score(scores: list[Score], metric: str, **names: object) -> Score:
    found = [s for s in scores if s.metric == metric and all(getattr(s, k) == v for k, v in names.items())]
    assert len(found) == 1, (metric, names, found)
    return found[0]


def test_pass_at_k_by_hand(tmp_path: Path) -> None:
    """(2/4 + 1/4) / 2 = 3/8 at k = 1; (1 - 1/6 + 1 - 3/6) / 2 = 2/3 at k = 2; both solved at k = 4."""
    run, _ = _run(tmp_path)
    scores = score_run(run)
    assert [_score(scores, "pass_at_k", k=k).value for k in (1, 2, 4)] == pytest.approx([3 / 8, 2 / 3, 1.0])
    assert _score(scores, "solver_stop_rate").value == 1 / 8
    assert _score(scores, "solver_tokens").value == 80


def test_unjudged_is_pending_never_approved(tmp_path: Path) -> None:
    """Two judgments of three leave a solution pending: CoT-Pass@k then has no value and says how many are missing."""
    run, _ = _run(tmp_path, judge={"samples": 3})
    run.append([_judgment("toy/1-0", i, "yes") for i in range(2)])
    (first, second) = count_questions(run)
    assert (first.judges["j"].judged, first.judges["j"].pending) == (0, 2)
    assert second.judges["j"].pending == 1
    cot = _score(score_run(run), "cot_pass_at_k", judge="j", strategy="majority", k=1)
    assert (cot.value, cot.pending, cot.note) == (None, 3, "incomplete")


def test_strategies_by_hand(tmp_path: Path) -> None:
    """toy/1-0: yes, none, none. toy/1-1: yes, yes, no. toy/2-0: three yes.

    any and majority approve all three, strict majority the last two, all only the last. At k = 1 the majority's
    CoT-Pass@1 is Pass@1 = 3/8, strict majority's (1/4 + 1/4)/2 = 1/4, all's (0 + 1/4)/2 = 1/8.
    """
    run, _ = _run(tmp_path, judge={"samples": 3})
    said = {"toy/1-0": ["yes", None, None], "toy/1-1": ["yes", "yes", "no"], "toy/2-0": ["yes"] * 3}
    run.append([_judgment(s, i, v) for s, verdicts in said.items() for i, v in enumerate(verdicts)])  # type: ignore[arg-type]
    scores = score_run(run)
    values = {
        strategy: _score(scores, "cot_pass_at_k", strategy=strategy, k=1).value
        for strategy in ("any", "majority", "strict_majority", "all")
    }
    assert values == {"any": 3 / 8, "majority": 3 / 8, "strict_majority": 1 / 4, "all": 1 / 8}
    assert _score(scores, "difference", strategy="all", k=1).value == pytest.approx(1 / 4)
    assert _score(scores, "single_vote").value == pytest.approx(1 / 3)
    assert _score(scores, "no_verdict").value == pytest.approx(2 / 9)
    assert _score(scores, "acceptance", strategy="all").value == pytest.approx(1 / 3)


def test_counterfactual_only_raises(tmp_path: Path) -> None:
    """no + two stopped ones becomes approved when the stopped are credited; one that stopped *with* a no does not."""
    run, _ = _run(tmp_path, judge={"samples": 3})
    run.append([_judgment("toy/1-0", 0, "no")] + [_judgment("toy/1-0", i, None, capped=True) for i in (1, 2)])
    run.append([_judgment("toy/1-1", i, "no", capped=True) for i in range(3)])
    run.append([_judgment("toy/2-0", 0, "yes"), _judgment("toy/2-0", 1, None), _judgment("toy/2-0", 2, None)])
    first, second = count_questions(run)
    assert (first.judges["j"].approved["majority"], first.judges["j"].credited) == (0, 1)
    assert (second.judges["j"].approved["majority"], second.judges["j"].credited) == (1, 1)
    assert first.judges["j"].stopped == 5


def test_early_stopping_decides_the_majority_alone(tmp_path: Path) -> None:
    """With early stopping two equal verdicts are enough for the majority; strategies that need the third are absent."""
    run, _ = _run(tmp_path, judge={"samples": 3, "stop_early": "majority"})
    run.append([_judgment(s, i, "yes") for s in ("toy/1-0", "toy/1-1", "toy/2-0") for i in range(2)])
    scores = score_run(run)
    assert _score(scores, "cot_pass_at_k", strategy="majority", k=1).value == 3 / 8
    assert not [s for s in scores if s.strategy in ("any", "all")]


def test_missing_samples_and_grades_are_said(tmp_path: Path) -> None:
    """A question that lacks a sample makes its cell incomplete, and so does a sample without a grade."""
    run = Run.create(tmp_path / "run", {"solver": {"solver": "s"}, "samples": {"toy": 2}})
    problem = _problem(1)
    run.append([problem, _solution(problem, 0)])
    score = _score(score_run(run), "pass_at_k", k=1)
    assert (score.value, score.pending) == (None, 2)


def test_variants_are_not_samples(tmp_path: Path) -> None:
    """A solution with a parent belongs to an audit and counts in no Pass@k."""
    run, (problem, _) = _run(tmp_path)
    run.append([Solution("v", problem.id, "s", 9, "t", parent="toy/1-0", edit="clean")])
    assert count_questions(run)[0].n == 4


def test_average_is_weighted_by_questions(tmp_path: Path) -> None:
    """Over two benchmarks of one and three questions the average is over the four questions."""
    run = Run.create(tmp_path / "run", {"solver": {"solver": "s"}, "samples": {"a": 1, "b": 1}})
    problems = [_problem(1, "a"), *(_problem(i, "b") for i in (1, 2, 3))]
    solutions = [_solution(p, 0) for p in problems]
    run.append(
        [*problems, *solutions, *(Grade(s.id, GRADER_VERSION, s.problem_id == "a/1", "correct") for s in solutions)]
    )
    assert _score(score_run(run), "pass_at_k", benchmark=AVERAGE, k=1).value == 1 / 4


def test_same_records_same_bytes(tmp_path: Path) -> None:
    """Scores depend on what was recorded, not on the order in which it was."""
    run, _ = _run(tmp_path, judge={"samples": 3})
    judgments = [_judgment(s, i, "yes") for s in ("toy/1-0", "toy/1-1", "toy/2-0") for i in range(3)]
    run.append(judgments)
    other, _ = _run(tmp_path / "other", judge={"samples": 3})
    other.append(reversed(judgments))
    assert [s.to_json() for s in score_run(run)] == [s.to_json() for s in score_run(other)]


def test_no_questions_no_scores() -> None:
    """Nothing in, nothing out."""
    assert score_counts([]) == []


def test_ladder() -> None:
    """Powers of two, and n itself."""
    assert (ladder(64), ladder(16), ladder(6), ladder(1), ladder(0)) == (
        [1, 2, 4, 8, 16, 32, 64],
        [1, 2, 4, 8, 16],
        [1, 2, 4, 6],
        [1],
        [],
    )


def test_an_aborted_sample_did_not_meet_its_limit(tmp_path: Path) -> None:
    """Of four samples one stopped at the limit, one was aborted and one failed without a text: one in four stopped.

    Tokens are those of the three that have a text; the submission says the same.
    """
    run = Run.create(tmp_path / "run", {"solver": {"solver": "s", "mode": "base", "budget": 9}, "samples": {"toy": 4}})
    reasons: list[Any] = ["stop", "length", "aborted"]
    solutions = [
        Solution(id=f"s{i}", problem_id="toy/1", solver="s", sample=i, text="t", finish_reason=why, completion_tokens=5)
        for i, why in enumerate(reasons)
    ]
    failed = Solution(id="s3", problem_id="toy/1", solver="s", sample=3, text="", finish_reason="error")
    run.append([_problem(1), *solutions, failed])
    run.append(Grade(s.id, GRADER_VERSION, True, "correct") for s in [*solutions, failed])
    scores = score_run(run)
    stops, tokens = _score(scores, "solver_stop_rate"), _score(scores, "solver_tokens")
    assert (stops.value, stops.n, stops.note, tokens.value) == (0.25, 4, None, 15.0)
    counts = pack(run).benchmarks["toy"]
    assert (counts.stopped, counts.completion_tokens) == ([1], [15])


def test_what_a_harness_did_not_say_is_no_zero(tmp_path: Path) -> None:
    """Of four samples two do not say why they ended or how long they were: half of the others stopped, no token sum."""
    run = Run.create(tmp_path / "run", {"solver": {"solver": "s"}, "samples": {"toy": 4}})
    known = [_solution(_problem(1), 0, "length"), _solution(_problem(1), 1)]
    silent = [
        Solution(id=f"s{i}", problem_id="toy/1", solver="s", sample=i, text="t", finish_reason="unknown")
        for i in (2, 3)
    ]
    run.append([_problem(1), *known, *silent])
    run.append(Grade(s.id, GRADER_VERSION, True, "correct") for s in [*known, *silent])
    scores = score_run(run)
    stops, tokens = _score(scores, "solver_stop_rate"), _score(scores, "solver_tokens")
    assert (stops.value, stops.n, stops.note) == (0.5, 2, "2 of 4 do not say why they ended")
    assert (tokens.value, tokens.undefined, tokens.note) == (None, 2, "2 of 4 do not say how long they are")
