"""A table as data, and the same table as Markdown, CSV, LaTeX and HTML."""

from __future__ import annotations

import csv
import html
import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from multilingual_math_audit.evaluate.metrics import Interval
from multilingual_math_audit.store import storage_errors, write_atomically

Form = Literal["text", "count", "number", "points", "p"]
Value = str | int | float | bool | Interval | None
DEGENERATE = "†"
DEGENERATE_NOTE = f"{DEGENERATE} every resample gives the same number: the interval says nothing about uncertainty."


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name in the CSV, its heading for people, and the form of its values.

    `points` are percent or percentage points with one decimal, `number` has two decimals, `p` is a p-value.
    """

    name: str
    heading: str
    form: Form = "text"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of named values under columns; an Interval in a row is a value with both ends in the column's unit.

    `command` is what makes the table again; `notes` say what was left out.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Value], ...]
    notes: tuple[str, ...] = ()
    command: str = ""

    def column(self, name: str) -> list[Value]:
        """The values of one column, from the top down."""
        return [row.get(name) for row in self.rows]

    @property
    def all_notes(self) -> tuple[str, ...]:
        """The notes, and the one on degenerate intervals where there is one."""
        flagged = any(isinstance(value, Interval) and value.degenerate for row in self.rows for value in row.values())
        return (*self.notes, DEGENERATE_NOTE) if flagged else self.notes


def format_value(value: Value, form: Form = "text") -> str:
    """A value as people read it; an undefined one is a dash.

    >>> format_value(20.4918, "points"), format_value(None), format_value(float("nan"), "points")
    ('20.5', '–', '–')
    >>> format_value(Interval(20.4918, 13.93, 27.04, 122), "points")
    '20.5 [13.9, 27.0]'
    >>> format_value(4.69e-157, "p"), format_value(0.0024, "p"), format_value(1.0, "p")
    ('4.7e-157', '0.0024', '1')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, Interval):
        if math.isnan(value.value):
            return "–"
        low, high = (_format_number(end, form) for end in (value.low, value.high))
        mark = DEGENERATE if value.degenerate else ""
        return f"{_format_number(value.value, form)} [{low}, {high}]{mark}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    return _format_number(value, form)


def _format_number(value: float, form: Form) -> str:
    if form == "points":
        return f"{value + 0.0:.1f}".replace("-0.0", "0.0") if abs(value) < 0.05 else f"{value:.1f}"
    if form == "p":
        return f"{value:.2g}" if value < 0.001 else f"{value:.3g}"
    if form == "number":
        return f"{value:,.2f}"
    if form == "count" or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:g}"


def to_csv(table: Table) -> str:
    """The table as CSV: names as headings, four decimals, undefined values empty, an interval as four columns."""
    wide = {column.name for column in table.columns if _is_interval(table, column)}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    headings: list[str] = []
    for column in table.columns:
        headings.append(column.name)
        if column.name in wide:
            headings += [f"{column.name}_{part}" for part in ("low", "high", "degenerate")]
    writer.writerow(headings)
    for row in table.rows:
        cells: list[str] = []
        for column in table.columns:
            value = row.get(column.name)
            if column.name in wide:
                interval = value if isinstance(value, Interval) else None
                cells += _interval_cells(interval)
            else:
                cells.append(_plain(value, column.form))
        writer.writerow(cells)
    return out.getvalue()


def _is_interval(table: Table, column: Column) -> bool:
    return any(isinstance(row.get(column.name), Interval) for row in table.rows)


def _interval_cells(interval: Interval | None) -> list[str]:
    if interval is None or math.isnan(interval.value):
        return ["", "", "", ""]
    ends = [_plain(number, "number") for number in (interval.value, interval.low, interval.high)]
    return [*ends, "yes" if interval.degenerate else "no"]


def _plain(value: Value, form: Form) -> str:
    if value is None or isinstance(value, Interval) or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return _defused(value)
    if form == "p":
        return f"{value:.6g}"
    return str(value) if isinstance(value, int) else f"{value + 0.0:.4f}"


def _defused(text: str) -> str:
    """A text no spreadsheet takes for a formula: names come from models and files."""
    return f"'{text}" if text.startswith(tuple("=+@\t\r")) else text


def to_markdown(table: Table) -> str:
    """The table as GitHub Markdown with its title, notes and command."""
    lines = [f"### {_escape_markdown(table.title)}", ""]
    lines.append("| " + " | ".join(_escape_markdown(column.heading) for column in table.columns) + " |")
    lines.append("|" + "|".join("---" if column.form == "text" else "---:" for column in table.columns) + "|")
    for row in table.rows:
        cells = (_escape_markdown(format_value(row.get(column.name), column.form)) for column in table.columns)
        lines.append("| " + " | ".join(cells) + " |")
    lines += [line for note in table.all_notes for line in ("", _escape_markdown(note))]
    if table.command:
        lines += ["", f"Made by `{table.command}`."]
    return "\n".join(lines) + "\n"


def _escape_markdown(text: str) -> str:
    return re.sub(r"([\\|*_`<>\[\]$])", r"\\\1", text).replace("\n", " ").replace(r"\[", "[").replace(r"\]", "]")


LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "†": r"$^\dagger$", "–": "--", "−": "$-$", "≥": r"$\ge$",
    "×": r"$\times$", "<": "$<$", ">": "$>$", "·": r"$\cdot$",
}  # fmt: skip


def to_latex(table: Table) -> str:
    """The table as a LaTeX `table` of booktabs, to be used with UTF-8 input."""
    align = "".join("l" if column.form == "text" else "r" for column in table.columns)
    lines = [f"% {table.command}" if table.command else "%", r"\begin{table}[htbp]", r"\centering", r"\footnotesize"]
    lines += [rf"\begin{{tabular}}{{{align}}}", r"\toprule"]
    lines.append(" & ".join(_escape_latex(column.heading) for column in table.columns) + r" \\")
    lines.append(r"\midrule")
    for row in table.rows:
        cells = (_escape_latex(format_value(row.get(column.name), column.form)) for column in table.columns)
        lines.append(" & ".join(cells) + r" \\")
    caption = " ".join([_ended(table.title), *(_ended(note) for note in table.all_notes)])
    lines += [r"\bottomrule", r"\end{tabular}", rf"\caption{{{_escape_latex(caption)}}}"]
    lines += [rf"\label{{tab:{table.name}}}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _escape_latex(text: str) -> str:
    return "".join(LATEX.get(character, character) for character in text.replace("\n", " "))


def to_html(table: Table) -> str:
    """The table as an HTML fragment; every text is escaped."""
    head = "".join(f'<th scope="col"{_numeric(column)}>{html.escape(column.heading)}</th>' for column in table.columns)
    body = []
    for row in table.rows:
        cells = "".join(
            f"<td{_numeric(column)}>{html.escape(format_value(row.get(column.name), column.form))}</td>"
            for column in table.columns
        )
        body.append(f"<tr>{cells}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _numeric(column: Column) -> str:
    return "" if column.form == "text" else ' class="n"'


def save_table(table: Table, folder: Path) -> list[Path]:
    """Write `name.csv`, `name.md` and `name.tex` into the folder; gives their paths."""
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for ending, text in (("csv", to_csv(table)), ("md", to_markdown(table)), ("tex", to_latex(table))):
        path = folder / f"{table.name}.{ending}"
        write_atomically(path, text.encode("utf-8", "replace"))
        paths.append(path)
    return paths


def percent(interval: Interval) -> Interval:
    """An interval of shares in percent.

    >>> percent(Interval(0.5, 0.25, 0.75, 4)).high
    75.0
    """
    return Interval(
        100 * interval.value, 100 * interval.low, 100 * interval.high, interval.n, undefined=interval.undefined
    )


def join_words(names: Sequence[str], *, limit: int = 8) -> str:
    """Names in a sentence, the rest of a long list counted.

    >>> join_words(["a", "b", "c"], limit=2)
    'a, b and 1 more'
    """
    if len(names) <= limit:
        return ", ".join(names)
    return f"{', '.join(names[:limit])} and {len(names) - limit} more"
