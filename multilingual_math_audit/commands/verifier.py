"""`math-audit verifier`: collect hidden states, train verifiers on them, select the best of N, stop decoding early."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from multilingual_math_audit.cli import examples
from multilingual_math_audit.errors import MissingExtra, UsageError
from multilingual_math_audit.options import STOP_OPTIONS, Names, Numbers, Target, options

CHECKERS = click.Choice(["symbolic", "exact", "jaccard", "embedding", "random"])
STATES = click.argument("states", nargs=-1, required=True, type=click.Path())
CHECKPOINTS = click.option("--checkpoints", required=True, type=click.Path(), help="Folder that train wrote.")
UNSEEN = click.option("--unseen", is_flag=True, help="Leave out the problems the scorers were trained or validated on.")
PLOTS = click.option("--plots", type=click.Path(), help="Folder for figures (needs the extra figures).")


@click.group(
    epilog=examples(
        "math-audit verifier practice --solver smollm2 --engine transformers --out runs/easy",
        "math-audit verifier collect runs/easy --model smollm2 --engine transformers",
        "math-audit verifier train runs/easy --scorers probe,msv1,msv16 --out runs/easy/verifier",
        "math-audit verifier select runs/easy --checkpoints runs/easy/verifier --unseen",
        "math-audit verifier stream runs/easy --checkpoints runs/easy/stopper --unseen",
    )
)
def command() -> None:
    """Best-of-N, calibration and early stopping with the Multi-Sequence Verifier.

    It reads the hidden states of all N sampled answers of a problem and gives each the probability of being right.
    """
    try:
        import safetensors  # noqa: F401
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtra("The verifier", "verifier") from None


@command.command(
    epilog=examples(
        "math-audit verifier practice --solver smollm2 --engine transformers --problems 90 --n 16 --out runs/easy",
    )
)
@click.option("--solver", required=True, help="Model that solves: a Hub id, a folder, or 'smollm2'.")
@click.option("--engine", type=click.Choice(["transformers", "vllm"]), default="transformers", show_default=True)
@click.option("--dtype", help="Number type of the weights.")
@click.option("--problems", type=int, default=90, show_default=True, help="Problems, easy ones first.")
@click.option("--n", type=int, default=16, show_default=True, help="Samples per problem.")
@click.option("--budget", type=int, default=48, show_default=True, help="New tokens a sample may have.")
@click.option("--temperature", type=float, default=0.6, show_default=True)
@click.option("--shots", type=int, default=3, show_default=True, help="Worked examples before the problem.")
@click.option("--concurrency", type=int, default=128, show_default=True, help="Samples under way at once.")
@click.option("--data", default="practice", show_default=True, help="practice, or a public set such as math500.")
@click.option("--sources", type=click.Path(), help="Folder with the files of the public sets.")
@click.option("--skip", type=int, default=0, show_default=True, help="Leave out so many of the first problems.")
@options(STOP_OPTIONS)
@click.option("--out", required=True, type=Target(), help="Run folder; the same command goes on.")
def practice(**values: Any) -> None:
    """Solve and grade what verifiers are trained and tested on: easy arithmetic by template, or a public set.

    The template's problems are small enough for a CPU: a first run from which to learn the other commands.
    """
    import sys

    from multilingual_math_audit.commands.early import open_stopper
    from multilingual_math_audit.evaluate.engines.catalogue import EngineConfig, open_engine
    from multilingual_math_audit.evaluate.engines.protocol import SamplingSettings
    from multilingual_math_audit.evaluate.engines.weights import public_name
    from multilingual_math_audit.evaluate.solve import SolvePlan
    from multilingual_math_audit.evaluate.stages import grade_stage, open_solve_run, solve_stage
    from multilingual_math_audit.evaluate.verifier.corpora import load_corpus
    from multilingual_math_audit.evaluate.verifier.practice import practice_problems
    from multilingual_math_audit.provenance import describe

    sampling = SamplingSettings(values["temperature"], 1.0, values["budget"], "non-thinking")
    if values["data"] == "practice":
        chosen = practice_problems(values["problems"])
    else:
        chosen = load_corpus(values["data"], folder=values["sources"])[: values["problems"]]
    if len(chosen) <= values["skip"]:
        raise UsageError(f"--skip {values['skip']} leaves none of {len(chosen)} problems.")
    samples = {chosen[0].benchmark: values["n"]}
    plan = SolvePlan(public_name(values["solver"]), sampling, samples, values["shots"])
    run = open_solve_run(values["out"], chosen[values["skip"] :], plan, **describe(sys.argv))
    config = EngineConfig(values["engine"], values["solver"], dtype=values["dtype"], concurrency=values["concurrency"])
    checkpoint = values["stop_early_verifier"]
    stopper = open_stopper(run, checkpoint, values["stop_threshold"]) if checkpoint else None
    engine = open_engine(config) if stopper is None else stopper.open(config)
    try:
        failures = solve_stage(run, engine, plan)
    finally:
        engine.close()
    grade_stage(run, jobs=1)
    if stopper is not None:
        stopper.report()
    if failures.count:
        raise UsageError(f"{failures.count} samples gave no answer ({failures.last}).", "The same command asks again.")
    click.echo(f"Run folder: {run.folder}")


@command.command(
    epilog=examples(
        "math-audit verifier collect runs/easy --model smollm2 --engine transformers",
        "math-audit verifier collect runs/easy --model smollm2 --engine transformers --every 8 --out runs/easy/stream",
    )
)
@click.argument("run", type=click.Path())
@click.option("--model", required=True, help="The model whose states are kept: a Hub id, a folder, or 'smollm2'.")
@click.option("--revision", help="Its revision on the Hub.")
@click.option("--engine", type=click.Choice(["transformers", "vllm"]), default="transformers", show_default=True)
@click.option("--dtype", help="Number type of the weights.")
@click.option("--delimiter", help="Ask for an answer at every such token too, as in Wait, not only at the end.")
@click.option("--every", type=int, help="Ask for an answer after every so many tokens too.")
@click.option("--checker", type=CHECKERS, default="symbolic", show_default=True, help="What says answers are equal.")
@click.option("--checker-model", help="Sentence encoder of the embedding checker.")
@click.option("--prm", help="Also score every answer with this process reward model.")
@click.option("--out", type=Target(), help="Folder of the states [default: RUN/states].")
def collect(run: str, **values: Any) -> None:
    """Ask every solution of a run for its answer and keep the answer's hidden states.

    The question is appended to the solution (or to its beginning, at every delimiter) and never stays in it. Killed
    at any moment, the same command goes on with the first problem that is not there.
    """
    from multilingual_math_audit.display import StageDisplay
    from multilingual_math_audit.evaluate.engines.catalogue import EngineConfig
    from multilingual_math_audit.evaluate.verifier.collection import (
        CollectPlan,
        collect,
        header_of,
        open_elicitor,
        pending_problems,
    )
    from multilingual_math_audit.evaluate.verifier.states import StateFolder
    from multilingual_math_audit.store import Run

    if values["delimiter"] and values["every"]:
        raise UsageError("--delimiter and --every were both given.", "Give one of them.")
    delimiter = f"every:{values['every']}" if values["every"] is not None else values["delimiter"] or "end"
    opened = Run.open(run)
    plan = CollectPlan(
        folder=Path(values["out"] or opened.folder / "states"),
        delimiter=delimiter,
        checker=values["checker"],
        checker_model=values["checker_model"],
        prm=values["prm"],
    )
    config = EngineConfig(
        engine=values["engine"], model=values["model"], revision=values["revision"], dtype=values["dtype"]
    )
    elicitor = open_elicitor(config)
    try:
        there = StateFolder.create(plan.folder, header_of(elicitor, plan))
        pending = len(pending_problems(opened, there))
        answers = right = 0
        with StageDisplay("states", total=len(there) + pending, done=len(there), share="right") as display:
            for one in collect(opened, elicitor, plan):
                answers, right = answers + one.answers, right + one.correct
                display.advance(hit=one.correct * 2 > one.answers)
    finally:
        elicitor.close()
    share = f", {right / answers:.1%} of them right" if answers else ""
    click.echo(f"{pending} problems, {answers} answers{share}. States: {plan.folder}")


@command.command(
    epilog=examples(
        "math-audit verifier train runs/easy --scorers probe,msv1,msv16 --out runs/easy/verifier",
        "math-audit verifier train runs/easy/stream --streaming --scorers probe,msv16 --out runs/easy/stopper",
        "math-audit verifier train runs/train --validation runs/validation --out verifiers/first",
    )
)
@STATES
@click.option("--validation", type=click.Path(), help="States to choose the learning rate on [default: a split].")
@click.option("--split", type=Numbers(float), default="60,20,20", show_default=True, help="Train,validation,test.")
@click.option("--scorers", type=Names(), default="probe,msv1,msv16", show_default=True, help="probe, and msvN.")
@click.option("--streaming", is_flag=True, help="Train on intermediate answers, for early stopping.")
@click.option("--rates", type=Numbers(float), default="1e-5,3e-5,1e-4,3e-4,1e-3", show_default=True)
@click.option("--seeds", type=int, default=5, show_default=True, help="Trainings of each scorer.")
@click.option("--epochs", type=int, help="[default: as many as make 224 steps, 448 streaming]")
@click.option("--heads", type=int, help="Attention heads [default: the base model's].")
@click.option("--mixture", type=click.Choice(["free", "softmax"]), default="free", show_default=True)
@click.option("--vote-skip/--no-vote-skip", default=True, show_default=True, help="Start from self-consistency.")
@click.option("--schedule", type=click.Choice(["constant", "linear"]), default="constant", show_default=True)
@click.option("--out", required=True, type=Target(), help="Folder of the checkpoints.")
def train(states: tuple[str, ...], **values: Any) -> None:
    """Train verifiers and probes on collected states, the learning rate chosen on validation.

    Without --validation the problems are split by a digest of their item, so that no problem (nor its translation)
    is in two parts. Killed at any moment, the same command goes on.
    """
    from multilingual_math_audit.evaluate.verifier.experiment import (
        TrainPlan,
        remember,
        resident,
        split_states,
        train_scorer,
    )
    from multilingual_math_audit.evaluate.verifier.states import find_states
    from multilingual_math_audit.evaluate.verifier.tables import show_training

    if len(states) != 1:
        raise UsageError(f"{len(states)} folders of states were given.", "Training reads one.")
    folder, out = find_states(states[0]), Path(values["out"])
    if values["validation"]:
        training, validation = folder, find_states(values["validation"])
        if differences := folder.header.differences(validation.header):
            raise UsageError(f"Training and validation states differ: {'; '.join(differences)}.")
    else:
        if len(values["split"]) != 3:
            raise UsageError("--split needs three shares.", "As in 60,20,20.")
        parts = split_states(folder, values["split"])
        if parts["train"] is None or parts["validation"] is None:
            raise UsageError(f"{len(folder)} problems are too few to split.", "Collect more, or give --validation.")
        training, validation = parts["train"], parts["validation"]
    remember(out, training, validation)
    plan = TrainPlan(
        scorers=values["scorers"],
        rates=values["rates"],
        seeds=tuple(range(values["seeds"])),
        streaming=values["streaming"],
        epochs=values["epochs"],
        heads=values["heads"],
        mixture=values["mixture"],
        vote_skip=values["vote_skip"],
        schedule=values["schedule"],
    )
    click.echo(f"{len(training)} problems to train on, {len(validation)} to validate on.")
    problems, held_out = resident(training), resident(validation)
    for name in plan.scorers:
        with TrainingLine(name) as line:
            result = train_scorer(name, problems, held_out, folder.header, plan, out, progress=line.show)
        show_training(result)
    click.echo(f"Checkpoints: {out}")


class TrainingLine:
    """One line on standard error that tells how far a training is."""

    def __init__(self, name: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed}/{task.total}  loss {task.fields[loss]:.4f}"),
            TimeRemainingColumn(compact=True),
            console=Console(stderr=True),
            transient=True,
        )
        self.task = self.bar.add_task(name, total=None, loss=float("nan"))

    def __enter__(self) -> TrainingLine:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def show(self, label: str, at: int, of: int, loss: float) -> None:
        """Say which training is at which step."""
        self.bar.update(self.task, description=label, completed=at, total=of, loss=loss)


@command.command(
    epilog=examples(
        "math-audit verifier select runs/easy --checkpoints runs/easy/verifier --unseen",
        "math-audit verifier select runs/test --checkpoints verifiers/first --recalibrate temperature --plots figures",
    )
)
@STATES
@CHECKPOINTS
@UNSEEN
@PLOTS
@click.option("--recalibrate", type=click.Choice(["temperature", "isotonic"]), help="Refit confidence on validation.")
@click.option("--out", type=Target(), help="Folder of select.json [default: that of the checkpoints].")
def select(states: tuple[str, ...], checkpoints: str, unseen: bool, plots: str | None, **values: Any) -> None:
    """Best-of-N by every scorer beside self-consistency: accuracy, calibration, and what is beyond chance.

    The numbers go to select.json, and into the run that the states lie in: scores.jsonl, verifier.json and
    submission.json.
    """
    from multilingual_math_audit.evaluate.verifier.experiment import Experiment
    from multilingual_math_audit.evaluate.verifier.states import find_states
    from multilingual_math_audit.evaluate.verifier.tables import show_selection
    from multilingual_math_audit.evaluate.verifier.trial import Selection
    from multilingual_math_audit.submissions.pack import refresh_submission

    experiment = Experiment.open(checkpoints)
    for one in states:
        trial = Selection.run(experiment, find_states(one), unseen=unseen, kind=values["recalibrate"])
        show_selection(trial)
        click.echo(f"Numbers: {trial.save(Path(values['out'] or experiment.folder))}")
        refresh_submission(trial.states.folder.resolve().parent)
        if plots:
            from multilingual_math_audit.evaluate.verifier.plots import plot_selection

            click.echo("Figures: " + ", ".join(map(str, plot_selection(trial, experiment, Path(plots)))))


@command.command(
    epilog=examples(
        "math-audit verifier stream runs/easy/stream --checkpoints runs/easy/stopper --unseen",
        "math-audit verifier stream runs/easy/stream --checkpoints runs/easy/stopper --unseen --accuracy 0.6",
    )
)
@STATES
@CHECKPOINTS
@UNSEEN
@PLOTS
@click.option("--accuracy", type=float, help="Wished accuracy [default: within --within of the best on validation].")
@click.option("--within", type=float, default=0.005, show_default=True)
@click.option("--horizon", type=int, help="Longest sequence of the curve's area [default: that of the states].")
@click.option("--tokens-per-second", type=float, help="Decoding speed of one sequence, for latency in seconds.")
@click.option("--out", type=Target(), help="Folder of stream.json [default: that of the checkpoints].")
def stream(states: tuple[str, ...], checkpoints: str, unseen: bool, plots: str | None, **values: Any) -> None:
    """Stop decoding once an answer is sure: accuracy against tokens and latency on recorded states.

    Answers are scored in the order they appeared; the threshold of every scorer is chosen on validation. The counts go
    into the run that the states lie in: verifier.json and submission.json.
    """
    from multilingual_math_audit.evaluate.verifier.experiment import Experiment
    from multilingual_math_audit.evaluate.verifier.states import find_states
    from multilingual_math_audit.evaluate.verifier.tables import show_stopping
    from multilingual_math_audit.evaluate.verifier.trial import Stopping, Wish
    from multilingual_math_audit.submissions.pack import refresh_submission

    experiment = Experiment.open(checkpoints)
    wish = Wish(values["accuracy"], values["within"], values["horizon"], values["tokens_per_second"])
    for one in states:
        trial = Stopping.run(experiment, find_states(one), wish, unseen=unseen)
        show_stopping(trial)
        click.echo(f"Numbers: {trial.save(Path(values['out'] or experiment.folder))}")
        refresh_submission(trial.states.folder.resolve().parent)
        if plots:
            from multilingual_math_audit.evaluate.verifier.plots import plot_stopping

            click.echo("Figures: " + ", ".join(map(str, plot_stopping(trial, Path(plots)))))
