"""A made-up run over the English starter set, and an audit of its judge on the worked solutions."""

from __future__ import annotations

from pathlib import Path

from multilingual_math_audit.evaluate.answers.grading import GRADER_VERSION
from multilingual_math_audit.evaluate.panel import PanelPlan, draw_panel, write_panel
from multilingual_math_audit.evaluate.worked import open_worked_run
from multilingual_math_audit.loaders.problems import load_benchmark
from multilingual_math_audit.records import Grade, Judgment, Record, Solution, digest, seed_from
from multilingual_math_audit.store import Run

JUDGE = {"samples": 3, "budget": 128, "mode": "thinking", "stop_early": None}
# How often out of ten a judgment says yes about each edit; one in ten says nothing.
YES = {"clean": 9, "intermediate": 3, "truncation": 7, "final_answer": 1, "consistent": 4}


def make_run(folder: Path, *, samples: int = 2, share: float = 0.5, limit: int = 72) -> Run:
    """A run over the starter set in which a seeded share of samples is right, each judged three times."""
    problems = load_benchmark("starter_en")[:limit]
    solver = {"solver": "org/tiny", "temperature": 0.6, "top_p": 0.95, "budget": 256, "mode": "non-thinking"}
    run = Run.create(folder, {"solver": solver, "samples": {"starter_en": samples}, "problems": "x"})
    run.add_settings("judges", "org/reader", {"samples": 3, "budget": 128, "mode": "thinking", "stop_early": None})
    records: list[Record] = list(problems)
    for problem in problems:
        for sample in range(samples):
            name = digest(problem.id, sample)
            right = seed_from("right", name) < share * 2**31
            records.append(
                Solution(name, problem.id, "org/tiny", sample, "secret chain of thought", completion_tokens=9)
            )
            records.append(Grade(name, GRADER_VERSION, right, "correct" if right else "wrong"))
            for number in range(3 if right else 0):
                yes = seed_from(name, number) % 3 > 0
                records.append(
                    Judgment(digest(name, number), name, "org/reader", number, "x", "verdict", "yes" if yes else "no",
                             completion_tokens=5)
                )  # fmt: skip
    run.append(records)
    return run


def make_panel(folder: Path, judge: str = "org/reader", *, mode: str = "thinking") -> Run:
    """A panel of the worked solutions, judged by a seeded judge; one original lacks a judgment and is not counted."""
    worked = open_worked_run(str(folder.parent / "worked"))
    plan = PanelPlan(min_tokens=0)
    panel = write_panel(draw_panel(worked, plan), worked, plan, str(folder), facts={"started": "2026-11-02T03:04:05"})
    panel.add_settings("judges", judge, JUDGE | {"mode": mode})
    variants = list(panel.read(Solution))
    records: list[Record] = []
    for variant in variants:
        for number in range(3):
            name = digest(judge, variant.id, number)
            roll = seed_from("roll", name) % 10
            verdict = None if roll == 9 else "yes" if roll < YES[str(variant.edit)] else "no"
            reason = "no_box" if verdict is None else "verdict"
            if (variant.id, number) != (variants[0].id, 2):
                records.append(Judgment(name, variant.id, judge, number, "x", reason, verdict))
    panel.append(records)
    return panel
