"""A run goes out as Parquet, Every Eval Ever and lm-eval samples, and what goes out can come back."""

from __future__ import annotations

import hashlib
import json
from importlib import resources
from pathlib import Path

import pandas
import pytest
from click.testing import CliRunner
from small_run import make_run

from multilingual_math_audit.cli import cli
from multilingual_math_audit.errors import RecordError, UsageError
from multilingual_math_audit.evaluate.score import score_run
from multilingual_math_audit.loaders.exports import export_every_eval_ever, export_lm_eval
from multilingual_math_audit.loaders.outputs.formats import read_outputs
from multilingual_math_audit.parquet import read_parquet, write_parquet
from multilingual_math_audit.records import Score, Solution
from multilingual_math_audit.store import KINDS, Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A whole, scored run, one solution of which is a variant with an edit record."""
    run = make_run(tmp_path / "run")
    first = next(run.read(Solution))
    edit = {"old": "1", "new": 2, "span": [3, 4], "nested": {"a": None}}
    run.append(
        [Solution("v", first.problem_id, "tiny", 0, "ü\u2028\x00", parent=first.id, edit="final", edit_record=edit)]
    )
    run.replace(Score, score_run(run, resamples=20))
    return run


def test_parquet_and_back_is_equal_to_the_byte(run: Run, tmp_path: Path) -> None:
    """Every file of the run comes back as it was, and pandas and datasets read what lies between."""
    rows = write_parquet(run, tmp_path / "parquet")
    assert rows["solutions.parquet"] == 21
    again = read_parquet(tmp_path / "parquet", tmp_path / "again")
    for kind in KINDS:
        assert again.path(kind).read_bytes() == run.path(kind).read_bytes()
    assert again.manifest == run.manifest
    table = pandas.read_parquet(tmp_path / "parquet" / "judgments.parquet")
    assert set(table["verdict"]) <= {"yes", "no"}
    import datasets

    loaded = datasets.Dataset.from_parquet(
        str(tmp_path / "parquet" / "solutions.parquet"), cache_dir=str(tmp_path / "c")
    )
    assert [row["text"] for row in loaded] == [s.text for s in run.read(Solution)]
    with pytest.raises(UsageError, match="already"):
        read_parquet(tmp_path / "parquet", tmp_path / "again")
    (tmp_path / "parquet" / "grades.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(RecordError, match=r"grades\.parquet"):
        read_parquet(tmp_path / "parquet", tmp_path / "third")


def test_every_eval_ever_keeps_its_schema(run: Run, tmp_path: Path) -> None:
    """Aggregate and instances validate, every defined score is there with its interval, and the checksum holds."""
    jsonschema = pytest.importorskip("jsonschema")
    text = (resources.files("multilingual_math_audit.loaders") / "schema" / "every_eval_ever_0.3.json").read_text()
    schema = json.loads(text)
    aggregate, samples = export_every_eval_ever(run, tmp_path / "out", organization="us")
    whole = json.loads(aggregate.read_text())
    jsonschema.validate(whole, {**schema, "$ref": "#/$defs/aggregate"})
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    validator = jsonschema.Draft202012Validator({**schema, "$ref": "#/$defs/instance"})
    for row in rows:
        validator.validate(row)
    assert len(rows) == 20 == whole["detailed_evaluation_results"]["total_rows"]
    assert whole["detailed_evaluation_results"]["checksum"] == hashlib.sha256(samples.read_bytes()).hexdigest()
    defined = {s.key: s.value for s in run.read(Score) if s.value is not None}
    assert {r["evaluation_result_id"]: r["score_details"]["score"] for r in whole["evaluation_results"]} == defined
    again, _ = export_every_eval_ever(run, tmp_path / "out", organization="us")
    assert again == aggregate
    assert json.loads(again.read_text()) == whole
    with pytest.raises(UsageError, match="math-audit score"):
        export_every_eval_ever(make_run(tmp_path / "unscored"), tmp_path / "out")


def test_lm_eval_samples_come_back_in(run: Run, tmp_path: Path) -> None:
    """What goes out as lm-eval samples is read by the importer of that format with the same texts in order."""
    (path,) = export_lm_eval(run, tmp_path / "out")
    texts = [sample.text for sample in read_outputs("lm-eval", path).samples]
    solutions = [s for s in run.read(Solution) if s.parent is None]
    order = sorted(solutions, key=lambda s: (int(s.problem_id.split("/")[1]), s.sample))
    assert texts == [s.text for s in order]


def test_commands(run: Run, tmp_path: Path) -> None:
    """compact, compact --back and each export do their work from the command line."""
    folder = str(run.folder)
    for words in (
        ["compact", folder],
        ["compact", folder + "/parquet", "--back", "-o", str(tmp_path / "again")],
        ["export", "every-eval-ever", folder, "-o", str(tmp_path / "eee")],
        ["export", "lm-eval", folder, "-o", str(tmp_path / "lm")],
        ["export", "parquet", folder, "-o", str(tmp_path / "pq")],
    ):
        result = CliRunner().invoke(cli, words, catch_exceptions=False)
        assert result.exit_code == 0, result.output
    assert CliRunner().invoke(cli, ["verify", str(tmp_path / "again")]).exit_code in (0, 1)
