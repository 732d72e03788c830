"""The audits that a run's folder holds, as the counts of a submission."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.audit import Judged, read_judged
from multilingual_math_audit.evaluate.inject import PAPER_EDITS
from multilingual_math_audit.evaluate.panel import NATURAL
from multilingual_math_audit.evaluate.sensitivity import PAIRS
from multilingual_math_audit.evaluate.verdicts import STRATEGIES
from multilingual_math_audit.records import Solution, digest
from multilingual_math_audit.store import Run

PANEL = "panel"
Originals = Mapping[str, Mapping[str, Judged]]


class Found(NamedTuple):
    """One judge's audit: the judge's name, its settings, the panel it was asked on, and the counts."""

    judge: str
    settings: Mapping[str, Any]
    panel: Run
    audit: dict[str, Any]


def is_panel(run: Run) -> bool:
    """Whether a run folder is a panel of variants."""
    return "panel" in run.settings


def open_panels(run: Run, panels: Sequence[str | Path] = ()) -> list[Run]:
    """The panels named, else RUN/panel where there is one; raises UsageError for a folder that is no panel."""
    if not panels and not is_panel(run) and (run.folder / PANEL / "manifest.json").is_file():
        panels = [run.folder / PANEL]
    opened = [Run.open(folder) for folder in panels]
    if strange := [panel.folder for panel in opened if not is_panel(panel)]:
        raise UsageError(f"{strange[0]} is no panel.", "Draw one with math-audit inject, or audit the run itself.")
    return opened


def find_audits(run: Run, panels: Sequence[str | Path] = ()) -> list[Found]:
    """The audits of every judge of RUN/panel, or of the panels named, and of the run itself where it is a panel.

    A judge without one original judged in every edit of the paper has none; of two panels that a judge was asked on,
    the later one named counts. Raises UsageError for a folder that is no panel.
    """
    found: dict[tuple[str, str], Found] = {}
    for panel in [*([run] if is_panel(run) else []), *open_panels(run, panels)]:
        for judge, settings in panel.manifest.get("judges", {}).items():
            counts = count_audit(panel, judge)
            if counts is not None:
                found[judge, str(settings.get("mode"))] = Found(judge, settings, panel, counts)
    return list(found.values())


def count_audit(panel: Run, judge: str) -> dict[str, Any] | None:
    """What one judge accepted on a panel, as the field `audit` of a submission; None where nothing can be counted.

    Counted are the originals that the audit pairs: those whose variants of the paper all have all their judgments. A
    further edit is counted in a benchmark only where every one of these originals has it.
    """
    settings = panel.manifest["judges"][judge]
    samples = int(settings.get("samples", 3))
    of_original: dict[str, dict[str, Judged]] = defaultdict(dict)
    for variant in read_judged(panel, judge):
        if len(variant.verdicts) >= samples and variant.edit != NATURAL:
            of_original[variant.original][variant.edit] = variant
    paired = {key: edits for key, edits in sorted(of_original.items()) if all(edit in edits for edit in PAPER_EDITS)}
    if not paired:
        return None
    problems = {s.parent: s.problem_id for s in panel.read(Solution) if s.parent is not None and s.parent in paired}
    benchmarks: dict[str, dict[str, Mapping[str, Judged]]] = defaultdict(dict)
    for original, edits in paired.items():
        benchmarks[edits["clean"].benchmark][original] = edits
    content = {
        "panel": str(panel.settings.get("drawn") or digest(sorted(panel.keys(Solution)))),
        "judgments": samples,
        "budget": settings.get("budget"),
        "day": day_of(panel),
        "benchmarks": {name: _benchmark(part, problems) for name, part in sorted(benchmarks.items())},
        "pairs": [_pair(paired, first, second) for first, second in PAIRS],
    }
    return {key: value for key, value in content.items() if value is not None}


def day_of(run: Run) -> str | None:
    """The day a run was begun, as YYYY-MM-DD; None where its manifest does not say."""
    facts = run.manifest.get("facts", {})
    return str(facts.get("started") or run.manifest.get("started") or "")[:10] or None


def _benchmark(originals: Originals, problems: Mapping[str, str]) -> dict[str, Any]:
    shared = set.intersection(*(set(edits) for edits in originals.values()))
    edits = [*PAPER_EDITS, *sorted(shared - set(PAPER_EDITS))]
    questions = sorted({problems[original] for original in originals}, key=_by_number)
    held = Counter(problems[original] for original in originals)
    return {
        "originals": len(originals),
        "accepted": {
            edit: {
                strategy: sum(variants[edit].accepted(strategy) for variants in originals.values())
                for strategy in STRATEGIES
            }
            for edit in edits
        },
        "no_verdict": {edit: sum(v[edit].verdicts.count(None) for v in originals.values()) for edit in edits},
        "per_question": {
            "questions": questions,
            "originals": [held[question] for question in questions],
            "accepted": {edit: list(_column(originals, problems, edit, questions)) for edit in edits},
        },
    }


def _by_number(question: str) -> tuple[str, int, str]:
    name, _, number = question.rpartition("/")
    return name, int(number) if number.isdigit() else 0, number


def _column(originals: Originals, problems: Mapping[str, str], edit: str, questions: Sequence[str]) -> Iterator[int]:
    yes = Counter(problems[original] for original, edits in originals.items() if edits[edit].accepted())
    return (yes[question] for question in questions)


def _pair(paired: Originals, first: str, second: str) -> dict[str, Any]:
    seen = Counter((edits[first].accepted(), edits[second].accepted()) for edits in paired.values())
    return {
        "first": first,
        "second": second,
        "both": seen[True, True],
        "first_only": seen[True, False],
        "second_only": seen[False, True],
        "neither": seen[False, False],
    }
