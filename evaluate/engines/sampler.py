"""Drawing the next token of every row of a batch, each row by its own random numbers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

SHORT = 1024


def draw_tokens(
    logits: torch.Tensor, generators: Sequence[random.Random], *, temperature: float, top_p: float
) -> list[int]:
    """One token id per row of `logits` [rows, vocabulary]: nucleus sampling, or the likeliest at temperature 0.

    The nucleus is the smallest set of likeliest tokens whose probabilities sum to `top_p` or more (Holtzman et al.,
    2020). A row's draw depends on its own logits and generator alone, never on the other rows.

    >>> import torch
    >>> logits = torch.tensor([[0.0, 9.0], [9.0, 0.0]])
    >>> draw_tokens(logits, [random.Random(1), random.Random(2)], temperature=0, top_p=1)
    [1, 0]
    """
    import torch

    if temperature <= 0:
        return [int(token) for token in logits.argmax(dim=-1)]
    probabilities = torch.softmax(logits.float() / temperature, dim=-1)
    shares = [generator.random() for generator in generators]
    size = min(SHORT, probabilities.shape[-1])
    values, tokens = probabilities.topk(size, dim=-1)
    drawn = _invert(values, tokens, shares, top_p)
    for row in (values.sum(dim=-1) < top_p).nonzero().flatten().tolist():
        whole = probabilities[row : row + 1].sort(dim=-1, descending=True)
        drawn[row] = _invert(whole.values, whole.indices, shares[row : row + 1], top_p)[0]
    return drawn


def _invert(values: torch.Tensor, tokens: torch.Tensor, shares: Sequence[float], top_p: float) -> list[int]:
    import torch

    before = values.double().cumsum(dim=-1) - values
    kept = torch.where(before < top_p, values.double(), 0.0)
    sums = kept.cumsum(dim=-1)
    points = torch.tensor(shares, dtype=torch.float64, device=values.device)[:, None] * sums[:, -1:]
    places = torch.searchsorted(sums, points, right=True)
    last = (kept > 0).sum(dim=-1, keepdim=True) - 1
    return [int(token) for token in tokens.gather(1, torch.minimum(places, last)).flatten()]
