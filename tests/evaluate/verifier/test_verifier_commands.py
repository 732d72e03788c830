"""The commands from states to numbers, on states made by the synthetic benchmark: what the docs say, in seconds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from multilingual_math_audit.cli import main
from multilingual_math_audit.evaluate.verifier.experiment import Experiment
from multilingual_math_audit.evaluate.verifier.groups import groups_from_arrays
from multilingual_math_audit.evaluate.verifier.model import MultiSequenceVerifier, VerifierConfig
from multilingual_math_audit.evaluate.verifier.practice import practice_problems
from multilingual_math_audit.evaluate.verifier.states import Shard, StateFolder, StatesHeader, write_shard
from multilingual_math_audit.evaluate.verifier.synthetic import SynStream, synstream
from multilingual_math_audit.evaluate.verifier.training import Regime, fit, plan, train
from multilingual_math_audit.evaluate.verifier.trial import SELECTION, STOPPING, keep_counts
from multilingual_math_audit.records import Problem, Score
from multilingual_math_audit.store import Run
from multilingual_math_audit.submissions.pack import pack, write_submission

HEADER = StatesHeader("m", "r1", 2, "post", "bfloat16", "every:9", "Answer: {", "exact", 16, 2)
PROBLEMS = 24


def make_states(folder: Path, first: int = 0) -> StateFolder:
    """States of streaming problems with 4 sequences each, as collect would have left them."""
    StateFolder.create(folder, HEADER)
    arrays = synstream(PROBLEMS, 5 + first, SynStream(N=4, A=3, d=16, T=2))
    for index, group in enumerate(groups_from_arrays(arrays)):
        number, count = first + index, len(group.lengths)
        columns = {"mean_logprob": torch.full((count,), -0.2), "mean_probability": torch.full((count,), 0.8)}
        group = replace(
            group,
            states=group.states.bfloat16(),
            problem=f"b/{number}",
            columns=columns,
            texts=tuple(str(number) for _ in range(count)),
        )
        tokens = torch.zeros(len(group.states), dtype=torch.long)
        write_shard(
            folder, HEADER, Shard(group, f"Question {number}?", f"i/{number}", "b", ("s",) * 4, tokens, tokens.float())
        )
    return StateFolder(folder)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder with states in it."""
    folder = tmp_path_factory.mktemp("verifier") / "run"
    opened = Run.create(folder, {"solver": {"solver": "m"}, "samples": {"b": 4}})
    opened.append([Problem(f"b/{n}", "b", f"i/{n}", "en", f"Question {n}?", "1", "integer") for n in range(PROBLEMS)])
    make_states(folder / "states")
    return folder


def call(*words: object) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in words])
    return int(end.value.code or 0)


FAST = ("--rates", "1e-3", "--seeds", 2, "--epochs", 1)


def test_train_select_and_submit(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Train, refuse what was trained on, select on the rest; numbers land in select.json, scores and submission."""
    out = run / "verifier"
    assert call("verifier", "train", run, "--scorers", "probe,msv1,msv4", *FAST, "--out", out) == 0
    assert "validation Brier" in capsys.readouterr().out
    assert call("verifier", "select", run, "--checkpoints", out) == 2
    assert "--unseen" in capsys.readouterr().err
    assert "verifier" not in json.loads(write_submission(Run.open(run)).read_text())
    assert call("verifier", "select", run, "--checkpoints", out, "--unseen", "--recalibrate", "isotonic") == 0
    shown = capsys.readouterr().out
    names = ("self-consistency", "token probability", "probe", "probe + vote", "msv1", "msv4")
    assert all(name in shown for name in names)
    rows = {row["selector"]: row for row in json.loads((out / "select.json").read_text())}
    assert set(names) <= set(rows)
    assert set(rows["msv4"]["best_of"]) == {"1", "2", "4"}
    opened = Run.open(run)
    scores = {(score.selector, score.k): score for score in opened.read(Score)}
    assert scores["msv4", 4].value == pytest.approx(rows["msv4"]["best_of"]["4"]["mean"])
    counted = pack(opened).verifier
    assert counted is not None
    written = json.loads((run / "submission.json").read_text())["verifier"]
    assert written == counted.model_dump(exclude_none=True)
    groups = counted.selectors["self-consistency"]["b"].best_of[-1]
    assert groups.correct / groups.groups == pytest.approx(rows["self-consistency"]["best_of"]["4"]["mean"])


def test_train_goes_on_and_refuses_other_settings(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same command trains nothing twice; other settings into the same folder are refused."""
    out = run / "again"
    words = ("verifier", "train", run, "--scorers", "probe", *FAST, "--out", out)
    assert call(*words) == 0
    before = (out / "probe" / "seed-0" / "model.safetensors").stat().st_mtime_ns
    assert call(*words) == 0
    assert (out / "probe" / "seed-0" / "model.safetensors").stat().st_mtime_ns == before
    assert call(*words[:-2], "--epochs", 2, "--out", out) == 2
    assert "other settings" in capsys.readouterr().err


def test_stream_chooses_thresholds_on_validation(run: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A streaming training and its stopping table, with figures; an accuracy out of reach is said, not invented."""
    pytest.importorskip("matplotlib")
    out = run / "stopper"
    assert call("verifier", "train", run, "--streaming", "--scorers", "probe,msv4", *FAST, "--out", out) == 0
    words = ("verifier", "stream", run, "--checkpoints", out, "--unseen")
    assert call(*words, "--tokens-per-second", 50, "--plots", tmp_path) == 0
    found = json.loads((out / "stream.json").read_text())
    assert {"generation", "elicitation", "checker", "verifier"} == set(found["seconds"])
    counted = pack(Run.open(run)).verifier
    assert counted is not None
    for row in found["scorers"]:
        kept = counted.selectors[row["scorer"]]["b"]
        points = {point["threshold"]: point for point in row["points"]}
        assert [part.threshold for part in kept.early_stopping] == sorted(points)[::5]
        for part in kept.early_stopping:
            assert part.correct / part.questions == pytest.approx(points[part.threshold]["accuracy"])
            assert part.tokens / part.questions == pytest.approx(points[part.threshold]["tokens"])
    assert {one["scorer"] for one in found["scorers"]} >= {"self-consistency", "msv4", "probe + vote"}
    assert (tmp_path / "early_stopping.png").stat().st_size > 1000
    capsys.readouterr()
    assert call(*words, "--accuracy", 1.0, "--out", tmp_path) == 0
    assert "not reached" in capsys.readouterr().out
    assert call("verifier", "select", run, "--checkpoints", out, "--unseen") == 2
    assert "without --streaming" in capsys.readouterr().err


def test_selection_and_stopping_keep_each_others_counts(run: Path) -> None:
    """Each trial replaces its own counts whole and leaves the other's; counts of another model's states go."""
    opened, states = Run.open(run), StateFolder(run / "states")
    path = run / "verifier.json"
    keep_counts(opened, states, {"a": {"b": {"best_of": [1]}}, "old": {"b": {"best_of": [2]}}}, SELECTION)
    keep_counts(opened, states, {"a": {"b": {"early_stopping": [3]}}}, STOPPING)
    keep_counts(opened, states, {"a": {"b": {"best_of": [4]}}, "c": {"b": {"best_of": [5]}}}, SELECTION)
    held = json.loads(path.read_text())
    assert held["selectors"] == {
        "a": {"b": {"early_stopping": [3], "best_of": [4]}}, "c": {"b": {"best_of": [5]}},
    }  # fmt: skip
    path.write_text(json.dumps(held | {"model": "another"}))
    keep_counts(opened, states, {"a": {"b": {"best_of": [6]}}}, SELECTION)
    assert json.loads(path.read_text())["selectors"] == {"a": {"b": {"best_of": [6]}}}
    path.unlink()


def test_states_given_apart_must_not_overlap(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Training and validation folders with a problem text in common are refused; different ones train."""
    words = ("verifier", "train", run, "--scorers", "probe", *FAST, "--out")
    assert call(*words, tmp_path / "a", "--validation", run) == 2
    assert "also in training" in capsys.readouterr().err
    make_states(tmp_path / "other", first=100)
    assert call(*words, tmp_path / "b", "--validation", tmp_path / "other") == 0
    assert Experiment.open(tmp_path / "b").validation is not None


def test_training_gives_the_same_bits_and_goes_on_from_its_state(tmp_path: Path) -> None:
    """One seed gives one result; a training stopped half-way and called again ends in the same bits."""
    groups = groups_from_arrays(synstream(12, 3, SynStream(N=4, A=3, d=16, T=2)))
    regime = Regime(size=4, batch=4, epochs=5, rate=1e-3)

    def make() -> MultiSequenceVerifier:
        return MultiSequenceVerifier(VerifierConfig(16, 2, 4, streaming=True))

    first, second = fit(make, groups, groups, regime), fit(make, groups, groups, regime)
    assert first.losses == second.losses
    state = tmp_path / "state.pt"
    cut_off = make().initialise(0)

    def stop(at: int, of: int, loss: float) -> None:
        if at == 55:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(cut_off, groups, regime, state=state, progress=stop)
    resumed = make()
    assert train(resumed, groups, regime, state=state) == first.losses
    for name, weight in resumed.state_dict().items():
        assert torch.equal(weight, first.model.state_dict()[name]), name
    assert sum(first.losses[-12:]) < sum(first.losses[:12])


def test_every_sequence_is_in_one_group_of_an_epoch() -> None:
    """An epoch's plan partitions each problem's sequences, never more than 64 a step, remainders included."""
    steps = plan([7, 16, 64], Regime(size=5, batch=64), epoch=1)
    seen = [(problem, i) for step in steps for problem, sequences in step.parts for i in sequences]
    assert sorted(seen) == [(p, i) for p, size in enumerate((7, 16, 64)) for i in range(size)]
    assert all(sum(len(s) for _, s in step.parts) <= 64 for step in steps)


def test_practice_problems_are_right() -> None:
    """Keys are recomputed from the two numbers of each question, and no question occurs twice."""
    problems = practice_problems(150)
    assert len({problem.question for problem in problems}) == 150
    for problem in problems:
        a, b = (int(word.strip(".?,")) for word in problem.question.split() if word.strip(".?,").isdigit())
        assert int(problem.answer) in (a + b, a - b, a * b)
