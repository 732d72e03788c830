"""The server engine against a scripted server: balance, retries, clear stops, nothing lost and nothing leaked."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from chat_server import ChatServer, Fault, Reply

from multilingual_math_audit.errors import EngineError, UsageError
from multilingual_math_audit.evaluate.engines.catalogue import EngineConfig, open_engine
from multilingual_math_audit.evaluate.engines.protocol import Engine, Message, Request, Sample, SamplingSettings

SETTINGS = SamplingSettings(max_tokens=100)
QUICK = {"backoff": 0.02, "patience": 2.0}


def request(number: int, words: str = "What is it?") -> Request:
    return Request(f"r{number}", (Message("user", words),), number)


def by_id(samples: Iterator[Sample]) -> dict[str, Sample]:
    found: dict[str, Sample] = {}
    for sample in samples:
        assert sample.request_id not in found
        found[sample.request_id] = sample
    return found


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Engine]]:
    monkeypatch.delenv("MATH_AUDIT_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    opened: list[Engine] = []

    def connect(*servers: Any, model: str = "tiny", concurrency: int | None = 8, **options: Any) -> Engine:
        urls = tuple(server if isinstance(server, str) else server.url for server in servers)
        config = EngineConfig("server", model, endpoints=urls, concurrency=concurrency, options={**QUICK, **options})
        opened.append(open_engine(config))
        return opened[-1]

    yield connect
    for engine in opened:
        engine.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "server-engine"]


def test_every_request_has_its_own_seed_and_its_own_sample(connect: Callable[..., Engine]) -> None:
    """300 requests give 300 samples, each with the text that its own messages and seed decide."""
    with ChatServer(lambda messages, seed: f"{messages[0]['content']} {seed}") as server:
        engine = connect(server)
        found = by_id(engine.generate((request(i, f"q{i % 7}") for i in range(300)), SETTINGS))
        assert {name: sample.text for name, sample in found.items()} == {f"r{i}": f"q{i % 7} {i}" for i in range(300)}
        assert all(sample.seed == int(name[1:]) for name, sample in found.items())
        assert server.count == 300
        assert server.peak <= 8


def test_requests_are_pulled_only_as_far_as_they_are_in_flight(connect: Callable[..., Engine]) -> None:
    """An endless stream of requests is read no further than what is in flight plus what was yielded."""
    pulled = itertools.count()
    with ChatServer() as server:
        stream = connect(server).generate((request(next(pulled)) for _ in itertools.count()), SETTINGS)
        for _ in range(20):
            next(stream)
        stream.close()  # type: ignore[attr-defined]
    assert next(pulled) <= 20 + 8 + 1


def test_a_sample_is_yielded_the_moment_it_is_finished(connect: Callable[..., Engine]) -> None:
    """A slow first request does not hold back the quick ones behind it."""
    with ChatServer(lambda messages, seed: Reply("late", delay=1.0) if seed == 0 else "soon") as server:
        order = [s.request_id for s in connect(server).generate(map(request, range(5)), SETTINGS)]
    assert order[-1] == "r0"


def test_the_body_of_a_request(connect: Callable[..., Engine]) -> None:
    """Sampling settings, seed and the thinking switch are sent; engine arguments are added, null takes a field away."""
    with ChatServer() as server:
        settings = SamplingSettings(temperature=0.3, top_p=0.9, max_tokens=50, mode="non-thinking", stop=("END",))
        list(connect(server, top_k=20, seed=None).generate([request(5)], settings))
        body = server.requests[-1].body
    assert body == {
        "model": "tiny",
        "temperature": 0.3,
        "top_p": 0.9,
        "max_tokens": 50,
        "stop": ["END"],
        "top_k": 20,
        "messages": [{"role": "user", "content": "What is it?"}],
        "chat_template_kwargs": {"enable_thinking": False, "thinking": False},
    }


def test_base_mode_sends_plain_text_to_completions(connect: Callable[..., Engine]) -> None:
    """A base model is asked through /completions with the turns as plain text."""
    turns = (Message("user", "1+1"), Message("assistant", "2"), Message("user", "2+2"))
    with ChatServer(lambda messages, seed: "4") as server:
        (sample,) = connect(server).generate([Request("a", turns, 1)], SamplingSettings(max_tokens=5, mode="base"))
        assert (server.requests[-1].path, server.requests[-1].body["prompt"]) == ("/v1/completions", "1+1\n\n2\n\n2+2")
    assert sample.text == "4"


def test_finish_reason_tokens_and_thinking(connect: Callable[..., Engine]) -> None:
    """A text cut at the budget says "length"; thinking handed over apart from the text is kept apart."""
    replies = {1: Reply("a b c d e"), 2: Reply("done", reasoning="well"), 3: Reply("?", finish_reason="content_filter")}
    with ChatServer(lambda messages, seed: replies[seed]) as server:
        found = by_id(connect(server).generate(map(request, (1, 2, 3)), SamplingSettings(max_tokens=3)))
    assert (found["r1"].text, found["r1"].finish_reason, found["r1"].completion_tokens) == ("a b c", "length", 3)
    assert (found["r2"].text, found["r2"].thinking, found["r2"].prompt_tokens) == ("done", "well", 3)
    assert found["r3"].finish_reason == "aborted"


def test_a_thinking_tag_that_the_template_wrote_is_put_back(connect: Callable[..., Engine]) -> None:
    """Where the prompt ends in <think>, a text cut while thinking still says that it was thinking."""
    with ChatServer(lambda messages, seed: "so far so good", opening="<think>\n") as server:
        (sample,) = connect(server).generate([request(1)], SamplingSettings(max_tokens=2))
        assert (sample.text, sample.finish_reason) == ("<think>\nso far", "length")
        server.answer = lambda messages, seed: Reply("done", reasoning="well")
        (sample,) = connect(server).generate([request(1)], SETTINGS)
        assert (sample.text, sample.thinking) == ("done", "well")


def test_n_samples_in_one_request_record_the_seed_that_was_sent(connect: Callable[..., Engine]) -> None:
    """With n=4, 10 samples of one prompt cost 3 requests; each carries its group's seed and no invented token count."""
    with ChatServer(lambda messages, seed: f"{seed}") as server:
        found = by_id(connect(server, n=4).generate(map(request, range(10)), SETTINGS))
        assert [seen.body.get("n", 1) for seen in server.requests if seen.path.endswith("completions")] == [4, 4, 2]
    assert [found[f"r{i}"].text for i in range(10)] == [str(i) for i in range(10)]
    assert [found[f"r{i}"].seed for i in range(10)] == [0, 0, 0, 0, 4, 4, 4, 4, 8, 8]
    assert found["r1"].completion_tokens is None


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=429, retry_after=0.05),
        Fault(status=500),
        Fault(status=503),
        Fault(drop=True),
        Fault(body=b"not json"),
        Fault(body=b'{"choices": []}'),
    ],
)
def test_what_passes_is_tried_again(connect: Callable[..., Engine], fault: Any) -> None:
    """Four faults in a row cost no sample: the same request with the same seed is sent again."""
    with ChatServer() as server:
        engine = connect(server)
        want = by_id(engine.generate(map(request, range(6)), SETTINGS))
        server.faults.extend([fault] * 4)
        assert by_id(engine.generate(map(request, range(6)), SETTINGS)) == want


def test_a_server_that_does_not_answer_in_time_is_asked_again(connect: Callable[..., Engine]) -> None:
    """A hanging request is given up after the time-out and sent again."""
    with ChatServer() as server:
        engine = connect(server, timeout=0.3)
        list(engine.generate([request(0)], SETTINGS))
        server.faults.append(Fault(hang=1.0))
        (sample,) = engine.generate([request(1)], SETTINGS)
    assert sample.error is None


def test_one_request_given_up_does_not_stop_the_others(connect: Callable[..., Engine]) -> None:
    """A request that meets a 500 each time becomes a sample with an error; the rest are answered."""
    with ChatServer(fault_for=lambda messages, seed: Fault(status=500) if seed == 3 else None) as server:
        found = by_id(connect(server, tries=3).generate(map(request, range(8)), SETTINGS))
    assert [name for name, sample in found.items() if sample.error] == ["r3"]
    assert "Given up after 3 tries" in str(found["r3"].error)
    assert found["r3"].finish_reason == "error"


def test_a_prompt_longer_than_the_context_is_passed_over(connect: Callable[..., Engine]) -> None:
    """One prompt that is too long gives a sample with an error, without a second try; the others are answered."""
    with ChatServer(context=150) as server:
        asked = [request(0, "word " * 200), *map(request, range(1, 5))]
        found = by_id(connect(server).generate(asked, SETTINGS))
        assert sum(seen.seed == 0 for seen in server.requests) == 1
    assert "maximum context length" in str(found["r0"].error)
    assert sum(sample.error is None for sample in found.values()) == 4


def test_a_budget_that_fits_no_prompt_stops_the_run(connect: Callable[..., Engine]) -> None:
    """When every request is refused the run stops early instead of asking for all of them."""
    with ChatServer(context=50) as server:
        with pytest.raises(EngineError, match=r"Every request was refused.*maximum context length"):
            list(connect(server).generate(map(request, range(1000)), SETTINGS))
        assert server.count < 50


def test_the_key_comes_from_the_environment_and_never_shows(
    connect: Callable[..., Engine], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """MATH_AUDIT_API_KEY goes before OPENAI_API_KEY, reaches the server, and is in no fact, error or log."""
    caplog.set_level("DEBUG")
    with ChatServer(api_key="sk-secret-1") as server:
        with pytest.raises(EngineError, match=r"answers 401\. No key is in the environment: set MATH_AUDIT_API_KEY"):
            connect(server)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-2")
        with pytest.raises(EngineError, match="key in the environment was refused") as refused:
            connect(server)
        monkeypatch.setenv("MATH_AUDIT_API_KEY", "sk-secret-1")
        engine = connect(server)
        server.faults.append(Fault(status=400, message="bad, and your key is sk-secret-1"))
        server.faults.append(Fault(status=400, message="bad, and your key is sk-secret-1"))
        found = by_id(engine.generate(map(request, range(3)), SETTINGS))
        assert server.requests[-1].authorization == "Bearer sk-secret-1"
    shown = f"{engine.facts()} {refused.value} {found} {caplog.text}"
    assert "127.0.0.1" not in str(engine.facts())
    assert "sk-secret" not in shown
    assert "sk-wrong" not in shown
    assert "[key]" in shown


def test_a_key_refused_later_and_an_empty_account_stop_the_run(connect: Callable[..., Engine]) -> None:
    """401, 403, 402 and an exhausted quota are not tried again; samples that had come are yielded first."""
    for fault in (
        Fault(status=401),
        Fault(status=403),
        Fault(status=402),
        Fault(status=429, message="insufficient_quota"),
    ):
        with ChatServer() as server:
            engine = connect(server, concurrency=1)
            stream = engine.generate(map(request, range(5)), SETTINGS)
            next(stream)
            server.faults.append(fault)
            with pytest.raises(EngineError):
                list(stream)
            assert server.count <= 5


def test_an_unknown_model_is_named_with_those_there_are(connect: Callable[..., Engine]) -> None:
    """An unknown model stops before the first request and lists what the server has."""
    with ChatServer(model="tiny") as server:
        with pytest.raises(EngineError, match=r"does not serve 'huge'\. It serves: tiny\."):
            connect(server, model="huge")
        assert server.count == 0


def test_no_server_no_url_no_address(connect: Callable[..., Engine]) -> None:
    """An unreachable server, a URL without a scheme and one with a password each say what to do."""
    with pytest.raises(EngineError, match=r"No endpoint answers: http://127\.0\.0\.1:9/v1"):
        connect("http://127.0.0.1:9/v1")
    with pytest.raises(UsageError, match="is not an endpoint"):
        connect("localhost:8000")
    with pytest.raises(UsageError, match="must hold no user, password"):
        connect("http://me:pass@host/v1")
    with pytest.raises(UsageError, match="timeout=soon is not a number above 0"):
        connect("http://host", timeout="soon")
    with pytest.raises(UsageError, match="needs an endpoint"):
        connect()


def test_requests_go_to_the_endpoint_with_the_fewest_in_flight(connect: Callable[..., Engine]) -> None:
    """Of two servers the one that is four times as quick answers more requests, and both take part."""
    with (
        ChatServer(lambda m, s: Reply("a", delay=0.04)) as slow,
        ChatServer(lambda m, s: Reply("a", delay=0.01)) as quick,
    ):
        found = by_id(connect(slow, quick).generate(map(request, range(120)), SETTINGS))
        assert len(found) == 120
        assert 10 < slow.count < 60 < quick.count


def test_a_dead_endpoint_is_dropped_and_taken_back(connect: Callable[..., Engine]) -> None:
    """One of two servers dies in the middle: no sample is lost; when it is back it gets requests again."""
    answer = lambda messages, seed: Reply(f"{seed}", delay=0.01)  # noqa: E731
    with ChatServer(answer) as first, ChatServer(answer) as second:
        engine = connect(first, second)
        found: dict[str, Sample] = {}
        for number, sample in enumerate(engine.generate(map(request, range(400)), SETTINGS)):
            found[sample.request_id] = sample
            if number == 50:
                first.stop()
            if number == 150:
                seen = first.count
                first.start()
        assert first.count > seen
    assert {name: sample.text for name, sample in found.items()} == {f"r{i}": f"{i}" for i in range(400)}


def test_when_all_servers_die_the_run_stops_and_what_came_is_kept(connect: Callable[..., Engine]) -> None:
    """With no endpoint left the engine waits for its patience and stops with an error, having yielded what came."""
    with ChatServer() as server:
        stream = connect(server, patience=0.5).generate(map(request, range(100)), SETTINGS)
        got = [next(stream) for _ in range(10)]
        server.stop()
        with pytest.raises(EngineError, match="No endpoint answers for"):
            got.extend(stream)
    assert len(got) >= 10


def test_an_endpoint_that_is_down_at_the_start_does_not_matter(connect: Callable[..., Engine]) -> None:
    """Of two endpoints one may be down from the beginning."""
    with ChatServer() as server:
        assert len(by_id(connect("http://127.0.0.1:9/v1", server).generate(map(request, range(5)), SETTINGS))) == 5


def test_leaving_the_stream_cancels_what_is_in_flight(connect: Callable[..., Engine]) -> None:
    """A consumer that stops early leaves no request running and no thread (checked when the engine is closed)."""
    with ChatServer(lambda messages, seed: Reply("x", delay=0.0 if seed == 0 else 30.0)) as server:
        engine = connect(server)
        stream = engine.generate(map(request, range(8)), SETTINGS)
        next(stream)
        stream.close()  # type: ignore[attr-defined]
        engine.close()
        assert server.count <= 8
