"""The solve stage: problems in, solutions out, each the moment it is finished."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from multilingual_math_audit.benchmarks.prompts import prompt_digest, solver_messages
from multilingual_math_audit.evaluate.engines.protocol import Engine, Message, Request, Sample, SamplingSettings
from multilingual_math_audit.records import Problem, Solution, digest, seed_from, solution_id


@dataclass(frozen=True, slots=True)
class SolvePlan:
    """What a solver is asked: its name, how it samples, how many samples a benchmark's problem gets, and the shots.

    `shard` is (K, N): of N parts of the work this one does part K, counted from 1.
    """

    solver: str
    sampling: SamplingSettings
    samples: Mapping[str, int]
    shots: int = 0
    revision: str | None = None
    shard: tuple[int, int] | None = None

    def settings(self) -> dict[str, Any]:
        """What decides the numbers, as the manifest holds it."""
        sampling = self.sampling
        return {
            "solver": self.solver,
            "revision": self.revision,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "budget": sampling.max_tokens,
            "mode": sampling.mode,
            "shots": self.shots,
            "prompt": prompt_digest("solver"),
        }

    def digest(self) -> str:
        """A digest of the settings; it is part of every solution's id."""
        return digest(self.settings())


@dataclass(slots=True)
class Failures:
    """Requests that gave no sample: they are not recorded, so that the same command asks them again."""

    count: int = 0
    last: str = ""
    by_error: dict[str, int] = field(default_factory=dict)

    def add(self, sample: Sample) -> None:
        """Count a failed request by what it said."""
        self.count += 1
        self.last = (sample.error or "no answer")[:300]
        if self.last in self.by_error or len(self.by_error) < 50:
            self.by_error[self.last] = self.by_error.get(self.last, 0) + 1


def in_shard(key: str, shard: tuple[int, int] | None) -> bool:
    """Whether a unit of work belongs to a shard: by a digest of its id, the same on every machine.

    >>> sum(in_shard(f"s{i}", (1, 2)) for i in range(100)) + sum(in_shard(f"s{i}", (2, 2)) for i in range(100))
    100
    """
    return shard is None or int(digest("shard", key), 16) % shard[1] == shard[0] - 1


def solve_units(problems: Iterable[Problem], plan: SolvePlan) -> Iterator[tuple[str, Problem, int]]:
    """Every sample the plan asks for, as (solution id, problem, sample number), one problem's samples together."""
    settings = plan.digest()
    for problem in problems:
        for sample in range(plan.samples[problem.benchmark]):
            unit = solution_id(problem.id, plan.solver, settings, sample)
            if in_shard(unit, plan.shard):
                yield unit, problem, sample


def solve(
    problems: Collection[Problem],
    engine: Engine,
    plan: SolvePlan,
    *,
    done: Collection[str] = (),
    on_failure: Callable[[Sample], None] | None = None,
) -> Iterator[Solution]:
    """Solutions of the problems in the order they finish, leaving out those whose ids are in `done`.

    Each sample is a request of its own with its own seed, drawn from its id. A request that fails is handed to
    `on_failure` and yields nothing. Raises what the engine raises.
    """
    settings = plan.digest()
    asked: dict[str, tuple[str, int]] = {}

    def requests() -> Iterator[Request]:
        for unit, problem, sample in solve_units(problems, plan):
            if unit not in done:
                asked[unit] = (problem.id, sample)
                yield Request(unit, solver_request(problem, shots=plan.shots), seed_from("solve", unit))

    for sample in engine.generate(requests(), plan.sampling):
        problem_id, number = asked.pop(sample.request_id)
        if sample.error is not None:
            if on_failure is not None:
                on_failure(sample)
            continue
        yield Solution(
            id=sample.request_id,
            problem_id=problem_id,
            solver=plan.solver,
            sample=number,
            text=sample.text,
            thinking=sample.thinking,
            finish_reason=sample.finish_reason,
            prompt_tokens=sample.prompt_tokens,
            completion_tokens=sample.completion_tokens,
            seed=sample.seed if sample.seed is not None else seed_from("solve", sample.request_id),
            settings=settings,
        )


def solver_request(problem: Problem, *, shots: int = 0) -> tuple[Message, ...]:
    """The conversation a solver is given: shots, if any, then one user message with the problem and its instruction."""
    return tuple(Message(role, text) for role, text in solver_messages(problem, shots=shots))
