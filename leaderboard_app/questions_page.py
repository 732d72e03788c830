"""Solver by question: a heat map, the counts of one cell, and one public solution with its judgments."""

from __future__ import annotations

from multilingual_math_audit.leaderboard_app.board import Board, Cell, Counts, Row
from multilingual_math_audit.leaderboard_app.markup import Markup, join, tag
from multilingual_math_audit.leaderboard_app.public_runs import Example
from multilingual_math_audit.leaderboard_app.rows import View, passes
from multilingual_math_audit.leaderboard_app.texts import Texts

MOST_ROWS = 40
EVERYTHING = View()


def heat_map_html(board: Board, name: str, kind: str, t: Texts, view: View = EVERYTHING) -> Markup:
    """One benchmark: a line per row that a view keeps, a button per question, shaded by the share of samples.

    `kind` is `correct` or `approved` (under the view's strategy). At most `MOST_ROWS` rows are drawn.
    """
    if name not in board.cells:
        return tag("div", tag("p", t("empty_choice" if board.cells else "empty_board")), class_="empty")
    cell = board.cells[name]
    counts = cell.correct if kind == "correct" else cell.approved[view.strategy]
    chosen = [i for i, row in enumerate(board.rows) if cell.covered[i] and passes(board, row, view)]
    shown, seen = [], set()
    for index in chosen:
        # The correct samples are the same under every judge of a submission: one line is enough.
        key = board.rows[index].entry.submission.digest if kind == "correct" else board.rows[index].id
        if key not in seen and (kind == "correct" or (cell.judged[index] and (counts[index] >= 0).all())):
            seen.add(key)
            shown.append(index)
    numbers = [question.rpartition("/")[2] for question in cell.questions.counted]
    head = tag(
        "tr", tag("th", t("column_solver"), scope="col"), *(tag("th", number, scope="col") for number in numbers)
    )
    body = [
        _line(cell, board.rows[index], counts[index], index, t, by_judge=kind != "correct")
        for index in shown[:MOST_ROWS]
    ]
    if not body:
        return tag("div", tag("p", t("empty_heat" if chosen else "empty_filter")), class_="empty")
    more = tag("p", t("heat_more", n=len(shown) - MOST_ROWS), class_="muted") if len(shown) > MOST_ROWS else ""
    table = tag(
        "table",
        tag("caption", t(f"heat_{kind}", benchmark=cell.questions.title, strategy=t(f"strategy_{view.strategy}"))),
        tag("thead", head),
        tag("tbody", *body),
        class_="heat",
    )
    return join(
        tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=t("page_questions")),
        _legend(t),
        more,
    )


def _line(cell: Cell, row: Row, counts: Counts, index: int, t: Texts, *, by_judge: bool) -> Markup:
    cells = []
    for place, question in enumerate(cell.questions.counted):
        n, count = int(cell.n[index, place]), int(counts[place])
        step = 0 if not count or not n else 1 + min(4, int(5 * count / n))
        text = t("heat_cell", question=question, count=count, n=n)
        button = tag(
            "button",
            count,
            type="button",
            class_=f"h{step}",
            data_cell=f"{row.id}|{question}",
            title=text,
            aria_label=text,
        )
        cells.append(tag("td", button))
    judge = tag("span", row.judge_label, class_="facts") if by_judge and row.judge_label else ""
    mode = tag("span", t(f"mode_{row.solver.mode}"), class_="facts")
    return tag("tr", tag("th", row.solver.model, judge or mode, scope="row"), *cells)


def _legend(t: Texts) -> Markup:
    labels = ("0", "1–19%", "20–39%", "40–59%", "60–79%", "80–100%")
    items = [tag("li", tag("span", "", class_=f"swatch h{step}"), label) for step, label in enumerate(labels)]
    return tag("ul", *items, class_="legend", aria_label=t("heat_legend"))


def cell_html(board: Board, row_id: str, question: str, example: Example | None, t: Texts) -> Markup:
    """The counts of one row on one question and, where the run is public, one of its solutions."""
    name = question.rpartition("/")[0]
    if row_id not in board.place or name not in board.cells or question not in board.cells[name].questions.place:
        return Markup("")
    row, cell = board.rows[board.place[row_id]], board.cells[name]
    place, column = board.place[row_id], cell.questions.place[question]
    counts = row.entry.submission.benchmarks[name]
    facts: list[tuple[str, str]] = [
        (t("column_samples"), t.whole(int(cell.n[place, column]))),
        (t("column_correct"), t.whole(int(cell.correct[place, column]))),
    ]
    if counts.stopped:
        facts.append((t("column_stopped"), t.whole(counts.stopped[counts.questions.index(question)])))
    for label, judged in counts.judges.items():
        at = counts.questions.index(question)
        for strategy in ("any", "majority", "all", "strict_majority"):
            column_of: list[int] | None = getattr(judged.approved, strategy)
            if column_of is not None:
                facts.append((f"{label}: {t('strategy_' + strategy)}", t.whole(column_of[at])))
        if judged.pending[at]:
            facts.append((f"{label}: {t('column_pending')}", t.whole(judged.pending[at])))
        for reason, missing in (judged.no_verdict or {}).items():
            if missing[at]:
                facts.append((f"{label}: {t('reason_' + reason)}", t.whole(missing[at])))
    listed = [join(tag("dt", key), tag("dd", value)) for key, value in facts]
    note = tag("p", t("no_public_run"), class_="muted") if example is None else ""
    title = tag("h3", f"{question} · {row.solver.model}")
    return tag("section", title, tag("dl", *listed), note, class_="card", id="cell-card")
