"""The server engine: any OpenAI-compatible endpoint, several of them balanced, each sample its own seeded request."""

from __future__ import annotations

import asyncio
import importlib.metadata
import queue
import random
import threading
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from multilingual_math_audit.errors import EngineError, MissingExtra, UsageError
from multilingual_math_audit.evaluate.engines.catalogue import EngineConfig
from multilingual_math_audit.evaluate.engines.endpoints import (
    KEY_VARIABLES,
    Endpoint,
    EndpointPool,
    base_url,
    describe,
    get_json,
    read_key,
    redact,
    unreachable,
)  # fmt: skip
from multilingual_math_audit.evaluate.engines.protocol import EngineFacts, Request, Sample, SamplingSettings
from multilingual_math_audit.evaluate.engines.refusals import Refusals
from multilingual_math_audit.evaluate.engines.template import OPENING, plain_text, thinking_flags
from multilingual_math_audit.records import FinishReason

T = TypeVar("T")
Group = tuple[Request, ...]
_RETRIED = (408, 409, 425, 429)
_FINISH: dict[str, FinishReason] = {
    "stop": "stop", "length": "length", "eos": "stop", "abort": "aborted", "content_filter": "aborted",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Manners:
    """How the engine deals with servers; every other engine argument goes into the body of each request.

    `timeout` and `patience` are seconds; `tries` is how often one request is sent at most; `backoff` is the first
    pause in seconds, doubled each time up to 60; `n` samples of one prompt are asked for in one request.
    """

    timeout: float = 3600.0
    tries: int = 8
    backoff: float = 1.0
    patience: float = 120.0
    n: int = 1


def read_manners(options: Mapping[str, Any]) -> Manners:
    """Manners from engine arguments; raises UsageError for one that is not a number above 0.

    >>> read_manners({"n": 4}).n
    4
    """
    for name, value in options.items():
        wanted = int if name in ("tries", "n") else (int, float)
        if isinstance(value, bool) or not isinstance(value, wanted) or value <= 0:
            raise UsageError(f"--engine-args {name}={value} is not a number above 0.", "Give one, or leave it out.")
    return Manners(**options)


class ServerEngine:
    """Samples from `config.endpoints`, at most `config.concurrency` requests in flight (64 an endpoint by default).

    Raises EngineError when no endpoint answers, the key is refused or the model is unknown. A request is sent again,
    with growing pauses, after 408, 409, 425, 429, 5xx, a time-out or a lost connection; any other refusal becomes a
    Sample with `error`, and stops the run when every request meets it.
    """

    def __init__(self, config: EngineConfig) -> None:
        try:
            import httpx
        except ImportError:
            raise MissingExtra("The server engine", "server") from None
        if not config.endpoints:
            raise UsageError("The server engine needs an endpoint.", "Give --endpoint http://localhost:8000/v1.")
        names = [field.name for field in fields(Manners)]
        self.config = config
        self.manners = read_manners({name: value for name, value in config.options.items() if name in names})
        self._body = {name: value for name, value in config.options.items() if name not in names}
        self._key = read_key()
        self._served: dict[str, Any] = {}
        self._openings: dict[str, str] = {}
        self.limit = config.concurrency or 64 * len(config.endpoints)
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        urls = [base_url(url) for url in config.endpoints]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="server-engine", daemon=True)
        self._thread.start()
        client = httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(self.manners.timeout, connect=10.0),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=self.limit),
        )
        manners = self.manners
        self._pool = EndpointPool(urls, client, patience=manners.patience, pause=manners.backoff)
        try:
            self._run(self._greet())
        except BaseException:
            self.close()
            raise

    def facts(self) -> EngineFacts:
        """The model, the servers' versions, and no address or key; a server's batches are not ours to repeat."""
        return EngineFacts(
            engine="server",
            model=self.config.model,
            revision=self.config.revision,
            versions={"httpx": importlib.metadata.version("httpx")},
            repeatable=False,
            repeatable_why="a server may batch a request with others, which can change its rounding; seeds are sent",
            details={"endpoints": len(self._pool.endpoints), "n_per_request": self.manners.n, **self._served},
        )

    def generate(self, requests: Iterable[Request], settings: SamplingSettings) -> Iterator[Sample]:
        """Samples as they come; what has already come is yielded before an error is raised."""
        if settings.mode not in self._openings:
            self._openings[settings.mode] = self._run(self._find_opening(settings))
        groups = group_requests(requests, self.manners.n)
        refusals = Refusals()
        done: queue.SimpleQueue[Future[list[Sample]]] = queue.SimpleQueue()
        waiting: set[Future[list[Sample]]] = set()
        try:
            while True:
                while len(waiting) < self.limit and (group := next(groups, None)) is not None:
                    future = asyncio.run_coroutine_threadsafe(self._ask(group, settings, refusals), self._loop)
                    waiting.add(future)
                    future.add_done_callback(done.put)
                if not waiting:
                    break
                future = done.get()
                waiting.discard(future)
                if future.exception() is not None:
                    while not done.empty():
                        if (other := done.get()).exception() is None:
                            yield from other.result()
                yield from future.result()
                refusals.check(finished=False)
            refusals.check(finished=True)
        finally:
            for future in waiting:
                future.cancel()

    def close(self) -> None:
        """Cancel what is in flight and close every connection."""
        if self._loop.is_closed():
            return
        self._run(self._hang_up())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10)
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _hang_up(self) -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._pool.client.aclose()

    async def _greet(self) -> None:
        pool = self._pool
        answers = await asyncio.gather(*(get_json(pool.client, f"{one.url}/models") for one in pool.endpoints))
        for endpoint, (status, body) in zip(pool.endpoints, answers, strict=True):
            if status == 0 or status >= 500:
                pool.drop(endpoint, body if status == 0 else f"status {status}")
            elif status in (401, 403):
                raise self._refused_key(endpoint, status)
            elif status == 200 and isinstance(body, dict) and isinstance(body.get("data"), list):
                self._check_model(endpoint, [row for row in body["data"] if isinstance(row, dict)])
        if not any(endpoint.up for endpoint in pool.endpoints):
            raise unreachable(pool.endpoints)
        first = next(endpoint for endpoint in pool.endpoints if endpoint.up)
        status, body = await get_json(pool.client, f"{first.root}/version")
        if status == 200 and isinstance(body, dict) and isinstance(body.get("version"), str):
            self._served["server_version"] = body["version"]

    def _check_model(self, endpoint: Endpoint, rows: list[dict[str, Any]]) -> None:
        names = [str(row.get("id")) for row in rows]
        if names and self.config.model not in names:
            raise EngineError(
                f"{endpoint.url} does not serve {self.config.model!r}.",
                f"It serves: {', '.join(names[:10])}{', ...' if len(names) > 10 else ''}.",
            )
        for row in rows:
            if row.get("id") == self.config.model and isinstance(row.get("max_model_len"), int):
                self._served["max_model_len"] = row["max_model_len"]

    def _refused_key(self, endpoint: Endpoint, status: int) -> EngineError:
        seen = "The key in the environment was refused" if self._key else "No key is in the environment"
        return EngineError(f"{endpoint.url} answers {status}.", f"{seen}: set {' or '.join(KEY_VARIABLES)}.")

    async def _ask(self, group: Group, settings: SamplingSettings, refusals: Refusals) -> list[Sample]:
        import httpx

        path = "/completions" if settings.mode == "base" else "/chat/completions"
        body, tries, why = self._request_body(group, settings), 0, ""
        while tries < self.manners.tries:
            endpoint = await self._pool.take()
            pause: float | None = None
            try:
                response = await self._pool.client.post(endpoint.url + path, json=body)
                if response.status_code == 200 and (samples := self._read(response, group, settings)):
                    endpoint.answered += 1
                    refusals.answer()
                    return samples
                why, pause = self._refusal(endpoint, response), _retry_after(response)
                if 400 <= response.status_code < 500 and response.status_code not in _RETRIED:
                    return [refusals.refuse(request, why) for request in group]
                tries += 1
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                self._pool.drop(endpoint, describe(error))
                continue
            except httpx.TimeoutException:
                why, tries = f"{endpoint.url} gave no answer in {self.manners.timeout:g} s.", tries + 1
            except httpx.TransportError as error:
                self._pool.drop(endpoint, describe(error))
                why, tries = f"{endpoint.url} broke off: {describe(error)}.", tries + 1
            finally:
                self._pool.give_back(endpoint)
            await asyncio.sleep(pause if pause is not None else self._pause(tries))
        failed = f"Given up after {tries} tries. {why}"
        return [refusals.give_up(request, failed) for request in group]

    def _pause(self, tries: int) -> float:
        return min(self.manners.backoff * 2.0 ** (tries - 1), 60.0) * random.uniform(0.75, 1.25)

    def _request_body(self, group: Group, settings: SamplingSettings) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.config.model,
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "max_tokens": settings.max_tokens,
            "seed": group[0].seed,
        }
        if settings.mode == "base":
            body["prompt"] = plain_text(group[0].messages)
        else:
            body["messages"] = [{"role": one.role, "content": one.content} for one in group[0].messages]
            body["chat_template_kwargs"] = thinking_flags(settings.mode)
        if settings.stop:
            body["stop"] = list(settings.stop)
        if len(group) > 1:
            body["n"] = len(group)
        return {name: value for name, value in {**body, **self._body}.items() if value is not None}

    def _read(self, response: Any, group: Group, settings: SamplingSettings) -> list[Sample]:
        try:
            answer = response.json()
            choices = sorted(answer["choices"], key=lambda choice: choice.get("index", 0))
            usage = answer.get("usage") or {}
            texts = [_texts(choice) for choice in choices]
        except (ValueError, KeyError, TypeError, AttributeError):
            return []
        if len(choices) != len(group):
            return []
        opening = self._openings[settings.mode]
        samples = []
        for request, choice, (text, thinking) in zip(group, choices, texts, strict=True):
            if opening and thinking is None and not text.startswith(opening.strip()):
                text = opening + text
            samples.append(
                Sample(
                    request_id=request.id,
                    text=text,
                    thinking=thinking,
                    finish_reason=_FINISH.get(choice.get("finish_reason"), "unknown"),
                    prompt_tokens=usage.get("prompt_tokens"),
                    completion_tokens=usage.get("completion_tokens") if len(group) == 1 else None,
                    cached_tokens=(usage.get("prompt_tokens_details") or {}).get("cached_tokens"),
                    seed=group[0].seed,
                )
            )
        return samples

    def _refusal(self, endpoint: Endpoint, response: Any) -> str:
        status = response.status_code
        if status in (401, 403):
            raise self._refused_key(endpoint, status)
        said = redact(_message(response), self._key)
        if status == 404:
            raise EngineError(
                f"{endpoint.url} answers 404 for model {self.config.model!r}: {said}.",
                "Give a model it serves, and a base URL that ends in /v1.",
            )
        if status == 402 or "insufficient_quota" in response.text:
            raise EngineError(f"{endpoint.url} answers {status}: {said}.", "The account has nothing left to spend.")
        hint = "This server does not take it: leave it out with --engine-args chat_template_kwargs=null."
        return f"{endpoint.url} answers {status}: {said}." + (f" {hint}" if "chat_template_kwargs" in said else "")

    async def _find_opening(self, settings: SamplingSettings) -> str:
        """The thinking tag the server's chat template ends in, where the server can tell (vLLM's /tokenize)."""
        import httpx

        if settings.mode == "base":
            return ""
        endpoint = await self._pool.take()
        body = {
            "model": self.config.model,
            "messages": [{"role": "user", "content": "?"}],
            "chat_template_kwargs": thinking_flags(settings.mode),
        }
        try:
            response = await self._pool.client.post(f"{endpoint.root}/tokenize", json=body, timeout=30.0)
            tokens = response.json()["tokens"][-16:]
            again = {"model": self.config.model, "tokens": tokens}
            response = await self._pool.client.post(f"{endpoint.root}/detokenize", json=again, timeout=30.0)
            found = OPENING.search(response.json()["prompt"])
        except (httpx.HTTPError, ValueError, KeyError, TypeError):
            return ""
        finally:
            self._pool.give_back(endpoint)
        return found[0] if found else ""


def group_requests(requests: Iterable[Request], n: int) -> Iterator[Group]:
    """Requests in groups of up to `n` neighbours with the same conversation, each pulled when it is needed.

    >>> from multilingual_math_audit.evaluate.engines.protocol import Message
    >>> a, b = (Message("user", "a"),), (Message("user", "b"),)
    >>> asked = [Request("1", a, 7), Request("2", a, 8), Request("3", b, 9)]
    >>> [[one.id for one in group] for group in group_requests(asked, 4)]
    [['1', '2'], ['3']]
    """
    group: list[Request] = []
    for request in requests:
        if group and (len(group) == n or request.messages != group[0].messages):
            yield tuple(group)
            group = []
        group.append(request)
        if n == 1:
            yield tuple(group)
            group = []
    if group:
        yield tuple(group)


def _texts(choice: dict[str, Any]) -> tuple[str, str | None]:
    if "message" not in choice:
        return choice["text"], None
    message = choice["message"]
    thinking = message.get("reasoning") or message.get("reasoning_content") or None
    return message.get("content") or "", thinking


def _message(response: Any) -> str:
    try:
        body = response.json()
        error = body.get("error", body.get("message", body.get("detail", "")))
        said = error.get("message", "") if isinstance(error, dict) else error
    except (ValueError, AttributeError):
        said = response.text
    return str(said).strip().rstrip(".")[:500] or "no reason given"


def _retry_after(response: Any) -> float | None:
    try:
        return min(max(float(response.headers["retry-after"]), 0.0), 300.0)
    except (KeyError, ValueError):
        return None
