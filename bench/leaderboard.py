"""The leaderboard with many submissions: loading, memory, and how long a filter or a slider takes.

    python bench/leaderboard.py [--submissions 1000]

Prints seconds and megabytes, and exits with 1 when a bound is missed: 3 s to load, 700 MB, 300 ms at the median on
every page.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from multilingual_math_audit.leaderboard_app.rows import View

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from synthetic_submissions import write_entries


def measure(folder: Path) -> int:
    """Load the board of `folder`, ask for views, print, and say whether the bounds hold."""
    from multilingual_math_audit.leaderboard_app.board import load_board
    from multilingual_math_audit.leaderboard_app.leaderboard_page import chart_html, table_html
    from multilingual_math_audit.leaderboard_app.pages import budgets_html, judges_html, verifiers_html
    from multilingual_math_audit.leaderboard_app.questions_page import heat_map_html
    from multilingual_math_audit.leaderboard_app.rows import make_table
    from multilingual_math_audit.leaderboard_app.texts import Texts

    started = time.perf_counter()
    board = load_board(folder)
    loading = time.perf_counter() - started
    t, times = Texts("en"), []
    views = [View(k=k) for k in (1, 2, 3, 5, 8, 11, 16)]
    views += [View(k=16, strategy="all"), View(k=8, families=("Alpha",)), View(search="beta"), View(page=3)]
    views += [View(k=4, sort="difference"), View(benchmarks=("aime2026_tr",), k=64), View(languages=("pt",), k=2)]
    views += [View(k=5, modes=("thinking",)), View(trusts=("verified",)), View(sort="solver", ascending=True)]
    for view in views:
        started = time.perf_counter()
        table = make_table(board, view)
        table_html(board, table, view, t)
        chart_html(table, view, t)
        times.append(1000 * (time.perf_counter() - started))
    others = {
        "judges": lambda view: judges_html(board, t, view),
        "budgets": lambda view: budgets_html(board, t, view),
        "verifiers": lambda view: verifiers_html(board, t, view),
        "questions": lambda view: heat_map_html(board, "aime2026_tr", "correct", t, view),
    }
    by_page = {name: [_milliseconds(draw, view) for view in views] for name, draw in others.items()}
    slowest = max(statistics.median(found) for found in by_page.values())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    median = statistics.median(times)
    print(f"{len(board.rows)} rows, {len(board.unreadable)} unreadable")
    print(f"load {loading:.2f} s, view {median:.0f} ms median, {max(times):.0f} ms worst, memory {memory:.0f} MB")
    print(", ".join(f"{name} {statistics.median(found):.0f} ms median" for name, found in by_page.items()))
    return 0 if loading < 3 and max(median, slowest) < 300 and memory < 700 else 1


def _milliseconds(draw: Callable[[View], object], view: View) -> float:
    started = time.perf_counter()
    draw(view)
    return 1000 * (time.perf_counter() - started)


def main() -> int:
    """Write synthetic submissions and measure in a fresh process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, default=1000)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    if asked.folder is not None:
        return measure(asked.folder)
    with tempfile.TemporaryDirectory() as made:
        write_entries(Path(made), asked.submissions)
        return subprocess.run([sys.executable, __file__, "--folder", made], check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
