"""Another harness's samples as a run: problems matched by text or id, mismatches listed, nothing guessed."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.loaders.outputs.foreign import ForeignRun, ForeignSample
from multilingual_math_audit.records import (
    Grade,
    Judgment,
    Language,
    Problem,
    Record,
    Solution,
    digest,
    judgment_id,
    solution_id,
)
from multilingual_math_audit.store import Run

VOTES = "votes"


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """How to read another harness's names: the format, the solver, and what its ids begin with in ours.

    `rename` maps the beginning of a foreign problem id to the beginning of ours. Where no problems are given to match,
    they are made from the file, and `language` says in which language they are.
    """

    format: str
    solver: str | None = None
    rename: Mapping[str, str] = field(default_factory=dict)
    language: Language | None = None
    name: str = "imported"
    judge: str = "imported-judge"


@dataclass(slots=True)
class ImportReport:
    """What came in: samples by benchmark, how they ended, and for each sample left out its id and why."""

    taken: Counter[str] = field(default_factory=Counter)
    finished: Counter[str] = field(default_factory=Counter)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    marks: int = 0
    votes: int = 0


def import_outputs(
    read: Callable[[], ForeignRun], problems: Sequence[Problem], out: str | Path, plan: ImportPlan, **facts: Any
) -> tuple[Run, ImportReport]:
    """A run at `out` of what `read` gives, in the order of the file; `read` is called once for each of two passes.

    Without `problems` they are made from the file. Importing the same file again adds nothing; another one is refused
    with SettingsMismatch. Raises UsageError when there is no sample or none matches.
    """
    matcher = _Matcher(problems, plan) if problems else _Maker(plan)
    counts: Counter[str] = Counter()
    contents = hashlib.blake2b()
    foreign = read()
    for sample in foreign.samples:
        problem = matcher.find(sample)
        counts[problem.id] += isinstance(problem, Problem)
        contents.update(f"{sample.own_id}\0{sample.finish_reason}\0".encode("utf-8", "replace"))
        contents.update(sample.text.encode("utf-8", "replace"))
    run = _open_run(out, matcher, counts, plan, foreign, contents.hexdigest()[:32], facts)
    report = ImportReport()
    run.append(_missing_records(run, _records(read(), matcher, run, plan, report)))
    return run, report


def _open_run(
    out: str | Path,
    matcher: _Matcher | _Maker,
    counts: Counter[str],
    plan: ImportPlan,
    foreign: ForeignRun,
    contents: str,
    facts: Mapping[str, Any],
) -> Run:
    matched = [problem for problem in matcher.problems() if counts[problem.id]]
    if not counts:
        raise UsageError("There is no sample in it.", "Give the file that holds the harness's samples.")
    if not matched:
        raise UsageError(
            "No sample matches a problem.",
            f"{len(counts)} were tried, {next(iter(counts), 'none')!r} for one: name the right --benchmarks, or say "
            "with --rename OLD=NEW how its ids begin in ours.",
        )
    benchmarks = {problem.benchmark for problem in matched}
    kept = [problem for problem in matcher.problems() if problem.benchmark in benchmarks]
    settings = {
        "solver": {
            "solver": plan.solver or foreign.solver or "imported",
            "imported": plan.format,
            "contents": contents,
            "harness": dict(foreign.facts or {}),
        },
        "samples": {name: max(counts[p.id] for p in matched if p.benchmark == name) for name in sorted(benchmarks)},
        "problems": digest(sorted([p.id, p.question, p.answer] for p in kept)),
    }
    run = Run.create(out, settings, **facts)
    known = run.keys(Problem)
    run.append(problem for problem in kept if problem.id not in known)
    return run


def _records(
    foreign: ForeignRun, matcher: _Matcher | _Maker, run: Run, plan: ImportPlan, report: ImportReport
) -> Iterator[Record]:
    settings, solver = digest(run.settings["solver"]), str(run.settings["solver"]["solver"])
    numbers: dict[str, int] = defaultdict(int)
    for sample in foreign.samples:
        problem = matcher.find(sample)
        if not isinstance(problem, Problem):
            report.left_out.append((sample.own_id, problem.why))
            continue
        number = numbers[problem.id]
        numbers[problem.id] += 1
        name = solution_id(problem.id, solver, settings, number)
        report.taken[problem.benchmark] += 1
        report.finished[sample.finish_reason] += 1
        yield Solution(
            id=name,
            problem_id=problem.id,
            solver=solver,
            sample=number,
            text=sample.text,
            thinking=sample.thinking,
            finish_reason=sample.finish_reason,
            prompt_tokens=sample.prompt_tokens,
            completion_tokens=sample.completion_tokens,
            settings=settings,
            source=f"{plan.format}: {sample.own_id}",
        )
        if sample.correct is not None:
            report.marks += 1
            yield Grade(name, plan.format, sample.correct, "correct" if sample.correct else "wrong")
        if sample.votes is not None:
            report.votes += 1
            yield from _judgments(name, sample.votes, run, plan)


def _judgments(solution: str, votes: tuple[int, int, int], run: Run, plan: ImportPlan) -> Iterator[Judgment]:
    if plan.judge not in run.manifest.get("judges", {}):
        run.add_settings("judges", plan.judge, {"judge": plan.judge, "samples": sum(votes), "imported": plan.format})
    said = ["yes"] * votes[0] + ["no"] * votes[1] + [None] * votes[2]
    for number, verdict in enumerate(said):
        yield Judgment(
            id=judgment_id(solution, plan.judge, VOTES, number),
            solution_id=solution,
            judge=plan.judge,
            sample=number,
            text="",
            reason="verdict" if verdict else "not_yes_no",
            verdict=verdict,  # type: ignore[arg-type]
            finish_reason="unknown",
            settings=VOTES,
            source=f"import of votes from {plan.format}",
        )


def _missing_records(run: Run, records: Iterator[Record]) -> Iterator[Record]:
    known = {kind: run.keys(kind) for kind in (Solution, Grade, Judgment)}
    return (record for record in records if record.key not in known[type(record)])  # type: ignore[index]


@dataclass(frozen=True, slots=True)
class _Unmatched:
    id: str
    why: str


class _Matcher:
    """Finds the problem of a sample by its question's text, else by its id; the key must then agree."""

    def __init__(self, problems: Sequence[Problem], plan: ImportPlan) -> None:
        self._problems, self._plan = problems, plan
        self._by_id = {problem.id.lower(): problem for problem in problems}
        self._by_text = {_plain(problem.question): problem for problem in problems}
        self._found: dict[tuple[str | None, str | None, str | None], Problem | _Unmatched] = {}

    def problems(self) -> Sequence[Problem]:
        """The problems there are to match."""
        return self._problems

    def find(self, sample: ForeignSample) -> Problem | _Unmatched:
        """The problem of a sample, or why there is none."""
        asked = (sample.problem, sample.question, sample.answer)
        if asked not in self._found:
            self._found[asked] = self._look(sample)
        return self._found[asked]

    def _look(self, sample: ForeignSample) -> Problem | _Unmatched:
        named = self._named(sample.problem)
        unmatched = str(sample.problem or (sample.question or "")[:60])
        if sample.question:
            asked = _plain(sample.question)
            if asked in self._by_text:
                return self._by_text[asked]
            # A prompt holds the question and an instruction: the longest question it holds whole is the one.
            held = sorted((text for text in self._by_text if text in asked), key=len)
            if held and all(text in held[-1] for text in held):
                return self._by_text[held[-1]]
            if named is None or len(held) > 1:
                return _Unmatched(unmatched, "its question is none of the benchmark's")
            return _Unmatched(unmatched, f"its id is {named.id}'s and its question is not")
        if named is None:
            return _Unmatched(unmatched, "its id is none of the benchmark's, and it has no question")
        if sample.answer is not None and _plain_key(sample.answer) != _plain_key(named.answer):
            return _Unmatched(unmatched, f"its key {sample.answer!r:.40} is not {named.id}'s, {named.answer!r:.40}")
        return named

    def _named(self, name: str | None) -> Problem | None:
        if name is None:
            return None
        for old, new in sorted(self._plan.rename.items(), key=lambda pair: -len(pair[0])):
            if name.startswith(old):
                name = new + name[len(old) :]
                break
        return self._by_id.get(name.lower())


class _Maker:
    """Makes the problems from the file, where none are given to match."""

    def __init__(self, plan: ImportPlan) -> None:
        if plan.language is None:
            raise UsageError(
                "No --benchmarks are named, so the problems are made from the file, and their language is not known.",
                "Give --language en, tr or pt, or name the benchmarks.",
            )
        self._plan, self._language = plan, plan.language
        self._made: dict[str, Problem] = {}

    def problems(self) -> Sequence[Problem]:
        """The problems made so far."""
        return list(self._made.values())

    def find(self, sample: ForeignSample) -> Problem | _Unmatched:
        """The problem a sample tells of."""
        if not sample.question or sample.answer is None:
            return _Unmatched(sample.own_id, "it has no question or no key to make a problem from")
        asked = _plain(sample.question)
        if asked not in self._made:
            number = sample.problem or str(len(self._made) + 1)
            name = f"{self._plan.name}/{number}"
            if any(problem.id == name for problem in self._made.values()):
                name = f"{self._plan.name}/{digest(asked)}"
            kind = "integer" if re.fullmatch(r"-?\d+", sample.answer.strip()) else "expression"
            self._made[asked] = Problem(
                name,
                self._plan.name,
                name,
                self._language,
                sample.question,
                sample.answer.strip(),
                kind,  # type: ignore[arg-type]
            )
        made = self._made[asked]
        if _plain_key(sample.answer) != _plain_key(made.answer):
            why = f"its key {sample.answer!r:.40} is not that of the same question before it, {made.answer!r:.40}"
            return _Unmatched(sample.own_id, why)
        return made


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _plain_key(key: str) -> str:
    key = re.sub(r"\\[dt]frac", r"\\frac", unicodedata.normalize("NFKC", key))
    return re.sub(r"[\s$]|\\[,;! ]|\^\{?\\circ\}?|\\left|\\right", "", key)
