"""load_benchmark gives the sources' rows and keys, and refuses what is not the pinned text."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet
import pytest

from multilingual_math_audit import load_benchmark
from multilingual_math_audit.benchmarks.catalogue import Spec, find_spec
from multilingual_math_audit.errors import SourceError, UnknownName
from multilingual_math_audit.loaders import problems
from multilingual_math_audit.loaders.problems import TextDiffers
from multilingual_math_audit.loaders.sources import ChangedSource, EmptyBenchmark


@pytest.fixture
def folder(shared: Path) -> Path:
    return shared / "sources"


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_exams_equal_the_rebuilt_table_row_by_row(folder: Path) -> None:
    """Question and key of each of the 166 rows, joined by our key table, against an independent rebuild."""
    rows = read_csv(folder / "pt_exams_math.csv")
    loaded = load_benchmark("pt_exams", sources=folder, with_errata=True)
    assert [problem.id for problem in loaded] == [f"pt_exams/{row}" for row in range(166)]
    assert [problem.answer for problem in loaded] == [row["ground_truth"] for row in rows]
    assert [problem.question for problem in loaded] == [row["question"].strip() for row in rows]


def test_faulty_exam_rows_are_left_out_by_default(folder: Path) -> None:
    """161 rows; the five that are missing carry their reason when asked for."""
    kept = {problem.id for problem in load_benchmark("pt_exams", sources=folder)}
    every = load_benchmark("pt_exams", sources=folder, with_errata=True)
    left_out = {problem.id: problem.erratum for problem in every if problem.id not in kept}
    assert len(kept) == 161
    assert set(left_out) == {f"pt_exams/{row}" for row in (38, 39, 43, 72, 139)}
    assert "5/4" in str(left_out["pt_exams/38"])


def test_olympiad_keys_are_the_sources_without_dollars(folder: Path) -> None:
    """32 rows, numbered from 1; the dollars around each key are stripped and nothing else."""
    rows = read_csv(folder / "tubitak_math2026.csv")
    loaded = load_benchmark("tubitak2026", sources=folder)
    assert [problem.id for problem in loaded] == [f"tubitak2026/{row['Question_Number']}" for row in rows]
    assert [f"${problem.answer}$" for problem in loaded] == [row["Answer"] for row in rows]
    assert [problem.question for problem in loaded] == [row["Question_Text"].strip() for row in rows]


def test_aime_is_parallel_in_three_languages(folder: Path) -> None:
    """30 problems each, the same keys and items, no instruction left in the English text."""
    english, turkish, portuguese = (load_benchmark(f"aime2026_{code}", sources=folder) for code in ("en", "tr", "pt"))
    raw = [json.loads(line) for line in (folder / "aime2026_en.jsonl").read_text().splitlines()]
    assert [problem.answer for problem in english] == [row["answer"] for row in raw]
    assert turkish[6].id == "aime2026_tr/7"
    assert turkish[6].item == "aime2026/7" == portuguese[6].item
    assert [p.answer for p in english] == [p.answer for p in turkish] == [p.answer for p in portuguese]
    for problem, row in zip(english, raw, strict=True):
        assert "Please reason" not in problem.question
        assert row["prompt"].startswith(problem.question)
    table = pyarrow.parquet.read_table(folder / "aime2026_pt.parquet").to_pylist()
    assert [problem.question for problem in portuguese] == [row["problem"].strip() for row in table]


def test_notes_on_aime_problems_stay_with_them(folder: Path) -> None:
    """Typos are noted in the record and the problems are asked all the same."""
    noted = [problem.id for problem in load_benchmark("aime2026_tr", sources=folder) if problem.erratum]
    assert noted == ["aime2026_tr/10", "aime2026_tr/11", "aime2026_tr/13"]


def test_kinds_follow_the_keys(folder: Path) -> None:
    """Counts that were made by hand from the lists of keys."""
    kinds = [problem.answer_kind for problem in load_benchmark("pt_exams", sources=folder, with_errata=True)]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "integer": 69, "fraction": 41, "decimal": 26, "expression": 22, "percent": 4, "equation": 2, "radical": 2,
    }  # fmt: skip
    olympiad = [problem.answer_kind for problem in load_benchmark("tubitak2026", sources=folder)]
    assert {kind: olympiad.count(kind) for kind in set(olympiad)} == {
        "integer": 25, "fraction": 4, "radical": 2, "expression": 1,
    }  # fmt: skip


def small_spec(monkeypatch: pytest.MonkeyPatch) -> Spec:
    """A two-row spec read from a CSV without a pinned digest."""
    source = replace(find_spec("tubitak2026").sources[0], file="small.csv", columns=("Question_Text", "Answer"))
    spec = replace(
        find_spec("tubitak2026"), name="small", rows=2, sources=(source,), keys_sha256=None, questions_sha256=None,
        kinds={},
    )  # fmt: skip
    monkeypatch.setattr(problems, "find_spec", lambda name: spec)
    return spec


def write(folder: Path, *lines: str) -> Path:
    (folder / "small.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_a_small_source_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The synthetic source of the tests below is a good one."""
    small_spec(monkeypatch)
    write(tmp_path, "Question_Text,Answer", '"Kaç, kaç?",$4$', "Kim?,$-1$")
    assert [(p.question, p.answer) for p in load_benchmark("small", sources=tmp_path)] == [
        ("Kaç, kaç?", "4"), ("Kim?", "-1"),
    ]  # fmt: skip


def test_changed_columns_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is lacking, what was seen."""
    small_spec(monkeypatch)
    with pytest.raises(ChangedSource, match=r"lacks Answer.*Seen: Question_Text, Key"):
        load_benchmark("small", sources=write(tmp_path, "Question_Text,Key", "a,1", "b,2"))


def test_missing_rows_are_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One row where two are pinned."""
    small_spec(monkeypatch)
    with pytest.raises(ChangedSource, match=r"has 2 rows; small\.csv holds 1"):
        load_benchmark("small", sources=write(tmp_path, "Question_Text,Answer", "a,1"))


def test_an_empty_source_is_its_own_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A header and nothing else."""
    small_spec(monkeypatch)
    with pytest.raises(EmptyBenchmark, match="no problems"):
        load_benchmark("small", sources=write(tmp_path, "Question_Text,Answer"))


def test_changed_keys_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A digest of the keys stands in for an unknown digest of the file."""
    spec = small_spec(monkeypatch)
    monkeypatch.setattr(problems, "find_spec", lambda name: replace(spec, keys_sha256="0" * 64))
    with pytest.raises(ChangedSource, match=r"keys in small\.csv"):
        load_benchmark("small", sources=write(tmp_path, "Question_Text,Answer", "a,1", "b,2"))


def test_other_words_with_the_same_keys_are_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Another wording is used, with a warning that says so."""
    spec = small_spec(monkeypatch)
    monkeypatch.setattr(problems, "find_spec", lambda name: replace(spec, questions_sha256="0" * 64))
    with pytest.warns(TextDiffers, match="not word for word"):
        assert len(load_benchmark("small", sources=write(tmp_path, "Question_Text,Answer", "a,1", "b,2"))) == 2


@pytest.mark.parametrize(
    ("name", "kind", "content"),
    [
        ("x.parquet", "parquet", b"not parquet"),
        ("x.jsonl", "jsonl", b'{"a": 1}\n{"a": '),
        ("x.json", "exams", b"[1, 2"),
        ("x.csv", "csv", b"a\xff,b\n1,2\n"),
    ],
)
def test_a_file_of_another_format(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, kind: str, content: bytes
) -> None:
    """Bytes that are not what the format says give a SourceError with the file's name, not a traceback."""
    spec = small_spec(monkeypatch)
    (tmp_path / name).write_bytes(content)
    other = replace(spec, sources=(replace(spec.sources[0], file=name, format=kind),))  # type: ignore[arg-type]
    monkeypatch.setattr(problems, "find_spec", lambda name: other)
    with pytest.raises(SourceError, match=name):
        load_benchmark("small", sources=tmp_path)


def test_rows_that_are_no_mappings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A list of numbers where rows should be is a changed source."""
    spec = small_spec(monkeypatch)
    (tmp_path / "x.json").write_text("[1, 2]")
    other = replace(spec, sources=(replace(spec.sources[0], file="x.json", format="exams"),))
    monkeypatch.setattr(problems, "find_spec", lambda name: other)
    with pytest.raises(ChangedSource, match="lacks"):
        load_benchmark("small", sources=tmp_path)


def test_an_exam_question_that_is_gone(monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path) -> None:
    """The key table and the source must match one to one."""
    rows = json.loads((folder / "pheb_mathematics_a.json").read_text(encoding="utf-8"))
    (tmp_path / "mathematics_a.json").write_text(json.dumps(rows[1:]), encoding="utf-8")
    spec = find_spec("pt_exams")
    unpinned = replace(spec, sources=(replace(spec.sources[0], sha256=None),))
    monkeypatch.setattr(problems, "find_spec", lambda name: unpinned)
    with pytest.raises(ChangedSource, match=r"2006, 1\.ª FASE, group I, question 2 is in the source 0 times"):
        load_benchmark("pt_exams", sources=tmp_path)


def test_unknown_benchmarks() -> None:
    """A wrong name is said before any source is looked for."""
    with pytest.raises(UnknownName, match="starter_en"):
        load_benchmark("starter")
