"""The verifier's numbers against their definitions: brute force, float64, finite differences, saved bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from multilingual_math_audit.evaluate.verifier.attention import mixed_weights, naive_attention, permitted
from multilingual_math_audit.evaluate.verifier.groups import Group, agreement, collate
from multilingual_math_audit.evaluate.verifier.model import MultiSequenceVerifier, VerifierConfig
from multilingual_math_audit.evaluate.verifier.scorers import in_groups
from multilingual_math_audit.evaluate.verifier.streaming import stream


def random_group(seed: int, *, size: int = 6, most: int = 5, width: int = 24, transitive: bool = True) -> Group:
    """A group of answers at few distinct times, so that times tie; its last sequence has one answer."""
    random = np.random.default_rng(seed)
    counts = np.r_[random.integers(1, most + 1, size - 1), 1]
    sequence = np.repeat(np.arange(size), counts)
    time = np.concatenate([np.sort(random.integers(1, 6, count)) * 10 for count in counts])
    lengths = random.integers(1, 5, len(sequence))
    names = random.integers(0, 3, len(sequence))
    equal = names[:, None] == names[None]
    if not transitive:
        extra = np.triu(random.random(equal.shape) < 0.3, 1)
        equal = equal | extra | extra.T
    return Group(
        states=torch.from_numpy(random.normal(size=(lengths.sum(), width))).float(),
        lengths=torch.from_numpy(lengths),
        sequence=torch.from_numpy(sequence),
        time=torch.from_numpy(time),
        equal=torch.from_numpy(equal),
        size=size,
        correct=torch.from_numpy(names == 0),
    )


def random_model(seed: int = 0, **settings: object) -> MultiSequenceVerifier:
    """A verifier none of whose weights are zero."""
    config = VerifierConfig(**{"width": 24, "heads": 3, "size": 6, **settings})  # type: ignore[arg-type]
    model = MultiSequenceVerifier(config).initialise(seed)
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(seed)
        model.head.weight.normal_()
        model.mixture.normal_()
    return model


def definition(model: MultiSequenceVerifier, group: Group, *, queries: str) -> torch.Tensor:
    """Logits by the equations, all tokens as queries, one masked softmax after another, no shortcut, in float64."""
    config = model.config
    double = MultiSequenceVerifier(replace(config)).double()
    double.load_state_dict(model.state_dict())
    double = double.double()
    batch = collate([group], streaming=config.streaming).to("cpu", torch.float64)
    x = batch.states + double.slots[batch.slot][batch.answer]
    z = x / torch.sqrt((x**2).mean(-1, keepdim=True) + 1e-6) * double.norm.weight
    allowed = permitted(batch, torch.arange(len(x)), config.masks, streaming=config.streaming)
    heads = [double.split(z @ layer.weight.T) for layer in (double.query, double.key, double.value)]
    attended = naive_attention(*heads, allowed, double.mixture_weights)
    r = double.finish(x, attended)
    if queries == "last":
        read = r[batch.last]
    else:
        read = torch.stack([r[batch.answer == a].mean(0) for a in range(len(batch.lengths))])
    read = read + double.feature(batch.agreement[:, None].double())
    logits = (read @ double.head.weight.T + double.head.bias)[:, 0]
    if config.vote_skip:
        logits = logits + double.vote * torch.logit(batch.agreement.double().clamp(1 / 128, 127 / 128))
    if config.average and not config.streaming:
        logits = torch.stack([logits[row].mean() for row in batch.equal])
    return logits


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("transitive", [True, False])
@pytest.mark.parametrize("options", [{}, {"mixture": "softmax"}, {"readout": "mean"}, {"vote_skip": True}])
def test_forward_equals_the_equations(streaming: bool, transitive: bool, options: dict[str, object]) -> None:
    """Last-token queries, shared exponential and absorbed projections give what the equations give with all tokens."""
    for seed in range(3):
        group = random_group(seed, transitive=transitive)
        model = random_model(seed, streaming=streaming, **options)
        logits = model(collate([group], streaming=streaming))
        expected = definition(model, group, queries=str(options.get("readout", "last")))
        assert torch.allclose(logits.double(), expected, atol=1e-5)


def test_last_token_queries_equal_all_token_queries() -> None:
    """Reading all tokens and keeping the last of each answer gives the same states as asking for the last alone."""
    for streaming in (False, True):
        group, model = random_group(1), random_model(streaming=streaming)
        batch = collate([group], streaming=streaming)
        x = batch.states + model.slots[batch.slot][batch.answer]
        everything = model.read(x, torch.arange(len(x)), batch)
        assert torch.allclose(model.read(x, batch.last, batch), everything[batch.last], atol=1e-5)


def test_projected_and_absorbed_attention_agree() -> None:
    """Applying key and value weights to the queries is the same as applying them to all tokens."""
    group, model = random_group(2), random_model()
    batch = collate([group], streaming=False)
    z = model.norm(batch.states)
    allowed = permitted(batch, batch.last, model.config.masks, streaming=False)
    query = model.split(model.query(z[batch.last]))
    projected = model.attend(query, model.split(model.key(z)), model.split(model.value(z)), allowed)
    assert torch.allclose(model.attend_absorbed(query, z, z, allowed), projected, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("vote_skip", [False, True])
def test_online_equals_offline_with_tied_times(seed: int, vote_skip: bool) -> None:
    """Scores given as answers appear equal those of the whole group within 1e-5, ties and non-transitivity included."""
    group = random_group(seed, transitive=seed % 2 == 0)
    assert len(torch.unique(group.time)) < len(group.time), "the times must tie"
    model = random_model(seed, streaming=True, vote_skip=vote_skip)
    assert np.abs(stream(model, group) - model.probabilities(group)).max() < 1e-5


def test_a_streaming_score_ignores_later_answers() -> None:
    """Cutting a group off at a time leaves the scores before that time as they were."""
    group, model = random_group(7), random_model(streaming=True)
    early = group.time <= 30
    cut_off = model.probabilities(group.keep(early))
    assert np.abs(model.probabilities(group)[early.numpy()] - cut_off).max() < 1e-6


def test_one_sequence_is_ordinary_attention() -> None:
    """With N = 1 every mask is the same, so the block is one softmax attention times the summed mixture weights."""
    group, model = random_group(3).terminals().subset([0]), random_model()
    batch = collate([group], streaming=False)
    x = batch.states + model.slots[0]
    z = model.norm(x)
    parts = [model.split(layer(z)) for layer in (model.query, model.key, model.value)]
    plain = torch.nn.functional.scaled_dot_product_attention(*parts) * model.mixture.sum(1)[:, None, None]
    assert torch.allclose(model.read(x, batch.last, batch), model.finish(x, plain)[batch.last], atol=1e-5)


def test_class_labels_mean_nothing() -> None:
    """Only which answers are equal enters: renaming classes leaves the matrix, and so every score, the same bits."""
    names = np.array([0, 2, 1, 1, 0, 5])
    renamed = np.array([9, 4, 7, 7, 9, 0])
    assert np.array_equal(names[:, None] == names, renamed[:, None] == renamed)
    group, model = random_group(4).terminals(), random_model()
    scores = [model.probabilities(replace(group, equal=torch.from_numpy(n[:, None] == n))) for n in (names, renamed)]
    assert np.array_equal(scores[0], scores[1])


def test_three_terminal_masks_equal_four_with_merged_weights() -> None:
    """Terminal answers are one to a sequence, so the within-sequence mask is the within-answer mask."""
    group = random_group(5).terminals()
    four = random_model(masks=("full", "sequence", "equivalence", "answer"))
    three = random_model()
    weights = four.state_dict()
    mixture = weights["mixture"]
    weights["mixture"] = torch.stack([mixture[:, 0], mixture[:, 2], mixture[:, 1] + mixture[:, 3]], dim=1)
    three.load_state_dict(weights)
    assert np.abs(three.probabilities(group) - four.probabilities(group)).max() < 1e-6


def test_permuting_sequences_with_their_slots_permutes_scores() -> None:
    """The order of sequences carries nothing beside the slot each is given."""
    group, model = random_group(6).terminals(), random_model()
    order = [3, 1, 5, 0, 2, 4]
    plain = model(collate([group], streaming=False))
    moved = model(collate([group.subset(order)], streaming=False, slots=[torch.tensor(order)]))
    assert torch.allclose(moved, plain[order], atol=1e-5)


def test_groups_of_a_batch_do_not_see_each_other() -> None:
    """Scores of several groups read together equal those of each read alone."""
    groups = [random_group(seed, transitive=False) for seed in range(3)]
    for streaming in (False, True):
        model = random_model(streaming=streaming)
        together = model.score_groups(groups)
        alone = [model.probabilities(group) for group in groups]
        assert max(np.abs(a - b).max() for a, b in zip(together, alone, strict=True)) < 1e-6


def test_scores_of_sd_60_do_not_underflow() -> None:
    """Where a sparse mask's scores lie hundreds below the row's maximum, weights still equal the softmax in float64."""
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(4, 32, 300, generator=generator) * 60
    allowed = torch.zeros(3, 32, 300, dtype=torch.bool)
    allowed[0] = True
    allowed[1] = torch.rand(32, 300, generator=generator) < 0.05
    allowed[2, torch.arange(32), torch.arange(32)] = True
    allowed[1] |= allowed[2]
    mixture = torch.randn(4, 3, generator=generator)
    exact = sum(
        mixture[:, m, None, None].double() * torch.softmax(scores.double().masked_fill(~allowed[m], -torch.inf), -1)
        for m in range(3)
    )
    assert (scores.masked_fill(~allowed[2], -torch.inf).amax(-1) - scores.amax(-1)).min() < -150
    assert torch.allclose(mixed_weights(scores, allowed, mixture).double(), torch.as_tensor(exact), atol=1e-5)


def test_gradients_stay_finite_at_sd_60() -> None:
    """Neither path gives NaN or infinite gradients when scores spread widely."""
    group, model = random_group(8), random_model()
    with torch.no_grad():
        model.query.weight.mul_(200)
        model.key.weight.mul_(200)
    model(collate([group], streaming=False)).sum().backward()  # type: ignore[no-untyped-call]
    assert all(bool(torch.isfinite(p.grad).all()) for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("streaming", [False, True])
def test_gradients_against_finite_differences(streaming: bool) -> None:
    """The derivative of the loss in every parameter tensor, along a random direction, is the difference quotient."""
    group = random_group(9, width=8)
    model = random_model(width=8, heads=2, streaming=streaming, vote_skip=True).double()
    batch = collate([group], streaming=streaming).to("cpu", torch.float64)
    assert batch.correct is not None
    truth = batch.correct.double()

    def loss() -> torch.Tensor:
        return torch.nn.functional.binary_cross_entropy_with_logits(model(batch).double(), truth)

    loss().backward()  # type: ignore[no-untyped-call]
    generator = torch.Generator().manual_seed(0)
    for name, parameter in model.named_parameters():
        direction = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        assert parameter.grad is not None, name
        analytic = float((parameter.grad * direction).sum())
        with torch.no_grad():
            parameter.add_(direction, alpha=1e-2)
            above = float(loss())
            parameter.add_(direction, alpha=-2e-2)
            below = float(loss())
            parameter.add_(direction, alpha=1e-2)
        assert analytic == pytest.approx((above - below) / 2e-2, rel=2e-2, abs=2e-4), name


def test_chunked_reading_equals_reading_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Splitting the queries to bound memory changes neither scores nor gradients."""
    group, model = random_group(10), random_model(streaming=True)
    batch = collate([group], streaming=True)
    results = []
    for chunk in (2**24, 1):
        monkeypatch.setattr("multilingual_math_audit.evaluate.verifier.model.CHUNK", chunk)
        model.zero_grad()
        logits = model(batch)
        logits.sum().backward()
        results.append((logits.detach(), model.query.weight.grad))
    assert torch.allclose(results[0][0], results[1][0], atol=1e-6)
    assert results[0][1] is not None
    assert torch.allclose(results[0][1], results[1][1], atol=1e-5)  # type: ignore[arg-type]


def test_saved_and_loaded_model_gives_equal_bits(tmp_path: object) -> None:
    """A checkpoint folder brings back the same configuration and the same bits of every score."""
    group = random_group(11)
    for streaming in (False, True):
        model = random_model(streaming=streaming, vote_skip=True, source={"model": "m", "norm": "post"})
        model.save_pretrained(f"{tmp_path}/{streaming}")
        loaded = MultiSequenceVerifier.from_pretrained(f"{tmp_path}/{streaming}")
        assert loaded.config == model.config
        assert np.array_equal(loaded.probabilities(group), model.probabilities(group))


def test_bfloat16_is_near_float32() -> None:
    """A model cast to bfloat16 gives probabilities within a few hundredths."""
    group, model = random_group(12), random_model()
    exact = model.probabilities(group)
    assert np.abs(model.bfloat16().probabilities(group) - exact).max() < 0.1


def test_agreement_by_brute_force() -> None:
    """The agreeing share is that of the sequences whose latest answer up to then equals the answer, out of all N."""
    for seed in range(5):
        group = random_group(seed, transitive=False)
        for streaming in (False, True):
            expected = []
            for a in range(len(group.lengths)):
                count = 0
                for i in range(group.size):
                    mine = [
                        b
                        for b in range(len(group.lengths))
                        if group.sequence[b] == i and (not streaming or group.time[b] <= group.time[a])
                    ]
                    count += bool(mine) and bool(group.equal[mine[-1], a])
                expected.append(count / group.size)
            assert np.allclose(agreement(group, streaming=streaming).numpy(), expected)


def test_grouped_scoring_of_one_group_is_the_model_itself() -> None:
    """MSV_M with all sequences in one group averages logits that are averaged already."""
    group, model = random_group(13).terminals(), random_model()
    assert np.abs(in_groups(model, 6)(group) - model.probabilities(group)).max() < 1e-5
