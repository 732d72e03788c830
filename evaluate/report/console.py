"""Tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from multilingual_math_audit.records import Score


def score_table(scores: Sequence[Score], *, ks: Sequence[int] = (), strategies: Sequence[str] = ("majority",)) -> Table:
    """One row per benchmark, judge, strategy and k: Pass@k, CoT-Pass@k, their difference, stop rates and tokens.

    A cell that is not defined shows why: what is pending, or `n/a`.
    """
    shown = list(ks) or sorted({1, max((score.k or 1 for score in scores), default=1)})
    table = Table(title=f"Solver {scores[0].solver}" if scores and scores[0].solver else None, title_justify="left")
    for name in ("benchmark", "n", "k", "Pass@k", "judge", "CoT-Pass@k", "difference [95%]", "stopped", "tokens"):
        table.add_column(name, justify="left" if name in ("benchmark", "judge") else "right", no_wrap=name != "judge")
    for benchmark in dict.fromkeys(score.benchmark for score in scores):
        for k in shown:
            for row in _rows([score for score in scores if score.benchmark == benchmark], k, strategies):
                table.add_row(benchmark, *row)
        table.add_section()
    table.caption = (
        "Stopped and tokens: solver / judge. CoT-Pass@k counts a sample only if the judge approves its chain."
    )
    return table


def _rows(cell: Sequence[Score], k: int, strategies: Sequence[str]) -> list[list[str]]:
    base = _find(cell, "pass_at_k", k=k)
    start = [str(base.n) if base else "0", str(k), _percent(base)]
    judges = sorted({score.judge for score in cell if score.judge})
    if not judges:
        return [[*start, "-", "-", "-", _percent(_find(cell, "solver_stop_rate")), _tokens(cell)]]
    rows = []
    for judge in judges:
        for strategy in strategies:
            names = {"judge": judge, "strategy": strategy, "k": k}
            label = judge if len(strategies) == 1 else f"{judge} ({strategy})"
            stop = (_find(cell, "solver_stop_rate"), _find(cell, "judge_stop_rate", judge=judge))
            rows.append(
                [
                    *start,
                    label,
                    _percent(_find(cell, "cot_pass_at_k", **names)),
                    _interval(_find(cell, "difference", **names)),
                    " / ".join(_percent(score) for score in stop),
                    _tokens(cell, judge),
                ]
            )
    return rows


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
    mark = " (no width)" if score.low == score.high else ""
    return f"{100 * score.value:.1f} [{100 * score.low:.1f}, {100 * score.high:.1f}]{mark}"


def _tokens(cell: Sequence[Score], judge: str | None = None) -> str:
    solver = _find(cell, "solver_tokens")
    parts = [solver.value if solver else None]
    if judge is not None:
        judged = _find(cell, "judge_tokens", judge=judge)
        parts.append(judged.value if judged else None)
    return " / ".join("n/a" if part is None else f"{part:,.0f}" for part in parts)
