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
from weft.errors import Cause, StoreError
from weft.records import PAGE, Ending, FailedSeeds, Progress, Purpose, SiteLimit, StopReason
from weft.spec import ShownLogs
from weft.text.dates import iso_of_ms
from weft.text.human import about, command, counted, human_bytes, human_moment, human_seconds
from weft.text.safe import cell, shown

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live
    from rich.table import Table

    from weft.crawl.conclude import Concluded


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
_OURS, _log = logging.getLogger("weft"), logging.getLogger("weft.cli.screen")
RATE_MARKS = 30  # a second apart
NOTES_SHOWN = 10
_BY_DELAY = 0.5  # of the requests that the delay allows to one site: with fewer it is not what the run waits for


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

    def ticked(self, visits: list[Concluded], progress: Progress) -> None:
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

    def ticked(self, visits: list[Concluded], progress: Progress) -> None:
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
    lines = native.csv_lines(rows)
    if lines is not None:
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


class Notes:
    """Tells what a run meets and its user should know: in the log of runs, and, of a run's first ones, on the screen.

    A crawl of a million sites may have as many. ``say`` is None where the screen shows nothing; ``path`` is where the
    log of runs lies.
    """

    def __init__(self, path: Path, say: Callable[[str], None] | None) -> None:
        self._path = path
        self._say = say
        self._left = NOTES_SHOWN

    def ticked(self, visits: list[Concluded], progress: Progress) -> None:
        if not progress.notes:
            return
        for note in progress.notes:
            _log.info("%s", note)
        if self._say is None:
            return
        for note in progress.notes[: self._left]:
            self._left -= 1
            self._say(note if self._left else f"{note}; what follows of this kind is in {self._path}")


class Lately:
    """The last half minute of a run, for the displays: how fast it is, causes of failures, the newest pages."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque(maxlen=RATE_MARKS)
        self.causes: Counter[str] = Counter()
        self.recent: deque[str] = deque(maxlen=8)

    def note(self, visits: list[Concluded], progress: Progress) -> None:
        """Takes in one tick."""
        if not self._marks or progress.elapsed_s - self._marks[-1][0] >= 1.0:
            self._marks.append((progress.elapsed_s, progress.ended))
        for done in visits:
            if done.visit.cause is not None and done.retry_s is None:
                self.causes[done.visit.cause] += 1
            if done.lease.purpose is PAGE:
                outcome = done.visit.status if done.visit.status is not None else done.visit.cause
                self.recent.append(f"{outcome} {done.lease.url}")

    def pages_per_s(self, progress: Progress) -> float:
        """Pages that ended, a second; 0 before the first second is over: the first pages come close together."""
        if not self._marks:
            return 0.0
        since_s, before = self._marks[0]
        span_s = progress.elapsed_s - since_s
        return (progress.ended - before) / span_s if span_s >= 1.0 else 0.0

    def left_s(self, progress: Progress) -> float | None:
        """Seconds until all known pages are asked, at this speed; None where nobody can tell."""
        rate = self.pages_per_s(progress)
        return progress.left / rate if rate else None


def share_words(progress: Progress) -> str:
    """How many of the known pages are over: ``229/751 pages (30 %)``."""
    total = progress.ended + progress.left
    return f"{progress.ended:,}/{total:,} pages ({100 * progress.ended // max(1, total)} %)"


def end_words(progress: Progress, lately: Lately) -> str:
    """When the run will end, for people: by its limit of time, or as all known pages are asked; "" if nobody knows."""
    if progress.stopping:
        return ""
    left_s = lately.left_s(progress)
    time_s = None if progress.max_time_s is None else max(0.0, progress.max_time_s - progress.elapsed_s)
    if time_s is not None and (left_s is None or time_s < left_s):
        return f"ends in about {human_seconds(time_s)}"
    if left_s is None or not progress.left:
        return ""
    # the delay is named where it is the reason: sites that answer slowly, or want longer pauses, are not made faster
    by_delay = progress.delay_s > 0 and progress.left / left_s * progress.delay_s >= _BY_DELAY
    return f"about {about(left_s)} left" + (f" at --delay {progress.delay_s:g}s" if by_delay else "")


def trouble_words(progress: Progress) -> str:
    """What went wrong so far: ``12 broken, 152 refused by robots.txt``; "" if nothing did."""
    numbers = ((progress.broken, "broken"), (progress.forbidden, "refused by robots.txt"))
    return ", ".join(f"{number:,} {word}" for number, word in numbers if number)


class PlainLines:
    """A line every few seconds, where the output is no terminal."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lately = Lately()
        self._last = time.monotonic()

    def ticked(self, visits: list[Concluded], progress: Progress) -> None:
        self._lately.note(visits, progress)
        if time.monotonic() - self._last >= PLAIN_EVERY_S:
            self._last = time.monotonic()
            print(summary_line(progress, self._lately), file=self._out, flush=True)


class LiveScreen:
    """The live display of a terminal: numbers, errors by cause, the pages that came last."""

    def __init__(self, folder: Path) -> None:
        from rich.live import Live

        self._folder = folder
        self._lately = Lately()
        self._live: Live = Live(console=steady_console(), refresh_per_second=4, transient=True)

    def __enter__(self) -> LiveScreen:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def ticked(self, visits: list[Concluded], progress: Progress) -> None:
        self._lately.note(visits, progress)
        self._live.update(self._render(progress))

    def _render(self, progress: Progress) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        head = "   ".join(filter(None, (share_words(progress), end_words(progress, self._lately))))
        lines: list[RenderableType] = [
            Text(f"weft  {self._folder}  {human_seconds(progress.elapsed_s)}   {head}", style="bold"),
            self._numbers(progress),
        ]
        if self._lately.causes:
            causes = self._lately.causes.most_common(5)
            lines.append(Text("  ".join(f"{cause} {number}" for cause, number in causes), style="yellow"))
        lines += [Text(shown(page), style="dim", no_wrap=True, overflow="ellipsis") for page in self._lately.recent]
        if progress.stopping and progress.requests:
            words = "stopping: waiting for the pages under way (Ctrl-C again ends at once)"
            lines.append(Text(words, style="bold yellow"))
        return Group(*lines)

    def _numbers(self, progress: Progress) -> Table:
        from rich.table import Table

        rate, running = f"{self._lately.pages_per_s(progress):,.1f}", str(progress.requests)
        grid = Table.grid(padding=(0, 2))
        grid.add_row("pages", f"{progress.pages:,}", "a second", rate, "links", f"{progress.links:,}")
        grid.add_row("waiting", f"{progress.waiting:,}", "running", running, "hosts", f"{progress.hosts:,}")
        refused, received = f"{progress.forbidden:,}", human_bytes(progress.received_b)
        grid.add_row("broken", f"{progress.broken:,}", "refused by robots.txt", refused, "received", received)
        return grid


def steady_console() -> Console:
    """The terminal behind stderr. Its cursor is never hidden: after a kill nobody would show it again."""
    from rich.console import Console

    class SteadyConsole(Console):
        def show_cursor(self, show: bool = True) -> bool:
            return False

    return SteadyConsole(stderr=True)


def summary_line(progress: Progress, lately: Lately) -> str:
    """How far a run is, in one line."""
    rate = f"{lately.pages_per_s(progress):,.1f}/s"
    end = "stopping" if progress.stopping else end_words(progress, lately)
    speed = ", ".join(filter(None, (share_words(progress), rate, end)))
    more = "; ".join(filter(None, (speed, trouble_words(progress), counted(progress.hosts, "host"))))
    return f"{human_seconds(progress.elapsed_s)}: {more}"


def closing_words(folder: Path, progress: Progress, reason: StopReason, ending: Ending) -> str:
    """What a run says at its end: what it has, why it stopped, what to do next."""
    forbidden = f"{progress.forbidden:,} refused by robots.txt, " if progress.forbidden else ""
    head = (
        f"{counted(progress.pages, 'page')} and {counted(progress.links, 'link')} in {folder}"
        f" ({human_seconds(progress.elapsed_s)}, {counted(progress.errors, 'error')}, {forbidden}"
        f"{progress.waiting:,} waiting): "
    )
    return head + _why_it_ended(folder, reason, ending)


def _why_it_ended(folder: Path, reason: StopReason, ending: Ending) -> str:
    resume = command("resume", folder)
    match reason:
        case StopReason.DONE:
            seeds = f"; {_failed_seeds(folder, ending.seeds)}" if ending.seeds is not None else ""
            return _nothing_left(folder, ending) + seeds
        case StopReason.FAILED if ending.seeds is not None:
            return _no_seed(folder, ending.seeds)
        case StopReason.WAITING:
            when = human_moment(datetime.now().astimezone(), ending.wait_s)
            return f"only sites that want rest are left; go on after {when} with: {resume}"
        case StopReason.STOPPED | StopReason.KILLED:
            because = f" because {ending.stopped_by} is there" if ending.stopped_by else ""
            return f"stopped{because}; go on with: {resume}"
        case StopReason.FINISHER:
            return f"a finisher of --part ended it; go on with: {resume}"
        case StopReason.MAX_PAGES | StopReason.MAX_TIME | StopReason.MIN_DEPTH:
            return f"--{reason} is reached; go on with: {resume} --{reason} ..."
        case StopReason.FAILED | StopReason.DISK_FULL:
            return f"{reason}; go on with: {resume}"
        case _:
            assert_never(reason)


def _nothing_left(folder: Path, ending: Ending) -> str:
    """Of a crawl that is done: by itself, by a limit of its sites, or long ago."""
    if ending.limits:
        return "; ".join(_reached(folder, limit) for limit in ending.limits)
    if not ending.visits and ending.last_answer_ms is not None:
        done_on = datetime.fromtimestamp(ending.last_answer_ms / 1000).strftime("%Y-%m-%d %H:%M")
        return f"done on {done_on}; --fresh starts anew"
    return "nothing is left to fetch"


def _reached(folder: Path, limit: SiteLimit) -> str:
    option = f"--{limit.option}"
    left = (
        f"{counted(limit.urls, 'URL')} of {counted(limit.sites, 'site')} {'is' if limit.urls == 1 else 'are'} left out"
    )
    return f"{option} is reached, {left}; go on with: {command('resume', folder)} {option} ..."


def _no_seed(folder: Path, seeds: FailedSeeds) -> str:
    """Of a crawl without a page of a seed."""
    if seeds.why.isdecimal():
        return f"no seed gave a page: {_failed_seed(folder, seeds)}"
    what = "no seed may be asked" if seeds.why == Cause.ROBOTS_DISALLOWED.value else "no seed answered"
    return f"{what}: {seeds.why} ({command('why', folder, seeds.url)} tells more)"


def _failed_seeds(folder: Path, seeds: FailedSeeds) -> str:
    """Of a crawl of which other seeds gave a page."""
    return f"{seeds.number:,} of {counted(seeds.total, 'seed')} gave no page: {_failed_seed(folder, seeds)}"


def _failed_seed(folder: Path, seeds: FailedSeeds) -> str:
    outcome = f"answered {seeds.why}" if seeds.why.isdecimal() else seeds.why
    return f"{seeds.url} {outcome} ({command('why', folder, seeds.url)} tells more)"


def is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
