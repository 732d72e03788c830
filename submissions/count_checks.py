"""Can the counts of one benchmark be? Each check yields the place of an impossible number and why it cannot be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilingual_math_audit.submissions.question_sets import QuestionSet
from multilingual_math_audit.submissions.submission import BenchmarkCounts, Judge, JudgeColumns, Submission

Found = tuple[str, str]
Numbers = NDArray[np.int64]
SHOWN = 3
# Stops and tokens are left out where an engine or another harness did not say them of every sample.
RUN_COLUMNS = ("ungraded",)
SAID_COLUMNS = ("stopped", "completion_tokens")
RUN_JUDGE_COLUMNS = ("judgments", "copied", "no_verdict", "single_vote")


def check_benchmark(submission: Submission, name: str, counts: BenchmarkCounts, known: QuestionSet) -> Iterator[Found]:
    """The faults of one benchmark's counts, as (place below the benchmark, what is wrong)."""
    questions = list(_check_questions(counts.questions, known))
    yield from questions
    if known.digests and submission.origin != "publication" and counts.digest not in known.digests:
        yield "digest", f"{counts.digest or 'none'} is no known state of {name}; known: {', '.join(known.digests)}"
    columns = {"n": counts.n, "correct": counts.correct}
    columns |= {column: getattr(counts, column) for column in RUN_COLUMNS + SAID_COLUMNS}
    from_run = submission.origin != "publication"
    if from_run:
        yield from _check_present({column: columns[column] for column in RUN_COLUMNS})
    misfits = list(_check_lengths(columns, len(counts.questions)))
    yield from misfits
    if misfits or questions:
        return
    check = _Columns(_arrays(columns), counts)
    n = check.of["n"]
    ungraded = check.of.get("ungraded", np.zeros_like(n))
    check.differ("n", np.full_like(n, counts.samples), "samples asked for")
    check.exceed("ungraded", n, "samples")
    check.exceed("correct", n - ungraded, "graded samples")
    check.exceed("stopped", n, "samples")
    budget = submission.solver.settings.budget if submission.solver else None
    if budget is not None:
        check.exceed("completion_tokens", n * budget, f"tokens that {budget} a sample allow")
    yield from check.faults()
    if counts.languages is not None and counts.languages.total > int(n.sum()):
        yield "languages", f"more chains than the {int(n.sum())} samples"
    for label, judged in counts.judges.items():
        judge = submission.judges.get(label)
        for where, message in _check_judge(from_run, judged, judge, counts):
            yield f"judges.{label}.{where}", message


def _check_questions(questions: Sequence[str], known: QuestionSet) -> Iterator[Found]:
    if tuple(questions) == known.counted:
        return
    seen = Counter(questions)
    if twice := [question for question, times in seen.items() if times > 1]:
        yield "questions", f"{_some(twice)} more than once"
    if strange := [question for question in seen if question not in known.positions]:
        yield "questions", f"{known.name} has no {_some(strange)}"
    if missing := [question for question in known.counted if question not in seen]:
        yield "questions", f"{len(missing)} of {len(known.counted)} are missing: {_some(missing)}"
    held = known.errata & set(seen)
    if held and held != known.errata:
        yield "questions", "some faulty questions are there and some are not; leave out all of them or none"


def _check_judge(from_run: bool, judged: JudgeColumns, judge: Judge | None, counts: BenchmarkCounts) -> Iterator[Found]:
    approved = {f"approved.{key}": value for key, value in _fields(judged.approved).items() if value is not None}
    reasons = {f"no_verdict.{key}": value for key, value in (judged.no_verdict or {}).items()}
    own = {key: value for key, value in _fields(judged).items() if key not in ("approved", "no_verdict")}
    if from_run:
        yield from _check_present({key: _fields(judged)[key] for key in RUN_JUDGE_COLUMNS})
    if not approved:
        yield "approved", "no strategy has counts"
    columns = own | approved | reasons
    misfits = list(_check_lengths(columns, len(counts.questions)))
    yield from misfits
    if misfits:
        return
    check = _Columns(_arrays(columns), counts)
    of, correct = check.of, np.asarray(counts.correct, dtype=np.int64)
    check.differ("judged", correct - of["pending"], "correct samples less the pending ones")
    for key in approved:
        check.exceed(key, of["judged"], "judged solutions")
    for smaller, larger in (("all", "strict_majority"), ("all", "majority"), ("strict_majority", "majority"),
                            ("majority", "any"), ("strict_majority", "any"), ("all", "any")):  # fmt: skip
        if f"approved.{larger}" in of:
            check.exceed(f"approved.{smaller}", of[f"approved.{larger}"], f"approved under '{larger}'")
    _bound_votes(check, reasons, judge, correct)
    yield from check.faults()


def _bound_votes(check: _Columns, reasons: Mapping[str, Any], judge: Judge | None, correct: Numbers) -> None:
    of, asked = check.of, judge.judgments if judge is not None else 99
    if "approved.majority" in of:
        check.exceed("single_vote", of["approved.majority"], "approved under 'majority'")
        if "credited" in of:
            check.exceed("approved.majority", of["credited"], "approved with stopped ones credited")
    check.exceed("single_vote", of["judged"], "judged solutions")
    check.exceed("credited", of["judged"], "judged solutions")
    if "judgments" not in of:
        return
    judgments = of["judgments"]
    least = of["judged"] if judge is None or judge.stop_early else of["judged"] * asked
    check.exceed("judgments", correct * asked, f"judgments that {asked} a correct solution make")
    check.below("judgments", least, "judgments that the judged solutions have")
    check.exceed("copied", judgments, "judgments")
    check.exceed("stopped", judgments, "judgments")
    missing = sum((of[key] for key in reasons), np.zeros_like(judgments))
    check.of["no_verdict"] = missing
    check.exceed("no_verdict", judgments, "judgments")
    if "stopped" in of:
        check.exceed("no_verdict.stopped_at_limit", of["stopped"], "judgments that met the limit")
    votes = np.maximum(judgments - missing, 0)
    for strategy, weight in (("any", 1), ("majority", 1), ("strict_majority", asked // 2 + 1), ("all", asked)):
        fewest = 1 if judge is None or judge.stop_early else weight
        check.exceed(f"approved.{strategy}", votes // fewest, "solutions that the verdicts there are allow")
    budget = judge.settings.budget if judge is not None else None
    if budget is not None:
        check.exceed("completion_tokens", judgments * budget, f"tokens that {budget} a judgment allow")


class _Columns:
    """Columns of numbers about the same questions, and bounds on them, compared all at once.

    Sound counts pass in one comparison; only where it fails are the bounds gone through to name the question.
    """

    def __init__(self, of: dict[str, Numbers], counts: BenchmarkCounts) -> None:
        self.of = of
        self.questions = counts.questions
        self._bounds: list[tuple[str, Numbers, Numbers, Numbers, str]] = []

    def exceed(self, key: str, bound: Numbers, what: str) -> None:
        """A column may not be above its bound; a column that is absent is not."""
        if (column := self.of.get(key)) is not None:
            self._bounds.append((key, bound, column, bound, "is more than the {} " + what))

    def below(self, key: str, bound: Numbers, what: str) -> None:
        """A column may not be under its bound."""
        if (column := self.of.get(key)) is not None:
            self._bounds.append((key, bound, bound, column, "is less than the {} " + what))

    def differ(self, key: str, wanted: Numbers, what: str) -> None:
        """A column is to be this number."""
        if (column := self.of.get(key)) is not None:
            wording = "is not {}, the " + what
            self._bounds += [(key, wanted, column, wanted, wording), (key, wanted, wanted, column, wording)]

    def faults(self) -> Iterator[Found]:
        """Where a bound is broken, in the order they were given."""
        if not self._bounds:
            return
        larger = np.array([bound[2] for bound in self._bounds]) > np.array([bound[3] for bound in self._bounds])
        if not larger.any():
            return
        for (key, bound, _, _, wording), wrong in zip(self._bounds, larger, strict=True):
            yield from self._name(key, bound, wording, np.flatnonzero(wrong))

    def _name(self, key: str, bound: Numbers, wording: str, places: NDArray[np.intp]) -> Iterator[Found]:
        for place in places[:SHOWN]:
            seen, allowed = int(self.of[key][place]), int(bound[place])
            yield f"{key}[{place}]", f"{seen} {wording.format(allowed)} (question {self.questions[place]})"
        if len(places) > SHOWN:
            yield key, f"the same in {len(places) - SHOWN} more questions"


def _fields(part: Any) -> dict[str, Any]:
    return dict(vars(part))


def _arrays(columns: Mapping[str, Sequence[int] | None]) -> dict[str, Numbers]:
    """The columns that are there, all of one length, converted in one call."""
    there = {key: values for key, values in columns.items() if values is not None}
    return dict(zip(there, np.array(list(there.values()), dtype=np.int64), strict=True))


def _check_present(columns: Mapping[str, object]) -> Iterator[Found]:
    for name, values in columns.items():
        if values is None:
            yield name, "missing; a run always has it"


def _check_lengths(columns: Mapping[str, Sequence[int] | None], length: int) -> Iterator[Found]:
    for name, values in columns.items():
        if values is not None and len(values) != length:
            yield name, f"{len(values)} numbers for {length} questions"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
