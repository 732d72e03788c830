"""States and checkpoints that do not fit: clear errors or defined results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from multilingual_math_audit.errors import AuditError, RecordError, SettingsMismatch, UsageError
from multilingual_math_audit.evaluate.verifier.experiment import load_checkpoint, refuse_overlap, split_states
from multilingual_math_audit.evaluate.verifier.groups import Group, collate, groups_from_arrays
from multilingual_math_audit.evaluate.verifier.model import MultiSequenceVerifier, VerifierConfig
from multilingual_math_audit.evaluate.verifier.probe import Probe, ProbeConfig
from multilingual_math_audit.evaluate.verifier.states import Shard, StateFolder, StatesHeader, write_shard
from multilingual_math_audit.evaluate.verifier.streaming import NewAnswer, StreamingVerifier

HEADER = StatesHeader("m", "r1", 2, "post", "bfloat16", "end", "Answer: {", "symbolic", 8, 2)


def small_group(problem: str = "p/1", width: int = 8, size: int = 3) -> Group:
    """A group of one answer per sequence, the first two equal and right."""
    random = np.random.default_rng(len(problem))
    names = [0, 0, *range(1, size - 1)][:size]
    arrays = {"x": random.normal(size=(1, size, 2, width)), "cls": [names], "y": [[int(n == 0) for n in names]]}
    group = groups_from_arrays(arrays)[0]
    texts = tuple(str(name) for name in names)
    return replace(group, problem=problem, texts=texts, states=group.states.bfloat16())


def small_shard(problem: str = "p/1", **settings: int) -> Shard:
    """A shard around a small group."""
    group = small_group(problem, **settings)
    tokens = torch.zeros(len(group.states), dtype=torch.long)
    return Shard(group, f"What is {problem}?", problem, "b", ("s",) * group.size, tokens, tokens.float())


def test_states_come_back_as_they_were(tmp_path: Path) -> None:
    """A shard written and read has the same bits in every tensor, and the same texts."""
    StateFolder.create(tmp_path, HEADER)
    shard = small_shard()
    write_shard(tmp_path, HEADER, shard)
    back = next(StateFolder(tmp_path).shards())
    for name in ("states", "lengths", "sequence", "time", "equal", "correct"):
        assert torch.equal(getattr(back.group, name), getattr(shard.group, name)), name
    assert (back.group.texts, back.item, back.solutions) == (shard.group.texts, "p/1", ("s", "s", "s"))


@pytest.mark.parametrize("change", [{"model": "n"}, {"layer": 1}, {"norm": "pre"}, {"revision": "r2"}])
def test_states_of_another_header_are_never_mixed_in(tmp_path: Path, change: dict[str, object]) -> None:
    """Another model, layer, norm or revision is refused when writing to a folder and when reading a shard."""
    other = replace(HEADER, **change)  # type: ignore[arg-type]
    StateFolder.create(tmp_path / "a", HEADER)
    with pytest.raises(SettingsMismatch, match=next(iter(change))):
        StateFolder.create(tmp_path / "a", other)
    write_shard(tmp_path / "a", other, small_shard())
    with pytest.raises(SettingsMismatch, match=next(iter(change))):
        StateFolder(tmp_path / "a")[0]
    source = {"model": "m", "revision": "r1", "layer": 2, "norm": "post"}
    probe = Probe(ProbeConfig(8, source=source))
    with pytest.raises(SettingsMismatch, match=next(iter(change))):
        probe.require(8, source | change)


def test_a_broken_shard_says_which(tmp_path: Path) -> None:
    """Bytes that are no shard raise RecordError with the file's name; a folder without states says what to run."""
    StateFolder.create(tmp_path, HEADER)
    with pytest.raises(UsageError, match="no states"):
        StateFolder(tmp_path)
    (tmp_path / "x.safetensors").write_bytes(b"\x00" * 40)
    with pytest.raises(RecordError, match=r"x\.safetensors"):
        StateFolder(tmp_path)[0]
    with pytest.raises(UsageError, match="verifier collect"):
        StateFolder(tmp_path / "none")


def test_a_checkpoint_of_another_size_is_refused(tmp_path: Path) -> None:
    """States of another width, a config that does not fit its weights, and another kind of checkpoint raise."""
    model = MultiSequenceVerifier(VerifierConfig(8, 2, 4))
    with pytest.raises(SettingsMismatch, match="16 wide"):
        model.probabilities(small_group(width=16))
    model.save_pretrained(tmp_path)
    config = (tmp_path / "config.json").read_text()
    (tmp_path / "config.json").write_text(config.replace('"width": 8', '"width": 16'))
    with pytest.raises(UsageError, match="does not fit"):
        load_checkpoint(tmp_path)
    Probe(ProbeConfig(8)).save_pretrained(tmp_path / "probe")
    with pytest.raises(UsageError, match="probe"):
        MultiSequenceVerifier.from_pretrained(tmp_path / "probe")
    with pytest.raises(AuditError):
        load_checkpoint(tmp_path / "nothing")
    with pytest.raises(UsageError, match="heads"):
        VerifierConfig(10, 3)


def test_nan_states_are_refused() -> None:
    """NaN and infinity are refused where a group is made and where an answer is appended."""
    group = small_group()
    for value in (float("nan"), float("inf")):
        states = group.states.clone()
        states[0, 0] = value
        with pytest.raises(UsageError, match="NaN"):
            replace(group, states=states)
        online = StreamingVerifier(MultiSequenceVerifier(VerifierConfig(8, 2, 4, streaming=True)), 2)
        with pytest.raises(UsageError, match="NaN"):
            online.append(1, [NewAnswer(0, states[:2], np.array([True]))])


def test_a_solution_without_answer_counts_as_disagreeing() -> None:
    """A sequence that never answered stays in N: an answer all others give has agreement 2/3."""
    group = small_group(size=3).keep(torch.tensor([True, True, False]))
    assert group.size == 3
    batch = collate([group], streaming=False)
    assert batch.agreement.tolist() == pytest.approx([2 / 3, 2 / 3])
    model = MultiSequenceVerifier(VerifierConfig(8, 2, 3))
    assert model.probabilities(group) == pytest.approx([2 / 3, 2 / 3])
    with pytest.raises(UsageError, match="has an answer"):
        group.subset([2])


def test_one_sequence_alone_has_a_score() -> None:
    """N = 1 is defined: the vote is left out and an untrained verifier says one half."""
    model = MultiSequenceVerifier(VerifierConfig(8, 2, 1))
    assert not model.config.vote_skip
    assert model.probabilities(small_group(size=1)) == pytest.approx([0.5])


def test_a_class_without_members_changes_nothing() -> None:
    """Class ids that no answer has leave no trace, since only pairs of answers are compared."""
    arrays = {"x": np.ones((1, 2, 1, 4)), "y": [[1, 0]]}
    first, second = (groups_from_arrays({**arrays, "cls": [names]})[0] for names in ([0, 1], [3, 99]))
    assert torch.equal(first.equal, second.equal)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"equal": torch.tensor([[True, True], [False, True]])}, "symmetric"),
        ({"equal": torch.tensor([[False, False], [False, True]])}, "diagonal"),
        ({"lengths": torch.tensor([2, 0])}, "at least one token"),
        ({"sequence": torch.tensor([0, 5])}, "outside"),
        ({"sequence": torch.tensor([0, 0]), "time": torch.tensor([5, 1])}, "order of time"),
        ({"correct": torch.tensor([True])}, "correct"),
    ],
)
def test_a_group_that_contradicts_itself_is_refused(change: dict[str, torch.Tensor], words: str) -> None:
    """Every way a group's parts can fail to fit together raises UsageError that says which."""
    arrays = {"x": np.ones((1, 2, 1, 4)), "cls": [[0, 1]], "y": [[1, 0]]}
    with pytest.raises(UsageError, match=words):
        replace(groups_from_arrays(arrays)[0], **change)  # type: ignore[arg-type]


def test_times_must_be_appended_in_order_and_together() -> None:
    """A time that was appended before, or lies before, is refused: its answers would not have seen each other."""
    online = StreamingVerifier(MultiSequenceVerifier(VerifierConfig(8, 2, 4, streaming=True)), 2)
    online.append(5, [NewAnswer(0, torch.ones(1, 8), np.array([True]))])
    for time in (5, 4):
        with pytest.raises(UsageError, match="in order"):
            online.append(time, [NewAnswer(1, torch.ones(1, 8), np.array([True, True]))])
    with pytest.raises(UsageError, match="streaming checkpoint"):
        StreamingVerifier(MultiSequenceVerifier(VerifierConfig(8, 2, 4)), 2)


def test_train_and_test_never_share_a_problem(tmp_path: Path) -> None:
    """A split keeps an item whole, and two sets with a text in common are refused."""
    StateFolder.create(tmp_path, HEADER)
    for number in range(20):
        write_shard(tmp_path, HEADER, small_shard(f"p/{number}"))
    parts = split_states(StateFolder(tmp_path), (60, 20, 20))
    items = [{facts["item"] for facts in part.facts()} for part in parts.values() if part is not None]
    assert sum(map(len, items)) == len(set().union(*items)) == 20
    with pytest.raises(UsageError, match="--unseen"):
        refuse_overlap({"a"}, {"a", "b"}, names=("training", "test"))
