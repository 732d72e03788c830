"""Cheaper judging gives the same decisions."""

from __future__ import annotations

import itertools
import random

import pytest

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.agenda import (
    Budget,
    Place,
    Prices,
    copy_judgment,
    find_duplicates,
    is_decided,
    next_samples,
    order_places,
    place_of,
    preserved_strategies,
    shared_prefix,
)
from multilingual_math_audit.evaluate.verdicts import approves
from multilingual_math_audit.records import Judgment, Solution

# The four things a judgment can come to: a verdict, or none for want of a box, or none because it met its limit.
OUTCOMES = ("yes", "no", "no_box", "stopped")


def ask(triple: tuple[str, ...], strategy: str | None) -> list[str]:
    """What a judge that would say `triple` is asked, wave by wave."""
    asked: dict[int, str] = {}
    while True:
        known = {sample: value if value in ("yes", "no") else None for sample, value in asked.items()}
        wanted = next_samples(known, samples=len(triple), stop_early=strategy)  # type: ignore[arg-type]
        if not wanted:
            return [asked[sample] for sample in sorted(asked)]
        asked.update({sample: triple[sample] for sample in wanted})


def majority(outcomes: list[str]) -> bool:
    """The rule of the paper, counted by hand."""
    return sum(o == "yes" for o in outcomes) > sum(o == "no" for o in outcomes)


def credited(outcomes: list[str]) -> bool:
    """The counterfactual: a judgment that met its limit without a verdict counts as an approval."""
    return sum(o in ("yes", "stopped") for o in outcomes) > sum(o == "no" for o in outcomes)


@pytest.mark.parametrize("triple", list(itertools.product(OUTCOMES, repeat=3)))
def test_majority_is_the_same_over_all_outcomes(triple: tuple[str, ...]) -> None:
    """Over all 4^3 outcomes early stopping keeps the majority decision, the counterfactual and the strict majority."""
    asked = ask(triple, "majority")
    assert majority(asked) == majority(list(triple))
    assert credited(asked) == credited(list(triple))
    assert (2 * asked.count("yes") > 3) == (2 * triple.count("yes") > 3)


@pytest.mark.parametrize("triple", list(itertools.product(OUTCOMES, repeat=3)))
def test_third_is_asked_only_when_it_could_matter(triple: tuple[str, ...]) -> None:
    """The third judgment is left out exactly after yes-yes and no-no; a missing verdict never decides."""
    assert len(ask(triple, "majority")) == (2 if triple[:2] in (("yes", "yes"), ("no", "no")) else 3)


@pytest.mark.parametrize("strategy", ["any", "majority", "all", "strict_majority"])
@pytest.mark.parametrize("samples", [1, 2, 3, 4, 5])
def test_each_strategy_keeps_its_own_decision(strategy: str, samples: int) -> None:
    """Stopping by a strategy never changes that strategy's decision, for any number of judgments up to five."""
    for outcomes in itertools.product(OUTCOMES, repeat=samples):
        values = [o if o in ("yes", "no") else None for o in outcomes]
        asked = [o if o in ("yes", "no") else None for o in ask(outcomes, strategy)]
        assert approves(asked, strategy) == approves(values, strategy)  # type: ignore[arg-type]


def test_which_strategies_survive() -> None:
    """Stopping under majority keeps majority and strict majority and no other: yes-yes-no is not 'all'."""
    assert preserved_strategies("majority") == ("majority", "strict_majority")
    assert preserved_strategies(None) == ("any", "majority", "all", "strict_majority")
    assert "majority" not in preserved_strategies("any")


def test_saving_at_ninety_percent_agreement() -> None:
    """When two judgments agree nine times in ten, 30% of three judgments are saved, as 0.9 / 3 says."""
    source = random.Random(0)
    asked = 0
    for _ in range(20_000):
        first = source.choice(["yes", "no"])
        second = first if source.random() < 0.9 else {"yes": "no", "no": "yes"}[first]
        asked += len(ask((first, second, source.choice(OUTCOMES)), "majority"))
    assert 1 - asked / 60_000 == pytest.approx(0.9 / 3, abs=0.003)


def test_without_early_stopping_all_missing_are_asked() -> None:
    """A run that goes on asks for just the samples it lacks, whatever the others said."""
    assert next_samples({1: "yes"}) == [0, 2]
    assert next_samples({0: None, 1: None, 2: None}) == []
    assert is_decided(["yes", "yes", "no"])


def test_order_groups_problem_then_original_then_clean_first() -> None:
    """Whatever order they come in, a problem's prompts are neighbours, an original's variants too, the clean first."""
    places = [
        Place(f"{problem}{original}{edit}", problem, parent, None if parent is None else edit)
        for problem in "pq"
        for original in "12"
        for edit, parent in (("", None), ("clean", f"{problem}{original}"), ("final", f"{problem}{original}"))
    ]
    for seed in range(50):
        shuffled = random.Random(seed).sample(places, len(places))
        ordered = order_places(shuffled)
        assert sorted(place.id for place in ordered) == sorted(place.id for place in places)
        assert len([problem for problem, _ in itertools.groupby(ordered, lambda p: p.problem_id)]) == 2
        originals = [original for original, _ in itertools.groupby(ordered, lambda p: p.parent or p.id)]
        assert len(originals) == 4
        for _, group in itertools.groupby(ordered, lambda p: p.parent or p.id):
            assert [place.edit for place in group] == [None, "clean", "final"]


def test_ordering_lengthens_common_prefixes() -> None:
    """Prompts in the order given by order_places share more characters with their neighbour than shuffled ones."""
    places = [Place(f"s{n}", f"p{n % 5}") for n in range(50)]
    prompts = {place.id: f"Problem {place.problem_id * 100}: solution {place.id}" for place in places}
    shared, total = shared_prefix(prompts[place.id] for place in order_places(places))
    worse, same = shared_prefix(prompts[place.id] for place in places)
    assert total == same
    assert shared > 5 * worse


def test_duplicates_are_found_by_whole_text_within_a_problem() -> None:
    """Only an equal text of the same problem is a duplicate: not another problem's, and not other thinking."""
    solutions = [
        Solution("a", "p", "m", 0, "same"),
        Solution("b", "p", "m", 1, "same"),
        Solution("c", "q", "m", 0, "same"),
        Solution("d", "p", "m", 2, "same", thinking="but thought"),
        Solution("e", "p", "m", 3, "same "),
    ]
    assert find_duplicates(map(place_of, solutions)) == {"b": "a"}


def test_copied_judgment_counts_no_tokens() -> None:
    """A judgment handed on to an equal solution keeps its verdict, says where it is from, and is not paid twice."""
    judgment = Judgment("j", "a", "judge", 2, "so \\boxed{yes}", "verdict", "yes", completion_tokens=9, settings="s")
    copy = copy_judgment(judgment, solution_id="b")
    assert (copy.solution_id, copy.sample, copy.verdict, copy.text) == ("b", 2, "yes", judgment.text)
    assert copy.id != judgment.id
    assert copy.completion_tokens is None
    assert copy.source == "same text as a"


@pytest.mark.parametrize("seed", range(20))
def test_budget_is_never_passed(seed: int) -> None:
    """However answers come back, tokens spent stay within the limit and everything that fits is let through."""
    source = random.Random(seed)
    budget = Budget(max_tokens=10_000)
    waiting: list[tuple[str, int, int]] = []
    for number in range(500):
        prompt, worst = source.randint(10, 100), source.randint(50, 400)
        if budget.reserve(str(number), prompt_tokens=prompt, completion_tokens=worst):
            waiting.append((str(number), prompt, worst))
        elif not waiting:
            assert budget.tokens + prompt + worst > 10_000
        if waiting and source.random() < 0.6:
            name, prompt, worst = waiting.pop(source.randrange(len(waiting)))
            budget.settle(name, prompt_tokens=prompt, completion_tokens=source.randint(0, worst))
        assert budget.tokens <= 10_000
    for name, prompt, worst in waiting:
        budget.settle(name, prompt_tokens=prompt, completion_tokens=worst)
    assert 9_000 < budget.tokens <= 10_000
    assert not budget.under_way


def test_budget_in_dollars() -> None:
    """A limit in dollars is held with the prices of prompt and completion; without prices it is refused."""
    budget = Budget(max_usd=1.0, prices=Prices(prompt=1.0, completion=2.0))
    assert budget.reserve("a", prompt_tokens=200_000, completion_tokens=400_000)
    assert not budget.reserve("b", prompt_tokens=1, completion_tokens=0)
    budget.settle("a", prompt_tokens=None, completion_tokens=100_000)
    assert budget.uncounted == 1
    assert budget.usd == pytest.approx(0.4)
    with pytest.raises(UsageError, match="prices"):
        Budget(max_usd=1.0)
