"""Is a submission what its run says? Counts against records, and a maintainer's rerun against both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from multilingual_math_audit.evaluate.metrics import Interval, question_bootstrap
from multilingual_math_audit.store import Run
from multilingual_math_audit.submissions.pack import pack
from multilingual_math_audit.submissions.submission import BenchmarkCounts, Submission
from multilingual_math_audit.submissions.validate import Fault


@dataclass(frozen=True, slots=True)
class Agreement:
    """Submitted minus rerun share of correct samples on one benchmark, over the questions of the rerun."""

    benchmark: str
    questions: int
    difference: Interval

    @property
    def agrees(self) -> bool:
        """Whether no difference lies within the interval."""
        return self.difference.low <= 0 <= self.difference.high


def compare_with_run(submission: Submission, run: Run, panels: Sequence[str | Path] = ()) -> list[Fault]:
    """Where the submission is not what the run's records give; nothing where it is.

    Compared are all counts per question, who solved and judged under which settings, and, as far as the submission
    holds them, the audits (of RUN/panel or of `panels`), the verifier's counts and the languages of chains. What a run
    does not know of itself (submitter, family, size, release, cost, note) is not compared, nor is how its files are
    written (`records`).
    """
    recomputed = pack(run, panels=panels)
    theirs, ours = submission.benchmarks, recomputed.benchmarks
    faults = [Fault(f"benchmarks.{name}", _one_sided(name in theirs)) for name in sorted(set(theirs) ^ set(ours))]
    for name in sorted(set(theirs) & set(ours)):
        found = [*_scalars(theirs[name], ours[name]), *_columns(theirs[name], ours[name])]
        faults += [Fault(f"benchmarks.{name}.{path}", message) for path, message in found]
    faults += [Fault(path, message) for path, message in _described(submission, recomputed)]
    return faults


def _scalars(theirs: BenchmarkCounts, ours: BenchmarkCounts) -> Iterator[tuple[str, str]]:
    yield from _unequal(theirs.samples, ours.samples, "samples")
    yield from _unequal(theirs.digest, ours.digest, "digest")
    if theirs.languages is not None:
        found = ours.languages.model_dump() if ours.languages is not None else None
        yield from _unequal(theirs.languages.model_dump(), found, "languages")


def _columns(theirs: BenchmarkCounts, ours: BenchmarkCounts) -> Iterator[tuple[str, str]]:
    yield from _differences(
        by_question(theirs.model_dump(exclude_none=True)), by_question(ours.model_dump(exclude_none=True))
    )


def _described(submission: Submission, recomputed: Submission) -> Iterator[tuple[str, str]]:
    """Where solver, judges, audits and verifier differ; what the run found out later than the submission is passed."""
    theirs, ours = (_description(part) for part in (submission, recomputed))
    used = {label for counts in recomputed.benchmarks.values() for label in counts.judges}
    for label in list(ours["judges"]):
        mine = theirs["judges"].get(label)
        if mine is None and label not in used:
            del ours["judges"][label]
        elif mine is not None and "audit" not in mine:
            ours["judges"][label].pop("audit", None)
    if "verifier" not in theirs:
        ours.pop("verifier", None)
    yield from _unequal(theirs, ours, "")


def _description(submission: Submission) -> dict[str, Any]:
    unknown = {"family", "parameters", "released"}
    parts = submission.model_dump(
        exclude_none=True,
        include={"solver", "judges", "verifier"},
        exclude={"solver": unknown, "judges": {"__all__": unknown}},
    )
    return {"judges": {}, **parts}


def _unequal(theirs: Any, ours: Any, path: str) -> Iterator[tuple[str, str]]:
    """The innermost places where two values of JSON differ."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in sorted({*theirs, *ours}):
            here = f"{path}.{key}" if path else str(key)
            if key in theirs and key in ours:
                yield from _unequal(theirs[key], ours[key], here)
            else:
                yield here, _one_sided(key in theirs)
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for place, (left, right) in enumerate(zip(theirs, ours, strict=True)):
            yield from _unequal(left, right, f"{path}[{place}]")
    elif theirs != ours:
        yield path, f"{_short(theirs)} in the submission, {_short(ours)} in the records"


def _one_sided(in_submission: bool) -> str:
    return "in the submission, not in the records" if in_submission else "in the records, not in the submission"


def _short(value: Any) -> str:
    if isinstance(value, list):
        return f"{len(value)} entries"
    return "nothing" if value is None else str(value)[:80]


def by_question(counts: Mapping[str, Any], prefix: str = "") -> dict[tuple[str, str], int]:
    """The numbers of a benchmark's columns by (column, question); columns of nothing but zeros are left out."""
    questions = counts.get("questions", ())
    flat: dict[tuple[str, str], int] = {}

    def walk(part: Mapping[str, Any], path: str) -> None:
        for key, value in part.items():
            here = f"{path}.{key}" if path else key
            if isinstance(value, dict):
                walk(value, here)
            elif isinstance(value, list) and key != "questions":
                flat.update({(here, question): number for question, number in zip(questions, value, strict=True)})

    walk(counts, prefix)
    return {place: number for place, number in flat.items() if number}


def _differences(
    theirs: Mapping[tuple[str, str], int], ours: Mapping[tuple[str, str], int]
) -> Iterator[tuple[str, str]]:
    for place in sorted({*theirs, *ours}):
        seen, found = theirs.get(place, 0), ours.get(place, 0)
        if seen != found:
            yield f"{place[0]}[{place[1]}]", f"{seen} in the submission, {found} in the records"


def compare_with_rerun(submission: Submission, rerun: Submission, *, seed: int = 0) -> list[Agreement]:
    """How a maintainer's rerun, perhaps of some questions and fewer samples, agrees with the submission."""
    agreements = []
    for name in sorted(set(submission.benchmarks) & set(rerun.benchmarks)):
        theirs, ours = _shares(submission.benchmarks[name]), _shares(rerun.benchmarks[name])
        common = sorted(set(theirs) & set(ours))
        values = np.array([theirs[question] - ours[question] for question in common])
        agreements.append(Agreement(name, len(common), question_bootstrap(values, seed=seed)))
    return agreements


def _shares(counts: BenchmarkCounts) -> dict[str, float]:
    return {q: c / n for q, c, n in zip(counts.questions, counts.correct, counts.n, strict=True) if n}
