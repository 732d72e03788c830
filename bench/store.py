"""A synthetic run of 78,080 solutions of 20 kB: opening, finding what is pending, and scoring, with peak memory.

python bench/store.py                     # 2 GB in a temporary folder
python bench/store.py --solutions 7808    # a tenth of it
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from multilingual_math_audit.evaluate.answers.grading import GRADER_VERSION
from multilingual_math_audit.records import Grade, Judgment, Problem, Solution, digest, judgment_id, solution_id
from multilingual_math_audit.store import Run

SOLVER = {"solver": "synthetic"}
JUDGE = {"judge": "reader", "samples": 3, "stop_early": None}
SAMPLES = 64

STEPS = {
    "open_and_pending": """
from multilingual_math_audit.evaluate.solve import solve_units, SolvePlan
from multilingual_math_audit.records import Solution
done = run.keys(Solution)
result = len(done)
""",
    "judge_agenda": """
from multilingual_math_audit.evaluate.judge import JudgePlan, open_agenda, pending_judgments
from multilingual_math_audit.evaluate.engines.protocol import SamplingSettings
from multilingual_math_audit.evaluate.stages import correct_solutions
from multilingual_math_audit.records import Judgment, Problem, Solution
wanted = correct_solutions(run)
plan = JudgePlan("reader", SamplingSettings())
agenda = open_agenda(lambda: run.read(Solution), run.read(Problem), lambda: run.read(Judgment),
                     wanted=lambda s: s.id in wanted, plan=plan)
result = len(pending_judgments(agenda, plan))
""",
    "score": """
from multilingual_math_audit.evaluate.score import score_run
from multilingual_math_audit.records import Score
scores = score_run(run)
run.replace(Score, scores)
result = len(scores)
""",
    "verify": """
from multilingual_math_audit.evaluate.soundness import check_run
result = [f.what for f in check_run(run)]
""",
}
FRAME = """
import json, resource, sys, time
began = time.perf_counter()
from multilingual_math_audit.store import Run
run = Run.open(sys.argv[1])
{step}
seconds = time.perf_counter() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
busy = time.process_time()
said = {{"seconds": round(seconds, 1), "of_processor": round(busy, 1), "peak_MB": round(peak), "result": result}}
print(json.dumps(said))
"""


def make(folder: Path, solutions: int, size: int) -> Run:
    """A run of so many solutions of so many bytes, graded, the right ones judged three times."""
    problems = [
        Problem(f"synthetic/{i}", "synthetic", f"synthetic/{i}", "en", f"Question {i}?", "1", "integer")
        for i in range(-(-solutions // SAMPLES))
    ]
    run = Run.create(
        folder,
        {
            "solver": SOLVER,
            "samples": {"synthetic": SAMPLES},
            "problems": digest(sorted([p.id, p.question, p.answer] for p in problems)),
        },
    )
    run.add_settings("judges", "reader", JUDGE)
    run.append(problems)
    dice = random.Random(0)
    filler = " ".join(dice.choice(["so", "then", "\\\\frac{1}{2}", "we", "have", "x = 3,", "ğüş"]) for _ in range(size))
    with run.writer(Solution) as solving, run.writer(Grade) as grading, run.writer(Judgment) as judging:
        for number in range(solutions):
            problem, sample = problems[number // SAMPLES], number % SAMPLES
            name = solution_id(problem.id, "synthetic", digest(SOLVER), sample)
            start = dice.randrange(len(filler) - 100)
            text = (filler[start:] + filler)[: size - 300]
            tokens = size // 4
            solving.append(
                Solution(name, problem.id, "synthetic", sample, text, completion_tokens=tokens, settings=digest(SOLVER))
            )
            right = dice.random() < 0.57
            grading.append(Grade(name, GRADER_VERSION, right, "correct" if right else "wrong", "1", "box", "number"))
            for vote in range(3 if right else 0):
                verdict = "yes" if dice.random() < 0.8 else "no"
                unit = judgment_id(name, "reader", "js", vote)
                judging.append(
                    Judgment(
                        unit,
                        name,
                        "reader",
                        vote,
                        f"{text[:1000]} \\boxed{{{verdict}}}",
                        "verdict",
                        verdict,
                        completion_tokens=500,
                        settings="js",
                    )
                )
    return run


def main(solutions: int, size: int, keep: Path | None) -> dict[str, object]:
    """Make the run and measure each step in a process of its own."""
    outcome: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = keep or Path(name) / "run"
        run = Run.open(folder) if (folder / "manifest.json").exists() else make(folder, solutions, size)
        outcome["GB"] = round(sum(path.stat().st_size for path in run.folder.iterdir()) / 1e9, 2)
        for step, code in STEPS.items():
            said = subprocess.run(
                [sys.executable, "-c", FRAME.format(step=code), str(run.folder)],
                check=True,
                capture_output=True,
                text=True,
                env=os.environ,
            )
            outcome[step] = json.loads(said.stdout)
            print(step, outcome[step], flush=True)
    return outcome


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--solutions", type=int, default=78_080)
    parser.add_argument("--size", type=int, default=20_000, help="bytes of one solution's text")
    parser.add_argument("--keep", type=Path, help="folder of the run")
    options = parser.parse_args()
    print(json.dumps(main(options.solutions, options.size, options.keep), indent=2))
