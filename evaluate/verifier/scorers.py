"""Scorers of answers: a group in, one probability or score per answer out. Baselines that need no training are here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.verifier.checkers import clusters
from multilingual_math_audit.evaluate.verifier.checkpoint import Checkpoint
from multilingual_math_audit.evaluate.verifier.groups import Group, agreement

Scores = NDArray[np.float64]
Scorer = Callable[[Group], Scores]
VISIBLE = 10
CLIP = 1e-6


def self_consistency(*, streaming: bool = False) -> Scorer:
    """The share of sequences whose latest answer equals this one (Wang et al., 2023)."""
    return lambda group: agreement(group, streaming=streaming).numpy().astype(np.float64)


def column(name: str) -> Scorer:
    """A number that came with the states, such as `prm`; raises UsageError when the group has none of that name."""

    def score(group: Group) -> Scores:
        if name not in group.columns:
            raise UsageError(f"The states hold no {name!r}.", f"They hold: {', '.join(group.columns) or 'none'}.")
        return group.columns[name].numpy().astype(np.float64)

    return score


def token_probability(*, arithmetic: bool = False) -> Scorer:
    """Geometric mean of the answer's token probabilities, exp(mean log p); or their arithmetic mean (as in DEER)."""
    if arithmetic:
        return lambda group: np.minimum(column("mean_probability")(group), 1.0)
    return lambda group: np.exp(np.minimum(column("mean_logprob")(group), 0.0))


def weighted_vote(scorer: Scorer, *, streaming: bool = False, more_than: int = VISIBLE) -> Scorer:
    """The share of all scores that lies on answers equal to this one: sum of their scores over the sum of all.

    Streaming: over the answers at or before this one's time, and only when more than `more_than` are visible, else the
    answer's own score stands.
    """

    def score(group: Group) -> Scores:
        own, equal = np.asarray(scorer(group), dtype=np.float64), group.equal.numpy()
        if not streaming:
            return _share(equal @ own, own.sum())
        visible = group.time.numpy()[None] <= group.time.numpy()[:, None]
        share = _share((equal & visible) @ own, visible @ own)
        return np.where(visible.sum(1) > more_than, share, own)

    return score


def _share(part: Scores, whole: Scores) -> Scores:
    # The same numbers summed in another order may give a little more than their sum, which is no probability.
    return np.minimum(part / np.maximum(whole, CLIP), 1.0)


def trained(model: Checkpoint[Any]) -> Scorer:
    """A trained checkpoint as a scorer of the whole group."""
    return model.probabilities


def in_groups(model: Checkpoint[Any], size: int) -> Scorer:
    """A terminal checkpoint on more sequences than it reads at once: groups of `size`, logits averaged over classes.

    Each group is scored alone, with its own agreement; an answer's logit is then the mean over all answers of its
    class, in whatever group.
    """

    def score(group: Group) -> Scores:
        parts = [group.subset(range(at, min(at + size, group.size))) for at in range(0, group.size, size)]
        scores = np.concatenate(model.score_groups(parts))
        if model.config.streaming:
            return scores
        clipped = np.clip(scores, CLIP, 1 - CLIP)
        logits = np.log(clipped) - np.log1p(-clipped)
        equal = group.equal.numpy()
        return np.asarray(1 / (1 + np.exp(-(equal @ logits) / equal.sum(1))))

    return score


def class_sizes(group: Group) -> NDArray[np.int64]:
    """[A]: how many answers of the group are in the same class by greedy first match."""
    names = clusters(group.equal.numpy())
    return np.bincount(names)[names]
