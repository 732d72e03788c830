"""All selectors side by side: best-of-N, calibration, differences from self-consistency, and the records of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from multilingual_math_audit.evaluate.calibration import fit_isotonic, fit_temperature, reliability
from multilingual_math_audit.evaluate.statistics import Difference, paired_bootstrap
from multilingual_math_audit.evaluate.verifier.checkpoint import Checkpoint
from multilingual_math_audit.evaluate.verifier.groups import Group
from multilingual_math_audit.evaluate.verifier.scorers import (
    Scorer,
    column,
    in_groups,
    self_consistency,
    token_probability,
    weighted_vote,
)
from multilingual_math_audit.evaluate.verifier.selection import (
    BestOf,
    Recalibration,
    answer_scores,
    best_of,
    by_problem,
    sizes_up_to,
)
from multilingual_math_audit.records import Score, digest

REFERENCE = "self-consistency"
Recalibrator = Literal["temperature", "isotonic"]


@dataclass(slots=True)
class Line:
    """One selector of the table: its scorers (one per seed), scores per answer, and best-of-N for each N."""

    name: str
    scorers: list[Scorer]
    answers: dict[str, list[float]] = field(default_factory=dict)
    best: dict[int, list[BestOf]] = field(default_factory=dict)
    recalibrated: list[dict[str, float]] = field(default_factory=list)

    def accuracy(self, size: int) -> list[float]:
        """Best-of-`size` of every seed."""
        return [result.accuracy for result in self.best[size]]

    def per_problem(self, size: int, problems: int) -> NDArray[np.float64]:
        """[problems]: best-of-`size` accuracy of each problem, averaged over seeds."""
        return np.asarray(np.mean([by_problem(result, problems) for result in self.best[size]], axis=0))


def selectors(trained: dict[str, list[Checkpoint[Any]]], columns: Sequence[str]) -> list[Line]:
    """Every selector that the checkpoints and the states' columns allow, self-consistency first."""
    lines = [Line(REFERENCE, [self_consistency()])]
    if "mean_logprob" in columns:
        lines.append(Line("token probability", [token_probability()]))
    for name in ("self_certainty", "prm"):
        if name in columns:
            lines.append(Line(name.replace("_", "-"), [column(name)]))
    if "prm" in columns:
        lines.append(Line("prm + vote", [weighted_vote(column("prm"))]))
    for name, models in trained.items():
        scorers = [
            in_groups(model, model.config.size) if model.reads_others else model.probabilities for model in models
        ]
        lines.append(Line(name, scorers))
        if models[0].config.size == 1:
            lines.append(Line(f"{name} + vote", [weighted_vote(scorer) for scorer in scorers]))
    return lines


def compare(problems: Sequence[Group], lines: Sequence[Line]) -> list[int]:
    """Fill every line with its scores on the problems' terminal answers; gives the sizes N that were measured."""
    final = [problem.terminals() for problem in problems]
    sizes = sizes_up_to(final)
    for line in lines:
        for scorer in line.scorers:
            for name, value in answer_scores(final, scorer, sizes[-1]).items():
                line.answers.setdefault(name, []).append(value)
            for size in sizes:
                line.best.setdefault(size, []).append(best_of(final, scorer, size))
    return sizes


def recalibrate(lines: Sequence[Line], validation: Sequence[Group], size: int, kind: Recalibrator) -> None:
    """Refit each scorer's confidence in its pick on validation, and note ECE and Brier of best-of-`size` after it.

    The highest of N scores is over-confident even where each score is calibrated.
    """
    final = [problem.terminals() for problem in validation]
    for line in lines:
        for scorer, result in zip(line.scorers, line.best[size], strict=True):
            picks = best_of(final, scorer, size).picks
            confidence = np.array([pick.confidence for pick in picks])
            if not picks or confidence.min() < 0 or confidence.max() > 1:
                line.recalibrated.append({"ece": float("nan"), "brier": float("nan")})
                continue
            labels = [pick.correct for pick in picks]
            fit: Callable[..., Recalibration] = fit_temperature if kind == "temperature" else fit_isotonic
            fitted = fit(confidence, labels)
            line.recalibrated.append(result.calibration(fitted))


def differences(lines: Sequence[Line], problems: int, size: int, *, seed: int = 0) -> dict[str, Difference]:
    """Best-of-`size` of each selector minus that of self-consistency, with a paired bootstrap over problems."""
    reference = next(line for line in lines if line.name == REFERENCE).per_problem(size, problems)
    found = {}
    for line in lines:
        mine = line.per_problem(size, problems)
        both = ~(np.isnan(mine) | np.isnan(reference))
        found[line.name] = paired_bootstrap(reference[both], mine[both], resamples=10_000, seed=seed)
    return found


def score_records(lines: Sequence[Line], problems: Sequence[str], sizes: Sequence[int], *, solver: str) -> list[Score]:
    """Best-of-N as Score records, one per selector, N and benchmark; `problems` names each problem's benchmark."""
    records = []
    for line in lines:
        for size in sizes:
            values = line.per_problem(size, len(problems))
            for benchmark in dict.fromkeys(problems):
                mine = values[[name == benchmark for name in problems]]
                kept = mine[~np.isnan(mine)]
                records.append(
                    Score(
                        metric="best_of_n",
                        benchmark=benchmark,
                        n=int(kept.size),
                        digest=digest(line.name, size, kept.tolist()),
                        value=float(kept.mean()) if kept.size else None,
                        k=size,
                        solver=solver or None,
                        selector=line.name,
                        undefined=int(mine.size - kept.size),
                        note=f"mean of {len(line.scorers)} seeds" if len(line.scorers) > 1 else None,
                    )
                )
    return records


def submission_counts(lines: Sequence[Line], problems: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The counts a submission holds, by selector and benchmark: blocks and right picks per N, and reliability bins.

    Counts of several seeds are added up.
    """
    table: dict[str, dict[str, Any]] = {}
    for line in lines:
        for benchmark in dict.fromkeys(problems):
            groups = []
            for size, results in sorted(line.best.items()):
                picks = [p for result in results for p in result.picks if problems[p.problem] == benchmark]
                groups.append({"size": size, "groups": len(picks), "correct": sum(p.correct for p in picks)})
            confidence = [p.confidence for p in picks]
            bins = []
            if picks and min(confidence) >= 0 and max(confidence) <= 1:
                bars = reliability(confidence, [p.correct for p in picks])
                bins = [
                    {"count": b.size, "correct": round(b.accuracy * b.size), "confidence": b.confidence * b.size}
                    for b in bars
                ]
            table.setdefault(line.name, {})[benchmark] = {"best_of": groups, "reliability": bins}
    return table


def as_json(lines: Sequence[Line], sizes: Sequence[int]) -> str:
    """The whole table as JSON, means and standard deviations over seeds."""

    def both(values: Sequence[float]) -> dict[str, float | None]:
        mean, sd = float(np.mean(values)), float(np.std(values))
        return {"mean": mean if np.isfinite(mean) else None, "sd": sd if np.isfinite(sd) else None}

    rows = []
    for line in lines:
        final = [result.calibration() for result in line.best[sizes[-1]]]
        rows.append(
            {
                "selector": line.name,
                "seeds": len(line.scorers),
                "answers": {name: both(values) for name, values in line.answers.items()},
                "best_of": {str(size): both(line.accuracy(size)) for size in sizes},
                "best_of_ece": both([one["ece"] for one in final]),
                "best_of_brier": both([one["brier"] for one in final]),
            }
        )
    return json.dumps(rows, indent=1)
