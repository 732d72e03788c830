"""GenSelect: an engine is shown all answers of a problem and asked to pick one. It picks; it gives no probability."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from multilingual_math_audit.evaluate.engines.protocol import Engine, Message, Request, SamplingSettings
from multilingual_math_audit.records import Problem, Solution, digest, seed_from

INSTRUCTION = (
    "Below are a problem and {count} proposed solutions, numbered from 0. Compare them, find the one whose answer "
    "is most likely correct, and end with its number in \\boxed{{}}."
)
LONGEST = 4000
NUMBER = re.compile(r"\\boxed\s*\{\s*(\d{1,4})\s*\}")


def selection_prompt(problem: Problem, solutions: Sequence[Solution]) -> str:
    """The instruction, the problem, and every solution's last part with its number."""
    shown = [f"Solution {number}:\n{solution.text[-LONGEST:]}" for number, solution in enumerate(solutions)]
    return "\n\n".join([INSTRUCTION.format(count=len(solutions)), f"Problem:\n{problem.question}", *shown])


def read_choice(text: str, count: int) -> int | None:
    """The number in the last box that names a solution, or None.

    >>> read_choice("Solution 2 slips. \\\\boxed{1}", 3), read_choice("\\\\boxed{7}", 3)
    (1, None)
    """
    named = [int(number) for number in NUMBER.findall(text) if int(number) < count]
    return named[-1] if named else None


def choose_by_engine(
    groups: Sequence[tuple[Problem, Sequence[Solution]]], engine: Engine, settings: SamplingSettings
) -> Iterator[tuple[str, int | None]]:
    """(problem id, number of the solution chosen) in the order the engine answers; None where it named none."""
    sizes: dict[str, tuple[str, int]] = {}

    def requests() -> Iterator[Request]:
        for problem, solutions in groups:
            name = digest("genselect", problem.id, [solution.id for solution in solutions])
            sizes[name] = (problem.id, len(solutions))
            prompt = selection_prompt(problem, solutions)
            yield Request(name, (Message("user", prompt),), seed_from("genselect", name))

    for sample in engine.generate(requests(), settings):
        problem, count = sizes[sample.request_id]
        yield problem, read_choice(sample.text, count) if sample.error is None else None
