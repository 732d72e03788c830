"""Draws that depend on ids alone: the same on every machine and under every Python."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, MutableSequence, Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """A stream of draws from a seed and the names of what is drawn.

    Python keeps `random.random()` stable but not `shuffle` and `choice`; these draws are BLAKE2b digests of a counter.

    >>> dice = Dice(7, "solution", "intermediate")
    >>> [dice.below(10) for _ in range(8)]
    [2, 3, 3, 0, 7, 5, 7, 0]
    """

    def __init__(self, *names: object) -> None:
        self._key = hashlib.blake2b(repr([str(name) for name in names]).encode("utf-8", "replace")).digest()
        self._count = 0

    def below(self, n: int) -> int:
        """A whole number from 0 to n - 1, each as likely as any other up to one part in 2**64 / n."""
        self._count += 1
        drawn = hashlib.blake2b(self._count.to_bytes(8, "big"), key=self._key, digest_size=8).digest()
        return int.from_bytes(drawn, "big") % n

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.below(len(options))]

    def shuffled(self, options: MutableSequence[T]) -> Iterator[T]:
        """The options in drawn order, drawn only as far as they are asked for; the list is used up."""
        while options:
            index = self.below(len(options))
            options[index], options[-1] = options[-1], options[index]
            yield options.pop()
