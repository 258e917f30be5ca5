"""Events to logs and screens. Observers are told of a tick after its commit; none of them can slow a page down."""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO, assert_never

from weft import native
from weft.dates import iso_of_ms
from weft.errors import StoreError
from weft.human import command, counted, human_bytes, human_moment, human_seconds
from weft.records import PAGE, Purpose, StopReason
from weft.safe import cell, shown
from weft.spec import ShownLogs

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live
    from rich.table import Table

    from weft.conclude import Concluded
    from weft.loop import Crawl


class CommonRow(NamedTuple):
    """A line of the common log: one visit."""

    time: str
    purpose: str  # page, robots, sitemap
    url: str
    state: str  # C, E, or W: it will be tried again
    status: int | None
    error: str | None
    type: str | None
    size: int | None
    response_ms: int | None
    depth: int
    attempt: int
    links: int


COMMON_FIELDS = CommonRow._fields
ERROR_FIELDS = ("time", "purpose", "url", "error", "detail", "attempt", "tried_again")
_PURPOSES = tuple(purpose.name.lower() for purpose in Purpose)  # they count from 0
ROTATE_B = 50_000_000
PLAIN_EVERY_S = 5.0
_OURS = logging.getLogger("weft")


class CsvLogs:
    """The common log, a line for every visit, and the error log, a line for every failure (R16); both rotated.

    ``show`` says which of them are printed to ``screen``, too.
    """

    def __init__(self, common: Path, errors: Path, screen: TextIO, show: ShownLogs = ShownLogs.FILES) -> None:
        self._common = _Csv(common, COMMON_FIELDS)
        self._errors = _Csv(errors, ERROR_FIELDS)
        self._screen = screen
        self._shows_common = show in (ShownLogs.SCREEN, ShownLogs.COMMON)
        self._shows_errors = show in (ShownLogs.SCREEN, ShownLogs.ERROR)

    def ticked(self, visits: list[Concluded], crawl: Crawl) -> None:
        common = [_common_cells(done) for done in visits]
        errors = [
            (*cells[:3], done.visit.cause, done.visit.detail, done.lease.attempt, done.retry_s is not None)
            for done, cells in zip(visits, common, strict=True)
            if done.visit.cause is not None
        ]
        self._common.write(common)
        self._errors.write(errors)
        if self._shows_common:
            self._print("", common)
        if self._shows_errors:
            self._print("error: ", errors)

    def _print(self, before: str, rows: Sequence[tuple[object, ...]]) -> None:
        for row in rows:
            line = " ".join("-" if value is None else str(value) for value in row)
            print(before + shown(line), file=self._screen)


def _common_cells(done: Concluded) -> tuple[object, ...]:
    """The fields of a ``CommonRow``; for a line of the log they need no names."""
    visit, lease = done.visit, done.lease
    state = done.state if done.retry_s is None and done.again_at is None else "W"
    return (
        iso_of_ms(visit.started_ms) or "", _PURPOSES[lease.purpose], lease.url, state, visit.status, visit.cause,
        visit.type, visit.size, visit.response_ms, lease.depth, lease.attempt, visit.out_links,
    )  # fmt: skip


class Routine:
    """A routine of the user's own (R4): told of every visit as the common log has it."""

    def __init__(self, call: Callable[[list[CommonRow]], None]) -> None:
        self._call = call

    def ticked(self, visits: list[Concluded], crawl: Crawl) -> None:
        if visits:
            self._call([CommonRow._make(_common_cells(done)) for done in visits])


class _Csv:
    """One CSV file, appended a batch at a time, put aside as NAME.1, NAME.2 ... when it has grown."""

    def __init__(self, path: Path, fields: tuple[str, ...]) -> None:
        self._path = path
        self._fields = fields
        self._is_there = False

    def write(self, rows: list[tuple[object, ...]]) -> None:
        """Appends the rows; the first call makes the file, also without any."""
        if not rows and self._is_there:
            return
        try:
            self._append(rows)
            self._is_there = True
        except OSError as error:
            raise StoreError(f"{self._path} cannot be written: {error.strerror}") from error

    def _append(self, rows: list[tuple[object, ...]]) -> None:
        size_b = self._path.stat().st_size if self._path.exists() else 0
        if size_b > ROTATE_B:
            self._put_aside()
            size_b = 0
        lines = csv_lines(rows if size_b else [self._fields, *rows])
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8", newline="") as file:
            file.write(lines)

    def _put_aside(self) -> None:
        number = 1
        while (aside := self._path.with_name(f"{self._path.name}.{number}")).exists():
            number += 1
        self._path.rename(aside)


def csv_lines(rows: list[tuple[object, ...]]) -> str:
    """Rows as CSV, each cell made safe for who opens it."""
    if native.csv_lines is not None and (lines := native.csv_lines(rows)) is not None:
        return lines
    import csv  # rarely needed
    import io

    text = io.StringIO()
    cells = [[value if type(value) is int else cell(value) for value in row] for row in rows]
    csv.writer(text, lineterminator="\n").writerows(cells)
    return text.getvalue()


class RunLog(logging.Handler):
    """Writes into ``logs/weft.log`` whatever the packages of weft log while a run lasts. Use as a context manager.

    A file that cannot be written does not end the run, whose outcome is more important. It is told by ``warn``, once.
    """

    def __init__(self, path: Path, warn: Callable[[str], None]) -> None:
        super().__init__(logging.INFO)
        self._path = path
        self._warn = warn
        self._is_broken = False

    def emit(self, record: logging.LogRecord) -> None:
        words = record.getMessage()
        if record.levelno >= logging.WARNING:
            words = f"{record.levelname.lower()}: {words}"
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{iso_of_ms(int(record.created * 1_000))} {shown(words)}\n")
        except OSError as error:
            if not self._is_broken:
                self._warn(f"{self._path} cannot be written: {error.strerror}")
            self._is_broken = True

    def __enter__(self) -> None:
        self._level_before = _OURS.level
        _OURS.addHandler(self)
        _OURS.setLevel(logging.INFO)

    def __exit__(self, *_: object) -> None:
        _OURS.setLevel(self._level_before)
        _OURS.removeHandler(self)
        self.close()


class Progress:
    """What the displays show: rates over the last seconds, causes, the newest pages."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque(maxlen=30)
        self.causes: Counter[str] = Counter()
        self.recent: deque[str] = deque(maxlen=8)

    def note(self, visits: list[Concluded], crawl: Crawl) -> None:
        self._marks.append((time.monotonic(), crawl.parts.store.totals["pages"]))
        for done in visits:
            if done.visit.cause is not None and done.retry_s is None:
                self.causes[done.visit.cause] += 1
            if done.lease.purpose is PAGE:
                outcome = done.visit.status if done.visit.status is not None else done.visit.cause
                self.recent.append(f"{outcome} {done.lease.url}")

    def pages_per_s(self) -> float:
        """Of the last ticks; 0 until they span a second: the first come close together, and would promise too much."""
        if not self._marks:
            return 0.0
        (first, before), (last, now) = self._marks[0], self._marks[-1]
        return (now - before) / (last - first) if last - first >= 1.0 else 0.0

    def eta_s(self, crawl: Crawl) -> float | None:
        """Seconds to the nearest limit that the user set; None without one."""
        limits, times = crawl.parts.spec.limits, []
        if limits.max_time_s is not None:
            times.append(limits.max_time_s - crawl.elapsed_s)
        if limits.max_pages is not None and self.pages_per_s() > 0:
            times.append((limits.max_pages - crawl.parts.store.totals["pages"]) / self.pages_per_s())
        return max(0.0, min(times)) if times else None

    def eta_words(self, crawl: Crawl) -> str:
        """When a limit will end the run, for people; empty where none will, or where one has."""
        eta_s = None if crawl.stopping else self.eta_s(crawl)
        return "" if eta_s is None else f"ends in about {human_seconds(eta_s)}"


class PlainLines:
    """A line every few seconds, where the output is no terminal."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._progress = Progress()
        self._last = time.monotonic()

    def ticked(self, visits: list[Concluded], crawl: Crawl) -> None:
        self._progress.note(visits, crawl)
        if time.monotonic() - self._last >= PLAIN_EVERY_S:
            self._last = time.monotonic()
            print(summary_line(crawl, self._progress), file=self._out, flush=True)


class LiveScreen:
    """The live display of a terminal: numbers, errors by cause, the pages that came last."""

    def __init__(self, console: Console) -> None:
        from rich.live import Live

        self._progress = Progress()
        self._live: Live = Live(console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> LiveScreen:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def ticked(self, visits: list[Concluded], crawl: Crawl) -> None:
        self._progress.note(visits, crawl)
        self._live.update(self._render(crawl))

    def _render(self, crawl: Crawl) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        head = f"weft  {crawl.parts.folder.path}  {human_seconds(crawl.elapsed_s)}"
        eta = self._progress.eta_words(crawl)
        lines: list[RenderableType] = [Text(f"{head}   {eta}" if eta else head, style="bold"), self._numbers(crawl)]
        if self._progress.causes:
            causes = self._progress.causes.most_common(5)
            lines.append(Text("  ".join(f"{cause} {number}" for cause, number in causes), style="yellow"))
        lines += [Text(shown(page), style="dim", no_wrap=True, overflow="ellipsis") for page in self._progress.recent]
        if crawl.stopping and crawl.parts.crew.running:
            words = "stopping: waiting for the pages under way (Ctrl-C again ends at once)"
            lines.append(Text(words, style="bold yellow"))
        return Group(*lines)

    def _numbers(self, crawl: Crawl) -> Table:
        from rich.table import Table

        counts, totals = crawl.parts.frontier.counts, crawl.parts.store.totals
        rate, running = f"{self._progress.pages_per_s():,.1f}", str(crawl.parts.crew.running)
        grid = Table.grid(padding=(0, 2))
        grid.add_row("pages", f"{totals['pages']:,}", "a second", rate, "links", f"{totals['links']:,}")
        grid.add_row("waiting", f"{counts['waiting']:,}", "running", running, "hosts", f"{counts['hosts']:,}")
        received = human_bytes(totals["bytes"])
        grid.add_row("errors", f"{counts['errors']:,}", "refused", f"{counts['refused']:,}", "received", received)
        return grid


def summary_line(crawl: Crawl, progress: Progress) -> str:
    """How far a run is, in one line."""
    counts, totals = crawl.parts.frontier.counts, crawl.parts.store.totals
    causes = "".join(f", {cause} {number}" for cause, number in progress.causes.most_common(3))
    eta = progress.eta_words(crawl)
    left = f", {eta}" if eta else ", stopping" if crawl.stopping else ""
    return (
        f"{human_seconds(crawl.elapsed_s)}: {counted(totals['pages'], 'page')}, {progress.pages_per_s():,.1f}/s,"
        f" {counts['waiting']:,} waiting, {counted(counts['hosts'], 'host')},"
        f" {counted(counts['errors'], 'error')}{causes}{left}"
    )


def closing_words(crawl: Crawl, reason: StopReason, wait_s: float | None) -> str:
    """What a run says at its end: what it has, why it stopped, what to do next."""
    counts, totals = crawl.parts.frontier.counts, crawl.parts.store.totals
    folder = crawl.parts.folder.path
    resume = command("resume", folder)
    head = (
        f"{counted(totals['pages'], 'page')} and {counted(totals['links'], 'link')} in {folder}"
        f" ({human_seconds(crawl.elapsed_s)}, {counted(counts['errors'], 'error')}, {counts['waiting']:,} waiting): "
    )
    url, why = crawl.failed_seed
    match reason:
        case StopReason.DONE if why and not totals["pages"]:
            return head + f"no seed may be asked: {why} ({command('why', folder, url)} tells more)"
        case StopReason.DONE if not crawl.visits:
            return head + "nothing was left to fetch, and nothing has failed that could be tried again"
        case StopReason.DONE:
            return head + "nothing is left to fetch"
        case StopReason.WAITING:
            when = human_moment(datetime.now().astimezone(), wait_s or 0.0)
            return head + f"only sites that want rest are left; go on after {when} with: {resume}"
        case StopReason.STOPPED | StopReason.KILLED:
            because = f" because {crawl.stopped_by} is there" if crawl.stopped_by else ""
            return head + f"stopped{because}; go on with: {resume}"
        case StopReason.FAILED:
            return head + f"no seed answered: {why} ({command('why', folder, url)} tells more)"
        case StopReason.FINISHER:
            return head + f"a finisher of --part ended it; go on with: {resume}"
        case StopReason.MAX_PAGES | StopReason.MAX_TIME | StopReason.MIN_DEPTH:
            return head + f"--{reason} is reached; go on with: {resume} --{reason} ..."
        case _:
            assert_never(reason)


def is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
