"""Collecting states and stopping live with a tiny model, against plain forward passes and decoding to the end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from multilingual_math_audit.errors import SettingsMismatch
from multilingual_math_audit.evaluate.engines.protocol import EngineFacts, Message, Request, SamplingSettings
from multilingual_math_audit.evaluate.verifier.checkers import exact
from multilingual_math_audit.evaluate.verifier.collection import CollectPlan, collect
from multilingual_math_audit.evaluate.verifier.elicitation import Branch, TransformersElicitor, branches_of
from multilingual_math_audit.evaluate.verifier.live import EarlyStopEngine, Outcome
from multilingual_math_audit.evaluate.verifier.model import MultiSequenceVerifier, VerifierConfig
from multilingual_math_audit.evaluate.verifier.states import StateFolder
from multilingual_math_audit.records import Problem, Solution
from multilingual_math_audit.store import Run

LETTERS = "\0" + "".join(map(chr, range(32, 127)))
WIDTH = 32


class Letters:
    """A tokenizer of one token per printable letter; token 0 ends."""

    eos_token_id = 0

    def encode(self, text: str, add_special_tokens: bool = False) -> list[int]:
        """One token a letter."""
        return [LETTERS.index(letter) for letter in text if letter in LETTERS]

    def decode(self, tokens: list[int], skip_special_tokens: bool = True) -> str:
        """The letters again."""
        return "".join(LETTERS[token] for token in tokens if token)


class Template:
    """A prompt that is the last message."""

    def __init__(self, tokenizer: Letters) -> None:
        self.tokenizer = tokenizer

    def encode(self, messages: tuple[Message, ...], mode: str) -> list[int]:
        """The last message's letters."""
        return self.tokenizer.encode(messages[-1].content[:40])

    def opening(self, mode: str) -> str:
        """No thinking tag."""
        return ""


class TinyEngine:
    """A random Llama of two layers with what an elicitor needs of an engine."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=len(LETTERS),
            hidden_size=WIDTH,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=512,
            eos_token_id=0,
            initializer_range=0.3,
        )
        self.model: Any = LlamaForCausalLM(config).eval()
        self.tokenizer = Letters()
        self.template = Template(self.tokenizer)

    def facts(self) -> EngineFacts:
        """A name and a revision."""
        return EngineFacts("transformers", "tiny", "r1")

    def close(self) -> None:
        """Nothing to let go of."""


@pytest.fixture(scope="module")
def elicitor() -> TransformersElicitor:
    """The tiny model as an elicitor."""
    return TransformersElicitor(TinyEngine(), rows=5)


def verifier(source: dict[str, Any], *, size: int = 4) -> MultiSequenceVerifier:
    """A streaming verifier with random weights for the tiny model's states."""
    config = VerifierConfig(WIDTH, 4, size, streaming=True, source={"model": "tiny", "revision": "r1"} | source)
    model = MultiSequenceVerifier(config).initialise(1)
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(3)
        model.head.weight.normal_(0, 0.3)
    return model


def test_branches_equal_plain_forward_passes(elicitor: TransformersElicitor) -> None:
    """States, log-probabilities and greedy tokens of cached, padded, batched branches are those of a plain pass."""
    prompt = elicitor.encode("What is 3 + 4?")
    sequences = [elicitor.encode(text) for text in ("It is 7, so 7.", "", "Wait, no: we add three and four.", "12")]
    branches = [b for i, s in enumerate(sequences) for b in branches_of(s, i, "every:4", elicitor.decode)]
    answers = elicitor.elicit(prompt, sequences, branches)
    assert len(answers) == len(branches)
    for answer, branch in zip(answers, branches, strict=True):
        before = [*prompt, *sequences[branch.sequence][: branch.keep], *elicitor.question]
        with torch.no_grad():
            output = elicitor.model(torch.tensor([[*before, *answer.tokens]]), output_hidden_states=True)
        ended = answer.tokens == [0]
        first = len(before) - ended
        expected = output.hidden_states[-1][0, first : first + len(answer.tokens)]
        assert torch.allclose(torch.stack(answer.states), expected, atol=1e-4)
        logprobs = torch.log_softmax(output.logits[0].float(), -1)[len(before) - 1 : -1]
        assert logprobs.argmax(-1).tolist() == answer.tokens
        assert answer.logprobs == pytest.approx(logprobs.max(-1).values.tolist(), abs=1e-4)
        assert 1 <= len(answer.tokens) <= 20


def make_run(folder: Path, texts: list[str]) -> Run:
    """A run of two problems whose solutions are these texts."""
    run = Run.create(folder, {"solver": {"solver": "tiny", "mode": "base", "shots": 0}})
    run.append([Problem(f"t/{i}", "t", f"t/{i}", "en", f"What is {i} + 1?", str(i + 1), "integer") for i in (1, 2)])
    run.append(Solution(f"{i}-{k}", f"t/{i}", "tiny", k, text) for i in (1, 2) for k, text in enumerate(texts))
    return run


def test_collect_goes_on_where_it_stopped_and_refuses_to_mix(tmp_path: Path, elicitor: TransformersElicitor) -> None:
    """One problem a shard; what is there is not done again; an empty solution has an answer; others are refused."""
    run = make_run(tmp_path / "run", ["It is 2.", "", "3, I think, or so."])
    plan = CollectPlan(tmp_path / "states", "every:6", checker="exact")
    first = next(collect(run, elicitor, plan))
    assert (first.problem, first.sequences) == ("t/1", 3)
    rest = list(collect(run, elicitor, plan))
    assert [one.problem for one in rest] == ["t/2"]
    assert list(collect(run, elicitor, plan)) == []
    folder = StateFolder(tmp_path / "states")
    groups = list(folder)
    assert [group.size for group in groups] == [3, 3]
    assert groups[0].states.dtype == torch.bfloat16
    assert groups[0].time.tolist() == [6, 8, 0, 6, 12, 18]
    assert {"mean_logprob", "mean_probability", "self_certainty"} <= set(groups[0].columns)
    assert folder.header.norm == "post"
    assert folder.header.layer == 2
    with pytest.raises(SettingsMismatch, match="delimiter"):
        list(collect(run, elicitor, replace(plan, delimiter="end")))


def decode_all(elicitor: TransformersElicitor, threshold: float, *, size: int = 4) -> tuple[list[Any], Outcome]:
    """The samples and the outcome of one problem decoded live."""
    outcomes: list[Outcome] = []
    model = verifier({"layer": 2, "norm": "post", "delimiter": "every:5"}, size=size)
    engine = EarlyStopEngine(elicitor, model, threshold, exact, lambda _, outcome: outcomes.append(outcome))
    requests = [Request(f"r{k}", (Message("user", "What is 3 + 4?"),), seed=k) for k in range(size)]
    settings = SamplingSettings(temperature=1.0, top_p=1.0, max_tokens=24, mode="base")
    samples = list(engine.generate(requests, settings))
    return sorted(samples, key=lambda sample: sample.request_id), outcomes[0]


def test_a_threshold_out_of_reach_decodes_to_the_end(elicitor: TransformersElicitor) -> None:
    """With threshold 1 nothing is aborted, every sample is finished, and the time is split by what it went to."""
    samples, outcome = decode_all(elicitor, 1.0)
    assert not outcome.stopped
    assert outcome.aborted == 0
    assert outcome.generated == sum(sample.completion_tokens for sample in samples)
    assert {sample.finish_reason for sample in samples} <= {"stop", "length"}
    assert set(outcome.seconds) == {"generation", "elicitation", "checker", "verifier"}


def test_live_stopping_aborts_and_gives_prefixes(elicitor: TransformersElicitor) -> None:
    """A threshold that is passed at once aborts the sequences at the first answer, as prefixes of the whole."""
    whole, _ = decode_all(elicitor, 1.0)
    samples, outcome = decode_all(elicitor, 0.0)
    assert outcome.stopped
    assert outcome.time <= 5
    assert outcome.aborted + outcome.finished == 4
    assert outcome.generated <= 20
    for short, full in zip(samples, whole, strict=True):
        assert full.text.startswith(short.text)
        if short.finish_reason == "aborted":
            assert short.completion_tokens == outcome.time


def test_a_live_verifier_of_another_model_is_refused(elicitor: TransformersElicitor) -> None:
    """A checkpoint trained on another layer or model raises before anything is decoded."""
    for change in ({"layer": 1}, {"model": "other"}):
        model = verifier({"layer": 2, "norm": "post", "delimiter": "every:5"} | change)
        with pytest.raises(SettingsMismatch, match=next(iter(change))):
            EarlyStopEngine(elicitor, model, 0.5, exact, lambda *_: None)


def test_delimiters_by_hand() -> None:
    """Every K tokens, a word wherever it stands alone, and always the end."""
    letters = Letters()
    tokens = letters.encode("ab.cd")
    assert branches_of(tokens, 1, "end", letters.decode) == [Branch(1, 5, 5)]
    assert [(b.keep, b.time) for b in branches_of(tokens, 0, ".", letters.decode)] == [(2, 3), (5, 5)]
    assert [b.keep for b in branches_of(tokens, 0, "every:2", letters.decode)] == [2, 4, 5]
