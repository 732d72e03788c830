"""`math-audit demo`: a real solver and a real judge on part of the starter set, on the CPU, in a few minutes."""

from __future__ import annotations

import sys
from collections import Counter

import click
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.text import Text

from multilingual_math_audit.cli import examples
from multilingual_math_audit.commands.pipeline import finish, judge_run, score_and_print, solve_run
from multilingual_math_audit.evaluate.score import current_grades
from multilingual_math_audit.evaluate.stages import grade_stage
from multilingual_math_audit.options import ENGINE_NAMES
from multilingual_math_audit.records import Judgment, Problem, Solution
from multilingual_math_audit.runfile import load_config
from multilingual_math_audit.store import Run

WEAK = (
    "SmolLM2 has 135 million parameters: it is weak as a solver, and weaker as a judge. Here it said yes in {yes} of "
    "{judgments} judgments and no in {no}, all of them about solutions with the right answer. So the difference "
    "between Pass@k and CoT-Pass@k above says little about the chains. Whether a judge reads the chain at all is what "
    "the audit is for."
)
LONGEST_SHOWN = 900


@click.command(
    epilog=examples(
        "math-audit demo",
        "math-audit demo --engine vllm --out runs/demo-vllm",
        "math-audit demo --limit 12 --n 4",
    )
)
@click.option(
    "--engine", type=ENGINE_NAMES, default="transformers", help="What runs the model [default: transformers]."
)
@click.option("--model", default="smollm2", help="Model that solves and judges [default: smollm2].")
@click.option("--limit", type=int, default=4, help="Problems per language [default: 4].")
@click.option("--n", type=int, default=2, help="Samples per problem [default: 2].")
@click.option("--out", type=click.Path(), default="runs/demo", help="Run folder [default: runs/demo].")
def command(engine: str, model: str, limit: int, n: int, out: str) -> None:
    """A real model solves the starter set in three languages, judges its own solutions, and is scored.

    Needs no GPU. The same command goes on where it stopped.
    """
    console = Console()
    console.print(f"{model} solves {limit} starter problems in English, Turkish and Portuguese, {n} times each.")
    config = load_config(
        {
            "solver": model,
            "judge": model,
            "engine": engine,
            "benchmarks": ("starter_en", "starter_tr", "starter_pt"),
            "limit": limit,
            "n": n,
            "budget": 80,
            "mode": "non-thinking",
            "shots": 3,
            "judge_budget": 64,
            "judge_mode": "non-thinking",
            "judge_shots": 3,
            "out": out,
        }
    )
    run, failures = solve_run(config, keep_engine=True)
    grade_stage(run)
    judged = judge_run(run, config)
    score_and_print(run)
    show_one(run, console)
    said = Counter(judgment.verdict for judgment in run.read(Judgment))
    console.print(WEAK.format(yes=said["yes"], no=said["no"], judgments=said.total()), width=100)
    console.print("\nNext:")
    for line in next_commands(out, model, engine):
        console.print(f"  [bold]{escape(line)}[/bold]", soft_wrap=True)
    finish(run, failures, judged)


def show_one(run: Run, console: Console) -> None:
    """Print one judged solution beside its judgment, so that people see what was judged."""
    correct = {grade.solution_id for grade in current_grades(run) if grade.correct}
    judgment = next((j for j in run.read(Judgment) if j.solution_id in correct and j.verdict is not None), None)
    if judgment is None:
        console.print("No solution was judged: none had the right answer, or no judgment held a verdict.")
        return
    solution = next(s for s in run.read(Solution) if s.id == judgment.solution_id)
    problem = next(p for p in run.read(Problem) if p.id == solution.problem_id)
    console.print(Panel(_plain(problem.question), title=f"Problem {problem.id} (key {problem.answer})"))
    console.print(Panel(_plain(solution.whole_text), title=f"Solution {solution.sample + 1}, right answer"))
    console.print(Panel(_plain(judgment.text), title=f"Judgment {judgment.sample + 1}: {judgment.verdict}"))


def next_commands(out: str, model: str, engine: str) -> list[str]:
    """The three commands a person would want next."""
    program = "math-audit" if "math-audit" in sys.argv[0] else f"{sys.executable} -m multilingual_math_audit"
    options = f"--engine {engine} --judge-mode non-thinking --judge-shots 3 --judge-budget 64"
    return [
        f"{program} show {out}",
        f"{program} audit {out} --judge {model} {options} --min-tokens 20 --per-cell 8",
        f"{program} leaderboard",
    ]


def _plain(text: str) -> Text:
    shown = text.strip()
    return Text(shown if len(shown) <= LONGEST_SHOWN else shown[:LONGEST_SHOWN] + " […]")
