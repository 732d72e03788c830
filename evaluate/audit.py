"""The audit: a judge's verdicts on a panel, grouped by original, and what follows from them."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from multilingual_math_audit.errors import UnknownName, UsageError
from multilingual_math_audit.evaluate.inject import DOSES, EDITS, PAPER_EDITS
from multilingual_math_audit.evaluate.panel import NATURAL
from multilingual_math_audit.evaluate.sensitivity import (
    Contrast,
    Sensitivity,
    compare_pairs,
    explain,
    measure_sensitivity,
)
from multilingual_math_audit.evaluate.statistics import pairs_needed, wilson_interval
from multilingual_math_audit.evaluate.verdicts import STRATEGIES, Strategy, approves
from multilingual_math_audit.records import Judgment, Problem, Solution, Verdict, digest
from multilingual_math_audit.store import Run

SIZES: tuple[tuple[float, str], ...] = ((0.01, "<1%"), (0.1, "<10%"), (1.0, "<100%"), (math.inf, "at least 100%"))
POSITIONS: tuple[tuple[float, str], ...] = ((50, "40-50%"), (60, "50-60%"), (math.inf, "60-70%"))


@dataclass(frozen=True, slots=True)
class Judged:
    """One variant with a judge's verdicts in the order of the samples."""

    original: str
    edit: str
    item: str
    benchmark: str
    language: str
    record: Mapping[str, Any]
    verdicts: tuple[Verdict | None, ...] = ()
    reasons: tuple[str, ...] = ()

    def accepted(self, strategy: Strategy = "majority") -> bool:
        """Whether the verdicts approve the variant."""
        return approves(self.verdicts, strategy)


@dataclass(frozen=True, slots=True)
class Rate:
    """The share of variants accepted in one group, with Wilson's 95% interval; undefined for none."""

    edit: str
    group: str
    strategy: Strategy
    n: int
    accepted: int
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Manner:
    """How a judge answers on one edit: judgments, those without a verdict by reason, split and one-vote decisions."""

    edit: str
    variants: int
    judgments: int
    no_verdict: Mapping[str, int]
    split: int
    single_vote: int


@dataclass(frozen=True, slots=True)
class Audit:
    """Everything an audit says of one judge on one panel."""

    judge: str
    samples: int
    originals: int
    paired: int
    questions: int
    pending: int
    panel_digest: str
    rates: tuple[Rate, ...]
    contrasts: Mapping[Strategy, tuple[Contrast, ...]]
    sensitivity: Sensitivity
    verdict: tuple[str, ...]
    because: str
    manners: tuple[Manner, ...]
    by_size: tuple[Rate, ...]
    by_form: tuple[Rate, ...]
    by_position: tuple[Rate, ...]
    further: tuple[Rate, ...]
    natural: tuple[Rate, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; an undefined number is absent."""
        plain: dict[str, Any] = _without_nan(dataclasses.asdict(self))
        for name in ("chain", "answer", "agreement", "balance"):
            plain["sensitivity"][name] = _without_nan(getattr(self.sensitivity, name)._asdict())
        return plain


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_nan(v) for k, v in value.items() if not (isinstance(v, float) and math.isnan(v))}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return value


def audit_panel(panel: Run, judge: str, *, resamples: int = 20_000) -> Audit:
    """Audit one judge on a panel that it has judged.

    Only originals whose five variants of the paper all have all their judgments enter the paired numbers; the others
    are counted as pending. Raises UsageError for a run without variants, UnknownName for a judge that has not judged.
    """
    judges = panel.manifest.get("judges", {})
    if judge not in judges:
        raise UnknownName(
            f"{panel.folder} has no judgments of {judge!r}.",
            f"Judges there: {', '.join(sorted(judges))}." if judges else "Judge it first: math-audit audit --judge J.",
        )
    samples = int(judges[judge].get("samples", 3))
    variants = read_judged(panel, judge)
    if not variants:
        raise UsageError(f"The run at {panel.folder} holds no variants.", "Draw a panel first: math-audit inject")
    return _audit(judge, samples, variants, _panel_digest(panel), resamples)


def audit_panels(panels: Sequence[Run], judge: str, *, resamples: int = 20_000) -> Audit:
    """Audit one judge on several panels together, as those of several solvers; panels it has not judged are left out.

    Raises UnknownName when it has judged none of them, UsageError when it was asked a different number of times.
    """
    judged = [panel for panel in panels if judge in panel.manifest.get("judges", {})]
    if len(judged) == 1:
        return audit_panel(judged[0], judge, resamples=resamples)
    if not judged:
        raise UnknownName(f"None of {len(panels)} panels has judgments of {judge!r}.")
    asked = {int(panel.manifest["judges"][judge].get("samples", 3)) for panel in judged}
    if len(asked) > 1:
        raise UsageError(f"{judge} judged the panels {sorted(asked)} times each.", "Audit those apart.")
    variants = [variant for panel in judged for variant in read_judged(panel, judge)]
    return _audit(judge, asked.pop(), variants, digest([_panel_digest(panel) for panel in judged]), resamples)


def _panel_digest(panel: Run) -> str:
    return str(panel.settings.get("drawn") or digest(sorted(panel.keys(Solution))))


def read_judged(panel: Run, judge: str) -> list[Judged]:
    """The variants of a panel with what a judge said of each, sorted by original and edit."""
    problems = {problem.id: problem for problem in panel.read(Problem)}
    said: dict[str, dict[int, Judgment]] = defaultdict(dict)
    for judgment in panel.read(Judgment):
        if judgment.judge == judge:
            said[judgment.solution_id][judgment.sample] = judgment
    found = []
    for solution in panel.read(Solution):
        if solution.parent is None or solution.edit is None or solution.problem_id not in problems:
            continue
        problem = problems[solution.problem_id]
        ordered = [said[solution.id][sample] for sample in sorted(said[solution.id])]
        found.append(
            Judged(
                original=solution.parent,
                edit=solution.edit,
                item=problem.item,
                benchmark=problem.benchmark,
                language=problem.language,
                record=solution.edit_record or {},
                verdicts=tuple(judgment.verdict for judgment in ordered),
                reasons=tuple(judgment.reason for judgment in ordered),
            )
        )
    return sorted(found, key=lambda variant: (variant.original, variant.edit))


def _audit(judge: str, samples: int, variants: Sequence[Judged], panel_digest: str, resamples: int) -> Audit:
    whole = [variant for variant in variants if len(variant.verdicts) >= samples]
    of_original: dict[str, dict[str, Judged]] = defaultdict(dict)
    for variant in whole:
        of_original[variant.original][variant.edit] = variant
    paired = {original: edits for original, edits in of_original.items() if all(edit in edits for edit in PAPER_EDITS)}
    originals = {variant.original for variant in variants if variant.edit != NATURAL}
    clusters = [paired[original]["clean"].item for original in paired]
    accepted = {
        strategy: {edit: [paired[o][edit].accepted(strategy) for o in paired] for edit in PAPER_EDITS}
        for strategy in STRATEGIES
    }
    inside = [paired[original][edit] for original in paired for edit in PAPER_EDITS]
    found = measure_sensitivity(accepted["majority"], clusters, resamples=resamples)
    numbers = [variant for variant in inside if variant.edit == "intermediate"]
    values = [v for v in inside if v.edit in ("intermediate", "final_answer", "consistent")]
    return Audit(
        judge=judge,
        samples=samples,
        originals=len(originals),
        paired=len(paired),
        questions=len(set(clusters)),
        pending=len(originals) - len(paired),
        panel_digest=panel_digest,
        rates=tuple(_rates(inside)),
        contrasts={
            strategy: tuple(compare_pairs(accepted[strategy], clusters, resamples=resamples)) for strategy in STRATEGIES
        },
        sensitivity=found,
        verdict=found.verdict(),
        because=explain(found),
        manners=tuple(_manners(inside)),
        by_size=tuple(_binned(values, lambda v: _bin(v.record.get("size"), SIZES))),
        by_form=tuple(_binned(values, lambda v: v.record.get("formed"))),
        by_position=tuple(_binned(numbers, lambda v: _bin(v.record.get("percent"), POSITIONS))),
        further=tuple(_further(whole, set(paired))),
        natural=tuple(_natural(whole)),
    )


def rate(variants: Sequence[Judged], edit: str, group: str, strategy: Strategy = "majority") -> Rate:
    """The acceptance rate of some variants."""
    accepted = sum(variant.accepted(strategy) for variant in variants)
    low, high = wilson_interval(accepted, len(variants))
    value = accepted / len(variants) if variants else math.nan
    return Rate(edit, group, strategy, len(variants), accepted, value, low, high)


def _rates(inside: Sequence[Judged]) -> Iterable[Rate]:
    groups: dict[str, Callable[[Judged], bool]] = {"all": lambda _: True}
    for benchmark in sorted({variant.benchmark for variant in inside}):
        groups[f"benchmark:{benchmark}"] = lambda v, name=benchmark: v.benchmark == name  # type: ignore[misc]
    for language in sorted({variant.language for variant in inside}):
        groups[f"language:{language}"] = lambda v, name=language: v.language == name  # type: ignore[misc]
    for group, belongs in groups.items():
        for edit in PAPER_EDITS:
            chosen = [variant for variant in inside if variant.edit == edit and belongs(variant)]
            for strategy in STRATEGIES:
                yield rate(chosen, edit, group, strategy)


def _manners(inside: Sequence[Judged]) -> Iterable[Manner]:
    for edit in PAPER_EDITS:
        chosen = [variant for variant in inside if variant.edit == edit]
        reasons = Counter(
            reason
            for variant in chosen
            for reason, value in zip(variant.reasons, variant.verdicts, strict=True)
            if value is None
        )
        yield Manner(
            edit=edit,
            variants=len(chosen),
            judgments=sum(len(variant.verdicts) for variant in chosen),
            no_verdict=dict(sorted(reasons.items())),
            split=sum({"yes", "no"} <= set(variant.verdicts) for variant in chosen),
            single_vote=sum(variant.verdicts.count("yes") == 1 and variant.accepted() for variant in chosen),
        )


def _bin(value: Any, bins: Sequence[tuple[float, str]]) -> str | None:
    if not isinstance(value, int | float):
        return None
    return next(name for end, name in bins if value < end)


def _binned(variants: Sequence[Judged], group: Callable[[Judged], str | None]) -> Iterable[Rate]:
    order = [name for _, name in (*SIZES, *POSITIONS)] + ["shift", "swap", "digit"]
    for edit in PAPER_EDITS:
        mine = [variant for variant in variants if variant.edit == edit]
        names = {name for variant in mine if (name := group(variant)) is not None}
        for name in sorted(names, key=lambda name: order.index(name) if name in order else len(order)):
            yield rate([variant for variant in mine if group(variant) == name], edit, name)


def _further(whole: Sequence[Judged], paired: set[str]) -> Iterable[Rate]:
    """Acceptance of the edits beyond the paper's, on originals that are paired."""
    for edit in EDITS:
        chosen = [variant for variant in whole if variant.edit == edit and variant.original in paired]
        if edit not in PAPER_EDITS and chosen:
            yield rate(chosen, edit, "all")


def _natural(whole: Sequence[Judged]) -> Iterable[Rate]:
    chosen = [variant for variant in whole if variant.edit == NATURAL]
    if chosen:
        yield rate(chosen, NATURAL, "all")
        for benchmark in sorted({variant.benchmark for variant in chosen}):
            yield rate([v for v in chosen if v.benchmark == benchmark], NATURAL, f"benchmark:{benchmark}")


def dose_response(audit: Audit) -> list[tuple[int, Rate]]:
    """Acceptance by how many numbers are wrong: 0 is the clean chain; empty when no dose was judged."""
    doses = {rate.edit: rate for rate in audit.further if rate.edit.startswith("dose_")}
    clean = next(r for r in audit.rates if (r.edit, r.group, r.strategy) == ("clean", "all", "majority"))
    found = [(n, doses[f"dose_{n}"]) for n in DOSES if f"dose_{n}" in doses]
    return [(0, clean), *found] if found else []


@dataclass(frozen=True, slots=True)
class PlannedPair:
    """How many originals give a pair's difference the wished interval, and from what that was computed."""

    a: str
    b: str
    discordant: float
    difference: float
    design_effect: float
    originals: int


def plan_panel(half_width: float, audit: Audit | None = None) -> list[PlannedPair]:
    """The size of panel that gives each difference an interval of +- `half_width`.

    From an audit's own discordance and clustering where there is one, else for a range of discordances.
    """
    if audit is None or audit.paired < 2:
        return [
            PlannedPair("any", "any", d, 0.0, 1.0, pairs_needed(half_width, discordant=d))
            for d in (0.02, 0.1, 0.3, 0.6)
        ]
    planned = []
    for contrast in audit.contrasts["majority"]:
        discordant = (contrast.only_a + contrast.only_b) / contrast.n
        plain, clustered = contrast.high - contrast.low, contrast.clustered_high - contrast.clustered_low
        effect = max(1.0, (clustered / plain) ** 2) if plain > 0 else 1.0
        # Where no pair is discordant, three in n stands in, the upper end (Hanley and Lippman-Hand, 1983).
        seen = discordant if discordant > 0 else min(1.0, 3 / contrast.n)
        needed = pairs_needed(half_width, discordant=seen, difference=contrast.difference, design_effect=effect)
        planned.append(PlannedPair(contrast.a, contrast.b, seen, contrast.difference, effect, needed))
    return planned
