"""The leaderboard in a browser: widgets and what they call; numbers and markup come from elsewhere."""

from __future__ import annotations

import importlib.resources
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args
from unittest import mock

from multilingual_math_audit.errors import MissingExtra
from multilingual_math_audit.leaderboard_app import api, links, pages, tabs
from multilingual_math_audit.leaderboard_app.board import Board, load_board
from multilingual_math_audit.leaderboard_app.controls import Choice
from multilingual_math_audit.leaderboard_app.markup import Markup, join, tag
from multilingual_math_audit.leaderboard_app.texts import LANGUAGES, Texts
from multilingual_math_audit.records import Language

MAX_UPLOAD = "4mb"
ACCEPTED = "multilingual_math_audit.submissions"


def import_gradio() -> Any:
    """Gradio, without the rewriting of its own type stubs that makes up half of its import; raises MissingExtra."""
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
    find = inspect.getfile

    def find_unless_component(thing: Any) -> str:
        if getattr(thing, "__module__", "").startswith("gradio."):
            raise OSError("no stub is to be written")
        return find(thing)

    try:
        with mock.patch("inspect.getfile", find_unless_component):
            import gradio
    except ImportError:
        raise MissingExtra("the leaderboard", "app") from None
    return gradio


def accepted_folder() -> Path:
    """The accepted submissions that come with the package."""
    return Path(str(importlib.resources.files(ACCEPTED) / "accepted"))


def fetch_accepted(dataset: str | None, *, otherwise: Path) -> Path:
    """The folder of accepted submissions of a data set on the Hub; `otherwise` without one or when it is away."""
    if not dataset:
        return otherwise
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(dataset, repo_type="dataset", allow_patterns="accepted/*.json")) / "accepted"
    except Exception as error:
        print(f"{dataset} cannot be read ({type(error).__name__}); showing {otherwise} instead.")
        return otherwise


def build_app(board: Board, *, runs: Path | None = None) -> Any:
    """The whole app: the board in English at the root, in Turkish at /tr and in Portuguese at /pt.

    `runs` is a folder of public runs by submission digest, for the drill-down without a network.
    """
    gr = import_gradio()
    with gr.Blocks(title="Does the judge read the reasoning?", analytics_enabled=False, delete_cache=(600, 600)) as app:
        gr.Navbar(visible=False)
        _build_language(gr, board, Texts("en"), runs)
        api.register(gr, board)
    for language in get_args(Language)[1:]:
        with app.route(LANGUAGES[language], f"/{language}", show_in_navbar=False):
            _build_language(gr, board, Texts(language), runs)
    return app


def launch(
    folder: Path | None = None,
    *,
    port: int | None = None,
    host: str = "127.0.0.1",
    runs: Path | None = None,
    block: bool = True,
) -> Any:
    """Serve the board of a folder of accepted submissions (by default those of the package)."""
    gr = import_gradio()
    board = load_board(folder or accepted_folder())
    # Gradio makes a whole server each time a page is built and when the queue is set; only the last one serves.
    with mock.patch.object(gr.blocks.App, "create_app"):
        app = build_app(board, runs=runs)
        app.queue(default_concurrency_limit=8, api_open=True)
    app.launch(
        server_name=host,
        server_port=port,
        css=(importlib.resources.files(__package__) / "style.css").read_text(encoding="utf-8"),
        theme=_theme(gr),
        js=(importlib.resources.files(__package__) / "page.js").read_text(encoding="utf-8"),
        footer_links=["api", "settings"],
        max_file_size=MAX_UPLOAD,
        show_error=True,
        quiet=True,
        prevent_thread_lock=not block,
    )
    return app


def _theme(gr: Any) -> Any:
    fonts = ["ui-sans-serif", "system-ui", "Segoe UI", "Roboto", "Helvetica Neue", "Arial", "sans-serif"]
    return gr.themes.Default(
        primary_hue="blue", neutral_hue="slate", font=fonts, font_mono=["ui-monospace", "Consolas", "monospace"]
    )


def _build_language(gr: Any, board: Board, t: Texts, runs: Path | None) -> None:
    wrap = Wrapper(gr)
    wrap.html(join(_language_links(t.language), pages.intro_html(t)))
    choice = Choice(gr, board, t)
    opened: dict[str, Any] = {}
    with gr.Tabs(elem_id="pages") as holder:
        for name in links.PAGES:
            with gr.Tab(t(f"page_{name}"), id=name, elem_id=f"page-{name}") as opened[name]:
                _PAGES[name](wrap, board, t, choice=choice, runs=runs)
    choice.connect(holder, opened)


def _language_links(current: Language) -> Markup:
    shown = [
        tag(
            "a",
            name,
            href="/" if language == "en" else f"/{language}",
            lang=language,
            class_="language",
            aria_current="page" if language == current else None,
        )
        for language, name in LANGUAGES.items()
    ]
    return tag("nav", *shown, class_="languages", aria_label="Language, Dil, Língua")


class Wrapper:
    """Gradio, and the one way in which markup reaches the page."""

    def __init__(self, gr: Any) -> None:
        self.gr = gr

    def html(self, value: Markup | None = None, *, js: str | None = None, id: str | None = None) -> Any:
        """A piece of the page. `js` runs once, with `element` there."""
        return self.gr.HTML(
            value or "", elem_id=id, elem_classes="mma", js_on_load=js, apply_default_css=False, padding=False
        )


def _about(wrap: Wrapper, board: Board, t: Texts, **_: Any) -> None:
    wrap.html(pages.about_html(t), id="about")


_PAGES: dict[str, Callable[..., None]] = {
    "leaderboard": tabs.leaderboard_tab,
    "judges": tabs.judges_tab,
    "budgets": tabs.budgets_tab,
    "verifiers": tabs.verifiers_tab,
    "questions": tabs.questions_tab,
    "compare": tabs.compare_tab,
    "submit": tabs.submit_tab,
    "about": _about,
}
