"""One self-contained HTML page: every figure and table, no script, no request, light and dark, wide and narrow."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from multilingual_math_audit.evaluate.report.style import DARK, LIGHT
from multilingual_math_audit.evaluate.report.tables import Table, to_html

MOST_ROWS_OPEN = 40

STYLE = """
:root { color-scheme: light dark; LIGHT_COLORS }
@media (prefers-color-scheme: dark) { :root { DARK_COLORS } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 62rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.2; } h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; }
nav ul { columns: 16rem; padding-left: 1.2rem; } a { color: var(--c0); }
nav a { display: inline-block; padding: .2rem 0; }
.warning { border-left: .3rem solid var(--c1); padding: .2rem .8rem; margin: .6rem 0; }
figure { margin: 1rem 0; } figure svg { width: 100%; height: auto; max-width: 34rem; }
figcaption, .note { color: var(--muted); font-size: .9rem; }
.scroll { overflow-x: auto; -webkit-overflow-scrolling: touch; border: 1px solid var(--rule); }
table { border-collapse: collapse; font-size: .85rem; width: 100%; }
th, td { padding: .3rem .6rem; text-align: left; border-bottom: 1px solid var(--rule); white-space: nowrap; }
th { position: sticky; top: 0; background: var(--paper); } .n { text-align: right; font-variant-numeric: tabular-nums; }
summary { cursor: pointer; padding: .5rem 0; } code { font-size: .85rem; }
.files a { margin-right: 1rem; display: inline-block; padding: .3rem 0; }
"""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the page: its title, its figure as SVG with a caption, and its tables."""

    name: str
    title: str
    tables: tuple[Table, ...]
    svg: bytes | None = None
    caption: str = ""
    figure: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """What the page is about: title, a line on where the numbers come from, warnings, and the command that made it."""

    title: str
    summary: str
    warnings: tuple[str, ...] = ()
    command: str = ""


def render_page(heading: Heading, parts: Sequence[Part]) -> str:
    """The page as HTML; names and texts from models and files are escaped, figures are drawn inline.

    >>> page = render_page(Heading("<b>", "two runs"), [])
    >>> "<b>" in page, "&lt;b&gt;" in page
    (False, True)
    """
    links = "".join(f'<li><a href="#{part.name}">{html.escape(part.title)}</a></li>' for part in parts)
    warnings = "".join(f'<p class="warning">{html.escape(text)}</p>' for text in heading.warnings)
    made = f"<p class=note>Made by <code>{html.escape(heading.command)}</code></p>" if heading.command else ""
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data: 'self'"
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<link rel="icon" href="data:,">\n<title>{html.escape(heading.title)}</title>',
            f"<style>{_style()}</style>\n</head>\n<body>",
            (
                ""
                ""
                ""
                ""
                ""
                ""
                ""
                ""
                ""
                ""
                ""
                ""
                ""
                ""
                ""
                ""
                ""
                ""
                ""
                ""
                ""
                ""
                ""
                ""
                f"<header><h1>{html.escape(heading.title)}</h1><p>{html.escape(heading.summary)}</p>{warnings}{made}</header>"
            ),
            f"<nav><ul>{links}</ul></nav>\n<main>",
            *(_render_part(part) for part in parts),
            "</main>\n</body>\n</html>\n",
        ]
    )


def _style() -> str:
    style = STYLE
    for word, theme in (("LIGHT_COLORS", LIGHT), ("DARK_COLORS", DARK)):
        names = {"ink": theme.ink, "paper": theme.paper, "muted": theme.muted, "rule": theme.rule}
        names |= {f"c{index}": color for index, color in enumerate(theme.series[:-1])}
        style = style.replace(word, " ".join(f"--{name}: {color};" for name, color in names.items()))
    return style


def _render_part(part: Part) -> str:
    pieces = [f'<section id="{part.name}"><h2>{html.escape(part.title)}</h2>']
    if part.svg is not None:
        drawing = inline_svg(part.svg, part.figure, label=part.caption)
        pieces.append(f"<figure>{drawing}<figcaption>{html.escape(part.caption)}</figcaption></figure>")
        endings = [f"{part.figure}{dark}.{ending}" for dark in ("", "-dark") for ending in ("svg", "png")]
        pieces.append(_links("Figure", [f"figures/{name}" for name in endings]))
    pieces += [_render_table(table) for table in part.tables]
    return "\n".join([*pieces, "</section>"])


def _render_table(table: Table) -> str:
    opened = " open" if 0 < len(table.rows) <= MOST_ROWS_OPEN else ""
    notes = "".join(f'<p class="note">{html.escape(note)}</p>' for note in table.all_notes)
    body = f'<div class="scroll" tabindex="0">{to_html(table)}</div>' if table.rows else '<p class="note">No rows.</p>'
    return (
        f"<details{opened}><summary>{html.escape(table.title)} ({len(table.rows)} rows)</summary>{body}{notes}"
        f"{_links('Table', [f'tables/{table.name}.{ending}' for ending in ('csv', 'md', 'tex')])}</details>"
    )


def _links(word: str, paths: Sequence[str]) -> str:
    links = "".join(f'<a href="{html.escape(path)}">{html.escape(path.rsplit("/", 1)[-1])}</a>' for path in paths)
    return f'<p class="files note">{word}: {links}</p>'


def inline_svg(svg: bytes, name: str, *, label: str) -> str:
    """A figure for use inside a page: its ids made its own, its colours made the page's, so that one drawing serves
    both themes.

    >>> inline_svg(b'<svg width="1pt" height="2pt"><path id="a" style="fill: #0072b2"/></svg>', "f", label="x")
    '<svg role="img" aria-label="x"><path id="f-a" style="fill: var(--c0)"/></svg>'
    """
    text = svg.decode()
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'href="#', f'href="#{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = text.replace("<svg", f'<svg role="img" aria-label="{html.escape(label, quote=True)}"', 1)
    colors = {LIGHT.ink: "ink", LIGHT.paper: "paper", LIGHT.muted: "muted", LIGHT.rule: "rule"}
    colors |= {color: f"c{index}" for index, color in enumerate(LIGHT.series) if color not in colors}
    for color, variable in colors.items():
        text = text.replace(color, f"var(--{variable})")
    return text
