"""A run folder survives kills, power loss, a full disk, a second writer and edits by hand."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest

from multilingual_math_audit import journal
from multilingual_math_audit.errors import RecordError, RunLocked, SettingsMismatch, StorageError, UsageError
from multilingual_math_audit.records import Grade, Judgment, Problem, Score, Solution
from multilingual_math_audit.store import Run

SETTINGS = {"solver": {"solver": "m", "temperature": 0.6}, "samples": {"b": 2}}


def solutions(count: int) -> list[Solution]:
    """Solutions with texts that hold what breaks careless line formats."""
    texts = ["plain", "two\nlines", "\u2028separator", 'quo"te \\boxed{1}', "emoji 🙂", "nul \x00 inside", ""]
    return [Solution(f"s{i}", "b/1", "m", i, texts[i % len(texts)] * 3) for i in range(count)]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run with ten solutions, each graded and judged once."""
    run = Run.create(tmp_path / "run", SETTINGS)
    run.append([Problem("b/1", "b", "1", "en", "1+1?", "2", "integer")])
    run.append(solutions(10))
    run.append([Grade(f"s{i}", "1", True, "correct") for i in range(10)])
    run.append([Judgment(f"j{i}", f"s{i}", "judge", 0, "\\boxed{yes}", "verdict", "yes") for i in range(10)])
    return run


def test_what_is_written_is_read_back(run: Run) -> None:
    """Any text comes back as it was, in order, also from the byte offset that a scan gave."""
    assert list(Run.open(run.folder).read(Solution)) == solutions(10)
    places = list(run.scan(Solution))
    assert [run.read_at(Solution, offset) for offset, _ in reversed(places)] == solutions(10)[::-1]
    with pytest.raises(RecordError, match="changed meanwhile"):
        run.read_at(Solution, 10**9)


def test_every_torn_tail_is_mended(run: Run) -> None:
    """A file cut after any byte of its last two lines keeps its whole lines, and writing the rest restores it."""
    whole = run.path(Solution).read_bytes()
    start = len(b"".join(whole.splitlines(keepends=True)[:-2]))
    for cut in [*range(start, len(whole), 5), len(whole) - 1]:
        run.path(Solution).write_bytes(whole[:cut])
        again = Run.open(run.folder)
        done = again.keys(Solution)
        assert len(done) == 8 + (cut >= whole.rindex(b"\n", 0, -1)) + (cut == len(whole) - 1)
        with again.writer(Solution) as writer:
            for solution in solutions(10):
                if solution.id not in done:
                    writer.append(solution)
        assert run.path(Solution).read_bytes() == whole
        assert again.damage == []


@pytest.mark.parametrize(
    "damage",
    [
        b'{"id":"s4","problem_id"',
        b"\x00" * 300,
        b"\xff\xfe garbage",
        b"[1, 2]",
        b'{"id": 7}',
        b'{"id":"s4","typo":1}',
        b"{}",
    ],
)
def test_damaged_line_is_named_set_aside_and_done_again(run: Run, damage: bytes) -> None:
    """A damaged line is reported with file and line; the next writer moves it to quarantine with what rested on it."""
    lines = run.path(Solution).read_bytes().splitlines(keepends=True)
    run.path(Solution).write_bytes(b"".join([*lines[:4], damage + b"\n", *lines[5:]]))
    again = Run.open(run.folder)
    assert again.keys(Solution) == {f"s{i}" for i in range(10) if i != 4}
    assert [(d.file, d.line) for d in again.damage] == [("solutions.jsonl", 5)]
    with again.writer(Solution) as writer:
        writer.append(solutions(10)[4])
    assert again.damage == []
    assert Run.open(run.folder).keys(Solution) == {f"s{i}" for i in range(10)}
    aside = [orjson.loads(line) for line in (run.folder / "quarantine.jsonl").read_bytes().splitlines()]
    assert [(row["file"], row["line"]) for row in aside] == [
        ("solutions.jsonl", 5), ("grades.jsonl", 5), ("judgments.jsonl", 5),
    ]  # fmt: skip
    # The new text may be another one, so the old grade and judgment do not count for it.
    assert "s4" not in {grade.solution_id for grade in again.read(Grade)}
    assert "s4" not in {judgment.solution_id for judgment in again.read(Judgment)}


def test_damaged_judgment_costs_only_itself(run: Run) -> None:
    """A damaged line in judgments.jsonl leaves solutions and grades alone."""
    path = run.path(Judgment)
    path.write_bytes(path.read_bytes().replace(b'"j3"', b'j3"'))
    again = Run.open(run.folder)
    assert len(again.keys(Judgment)) == 9
    again.append([])
    with again.lock():
        pass
    assert len(path.read_bytes().splitlines()) == 9
    assert len(again.keys(Grade)) == len(again.keys(Solution)) == 10


def test_random_damage_never_stops_a_reader(run: Run) -> None:
    """Whatever bytes are overwritten, reading gives sound records and work goes on; nothing else is raised."""
    whole = run.path(Solution).read_bytes()
    for seed in range(80):
        source = random.Random(seed)
        data = bytearray(whole)
        for _ in range(source.randint(1, 5)):
            at = source.randrange(len(data))
            data[at : at + source.randint(0, 9)] = source.randbytes(source.randint(0, 9))
        run.path(Solution).write_bytes(bytes(data))
        again = Run.open(run.folder)
        again.keys(Solution)
        with again.writer(Solution) as writer:
            writer.append(solutions(11)[10])
        fresh = Run.open(run.folder)
        assert "s10" in fresh.keys(Solution)
        assert fresh.damage == []


def test_same_key_twice_is_read_once(run: Run) -> None:
    """Work done twice counts once, and the first counts."""
    run.append([Solution("s1", "b/1", "m", 1, "another text")])
    assert [s for s in run.read(Solution) if s.id == "s1"] == [solutions(2)[1]]


def test_other_settings_are_refused_with_the_differences(run: Run) -> None:
    """Opening with other settings names each one that differs, and with the same ones goes on."""
    Run.create(run.folder, SETTINGS)
    with pytest.raises(SettingsMismatch, match=r"samples\.b is 2 there and 4 here; solver\.temperature is 0\.6 there"):
        Run.create(run.folder, {"solver": {"solver": "m", "temperature": 1.0}, "samples": {"b": 4}})
    run.add_settings("judges", "j", {"budget": 5})
    with pytest.raises(SettingsMismatch, match="budget is 5 there and 6 here"):
        run.add_settings("judges", "j", {"budget": 6})


def test_two_openings_add_judges_without_losing_one(run: Run) -> None:
    """Settings that another process wrote since this one opened the run are kept."""
    one, other = Run.open(run.folder), Run.open(run.folder)
    one.add_settings("judges", "a", {"budget": 1})
    other.add_settings("judges", "b", {"budget": 2})
    assert Run.open(run.folder).manifest["judges"] == {"a": {"budget": 1}, "b": {"budget": 2}}


@pytest.mark.parametrize(
    "manifest",
    [
        b"",
        b"{",
        b"[]",
        b'{"format": 1}',
        b'{"format": 99, "settings": {}}',
        b'{"format": 1, "settings": {"solver": "x"}}',
        b'{"format": 1, "settings": {"samples": 3}}',
        b'{"format": 1, "settings": {"samples": {"b": "4"}}}',
        b'{"format": 1, "settings": {}, "judges": ["j"]}',
        b'{"format": 1, "settings": {}, "judges": {"j": 4}}',
        b'{"format": 1, "settings": {}, "judges": {"j": {"samples": null}}}',
        b'{"format": 1, "settings": {}, "engines": {}}',
        b'{"format": 1, "settings": {}, "engines": [3]}',
        b'{"format": 1, "settings": {}, "engines": [{"versions": []}]}',
        b'{"format": 1, "settings": {}, "facts": []}',
    ],
)
def test_bad_manifest_is_an_error_that_names_it(tmp_path: Path, manifest: bytes) -> None:
    """A manifest that cannot be read, or of another format, is named; records without one are not taken over."""
    (tmp_path / "manifest.json").write_bytes(manifest)
    with pytest.raises(RecordError, match=r"manifest\.json"):
        Run.open(tmp_path)
    with pytest.raises(UsageError, match="no run"):
        Run.open(tmp_path / "absent")


HOLDER = """
import sys, time
from multilingual_math_audit.store import Run
with Run.open(sys.argv[1]).lock():
    print("held", flush=True)
    time.sleep(60)
"""


def _hold(run: Run) -> subprocess.Popen[str]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(run.folder)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def test_second_writer_is_told_who_writes_and_a_killed_one_leaves_no_lock(run: Run) -> None:
    """While one process writes, another is refused with its number; reading goes on; after SIGKILL the lock is free."""
    holder = _hold(run)
    try:
        with pytest.raises(RunLocked, match=f"process {holder.pid} on .* since "):
            run.append(solutions(1))
        assert len(run.keys(Solution)) == 10
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    run.append([Solution("s10", "b/1", "m", 10, "")])
    assert len(run.keys(Solution)) == 11


FORKING = """
import os, sys, time
from multilingual_math_audit.store import Run
with Run.open(sys.argv[1]).lock():
    if (worker := os.fork()) == 0:
        time.sleep(60)
    print(worker, flush=True)
    time.sleep(60)
"""


def test_forked_worker_does_not_keep_a_killed_parents_lock(run: Run) -> None:
    """A worker that outlives its killed parent does not go on holding the run."""
    parent = subprocess.Popen(
        [sys.executable, "-c", FORKING, str(run.folder)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    try:
        parent.kill()
        parent.wait()
        os.kill(worker, 0)
        for _ in range(100):
            try:
                with Run.open(run.folder).lock():
                    return
            except RunLocked:
                time.sleep(0.05)
        pytest.fail("the worker still holds the lock")
    finally:
        os.kill(worker, signal.SIGKILL)


FILLER = """
import resource, sys
from multilingual_math_audit.errors import StorageError
from multilingual_math_audit.records import Solution
from multilingual_math_audit.store import Run
run = Run.open(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
try:
    with run.writer(Solution) as writer:
        for number in range(10, 1000):
            writer.append(Solution(f"s{number}", "b/1", "m", number, "x" * 700))
except StorageError as error:
    print(error)
"""


def test_full_disk_stops_with_whole_lines_only(run: Run) -> None:
    """When no more can be written, the error names the file, no half line stays, and the same work then goes on."""
    said = subprocess.run(
        [sys.executable, "-c", FILLER, str(run.folder)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ).stdout
    assert "Cannot write" in said
    assert "solutions.jsonl" in said
    data = run.path(Solution).read_bytes()
    assert data.endswith(b"\n")
    assert len(data) <= 20_000
    again = Run.open(run.folder)
    assert len(again.keys(Solution)) == len(data.splitlines()) > 10
    assert again.damage == []


def test_replacing_is_all_or_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A derived file that cannot be written whole leaves the old one, and no temporary file stays behind."""
    run.replace(Score, [Score("pass_at_k", "b", 1, "d", value=0.5, k=1)])
    before = run.path(Score).read_bytes()

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journal.os, "replace", refuse)
    with pytest.raises(StorageError, match="No space left"):
        run.replace(Score, [])
    assert run.path(Score).read_bytes() == before
    monkeypatch.undo()
    (run.folder / ".scores.jsonl.999.part").write_bytes(b"left by a killed process")
    with run.lock():
        assert not list(run.folder.glob(".*.part"))


def test_power_loss_policy_is_kept(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is flushed by the first append five seconds after the last flush, and when the writer closes."""
    flushed: list[int] = []
    clock = [0.0]
    monkeypatch.setattr(journal.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(journal.os, "fsync", lambda file: flushed.append(file))
    with run.writer(Solution) as writer:
        for second, expected in ((1.0, 0), (4.9, 0), (5.1, 1), (6.0, 1), (11.0, 2)):
            clock[0] = second
            writer.append(Solution(f"t{second}", "b/1", "m", 0, ""))
            assert len(flushed) == expected
    assert len(flushed) == 3
