"""A synthetic study: 10 solvers x 5 benchmarks x 64 samples x 2 judges, drawn from a seed."""

from __future__ import annotations

import numpy as np

from multilingual_math_audit.evaluate.counts import JudgeCounts, QuestionCounts
from multilingual_math_audit.evaluate.report.entries import Counted, Entry, gather_entries
from multilingual_math_audit.records import Language

BENCHMARKS: dict[str, tuple[Language, str, int]] = {
    "contest_en": ("en", "contest", 30),
    "contest_pt": ("pt", "contest", 30),
    "contest_tr": ("tr", "contest", 30),
    "olympiad_tr": ("tr", "olympiad", 32),
    "exams_pt": ("pt", "exams", 40),
}
GROUPS = {
    "generation": {
        "earlier": [f"lab/model-{size}b" for size in (1, 3, 7, 32)],
        "current": [f"lab/newer-{size}b" for size in (1, 2, 4, 9, 14, 27)],
    }
}
JUDGES = ("strict-judge", "lenient-judge")


def synthetic_entries(*, samples: int = 64, seed: int = 0) -> list[Entry]:
    """The entries of the study; the earlier group is weaker, and the strict judge rejects more."""
    generator = np.random.default_rng(seed)
    counted = []
    for group, solvers in GROUPS["generation"].items():
        for rank, solver in enumerate(solvers):
            skill = (0.12 if group == "earlier" else 0.45) + 0.07 * rank
            questions = [
                _question(generator, (solver, benchmark, str(item)), skill=skill, samples=samples)
                for benchmark, (_, _, size) in BENCHMARKS.items()
                for item in range(1, size + 1)
            ]
            mode = "base" if group == "earlier" else "thinking"
            budgets = {judge: 16_384 for judge in JUDGES}
            counted.append(Counted(mode, 16_384, questions, budgets))
    return gather_entries(counted)


def _question(
    generator: np.random.Generator, names: tuple[str, str, str], *, skill: float, samples: int
) -> QuestionCounts:
    solver, benchmark, item = names
    language, family, _ = BENCHMARKS[benchmark]
    chance = generator.beta(2 * skill, 2 * (1 - min(skill, 0.95)))
    correct = int(generator.binomial(samples, chance))
    judges = {}
    for judge, leniency in zip(JUDGES, (0.75, 0.93), strict=True):
        approved = int(generator.binomial(correct, leniency))
        stopped = int(generator.binomial(3 * correct, 0.1))
        missing = int(generator.binomial(stopped, 0.6))
        credited = approved + int(generator.binomial(correct - approved, 0.1))
        judges[judge] = JudgeCounts(
            judged=correct,
            pending=0,
            approved={"any": min(correct, approved + 1), "majority": approved, "all": max(0, approved - 2)},
            judgments=3 * correct,
            copied=0,
            no_verdict={"stopped_at_limit": missing},
            stopped=stopped,
            single_vote=min(approved, 1),
            credited=credited,
            completion_tokens=6_000 * 3 * correct,
        )
    return QuestionCounts(
        f"{benchmark}/{item}", f"{family}/{item}", benchmark, language, solver, samples, correct, 0,
        int(generator.binomial(samples, 0.08)), 9_000 * samples, judges,
    )  # fmt: skip
