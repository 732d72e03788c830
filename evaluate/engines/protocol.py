"""What every engine is: requests in, samples out, in the order they finish."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from multilingual_math_audit.records import FinishReason, Mode, digest

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """How to sample: what decides the distribution of an engine's answers.

    `max_tokens` is the budget of new tokens of one sample. `mode` chooses the prompt form: `base` sends plain text
    without a chat template; `thinking` and `non-thinking` use the model's own template with thinking on or off.
    """

    temperature: float = 0.6
    top_p: float = 0.95
    max_tokens: int = 16_384
    mode: Mode = "thinking"
    stop: tuple[str, ...] = ()

    def digest(self) -> str:
        """A digest of the settings."""
        return digest(self.temperature, self.top_p, self.max_tokens, self.mode, list(self.stop))


@dataclass(frozen=True, slots=True)
class Request:
    """One sample asked for: its id, its conversation and its own seed."""

    id: str
    messages: tuple[Message, ...]
    seed: int


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer of a model; `error` says why there is none, and such a request may be asked again.

    `thinking` is set only where the engine hands it over apart from the text. Token counts are absent where the engine
    does not know them.
    """

    request_id: str
    text: str = ""
    thinking: str | None = None
    finish_reason: FinishReason = "stop"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    seed: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """What the manifest says of an engine: never a secret, never a path of the machine."""

    engine: str
    model: str
    revision: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    template_digest: str | None = None
    repeatable: bool = False
    repeatable_why: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


class Engine(Protocol):
    """A model that answers requests.

    `generate` takes requests lazily and yields a Sample for each the moment it is finished, in any order; a request
    that failed for good gives a Sample with `error`. It raises EngineError for what no retry can mend (unknown model,
    refused key, a prompt longer than the context for every request).
    """

    def facts(self) -> EngineFacts:
        """Versions, template and whether the same request gives the same bytes."""
        ...

    def generate(self, requests: Iterable[Request], settings: SamplingSettings) -> Iterator[Sample]:
        """Samples in the order they finish."""
        ...

    def close(self) -> None:
        """Give back memory, processes and connections."""
        ...
