"""Verifier tests run on one thread: their tensors are small, and threads that wait for each other cost more."""

from __future__ import annotations

import torch

torch.set_num_threads(1)
