"""How fast injection is: 1,500 solutions of 60 kB, five variants each, graded anew.

python bench/injection.py            # seconds, solutions per second and peak memory
python bench/injection.py --solutions 100 --jobs 1
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

from multilingual_math_audit.evaluate.answers.grading import GRADER_VERSION
from multilingual_math_audit.evaluate.panel import PanelPlan, draw_panel, write_panel
from multilingual_math_audit.records import Grade, Problem, Solution
from multilingual_math_audit.store import Run

LINES = (
    "Next we set $x_{%d} = %d + %d$, so that $\\frac{%d}{%d} \\cdot %d$ gives %d in the second case. ",
    "Step %d: the sum is $%d \\times %d = %d$, and therefore $%d - %d > %d$ holds.\n",
    "Wait, let me check: 1,2%02d is larger than %d.%d, and $%d^2 + %d^2 = %d$ follows from (%d). ",
)
LENGTH = 60_000
QUESTIONS = 250


def long_chain(number: int) -> tuple[str, str]:
    """A chain of 60 kB and its key; the numbers differ from chain to chain."""
    key = str(313 + 7 * (number % 90))
    parts, length, step = [], 0, number
    while length < LENGTH - 200:
        line = LINES[step % len(LINES)]
        fields = line.count("%") - line.count("%%")
        parts.append(line % tuple((step * 37 + 11 * i * i) % 89 + 10 for i in range(fields)))
        length += len(parts[-1])
        step += 1
    parts.insert(len(parts) * 3 // 4, f"So we find {key} for the first time. ")
    return "".join(parts) + f"\nHence the answer is {key}.\n\n$$\\boxed{{{key}}}$$", key


def make_run(folder: Path, solutions: int) -> Run:
    """A run of long correct solutions, six of each question."""
    run = Run.create(folder, {"solver": {"solver": "bench"}})
    with run.writer(Problem) as problems, run.writer(Solution) as texts, run.writer(Grade) as grades:
        for number in range(solutions):
            question = number % min(QUESTIONS, solutions)
            text, key = long_chain(question)
            problem = f"bench/{question}"
            if number == question:
                problems.append(Problem(problem, "bench", problem, "en", "How many are there?", key, "integer"))
            name = f"s{number}"
            texts.append(Solution(name, problem, "bench", number, text + " " * (number % 7), completion_tokens=20_000))
            grades.append(Grade(name, GRADER_VERSION, True, "correct"))
    return run


def main() -> None:
    """Draw and write the panel, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--solutions", type=int, default=1_500)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = make_run(Path(folder) / "run", options.solutions)
        plan = PanelPlan(per_cell=options.solutions)
        start = time.monotonic()
        drawn = draw_panel(run, plan, jobs=options.jobs)
        write_panel(drawn, run, plan, f"{folder}/panel")
        seconds = time.monotonic() - start
    used = [resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    report = {
        "solutions": options.solutions,
        "variants": len(drawn.solutions),
        "seconds": round(seconds, 1),
        "solutions_per_second": round(options.solutions / seconds, 1),
        "peak_mb": {"this process": round(used[0]), "largest helper": round(used[1])},
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
