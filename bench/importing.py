"""How many solutions a second come in from the paper's harness: two result sets of 30 problems x 64 generations.

python bench/importing.py                  # chains of 20 kB
python bench/importing.py --size 2000
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from pathlib import Path

from multilingual_math_audit.loaders.outputs.formats import read_outputs
from multilingual_math_audit.loaders.outputs.importing import ImportPlan, import_outputs
from multilingual_math_audit.loaders.problems import load_benchmark
from multilingual_math_audit.records import Judgment, Solution

SAMPLES = 64


def make(folder: Path, size: int, seed: int) -> int:
    """The files of one benchmark, its generations in the shuffled order a concurrent run writes them."""
    dice = random.Random(seed)
    problems = load_benchmark("starter_en")[:30]
    folder.mkdir(parents=True)
    order = [problem for problem in problems for _ in range(SAMPLES)]
    dice.shuffle(order)
    filler = "we have x = 3 and then \\frac{1}{2}, so " * (size // 20)
    marks: dict[str, list[bool]] = {problem.id: [] for problem in problems}
    with open(folder / "s_raw.jsonl", "w", encoding="utf-8") as raw:
        for problem in order:
            right = dice.random() < 0.6
            marks[problem.id].append(right)
            text = f"{filler[:size]} \\boxed{{{problem.answer if right else -1}}}"
            choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            row = {"choices": [choice], "usage": {"prompt_tokens": 90, "completion_tokens": size // 4}}
            raw.write(json.dumps({"task_id": problem.id, "response": row}) + "\n")
    with open(folder / "s_results.jsonl", "w", encoding="utf-8") as results:
        for problem in problems:
            row = {"task_id": problem.id, "ground_truth": problem.answer, "correct": marks[problem.id], "solutions": []}
            results.write(json.dumps(row) + "\n")
    with open(folder / "s_cot_majority.jsonl", "w", encoding="utf-8") as votes:
        for name, correct in marks.items():
            for number, right in enumerate(correct):
                if right:
                    yes = dice.randint(0, 3)
                    row = {"task_id": f"{name}_gen_{number}", "yes_count": yes, "no_count": 3 - yes, "invalid_count": 0}
                    votes.write(json.dumps(row) + "\n")
    return sum(map(sum, marks.values()))


def main(size: int) -> dict[str, object]:
    """Import two sets and say how fast."""
    with tempfile.TemporaryDirectory() as name:
        sets = [Path(name) / f"M{seed}_t0.6_max16384" / "s" for seed in (0, 1)]
        judged = sum(make(folder, size, seed) for seed, folder in enumerate(sets))
        began, worked = time.perf_counter(), time.process_time()
        problems = load_benchmark("starter_en")
        runs = []
        for number, folder in enumerate(sets):
            run, report = import_outputs(
                lambda folder=folder: read_outputs("evalhub", folder),  # type: ignore[misc]
                problems,
                Path(name) / f"run-{number}",
                ImportPlan("evalhub"),
            )
            assert not report.left_out
            runs.append(run)
        seconds, busy = time.perf_counter() - began, time.process_time() - worked
        solutions = sum(len(run.keys(Solution)) for run in runs)
        assert sum(len(run.keys(Judgment)) for run in runs) == 3 * judged
    return {
        "solutions": solutions,
        "seconds": round(seconds, 2),
        "per_second": round(solutions / seconds),
        "per_second_of_processor": round(solutions / busy),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", type=int, default=20_000, help="characters of one chain")
    print(json.dumps(main(parser.parse_args().size), indent=2))
