"""Progress of long work on stderr: a bar on a terminal, else a plain line every few seconds."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from weft.text.safe import shown

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_PLAIN_EVERY_S = 5.0


class ShownProgress:
    """Called with what is done, how far it is, and of how much (0: nobody knows). Silent work shows nothing at all."""

    def __init__(self, doing: str = "") -> None:
        self._doing = f"{doing} " if doing else ""
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        self._last = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> ShownProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, what: str, done: int, total: int) -> None:
        if self._terminal:
            self._draw(what, done, total)
        elif time.monotonic() - self._last >= _PLAIN_EVERY_S:
            self._last = time.monotonic()
            share = f" {done / total:.0%}" if total else ""
            print(shown(f"{self._doing}{what}{share}"), file=sys.stderr, flush=True)

    def _draw(self, what: str, done: int, total: int) -> None:
        if self._bar is None or self._task is None:
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

            from weft.cli.screen import steady_console

            columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
            self._bar = Progress(*columns, TimeElapsedColumn(), console=steady_console(), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("")
        self._bar.update(
            self._task, description=shown(f"{self._doing}{what}"), completed=done, total=total if total else None
        )
