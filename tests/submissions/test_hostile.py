"""Submissions made to mislead or to hang the board: each is refused by name, or does no harm."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starter_run import make_run
from synthetic_submissions import make_submission

from multilingual_math_audit.errors import AuditError
from multilingual_math_audit.leaderboard_app.api import judge_rows, leaderboard_rows
from multilingual_math_audit.leaderboard_app.board import load_board
from multilingual_math_audit.leaderboard_app.pages import budgets_html
from multilingual_math_audit.leaderboard_app.tabs import preview_html
from multilingual_math_audit.leaderboard_app.texts import Texts
from multilingual_math_audit.submissions.pack import label_of, pack
from multilingual_math_audit.submissions.submission import MAX_BYTES, MAX_ORIGINALS, MAX_SAMPLES
from multilingual_math_audit.submissions.validate import check

BENCH = "aime2026_en"
T = Texts("en")


def small(seed: int = 1, **options: Any) -> dict[str, Any]:
    return make_submission(seed, benchmarks=(BENCH,), **options)


def faults(content: dict[str, Any]) -> str:
    return "\n".join(map(str, check(json.dumps(content).encode()).faults))


def write(folder: Path, name: str, submission: dict[str, Any], trust: str = "self-reported", day: int = 1) -> None:
    folder.mkdir(exist_ok=True)
    entry = {"acceptance": {"trust": trust, "day": f"2026-11-{day:02d}"}, "submission": submission}
    (folder / name).write_text(json.dumps(entry))


def pooled_audit(originals: int, *, reads: bool = True) -> dict[str, Any]:
    """An audit by pooled pairs of a judge that rejects every wrong number inside, or none."""
    accepted = dict.fromkeys(("clean", "intermediate", "final_answer", "consistent", "truncation"), originals)
    accepted["intermediate"] = 0 if reads else originals
    pair = {"both": 0, "first_only": originals, "second_only": 0, "neither": 0}
    same = {"both": originals, "first_only": 0, "second_only": 0, "neither": 0}
    return {
        "judgments": 3,
        "benchmarks": {
            BENCH: {"originals": originals, "accepted": {key: {"majority": n} for key, n in accepted.items()}}
        },
        "pairs": [{"first": "clean", "second": "intermediate", **(pair if reads else same)}],
    }


def set_text(text: str) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["submitter"].update(name=text)


def borrow_an_audit(content: dict[str, Any]) -> None:
    content["judges"]["judge/J1"]["model"] = "Well-Audited"


def end_in_a_space(content: dict[str, Any]) -> None:
    content["solver"]["model"] += " "


def two_spaces(content: dict[str, Any]) -> None:
    content["solver"]["family"] = "Qwen  3"


def ask_for_endless_samples(content: dict[str, Any]) -> None:
    counts = content["benchmarks"][BENCH]
    counts["samples"] = MAX_SAMPLES + 1
    counts["n"] = [MAX_SAMPLES + 1] * len(counts["n"])


def audit_a_million(content: dict[str, Any]) -> None:
    content["judges"]["judge/J1"]["audit"] = pooled_audit(MAX_ORIGINALS + 1)


def audit_many_in_parts(content: dict[str, Any]) -> None:
    audit = pooled_audit(MAX_ORIGINALS)
    del audit["pairs"]
    audit["benchmarks"]["aime2026_tr"] = audit["benchmarks"][BENCH]
    content["judges"]["judge/J1"]["audit"] = audit


def verify_elsewhere(content: dict[str, Any]) -> None:
    content["verifier"] = {"model": "v", "selectors": {"msv": {"no-such-set": {"best_of": []}}}}


def choose_among_more_than_there_are(content: dict[str, Any]) -> None:
    best = [{"size": 65, "groups": 1, "correct": 1}]
    content["verifier"] = {"model": "v", "selectors": {"msv": {BENCH: {"best_of": best}}}}


def infinity_by_exponent(content: dict[str, Any]) -> None:
    content["cost"] = {"usd": 1e999}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (set_text("A\u0301\u0302\u0303\u0304\u0305"), "piles more than 3 marks"),
        (set_text(" \u2003\u00a0 "), "nothing but spaces"),
        (set_text("\u3164"), "U+3164"),
        (set_text("Group\u00ad 1"), "U+00AD"),
        (borrow_an_audit, "stands for Well-Audited"),
        (end_in_a_space, "ends in a space"),
        (two_spaces, "two in a row"),
        (ask_for_endless_samples, "less than or equal to 4096"),
        (audit_a_million, "less than or equal to 10000"),
        (audit_many_in_parts, "20000 originals in all"),
        (verify_elsewhere, "no such benchmark"),
        (choose_among_more_than_there_are, "the best of 65, and a question has 64 samples"),
        (infinity_by_exponent, "Infinity is no number"),
    ],
)
def test_what_misleads_or_hangs_is_refused(change: Callable[[dict[str, Any]], None], told: str) -> None:
    """Names that look alike or empty, borrowed audits, counts too large to draw, verifiers of nothing: all named."""
    content = small()
    assert faults(content) == ""
    change(content)
    assert told in faults(content)


def test_names_in_many_scripts_stay_possible() -> None:
    """Accents, Turkish, Vietnamese with two marks on a letter, Thai and Hindi names pass."""
    for name in ("Ömer Şahin", "João d'Ávila", "Nguye\u0302\u0303n", "สมชาย รักเรียน", "हिन्दी टीम", "李雷", "👩 team"):
        content = small()
        content["submitter"]["name"] = name
        assert faults(content) == "", name


def test_the_largest_sound_files_are_drawn_in_seconds(tmp_path: Path) -> None:
    """What the limits let through does not hang a visitor: an upload with the largest audit, and the most samples."""
    content = small()
    content["judges"]["judge/J1"]["audit"] = pooled_audit(MAX_ORIGINALS)
    counts = content["benchmarks"][BENCH]
    counts["samples"] = MAX_SAMPLES
    counts["n"] = [MAX_SAMPLES] * len(counts["n"])
    write(tmp_path / "a", "a.json", content)
    start = time.process_time()
    assert "Solver-1" in preview_html(load_board(tmp_path / "nothing"), check(json.dumps(content).encode()), T)
    board = load_board(tmp_path / "a")
    assert leaderboard_rows(board, f"k={MAX_SAMPLES // 2}")[0]["pass_k"] is not None
    assert "Solver-1" in budgets_html(board, T)
    assert time.process_time() - start < 20


def test_a_small_or_unchecked_audit_does_not_replace_a_better_one(tmp_path: Path) -> None:
    """A judge's mark follows the audit of the highest trust, then of the most originals, whichever came last."""
    first, second, third = small(1), small(2), small(3)
    first["judges"]["judge/J1"]["audit"] = pooled_audit(700, reads=False)
    second["judges"]["judge/J1"]["audit"] = pooled_audit(20, reads=True)
    third["judges"]["judge/J1"]["audit"] = pooled_audit(60, reads=True)
    write(tmp_path, "a.json", first, day=1)
    write(tmp_path, "b.json", second, day=20)
    (row,) = judge_rows(load_board(tmp_path))
    assert row["verdict"][0] == "does not react to the tested chain errors"
    assert {line["mark"] for line in leaderboard_rows(load_board(tmp_path), "")} == {"blind"}
    write(tmp_path, "c.json", third, "verified", day=2)
    (row,) = judge_rows(load_board(tmp_path))
    assert row["originals"] == 60


def test_one_content_stands_once(tmp_path: Path) -> None:
    """A file copied under another name, with another trust, is one row: that of the highest trust."""
    for number, trust in enumerate(("self-reported", "verified", "reproducible")):
        write(tmp_path, f"{number}.json", small(), trust)
    (row,) = leaderboard_rows(load_board(tmp_path), "")
    assert row["trust"] == "verified"


def test_what_is_no_file_is_left_out_and_said(tmp_path: Path) -> None:
    """A folder, a pipe, a link to nowhere, a device without end and a file too large are reported, and none hangs."""
    write(tmp_path, "good.json", small())
    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "nowhere.json").symlink_to(tmp_path / "gone")
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    (tmp_path / "large.json").write_bytes(b" " * (MAX_BYTES + 10))
    board = load_board(tmp_path)
    assert len(board.rows) == 1
    assert {item.file: item.fault for item in board.unreadable} == dict.fromkeys(
        ("folder.json", "pipe.json", "nowhere.json", "zero.json"), "not an ordinary file"
    ) | {"large.json": "Too large: a submission has at most 4,000,000 bytes."}


def test_a_judge_called_none_is_not_the_absence_of_one(tmp_path: Path) -> None:
    """The filter for rows without a judge does not find a judge of that name."""
    write(tmp_path, "a.json", small(1, judges=("none",)))
    write(tmp_path, "b.json", small(2, judges=()))
    board = load_board(tmp_path)
    assert [row["judge"] for row in leaderboard_rows(board, "judges=none")] == ["none"]
    assert [row["judge"] for row in leaderboard_rows(board, "judges=(none)")] == [None]


def test_two_judges_of_one_label_are_refused(tmp_path: Path) -> None:
    """Local judges that end in the same name would overwrite each other's counts; packing says so."""
    run = make_run(tmp_path / "run", limit=2)
    for name in ("/first/judge", "/second/judge"):
        run.add_settings("judges", name, {"samples": 3, "budget": 128, "mode": "thinking"})
    with pytest.raises(AuditError, match="would both be called judge"):
        pack(run)
    assert label_of("a  b /") == "a b"
