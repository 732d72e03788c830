"""What a run is asked to do: the options of the command line, or the same in a run file (YAML)."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import yaml

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.engines.catalogue import EngineConfig
from multilingual_math_audit.evaluate.engines.protocol import SamplingSettings
from multilingual_math_audit.evaluate.engines.weights import public_name
from multilingual_math_audit.evaluate.judge import JudgePlan
from multilingual_math_audit.evaluate.solve import SolvePlan
from multilingual_math_audit.records import Mode, Problem


@dataclass(frozen=True, slots=True)
class RunConfig:
    """Everything that can be asked of a run; names are those of the options, with underscores.

    >>> RunConfig(solver="some/model", benchmarks=("starter_en",)).n is None
    True
    """

    out: str | None = None
    solver: str | None = None
    solver_name: str | None = None
    revision: str | None = None
    benchmarks: tuple[str, ...] = ()
    sources: str | None = None
    with_errata: bool = False
    limit: int | None = None
    n: int | None = None
    budget: int = 16_384
    mode: Mode = "thinking"
    temperature: float = 0.6
    top_p: float = 0.95
    shots: int = 0
    shard: str | None = None
    engine: str = "vllm"
    engine_args: Mapping[str, Any] = field(default_factory=dict)
    endpoints: tuple[str, ...] = ()
    tensor_parallel: int = 1
    data_parallel: int = 1
    max_model_len: int | None = None
    concurrency: int | None = None
    dtype: str | None = None
    recorded: str | None = None
    judge: str | None = None
    judge_name: str | None = None
    judge_revision: str | None = None
    judge_engine: str | None = None
    judge_engine_args: Mapping[str, Any] = field(default_factory=dict)
    judge_endpoints: tuple[str, ...] = ()
    judge_recorded: str | None = None
    judge_budget: int = 20_480
    judge_mode: Mode = "thinking"
    judge_samples: int = 3
    judge_question: str = "problem"
    judge_shots: int = 0
    stop_early: bool = False
    dedupe: bool = False
    max_tokens: int | None = None
    max_usd: float | None = None
    prices: tuple[float, ...] = ()
    k: tuple[int, ...] = ()

    def solve_plan(self, samples: Mapping[str, int]) -> SolvePlan:
        """The plan of the solver; `samples` per benchmark where no n is given."""
        return SolvePlan(
            solver=self.solver_name or public_name(_required(self.solver, "--solver")),
            sampling=SamplingSettings(self.temperature, self.top_p, self.budget, self.mode),
            samples={name: self.n or count for name, count in samples.items()},
            shots=self.shots,
            revision=self.revision,
            shard=parse_shard(self.shard),
        )

    def judge_plan(self) -> JudgePlan:
        """The plan of the judge."""
        return JudgePlan(
            judge=self.judge_name or public_name(_required(self.judge, "--judge")),
            sampling=SamplingSettings(self.temperature, self.top_p, self.judge_budget, self.judge_mode),
            samples=self.judge_samples,
            question_form="prompt" if self.judge_question == "prompt" else "problem",
            shots=self.judge_shots,
            revision=self.judge_revision,
            stop_early="majority" if self.stop_early else None,
            dedupe=self.dedupe,
        )

    def solver_engine(self) -> EngineConfig:
        """Which model solves, and how it is run."""
        return EngineConfig(
            engine=self.engine,
            model=_required(self.solver, "--solver"),
            revision=self.revision,
            endpoints=self.endpoints,
            tensor_parallel=self.tensor_parallel,
            data_parallel=self.data_parallel,
            max_model_len=self.max_model_len,
            concurrency=self.concurrency,
            dtype=self.dtype,
            recorded=self.recorded,
            options=self.engine_args,
        )

    def judge_engine_config(self) -> EngineConfig:
        """Which model judges, and how it is run: as the solver is, where nothing else is said."""
        return dataclasses.replace(
            self.solver_engine() if self.solver else EngineConfig(self.engine, _required(self.judge, "--judge")),
            engine=self.judge_engine or self.engine,
            model=_required(self.judge, "--judge"),
            revision=self.judge_revision,
            endpoints=self.judge_endpoints or self.endpoints,
            recorded=self.judge_recorded or self.recorded,
            options=self.judge_engine_args or self.engine_args,
        )


def load_config(values: Mapping[str, Any], *, file: str | None = None) -> RunConfig:
    """The config of a run file with the given values laid over it; absent values (None, ()) leave the file's.

    Raises UsageError, naming the key, for a file that cannot be read, an unknown key or a value of a wrong kind.
    """
    merged = dict(_read_file(file)) if file else {}
    merged.update({k: v for k, v in values.items() if v is not None and v is not False and v != () and v != {}})
    fields = {f.name: f for f in dataclasses.fields(RunConfig)}
    for name in merged:
        if name not in fields:
            near = difflib.get_close_matches(str(name), fields, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Keys: {', '.join(fields)}."
            raise UsageError(f"The run file {file} has an unknown key {name!r}.", hint)
    config = RunConfig(**{name: _coerced(name, str(fields[name].type), value) for name, value in merged.items()})
    _check(config)
    return config


def parse_shard(text: str | None) -> tuple[int, int] | None:
    """Part and number of parts of `K/N`; K counts from 1.

    >>> parse_shard("2/4"), parse_shard(None)
    ((2, 4), None)
    """
    if text is None:
        return None
    part, slash, parts = text.partition("/")
    if not (slash and part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
        raise UsageError(
            f"--shard is K/N with K from 1 to N, not {text!r}.", "For the first of four parts: --shard 1/4"
        )
    return int(part), int(parts)


def load_problems(config: RunConfig) -> tuple[list[Problem], dict[str, int]]:
    """The problems of the config's benchmarks, and each benchmark's own number of samples per question."""
    from multilingual_math_audit.benchmarks.catalogue import find_spec
    from multilingual_math_audit.loaders.problems import load_benchmark

    if not config.benchmarks:
        raise UsageError("No benchmarks are named.", "Give --benchmarks NAME,NAME; 'math-audit benchmarks' lists them.")
    problems: list[Problem] = []
    samples: dict[str, int] = {}
    for name in dict.fromkeys(config.benchmarks):
        loaded = load_benchmark(name, sources=config.sources, with_errata=config.with_errata)
        problems += loaded[: config.limit]
        samples.update({p.benchmark: find_spec(p.benchmark).samples for p in loaded[:1]})
    return problems, samples


def _read_file(file: str) -> Mapping[str, Any]:
    try:
        data = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The run file {file} cannot be read: {error}.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        raise UsageError(f"The run file {file} is not YAML{where}: {getattr(error, 'problem', error)}.") from None
    if not isinstance(data, dict):
        raise UsageError(f"The run file {file} holds no keys.", "Write one 'key: value' a line, as in: solver: MODEL")
    return {str(name).replace("-", "_"): value for name, value in data.items()}


def _coerced(name: str, kind: str, value: Any) -> Any:
    if kind.startswith("tuple[str"):
        value = value.split(",") if isinstance(value, str) else value
        good = isinstance(value, list | tuple)
        return tuple(str(v).strip() for v in value if str(v).strip()) if good else _refuse(name, "a list", value)
    if kind.startswith("tuple["):
        good = isinstance(value, list | tuple) and all(_is_number(v) for v in value)
        return tuple(value) if good else _refuse(name, "a list of numbers", value)
    if kind.startswith("Mapping"):
        return dict(value) if isinstance(value, Mapping) else _refuse(name, "a mapping", value)
    if kind == "Mode":
        return value if value in get_args(Mode) else _refuse(name, f"one of {', '.join(get_args(Mode))}", value)
    if kind.startswith("bool"):
        return value if isinstance(value, bool) else _refuse(name, "true or false", value)
    if kind.startswith("int"):
        good = isinstance(value, int) and not isinstance(value, bool)
        return value if good else _refuse(name, "a whole number", value)
    if kind.startswith("float"):
        return float(value) if _is_number(value) else _refuse(name, "a number", value)
    return value if isinstance(value, str) else _refuse(name, "a text", value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _refuse(name: str, wanted: str, value: Any) -> Any:
    raise UsageError(f"{name} must be {wanted}, not {value!r:.80}.")


def _required(value: str | None, option: str) -> str:
    if not value:
        raise UsageError(f"{option} is missing.", f"Name a model: {option} ORG/MODEL, or give a run file that does.")
    return value


def check_ks(ks: Iterable[float]) -> None:
    """Raise UsageError for a k below 1, for which Pass@k is not defined."""
    if (low := min(ks, default=1)) < 1:
        raise UsageError(f"Pass@{low} was asked for.", "Pass@k is defined for k of at least 1.")


def _check(config: RunConfig) -> None:
    for name in ("n", "budget", "judge_budget", "judge_samples", "limit", "tensor_parallel", "data_parallel"):
        if (value := getattr(config, name)) is not None and value < 1:
            raise UsageError(f"{name} must be at least 1, not {value}.")
    for name in ("shots", "judge_shots"):
        if getattr(config, name) < 0:
            raise UsageError(f"{name} must be at least 0, not {getattr(config, name)}.")
    if not 0 <= config.temperature < math.inf or not 0 < config.top_p <= 1:
        raise UsageError(
            f"temperature {config.temperature} and top_p {config.top_p} cannot be sampled with.",
            "Give a temperature of at least 0 and a top_p above 0 and up to 1.",
        )
    check_ks(config.k)
    if config.n is not None and config.k and max(config.k) > config.n:
        raise UsageError(
            f"Pass@{max(config.k)} was asked for with n = {config.n} samples per question.",
            "Pass@k is not defined for k above n: give a larger --n or a smaller --k.",
        )
    if config.judge_question not in ("problem", "prompt"):
        raise UsageError(f"judge_question is 'problem' or 'prompt', not {config.judge_question!r}.")
    parse_shard(config.shard)
