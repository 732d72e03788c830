"""The paper's harness: `B_raw.jsonl` (answers as served), `B_results.jsonl` (marks), `B_cot_majority.jsonl` (votes).

It has no sample ids: the n-th line of a task in the raw file is its generation n, and marks and votes refer to that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from multilingual_math_audit.errors import RecordError, UsageError
from multilingual_math_audit.loaders.outputs.foreign import (
    ForeignRun,
    ForeignSample,
    count_of,
    find_files,
    finish_of,
    need,
    read_jsonl,
    text_of,
)

# How its problem ids begin, and how ours do.
RENAME = {
    "AIME2026/": "aime2026_en/", "aime2026/": "aime2026_en/",
    "AIME2026-TR/": "aime2026_tr/", "AIME2026-PT/": "aime2026_pt/",
    "tubitak_math2026/": "tubitak2026/", "pt_exams_math/": "pt_exams/",
}  # fmt: skip
Votes = dict[str, tuple[int, int, int]]
Marks = dict[str, tuple[str, list[bool | None], list[str]]]


def read(path: Path) -> ForeignRun:
    """Generations in the order of the raw file, with the harness's marks and the judge's votes where they are kept.

    Without a raw file the results hold only what was extracted: it stands in a box where the chain was.
    """
    found = find_files(path, "*_results.jsonl", "*_results.jsonl of the paper's harness")
    results = [file for file in found if not file.stem.endswith("_cot_results")]
    if len(results) != 1:
        raise UsageError(f"{path} holds {len(results)} result files.", "Give the folder of one benchmark.")
    name = results[0].name.removesuffix("_results.jsonl")
    folder = results[0].parent
    marks, votes = _marks(results[0]), _votes(folder / f"{name}_cot_majority.jsonl")
    raw = folder / f"{name}_raw.jsonl"
    solver = folder.parent.name.split("_t")[0] or None
    facts = {"folder": folder.parent.name, "chains": raw.exists()}
    return ForeignRun(_generations(raw, marks, votes) if raw.exists() else _answers(marks, votes), solver, facts)


def _marks(file: Path) -> Marks:
    marks: Marks = {}
    for place, row in read_jsonl(file):
        need(row, ("task_id", "ground_truth", "correct"), place, "a result of the paper's harness")
        # "cot_false" is a right answer that the judge turned down.
        correct = [
            True if value == "cot_false" else value if isinstance(value, bool) else None for value in row["correct"]
        ]
        marks[str(row["task_id"])] = (
            text_of(row["ground_truth"]),
            correct,
            [text_of(s) for s in row.get("solutions", [])],
        )
    return marks


def _votes(file: Path) -> Votes:
    votes: Votes = {}
    for place, row in read_jsonl(file) if file.exists() else ():
        need(row, ("task_id", "yes_count", "no_count"), place, "a majority record of the paper's harness")
        votes[str(row["task_id"])] = (int(row["yes_count"]), int(row["no_count"]), int(row.get("invalid_count", 0)))
    return votes


def _generations(raw: Path, marks: Marks, votes: Votes) -> Iterator[ForeignSample]:
    counts: dict[str, int] = defaultdict(int)
    for place, row in read_jsonl(raw):
        need(row, ("task_id", "response"), place, "a raw line of the paper's harness")
        task = str(row["task_id"])
        number = counts[task]
        counts[task] += 1
        yield _sample(task, number, row["response"], marks, votes, place)


def _sample(task: str, number: int, response: Any, marks: Marks, votes: Votes, place: str) -> ForeignSample:
    key, correct, _ = marks.get(task, ("", [], []))
    if isinstance(response, str):
        response = {"content": response}
    if not isinstance(response, dict):
        raise RecordError(f"{place}: the response is {type(response).__name__}, not a chat completion.")
    choice = (response.get("choices") or [{"message": response}])[0]
    message, usage = choice.get("message") or {}, response.get("usage") or {}
    return ForeignSample(
        own_id=f"{task}_gen_{number}",
        text=text_of(message.get("content")),
        problem=task,
        answer=key or None,
        thinking=text_of(message.get("reasoning_content") or message.get("reasoning")) or None,
        finish_reason=finish_of(choice.get("finish_reason")),
        prompt_tokens=count_of(usage.get("prompt_tokens")),
        completion_tokens=count_of(usage.get("completion_tokens")),
        correct=correct[number] if number < len(correct) else None,
        votes=votes.get(f"{task}_gen_{number}"),
    )


def _answers(marks: Marks, votes: Votes) -> Iterator[ForeignSample]:
    for task, (key, correct, extracted) in marks.items():
        for number, answer in enumerate(extracted):
            yield ForeignSample(
                own_id=f"{task}_gen_{number}",
                text=f"\\boxed{{{answer}}}" if answer else "",
                problem=task,
                answer=key,
                correct=correct[number] if number < len(correct) else None,
                votes=votes.get(f"{task}_gen_{number}"),
            )
