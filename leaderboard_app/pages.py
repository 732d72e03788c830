"""The other pages as markup: judges, budgets, verifiers, questions, compare, submit, about."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from multilingual_math_audit.evaluate.metrics import pass_at_k
from multilingual_math_audit.evaluate.statistics import Difference, wilson_interval
from multilingual_math_audit.leaderboard_app.board import Board, Row
from multilingual_math_audit.leaderboard_app.chosen import chosen_judges, chosen_rows, chosen_verifiers
from multilingual_math_audit.leaderboard_app.compare import Comparison
from multilingual_math_audit.leaderboard_app.judges import JudgeLine
from multilingual_math_audit.leaderboard_app.leaderboard_page import mark_badge
from multilingual_math_audit.leaderboard_app.markup import Markup, join, tag
from multilingual_math_audit.leaderboard_app.plots import Axes, Bar, Point, Series, bar_chart, line_chart
from multilingual_math_audit.leaderboard_app.rows import View, chosen_benchmarks, row_totals
from multilingual_math_audit.leaderboard_app.texts import Texts
from multilingual_math_audit.submissions.question_sets import question_sets
from multilingual_math_audit.submissions.submission import Selector
from multilingual_math_audit.submissions.validate import Checked

MOST_SERIES = 6
MOST_ROWS = 60
EVERYTHING = View()


def judges_html(board: Board, t: Texts, view: View = EVERYTHING) -> Markup:
    """The audits a view keeps: acceptance per edit, the three sensitivities, the verdict; most sensitive first."""
    lines = chosen_judges(board, view)
    if not lines:
        return tag("div", tag("p", t("empty_filter_judges" if board.audits else "empty_judges")), class_="empty")
    bars = [
        Bar(t(f"edit_{part.edit}"), line.judge.model, part.value, part.low, part.high)
        for line in lines[:MOST_SERIES]
        for part in line.acceptances
    ]
    axes = Axes(t("judges_chart"), "", t("judges_chart_note"), write=lambda value: t.percent(value))
    heads = ("judge", "verdict", "chain", "answer", "agreement", "balance", "originals")
    head = tag("tr", *(tag("th", t(f"audit_{name}"), scope="col", title=t(f"audit_help_{name}")) for name in heads))
    body = [_judge_row(line, t) for line in lines]
    table = tag("table", tag("thead", head), tag("tbody", *body), class_="board")
    unclustered = tag("p", t("unclustered_note"), class_="muted") if any(not line.clustered for line in lines) else ""
    split = tag("p", t("split_note"), class_="muted") if any(line.split for line in lines) else ""
    return join(
        tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=t("page_judges")),
        unclustered,
        split,
        bar_chart(bars, axes),
        *(_judge_details(line, t) for line in lines),
    )


def _judge_row(line: JudgeLine, t: Texts) -> Markup:
    found = line.sensitivity
    numbers = [_difference(part, t) for part in (found.chain, found.answer, found.agreement, found.balance)]
    words = ", ".join(t("words_" + word.replace(" ", "_")) for word in line.verdict)
    return tag(
        "tr",
        tag("th", line.judge.model, tag("span", t(f"mode_{line.judge.mode}"), class_="facts"), scope="row"),
        tag("td", mark_badge(line.mark, t), tag("span", words, class_="facts")),
        *(tag("td", number, class_="num") for number in numbers),
        tag("td", t.whole(line.originals), class_="num"),
    )


def _judge_details(line: JudgeLine, t: Texts) -> Markup:
    edits = [part.edit for part in line.acceptances]
    head = tag(
        "tr", tag("th", t("column_benchmark"), scope="col"), *(tag("th", t(f"edit_{e}"), scope="col") for e in edits)
    )
    body = [
        tag(
            "tr",
            tag("th", question_sets()[name].title, scope="row"),
            *(tag("td", _rate(part, t), class_="num") for part in parts),
        )
        for name, parts in line.benchmarks
    ]
    pooled = tag(
        "tr",
        tag("th", t("all_benchmarks"), scope="row"),
        *(tag("td", _rate(p, t), class_="num") for p in line.acceptances),
    )
    table = tag("div", tag("table", tag("thead", head), tag("tbody", pooled, *body)), class_="scroll")
    return tag("details", tag("summary", t("per_benchmark", judge=line.judge.model)), table)


def _rate(part: object, t: Texts) -> Markup:
    value, low, high = (getattr(part, name) for name in ("value", "low", "high"))
    return join(t.percent(value), tag("span", f"[{t.percent(low)}, {t.percent(high)}]", class_="ends"))


def _difference(found: Difference, t: Texts) -> Markup:
    if np.isnan(found.value):
        return join("–")
    ends = f"[{t.percent(found.low)}, {t.percent(found.high)}]"
    return join(t.percent(found.value), tag("span", ends, class_="ends"))


def budgets_html(board: Board, t: Texts, view: View = EVERYTHING) -> Markup:
    """Budgets and modes of the rows a view keeps: stop rates, and Pass@k against the tokens spent on k samples."""
    names = chosen_benchmarks(board, view)
    solvers = _one_row_per_solver(chosen_rows(board, view))
    if not board.rows:
        return tag("div", tag("p", t("empty_board")), class_="empty")
    heads = ("solver", "mode", "budget", "stop_rate", "tokens", "pass_1", "pass_n", "chains")
    held = [row for row in solvers if any(board.cells[name].covered[board.place[row.id]] for name in names)]
    drawn = held[:MOST_ROWS]
    body, series = [], []
    for row, values in zip(drawn, _ladders(board, drawn, names), strict=True):
        totals = row_totals(row, names)
        last = max(values)
        partial = "" if totals.covered == len(names) else t("partly", n=totals.covered, of=len(names))
        cells = (
            t(f"mode_{row.solver.mode}"),
            t.whole(row.budget or None),
            t.percent(totals.stop_rate),
            t.whole(totals.tokens),
            t.percent(None if totals.ungraded else values[1]),
            f"{t.percent(None if totals.ungraded else values[last])} (k = {last})",
            _languages(row, names, t),
        )
        body.append(
            tag(
                "tr",
                tag("th", row.solver.model, tag("span", partial, class_="facts"), scope="row"),
                *(tag("td", cell, class_="num") for cell in cells),
            )
        )
        if totals.tokens and not totals.ungraded:
            name = f"{row.solver.model} · {t('mode_' + row.solver.mode)} · {t.whole(row.budget)}"
            points = [
                Point(totals.tokens * k, value, label=f"{name}, k = {k}: {t.percent(value)}")
                for k, value in values.items()
            ]
            series.append(Series(name, points))
    if not body:
        return tag("div", tag("p", t("empty_filter" if names else "empty_choice")), class_="empty")
    head = tag("tr", *(tag("th", t(f"column_{name}"), scope="col") for name in heads))
    axes = Axes(
        t("tokens_chart"), t("tokens_axis"), t("percent_axis"), log_x=True, write=lambda value: t.percent(value)
    )
    chart = line_chart(series[:MOST_SERIES], axes) or tag("p", t("no_tokens"), class_="muted")
    table = tag("table", tag("thead", head), tag("tbody", *body), class_="board")
    more = tag("p", t("heat_more", n=len(held) - MOST_ROWS), class_="muted") if len(held) > MOST_ROWS else ""
    scroll = tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=t("page_budgets"))
    return join(scroll, more, chart)


def _languages(row: Row, names: Sequence[str], t: Texts) -> str:
    """The shares of a row's chains in the benchmarks' languages, mixed and English, where they were told apart."""
    held = [row.entry.submission.benchmarks[name] for name in names if name in row.entry.submission.benchmarks]
    found = [counts.languages for counts in held if counts.languages is not None]
    total = sum(shares.total for shares in found)
    parts = (sum(getattr(shares, kind) for shares in found) for kind in ("target", "mixed", "english"))
    return " · ".join(t.percent(part / total) for part in parts) if total else t.percent(None)


def _ladders(board: Board, rows: Sequence[Row], names: Sequence[str]) -> list[dict[int, float]]:
    """Per row the Pass@k over the questions of the benchmarks it has, for k = 1, 2, 4, ... up to its fewest samples."""
    if not rows:
        return []
    pooled = [_pooled(board, row, names) for row in rows]
    n, correct = (np.concatenate([part[at] for part in pooled]) for at in (0, 1))
    starts = np.cumsum([0, *(len(part[0]) for part in pooled[:-1])])
    sizes = np.diff([*starts, len(n)])
    ladders = [_ladder(int(part[0].min())) for part in pooled]
    width = int(n.max()) + 1
    pairs, place = np.unique(n.astype(np.int64) * width + correct, return_inverse=True)
    known = {k: pass_at_k(pairs // width, pairs % width, k)[place] for k in set().union(*ladders)}
    means = {k: np.add.reduceat(values, starts) / sizes for k, values in known.items()}
    return [{k: float(means[k][at]) for k in ladder} for at, ladder in enumerate(ladders)]


def _ladder(n: int) -> list[int]:
    return sorted({1 << power for power in range(n.bit_length())} | {n})


def _one_row_per_solver(rows: Sequence[Row]) -> list[Row]:
    kept: dict[str, Row] = {}
    for row in rows:
        kept.setdefault(row.entry.submission.digest, row)
    return sorted(kept.values(), key=lambda row: (row.solver.model, row.solver.mode, row.budget))


def _pooled(board: Board, row: Row, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    place = board.place[row.id]
    cells = [board.cells[name] for name in names if board.cells[name].covered[place]]
    return np.concatenate([cell.n[place] for cell in cells]), np.concatenate([cell.correct[place] for cell in cells])


def verifiers_html(board: Board, t: Texts, view: View = EVERYTHING) -> Markup:
    """Best-of-N, calibration and early stopping, one section per verifier and benchmark that a view keeps."""
    parts = []
    for entry, benchmark in chosen_verifiers(board, view):
        verifier, solver = entry.submission.verifier, entry.submission.solver
        if verifier is None:
            continue
        chosen = {name: found[benchmark] for name, found in verifier.selectors.items() if benchmark in found}
        known = question_sets().get(benchmark)
        title = " · ".join(
            filter(None, (verifier.model, solver.model if solver else "", known.title if known else benchmark))
        )
        parts.append(tag("section", tag("h3", title), *_selector_charts(chosen, t), class_="card"))
    there = any(entry.submission.verifier is not None for entry in board.entries)
    empty = t("empty_filter_verifiers" if there else "empty_verifiers")
    return join(*parts) if parts else tag("div", tag("p", empty), class_="empty")


def _selector_charts(chosen: dict[str, Selector], t: Texts) -> list[Markup]:
    best, reliable, stopping = [], [], []
    for name, selector in chosen.items():
        points = []
        for part in selector.best_of:
            if part.groups:
                low, high = wilson_interval(part.correct, part.groups)
                share = part.correct / part.groups
                text = f"{name}, N = {part.size}: {t.percent(share)} [{t.percent(low)}, {t.percent(high)}]"
                points.append(Point(part.size, share, low, high, text))
        best.append(Series(name, points))
        bins = [part for part in selector.reliability if part.count]
        reliable.append(
            Series(
                name,
                [
                    Point(
                        part.confidence / part.count,
                        part.correct / part.count,
                        *wilson_interval(part.correct, part.count),
                        name,
                    )
                    for part in bins
                ],
            )
        )
        stopping.append(
            Series(
                name,
                [
                    Point(
                        part.tokens / part.questions,
                        part.correct / part.questions,
                        *wilson_interval(part.correct, part.questions),
                        f"{name}, {t.decimal(part.threshold, places=2)}",
                    )
                    for part in sorted(selector.early_stopping, key=lambda part: part.tokens)
                    if part.questions
                ],
            )
        )

    write = _percent_writer(t)
    return [
        line_chart(best, Axes(t("best_of_chart"), "N", t("percent_axis"), log_x=True, write=write)),
        line_chart(
            reliable, Axes(t("reliability_chart"), t("confidence_axis"), t("percent_axis"), diagonal=True, write=write)
        ),
        line_chart(stopping, Axes(t("stopping_chart"), t("tokens_question_axis"), t("percent_axis"), write=write)),
    ]


def _percent_writer(t: Texts) -> Callable[[float], str]:
    return lambda value: t.percent(value)


def comparison_html(found: Comparison | None, t: Texts) -> Markup:
    """Two rows side by side, paired by question."""
    if found is None:
        return tag("div", tag("p", t("compare_nothing")), class_="empty")
    interval = found.difference
    ends = f"[{t.percent(interval.low, signed=True)}, {t.percent(interval.high, signed=True)}]"
    clear = "compare_clear" if interval.low > 0 or interval.high < 0 else "compare_unclear"
    facts = (
        (t("compare_difference"), f"{t.percent(interval.value, signed=True)} {ends}"),
        (t("compare_won"), t("compare_counts", won=found.won, lost=found.lost, tied=found.tied)),
        (t("compare_test"), f"p = {t.decimal(found.p, places=4)}"),
        (t("compare_questions"), t.whole(interval.n)),
    )
    listed = [join(tag("dt", name), tag("dd", value)) for name, value in facts]
    questions = [tag("li", tag("b", question), f" {t.percent(a)} : {t.percent(b)}") for question, a, b in found.largest]
    largest = tag("details", tag("summary", t("compare_largest")), tag("ul", *questions)) if questions else ""
    return tag("section", tag("p", t(clear), class_="lead"), tag("dl", *listed), largest, class_="card")


def checked_html(checked: Checked, preview: Markup, t: Texts) -> Markup:
    """What validation found in an uploaded file, and the row as it would stand."""
    if checked.submission is None:
        items = [tag("li", tag("code", fault.path or "·"), " ", fault.message) for fault in checked.faults]
        more = tag("p", t("more_faults", n=checked.hidden)) if checked.hidden else ""
        return tag(
            "div",
            tag("h3", t("upload_bad", n=len(checked.faults) + checked.hidden)),
            tag("ul", *items),
            more,
            class_="card bad-file",
            role="status",
        )
    good = tag("h3", t("upload_good"))
    return tag("div", good, tag("p", t("upload_stands")), preview, class_="card good-file", role="status")


def submit_html(t: Texts) -> Markup:
    """How to submit, step by step."""
    commands = (
        "math-audit validate runs/first/submission.json",
        "math-audit submit runs/first --to ORG/REPO --submitter NAME --dry-run",
        "math-audit submit runs/first --to ORG/REPO --submitter NAME",
    )
    steps = [
        tag("li", t(f"submit_step_{number}"), tag("pre", tag("code", command)))
        for number, command in enumerate(commands, 1)
    ]
    return tag(
        "section",
        tag("h2", t("page_submit")),
        tag("p", t("submit_lead"), class_="lead"),
        tag("ol", *steps),
        tag("p", t("submit_upload")),
        class_="prose",
    )


def about_html(t: Texts) -> Markup:
    """What each number means, in plain words."""
    sections = []
    for name in ("what", "pass", "cot", "difference", "checks", "trust", "ties", "contamination", "sources"):
        sections += [tag("h3", t(f"about_{name}_title")), tag("p", t(f"about_{name}"))]
    return tag("section", tag("h2", t("page_about")), *sections, class_="prose")


def intro_html(t: Texts) -> Markup:
    """The head of the page: what this is and how to read it, in three sentences."""
    return tag(
        "header",
        tag("h1", t("title")),
        tag("p", t("intro"), class_="lead"),
        tag("ul", *(tag("li", t(f"intro_{number}")) for number in (1, 2, 3)), class_="keys"),
        class_="intro",
    )
