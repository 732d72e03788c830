"""The endpoints of the server engine: least in flight first, dead ones left out until they answer again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from multilingual_math_audit.errors import EngineError, UsageError

if TYPE_CHECKING:
    import httpx

KEY_VARIABLES = ("MATH_AUDIT_API_KEY", "OPENAI_API_KEY")


def read_key() -> str | None:
    """The API key of the environment: MATH_AUDIT_API_KEY, else OPENAI_API_KEY; raises UsageError when it is no key."""
    for name in KEY_VARIABLES:
        if key := os.environ.get(name, "").strip():
            if not (key.isascii() and key.isprintable()) or " " in key:
                raise UsageError(f"{name} holds characters that no key has.", "Set it to the key alone.")
            return key
    return None


def redact(text: str, key: str | None) -> str:
    """A server's words without the key, should it have said it.

    >>> redact("Incorrect API key provided: sk-123.", "sk-123")
    'Incorrect API key provided: [key].'
    """
    return text if key is None else text.replace(key, "[key]")


def base_url(endpoint: str) -> str:
    """An endpoint's base URL, `/v1` added when it names none; raises UsageError for what is no URL.

    >>> base_url("http://localhost:8000/")
    'http://localhost:8000/v1'
    """
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{endpoint!r} is not an endpoint.", "Give its base URL, as in http://localhost:8000/v1.")
    if parts.username or parts.password or parts.query:
        keys = " or ".join(KEY_VARIABLES)
        raise UsageError("An endpoint's URL must hold no user, password or query.", f"Give the key in {keys}.")
    return endpoint.rstrip("/") + ("" if parts.path.strip("/") else "/v1")


@dataclass(slots=True)
class Endpoint:
    """One server: its base URL and how it does."""

    url: str
    in_flight: int = 0
    answered: int = 0
    up: bool = True
    error: str = ""

    @property
    def root(self) -> str:
        """The URL below which vLLM serves what is not of OpenAI's interface."""
        return self.url.removesuffix("/v1")


class EndpointPool:
    """Several endpoints used as one; all methods run on one event loop.

    An endpoint that cannot be reached is left out and asked for a sign of life until it gives one. When none has been
    up for `patience` seconds, `take` raises EngineError.
    """

    def __init__(
        self, urls: Sequence[str], client: httpx.AsyncClient, *, patience: float = 120.0, pause: float = 1.0
    ) -> None:
        self.endpoints = [Endpoint(base_url(url)) for url in urls]
        self.client = client
        self.patience, self.pause = patience, pause
        self._down_since: float | None = None
        self._probes: set[asyncio.Task[None]] = set()

    async def take(self) -> Endpoint:
        """The endpoint with the fewest requests in flight, one more now; waits while none is up."""
        while not (up := [endpoint for endpoint in self.endpoints if endpoint.up]):
            now = asyncio.get_running_loop().time()
            self._down_since = now if self._down_since is None else self._down_since
            if now - self._down_since > self.patience:
                raise unreachable(self.endpoints, waited=self.patience)
            await asyncio.sleep(self.pause / 5)
        self._down_since = None
        endpoint = min(up, key=lambda one: one.in_flight)
        endpoint.in_flight += 1
        return endpoint

    def give_back(self, endpoint: Endpoint) -> None:
        """The request is over."""
        endpoint.in_flight -= 1

    def drop(self, endpoint: Endpoint, why: str) -> None:
        """Leave an endpoint out until it answers again."""
        endpoint.error = why
        if endpoint.up:
            endpoint.up = False
            task = asyncio.get_running_loop().create_task(self._probe(endpoint))
            self._probes.add(task)
            task.add_done_callback(self._probes.discard)

    async def _probe(self, endpoint: Endpoint) -> None:
        pause = self.pause / 4
        while True:
            await asyncio.sleep(pause)
            pause = min(pause * 2, self.pause * 10)
            status, _ = await get_json(self.client, f"{endpoint.url}/models")
            if 0 < status < 500:
                endpoint.up = True
                return


async def get_json(client: httpx.AsyncClient, url: str) -> tuple[int, Any]:
    """Status and body of a GET; status 0 and the reason when there is no answer."""
    import httpx

    try:
        response = await client.get(url, timeout=10.0)
        return response.status_code, response.json()
    except httpx.HTTPError as error:
        return 0, describe(error)
    except ValueError:
        return response.status_code, None


def describe(error: Exception) -> str:
    """A connection error in words.

    >>> describe(TimeoutError())
    'TimeoutError'
    """
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def unreachable(endpoints: Sequence[Endpoint], *, waited: float = 0.0) -> EngineError:
    """The error when no endpoint answers."""
    seen = "; ".join(f"{endpoint.url} ({endpoint.error or 'no answer'})" for endpoint in endpoints)
    after = f" for {waited:.0f} s" if waited else ""
    return EngineError(
        f"No endpoint answers{after}: {seen}.",
        "Start the server or mend --endpoint, then give the same command again: what is done is kept.",
    )
