"""The probe: a two-layer MLP that reads the last token of one answer and knows nothing of the others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from multilingual_math_audit.evaluate.verifier.checkpoint import Checkpoint
from multilingual_math_audit.evaluate.verifier.groups import Batch

PROBE_WIDTH = 1024


@dataclass(frozen=True)
class ProbeConfig:
    """The width of the states it reads, and whether it is trained on terminal or on all answers."""

    width: int
    streaming: bool = False
    size: int = 1
    source: dict[str, Any] | None = None
    kind: str = "probe"


class Probe(Checkpoint[ProbeConfig]):
    """Linear(d, 1024), ReLU, Linear(1024, 1) on the raw state of an answer's last token."""

    config_class: ClassVar[type[Any]] = ProbeConfig
    config: ProbeConfig
    reads_others = False

    def __init__(self, config: ProbeConfig | Mapping[str, Any]) -> None:
        super().__init__(config)
        self.hidden = nn.Linear(self.config.width, PROBE_WIDTH)
        self.head = nn.Linear(PROBE_WIDTH, 1)
        self.initialise(0)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Both layers uniform within one over the square root of their inputs."""
        for layer in (self.hidden, self.head):
            bound = 1 / math.sqrt(layer.in_features)
            layer.weight.uniform_(-bound, bound)
            layer.bias.uniform_(-bound, bound)

    def forward(self, batch: Batch) -> Tensor:
        """[A] float32 logits."""
        logits: Tensor = self.head(torch.relu(self.hidden(batch.states[batch.last])))[:, 0].float()
        return logits
