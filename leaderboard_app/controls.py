"""The one choice that all pages show: its widgets, and the pages that are drawn anew when it changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from multilingual_math_audit.evaluate.verdicts import STRATEGIES
from multilingual_math_audit.leaderboard_app import links
from multilingual_math_audit.leaderboard_app.board import Board
from multilingual_math_audit.leaderboard_app.rows import NO_JUDGE, SORT_KEYS, View
from multilingual_math_audit.leaderboard_app.texts import Texts

FIELDS = tuple(field.name for field in dataclasses.fields(View) if field.name != "page")
QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
UNFILTERED = ("submit", "about")


@dataclasses.dataclass(frozen=True)
class Page:
    """A page that shows the choice: widgets of its own, what it fills, and how, from the view and its own values."""

    outputs: Sequence[Any]
    draw: Callable[[View, tuple[Any, ...]], Sequence[Any]]
    inputs: Sequence[Any] = ()


class Choice:
    """The widgets of a view, one per field under the field's name, and the page that is open."""

    def __init__(self, gr: Any, board: Board, t: Texts) -> None:
        self.gr, self.board = gr, board
        self.pages: dict[str, Page] = {}
        with gr.Column(elem_id="filters") as self.box:
            self.controls = _make_controls(gr, board, t)
        # Empty until the page has been filled: tabs say that they are open before the link was read.
        self.open = gr.State("")
        self.query = gr.Textbox(visible="hidden", elem_id="query", label="query")

    @property
    def inputs(self) -> list[Any]:
        """The widgets in the order of `FIELDS`."""
        return [self.controls[name] for name in FIELDS]

    def view(self, values: Sequence[Any]) -> View:
        """The view that the widgets' values make; the benchmarks of the first look count as no choice of benchmarks."""
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in zip(FIELDS, values, strict=True)
        }
        fields["k"] = max(1, int(fields["k"] or 1))
        fields["search"] = str(fields["search"] or "")[:100]
        if set(fields["benchmarks"] or ()) == set(self.board.default_benchmarks):
            fields["benchmarks"] = ()
        return View(**{name: value for name, value in fields.items() if value is not None})

    def values(self, view: View) -> list[Any]:
        """What the widgets show of a view."""
        shown = dataclasses.replace(view, benchmarks=view.benchmarks or self.board.default_benchmarks)
        return [list(value) if isinstance(value, tuple) else value for value in (getattr(shown, f) for f in FIELDS)]

    def connect(self, holder: Any, tabs: dict[str, Any]) -> None:
        """Draw the open page when the choice changes, another page when it is opened, and what a link asks for."""
        own = [widget for page in self.pages.values() for widget in page.inputs]
        inputs = [self.open, *self.inputs, *own]
        outputs = [self.query, self.box, self.open, *(part for page in self.pages.values() for part in page.outputs)]
        for name in FIELDS:
            # Text that is put in at once (pasted, filled in by a program) changes without an input event.
            changed = getattr(self.controls[name], "change" if name == "search" else "input")
            changed(self._redraw, inputs, outputs, trigger_mode="always_last", **QUIET)
        for name, tab in tabs.items():
            tab.select(self._opener(name), inputs, outputs, trigger_mode="always_last", **QUIET)
        remember = "(query) => { window.rememberView && window.rememberView(query); }"
        self.query.change(None, [self.query], None, js=remember, **QUIET)

        def restore(request: Any, *own_values: Any) -> dict[Any, Any]:
            asked = {name: request.query_params.getlist(name) for name in request.query_params}
            view, name = links.read_query(self.board, asked)
            controls = dict(zip(self.inputs, self.values(view), strict=True))
            selected = {holder: self.gr.Tabs(selected=name)}
            return {**controls, **selected, **self._open(name, view, own_values)}

        restore.__annotations__["request"] = self.gr.Request
        self.gr.context.Context.root_block.load(restore, own, [*self.inputs, holder, *outputs], **QUIET)

    def _redraw(self, name: str, *values: Any) -> dict[Any, Any]:
        view, own = self.view(values[: len(FIELDS)]), values[len(FIELDS) :]
        return {self.query: links.write_query(view, name or "leaderboard"), **self._draw(name, view, own)}

    def _opener(self, name: str) -> Callable[..., dict[Any, Any]]:
        def run(now: str, *values: Any) -> dict[Any, Any]:
            if not now:
                return {self.open: self.gr.skip()}
            return self._open(name, self.view(values[: len(FIELDS)]), values[len(FIELDS) :])

        return run

    def _open(self, name: str, view: View, own: Sequence[Any]) -> dict[Any, Any]:
        box = self.gr.Column(visible=name not in UNFILTERED)
        query = links.write_query(view, name)
        return {self.open: name, self.box: box, self.query: query, **self._draw(name, view, own)}

    def _draw(self, name: str, view: View, own: Sequence[Any]) -> dict[Any, Any]:
        """What one page fills; `own` are the values of all pages' own widgets, in the order of the pages."""
        start = 0
        for key, page in self.pages.items():
            end = start + len(page.inputs)
            if key == name:
                return dict(zip(page.outputs, page.draw(view, tuple(own[start:end])), strict=True))
            start = end
        return {}


def _make_controls(gr: Any, board: Board, t: Texts) -> dict[str, Any]:
    options = links.choices(board)
    titles = {name: cell.questions.title for name, cell in board.cells.items()}
    made: dict[str, Any] = {}
    with gr.Row():
        # A slider needs two ends, also on a board without rows or with one sample a question.
        made["k"] = gr.Slider(1, max(2, board.largest_n), value=1, step=1, label=t("k"), elem_id="k")
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
                shown = [(t(words + item) if words else _spell(item, name, t), item) for item in options[name]]
                made[name] = gr.Dropdown(shown, value=[], multiselect=True, label=t(label), elem_id=name, min_width=180)
        made["audited"] = gr.Checkbox(False, label=t("audited"), elem_id="audited", info=t("filters_note"))
    return made


def _spell(item: str, field: str, t: Texts) -> str:
    if item == NO_JUDGE:
        return t("no_judge")
    if field == "budgets":
        return t.whole(int(item)) if item != "0" else t("unknown")
    return item


def make_sorting(gr: Any, t: Texts) -> dict[str, Any]:
    """The two widgets of a view that only the leaderboard has."""
    sorts = [(t(f"column_{key}", k="k"), key) for key in SORT_KEYS]
    with gr.Row():
        return {
            "sort": gr.Dropdown(sorts, value="cot_pass_k", label=t("sort"), elem_id="sort"),
            "ascending": gr.Checkbox(False, label=t("ascending"), elem_id="ascending"),
        }
