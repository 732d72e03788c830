"""Joining runs that each did a part of the work: by id, never twice, never of mixed settings."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.records import Grade, Judgment, Problem, Record, Solution
from multilingual_math_audit.store import Run

SECTIONS = ("judges", "graders", "selectors")


@dataclass(slots=True)
class MergeReport:
    """What joining did: records taken and passed over by file, ids that two runs give different contents, and holes.

    `holes` names the samples that no run holds, as (problem id, sample number).
    """

    taken: dict[str, int] = field(default_factory=dict)
    duplicates: dict[str, int] = field(default_factory=dict)
    conflicts: list[str] = field(default_factory=list)
    holes: list[tuple[str, int]] = field(default_factory=list)


def merge(sources: Sequence[Run], out: str | Path) -> MergeReport:
    """Join runs into one at `out`; what is there already is kept, so an interrupted merge goes on.

    Where two runs hold different texts of one solution, the first counts and the grades and judgments of the other are
    left out with it. Raises SettingsMismatch when the settings differ in anything but the shard.
    """
    if any(Path(source.folder).resolve() == Path(out).resolve() for source in sources):
        raise UsageError(f"{out} is one of the runs to join.", "Give the joined run a folder of its own: -o DIR.")
    run = Run.create(out, _settings(sources[0]))
    for source in sources:
        run.require(_settings(source))
        for section in SECTIONS:
            for name, settings in source.manifest.get(section, {}).items():
                run.add_settings(section, name, settings)
    report = MergeReport()
    with run.lock():
        _record_parts(run, sources)
        lost: list[set[str]] = [set() for _ in sources]
        for kind in (Problem, Solution, Grade, Judgment):
            _join(kind, run, sources, lost, report)
    report.holes = list(find_holes(run))
    return report


def find_holes(run: Run) -> Iterator[tuple[str, int]]:
    """The samples a run's settings ask for and it does not hold, as (problem id, sample number)."""
    held: dict[str, set[int]] = {}
    for solution in run.read(Solution):
        if solution.parent is None:
            held.setdefault(solution.problem_id, set()).add(solution.sample)
    samples = run.settings.get("samples", {})
    for problem in run.read(Problem):
        for number in range(int(samples.get(problem.benchmark, 0))):
            if number not in held.get(problem.id, ()):
                yield problem.id, number


def _settings(run: Run) -> dict[str, Any]:
    return {name: value for name, value in run.settings.items() if name != "shard"}


def _record_parts(run: Run, sources: Sequence[Run]) -> None:
    parts = [
        {name: part for name, part in (("shard", s.settings.get("shard")), ("facts", s.manifest.get("facts"))) if part}
        for s in sources
    ]
    known = run.manifest.setdefault("parts", [])
    engines = run.manifest.setdefault("engines", [])
    known += [part for part in parts if part not in known]
    for source in sources:
        engines += [engine for engine in source.manifest.get("engines", []) if engine not in engines]
    run.save_manifest()


def _join(kind: type[Record], run: Run, sources: Sequence[Run], lost: Sequence[set[str]], report: MergeReport) -> None:
    known = {record.key: _fingerprint(record) for record in run.read(kind)}
    taken = duplicates = 0
    with run.writer(kind) as writer:
        for source, lost_solutions in zip(sources, lost, strict=True):
            for record in source.read(kind):
                if getattr(record, "solution_id", None) in lost_solutions:
                    duplicates += 1
                elif record.key not in known:
                    known[record.key] = _fingerprint(record)
                    writer.append(record)
                    taken += 1
                else:
                    duplicates += 1
                    if known[record.key] != _fingerprint(record):
                        report.conflicts.append(record.key)
                        if kind is Solution:
                            lost_solutions.add(record.key)
    report.taken[kind.file], report.duplicates[kind.file] = taken, duplicates


def _fingerprint(record: Record) -> bytes:
    return hashlib.blake2b(record.to_json(), digest_size=12).digest()
