"""The pages with their own widgets, and what each draws of the choice that all pages share."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from pathlib import Path
from typing import Any

from multilingual_math_audit.leaderboard_app import leaderboard_page, links, pages
from multilingual_math_audit.leaderboard_app.board import Board, Row, build_board
from multilingual_math_audit.leaderboard_app.chosen import chosen_rows, first_pair, shown_benchmarks
from multilingual_math_audit.leaderboard_app.compare import compare_rows
from multilingual_math_audit.leaderboard_app.controls import QUIET, Choice, Page, make_sorting
from multilingual_math_audit.leaderboard_app.markup import Markup
from multilingual_math_audit.leaderboard_app.public_runs import Example, as_inert_markdown, find_example, find_run
from multilingual_math_audit.leaderboard_app.questions_page import cell_html, heat_map_html
from multilingual_math_audit.leaderboard_app.rows import SORT_KEYS, View, make_table
from multilingual_math_audit.leaderboard_app.texts import Texts
from multilingual_math_audit.submissions.accept import Acceptance, Entry
from multilingual_math_audit.submissions.validate import Checked, Fault, check, read_file

CLICKS = """
element.addEventListener('click', (event) => {
  const chosen = event.target.closest('[data-sort],[data-page],[data-row],[data-cell]');
  if (chosen && !chosen.disabled) trigger('click', {...chosen.dataset});
});
"""
LATEX = [
    {"left": left, "right": right, "display": display}
    for left, right, display in (("$$", "$$", True), ("\\[", "\\]", True), ("\\(", "\\)", False), ("$", "$", False))
]


def leaderboard_tab(wrap: Any, board: Board, t: Texts, *, choice: Choice, **_: Any) -> None:
    """The table, its chart, its download, and a link that brings the same view back."""
    gr = wrap.gr
    choice.controls |= make_sorting(gr, t)
    page = gr.State(1)
    table = wrap.html(js=CLICKS, id="board")
    detail = wrap.html(id="row")
    with gr.Row():
        download = gr.Button(t("download"), size="sm", elem_id="download", scale=0)
    chart = wrap.html(id="chart")
    csv = gr.Textbox(visible="hidden", elem_id="csv", label="csv")
    inputs, shown = choice.inputs, [table, chart, page]

    def show(view: View) -> tuple[Markup, Markup, int]:
        found = make_table(board, view)
        kept = dataclasses.replace(view, page=found.page)
        return (
            leaderboard_page.table_html(board, found, kept, t),
            leaderboard_page.chart_html(found, kept, t),
            found.page,
        )

    def click(event: gr.EventData, at: int, *values: Any) -> dict[Any, Any]:  # type: ignore[name-defined]
        data = dict(event._data or {})
        view = dataclasses.replace(choice.view(values), page=at)
        if "row" in data:
            return {detail: leaderboard_page.row_html(board, str(data["row"]), t)}
        if data.get("sort") in SORT_KEYS:
            again = view.sort == data["sort"]
            ascending = not view.ascending if again else data["sort"] in ("solver", "judge")
            view = dataclasses.replace(view, sort=data["sort"], ascending=ascending, page=1)
        elif str(data.get("page", "")).isdigit():
            view = dataclasses.replace(view, page=int(data["page"]))
        drawn = show(view)
        query = links.write_query(dataclasses.replace(view, page=drawn[-1]))
        sorting = {choice.controls["sort"]: view.sort, choice.controls["ascending"]: view.ascending}
        return {choice.query: query, **sorting, **dict(zip(shown, drawn, strict=True))}

    click.__annotations__["event"] = gr.EventData
    sorting = [choice.controls["sort"], choice.controls["ascending"]]
    table.click(click, [page, *inputs], [*shown, choice.query, *sorting, detail], **QUIET)
    download.click(lambda *values: leaderboard_page.csv_text(board, choice.view(values)), inputs, csv, **QUIET).then(
        None, [csv], None, js="(text) => { window.saveText && window.saveText('leaderboard.csv', text); }", **QUIET
    )
    choice.pages["leaderboard"] = Page(shown, lambda view, _: show(view))


def judges_tab(wrap: Any, board: Board, t: Texts, *, choice: Choice, **_: Any) -> None:
    """The audits."""
    made = wrap.html(id="judges")
    choice.pages["judges"] = Page([made], lambda view, _: [pages.judges_html(board, t, view)])


def budgets_tab(wrap: Any, board: Board, t: Texts, *, choice: Choice, **_: Any) -> None:
    """Budgets and modes."""
    made = wrap.html(id="budgets")
    choice.pages["budgets"] = Page([made], lambda view, _: [pages.budgets_html(board, t, view)])


def verifiers_tab(wrap: Any, board: Board, t: Texts, *, choice: Choice, **_: Any) -> None:
    """The verifiers."""
    made = wrap.html(id="verifiers")
    choice.pages["verifiers"] = Page([made], lambda view, _: [pages.verifiers_html(board, t, view)])


def questions_tab(wrap: Any, board: Board, t: Texts, *, choice: Choice, runs: Path | None, **_: Any) -> None:
    """The heat map; a cell opens its counts and, where the run is public, a solution with its judgments."""
    gr = wrap.gr
    titles = {name: cell.questions.title for name, cell in board.cells.items()}
    with gr.Row():
        name = gr.Dropdown([(titles[n], n) for n in titles], label=t("benchmark"), elem_id="heat-benchmark")
        kinds = [(t("kind_correct"), "correct"), (t("kind_approved"), "approved")]
        kind = gr.Radio(kinds, value="correct", label=t("heat_kind"), elem_id="heat-kind")
    heat = wrap.html(js=CLICKS, id="heat")
    detail = wrap.html(id="cell")
    solution = gr.Markdown(visible=False, latex_delimiters=LATEX, elem_id="solution", sanitize_html=True)

    def click(event: gr.EventData) -> tuple[Markup, Any]:  # type: ignore[name-defined]
        row_id, _, question = str((event._data or {}).get("cell", "")).partition("|")
        example = _example(board, row_id, question, runs)
        return cell_html(board, row_id, question, example, t), _solution(gr, example, t)

    def draw(view: View, own: tuple[Any, ...]) -> tuple[Any, Markup]:
        names = shown_benchmarks(board, view)
        wanted = own[0] if own[0] in names else next(iter(names), None)
        options = gr.Dropdown(choices=[(titles[n], n) for n in names], value=wanted)
        return options, heat_map_html(board, wanted or "", own[1], t, view)

    click.__annotations__["event"] = gr.EventData
    heat.click(click, None, [detail, solution], **QUIET)
    inputs = [*choice.inputs, name, kind]
    for widget in (name, kind):
        widget.input(lambda *v: draw(choice.view(v[:-2]), v[-2:])[1], inputs, heat, **QUIET)
    choice.pages["questions"] = Page([name, heat], draw, [name, kind])


def _example(board: Board, row_id: str, question: str, runs: Path | None) -> Example | None:
    if row_id not in board.place:
        return None
    row = board.rows[board.place[row_id]]
    run = find_run(row.entry.submission, runs)
    return find_example(run, question, judge=row.judge_label) if run is not None else None


def _solution(gr: Any, example: Example | None, t: Texts) -> Any:
    if example is None:
        return gr.Markdown(value="", visible=False)
    parts = [f"#### {t('solution')}", as_inert_markdown(example.solution), f"#### {t('judgments')}"]
    for judge, verdict, text in example.judgments:
        parts.append(f"**{as_inert_markdown(judge)}: {t('verdict_' + (verdict or 'none'))}**")
        parts.append(as_inert_markdown(text))
    return gr.Markdown(value="\n\n".join(parts), visible=True)


def compare_tab(wrap: Any, board: Board, t: Texts, *, choice: Choice, **_: Any) -> None:
    """Two rows of those the choice keeps, paired by question over the benchmarks it keeps."""
    gr = wrap.gr
    names = {row.id: _row_name(row, t) for row in board.rows}
    every = [(name, row) for row, name in names.items()]
    with gr.Row():
        first = gr.Dropdown(every, label=t("first_row"), elem_id="first")
        second = gr.Dropdown(every, label=t("second_row"), elem_id="second")
    metrics = [("CoT-Pass@k", "cot_pass_k"), ("Pass@k", "pass_k")]
    metric = gr.Radio(metrics, value="cot_pass_k", label=t("metric"), elem_id="metric")
    result = wrap.html(id="comparison")

    def show_comparison(view: View, a: str | None, b: str | None, chosen: str) -> Markup:
        found = compare_rows(
            board,
            a or "",
            b or "",
            names=shown_benchmarks(board, view),
            k=view.k,
            metric="pass_k" if chosen == "pass_k" else "cot_pass_k",
            strategy=view.strategy,
        )
        return pages.comparison_html(found, t)

    def draw(view: View, own: tuple[Any, ...]) -> tuple[Any, Any, Markup]:
        kept = [row.id for row in chosen_rows(board, view)]
        a, b = first_pair(board, view)
        if own[0] in kept and own[1] in kept and own[0] != own[1]:
            a, b = own[0], own[1]
        options = [(names[row], row) for row in kept]
        shown = (gr.Dropdown(choices=options, value=row) for row in (a, b))
        return (*shown, show_comparison(view, a, b, own[2]))

    own = [first, second, metric]
    for widget in own:
        widget.input(lambda *v: show_comparison(choice.view(v[:-3]), *v[-3:]), [*choice.inputs, *own], result, **QUIET)
    choice.pages["compare"] = Page([first, second, result], draw, own)


def _row_name(row: Row, t: Texts) -> str:
    budget = t.whole(row.budget) if row.budget else None
    parts = (row.solver.model, t(f"mode_{row.solver.mode}"), budget, row.judge_label, row.id[:6])
    return " · ".join(part for part in parts if part)


def submit_tab(wrap: Any, board: Board, t: Texts, **_: Any) -> None:
    """How to submit, and a file checked and shown as it would stand; nothing is kept."""
    gr = wrap.gr
    wrap.html(pages.submit_html(t), id="submit")
    file = gr.File(label=t("upload"), elem_id="upload", file_count="single", type="filepath", height=140)
    result = wrap.html(id="checked")

    def judge_file(path: str | None) -> Markup:
        if not path:
            return Markup("")
        checked = read_upload(Path(path))
        return pages.checked_html(checked, preview_html(board, checked, t), t)

    file.upload(judge_file, file, result, show_progress="minimal", api_visibility="private")
    file.clear(lambda: Markup(""), None, result, show_progress="hidden", api_visibility="private")


def read_upload(path: Path) -> Checked:
    """Check an uploaded file and delete it."""
    try:
        return check(read_file(path))
    except OSError as error:
        return Checked(None, (Fault("", f"the file cannot be read: {error.strerror}"),))
    finally:
        if os.environ.get("GRADIO_TEMP_DIR", tempfile.gettempdir()) in str(path):
            path.unlink(missing_ok=True)


def preview_html(board: Board, checked: Checked, t: Texts) -> Markup:
    """The rows of an uploaded submission as they would stand among the others."""
    if checked.submission is None:
        return Markup("")
    entry = Entry(
        acceptance=Acceptance(trust="self-reported", day="2000-01-01", evidence=None), submission=checked.submission
    )
    others = [old for old in board.entries if old.submission.digest != checked.submission.digest]
    whole = build_board([*others, entry])
    view = View(benchmarks=tuple(checked.submission.benchmarks))
    table = make_table(whole, view, page_size=max(1, len(whole.rows)))
    mine = tuple(line for line in table.lines if line.row.entry is entry)
    alone = dataclasses.replace(table, lines=mine, total=len(mine), pages=1, page=1)
    if not mine:
        return pages.judges_html(build_board([entry]), t)
    return leaderboard_page.table_html(build_board([entry]), alone, view, t)
