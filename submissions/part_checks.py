"""Can the counts of an audit or of a verifier be? Each check yields the place of an impossible number and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from multilingual_math_audit.submissions.question_sets import QuestionSet
from multilingual_math_audit.submissions.submission import (
    MAX_ORIGINALS,
    Accepted,
    Audit,
    AuditCounts,
    BenchmarkCounts,
    Pair,
    Selector,
    Verifier,
)

Found = tuple[str, str]


def check_audit(audit: Audit, known: Mapping[str, QuestionSet]) -> Iterator[Found]:
    """The faults of an audit's counts, as (place below the audit, what is wrong)."""
    for name, counts in audit.benchmarks.items():
        path = f"benchmarks.{name}"
        if name not in known:
            yield path, f"no such benchmark; there are {', '.join(known)}"
            continue
        if "clean" not in counts.accepted:
            yield f"{path}.accepted", "an audit needs the edit 'clean'"
        for edit, accepted in counts.accepted.items():
            for where, message in _check_accepted(accepted, counts.originals):
                yield f"{path}.accepted.{edit}.{where}", message
        for edit, missing in (counts.no_verdict or {}).items():
            if missing > counts.originals * audit.judgments:
                yield f"{path}.no_verdict.{edit}", f"{missing} of {counts.originals * audit.judgments} judgments"
        yield from (
            (f"{path}.per_question.{where}", message) for where, message in _check_clusters(counts, known[name])
        )
    if (total := sum(counts.originals for counts in audit.benchmarks.values())) > MAX_ORIGINALS:
        yield "benchmarks", f"{total} originals in all; an audit has at most {MAX_ORIGINALS}"
    seen: set[tuple[str, str]] = set()
    for index, pair in enumerate(audit.pairs or []):
        if (pair.first, pair.second) in seen or pair.first == pair.second:
            yield f"pairs[{index}]", f"{pair.first} and {pair.second} cannot be paired here, or were before"
        seen.add((pair.first, pair.second))
        for message in _check_pair(pair, audit):
            yield f"pairs[{index}]", message


def _check_accepted(accepted: Accepted, originals: int) -> Iterator[Found]:
    ladder = (accepted.all, accepted.strict_majority, accepted.majority, accepted.any, originals)
    names = ("all", "strict_majority", "majority", "any", "the originals")
    smaller, name = 0, ""
    for value, label in zip(ladder, names, strict=True):
        if value is None:
            continue
        if value < smaller:
            yield name, f"{smaller} is more than the {value} of {label}"
        smaller, name = value, label


def _check_clusters(counts: AuditCounts, known: QuestionSet) -> Iterator[Found]:
    per = counts.per_question
    if per is None:
        return
    if len(set(per.questions)) < len(per.questions):
        yield "questions", "a question stands there twice"
    if strange := [question for question in per.questions if question not in known.positions]:
        yield "questions", f"{known.name} has no {strange[0]}"
    if len(per.originals) != len(per.questions):
        yield "originals", f"{len(per.originals)} numbers for {len(per.questions)} questions"
        return
    if sum(per.originals) != counts.originals:
        yield "originals", f"they add up to {sum(per.originals)}, not {counts.originals}"
    if set(per.accepted) != set(counts.accepted):
        yield "accepted", "other edits than in the counts of the whole benchmark"
        return
    for edit, column in per.accepted.items():
        if len(column) != len(per.questions):
            yield f"accepted.{edit}", f"{len(column)} numbers for {len(per.questions)} questions"
        elif any(value > originals for value, originals in zip(column, per.originals, strict=True)):
            yield f"accepted.{edit}", "more accepted than originals in a question"
        elif sum(column) != counts.accepted[edit].majority:
            yield f"accepted.{edit}", f"they add up to {sum(column)}, not {counts.accepted[edit].majority}"


def _check_pair(pair: Pair, audit: Audit) -> Iterator[str]:
    parts = audit.benchmarks.values()
    if any(edit not in part.accepted for part in parts for edit in (pair.first, pair.second)):
        yield f"not every benchmark has {pair.first} and {pair.second}"
        return
    total = pair.both + pair.first_only + pair.second_only + pair.neither
    if total != (wanted := sum(part.originals for part in parts)):
        yield f"{total} pairs, and {wanted} originals"
    for edit, seen in ((pair.first, pair.both + pair.first_only), (pair.second, pair.both + pair.second_only)):
        if seen != (wanted := sum(part.accepted[edit].majority for part in parts)):
            yield f"{seen} accepted under {edit}, and {wanted} in the benchmarks"


def check_verifier(
    verifier: Verifier, known: Mapping[str, QuestionSet], benchmarks: Mapping[str, BenchmarkCounts]
) -> Iterator[Found]:
    """The faults of a verifier's counts, as (place below the verifier, what is wrong).

    `benchmarks` are the submission's own: where it has one, the best of more samples than it has cannot be.
    """
    for name, held in verifier.selectors.items():
        if not held:
            yield f"selectors.{name}", "a selector without counts"
        for benchmark, selector in held.items():
            if benchmark not in known:
                yield f"selectors.{name}.{benchmark}", f"no such benchmark; there are {', '.join(known)}"
                continue
            samples = benchmarks[benchmark].samples if benchmark in benchmarks else None
            for where, message in _check_selector(selector, samples):
                yield f"selectors.{name}.{benchmark}.{where}", message


def _check_selector(selector: Selector, samples: int | None) -> Iterator[Found]:
    sizes = [entry.size for entry in selector.best_of]
    if sizes != sorted(set(sizes)):
        yield "best_of", "the sizes must rise"
    for index, group in enumerate(selector.best_of):
        if samples is not None and group.size > samples:
            yield f"best_of[{index}].size", f"the best of {group.size}, and a question has {samples} samples"
        if group.correct > group.groups:
            yield f"best_of[{index}].correct", f"{group.correct} is more than the {group.groups} groups"
    for index, part in enumerate(selector.reliability):
        if part.correct > part.count:
            yield f"reliability[{index}].correct", f"{part.correct} is more than the {part.count} answers"
        if part.confidence > part.count * (1 + 1e-9):
            yield f"reliability[{index}].confidence", f"{part.confidence} is more than the {part.count} answers"
    for index, stop in enumerate(selector.early_stopping):
        if stop.correct > stop.questions:
            yield f"early_stopping[{index}].correct", f"{stop.correct} is more than the {stop.questions} questions"
