"""One solution of a public run with its judgments, and texts of strangers made safe to show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from multilingual_math_audit.errors import AuditError
from multilingual_math_audit.records import Judgment, Solution
from multilingual_math_audit.store import Run
from multilingual_math_audit.submissions.submission import Submission

SHOWN = 20_000
_MATH = re.compile(r"(\$\$.+?\$\$|\\\[.+?\\\]|\\\(.+?\\\)|\$[^$\n]{1,400}\$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Example:
    """A solution and what judges said of it, as plain text."""

    solution: str
    judgments: tuple[tuple[str, str | None, str], ...]


def find_run(submission: Submission, runs: Path | None) -> Run | None:
    """The run behind a submission: in the folder `runs` under the submission's digest, else downloaded from the Hub.

    None where it is not public, cannot be reached, or is damaged.
    """
    try:
        if runs is not None and (runs / submission.digest / "manifest.json").is_file():
            return Run.open(runs / submission.digest)
        return _download(submission)
    except (AuditError, OSError, ValueError):
        return None


def _download(submission: Submission) -> Run | None:
    place = submission.raw_run
    if place is None:
        return None
    from huggingface_hub import snapshot_download

    inside = f"{place.path}/" if place.path else ""
    folder = snapshot_download(
        place.repository,
        repo_type="dataset",
        revision=place.revision,
        allow_patterns=[f"{inside}{name}" for name in ("manifest.json", "solutions.jsonl", "judgments.jsonl")],
        etag_timeout=5,
    )
    return Run.open(Path(folder) / inside)


def find_example(run: Run, question: str, *, judge: str | None) -> Example | None:
    """The first solution of a question that was judged, or just the first; None where there is none."""
    solutions = {s.id: s for s in run.read(Solution) if s.problem_id == question and s.parent is None}
    if not solutions:
        return None
    said: dict[str, list[Judgment]] = {}
    for judgment in run.read(Judgment):
        if judgment.solution_id in solutions and judge in (None, judgment.judge):
            said.setdefault(judgment.solution_id, []).append(judgment)
    chosen = next((name for name in solutions if name in said), next(iter(solutions)))
    judgments = tuple((j.judge, j.verdict, j.text[:SHOWN]) for j in said.get(chosen, []))
    return Example(solutions[chosen].whole_text[:SHOWN], judgments)


def as_inert_markdown(text: str) -> str:
    """A text whose mathematics is rendered and in which nothing else means anything to Markdown or HTML.

    Outside mathematics every sign that is not a letter, digit or space is written as an entity, so that no link, image,
    tag or heading can arise. Inside, `<`, `>` and `&` are entities and commands that fetch or link are defused.

    >>> as_inert_markdown("![x](http://a.b) is $x<2$")
    '&#33;&#91;x&#93;&#40;http&#58;&#47;&#47;a&#46;b&#41; is $x&lt;2$'
    """
    return "".join(_pieces(text))


def _pieces(text: str) -> Iterator[str]:
    for number, piece in enumerate(_MATH.split(text)):
        if number % 2:
            safe = re.sub(
                r"\\(href|url|includegraphics|html\w+|def|gdef|newcommand|renewcommand|let)", r"\\text{\1}", piece
            )
            yield safe.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        else:
            lines = piece.replace("\r", "").split("\n")
            yield "<br>".join("".join(c if c.isalnum() or c == " " else f"&#{ord(c)};" for c in line) for line in lines)
