"""What people see of a run: the live display, plain lines, the last sentence. It sees ``Progress``, and no crawl."""

from __future__ import annotations

import sys
import time
from collections import Counter, deque
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, assert_never

from weft.errors import Cause
from weft.records import FIND, PAGE, Ending, FailedSeeds, Progress, SiteLimit, StopReason, StoredVisit
from weft.text.human import about, command, counted, human_bytes, human_moment, human_seconds
from weft.text.safe import shown

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live
    from rich.table import Table


PLAIN_EVERY_S = 5.0
RATE_MARKS = 30  # a second apart
_BY_DELAY = 0.5  # of the requests that the delay allows to one site: with fewer it is not what the run waits for


class Lately:
    """The last half minute of a run, for the displays: how fast it is, causes of failures, the newest pages."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque(maxlen=RATE_MARKS)
        self.causes: Counter[str] = Counter()
        self.recent: deque[str] = deque(maxlen=8)

    def note(self, visits: Sequence[StoredVisit], progress: Progress) -> None:
        """Takes in one tick."""
        if not self._marks or progress.elapsed_s - self._marks[-1][0] >= 1.0:
            self._marks.append((progress.elapsed_s, progress.ended))
        for one in visits:
            facts = one.visit.facts
            if facts.cause is not None and one.state != "W":
                self.causes[facts.cause] += 1
            if one.lease.purpose is PAGE:
                outcome = facts.status if facts.status is not None else facts.cause
                self.recent.append(f"{outcome} {one.lease.url}")
            self.recent.extend(find_lines(one))

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

    def ticked(self, visits: Sequence[StoredVisit], progress: Progress) -> None:
        self._lately.note(visits, progress)
        for line in (line for one in visits for line in find_lines(one)):
            print(shown(line), file=self._out, flush=True)
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

    def ticked(self, visits: Sequence[StoredVisit], progress: Progress) -> None:
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
        if progress.items is not None:
            grid.add_row("items", f"{progress.items:,}")
        return grid


def steady_console() -> Console:
    """The terminal behind stderr. Its cursor is never hidden: after a kill nobody would show it again."""
    from rich.console import Console

    class SteadyConsole(Console):
        def show_cursor(self, show: bool = True) -> bool:
            return False

    return SteadyConsole(stderr=True)


def find_lines(one: StoredVisit) -> list[str]:
    """A line for every place on a page where a text of ``--find`` stands (P6)."""
    return [f"found {item.value!r} on {one.lease.url}: {item.context}" for item in one.items if item.kind == FIND]


def summary_line(progress: Progress, lately: Lately) -> str:
    """How far a run is, in one line."""
    rate = f"{lately.pages_per_s(progress):,.1f}/s"
    end = "stopping" if progress.stopping else end_words(progress, lately)
    speed = ", ".join(filter(None, (share_words(progress), rate, end)))
    counts = harvest_words(progress)
    more = "; ".join(filter(None, (speed, counts, trouble_words(progress), counted(progress.hosts, "host"))))
    return f"{human_seconds(progress.elapsed_s)}: {more}"


def harvest_words(progress: Progress) -> str:
    """The counters of a crawl that looks for items, beside its pages; "" for others."""
    if progress.items is None:
        return ""
    return f"{counted(progress.items, 'item')}, {counted(progress.links, 'link')}"


def closing_words(folder: Path, progress: Progress, reason: StopReason, ending: Ending) -> str:
    """What a run says at its end: what it has, why it stopped, what to do next."""
    forbidden = f"{progress.forbidden:,} refused by robots.txt, " if progress.forbidden else ""
    items = "" if progress.items is None else f", {counted(progress.items, 'item')}"
    head = (
        f"{counted(progress.pages, 'page')} and {counted(progress.links, 'link')}{items} in {folder}"
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
        case StopReason.MAX_PAGES | StopReason.MAX_TIME | StopReason.MIN_DEPTH | StopReason.GOALS:
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
