"""Hidden states through real vLLM on the CPU, against transformers; and live stopping that aborts its requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tiny_model
import torch
import vllm_python

from multilingual_math_audit.evaluate.engines.catalogue import EngineConfig, open_engine
from multilingual_math_audit.evaluate.verifier.elicitation import Branch, TransformersElicitor
from multilingual_math_audit.evaluate.verifier.model import MultiSequenceVerifier, VerifierConfig

pytestmark = [pytest.mark.slow, pytest.mark.vllm]
SEQUENCES = ("First we add. Then we stop.", "No.", "", "So it is seven, or eight, or nine, I am not sure at all.")
BRANCHES = [Branch(0, 10, 10), Branch(0, 27, 27), Branch(1, 3, 3), Branch(2, 0, 0), Branch(3, 20, 20)]

PROGRAM = """
import json, sys
import torch
from multilingual_math_audit.evaluate.engines.catalogue import EngineConfig
from multilingual_math_audit.evaluate.engines.protocol import Message, Request, SamplingSettings
from multilingual_math_audit.evaluate.verifier.checkers import exact
from multilingual_math_audit.evaluate.verifier.elicitation import Branch
from multilingual_math_audit.evaluate.verifier.experiment import load_checkpoint
from multilingual_math_audit.evaluate.verifier.live_vllm import VllmEarlyStopEngine
from multilingual_math_audit.evaluate.verifier.vllm_elicitation import VllmElicitor

def main(folder, checkpoint, sequences, branches):
    config = EngineConfig("vllm", folder, dtype="float32", options={"kv_cache_memory_bytes": 2**27})
    elicitor = VllmElicitor(config)
    prompt = elicitor.encode("What is 3 + 4?")
    found = elicitor.elicit(prompt, [elicitor.encode(s) for s in sequences], [Branch(*b) for b in branches])
    report = {"revision": elicitor.facts.revision, "answers": [
        {"tokens": a.tokens, "logprobs": a.logprobs, "states": torch.stack(a.states).tolist(), "text": a.text}
        for a in found
    ]}
    model = load_checkpoint(checkpoint)
    requests = [Request(f"r{k}", (Message("user", "What is 3 + 4?"),), k) for k in range(4)]
    settings = SamplingSettings(temperature=1.0, top_p=1.0, max_tokens=40, mode="non-thinking")
    for name, threshold in (("whole", 1.0), ("stopped", 0.0)):
        outcomes = []
        engine = VllmEarlyStopEngine(elicitor, model, threshold, exact, lambda _, outcome: outcomes.append(outcome))
        samples = list(engine.generate(iter(requests), settings))
        left = elicitor.writer.llm_engine.get_num_unfinished_requests()
        report[name] = {"outcome": outcomes[0].to_dict(), "left": left, "aborted": engine.aborted,
                        "samples": [[s.text, s.finish_reason, s.completion_tokens] for s in samples]}
    print("REPORT" + json.dumps(report))

if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4]))
"""


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Llama."""
    path: Path = tiny_model.save_tiny_model(tmp_path_factory.mktemp("tiny"))
    return path


@pytest.fixture(scope="module")
def elicitor(model_folder: Path) -> TransformersElicitor:
    """The tiny Llama through transformers."""
    return TransformersElicitor(open_engine(EngineConfig("transformers", str(model_folder), dtype="float32")))


@pytest.fixture(scope="module")
def report(
    model_folder: Path, elicitor: TransformersElicitor, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What vLLM said, from a process of its own environment."""
    facts = elicitor.facts
    source = {"model": facts.model, "revision": facts.revision, "layer": facts.layer, "norm": "post"}
    config = VerifierConfig(facts.width, 2, 4, streaming=True, source={**source, "delimiter": "every:8"})
    checkpoint = tmp_path_factory.mktemp("checkpoint")
    MultiSequenceVerifier(config).save_pretrained(checkpoint)
    program = tmp_path_factory.mktemp("program") / "program.py"
    program.write_text(PROGRAM)
    text = f"import runpy, sys; sys.argv[0] = {str(program)!r}; runpy.run_path({str(program)!r}, run_name='__main__')"
    branches = json.dumps([[b.sequence, b.keep, b.time] for b in BRANCHES])
    out = vllm_python.run_vllm_python(text, str(model_folder), str(checkpoint), json.dumps(SEQUENCES), branches)
    found: dict[str, Any] = json.loads(out.split("REPORT", 1)[1].splitlines()[0])
    return found


def test_states_agree_with_transformers(report: dict[str, Any], elicitor: TransformersElicitor) -> None:
    """In float32 the states of the same tokens differ by less than 1e-4 of their norm, log-probabilities by 1e-3."""
    prompt = elicitor.encode("What is 3 + 4?")
    mine = elicitor.elicit(prompt, [elicitor.encode(text) for text in SEQUENCES], BRANCHES)
    assert report["revision"] == elicitor.facts.revision
    assert [one["tokens"] for one in report["answers"]] == [one.tokens for one in mine]
    assert [one["text"] for one in report["answers"]] == [one.text for one in mine]
    for theirs, answer in zip(report["answers"], mine, strict=True):
        states = torch.stack(answer.states)
        assert torch.linalg.norm(torch.tensor(theirs["states"]) - states) < 1e-4 * torch.linalg.norm(states)
        assert theirs["logprobs"] == pytest.approx(answer.logprobs, abs=1e-3)


def test_live_stopping_aborts_requests_in_vllm(report: dict[str, Any]) -> None:
    """Stopped at its first answers, a problem's other requests are aborted and none is left in flight."""
    whole, stopped = report["whole"], report["stopped"]
    assert whole["left"] == stopped["left"] == 0
    assert whole["aborted"] == []
    assert whole["outcome"]["finished"] == 4
    assert whole["outcome"]["time"] == max(length for _, _, length in whole["samples"])
    assert stopped["outcome"]["stopped"]
    assert len(stopped["aborted"]) == stopped["outcome"]["aborted"] > 0
    assert stopped["outcome"]["generated"] < whole["outcome"]["generated"]
    for short, full in zip(stopped["samples"], whole["samples"], strict=True):
        assert full[0].startswith(short[0])
