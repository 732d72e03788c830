"""A run in other tools' words: Every Eval Ever, and samples as lm-evaluation-harness writes them."""

from __future__ import annotations

import hashlib
import uuid
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.journal import storage_errors, write_atomically
from multilingual_math_audit.records import Grade, Judgment, Problem, Score, Solution
from multilingual_math_audit.store import Run

SCHEMA_VERSION = "0.3.0"
FRACTIONS = {"pass_at_k", "cot_pass_at_k", "acceptance", "solver_stop_rate", "judge_stop_rate", "difference"}


def export_every_eval_ever(run: Run, folder: str | Path, *, organization: str = "unknown") -> list[Path]:
    """Write `<id>.json` (every defined score) and `<id>_samples.jsonl` (every solution); gives their paths.

    The fields are those of Every Eval Ever 0.3, checked against `schema/every_eval_ever_0.3.json`. Scores without a
    value have no place there and are left out. Raises UsageError when the run has no scores.
    """
    scores = [score for score in run.read(Score) if score.value is not None]
    if not scores:
        raise UsageError(f"The run at {run.folder} has no scores.", f"First: math-audit score {run.folder}")
    target = _made(folder)
    name = str(uuid.uuid5(uuid.NAMESPACE_URL, orjson.dumps([run.settings, scores[0].digest]).hex()))
    samples = target / f"{name}_samples.jsonl"
    write_atomically(samples, (orjson.dumps(row) + b"\n" for row in _instances(run, name)))
    data = samples.read_bytes()
    aggregate = {
        **_header(run, name, organization),
        "evaluation_results": [_result(run, score) for score in scores],
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": samples.name,
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(data).hexdigest(),
            "total_rows": data.count(b"\n"),
        },
    }
    path = target / f"{name}.json"
    write_atomically(path, orjson.dumps(aggregate, option=orjson.OPT_INDENT_2) + b"\n")
    return [path, samples]


def export_lm_eval(run: Run, folder: str | Path) -> list[Path]:
    """Write one `samples_BENCHMARK_run.jsonl` per benchmark, one line per problem with all its samples in `resps`."""
    target = _made(folder)
    problems = list(run.read(Problem))
    paths = []
    for benchmark in dict.fromkeys(problem.benchmark for problem in problems):
        path = target / f"samples_{benchmark}_run.jsonl"
        mine = [problem for problem in problems if problem.benchmark == benchmark]
        write_atomically(path, (orjson.dumps(row) + b"\n" for row in _documents(run, mine)))
        paths.append(path)
    return paths


def _made(folder: str | Path) -> Path:
    target = Path(folder)
    with storage_errors(target):
        target.mkdir(parents=True, exist_ok=True)
    return target


def _grades(run: Run) -> dict[str, Grade]:
    return {grade.solution_id: grade for grade in run.read(Grade)}


def _documents(run: Run, problems: list[Problem]) -> Iterator[dict[str, Any]]:
    # One problem's texts at a time: only their places are held for the whole run.
    places: dict[str, list[int]] = defaultdict(list)
    for offset, solution in run.scan(Solution):
        if solution.parent is None:
            places[solution.problem_id].append(offset)
    grades = _grades(run)
    for number, problem in enumerate(problems):
        solutions = sorted((run.read_at(Solution, place) for place in places[problem.id]), key=lambda s: s.sample)
        if not solutions:
            continue
        marks = [grades[s.id].correct if s.id in grades else None for s in solutions]
        found = [grades[s.id].extracted if s.id in grades else None for s in solutions]
        yield {
            "doc_id": number,
            "doc": {"id": problem.id, "question": problem.question, "answer": problem.answer},
            "target": problem.answer,
            "arguments": {},
            "resps": [[s.whole_text for s in solutions]],
            "filtered_resps": [found],
            "filter": "multilingual-math-audit",
            "metrics": ["exact_match"],
            "exact_match": sum(mark is True for mark in marks) / len(marks) if None not in marks else None,
            "correct": marks,
            "finish_reasons": [s.finish_reason for s in solutions],
        }


def _header(run: Run, name: str, organization: str) -> dict[str, Any]:
    facts, solver = run.manifest.get("facts", {}), run.settings.get("solver", {})
    engine: dict[str, Any] = next((e for e in run.manifest.get("engines", []) if e.get("role") == "solver"), {})
    versions = engine.get("versions", {})
    described: dict[str, Any] = {
        "name": str(solver.get("solver", "unknown")),
        "id": str(solver.get("solver", "unknown")),
        "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
    }
    if engine:
        first = next(iter(versions.items()), (engine["engine"], ""))
        described["inference_engine"] = {"name": str(first[0]), "version": str(first[1])}
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": name,
        "retrieved_timestamp": str(facts.get("started", "unknown")),
        "source_metadata": {
            "source_name": "multilingual-math-audit",
            "source_type": "evaluation_run",
            "source_organization_name": organization,
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "multilingual-math-audit", "version": str(facts.get("package", "unknown"))},
        "model_info": described,
    }


def _result(run: Run, score: Score) -> dict[str, Any]:
    solver = run.settings.get("solver", {})
    parts = [score.benchmark, score.metric, score.judge, score.strategy, score.k and f"k={score.k}"]
    fraction = score.metric in FRACTIONS
    metric: dict[str, Any] = {
        "metric_id": score.metric,
        "metric_kind": score.metric,
        "metric_unit": "fraction" if fraction else "number",
        "lower_is_better": score.metric in ("difference", "solver_stop_rate", "judge_stop_rate", "no_verdict"),
        "score_type": "continuous",
    }
    if fraction:
        metric |= {"min_score": -1.0 if score.metric == "difference" else 0.0, "max_score": 1.0}
    if score.k is not None:
        metric["metric_parameters"] = {"k": score.k}
    if score.judge is not None:
        judge = run.manifest.get("judges", {}).get(score.judge, {})
        metric["llm_scoring"] = {
            "judges": [{"model_info": _judge_info(score.judge), "temperature": judge.get("temperature")}],
            "input_prompt": str(judge.get("prompt", "unknown")),
            "aggregation_method": score.strategy or "majority",
        }
    details: dict[str, Any] = {"score": score.value}
    if score.low is not None and score.high is not None:
        interval = {"lower": score.low, "upper": score.high, "confidence_level": 0.95}
        details["uncertainty"] = {"confidence_interval": interval, "num_samples": score.n}
    return {
        "evaluation_result_id": score.key,
        "evaluation_name": " ".join(str(part) for part in parts if part),
        "source_data": {"dataset_name": score.benchmark, "source_type": "other", "samples_number": score.n},
        "metric_config": metric,
        "score_details": details,
        "generation_config": {
            "generation_args": {
                "temperature": solver.get("temperature"),
                "top_p": solver.get("top_p"),
                "max_tokens": solver.get("budget"),
                "reasoning": solver.get("mode") == "thinking",
            }
        },
    }


def _judge_info(name: str) -> dict[str, Any]:
    details = {"deployment_type": "unknown", "model_availability": "unknown"}
    return {"name": name, "id": name, "additional_details": details}


def _instances(run: Run, name: str) -> Iterator[dict[str, Any]]:
    problems = {problem.id: problem for problem in run.read(Problem)}
    grades = _grades(run)
    said: dict[str, dict[str, list[str | None]]] = defaultdict(lambda: defaultdict(list))
    for judgment in run.read(Judgment):
        said[judgment.solution_id][judgment.judge].append(judgment.verdict)
    model = str(run.settings.get("solver", {}).get("solver", "unknown"))
    for solution in run.read(Solution):
        grade, problem = grades.get(solution.id), problems.get(solution.problem_id)
        if grade is None or problem is None or solution.parent is not None:
            continue
        output: dict[str, Any] = {"raw": [solution.text]}
        if solution.thinking is not None:
            output["reasoning_trace"] = [solution.thinking]
        row: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": name,
            "model_id": model,
            "evaluation_name": problem.benchmark,
            "sample_id": f"{solution.problem_id}#{solution.sample}",
            "sample_hash": hashlib.sha256((problem.question + problem.answer).encode("utf-8", "replace")).hexdigest(),
            "interaction_type": "single_turn",
            "input": {"raw": problem.question, "reference": [problem.answer]},
            "output": output,
            "answer_attribution": [
                {
                    "turn_idx": 0,
                    "source": "output.raw",
                    "extracted_value": grade.extracted or "",
                    "extraction_method": grade.where or "none",
                    "is_terminal": True,
                }
            ],
            "evaluation": {"score": float(grade.correct), "is_correct": grade.correct},
            "metadata": {
                "finish_reason": solution.finish_reason,
                "verdicts": orjson.dumps(said[solution.id]).decode() if solution.id in said else "{}",
            },
        }
        if solution.completion_tokens is not None:
            prompt = solution.prompt_tokens or 0
            row["token_usage"] = {
                "input_tokens": prompt,
                "output_tokens": solution.completion_tokens,
                "total_tokens": prompt + solution.completion_tokens,
            }
        if solution.finish_reason == "error":
            row["error"] = "the sample failed"
        yield row
