"""Picking the best of N and stopping early, against cases worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from multilingual_math_audit.errors import UndefinedScore, UsageError
from multilingual_math_audit.evaluate.verifier.checkers import clusters, coin, exact, jaccard, over_distinct, symbolic
from multilingual_math_audit.evaluate.verifier.groups import Group, groups_from_arrays
from multilingual_math_audit.evaluate.verifier.scorers import (
    column,
    self_consistency,
    token_probability,
    weighted_vote,
)
from multilingual_math_audit.evaluate.verifier.selection import answer_scores, best_of, by_problem, choose, sizes_up_to
from multilingual_math_audit.evaluate.verifier.stopping import Point, autc, choose_threshold, curve, stop, whole_cost


def timed_group() -> Group:
    """Two sequences: answers A at 10 and B at 30; answer B at 20 (its end). B is right."""
    names = np.array([0, 1, 1])
    return Group(
        states=torch.zeros(3, 2),
        lengths=torch.ones(3, dtype=torch.long),
        sequence=torch.tensor([0, 0, 1]),
        time=torch.tensor([10, 30, 20]),
        equal=torch.from_numpy(names[:, None] == names),
        size=2,
        correct=torch.tensor([False, True, True]),
    )


def voted_group(names: list[int], right: int) -> Group:
    """One answer per sequence with these class names; those of class `right` are right."""
    shape = (1, len(names), 1, 2)
    return groups_from_arrays({"x": np.zeros(shape), "cls": [names], "y": [[int(n == right) for n in names]]})[0]


def test_ties_go_to_the_larger_class_then_the_first() -> None:
    """Equal scores: the answer whose class has more members wins, then the lower place."""
    assert choose(np.array([0.4, 0.4, 0.4, 0.4]), np.array([1, 2, 2, 1])) == 1
    assert choose(np.array([0.4, 0.4 + 1e-12]), np.array([1, 1])) == 0


def test_a_missing_score_is_never_picked() -> None:
    """NaN among the scores raises UndefinedScore instead of winning or losing quietly."""
    with pytest.raises(UndefinedScore):
        choose(np.array([0.4, np.nan]), np.array([1, 1]))


def test_best_of_n_over_disjoint_blocks() -> None:
    """Votes AAB B with A right: N=2 picks A then A or B by the tie rule; N=4 ties and the first class wins."""
    group = voted_group([0, 0, 1, 1], right=0)
    assert best_of([group], self_consistency(), 4).accuracy == 1.0
    assert best_of([group], self_consistency(), 2).accuracy == 0.5
    assert best_of([group], self_consistency(), 1).accuracy == 0.5
    assert sizes_up_to([group]) == [1, 2, 4]


def test_too_few_sequences_are_skipped_and_counted() -> None:
    """N larger than a problem's sequences gives no block: accuracy is NaN and the problem is counted as skipped."""
    result = best_of([voted_group([0, 1], right=0)], self_consistency(), 4)
    assert np.isnan(result.accuracy)
    assert result.skipped == 1
    assert np.isnan(by_problem(result, 1)).all()


def test_a_share_never_passes_one() -> None:
    """Where all answers agree the share is 1 however the sum rounds, so its Brier score is that of certainty."""
    size = 64
    arrays = {"x": np.zeros((1, size, 1, 2)), "cls": [[0] * size], "y": [[1] * size]}
    group = groups_from_arrays(arrays)[0]
    for seed in range(50):
        own = np.random.default_rng(seed).random(size)
        for kind in (np.float32, np.float64):
            scorer = weighted_vote(lambda _, own=own, kind=kind: own.astype(kind))
            assert scorer(group).max() <= 1
            assert answer_scores([group], scorer, size)["brier"] == pytest.approx(0, abs=1e-12)


def test_weighted_vote_by_hand() -> None:
    """Scores .6, .2, .2 on classes A, B, B: shares .6, .4, .4."""
    group = voted_group([0, 1, 1], right=0)
    scores = weighted_vote(lambda _: np.array([0.6, 0.2, 0.2]))(group)
    assert scores == pytest.approx([0.6, 0.4, 0.4])


def test_streaming_vote_waits_for_enough_answers() -> None:
    """With 10 or fewer visible answers the own score stands; the vote sees only answers up to its time."""
    group, own = timed_group(), np.array([0.6, 0.2, 0.3])
    assert weighted_vote(lambda _: own, streaming=True)(group).tolist() == own.tolist()
    shares = weighted_vote(lambda _: own, streaming=True, more_than=0)(group)
    assert shares == pytest.approx([1.0, 0.5 / 1.1, 0.3 / 0.9])


def test_token_probability_is_the_geometric_mean() -> None:
    """exp of the mean log-probability; the arithmetic mean is the other switch; a missing column is refused."""
    group = voted_group([0], right=0)
    logprobs = np.log([0.5, 0.125])
    columns = {
        "mean_logprob": torch.tensor([logprobs.mean()]),
        "mean_probability": torch.tensor([np.exp(logprobs).mean()]),
    }
    vars(group)["columns"] = columns
    assert token_probability()(group) == pytest.approx([0.25])
    assert token_probability(arithmetic=True)(group) == pytest.approx([0.3125])
    with pytest.raises(UsageError, match="prm"):
        column("prm")(group)


def test_stopping_by_hand() -> None:
    """Threshold .5 stops at time 20 with sequence 1's B: 20 + 20 tokens and two branches of one token each."""
    group, scores = timed_group(), np.array([0.2, 0.9, 0.6])
    end = stop(group, scores, 0.5)
    assert (end.time, end.answer, end.triggered, end.correct) == (20, 2, True, True)
    assert (end.generated, end.branch) == (40, 2)
    late = stop(group, scores, 0.95, elicitation=5)
    assert (late.time, late.answer, late.triggered) == (30, 1, False)
    assert (late.generated, late.branch) == (50, 18)
    assert whole_cost(group, elicitation=5) == 50 + 2 + 10


def test_the_threshold_is_strict_and_ties_go_to_the_lower_sequence() -> None:
    """A score equal to the threshold does not stop; equal scores at one time give the lower sequence."""
    group = timed_group()
    vars(group)["time"] = torch.tensor([10, 30, 30])
    assert not stop(group, np.array([0.5, 0.5, 0.5]), 0.5).triggered
    assert stop(group, np.array([0.1, 0.7, 0.7]), 0.5).answer == 1


def test_area_under_the_curve_by_hand() -> None:
    """Points (100, .5) and (200, 1.0) up to 400: 25 + 75 + 200."""
    points = [Point(0.9, 1.0, 200, 0, 0, 1), Point(0.1, 0.5, 100, 0, 0, 1)]
    assert autc(points, horizon=400) == pytest.approx(25 + 75 + 200)
    with pytest.raises(UndefinedScore):
        autc([])


def test_threshold_for_a_wished_accuracy() -> None:
    """The smallest threshold that reaches the wish; none that is out of reach."""
    points = [Point(t, a, 0, 0, 0, 1) for t, a in [(0.0, 0.3), (0.5, 0.6), (0.9, 0.604)]]
    assert choose_threshold(points, accuracy=0.55) == 0.5
    assert choose_threshold(points) == 0.5
    with pytest.raises(UndefinedScore, match=r"0\.604"):
        choose_threshold(points, accuracy=0.9)


def test_a_higher_threshold_never_stops_earlier() -> None:
    """Latency grows with the threshold on random scores."""
    random = np.random.default_rng(0)
    groups = [timed_group() for _ in range(20)]
    points = curve(groups, [random.random(3) for _ in groups])
    assert (np.diff([point.latency for point in points]) >= 0).all()


def test_checkers_are_symmetric_with_a_true_diagonal() -> None:
    """Every checker gives a symmetric matrix, true on the diagonal, the same when asked again."""
    texts = ["1/2", "0.5", " 1/2", "x + 1", "", ""]
    for checker in (exact, jaccard, symbolic, coin):
        matrix = checker(texts)
        assert np.array_equal(matrix, matrix.T)
        assert matrix.diagonal().all()
        assert np.array_equal(matrix, checker(texts))


def test_an_asymmetric_comparison_is_asked_once_per_distinct_pair() -> None:
    """Equal strings are never compared, and a distinct pair only once."""
    asked: list[tuple[str, str]] = []

    def same(a: str, b: str) -> bool:
        asked.append((a, b))
        return True

    over_distinct(["a", "b", "a", "b", "c"], same)
    assert len(asked) == 3


def test_clusters_of_a_relation_that_is_not_transitive() -> None:
    """A=B, B=C but not A=C: greedy first match puts B with A and leaves C alone."""
    relation = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]], dtype=bool)
    assert clusters(relation).tolist() == [0, 0, 1]
