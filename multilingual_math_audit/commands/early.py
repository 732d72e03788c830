"""Early stopping for the verbs that solve: the engine is wrapped, and every problem's outcome is kept and summed up."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from multilingual_math_audit.errors import MissingExtra, UsageError
from multilingual_math_audit.evaluate.engines.catalogue import EngineConfig
from multilingual_math_audit.evaluate.solve import Failures
from multilingual_math_audit.evaluate.stages import open_solve_run, solve_stage
from multilingual_math_audit.provenance import describe
from multilingual_math_audit.records import digest
from multilingual_math_audit.runfile import RunConfig, load_problems
from multilingual_math_audit.store import Run, storage_errors

OUTCOMES = "early_stops.jsonl"


@dataclass(slots=True)
class Stopper:
    """A verifier that stops problems of a run: where it lies, when it is sure, and what it has saved so far."""

    run: Run
    checkpoint: str
    threshold: float
    outcomes: list[Any] = field(default_factory=list)

    def open(self, config: EngineConfig) -> Any:
        """The engine of a config, stopping early; raises UsageError where an engine cannot."""
        try:
            from multilingual_math_audit.evaluate.verifier.checkers import open_checker
            from multilingual_math_audit.evaluate.verifier.checkpoint import read_config
            from multilingual_math_audit.evaluate.verifier.collection import open_elicitor
            from multilingual_math_audit.evaluate.verifier.experiment import load_checkpoint
            from multilingual_math_audit.evaluate.verifier.live import EarlyStopEngine
            from multilingual_math_audit.evaluate.verifier.model import MultiSequenceVerifier
        except ImportError:
            raise MissingExtra("Early stopping", "verifier") from None
        model = load_checkpoint(self.checkpoint)
        if not isinstance(model, MultiSequenceVerifier) or not model.config.streaming:
            raise UsageError(
                f"{self.checkpoint} cannot stop decoding: it is no streaming verifier.",
                "Train one with: math-audit verifier train --streaming.",
            )
        settings = {"threshold": self.threshold, "verifier": digest(json.dumps(read_config(self.checkpoint)))}
        self.run.add_settings("selectors", "early-stop", settings)
        checker = open_checker(str((model.config.source or {}).get("checker", "symbolic")))
        if config.engine == "vllm":
            from multilingual_math_audit.evaluate.verifier.live_vllm import VllmEarlyStopEngine

            elicitor: Any = open_elicitor(config)
            return VllmEarlyStopEngine(elicitor, model, self.threshold, checker, self.note)
        if config.engine != "transformers":
            raise UsageError(f"The engine {config.engine} cannot stop early.", "Engines: transformers, vllm.")
        return EarlyStopEngine(open_elicitor(config), model, self.threshold, checker, self.note)  # type: ignore[arg-type]

    def note(self, requests: list[str], outcome: Any) -> None:
        """Keep one problem's outcome in the run folder."""
        self.outcomes.append(outcome)
        path = self.run.folder / OUTCOMES
        with storage_errors(path), path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"solutions": requests, **outcome.to_dict()}) + "\n")

    def report(self) -> None:
        """Say how many problems were stopped, how many requests aborted, and what that saved."""
        if not self.outcomes:
            return
        stopped = sum(one.stopped for one in self.outcomes)
        aborted = sum(one.aborted for one in self.outcomes)
        requests = aborted + sum(one.finished for one in self.outcomes)
        generated, branch = (sum(getattr(one, name) for one in self.outcomes) for name in ("generated", "branch"))
        whole = [one for one in self.outcomes if not one.stopped and one.finished]
        line = (
            f"Stopped {stopped} of {len(self.outcomes)} problems early and aborted {aborted} of {requests} requests. "
            f"{generated} tokens decoded, {branch} to ask for answers."
        )
        if whole:
            mean = sum(one.generated for one in whole) / sum(one.finished for one in whole)
            line += f" Problems that were not stopped took {mean:.0f} tokens a sample"
            line += f": about {1 - (generated + branch) / (mean * requests):.0%} saved."
        click.echo(line)


def open_stopper(run: Run, checkpoint: str, threshold: float | None) -> Stopper:
    """The stopper of a checkpoint; without a threshold, that which `verifier stream` chose on validation."""
    if threshold is None:
        path = Path(checkpoint).resolve()
        file = path.parent.parent / "stream.json"
        try:
            scorers = json.loads(file.read_text())["scorers"]
            found = [one["threshold"] for one in scorers if one["scorer"] == path.parent.name]
        except (OSError, ValueError, KeyError):
            found = []
        if not found or found[0] is None:
            raise UsageError(
                f"No threshold is known for {checkpoint}.",
                "Give --stop-threshold, or let `math-audit verifier stream` choose one first.",
            )
        threshold = float(found[0])
    return Stopper(run, checkpoint, threshold)


def solve_early(config: RunConfig, checkpoint: str, threshold: float | None) -> tuple[Run, Failures]:
    """Sample what a run lacks, stopping each problem once the verifier is sure of an answer."""
    if not config.out:
        raise UsageError("--out is missing.", "Name the folder the run is kept in: --out runs/NAME")
    problems, samples = load_problems(config)
    plan = config.solve_plan(samples)
    run = open_solve_run(config.out, problems, plan, **describe(sys.argv))
    stopper = open_stopper(run, checkpoint, threshold)
    engine = stopper.open(config.solver_engine())
    try:
        failures = solve_stage(run, engine, plan)
    finally:
        engine.close()
    stopper.report()
    return run, failures
