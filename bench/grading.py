"""The answer grader beside Math-Verify, in one process on the same replies: speed as ratios, memory, a whole run.

    python bench/grading.py                # needs: pip install math-verify
    python bench/grading.py --run          # also 78,080 solutions of about 20 kB on all cores

Math-Verify parses the key every time, as its own metric does; neither side keeps anything between replies.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from multilingual_math_audit.evaluate.answers.grading import grade_answer, grade_solutions
from multilingual_math_audit.records import Problem, Solution

_LATEX = [
    (r"\frac{3}{4}", r"\frac{6}{8}"),
    (r"2\sqrt{3}", r"\sqrt{12}"),
    (r"\frac{\pi}{4}", r"\arctan 1"),
    ("[0,1)", "[0, 1)"),
    (r"\{1,2,3\}", r"\{3,2,1\}"),
    ("x^2-1", "(x-1)(x+1)"),
    (r"25\%", r"\frac14"),
    ("(3,4)", "(3, 4)"),
    (r"3\sqrt{10}", r"\sqrt{91}"),
    (r"\frac{49}{8}", r"\frac{48}{8}"),
    ("x^2+1", "x^2-1"),
    (r"\sqrt{7}+1", r"\sqrt{7}-1"),
    ("y=2x+1", "y=2x-1"),
    ("8^5", "32768"),
]
_FILLER = "We add the numbers step by step and check that the value of $x$ is still an integer. "


def _replies(kind: str, size: int, count: int, seed: int) -> list[tuple[str, str]]:
    """Keys and replies, 60% of them right; `mixed` has seven integers to three formulas."""
    dice = random.Random(seed)
    made = []
    for _ in range(count):
        if kind == "integers" or (kind == "mixed" and dice.random() < 0.7):
            key = str(dice.randint(0, 999))
            answer = key if dice.random() < 0.6 else str(dice.randint(0, 999))
        else:
            key, answer = dice.choice(_LATEX)
        filler = _FILLER * (size // len(_FILLER))
        made.append((key, f"{filler}So the answer is $\\boxed{{{answer}}}$."))
    return made


def _rate(grade: Callable[[str, str], object], replies: list[tuple[str, str]], seconds: float) -> float:
    """Replies graded in a second: the median of three passes of about `seconds` each."""
    rates = []
    for _ in range(3):
        done, start = 0, time.perf_counter()
        while (spent := time.perf_counter() - start) < seconds:
            for key, text in replies:
                grade(key, text)
            done += len(replies)
        rates.append(done / spent)
    return statistics.median(rates)


def _math_verify() -> Callable[[str, str], bool]:
    import logging

    from math_verify import parse, verify

    logging.disable(logging.CRITICAL)
    return lambda key, text: verify(parse(f"${key}$"), parse(text))


def compare() -> None:
    """Print each side's rate and their ratio, for every length and kind."""
    theirs = _math_verify()
    print(f"{'replies':28}{'this grader':>14}{'Math-Verify':>14}{'ratio':>9}")
    for size, label in ((0, "box only"), (2_000, "2 kB"), (20_000, "20 kB")):
        for kind in ("integers", "mixed"):
            few = _replies(kind, size, 40, seed=1)
            ours_rate = _rate(lambda key, text: grade_answer(text, key), _replies(kind, size, 300, seed=1), 0.6)
            theirs_rate = _rate(theirs, few, 0.6)
            print(
                f"{kind + ', ' + label:28}{ours_rate:>12,.0f}/s{theirs_rate:>12,.0f}/s{ours_rate / theirs_rate:>8,.0f}x"
            )


def memory() -> None:
    """Print the peak memory of a process of each side over the same mixed replies."""
    peaks = {}
    for side in ("ours", "theirs"):
        command = [sys.executable, __file__, "--peak", side]
        peaks[side] = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    ratio = peaks["ours"] / peaks["theirs"]
    print(f"peak memory {peaks['ours']:.0f} MB against {peaks['theirs']:.0f} MB: ratio {ratio:.2f}")


def _peak(side: str) -> None:
    replies = _replies("mixed", 2_000, 120, seed=3)
    theirs = _math_verify() if side == "theirs" else None
    for key, text in replies:
        _ = grade_answer(text, key) if theirs is None else theirs(key, text)
    # Not ru_maxrss: that counts what the parent held before this program was loaded.
    status = Path("/proc/self/status").read_text()
    print(int(status.split("VmHWM:")[1].split()[0]) / 1024)


def whole_run(jobs: int | None) -> None:
    """Print how long 10 solvers x 64 samples of 122 problems take: 78,080 solutions of 20 kB on average."""
    dice = random.Random(7)
    problems = {}
    for n in range(122):
        key = str(dice.randint(0, 999)) if dice.random() < 0.7 else dice.choice(_LATEX)[0]
        problems[str(n)] = Problem(str(n), "bench", str(n), "en", "?", key, "expression")
    others = {
        name: [problem.answer, *(dice.choice(_LATEX)[1] for _ in range(3)), str(dice.randint(0, 999))]
        for name, problem in problems.items()
    }

    def solutions() -> Iterator[Solution]:
        for n in range(78_080):
            name = str(n % 122)
            answer = dice.choice(others[name]) if dice.random() < 0.6 else problems[name].answer
            text = _FILLER * int(dice.expovariate(1) * 20_000 / len(_FILLER)) + f"So $\\boxed{{{answer}}}$."
            yield Solution(str(n), name, "bench", n // 122, text)

    start = time.perf_counter()
    correct = sum(grade.correct for grade in grade_solutions(solutions(), problems, jobs=jobs))
    print(f"78,080 solutions in {time.perf_counter() - start:.1f} s, {correct} correct")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--run", action="store_true", help="also grade 78,080 solutions")
    parser.add_argument("--jobs", type=int, help="processes for --run")
    parser.add_argument("--peak", choices=("ours", "theirs"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        _peak(options.peak)
        return
    compare()
    memory()
    if options.run:
        whole_run(options.jobs)


if __name__ == "__main__":
    main()
