"""Runs that each did a part of the work become one, with nothing lost, doubled or mixed."""

from __future__ import annotations

from pathlib import Path

import chat_server
import pytest
from click.testing import CliRunner
from small_run import make_run

from multilingual_math_audit.cli import cli
from multilingual_math_audit.errors import SettingsMismatch, UsageError
from multilingual_math_audit.evaluate.score import score_run
from multilingual_math_audit.records import Grade, Judgment, Problem, Record, Solution
from multilingual_math_audit.shards import merge
from multilingual_math_audit.store import Run

FILES: tuple[type[Record], ...] = (Problem, Solution, Grade, Judgment)


def contents(run: Run) -> dict[str, list[bytes]]:
    """Every record of a run, sorted, so that two runs can be compared whatever their order."""
    return {kind.file: sorted(record.to_json() for record in run.read(kind)) for kind in FILES}


def test_four_shards_make_the_whole_run(tmp_path: Path) -> None:
    """Shards are disjoint, together they are the undivided run, and the scores are equal to the byte."""
    whole = make_run(tmp_path / "whole")
    parts = [make_run(tmp_path / f"part-{k}", shard=(k, 4)) for k in (1, 2, 3, 4)]
    keys = [part.keys(Solution) for part in parts]
    assert sum(map(len, keys)) == len(set().union(*keys)) == 20
    report = merge(parts, tmp_path / "joined")
    joined = Run.open(tmp_path / "joined")
    assert contents(joined) == contents(whole)
    assert report.holes == report.conflicts == []
    assert [s.to_json() for s in score_run(joined)] == [s.to_json() for s in score_run(whole)]
    assert "shard" not in joined.settings
    assert [part["shard"] for part in joined.manifest["parts"]] == [[1, 4], [2, 4], [3, 4], [4, 4]]


def test_merging_again_adds_nothing(tmp_path: Path) -> None:
    """The same command twice, or with a part twice, leaves every file as it was to the byte."""
    parts = [make_run(tmp_path / f"part-{k}", shard=(k, 2)) for k in (1, 2)]
    merge(parts, tmp_path / "joined")
    before = {path.name: path.read_bytes() for path in (tmp_path / "joined").glob("*.json*")}
    report = merge([*parts, parts[0]], tmp_path / "joined")
    assert {path.name: path.read_bytes() for path in (tmp_path / "joined").glob("*.json*")} == before
    assert set(report.taken.values()) == {0}


def test_missing_part_is_reported_as_holes(tmp_path: Path) -> None:
    """Without one of four parts its samples are listed, and taking it in later fills them."""
    parts = [make_run(tmp_path / f"part-{k}", shard=(k, 4)) for k in (1, 2, 3, 4)]
    report = merge(parts[:3], tmp_path / "joined")
    lacking = {(s.problem_id, s.sample) for s in parts[3].read(Solution)}
    assert set(report.holes) == lacking
    assert merge([parts[3]], tmp_path / "joined").holes == []


def test_mixed_settings_are_refused(tmp_path: Path) -> None:
    """Parts of runs with other samples or another judge's settings are refused with the difference."""
    one = make_run(tmp_path / "one", shard=(1, 2))
    with pytest.raises(SettingsMismatch, match=r"samples\.toy is 4 there and 8 here"):
        merge([one, make_run(tmp_path / "two", samples=8, shard=(2, 2))], tmp_path / "joined")
    other = make_run(
        tmp_path / "three", shard=(2, 2), judge={"judge": "reader", "samples": 3, "stop_early": "majority"}
    )
    with pytest.raises(SettingsMismatch, match="stop_early"):
        merge([one, other], tmp_path / "other")
    with pytest.raises(UsageError, match="one of the runs"):
        merge([one], one.folder)


def test_two_texts_of_one_solution_keep_their_own_judgments_apart(tmp_path: Path) -> None:
    """When two runs sampled one solution differently, the first counts, and nothing said of the other is mixed in."""
    one, two = make_run(tmp_path / "one"), Run.create(tmp_path / "two", make_run(tmp_path / "one").settings)
    two.add_settings("judges", "reader", one.manifest["judges"]["reader"])
    same = next(s for s in one.read(Solution) if s.id in {j.solution_id for j in one.read(Judgment)})
    two.append([*one.read(Problem), Solution(same.id, same.problem_id, "tiny", same.sample, "another text")])
    two.append([Judgment("x", same.id, "reader", 3, "\\boxed{no}", "verdict", "no")])
    report = merge([one, two], tmp_path / "joined")
    assert report.conflicts == [same.id]
    assert contents(Run.open(tmp_path / "joined")) == contents(one)


def test_command_says_what_it_did_and_fails_on_holes(tmp_path: Path) -> None:
    """The verb prints counts, lists holes and exits with 1 while there are any."""
    for k in (1, 2):
        make_run(tmp_path / f"part-{k}", shard=(k, 2))
    runner = CliRunner()
    first = runner.invoke(cli, ["merge", str(tmp_path / "part-1"), "-o", str(tmp_path / "joined")])
    assert first.exit_code == 1
    assert "samples are in no part: toy/" in first.output
    second = runner.invoke(
        cli, ["merge", *(str(tmp_path / f"part-{k}") for k in (1, 2)), "-o", str(tmp_path / "joined")]
    )
    assert second.exit_code == 0
    assert "solutions.jsonl: " in second.output


def test_slurm_array_is_the_undivided_run(tmp_path: Path) -> None:
    """Four array tasks, each a solve and a grade of its part, merge into what one solve of everything gives."""

    def math_audit(*words: str, **variables: str) -> None:
        result = CliRunner(env=variables).invoke(cli, list(words), catch_exceptions=False)
        assert result.exit_code == 0, result.output

    with chat_server.ChatServer(lambda messages, seed: f"\\boxed{{{seed % 9}}}", model="tiny") as server:
        solve = ["solve", "--solver", "tiny", "--engine", "server", "--endpoint", server.url]
        solve += ["--benchmarks", "starter_pt", "--limit", "6", "--n", "4"]
        math_audit(*solve, "--out", str(tmp_path / "whole"))
        for task in range(3, 7):
            array = {"SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_TASK_MIN": "3", "SLURM_ARRAY_TASK_COUNT": "4"}
            math_audit(*solve, "--shard", "slurm", "--out", str(tmp_path / f"part-{task}"), **array)
            math_audit("grade", str(tmp_path / f"part-{task}"))
    math_audit("grade", str(tmp_path / "whole"))
    math_audit("merge", *(str(tmp_path / f"part-{task}") for task in range(3, 7)), "-o", str(tmp_path / "joined"))
    assert contents(Run.open(tmp_path / "joined")) == contents(Run.open(tmp_path / "whole"))
