"""Is this a submission, and can its counts be? Every fault at once, each with the path of its field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from multilingual_math_audit.submissions.count_checks import check_benchmark
from multilingual_math_audit.submissions.part_checks import check_audit, check_verifier
from multilingual_math_audit.submissions.question_sets import question_sets
from multilingual_math_audit.submissions.strict_json import NotJson, parse_object
from multilingual_math_audit.submissions.submission import MAX_BYTES, Submission

MAX_FAULTS = 100


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a submission: the path of the field and what is wrong there."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


@dataclass(frozen=True, slots=True)
class Checked:
    """A file after checking: the submission where it is sound, else the faults; `hidden` more were left out."""

    submission: Submission | None
    faults: tuple[Fault, ...] = ()
    hidden: int = 0


def read_file(path: Path, *, most: int = MAX_BYTES) -> bytes:
    """The bytes of a file, at most one more than `most`, so that a file without end is not read to its end."""
    with open(path, "rb") as file:
        return file.read(most + 1)


def check(data: bytes) -> Checked:
    """Check a submission file: its form first, then whether its counts are possible; never raises.

    >>> [str(fault) for fault in check(b"[1]").faults]
    ['a JSON object is asked for, not list']
    """
    if len(data) > MAX_BYTES:
        return Checked(None, (Fault("", f"too large: a submission has at most {MAX_BYTES:,} bytes"),))
    try:
        submission = Submission.model_validate(parse_object(data))
    except NotJson as error:
        return Checked(None, (Fault("", str(error)),))
    except ValidationError as error:
        return _refuse([Fault(_path(entry["loc"]), _wording(entry)) for entry in _entries(error)])
    faults = list(check_counts(submission))
    return _refuse(faults) if faults else Checked(submission)


def check_counts(submission: Submission) -> Iterator[Fault]:
    """What makes a well-formed submission impossible or unfit for the board."""
    for path, message in _check_origin(submission):
        yield Fault(path, message)
    known = question_sets()
    for name, counts in submission.benchmarks.items():
        path = f"benchmarks.{name}"
        if name not in known:
            yield Fault(path, f"no such benchmark; there are {', '.join(known)}")
            continue
        for label in counts.judges:
            if label not in submission.judges:
                yield Fault(f"{path}.judges.{label}", "this judge is not described under 'judges'")
        for where, message in check_benchmark(submission, name, counts, known[name]):
            yield Fault(f"{path}.{where}" if where else path, message)
    for label, judge in submission.judges.items():
        if judge.audit is not None:
            for where, message in check_audit(judge.audit, known):
                yield Fault(f"judges.{label}.audit.{where}", message)
    if submission.verifier is not None:
        for where, message in check_verifier(submission.verifier, known, submission.benchmarks):
            yield Fault(f"verifier.{where}", message)


def _check_origin(submission: Submission) -> Iterator[tuple[str, str]]:
    if submission.origin == "publication" and submission.published is None:
        yield "published", "counts from a publication need its credit and its address here"
    if submission.origin != "publication" and submission.published is not None:
        yield "published", "only counts from a publication have this field"
    if submission.solver is None and (submission.benchmarks or submission.verifier):
        yield "solver", "missing, though there are counts of a solver"
    if submission.solver is not None and not submission.benchmarks and submission.verifier is None:
        yield "benchmarks", "a solver without counts"
    for label, judge in submission.judges.items():
        used = any(label in counts.judges for counts in submission.benchmarks.values())
        if label != judge.model and not label.startswith(f"{judge.model} ("):
            yield (
                f"judges.{label}",
                f"stands for {judge.model}; a label is the model's name, with more in brackets only",
            )
        if judge.audit is None and not used:
            yield f"judges.{label}", "this judge has neither counts nor an audit"
    if submission.solver is None and not submission.judges:
        yield "", "nothing in it: neither a solver nor a judge"
    for where, model in (("solver", submission.solver), *((f"judges.{k}", v) for k, v in submission.judges.items())):
        if model is None:
            continue
        if submission.origin == "run" and model.settings.budget is None:
            yield f"{where}.settings.budget", "missing; a run always has one"
        if submission.origin == "run" and model.mode == "unknown":
            yield f"{where}.mode", "unknown; a run always has one"
        if model.released and submission.day and model.released > submission.day:
            yield f"{where}.released", f"{model.released} is after the run's day, {submission.day}"


def _refuse(faults: list[Fault]) -> Checked:
    shown = tuple(Fault(fault.path, _printable(fault.message, 400)) for fault in faults[:MAX_FAULTS])
    return Checked(None, shown, max(0, len(faults) - MAX_FAULTS))


def _entries(error: ValidationError) -> list[dict[str, object]]:
    return [dict(entry) for entry in error.errors(include_url=False, include_context=False)]


def _path(location: object) -> str:
    path = ""
    for part in location if isinstance(location, tuple) else ():
        if isinstance(part, int):
            path += f"[{part}]"
        elif part != "[key]":
            path += f".{_printable(str(part), 60)}" if path else _printable(str(part), 60)
    return path


def _wording(entry: dict[str, object]) -> str:
    message = str(entry["msg"]).removeprefix("Value error, ")
    seen = entry.get("input")
    if entry["type"] == "missing" or isinstance(seen, dict | list):
        return message
    return f"{message} (seen: {_printable(repr(seen), 60)})"


def _printable(text: str, length: int) -> str:
    shown = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text[: length + 1])
    return shown if len(text) <= length else shown[:length] + "…"
