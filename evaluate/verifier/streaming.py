"""Scoring answers the moment they appear: keys and values of all earlier answers are kept, never recomputed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.verifier.groups import Group
from multilingual_math_audit.evaluate.verifier.model import MultiSequenceVerifier

FIRST_CAPACITY = 1024


@dataclass(frozen=True, eq=False)
class NewAnswer:
    """An answer that has just appeared: its sequence, its token states [T, d], and which earlier answers it equals.

    `equal` [seen + new] bool covers all answers seen before, then all that arrive with it, itself among them.
    """

    sequence: int
    states: Tensor
    equal: NDArray[np.bool_]


class StreamingVerifier:
    """A streaming verifier over the life of one problem: `append` answers in order of time, and read their scores.

    Answers of one time must be appended together: they see each other. A score is final when it is given, since no
    later answer can change it; it equals that of the whole group read at once.
    """

    def __init__(self, model: MultiSequenceVerifier, size: int) -> None:
        config = model.config
        if not config.streaming or config.readout != "last":
            raise UsageError(
                "Only a streaming checkpoint with last-token readout can score answers online.",
                "Train one with: math-audit verifier train --streaming.",
            )
        self.model, self.size, self.time = model, size, -1
        self.answers = self.tokens = 0
        shape = (2, config.heads, FIRST_CAPACITY, config.width // config.heads)
        self._memory = torch.empty(shape, dtype=model.dtype, device=model.device)
        self._answer = torch.empty(FIRST_CAPACITY, dtype=torch.long, device=model.device)
        self._sequence = np.empty(0, dtype=np.int64)
        self._latest = np.full(size, -1)

    @torch.inference_mode()
    def append(self, time: int, arrivals: Sequence[NewAnswer]) -> NDArray[np.float64]:
        """Probabilities [new] of the answers that appeared at `time`, which lies after every earlier call's time."""
        self._check(time, arrivals)
        first, count = self.answers, self.answers + len(arrivals)
        self.time = time
        states = torch.cat([arrival.states for arrival in arrivals]).to(self.model.device, self.model.dtype)
        lengths = torch.tensor([len(arrival.states) for arrival in arrivals], device=self.model.device)
        owner = torch.repeat_interleave(torch.arange(len(arrivals), device=self.model.device), lengths)
        self._sequence = np.append(self._sequence, [arrival.sequence for arrival in arrivals])
        slot = torch.from_numpy(self._sequence[first:]).to(self.model.device) % len(self.model.slots)
        x = states + self.model.slots[slot][owner]
        z = self.model.norm(x)
        self._remember(z, owner + first)
        equal = np.stack([arrival.equal for arrival in arrivals])
        for index, arrival in enumerate(arrivals):
            self._latest[arrival.sequence] = first + index
        last = torch.cumsum(lengths, 0) - 1
        query = self.model.split(self.model.query(z[last]))
        key, value = self._memory[:, :, : self.tokens]
        attended = self.model.attend(query, key, value, self._allowed(equal, first, count))
        read = self.model.finish(x[last], attended)
        agreement = torch.from_numpy(self._agreement(equal)).to(read.device)
        return torch.sigmoid(self.model.score(read, agreement).double()).cpu().numpy()

    def _check(self, time: int, arrivals: Sequence[NewAnswer]) -> None:
        if not arrivals:
            raise UsageError("No answer was appended.")
        if time <= self.time:
            raise UsageError(
                f"Answers at time {time} were appended after time {self.time}.",
                "Append the answers of one time together, and times in order.",
            )
        for arrival in arrivals:
            self.model.require(int(arrival.states.shape[-1]), None)
            if not 0 <= arrival.sequence < self.size:
                raise UsageError(f"Sequence {arrival.sequence} lies outside 0 to {self.size - 1}.")
            if len(arrival.states) == 0 or not bool(torch.isfinite(arrival.states).all()):
                raise UsageError("An answer has no state, or its states hold NaN or infinity.")
            if len(arrival.equal) != self.answers + len(arrivals):
                raise UsageError(f"equal has {len(arrival.equal)} entries for {self.answers + len(arrivals)} answers.")

    def _remember(self, z: Tensor, answer: Tensor) -> None:
        needed = self.tokens + len(z)
        if needed > self._memory.shape[2]:
            grown = max(needed, 2 * self._memory.shape[2])
            memory = self._memory.new_empty((*self._memory.shape[:2], grown, self._memory.shape[3]))
            memory[:, :, : self.tokens] = self._memory[:, :, : self.tokens]
            answers = self._answer.new_empty(grown)
            answers[: self.tokens] = self._answer[: self.tokens]
            self._memory, self._answer = memory, answers
        self._memory[0, :, self.tokens : needed] = self.model.split(self.model.key(z))
        self._memory[1, :, self.tokens : needed] = self.model.split(self.model.value(z))
        self._answer[self.tokens : needed] = answer
        self.tokens, self.answers = needed, len(self._sequence)

    def _allowed(self, equal: NDArray[np.bool_], first: int, count: int) -> Tensor:
        mine = np.arange(first, count)
        sets = {
            "full": np.ones((len(mine), count), dtype=bool),
            "sequence": self._sequence[mine][:, None] == self._sequence[None],
            "equivalence": equal,
            "answer": mine[:, None] == np.arange(count)[None],
        }
        by_answer = torch.from_numpy(np.stack([sets[mask] for mask in self.model.config.masks]))
        return by_answer.to(self._answer.device)[:, :, self._answer[: self.tokens]]

    def _agreement(self, equal: NDArray[np.bool_]) -> NDArray[np.float32]:
        share = equal[:, self._latest[self._latest >= 0]].sum(1) / self.size
        return np.asarray(share, dtype=np.float32)


def stream(model: MultiSequenceVerifier, group: Group) -> NDArray[np.float64]:
    """Probabilities [A] of a recorded group's answers, scored one time after another as they appeared."""
    online = StreamingVerifier(model, group.size)
    scores = np.full(len(group.lengths), np.nan)
    token_states = torch.split(group.states, group.lengths.tolist())
    equal, order = group.equal.numpy(), np.empty(0, dtype=np.int64)
    for time in torch.unique(group.time).tolist():
        here = torch.nonzero(group.time == time).ravel().numpy()
        order = np.append(order, here)
        arrivals = [NewAnswer(int(group.sequence[a]), token_states[a], equal[a, order]) for a in here]
        scores[here] = online.append(time, arrivals)
    return scores
