"""Two synthetic benchmarks whose answers' correctness is known: SynGroups-v1 (terminal) and SynStream-v1 (in time).

A problem has a difficulty b ~ N(b_mu, b_sd^2); a sequence is right with probability sigmoid(-b); wrong answers fall in
K classes with weights ~ Dirichlet(dir_a). A latent signal holds a weak sign of correctness, an effect shared by equal
answers and one shared by the problem, so that only a comparison across sequences can tell them apart; a second
direction of the states reads the difficulty. Same seed, same digits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilingual_math_audit.evaluate.verifier.groups import ABSENT

Array = NDArray[Any]
SPLITS = {"train": (224, 1), "validation": (64, 1001), "test": (448, 3001)}


@dataclass(frozen=True)
class SynGroups:
    """Settings of the terminal benchmark; the defaults are version 1."""

    N: int = 64
    d: int = 128
    T: int = 6
    Tmin: int = 3
    K: int = 12
    b_mu: float = 0.8
    b_sd: float = 3.0
    dir_a: float = 0.15
    a: float = 0.5
    s_cls: float = 0.5
    s_grp: float = 0.5
    s_seq: float = 0.9
    tok_noise: float = 1.0
    e_sd: float = 0.5
    d_grp: float = 0.5
    d_seq: float = 0.5
    early: float = 0.5
    projection_seed: int = 1234


@dataclass(frozen=True)
class SynStream(SynGroups):
    """Settings of the streaming benchmark; A: answers per sequence at most, Tmax: the longest sequence."""

    N: int = 16
    A: int = 8
    d: int = 64
    T: int = 4
    s_ans: float = 0.5
    Tmax: int = 4096
    projection_seed: int = 99


@dataclass(frozen=True)
class _Directions:
    signal: Array
    difficulty: Array
    scale: Array
    position: Array
    mean: Array

    @classmethod
    def draw(cls, seed: int, width: int, tokens: int) -> _Directions:
        """Two orthonormal directions and the shift and scale of token states, shared by all splits."""
        random = np.random.default_rng(seed)
        first = random.normal(size=width)
        first /= np.linalg.norm(first)
        second = random.normal(size=width)
        second -= second @ first * first
        second /= np.linalg.norm(second)
        scale = np.exp(random.normal(size=width) * 0.3)
        return cls(first, second, scale, random.normal(size=(tokens, width)) * 0.5, random.normal(size=width) * 0.5)

    def state(self, strength: tuple[Array, Array], class_vector: Array, token: int, noise: Array) -> Array:
        """Token states from the weighted signal and difficulty [...], class vectors and noise [..., d]."""
        gain = np.sqrt(len(self.scale)) / 4
        signal = strength[0][..., None] * self.signal * gain + strength[1][..., None] * self.difficulty * gain
        return np.asarray((signal + class_vector + self.position[token] + self.mean + noise) * self.scale)


def syngroups(count: int, seed: int, settings: SynGroups | None = None) -> dict[str, Array]:
    """`count` problems as padded arrays: x [G, N, T, d] float32, lens, cls and y [G, N], and s, the latent signal.

    >>> data = syngroups(2, seed=1, settings=SynGroups(N=4, d=8))
    >>> data["x"].shape, data["y"].shape
    ((2, 4, 6, 8), (2, 4))
    """
    c = settings or SynGroups()
    directions = _Directions.draw(c.projection_seed, c.d, c.T)
    random = np.random.default_rng(seed)
    b = random.normal(c.b_mu, c.b_sd, count)
    right = 1 / (1 + np.exp(b))
    popularity = random.dirichlet(np.full(c.K, c.dir_a), count)
    y = (random.random((count, c.N)) < right[:, None]).astype(int)
    wrong = np.stack([random.choice(c.K, size=c.N, p=row) for row in popularity]) + 1
    answer = np.where(y == 1, 0, wrong)
    class_effect, group_effect = random.normal(0, c.s_cls, (count, c.K + 1)), random.normal(0, c.s_grp, count)
    s = c.a * (2 * y - 1) + np.take_along_axis(class_effect, answer, 1) + group_effect[:, None]
    s = s + random.normal(0, c.s_seq, (count, c.N))
    vectors = random.normal(0, c.e_sd, (count, c.K + 1, c.d))
    lengths = random.integers(c.Tmin, c.T + 1, (count, c.N))
    reading = ((b - c.b_mu) / c.b_sd + random.normal(0, c.d_grp, count))[:, None]
    reading = reading + random.normal(0, c.d_seq, (count, c.N))
    class_vector = np.take_along_axis(vectors, answer[..., None], 1)
    x = np.zeros((count, c.N, c.T, c.d), np.float32)
    for token in range(c.T):
        weight = np.where(token == lengths - 1, 1.0, c.early)
        noise = random.normal(0, c.tok_noise, (count, c.N, c.d))
        x[:, :, token] = directions.state((s * weight, reading * weight), class_vector, token, noise)
        x[:, :, token][token >= lengths] = 0
    names = np.stack([random.permutation(c.K + 1) for _ in range(count)])
    return {"x": x, "lens": lengths, "cls": np.take_along_axis(names, answer, 1), "y": y, "s": s}


def synstream(count: int, seed: int, settings: SynStream | None = None) -> dict[str, Array]:
    """`count` problems in time: x [G, N, A, T, d] float32; t, valid, cls and y [G, N, A]; L [G, N], lengths in tokens.

    A sequence guesses until it commits to its final answer at a Beta(2, 2) share of its length; its signal grows with
    progress. Its last answer is at t = L.

    >>> data = synstream(2, seed=1, settings=SynStream(N=3, d=8))
    >>> data["x"].shape, bool((data["t"].min(axis=2) <= data["L"]).all())
    ((2, 3, 8, 4, 8), True)
    """
    c = settings or SynStream()
    directions = _Directions.draw(c.projection_seed, c.d, c.T)
    random = np.random.default_rng(seed)
    shape = (count, c.N, c.A)
    b = random.normal(c.b_mu, c.b_sd, count)
    right = 1 / (1 + np.exp(b))
    popularity = random.dirichlet(np.full(c.K, c.dir_a), count)
    length = np.exp(random.normal(np.log(1600) + 0.12 * b[:, None], 0.45, (count, c.N)))
    length = np.clip(length, 300, c.Tmax).astype(int)
    finally_right = random.random((count, c.N)) < right[:, None]
    finally_wrong = np.stack([random.choice(c.K, c.N, p=row) for row in popularity]) + 1
    final = np.where(finally_right, 0, finally_wrong)
    commit = random.beta(2, 2, (count, c.N))
    answers = np.clip(random.poisson(length / 250) + 1, 1, c.A)
    random.random(shape)  # unused: version 1 draws it
    valid = np.arange(c.A)[None, None] < answers[..., None]
    t = _answer_times(random, length, answers, c.A)
    progress = t / length[..., None]
    guess_right = random.random(shape) < (0.3 * right)[:, None, None]
    mixed = [0.5 * row + 0.5 / c.K for row in popularity]
    guess_wrong = np.stack([random.choice(c.K, (c.N, c.A), p=row) for row in mixed]) + 1
    committed = (progress >= commit[..., None]) | (progress >= 1)
    answer = np.where(committed, final[..., None], np.where(guess_right, 0, guess_wrong))
    y = (answer == 0).astype(int)
    class_effect, group_effect = random.normal(0, c.s_cls, (count, c.K + 1)), random.normal(0, c.s_grp, count)
    shared = np.take_along_axis(np.broadcast_to(class_effect[:, None], (count, c.N, c.K + 1)), answer, 2)
    s = c.a * (2 * y - 1) + shared + random.normal(0, c.s_seq, (count, c.N))[..., None]
    s = (s + random.normal(0, c.s_ans, shape)) * (0.4 + 0.6 * progress)
    s = s + group_effect[:, None, None] + 0.6 * (progress - 0.5)
    reading = ((b - c.b_mu) / c.b_sd + random.normal(0, c.d_grp, count))[:, None, None]
    reading = (reading + random.normal(0, c.d_seq, (count, c.N))[..., None]) * np.ones((1, 1, c.A))
    vectors = random.normal(0, c.e_sd, (count, c.K + 1, c.d))
    class_vector = np.stack([vectors[g][answer[g]] for g in range(count)])
    x = np.zeros((*shape, c.T, c.d), np.float32)
    for token in range(c.T):
        weight = 1.0 if token == c.T - 1 else c.early
        noise = random.normal(0, c.tok_noise, (*shape, c.d))
        x[:, :, :, token] = directions.state((s * weight, reading * weight), class_vector, token, noise)
    names = np.stack([random.permutation(c.K + 1) for _ in range(count)])
    classes = np.stack([names[g][answer[g]] for g in range(count)])
    return {"x": x, "t": np.where(valid, t, ABSENT), "valid": valid, "y": y, "L": length, "cls": classes}


def _answer_times(random: np.random.Generator, length: Array, answers: Array, most: int) -> Array:
    times = np.zeros((*length.shape, most), int)
    for place in np.ndindex(length.shape):
        share = np.sort(random.random(answers[place] - 1)) * 0.95 + 0.02
        times[place][: answers[place]] = np.r_[np.floor(share * length[place]), length[place]].astype(int)
    return times


def split(settings: SynGroups, name: str) -> dict[str, Array]:
    """One of the benchmark's splits: train (224 problems, seed 1), validation (64, 1001) or test (448, 3001)."""
    count, seed = SPLITS[name]
    if isinstance(settings, SynStream):
        return synstream(count, seed, replace(settings))
    return syngroups(count, seed, settings)
