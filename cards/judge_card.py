"""The judge card: what an audit found, as Markdown, JSON and figures, ready for a model repository."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import orjson

from multilingual_math_audit.cards.judge_figures import SIZE_LABELS, save_figures
from multilingual_math_audit.evaluate.audit import Audit, Rate, dose_response
from multilingual_math_audit.evaluate.inject import PAPER_EDITS, construction_of
from multilingual_math_audit.evaluate.sensitivity import FEWEST_ORIGINALS, FEWEST_QUESTIONS, NEGLIGIBLE, points
from multilingual_math_audit.evaluate.statistics import Difference
from multilingual_math_audit.evaluate.verdicts import STRATEGIES
from multilingual_math_audit.store import Run, storage_errors, write_atomically

CARD_FORMAT = 1
_ALT = {
    "acceptance": "Share of variants accepted, by edit, with intervals",
    "numbers": "Chain sensitivity, answer sensitivity and consistency reward, with intervals",
    "benchmarks": "Share of variants accepted, by edit and benchmark",
    "languages": "Share of variants accepted, by edit and language",
    "sizes": "Share of variants accepted, by the relative size of the error",
    "dose": "Share of variants accepted, by the number of wrong numbers in the chain",
}


def write_judge_card(audit: Audit, panel: Run, folder: Path, *, figures: bool = True) -> Path:
    """Write `judge_card.md`, `judge_card.json` and `figures/` to a folder; gives the path of the Markdown.

    Raises MissingExtra where matplotlib is missing; without `figures` it is not needed.
    """
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    names = save_figures(audit, folder / "figures") if figures else []
    facts = card_facts(audit, panel)
    write_atomically(folder / "judge_card.json", orjson.dumps(facts, option=orjson.OPT_INDENT_2) + b"\n")
    path = folder / "judge_card.md"
    write_atomically(path, render_judge_card(audit, facts, names).encode())
    return path


def card_facts(audit: Audit, panel: Run) -> dict[str, Any]:
    """The audit with the protocol it was made by: settings, prompt digest, engines, versions, panel."""
    settings = panel.manifest.get("judges", {}).get(audit.judge, {})
    engines = [
        entry for entry in panel.manifest.get("engines", []) if (entry["role"], entry["name"]) == ("judge", audit.judge)
    ]
    return {
        "format": CARD_FORMAT,
        "audit": audit.to_dict(),
        "protocol": settings,
        "engines": engines,
        "panel": {
            "digest": audit.panel_digest,
            **panel.settings.get("panel", {}),
            **panel.manifest.get("counts", {}),
        },
        "solver": panel.settings.get("solver", {}),
        "versions": panel.manifest.get("facts", {}).get("libraries", {}),
        "package": panel.manifest.get("facts", {}).get("package"),
    }


def render_judge_card(audit: Audit, facts: Mapping[str, Any], figures: Sequence[str]) -> str:
    """The card as Markdown; everything in it comes from `facts` and the audit."""
    template = Template(files("multilingual_math_audit.cards").joinpath("templates/judge_card.md").read_text("utf-8"))
    found = audit.sensitivity
    return template.substitute(
        judge=plain(audit.judge),
        verdict=_sentence(audit.verdict),
        because=audit.because,
        numbers=_numbers(audit),
        figures="\n\n".join(_figure(name) for name in figures),
        acceptance=_acceptance(audit),
        strategies=_strategies(audit),
        contrasts=_contrasts(audit),
        by_benchmark=_by_group(audit, "benchmark:"),
        manners=_manners(audit),
        details=_details(audit),
        paired=audit.paired,
        originals=audit.originals,
        questions=audit.questions,
        pending=audit.pending,
        samples=audit.samples,
        negligible=f"{100 * NEGLIGIBLE:g}",
        fewest=f"{FEWEST_ORIGINALS} originals from {FEWEST_QUESTIONS} questions",
        protocol=_protocol(facts),
        edits="\n".join(f"- `{edit}`: {construction_of(edit).about}" for edit in _edits(audit)),
        balance=_interval(found.balance),
    )


def plain(text: str) -> str:
    """A name from outside as Markdown text: no markup, no line break, no HTML.

    >>> plain("org/<b>x</b>|y")
    'org/&lt;b&gt;x&lt;/b&gt;\\\\|y'
    """
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for mark in "\\`*[]|":
        escaped = escaped.replace(mark, "\\" + mark)
    return " ".join(escaped.split())


def _sentence(verdict: Iterable[str]) -> str:
    words = "; ".join(verdict)
    return words[:1].upper() + words[1:] + "."


def _edits(audit: Audit) -> list[str]:
    further = [rate.edit for rate in audit.further if not rate.edit.startswith("dose_")]
    natural = ["natural"] if audit.natural else []
    return [*PAPER_EDITS, *further, *natural]


def _figure(name: str) -> str:
    width = 680 if name in ("benchmarks", "languages") else 440
    return (
        f'<picture>\n  <source media="(prefers-color-scheme: dark)" srcset="figures/{name}-dark.png">\n'
        f'  <img alt="{_ALT[name]}" src="figures/{name}.png" width="{width}">\n</picture>'
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join(["---"] + ["---:"] * (len(head) - 1)) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _percent(rate: Rate) -> str:
    return "–" if math.isnan(rate.value) else f"{100 * rate.value:.1f} [{100 * rate.low:.1f}, {100 * rate.high:.1f}]"


def _interval(difference: Difference) -> str:
    if math.isnan(difference.value):
        return "undefined"
    return f"{difference.value:.3f} [{difference.low:.3f}, {difference.high:.3f}]"


def _numbers(audit: Audit) -> str:
    found = audit.sensitivity
    named = (
        ("Chain sensitivity", "clean minus intermediate", found.chain),
        ("Answer sensitivity", "clean minus final answer", found.answer),
        ("Consistency reward", "consistent minus final answer", found.agreement),
    )
    rows = [
        (name, meaning, "undefined" if math.isnan(d.value) else points(d, signed=True)) for name, meaning, d in named
    ]
    return _table(("Number", "Acceptance of", "Difference, 95% over questions"), rows)


def _acceptance(audit: Audit) -> str:
    rates = [r for r in audit.rates if r.group == "all" and r.strategy == "majority"]
    rates += [r for r in (*audit.further, *audit.natural) if r.group == "all"]
    rows = [
        (f"`{r.edit}`", construction_of(r.edit).verdict, f"{r.accepted}", f"{r.n}", _percent(r)) for r in rates if r.n
    ]
    return _table(("Variant", "Right verdict", "Accepted", "Of", "% (Wilson 95%)"), rows)


def _strategies(audit: Audit) -> str:
    of = {(r.edit, r.strategy): r for r in audit.rates if r.group == "all"}
    rows = [(f"`{edit}`", *(_percent(of[edit, strategy]) for strategy in STRATEGIES)) for edit in PAPER_EDITS]
    return _table(("Variant", *(strategy.replace("_", " ") for strategy in STRATEGIES)), rows)


def _contrasts(audit: Audit) -> str:
    rows = []
    for c in audit.contrasts["majority"]:
        if not c.n:
            continue
        rows.append(
            (
                f"`{c.b}` minus `{c.a}`",
                f"{100 * c.difference:+.1f}",
                f"[{100 * c.low:.1f}, {100 * c.high:.1f}]",
                f"[{100 * c.clustered_low:.1f}, {100 * c.clustered_high:.1f}]"
                + (" degenerate" if c.degenerate else ""),
                f"{c.only_a} / {c.only_b}",
                f"{c.p:.3g}",
                f"{c.p_holm:.3g}",
            )
        )
    head = (
        "Pair",
        "Points",
        "95% over solutions",
        "95% over questions",
        "Only first / only second",
        "McNemar p",
        "Holm",
    )
    return _table(head, rows)


def _by_group(audit: Audit, prefix: str) -> str:
    groups = list(dict.fromkeys(r.group for r in audit.rates if r.group.startswith(prefix)))
    of = {(r.edit, r.group): r for r in audit.rates if r.strategy == "majority"}
    rows = [
        (
            group.removeprefix(prefix),
            str(of["clean", group].n),
            *(
                "–" if math.isnan(of[edit, group].value) else f"{100 * of[edit, group].value:.1f}"
                for edit in PAPER_EDITS
            ),
        )
        for group in groups
    ]
    return _table((prefix.rstrip(":").capitalize(), "n", *(edit.replace("_", " ") for edit in PAPER_EDITS)), rows)


def _manners(audit: Audit) -> str:
    rows = [
        (
            f"`{m.edit}`",
            str(m.judgments),
            ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in m.no_verdict.items()) or "0",
            f"{m.split} of {m.variants}",
            str(m.single_vote),
        )
        for m in audit.manners
    ]
    return _table(("Variant", "Judgments", "Without a verdict", "Split decisions", "Accepted on one vote"), rows)


def _details(audit: Audit) -> str:
    parts = []
    named = (
        ("Size of the error", audit.by_size),
        ("How it was formed", audit.by_form),
        ("Position", audit.by_position),
    )
    for title, rates in named:
        rows = [(f"`{r.edit}`", SIZE_LABELS.get(r.group, r.group), f"{r.n}", _percent(r)) for r in rates if r.n]
        if rows:
            parts.append(f"**{title}**\n\n" + _table(("Variant", title, "n", "% accepted"), rows))
    if doses := dose_response(audit):
        dosed = [(str(n), f"{rate.n}", _percent(rate)) for n, rate in doses]
        parts.append("**Dose**\n\n" + _table(("Wrong numbers", "n", "% accepted"), dosed))
    return "\n\n".join(parts)


def _protocol(facts: Mapping[str, Any]) -> str:
    rows = []
    for part in ("protocol", "panel", "solver"):
        for name, value in sorted(facts.get(part, {}).items()):
            if value is not None and not isinstance(value, dict):
                shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
                rows.append((part, name.replace("_", " "), plain(shown)))
    for entry in facts.get("engines", []):
        versions = ", ".join(f"{name} {version}" for name, version in sorted(entry.get("versions", {}).items()))
        rows.append(("engine", entry["engine"], plain(f"{entry['model']} {versions}")))
    rows.append(("package", "multilingual-math-audit", plain(str(facts.get("package")))))
    return _table(("", "Setting", "Value"), rows).replace("|---|---:|---:|", "|---|---|---|")
