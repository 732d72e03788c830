"""A synthetic study: 10 solvers x 5 benchmarks x 64 samples x 2 judges, drawn from a seed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from multilingual_math_audit.evaluate.answers.grading import GRADER_VERSION
from multilingual_math_audit.evaluate.counts import JudgeCounts, QuestionCounts
from multilingual_math_audit.evaluate.report.entries import Counted, Entry, gather_entries, parse_groupings
from multilingual_math_audit.evaluate.report.material import Choices, Material, gather_material
from multilingual_math_audit.records import (
    Grade,
    Judgment,
    Language,
    Problem,
    Record,
    Solution,
    judgment_id,
    solution_id,
)
from multilingual_math_audit.store import Run

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
            budgets = dict.fromkeys(JUDGES, 16384)
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


CHAINS: dict[Language, str] = {
    "en": "First we look at the given conditions one by one. Then the total is easy to compute, so we are done here.",
    "tr": "Önce verilen koşulları tek tek inceleyelim. Sonra toplamı kolayca hesaplarız, böylece işimiz biter.",
    "pt": "Primeiro vamos analisar as condições dadas no enunciado. Depois calculamos o total e terminamos a prova.",
}


def write_run(
    folder: Path,
    solver: str,
    *,
    items: int = 2,
    samples: int = 4,
    judges: tuple[str, ...] = JUDGES,
    languages: tuple[Language, ...] = ("en", "tr", "pt"),
) -> Run:
    """A run folder of real records: every second sample correct, judgments that partly approve."""
    settings = {
        "solver": {"solver": solver, "mode": "thinking", "budget": 512},
        "samples": {f"tiny_{language}": samples for language in languages},
    }
    run = Run.create(folder, settings)
    for judge in judges:
        run.add_settings("judges", judge, {"samples": 3, "budget": 256})
    records: list[Record] = []
    for language in languages:
        text = CHAINS[language]
        for item in range(1, items + 1):
            problem = f"tiny_{language}/{item}"
            records.append(Problem(problem, f"tiny_{language}", f"tiny/{item}", language, "2+2?", "4", "integer"))
            for sample in range(samples):
                records += _solution_records((solver, problem), sample, text, judges)
    run.append(records)
    return run


def _solution_records(names: tuple[str, str], sample: int, text: str, judges: tuple[str, ...]) -> list[Record]:
    solver, problem = names
    one = solution_id(problem, solver, "s", sample)
    correct = sample % 2 == 0
    answer = 4 if correct else 5
    reason = "length" if sample == 3 else "stop"
    records: list[Record] = [
        Solution(one, problem, solver, sample, f"{text} \\boxed{{{answer}}}", None, reason, 20, 60),
        Grade(one, GRADER_VERSION, correct, "correct" if correct else "wrong"),
    ]
    for judge in judges if correct else ():
        for asked in range(3):
            yes = judge == JUDGES[1] or sample == 0
            said = f"The solution is checked step by step and every step follows. \\boxed{{{'yes' if yes else 'no'}}}"
            records.append(
                Judgment(
                    judgment_id(one, judge, "s", asked), one, judge, asked, said, "verdict", "yes" if yes else "no",
                    completion_tokens=30,
                )
            )  # fmt: skip
    return records


@pytest.fixture(scope="session")
def synthetic() -> list[Entry]:
    """The synthetic study as entries."""
    return synthetic_entries()


@pytest.fixture(scope="session")
def synthetic_material(synthetic: list[Entry]) -> Material:
    """The synthetic study with its generations as groups."""
    return gather_material(
        synthetic, groupings=parse_groupings(GROUPS), choices=Choices(resamples=500, command="math-audit report")
    )


@pytest.fixture
def make_run() -> Callable[..., Run]:
    """Writes small run folders of real records."""
    return write_run
