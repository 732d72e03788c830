"""Solvers as they ran, with their questions: what every table is made from, whoever counted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from multilingual_math_audit.errors import RecordError, UsageError
from multilingual_math_audit.evaluate.counts import JudgeCounts, QuestionCounts
from multilingual_math_audit.evaluate.report.tables import join_words
from multilingual_math_audit.store import Run

MIN_CORRECT = 30


@dataclass(frozen=True, slots=True)
class Entry:
    """One solver in one mode with one budget: its questions by benchmark, each list in the order of the items."""

    solver: str
    mode: str
    budget: int | None
    benchmarks: Mapping[str, tuple[QuestionCounts, ...]]
    label: str = ""
    judge_budgets: Mapping[str, int | None] = field(default_factory=dict)
    expected: Mapping[str, int] = field(default_factory=dict)

    @property
    def judges(self) -> list[str]:
        """The judges that said anything about this solver, in alphabetical order."""
        names = {name for questions in self.benchmarks.values() for q in questions for name in q.judges}
        return sorted(names)


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts of one run: who solved, how, and the questions."""

    mode: str
    budget: int | None
    questions: Sequence[QuestionCounts]
    judge_budgets: Mapping[str, int | None] = field(default_factory=dict)
    expected: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Grouping:
    """One way to group solvers (say, by generation): the solvers of each group, in the order given."""

    name: str
    groups: Mapping[str, tuple[str, ...]]

    def group_of(self, entry: Entry) -> str | None:
        """The group that names the entry's label or its solver, if any."""
        for group, members in self.groups.items():
            if entry.label in members or entry.solver in members:
                return group
        return None

    def entries_of(self, group: str, entries: Iterable[Entry]) -> list[Entry]:
        """The entries of one group."""
        return [entry for entry in entries if self.group_of(entry) == group]


def gather_entries(counted: Iterable[Counted]) -> list[Entry]:
    """The entries of several runs: runs of one solver, mode and budget become one entry with all their benchmarks.

    A label is the solver's name, with mode and budget where the name alone would be shared. Raises UsageError when two
    runs of one entry hold the same question.
    """
    merged: dict[tuple[str, str, int | None], dict[str, dict[str, QuestionCounts]]] = {}
    judge_budgets: dict[tuple[str, str, int | None], dict[str, int | None]] = {}
    expected: dict[tuple[str, str, int | None], dict[str, int]] = {}
    for run in counted:
        for question in run.questions:
            key = (question.solver, run.mode, run.budget)
            cell = merged.setdefault(key, {}).setdefault(question.benchmark, {})
            if question.problem_id in cell:
                raise UsageError(
                    f"Two runs hold {question.problem_id} of {question.solver} ({run.mode}, {run.budget} tokens).",
                    "Give each solver, mode and budget once.",
                )
            cell[question.problem_id] = question
            judge_budgets.setdefault(key, {}).update(run.judge_budgets)
            expected.setdefault(key, {}).update(run.expected)
    solvers = [key[0] for key in merged]
    entries = []
    for key, cells in merged.items():
        solver, mode, budget = key
        benchmarks = {
            name: tuple(sorted(cells[name].values(), key=lambda q: natural_key(q.item or q.problem_id)))
            for name in sorted(cells)
        }
        label = _label(key, list(merged)) if solvers.count(solver) > 1 else solver
        entries.append(Entry(solver, mode, budget, benchmarks, label, judge_budgets[key], expected[key]))
    return entries


def _label(key: tuple[str, str, int | None], keys: Sequence[tuple[str, str, int | None]]) -> str:
    solver, mode, budget = key
    rivals = [other for other in keys if other[0] == solver]
    parts = [solver]
    if len({other[1] for other in rivals}) > 1:
        parts.append(mode)
    if len({other[2] for other in rivals}) > 1:
        parts.append(f"{budget:,}" if budget is not None else "no budget")
    return " · ".join(parts)


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key that puts 2 before 10.

    >>> sorted(["a/10", "a/2"], key=natural_key)
    ['a/2', 'a/10']
    """
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", text) if part)


def count_run(run: Run) -> Counted:
    """The counts of a run folder."""
    from multilingual_math_audit.evaluate.score import count_questions

    settings = run.settings
    solver = settings.get("solver")
    nested: Mapping[str, Any] = solver if isinstance(solver, dict) else settings
    judges = run.manifest.get("judges")
    budgets = {
        name: _whole(row.get("budget", row.get("max_tokens")))
        for name, row in (judges.items() if isinstance(judges, dict) else ())
        if isinstance(row, dict)
    }
    return Counted(
        mode=str(nested.get("mode") or "unknown"),
        budget=_whole(nested.get("budget", nested.get("max_tokens"))),
        questions=count_questions(run),
        judge_budgets=budgets,
        expected={str(name): n for name, n in dict(settings.get("samples") or {}).items() if _whole(n) is not None},
    )


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def read_groupings(path: str | Path) -> list[Grouping]:
    """The groupings of a YAML file: `grouping: {group: [solver, ...]}`.

    Raises RecordError when the file cannot be read or a solver stands in two groups of one grouping.
    """
    import yaml

    try:
        data = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise RecordError(f"{path} cannot be read: {error}.") from None
    return parse_groupings(data, source=str(path))


def parse_groupings(data: object, *, source: str = "groups") -> list[Grouping]:
    """Groupings from plain data.

    >>> parse_groupings({"generation": {"earlier": ["a"], "current": ["b"]}})[0].groups["current"]
    ('b',)
    """
    if data is None:
        return []
    if not isinstance(data, dict):
        raise RecordError(f"{source} must map a grouping to its groups, not {type(data).__name__}.")
    groupings = []
    for name, groups in data.items():
        if not isinstance(groups, dict) or not all(isinstance(members, list) for members in groups.values()):
            raise RecordError(f"{source}: {name} must map each group to a list of solvers.")
        seen: dict[str, str] = {}
        for group, members in groups.items():
            for member in members:
                if str(member) in seen:
                    raise RecordError(f"{source}: {member} is in {name} both as {seen[str(member)]} and as {group}.")
                seen[str(member)] = str(group)
        groupings.append(Grouping(str(name), {str(g): tuple(str(m) for m in ms) for g, ms in groups.items()}))
    return groupings


def unmatched_members(groupings: Iterable[Grouping], entries: Iterable[Entry]) -> list[str]:
    """What groupings name and no entry is called: misspelt, or not among the runs."""
    known = {name for entry in entries for name in (entry.label, entry.solver)}
    return [
        f"{grouping.name}/{group}: {member}"
        for grouping in groupings
        for group, members in grouping.groups.items()
        for member in members
        if member not in known
    ]


def judge_counts(question: QuestionCounts, judge: str) -> JudgeCounts | None:
    """What a judge said about a question, or None; a question without a correct solution needs no judge."""
    return question.judges.get(judge)


@dataclass(frozen=True, slots=True)
class Dropped:
    """A solver left out of a grid, and why."""

    label: str
    why: str


@dataclass(frozen=True, slots=True)
class Grid:
    """The solvers that may be compared: every cell has enough verdicts of every judge of the grid."""

    judges: tuple[str, ...]
    entries: tuple[Entry, ...]
    dropped: tuple[Dropped, ...]
    benchmarks: tuple[str, ...]


def build_grid(
    entries: Sequence[Entry], judges: Sequence[str], *, min_correct: int = MIN_CORRECT, benchmarks: Sequence[str] = ()
) -> Grid:
    """Apply the inclusion rule: a solver enters if each judge has verdicts on at least `min_correct` correct solutions
    in every benchmark, with none pending; it is dropped entirely otherwise, with every reason.

    `benchmarks` are those of the grid; all that any entry has when none are given.
    """
    names = tuple(benchmarks) or tuple(sorted({name for entry in entries for name in entry.benchmarks}))
    kept, dropped = [], []
    for entry in entries:
        reasons = [why for name in names for why in _reasons(entry, name, judges, min_correct)]
        if reasons:
            dropped.append(Dropped(entry.label, join_words(reasons, limit=4)))
        else:
            kept.append(entry)
    return Grid(tuple(judges), tuple(kept), tuple(dropped), names)


def _reasons(entry: Entry, benchmark: str, judges: Sequence[str], min_correct: int) -> Iterable[str]:
    questions = entry.benchmarks.get(benchmark)
    if not questions:
        yield f"{benchmark} was not run"
        return
    if ungraded := sum(q.ungraded for q in questions):
        yield f"{benchmark}: {ungraded} ungraded"
    if missing := count_missing(entry, benchmark):
        yield f"{benchmark}: {missing} samples missing"
    for judge in judges:
        judged = sum(counts.judged for q in questions if (counts := judge_counts(q, judge)))
        pending = sum(_pending(q, judge) for q in questions)
        if pending:
            yield f"{benchmark}: {pending} pending under {judge}"
        if judged < min_correct:
            yield f"{benchmark}: {judged} judged correct solutions under {judge}, {min_correct} needed"


def count_missing(entry: Entry, benchmark: str) -> int:
    """Samples that the run was to have and has not."""
    questions = entry.benchmarks.get(benchmark, ())
    wanted = entry.expected.get(benchmark, 0)
    return sum(max(0, wanted - q.n) for q in questions)


def _pending(question: QuestionCounts, judge: str) -> int:
    counts = judge_counts(question, judge)
    return question.correct if counts is None else counts.pending


def count_pending(questions: Iterable[QuestionCounts], judge: str) -> int:
    """Correct solutions a judge has still to say something about; without any record, all of them."""
    return sum(_pending(question, judge) for question in questions)
