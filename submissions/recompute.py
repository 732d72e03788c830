"""Is a submission what its run says? Counts against records, and a maintainer's rerun against both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from multilingual_math_audit.evaluate.metrics import Interval, question_bootstrap
from multilingual_math_audit.store import Run
from multilingual_math_audit.submissions.pack import pack_counts
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


def compare_with_run(submission: Submission, run: Run) -> list[Fault]:
    """Where the submission's counts are not those of the run's records; nothing where all are."""
    recomputed = pack_counts(run)
    faults = [
        Fault(f"benchmarks.{name}", "not in both") for name in sorted(set(recomputed) ^ set(submission.benchmarks))
    ]
    for name in sorted(set(recomputed) & set(submission.benchmarks)):
        theirs = by_question(submission.benchmarks[name].model_dump(exclude_none=True))
        ours = by_question(recomputed[name])
        faults += [Fault(f"benchmarks.{name}.{path}", message) for path, message in _differences(theirs, ours)]
    return faults


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
