"""The authors' published counts: read from a folder or downloaded at their pinned commit, and turned into entries."""

from __future__ import annotations

import csv
import io
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson

from multilingual_math_audit.errors import RecordError, SourceError
from multilingual_math_audit.evaluate.counts import JudgeCounts, QuestionCounts
from multilingual_math_audit.evaluate.report.entries import Counted, Entry, gather_entries
from multilingual_math_audit.records import Language

LANGUAGES: dict[str, Language] = {"_tr": "tr", "_pt": "pt", "tubitak": "tr", "pt_exams": "pt"}
MODES = {"base": "base", "non-think": "non-thinking", "nonthink": "non-thinking", "think": "thinking"}
TIMEOUT_SECONDS = 60
DOWNLOAD = "https://raw.githubusercontent.com"


@cache
def paper_numbers() -> Mapping[str, Any]:
    """What the paper prints and where its counts are published."""
    import yaml

    text = (files("multilingual_math_audit.evaluate.report") / "paper.yaml").read_text(encoding="utf-8")
    numbers: Mapping[str, Any] = yaml.safe_load(text)
    return numbers


@dataclass(frozen=True, slots=True)
class Published:
    """The published files by name: parsed JSON, or rows of a CSV; `origin` says where they came from."""

    origin: str
    files: Mapping[str, Any]
    missing: tuple[str, ...] = field(default=())

    def matching(self, start: str) -> Mapping[str, Any]:
        """The files whose names start so."""
        return {name: data for name, data in self.files.items() if name.startswith(start)}


def read_published(folder: str | Path) -> Published:
    """Every JSON and CSV of a folder; raises SourceError when there is none, RecordError when one cannot be read."""
    path = Path(folder)
    found = sorted(p for p in path.rglob("*") if p.suffix in (".json", ".csv") and p.is_file()) if path.is_dir() else []
    if not found:
        raise SourceError(
            f"There are no published tables in {path}.",
            "Give a folder with the authors' CSV files or transcribed JSON files as --sources.",
        )
    return Published(str(path), {p.name: parse_table(p.name, p.read_bytes()) for p in found})


def download_published() -> Published:
    """The authors' tables at their pinned commit; raises SourceError when the network or the commit is not there."""
    numbers = paper_numbers()
    base = f"{DOWNLOAD}/{numbers['repository']}/{numbers['commit']}/{numbers['folder']}"
    tables = {}
    for name in numbers["files"]:
        try:
            with urllib.request.urlopen(f"{base}/{name}", timeout=TIMEOUT_SECONDS) as answer:
                tables[name] = parse_table(name, answer.read())
        except (urllib.error.URLError, TimeoutError, OSError) as error:
            raise SourceError(
                f"{base}/{name} cannot be downloaded: {error}.",
                "Give a folder that holds the published tables as --sources DIR.",
            ) from None
    return Published(base, tables)


def parse_table(name: str, data: bytes) -> Any:
    """A JSON file as it is, a CSV as a list of rows by column; raises RecordError when it is neither."""
    try:
        if name.endswith(".json"):
            return orjson.loads(data)
        return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
    except (orjson.JSONDecodeError, UnicodeDecodeError, csv.Error) as error:
        raise RecordError(f"{name} cannot be read: {error}.") from None


def language_of(benchmark: str) -> Language:
    """The language of one of the paper's benchmarks.

    >>> language_of("aime2026"), language_of("aime2026_tr"), language_of("pt_exams_math")
    ('en', 'tr', 'pt')
    """
    return next((language for mark, language in LANGUAGES.items() if mark in benchmark), "en")


def item_of(benchmark: str, task: str) -> str:
    """The item of a published task: the same for the translations of one AIME problem.

    >>> item_of("aime2026_tr", "aime2026_tr/7"), item_of("aime2026", "AIME2026/7")
    ('aime2026/7', 'aime2026/7')
    """
    family = "aime2026" if benchmark.startswith("aime2026") else benchmark
    return f"{family}/{task.rsplit('/', 1)[-1]}"


def read_per_question(data: Mapping[str, Any]) -> Entry:
    """The entry of a transcribed per-question file; raises RecordError when counts are missing or do not fit."""
    meta = data.get("_meta", {})
    solver, mode = str(meta.get("solver", "solver")), str(meta.get("state", "unknown"))
    questions = [
        question
        for benchmark, cell in data.items()
        if isinstance(cell, dict) and "correct" in cell
        for question in _cell_questions(solver, benchmark, cell)
    ]
    if not questions:
        raise RecordError("A per-question file holds no benchmark with counts.")
    budget = meta.get("solver_max_tokens")
    return gather_entries([Counted(MODES.get(mode, mode), budget, questions)])[0]


def _cell_questions(solver: str, benchmark: str, cell: Mapping[str, Any]) -> Iterable[QuestionCounts]:
    correct, approved = list(cell["correct"]), dict(cell.get("approved", {}))
    tasks = cell.get("task_ids") or [f"{benchmark}/{index + 1}" for index in range(len(correct))]
    if any(len(counts) != len(correct) for counts in approved.values()) or len(tasks) != len(correct):
        raise RecordError(f"{benchmark}: the lists of counts differ in length.")
    for index, right in enumerate(correct):
        judged = {judge: approved_counts(right, counts[index]) for judge, counts in approved.items()}
        yield published_question((solver, benchmark, str(tasks[index])), n=int(cell["n"]), correct=right, judges=judged)


def approved_counts(correct: int, approved: int) -> JudgeCounts:
    """The counts of a judge of whom only the majority approvals are published; raises RecordError when they cannot be.

    >>> approved_counts(3, 2).approved
    {'majority': 2}
    """
    if not 0 <= approved <= correct:
        raise RecordError(f"There cannot be {approved} approved among {correct} correct solutions.")
    return JudgeCounts(correct, 0, {"majority": approved}, 0, 0, {}, 0, 0, approved, 0)


def published_question(
    names: tuple[str, str, str], *, n: int, correct: int, judges: Mapping[str, JudgeCounts]
) -> QuestionCounts:
    """The counts of one published question; `names` are solver, benchmark and task."""
    solver, benchmark, task = names
    if not 0 <= correct <= n:
        raise RecordError(f"{task}: there cannot be {correct} correct among {n} samples.")
    return QuestionCounts(
        problem_id=f"{benchmark}/{task.rsplit('/', 1)[-1]}",
        item=item_of(benchmark, task),
        benchmark=benchmark,
        language=language_of(benchmark),
        solver=solver,
        n=n,
        correct=correct,
        ungraded=0,
        stopped=0,
        completion_tokens=0,
        judges=dict(judges),
        unknown_stops=n,
        unknown_tokens=n,
    )


def read_report_tasks(rows: Sequence[Mapping[str, str]], *, budget: int | None = 16_384) -> list[Entry]:
    """The entries of the authors' table of one row per run and question, named `solver|state`.

    A judged row's `true_count` are the approved solutions and `n_veto` those taken away; an unjudged row's are the
    correct ones. Only rows of the given solver budget are read, and only judgments by thinking judges: the table also
    holds a few by a judge without thinking at a smaller budget.
    """
    questions: dict[tuple[str, str, str], dict[str, Any]] = {}
    try:
        for row in rows:
            if budget is not None and read_count(row["solver_max_tokens"]) != budget:
                continue
            key = (f"{row['model']}|{row['state']}", row["benchmark"], row["task_id"])
            found = questions.setdefault(key, {"n": read_count(row["n_generations"]), "judges": {}})
            veto, right = read_count(row["n_veto"] or "0"), read_count(row["true_count"])
            found["correct"] = right + veto
            if row["judge_model"] and row["judge_state"] == "think":
                found["judges"][row["judge_short"]] = approved_counts(right + veto, right)
    except (KeyError, ValueError) as error:
        raise RecordError(f"report_tasks.csv cannot be read: {error}.") from None
    by_mode: dict[str, list[QuestionCounts]] = {}
    for names, found in questions.items():
        state = names[0].rsplit("|", 1)[-1]
        by_mode.setdefault(MODES.get(state, state), []).append(
            published_question(names, n=found["n"], correct=found["correct"], judges=found["judges"])
        )
    return gather_entries(Counted(mode, budget, found) for mode, found in by_mode.items())


def read_count(text: str) -> int:
    """A count of a CSV, which may be written as a decimal; raises ValueError when it is not whole.

    >>> read_count("64.0")
    64
    """
    number = float(text)
    if number != int(number):
        raise ValueError(f"{text!r} is not a whole number")
    return int(number)
