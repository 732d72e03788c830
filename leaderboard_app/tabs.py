"""The pages that answer a visitor: leaderboard, questions, compare, submit."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from pathlib import Path
from typing import Any

from multilingual_math_audit.evaluate.verdicts import STRATEGIES
from multilingual_math_audit.leaderboard_app import leaderboard_page, links, pages
from multilingual_math_audit.leaderboard_app.board import Board, build_board
from multilingual_math_audit.leaderboard_app.compare import compare_rows
from multilingual_math_audit.leaderboard_app.markup import Markup
from multilingual_math_audit.leaderboard_app.public_runs import Example, as_inert_markdown, find_example, find_run
from multilingual_math_audit.leaderboard_app.questions_page import cell_html, heat_map_html
from multilingual_math_audit.leaderboard_app.rows import SORT_KEYS, View, make_table
from multilingual_math_audit.leaderboard_app.texts import Texts
from multilingual_math_audit.submissions.accept import Acceptance, Entry
from multilingual_math_audit.submissions.validate import Checked, Fault, check

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
FIELDS = tuple(field.name for field in dataclasses.fields(View) if field.name != "page")


def leaderboard_tab(wrap: Any, board: Board, t: Texts, *, holder: Any, tabs: dict[str, Any], **_: Any) -> None:
    """The table with its filters, its chart, its download, and a link that brings the same view back."""
    gr, controls = wrap.gr, _controls(wrap.gr, board, t)
    page = gr.State(1)
    table = wrap.html(js=CLICKS, id="board")
    detail = wrap.html(id="row")
    with gr.Row():
        download = gr.Button(t("download"), size="sm", elem_id="download", scale=0)
    chart = wrap.html(id="chart")
    query = gr.Textbox(visible="hidden", elem_id="query", label="query")
    csv = gr.Textbox(visible="hidden", elem_id="csv", label="csv")
    inputs = [controls[name] for name in FIELDS]
    shown = [table, chart, query, page]

    def show(view: View) -> tuple[Markup, Markup, str, int]:
        found = make_table(board, view)
        kept = dataclasses.replace(view, page=found.page)
        return (
            leaderboard_page.table_html(board, found, kept, t),
            leaderboard_page.chart_html(found, kept, t),
            links.write_query(kept),
            found.page,
        )

    def update(*values: Any) -> tuple[Markup, Markup, str, int]:
        return show(view_of(values))

    def click(event: gr.EventData, at: int, *values: Any) -> tuple[Any, ...]:  # type: ignore[name-defined]
        data = dict(event._data or {})
        view = dataclasses.replace(view_of(values), page=at)
        if "row" in data:
            return (*(gr.skip() for _ in range(6)), leaderboard_page.row_html(board, str(data["row"]), t))
        if data.get("sort") in SORT_KEYS:
            again = view.sort == data["sort"]
            ascending = not view.ascending if again else data["sort"] in ("solver", "judge")
            view = dataclasses.replace(view, sort=data["sort"], ascending=ascending, page=1)
        elif str(data.get("page", "")).isdigit():
            view = dataclasses.replace(view, page=int(data["page"]))
        return (*show(view), view.sort, view.ascending, gr.skip())

    click.__annotations__["event"] = gr.EventData
    quiet: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
    for name in FIELDS:
        # Text that is put in at once (pasted, filled in by a program) changes without an input event.
        changed = getattr(controls[name], "change" if name == "search" else "input")
        changed(update, inputs, shown, trigger_mode="always_last", **quiet)
    table.click(click, [page, *inputs], [*shown, controls["sort"], controls["ascending"], detail], **quiet)
    query.change(None, [query], None, js="(query) => { window.rememberView && window.rememberView(query); }", **quiet)

    def restore(request: gr.Request) -> list[Any]:  # type: ignore[name-defined]
        asked = {name: request.query_params.getlist(name) for name in request.query_params}
        view, tab = links.read_query(board, asked)
        values = [list(value) if isinstance(value, tuple) else value for value in (getattr(view, f) for f in FIELDS)]
        values[FIELDS.index("benchmarks")] = list(view.benchmarks or board.default_benchmarks)
        return [*values, *show(view), gr.Tabs(selected=tab)]

    restore.__annotations__["request"] = gr.Request
    gr.context.Context.root_block.load(restore, None, [*inputs, *shown, holder], **quiet)
    download.click(lambda *values: leaderboard_page.csv_text(board, view_of(values)), inputs, csv, **quiet).then(
        None, [csv], None, js="(text) => { window.saveText && window.saveText('leaderboard.csv', text); }", **quiet
    )
    holder.select(_selected(gr), None, query, js=None, **quiet).then(
        None,
        None,
        None,
        js="() => { const t = document.querySelector('#pages button[role=tab][aria-selected=true]');"
        " t && window.rememberPage && window.rememberPage(t.id.replace('-button', '').replace('page-', '')); }",
        **quiet,
    )


def _selected(gr: Any) -> Any:
    return lambda: gr.skip()


def _controls(gr: Any, board: Board, t: Texts) -> dict[str, Any]:
    """One widget per field of a view, under the field's name."""
    options = links.choices(board)
    titles = {name: cell.questions.title for name, cell in board.cells.items()}
    made: dict[str, Any] = {}
    with gr.Row():
        made["k"] = gr.Slider(1, board.largest_n, value=1, step=1, label=t("k"), elem_id="k")
        made["strategy"] = gr.Radio(
            [(t(f"strategy_{name}"), name) for name in STRATEGIES],
            value="majority",
            label=t("strategy"),
            elem_id="strategy",
        )
        made["search"] = gr.Textbox(label=t("search"), placeholder=t("search_hint"), elem_id="search", max_length=100)
    made["benchmarks"] = gr.CheckboxGroup(
        [(titles[name], name) for name in options["benchmarks"]],
        value=list(board.default_benchmarks),
        label=t("benchmarks"),
        elem_id="benchmarks",
    )
    with gr.Accordion(t("more_filters"), open=False, elem_id="more"):
        with gr.Row():
            for name, label, words in (
                ("languages", "languages", "language_"),
                ("families", "family", None),
                ("sizes", "size", None),
                ("modes", "mode", "mode_"),
                ("judges", "judge", None),
                ("trusts", "trust", "trust_"),
                ("budgets", "budget", None),
            ):
                shown = [(t(words + item) if words else item, item) for item in options[name]]
                made[name] = gr.Dropdown(shown, value=[], multiselect=True, label=t(label), elem_id=name, min_width=180)
        with gr.Row():
            sorts = [(t(f"column_{key}", k="k"), key) for key in SORT_KEYS]
            made["sort"] = gr.Dropdown(sorts, value="cot_pass_k", label=t("sort"), elem_id="sort")
            made["ascending"] = gr.Checkbox(False, label=t("ascending"), elem_id="ascending")
            made["audited"] = gr.Checkbox(False, label=t("audited"), elem_id="audited")
    return made


def view_of(values: tuple[Any, ...]) -> View:
    """The view that the widgets' values make, in the order of `FIELDS`."""
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in zip(FIELDS, values, strict=True)
    }
    fields["k"] = max(1, int(fields["k"] or 1))
    fields["search"] = str(fields["search"] or "")[:100]
    return View(**{name: value for name, value in fields.items() if value is not None})


def questions_tab(wrap: Any, board: Board, t: Texts, *, runs: Path | None, **_: Any) -> None:
    """The heat map; a cell opens its counts and, where the run is public, a solution with its judgments."""
    gr = wrap.gr
    names = [(cell.questions.title, name) for name, cell in board.cells.items()]
    first = names[0][1] if names else None
    with gr.Row():
        name = gr.Dropdown(names, value=first, label=t("benchmark"), elem_id="heat-benchmark")
        kinds = [(t("kind_correct"), "correct"), (t("kind_approved"), "approved")]
        kind = gr.Radio(kinds, value="correct", label=t("heat_kind"), elem_id="heat-kind")
    heat = wrap.html(lambda: heat_map_html(board, first or "", "correct", t), js=CLICKS, id="heat")
    detail = wrap.html(id="cell")
    solution = gr.Markdown(visible=False, latex_delimiters=LATEX, elem_id="solution", sanitize_html=True)

    def click(event: gr.EventData) -> tuple[Markup, Any]:  # type: ignore[name-defined]
        row_id, _, question = str((event._data or {}).get("cell", "")).partition("|")
        example = _example(board, row_id, question, runs)
        return cell_html(board, row_id, question, example, t), _solution(gr, example, t)

    click.__annotations__["event"] = gr.EventData
    quiet: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
    heat.click(click, None, [detail, solution], **quiet)
    for widget in (name, kind):
        widget.input(lambda a, b: heat_map_html(board, a or "", b, t), [name, kind], heat, **quiet)


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


def compare_tab(wrap: Any, board: Board, t: Texts, **_: Any) -> None:
    """Two rows, paired by question."""
    gr = wrap.gr
    rows = [
        (
            " · ".join(
                filter(
                    None,
                    (
                        row.solver.model,
                        t(f"mode_{row.solver.mode}"),
                        t.whole(row.budget or None),
                        row.judge_label,
                        row.id[:6],
                    ),
                )
            ),
            row.id,
        )
        for row in board.rows
    ]
    ids = [row.id for row in board.rows]
    with gr.Row():
        first = gr.Dropdown(rows, value=ids[0] if ids else None, label=t("first_row"), elem_id="first")
        second = gr.Dropdown(rows, value=ids[1] if len(ids) > 1 else None, label=t("second_row"), elem_id="second")
    with gr.Row():
        metrics = [("CoT-Pass@k", "cot_pass_k"), ("Pass@k", "pass_k")]
        metric = gr.Radio(metrics, value="cot_pass_k", label=t("metric"), elem_id="metric")
        k = gr.Slider(1, board.largest_n, value=min(8, board.largest_n), step=1, label=t("k"), elem_id="compare-k")
    inputs = [first, second, metric, k]

    def show_comparison(a: str | None, b: str | None, chosen: str, draws: float) -> Markup:
        found = compare_rows(
            board,
            a or "",
            b or "",
            names=tuple(board.cells),
            k=max(1, int(draws or 1)),
            metric="pass_k" if chosen == "pass_k" else "cot_pass_k",
            strategy="majority",
        )
        return pages.comparison_html(found, t)

    start = (ids[0] if ids else None, ids[1] if len(ids) > 1 else None, "cot_pass_k", min(8, board.largest_n))
    result = wrap.html(lambda: show_comparison(*start), id="comparison")
    for widget in (first, second, metric, k):
        widget.input(show_comparison, inputs, result, show_progress="hidden", api_visibility="private")


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
        return check(path.read_bytes())
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
