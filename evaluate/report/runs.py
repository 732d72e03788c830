"""Run folders to the material of a report: solving runs become entries, panels become audits."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.evaluate.report.build import Extra
from multilingual_math_audit.evaluate.report.entries import Grouping, count_run, gather_entries
from multilingual_math_audit.evaluate.report.material import Choices, Material, gather_material
from multilingual_math_audit.store import Run

PANEL = "panel"


def gather_runs(
    folders: Sequence[str], *, groupings: Sequence[Grouping] = (), choices: Choices | None = None
) -> tuple[Material, list[Extra]]:
    """The material of run folders and the sections of the panels among or below them.

    A panel is a run that was drawn from another (`math-audit inject`); `RUN/panel` is found by itself. Raises
    UsageError when no folder holds solutions of its own.
    """
    runs = [Run.open(folder) for folder in dict.fromkeys(folders)]
    solving = [run for run in runs if PANEL not in run.settings]
    panels = [run for run in runs if PANEL in run.settings]
    known = {run.folder.resolve() for run in panels}
    below = [run.folder / PANEL for run in solving if (run.folder / PANEL / "manifest.json").exists()]
    panels += [Run.open(folder) for folder in below if folder.resolve() not in known]
    if not solving:
        raise UsageError(
            "All of the folders are panels of injected errors.",
            "Give the runs they were drawn from too; for a panel alone there is math-audit audit.",
        )
    chosen = choices or Choices()
    material = gather_material(gather_entries(count_run(run) for run in solving), groupings=groupings, choices=chosen)
    material = dataclasses.replace(material, warnings=(*material.warnings, *_damage(solving)))
    extras = [extra for extra in (_audits(panels, chosen), _languages(solving, material)) if extra is not None]
    return material, extras


def _damage(runs: Sequence[Run]) -> Iterator[str]:
    for run in runs:
        if damaged := {(damage.file, damage.line) for damage in run.damage}:
            yield f"{run.folder}: {len(damaged)} damaged lines were passed over; their work counts as not done."


def _audits(panels: Sequence[Run], choices: Choices) -> Extra | None:
    from multilingual_math_audit.evaluate.audit import audit_panels
    from multilingual_math_audit.evaluate.report.auditing import audit_extra

    judges = sorted({judge for panel in panels for judge in panel.manifest.get("judges", {})})
    audits = [audit_panels(panels, judge) for judge in judges]
    return audit_extra([audit for audit in audits if audit.paired], command=choices.command)


def _languages(runs: Sequence[Run], material: Material) -> Extra | None:
    from multilingual_math_audit.evaluate.report.languages import languages_extra

    return languages_extra(runs, material)
