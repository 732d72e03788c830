"""The transformers engine with a tiny random model: its draws, its prompts, its batches and its errors."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny_model

torch = pytest.importorskip("torch", reason="needs the transformers extra")
transformers = pytest.importorskip("transformers", reason="needs the transformers extra")

from multilingual_math_audit.errors import EngineError, UnknownName  # noqa: E402
from multilingual_math_audit.evaluate.engines.catalogue import EngineConfig, open_engine  # noqa: E402
from multilingual_math_audit.evaluate.engines.protocol import Engine, Message, Request, SamplingSettings  # noqa: E402
from multilingual_math_audit.evaluate.engines.sampler import draw_tokens  # noqa: E402
from multilingual_math_audit.evaluate.engines.template import PromptTemplate  # noqa: E402

GREEDY = SamplingSettings(temperature=0, max_tokens=24, mode="base")
SAMPLED = SamplingSettings(temperature=1.0, top_p=0.95, max_tokens=24, mode="non-thinking")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tiny_model.save_tiny_model(tmp_path_factory.mktemp("tiny"))
    return path


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[Any]:
    opened = open_engine(EngineConfig("transformers", str(folder), concurrency=5))
    yield opened
    opened.close()


def request(number: int, words: str) -> Request:
    return Request(f"r{number}", (Message("user", words),), number)


def texts(engine: Engine, requests: list[Request], settings: SamplingSettings) -> dict[str, str]:
    return {sample.request_id: sample.text for sample in engine.generate(requests, settings)}


def test_greedy_batches_say_what_generate_says(engine: Any, folder: Path) -> None:
    """At temperature 0, prompts of many lengths in batches of five give token for token what transformers' own
    generate gives for each prompt alone (an independent implementation of the loop)."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    asked = [request(i, "abc" * (i % 6 + 1) + str(i)) for i in range(12)]
    found = texts(engine, asked, GREEDY)
    for one in asked:
        ids = engine.tokenizer(one.messages[0].content, return_tensors="pt")
        whole = model.generate(**ids, do_sample=False, max_new_tokens=24, pad_token_id=1)[0, ids.input_ids.shape[1] :]
        assert found[one.id] == engine.tokenizer.decode(whole, skip_special_tokens=True)


def test_a_sample_does_not_depend_on_its_batch(engine: Any) -> None:
    """In float32 a request gives the same text alone, in another order and among other prompts."""
    asked = [request(i, f"question {i % 4} " * (i % 3 + 1)) for i in range(16)]
    once = texts(engine, asked, SAMPLED)
    assert texts(engine, asked[::-1], SAMPLED) == once
    assert texts(engine, asked[3:4], SAMPLED) == {"r3": once["r3"]}
    assert len(set(once.values())) > 12  # different seeds say different things


def test_draws_follow_the_nucleus_distribution() -> None:
    """20,000 draws match the renormalised nucleus computed by hand: p = .5 .3 .15 .05 at top-p 0.9 keeps three."""
    logits = torch.log(torch.tensor([[0.15, 0.5, 0.05, 0.3]])).repeat(20_000, 1)
    generators = [random.Random(seed) for seed in range(20_000)]
    drawn = draw_tokens(logits, generators, temperature=1.0, top_p=0.9)
    shares = [drawn.count(token) / 20_000 for token in range(4)]
    for seen, wanted in zip(shares, (0.15 / 0.95, 0.5 / 0.95, 0.0, 0.3 / 0.95), strict=True):
        assert abs(seen - wanted) < 4 * (wanted * (1 - wanted) / 20_000) ** 0.5 + 1e-12


def test_temperature_sharpens_as_its_formula_says() -> None:
    """At temperature 0.5 probabilities are squared and renormalised: .6 .4 become 36/52 and 16/52."""
    logits = torch.log(torch.tensor([[0.6, 0.4]])).repeat(20_000, 1)
    drawn = draw_tokens(logits, [random.Random(seed) for seed in range(20_000)], temperature=0.5, top_p=1.0)
    assert abs(drawn.count(0) / 20_000 - 36 / 52) < 4 * (36 / 52 * 16 / 52 / 20_000) ** 0.5


def test_a_flat_distribution_reaches_beyond_the_short_list() -> None:
    """With 5,000 equally likely tokens the nucleus holds 95% of them, more than the short list that is tried first."""
    drawn = draw_tokens(
        torch.zeros(4_000, 5_000), [random.Random(seed) for seed in range(4_000)], temperature=1.0, top_p=0.95
    )
    assert len(set(drawn)) > 2_000
    assert len({*drawn}) <= 4_751


def test_requests_are_pulled_one_batch_at_a_time(engine: Any) -> None:
    """An endless stream of requests is read one batch ahead at most."""
    pulled = itertools.count()
    stream = engine.generate((request(next(pulled), "x") for _ in itertools.count()), SAMPLED)
    next(stream)
    stream.close()
    assert next(pulled) == 5


def test_finish_reasons_counts_and_stop_words(engine: Any) -> None:
    """A text cut at the budget says "length" and counts its tokens; a stop word ends it and is left out."""
    (cut,) = engine.generate([request(1, "abc")], GREEDY)
    assert (cut.finish_reason, cut.completion_tokens, cut.prompt_tokens) == ("length", 24, 4)
    word = cut.text[5:8]
    settings = SamplingSettings(temperature=0, max_tokens=24, mode="base", stop=(word,))
    (stopped,) = engine.generate([request(1, "abc")], settings)
    assert stopped.finish_reason == "stop"
    assert stopped.text == cut.text[: cut.text.index(word)]


def test_one_bos_and_the_thinking_switch(engine: Any) -> None:
    """Plain text gets one BOS token, a chat template's own BOS is not doubled, and a tag it opens is put back."""
    template: PromptTemplate = engine.template
    message = (Message("user", "hi"),)
    for mode in ("base", "non-thinking", "thinking"):
        ids = template.encode(message, mode)
        assert (ids[0], ids.count(0)) == (0, 1)
    assert template.encode((Message("user", "<s>hi"),), "base")[:2] != [0, 0]
    assert template.render(message, "base") == "hi"
    assert template.render(message, "non-thinking") == "<s><|user|>hi<|assistant|>"
    assert template.render(message, "thinking") == "<s><|user|>hi<|assistant|><think>\n"
    thinking = SamplingSettings(max_tokens=8, mode="thinking")
    (sample,) = engine.generate([request(1, "hi")], thinking)
    assert sample.text.startswith("<think>\n")


def test_a_budget_beyond_the_context_is_refused_by_name(engine: Any) -> None:
    """One prompt that does not fit is passed over with a reason; when none fits the run stops."""
    asked = [request(0, "long " * 200), request(1, "short")]
    samples = {sample.request_id: sample for sample in engine.generate(asked, SAMPLED)}
    assert "model's context of 512" in str(samples["r0"].error)
    assert samples["r1"].error is None
    with pytest.raises(EngineError, match="Every request was refused"):
        list(engine.generate(asked, SamplingSettings(max_tokens=600)))


def test_facts_say_what_repeats_and_no_path(engine: Any, folder: Path) -> None:
    """The manifest learns versions, dtype, template and repeatability, and nothing of the machine's folders."""
    facts = engine.facts()
    assert facts.repeatable
    assert facts.model == folder.name
    assert facts.revision.startswith("folder-")
    assert facts.details["dtype"] == "float32"
    assert facts.details["opens_thinking"]
    assert str(folder.parent) not in str(facts)
    half = open_engine(EngineConfig("transformers", str(folder), dtype="bfloat16"))
    assert not half.facts().repeatable
    half.close()


def test_errors_of_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown engine, model and dtype, and a model without a chat template, each say what to do."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(UnknownName, match="There is no engine 'vlm'"):
        open_engine(EngineConfig("vlm", "m"))
    with pytest.raises(EngineError, match="'no/such-model' is not on this machine and the Hub cannot be reached"):
        open_engine(EngineConfig("transformers", "no/such-model"))
    with pytest.raises(EngineError, match="neither a folder here nor a model on the Hub"):
        open_engine(EngineConfig("transformers", str(tmp_path / "nothing")))
    with pytest.raises(EngineError, match="holds no model"):
        open_engine(EngineConfig("transformers", str(tmp_path)))
    with pytest.raises(EngineError, match="There is no dtype 'int3'"):
        open_engine(EngineConfig("transformers", "m", dtype="int3"))
    bare = open_engine(EngineConfig("transformers", str(tiny_model.save_tiny_model(tmp_path / "bare", template=None))))
    with pytest.raises(EngineError, match=r"has no chat template.*give --mode base"):
        list(bare.generate([request(1, "x")], SAMPLED))
    assert texts(bare, [request(1, "x")], GREEDY)
