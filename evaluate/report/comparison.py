"""A number of ours beside the published one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from multilingual_math_audit.evaluate.report.tables import Column, Form, Table, Value

PRINTED = 0.0501
"""A number printed with one decimal may be half a unit of that decimal away, and no more."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One number: ours, the published one, and how far apart they may be (absolute)."""

    source: str
    name: str
    ours: float
    published: float
    tolerance: float = PRINTED
    form: Form = "number"

    @property
    def difference(self) -> float:
        """Ours minus the published one."""
        return self.ours - self.published

    @property
    def agrees(self) -> bool:
        """Whether the two are within the tolerance; an undefined number never agrees.

        >>> Comparison("t", "x", 20.49, 20.5).agrees, Comparison("t", "x", float("nan"), 1.0).agrees
        (True, False)
        """
        return abs(self.difference) <= self.tolerance + 1e-9 if not math.isnan(self.difference) else False


@dataclass(frozen=True, slots=True)
class Omission:
    """Something published that cannot be computed from the counts at hand, and why."""

    source: str
    name: str
    why: str


def relative(published: float, share: float = 0.006) -> float:
    """The tolerance of a number printed with three significant digits."""
    return abs(published) * share


def comparison_table(comparisons: Sequence[Comparison], *, command: str = "") -> Table:
    """Ours beside the published numbers, with the difference and whether it is within tolerance."""
    columns = (
        Column("source", "Source"), Column("name", "Number"), Column("ours", "Ours"), Column("published", "Published"),
        Column("difference", "Difference"), Column("tolerance", "Tolerance"), Column("agrees", "Agrees"),
    )  # fmt: skip
    rows: list[dict[str, Value]] = [
        {
            "source": c.source,
            "name": c.name,
            "ours": _shown(c.ours, c.form),
            "published": _shown(c.published, c.form),
            "difference": f"{c.difference:+.3g}" if c.difference else "0",
            "tolerance": f"{c.tolerance:.3g}",
            "agrees": "yes" if c.agrees else "NO",
        }
        for c in comparisons
    ]
    return Table("reproduction", "Ours beside the published numbers", columns, tuple(rows), (), command)


def _shown(number: float, form: Form) -> str:
    if math.isnan(number):
        return "undefined"
    return f"{number:.3g}" if form == "p" else f"{number:,.2f}".removesuffix(".00")


def omission_table(omissions: Sequence[Omission], *, command: str = "") -> Table:
    """What cannot be replayed, and why."""
    columns = (Column("source", "Source"), Column("name", "Numbers"), Column("why", "Why not"))
    rows: list[dict[str, Value]] = [{"source": o.source, "name": o.name, "why": o.why} for o in omissions]
    return Table("not_replayed", "What cannot be replayed", columns, tuple(rows), (), command)
