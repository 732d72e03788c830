"""The Multi-Sequence Verifier against its baselines where correctness is known: SynGroups-v1 and SynStream-v1.

    python bench/verifier_synthetic.py terminal            # ten minutes of one core, on a slow one three times that
    python bench/verifier_synthetic.py streaming
    python bench/verifier_synthetic.py coin                # an unreliable checker: fair coins per pair of answers
    python bench/verifier_synthetic.py terminal --train a.npz --validation b.npz --test c.npz --heads 4

Each scorer's learning rate is chosen by validation Brier with the first seed; figures are means over the seeds. Arrays
are those of `groups_from_arrays`; without files the benchmarks' own splits are made.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from multilingual_math_audit.evaluate.calibration import summary
from multilingual_math_audit.evaluate.verifier.checkers import toss
from multilingual_math_audit.evaluate.verifier.checkpoint import Checkpoint
from multilingual_math_audit.evaluate.verifier.experiment import PAPER_STEPS
from multilingual_math_audit.evaluate.verifier.groups import Group, groups_from_arrays
from multilingual_math_audit.evaluate.verifier.model import MultiSequenceVerifier, VerifierConfig
from multilingual_math_audit.evaluate.verifier.probe import Probe, ProbeConfig
from multilingual_math_audit.evaluate.verifier.scorers import Scorer, self_consistency, trained, weighted_vote
from multilingual_math_audit.evaluate.verifier.selection import answer_scores, best_of
from multilingual_math_audit.evaluate.verifier.stopping import autc, curve
from multilingual_math_audit.evaluate.verifier.synthetic import SynGroups, SynStream, split
from multilingual_math_audit.evaluate.verifier.training import Regime, Trained, fit, plan, sweep

RATES = (1e-4, 3e-4, 1e-3, 3e-3)


@dataclass
class Bench:
    """The splits and the shape of what is trained on them."""

    train: list[Group]
    validation: list[Group]
    test: list[Group]
    heads: int
    seeds: tuple[int, ...]
    streaming: bool = False
    average: bool = True

    @property
    def size(self) -> int:
        """N, the sequences of a problem."""
        return max(problem.size for problem in self.test)

    def fit(self, size: int, **settings: Any) -> list[Trained]:
        """One trained scorer per seed: the probe for size 0, else a verifier of that group size."""
        width = self.test[0].width

        def make() -> Checkpoint[Any]:
            if size == 0:
                return Probe(ProbeConfig(width, self.streaming))
            shape = VerifierConfig(width, self.heads, size, self.streaming, average=self.average)
            return MultiSequenceVerifier(replace(shape, **settings))

        steps = len(plan([problem.size for problem in self.train], Regime(size=max(size, 1)), 0))
        regime = Regime(size=max(size, 1), epochs=math.ceil(PAPER_STEPS * (2 if self.streaming else 1) / steps))
        return sweep(lambda r: fit(make, self.train, self.validation, r), regime, RATES, self.seeds)


def row(name: str, columns: dict[str, list[float]], note: str = "") -> None:
    """Print mean and sd of each column over the seeds."""
    cells = [f"{key} {np.mean(values):7.4f}±{np.std(values):.4f}" for key, values in columns.items()]
    print(f"{name:16s}", "  ".join(cells), note, flush=True)


def measure(bench: Bench, scorers: list[Scorer], size: int, *, answers: bool = True) -> dict[str, list[float]]:
    """Scores per answer in groups of `size`, and best-of-`size`, for one scorer per seed."""
    columns: dict[str, list[float]] = {}
    for scorer in scorers:
        picked = best_of(bench.test, scorer, size)
        found = answer_scores(bench.test, scorer, size) if answers else {}
        calibration = picked.calibration()
        found |= {"best": picked.accuracy, "best_ece": calibration["ece"], "best_brier": calibration["brier"]}
        for key, value in found.items():
            columns.setdefault(key, []).append(value)
    return columns


def terminal(bench: Bench) -> None:
    """Every terminal method in one table, then the pass marks."""
    size = bench.size
    table: dict[str, dict[str, list[float]]] = {}

    def add(name: str, scorers: list[Scorer], n: int, note: str = "") -> None:
        table[name] = measure(bench, scorers, n)
        row(name, table[name], note)

    add(f"SC{size}", [self_consistency()], size)
    for name, n in [("Probe", 0), ("MSV1", 1)]:
        runs = bench.fit(n, vote_skip=False) if n else bench.fit(n)
        scorers = [one_by_one(run.model) for run in runs]
        add(name, scorers, size, f"rate {runs[0].regime.rate:g}")
        add(f"{name}+WV{size}", [weighted_vote(scorer) for scorer in scorers], size)
    for n in [n for n in (4, 16, 64) if n <= size]:
        for skip in (False, True):
            runs = bench.fit(n, vote_skip=skip)
            name = f"MSV{n}" + (" skip" if skip else "")
            add(name, [trained(run.model) for run in runs], n, f"rate {runs[0].regime.rate:g}")
    if size < 64:
        return
    mean = {name: {key: float(np.mean(v)) for key, v in columns.items()} for name, columns in table.items()}
    for kind in ("", " skip"):
        msv, probe, vote = mean[f"MSV64{kind}"], mean["Probe"], mean["Probe+WV64"]
        mark(f"MSV64{kind} Brier <= .100", msv["brier"] <= 0.100)
        mark(f"MSV64{kind} Brier <= .75 x Probe+WV64", msv["brier"] <= 0.75 * vote["brier"])
        mark(f"MSV64{kind} AUROC >= .94", msv["auroc"] >= 0.94)
        mark(f"MSV64{kind} best-of-64 >= Probe + .01", msv["best"] >= probe["best"] + 0.01)
        briers = [mean[f"MSV{n}{kind}"]["brier"] for n in (64, 16, 4)]
        mark(f"MSV64{kind} < MSV16{kind} < MSV4{kind}", briers == sorted(briers))
    mark("MSV1 within .005 Brier of Probe", abs(mean["MSV1"]["brier"] - mean["Probe"]["brier"]) <= 0.005)


def one_by_one(model: Checkpoint[Any]) -> Scorer:
    """A scorer that reads every sequence alone, whatever the group; all of them in one batch."""
    if not model.reads_others:
        return model.probabilities
    return lambda group: np.concatenate(model.score_groups([group.subset([i]) for i in range(group.size)]))


def coin(bench: Bench) -> None:
    """Train and test with a checker that tosses a coin for every pair of answers.

    Voting is measured on coins tossed anew for each seed: which answers one throw favours is luck, the same for all
    scorers, and moves the accuracy of a vote by its standard error over the problems.
    """

    def tossed(problems: list[Group], name: str) -> list[Group]:
        return [
            replace(problem, equal=torch.from_numpy(toss(len(problem.lengths), f"{name}/{index}")))
            for index, problem in enumerate(problems)
        ]

    def voting(scorers: list[Scorer]) -> dict[str, list[float]]:
        columns: dict[str, list[float]] = {}
        for throw, scorer in enumerate(scorers):
            again = replace(weak, test=tossed(bench.test, f"test/{throw}"))
            for key, values in measure(again, [scorer], size).items():
                columns.setdefault(key, []).extend(values)
        return columns

    weak = replace(
        bench,
        train=tossed(bench.train, "train"),
        validation=tossed(bench.validation, "validation"),
        test=tossed(bench.test, "test"),
        average=False,
    )
    size = weak.size
    base = np.mean(np.concatenate([g.correct.numpy() for g in weak.test if g.correct is not None]))
    print(f"base accuracy {base:.4f}")
    row(f"SC{size}", voting([self_consistency()] * len(bench.seeds)))
    probes = [one_by_one(run.model) for run in weak.fit(0)]
    row("Probe", measure(weak, probes, size))
    voted = voting([weighted_vote(scorer) for scorer in probes])
    row(f"Probe+WV{size}", voted)
    for skip in (False, True):
        runs = weak.fit(size, vote_skip=skip)
        found = measure(weak, [trained(run.model) for run in runs], size)
        row(f"MSV{size}" + (" skip" if skip else ""), found, f"rate {runs[0].regime.rate:g}")
        mark("best-of-N >= .60 with the coin", float(np.mean(found["best"])) >= 0.60)
    mark("weighted voting at the base rate (within .03)", abs(float(np.mean(voted["best"])) - base) <= 0.03)


def streaming(bench: Bench) -> None:
    """Every streaming method: per answer, and the area under accuracy against latency."""
    table: dict[str, dict[str, float]] = {}

    def add(name: str, scorers: list[Scorer], note: str = "") -> None:
        columns: dict[str, list[float]] = {}
        for scorer in scorers:
            scores = [scorer(problem) for problem in bench.test]
            points = curve(bench.test, scores)
            labels = np.concatenate([g.correct.numpy() for g in bench.test if g.correct is not None])
            found = summary(np.concatenate(scores), labels) | {"autc": autc(points), "end": points[-1].accuracy}
            for key, value in found.items():
                columns.setdefault(key, []).append(value)
        table[name] = {key: float(np.mean(values)) for key, values in columns.items()}
        row(name, columns, note)

    size = bench.size
    add(f"SC{size}", [self_consistency(streaming=True)])
    runs = bench.fit(0)
    probes = [trained(run.model) for run in runs]
    add("Probe", probes, f"rate {runs[0].regime.rate:g}")
    add(f"Probe+WV{size}", [weighted_vote(scorer, streaming=True) for scorer in probes])
    runs = bench.fit(1, vote_skip=False)
    add("MSV1", [in_parts(run.model, 1) for run in runs], f"rate {runs[0].regime.rate:g}")
    for n in sorted({4, size}):
        for skip in (False, True):
            runs = bench.fit(n, vote_skip=skip)
            models = [in_parts(run.model, n) for run in runs]
            add(f"MSV{n}" + (" skip" if skip else ""), models, f"rate {runs[0].regime.rate:g}")
    for kind in ("", " skip"):
        msv = table[f"MSV{size}{kind}"]
        mark(f"MSV{size}{kind} AUROC >= .88", msv["auroc"] >= 0.88)
        mark(f"MSV{size}{kind} Brier <= .115", msv["brier"] <= 0.115)
        others = [table[name]["autc"] for name in ("Probe", "MSV1", "MSV4")]
        mark(f"MSV{size}{kind} AUTC above Probe, MSV1 and MSV4", msv["autc"] > max(others))


def in_parts(model: Checkpoint[Any], size: int) -> Scorer:
    """A streaming scorer that reads groups of `size` sequences, none seeing another's answers."""

    def score(group: Group) -> np.ndarray[Any, Any]:
        scores = np.empty(len(group.lengths))
        parts = [range(at, min(at + size, group.size)) for at in range(0, group.size, size)]
        found = model.score_groups([group.subset(part) for part in parts])
        for part, values in zip(parts, found, strict=True):
            number = group.sequence.numpy()
            mine = np.flatnonzero((number >= part.start) & (number < part.stop))
            scores[mine[np.argsort(number[mine], kind="stable")]] = values
        return scores

    return score


def mark(what: str, passed: bool) -> None:
    """Print one pass mark."""
    print("pass" if passed else "FAIL", what, flush=True)


def main() -> None:
    """Read the arguments, make or load the splits, run one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tables: dict[str, Callable[[Bench], None]] = {"terminal": terminal, "streaming": streaming, "coin": coin}
    parser.add_argument("table", choices=tables)
    for name in ("train", "validation", "test"):
        parser.add_argument(f"--{name}", help="an .npz file; default: the benchmark's own split")
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    own = SynStream() if asked.table == "streaming" else SynGroups()
    files = {name: getattr(asked, name) for name in ("train", "validation", "test")}
    data = [groups_from_arrays(np.load(file) if file else split(own, name)) for name, file in files.items()]
    start = time.perf_counter()
    seeds = tuple(range(asked.seeds))
    tables[asked.table](Bench(data[0], data[1], data[2], asked.heads, seeds, asked.table == "streaming"))
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
