"""What a view keeps on the pages besides the leaderboard: rows, audits, verifiers and benchmarks."""

from __future__ import annotations

from collections.abc import Iterator

from multilingual_math_audit.leaderboard_app.board import Board, JudgeKey, Row, judge_key
from multilingual_math_audit.leaderboard_app.judges import JudgeLine, describe_audit, sort_lines
from multilingual_math_audit.leaderboard_app.rows import View, passes
from multilingual_math_audit.submissions.accept import Entry
from multilingual_math_audit.submissions.question_sets import question_sets


def chosen_rows(board: Board, view: View) -> list[Row]:
    """The rows that pass the filters, in the board's order."""
    return [row for row in board.rows if passes(board, row, view)]


def asks_for(view: View, benchmark: str) -> bool:
    """Whether a view keeps a benchmark; one that chose none keeps all, unless of another language."""
    if view.benchmarks and benchmark not in view.benchmarks:
        return False
    known = question_sets().get(benchmark)
    return not view.languages or (known is not None and known.language in view.languages)


def shown_benchmarks(board: Board, view: View) -> tuple[str, ...]:
    """The benchmarks of the board that a view keeps, in the board's order."""
    return tuple(name for name in board.cells if asks_for(view, name))


def first_pair(board: Board, view: View) -> tuple[str | None, str | None]:
    """The first two kept rows that have a benchmark in common, by id; without such a pair the first two, or None."""
    kept = [row.id for row in chosen_rows(board, view)]
    cells = [board.cells[name] for name in shown_benchmarks(board, view)]
    for at, row in enumerate(kept):
        held = [cell for cell in cells if cell.covered[board.place[row]]]
        for other in kept[at + 1 :]:
            if any(cell.covered[board.place[other]] for cell in held):
                return row, other
    return next(iter(kept), None), kept[1] if len(kept) > 1 else None


def chosen_judges(board: Board, view: View) -> list[JudgeLine]:
    """The audits that a view keeps, over the benchmarks it keeps; the most sensitive to the chain first.

    Kept is a judge of a row that passes the filters. Filters that say nothing of solvers also keep a judge with no row
    of its own, by its name, its submitter and its trust.
    """
    of_rows = {judge_key(row.judge) for row in chosen_rows(board, view) if row.judge is not None}
    about_solvers = any((view.families, view.sizes, view.modes, view.budgets))
    lines = []
    for key, (_, audit, _) in board.audits.items():
        names = tuple(name for name in audit.benchmarks if asks_for(view, name))
        if names and (key in of_rows or (not about_solvers and _names_judge(board, view, key))):
            lines.append(describe_audit(board, key, names))
    return sort_lines(lines)


def _names_judge(board: Board, view: View, key: JudgeKey) -> bool:
    judge, _, entry = board.audits[key]
    labels = board.judge_labels.get(key, frozenset()) | {judge.model}
    words = " ".join((*labels, entry.submission.submitter.name)).casefold()
    return (
        (not view.judges or bool(labels & set(view.judges)))
        and (not view.trusts or entry.acceptance.trust in view.trusts)
        and all(word in words for word in view.search.casefold().split())
    )


def chosen_verifiers(board: Board, view: View) -> Iterator[tuple[Entry, str]]:
    """The submissions with a verifier of which a row passes the filters, with each benchmark that a view keeps."""
    kept = {row.entry.submission.digest for row in chosen_rows(board, view)}
    for entry in board.entries:
        submission = entry.submission
        if submission.verifier is None or submission.solver is None:
            continue
        alone = Row(id=submission.digest, entry=entry, solver=submission.solver, judge_label=None, judge=None)
        if submission.digest in kept or (not submission.benchmarks and passes(board, alone, view)):
            names = {name for chosen in submission.verifier.selectors.values() for name in chosen}
            yield from ((entry, name) for name in sorted(names) if asks_for(view, name))
