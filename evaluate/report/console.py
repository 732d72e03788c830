"""Tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.table import Table

from multilingual_math_audit.records import Score

CAPTION = (
    "CoT-Pass@k counts a sample only if the judge approves its chain. Stopped and tokens: solver / judge."
    " In brackets behind a benchmark: its questions."
    " An asterisk marks an interval of no width, which says nothing of uncertainty."
)


def score_tables(
    scores: Sequence[Score], *, ks: Sequence[int] = (), strategies: Sequence[str] = ("majority",)
) -> Iterator[Table]:
    """One table per judge and strategy (one without a judge where there is none), a row per benchmark and k.

    A cell that is not defined shows why: what is pending, or `n/a`.
    """
    shown = list(ks) or sorted({1, max((score.k or 1 for score in scores), default=1)})
    judges: list[str | None] = [*sorted({score.judge for score in scores if score.judge})]
    for judge in judges or [None]:
        for strategy in strategies if judge else ("majority",):
            yield _table(scores, shown, judge, strategy)


def _table(scores: Sequence[Score], ks: Sequence[int], judge: str | None, strategy: str) -> Table:
    solver = next((score.solver for score in scores if score.solver), None)
    title = f"solver {solver}" + (f", judge {judge}, {strategy.replace('_', ' ')}" if judge else "")
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, caption_justify="left")
    table.pad_edge, table.collapse_padding = False, True
    table.add_column("benchmark", no_wrap=True)
    for name in ("k", "Pass@k", "CoT-Pass@k", "difference [95%]", "stopped", "tokens"):
        if judge or name not in ("CoT-Pass@k", "difference [95%]"):
            table.add_column(name, justify="right", no_wrap=True)
    for benchmark in dict.fromkeys(score.benchmark for score in scores):
        cell = [score for score in scores if score.benchmark == benchmark]
        for number, k in enumerate(ks):
            base = _find(cell, "pass_at_k", k=k)
            row = [f"{benchmark} ({base.n})"] if number == 0 and base else [""]
            row += [str(k), _percent(base)]
            if judge:
                names = {"judge": judge, "strategy": strategy, "k": k}
                row += [
                    _percent(_find(cell, "cot_pass_at_k", **names)),
                    _interval(_find(cell, "difference", **names)),
                ]
            row += [_stopped(cell, judge), _tokens(cell, judge)] if number == 0 else ["", ""]
            table.add_row(*row)
    table.caption = CAPTION if judge else None
    return table


def _find(cell: Sequence[Score], metric: str, **names: object) -> Score | None:
    for score in cell:
        if score.metric == metric and all(getattr(score, name) == value for name, value in names.items()):
            return score
    return None


def _percent(score: Score | None) -> str:
    if score is None:
        return "n/a"
    if score.value is None:
        return f"{score.pending} pending" if score.pending else "n/a"
    return f"{100 * score.value:.1f}%"


def _interval(score: Score | None) -> str:
    if score is None or score.value is None or score.low is None or score.high is None:
        return _percent(score)
    mark = "*" if score.low == score.high else ""
    return f"{100 * score.value:.1f} [{100 * score.low:.1f}, {100 * score.high:.1f}]{mark}"


def _stopped(cell: Sequence[Score], judge: str | None) -> str:
    parts = [_find(cell, "solver_stop_rate")]
    if judge:
        parts.append(_find(cell, "judge_stop_rate", judge=judge))
    return " / ".join("n/a" if p is None or p.value is None else f"{100 * p.value:.0f}%" for p in parts)


def _tokens(cell: Sequence[Score], judge: str | None) -> str:
    parts = [_find(cell, "solver_tokens")]
    if judge:
        parts.append(_find(cell, "judge_tokens", judge=judge))
    return " / ".join("n/a" if p is None or p.value is None else shorten(p.value) for p in parts)


def shorten(number: float) -> str:
    """A count in few letters.

    >>> shorten(950), shorten(12_345), shorten(416e6)
    ('950', '12.3k', '416.0M')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f}{letter}"
    return f"{number:.0f}"
