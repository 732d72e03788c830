"""Attention without copied keys gives what transformers' own attention gives."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from multilingual_math_audit.evaluate.engines.grouped_attention import attend
from multilingual_math_audit.evaluate.engines.transformers import shared_length


@pytest.mark.parametrize("new", [1, 5])
def test_equal_to_copied_keys(new: int) -> None:
    """Over six query heads and two key heads with padded rows the outputs agree to float32 rounding with plain
    attention over keys repeated by hand."""
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 6, new, 8), torch.randn(3, 2, 9, 8), torch.randn(3, 2, 9, 8)
    mask = torch.ones(3, 1, new, 9, dtype=torch.bool)
    mask[1, :, :, :4] = False
    module = SimpleNamespace(num_key_value_groups=3, is_causal=True, training=False)
    ours, _ = attend(module, query, key, value, mask, scaling=0.3)
    scores = (query @ key.repeat_interleave(3, dim=1).transpose(2, 3)) * 0.3
    weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
    expected = (weights @ value.repeat_interleave(3, dim=1)).transpose(1, 2)
    assert torch.allclose(ours, expected, atol=1e-6)


def test_shared_length() -> None:
    """The common beginning of prompts, which ends where the first of them does."""
    assert shared_length([[1, 2, 3]]) == 3
    assert shared_length([[1, 2], [1, 2, 3]]) == 2
    assert shared_length([[2, 1], [1, 2]]) == 0
    assert shared_length([[1, 2, 9], [1, 2, 3, 4], [1, 2, 5]]) == 2
