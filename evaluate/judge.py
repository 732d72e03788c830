"""The judge stage: correct solutions in, judgments out, three for each, and no more than can change a decision."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from multilingual_math_audit.benchmarks.prompts import judge_messages, prompt_digest, solver_prompt
from multilingual_math_audit.errors import RecordError
from multilingual_math_audit.evaluate.agenda import (
    Budget,
    Place,
    copy_judgment,
    find_duplicates,
    next_samples,
    order_places,
    place_of,
    worst_prompt_tokens,
)
from multilingual_math_audit.evaluate.engines.protocol import Engine, Message, Request, Sample, SamplingSettings
from multilingual_math_audit.evaluate.verdicts import Strategy, parse_verdict
from multilingual_math_audit.records import Judgment, Problem, Solution, Verdict, digest, judgment_id, seed_from

QuestionForm = Literal["problem", "prompt"]


@dataclass(frozen=True, slots=True)
class JudgePlan:
    """What a judge is asked: its name, how it samples, how often, and what stands for the question.

    `question_form` is the bare problem, or the whole solver prompt as in the authors' own runs. With `stop_early` only
    those judgments are asked that can still change that strategy's decision.
    """

    judge: str
    sampling: SamplingSettings
    samples: int = 3
    question_form: QuestionForm = "problem"
    shots: int = 0
    revision: str | None = None
    stop_early: Strategy | None = None
    dedupe: bool = False

    def settings(self) -> dict[str, Any]:
        """What decides the judgments, as the manifest holds it."""
        sampling = self.sampling
        return {
            "judge": self.judge,
            "revision": self.revision,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "budget": sampling.max_tokens,
            "mode": sampling.mode,
            "samples": self.samples,
            "question": self.question_form,
            "shots": self.shots,
            "prompt": prompt_digest("judge"),
            "stop_early": self.stop_early,
            "dedupe": self.dedupe,
        }

    def digest(self) -> str:
        """A digest of what decides one judgment; how many are asked does not."""
        per_judgment = {k: v for k, v in self.settings().items() if k not in ("samples", "stop_early", "dedupe")}
        return digest(per_judgment)


@dataclass(slots=True)
class Agenda:
    """What there is to judge and what is known: places of solutions, verdicts so far, and where texts are read."""

    places: Sequence[Place]
    problems: Mapping[str, Problem]
    read_texts: Callable[[set[str]], Iterator[Solution]]
    verdicts: dict[str, dict[int, Verdict | None]] = field(default_factory=lambda: defaultdict(dict))
    twins: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    copies_due: list[Judgment] = field(default_factory=list)


def open_agenda(
    solutions: Callable[[], Iterable[Solution]],
    problems: Iterable[Problem],
    judgments: Callable[[], Iterable[Judgment]],
    *,
    wanted: Callable[[Solution], bool],
    plan: JudgePlan,
) -> Agenda:
    """The agenda of the wanted solutions; `solutions` and `judgments` are called anew for each pass over them.

    With `plan.dedupe`, solutions of one problem with the same text are twins: the first is judged, the others take its
    judgments over, also those that were made before the run was interrupted.
    """
    places = order_places([place_of(solution) for solution in solutions() if wanted(solution)])
    agenda = Agenda(
        places,
        {problem.id: problem for problem in problems},
        lambda ids: (solution for solution in solutions() if solution.id in ids),
    )
    ids, settings = {place.id for place in places}, plan.digest()
    for twin, original in find_duplicates(places).items() if plan.dedupe else ():
        agenda.twins[original].append(twin)
    for judgment in judgments():
        if judgment.judge == plan.judge and judgment.settings == settings and judgment.solution_id in ids:
            agenda.verdicts[judgment.solution_id][judgment.sample] = judgment.verdict
    for judgment in judgments() if agenda.twins else ():
        if judgment.solution_id in agenda.twins and judgment.settings == settings:
            agenda.copies_due += _copies(agenda, judgment)
    if missing := {place.problem_id for place in places} - set(agenda.problems):
        raise RecordError(
            f"The run has solutions of {len(missing)} problems that it does not hold, {sorted(missing)[0]!r} for one.",
            "A judge must see the problem: put the run's problems.jsonl back.",
        )
    return agenda


def pending_judgments(agenda: Agenda, plan: JudgePlan) -> list[tuple[Place, int]]:
    """The judgments to ask for next, in the order of work."""
    copied = {twin for twins in agenda.twins.values() for twin in twins}
    return [
        (place, sample)
        for place in agenda.places
        if place.id not in copied
        for sample in next_samples(agenda.verdicts[place.id], samples=plan.samples, stop_early=plan.stop_early)
    ]


def judge(
    agenda: Agenda,
    engine: Engine,
    plan: JudgePlan,
    *,
    budget: Budget | None = None,
    on_failure: Callable[[Sample], None] | None = None,
) -> Iterator[Judgment]:
    """Judgments in the order they finish, until no more can matter, the budget is met or only failures are left.

    Each judgment is a request of its own with its own seed, drawn from its id. Raises what the engine raises.
    """
    failed: set[str] = set()
    settings = plan.digest()
    yield from agenda.copies_due
    while True:
        wanted = [
            (place, sample)
            for place, sample in pending_judgments(agenda, plan)
            if judgment_id(place.id, plan.judge, settings, sample) not in failed
        ]
        if not wanted:
            break
        progress = False
        for answer, judgment in _ask(agenda, engine, plan, wanted, budget):
            progress = True
            if judgment is None:
                failed.add(answer.request_id)
                if on_failure is not None:
                    on_failure(answer)
                continue
            agenda.verdicts[judgment.solution_id][judgment.sample] = judgment.verdict
            yield judgment
            yield from _copies(agenda, judgment)
        if not progress:
            break


def _ask(
    agenda: Agenda,
    engine: Engine,
    plan: JudgePlan,
    wanted: Sequence[tuple[Place, int]],
    budget: Budget | None,
) -> Iterator[tuple[Sample, Judgment | None]]:
    asked: dict[str, tuple[str, int]] = {}
    settings = plan.digest()

    def requests() -> Iterator[Request]:
        for solution, sample in _with_texts(agenda, wanted):
            unit = judgment_id(solution.id, plan.judge, settings, sample)
            messages = judge_request(agenda.problems[solution.problem_id], solution, plan)
            if budget is not None and not budget.reserve(
                unit,
                prompt_tokens=worst_prompt_tokens("".join(message.content for message in messages)),
                completion_tokens=plan.sampling.max_tokens,
            ):
                return
            asked[unit] = (solution.id, sample)
            yield Request(unit, messages, seed_from("judge", unit))

    for answer in engine.generate(requests(), plan.sampling):
        solution_id, sample = asked.pop(answer.request_id)
        if budget is not None:
            budget.settle(
                answer.request_id,
                prompt_tokens=0 if answer.error else answer.prompt_tokens,
                completion_tokens=0 if answer.error else answer.completion_tokens,
            )
        yield answer, None if answer.error is not None else judgment_of(answer, solution_id, sample, plan)


def judgment_of(answer: Sample, solution_id: str, sample: int, plan: JudgePlan) -> Judgment:
    """The record of one answer of a judge, its verdict read."""
    verdict = parse_verdict(answer.text, finish_reason=answer.finish_reason)
    return Judgment(
        id=answer.request_id,
        solution_id=solution_id,
        judge=plan.judge,
        sample=sample,
        text=answer.text,
        reason=verdict.reason,
        verdict=verdict.value,
        thinking=answer.thinking,
        finish_reason=answer.finish_reason,
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
        cached_tokens=answer.cached_tokens,
        seed=answer.seed if answer.seed is not None else seed_from("judge", answer.request_id),
        settings=plan.digest(),
    )


def judge_request(problem: Problem, solution: Solution, plan: JudgePlan) -> tuple[Message, ...]:
    """The conversation a judge is given about one solution."""
    question = problem.question if plan.question_form == "problem" else solver_prompt(problem)
    messages = judge_messages(question, solution.whole_text, problem.language, shots=plan.shots)
    return tuple(Message(role, text) for role, text in messages)


TEXTS_AT_ONCE = 2_000


def _with_texts(agenda: Agenda, wanted: Sequence[tuple[Place, int]]) -> Iterator[tuple[Solution, int]]:
    start = 0
    while start < len(wanted):
        ids: set[str] = set()
        end = start
        while end < len(wanted) and (wanted[end][0].id in ids or len(ids) < TEXTS_AT_ONCE):
            ids.add(wanted[end][0].id)
            end += 1
        texts = {solution.id: solution for solution in agenda.read_texts(ids)}
        for place, sample in wanted[start:end]:
            yield texts[place.id], sample
        start = end


def _copies(agenda: Agenda, judgment: Judgment) -> Iterator[Judgment]:
    for twin in agenda.twins.get(judgment.solution_id, ()):
        if judgment.sample not in agenda.verdicts[twin]:
            agenda.verdicts[twin][judgment.sample] = judgment.verdict
            yield copy_judgment(judgment, solution_id=twin)
