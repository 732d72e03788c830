"""Every number the board shows, computed anew from the JSON with fractions and plain loops."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from math import comb, isclose
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from synthetic_submissions import make_submission, write_entries

from multilingual_math_audit.leaderboard_app.api import judge_rows, leaderboard_rows, question_rows
from multilingual_math_audit.leaderboard_app.app import accepted_folder
from multilingual_math_audit.leaderboard_app.board import Board, load_board
from multilingual_math_audit.leaderboard_app.compare import compare_rows

STARTER = ("starter_en", "starter_tr", "starter_pt")
PAPER = ("aime2026_en", "aime2026_tr", "aime2026_pt", "tubitak2026")


def chance(n: int, c: int, k: int) -> Fraction:
    """Pass@k by its definition: one minus the share of k-subsets without a right sample."""
    return 1 - Fraction(comb(n - c, k), comb(n, k))


def resample(values: list[float], seed: int = 0) -> tuple[float, float]:
    """A percentile interval from 10,000 resamples of questions, drawn as documented."""
    generator = np.random.default_rng(seed)
    array, means = np.array(values), []
    block = max(1, 4_000_000 // len(values))
    for start in range(0, 10_000, block):
        drawn = generator.integers(0, len(values), size=(min(block, 10_000 - start), len(values)))
        means += [float(array[row].mean()) for row in drawn]
    return float(np.percentile(means, 2.5)), float(np.percentile(means, 97.5))


def entries(folder: Path) -> dict[str, dict[str, Any]]:
    return {path.name: json.loads(path.read_text())["submission"] for path in folder.glob("*.json")}


def assert_rows(board: Board, folder: Path, k: int, strategy: str, names: tuple[str, ...] = PAPER) -> int:
    shown = leaderboard_rows(board, f"k={k}&strategy={strategy}&" + "&".join(f"benchmarks={name}" for name in names))
    content = {s["solver"]["model"]: s for s in entries(folder).values() if "solver" in s}
    compared = 0
    for row in shown:
        submission = content[row["solver"]]
        parts = [submission["benchmarks"][name] for name in names]
        passed = [chance(n, c, k) for part in parts for n, c in zip(part["n"], part["correct"], strict=True)]
        first = [Fraction(c, n) for part in parts for n, c in zip(part["n"], part["correct"], strict=True)]
        assert isclose(row["pass_1"], float(sum(first) / len(first)), abs_tol=1e-12)
        assert isclose(row["pass_k"]["value"], float(sum(passed) / len(passed)), abs_tol=1e-12)
        low, high = resample([float(value) for value in passed])
        assert isclose(row["pass_k"]["low"], low, abs_tol=1e-9)
        assert isclose(row["pass_k"]["high"], high, abs_tol=1e-9)
        judged = [part["judges"][row["judge"]] for part in parts]
        if any(strategy not in part["approved"] for part in judged):
            assert row["cot_pass_k"] is None
            continue
        approved = [
            chance(n, a, k)
            for part, said in zip(parts, judged, strict=True)
            for n, a in zip(part["n"], said["approved"][strategy], strict=True)
        ]
        gaps = [p - a for p, a in zip(passed, approved, strict=True)]
        assert isclose(row["cot_pass_k"]["value"], float(sum(approved) / len(approved)), abs_tol=1e-12)
        assert isclose(row["difference"]["value"], float(sum(gaps) / len(gaps)), abs_tol=1e-12)
        low, high = resample([float(value) for value in gaps])
        assert isclose(row["difference"]["low"], low, abs_tol=1e-9)
        assert isclose(row["difference"]["high"], high, abs_tol=1e-9)
        if "completion_tokens" in parts[0]:
            samples = sum(sum(part["n"]) for part in parts)
            assert isclose(row["tokens"], sum(sum(part["completion_tokens"]) for part in parts) / samples)
            assert isclose(row["stop_rate"], sum(sum(part["stopped"]) for part in parts) / samples)
            asked = sum(sum(said["judgments"]) for said in judged)
            assert isclose(row["judge_stop_rate"], sum(sum(said["stopped"]) for said in judged) / asked)
        else:
            assert row["tokens"] is None
            assert row["stop_rate"] is None
        compared += 1
    return compared


@pytest.mark.parametrize("k", [1, 7, 64])
def test_starting_content_equals_an_independent_computation(k: int) -> None:
    """All rows that come with the package, against the JSON."""
    folder = accepted_folder()
    assert assert_rows(load_board(folder), folder, k, "majority") == 4


@pytest.mark.parametrize("strategy", ["any", "majority", "all", "strict_majority"])
@pytest.mark.parametrize("k", [1, 2])
def test_our_demo_run_equals_an_independent_computation(k: int, strategy: str) -> None:
    """The row of our own run on the starter set, under every strategy, against the JSON."""
    folder = accepted_folder()
    assert assert_rows(load_board(folder), folder, k, strategy, STARTER) == 1


def test_our_demo_run_says_what_it_is() -> None:
    """It is self-reported, since its records are not public, names its command, model and weights, and holds no text;
    its judge is marked as not audited and it covers every question of the starter set."""
    board = load_board(accepted_folder())
    (row,) = (row for row in board.rows if row.entry.submission.origin == "run")
    submission = row.entry.submission
    assert (row.trust, submission.raw_run) == ("self-reported", None)
    assert "math-audit demo" in str(submission.note)
    assert "SmolLM2-135M-Instruct" in str(submission.note)
    assert row.solver.revision is not None
    assert set(submission.records) == {"problems.jsonl", "solutions.jsonl", "grades.jsonl", "judgments.jsonl"}
    assert set(submission.benchmarks) == set(STARTER)
    assert all(len(counts.questions) == 72 for counts in submission.benchmarks.values())
    (line,) = leaderboard_rows(board, "&".join(f"benchmarks={name}" for name in STARTER))
    assert line["mark"] == "unaudited"


@pytest.mark.parametrize("strategy", ["any", "majority", "all", "strict_majority"])
def test_synthetic_content_equals_an_independent_computation(tmp_path: Path, strategy: str) -> None:
    """Generated rows under every strategy, against the JSON."""
    write_entries(tmp_path, 4, benchmarks=PAPER)
    assert assert_rows(load_board(tmp_path), tmp_path, 16, strategy) == 4


def test_the_papers_differences_stand_on_the_board() -> None:
    """Qwen2.5-32B base: the four differences of the paper's Table 2, in points, weighted by questions."""
    rows = leaderboard_rows(load_board(accepted_folder()), "k=64")
    shown = {row["judge"]: round(100 * row["difference"]["value"], 2) for row in rows}
    assert shown == {"Qwen3.6": 20.49, "R1-distill": 21.31, "Gemma4": 22.13, "V4-Flash": 22.95}


def test_audits_equal_the_pairs_of_the_json() -> None:
    """The sensitivities are differences of the published pairs, and the acceptances sums of the benchmarks."""
    published = next(s for s in entries(accepted_folder()).values() if "solver" not in s)
    rows = judge_rows(load_board(accepted_folder()))
    assert len(rows) == 3
    for row in rows:
        audit = published["judges"][row["judge"]]["audit"]
        for pair in audit["pairs"]:
            total = sum(pair[key] for key in ("both", "first_only", "second_only", "neither"))
            gap = (pair["first_only"] - pair["second_only"]) / total
            name = {("clean", "intermediate"): "chain", ("clean", "final_answer"): "answer"}.get(
                (pair["first"], pair["second"])
            )
            if name:
                assert isclose(row[name]["value"], gap, abs_tol=1e-12)
            if (pair["first"], pair["second"]) == ("final_answer", "consistent"):
                assert isclose(row["agreement"]["value"], -gap, abs_tol=1e-12)
        for edit, (accepted, n, _, _) in row["acceptance"].items():
            assert accepted == sum(part["accepted"][edit]["majority"] for part in audit["benchmarks"].values())
            assert n == sum(part["originals"] for part in audit["benchmarks"].values())
        assert "does not react to the tested chain errors" in row["verdict"]


def test_questions_are_the_counts_of_the_json() -> None:
    """The heat map's numbers, question by question."""
    solved = [s for s in entries(accepted_folder()).values() if "solver" in s]
    assert len(solved) == 2
    for submission in solved:
        labels = sorted(submission["judges"])
        for name, counts in submission["benchmarks"].items():
            rows = question_rows(load_board(accepted_folder()), name)
            for label, row in zip(labels, rows, strict=True):
                assert row["questions"] == counts["questions"]
                assert row["correct"] == counts["correct"]
                assert row["approved"] == counts["judges"][label]["approved"]["majority"]


def test_comparison_equals_a_sign_test_by_hand(tmp_path: Path) -> None:
    """Won, lost and tied questions, the mean difference, and the exact sign test from binomial coefficients."""
    write_entries(tmp_path, 2, benchmarks=PAPER)
    board = load_board(tmp_path)
    a, b = (make_submission(seed, benchmarks=PAPER) for seed in (0, 1))
    first, second = (next(row.id for row in board.rows if row.solver.model == s["solver"]["model"]) for s in (a, b))
    found = compare_rows(board, first, second, names=PAPER, k=3, metric="pass_k", strategy="majority")
    assert found is not None
    gaps = [
        chance(n, x, 3) - chance(n, y, 3)
        for name in PAPER
        for n, x, y in zip(
            a["benchmarks"][name]["n"], a["benchmarks"][name]["correct"], b["benchmarks"][name]["correct"], strict=True
        )
    ]
    won, lost = sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)
    tail = sum(comb(won + lost, i) for i in range(min(won, lost) + 1))
    assert (found.won, found.lost, found.tied) == (won, lost, len(gaps) - won - lost)
    assert isclose(found.difference.value, float(sum(gaps) / len(gaps)), abs_tol=1e-12)
    assert isclose(found.p, min(1.0, float(Fraction(2 * tail, 2 ** (won + lost)))), rel_tol=1e-9)


def test_ranks_are_shared_where_paired_intervals_reach_zero(tmp_path: Path) -> None:
    """Ties by the documented rule, with the resampling written anew."""
    write_entries(tmp_path, 6, benchmarks=PAPER[:2])
    board = load_board(tmp_path)
    rows = leaderboard_rows(board, "k=4&sort=pass_k")
    content = {s["solver"]["model"]: s for s in entries(tmp_path).values()}

    def values(row: dict[str, Any]) -> list[float]:
        parts = [content[row["solver"]]["benchmarks"][name] for name in PAPER[:2]]
        return [float(chance(n, c, 4)) for p in parts for n, c in zip(p["n"], p["correct"], strict=True)]

    expected, leader = [], 0
    for place, row in enumerate(rows):
        gaps = [x - y for x, y in zip(values(rows[leader]), values(row), strict=True)]
        if place and resample(gaps)[0] > 1e-12:
            leader = place
        expected.append(leader + 1)
    assert [row["rank"] for row in rows] == expected
    assert len(set(expected)) > 1


def test_pending_judgments_leave_the_number_out(tmp_path: Path) -> None:
    """Fail closed: with one solution not judged there is no CoT-Pass@k, and the row says how many are missing."""
    submission = make_submission(3, benchmarks=("aime2026_en",))
    judged = submission["benchmarks"]["aime2026_en"]["judges"]["judge/J1"]
    place = next(i for i, (c, a) in enumerate(zip(judged["judged"], judged["approved"]["any"], strict=True)) if c > a)
    judged["judged"][place] -= 1
    judged["pending"][place] += 1
    entry = {"acceptance": {"trust": "self-reported", "day": "2026-11-01"}, "submission": submission}
    judged["single_vote"][place] = min(judged["single_vote"][place], judged["judged"][place])
    judged["credited"][place] = min(judged["credited"][place], judged["judged"][place])
    (tmp_path / "a.json").write_text(json.dumps(entry))
    board = load_board(tmp_path)
    assert not board.unreadable, board.unreadable
    (row,) = leaderboard_rows(board, "k=2")
    assert row["cot_pass_k"] is None
    assert row["pass_k"] is not None
    assert (row["why"], row["pending"]) == ("pending", 1)


def test_missing_values_sort_last_both_ways(tmp_path: Path) -> None:
    """Rows without the number that is sorted by stand at the end, ascending and descending."""
    write_entries(tmp_path, 3, benchmarks=("aime2026_en",))
    alone = {
        "acceptance": {"trust": "verified", "day": "2026-11-01"},
        "submission": make_submission(9, benchmarks=("aime2026_en",), judges=()),
    }
    (tmp_path / "b.json").write_text(json.dumps(alone))
    board = load_board(tmp_path)
    for query in ("sort=cot_pass_k", "sort=cot_pass_k&ascending=1", "sort=judge_stop_rate&ascending=1"):
        rows = leaderboard_rows(board, query)
        assert rows[-1]["judge"] is None
        values = [row["cot_pass_k"]["value"] for row in rows[:-1]]
        if "cot" in query:
            assert values == sorted(values, reverse="ascending" not in query)


def test_numbers_do_not_depend_on_the_order_of_questions(tmp_path: Path) -> None:
    """A submission whose questions stand in another order gives the same row."""
    submission = make_submission(5, benchmarks=("aime2026_en",))
    counts = submission["benchmarks"]["aime2026_en"]
    order = list(range(30))
    random.Random(1).shuffle(order)

    def shuffle(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: shuffle(value) for key, value in part.items()}
        return [part[i] for i in order] if isinstance(part, list) else part

    rows = []
    for number, content in enumerate((counts, shuffle(counts))):
        submission["benchmarks"]["aime2026_en"] = content
        entry = {"acceptance": {"trust": "verified", "day": "2026-11-01"}, "submission": submission}
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "a.json").write_text(json.dumps(entry))
        (row,) = leaderboard_rows(load_board(folder), "k=5")
        rows.append({key: value for key, value in row.items() if key != "id"})
    assert rows[0] == rows[1]
