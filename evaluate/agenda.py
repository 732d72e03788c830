"""What to ask a judge next: which judgments can still change a decision, in which order, and for how much.

Everything here is a function of ids, texts and verdicts; the stage `judge` asks, these functions decide what.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.verdicts import STRATEGIES, Strategy, approves
from multilingual_math_audit.records import Judgment, Solution, Verdict, judgment_id

SAME_TEXT = "same text as "

OUTCOMES: tuple[Verdict | None, ...] = ("yes", "no", None)


def is_decided(verdicts: Sequence[Verdict | None], strategy: Strategy = "majority", *, samples: int = 3) -> bool:
    """Whether no further judgment, whatever it says, can change what `samples` judgments would decide.

    Two decisions must be beyond change: the one as observed, and the one of the counterfactual that credits missing
    verdicts as approvals. So yes-yes and no-no are decided under majority, and a pair with a missing one is not.

    >>> is_decided(["yes", "yes"]), is_decided(["no", "no"]), is_decided(["yes", "no"]), is_decided(["no", None])
    (True, True, False, False)
    >>> is_decided(["yes"], "any"), is_decided(["no"], "all"), is_decided([None], "all")
    (True, True, False)
    """
    return _is_decided(tuple(verdicts), strategy, samples)


@functools.cache
def _is_decided(verdicts: tuple[Verdict | None, ...], strategy: Strategy, samples: int) -> bool:
    left = samples - len(verdicts)
    if left <= 0:
        return True
    credited = [value or "yes" for value in verdicts]
    futures = list(itertools.product(OUTCOMES, repeat=left))
    observed = {approves([*verdicts, *future], strategy) for future in futures}
    if len(observed) > 1:
        return False
    return len({approves([*credited, *(value or "yes" for value in future)], strategy) for future in futures}) == 1


def next_samples(
    verdicts: Mapping[int, Verdict | None], *, samples: int = 3, stop_early: Strategy | None = None
) -> list[int]:
    """The sample numbers to ask for next about one solution, given the verdicts there are by sample number.

    Without `stop_early` these are all that are missing. With a strategy they are the fewest that may decide it: two of
    three under majority, then the third if the two leave it open.

    >>> next_samples({0: "yes"}), next_samples({}, stop_early="majority")
    ([1, 2], [0, 1])
    >>> next_samples({0: "yes", 1: "yes"}, stop_early="majority"), next_samples({0: "yes", 1: None}, stop_early="all")
    ([], [2])
    """
    missing = [sample for sample in range(samples) if sample not in verdicts]
    if stop_early is None:
        return missing
    known = [verdicts[sample] for sample in sorted(verdicts)]
    for more in range(len(missing) + 1):
        for future in itertools.product(OUTCOMES, repeat=more):
            if is_decided([*known, *future], stop_early, samples=samples):
                return missing[:more]
    return missing


def preserved_strategies(stop_early: Strategy | None, *, samples: int = 3) -> tuple[Strategy, ...]:
    """The strategies whose decisions are the same with early stopping as with all judgments.

    >>> preserved_strategies("majority"), preserved_strategies("all")
    (('majority', 'strict_majority'), ('all',))
    """
    if stop_early is None:
        return STRATEGIES
    return tuple(strategy for strategy in STRATEGIES if _preserves(stop_early, strategy, samples))


def _preserves(stop_early: Strategy, strategy: Strategy, samples: int) -> bool:
    for outcome in itertools.product(OUTCOMES, repeat=samples):
        asked: dict[int, Verdict | None] = {}
        while wanted := next_samples(asked, samples=samples, stop_early=stop_early):
            asked.update({sample: outcome[sample] for sample in wanted})
        if approves(list(asked.values()), strategy) != approves(outcome, strategy):
            return False
    return True


@dataclass(frozen=True, slots=True)
class Place:
    """Where a solution stands in the order of work: all that ordering needs of it, without its text."""

    id: str
    problem_id: str
    parent: str | None = None
    edit: str | None = None
    text_digest: str = ""


def place_of(solution: Solution) -> Place:
    """The place of a solution."""
    text = solution.whole_text.encode("utf-8", "replace")
    return Place(
        solution.id,
        solution.problem_id,
        solution.parent,
        solution.edit,
        hashlib.blake2b(text, digest_size=16).hexdigest(),
    )


def order_places(places: Iterable[Place]) -> list[Place]:
    """Places so that prompts with a common beginning follow each other: the same problem together, the variants of
    one original together, the clean one first; otherwise in the order given.

    >>> a, b = Place("a", "p1"), Place("b", "p2")
    >>> [place.id for place in order_places([Place("a2", "p1", "a", "final"), b, a, Place("a1", "p1", "a", "clean")])]
    ['a', 'a1', 'a2', 'b']
    """
    problems: dict[str, int] = {}
    originals: dict[str, int] = {}
    ranked = []
    for number, place in enumerate(places):
        problem = problems.setdefault(place.problem_id, len(problems))
        original = originals.setdefault(place.parent or place.id, len(originals))
        edited = 0 if place.parent is None else 1 if place.edit == "clean" else 2
        ranked.append(((problem, original, edited, number), place))
    ranked.sort(key=lambda pair: pair[0])
    return [place for _, place in ranked]


def find_duplicates(places: Iterable[Place]) -> dict[str, str]:
    """For each solution whose text another solution of the same problem had before it, the id of that first one.

    >>> find_duplicates([Place("a", "p", text_digest="x"), Place("b", "p", text_digest="x")])
    {'b': 'a'}
    """
    first: dict[tuple[str, str], str] = {}
    return {
        place.id: original
        for place in places
        if (original := first.setdefault((place.problem_id, place.text_digest), place.id)) != place.id
    }


def copy_judgment(judgment: Judgment, *, solution_id: str) -> Judgment:
    """The same judgment about a solution of the same text: it names its source and counts no tokens of its own."""
    return dataclasses.replace(
        judgment,
        id=judgment_id(solution_id, judgment.judge, judgment.settings or "", judgment.sample),
        solution_id=solution_id,
        prompt_tokens=None,
        completion_tokens=None,
        cached_tokens=None,
        source=SAME_TEXT + judgment.solution_id,
    )


def is_copy(judgment: Judgment) -> bool:
    """Whether a judgment was taken over from a solution of the same text, as `copy_judgment` does."""
    return judgment.source is not None and judgment.source.startswith(SAME_TEXT)


def shared_prefix(prompts: Iterable[str]) -> tuple[int, int]:
    """Characters that prompts have in common with the one before them, and characters in all.

    >>> shared_prefix(["solve 1+1: a", "solve 1+1: b"])
    (11, 24)
    """
    shared = total = 0
    previous = ""
    for prompt in prompts:
        shared += len(os.path.commonprefix([previous, prompt]))  # noqa: RUF071 (characters are what is wanted)
        total += len(prompt)
        previous = prompt
    return shared, total


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens."""

    prompt: float
    completion: float

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Dollars for so many tokens.

        >>> Prices(0.5, 2.0).cost(1_000_000, 500_000)
        1.5
        """
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / 1e6


class Budget:
    """A limit on tokens (prompt and completion together) or dollars that is never passed.

    A request is let through only if the worst it can cost, on top of what is spent and of the worst that is under way,
    stays within the limit; when its answer comes, what it did not use is free again.

    >>> budget = Budget(max_tokens=100)
    >>> [budget.reserve(name, prompt_tokens=10, completion_tokens=50) for name in "ab"]
    [True, False]
    >>> budget.settle("a", prompt_tokens=10, completion_tokens=20)
    >>> budget.reserve("b", prompt_tokens=10, completion_tokens=50), budget.tokens
    (True, 30)
    """

    def __init__(
        self, *, max_tokens: int | None = None, max_usd: float | None = None, prices: Prices | None = None
    ) -> None:
        if max_usd is not None and prices is None:
            raise UsageError("--max-usd needs prices.", "Give the US dollars per million tokens: --prices 0.28,0.42.")
        self.max_tokens, self.max_usd, self.prices = max_tokens, max_usd, prices
        self.prompt_tokens = self.completion_tokens = self.uncounted = 0
        self._under_way: dict[str, tuple[int, int]] = {}
        self._reserved = (0, 0)

    @property
    def tokens(self) -> int:
        """Tokens spent."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def usd(self) -> float | None:
        """Dollars spent; absent without prices."""
        return None if self.prices is None else self.prices.cost(self.prompt_tokens, self.completion_tokens)

    def reserve(self, request: str, *, prompt_tokens: int, completion_tokens: int) -> bool:
        """Set aside the worst a request can cost; False, and nothing set aside, when that could pass the limit."""
        reserved = (self._reserved[0] + prompt_tokens, self._reserved[1] + completion_tokens)
        prompt, completion = self.prompt_tokens + reserved[0], self.completion_tokens + reserved[1]
        if self.max_tokens is not None and prompt + completion > self.max_tokens:
            return False
        if self.max_usd is not None and self.prices is not None and self.prices.cost(prompt, completion) > self.max_usd:
            return False
        self._under_way[request] = (prompt_tokens, completion_tokens)
        self._reserved = reserved
        return True

    def settle(self, request: str, *, prompt_tokens: int | None, completion_tokens: int | None) -> None:
        """Record what a request did cost; where the engine does not know, the worst is taken and counted aloud."""
        worst = self._under_way.pop(request, (0, 0))
        self._reserved = (self._reserved[0] - worst[0], self._reserved[1] - worst[1])
        self.uncounted += prompt_tokens is None or completion_tokens is None
        self.prompt_tokens += worst[0] if prompt_tokens is None else prompt_tokens
        self.completion_tokens += worst[1] if completion_tokens is None else completion_tokens

    def spend(self, judgments: Iterable[Judgment]) -> None:
        """Count judgments that were paid for before, when a run goes on."""
        for judgment in judgments:
            self.prompt_tokens += judgment.prompt_tokens or 0
            self.completion_tokens += judgment.completion_tokens or 0

    @property
    def under_way(self) -> Collection[str]:
        """The requests whose answers have not come."""
        return self._under_way.keys()


def worst_prompt_tokens(prompt: str) -> int:
    """No tokenizer of bytes gives a text more tokens than it has bytes; 256 are added for a chat template.

    >>> worst_prompt_tokens("x" * 100)
    356
    """
    return len(prompt.encode("utf-8", "replace")) + 256
