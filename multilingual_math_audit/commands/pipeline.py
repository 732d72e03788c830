"""What the verbs of the main job share: engines are opened late, used for their stage and given back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click
from rich.console import Console

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.agenda import Budget, Prices
from multilingual_math_audit.evaluate.engines.catalogue import EngineConfig, open_engine
from multilingual_math_audit.evaluate.engines.protocol import Engine
from multilingual_math_audit.evaluate.score import score_run
from multilingual_math_audit.evaluate.solve import Failures, solve_units
from multilingual_math_audit.evaluate.stages import correct_solutions, judge_stage, open_solve_run, solve_stage
from multilingual_math_audit.evaluate.verdicts import STRATEGIES
from multilingual_math_audit.records import Problem, Score, Solution
from multilingual_math_audit.runfile import RunConfig, check_ks, load_problems
from multilingual_math_audit.store import Run, storage_errors

_kept: list[tuple[EngineConfig, Engine]] = []


def use_engine(config: EngineConfig) -> Engine:
    """The engine of a config; one that another stage left open is used again if it is the same, else given back."""
    if _kept and _kept[0][0] == config:
        return _kept[0][1]
    close_engines()
    engine = open_engine(config)
    _kept.append((config, engine))
    return engine


def close_engines() -> None:
    """Give back every engine that is open."""
    while _kept:
        _kept.pop()[1].close()


def solve_run(config: RunConfig, *, keep_engine: bool = False) -> tuple[Run, Failures]:
    """Open the run and sample what it lacks; a run that lacks nothing loads no model."""
    from multilingual_math_audit.provenance import describe

    if not config.out:
        raise UsageError("--out is missing.", "Name the folder the run is kept in: --out runs/NAME")
    problems, samples = load_problems(config)
    plan = config.solve_plan(samples)
    there = Path(config.out, "manifest.json").exists()
    if there:
        run = open_solve_run(config.out, problems, plan)
        done = run.keys(Solution)
        if all(unit in done for unit, _, _ in solve_units(run.read(Problem), plan)):
            return run, Failures()
    else:
        with storage_errors(Path(config.out)):
            Path(config.out).mkdir(parents=True, exist_ok=True)
    try:
        # A model that cannot be opened leaves no run behind: its name may have been mistyped.
        engine = use_engine(config.solver_engine())
        if not there:
            run = open_solve_run(config.out, problems, plan, **describe(sys.argv))
        return run, solve_stage(run, engine, plan)
    finally:
        if not keep_engine:
            close_engines()


def judge_run(run: Run, config: RunConfig) -> Failures:
    """Judge the correct solutions of a run as often as asked; a run that lacks nothing loads no model."""
    prices = Prices(config.prices[0], config.prices[-1]) if config.prices else None
    limited = config.max_tokens is not None or config.max_usd is not None
    budget = Budget(max_tokens=config.max_tokens, max_usd=config.max_usd, prices=prices) if limited else None
    correct = correct_solutions(run)
    return judge_wanted(
        run,
        config,
        wanted=lambda solution: solution.id in correct and solution.parent is None,
        nothing="No solution is correct, so there is nothing to judge.",
        budget=budget,
    )


def judge_wanted(
    run: Run, config: RunConfig, *, wanted: Callable[[Solution], bool], nothing: str, budget: Budget | None = None
) -> Failures:
    """Judge the wanted solutions of a run or a panel; one that lacks no judgment loads no model.

    Where no solution is wanted, `nothing` is said. A judge that cannot be opened leaves no settings behind: its name
    may have been mistyped.
    """
    from multilingual_math_audit.evaluate.judge import open_agenda, pending_judgments
    from multilingual_math_audit.records import Judgment

    plan = config.judge_plan()
    if plan.judge in run.manifest.get("judges", {}):
        run.add_settings("judges", plan.judge, plan.settings())
    agenda = open_agenda(
        lambda: run.read(Solution), run.read(Problem), lambda: run.read(Judgment), wanted=wanted, plan=plan
    )
    try:
        if not agenda.places:
            click.echo(nothing, err=True)
        if not pending_judgments(agenda, plan) and not agenda.copies_due:
            return Failures()
        return judge_stage(run, use_engine(config.judge_engine_config()), plan, agenda=agenda, budget=budget)
    finally:
        close_engines()


def score_and_print(
    run: Run,
    *,
    ks: tuple[int, ...] = (),
    strategies: tuple[str, ...] = ("majority",),
    resamples: int = 10_000,
    seed: int = 0,
) -> None:
    """Write scores.jsonl and submission.json, and print the table."""
    from multilingual_math_audit.evaluate.report.console import score_tables
    from multilingual_math_audit.submissions.pack import write_submission

    if unknown := set(strategies) - set(STRATEGIES):
        raise UsageError(f"There is no strategy {sorted(unknown)[0]!r}.", f"Strategies: {', '.join(STRATEGIES)}.")
    check_ks(ks)
    scores = score_run(run, resamples=resamples, seed=seed)
    if not scores:
        raise UsageError(
            f"The run at {run.folder} has no problems to score.", "Solve something first: math-audit solve"
        )
    largest = max((score.k or 0 for score in scores), default=0)
    if ks and max(ks) > largest:
        raise UsageError(
            f"Pass@{max(ks)} was asked for, and the run has {largest} samples per question.",
            "Pass@k is not defined for k above n: give a smaller --k, or solve with a larger --n.",
        )
    selected = [score for score in run.read(Score) if score.selector is not None]
    run.replace(Score, [*scores, *selected])
    write_submission(run)
    for table in score_tables(scores, ks=ks, strategies=strategies):
        wide_console().print(table)


def wide_console() -> Console:
    """A console as wide as the terminal, or as a table needs where there is none."""
    console = Console()
    return console if console.is_terminal else Console(width=110)


def finish(run: Run, *failures: Failures) -> None:
    """Say where things are; with requests that failed, say how many and exit with 1."""
    failed = sum(failure.count for failure in failures)
    for damage in run.damage[:5]:
        click.echo(f"{run.folder}/{damage.file} line {damage.line} was passed over: {damage.why}", err=True)
    if failed:
        last = next(failure.last for failure in failures if failure.count)
        click.echo(f"{failed} requests gave no answer ({last}). The same command asks them again.", err=True)
    click.echo(f"Run folder: {run.folder}")
    if failed:
        sys.exit(1)
