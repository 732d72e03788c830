"""Real vLLM on the CPU, in its own environment: the in-process engine, and the server engine before its API server."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny_model
import vllm_python

from multilingual_math_audit.errors import EngineError
from multilingual_math_audit.evaluate.engines.catalogue import EngineConfig, open_engine
from multilingual_math_audit.evaluate.engines.protocol import Message, Request, SamplingSettings

pytestmark = [pytest.mark.slow, pytest.mark.vllm]


PROGRAM = """
import json, sys
from multilingual_math_audit.errors import EngineError
from multilingual_math_audit.evaluate.engines.catalogue import EngineConfig, open_engine
from multilingual_math_audit.evaluate.engines.protocol import Message, Request, SamplingSettings

def request(number, words):
    return Request(f"r{number}", (Message("user", words),), number)

def ask(engine, requests, **settings):
    return {s.request_id: s for s in engine.generate(iter(requests), SamplingSettings(**settings))}

def main(folder):
    config = EngineConfig("vllm", folder, dtype="float32", options={"kv_cache_memory_bytes": 2**28})
    engine = open_engine(config)
    report = {"facts": {"repeatable": engine.facts().repeatable, "details": dict(engine.facts().details)}}
    settings = {"temperature": 1.0, "max_tokens": 32, "mode": "non-thinking"}
    asked = [request(i, f"question {i // 4} " + "and so on " * 6) for i in range(40)]
    once = ask(engine, asked, **settings)
    report["once"] = {name: [s.text, s.finish_reason, s.prompt_tokens, s.completion_tokens] for name, s in once.items()}
    report["cached"] = sum(s.cached_tokens or 0 for s in once.values())
    report["again"] = {name: s.text for name, s in ask(engine, asked[::-3], **settings).items()}
    greedy = [request(i, "abc" * (i + 1)) for i in range(6)]
    report["greedy"] = {n: s.text for n, s in ask(engine, greedy, temperature=0, max_tokens=24, mode="base").items()}
    thinking = ask(engine, [request(1, "hi")], max_tokens=4, mode="thinking")
    report["thinking"] = thinking["r1"].text
    mixed = ask(engine, [request(0, "long " * 200), request(1, "short")], **settings)
    report["mixed"] = {name: s.error for name, s in mixed.items()}
    stream = engine.generate((request(i, "x") for i in range(10**9)), SamplingSettings(**settings))
    next(stream)
    stream.close()
    report["left"] = engine.runner.engine.get_num_unfinished_requests()
    engine.close()
    print("REPORT" + json.dumps(report))

if __name__ == "__main__":
    main(sys.argv[1])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch", reason="needs the transformers extra")
    path: Path = tiny_model.save_tiny_model(tmp_path_factory.mktemp("tiny"))
    return path


@pytest.fixture(scope="module")
def report(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    program = tmp_path_factory.mktemp("program") / "program.py"
    program.write_text(PROGRAM)
    text = f"import runpy, sys; sys.argv[0] = {str(program)!r}; runpy.run_path({str(program)!r}, run_name='__main__')"
    out: str = vllm_python.run_vllm_python(text, str(folder))
    found: dict[str, Any] = json.loads(out.split("REPORT", 1)[1])
    return found


def test_every_request_is_answered_and_seeds_repeat_in_other_batches(report: dict[str, Any]) -> None:
    """40 requests give 40 samples; in float32 every third of them, asked again in reverse, says the same."""
    assert len(report["once"]) == 40
    assert len({text for text, *_ in report["once"].values()}) > 30
    assert report["again"] == {name: report["once"][name][0] for name in report["again"]}
    assert len(report["again"]) == 14
    assert report["facts"]["repeatable"]


def test_counts_prefix_cache_and_what_is_left(report: dict[str, Any]) -> None:
    """Samples cut at the budget have its tokens, equal prompts are cached, and a left stream leaves nothing behind."""
    for _, reason, prompt_tokens, completion_tokens in report["once"].values():
        assert prompt_tokens > 60
        assert reason in ("stop", "length")
        assert completion_tokens == 32 or reason == "stop"
    assert report["cached"] > 0
    assert report["left"] == 0
    assert report["facts"]["details"]["enable_chunked_prefill"] is False


def test_templates_and_overflow(report: dict[str, Any]) -> None:
    """A thinking tag that the template opens is put back; a prompt beyond the context is refused, the next is not."""
    assert report["thinking"].startswith("<think>\n")
    assert "model's context of 512" in report["mixed"]["r0"]
    assert report["mixed"]["r1"] is None


def test_vllm_and_transformers_agree_on_greedy_text(report: dict[str, Any], folder: Path) -> None:
    """At temperature 0 two engines that share no code for the model give the same text."""
    engine = open_engine(EngineConfig("transformers", str(folder)))
    asked = [Request(f"r{i}", (Message("user", "abc" * (i + 1)),), i) for i in range(6)]
    settings = SamplingSettings(temperature=0, max_tokens=24, mode="base")
    assert {s.request_id: s.text for s in engine.generate(asked, settings)} == report["greedy"]


@pytest.fixture(scope="module")
def server(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("server") / "log"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        vllm_python.find_vllm_python(), "-m", "vllm.entrypoints.openai.api_server",
        "--model", str(folder), "--served-model-name", "tiny", "--dtype", "float32",
        "--host", "127.0.0.1", "--port", str(port), "--api-key", "sk-test",
        "--enforce-eager", "--no-enable-chunked-prefill", "--block-size", "32",
        "--kv-cache-memory-bytes", str(2**28), "--generation-config", "vllm",
    ]  # fmt: skip
    with log.open("wb") as words:
        process = subprocess.Popen(command, env=vllm_python.vllm_environment(), stdout=words, stderr=words)
    try:
        wait_for(f"http://127.0.0.1:{port}/health", process, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path, seconds: float = 420) -> None:
    """Until the server answers; fails with its words when it has died."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            pytest.fail(log.read_text(errors="replace")[-4000:])
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.5)
    pytest.fail(f"the server did not start: {log.read_text(errors='replace')[-4000:]}")


def test_the_server_engine_before_a_real_api_server(
    server: str, report: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through vLLM's API server the same requests, seeds and template give the texts the in-process engine gave."""
    monkeypatch.setenv("MATH_AUDIT_API_KEY", "sk-test")
    engine = open_engine(EngineConfig("server", "tiny", endpoints=(server,)))
    try:
        asked = [Request(f"r{i}", (Message("user", f"question {i // 4} " + "and so on " * 6),), i) for i in range(40)]
        settings = SamplingSettings(temperature=1.0, max_tokens=32, mode="non-thinking")
        found = {sample.request_id: sample for sample in engine.generate(asked, settings)}
        seen = {n: [s.text, s.finish_reason, s.prompt_tokens, s.completion_tokens] for n, s in found.items()}
        assert seen == report["once"]
        greedy = [Request(f"r{i}", (Message("user", "abc" * (i + 1)),), i) for i in range(6)]
        base = SamplingSettings(temperature=0, max_tokens=24, mode="base")
        assert {s.request_id: s.text for s in engine.generate(greedy, base)} == report["greedy"]
        (sample,) = engine.generate([asked[0]], SamplingSettings(max_tokens=4, mode="thinking"))
        assert sample.text.startswith("<think>\n")
        with pytest.raises(EngineError, match="Every request was refused"):
            list(engine.generate(asked, SamplingSettings(max_tokens=600)))
        facts = engine.facts()
        assert facts.details["max_model_len"] == 512
        assert "server_version" in facts.details
    finally:
        engine.close()


def test_ray_actors_ask_a_real_server(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through Ray's actors the same requests to vLLM's API server give the texts that asking it from here gives."""
    ray = pytest.importorskip("ray")
    monkeypatch.setenv("MATH_AUDIT_API_KEY", "sk-test")
    monkeypatch.setenv("PYTHONPATH", str(vllm_python.ROOT))
    asked = [Request(f"r{i}", (Message("user", f"question {i} " + "and so on " * 6),), i) for i in range(24)]
    settings = SamplingSettings(temperature=1.0, max_tokens=16, mode="non-thinking")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    texts = []
    try:
        for engine in (
            open_engine(EngineConfig("server", "tiny", endpoints=(server,))),
            open_engine(EngineConfig("ray", "tiny", endpoints=(server,), options={"actors": 2, "block": 8})),
        ):
            texts.append({sample.request_id: sample.text for sample in engine.generate(asked, settings)})
            engine.close()
    finally:
        ray.shutdown()
    assert len(texts[0]) == 24
    assert texts[0] == texts[1]


def test_a_real_server_refuses_by_name(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong key and an unknown model stop at once, each with what to do."""
    monkeypatch.setenv("MATH_AUDIT_API_KEY", "sk-other")
    with pytest.raises(EngineError, match=r"answers 401\. The key in the environment was refused"):
        open_engine(EngineConfig("server", "tiny", endpoints=(server,)))
    monkeypatch.setenv("MATH_AUDIT_API_KEY", "sk-test")
    with pytest.raises(EngineError, match=r"does not serve 'huge'\. It serves: tiny\."):
        open_engine(EngineConfig("server", "huge", endpoints=(server,)))


def test_wrong_settings_end_in_one_paragraph_and_exit_code_2(folder: Path, tmp_path: Path) -> None:
    """The command line with vLLM and settings that would kill it says so and ends with exit code 2, no traceback."""
    command = [
        vllm_python.find_vllm_python(), "-m", "multilingual_math_audit", "solve", "--engine", "vllm",
        "--solver", str(folder), "--benchmarks", "starter_en", "--limit", "1", "--n", "1",
        "--engine-args", "enable_chunked_prefill=true", "--out", str(tmp_path / "run"),
    ]  # fmt: skip
    done = subprocess.run(
        command, env=vllm_python.vllm_environment(), capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "chunked prefill" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_an_interrupted_engine_leaves_no_process_behind(folder: Path, tmp_path: Path) -> None:
    """Ctrl-C in the middle of generation, with vLLM in processes of its own, ends them all."""
    program = tmp_path / "interrupted.py"
    program.write_text(
        "import os, signal, sys, threading\n"
        "from multilingual_math_audit.evaluate.engines.catalogue import EngineConfig, open_engine\n"
        "from multilingual_math_audit.evaluate.engines.protocol import Message, Request, SamplingSettings\n"
        "def main():\n"
        # A shell's background job is born with the signal ignored.
        "    signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "    options = {'kv_cache_memory_bytes': 2**28, 'max_num_seqs': 4}\n"
        "    engine = open_engine(EngineConfig('vllm', sys.argv[1], options=options))\n"
        "    asked = (Request(str(i), (Message('user', 'x'),), i) for i in range(10**9))\n"
        "    try:\n"
        "        for number, _ in enumerate(engine.generate(asked, SamplingSettings(max_tokens=200))):\n"
        "            if number == 3:\n"
        "                print('RUNNING', flush=True)\n"
        "                os.kill(os.getpid(), signal.SIGINT)\n"
        "    except KeyboardInterrupt:\n"
        "        engine.close()\n"
        "        print('CLOSED', flush=True)\n"
        "if __name__ == '__main__':\n"
        "    main()\n"
    )
    environment = {**vllm_python.vllm_environment(), "VLLM_ENABLE_V1_MULTIPROCESSING": "1", "MARK": str(tmp_path)}
    done = subprocess.run(
        [vllm_python.find_vllm_python(), str(program), str(folder)],
        env=environment, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert "CLOSED" in done.stdout, done.stdout[-2000:] + done.stderr[-3000:]
    deadline = time.monotonic() + 15
    while (left := processes_with(f"MARK={tmp_path}")) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert not left


def processes_with(words: str) -> list[int]:
    """Processes that carry these words in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if words.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found
