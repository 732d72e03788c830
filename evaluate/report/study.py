"""A study: solvers, judges and benchmarks in one file, expanded into the commands that make it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, get_args

import yaml

from multilingual_math_audit.benchmarks.catalogue import find_spec
from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.report.entries import Grouping, parse_groupings
from multilingual_math_audit.records import Mode

KEYS = ("name", "out", "solvers", "judges", "benchmarks", "n", "limit", "engine", "engine_args", "sources", "panel",
        "groups", "languages", "expected", "shards", "min_correct", "title")  # fmt: skip
SOLVER_KEYS = ("model", "name", "mode", "budgets", "revision", "shots", "tokens")
JUDGE_KEYS = ("model", "name", "mode", "budget", "samples", "revision", "shots", "tokens", "solvers",
              "panel_only")  # fmt: skip
PANEL_KEYS = ("per_cell", "max_per_question", "min_tokens", "edits", "natural", "seed", "solvers", "judges")


@dataclass(frozen=True, slots=True)
class Expected:
    """What the plan assumes where the study says nothing better: tokens, share of correct answers, and speed."""

    solver_tokens_share: float = 0.5
    judge_tokens_share: float = 0.3
    correct: float = 0.4
    tokens_per_gpu_second: float = 2_000.0


@dataclass(frozen=True, slots=True)
class Solver:
    """One solver of a study in one mode, with the budgets it is run at."""

    model: str
    mode: Mode
    budgets: tuple[int, ...]
    name: str
    revision: str | None = None
    shots: int = 0
    tokens: float | None = None


@dataclass(frozen=True, slots=True)
class Judge:
    """One judge of a study; `solvers` limits it to some of them, `panel_only` to panels of injected errors."""

    model: str
    mode: Mode
    budget: int
    samples: int
    name: str
    revision: str | None = None
    shots: int = 0
    tokens: float | None = None
    solvers: tuple[str, ...] = ()
    panel_only: bool = False


@dataclass(frozen=True, slots=True)
class Study:
    """A study as its file says it."""

    name: str
    out: str
    solvers: tuple[Solver, ...]
    judges: tuple[Judge, ...]
    benchmarks: tuple[str, ...]
    n: int | None = None
    limit: int | None = None
    engine: str = "vllm"
    engine_args: Mapping[str, Any] = field(default_factory=dict)
    sources: str | None = None
    panel: Mapping[str, Any] = field(default_factory=dict)
    groups: tuple[Grouping, ...] = ()
    languages: bool = False
    expected: Expected = field(default_factory=Expected)
    shards: int = 1
    min_correct: int = 30


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a study, with what it is expected to cost; `run` is the folder it works on."""

    verb: str
    arguments: tuple[str, ...]
    run: str
    what: str
    samples: int = 0
    tokens: float = 0.0

    def gpu_hours(self, expected: Expected) -> float:
        """Hours of one GPU at the expected speed."""
        return self.tokens / expected.tokens_per_gpu_second / 3600


def read_study(path: str | Path) -> Study:
    """The study of a YAML file; raises UsageError, naming the key, for one that cannot be run."""
    try:
        data = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"The study {path} cannot be read: {error}.") from None
    return parse_study(data, source=str(path))


def parse_study(data: object, *, source: str = "study") -> Study:
    """The study of plain data.

    >>> solvers = [{"model": "m", "budgets": [64, 128]}]
    >>> study = parse_study({"name": "s", "benchmarks": ["starter_en"], "solvers": solvers})
    >>> [step.run for step in plan_steps(study) if step.verb == "solve"]
    ['runs/s/m-thinking-64', 'runs/s/m-thinking-128']
    """
    if not isinstance(data, dict):
        raise UsageError(f"{source} holds no keys.", f"Keys: {', '.join(KEYS)}.")
    _require_keys(data, KEYS, source)
    name = str(data.get("name") or Path(source).stem)
    solvers = tuple(_solver(row, source) for row in _rows(data, "solvers", source))
    judges = tuple(_judge(row, source) for row in _rows(data, "judges", source, required=False))
    panel = data.get("panel") or {}
    _require_keys(panel, PANEL_KEYS, f"{source}: panel")
    expected = data.get("expected") or {}
    _require_keys(expected, tuple(f.name for f in fields(Expected)), f"{source}: expected")
    benchmarks = tuple(str(b) for b in data.get("benchmarks") or ())
    if not benchmarks:
        raise UsageError(f"{source} names no benchmarks.", "'math-audit benchmarks' lists them.")
    for benchmark in benchmarks:
        find_spec(benchmark)
    return Study(
        name=name,
        out=str(data.get("out") or f"runs/{_safe(name)}"),
        solvers=solvers,
        judges=judges,
        benchmarks=benchmarks,
        n=_count(data, "n", source),
        limit=_count(data, "limit", source),
        engine=str(data.get("engine") or "vllm"),
        engine_args=dict(data.get("engine_args") or {}),
        sources=data.get("sources"),
        panel=panel,
        groups=tuple(parse_groupings(data.get("groups"), source=f"{source}: groups")),
        languages=bool(data.get("languages", False)),
        expected=Expected(**{key: float(value) for key, value in expected.items()}),
        shards=_count(data, "shards", source) or 1,
        min_correct=int(data.get("min_correct", 30)),
    )


def _require_keys(row: object, known: Sequence[str], source: str) -> None:
    if not isinstance(row, dict):
        raise UsageError(f"{source} must be keys with values, not {row!r:.60}.")
    for key in row:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Keys: {', '.join(known)}."
            raise UsageError(f"{source} has an unknown key {key!r}.", hint)


def _rows(data: Mapping[str, Any], key: str, source: str, *, required: bool = True) -> list[dict[str, Any]]:
    rows = data.get(key) or []
    if not isinstance(rows, list) or (required and not rows):
        raise UsageError(f"{source}: {key} must be a list with at least one 'model: NAME'.")
    return rows


def _count(data: Mapping[str, Any], key: str, source: str) -> int | None:
    value = data.get(key)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise UsageError(f"{source}: {key} must be a whole number above 0, not {value!r}.")
    return value


def _solver(row: Mapping[str, Any], source: str) -> Solver:
    _require_keys(row, SOLVER_KEYS, f"{source}: solvers")
    model, mode = _model(row, source)
    budgets = row.get("budgets", [16_384])
    budgets = budgets if isinstance(budgets, list) else [budgets]
    if not budgets or not all(isinstance(b, int) and b > 0 for b in budgets):
        raise UsageError(f"{source}: budgets of {model} must be whole numbers above 0, not {budgets!r}.")
    return Solver(
        model, mode, tuple(budgets), str(row.get("name") or model), row.get("revision"), int(row.get("shots", 0)),
        row.get("tokens"),
    )  # fmt: skip


def _judge(row: Mapping[str, Any], source: str) -> Judge:
    _require_keys(row, JUDGE_KEYS, f"{source}: judges")
    model, mode = _model(row, source)
    return Judge(
        model, mode, _count(row, "budget", source) or 20_480, _count(row, "samples", source) or 3,
        str(row.get("name") or model), row.get("revision"), int(row.get("shots", 0)), row.get("tokens"),
        tuple(row.get("solvers") or ()), bool(row.get("panel_only", False)),
    )  # fmt: skip


def _model(row: Mapping[str, Any], source: str) -> tuple[str, Mode]:
    model, mode = row.get("model"), row.get("mode", "thinking")
    if not isinstance(model, str) or not model:
        raise UsageError(f"{source}: a solver or judge has no model: {dict(row)!r:.80}.")
    if mode not in get_args(Mode):
        raise UsageError(f"{source}: mode of {model} is one of {', '.join(get_args(Mode))}, not {mode!r}.")
    return model, mode


def _safe(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text.rsplit("/", 1)[-1]).strip("-") or "run"


def plan_steps(study: Study) -> Iterator[Step]:
    """The commands of a study in order: solve, grade and judge every run, draw and audit panels, then report."""
    runs = []
    for solver in study.solvers:
        for budget in solver.budgets:
            run = f"{study.out}/{_safe(solver.name)}-{solver.mode}-{budget}"
            runs.append(run)
            yield from _run_steps(study, solver, budget, run)
    groups = ("--groups", f"{study.out}/groups.yaml") if study.groups else ()
    options = ("-o", f"{study.out}/report", "--min-correct", str(study.min_correct), *groups)
    yield Step("report", (*runs, *options), study.out, "report of all runs")


def _run_steps(study: Study, solver: Solver, budget: int, run: str) -> Iterator[Step]:
    samples = sum(count_samples(study, name) for name in study.benchmarks)
    tokens = samples * (solver.tokens or budget * study.expected.solver_tokens_share)
    what = f"{solver.name} · {solver.mode} · {budget:,}"
    yield Step("solve", _solve_arguments(study, solver, budget, run), run, what, samples, tokens)
    yield Step("grade", (run,), run, what)
    correct = samples * study.expected.correct
    for judge in study.judges:
        if judge.panel_only or not _concerns(judge.solvers, solver):
            continue
        judgments = round(correct * judge.samples)
        cost = judgments * (judge.tokens or judge.budget * study.expected.judge_tokens_share)
        yield Step("judge", (run, *_judge_arguments(study, judge)), run, f"{what} by {judge.name}", judgments, cost)
    yield Step("score", (run,), run, what)
    if study.languages:
        yield Step("languages", (run,), run, what)
    if study.panel and _concerns(study.panel.get("solvers") or (), solver):
        yield from _panel_steps(study, run, what)


def _concerns(chosen: Sequence[str], solver: Solver) -> bool:
    """Whether a list of solvers, by name or model, holds this one; an empty list holds all."""
    return not chosen or solver.name in chosen or solver.model in chosen


def _panel_steps(study: Study, run: str, what: str) -> Iterator[Step]:
    drawn = {key: value for key, value in study.panel.items() if key not in ("solvers", "judges")}
    options = [
        part
        for key, value in drawn.items()
        for part in (f"--{key.replace('_', '-')}", ",".join(value) if isinstance(value, list) else str(value))
    ]
    panel = f"{run}/panel"
    yield Step("inject", (run, "-o", panel, *options), panel, f"panel of {what}")
    judges = study.panel.get("judges") or ()
    for judge in study.judges:
        if not judges or judge.name in judges or judge.model in judges:
            variants = 5 * int(drawn.get("per_cell", 72)) * len(study.benchmarks) * judge.samples
            cost = variants * (judge.tokens or judge.budget * study.expected.judge_tokens_share)
            arguments = (panel, *_judge_arguments(study, judge))
            yield Step("audit", arguments, panel, f"panel of {what} by {judge.name}", variants, cost)


def count_samples(study: Study, benchmark: str) -> int:
    """The samples a run takes of one benchmark: its questions that are kept, times n."""
    spec = find_spec(benchmark)
    excluded = sum(bool(erratum.exclude) for erratum in spec.errata)
    questions = spec.rows - excluded
    return min(questions, study.limit or questions) * (study.n or spec.samples)


def _solve_arguments(study: Study, solver: Solver, budget: int, run: str) -> tuple[str, ...]:
    arguments = ["--solver", solver.model, "--mode", solver.mode, "--budget", str(budget)]
    arguments += ["--benchmarks", ",".join(study.benchmarks), "--out", run]
    arguments += _optional({"--n": study.n, "--limit": study.limit, "--revision": solver.revision})
    arguments += ["--shots", str(solver.shots)] if solver.shots else []
    arguments += ["--solver-name", solver.name] if solver.name != solver.model else []
    return (*arguments, *_optional({"--sources": study.sources}), *_engine_arguments(study))


def _judge_arguments(study: Study, judge: Judge) -> tuple[str, ...]:
    arguments = ["--judge", judge.model, "--judge-mode", judge.mode, "--judge-budget", str(judge.budget)]
    arguments += ["--judge-samples", str(judge.samples), *_optional({"--judge-revision": judge.revision})]
    arguments += ["--judge-shots", str(judge.shots)] if judge.shots else []
    arguments += ["--judge-name", judge.name] if judge.name != judge.model else []
    return (*arguments, *_engine_arguments(study))


def _engine_arguments(study: Study) -> list[str]:
    pairs = ",".join(f"{key}={value}" for key, value in study.engine_args.items())
    return ["--engine", study.engine, *(["--engine-args", pairs] if pairs else [])]


def _optional(values: Mapping[str, object]) -> list[str]:
    return [part for option, value in values.items() if value is not None for part in (option, str(value))]


def shard_commands(study: Study, step: Step) -> list[tuple[str, ...]]:
    """A solving step as commands for several machines, and the one that joins their folders; as it is with one shard.

    >>> study = parse_study({"benchmarks": ["starter_en"], "solvers": [{"model": "m"}], "shards": 2}, source="s.yaml")
    >>> step = next(plan_steps(study))
    >>> [command[0] for command in shard_commands(study, step)]
    ['solve', 'solve', 'merge']
    """
    if study.shards == 1 or step.verb != "solve":
        return [(step.verb, *step.arguments)]
    commands = []
    parts = [f"{step.run}-shard{part}" for part in range(1, study.shards + 1)]
    for part, folder in enumerate(parts, 1):
        arguments = [folder if argument == step.run else argument for argument in step.arguments]
        commands.append((step.verb, *arguments, "--shard", f"{part}/{study.shards}"))
    return [*commands, ("merge", *parts, "-o", step.run)]
