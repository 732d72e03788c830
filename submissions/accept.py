"""Taking a submission in: how far its numbers can be trusted, and the file that stands for it on the board."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from multilingual_math_audit.errors import AuditError, UsageError
from multilingual_math_audit.store import write_atomically
from multilingual_math_audit.submissions.strict_json import NotJson, parse_object
from multilingual_math_audit.submissions.submission import MAX_BYTES, Day, Submission, Text
from multilingual_math_audit.submissions.validate import Fault, check, check_counts, read_file

Trust = Literal["self-reported", "reproducible", "verified"]
TRUSTS: tuple[Trust, ...] = get_args(Trust)


class SubmissionRefused(AuditError):
    """A submission that cannot stand on the board."""


class Acceptance(BaseModel):
    """What a maintainer found: the level of trust, the day, and what it rests on."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    trust: Trust
    day: Day
    evidence: Text | None = Field(None, description="What was recomputed or rerun, and with what result.")


class Entry(BaseModel):
    """A file of the folder `accepted`: a submission and its acceptance."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    acceptance: Acceptance
    submission: Submission

    def to_json(self) -> bytes:
        """Canonical JSON, one line."""
        return orjson.dumps(self.model_dump(exclude_none=True), option=orjson.OPT_SORT_KEYS) + b"\n"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file of a folder of entries that is no sound entry; it is left off the board, and said."""

    file: str
    fault: str


def accept(submission: Submission, folder: Path, *, trust: Trust, evidence: str | None = None) -> Path:
    """Write the entry of a sound submission into `folder`; its name is the digest of its content.

    Raises SubmissionRefused for impossible counts, and for a second entry of the same content and level.
    """
    if faults := list(check_counts(submission)):
        raise SubmissionRefused("This submission cannot be accepted.", "; ".join(map(str, faults[:5])) + ".")
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    entry = Entry(acceptance=Acceptance(trust=trust, day=day, evidence=evidence), submission=submission)
    path = folder / f"{submission.digest}.json"
    if path.exists() and read_entry(path.read_bytes()).acceptance.trust == trust:
        raise SubmissionRefused(
            f"{path.name} is there already, as {trust}.", "To raise its level of trust, give --run or --rerun."
        )
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(path, entry.to_json())
    return path


def read_entry(data: bytes) -> Entry:
    """The entry of a file; raises SubmissionRefused when it is none or its counts cannot be."""
    if len(data) > MAX_BYTES:
        raise SubmissionRefused(f"Too large: a submission has at most {MAX_BYTES:,} bytes.")
    try:
        entry = Entry.model_validate(parse_object(data))
    except NotJson as error:
        raise SubmissionRefused(str(error)) from None
    except ValidationError as error:
        raise SubmissionRefused(f"{error.error_count()} fields are not as they should be.") from None
    fault: Fault | None = next(check_counts(entry.submission), None)
    if fault is not None:
        raise SubmissionRefused(str(fault))
    return entry


def read_submission(path: Path) -> Submission:
    """The submission of a file, or of an entry that was accepted.

    Raises SubmissionRefused with the first faults where it is unsound, UsageError where it cannot be read.
    """
    try:
        data = read_file(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    checked = check(data)
    if checked.submission is not None:
        return checked.submission
    try:
        return read_entry(data).submission
    except SubmissionRefused:
        faults = "; ".join(map(str, checked.faults[:5]))
        raise SubmissionRefused(
            f"{path} is not a sound submission: {faults}.", f"math-audit validate {path} lists every fault."
        ) from None


def read_entries(folder: Path) -> Iterator[Entry | Unreadable]:
    """The entries of a folder in the order of their names; an unsound file is reported, never shown."""
    for path in sorted(folder.glob("*.json")):
        if not path.is_file():
            yield Unreadable(path.name, "not an ordinary file")
            continue
        try:
            entry = read_entry(read_file(path))
        except SubmissionRefused as error:
            yield Unreadable(path.name, str(error))
        except OSError as error:
            yield Unreadable(path.name, f"cannot be read: {error.strerror}")
        else:
            yield entry
