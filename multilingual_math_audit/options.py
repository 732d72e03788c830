"""The options that several verbs share, in groups."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar, get_args

import click
import yaml

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.records import Mode

F = TypeVar("F", bound=Callable[..., Any])
MODES = click.Choice(get_args(Mode))
ENGINE_NAMES = click.Choice(["vllm", "server", "transformers", "replay", "ray"])


class Names(click.ParamType):  # type: ignore[type-arg]
    """Names joined by commas."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        return tuple(part.strip() for part in str(value).split(",") if part.strip())


class Numbers(click.ParamType):  # type: ignore[type-arg]
    """Numbers joined by commas."""

    name = "numbers"

    def __init__(self, kind: type[int] | type[float]) -> None:
        self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        if isinstance(value, tuple):
            return value
        try:
            return tuple(self.kind(part) for part in str(value).split(",") if part.strip())
        except ValueError:
            self.fail(f"{value!r} is not a list of numbers joined by commas", param, ctx)


class Target(click.Path):
    """A file or folder to write, which has a name: an empty one would be the folder one happens to be in."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("it is empty; name a file or folder", param, ctx)
        return super().convert(value, param, ctx)


class KeyValues(click.ParamType):  # type: ignore[type-arg]
    """`name=value` pairs joined by commas, values read as YAML."""

    name = "name=value,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Any]:
        if isinstance(value, dict):
            return value
        pairs = {}
        for part in filter(None, str(value).split(",")):
            key, equals, text = part.partition("=")
            if not equals:
                self.fail(f"{part!r} is not name=value", param, ctx)
            pairs[key.strip().lstrip("-").replace("-", "_")] = yaml.safe_load(text)
        return pairs


BENCHMARK_OPTIONS = [
    click.option("--benchmarks", type=Names(), help="Benchmarks by name, joined by commas."),
    click.option(
        "--sources", envvar="MATH_AUDIT_SOURCES", type=click.Path(), help="Folder with the benchmarks' source files."
    ),
    click.option("--with-errata", is_flag=True, default=None, help="Keep the rows known to be faulty."),
    click.option("--limit", type=int, help="Only the first so many problems of each benchmark."),
]
SOLVER_OPTIONS = [
    click.option("--solver", help="Model that solves: a Hub id, a folder, or 'smollm2' (small, runs on a CPU)."),
    click.option("--solver-name", help="Name in the records, where it is not the model's."),
    click.option("--revision", help="Revision of the solver on the Hub."),
    click.option("--n", type=int, help="Samples per question [default: the benchmark's, 64 or 16]."),
    click.option("--budget", type=int, help="New tokens a sample may have [default: 16384]."),
    click.option("--mode", type=MODES, help="Prompt form of the solver [default: thinking]."),
    click.option("--temperature", type=float, help="[default: 0.6]"),
    click.option("--top-p", type=float, help="[default: 0.95]"),
    click.option("--shots", type=int, help="Worked examples before the problem, for weak models [default: 0]."),
    click.option("--shard", envvar="MATH_AUDIT_SHARD", help="Only part K of N of the work: K/N."),
]
STOP_OPTIONS = [
    click.option(
        "--stop-early-verifier", type=click.Path(), help="Checkpoint that stops a problem once an answer is sure."
    ),
    click.option("--stop-threshold", type=float, help="How sure [default: what verifier stream chose]."),
]
ENGINE_OPTIONS = [
    click.option("--engine", type=ENGINE_NAMES, help="What runs the models [default: vllm]."),
    click.option("--engine-args", type=KeyValues(), help="Passed through to the engine, as in max_num_seqs=64."),
    click.option("--endpoint", "endpoints", multiple=True, help="Base URL of an OpenAI-compatible server; repeatable."),
    click.option("--endpoints", "endpoints_file", type=click.Path(), help="File with one base URL a line."),
    click.option("--tensor-parallel", type=int, help="GPUs one model copy is spread over [default: 1]."),
    click.option("--data-parallel", type=int, help="Model copies [default: 1]."),
    click.option("--max-model-len", type=int, help="Longest prompt and answer together, in tokens."),
    click.option("--concurrency", type=int, help="Requests under way at once."),
    click.option("--dtype", help="Number type of the weights."),
    click.option("--recorded", type=click.Path(), help="Run folder or file the replay engine reads."),
]
JUDGE_OPTIONS = [
    click.option("--judge", help="Model that judges: a Hub id or a folder."),
    click.option("--judge-name", help="Name in the records, where it is not the model's."),
    click.option("--judge-revision", help="Revision of the judge on the Hub."),
    click.option("--judge-engine", type=ENGINE_NAMES, help="What runs the judge [default: the solver's engine]."),
    click.option("--judge-engine-args", type=KeyValues(), help="Passed through to the judge's engine."),
    click.option("--judge-endpoint", "judge_endpoints", multiple=True, help="Base URL of the judge's server."),
    click.option("--judge-recorded", type=click.Path(), help="Recorded judgments for the replay engine."),
    click.option("--judge-budget", type=int, help="New tokens a judgment may have [default: 20480]."),
    click.option("--judge-mode", type=MODES, help="Prompt form of the judge [default: thinking]."),
    click.option("--judge-samples", type=int, help="Judgments per solution [default: 3]."),
    click.option(
        "--judge-question",
        type=click.Choice(["problem", "prompt"]),
        help="What stands for the question: the bare problem, or the whole solver prompt [default: problem].",
    ),
    click.option("--judge-shots", type=int, help="Worked judgments before the task, for weak models [default: 0]."),
    click.option("--stop-early", is_flag=True, default=None, help="Skip judgments that cannot change the majority."),
    click.option("--dedupe", is_flag=True, default=None, help="Judge equal texts of one problem once."),
    click.option("--max-tokens", type=int, help="Stop before the judge has used so many tokens."),
    click.option("--max-usd", type=float, help="Stop before the judge has cost so many US dollars."),
    click.option("--prices", type=Numbers(float), help="US dollars per million prompt,completion tokens."),
]
PANEL_OPTIONS = [
    click.option("--per-cell", type=int, default=72, show_default=True, help="Originals per solver and benchmark."),
    click.option("--max-per-question", type=int, default=6, show_default=True, help="Originals of one question."),
    click.option("--min-tokens", type=int, default=600, show_default=True, help="Only chains with more tokens."),
    click.option("--edits", type=Names(), default=(), help="Further edits: load_bearing,dose,operator,deletion,..."),
    click.option(
        "--natural", type=int, default=0, show_default=True, help="The solver's own wrong solutions per cell."
    ),
    click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the draw and of the edits."
    ),
]


def options(*groups: list[Callable[[F], F]]) -> Callable[[F], F]:
    """Add the options of the groups to a command."""

    def add(function: F) -> F:
        for group in reversed(groups):
            for option in reversed(group):
                function = option(function)
        return function

    return add


def with_endpoints(values: dict[str, Any]) -> dict[str, Any]:
    """The values with the endpoints of `--endpoints FILE` and a shard from a SLURM array taken in."""
    file = values.pop("endpoints_file", None)
    if file:
        try:
            with open(file, encoding="utf-8") as lines:
                listed = tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"The endpoints file {file} cannot be read: {error}.") from None
        if not listed:
            raise UsageError(f"The endpoints file {file} names no endpoint.", "Write one base URL a line.")
        values["endpoints"] = (*values.get("endpoints", ()), *listed)
    if values.get("shard") == "slurm":
        first = int(os.environ.get("SLURM_ARRAY_TASK_MIN", "0"))
        part = int(os.environ.get("SLURM_ARRAY_TASK_ID", "-1")) - first + 1
        values["shard"] = f"{part}/{os.environ.get('SLURM_ARRAY_TASK_COUNT', '0')}"
    return values
