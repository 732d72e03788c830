"""Trained scorers on states they have not seen: the selection trial, the stopping trial, and their files."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.calibration import summary
from multilingual_math_audit.evaluate.statistics import Difference
from multilingual_math_audit.evaluate.verifier.checkers import open_checker
from multilingual_math_audit.evaluate.verifier.comparison import (
    Line,
    Recalibrator,
    as_json,
    compare,
    differences,
    recalibrate,
    score_records,
    selectors,
    submission_counts,
)
from multilingual_math_audit.evaluate.verifier.experiment import Experiment, questions_of, refuse_overlap
from multilingual_math_audit.evaluate.verifier.groups import Group
from multilingual_math_audit.evaluate.verifier.model import MultiSequenceVerifier
from multilingual_math_audit.evaluate.verifier.scorers import Scorer, self_consistency, token_probability, weighted_vote
from multilingual_math_audit.evaluate.verifier.states import StateFolder
from multilingual_math_audit.evaluate.verifier.stopping import (
    THRESHOLDS,
    Point,
    autc,
    choose_threshold,
    count_stops,
    curve,
    stop,
    whole_cost,
)
from multilingual_math_audit.evaluate.verifier.streaming import stream
from multilingual_math_audit.records import Score
from multilingual_math_audit.store import Run, storage_errors, write_atomically

COUNTED_THRESHOLDS = THRESHOLDS[::5]
# What of a selector's counts each of the two trials writes.
SELECTION, STOPPING = ("best_of", "reliability"), ("early_stopping",)


def unseen_problems(experiment: Experiment, states: StateFolder, *, unseen: bool) -> StateFolder:
    """The states to test on; raises UsageError when they hold problems of the training, unless those are left out."""
    for models in experiment.scorers.values():
        models[0].require(states.header.width, asdict(states.header))
    seen = experiment.seen["train"] | experiment.seen["validation"]
    if not unseen:
        refuse_overlap(seen, questions_of([states]), names=("training or validation", "the test"))
        return states
    kept = states.only([facts["question"] not in seen for facts in states.facts()])
    if kept is None:
        raise UsageError("Every problem of these states was trained or validated on.", "Collect others to test on.")
    return kept


@dataclass(slots=True)
class Selection:
    """All selectors on a test set: their lines, the sizes N, and differences from self-consistency at the largest."""

    states: StateFolder
    lines: list[Line]
    sizes: list[int]
    problems: list[str]
    base: float
    oracle: float
    versus: dict[str, Difference] = field(default_factory=dict)
    recalibration: str | None = None

    @classmethod
    def run(
        cls, experiment: Experiment, states: StateFolder, *, unseen: bool, kind: Recalibrator | None = None
    ) -> Selection:
        """Score everything; with `kind`, refit confidences on the experiment's validation states."""
        scorers = {name: models for name, models in experiment.scorers.items() if not models[0].config.streaming}
        if not scorers:
            raise UsageError(f"{experiment.folder} holds streaming scorers only.", "Train some without --streaming.")
        test = unseen_problems(experiment, states, unseen=unseen)
        groups = [group.terminals() for group in test]
        lines = selectors(scorers, list(groups[0].columns))
        sizes = compare(groups, lines)
        if kind is not None:
            if experiment.validation is None:
                raise UsageError("The validation states are not where they were.", "Leave out --recalibrate.")
            recalibrate(lines, list(experiment.validation), sizes[-1], kind)
        right = [group.correct.float() for group in groups if group.correct is not None]
        return cls(
            states=test,
            lines=lines,
            sizes=sizes,
            problems=[facts["benchmark"] for facts in test.facts()],
            base=float(np.mean([float(r.mean()) for r in right])),
            oracle=float(np.mean([float(r.max()) for r in right])),
            versus=differences(lines, len(groups), sizes[-1]),
            recalibration=kind,
        )

    def save(self, folder: Path) -> Path:
        """Write select.json; where the states lie in a run, its scores and verifier counts too."""
        path = _save(folder / "select.json", as_json(self.lines, self.sizes))
        run = run_of(self.states)
        if run is not None:
            records = score_records(self.lines, self.problems, self.sizes, solver=self.states.header.model)
            _keep_scores(run, records)
            keep_counts(run, self.states, submission_counts(self.lines, self.problems), SELECTION)
        return path


@dataclass(frozen=True, slots=True)
class Wish:
    """What a stop should reach: an accuracy, or closeness to the best; and how latency is measured."""

    accuracy: float | None = None
    within: float = 0.005
    horizon: int | None = None
    tokens_per_second: float | None = None


@dataclass(slots=True)
class StopLine:
    """One scorer of the stopping table: scores per answer, its curve, and the point of its validation threshold."""

    name: str
    answers: dict[str, float]
    points: list[Point]
    area: float
    threshold: float | None
    chosen: Point | None
    counts: dict[str, list[dict[str, float]]]


@dataclass(slots=True)
class Stopping:
    """All scorers' stopping curves on a test set, and where the time of one problem goes."""

    states: StateFolder
    lines: list[StopLine]
    horizon: int
    full: Point
    seconds: dict[str, float]

    @classmethod
    def run(cls, experiment: Experiment, states: StateFolder, wish: Wish, *, unseen: bool) -> Stopping:
        """Score every answer as it appeared; thresholds come from the experiment's validation states."""
        models = {name: m[0] for name, m in experiment.scorers.items() if m[0].config.streaming}
        if not models:
            raise UsageError(f"{experiment.folder} holds terminal scorers only.", "Train with --streaming.")
        if experiment.validation is None:
            raise UsageError("The validation states are not where they were; thresholds cannot be chosen.")
        test = unseen_problems(experiment, states, unseen=unseen)
        groups, held_out = list(test), list(experiment.validation)
        scorers: dict[str, Scorer] = {
            "self-consistency": self_consistency(streaming=True),
            "token probability": token_probability(),
        }
        for name, model in models.items():
            scorers[name] = model.probabilities
            if not model.reads_others or model.config.size == 1:
                scorers[f"{name} + vote"] = weighted_vote(model.probabilities, streaming=True)
        cost = elicitation_tokens(test)
        horizon = wish.horizon or max(int(group.time.max()) for group in groups)
        lines = [_stop_line(n, s, test, held_out, wish, cost, horizon) for n, s in scorers.items()]
        largest = max(models, key=lambda name: int(models[name].config.size))
        seconds = time_split(test, models[largest], wish.tokens_per_second)
        return cls(test, lines, horizon, full_decoding(groups, scorers[largest], cost), seconds)

    def save(self, folder: Path) -> Path:
        """Write stream.json: every curve, threshold and area, and the split of time; counts go to the states' run."""
        run = run_of(self.states)
        if run is not None:
            counts = {
                line.name: {benchmark: {"early_stopping": found} for benchmark, found in line.counts.items()}
                for line in self.lines
            }
            keep_counts(run, self.states, counts, STOPPING)
        content = {
            "horizon": self.horizon,
            "full": asdict(self.full),
            "seconds": self.seconds,
            "scorers": [
                {
                    "scorer": line.name,
                    "answers": line.answers,
                    "autc": line.area,
                    "threshold": line.threshold,
                    "chosen": None if line.chosen is None else asdict(line.chosen),
                    "points": [asdict(point) for point in line.points],
                }
                for line in self.lines
            ],
        }
        return _save(folder / "stream.json", json.dumps(content, indent=1))


def _stop_line(
    name: str,
    scorer: Scorer,
    test: StateFolder,
    held_out: Sequence[Group],
    wish: Wish,
    cost: int,
    horizon: int,
) -> StopLine:
    groups = list(test)
    scores = [scorer(group) for group in groups]
    labels = np.concatenate([group.correct.numpy() for group in groups if group.correct is not None])
    points = curve(groups, scores, elicitation=cost)
    before = curve(held_out, [scorer(group) for group in held_out], elicitation=cost)
    reachable = wish.accuracy is None or any(point.accuracy >= wish.accuracy for point in before)
    threshold = choose_threshold(before, accuracy=wish.accuracy, within=wish.within) if reachable else None
    chosen = next((point for point in points if point.threshold == threshold), None)
    area = autc(points, horizon=horizon)
    benchmarks = [facts["benchmark"] for facts in test.facts()]
    counts = count_stops(groups, scores, benchmarks, COUNTED_THRESHOLDS, elicitation=cost)
    return StopLine(name, summary(np.concatenate(scores), labels), points, area, threshold, chosen, counts)


def full_decoding(groups: Sequence[Group], scorer: Scorer, cost: int) -> Point:
    """What never stopping gives: each sequence decoded to its end and asked once, the best terminal answer taken."""
    whole = [whole_cost(group, elicitation=cost) for group in groups]
    ends = [stop(group, scorer(group), 1.0, elicitation=cost) for group in groups]
    accuracy, latency = np.mean([end.correct for end in ends]), np.mean([end.time for end in ends])
    return Point(1.0, float(accuracy), float(latency), float(np.mean(whole)), 0.0, 0.0)


def elicitation_tokens(states: StateFolder) -> int:
    """About how many tokens asking for an answer takes, besides the answer: a word or sign each."""
    import re

    return len(re.findall(r"\w+|[^\w\s]+", states.header.elicitation))


def time_split(states: StateFolder, model: Any, tokens_per_second: float | None) -> dict[str, float]:
    """Mean seconds of a problem: elicitation (as collected), checker and verifier (measured here), and generation.

    Generation is the longest sequence at the decoding speed given; it is left out without one.
    """
    spent: dict[str, list[float]] = {"elicitation": [], "checker": [], "verifier": []}
    for shard in list(states[:8].shards()):
        checker = open_checker("exact" if states.header.checker == "embedding" else states.header.checker)
        start = time.perf_counter()
        checker(shard.group.texts or ())
        middle = time.perf_counter()
        stream(model, shard.group) if isinstance(model, MultiSequenceVerifier) else model.probabilities(shard.group)
        spent["elicitation"].append(shard.seconds)
        spent["checker"].append(middle - start)
        spent["verifier"].append(time.perf_counter() - middle)
    split = {name: float(np.mean(values)) for name, values in spent.items()}
    if tokens_per_second is not None:
        longest = [int(group.time.max()) for group in states]
        split = {"generation": float(np.mean(longest)) / tokens_per_second, **split}
    return split


def run_of(states: StateFolder) -> Run | None:
    """The run a folder of states lies in, if it lies in one."""
    parent = states.folder.resolve().parent
    return Run.open(parent) if (parent / "manifest.json").exists() else None


def _keep_scores(run: Run, records: Sequence[Score]) -> None:
    kept = {record.key: record for record in run.read(Score)}
    kept |= {record.key: record for record in records}
    run.replace(Score, list(kept.values()))


def keep_counts(run: Run, states: StateFolder, counts: dict[str, dict[str, Any]], fields: Sequence[str]) -> None:
    """Write verifier.json beside the run's records: the part of a submission that is about selectors.

    `counts` take the place of what it held under these fields, and the other trial's fields stay; counts from states of
    another model go.
    """
    path = run.folder / "verifier.json"
    whose = {"model": states.header.model, "revision": states.header.revision}
    held: dict[str, dict[str, Any]] = {}
    if path.is_file():
        with contextlib.suppress(json.JSONDecodeError, AttributeError, TypeError):
            before = json.loads(path.read_bytes())
            if whose == {name: before.get(name) for name in whose}:
                held = dict(before["selectors"])
    selectors: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys([*held, *counts]):
        for benchmark in dict.fromkeys([*held.get(name, {}), *counts.get(name, {})]):
            other = {k: v for k, v in held.get(name, {}).get(benchmark, {}).items() if k not in fields}
            if found := other | counts.get(name, {}).get(benchmark, {}):
                selectors.setdefault(name, {})[benchmark] = found
    write_atomically(path, json.dumps(whose | {"selectors": selectors}, indent=1).encode())


def _save(path: Path, content: str) -> Path:
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content.encode())
    return path


def latency_seconds(points: Sequence[Point], split: dict[str, float], horizon: int) -> NDArray[np.float64]:
    """[points]: seconds until the stop, each part of the time in proportion to the tokens decoded by then."""
    return np.array([point.latency / horizon * sum(split.values()) for point in points])
