"""From states to trained scorers: splits by problem, every scorer's sweep, and a folder that remembers both."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from multilingual_math_audit.errors import SettingsMismatch, UsageError
from multilingual_math_audit.evaluate.verifier.checkpoint import Checkpoint, default_device, read_config
from multilingual_math_audit.evaluate.verifier.groups import Group
from multilingual_math_audit.evaluate.verifier.model import MultiSequenceVerifier, VerifierConfig
from multilingual_math_audit.evaluate.verifier.probe import Probe, ProbeConfig
from multilingual_math_audit.evaluate.verifier.states import StateFolder, StatesHeader
from multilingual_math_audit.evaluate.verifier.training import Regime, Trained, fit, plan, sweep
from multilingual_math_audit.records import digest
from multilingual_math_audit.store import storage_errors, write_atomically

Part = Literal["train", "validation", "test"]
PROBLEMS = "problems.json"
RESIDENT_BYTES = 2**30
PAPER_STEPS = 224
NAME = re.compile(r"probe|msv([1-9][0-9]*)")


@dataclass(frozen=True)
class TrainPlan:
    """Which scorers to train and how: `probe` and `msvN` for groups of N; epochs None: enough for 224 steps."""

    scorers: tuple[str, ...]
    rates: tuple[float, ...]
    seeds: tuple[int, ...]
    streaming: bool = False
    epochs: int | None = None
    heads: int | None = None
    mixture: Literal["free", "softmax"] = "free"
    vote_skip: bool = True
    schedule: Literal["constant", "linear"] = "constant"


def part_of(item: str, shares: Sequence[float] = (0.6, 0.2, 0.2), seed: int = 0) -> Part:
    """The part an item falls in, by a digest: translations of a problem share its item, so they stay together.

    >>> [part_of(f"starter/{i}") for i in range(4)]
    ['train', 'train', 'validation', 'train']
    """
    place = int(digest("split", seed, item), 16) / 16**16 * sum(shares)
    if place < shares[0]:
        return "train"
    return "validation" if place < shares[0] + shares[1] else "test"


def split_states(states: StateFolder, shares: Sequence[float], seed: int = 0) -> dict[Part, StateFolder | None]:
    """The folder's problems in three parts, never two samples of one problem in different ones."""
    parts = [part_of(facts["item"], shares, seed) for facts in states.facts()]
    names: tuple[Part, ...] = ("train", "validation", "test")
    return {name: states.only([part == name for part in parts]) for name in names}


def questions_of(states: Iterable[StateFolder]) -> set[str]:
    """Digests of the problem texts of state folders."""
    return {facts["question"] for folder in states for facts in folder.facts()}


def refuse_overlap(first: set[str], second: set[str], *, names: tuple[str, str]) -> None:
    """Raise UsageError when two sets of problems have a text in common."""
    if common := first & second:
        raise UsageError(
            f"{len(common)} of {len(second)} problems of {names[1]} are also in {names[0]}.",
            "A scorer is not tested on what it was trained on: give other problems, or --unseen to leave them out.",
        )


def resident(states: StateFolder) -> Sequence[Group]:
    """The groups in memory where they fit into a gigabyte, else the folder itself, which reads each when asked."""
    size = sum(path.stat().st_size for path in states.paths)
    return list(states) if size <= RESIDENT_BYTES else states


def maker(name: str, header: StatesHeader, plan: TrainPlan) -> tuple[Callable[[], Checkpoint[Any]], int]:
    """What builds the scorer of a name, and the size of its groups."""
    found = NAME.fullmatch(name)
    if found is None:
        raise UsageError(f"There is no scorer {name!r}.", "Scorers: probe, and msvN for groups of N, as in msv16.")
    if plan.streaming and not header.streaming:
        raise UsageError(
            "These states hold terminal answers only.",
            "Collect with --delimiter Wait or --every K to train for streaming.",
        )
    source = {key: value for key, value in asdict(header).items() if key not in ("width", "heads")}
    if found[1] is None:
        return lambda: Probe(ProbeConfig(header.width, plan.streaming, source=source)), 1
    size = int(found[1])
    config = VerifierConfig(
        width=header.width,
        heads=plan.heads or header.heads,
        size=size,
        streaming=plan.streaming,
        mixture=plan.mixture,
        average=header.checker in ("symbolic", "exact"),
        vote_skip=plan.vote_skip and size > 1,
        source=source,
    )
    return lambda: MultiSequenceVerifier(config), size


def train_scorer(
    name: str,
    train: Sequence[Group],
    validation: Sequence[Group],
    header: StatesHeader,
    plan: TrainPlan,
    out: Path,
    *,
    progress: Callable[[str, int, int, float], None] | None = None,
) -> dict[str, Any]:
    """Sweep, train and save one scorer in `out/NAME/seed-K`; what is finished is not done again."""
    make, size = maker(name, header, plan)
    folder, report = out / name, out / name / "training.json"
    settings = json.loads(json.dumps({**asdict(plan), "scorers": None}))
    if report.exists():
        known: dict[str, Any] = json.loads(report.read_text())
        if known["plan"] != settings:
            raise SettingsMismatch(f"{folder} was trained with other settings.", "Give another --out, or delete it.")
        return known
    steps = regime_epochs(train, size, plan)
    regime = Regime(size=size, epochs=steps, schedule=plan.schedule)
    fits = folder / "fits"
    with storage_errors(fits):
        fits.mkdir(parents=True, exist_ok=True)
    curve: list[dict[str, Any]] = []

    def fit_one(one: Regime) -> Trained:
        label = f"{name} rate {one.rate:g} seed {one.seed}"

        def watch(at: int, of: int, loss: float) -> None:
            if progress is not None:
                progress(label, at, of, loss)

        found = fit(make, train, validation, one, state=fits / f"{one.rate:g}-{one.seed}.pt", progress=watch)
        curve.append({"rate": one.rate, "seed": one.seed, "validation": found.validation, "losses": found.losses})
        return found

    chosen = sweep(fit_one, regime, plan.rates, plan.seeds)
    for found in chosen:
        found.model.save_pretrained(folder / f"seed-{found.regime.seed}")  # type: ignore[operator]
    result = {
        "scorer": name,
        "rate": chosen[0].regime.rate,
        "epochs": steps,
        "steps": len(chosen[0].losses),
        "plan": settings,
        "fits": curve,
        "chosen": [{"seed": found.regime.seed, "validation": found.validation} for found in chosen],
    }
    write_atomically(report, json.dumps(result).encode())
    shutil.rmtree(fits)
    return result


def regime_epochs(train: Sequence[Group], size: int, plan_: TrainPlan) -> int:
    """The epochs asked for, else as many as make the paper's 224 terminal or 448 streaming steps, rounded up."""
    if plan_.epochs is not None:
        return plan_.epochs
    steps = len(plan([problem.size for problem in train], Regime(size=size), 0))
    return math.ceil(PAPER_STEPS * (2 if plan_.streaming else 1) / steps)


def remember(out: Path, train: StateFolder, validation: StateFolder) -> None:
    """Keep in `out` which problems were trained on and validated on, and where the validation states lie."""
    refuse_overlap(questions_of([train]), questions_of([validation]), names=("training", "validation"))
    facts = {
        "train": sorted(questions_of([train])),
        "validation": sorted(questions_of([validation])),
        "validation_shards": [str(path.resolve()) for path in validation.paths],
        "header": asdict(train.header),
    }
    with storage_errors(out):
        out.mkdir(parents=True, exist_ok=True)
    file = out / PROBLEMS
    if file.exists() and {**json.loads(file.read_text()), "validation_shards": 0} != {**facts, "validation_shards": 0}:
        raise SettingsMismatch(f"{out} holds scorers trained on other problems or states.", "Give another --out.")
    write_atomically(file, json.dumps(facts, indent=1).encode())


@dataclass(frozen=True)
class Experiment:
    """A folder that `train` wrote: its scorers by name, one model per seed, and the problems they have seen."""

    folder: Path
    scorers: Mapping[str, list[Checkpoint[Any]]]
    seen: Mapping[str, set[str]]
    validation: StateFolder | None

    @classmethod
    def open(cls, folder: str | Path) -> Experiment:
        """Load every scorer of the folder; raises UsageError when it is none."""
        path = Path(folder)
        try:
            known = json.loads((path / PROBLEMS).read_text())
        except (OSError, ValueError) as error:
            raise UsageError(
                f"{path} is no folder of trained scorers: {error}.", "Train with: math-audit verifier train."
            ) from None
        scorers = {}
        for report in sorted(path.glob("*/training.json"), key=lambda p: (len(p.parent.name), p.parent.name)):
            seeds = sorted(report.parent.glob("seed-*"))
            scorers[report.parent.name] = [load_checkpoint(seed) for seed in seeds]
        if not scorers:
            raise UsageError(f"{path} holds no trained scorer yet.", "Let train run to its end.")
        shards = [Path(shard) for shard in known["validation_shards"]]
        there = bool(shards) and all(shard.exists() for shard in shards)
        validation = StateFolder(shards[0].parent, shards) if there else None
        return cls(path, scorers, {part: set(known[part]) for part in ("train", "validation")}, validation)


def load_checkpoint(folder: str | Path) -> Checkpoint[Any]:
    """The verifier or probe of a checkpoint folder."""
    kind = read_config(folder)["kind"]
    classes: dict[str, type[Checkpoint[Any]]] = {VerifierConfig.kind: MultiSequenceVerifier, ProbeConfig.kind: Probe}
    if kind not in classes:
        raise UsageError(f"{folder} holds a {kind!r} checkpoint.", f"Known kinds: {', '.join(classes)}.")
    loaded: Checkpoint[Any] = classes[kind].from_pretrained(str(folder))
    return loaded.to(default_device())
