"""Submissions made up by a seeded generator: possible counts of every column, for tests and benchmarks."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from multilingual_math_audit.submissions.question_sets import question_sets

PAPER = ("aime2026_en", "aime2026_tr", "aime2026_pt", "tubitak2026", "pt_exams")
REASONS = ("stopped_at_limit", "no_box", "not_yes_no", "error")
FAMILIES = ("Alpha", "Beta", "Gamma", "Delta", "Epsilon")


def make_submission(
    seed: int, *, benchmarks: Sequence[str] = PAPER, judges: Sequence[str] = ("judge/J1",), audit: bool = False
) -> dict[str, Any]:
    """A sound submission as plain values."""
    dice = random.Random(seed)
    skill = dice.random()
    settings = {"budget": dice.choice([4096, 16384, 32768]), "temperature": 0.6, "top_p": 0.95, "engine": "vllm"}
    family = dice.choice(FAMILIES)
    described = {
        label: {"model": label, "mode": "thinking", "settings": settings, "judgments": 3}
        | ({"audit": make_audit(dice)} if audit else {})
        for label in judges
    }
    return {
        "format": "multilingual-math-audit/submission-1",
        "origin": "run",
        "submitter": {"name": f"Group {seed % 7}"},
        "day": "2026-10-01",
        "solver": {
            "model": f"{family.lower()}/Solver-{seed}",
            "family": family,
            "parameters": dice.choice([1.5, 4.0, 9.0, 32.0, 70.0]),
            "mode": dice.choice(["base", "non-thinking", "thinking"]),
            "released": dice.choice(["2025-06-01", "2026-06-01"]),
            "settings": settings,
        },
        "judges": described,
        "benchmarks": {name: _benchmark(dice, name, judges, skill, settings["budget"]) for name in benchmarks},
    }


def _benchmark(dice: random.Random, name: str, judges: Sequence[str], skill: float, budget: int) -> dict[str, Any]:
    known = question_sets()[name]
    questions, n = list(known.counted), known.samples
    correct = [min(n, max(0, int(n * dice.betavariate(0.3 + skill, 1.2 - skill)))) for _ in questions]
    stopped = [dice.randint(0, n - c) for c in correct]
    return {
        "digest": known.digests[0],
        "samples": n,
        "questions": questions,
        "n": [n] * len(questions),
        "correct": correct,
        "ungraded": [0] * len(questions),
        "stopped": stopped,
        "completion_tokens": [dice.randint(n, n * budget) for _ in questions],
        "judges": {label: _judge(dice, correct, budget) for label in judges},
    }


def _judge(dice: random.Random, correct: Sequence[int], budget: int) -> dict[str, Any]:
    columns: dict[str, list[int]] = {key: [] for key in ("any", "majority", "strict_majority", "all", "single", "stop")}
    missing: dict[str, list[int]] = {reason: [] for reason in REASONS}
    credited = []
    for count in correct:
        tally = dict.fromkeys(columns, 0)
        none = dict.fromkeys(REASONS, 0)
        credit = 0
        for _ in range(count):
            said = [dice.choices(["yes", "no", *REASONS], [70, 20, 4, 3, 2, 1])[0] for _ in range(3)]
            yes, no = said.count("yes"), said.count("no")
            capped = said.count("stopped_at_limit")
            tally["any"] += yes > 0
            tally["majority"] += yes > no
            tally["strict_majority"] += yes > 1
            tally["all"] += yes == 3
            tally["single"] += yes == 1 and no == 0
            tally["stop"] += capped
            credit += yes + capped > no
            for reason in REASONS:
                none[reason] += said.count(reason)
        for key, value in tally.items():
            columns[key].append(value)
        for reason, value in none.items():
            missing[reason].append(value)
        credited.append(credit)
    return {
        "judged": list(correct),
        "pending": [0] * len(correct),
        "approved": {key: columns[key] for key in ("any", "majority", "strict_majority", "all")},
        "judgments": [3 * count for count in correct],
        "copied": [0] * len(correct),
        "no_verdict": missing,
        "stopped": columns["stop"],
        "single_vote": columns["single"],
        "credited": credited,
        "completion_tokens": [3 * count * (budget // 4) for count in correct],
    }


def make_audit(dice: random.Random, *, chain: float = 0.4) -> dict[str, Any]:
    """An audit over 20 questions of one benchmark of a judge that rejects a share of corrupted chains."""
    questions = list(question_sets()["starter_en"].counted[:20])
    rates = {"clean": 0.95, "intermediate": 0.95 - chain, "truncation": 0.8, "final_answer": 0.2, "consistent": 0.3}
    originals = [3] * len(questions)
    accepted = {edit: [sum(dice.random() < rate for _ in range(3)) for _ in questions] for edit, rate in rates.items()}
    return {
        "judgments": 3,
        "benchmarks": {
            "starter_en": {
                "originals": sum(originals),
                "accepted": {edit: {"majority": sum(column)} for edit, column in accepted.items()},
                "per_question": {"questions": questions, "originals": originals, "accepted": accepted},
            }
        },
    }


def write_entries(folder: Path, count: int, **options: Any) -> None:
    """Write accepted entries with seeds 0, 1, ..."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(count):
        trust = ("self-reported", "reproducible", "verified")[seed % 3]
        entry = {"acceptance": {"trust": trust, "day": "2026-11-01"}, "submission": make_submission(seed, **options)}
        (folder / f"{seed:016x}.json").write_text(json.dumps(entry), encoding="utf-8")
