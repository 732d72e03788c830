"""Tables of token budgets and of what judging costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from multilingual_math_audit.evaluate.budget import (
    Share,
    budget_rung,
    count_tokens,
    credited_values,
    judge_stops,
    no_verdicts,
    solver_stops,
)
from multilingual_math_audit.evaluate.counts import QuestionCounts
from multilingual_math_audit.evaluate.metrics import Interval
from multilingual_math_audit.evaluate.report.entries import Entry, count_missing, count_pending
from multilingual_math_audit.evaluate.report.material import Material
from multilingual_math_audit.evaluate.report.tables import Column, Table, Value
from multilingual_math_audit.evaluate.report.values import difference_values, largest_k, make_cell, pass_values

NAN = float("nan")


def share_interval(share: Share) -> Interval | None:
    """A share in percent with Wilson's interval; None when nothing was counted."""
    if not share.whole:
        return None
    low, high = share.bounds
    return Interval(100 * share.value, 100 * low, 100 * high, share.whole)


def stops_table(material: Material) -> Table:
    """How often solvers and judges met their limit, beside the difference it may explain."""
    columns = (
        Column("benchmark", "Benchmark"), Column("solver", "Solver"), Column("mode", "Mode"),
        Column("budget", "Solver budget", "count"), Column("solver_stops", "Solver stops (%)", "points"),
        Column("judge", "Judge"), Column("judge_budget", "Judge budget", "count"),
        Column("judge_stops", "Judge stops (%)", "points"), Column("no_verdict", "No verdict (%)", "points"),
        Column("difference", "Difference", "points"), Column("questions_lost", "Questions lost", "count"),
    )  # fmt: skip
    rows: list[dict[str, Value]] = []
    for entry in material.entries:
        for benchmark, questions in entry.benchmarks.items():
            common: dict[str, Value] = {
                "benchmark": benchmark,
                "solver": entry.label,
                "mode": entry.mode,
                "budget": entry.budget,
                "solver_stops": share_interval(solver_stops(questions)),
            }
            rows += [{**common, **_judge_stops(material, entry, benchmark, judge)} for judge in entry.judges] or [
                common
            ]
    rows.sort(key=lambda row: str(row["benchmark"]))
    notes = (
        "A stop counts even when a verdict or an answer was already written. Intervals: Wilson 95%.",
        "Questions lost: solved, and none of the correct solutions approved.",
    )
    return Table("stops", "Stops at the limit", columns, tuple(rows), notes, material.choices.command)


def _judge_stops(material: Material, entry: Entry, benchmark: str, judge: str) -> dict[str, Value]:
    questions = entry.benchmarks[benchmark]
    k = largest_k(entry, benchmark)
    whole = k > 0 and not count_pending(questions, judge) and not count_missing(entry, benchmark)
    values = difference_values(questions, judge, k, strategy=material.choices.strategy) if whole else np.array([NAN])
    return {
        "judge": judge,
        "judge_budget": entry.judge_budgets.get(judge),
        "judge_stops": share_interval(judge_stops(questions, judge)),
        "no_verdict": share_interval(no_verdicts(questions, judge)),
        "difference": material.interval([material.cell(entry, benchmark, judge)], [1.0]) if whole else None,
        "questions_lost": int((values > 0.999999).sum()) if whole and all(q.n == k for q in questions) else None,
    }


def ladder_budget_table(material: Material) -> Table:
    """What solvers do with one budget and another: stop rate, Pass@1, Pass@n, solved questions."""
    columns = (
        Column("benchmark", "Benchmark"), Column("solver", "Solver"), Column("mode", "Mode"),
        Column("budget", "Budget", "count"), Column("stops", "Stops (%)", "points"),
        Column("pass_at_1", "Pass@1", "points"), Column("pass_at_n", "Pass@n", "points"),
        Column("solved", "Solved", "count"), Column("questions", "Questions", "count"),
    )  # fmt: skip
    rows: list[dict[str, Value]] = []
    for entry in _with_several_budgets(material.entries):
        for benchmark, questions in entry.benchmarks.items():
            rung = budget_rung(questions, budget=entry.budget)
            whole = not count_missing(entry, benchmark)
            rows.append(
                {
                    "benchmark": benchmark,
                    "solver": entry.solver,
                    "mode": entry.mode,
                    "budget": rung.budget,
                    "stops": share_interval(rung.stops),
                    "pass_at_1": 100 * rung.pass_at_1 if whole else NAN,
                    "pass_at_n": 100 * rung.pass_at_n if whole else NAN,
                    "solved": rung.solved,
                    "questions": rung.questions,
                }
            )
    rows.sort(key=lambda r: (str(r["benchmark"]), str(r["solver"]), str(r["mode"]), _order(r["budget"])))
    notes = ("Solvers that were run in one mode with more than one budget.",)
    return Table("budget_ladder", "The budget ladder", columns, tuple(rows), notes, material.choices.command)


def _order(budget: Value) -> int:
    return budget if isinstance(budget, int) else -1


def _with_several_budgets(entries: Sequence[Entry]) -> list[Entry]:
    budgets: dict[tuple[str, str], set[int | None]] = {}
    for entry in entries:
        budgets.setdefault((entry.solver, entry.mode), set()).add(entry.budget)
    return [entry for entry in entries if len(budgets[entry.solver, entry.mode]) > 1]


def mode_table(material: Material) -> Table:
    """The same items in several languages, by generation mode: stop rate, Pass@1 and Pass@n, averaged over solvers.

    Only benchmarks that are translations of each other enter, and only solvers that have all of them.
    """
    columns = (
        Column("mode", "Mode"), Column("budget", "Budget", "count"), Column("language", "Language"),
        Column("solvers", "Solvers", "count"), Column("stops", "Stops (%)", "points"),
        Column("pass_at_1", "Pass@1", "points"), Column("pass_at_n", "Pass@n", "points"),
    )  # fmt: skip
    cells: dict[tuple[str, int | None, str], list[dict[str, float]]] = {}
    for entry in material.entries:
        for language, questions in _translations(entry):
            rung = budget_rung(questions, budget=entry.budget)
            numbers = {"stops": rung.stops.value, "pass_at_1": rung.pass_at_1, "pass_at_n": rung.pass_at_n}
            cells.setdefault((entry.mode, entry.budget, language), []).append(numbers)
    rows = [
        {
            "mode": mode,
            "budget": budget,
            "language": language.upper(),
            "solvers": len(found),
            **{name: 100 * float(np.mean([numbers[name] for numbers in found])) for name in found[0]},
        }
        for (mode, budget, language), found in sorted(cells.items(), key=lambda item: (item[0][0], _order(item[0][1])))
    ]
    notes = ("Unweighted means over solvers; only translations of the same items, so language is all that differs.",)
    title = "The same items in several languages, by mode"
    return Table("modes", title, columns, tuple(rows), notes, material.choices.command)


def _translations(entry: Entry) -> Iterator[tuple[str, Sequence[QuestionCounts]]]:
    families: dict[frozenset[str], list[Sequence[QuestionCounts]]] = {}
    for name, questions in entry.benchmarks.items():
        if not count_missing(entry, name):
            families.setdefault(frozenset(q.item for q in questions), []).append(questions)
    for family in families.values():
        languages = [questions[0].language for questions in family]
        if len(family) > 1 and len(set(languages)) == len(languages):
            yield from zip(languages, family, strict=True)


def counterfactual_table(material: Material) -> Table:
    """The difference as observed, and with stopped judgments without a verdict credited as approvals."""
    columns = (
        Column("judge", "Judge"), Column("mode", "Mode"), Column("budget", "Solver budget", "count"),
        Column("cells", "Cells", "count"), Column("observed", "Observed difference", "points"),
        Column("credited", "Stops credited", "points"), Column("left_out", "Cells left out", "count"),
    )  # fmt: skip
    rows: list[dict[str, Value]] = []
    for judge in material.judges:
        grouped: dict[tuple[str, int | None], list[Entry]] = {}
        for entry in material.covered_by(judge):
            grouped.setdefault((entry.mode, entry.budget), []).append(entry)
        for (mode, budget), entries in sorted(grouped.items(), key=lambda item: (item[0][0], _order(item[0][1]))):
            rows.append({"judge": judge, "mode": mode, "budget": budget, **_counterfactual(material, entries, judge)})
    notes = (
        (
            "Unweighted means over cells that are whole. Crediting turns each stopped judgment without a verdict "
            "into an "
            "approval and applies the majority rule again, so it can only lower the difference."
        ),
    )
    title = "Counterfactual: stopped judgments credited"
    return Table("counterfactual", title, columns, tuple(rows), notes, material.choices.command)


def _counterfactual(material: Material, entries: Sequence[Entry], judge: str) -> dict[str, Value]:
    observed, credited, left_out = [], [], 0
    for entry in entries:
        for benchmark, questions in entry.benchmarks.items():
            k = largest_k(entry, benchmark)
            silent = any(q.judges[judge].unknown_stops for q in questions if judge in q.judges)
            if k == 0 or silent or count_missing(entry, benchmark) or count_pending(questions, judge):
                left_out += 1
                continue
            base = pass_values(questions, k)
            observed.append(make_cell(entry, benchmark, list(difference_values(questions, judge, k).tolist())))
            values = base - credited_values(questions, judge, k)
            credited.append(make_cell(entry, benchmark, list(values.tolist())))
    weights = [1 / len(observed)] * len(observed) if observed else []
    return {
        "cells": len(observed),
        "observed": material.interval(observed, weights) if observed else None,
        "credited": material.interval(credited, weights) if credited else None,
        "left_out": left_out,
    }


def cost_table(material: Material) -> Table:
    """What judging costs: judgments and tokens per judge, per judged solution, and beside the solving they judge."""
    columns = (
        Column("stage", "Stage"), Column("by", "By"), Column("of", "Of"), Column("cells", "Cells", "count"),
        Column("samples", "Samples", "count"), Column("tokens", "New tokens", "count"),
        Column("per_sample", "Tokens per sample", "count"),
        Column("per_solution", "Tokens per judged solution", "count"),
        Column("share", "Of the solver's tokens (%)", "points"), Column("copied", "Copied judgments", "count"),
    )  # fmt: skip
    rows = [_solving_row(entry) for entry in material.entries]
    for judge in material.judges:
        covered = material.covered_by(judge)
        rows += [_judging_row([entry], judge, entry.label) for entry in covered]
        if len(covered) > 1:
            rows.append(_judging_row(covered, judge, "all solvers"))
    notes = (
        (
            "Share: the judge's new tokens in percent of all new tokens the solver spent on the same cells, that is, "
            "what "
            "CoT-Pass@k adds to a Pass@k evaluation. Prompt tokens are not in it."
        ),
    )
    return Table("cost", "The cost of judging", columns, tuple(rows), notes, material.choices.command)


def _solving_row(entry: Entry) -> dict[str, Value]:
    questions = [q for cell in entry.benchmarks.values() for q in cell]
    samples, tokens = sum(q.n for q in questions), count_tokens(questions)
    return {
        "stage": "solve",
        "by": entry.label,
        "of": "",
        "cells": len(entry.benchmarks),
        "samples": samples,
        "tokens": tokens,
        "per_sample": _ratio(tokens, samples),
    }


def _ratio(tokens: int | None, whole: int | None) -> float:
    return tokens / whole if tokens is not None and whole else NAN


def _judging_row(entries: Sequence[Entry], judge: str, of: str) -> dict[str, Value]:
    cells = [
        questions
        for entry in entries
        for questions in entry.benchmarks.values()
        if any(judge in q.judges for q in questions)
    ]
    questions = [q for cell in cells for q in cell]
    counts = [q.judges[judge] for q in questions if judge in q.judges]
    judgments, tokens = sum(c.judgments for c in counts), count_tokens(counts)
    judged, solving = sum(c.judged for c in counts), count_tokens(questions)
    return {
        "stage": "judge",
        "by": judge,
        "of": of,
        "cells": len(cells),
        "samples": judgments,
        "tokens": tokens,
        "per_sample": _ratio(tokens, judgments),
        "per_solution": _ratio(tokens, judged),
        "share": 100 * _ratio(tokens, solving),
        "copied": sum(c.copied for c in counts),
    }
