"""The authors' published counts through our code."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from multilingual_math_audit.commands.reproduce import command
from multilingual_math_audit.errors import RecordError, SourceError
from multilingual_math_audit.evaluate.report import published as published_module
from multilingual_math_audit.evaluate.report.material import Choices, gather_material
from multilingual_math_audit.evaluate.report.passing import pass_table, solver_difference
from multilingual_math_audit.evaluate.report.published import (
    download_published,
    paper_numbers,
    read_per_question,
    read_published,
    read_report_tasks,
)
from multilingual_math_audit.evaluate.report.reproduce import reproduce

PER_QUESTION = "per_question_qwen2.5-32b-base.json"


def test_every_published_number_comes_out(shared: Path) -> None:
    """All numbers of the reference tables that counts allow are within their stated tolerance."""
    comparisons, omissions = reproduce(read_published(shared / "reference"))
    assert [c for c in comparisons if not c.agrees] == []
    assert len(comparisons) > 600
    assert {c.source for c in comparisons} | {o.source for o in omissions} == {
        path.name for path in (shared / "reference").glob("*.json")
    }


def test_four_differences_of_the_paper(shared: Path) -> None:
    """Qwen2.5-32B base: 20.49, 22.13, 22.95, 21.31 points under the four judges, as computed by hand from counts."""
    entry = read_per_question(json.loads((shared / "reference" / PER_QUESTION).read_text()))
    material = gather_material([entry], choices=Choices(min_correct=0))
    found = {judge: round(solver_difference(material, entry, judge).value, 2) for judge in entry.judges}
    assert found == {"Qwen3.6": 20.49, "Gemma4": 22.13, "V4-Flash": 22.95, "R1-distill": 21.31}
    pass_at_64 = {row["benchmark"]: round(float(row["pass_at_n"]), 2) for row in pass_table(material).rows}
    assert pass_at_64 == {"aime2026": 33.33, "aime2026_pt": 30.0, "aime2026_tr": 30.0, "tubitak_math2026": 59.38}


@pytest.mark.parametrize(
    ("file", "path", "change"),
    [
        (PER_QUESTION, ["tubitak_math2026", "approved", "Qwen3.6", 5], 9),
        ("diff_bootstrap_ci.json", ["solvers", "Qwen2.5-7B", "cells", "aime2026", "questions_lost"], 6),
        ("diff_bootstrap_ci.json", ["generation", "earlier", "ci95", 0], 19.0),
        ("mcnemar.json", ["pooled", 3, "a_accept_b_reject"], 99),
        ("ladder.json", ["table", "aime2026", "Qwen3.5-4B", "questions_solved@64", "low"], 13),
        ("error_rules.json", ["table", "Qwen3.6", "clean", "count", "majority"], 700),
        ("conditions.json", ["rows", 0, "Gemma4", "questions_lost"], 2),
        ("language.json", ["table", "think", "EN", "pass@1_pct"], 14.4),
    ],
)
def test_a_changed_number_is_found(shared: Path, tmp_path: Path, file: str, path: list, change: object) -> None:
    """One altered count or printed number anywhere makes the command exit with 1 and print it."""
    shutil.copytree(shared / "reference", tmp_path / "reference", copy_function=shutil.copyfile)
    data = json.loads((tmp_path / "reference" / file).read_text())
    place = data
    for step in path[:-1]:
        place = place[step]
    assert place[path[-1]] != change
    place[path[-1]] = change
    (tmp_path / "reference" / file).write_text(json.dumps(data))
    result = CliRunner().invoke(command, ["--sources", str(tmp_path / "reference")])
    assert result.exit_code == 1
    assert "NO" in result.output


def test_command_prints_and_writes(shared: Path, tmp_path: Path) -> None:
    """The command exits 0 on the reference and writes the comparison and what cannot be replayed as CSV."""
    result = CliRunner().invoke(command, ["--sources", str(shared / "reference"), "-o", str(tmp_path)])
    assert result.exit_code == 0
    rows = list(csv.DictReader((tmp_path / "reproduction.csv").open()))
    assert {row["agrees"] for row in rows} == {"yes"}
    assert "selection_rule.json" in (tmp_path / "not_replayed.csv").read_text()


def test_bad_sources_are_named(tmp_path: Path) -> None:
    """An empty folder, nothing known, broken JSON and impossible counts each say what is wrong."""
    with pytest.raises(SourceError, match="no published tables"):
        read_published(tmp_path)
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(SourceError, match="nothing to compare"):
        reproduce(read_published(tmp_path))
    (tmp_path / "mcnemar.json").write_text('{"pooled": [{"judge": 1}]}')
    with pytest.raises(RecordError, match="not what its name says"):
        reproduce(read_published(tmp_path))
    (tmp_path / "mcnemar.json").write_text("{")
    with pytest.raises(RecordError, match="cannot be read"):
        read_published(tmp_path)
    with pytest.raises(RecordError, match="approved among"):
        read_per_question({"_meta": {}, "aime2026": {"n": 4, "correct": [1], "approved": {"j": [2]}}})


COLUMNS = [
    "model",
    "model_short",
    "state",
    "benchmark",
    "language",
    "solver_max_tokens",
    "judge_model",
    "task_id",
    "n_generations",
    "true_count",
    "false_count",
    "n_veto",
    "judge_state",
    "judge_max_tokens",
    "generation",
    "judge_short",
    "exp",
]


def write_report_tasks(per_question: dict, path: Path) -> None:
    """The counts of a transcribed file in the layout of the authors' table, with a judge row to be passed over."""
    rows = []
    for benchmark, cell in per_question.items():
        if benchmark == "_meta":
            continue
        for index, task in enumerate(cell["task_ids"]):
            right = cell["correct"][index]
            base = {
                "model": "Qwen2.5-32B", "state": "base", "benchmark": benchmark, "solver_max_tokens": 16384,
                "task_id": task, "n_generations": "64.0", "false_count": 64.0 - right,
            }  # fmt: skip
            rows.append({**base, "true_count": right, "judge_short": "No-Judge"})
            for judge, approved in cell["approved"].items():
                veto = right - approved[index]
                judged = {"judge_model": judge, "judge_short": judge, "judge_state": "think", "n_veto": float(veto)}
                rows.append({**base, **judged, "true_count": approved[index]})
            rows.append({**base, "judge_model": "V4", "judge_short": "V4-Flash", "judge_state": "nonthink",
                         "true_count": 0, "n_veto": float(right)})  # fmt: skip
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)


def test_authors_table_gives_the_same_entry(shared: Path, tmp_path: Path) -> None:
    """The authors' row layout (true_count are the approved, n_veto the rest) and the transcription agree."""
    data = json.loads((shared / "reference" / PER_QUESTION).read_text())
    write_report_tasks(data, tmp_path / "report_tasks.csv")
    rows = list(csv.DictReader((tmp_path / "report_tasks.csv").open()))
    (from_table,) = read_report_tasks(rows)
    (from_json) = read_per_question(data)
    assert from_table.solver == "Qwen2.5-32B|base"
    for benchmark, questions in from_json.benchmarks.items():
        ours = from_table.benchmarks[benchmark]
        assert [(q.correct, q.n) for q in ours] == [(q.correct, q.n) for q in questions]
        for judge in from_json.judges:
            approved = [q.judges[judge].approved["majority"] for q in questions]
            assert [q.judges[judge].approved["majority"] for q in ours] == approved
    comparisons, omissions = reproduce(read_published(tmp_path))
    assert len(comparisons) == 4
    assert all(c.agrees for c in comparisons)
    assert any("no counts" in o.why for o in omissions)


def test_download_reads_the_pinned_commit(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --sources the tables are fetched from the pinned commit; an unreachable one says to give a folder."""
    numbers = paper_numbers()
    folder = tmp_path / numbers["repository"] / numbers["commit"] / numbers["folder"]
    folder.mkdir(parents=True)
    write_report_tasks(json.loads((shared / "reference" / PER_QUESTION).read_text()), folder / "report_tasks.csv")
    monkeypatch.setattr(published_module, "DOWNLOAD", tmp_path.as_uri())
    with pytest.raises(SourceError, match="--sources"):
        download_published()
    (folder / "report.csv").write_text(
        "model,state,benchmark,solver_max_tokens,judge_short,judge_state,judge_max_tokens,n_generations,"
        "solver_capped_count,solver_cap_rate,pass@1,pass@64\n"
        "Qwen2.5-32B,base,aime2026,16384,No-Judge,,,1920.0,81.0,0.042188,0.0411458333333333,0.3333333333333333\n"
        "Qwen2.5-32B,base,aime2026,16384,V4-Flash,think,,,,,0.033854,0.3\n"
    )
    for name in numbers["files"][2:]:
        (folder / name).write_text("a,b\n")
    published = download_published()
    assert len(published.files["report_tasks.csv"]) == 122 * 6
    runs = [c for c in reproduce(published)[0] if c.source == "report.csv"]
    assert len(runs) == 5
    assert all(c.agrees for c in runs if "No-Judge" in c.name)


def test_grid_from_the_authors_table(shared: Path, tmp_path: Path) -> None:
    """Ten solvers whose lost questions are the published ones give the published averages, generations and contrasts,
    and intervals within their tolerance; what has no counts is listed."""
    reference = json.loads((shared / "reference" / "diff_bootstrap_ci.json").read_text())
    states = {"base": "base", "non-think": "non-think"}
    rows, intervals = [], []
    for solver, entry in reference["solvers"].items():
        for benchmark, cell in entry["cells"].items():
            for number in range(cell["n_questions"]):
                right, approved = (1, 0) if number < cell["questions_lost"] else (64, 64)
                base = {
                    "model": solver, "state": states[entry["state"]], "benchmark": benchmark, "n_generations": 64,
                    "solver_max_tokens": 16384, "task_id": f"{benchmark}/{number + 1}",
                }  # fmt: skip
                rows.append({**base, "true_count": right, "judge_short": "No-Judge"})
                rows.append({**base, "true_count": approved, "n_veto": right - approved, "judge_model": "q",
                             "judge_short": "Qwen3.6", "judge_state": "think"})  # fmt: skip
            low, high = cell["ci95"]
            intervals.append(f"cell,{solver},{benchmark},{cell['diff']},{low},{high}")
        average = entry["all4"]
        intervals.append(f"model_avg,{solver},all4,{average['diff']},{average['ci95'][0]},{average['ci95'][1]}")
    for benchmark, cell in reference["benchmark_contrast_earlier_minus_current"].items():
        intervals.append(
            f"benchmark_contrast,{benchmark},{benchmark},{cell['diff']},{cell['ci95'][0]},{cell['ci95'][1]}"
        )
    for generation, cell in reference["generation"].items():
        intervals.append(f"generation,{generation},all4,{cell['diff']},{cell['ci95'][0]},{cell['ci95'][1]}")
    cell = reference["earlier_minus_current"]
    intervals.append(f"earlier_minus_current,contrast,all4,{cell['diff']},{cell['ci95'][0]},{cell['ci95'][1]}")
    with (tmp_path / "report_tasks.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    (tmp_path / "diff_bootstrap_ci.csv").write_text("level,model,benchmark,obs,lo,hi\n" + "\n".join(intervals) + "\n")
    shutil.copyfile(shared / "reference" / "selection_rule.json", tmp_path / "selection_rule.json")
    comparisons, omissions = reproduce(read_published(tmp_path))
    grid = [c for c in comparisons if "difference" in c.name or c.source == "diff_bootstrap_ci.csv"]
    assert [c for c in grid if not c.agrees] == []
    assert len(grid) == 10 + 2 + 3 * (40 + 10 + 4 + 2 + 1)
    assert any(c.name == "balanced cells, Qwen3.6" and c.ours == 10 for c in comparisons)
    assert any(c.name.startswith("p of TUB-TR") for c in comparisons)
    assert any("Gemma4" in omission.name for omission in omissions)
