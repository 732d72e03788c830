"""Files of other harnesses become runs: every sample, its text, how it ended, and nothing guessed.

`files/` holds outputs written by lm-evaluation-harness 0.4.13 (a local server as the model), inspect 0.3.285 (its mock
model) and lighteval 0.13.0 (SmolLM2, 16 tokens); the other formats are written here to their documented fields.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from click.testing import CliRunner

from multilingual_math_audit.cli import cli
from multilingual_math_audit.errors import AuditError, SettingsMismatch, UsageError
from multilingual_math_audit.evaluate.score import count_questions
from multilingual_math_audit.evaluate.soundness import check_run
from multilingual_math_audit.loaders.outputs.formats import FORMATS, read_outputs
from multilingual_math_audit.loaders.outputs.importing import ImportPlan, ImportReport, import_outputs
from multilingual_math_audit.loaders.problems import load_benchmark
from multilingual_math_audit.records import Grade, Judgment, Solution
from multilingual_math_audit.store import Run

FILES = Path(__file__).parent / "files"
SUM, EGGS = "What is $7 + 5$?", "A box holds 6 eggs. How many eggs are there in 4 full boxes?"


def bring_in(form: str, path: Path, out: Path, **plan: Any) -> tuple[Run, ImportReport]:
    """Import a file against the English starter set."""
    columns = plan.pop("columns", None)
    return import_outputs(
        lambda: read_outputs(form, path, columns), load_benchmark("starter_en"), out, ImportPlan(form, **plan)
    )


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_lm_eval(tmp_path: Path) -> None:
    """Three repeats of two documents, written once for each of two filters, are six samples in their order."""
    run, report = bring_in("lm-eval", FILES, tmp_path / "run")
    solutions = list(run.read(Solution))
    assert [s.text for s in solutions] == [
        "Adding: \\boxed{12}.", "It is \\boxed{13}.", "So \\boxed{12}.",
        "\\boxed{24}", "No idea.", "4 times 6 is \\boxed{24}.",
    ]  # fmt: skip
    assert [(s.problem_id, s.sample) for s in solutions] == [(f"starter_en/{p}", i) for p in (1, 3) for i in range(3)]
    assert {s.finish_reason for s in solutions} == {"unknown"}
    assert run.settings["solver"]["solver"] == "tiny"
    assert run.settings["solver"]["harness"]["lm_eval_version"] == "0.4.13"
    assert report.left_out == []


def test_inspect(tmp_path: Path) -> None:
    """Three epochs of two samples keep their uuid, reasoning, tokens, marks, and the one that met its limit."""
    run, report = bring_in("inspect", FILES / "inspect.eval", tmp_path / "run")
    by_place = {(s.problem_id, s.sample): s for s in run.read(Solution)}
    assert len(by_place) == 6
    assert by_place["starter_en/1", 2].finish_reason == "length"
    assert by_place["starter_en/1", 2].text == "Long and unfinished"
    assert by_place["starter_en/3", 1].thinking == "four sixes"
    assert by_place["starter_en/3", 1].text == "4*6 = \\boxed{24}"
    assert by_place["starter_en/1", 0].completion_tokens == 7
    assert run.settings["solver"]["solver"] == "mockllm/model"
    assert all((s.source or "").startswith("inspect: ") and len(s.source or "") > 25 for s in by_place.values())
    assert report.marks == 6


def evalhub_folder(folder: Path) -> Path:
    """A benchmark's folder of the paper's harness: lines of tasks interleaved, one judged, one failed."""

    def answer(text: str, finish: str = "stop") -> dict[str, Any]:
        message = {"role": "assistant", "content": text}
        return {
            "choices": [{"message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 5},
        }

    raw = [
        {"task_id": "START/3", "response": answer("\\boxed{24}")},
        {"task_id": "START/1", "response": answer("<think>7 and 5</think>\\boxed{12}")},
        {"task_id": "START/3", "response": answer("I will", "length")},
        {"task_id": "START/1", "response": {"content": "\\boxed{12}"}},
    ]
    results = [
        {"task_id": "START/1", "solutions": ["12", "12"], "ground_truth": "12", "correct": ["cot_false", True]},
        {"task_id": "START/3", "solutions": ["24", ""], "ground_truth": "24", "correct": [True, False]},
    ]
    votes = [
        {"task_id": "START/1_gen_0", "yes_count": 1, "no_count": 2, "invalid_count": 0, "majority_correct": False},
        {"task_id": "START/1_gen_1", "yes_count": 1, "no_count": 0, "invalid_count": 2, "majority_correct": True},
        {"task_id": "START/3_gen_0", "yes_count": 3, "no_count": 0, "invalid_count": 0, "majority_correct": True},
    ]
    place = folder / "M_t0.6_max64" / "start"
    for name, rows in (("raw", raw), ("results", results), ("cot_majority", votes)):
        lines(place / f"start_{name}.jsonl", rows)
    return place


def test_paper_harness(tmp_path: Path) -> None:
    """The n-th line of a task is its generation n; marks and votes land on it, the majority is its own."""
    run, report = bring_in("evalhub", evalhub_folder(tmp_path), tmp_path / "run", rename={"START/": "starter_en/"})
    assert [(s.problem_id, s.sample, s.finish_reason) for s in run.read(Solution)] == [
        ("starter_en/3", 0, "stop"), ("starter_en/1", 0, "stop"),
        ("starter_en/3", 1, "length"), ("starter_en/1", 1, "unknown"),
    ]  # fmt: skip
    assert run.settings["solver"]["solver"] == "M"
    assert [g.correct for g in run.read(Grade)] == [True, True, False, True]
    assert sum(1 for _ in run.read(Judgment)) == 9
    counts = {q.problem_id: q for q in count_questions(run)}
    assert (counts["starter_en/1"].n, counts["starter_en/1"].correct) == (2, 2)
    assert counts["starter_en/1"].judges["imported-judge"].approved["majority"] == 1
    assert counts["starter_en/3"].judges["imported-judge"].approved["majority"] == 1
    assert report.votes == 3
    assert [f for f in check_run(run) if f.kind == "fault"] == []


def test_paper_harness_without_chains(tmp_path: Path) -> None:
    """Where the raw file is not kept, what was extracted stands in a box, and the manifest says chains are absent."""
    folder = evalhub_folder(tmp_path)
    (folder / "start_raw.jsonl").unlink()
    run, _ = bring_in("evalhub", folder, tmp_path / "run", rename={"START/": "starter_en/"})
    assert [s.text for s in run.read(Solution)] == ["\\boxed{12}", "\\boxed{12}", "\\boxed{24}", ""]
    assert run.settings["solver"]["harness"]["chains"] is False


def test_nemo_skills(tmp_path: Path) -> None:
    """Each seed's file is one sample of every problem, in the order of the seeds, with its own finish reason."""
    for seed in (10, 2):
        rows = [
            {"problem": SUM, "expected_answer": "12", "generation": f"seed {seed} \\boxed{{12}}",
             "num_generated_tokens": 8,
             "finish_reason": "length" if seed == 10 else "stop", "symbolic_correct": True, "reasoning_content": "so"},
            {"problem": "Not ours?", "expected_answer": "1", "generation": "\\boxed{1}"},
        ]  # fmt: skip
        lines(tmp_path / "in" / f"output-rs{seed}.jsonl", rows)
    run, report = bring_in("nemo-skills", tmp_path / "in", tmp_path / "run")
    assert [(s.sample, s.text, s.thinking, s.finish_reason) for s in run.read(Solution)] == [
        (0, "seed 2 \\boxed{12}", "so", "stop"), (1, "seed 10 \\boxed{12}", "so", "length"),
    ]  # fmt: skip
    assert [why for _, why in report.left_out] == ["its question is none of the benchmark's"] * 2


def test_matharena(tmp_path: Path) -> None:
    """Every conversation's last answer is a sample, also from compressed files; an unanswered one has failed."""
    row = {
        "idx": 3, "problem": EGGS, "gold_answer": "24", "N": 2, "correct": [True, False], "answers": ["24", None],
        "detailed_costs": [{"input_tokens": 20, "output_tokens": 6}, None],
        "messages": [
            [{"role": "user", "content": EGGS}, {"role": "assistant", "type": "cot", "content": "6*4"},
             {"role": "assistant", "type": "response", "content": "\\boxed{24}"}],
            [{"role": "user", "content": EGGS}],
        ],
    }  # fmt: skip
    folder = tmp_path / "some-model"
    folder.mkdir()
    with pyarrow.output_stream(str(folder / "3.json.zst"), compression="zstd") as stream:
        stream.write(json.dumps(row).encode())
    run, _ = bring_in("matharena", folder, tmp_path / "run")
    assert [(s.text, s.thinking, s.finish_reason, s.completion_tokens) for s in run.read(Solution)] == [
        ("\\boxed{24}", "6*4", "unknown", 6),
        ("", None, "error", None),
    ]
    assert run.settings["solver"]["solver"] == "some-model"


def lighteval_file(folder: Path) -> Path:
    """A details file with the three struct columns of lighteval 0.13."""
    rows = [
        {
            "doc": {"query": SUM + "\nBox it.", "choices": ["12"], "gold_index": [0], "id": "0", "generation_size": 4},
            "model_response": {
                "text": ["\\boxed{12}", "and so on"], "output_tokens": [[1, 2], [1, 2, 3, 4]], "input_tokens": [1] * 9,
                "reasonings": [None, None],
            },
            "metric": {"pass@k": 1.0},
        }
    ]  # fmt: skip
    path = folder / "details" / "org" / "model" / "2026-01-01T00-00-00" / "details_toy_2026-01-01T00-00-00.parquet"
    path.parent.mkdir(parents=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


def test_lighteval(tmp_path: Path) -> None:
    """Every text of a document is a sample; one as long as the generation size was stopped at the limit."""
    run, _ = bring_in("lighteval", lighteval_file(tmp_path), tmp_path / "run")
    assert [(s.text, s.finish_reason, s.completion_tokens, s.prompt_tokens) for s in run.read(Solution)] == [
        ("\\boxed{12}", "stop", 2, 9), ("and so on", "length", 4, 9),
    ]  # fmt: skip
    assert run.settings["solver"]["solver"] == "org/model"


def test_lighteval_file_of_a_real_run(tmp_path: Path) -> None:
    """Two documents whose answers met the generation size of 16 tokens come in as stopped, under the model's name."""
    run, report = bring_in("lighteval", FILES / "details", tmp_path / "run")
    assert [(s.problem_id, s.finish_reason, s.completion_tokens) for s in run.read(Solution)] == [
        ("starter_en/3", "length", 16), ("starter_en/1", "length", 16),
    ]  # fmt: skip
    assert next(run.read(Solution)).text == "1. 6 eggs\n2. 4 full boxes\n\nThere are"
    assert run.settings["solver"]["solver"] == "smollm2"
    assert report.left_out == []


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.jsonl"])
def test_table(tmp_path: Path, name: str) -> None:
    """Any table is read with a map of columns, line breaks and quotes in a text included."""
    path = tmp_path / name
    text = 'First,\n"then"\tso \\boxed{12}'
    if name.endswith("jsonl"):
        lines(path, [{"out": text, "q": SUM, "why": "length", "spent": 7}])
    else:
        import csv

        with open(path, "w", encoding="utf-8-sig", newline="") as file:
            writer = csv.writer(file, delimiter="\t" if name == "t.tsv" else ",")
            writer.writerows([["out", "q", "why", "spent"], [text, SUM, "length", 7]])
    columns = {"text": "out", "question": "q", "finish_reason": "why", "completion_tokens": "spent"}
    run, _ = bring_in("table", path, tmp_path / "run", columns=columns, solver="me")
    (solution,) = run.read(Solution)
    assert (solution.text, solution.finish_reason, solution.completion_tokens) == (text, "length", 7)
    assert solution.solver == "me"


def test_problems_made_from_the_file(tmp_path: Path) -> None:
    """Without benchmarks the file's own questions and keys become problems; without a language that is refused."""
    path = lines(tmp_path / "t.jsonl", [{"text": "\\boxed{2}", "question": "1+1?", "answer": "2", "problem": "a"}] * 2)
    run, _ = import_outputs(
        lambda: read_outputs("table", path), [], tmp_path / "run", ImportPlan("table", language="tr")
    )
    assert [(q.problem_id, q.n, q.language) for q in count_questions(run)] == [("imported/a", 2, "tr")]
    with pytest.raises(UsageError, match="--language"):
        import_outputs(lambda: read_outputs("table", path), [], tmp_path / "other", ImportPlan("table"))
    empty = lines(tmp_path / "empty.csv", [])
    with pytest.raises(UsageError, match="no sample in it"):
        import_outputs(lambda: read_outputs("table", empty), [], tmp_path / "o", ImportPlan("table", language="en"))


def test_nothing_is_guessed(tmp_path: Path) -> None:
    """An id whose question or key is another one, and a question that holds two of ours, are left out and said."""
    rows = [
        {"text": "a", "problem": "starter_en/1", "question": "What is $7 + 6$?"},
        {"text": "b", "problem": "starter_en/1", "answer": "13"},
        {"text": "c", "problem": "starter_en/1", "answer": "$12$"},
        {"text": "d", "question": f"{SUM} {EGGS}"},
        {"text": "e", "question": f"Solve.\n{SUM}  Put it in a box."},
        {"text": "f", "problem": "starter_en/9999"},
    ]
    run, report = bring_in("table", lines(tmp_path / "t.jsonl", rows), tmp_path / "run")
    assert [s.text for s in run.read(Solution)] == ["c", "e"]
    assert [why for _, why in report.left_out] == [
        "its id is starter_en/1's and its question is not",
        "its key '13' is not starter_en/1's, '12'",
        "its question is none of the benchmark's",
        "its id is none of the benchmark's, and it has no question",
    ]


def test_importing_again_adds_nothing_and_another_file_is_refused(tmp_path: Path) -> None:
    """The same file twice leaves the run as it is; a changed one would mix samples."""
    path = lines(tmp_path / "t.jsonl", [{"text": "\\boxed{12}", "question": SUM}])
    run, _ = bring_in("table", path, tmp_path / "run")
    before = run.path(Solution).read_bytes()
    bring_in("table", path, tmp_path / "run")
    assert run.path(Solution).read_bytes() == before
    lines(path, [{"text": "\\boxed{13}", "question": SUM}])
    with pytest.raises(SettingsMismatch, match="contents"):
        bring_in("table", path, tmp_path / "run")


def _text(path: Path) -> Path:
    path.write_text("hello\n", encoding="utf-8")
    return path


def _binary(path: Path) -> Path:
    path.write_bytes(b"PK\x03\x04" + bytes(range(256)))
    return path


def _other(path: Path) -> Path:
    return lines(path, [{"some": "thing"}])


@pytest.mark.parametrize("form", list(FORMATS))
@pytest.mark.parametrize("make", [_text, _binary, _other])
def test_wrong_file_is_a_clear_error(tmp_path: Path, form: str, make: Callable[[Path], Path]) -> None:
    """Text, bytes and another tool's JSON are refused by every format with an error that names the file."""
    wrong = make(tmp_path / "wrong.jsonl")
    with pytest.raises(AuditError, match=r"wrong|hold"):
        bring_in(form, wrong, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(UsageError):
        bring_in(form, tmp_path / "absent", tmp_path / "run")


def mutate(value: Any, dice: random.Random) -> Any:
    """The same structure with one value somewhere replaced by another kind of thing."""
    if isinstance(value, dict) and value and dice.random() < 0.8:
        name = dice.choice(list(value))
        return {**value, name: mutate(value[name], dice)}
    if isinstance(value, list) and value and dice.random() < 0.8:
        index = dice.randrange(len(value))
        return [*value[:index], mutate(value[index], dice), *value[index + 1 :]]
    return dice.choice([None, 7, -1.5, "text", [], {}, [None], {"a": [1]}, True])


@pytest.mark.parametrize("form", ["lm-eval", "evalhub", "nemo-skills", "matharena", "table"])
def test_values_of_any_shape_never_give_a_bare_traceback(tmp_path: Path, form: str) -> None:
    """Rows with values of other kinds at any depth are read or refused by name, and nothing else happens."""
    folder = evalhub_folder(tmp_path / "in")
    row: dict[str, Any] = {
        "lm-eval": lambda: json.loads(next(FILES.glob("samples_*.jsonl")).read_text().splitlines()[0]),
        "evalhub": lambda: json.loads((folder / "start_raw.jsonl").read_text().splitlines()[0]),
        "nemo-skills": lambda: {"problem": SUM, "expected_answer": "12", "generation": "x", "finish_reason": "stop"},
        "matharena": lambda: {
            "problem": SUM,
            "gold_answer": "12",
            "messages": [[{"role": "assistant", "content": "x"}]],
        },
        "table": lambda: {"text": "x", "question": SUM, "completion_tokens": 3},
    }[form]()
    dice = random.Random(form)
    refused = 0
    for number in range(150):
        changed = mutate(row, dice)
        path = folder / "start_raw.jsonl" if form == "evalhub" else tmp_path / f"{number}.jsonl"
        path.write_text(json.dumps(changed) + "\n", encoding="utf-8")
        try:
            list(read_outputs(form, folder if form == "evalhub" else path).samples)
        except AuditError:
            refused += 1
    assert 0 < refused < 150


def test_truncated_real_files_are_refused(tmp_path: Path) -> None:
    """Half an .eval log and half a line of samples are errors that say which file or line."""
    data = (FILES / "inspect.eval").read_bytes()
    (tmp_path / "half.eval").write_bytes(data[: len(data) // 2])
    with pytest.raises(AuditError, match=r"half\.eval"):
        bring_in("inspect", tmp_path / "half.eval", tmp_path / "run")
    source = next(FILES.glob("samples_*.jsonl"))
    (tmp_path / "samples_x.jsonl").write_bytes(source.read_bytes()[:-40])
    with pytest.raises(AuditError, match=r"samples_x\.jsonl:4"):
        bring_in("lm-eval", tmp_path / "samples_x.jsonl", tmp_path / "run")


def test_command_grades_and_compares_marks(tmp_path: Path) -> None:
    """The verb imports, grades with this package's grader, and says how often the harness's own marks differ."""
    result = CliRunner().invoke(
        cli,
        ["import", "inspect", str(FILES / "inspect.eval"), "--benchmarks", "starter_en", "-o", str(tmp_path / "run")],
    )
    assert result.exit_code == 0, result.output
    assert "starter_en: 6 samples" in result.output
    assert "1 length" in result.output
    assert "3 of 6 are correct" in result.output
    assert "marks differ in" in result.output


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('question,answer,text\nA?,1,"never closed\nB?,2,\\boxed{2}\n', "unexpected end of data"),
        ("question,answer,text,text\nA?,1,x,y\n", "two of its columns are called 'text'"),
        ("question,answer,text\nA?,1,x, and more\n", "more cells"),
    ],
)
def test_table_that_would_be_misread_is_refused(tmp_path: Path, text: str, seen: str) -> None:
    """A quote that is never closed, a column there twice and a row too long would lose or shift texts."""
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(AuditError, match=seen):
        bring_in("table", path, tmp_path / "run")


def test_one_question_with_two_keys_is_listed(tmp_path: Path) -> None:
    """Where problems are made from the file, a sample with another key than its question's first is left out."""
    rows = [{"question": "A?", "answer": key, "text": f"\\boxed{{{key}}}"} for key in ("2", "3", "2")]
    path = lines(tmp_path / "t.jsonl", rows)
    run, report = import_outputs(
        lambda: read_outputs("table", path), [], tmp_path / "run", ImportPlan("table", language="en")
    )
    assert [s.text for s in run.read(Solution)] == ["\\boxed{2}", "\\boxed{2}"]
    assert ["'3' is not that of the same question" in why for _, why in report.left_out] == [True]
