"""The solve stage: every sample once, each with its own seed, in any order the engine finishes them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from multilingual_math_audit.evaluate.engines.protocol import EngineFacts, Request, Sample, SamplingSettings
from multilingual_math_audit.evaluate.solve import SolvePlan, in_shard, solve, solve_units
from multilingual_math_audit.records import Problem, seed_from

PROBLEMS = [Problem(f"toy/{i}", "toy", f"toy/{i}", "tr", f"{i} + 1 kaçtır?", str(i + 1), "integer") for i in range(5)]
PLAN = SolvePlan("m", SamplingSettings(), {"toy": 3})


class ScriptedEngine:
    """Answers every request with its last message and seed, out of order; requests named in `broken` fail."""

    def __init__(self, broken: Iterable[str] = ()) -> None:
        self.broken = set(broken)
        self.seen: list[Request] = []

    def facts(self) -> EngineFacts:
        return EngineFacts("scripted", "m")

    def generate(self, requests: Iterable[Request], settings: SamplingSettings) -> Iterator[Sample]:
        asked = list(requests)
        self.seen += asked
        random.Random(0).shuffle(asked)
        for request in asked:
            if request.id in self.broken:
                yield Sample(request.id, error="out of luck", finish_reason="error")
            else:
                yield Sample(request.id, text=request.messages[-1].content, completion_tokens=7, seed=request.seed)

    def close(self) -> None:
        pass


def test_every_sample_once() -> None:
    """Five problems of three samples give fifteen solutions with distinct ids and distinct seeds."""
    solutions = list(solve(PROBLEMS, ScriptedEngine(), PLAN))
    assert {(s.problem_id, s.sample) for s in solutions} == {(p.id, i) for p in PROBLEMS for i in range(3)}
    assert len({s.id for s in solutions}) == len({s.seed for s in solutions}) == 15


def test_the_prompt_is_the_problem_and_its_sentence() -> None:
    """The solver is sent the problem, a space, and the sentence of its language; nothing else."""
    engine = ScriptedEngine()
    list(solve(PROBLEMS[:1], engine, PLAN))
    (message,) = engine.seen[0].messages
    assert message.role == "user"
    assert message.content == "0 + 1 kaçtır? Adım adım düşün ve nihai cevabı \\boxed{} içerisinde ver."


def test_going_on_asks_only_for_what_is_missing() -> None:
    """With ten of fifteen done, the five others are asked, with the ids and seeds they always have."""
    whole = {s.id: s.seed for s in solve(PROBLEMS, ScriptedEngine(), PLAN)}
    done = set(sorted(whole)[:10])
    rest = {s.id: s.seed for s in solve(PROBLEMS, ScriptedEngine(), PLAN, done=done)}
    assert rest == {unit: seed for unit, seed in whole.items() if unit not in done}
    assert all(seed == seed_from("solve", unit) for unit, seed in whole.items())


def test_a_failed_request_is_no_solution() -> None:
    """A request without an answer is handed over as a failure and stays to be done."""
    units = [unit for unit, _, _ in solve_units(PROBLEMS, PLAN)]
    failed: list[Sample] = []
    solutions = list(solve(PROBLEMS, ScriptedEngine(broken=units[:2]), PLAN, on_failure=failed.append))
    assert {s.request_id for s in failed} == set(units[:2])
    assert {s.id for s in solutions} == set(units[2:])


def test_settings_that_decide_numbers_decide_ids() -> None:
    """Another temperature, budget, mode, model or number of shots gives other ids; more samples do not."""
    ids = {unit for unit, _, _ in solve_units(PROBLEMS, PLAN)}
    others = [
        SolvePlan("m", SamplingSettings(temperature=1.0), {"toy": 3}),
        SolvePlan("m", SamplingSettings(max_tokens=10), {"toy": 3}),
        SolvePlan("m", SamplingSettings(mode="base"), {"toy": 3}),
        SolvePlan("m", SamplingSettings(), {"toy": 3}, shots=1),
        SolvePlan("m2", SamplingSettings(), {"toy": 3}),
        SolvePlan("m", SamplingSettings(), {"toy": 3}, revision="abc"),
    ]
    for other in others:
        assert not ids & {unit for unit, _, _ in solve_units(PROBLEMS, other)}
    more = {unit for unit, _, _ in solve_units(PROBLEMS, SolvePlan("m", SamplingSettings(), {"toy": 5}))}
    assert ids < more


def test_shards_are_a_partition() -> None:
    """Three shards share the work without overlap or hole, and none is empty over 300 units."""
    units = [f"unit-{i}" for i in range(300)]
    parts = [{u for u in units if in_shard(u, (k, 3))} for k in (1, 2, 3)]
    assert sorted(u for part in parts for u in part) == sorted(units)
    assert all(60 < len(part) < 140 for part in parts)
