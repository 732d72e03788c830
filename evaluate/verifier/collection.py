"""The collect stage: a run's solutions in, one shard of hidden states per problem out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.engines.catalogue import EngineConfig, find_small_model
from multilingual_math_audit.evaluate.solve import solver_request
from multilingual_math_audit.evaluate.verifier.checkers import Checker, normalised, open_checker
from multilingual_math_audit.evaluate.verifier.elicitation import (
    ELICITATION,
    END,
    Elicited,
    Elicitor,
    branches_of,
    every,
)
from multilingual_math_audit.evaluate.verifier.groups import Group
from multilingual_math_audit.evaluate.verifier.rewards import RewardModel
from multilingual_math_audit.evaluate.verifier.states import Shard, StateFolder, StatesHeader, shard_name, write_shard
from multilingual_math_audit.records import Mode, Problem, Solution
from multilingual_math_audit.store import Run

STORED = "bfloat16"
PORTION = 32


@dataclass(frozen=True, slots=True)
class CollectPlan:
    """What to ask for and where to keep it; `prm` is a process reward model to score every answer with, if any."""

    folder: Path
    delimiter: str = END
    checker: str = "symbolic"
    checker_model: str | None = None
    prm: str | None = None


@dataclass(frozen=True, slots=True)
class Collected:
    """One problem's collection: how many sequences and answers, and how many of them are right."""

    problem: str
    sequences: int
    answers: int
    correct: int


def open_elicitor(config: EngineConfig) -> Elicitor:
    """What asks a model for answers, through transformers or vLLM; raises MissingExtra or EngineError."""
    config = find_small_model(config)
    if config.engine == "vllm":
        from multilingual_math_audit.evaluate.verifier.vllm_elicitation import VllmElicitor

        return VllmElicitor(config)
    if config.engine != "transformers":
        raise UsageError(f"Hidden states cannot be had from {config.engine!r}.", "Engines: transformers, vllm.")
    from multilingual_math_audit.evaluate.engines.transformers import TransformersEngine
    from multilingual_math_audit.evaluate.verifier.elicitation import TransformersElicitor

    return TransformersElicitor(TransformersEngine(config))


def header_of(elicitor: Elicitor, plan: CollectPlan) -> StatesHeader:
    """The header of what this model and plan give."""
    if plan.delimiter.startswith("every:"):
        every(plan.delimiter)
    facts = elicitor.facts
    return StatesHeader(
        model=facts.model,
        revision=facts.revision,
        layer=facts.layer,
        norm=facts.norm,
        dtype=STORED,
        delimiter=plan.delimiter,
        elicitation=ELICITATION,
        checker=plan.checker,
        width=facts.width,
        heads=facts.heads,
    )


def pending_problems(run: Run, done: set[str]) -> list[Problem]:
    """The problems of a run that have solutions and no shard yet."""
    solved = {solution.problem_id for solution in run.read(Solution) if solution.parent is None}
    if not solved:
        raise UsageError(f"The run at {run.folder} has no solutions.", "Solve something first: math-audit solve.")
    return [p for p in run.read(Problem) if p.id in solved and shard_name(p.id) not in done]


def collect(run: Run, elicitor: Elicitor, plan: CollectPlan) -> Iterator[Collected]:
    """Elicit and keep the answers of every problem that has no shard yet, one problem at a time.

    Killed at any moment, the same call goes on with the first problem that is not there. Raises SettingsMismatch when
    the folder holds states with another header.
    """
    header = header_of(elicitor, plan)
    pending = pending_problems(run, StateFolder.create(plan.folder, header))
    solver = run.settings.get("solver", {})
    mode, shots = solver.get("mode", "non-thinking"), int(solver.get("shots", 0))
    rewards = RewardModel(plan.prm) if plan.prm is not None and pending else None
    for problem, mine in _with_solutions(run, pending):
        prompt = elicitor.facts.template.encode(solver_request(problem, shots=shots), mode)
        shard = collect_problem(problem, mine, elicitor, plan, prompt=prompt, mode=mode, rewards=rewards)
        write_shard(plan.folder, header, shard)
        assert shard.group.correct is not None
        yield Collected(problem.id, len(mine), len(shard.group.lengths), int(shard.group.correct.sum()))


def _with_solutions(run: Run, problems: Sequence[Problem]) -> Iterator[tuple[Problem, list[Solution]]]:
    """Each problem with its solutions by sample number; a few problems' texts are in memory at a time."""
    for at in range(0, len(problems), PORTION):
        part = problems[at : at + PORTION]
        solutions: dict[str, list[Solution]] = {problem.id: [] for problem in part}
        for solution in run.read(Solution):
            if solution.parent is None and solution.problem_id in solutions:
                solutions[solution.problem_id].append(solution)
        for problem in part:
            yield problem, sorted(solutions.pop(problem.id), key=lambda solution: solution.sample)


def collect_problem(
    problem: Problem,
    solutions: Sequence[Solution],
    elicitor: Elicitor,
    plan: CollectPlan,
    *,
    prompt: list[int],
    mode: Mode,
    rewards: RewardModel | None = None,
) -> Shard:
    """One problem's shard: its solutions' answers with their states, which of them are equal, and which are right."""
    opening = elicitor.facts.template.opening(mode)
    sequences = [elicitor.encode(solution.whole_text.removeprefix(opening)) for solution in solutions]
    branches = [
        branch
        for number, tokens in enumerate(sequences)
        for branch in branches_of(tokens, number, plan.delimiter, elicitor.decode)
    ]
    start = time.perf_counter()
    answers = elicitor.elicit(prompt, sequences, branches)
    seconds = time.perf_counter() - start
    checker = open_checker(plan.checker, model=plan.checker_model, language=problem.language)
    group = group_of(problem, answers, checker, size=len(sequences))
    if rewards is not None:
        traces = [(elicitor.decode(sequences[one.branch.sequence][: one.branch.keep]), one.text) for one in answers]
        group = replace(group, columns={**group.columns, "prm": torch.tensor(rewards.score(problem.question, traces))})
    return Shard(
        group=group,
        question=problem.question,
        item=problem.item,
        benchmark=problem.benchmark,
        solutions=tuple(solution.id for solution in solutions),
        tokens=torch.tensor([token for answer in answers for token in answer.tokens]),
        logprobs=torch.tensor([value for answer in answers for value in answer.logprobs]),
        seconds=seconds,
    )


def group_of(problem: Problem, answers: Sequence[Elicited], checker: Checker, *, size: int) -> Group:
    """The group of one problem's elicited answers, states in bfloat16, correctness by the grader's comparison."""
    texts = [answer.text for answer in answers]
    columns = {
        "mean_logprob": torch.tensor([float(np.mean(answer.logprobs)) for answer in answers]),
        "mean_probability": torch.tensor([float(np.mean(np.exp(answer.logprobs))) for answer in answers]),
    }
    if all(answer.certainties for answer in answers):
        columns["self_certainty"] = torch.tensor([float(np.mean(answer.certainties)) for answer in answers])
    return Group(
        states=torch.cat([torch.stack(answer.states) for answer in answers]).to(torch.bfloat16),
        lengths=torch.tensor([len(answer.states) for answer in answers]),
        sequence=torch.tensor([answer.branch.sequence for answer in answers]),
        time=torch.tensor([answer.branch.time for answer in answers]),
        equal=torch.from_numpy(checker(texts)),
        size=size,
        correct=torch.tensor(right(problem, texts)),
        problem=problem.id,
        columns=columns,
        texts=tuple(texts),
    )


def right(problem: Problem, texts: Sequence[str]) -> list[bool]:
    """Which answers say the same as the problem's key; each distinct text is compared once."""
    from multilingual_math_audit.evaluate.answers.equivalence import answers_equal

    known: dict[str, bool] = {}
    for text in map(normalised, texts):
        if text not in known:
            known[text] = (
                bool(text)
                and answers_equal(
                    problem.answer,
                    text,
                    language=problem.language,
                    answer_kind=problem.answer_kind,
                    ordered=problem.ordered,
                ).equal
            )
    return [known[normalised(text)] for text in texts]
