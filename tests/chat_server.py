"""A deterministic OpenAI-compatible server on 127.0.0.1, for tests.

It answers `/v1/chat/completions`, `/v1/completions`, `/v1/models` and `/health`. What it says is a function of the
messages and the seed alone, so the same request always gets the same words; a word counts as one token and
`max_tokens` cuts, with finish reason "length". Faults are put in a queue, one for each coming request, or chosen by
a function of the messages and the seed. With `opening` it tells, as vLLM does through `/tokenize` and `/detokenize`,
that its chat template ends in that text.

    def answer(messages, seed):
        return f"It is \\\\boxed{{{seed % 7}}}."          # or Reply("...", reasoning="...", finish_reason="length")

    with ChatServer(answer, model="tiny") as server:
        engine = open_engine(EngineConfig("server", "tiny", endpoints=(server.url,)))
        server.faults += [Fault(status=429, retry_after=0.1), Fault(hang=5.0), Fault(drop=True)]
        ...
        server.count                                  # completions asked for, faults included
        server.requests[0].messages                   # what was sent
        server.peak                                   # most requests in flight at one time
        server.stop(); server.start()                 # dies, and comes back on the same port
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

Messages = list[dict[str, str]]


@dataclass(frozen=True)
class Reply:
    """What the model says; `reasoning` is handed over apart from the text, as servers with a reasoning parser do."""

    text: str
    finish_reason: str = "stop"
    reasoning: str | None = None
    delay: float = 0.0


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one request: an error status, a wait in seconds before answering, or a cut connection."""

    status: int | None = None
    message: str = "injected"
    retry_after: float | None = None
    hang: float = 0.0
    drop: bool = False
    body: bytes | None = None


@dataclass(frozen=True)
class Seen:
    """One completion request as it arrived."""

    path: str
    messages: Messages
    seed: int | None
    authorization: str | None
    body: dict[str, Any] = field(repr=False)


Answer = Callable[[Messages, int], "str | Reply"]


def count_words(messages: Messages, seed: int) -> str:
    """The default model: a thought and a boxed number that depend on the words and the seed alone."""
    words = sum(len(message["content"].split()) for message in messages)
    number = (words + seed) % 10
    return f"<think>\nSeed {seed}.\n</think>\n\nThere are {words} words, so the answer is \\boxed{{{number}}}."


class ChatServer:
    """The server; a context manager that starts and stops it."""

    def __init__(
        self,
        answer: Answer = count_words,
        *,
        model: str = "tiny",
        api_key: str | None = None,
        context: int = 1_000_000,
        opening: str | None = None,
        fault_for: Callable[[Messages, int], Fault | None] | None = None,
    ) -> None:
        self.answer, self.model, self.api_key, self.context = answer, model, api_key, context
        self.fault_for, self.opening = fault_for, opening
        self.faults: deque[Fault] = deque()
        self.requests: list[Seen] = []
        self.peak = self.in_flight = 0
        self.lock = threading.Lock()
        self._port = 0
        self._httpd: _Server | None = None

    def __enter__(self) -> ChatServer:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """The base URL, ending in /v1."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def count(self) -> int:
        """Completions asked for so far, refused ones included."""
        return len(self.requests)

    def start(self) -> None:
        """Listen; the port is kept over a stop."""
        handler = type("Handler", (_Handler,), {"server_state": self})
        self._httpd = _Server(("127.0.0.1", self._port), handler)
        self._port = self._httpd.server_address[1]
        threading.Thread(target=self._httpd.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Stop listening and cut every open connection, as a killed server would."""
        if self._httpd is not None:
            self._httpd.shutdown()
            self._httpd.server_close()
            self._httpd.cut_connections()
            self._httpd = None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 512
    block_on_close = False

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.connections: set[Any] = set()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.connections.discard(request)
        super().shutdown_request(request)

    def cut_connections(self) -> None:
        for connection in list(self.connections):
            super().shutdown_request(connection)
        self.connections.clear()

    def handle_error(self, request: Any, client_address: Any) -> None:
        return  # a client that went away is no news in a test


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_state: ChatServer

    def log_message(self, format: str, *args: object) -> None:
        return

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/health":
            self._send(200, {})
        elif not self._allowed():
            self._error(401, "Unauthorized")
        elif path == "/v1/models":
            row = {"id": self.server_state.model, "object": "model", "max_model_len": self.server_state.context}
            self._send(200, {"object": "list", "data": [row]})
        else:
            self._error(404, "Not Found")

    def do_POST(self) -> None:
        state = self.server_state
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        path = urlsplit(self.path).path
        if path not in ("/v1/chat/completions", "/v1/completions"):
            self._tell_template(path)
            return
        chat = path == "/v1/chat/completions"
        messages = body.get("messages") or [{"role": "user", "content": body.get("prompt", "")}]
        seed = body.get("seed")
        with state.lock:
            state.requests.append(Seen(path, messages, seed, self.headers.get("Authorization"), body))
            state.in_flight += 1
            state.peak = max(state.peak, state.in_flight)
            fault = state.faults.popleft() if state.faults else None
        try:
            fault = fault or (state.fault_for(messages, seed or 0) if state.fault_for else None)
            if fault is None or not self._fail(fault):
                self._complete(chat, body, messages, seed)
        finally:
            with state.lock:
                state.in_flight -= 1

    def _tell_template(self, path: str) -> None:
        if self.server_state.opening is None or path not in ("/tokenize", "/detokenize"):
            self._error(404, "Not Found")
        else:
            self._send(200, {"tokens": [1, 2], "prompt": f"<assistant>{self.server_state.opening}"})

    def _fail(self, fault: Fault) -> bool:
        time.sleep(fault.hang)
        if fault.drop:
            self.close_connection = True
            return True
        if fault.body is not None:
            self._send(fault.status or 200, fault.body)
            return True
        if fault.status is not None:
            headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
            self._error(fault.status, fault.message, headers)
            return True
        return False

    def _complete(self, chat: bool, body: dict[str, Any], messages: Messages, seed: int | None) -> None:
        state = self.server_state
        prompt_tokens = sum(len(message["content"].split()) for message in messages)
        budget = body.get("max_completion_tokens") or body.get("max_tokens") or 16
        if not self._allowed():
            self._error(401, "Unauthorized")
        elif body.get("model") != state.model:
            self._error(404, f"The model `{body.get('model')}` does not exist.")
        elif prompt_tokens + budget > state.context:
            self._error(400, f"This model's maximum context length is {state.context} tokens.")
        else:
            choices, spent = [], 0
            for index in range(body.get("n") or 1):
                reply = state.answer(messages, (seed or 0) + index)
                reply = Reply(reply) if isinstance(reply, str) else reply
                time.sleep(reply.delay)
                text, finish, tokens = _cut(reply, budget)
                spent += tokens
                content: dict[str, Any] = {"text": text}
                if chat:
                    content = {"message": {"role": "assistant", "content": text, "reasoning": reply.reasoning}}
                choices.append({"index": index, "finish_reason": finish, **content})
            usage = {"prompt_tokens": prompt_tokens, "completion_tokens": spent, "total_tokens": prompt_tokens + spent}
            self._send(200, {"object": "completion", "model": state.model, "choices": choices, "usage": usage})

    def _allowed(self) -> bool:
        key = self.server_state.api_key
        return key is None or self.headers.get("Authorization") == f"Bearer {key}"

    def _error(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        self._send(status, {"error": {"message": message, "type": "error", "code": status}}, headers)

    def _send(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _cut(reply: Reply, budget: int) -> tuple[str, str, int]:
    words = reply.text.split(" ")
    if len(words) <= budget:
        return reply.text, reply.finish_reason, len(words)
    return " ".join(words[:budget]), "length", budget
