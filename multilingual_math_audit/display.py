"""What a person sees while a stage works: done and total, tokens per second, stop rate, a running share, time left."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

LINE_SECONDS = 20.0


class StageDisplay:
    """A live line per stage on a terminal, and a plain line every now and then in a log.

    `share` names what is counted as it goes: answers that are correct, judgments that approve.
    """

    def __init__(
        self, stage: str, *, total: int, done: int = 0, share: str = "", console: Console | None = None
    ) -> None:
        self.stage, self.total, self.done, self.share = stage, total, done, share
        self.tokens = self.stopped = self.new = self.hits = self.failed = 0
        self.console = console or Console(stderr=True)
        self._started = self._last_line = time.monotonic()
        self._progress = Progress(
            TextColumn("[bold]{task.description:<6}"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed}/{task.total}"),
            TextColumn("{task.fields[facts]}"),
            TimeRemainingColumn(compact=True),
            console=self.console,
            disable=not self.console.is_terminal,
        )
        self._task = TaskID(0)

    def __enter__(self) -> Self:
        self._progress.start()
        self._task = self._progress.add_task(self.stage, total=self.total, completed=self.done, facts="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.update(self._task, completed=self.done, facts=self.facts())
        self._progress.stop()
        if not self.console.is_terminal and self.total:
            self._line()

    def advance(self, *, tokens: int | None = None, stopped: bool = False, hit: bool | None = None) -> None:
        """One more unit is finished."""
        self.done += 1
        self.new += 1
        self.tokens += tokens or 0
        self.stopped += stopped
        self.hits += bool(hit)
        self._progress.update(self._task, completed=self.done, facts=self.facts())
        if not self.console.is_terminal and time.monotonic() - self._last_line > LINE_SECONDS:
            self._line()

    def fail(self) -> None:
        """One request gave no answer; it is asked again by the same command."""
        self.failed += 1

    def facts(self) -> str:
        """The figures of the line, those that are known."""
        if self.new == 0:
            return ""
        parts = []
        if self.tokens:
            parts.append(f"{self.tokens / max(time.monotonic() - self._started, 1e-9):,.0f} tok/s")
            parts.append(f"stopped {self.stopped / self.new:.0%}")
        if self.share:
            parts.append(f"{self.share} {self.hits / self.new:.0%}")
        if self.failed:
            parts.append(f"[red]failed {self.failed}[/red]")
        return " · ".join(parts)

    def _line(self) -> None:
        self._last_line = time.monotonic()
        self.console.print(f"{self.stage} {self.done}/{self.total} {self.facts()}", highlight=False)
