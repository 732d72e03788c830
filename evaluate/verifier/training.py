"""Training of a scorer on groups: AdamW at a constant rate, 64 sequences a step, everything drawn from one seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from multilingual_math_audit.errors import SettingsMismatch, UndefinedScore, UsageError
from multilingual_math_audit.evaluate.calibration import summary
from multilingual_math_audit.evaluate.verifier.checkpoint import Checkpoint, default_device
from multilingual_math_audit.evaluate.verifier.groups import Batch, Group, collate

RATES = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3)
TOKENS_AT_ONCE = 20_000
Progress = Callable[[int, int, float], None]


@dataclass(frozen=True)
class Regime:
    """How a scorer is trained: one terminal or two streaming epochs of 64 sequences a step, constant rates, clip 1.

    Every epoch cuts each problem's sequences at random into groups of `size` and shuffles the groups of all problems.
    `schedule` linear lets the rates fall to zero. `precision` bfloat16 computes products in bfloat16.
    """

    size: int = 64
    batch: int = 64
    epochs: int = 1
    rate: float = 3e-4
    mixture_rate: float = 1e-2
    slot_rate: float = 1e-4
    clip: float = 1.0
    schedule: Literal["constant", "linear"] = "constant"
    precision: Literal["float32", "bfloat16"] = "float32"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.size < 1 or self.batch < 1 or self.epochs < 1:
            raise UsageError(
                f"Asked for groups of {self.size}, {self.batch} sequences a step and {self.epochs} epochs.",
                "Give at least 1 of each.",
            )


class Step(NamedTuple):
    """The groups of one optimiser step: which problem, and which of its sequences."""

    parts: tuple[tuple[int, tuple[int, ...]], ...]


class Trained(NamedTuple):
    """A trained scorer with its settings, its losses per step and its scores on the validation groups."""

    model: Checkpoint[Any]
    regime: Regime
    losses: list[float]
    validation: dict[str, float]


def plan(sizes: Sequence[int], regime: Regime, epoch: int) -> list[Step]:
    """The steps of one epoch: each problem in groups of `regime.size`, shuffled, 64 sequences a step at most.

    A problem's last group is smaller where its sequences do not divide evenly; no sequence is left out.

    >>> [sum(len(s) for _, s in step.parts) for step in plan([4, 4, 4], Regime(size=2, batch=8), epoch=0)]
    [8, 4]
    """
    random = np.random.default_rng([regime.seed, epoch])
    groups = []
    for problem, size in enumerate(sizes):
        order = random.permutation(size)
        for at in range(0, size, regime.size):
            groups.append((problem, tuple(int(i) for i in order[at : at + regime.size])))
    steps: list[Step] = []
    parts: list[tuple[int, tuple[int, ...]]] = []
    held = 0
    for index in random.permutation(len(groups)):
        if parts and held + len(groups[index][1]) > regime.batch:
            steps.append(Step(tuple(parts)))
            parts, held = [], 0
        parts.append(groups[index])
        held += len(groups[index][1])
    return [*steps, Step(tuple(parts))] if parts else steps


def train(
    model: Checkpoint[Any],
    problems: Sequence[Group],
    regime: Regime,
    *,
    state: Path | None = None,
    progress: Progress | None = None,
) -> list[float]:
    """Train `model` in place with mean binary cross-entropy over all answers of a step; gives the loss of each step.

    With `state`, the optimiser and weights are kept in that file every 50 steps and a second call goes on from there,
    to the same bits. Raises UsageError when the correctness of an answer is not known.
    """
    steps = [step for epoch in range(regime.epochs) for step in plan([p.size for p in problems], regime, epoch)]
    model.require(problems[0].width, None)
    rates = {"body": regime.rate, "mixture": regime.mixture_rate, "slots": regime.slot_rate}
    optimiser = torch.optim.AdamW(model.parameter_groups(rates), weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda at: 1 - at / len(steps) if regime.schedule == "linear" else 1.0
    )
    losses = _resume(state, model, optimiser, schedule, regime) if state is not None and state.exists() else []
    model.train()
    for at in range(len(losses), len(steps)):
        batch = _batch_of(steps[at], problems, model.config.streaming, np.random.default_rng([regime.seed, 1, at]))
        with torch.autocast(model.device.type, torch.bfloat16, enabled=regime.precision == "bfloat16"):
            logits = model(batch.to(model.device))
        assert batch.correct is not None
        loss = F.binary_cross_entropy_with_logits(logits.float(), batch.correct.to(model.device).float())
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), regime.clip)
        optimiser.step()
        schedule.step()
        losses.append(loss.item())
        if progress is not None:
            progress(at + 1, len(steps), losses[-1])
        if state is not None and (at % 50 == 49 or at + 1 == len(steps)):
            _keep(state, model, optimiser, schedule, losses, regime)
    model.eval()
    return losses


def _batch_of(step: Step, problems: Sequence[Group], streaming: bool, random: np.random.Generator) -> Batch:
    groups = [problems[problem].subset(sequences) for problem, sequences in step.parts]
    if any(group.correct is None for group in groups):
        raise UsageError("An answer's correctness is not known.", "Grade the run first: math-audit grade RUN.")
    slots = [torch.from_numpy(random.permutation(group.size)) for group in groups]
    return collate(groups, streaming=streaming, slots=slots)


def _keep(state: Path, model: Any, optimiser: Any, schedule: Any, losses: list[float], regime: Regime) -> None:
    whole = {
        "model": model.state_dict(),
        "optimiser": optimiser.state_dict(),
        "schedule": schedule.last_epoch,
        "losses": losses,
        "regime": repr(regime),
    }
    part = state.with_suffix(".part")
    torch.save(whole, part)
    part.replace(state)


def _resume(state: Path, model: Any, optimiser: Any, schedule: Any, regime: Regime) -> list[float]:
    whole = torch.load(state, weights_only=True, map_location="cpu")
    if whole["regime"] != repr(regime):
        raise SettingsMismatch(
            f"{state} is a training with other settings: {whole['regime']}.", f"Delete it to train with {regime}."
        )
    model.load_state_dict(whole["model"])
    optimiser.load_state_dict(whole["optimiser"])
    schedule.last_epoch = whole["schedule"]
    losses: list[float] = whole["losses"]
    return losses


def predict(
    model: Checkpoint[Any], problems: Sequence[Group], size: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Probabilities and correctness of all answers of all problems, read in disjoint groups of `size` sequences.

    A problem with fewer sequences is one group; an incomplete last group is read as it is.
    """
    if not model.reads_others:
        size = max(problem.size for problem in problems)
    probabilities, labels = [], []
    for groups in _in_portions(part for problem in problems for part in cut(problem, size)):
        if not model.config.streaming:
            groups = [group.terminals() for group in groups]
        probabilities += model.score_groups(groups)
        labels += [group.correct.numpy() for group in groups if group.correct is not None]
    return np.concatenate(probabilities), np.concatenate(labels)


def cut(problem: Group, size: int) -> list[Group]:
    """Disjoint groups of `size` consecutive sequences that have an answer between them, the last one maybe smaller."""
    held = set(problem.sequence.tolist())
    spans = [range(at, min(at + size, problem.size)) for at in range(0, problem.size, size)]
    return [problem.subset(span) for span in spans if held & set(span)]


def _in_portions(groups: Iterator[Group]) -> Iterator[list[Group]]:
    portion: list[Group] = []
    tokens = 0
    for group in groups:
        if portion and (len(portion) + 1) * (tokens + len(group.states)) > TOKENS_AT_ONCE:
            yield portion
            portion, tokens = [], 0
        portion.append(group)
        tokens += len(group.states)
    if portion:
        yield portion


def fit(
    make: Callable[[], Checkpoint[Any]],
    problems: Sequence[Group],
    validation: Sequence[Group],
    regime: Regime,
    *,
    state: Path | None = None,
    progress: Progress | None = None,
) -> Trained:
    """A fresh scorer, initialised and trained from the regime's seed and scored on the validation problems."""
    model = make().initialise(regime.seed).to(default_device())
    losses = train(model, problems, regime, state=state, progress=progress)
    if not np.isfinite(losses).all():
        return Trained(model, regime, losses, dict.fromkeys(("auroc", "brier", "ece", "nll"), float("nan")))
    return Trained(model, regime, losses, summary(*predict(model, validation, regime.size)))


def sweep(
    fit_one: Callable[[Regime], Trained],
    regime: Regime,
    rates: Sequence[float] = RATES,
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
) -> list[Trained]:
    """One trained scorer per seed at the learning rate whose first seed has the lowest validation Brier score."""
    if not rates or not seeds:
        raise UsageError("A sweep needs at least one learning rate and one seed.")
    first = [fit_one(replace(regime, rate=rate, seed=seeds[0])) for rate in rates]
    sound = [trained for trained in first if np.isfinite(trained.validation["brier"])]
    if not sound:
        raise UndefinedScore(f"Training diverged at every learning rate of {list(rates)}.", "Give lower ones.")
    best = min(sound, key=lambda trained: trained.validation["brier"])
    return [best, *(fit_one(replace(best.regime, seed=seed)) for seed in seeds[1:])]
