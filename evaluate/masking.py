"""MaskLID, the second layer: which languages a text mixes, found by masking the words of each one found.

After Kargaran, Yvon and Schütze, "MaskLID: Code-Switching Language Identification through Iterative Masking" (ACL
2024): score every word for every language with the classifier's own vectors, take the language of the whole, keep the
words that speak for it, mask those that do, and look again at what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any

import numpy as np

from multilingual_math_audit.evaluate.identify import PREFIX, FastTextDetector, Matrix, fold_label

MOST_WORDS = 1_000


@dataclass(frozen=True, slots=True)
class MaskSettings:
    """How MaskLID masks: a word counts for a language among its best `alpha`, is masked among its best `beta`."""

    alpha: int = 3
    beta: int = 20
    most_languages: int = 3
    min_length: int = 10
    min_share: float = 0.9
    retries: int = 3
    alpha_step: int = 3
    beta_step: int = 5


@dataclass(frozen=True, slots=True)
class Found:
    """One language of a mixed text: its folded code, the words that speak for it, and the classifier's share."""

    language: str
    words: tuple[str, ...]
    share: float


def flores_labels() -> frozenset[str]:
    """The labels of FLORES-200, the only ones MaskLID chooses among."""
    text = (files("multilingual_math_audit.evaluate") / "flores200.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


class MaskLid:
    """MaskLID over a fastText softmax model.

    Only labels in `labels` are chosen among; all the model has when none of them is there.
    """

    def __init__(self, detector: FastTextDetector, *, labels: frozenset[str] | None = None) -> None:
        self._detector = detector
        wanted = flores_labels() if labels is None else labels
        every = [label.removeprefix(PREFIX) for label in detector.model.get_labels()]
        chosen = [index for index, label in enumerate(every) if label in wanted] or list(range(len(every)))
        self.labels = [every[index] for index in chosen]
        self._chosen = chosen
        self._known: dict[str, Matrix] = {}

    @cached_property
    def _output(self) -> Matrix:
        output: Matrix = np.asarray(self._detector.model.get_output_matrix(), dtype=np.float32)[self._chosen]
        return output

    def find(self, text: str, settings: MaskSettings | None = None) -> list[Found]:
        """The languages of a text's first 1,000 words, the strongest first; at most `most_languages`."""
        rules = settings or MaskSettings()
        words = text.split()[:MOST_WORDS]
        if not words:
            return []
        scores = self._score_words(words)
        order = np.argsort(-scores, axis=1)
        ranks = np.empty_like(order)
        np.put_along_axis(ranks, order, np.arange(scores.shape[1])[None, :], axis=1)
        left = np.ones(len(words), dtype=bool)
        found: list[Found] = []
        while left.any() and len(found) < rules.most_languages:
            hit = self._next(words, (scores, ranks), left, rules)
            if hit is None:
                break
            found.append(hit[0])
            left &= ~hit[1]
        return _merged(found)

    def _next(
        self, words: Sequence[str], ranked: tuple[Matrix, Any], left: Any, rules: MaskSettings
    ) -> tuple[Found, Any] | None:
        scores, ranks = ranked
        best = int(np.argmax(scores[left].mean(axis=0)))
        for step in range(rules.retries + 1):
            keeps = left & (ranks[:, best] < rules.alpha + step * rules.alpha_step)
            masked = left & (ranks[:, best] < rules.beta + step * rules.beta_step)
            kept = tuple(word for word, keep in zip(words, keeps, strict=True) if keep)
            if sum(map(len, kept)) < rules.min_length:
                continue
            share = self._share(scores[keeps].mean(axis=0), best)
            if share >= rules.min_share:
                return Found(fold_label(self.labels[best]), kept, share), masked
        return None

    def _share(self, logits: Matrix, best: int) -> float:
        exponents = np.exp(logits - logits.max())
        return float(exponents[best] / exponents.sum())

    def _score_words(self, words: Sequence[str]) -> Matrix:
        """Logits of every word for every label, shape (words, labels)."""
        fresh = [word for word in dict.fromkeys(words) if word not in self._known]
        if fresh:
            model = self._detector.model
            vectors = np.stack([self._word_vector(model, word) for word in fresh])
            self._known.update(zip(fresh, vectors @ self._output.T, strict=True))
        scores = np.stack([self._known[word] for word in words])
        if len(self._known) > 20_000:
            self._known.clear()
        return scores

    def _word_vector(self, model: Any, word: str) -> Matrix:
        """The mean of a word's own and subword vectors, which is how the classifier embeds words; row by row, since a
        copy of GlotLID's whole matrix takes 1.5 GB."""
        rows = model.get_subwords(word)[1]
        if len(rows) == 0:
            return np.zeros(self._output.shape[1], dtype=np.float32)
        vector: Matrix = np.mean([model.get_input_vector(int(row)) for row in rows], axis=0, dtype=np.float32)
        return vector


def _merged(found: Sequence[Found]) -> list[Found]:
    merged: dict[str, Found] = {}
    for hit in found:
        before = merged.get(hit.language)
        words = hit.words if before is None else (*before.words, *hit.words)
        merged[hit.language] = Found(hit.language, words, hit.share if before is None else before.share)
    return sorted(merged.values(), key=lambda hit: -len(hit.words))
