"""The built data set loads as people load data sets, holds the sources' rows, and is the same bytes each time."""

from __future__ import annotations

import csv
import errno
from pathlib import Path

import datasets
import pandas
import pyarrow.parquet
import pytest
import yaml
from click.testing import CliRunner

from multilingual_math_audit.benchmarks.build import Table, problem_tables, read_tables, write_dataset
from multilingual_math_audit.benchmarks.builders import COLUMNS, MathAuditBuilder
from multilingual_math_audit.commands.build import command
from multilingual_math_audit.errors import StorageError, UsageError
from multilingual_math_audit.loaders.problems import load_benchmark

STARTER = ["starter_en", "starter_tr", "starter_pt"]


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What `load_dataset` keeps goes into a folder of the tests."""
    datasets.config.HF_DATASETS_CACHE = tmp_path_factory.mktemp("datasets")
    datasets.disable_progress_bars()


@pytest.fixture(scope="session")
def tables() -> dict[str, Table]:
    return problem_tables(STARTER, load_benchmark)


@pytest.fixture(scope="session")
def built(tables: dict[str, Table], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "dataset"
    write_dataset(folder, tables)
    return folder


@pytest.fixture(scope="session")
def whole(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything, errata included, built by the command."""
    folder = tmp_path_factory.mktemp("whole") / "dataset"
    asked = [str(folder), "--sources", str(shared / "sources"), "--with-errata"]
    result = CliRunner().invoke(command, asked, catch_exceptions=False)
    assert result.exit_code == 0
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_each_configuration_loads(built: Path) -> None:
    """load_dataset by name gives 72 rows in one split, with the first question of its language."""
    firsts = {}
    for name in STARTER:
        data = datasets.load_dataset(str(built), name)
        assert list(data) == ["test"]
        assert data["test"].num_rows == 72
        firsts[name] = data["test"][0]["question"]
    assert firsts == {
        "starter_en": "What is $7 + 5$?",
        "starter_tr": "$7 + 5$ işleminin sonucu kaçtır?",
        "starter_pt": "Quanto é $7 + 5$?",
    }


def test_rows_survive_the_round_trip(built: Path) -> None:
    """Question, key, kind and item of every row are those of the problems."""
    rows = datasets.load_dataset(str(built), "starter_pt", split="test")
    for row, problem in zip(rows, load_benchmark("starter_pt"), strict=True):
        assert (row["id"], row["question"], row["answer"]) == (problem.id, problem.question, problem.answer)
        assert (row["answer_kind"], row["item"]) == (problem.answer_kind, problem.item)
        assert row["choices"] == list(problem.choices or [])
        assert row[
            "prompt"
        ] == f"{problem.question} Vamos pensar passo a passo e apresentar a resposta final dentro " + ("de \\boxed{}.")


def test_all_is_the_others_in_order(built: Path) -> None:
    """The `all` configuration has no file of its own and holds every row."""
    data = datasets.load_dataset(str(built), "all", split="test")
    assert data.num_rows == 3 * 72
    assert data["benchmark"][::72] == STARTER
    assert not (built / "all").exists()


def test_columns_are_flat_and_the_same_everywhere(built: Path) -> None:
    """Texts, integers and lists of texts only, in one order."""
    for path in built.glob("*/test.parquet"):
        schema = pyarrow.parquet.read_schema(path)
        assert schema.names == list(COLUMNS)
        assert {str(field.type) for field in schema} == {"string", "int64", "list<element: string>"}


def test_plain_readers_read_it(built: Path) -> None:
    """pandas, a slice of a row group by column as a viewer reads it, and the page index that lets it."""
    path = built / "starter_tr" / "test.parquet"
    assert pandas.read_parquet(path)["answer"][10] == "0,7"
    file = pyarrow.parquet.ParquetFile(path)
    assert file.read_row_group(0, columns=["id"]).slice(71)["id"].to_pylist() == ["starter_tr/72"]
    assert file.metadata.row_group(0).column(0).has_column_index


def test_the_same_input_gives_the_same_bytes(built: Path, tables: dict[str, Table], tmp_path: Path) -> None:
    """Another folder, and the same folder again: no byte differs."""
    write_dataset(tmp_path / "again", tables)
    assert contents(tmp_path / "again") == contents(built)
    write_dataset(tmp_path / "again", tables)
    assert contents(tmp_path / "again") == contents(built)


def test_metadata_counts_what_is_there(built: Path) -> None:
    """The README's YAML: configurations, row counts, byte counts, a default, no anchors."""
    text = (built / "README.md").read_text(encoding="utf-8").split("---\n")[1]
    card = yaml.safe_load(text)
    assert "&id" not in text
    assert [config["config_name"] for config in card["configs"]] == [*STARTER, "all"]
    assert [config.get("default", False) for config in card["configs"]] == [True, False, False, False]
    examples = {part["config_name"]: part["splits"][0]["num_examples"] for part in card["dataset_info"]}
    assert examples == {"starter_en": 72, "starter_tr": 72, "starter_pt": 72, "all": 216}
    sizes = {part["config_name"]: part["download_size"] for part in card["dataset_info"]}
    assert sizes["starter_tr"] == (built / "starter_tr" / "test.parquet").stat().st_size
    assert sizes["all"] == sum(sizes[name] for name in STARTER)
    assert card["license"] == ["cc-by-4.0"]
    assert card["language"] == ["en", "pt", "tr"]


def test_evaluation_tasks(built: Path) -> None:
    """Two tasks a benchmark with their own ids, each with a solver and a scorer, as Inspect asks for."""
    tasks = yaml.safe_load((built / "eval.yaml").read_text(encoding="utf-8"))["tasks"]
    assert [task["id"] for task in tasks[:2]] == ["starter_en__pass_at_1", "starter_en__cot_pass_at_1"]
    assert len({task["id"] for task in tasks}) == 6
    for task in tasks:
        assert set(task) == {
            "id", "config", "split", "field_spec", "epochs", "epoch_reducer", "solvers", "scorers",
        }  # fmt: skip
        assert {solver["name"] for solver in task["solvers"]} == {"generate"}
        assert {scorer["name"] for scorer in task["scorers"]} <= {"math", "model_graded_qa"}
    template = tasks[1]["scorers"][1]["args"]["template"]
    assert "{Q}|S}" in template.format(question="{Q}|S}", answer="", criterion="", instructions="")


def test_builders_are_builders(tables: dict[str, Table], tmp_path: Path) -> None:
    """The builder itself makes a split of its rows."""
    assert issubclass(MathAuditBuilder, datasets.GeneratorBasedBuilder)
    builder = MathAuditBuilder(config_name="starter_en", cache_dir=str(tmp_path), rows=tables["starter_en"].rows[:3])
    builder.download_and_prepare()
    assert builder.as_dataset("test")["answer"] == ["12", "9", "24"]


def test_a_configuration_of_another_kind_stays_out_of_all(tables: dict[str, Table], tmp_path: Path) -> None:
    """A table with columns of its own is written, loads, and is no part of `all` or of the tasks."""
    rows = [{"benchmark": "starter_en", "language": "en", "licence": "cc-by-4.0", "edit": "truncation"}]
    columns = {name: datasets.Value("string") for name in rows[0]}
    write_dataset(tmp_path / "d", {"starter_en": tables["starter_en"], "edited": Table("Edited", rows, columns)})
    assert datasets.load_dataset(str(tmp_path / "d"), "edited", split="test")["edit"] == ["truncation"]
    assert datasets.load_dataset(str(tmp_path / "d"), "all", split="test").num_rows == 72
    assert read_tables(tmp_path / "d")["edited"].columns is not None


def test_tables_read_back(built: Path, tables: dict[str, Table]) -> None:
    """What was written is what is read, `all` left out."""
    back = read_tables(built)
    assert list(back) == STARTER
    assert back["starter_tr"] == tables["starter_tr"]


def test_what_is_gone_is_removed(tables: dict[str, Table], tmp_path: Path) -> None:
    """A rebuild without a configuration leaves none of its files, and leaves other files alone."""
    write_dataset(tmp_path / "d", tables)
    (tmp_path / "d" / "notes.txt").write_text("mine")
    write_dataset(tmp_path / "d", {"starter_tr": tables["starter_tr"]})
    assert set(contents(tmp_path / "d")) == {
        "README.md", "eval.yaml", "notes.txt", "specs/starter_tr.yaml", "starter_tr/test.parquet",
    }  # fmt: skip


def test_other_folders_are_not_written_into(tables: dict[str, Table], tmp_path: Path) -> None:
    """A folder with something else in it is refused before anything is written."""
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(UsageError, match="holds something else"):
        write_dataset(tmp_path, tables)
    assert list(tmp_path.iterdir()) == [tmp_path / "thesis.tex"]


def test_an_unwritable_folder_is_said(tables: dict[str, Table], tmp_path: Path) -> None:
    """A path that runs through a file cannot be made."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="cannot be written"):
        write_dataset(tmp_path / "file" / "dataset", tables)


@pytest.mark.parametrize("where", ["pyarrow.parquet.write_table", "datasets.arrow_writer.ArrowWriter.write"])
def test_a_full_disk_is_said(
    where: str, tables: dict[str, Table], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No space for the file, or for what the builder keeps on the way: one message, and the build can be repeated."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(where, full)
    with pytest.raises(StorageError, match="No space left on device"):
        write_dataset(tmp_path / "d", {"starter_en": tables["starter_en"]})
    monkeypatch.undo()
    write_dataset(tmp_path / "d", {"starter_en": tables["starter_en"]})
    assert read_tables(tmp_path / "d")["starter_en"] == tables["starter_en"]


def test_whole_data_set_has_the_pinned_rows(whole: Path) -> None:
    """30, 30, 30, 32 and 166 rows by load_dataset, the starter's, and all of them together."""
    counts = {name: datasets.load_dataset(str(whole), name, split="test").num_rows for name in [
        "aime2026_en", "aime2026_tr", "aime2026_pt", "tubitak2026", "pt_exams", *STARTER, "all",
    ]}  # fmt: skip
    assert counts == {
        "aime2026_en": 30, "aime2026_tr": 30, "aime2026_pt": 30, "tubitak2026": 32, "pt_exams": 166,
        "starter_en": 72, "starter_tr": 72, "starter_pt": 72, "all": 504,
    }  # fmt: skip


def test_whole_data_set_has_the_sources_keys(whole: Path, shared: Path) -> None:
    """Keys of every row of the exams and the olympiad, read from the Parquet files, equal the sources'."""
    for name, file, column in [
        ("pt_exams", "pt_exams_math.csv", "ground_truth"), ("tubitak2026", "tubitak_math2026.csv", "Answer"),
    ]:  # fmt: skip
        with (shared / "sources" / file).open(encoding="utf-8", newline="") as source:
            wanted = [row[column] for row in csv.DictReader(source)]
        seen = pandas.read_parquet(whole / name / "test.parquet")["answer"].tolist()
        assert seen == ([key.strip("$") for key in wanted] if name == "tubitak2026" else wanted)


def test_without_errata_five_exam_rows_are_missing(shared: Path, tmp_path: Path) -> None:
    """161 rows by default."""
    asked = [str(tmp_path / "d"), "--sources", str(shared / "sources"), "--benchmarks", "pt_exams"]
    assert CliRunner().invoke(command, asked, catch_exceptions=False).exit_code == 0
    rows = pandas.read_parquet(tmp_path / "d" / "pt_exams" / "test.parquet")
    assert len(rows) == 161
    assert not {"pt_exams/38", "pt_exams/39", "pt_exams/43", "pt_exams/72", "pt_exams/139"} & set(rows["id"])
