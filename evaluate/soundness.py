"""Whether a run is whole and sound: its lines, its ids, its joins, its digests, and what is still missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from multilingual_math_audit.evaluate.agenda import is_decided, preserved_strategies
from multilingual_math_audit.evaluate.score import count_questions, counts_digest, current_grades
from multilingual_math_audit.evaluate.verdicts import parse_verdict
from multilingual_math_audit.journal import read_lines
from multilingual_math_audit.records import Judgment, Problem, Score, Solution, digest, judgment_id, solution_id
from multilingual_math_audit.records import Verdict as VerdictValue
from multilingual_math_audit.shards import find_holes
from multilingual_math_audit.store import Run

Kind = Literal["fault", "missing", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about a run: a fault (its numbers cannot be trusted), work that is missing, or a note."""

    kind: Kind
    what: str
    count: int
    example: str


@dataclass(slots=True)
class _Findings:
    counts: Counter[tuple[Kind, str]] = field(default_factory=Counter)
    examples: dict[tuple[Kind, str], str] = field(default_factory=dict)

    def add(self, kind: Kind, what: str, example: str) -> None:
        self.counts[kind, what] += 1
        self.examples.setdefault((kind, what), example)

    def listed(self) -> list[Finding]:
        order = {"fault": 0, "missing": 1, "note": 2}
        rows = [Finding(kind, what, n, self.examples[kind, what]) for (kind, what), n in self.counts.items()]
        return sorted(rows, key=lambda row: order[row.kind])


def check_run(run: Run) -> list[Finding]:
    """Everything that is wrong with a run or missing in it, faults first; an empty list means whole and sound.

    Ids are computed anew from what they are digests of, verdicts are read anew from the judgments' texts, and scores
    are compared with the counts they claim to come from. Texts are read one at a time.
    """
    findings = _Findings()
    _check_problems(run, findings)
    solutions = _check_solutions(run, findings)
    correct = _check_grades(run, findings, solutions)
    _check_judgments(run, findings, solutions, correct)
    for problem, sample in find_holes(run):
        findings.add("missing", "samples not solved", f"{problem} sample {sample}")
    _check_scores(run, findings)
    _check_lines(run, findings)
    return findings.listed()


def _check_problems(run: Run, findings: _Findings) -> None:
    problems = list(run.read(Problem))
    said = run.settings.get("problems")
    if isinstance(said, str) and said != digest(sorted([p.id, p.question, p.answer] for p in problems)):
        findings.add("fault", "problems are other ones than the manifest says", f"{len(problems)} problems")


def _check_solutions(run: Run, findings: _Findings) -> set[str]:
    problems = run.keys(Problem)
    settings = digest(run.settings["solver"]) if isinstance(run.settings.get("solver"), dict) else None
    ids: set[str] = set()
    for solution in run.read(Solution):
        ids.add(solution.id)
        if solution.problem_id not in problems:
            findings.add("fault", "solutions of a problem the run does not hold", solution.id)
        if solution.source is not None or solution.parent is not None or solution.settings is None:
            continue
        own = solution_id(solution.problem_id, solution.solver, solution.settings, solution.sample)
        if own != solution.id:
            findings.add("fault", "solution ids that do not fit their contents", solution.id)
        if solution.settings != settings:
            findings.add("fault", "solutions sampled with other settings than the manifest's", solution.id)
    return ids


def _check_grades(run: Run, findings: _Findings, solutions: set[str]) -> set[str]:
    graded: set[str] = set()
    correct: set[str] = set()
    for grade in current_grades(run):
        graded.add(grade.solution_id)
        if grade.correct:
            correct.add(grade.solution_id)
        if grade.solution_id not in solutions:
            findings.add("fault", "grades of a solution the run does not hold", grade.solution_id)
        if grade.correct != (grade.status == "correct"):
            findings.add("fault", "grades that contradict themselves", grade.solution_id)
    for missing in sorted(solutions - graded):
        findings.add("missing", "solutions not graded", missing)
    return correct & solutions


def _check_judgments(run: Run, findings: _Findings, solutions: set[str], correct: set[str]) -> None:
    judges = run.manifest.get("judges", {})
    said: dict[str, dict[str, dict[int, VerdictValue | None]]] = {name: {} for name in judges}
    wrong = solutions - correct
    for judgment in run.read(Judgment):
        said.setdefault(judgment.judge, {}).setdefault(judgment.solution_id, {})[judgment.sample] = judgment.verdict
        for what in _judgment_faults(judgment, solutions, judges):
            findings.add("fault", what, judgment.id)
        if judgment.solution_id in wrong:
            findings.add("note", "judgments of a solution whose answer is not right", judgment.id)
    for judge, settings in judges.items():
        asked = int(settings.get("samples", 3))
        strategies = preserved_strategies(settings.get("stop_early"), samples=asked)
        for solution in sorted(correct):
            verdicts = list(said[judge].get(solution, {}).values())
            if not all(is_decided(verdicts, strategy, samples=asked) for strategy in strategies):
                findings.add("missing", f"correct solutions that {judge} has not judged in full", solution)


def _judgment_faults(judgment: Judgment, solutions: set[str], judges: dict[str, object]) -> Iterator[str]:
    if judgment.solution_id not in solutions:
        yield "judgments of a solution the run does not hold"
    if judgment.judge not in judges:
        yield "judgments of a judge the manifest does not name"
    if (judgment.verdict is None) == (judgment.reason == "verdict"):
        yield "judgments that contradict themselves"
    if judgment.settings is None or (judgment.source or "").startswith("import"):
        return
    if judgment.id != judgment_id(judgment.solution_id, judgment.judge, judgment.settings, judgment.sample):
        yield "judgment ids that do not fit their contents"
    if judgment.reason != "error":
        read = parse_verdict(judgment.text, finish_reason=judgment.finish_reason)
        if read.value != judgment.verdict:
            yield "verdicts that are not what the judgment's text says"


def _check_scores(run: Run, findings: _Findings) -> None:
    if not run.has(Score):
        return
    counts = count_questions(run)
    digests = {counts_digest(counts)}
    for benchmark in {question.benchmark for question in counts}:
        digests.add(counts_digest(question for question in counts if question.benchmark == benchmark))
    stale = [score for score in run.read(Score) if score.digest not in digests]
    for score in stale:
        findings.add("note", "scores of an earlier state of the run: score it again", score.metric)


def _check_lines(run: Run, findings: _Findings) -> None:
    # By now every file has been read to its end.
    for damage in run.damage:
        findings.add("fault", f"damaged lines in {damage.file}", f"line {damage.line}: {damage.why}")
    for _ in read_lines(run.folder / "quarantine.jsonl"):
        findings.add("note", "lines in quarantine.jsonl", "their work is done again by the same commands")
