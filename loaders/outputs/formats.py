"""The formats by name: a format is one file and one line here."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from multilingual_math_audit.errors import RecordError, UnknownName, UsageError
from multilingual_math_audit.loaders.outputs.foreign import ForeignRun, ForeignSample

FORMATS: dict[str, tuple[str, str]] = {
    "lm-eval": ("lm_eval", "lm-evaluation-harness: a samples_*.jsonl file or its folder"),
    "lighteval": ("lighteval", "lighteval: a details_*.parquet file or its folder"),
    "inspect": ("inspect_log", "inspect: an .eval log"),
    "evalhub": ("evalhub", "the paper's harness: the folder of one benchmark (raw, results, majority)"),
    "nemo-skills": ("nemo_skills", "NeMo-Skills: output-rsN.jsonl files or their folder"),
    "matharena": ("matharena", "MathArena: the folder of one competition and model (JSON, also .zst)"),
    "table": ("table", "any JSONL or CSV file, with --columns that say which is which"),
}


def read_outputs(name: str, path: str | Path, columns: Mapping[str, str] | None = None) -> ForeignRun:
    """What a file or folder of another harness holds; raises UnknownName, UsageError or RecordError."""
    if name not in FORMATS:
        raise UnknownName(f"There is no format {name!r}.", f"Formats: {', '.join(FORMATS)}.")
    if columns and name != "table":
        raise UsageError(f"--columns goes with the format table, not {name}.")
    if not Path(path).exists():
        raise UsageError(f"There is nothing at {path}.")
    module = importlib.import_module(f"multilingual_math_audit.loaders.outputs.{FORMATS[name][0]}")
    read: Callable[..., ForeignRun] = module.read
    with _shape_errors(name, path):
        run = read(Path(path), columns) if name == "table" else read(Path(path))
    return dataclasses.replace(run, samples=_guarded(run.samples, name, path))


def _guarded(samples: Iterable[ForeignSample], name: str, path: str | Path) -> Iterator[ForeignSample]:
    with _shape_errors(name, path):
        yield from samples


@contextmanager
def _shape_errors(name: str, path: str | Path) -> Iterator[None]:
    # A field may hold anything at any depth; what a reader then trips over is the file's fault.
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise RecordError(
            f"{path} holds a value of another shape than the format {name} has: {error}.",
            f"Is it a file of {FORMATS[name][1]}, written by a version that is supported?",
        ) from None
