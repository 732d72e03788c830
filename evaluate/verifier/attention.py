"""Attention under several masks at once: one product of queries and keys, one exponential, one product with values."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from multilingual_math_audit.evaluate.verifier.groups import Batch

Mask = Literal["full", "sequence", "equivalence", "answer"]
MASKS: tuple[Mask, ...] = get_args(Mask)
UNDERFLOW = 1e-15


def permitted(batch: Batch, queries: Tensor, masks: tuple[Mask, ...], *, streaming: bool) -> Tensor:
    """[M, Q, n] bool: which tokens each query token may read under each mask.

    `queries` [Q] are token indices. Every query reads at least its own token. Streaming: only answers of the same
    time or earlier are read, so answers of one time read each other.
    """
    mine = batch.answer[queries]
    causal = batch.group[mine][:, None] == batch.group[None]
    if streaming:
        causal &= batch.time[None] <= batch.time[mine][:, None]
    sets: dict[Mask, Tensor] = {
        "full": causal,
        "sequence": causal & (batch.sequence[mine][:, None] == batch.sequence[None]),
        "equivalence": causal & batch.equal[mine],
        "answer": mine[:, None] == torch.arange(len(batch.lengths), device=mine.device)[None],
    }
    return torch.stack([sets[mask] for mask in masks])[:, :, batch.answer]


def mixed_weights(scores: Tensor, allowed: Tensor, mixture: Tensor) -> Tensor:
    """[H, Q, n]: sum over masks of mixture[h, m] * softmax(scores[h, q] over the tokens that mask m allows).

    `scores` [H, Q, n] float32, `allowed` [M, Q, n] bool with no empty row, `mixture` [H, M]. All masks share one
    exponential: w = exp(s - max) * sum_m mixture_m / rowsum_m on m. Where the scores a sparse mask allows lie so far
    below the row's maximum that its sum underflows, that query is computed mask by mask.
    """
    scores = scores.masked_fill(~allowed.any(0), -torch.inf)
    powers = torch.exp(scores - scores.amax(-1, keepdim=True).detach())
    share = allowed.to(powers.dtype)
    sums = torch.einsum("hqn,mqn->hqm", powers, share)
    low = sums < UNDERFLOW
    factor = mixture[:, None] / sums.masked_fill(low, 1.0)
    weights = powers * torch.einsum("hqm,mqn->hqn", factor, share)
    if bool(low.any()):
        queries = low.any(2).any(0).nonzero().ravel()
        exact = _mask_by_mask(scores[:, queries], allowed[:, queries], mixture)
        weights = weights.index_copy(1, queries, exact)
    return weights


def _mask_by_mask(scores: Tensor, allowed: Tensor, mixture: Tensor) -> Tensor:
    total = torch.zeros_like(scores)
    for index in range(len(allowed)):
        softmax = torch.softmax(scores.masked_fill(~allowed[index], -torch.inf), dim=-1)
        total = total + mixture[:, index, None, None] * softmax
    return total


def naive_attention(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor, mixture: Tensor) -> Tensor:
    """The definition itself, one masked attention after another: the reference for tests and speed ratios.

    `query` [H, Q, e], `key` and `value` [H, n, e], `allowed` [M, Q, n], `mixture` [H, M]; gives [H, Q, e].
    """
    total = torch.zeros_like(query)
    for index in range(len(allowed)):
        scores = (query @ key.transpose(1, 2)) / query.shape[-1] ** 0.5
        weights = torch.softmax(scores.masked_fill(~allowed[index], -torch.inf), dim=-1)
        total = total + mixture[:, index, None, None] * (weights @ value)
    return total
