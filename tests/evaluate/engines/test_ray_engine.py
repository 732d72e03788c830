"""The Ray engine: a real local cluster, engines of ours in its actors, and an actor killed on the way."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import chat_server
import orjson
import pytest
from click.testing import CliRunner

from multilingual_math_audit.cli import cli
from multilingual_math_audit.errors import EngineError, UsageError
from multilingual_math_audit.evaluate.engines.catalogue import EngineConfig, open_engine
from multilingual_math_audit.evaluate.engines.protocol import Message, Request, Sample, SamplingSettings
from multilingual_math_audit.evaluate.engines.ray_data import pack_sample, split_config

pytestmark = [pytest.mark.slow, pytest.mark.ray]
REQUESTS = [Request(f"r{i}", (Message("user", f"Question {i}"),), i) for i in range(60)]


@pytest.fixture(scope="module")
def _cluster() -> Iterator[None]:
    """One small local cluster for all tests."""
    ray = pytest.importorskip("ray")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield
    ray.shutdown()


def recorded(folder: Path) -> Path:
    """Recorded samples of all requests, with texts that break careless transport."""
    path = folder / "recorded.jsonl"
    rows = [{"id": r.id, "text": f"\u2028 {r.id} \x00 \\boxed{{1}} 🙂", "finish_reason": "length"} for r in REQUESTS]
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return path


@pytest.mark.usefixtures("_cluster")
def test_replay_in_actors_equals_replay_here(tmp_path: Path) -> None:
    """Every request comes back once, equal to what the same engine gives in this process."""
    path = str(recorded(tmp_path))
    here = open_engine(EngineConfig("replay", "m", recorded=path))
    there = open_engine(EngineConfig("ray", "m", recorded=path, options={"actors": 2, "block": 7}))
    expected = {s.request_id: s for s in here.generate(REQUESTS, SamplingSettings())}
    got = list(there.generate(REQUESTS, SamplingSettings()))
    assert len(got) == 60
    assert {s.request_id: s for s in got} == expected
    assert list(there.generate([], SamplingSettings())) == []


@pytest.mark.usefixtures("_cluster")
def test_servers_asked_from_actors() -> None:
    """With endpoints the actors ask running servers, and seeds and finish reasons come through."""
    with chat_server.ChatServer(lambda m, seed: f"{m[-1]['content']} seed {seed}", model="m") as server:
        engine = open_engine(EngineConfig("ray", "m", endpoints=(server.url,), options={"actors": 2, "block": 16}))
        got = {s.request_id: s for s in engine.generate(REQUESTS, SamplingSettings(max_tokens=3))}
    assert {s.text for s in got.values()} == {f"Question {i} seed" for i in range(60)}
    assert {s.finish_reason for s in got.values()} == {"length"}


@pytest.mark.usefixtures("_cluster")
def test_killed_worker_costs_only_its_block() -> None:
    """When an actor's process is killed at work, another one does its block: nothing is lost or doubled."""
    import psutil

    killed: list[int] = []

    def kill_one() -> None:
        until = time.monotonic() + 60
        while not killed and time.monotonic() < until:
            for process in psutil.Process().children(recursive=True):
                if server.count > 8 and "ray::" in " ".join(process.cmdline()) and "MapWorker" in process.cmdline()[0]:
                    os.kill(process.pid, signal.SIGKILL)
                    killed.append(process.pid)
                    return
            time.sleep(0.05)

    def answer(messages: list[dict[str, str]], seed: int) -> chat_server.Reply:
        return chat_server.Reply(f"{messages[-1]['content']} seed {seed}", delay=0.25)

    with chat_server.ChatServer(answer, model="m") as server:
        options = {"actors": 2, "block": 6}
        engine = open_engine(EngineConfig("ray", "m", endpoints=(server.url,), concurrency=2, options=options))
        killer = threading.Thread(target=kill_one)
        killer.start()
        got = [(s.request_id, s.text) for s in engine.generate(REQUESTS, SamplingSettings())]
        killer.join()
    assert killed
    assert sorted(got) == sorted((f"r{i}", f"Question {i} seed {i}") for i in range(60))


@pytest.mark.usefixtures("_cluster")
def test_actors_own_words_reach_the_user(tmp_path: Path) -> None:
    """What an engine says in an actor (here: requests that are not recorded) is the error here."""
    engine = open_engine(EngineConfig("ray", "m", recorded=str(recorded(tmp_path)), options={"actors": 1}))
    with pytest.raises(EngineError, match="not recorded"):
        list(engine.generate([Request("unknown", (), 0)], SamplingSettings()))


@pytest.mark.usefixtures("_cluster")
def test_scores_equal_those_of_the_engine_in_this_process(tmp_path: Path) -> None:
    """A recorded run of the starter set, solved again through Ray's actors, has the same scores to the byte."""

    def math_audit(*words: str) -> None:
        result = CliRunner().invoke(cli, list(words), catch_exceptions=False)
        assert result.exit_code == 0, result.output

    plan = ["--solver", "tiny", "--benchmarks", "starter_en,starter_tr", "--limit", "10", "--n", "2"]
    here, there = str(tmp_path / "here"), str(tmp_path / "there")
    with chat_server.ChatServer(lambda messages, seed: f"\\boxed{{{seed % 30}}}", model="tiny") as server:
        math_audit("solve", *plan, "--engine", "server", "--endpoint", server.url, "--out", here)
    math_audit(
        "solve", *plan, "--engine", "ray", "--recorded", here, "--engine-args", "actors=2,block=8", "--out", there
    )
    for folder in (here, there):
        math_audit("grade", folder)
        math_audit("score", folder)
    assert (tmp_path / "here" / "scores.jsonl").read_bytes() == (tmp_path / "there" / "scores.jsonl").read_bytes()


def test_arguments() -> None:
    """Ray's own arguments are split from the inner engine's; what cannot be is refused."""
    assert split_config(EngineConfig("ray", "m", endpoints=("http://x/v1",)))[1].engine == "server"
    for options in ({"block": "many"}, {"block": 0}, {"inner": "ray"}):
        with pytest.raises(UsageError, match="ray"):
            split_config(EngineConfig("ray", "m", options=options))
    assert orjson.loads(pack_sample(Sample("a", "\ud800")))["text"] == "?"
