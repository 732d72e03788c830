"""What `math-audit solve` costs on top of vLLM: tokens per second beside a bare vLLM loop, in turns in one process.

    python bench/engine_overhead.py                        # SmolLM2 on the starter set, three rounds
    python bench/engine_overhead.py --model ORG/NAME --n 64 --budget 2048

Both arms ask the same vLLM engine for the same prompts with the same seeds and settings, from an empty prefix cache.
The bare arm adds every request and steps until none is left, and keeps nothing. The other arm is the stage of the
command: requests made one by one, each solution written to a run folder and its answer checked as it comes. The
ratio to look at is the median over rounds of tokens per second, ours over bare; it should be at least 0.95.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from multilingual_math_audit.evaluate.engines.catalogue import EngineConfig, open_engine
from multilingual_math_audit.evaluate.engines.protocol import SamplingSettings
from multilingual_math_audit.evaluate.engines.vllm import VllmEngine, _sampling_params
from multilingual_math_audit.evaluate.solve import SolvePlan, solve_units, solver_request
from multilingual_math_audit.evaluate.stages import open_solve_run, solve_stage
from multilingual_math_audit.loaders.problems import load_benchmark
from multilingual_math_audit.records import Problem, Solution, seed_from

LANGUAGES = ("en", "tr", "pt")


def bare_loop(engine: VllmEngine, problems: list[Problem], plan: SolvePlan) -> int:
    """vLLM alone: every request added, stepped until none is left; completion tokens."""
    from multilingual_math_audit.evaluate.engines.protocol import Request

    vllm = engine.runner.engine  # type: ignore[attr-defined]
    for unit, problem, _ in solve_units(problems, plan):
        messages = [{"role": m.role, "content": m.content} for m in solver_request(problem, shots=plan.shots)]
        text = engine.template.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        prompt = engine.template.tokenizer.encode(text, add_special_tokens=False)
        params = _sampling_params(Request(unit, (), seed_from("solve", unit)), plan.sampling)
        vllm.add_request(unit, {"type": "token", "prompt_token_ids": prompt}, params)
    tokens = 0
    while vllm.has_unfinished_requests():
        tokens += sum(len(output.outputs[0].token_ids) for output in vllm.step() if output.finished)
    return tokens


def solve_path(engine: VllmEngine, problems: list[Problem], plan: SolvePlan) -> int:
    """The stage of the command, into a fresh run folder; completion tokens."""
    with tempfile.TemporaryDirectory() as folder:
        run = open_solve_run(str(Path(folder) / "run"), problems, plan)
        solve_stage(run, engine, plan)
        return sum(solution.completion_tokens or 0 for solution in run.read(Solution))


def measure(arm: Callable[..., int], engine: VllmEngine, problems: list[Problem], plan: SolvePlan) -> dict[str, Any]:
    """Tokens, wall seconds and CPU seconds of one arm."""
    engine.runner.engine.reset_prefix_cache()  # type: ignore[attr-defined]
    wall, cpu = time.perf_counter(), time.process_time()
    tokens = arm(engine, problems, plan)
    return {"tokens": tokens, "wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def main() -> None:
    """Measure both arms in turns and print a line a round, then the medians as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--problems", type=int, default=4, help="problems a language")
    parser.add_argument("--n", type=int, default=4)
    parser.add_argument("--budget", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--max-model-len", type=int, default=2048)
    given = parser.parse_args()
    problems = [p for code in LANGUAGES for p in load_benchmark(f"starter_{code}")[: given.problems]]
    sampling = SamplingSettings(max_tokens=given.budget, mode="non-thinking")
    samples = {f"starter_{code}": given.n for code in LANGUAGES}
    plan = SolvePlan(given.model, sampling, samples, shots=3)
    engine = open_engine(EngineConfig("vllm", given.model, max_model_len=given.max_model_len))
    assert isinstance(engine, VllmEngine)
    measure(bare_loop, engine, problems[:2], plan)  # warm
    rows = []
    for number in range(given.rounds):
        arms = {"bare": bare_loop, "ours": solve_path}
        order = list(arms) if number % 2 == 0 else list(arms)[::-1]
        seen = {name: measure(arms[name], engine, problems, plan) for name in order}
        rates = {name: one["tokens"] / one["wall"] for name, one in seen.items()}
        per_cpu = {name: one["tokens"] / one["cpu"] for name, one in seen.items()}
        rows.append((rates["ours"] / rates["bare"], per_cpu["ours"] / per_cpu["bare"]))
        print(
            f"round {number + 1}: bare {seen['bare']['tokens']:,} tokens at {rates['bare']:.0f}/s,",
            f"ours {seen['ours']['tokens']:,} at {rates['ours']:.0f}/s,",
            f"ratio {rows[-1][0]:.3f} (CPU time {rows[-1][1]:.3f})",
            flush=True,
        )
    engine.close()
    wall, cpu = (statistics.median(column) for column in zip(*rows, strict=True))
    print(json.dumps({"engine_overhead": {"ratio": round(wall, 4), "cpu_ratio": round(cpu, 4), "rounds": len(rows)}}))


if __name__ == "__main__":
    main()
