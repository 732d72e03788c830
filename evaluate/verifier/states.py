"""Hidden states on disk: one safetensors shard per problem, all under one header, read back as groups one at a time."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from multilingual_math_audit.errors import RecordError, SettingsMismatch, UsageError
from multilingual_math_audit.evaluate.verifier.groups import Group
from multilingual_math_audit.records import digest
from multilingual_math_audit.store import storage_errors, write_atomically

HEADER = "header.json"
CORE = ("states", "lengths", "sequence", "time", "equal", "correct")


@dataclass(frozen=True)
class StatesHeader:
    """What decides a folder's states; states with another header are never mixed in.

    `layer` is the transformer layer, counted from 1, whose output is kept; `norm` says whether the model's final norm
    has been applied (post) or not (pre). `delimiter` is what an intermediate answer is asked for at: `end` (terminal
    answers only), `every:K` tokens, or the delimiting text. `heads` is the base model's, a verifier's default.
    """

    model: str
    revision: str | None
    layer: int
    norm: str
    dtype: str
    delimiter: str
    elicitation: str
    checker: str
    width: int
    heads: int

    @property
    def streaming(self) -> bool:
        """Whether there are intermediate answers."""
        return self.delimiter != "end"

    def differences(self, other: StatesHeader) -> list[str]:
        """What the two headers say differently."""
        mine, theirs = dataclasses.asdict(self), dataclasses.asdict(other)
        return [f"{k} is {mine[k]!r} there and {theirs[k]!r} here" for k in mine if mine[k] != theirs[k]]


@dataclass(frozen=True, eq=False)
class Shard:
    """One problem's states with what identifies it: question text, item, and the solutions in order of sequence."""

    group: Group
    question: str
    item: str
    benchmark: str
    solutions: tuple[str, ...]
    tokens: Tensor
    logprobs: Tensor
    seconds: float = 0.0


class StateFolder(Sequence[Group]):
    """The states of a folder as a sequence of groups; each is read when it is asked for, so memory stays constant.

    Raises SettingsMismatch when a shard has another header than the folder, RecordError when it cannot be read.
    """

    def __init__(self, folder: str | Path, paths: Sequence[Path] | None = None) -> None:
        self.folder = Path(folder)
        file = self.folder / HEADER
        try:
            self.header = StatesHeader(**json.loads(file.read_text()))
        except FileNotFoundError:
            raise UsageError(
                f"{self.folder} holds no hidden states.",
                "Collect them with: math-audit verifier collect RUN --model M.",
            ) from None
        except (OSError, ValueError, TypeError) as error:
            raise RecordError(f"{file} cannot be read: {error}.") from None
        self.paths = sorted(self.folder.glob("*.safetensors")) if paths is None else list(paths)
        if not self.paths:
            raise UsageError(f"{self.folder} holds a header and no states.", "Let collect run to its end.")

    @classmethod
    def create(cls, folder: Path, header: StatesHeader) -> set[str]:
        """Make a folder for states of this header, or check one that is there; gives the names of its shards."""
        file = folder / HEADER
        if file.exists():
            try:
                there = StatesHeader(**json.loads(file.read_text()))
            except (ValueError, TypeError) as error:
                raise RecordError(f"{file} cannot be read: {error}.") from None
            if differences := there.differences(header):
                raise SettingsMismatch(
                    f"The states in {folder} are others: {'; '.join(differences)}.",
                    "Give the same settings to go on, or another --out.",
                )
        else:
            with storage_errors(folder):
                folder.mkdir(parents=True, exist_ok=True)
            write_atomically(file, json.dumps(dataclasses.asdict(header), indent=2).encode())
        return {path.stem for path in folder.glob("*.safetensors")}

    def __len__(self) -> int:
        return len(self.paths)

    @overload
    def __getitem__(self, index: int) -> Group: ...
    @overload
    def __getitem__(self, index: slice) -> StateFolder: ...
    def __getitem__(self, index: int | slice) -> Group | StateFolder:
        if isinstance(index, slice):
            return StateFolder(self.folder, self.paths[index])
        return read_shard(self.paths[index], self.header).group

    def shards(self) -> Iterator[Shard]:
        """The shards one after another."""
        for path in self.paths:
            yield read_shard(path, self.header)

    def facts(self) -> list[dict[str, Any]]:
        """Item, question digest, benchmark and seconds of each shard, without reading any state."""
        return [_facts(path, self.header) for path in self.paths]

    def only(self, keep: Sequence[bool]) -> StateFolder | None:
        """The shards that `keep` says, or None when it says none."""
        paths = [path for path, kept in zip(self.paths, keep, strict=True) if kept]
        return StateFolder(self.folder, paths) if paths else None


def shard_name(problem_id: str) -> str:
    """The file stem of a problem's shard."""
    return digest("states", problem_id)


def question_digest(question: str) -> str:
    """A digest of a problem's text that does not mind spaces and case: what tells training and test apart.

    >>> question_digest("What is 1 + 1?") == question_digest(" what  is 1 + 1? ")
    True
    """
    return digest(" ".join(question.lower().split()))


def write_shard(folder: Path, header: StatesHeader, shard: Shard) -> None:
    """Write one problem's states so that a reader sees all of them or none."""
    group = shard.group
    if group.width != header.width:
        raise SettingsMismatch(f"States {group.width} wide do not belong to a folder of states {header.width} wide.")
    if group.correct is None:
        raise UsageError(f"The correctness of the answers of {group.problem} is not known.")
    tensors = {name: getattr(group, name).contiguous() for name in CORE}
    tensors |= {f"column.{name}": value.contiguous() for name, value in group.columns.items()}
    tensors |= {"tokens": shard.tokens, "logprobs": shard.logprobs}
    metadata = {
        "header": json.dumps(dataclasses.asdict(header)),
        "problem": group.problem,
        "question": question_digest(shard.question),
        "item": shard.item,
        "benchmark": shard.benchmark,
        "size": str(group.size),
        "solutions": json.dumps(shard.solutions),
        "texts": json.dumps(group.texts),
        "seconds": repr(shard.seconds),
    }
    path = folder / f"{shard_name(group.problem)}.safetensors"
    part = path.with_suffix(".part")
    with storage_errors(path):
        save_file(tensors, str(part), metadata)
        part.replace(path)


def read_shard(path: Path, header: StatesHeader) -> Shard:
    """One problem's states; raises RecordError for a broken file and SettingsMismatch for another header."""
    known = _facts(path, header)
    try:
        with safe_open(str(path), "pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise RecordError(f"{path} cannot be read: {error}.", "Delete it and collect again.") from None
    columns = {name.removeprefix("column."): value for name, value in tensors.items() if name.startswith("column.")}
    group = Group(
        **{name: tensors[name] for name in CORE},
        size=int(known["size"]),
        problem=known["problem"],
        columns=columns,
        texts=tuple(json.loads(known["texts"])),
    )
    return Shard(
        group=group,
        question=known["question"],
        item=known["item"],
        benchmark=known["benchmark"],
        solutions=tuple(json.loads(known["solutions"])),
        tokens=tensors["tokens"],
        logprobs=tensors["logprobs"],
        seconds=float(known["seconds"]),
    )


def _facts(path: Path, header: StatesHeader) -> dict[str, Any]:
    try:
        with safe_open(str(path), "pt") as file:
            metadata: dict[str, Any] = file.metadata() or {}
        there = StatesHeader(**json.loads(metadata["header"]))
    except (SafetensorError, OSError, KeyError, ValueError, TypeError) as error:
        raise RecordError(f"{path} is no shard of hidden states: {error}.", "Delete it and collect again.") from None
    if differences := there.differences(header):
        raise SettingsMismatch(f"{path} was collected otherwise than its folder: {'; '.join(differences)}.")
    return metadata


def find_states(path: str | Path) -> StateFolder:
    """The states of a folder, or those that collect put in a run folder."""
    folder = Path(path)
    return StateFolder(folder if (folder / HEADER).exists() else folder / "states")
