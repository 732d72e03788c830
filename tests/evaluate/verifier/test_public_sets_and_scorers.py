"""The public sets against a local Hub, and scorers that call another model: reward models and GenSelect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas
import pytest
import torch
from hub_server import HubServer
from transformers import LlamaConfig, LlamaForTokenClassification, PreTrainedTokenizerFast

from multilingual_math_audit.errors import EngineError, SourceError, UnknownName
from multilingual_math_audit.evaluate.engines.protocol import EngineFacts, Request, Sample, SamplingSettings
from multilingual_math_audit.evaluate.verifier.corpora import CORPORA, load_corpus
from multilingual_math_audit.evaluate.verifier.generative import choose_by_engine
from multilingual_math_audit.evaluate.verifier.rewards import SEPARATOR, RewardModel, with_steps
from multilingual_math_audit.records import Problem, Solution

PROGRAM = """
import json, sys
from multilingual_math_audit.errors import AuditError
from multilingual_math_audit.evaluate.verifier.corpora import load_corpus
try:
    print(json.dumps([p.to_dict() for p in load_corpus(sys.argv[1])]))
except AuditError as error:
    print(json.dumps(str(error)))
"""


def rows_of(name: str, count: int) -> list[dict[str, Any]]:
    """Rows with the columns of a set; every tenth question is about a triangle, every answer is a number."""
    corpus = CORPORA[name]
    wrap = (lambda value: [f"${value}$"]) if name == "olympiadbench" else str
    return [
        {corpus.question: f"Row {i} asks{' of a triangle' if i % 10 == 0 else ''}?", corpus.answer: wrap(i), "more": 1}
        for i in range(count)
    ]


def as_file(path: str, rows: list[dict[str, Any]], folder: Path) -> bytes:
    """The rows in the format of a file's name."""
    file = folder / Path(path).name
    table = pandas.DataFrame(rows)
    if path.endswith(".jsonl"):
        file.write_text("\n".join(json.dumps(row) for row in rows))
    elif path.endswith(".csv"):
        table.to_csv(file, index=False)
    else:
        table.to_parquet(file)
    return file.read_bytes()


def load_from(server: HubServer, name: str, cache: Path) -> Any:
    """What a fresh process loads of a set from a local Hub: the problems, or the words of an error."""
    environment = {**os.environ, **server.environment(), "HF_HOME": str(cache), "HF_HUB_OFFLINE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, name], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", ["math500", "olympiadbench", "amc12", "aime_1983_2024"])
def test_a_set_is_downloaded_and_sampled(name: str, tmp_path: Path) -> None:
    """From a Hub that holds more rows than the sample, the sample has its size, the right keys, and no geometry."""
    corpus = CORPORA[name]
    with HubServer() as server:
        data = as_file(corpus.files[0], rows_of(name, 500), tmp_path)
        server.add_repository("dataset", corpus.repository, {corpus.files[0]: data})
        found = load_from(server, name, tmp_path / "cache")
    assert len(found) == corpus.sample
    assert len({row["question"] for row in found}) == corpus.sample
    assert all(row["question"].split()[1] == row["answer"] for row in found)
    assert any("triangle" in row["question"] for row in found) == (name != "amc12")


def test_a_set_that_changed_or_is_away_says_so(tmp_path: Path) -> None:
    """A missing column, too few rows and a Hub without the set are errors that name the set."""
    corpus = CORPORA["math500"]
    with HubServer() as server:
        assert "cannot be had" in load_from(server, "math500", tmp_path / "none")
        rows = [{"question": "1 + 1?", "answer": "2"}]
        server.add_repository("dataset", corpus.repository, {"test.jsonl": json.dumps(rows[0]).encode()})
        assert "no column 'problem'" in load_from(server, "math500", tmp_path / "changed")
    with pytest.raises(UnknownName, match="math500"):
        load_corpus("math5000")


def test_training_and_validation_samples_do_not_overlap(tmp_path: Path) -> None:
    """The two samples of one set are disjoint, do not depend on the order of rows, and too few rows raise."""
    corpus = CORPORA["deepmath_train"]
    file = tmp_path / corpus.repository / corpus.files[0]
    file.parent.mkdir(parents=True)
    rows = rows_of("deepmath_train", 400)
    pandas.DataFrame(rows).to_parquet(file)
    samples = [
        {p.question for p in load_corpus(f"deepmath_{part}", folder=tmp_path)} for part in ("train", "validation")
    ]
    assert [len(sample) for sample in samples] == [224, 64]
    assert not samples[0] & samples[1]
    pandas.DataFrame(rows[::-1]).to_parquet(file)
    assert {p.question for p in load_corpus("deepmath_train", folder=tmp_path)} == samples[0]
    pandas.DataFrame(rows[:200]).to_parquet(file)
    with pytest.raises(SourceError, match="200 usable"):
        load_corpus("deepmath_train", folder=tmp_path)
    with pytest.raises(SourceError, match="not there"):
        load_corpus("omni_math", folder=tmp_path)


def save_reward_model(folder: Path, *, separator: bool = True) -> Path:
    """A tiny token classifier whose tokenizer knows the separator."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    if separator:
        fast.add_special_tokens({"additional_special_tokens": [SEPARATOR]})
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=300,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_labels=2,
        initializer_range=0.5,
    )
    LlamaForTokenClassification(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def test_a_reward_model_is_read_at_the_last_separator(tmp_path: Path) -> None:
    """The score is the softmax of the second class at the last separator of a plain forward pass."""
    folder = save_reward_model(tmp_path / "prm")
    rewards = RewardModel(str(folder))
    score = rewards.score("1 + 1?", [("One.\n\nTwo.", "2")])[0]
    text = with_steps("One.\n\nTwo.", "2")
    assert text.count(SEPARATOR) == 2
    ids = torch.tensor([rewards.tokenizer.encode(text, add_special_tokens=False)])
    with torch.no_grad():
        logits = LlamaForTokenClassification.from_pretrained(folder).eval()(ids).logits[0, -1]
    assert score == pytest.approx(float(torch.softmax(logits, -1)[1]), abs=1e-5)


def test_a_model_that_is_no_reward_model_is_refused(tmp_path: Path) -> None:
    """Without the separator token, or without a model at all, the error says so."""
    with pytest.raises(EngineError, match="extra_0"):
        RewardModel(str(save_reward_model(tmp_path / "plain", separator=False)))
    with pytest.raises(EngineError, match="cannot be loaded"):
        RewardModel(str(tmp_path / "nothing"))


class Chooser:
    """An engine that boxes a number given beforehand."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self.prompts: list[str] = []

    def facts(self) -> EngineFacts:
        """A name."""
        return EngineFacts("chooser", "chooser")

    def generate(self, requests: Iterable[Request], settings: SamplingSettings) -> Iterator[Sample]:
        """The texts in turn."""
        for request, text in zip(requests, self.texts, strict=False):
            self.prompts.append(request.messages[0].content)
            yield Sample(request.id, text)

    def close(self) -> None:
        """Nothing to let go of."""


def test_genselect_shows_every_solution_and_reads_the_choice() -> None:
    """All solutions stand in the prompt; the last box that names one is the choice; none named is None."""
    problem = Problem("p/1", "p", "p/1", "en", "What is 1 + 1?", "2", "integer")
    solutions = [Solution(str(k), "p/1", "m", k, f"It is {k}.") for k in range(3)]
    engine = Chooser(["Surely \\boxed{0}, no, \\boxed{2}.", "\\boxed{9}"])
    chosen = list(choose_by_engine([(problem, solutions), (problem, solutions[:2])], engine, SamplingSettings()))
    assert chosen == [("p/1", 2), ("p/1", None)]
    assert all(f"Solution {k}:\nIt is {k}." in engine.prompts[0] for k in range(3))
