"""The engines by name: an engine is one file and one line here."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from multilingual_math_audit.errors import UnknownName
from multilingual_math_audit.evaluate.engines.protocol import Engine

ENGINES: dict[str, tuple[str, str]] = {
    "vllm": ("vllm", "VllmEngine"),
    "server": ("server", "ServerEngine"),
    "transformers": ("transformers", "TransformersEngine"),
    "replay": ("replay", "ReplayEngine"),
    "ray": ("ray_data", "RayEngine"),
}


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """Which model to run and how: what is given to an engine when it is opened.

    `options` are passed through to the engine (`--engine-args`); `endpoints` are base URLs for the server engine;
    `recorded` is a run folder or JSONL file for replay.
    """

    engine: str
    model: str
    revision: str | None = None
    endpoints: tuple[str, ...] = ()
    tensor_parallel: int = 1
    data_parallel: int = 1
    max_model_len: int | None = None
    concurrency: int | None = None
    dtype: str | None = None
    recorded: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)


def find_small_model(config: EngineConfig) -> EngineConfig:
    """The config with the folder of the demo's model where it names that model, fetched when it is first used."""
    from multilingual_math_audit.evaluate.engines.smollm import NAME, fetch_smollm2

    return dataclasses.replace(config, model=str(fetch_smollm2())) if config.model == NAME else config


def open_engine(config: EngineConfig) -> Engine:
    """The engine of a config, its model loaded; raises UnknownName, MissingExtra or EngineError.

    The model `smollm2` is the small one of the demo, fetched when it is first used.
    """
    if config.engine not in ENGINES:
        raise UnknownName(f"There is no engine {config.engine!r}.", f"Engines: {', '.join(ENGINES)}.")
    if config.engine in ("vllm", "transformers", "ray"):
        config = find_small_model(config)
    module, name = ENGINES[config.engine]
    engine_class = getattr(importlib.import_module(f"multilingual_math_audit.evaluate.engines.{module}"), name)
    engine: Engine = engine_class(config)
    return engine
