"""The judge stage: three judgments each, none twice, none that cannot matter, and nothing approved by absence."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

import pytest

from multilingual_math_audit.errors import RecordError
from multilingual_math_audit.evaluate.agenda import Budget
from multilingual_math_audit.evaluate.engines.protocol import EngineFacts, Request, Sample, SamplingSettings
from multilingual_math_audit.evaluate.judge import Agenda, JudgePlan, judge, open_agenda, pending_judgments
from multilingual_math_audit.evaluate.verdicts import approves
from multilingual_math_audit.records import Judgment, Problem, Solution, Verdict

PROBLEM = Problem("toy/1", "toy", "toy/1", "pt", "Quanto é {solution} 1 + 1?", "2", "integer")
SAMPLING = SamplingSettings(max_tokens=100)


def _solutions(*texts: str) -> list[Solution]:
    return [Solution(f"s{i}", PROBLEM.id, "m", i, text) for i, text in enumerate(texts)]


class Judge:
    """Answers by a function of the request's number in its solution's row of three."""

    def __init__(self, say: Callable[[str, int], str | None]) -> None:
        self.say = say
        self.prompts: list[str] = []
        self.times: dict[str, int] = {}
        self.batches: list[int] = []

    def facts(self) -> EngineFacts:
        return EngineFacts("scripted", "j")

    def generate(self, requests: Iterable[Request], settings: SamplingSettings) -> Iterator[Sample]:
        asked = list(requests)
        self.batches.append(len(asked))
        for request in asked:
            prompt = request.messages[-1].content
            self.prompts.append(prompt)
            count = self.times.get(prompt, 0)
            self.times[prompt] = count + 1
            said = self.say(prompt, count)
            if said is None:
                yield Sample(request.id, error="no answer", finish_reason="error")
            else:
                yield Sample(request.id, text=said, prompt_tokens=50, completion_tokens=10)

    def close(self) -> None:
        pass


def _agenda(solutions: list[Solution], plan: JudgePlan, known: Iterable[Judgment] = ()) -> Agenda:
    kept = list(known)
    return open_agenda(lambda: solutions, [PROBLEM], lambda: kept, wanted=lambda s: True, plan=plan)


def test_three_each_with_the_protocols_prompt() -> None:
    """Each solution is judged three times; the prompt holds the bare problem and the solution, braces and all."""
    plan = JudgePlan("j", SAMPLING)
    engine = Judge(lambda prompt, count: "\\boxed{yes}")
    solutions = [Solution("s0", PROBLEM.id, "m", 0, "so {question} \\boxed{2}", thinking="one and one")]
    judgments = list(judge(_agenda(solutions, plan), engine, plan))
    assert [(j.solution_id, j.verdict) for j in judgments] == [("s0", "yes")] * 3
    assert {j.sample for j in judgments} == {0, 1, 2}
    assert len({j.id for j in judgments}) == len({j.seed for j in judgments}) == 3
    prompt = engine.prompts[0]
    assert "Quanto é {solution} 1 + 1?\n" in prompt
    assert "<think>\none and one\n</think>\n\nso {question} \\boxed{2}\n" in prompt
    assert "**(written in Portuguese)**" in prompt
    assert "Vamos pensar" not in prompt


def test_the_whole_solver_prompt_where_asked() -> None:
    """With the question form `prompt` the solver's own sentence is in the judge's prompt, as in the authors' runs."""
    plan = JudgePlan("j", SAMPLING, question_form="prompt", samples=1)
    engine = Judge(lambda prompt, count: "\\boxed{yes}")
    list(judge(_agenda(_solutions("a"), plan), engine, plan))
    assert "Vamos pensar passo a passo" in engine.prompts[0]


def test_going_on_asks_only_for_what_is_missing() -> None:
    """With one judgment recorded two are asked; with all three none is."""
    plan = JudgePlan("j", SAMPLING)
    whole = list(judge(_agenda(_solutions("a"), plan), Judge(lambda p, c: "\\boxed{no}"), plan))
    engine = Judge(lambda p, c: "\\boxed{no}")
    rest = list(judge(_agenda(_solutions("a"), plan, whole[:1]), engine, plan))
    assert {j.id for j in rest} == {j.id for j in whole[1:]}
    assert pending_judgments(_agenda(_solutions("a"), plan, whole), plan) == []


def test_early_stopping_keeps_every_decision() -> None:
    """Over all 27 outcomes the majority decided early is that of all three, and decided pairs save the third."""
    plan, early = JudgePlan("j", SAMPLING), JudgePlan("j", SAMPLING, stop_early="majority")
    words = {"yes": "\\boxed{yes}", "no": "\\boxed{no}", None: "unsure"}
    outcomes: list[tuple[Verdict | None, ...]] = list(itertools.product(("yes", "no", None), repeat=3))
    solutions = _solutions(*(f"solution number {i}." for i in range(len(outcomes))))

    def say(prompt: str, count: int) -> str:
        number = next(i for i, s in enumerate(solutions) if f"\n{s.text}\n" in prompt)
        return words[outcomes[number][count]]

    full = _verdicts(judge(_agenda(solutions, plan), Judge(say), plan))
    short = _verdicts(judge(_agenda(solutions, early), Judge(say), early))
    for number, outcome in enumerate(outcomes):
        name = f"s{number}"
        assert approves(short[name]) == approves(full[name]) == approves(outcome)
        assert len(short[name]) == (2 if outcome[:2] in (("yes", "yes"), ("no", "no")) else 3)


def _verdicts(judgments: Iterable[Judgment]) -> dict[str, list[Verdict | None]]:
    found: dict[str, dict[int, Verdict | None]] = {}
    for judgment in judgments:
        found.setdefault(judgment.solution_id, {})[judgment.sample] = judgment.verdict
    return {name: [verdicts[i] for i in sorted(verdicts)] for name, verdicts in found.items()}


def test_equal_texts_are_judged_once() -> None:
    """With dedupe the twin takes the judgments over, names their source and costs no tokens."""
    plan = JudgePlan("j", SAMPLING, dedupe=True)
    engine = Judge(lambda p, c: "\\boxed{yes}")
    judgments = list(judge(_agenda(_solutions("same", "same", "other"), plan), engine, plan))
    assert len(engine.prompts) == 6
    assert len(judgments) == 9
    copies = [j for j in judgments if j.solution_id == "s1"]
    assert len(copies) == 3
    assert all(j.source == "same text as s0" and j.completion_tokens is None for j in copies)


def test_copies_survive_an_interruption() -> None:
    """A run killed between a judgment and its copy makes the copy when it goes on, and asks the judge nothing."""
    plan = JudgePlan("j", SAMPLING, dedupe=True)
    solutions = _solutions("same", "same")
    whole = list(judge(_agenda(solutions, plan), Judge(lambda p, c: "\\boxed{yes}"), plan))
    originals = [j for j in whole if j.solution_id == "s0"]
    engine = Judge(lambda p, c: "\\boxed{yes}")
    rest = list(judge(_agenda(solutions, plan, originals), engine, plan))
    assert engine.prompts == []
    assert sorted(j.id for j in rest) == sorted(j.id for j in whole if j.solution_id == "s1")


def test_a_failed_request_is_no_judgment() -> None:
    """A request that fails is reported, asked once a round and no more, and the solution stays pending."""
    plan = JudgePlan("j", SAMPLING)
    failed: list[Sample] = []
    engine = Judge(lambda p, c: None if c == 0 else "\\boxed{yes}")
    judgments = list(judge(_agenda(_solutions("a"), plan), engine, plan, on_failure=failed.append))
    assert (len(judgments), len(failed), sum(engine.batches)) == (2, 1, 3)


def test_the_budget_stops_before_it_is_passed() -> None:
    """With 5,000 tokens, no more are ever spent, and what was judged is kept."""
    plan = JudgePlan("j", SAMPLING)
    budget = Budget(max_tokens=5_000)
    solutions = _solutions(*(f"text {i}" for i in range(50)))
    judgments = list(judge(_agenda(solutions, plan), Judge(lambda p, c: "\\boxed{yes}"), plan, budget=budget))
    assert budget.tokens <= 5_000
    assert 0 < len(judgments) < 150


def test_a_missing_problem_is_an_error() -> None:
    """A solution whose problem the run does not hold is never judged against something else."""
    plan = JudgePlan("j", SAMPLING)
    with pytest.raises(RecordError, match="must see the problem"):
        open_agenda(lambda: _solutions("a"), [], list, wanted=lambda s: True, plan=plan)
