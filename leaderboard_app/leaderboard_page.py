"""The leaderboard's table, its chart, one row in full, and the download."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from multilingual_math_audit.evaluate.metrics import Interval
from multilingual_math_audit.leaderboard_app.board import Board, Contamination, Row
from multilingual_math_audit.leaderboard_app.markup import Markup, join, tag
from multilingual_math_audit.leaderboard_app.plots import Axes, interval_bar, pair_chart
from multilingual_math_audit.leaderboard_app.rows import Line, Table, View, all_lines
from multilingual_math_audit.leaderboard_app.texts import Texts
from multilingual_math_audit.submissions.question_sets import question_sets

COLUMNS: tuple[tuple[str, str | None], ...] = (
    ("rank", None),
    ("solver", "solver"),
    ("judge", "judge"),
    ("pass_1", "pass_1"),
    ("pass_k", "pass_k"),
    ("cot_pass_k", "cot_pass_k"),
    ("difference", "difference"),
    ("stop_rate", "stop_rate"),
    ("judge_stop_rate", "judge_stop_rate"),
    ("tokens", "tokens"),
    ("trust", "trust"),
)
BADGES = {"reads": "good", "blind": "bad", "unaudited": "warn", "unclear": "warn", "no_judge": "plain"}
TRUST_BADGES = {"self-reported": "plain", "reproducible": "good", "verified": "best"}


def table_html(board: Board, table: Table, view: View, t: Texts) -> Markup:
    """One page of the leaderboard as a table whose headers sort and whose solver names open the row."""
    if not board.rows:
        return tag("div", tag("p", t("empty_board")), class_="empty")
    if not table.benchmarks:
        return tag("div", tag("p", t("empty_choice")), class_="empty")
    if not table.lines:
        return tag("div", tag("p", t("empty_filter")), class_="empty")
    limit = max((abs(v) for line in table.lines if (d := line.difference) for v in (d.low, d.high)), default=0.1)
    heads = [_head(name, sort, view, t) for name, sort in COLUMNS]
    body = [_row(line, len(table.benchmarks), max(limit, 0.05), t) for line in table.lines]
    names = ", ".join(board.cells[name].questions.title for name in table.benchmarks)
    caption = t(
        "caption", benchmarks=names, questions=table.questions, k=view.k, strategy=t(f"strategy_{view.strategy}")
    )
    return join(
        tag("p", caption, class_="muted caption"),
        tag(
            "div",
            tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *body), class_="board"),
            class_="scroll",
            tabindex="0",
            role="region",
            aria_label=t("page_leaderboard"),
        ),
        _pager(table, t),
        _unreadable(board, t),
    )


def _head(name: str, sort: str | None, view: View, t: Texts) -> Markup:
    label = t(f"column_{name}", k=view.k) if "{k}" in t(f"column_{name}") else t(f"column_{name}")
    pinned = f"col-{name}"
    if sort is None:
        return tag("th", tag("span", label, title=t(f"help_{name}")), scope="col", class_=pinned)
    order = ("ascending" if view.ascending else "descending") if view.sort == sort else "none"
    arrow = {"ascending": "▲", "descending": "▼", "none": ""}[order]
    button = tag(
        "button",
        label,
        tag("span", arrow, class_="arrow", aria_hidden="true"),
        type="button",
        data_sort=sort,
        title=t(f"help_{name}"),
    )
    return tag("th", button, scope="col", aria_sort=order, class_=pinned)


def _row(line: Line, chosen: int, limit: float, t: Texts) -> Markup:
    row = line.row
    doubt = t(f"mark_help_{line.mark}") if line.mark in ("blind", "unaudited", "unclear") else None
    size = t("billions", n=t.decimal(row.solver.parameters)) if row.solver.parameters else None
    budget = t("budget_short", n=t.whole(row.budget)) if row.budget else None
    shots = t("shots", n=row.solver.settings.shots) if row.solver.settings.shots else None
    facts = " · ".join(part for part in (t(f"mode_{row.solver.mode}"), size, budget, shots) if part)
    name = tag("button", row.solver.model, type="button", class_="link", data_row=row.id, title=t("open_row"))
    judge = (
        join(tag("span", row.judge_label, class_="strong"), tag("br"), mark_badge(line.mark, t))
        if row.judge is not None
        else tag("span", t("no_judge"), class_="muted")
    )
    cells = [
        tag("td", line.rank if line.rank else "", class_="col-rank num"),
        tag("th", name, tag("span", facts, class_="facts"), scope="row", class_="col-solver"),
        tag("td", judge, class_="col-judge"),
        tag("td", t.percent(line.pass_1), class_="num"),
        _interval_cell(line.pass_k, line, chosen, t),
        _interval_cell(line.cot_pass_k, line, chosen, t, doubt=doubt),
        _difference_cell(line, limit, t, doubt=doubt),
        tag("td", t.percent(line.stop_rate), class_="num"),
        tag("td", t.percent(line.judge_stop_rate), class_="num"),
        tag("td", t.whole(line.tokens), class_="num"),
        tag("td", trust_badge(row, t), tag("br"), contamination_badge(line.contamination, t)),
    ]
    return tag("tr", *cells, data_id=row.id, class_="incomplete" if line.why == "not_covered" else None)


def contamination_badge(mark: Contamination, t: Texts) -> Markup:
    """Whether the model may have seen the questions, as a badge with its meaning."""
    kind = {"before": "good", "after": "warn", "unknown": "plain"}[mark]
    help_text = t(f"contamination_help_{mark}")
    return tag("span", t(f"contamination_{mark}"), class_=f"badge {kind}", title=help_text)


def _interval_cell(interval: Interval | None, line: Line, chosen: int, t: Texts, doubt: str | None = None) -> Markup:
    if interval is None:
        return tag("td", tag("span", "–", title=_why(line, chosen, t), class_="muted"), class_="num")
    ends = f"[{t.percent(interval.low)}, {t.percent(interval.high)}]"
    shade = "num doubtful" if doubt else "num"
    return tag("td", t.percent(interval.value), tag("span", ends, class_="ends"), class_=shade, title=doubt)


def _difference_cell(line: Line, limit: float, t: Texts, *, doubt: str | None) -> Markup:
    found = line.difference
    if found is None:
        return tag("td", tag("span", _why(line, chosen=0, t=t), class_="muted why"), class_="num col-difference")
    ends = f"[{t.percent(found.low)}, {t.percent(found.high)}]"
    note = tag("span", t("degenerate"), class_="badge warn", title=t("degenerate_help")) if found.degenerate else ""
    return tag(
        "td",
        t.percent(found.value),
        tag("span", ends, class_="ends"),
        interval_bar(found.low, found.value, found.high, limit=limit),
        note,
        class_="num col-difference doubtful" if doubt else "num col-difference",
        title=doubt,
    )


def _why(line: Line, chosen: int, t: Texts) -> str:
    if line.why == "pending":
        return t("why_pending", n=t.whole(line.pending))
    return t(f"why_{line.why}") if line.why else ""


def mark_badge(mark: str, t: Texts) -> Markup:
    """What is known of a judge, as a badge with its meaning."""
    return tag("span", t(f"mark_{mark}"), class_=f"badge {BADGES[mark]}", title=t(f"mark_help_{mark}"))


def trust_badge(row: Row, t: Texts) -> Markup:
    """The level of trust as a badge with its meaning; counts from a publication say so."""
    level = row.trust
    badge = tag("span", t(f"trust_{level}"), class_=f"badge {TRUST_BADGES[level]}", title=t(f"trust_help_{level}"))
    published = row.entry.submission.published
    if published is None:
        return badge
    return join(badge, " ", tag("span", t("published"), class_="badge plain", title=published.credit))


def _pager(table: Table, t: Texts) -> Markup:
    if table.pages == 1:
        return tag("p", t("rows_shown", n=table.total), class_="muted pager")
    return tag(
        "p",
        tag("button", "‹", type="button", data_page=table.page - 1, disabled=table.page == 1, aria_label=t("previous")),
        t("page_of", page=table.page, pages=table.pages, n=table.total),
        tag(
            "button",
            "›",
            type="button",
            data_page=table.page + 1,
            disabled=table.page == table.pages,
            aria_label=t("next"),
        ),
        class_="pager",
    )


def _unreadable(board: Board, t: Texts) -> Markup:
    if not board.unreadable:
        return Markup("")
    items = [tag("li", f"{item.file}: {item.fault}"[:300]) for item in board.unreadable[:20]]
    return tag("details", tag("summary", t("unreadable", n=len(board.unreadable))), tag("ul", *items))


def chart_html(table: Table, view: View, t: Texts) -> Markup:
    """Pass@k and CoT-Pass@k of the page's first lines with their intervals."""
    lines = [line for line in table.lines if line.pass_k is not None][:12]
    drawn = [
        (
            " · ".join(filter(None, (line.row.solver.model, line.row.judge_label))),
            [(part.value, part.low, part.high) for part in (line.pass_k, line.cot_pass_k) if part is not None],
        )
        for line in lines
    ]
    axes = Axes(t("chart_title", k=view.k), t("percent_axis"), t("chart_note"), write=lambda value: t.percent(value))
    return pair_chart(drawn, (f"Pass@{view.k}", f"CoT-Pass@{view.k}"), axes)


def row_html(board: Board, row_id: str, t: Texts) -> Markup:
    """Everything a submission says about itself, beside its counts."""
    if row_id not in board.place:
        return Markup("")
    row = board.rows[board.place[row_id]]
    submission, settings = row.entry.submission, row.solver.settings
    facts: list[tuple[str, str | Markup | None]] = [
        (t("fact_submitter"), _linked(submission.submitter.name, submission.submitter.url)),
        (t("fact_revision"), row.solver.revision),
        (t("fact_released"), row.solver.released or t("unknown")),
        (
            t("fact_settings"),
            t(
                "settings_line",
                temperature=t.decimal(settings.temperature, places=2),
                top_p=t.decimal(settings.top_p, places=2),
                budget=t.whole(settings.budget),
            ),
        ),
        (
            t("fact_engine"),
            " ".join(filter(None, (settings.engine, *(f"{k} {v}" for k, v in settings.versions.items())))),
        ),
        (t("fact_trust"), row.entry.acceptance.evidence),
        (
            t("fact_published"),
            _linked(submission.published.credit, submission.published.url) if submission.published else None,
        ),
        (t("fact_run"), submission.raw_run.repository if submission.raw_run else t("not_public")),
        (
            t("fact_cost"),
            t("usd", n=t.decimal(submission.cost.usd, places=2)) if submission.cost and submission.cost.usd else None,
        ),
        (t("fact_note"), submission.note),
        (t("fact_digest"), submission.digest),
    ]
    listed = [join(tag("dt", name), tag("dd", value)) for name, value in facts if value]
    title = " · ".join(filter(None, (row.solver.model, row.judge_label)))
    return tag("section", tag("h3", title), tag("dl", *listed), _per_benchmark(row, t), class_="card", id="row-card")


def _per_benchmark(row: Row, t: Texts) -> Markup:
    heads = [
        tag("th", t(key), scope="col")
        for key in (
            "column_benchmark",
            "column_samples",
            "column_correct",
            "column_approved",
            "column_pending",
            "column_contamination",
        )
    ]
    lines = []
    held = row.entry.submission.benchmarks
    for name, counts in ((name, held[name]) for name in question_sets() if name in held):
        judged = counts.judges.get(row.judge_label or "")
        approved = judged.approved.majority if judged else None
        known = question_sets()[name]
        lines.append(
            tag(
                "tr",
                tag("th", known.title, scope="row"),
                tag("td", t.whole(sum(counts.n)), class_="num"),
                tag("td", t.whole(sum(counts.correct)), class_="num"),
                tag("td", t.whole(sum(approved) if approved is not None else None), class_="num"),
                tag("td", t.whole(sum(judged.pending) if judged else None), class_="num"),
                tag("td", contamination_badge(row.contamination(known), t)),
            )
        )
    return tag("div", tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *lines)), class_="scroll")


def _linked(text: str, url: str | None) -> Markup:
    return tag("a", text, href=url, rel="noopener nofollow", target="_blank") if url else join(text)


def csv_text(board: Board, view: View) -> str:
    """Every line of a view as CSV; a cell that a spreadsheet would run as a formula is quoted with an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for line in all_lines(board, view):
        writer.writerow([_csv_cell(value) for value in _csv_row(line, view)])
    return out.getvalue()


CSV_COLUMNS = (
    "rank",
    "solver",
    "mode",
    "budget",
    "parameters",
    "judge",
    "judge_mark",
    "k",
    "strategy",
    "pass_1",
    "pass_k",
    "pass_k_low",
    "pass_k_high",
    "cot_pass_k",
    "cot_pass_k_low",
    "cot_pass_k_high",
    "difference",
    "difference_low",
    "difference_high",
    "stop_rate",
    "judge_stop_rate",
    "tokens_per_sample",
    "pending",
    "trust",
    "contamination",
    "id",
)


def _csv_row(line: Line, view: View) -> Sequence[object]:
    row = line.row
    ends = [
        value
        for part in (line.pass_k, line.cot_pass_k, line.difference)
        for value in ((part.value, part.low, part.high) if part else (None, None, None))
    ]
    return (
        line.rank,
        row.solver.model,
        row.solver.mode,
        row.budget or None,
        row.solver.parameters,
        row.judge_label,
        line.mark,
        view.k,
        view.strategy,
        line.pass_1,
        *ends,
        line.stop_rate,
        line.judge_stop_rate,
        line.tokens,
        line.pending,
        row.trust,
        line.contamination,
        row.id,
    )


def _csv_cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6f}"
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value
