"""Records to counts to scores: here, and in the audit alone, records are grouped and joined."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from multilingual_math_audit.evaluate.agenda import is_copy, is_decided, preserved_strategies
from multilingual_math_audit.evaluate.answers.grading import GRADER_VERSION
from multilingual_math_audit.evaluate.budget import count_tokens
from multilingual_math_audit.evaluate.counts import JudgeCounts, QuestionCounts
from multilingual_math_audit.evaluate.metrics import Interval, pass_at_k, question_bootstrap
from multilingual_math_audit.evaluate.verdicts import STRATEGIES, Strategy, approves
from multilingual_math_audit.records import Grade, Judgment, Problem, Score, Solution, Verdict, digest
from multilingual_math_audit.store import Run

AVERAGE = "average"


@dataclass(slots=True)
class _Sample:
    problem_id: str
    stopped: bool
    tokens: int | None
    unknown_stop: bool
    correct: bool | None = None


@dataclass(slots=True)
class _Judged:
    verdicts: dict[int, Verdict | None] = field(default_factory=dict)
    capped_without_verdict: int = 0


@dataclass(slots=True)
class _JudgeTally:
    """What one judge said in a run: its verdicts by solution, and per question what its judgments cost and lacked."""

    of: dict[str, _Judged] = field(default_factory=lambda: defaultdict(_Judged))
    no_verdict: dict[str, dict[Any, int]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(int)))
    judgments: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    copied: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    stopped: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    tokens: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    unknown_stops: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    unknown_tokens: dict[str, int] = field(default_factory=lambda: defaultdict(int))


def count_questions(run: Run) -> list[QuestionCounts]:
    """The counts of every question of a run, in the order of its problems.

    Fail closed: a correct solution without all its judgments is pending, never approved; a solution without a grade is
    in n and not in correct. Variants (solutions with a parent) belong to the audit and are left out. Memory holds a few
    numbers per solution, never its text.
    """
    samples = _samples(run)
    tallies = _tallies(run, samples)
    by_problem: dict[str, list[str]] = defaultdict(list)
    for solution, sample in samples.items():
        by_problem[sample.problem_id].append(solution)
    solver = str(run.settings.get("solver", {}).get("solver", ""))
    return [_question(problem, by_problem[problem.id], samples, tallies, run, solver) for problem in run.read(Problem)]


def _samples(run: Run) -> dict[str, _Sample]:
    samples = {
        s.id: _Sample(s.problem_id, s.finish_reason == "length", _tokens(s), s.finish_reason == "unknown")
        for s in run.read(Solution)
        if s.parent is None
    }
    for grade in current_grades(run):
        if grade.solution_id in samples:
            samples[grade.solution_id].correct = grade.correct
    return samples


def _tokens(record: Solution | Judgment) -> int | None:
    """New tokens; a request that failed without a text has none."""
    return 0 if record.finish_reason == "error" and not record.text else record.completion_tokens


def current_grades(run: Run) -> Iterator[Grade]:
    """The grades that count: of this grader version where there are any, else of the version written last."""
    version = GRADER_VERSION
    latest = None
    for grade in run.read(Grade):
        if grade.grader == version:
            latest = version
            break
        latest = grade.grader
    return (grade for grade in run.read(Grade) if grade.grader == latest)


def _tallies(run: Run, samples: Mapping[str, _Sample]) -> dict[str, _JudgeTally]:
    tallies: dict[str, _JudgeTally] = {label: _JudgeTally() for label in run.manifest.get("judges", {})}
    for judgment in run.read(Judgment):
        sample = samples.get(judgment.solution_id)
        if sample is None:
            continue
        tally = tallies.setdefault(judgment.judge, _JudgeTally())
        judged = tally.of[judgment.solution_id]
        judged.verdicts[judgment.sample] = judgment.verdict
        problem = sample.problem_id
        tally.judgments[problem] += 1
        copied = is_copy(judgment)
        tally.copied[problem] += copied
        tokens = 0 if copied else _tokens(judgment)
        tally.tokens[problem] += tokens or 0
        tally.unknown_stops[problem] += judgment.finish_reason == "unknown"
        tally.unknown_tokens[problem] += tokens is None
        stopped = judgment.finish_reason == "length"
        tally.stopped[problem] += stopped
        if judgment.verdict is None:
            tally.no_verdict[problem][judgment.reason] += 1
            judged.capped_without_verdict += stopped
    return tallies


def _question(
    problem: Problem,
    solutions: Sequence[str],
    samples: Mapping[str, _Sample],
    tallies: Mapping[str, _JudgeTally],
    run: Run,
    solver: str,
) -> QuestionCounts:
    mine = [samples[solution] for solution in solutions]
    correct = [solution for solution in solutions if samples[solution].correct]
    judges = run.manifest.get("judges", {})
    return QuestionCounts(
        problem_id=problem.id,
        item=problem.item,
        benchmark=problem.benchmark,
        language=problem.language,
        solver=solver,
        n=len(mine),
        correct=len(correct),
        ungraded=sum(sample.correct is None for sample in mine),
        stopped=sum(sample.stopped for sample in mine),
        completion_tokens=sum(sample.tokens or 0 for sample in mine),
        unknown_stops=sum(sample.unknown_stop for sample in mine),
        unknown_tokens=sum(sample.tokens is None for sample in mine),
        judges={
            label: _judge_counts(problem.id, correct, tally, judges.get(label, {})) for label, tally in tallies.items()
        },
    )


def _judge_counts(problem: str, correct: Sequence[str], tally: _JudgeTally, settings: Mapping[str, Any]) -> JudgeCounts:
    asked = int(settings.get("samples", 3))
    strategies = preserved_strategies(settings.get("stop_early"), samples=asked)
    approved: dict[Strategy, int] = dict.fromkeys(strategies, 0)
    judged = single = credited = 0
    for solution in correct:
        record = tally.of.get(solution)
        verdicts = [record.verdicts[i] for i in sorted(record.verdicts)] if record is not None else []
        if record is None or not all(is_decided(verdicts, strategy, samples=asked) for strategy in strategies):
            continue
        judged += 1
        full = [*verdicts, *[None] * (asked - len(verdicts))]
        for strategy in strategies:
            approved[strategy] += approves(full, strategy)
        yes, no = verdicts.count("yes"), verdicts.count("no")
        single += yes == 1 and approves(verdicts, "majority")
        credited += yes + record.capped_without_verdict > no
    return JudgeCounts(
        judged=judged,
        pending=len(correct) - judged,
        approved=approved,
        judgments=tally.judgments[problem],
        copied=tally.copied[problem],
        no_verdict=dict(tally.no_verdict[problem]),
        stopped=tally.stopped[problem],
        single_vote=single,
        credited=credited,
        completion_tokens=tally.tokens[problem],
        unknown_stops=tally.unknown_stops[problem],
        unknown_tokens=tally.unknown_tokens[problem],
    )


def ladder(n: int) -> list[int]:
    """k = 1, 2, 4 … up to n, and n itself.

    >>> ladder(12)
    [1, 2, 4, 8, 12]
    """
    steps = [1 << i for i in range(max(n, 1).bit_length()) if 1 << i <= n]
    return steps if not steps or steps[-1] == n else [*steps, n]


def score_run(run: Run, *, resamples: int = 10_000, seed: int = 0) -> list[Score]:
    """Every score of a run: per benchmark and averaged over questions, for each k of the ladder and each judge."""
    return score_counts(count_questions(run), expected=run.settings.get("samples", {}), resamples=resamples, seed=seed)


def score_counts(
    counts: Sequence[QuestionCounts],
    *,
    expected: Mapping[str, int] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> list[Score]:
    """The scores of counts of one solver; `expected` says how many samples a benchmark's questions should have.

    A cell with missing samples, missing grades or pending judgments has no value and says how many are missing.
    """
    cells: dict[str, list[QuestionCounts]] = defaultdict(list)
    for question in counts:
        cells[question.benchmark].append(question)
    if len(cells) > 1:
        cells[AVERAGE] = list(counts)
    scores: list[Score] = []
    for benchmark, questions in cells.items():
        cell = _Cell(benchmark, questions, dict(expected or {}), resamples, seed)
        scores += cell.scores()
    return scores


@dataclass(frozen=True, slots=True)
class _Cell:
    benchmark: str
    questions: Sequence[QuestionCounts]
    expected: Mapping[str, int]
    resamples: int
    seed: int

    @property
    def missing(self) -> int:
        """Samples that are not there or have no grade."""
        return sum(max(0, self.expected.get(q.benchmark, q.n) - q.n) + q.ungraded for q in self.questions)

    def scores(self) -> Iterator[Score]:
        smallest = min((q.n for q in self.questions), default=0)
        for k in ladder(smallest) or [1]:
            base = self._pass_values(k)
            yield self._mean("pass_at_k", base, k=k, pending=self.missing)
            for judge in self._judges():
                for strategy in STRATEGIES:
                    yield from self._cot(judge, strategy, base, k)
        samples = sum(q.n for q in self.questions)
        yield self._stop_rate("solver_stop_rate", self.questions, samples)
        yield self._tokens("solver_tokens", self.questions, samples)
        for judge in self._judges():
            yield from self._judging(judge)

    def _judges(self) -> list[str]:
        return sorted({judge for q in self.questions for judge in q.judges})

    def _pass_values(self, k: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.atleast_1d(pass_at_k([q.n for q in self.questions], [q.correct for q in self.questions], k))

    def _cot(self, judge: str, strategy: Strategy, base: Any, k: int) -> Iterator[Score]:
        judged = [q.judges.get(judge) for q in self.questions]
        if not all(j is None or strategy in j.approved for j in judged):
            return
        pending = sum(q.correct if j is None else j.pending for q, j in zip(self.questions, judged, strict=True))
        approved = [0 if j is None else j.approved[strategy] for j in judged]
        values = np.atleast_1d(pass_at_k([q.n for q in self.questions], approved, k))
        names: dict[str, Any] = {"judge": judge, "strategy": strategy, "k": k, "pending": pending + self.missing}
        yield self._mean("cot_pass_at_k", values, **names)
        yield self._mean("difference", base - values, **names)

    def _judging(self, judge: str) -> Iterator[Score]:
        judged = [q.judges[judge] for q in self.questions if judge in q.judges]
        total, pending = sum(j.judged for j in judged), sum(j.pending for j in judged)
        judgments = sum(j.judgments for j in judged)
        for strategy in STRATEGIES:
            if all(strategy in j.approved for j in judged):
                yield self._share(
                    "acceptance", sum(j.approved[strategy] for j in judged), total,
                    judge=judge, strategy=strategy, pending=pending,
                )  # fmt: skip
        yield self._share("single_vote", sum(j.single_vote for j in judged), total, judge=judge, pending=pending)
        if not any(j.unknown_stops for j in judged):
            credited = sum(j.credited for j in judged)
            yield self._share("credited_acceptance", credited, total, judge=judge, pending=pending)
        yield self._stop_rate("judge_stop_rate", judged, judgments, judge=judge)
        missing = sum(sum(j.no_verdict.values()) for j in judged)
        yield self._share("no_verdict", missing, judgments, judge=judge)
        if copied := sum(j.copied for j in judged):
            yield self._share("copied_judgments", copied, judgments, judge=judge, note="one judgment per distinct text")
        yield self._tokens("judge_tokens", judged, judgments, judge=judge)

    def _mean(self, metric: str, values: Any, *, pending: int, **names: Any) -> Score:
        undefined = int(np.isnan(values).sum())
        if pending or undefined or not len(values):
            note = "incomplete" if pending else "fewer samples than k" if undefined else "no questions"
            return self._score(metric, len(values), pending=pending, undefined=undefined, note=note, **names)
        interval: Interval = question_bootstrap(values, resamples=self.resamples, seed=self.seed)
        mark = "degenerate interval" if interval.degenerate else None
        return self._score(
            metric, interval.n, value=interval.value, low=interval.low, high=interval.high, note=mark, **names
        )

    def _share(
        self, metric: str, part: int, whole: int, *, pending: int = 0, note: str | None = None, **names: Any
    ) -> Score:
        from multilingual_math_audit.evaluate.statistics import wilson_interval

        if whole == 0:
            return self._score(metric, 0, undefined=1, pending=pending, note=note, **names)
        low, high = wilson_interval(part, whole)
        note = "incomplete" if pending else note
        return self._score(metric, whole, value=part / whole, low=low, high=high, pending=pending, note=note, **names)

    def _stop_rate(self, metric: str, parts: Sequence[QuestionCounts | JudgeCounts], whole: int, **names: Any) -> Score:
        unknown = sum(part.unknown_stops for part in parts)
        note = f"{unknown} of {whole} do not say why they ended" if unknown else None
        return self._share(metric, sum(part.stopped for part in parts), whole - unknown, note=note, **names)

    def _tokens(self, metric: str, parts: Sequence[QuestionCounts | JudgeCounts], whole: int, **names: Any) -> Score:
        tokens = count_tokens(parts)
        if tokens is None:
            unknown = sum(part.unknown_tokens for part in parts)
            note = f"{unknown} of {whole} do not say how long they are"
            return self._score(metric, whole, undefined=unknown, note=note, **names)
        return self._score(metric, whole, value=float(tokens), **names)

    def _score(self, metric: str, n: int, **fields: Any) -> Score:
        return Score(
            metric=metric,
            benchmark=self.benchmark,
            n=n,
            digest=counts_digest(self.questions),
            solver=self.questions[0].solver if self.questions else None,
            **fields,
        )


def counts_digest(questions: Iterable[QuestionCounts]) -> str:
    """A digest of counts: two scores with the same digest came from the same numbers."""
    return digest([asdict(question) for question in questions])
