"""The Multi-Sequence Verifier: the probability that each of N sampled answers is right, read from the states of all N.

The architecture is that of "Parallel Test-Time Scaling with Multi-Sequence Verifiers" (arXiv 2603.03417): one attention
block whose heads mix several masks, a feature for the share of sequences that agree, and a readout at the last token.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.verifier.attention import Mask, mixed_weights, permitted
from multilingual_math_audit.evaluate.verifier.checkpoint import Checkpoint
from multilingual_math_audit.evaluate.verifier.groups import Batch

FEATURE_WIDTH = 64
SLOT_SD = 0.02
VOTE_CLIP = 1 / 128
CHUNK = 2**24
SPAN = 64


@dataclass(frozen=True)
class VerifierConfig:
    """What decides a verifier's shape.

    `width` and `heads` follow the base model; `size` is N, the sequences of a group in training. A terminal verifier
    reads each sequence's last answer; a `streaming` one reads all answers and lets none see a later one. `mixture`:
    head weights over masks are free numbers or a softmax of them. `average`: logits are averaged over answers that the
    checker calls equal (terminal only; off for unreliable checkers). `vote_skip` adds beta * logit(agreement) with a
    learned beta that starts at 1, so that the untrained verifier is self-consistency; one sequence has no vote.
    """

    width: int
    heads: int
    size: int = 64
    streaming: bool = False
    masks: tuple[Mask, ...] = ()
    mixture: Literal["free", "softmax"] = "free"
    readout: Literal["last", "mean"] = "last"
    average: bool = True
    agreement: bool = True
    vote_skip: bool = True
    source: dict[str, Any] | None = None
    kind: str = "multi-sequence-verifier"

    def __post_init__(self) -> None:
        if self.width < 1 or self.heads < 1 or self.width % self.heads:
            raise UsageError(f"A width of {self.width} does not divide into {self.heads} heads.")
        if self.size < 1:
            raise UsageError(f"A group of {self.size} sequences was asked for.", "Give at least 1.")
        every: tuple[Mask, ...] = ("full", "sequence", "equivalence", "answer")
        terminal: tuple[Mask, ...] = ("full", "equivalence", "answer")
        object.__setattr__(self, "vote_skip", self.vote_skip and self.size > 1)
        object.__setattr__(self, "masks", tuple(self.masks) or (every if self.streaming else terminal))


class MultiSequenceVerifier(Checkpoint[VerifierConfig]):
    """Scores the answers of all N sequences of a problem together.

    >>> from multilingual_math_audit.evaluate.verifier.groups import groups_from_arrays
    >>> groups = groups_from_arrays({"x": torch.randn(1, 4, 3, 8), "cls": [[0, 0, 1, 2]], "y": [[1, 1, 0, 0]]})
    >>> verifier = MultiSequenceVerifier(VerifierConfig(width=8, heads=2, size=4))
    >>> verifier.probabilities(groups[0])
    array([0.5 , 0.5 , 0.25, 0.25])
    """

    config_class: ClassVar[type[Any]] = VerifierConfig
    config: VerifierConfig

    def __init__(self, config: VerifierConfig | Mapping[str, Any]) -> None:
        super().__init__(config)
        d, heads = self.config.width, self.config.heads
        self.slots = nn.Parameter(torch.empty(self.config.size, d))
        self.mixture = nn.Parameter(torch.empty(heads, len(self.config.masks)))
        self.norm = nn.RMSNorm(d, eps=1e-6)
        self.query, self.key, self.value, self.out = (nn.Linear(d, d, bias=False) for _ in range(4))
        self.mlp = nn.Sequential(nn.RMSNorm(d, eps=1e-6), nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
        if self.config.agreement:
            self.feature = nn.Sequential(nn.Linear(1, FEATURE_WIDTH), nn.GELU(), nn.Linear(FEATURE_WIDTH, d))
        if self.config.vote_skip:
            self.vote = nn.Parameter(torch.empty(()))
        self.head = nn.Linear(d, 1)
        self.initialise(0)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Linear layers within one over the square root of their inputs, head zero, mixture uniform, beta one."""
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.RMSNorm):
                module.reset_parameters()
        self.slots.normal_(0, SLOT_SD)
        self.mixture.fill_(0 if self.config.mixture == "softmax" else 1 / len(self.config.masks))
        self.head.weight.zero_()
        self.head.bias.zero_()
        if self.config.vote_skip:
            self.vote.fill_(1)

    def parameter_groups(self, rates: Mapping[str, float]) -> list[dict[str, Any]]:
        """Body, mixture (with beta) and slots, each with its own learning rate."""
        mixing = {id(p) for p in (self.mixture, getattr(self, "vote", None)) if p is not None}
        body = [p for p in self.parameters() if id(p) not in mixing and p is not self.slots]
        return [
            {"params": body, "lr": rates["body"]},
            {"params": [p for p in self.parameters() if id(p) in mixing], "lr": rates["mixture"]},
            {"params": [self.slots], "lr": rates["slots"]},
        ]

    @property
    def mixture_weights(self) -> Tensor:
        """[H, M]: how much each head takes from each mask."""
        return torch.softmax(self.mixture, -1) if self.config.mixture == "softmax" else self.mixture

    def forward(self, batch: Batch) -> Tensor:
        """[A] float32 logits. Only the last token of each answer is a query, unless the readout is the mean."""
        x = batch.states + self.slots[batch.slot % len(self.slots)][batch.answer]
        if self.config.readout == "last":
            states = self.read(x, batch.last, batch)
        else:
            tokens = self.read(x, torch.arange(len(x), device=x.device), batch)
            sums = torch.zeros(len(batch.lengths), x.shape[1], dtype=tokens.dtype, device=x.device)
            states = sums.index_add(0, batch.answer, tokens) / batch.lengths[:, None]
        logits = self.score(states, batch.agreement)
        if self.config.average and not self.config.streaming:
            share = batch.equal.to(logits.dtype)
            logits = (share @ logits) / share.sum(1)
        return logits

    def read(self, x: Tensor, queries: Tensor, batch: Batch) -> Tensor:
        """[Q, d]: the block's output at the query tokens (in rising order), given its input `x` [n, d] at all tokens.

        Groups do not see each other, so a batch of many is read a few at a time.
        """
        spans = batch.spans(SPAN)
        if len(spans) == 1:
            return self._read(x, queries, batch)
        parts = []
        for answers, tokens in spans:
            inside = queries[(queries >= tokens.start) & (queries < tokens.stop)] - tokens.start
            parts.append(self._read(x[tokens], inside, batch.narrow(answers, tokens)))
        return torch.cat(parts)

    def _read(self, x: Tensor, queries: Tensor, batch: Batch) -> Tensor:
        z = self.norm(x)
        heads, d = self.config.heads, x.shape[1]
        absorbed = len(queries) * heads < d
        memory = (z, z) if absorbed else (self.split(self.key(z)), self.split(self.value(z)))
        step = max(1, CHUNK // (heads * len(x)))
        if len(queries) <= step:
            return self._block(x, z, queries, batch, memory)
        parts = torch.split(queries, step)
        if not torch.is_grad_enabled():
            return torch.cat([self._block(x, z, part, batch, memory) for part in parts])
        return torch.cat([checkpoint(self._block, x, z, part, batch, memory, use_reentrant=False) for part in parts])

    def _block(self, x: Tensor, z: Tensor, queries: Tensor, batch: Batch, memory: tuple[Tensor, Tensor]) -> Tensor:
        allowed = permitted(batch, queries, self.config.masks, streaming=self.config.streaming)
        query = self.split(self.query(z[queries]))
        attend = self.attend_absorbed if memory[0].ndim == 2 else self.attend
        return self.finish(x[queries], attend(query, *memory, allowed))

    def split(self, rows: Tensor) -> Tensor:
        """[n, d] -> [H, n, d / H]."""
        return rows.view(len(rows), self.config.heads, -1).transpose(0, 1)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, allowed: Tensor) -> Tensor:
        """[H, Q, e] from queries [H, Q, e], keys and values [H, n, e] and allowed [M, Q, n]."""
        scores = (query * query.shape[-1] ** -0.5) @ key.transpose(1, 2)
        weights = mixed_weights(scores.float(), allowed, self.mixture_weights.float())
        return weights.to(value.dtype) @ value

    def attend_absorbed(self, query: Tensor, z: Tensor, _: Tensor, allowed: Tensor) -> Tensor:
        """The same from the block's input `z` [n, d] itself: key and value weights are applied to the few queries.

        (q Wk) z^T = q (Wk z)^T and (w z) Wv = w (z Wv): with Q * H < d this is less work than projecting all tokens.
        """
        heads, count, width = query.shape
        toward = torch.bmm(query * width**-0.5, self.key.weight.view(heads, width, -1))
        scores = (toward.reshape(heads * count, -1) @ z.T).view(heads, count, -1)
        weights = mixed_weights(scores.float(), allowed, self.mixture_weights.float())
        mixed = (weights.to(z.dtype).reshape(heads * count, -1) @ z).view(heads, count, -1)
        return torch.bmm(mixed, self.value.weight.view(heads, width, -1).transpose(1, 2))

    def finish(self, x: Tensor, attended: Tensor) -> Tensor:
        """[Q, d]: output projection, residual and MLP of the block."""
        y = x + self.out(attended.transpose(0, 1).reshape(x.shape))
        states: Tensor = y + self.mlp(y)
        return states

    def score(self, states: Tensor, agreement: Tensor) -> Tensor:
        """[A] float32 logits from the answers' states [A, d] and the share of sequences that agree [A]."""
        if self.config.agreement:
            states = states + self.feature(agreement[:, None].to(states.dtype))
        logits: Tensor = F.linear(states, self.head.weight, self.head.bias)[:, 0].float()
        if self.config.vote_skip:
            share = agreement.float().clamp(VOTE_CLIP, 1 - VOTE_CLIP)
            logits = logits + self.vote.float() * torch.logit(share)
        return logits
