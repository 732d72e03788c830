"""Which answers are the same: a symmetric matrix over answer strings. Nothing here or later assumes transitivity."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilingual_math_audit.errors import MissingExtra, UnknownName
from multilingual_math_audit.records import digest

Matrix = NDArray[np.bool_]
Checker = Callable[[Sequence[str]], Matrix]
JACCARD = 0.8
COSINE = 0.95
TOKEN = re.compile(r"\\[A-Za-z]+|[A-Za-z]+|\d+|\S")


def open_checker(name: str, *, model: str | None = None, language: str = "any", seed: int = 0) -> Checker:
    """The checker of a name: symbolic, exact, jaccard, embedding (needs `model`, a sentence encoder) or random.

    >>> open_checker("exact")(["1/2", " 1/2", "0.5"]).astype(int).tolist()
    [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    """
    if name == "embedding":
        if model is None:
            raise UnknownName("The embedding checker needs a sentence encoder.", "Give --checker-model FOLDER_OR_NAME.")
        return Embedding(model)
    checkers: dict[str, Checker] = {
        "symbolic": lambda texts: symbolic(texts, language=language),
        "exact": exact,
        "jaccard": jaccard,
        "random": lambda texts: coin(texts, seed=seed),
    }
    if name not in checkers:
        raise UnknownName(f"There is no checker {name!r}.", f"Checkers: {', '.join([*checkers, 'embedding'])}.")
    return checkers[name]


def symbolic(texts: Sequence[str], *, language: str = "any") -> Matrix:
    """Equal as mathematics by this package's grader, asked both ways; an empty answer equals only itself's like."""
    from multilingual_math_audit.evaluate.answers.equivalence import answers_equal

    def same(a: str, b: str) -> bool:
        if not a or not b:
            return False
        return answers_equal(a, b, language=language).equal or answers_equal(b, a, language=language).equal

    return over_distinct(texts, same)


def exact(texts: Sequence[str]) -> Matrix:
    """Equal as strings once outer spaces are stripped and inner ones collapsed."""
    return over_distinct(texts, lambda a, b: False)


def jaccard(texts: Sequence[str], threshold: float = JACCARD) -> Matrix:
    """Equal when the sets of tokens share at least `threshold` of their union.

    >>> bool(jaccard(["x + y + z + 1", "1 + x + y + z"])[0, 1])
    True
    """

    def same(a: str, b: str) -> bool:
        left, right = set(TOKEN.findall(a)), set(TOKEN.findall(b))
        union = left | right
        return bool(union) and len(left & right) / len(union) >= threshold

    return over_distinct(texts, same)


def coin(texts: Sequence[str], *, seed: int = 0) -> Matrix:
    """A fair coin per unordered pair of answers, tossed by a digest of seed, texts and places; true on the diagonal."""
    return toss(len(texts), digest(seed, list(texts)))


def toss(count: int, salt: str) -> Matrix:
    """[count, count] fair coins, symmetric, true on the diagonal, the same for the same salt.

    >>> bool((toss(5, "a") == toss(5, "a").T).all()), toss(2, "b").diagonal().tolist()
    (True, [True, True])
    """
    random = np.random.default_rng(int(digest("coin", salt), 16))
    upper = np.triu(random.random((count, count)) < 0.5, 1)
    return np.asarray(upper | upper.T | np.eye(count, dtype=bool))


class Embedding:
    """Equal when the mean-pooled embeddings of a sentence encoder have a cosine of at least `threshold`."""

    def __init__(self, model: str, threshold: float = COSINE) -> None:
        try:
            from transformers import AutoModel, AutoTokenizer
        except ImportError:
            raise MissingExtra("The embedding checker", "verifier") from None
        try:
            self.tokenizer = AutoTokenizer.from_pretrained(model)
            self.model = AutoModel.from_pretrained(model).eval()
        except (OSError, ValueError) as error:
            raise UnknownName(f"The sentence encoder {model} cannot be loaded: {str(error).splitlines()[0]}") from None
        self.threshold = threshold
        self._known: dict[str, NDArray[Any]] = {}

    def __call__(self, texts: Sequence[str]) -> Matrix:
        """The matrix of one problem's answers; each distinct text is encoded once."""
        distinct = sorted({normalised(text) for text in texts} - self._known.keys())
        for at in range(0, len(distinct), 64):
            self._encode(distinct[at : at + 64])
        return over_distinct(texts, lambda a, b: float(self._known[a] @ self._known[b]) >= self.threshold)

    def _encode(self, texts: list[str]) -> None:
        import torch

        inputs = self.tokenizer([text or " " for text in texts], padding=True, truncation=True, return_tensors="pt")
        with torch.inference_mode():
            states = self.model(**inputs).last_hidden_state
        mask = inputs["attention_mask"][..., None]
        pooled = torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=-1).numpy()
        self._known.update(zip(texts, pooled, strict=True))


def normalised(text: str) -> str:
    """Outer spaces stripped, inner ones collapsed."""
    return " ".join(text.split())


def over_distinct(texts: Sequence[str], same: Callable[[str, str], bool]) -> Matrix:
    """The matrix over all answers from a comparison asked once per pair of distinct strings."""
    names = [normalised(text) for text in texts]
    distinct = list(dict.fromkeys(names))
    place = {name: index for index, name in enumerate(distinct)}
    table = np.eye(len(distinct), dtype=bool)
    for i, a in enumerate(distinct):
        for j in range(i):
            table[i, j] = table[j, i] = same(a, distinct[j])
    index = [place[name] for name in names]
    return np.asarray(table[np.ix_(index, index)])


def clusters(equal: Matrix) -> NDArray[np.int64]:
    """A class for each answer by greedy first match: that of the first earlier class whose founder it equals.

    >>> clusters(np.array([[1, 0, 1], [0, 1, 1], [1, 1, 1]], dtype=bool)).tolist()
    [0, 1, 0]
    """
    founders: list[int] = []
    names = np.zeros(len(equal), dtype=np.int64)
    for answer in range(len(equal)):
        for name, founder in enumerate(founders):
            if equal[answer, founder]:
                names[answer] = name
                break
        else:
            names[answer] = len(founders)
            founders.append(answer)
    return names
