"""A group is the answers that N sequences gave to one problem, as tensors; a verifier reads batches of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from multilingual_math_audit.errors import UsageError

ABSENT = 10**6


@dataclass(frozen=True, eq=False)
class Group:
    """The answers of `size` sequences to one problem. A: answers, n: tokens of all answers, d: width of a state.

    `states` [n, d] are the answers' token states, answer after answer; `lengths` [A] counts the tokens of each (at
    least one), `sequence` [A] names its sequence (0 to size - 1), `time` [A] is the number of tokens that sequence had
    generated when the answer was asked for, and `equal` [A, A] says which answers are the same to the checker:
    symmetric and true on the diagonal, but not necessarily transitive. Answers of one sequence stand in order of time;
    its last one is terminal. `correct` [A] is known in training and testing only. `columns` holds further numbers per
    answer (such as the mean log-probability of its tokens), `texts` the answers as written.
    """

    states: Tensor
    lengths: Tensor
    sequence: Tensor
    time: Tensor
    equal: Tensor
    size: int
    correct: Tensor | None = None
    problem: str = ""
    columns: Mapping[str, Tensor] = field(default_factory=dict)
    texts: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        answers, name = len(self.lengths), self.problem or "the group"
        if self.states.ndim != 2:
            raise UsageError(f"States of {name} have shape {tuple(self.states.shape)}.", "Give [tokens, width].")
        if answers == 0 or self.size < 1:
            raise UsageError(f"{name} has no answer.", "A group holds at least one sequence with one answer.")
        for what in ("sequence", "time", "correct"):
            value = getattr(self, what)
            if value is not None and value.shape != (answers,):
                raise UsageError(f"{what} of {name} has shape {tuple(value.shape)} for {answers} answers.")
        if self.equal.shape != (answers, answers):
            raise UsageError(f"equal of {name} has shape {tuple(self.equal.shape)} for {answers} answers.")
        if int(self.lengths.min()) < 1 or int(self.lengths.sum()) != len(self.states):
            raise UsageError(
                f"The answers of {name} have {int(self.lengths.sum())} tokens by their lengths (the shortest "
                f"{int(self.lengths.min())}) and {len(self.states)} states.",
                "Every answer needs at least one token and one state per token.",
            )
        if int(self.sequence.min()) < 0 or int(self.sequence.max()) >= self.size:
            raise UsageError(f"A sequence number of {name} lies outside 0 to {self.size - 1}.")
        if not torch.equal(self.equal, self.equal.T) or not bool(self.equal.diagonal().all()):
            raise UsageError(
                f"equal of {name} is not symmetric with a true diagonal.", "Use a checker of this package."
            )
        if not bool(torch.isfinite(self.states).all()):
            raise UsageError(
                f"States of {name} hold NaN or infinity.", "Collect them again, in float32 if bfloat16 overflows."
            )
        order = torch.argsort(self.sequence, stable=True)
        same, later = self.sequence[order].diff() == 0, self.time[order].diff() >= 0
        if not bool((later | ~same).all()):
            raise UsageError(f"Answers of one sequence of {name} are not in order of time.")

    @property
    def width(self) -> int:
        """d, the width of a state."""
        return int(self.states.shape[1])

    @property
    def terminal(self) -> Tensor:
        """[A] bool: the last answer of its sequence."""
        last = torch.full((self.size,), -1, dtype=torch.long)
        last.scatter_reduce_(0, self.sequence, torch.arange(len(self.lengths)), "amax")
        mask = torch.zeros(len(self.lengths), dtype=torch.bool)
        mask[last[last >= 0]] = True
        return mask

    def keep(self, mask: Tensor) -> Group:
        """The group with only the answers that `mask` [A] says; its size stays."""
        return self._take(torch.nonzero(mask).ravel(), self.sequence, self.size)

    def terminals(self) -> Group:
        """The group with only its terminal answers."""
        mask = self.terminal
        return self if bool(mask.all()) else self.keep(mask)

    def subset(self, sequences: Sequence[int]) -> Group:
        """The group of these sequences alone, numbered anew in the order given."""
        place = torch.full((self.size,), -1, dtype=torch.long)
        place[torch.as_tensor(sequences, dtype=torch.long)] = torch.arange(len(sequences))
        number = place[self.sequence]
        chosen = torch.nonzero(number >= 0).ravel()
        chosen = chosen[torch.argsort(number[chosen], stable=True)]
        if len(chosen) == 0:
            raise UsageError(
                f"None of the sequences {list(sequences)[:8]} of {self.problem or 'the group'} has an answer."
            )
        return self._take(chosen, number, len(sequences))

    def blocks(self, size: int) -> list[Group]:
        """Disjoint groups of `size` consecutive sequences; an incomplete last one is left out."""
        return [self.subset(range(at, at + size)) for at in range(0, self.size - size + 1, size)]

    def _take(self, answers: Tensor, sequence: Tensor, size: int) -> Group:
        starts = torch.cumsum(self.lengths, 0) - self.lengths
        lengths = self.lengths[answers]
        offset = torch.repeat_interleave(starts[answers] - (torch.cumsum(lengths, 0) - lengths), lengths)
        tokens = torch.arange(int(lengths.sum())) + offset
        part = object.__new__(Group)  # a part of a checked group needs no second check
        vars(part).update(
            states=self.states[tokens],
            lengths=lengths,
            sequence=sequence[answers],
            time=self.time[answers],
            equal=self.equal[answers][:, answers],
            size=size,
            correct=None if self.correct is None else self.correct[answers],
            problem=self.problem,
            columns={name: value[answers] for name, value in self.columns.items()},
            texts=None if self.texts is None else tuple(self.texts[i] for i in answers.tolist()),
        )
        return part


def agreement(group: Group, *, streaming: bool) -> Tensor:
    """[A] float32: the share of the N sequences whose latest answer equals this one.

    Terminal: whose last answer does. Streaming: whose latest answer at or before this answer's time does; sequences
    that have not answered yet count as disagreeing, so the denominator is always N.
    """
    if not streaming:
        return (group.equal & group.terminal[None]).sum(1).float() / group.size
    times, equal = group.time.numpy(), group.equal.numpy()
    total = np.zeros(len(times))
    for sequence in range(group.size):
        answers = np.flatnonzero(group.sequence.numpy() == sequence)
        if answers.size:
            latest = np.searchsorted(times[answers], times, side="right") - 1
            total += (latest >= 0) & equal[np.arange(len(times)), answers[np.maximum(latest, 0)]]
    return torch.from_numpy((total / group.size).astype(np.float32))


@dataclass(frozen=True, eq=False)
class Batch:
    """Several groups side by side, as one verifier step reads them. Answers of different groups never see each other.

    `states` [n, d]; per answer [A]: `lengths`, `last` (index of its last token), `group`, `sequence` (numbers that
    differ between groups), `slot`, `time`, `agreement`, `correct` (or None); `equal` [A, A]; `answer` [n] names the
    answer of each token.
    """

    states: Tensor
    answer: Tensor
    lengths: Tensor
    last: Tensor
    group: Tensor
    sequence: Tensor
    slot: Tensor
    time: Tensor
    equal: Tensor
    agreement: Tensor
    correct: Tensor | None

    def spans(self, answers: int) -> list[tuple[slice, slice]]:
        """Slices (of answers, of tokens) of whole groups in a row, at most `answers` answers if several."""
        counts = torch.bincount(self.group).tolist()
        edges, held = [0], 0
        for count in counts:
            if held and held + count > answers:
                edges.append(edges[-1] + held)
                held = 0
            held += count
        edges.append(edges[-1] + held)
        ends = [0, *(self.last + 1).tolist()]
        return [(slice(a, b), slice(ends[a], ends[b])) for a, b in pairwise(edges)]

    def narrow(self, answers: slice, tokens: slice) -> Batch:
        """The batch of some whole groups: the slices that `spans` gave."""
        return Batch(
            states=self.states[tokens],
            answer=self.answer[tokens] - answers.start,
            lengths=self.lengths[answers],
            last=self.last[answers] - tokens.start,
            group=self.group[answers],
            sequence=self.sequence[answers],
            slot=self.slot[answers],
            time=self.time[answers],
            equal=self.equal[answers, answers],
            agreement=self.agreement[answers],
            correct=None if self.correct is None else self.correct[answers],
        )

    def to(self, device: torch.device | str, dtype: torch.dtype = torch.float32) -> Batch:
        """The batch on a device, its states in `dtype`."""
        moved: dict[str, Any] = {k: v if v is None else v.to(device) for k, v in vars(self).items()}
        return Batch(**{**moved, "states": moved["states"].to(dtype)})


def collate(groups: Sequence[Group], *, streaming: bool, slots: Sequence[Tensor] | None = None) -> Batch:
    """One batch of several groups; `slots[g]` [size] gives each sequence of group g its slot, else its number.

    A terminal batch (`streaming` false) holds terminal answers only. Raises UsageError when widths differ.
    """
    if not groups:
        raise UsageError("Asked for a batch of no groups.")
    if len(widths := {group.width for group in groups}) > 1:
        raise UsageError(f"States of widths {sorted(widths)} cannot be read together.", "Use the states of one model.")
    if not streaming:
        groups = [group.terminals() for group in groups]
    sizes = torch.tensor([group.size for group in groups])
    counts = torch.tensor([len(group.lengths) for group in groups])
    offsets = torch.repeat_interleave(torch.cumsum(sizes, 0) - sizes, counts)
    sequence = torch.cat([group.sequence for group in groups])
    lengths = torch.cat([group.lengths for group in groups])
    slot = sequence if slots is None else torch.cat([s[g.sequence] for s, g in zip(slots, groups, strict=True)])
    known = [group.correct for group in groups if group.correct is not None]
    return Batch(
        states=torch.cat([group.states for group in groups]),
        answer=torch.repeat_interleave(torch.arange(len(lengths)), lengths),
        lengths=lengths,
        last=torch.cumsum(lengths, 0) - 1,
        group=torch.repeat_interleave(torch.arange(len(groups)), counts),
        sequence=sequence + offsets,
        slot=slot,
        time=torch.cat([group.time for group in groups]),
        equal=torch.block_diag(*[g.equal for g in groups]).bool(),  # type: ignore[no-untyped-call]
        agreement=torch.cat([agreement(group, streaming=streaming) for group in groups]),
        correct=torch.cat(known) if len(known) == len(groups) else None,
    )


def groups_from_arrays(arrays: Mapping[str, Any]) -> list[Group]:
    """Groups from padded arrays: `x` [G, N, T, d] or [G, N, A, T, d], `cls` (class ids) and `y` [G, N] or [G, N, A].

    Optional: `lens` (tokens per answer, default T), `t` (times), `valid` (which answers are there) and `equal`
    [G, N, N] or [G, NA, NA] in place of `cls`. Class ids are compared only within a problem.

    >>> groups = groups_from_arrays({"x": np.zeros((1, 2, 3, 4)), "cls": [[7, 7]], "y": [[1, 1]]})
    >>> groups[0].equal.tolist(), groups[0].lengths.tolist()
    ([[True, True], [True, True]], [3, 3])
    """
    states = torch.as_tensor(np.asarray(arrays["x"]))
    if states.ndim not in (4, 5):
        raise UsageError(f"x has shape {tuple(states.shape)}.", "Give [G, N, T, d] or [G, N, A, T, d].")
    if states.ndim == 4:
        states = states[:, :, None]
    shape = tuple(states.shape[:3])
    count, size, slots, tokens, _ = states.shape

    def column(name: str, default: int) -> Tensor:
        value = arrays.get(name)
        return torch.full(shape, default) if value is None else torch.as_tensor(np.asarray(value)).reshape(shape).long()

    lengths, times, labels = column("lens", tokens), column("t", 0), column("y", 0)
    valid, classes = column("valid", 1).bool(), column("cls", 0)
    groups = []
    for g in range(count):
        here = valid[g].ravel()
        inside = torch.arange(tokens)[None] < lengths[g].reshape(-1, 1)
        flat = states[g].reshape(size * slots, tokens, -1)
        if arrays.get("equal") is not None:
            equal = torch.as_tensor(np.asarray(arrays["equal"][g])).bool()[here][:, here]
        else:
            names = classes[g].ravel()[here]
            equal = names[:, None] == names[None]
        groups.append(
            Group(
                states=flat[inside & here[:, None]],
                lengths=lengths[g].ravel()[here],
                sequence=torch.arange(size).repeat_interleave(slots)[here],
                time=times[g].ravel()[here],
                equal=equal,
                size=size,
                correct=labels[g].ravel()[here].bool() if arrays.get("y") is not None else None,
                problem=str(g),
            )
        )
    return groups
