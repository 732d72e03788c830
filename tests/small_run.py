"""A small whole run whose ids are real ones, for tests of what is done with runs."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from multilingual_math_audit.evaluate.agenda import next_samples
from multilingual_math_audit.evaluate.answers.grading import GRADER_VERSION
from multilingual_math_audit.evaluate.solve import in_shard
from multilingual_math_audit.records import (
    Grade,
    Judgment,
    Problem,
    Record,
    Solution,
    Verdict,
    digest,
    judgment_id,
    seed_from,
    solution_id,
)
from multilingual_math_audit.store import Run

SOLVER = {"solver": "tiny", "temperature": 0.6}
JUDGE = {"judge": "reader", "samples": 3, "stop_early": None}
PROBLEMS = [
    Problem(f"toy/{n}", "toy", f"toy/{n}", "en", f"What is {n} + {n}?", str(2 * n), "integer") for n in range(1, 6)
]


def make_run(
    folder: Path, *, samples: int = 4, shard: tuple[int, int] | None = None, judge: dict[str, Any] = JUDGE
) -> Run:
    """Five problems, `samples` solutions each, graded, the right ones judged; a shard holds its part only."""
    settings: dict[str, Any] = {
        "solver": SOLVER,
        "samples": {"toy": samples},
        "problems": digest(sorted([p.id, p.question, p.answer] for p in PROBLEMS)),
    }
    if shard is not None:
        settings["shard"] = list(shard)
    run = Run.create(folder, settings, facts={"python": "3"})
    run.add_settings("judges", "reader", judge)
    records: list[Record] = list(PROBLEMS)
    for problem in PROBLEMS:
        for sample in range(samples):
            name = solution_id(problem.id, "tiny", digest(SOLVER), sample)
            if in_shard(name, shard):
                records += _about(problem, name, sample, judge)
    run.append(records)
    return run


def _about(problem: Problem, name: str, sample: int, judge: dict[str, Any]) -> list[Record]:
    dice = random.Random(name)
    answer = problem.answer if dice.random() < 0.6 else "7"
    right = answer == problem.answer
    text = f"Adding the two gives \\boxed{{{answer}}}."
    seed = seed_from("solve", name)
    records: list[Record] = [
        Solution(name, problem.id, "tiny", sample, text, None, "stop", 30, 12, seed, digest(SOLVER)),
        Grade(name, GRADER_VERSION, right, "correct" if right else "wrong", answer, "box", "number"),
    ]
    said: dict[int, Verdict | None] = {}
    while right and (wanted := next_samples(said, samples=judge["samples"], stop_early=judge["stop_early"])):
        for number in wanted:
            verdict: Verdict = dice.choice(["yes", "yes", "yes", "no"])
            said[number] = verdict
            unit = judgment_id(name, "reader", "js", number)
            text = f"So \\boxed{{{verdict}}}."
            records.append(
                Judgment(unit, name, "reader", number, text, "verdict", verdict, None, "stop", 50, 9, settings="js")
            )
    return records
