"""From a run to the board: packing, recomputing, accepting, and the Hub."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from hub_server import HubServer
from starter_run import make_run

from multilingual_math_audit.cli import cli
from multilingual_math_audit.errors import AuditError
from multilingual_math_audit.records import Grade
from multilingual_math_audit.store import Run
from multilingual_math_audit.submissions.accept import read_entry
from multilingual_math_audit.submissions.pack import About, pack
from multilingual_math_audit.submissions.recompute import compare_with_rerun, compare_with_run
from multilingual_math_audit.submissions.validate import check

TOKEN = "hf_test"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A whole run over the English starter set."""
    return make_run(tmp_path / "run")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A local Hub that the client talks to."""
    with HubServer() as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        yield server


def call(*arguments: str) -> Result:
    result = CliRunner().invoke(cli, list(arguments))
    assert TOKEN not in result.output
    return result


def test_a_packed_run_is_sound_and_recomputes(run: Run) -> None:
    """What `pack` writes passes `check`, holds no text, and equals the records; one count changed is found."""
    submission = pack(run, About(submitter="Someone"))
    data = submission.to_json()
    assert check(data).faults == ()
    assert b"secret" not in data
    assert compare_with_run(submission, run) == []
    correct = sum(grade.correct for grade in run.read(Grade))
    assert sum(submission.benchmarks["starter_en"].correct) == correct
    content = json.loads(data)
    column = content["benchmarks"]["starter_en"]["completion_tokens"]
    column[3] += 1
    changed = check(json.dumps(content).encode()).submission
    assert changed is not None
    assert [fault.path for fault in compare_with_run(changed, run)] == [
        "benchmarks.starter_en.completion_tokens[starter_en/4]"
    ]


def test_a_rerun_agrees_with_itself_and_not_with_another(tmp_path: Path, run: Run) -> None:
    """A rerun of a part with the same skill agrees; one with quite another skill does not."""
    submission = pack(run)
    part = compare_with_rerun(submission, pack(make_run(tmp_path / "part", limit=30)))
    other = compare_with_rerun(submission, pack(make_run(tmp_path / "other", share=0.95)))
    assert part[0].agrees
    assert part[0].questions == 30
    assert not other[0].agrees


def test_a_partial_run_cannot_be_submitted(tmp_path: Path) -> None:
    """A run over some questions only is another question set, and `submit` says so."""
    make_run(tmp_path / "part", limit=10)
    result = call("submit", str(tmp_path / "part"), "--to", "org/board", "--dry-run")
    assert isinstance(result.exception, AuditError)
    assert "62 of 72 are missing" in str(result.exception)


def test_submit_twice_opens_one_pull_request(run: Run, hub: HubServer) -> None:
    """Dry run sends nothing; the first submission opens a pull request with one file; the second is refused, with
    and without what this machine remembers."""
    board = hub.add_repository("dataset", "org/board", {"README.md": b"x"})
    words = ("submit", str(run.folder), "--to", "org/board", "--submitter", "Someone")
    dry = call(*words, "--dry-run")
    assert dry.exit_code == 0, dry.output
    assert "nothing was sent" in dry.output
    assert not any(method == "POST" for method, _ in hub.requests)
    first = call(*words)
    assert first.exit_code == 0, (first.output, first.exception)
    assert list(board.pull_requests) == [1]
    name = pack(run, About(submitter="Someone")).digest
    assert set(board.files("refs/pr/1")) == {"README.md", f"incoming/{name}.json"}
    assert set(board.files("main")) == {"README.md"}
    assert check(board.files("refs/pr/1")[f"incoming/{name}.json"]).submission is not None
    second = call(*words)
    assert "was sent to org/board before" in str(second.exception)
    (run.folder / "submitted.json").unlink()
    third = call(*words)
    assert "is open" in str(third.exception)
    assert list(board.pull_requests) == [1]


def test_with_run_sends_records_only_when_asked(run: Run, hub: HubServer) -> None:
    """Texts leave the machine with --with-run alone."""
    board = hub.add_repository("dataset", "org/board")
    assert call("submit", str(run.folder), "--to", "org/board", "--with-run").exit_code == 0
    files = board.files("refs/pr/1")
    assert {path.rpartition("/")[2] for path in files if path.startswith("runs/")} == {
        "manifest.json", "problems.jsonl", "solutions.jsonl", "grades.jsonl", "judgments.jsonl",
    }  # fmt: skip


def test_a_refusal_of_the_hub_is_one_sentence(run: Run, hub: HubServer) -> None:
    """A missing repository and a server error become one paragraph without the token."""
    missing = call("submit", str(run.folder), "--to", "org/nowhere")
    assert isinstance(missing.exception, AuditError)
    assert "org/nowhere" in str(missing.exception)
    hub.add_repository("dataset", "org/board")
    hub.failures["/commit/"] = 403
    refused = call("submit", str(run.folder), "--to", "org/board")
    assert "403" in str(refused.exception)
    assert TOKEN not in str(refused.exception)


def test_model_card_entries(run: Run, hub: HubServer) -> None:
    """Percent with a task id per benchmark and metric, in a pull request on the model's repository."""
    model = hub.add_repository("model", "org/tiny", {"README.md": b"x"})
    result = call("submit", str(run.folder), "--model-card", "org/tiny", "--dataset", "org/bench")
    assert result.exit_code == 0, (result.output, result.exception)
    entries = yaml.safe_load(model.files("refs/pr/1")[".eval_results/org--bench.yaml"])
    counts = pack(run).benchmarks["starter_en"]
    majority = counts.judges["org/reader"].approved.majority or []
    expected = {
        "starter_en__pass_at_1": round(100 * sum(counts.correct) / sum(counts.n), 2),
        "starter_en__cot_pass_at_1": round(100 * sum(majority) / sum(counts.n), 2),
    }
    assert {entry["dataset"]["task_id"]: entry["value"] for entry in entries} == pytest.approx(expected)
    assert all(entry["dataset"]["id"] == "org/bench" for entry in entries)


def test_accept_decides_the_level_of_trust(tmp_path: Path, run: Run) -> None:
    """Counts alone are self-reported, with the records reproducible, with a rerun verified; the name is the digest."""
    (tmp_path / "evil name;.json").write_bytes(pack(run).to_json())
    file, into = str(tmp_path / "evil name;.json"), tmp_path / "accepted"
    make_run(tmp_path / "rerun", limit=30)
    levels = []
    for extra in ([], ["--run", str(run.folder)], ["--run", str(run.folder), "--rerun", str(tmp_path / "rerun")]):
        result = call("accept", file, "--into", str(into), "--changelog", str(tmp_path / "CHANGES.md"), *extra)
        assert result.exit_code == 0, (result.output, result.exception)
        (path,) = into.glob("*.json")
        assert re.fullmatch(r"[0-9a-f]{16}\.json", path.name)
        levels.append(read_entry(path.read_bytes()).acceptance.trust)
    assert levels == ["self-reported", "reproducible", "verified"]
    assert (tmp_path / "CHANGES.md").read_text().count("org/tiny") == 3
    again = call("accept", file, "--into", str(into), "--run", str(run.folder), "--rerun", str(tmp_path / "rerun"))
    assert "is there already" in str(again.exception)


def test_accept_refuses_counts_that_the_records_do_not_give(tmp_path: Path, run: Run) -> None:
    """One token more than the records hold, and the submission is neither reproducible nor verified."""
    content: dict[str, Any] = json.loads(pack(run).to_json())
    content["benchmarks"]["starter_en"]["completion_tokens"][0] += 1
    (tmp_path / "s.json").write_text(json.dumps(content))
    result = call("accept", str(tmp_path / "s.json"), "--into", str(tmp_path / "a"), "--run", str(run.folder))
    assert "not those of the run" in str(result.exception)
    told = call("verify-submission", str(tmp_path / "s.json"), str(run.folder))
    assert told.exit_code == 1
    assert "completion_tokens[starter_en/1]" in told.output


def test_push_space(tmp_path: Path, hub: HubServer) -> None:
    """The Space gets the app, its pinned requirements, its modules and the accepted submissions, in one commit."""
    result = call("push-space", "--repo", "org/space")
    assert result.exit_code == 0, (result.output, result.exception)
    files = hub.repositories[("space", "org/space")].files("main")
    assert {"app.py", "README.md", "requirements.txt"} <= set(files)
    assert any(path.startswith("accepted/") for path in files)
    assert all(re.fullmatch(rb"[a-z-]+==[\w.]+", line) for line in files["requirements.txt"].split())
    front = yaml.safe_load(files["README.md"].split(b"---")[1])
    assert (front["sdk"], front["app_file"]) == ("gradio", "app.py")
    assert f"gradio=={front['sdk_version']}".encode() in files["requirements.txt"]


def test_the_space_folder_imports_alone(tmp_path: Path) -> None:
    """Every module of the Space folder imports from that folder only, so none was forgotten."""
    import subprocess
    import sys

    from multilingual_math_audit.leaderboard_app.app import accepted_folder
    from multilingual_math_audit.submissions.space import write_space

    write_space(tmp_path / "space", accepted_folder())
    code = (
        "import sys, pathlib; sys.path[:] = [p for p in sys.path if p != sys.argv[1]]; sys.path.insert(0, '.');"
        "sys.meta_path[:] = [f for f in sys.meta_path if '__editable__' not in repr(f)];"
        "import importlib; names = ['.'.join(p.with_suffix('').parts) for p in sorted(pathlib.Path('.').rglob('*.py'))"
        " if p.name != '__init__.py' and p.parts[0] != 'app.py'];"
        "[importlib.import_module(n) for n in names if n != 'app'];"
        "import multilingual_math_audit as m; print(m.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parents[2])],
        cwd=tmp_path / "space",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert str(tmp_path) in done.stdout or done.stdout.startswith("./") or "space" in done.stdout
