"""The leaderboard in a real Chromium: every page, control and link, upload, dark mode, phone width, and no outside."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from synthetic_submissions import make_submission, write_entries

from multilingual_math_audit.leaderboard_app.app import accepted_folder
from multilingual_math_audit.records import Judgment, Solution
from multilingual_math_audit.store import Run
from multilingual_math_audit.submissions.validate import check

pytestmark = [pytest.mark.slow, pytest.mark.browser]
PAGES = ("leaderboard", "judges", "budgets", "verifiers", "questions", "compare", "submit", "about")
SHARED = "benchmarks=aime2026_en&benchmarks=aime2026_tr&benchmarks=aime2026_pt&benchmarks=tubitak2026"
HOSTILE = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>[x](javascript:window.broken=1)'
SOLUTION = "We find $x^2 = 4$.\n![x](http://outside.invalid/x.png) <img src=x onerror='window.broken=1'> # not a head"


def chromium() -> str:
    """Where Chromium is; in CI a missing one is a failure, elsewhere the test skips, saying so."""
    found = os.environ.get("MATH_AUDIT_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not found:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("needs Chromium: apt-get install chromium")
    return str(found)


def verifier() -> dict[str, Any]:
    """Counts of a made-up verifier."""
    best = [{"size": n, "groups": 60 // n, "correct": 30 // n} for n in (1, 2, 4)]
    bins = [{"count": 10, "correct": i, "confidence": i + 0.5} for i in range(10)]
    stops = [{"threshold": i / 10, "questions": 30, "correct": 10 + i, "tokens": 30_000 * (i + 1)} for i in range(9)]
    part = {"best_of": best, "reliability": bins, "early_stopping": stops}
    return {"model": "org/verifier", "selectors": {"MSV16": {"aime2026_en": part}, "Probe": {"aime2026_en": part}}}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A served board: the package's content, made-up rows, a hostile one, one without a judge, one public run."""
    folder = tmp_path_factory.mktemp("board")
    accepted, runs = folder / "accepted", folder / "runs"
    write_entries(accepted, 30)
    for path in accepted_folder().glob("*.json"):
        shutil.copy(path, accepted)
    special = {
        "hostile": make_submission(100, audit=True) | {"note": HOSTILE, "submitter": {"name": HOSTILE}},
        "alone": make_submission(101, judges=()),
        "verifier": make_submission(102, benchmarks=("aime2026_en",)) | {"verifier": verifier()},
    }
    for name, content in special.items():
        entry = {"acceptance": {"trust": "reproducible", "day": "2026-11-01"}, "submission": content}
        (accepted / f"{name}.json").write_text(json.dumps(entry))
    submission = check(json.dumps(special["hostile"]).encode()).submission
    assert submission is not None
    run = Run.create(runs / submission.digest, {"solver": {}})
    run.append([Solution("s1", "aime2026_en/1", "m", 0, SOLUTION)])
    run.append([Judgment("j1", "s1", "judge/J1", 0, "Looks *right*: \\boxed{yes}", "verdict", "yes")])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "multilingual_math_audit", "leaderboard", "--accepted", str(accepted),
               "--runs", str(runs), "--port", str(port)]  # fmt: skip
    log = (folder / "log.txt").open("wb")
    server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    base = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(base, timeout=5)
                break
            except OSError:
                assert server.poll() is None, (folder / "log.txt").read_text()
                time.sleep(0.5)
        yield base
    finally:
        server.terminate()
        server.wait(20)
        log.close()
    assert "Traceback" not in (folder / "log.txt").read_text()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One Chromium for all tests."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def visit(browser: Any, address: str, request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Open a path of the board; afterwards no console error, no request to the outside, a screenshot kept."""
    contexts, troubles = [], []

    def open_page(path: str = "/", *, width: int = 1280, height: int = 900, settled: str = "#board table") -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, accept_downloads=True)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda m: troubles.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda r: None if r.url.startswith((address, "data:", "blob:")) else troubles.append(r.url))
        page.goto(address + path)
        page.wait_for_selector(settled)
        return page

    yield open_page
    keep = os.environ.get("MATH_AUDIT_SCREENSHOTS")
    for number, context in enumerate(contexts):
        for page in context.pages:
            assert page.evaluate("window.broken") is None
            if keep:
                Path(keep).mkdir(parents=True, exist_ok=True)
                page.screenshot(path=Path(keep) / f"{request.node.name}-{number}.png", full_page=True)
        context.close()
    assert troubles == []


def cells(page: Any, column: int) -> list[str]:
    """The texts of a column, without what stands under the number."""
    script = (
        f"rows => rows.map(r => r.children[{column}].firstChild ? r.children[{column}].firstChild.textContent : '')"
    )
    return list(page.eval_on_selector_all("#board tbody tr", script))


@pytest.mark.parametrize("language", ["", "tr", "pt"])
def test_every_page_opens(visit: Callable[..., Any], language: str) -> None:
    """Each page shows its content in each language when its tab is chosen, and the link then says so."""
    page = visit(f"/{language}")
    holders = {"leaderboard": "#board table", "judges": "#judges table", "budgets": "#budgets svg",
               "verifiers": "#verifiers svg", "questions": "#heat table", "compare": "#comparison dl",
               "submit": "#submit ol", "about": "#about h3"}  # fmt: skip
    for name in PAGES:
        link = page.locator(f"#page-{name}-button")
        link.first.click()
        page.wait_for_selector(f"{holders[name]} >> visible=true")
        if name != "leaderboard":
            page.wait_for_function(f"window.location.search.includes('tab={name}')")


def test_slider_and_filters(visit: Callable[..., Any]) -> None:
    """The k slider changes the head and the numbers; a search and a filter leave their rows only."""
    page = visit(f"/?{SHARED}")
    before = cells(page, 4)
    page.locator("#k input[type=number]").fill("8")
    page.locator("#k input[type=number]").press("Enter")
    page.wait_for_selector("#board th:has-text('CoT-Pass@8')")
    assert cells(page, 4) != before
    page.locator("#search textarea").first.press_sequentially("qwen", delay=30)
    page.wait_for_function("document.querySelectorAll('#board tbody tr').length === 4")
    assert set(cells(page, 1)) == {"Qwen2.5-32B"}
    page.wait_for_function("window.location.search.includes('search=qwen')")
    page.locator("#strategy label").nth(2).click()
    page.wait_for_selector("#board tbody td:has-text('no counts for this strategy')")


def test_sorting_puts_missing_values_last(visit: Callable[..., Any]) -> None:
    """A click on a head sorts, a second click turns round; the row without a judge is last both ways."""
    page = visit("/?search=solver-1")
    for order in ("descending", "ascending"):
        page.locator("#board th button[data-sort=judge_stop_rate]").click()
        page.wait_for_selector(f"#board th[aria-sort={order}] button[data-sort=judge_stop_rate]")
        values = cells(page, 8)
        assert values[-1] == "–"
        numbers = [float(value) for value in values[:-1]]
        assert len(numbers) > 5
        assert numbers == sorted(numbers, reverse=order == "descending")


def test_a_head_is_reached_and_pressed_by_keyboard(visit: Callable[..., Any]) -> None:
    """Sorting works without a mouse."""
    page = visit()
    page.locator("#board th button[data-sort=solver]").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#board th[aria-sort=ascending] button[data-sort=solver]")


def test_a_restored_link_shows_the_same(visit: Callable[..., Any]) -> None:
    """A link made by one visitor shows another the same view, on the same tab."""
    page = visit("/?k=4&search=beta&sort=pass_1&ascending=1")
    page.wait_for_selector("#board th[aria-sort=ascending] button[data-sort=pass_1]")
    assert page.locator("#k input[type=number]").input_value() == "4"
    assert all("beta" in name for name in cells(page, 1))
    other = visit("/?tab=about", settled="#about h3 >> visible=true")
    assert other.locator("#page-about-button").first.get_attribute("aria-selected") == "true"


def test_paging_and_download(visit: Callable[..., Any]) -> None:
    """The second page has other rows; the download has all."""
    page = visit()
    first = page.eval_on_selector_all("#board tbody tr", "rows => rows.map(r => r.dataset.id)")
    page.locator("#board .pager button").nth(1).click()
    page.wait_for_function(f"document.querySelector('#board tbody tr').dataset.id !== {json.dumps(first[0])}")
    with page.expect_download() as waiting:
        page.locator("#download").click()
    lines = Path(waiting.value.path()).read_text().splitlines()
    assert lines[0].startswith("rank,solver,mode")
    assert len(lines) > len(first) + 1


def test_drill_down_shows_hostile_text_as_text(visit: Callable[..., Any]) -> None:
    """A row opens with what its submitter wrote, as text; a cell opens a solution with its mathematics rendered."""
    page = visit("/?search=solver-100")
    page.locator("#board button.link").first.click()
    page.wait_for_selector("#row-card")
    assert "<script>window.broken=1</script>" in page.locator("#row-card").inner_text()
    assert page.locator("#row-card img, #row-card script").count() == 0
    page.locator("#page-questions-button").first.click()
    cell = page.locator("#heat tr:has-text('Solver-100') td button").first
    cell.click()
    page.wait_for_selector("#cell-card")
    page.wait_for_selector("#solution .katex")
    shown = page.locator("#solution").inner_text()
    assert "![x](http://outside.invalid/x.png)" in shown
    assert page.locator("#solution img, #solution a").count() == 0


def test_compare(visit: Callable[..., Any]) -> None:
    """Two rows give a difference, questions won and lost, and an exact test."""
    page = visit("/?tab=compare", settled="#comparison dl >> visible=true")
    text = page.locator("#comparison").inner_text()
    assert "won" in text
    assert "p = " in text


def test_one_choice_holds_on_every_page(visit: Callable[..., Any]) -> None:
    """What is searched for on one page is what the others show, also through a link; About has no choice to make."""
    page = visit(f"/?{SHARED}")
    page.locator("#search textarea").first.press_sequentially("qwen", delay=30)
    page.wait_for_function("document.querySelectorAll('#board tbody tr').length === 4")
    for name, shown in (("budgets", "#budgets tbody tr"), ("questions", "#heat tbody tr")):
        page.locator(f"#page-{name}-button").first.click()
        page.wait_for_selector(f"{shown} >> visible=true")
        assert page.eval_on_selector_all(shown, "rows => rows.length") == 1
    page.locator("#page-judges-button").first.click()
    page.wait_for_selector("#judges tbody tr >> visible=true")
    assert "judge/J1" not in page.locator("#judges").inner_text()
    page.locator("#page-compare-button").first.click()
    page.wait_for_selector("#comparison dl >> visible=true")
    assert all("Qwen2.5-32B" in page.locator(f"#{row} input").first.input_value() for row in ("first", "second"))
    page.locator("#search textarea").first.fill("delta")
    page.wait_for_function("document.querySelector('#first input').value.startsWith('delta')")
    page.locator("#page-about-button").first.click()
    page.wait_for_selector("#k", state="hidden")
    other = visit("/?tab=budgets&search=delta", settled="#budgets tbody tr >> visible=true")
    names = other.eval_on_selector_all("#budgets .board tbody th", "heads => heads.map(h => h.textContent)")
    assert names
    assert all(name.startswith("delta") for name in names)


def bad_files(folder: Path) -> dict[str, str]:
    """Six bad files and the words that must be shown about them."""
    sound = make_submission(7, benchmarks=("aime2026_en",))
    impossible, strange = json.loads(json.dumps(sound)), json.loads(json.dumps(sound))
    impossible["benchmarks"]["aime2026_en"]["correct"][0] = 65
    strange["solver"]["model"] = HOSTILE
    contents = {
        "impossible.json": (json.dumps(impossible), "correct[0]"),
        "strange.json": (json.dumps(strange), "solver.model"),
        "nan.json": ('{"a": NaN}', "NaN is no number"),
        "twice.json": ('{"a": 1, "a": 1}', "stands twice"),
        "deep.json": ("[" * 50_000 + "]" * 50_000, "nested too deep"),
        "empty.json": ("", "not JSON"),
    }
    for name, (text, _) in contents.items():
        (folder / name).write_text(text)
    (folder / "good.json").write_text(json.dumps(sound))
    return {name: words for name, (_, words) in contents.items()}


def test_upload_of_a_good_and_of_six_bad_files(visit: Callable[..., Any], tmp_path: Path) -> None:
    """A good file is shown as its row would stand; each bad one says what is wrong, hostile text as text."""
    expected = bad_files(tmp_path)
    page = visit("/?tab=submit", settled="#upload >> visible=true")
    for name, words in [("good.json", "Solver-7"), *expected.items()]:
        page.locator("#upload input[type=file]").set_input_files(tmp_path / name)
        kind = "good-file" if name == "good.json" else "bad-file"
        page.wait_for_selector(f"#checked .{kind}:has-text({json.dumps(words)})")
        page.locator("#upload button[aria-label*='lear'], #upload button[aria-label*='emove']").first.click()
        page.wait_for_selector("#checked .card", state="detached")


def brightness(page: Any, selector: str, what: str) -> float:
    """The mean of red, green and blue of a computed colour."""
    colour = page.eval_on_selector(selector, f"e => getComputedStyle(e).{what}")
    numbers = [float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    return sum(numbers) / 3


def test_light_and_dark(visit: Callable[..., Any]) -> None:
    """Text and ground stand apart in both."""
    light, dark = visit("/?__theme=light"), visit("/?__theme=dark")
    assert brightness(light, "#board tbody td", "backgroundColor") - brightness(light, "#board tbody td", "color") > 150
    assert brightness(dark, "#board tbody td", "color") - brightness(dark, "#board tbody td", "backgroundColor") > 150


def test_phone_width(visit: Callable[..., Any]) -> None:
    """On a phone the page itself does not scroll sideways; the table does, with the solver's name pinned."""
    page = visit("/", width=390, height=844)
    assert page.evaluate("document.documentElement.scrollWidth") <= 392
    page.eval_on_selector("#board .scroll", "e => e.scrollLeft = 300")
    box = page.locator("#board tbody tr th").first.bounding_box()
    assert 0 <= box["x"] < 60
    pages, choice, board = (
        page.locator(at).first.bounding_box()["y"] for at in ("#pages .tab-wrapper", "#k", "#board")
    )
    assert pages < choice < board
    page.locator("#pages .overflow-menu > button").first.click()
    page.locator("#pages .overflow-dropdown button", has_text="Compare").click()
    page.wait_for_selector("#comparison dl >> visible=true")
    assert page.evaluate("document.documentElement.scrollWidth") <= 392


def test_every_view_has_an_endpoint(address: str) -> None:
    """A program gets the same rows as a visitor."""
    from gradio_client import Client

    client = Client(address, verbose=False)
    rows = client.predict(f"search=qwen&k=64&{SHARED}", api_name="/leaderboard")
    assert len(rows) == 4
    assert {round(100 * row["difference"]["value"], 2) for row in rows} == {20.49, 21.31, 22.13, 22.95}
    assert len(client.predict(api_name="/judges")) >= 3
    assert client.predict('{"a": NaN}', api_name="/validate") == ["NaN is no number"]
    for name, arguments in (("budgets", ()), ("verifiers", ()), ("questions", ("aime2026_en",))):
        assert client.predict(*arguments, api_name=f"/{name}")
    assert client.predict(rows[0]["id"], rows[1]["id"], 8, "cot_pass_k", api_name="/compare")["won"] >= 0
