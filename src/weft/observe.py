"""Events to logs and screens. Observers are told of a tick after its commit; none of them can slow a page down."""

from __future__ import annotations

import csv
import io
import sys
import time
from collections import Counter, deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from weft.errors import StoreError
from weft.records import Purpose
from weft.safe import cell, shown
from weft.store.sql import iso_of_ms

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

    from weft.conclude import Concluded
    from weft.loop import Crawl, StopReason

COMMON_FIELDS = (
    "time",
    "purpose",
    "url",
    "state",
    "status",
    "error",
    "type",
    "size",
    "response_ms",
    "depth",
    "attempt",
    "links",
)
ERROR_FIELDS = ("time", "purpose", "url", "error", "detail", "attempt", "tried_again")
ROTATE_B = 50_000_000
PLAIN_EVERY_S = 5.0


class CsvLogs:
    """logs/common.csv, a line for every visit, and logs/error.csv, a line for every failure (R16); both rotated."""

    def __init__(self, folder: Path, screen: TextIO | None = None) -> None:
        self._common = _Csv(folder / "common.csv", COMMON_FIELDS)
        self._errors = _Csv(folder / "error.csv", ERROR_FIELDS)
        self._screen = screen

    def ticked(self, visits: list[Concluded], crawl: Crawl) -> None:
        common, errors = [], []
        for done in visits:
            visit, lease = done.visit, done.lease
            moment, purpose = iso_of_ms(visit.started_ms), lease.purpose.name.lower()
            state = "W" if done.retry_s is not None or done.again_at is not None else done.state
            common.append(
                (moment, purpose, lease.url, state, visit.status, visit.cause, visit.type, visit.size,
                 visit.response_ms, lease.depth, lease.attempt, visit.out_links)
            )  # fmt: skip
            if visit.cause is not None:
                errors.append(
                    (moment, purpose, lease.url, visit.cause, visit.detail, lease.attempt, done.retry_s is not None)
                )
        self._common.write(common)
        self._errors.write(errors)
        if self._screen is not None:
            for row in common:
                print(shown(" ".join("-" if value is None else str(value) for value in row)), file=self._screen)


class _Csv:
    """One CSV file, appended a batch at a time, put aside as NAME.1, NAME.2 ... when it has grown."""

    def __init__(self, path: Path, fields: tuple[str, ...]) -> None:
        self._path = path
        self._fields = fields

    def write(self, rows: Sequence[tuple[object, ...]]) -> None:
        if not rows:
            return
        try:
            self._append(rows)
        except OSError as error:
            raise StoreError(f"{self._path} cannot be written: {error.strerror}") from error

    def _append(self, rows: Sequence[tuple[object, ...]]) -> None:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        size_b = self._path.stat().st_size if self._path.exists() else 0
        if size_b > ROTATE_B:
            self._put_aside()
            size_b = 0
        if size_b == 0:
            writer.writerow(self._fields)
        writer.writerows([[value if type(value) is int else cell(value) for value in row] for row in rows])
        with self._path.open("a", encoding="utf-8", newline="") as file:
            file.write(text.getvalue())

    def _put_aside(self) -> None:
        number = 1
        while (aside := self._path.with_name(f"{self._path.name}.{number}")).exists():
            number += 1
        self._path.rename(aside)


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
            if done.lease.purpose is Purpose.PAGE:
                outcome = done.visit.status if done.visit.status is not None else done.visit.cause
                self.recent.append(f"{outcome} {done.lease.url}")

    def pages_per_s(self) -> float:
        if len(self._marks) < 2:
            return 0.0
        (first, before), (last, now) = self._marks[0], self._marks[-1]
        return (now - before) / (last - first) if last > first else 0.0

    def eta_s(self, crawl: Crawl) -> float | None:
        """Seconds to the nearest limit that the user set; None without one."""
        limits, times = crawl.parts.spec.limits, []
        if limits.max_time_s is not None:
            times.append(limits.max_time_s - crawl.elapsed_s)
        if limits.max_pages is not None and self.pages_per_s() > 0:
            times.append((limits.max_pages - crawl.parts.store.totals["pages"]) / self.pages_per_s())
        return max(0.0, min(times)) if times else None


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
        from rich.table import Table
        from rich.text import Text

        counts, totals = crawl.parts.frontier.counts, crawl.parts.store.totals
        grid = Table.grid(padding=(0, 2))
        grid.add_row(
            "pages",
            f"{totals['pages']:,}",
            "a second",
            f"{self._progress.pages_per_s():,.1f}",
            "links",
            f"{totals['links']:,}",
        )
        grid.add_row(
            "waiting",
            f"{counts['waiting']:,}",
            "running",
            str(crawl.parts.fetcher.running),
            "hosts",
            f"{counts['hosts']:,}",
        )
        grid.add_row(
            "errors",
            f"{counts['errors']:,}",
            "refused",
            f"{counts['refused']:,}",
            "received",
            human_bytes(totals["bytes"]),
        )
        eta = self._progress.eta_s(crawl)
        left = f"   ends in about {human_seconds(eta)}" if eta is not None else ""
        lines: list[RenderableType] = [
            Text(f"weft  {crawl.parts.folder.path}  {human_seconds(crawl.elapsed_s)}{left}", style="bold"),
            grid,
        ]
        if self._progress.causes:
            lines.append(
                Text(
                    "  ".join(f"{cause} {number}" for cause, number in self._progress.causes.most_common(5)),
                    style="yellow",
                )
            )
        lines += [Text(shown(page), style="dim", no_wrap=True, overflow="ellipsis") for page in self._progress.recent]
        if crawl.stopping:
            lines.append(
                Text("stopping: waiting for the pages under way (Ctrl-C again ends at once)", style="bold yellow")
            )
        return Group(*lines)


def summary_line(crawl: Crawl, progress: Progress) -> str:
    counts, totals = crawl.parts.frontier.counts, crawl.parts.store.totals
    causes = "".join(f", {cause} {number}" for cause, number in progress.causes.most_common(3))
    eta = progress.eta_s(crawl)
    left = f", ends in about {human_seconds(eta)}" if eta is not None else ""
    return (
        f"{human_seconds(crawl.elapsed_s)}: {totals['pages']:,} pages, {progress.pages_per_s():,.1f}/s,"
        f" {counts['waiting']:,} waiting, {counts['hosts']:,} hosts, {counts['errors']:,} errors{causes}{left}"
    )


def closing_words(crawl: Crawl, reason: StopReason, wait_s: float | None) -> str:
    """What a run says at its end: what it has, why it stopped, what to do next."""
    counts, totals = crawl.parts.frontier.counts, crawl.parts.store.totals
    folder = crawl.parts.folder.path
    head = (
        f"{totals['pages']:,} pages and {totals['links']:,} links in {folder} ({human_seconds(crawl.elapsed_s)},"
        f" {counts['errors']:,} errors, {counts['waiting']:,} waiting): "
    )
    match reason.name:
        case "done" if not crawl.visits:
            return head + "nothing was left to fetch, and nothing has failed that could be tried again"
        case "done":
            return head + "nothing is left to fetch"
        case "waiting":
            when = time.strftime("%H:%M", time.localtime(time.time() + (wait_s or 0.0)))
            return head + f"only sites that want rest are left; go on after {when} with: weft resume {folder}"
        case "stopped":
            return head + f"stopped; go on with: weft resume {folder}"
        case "failed":
            return head + f"no seed answered (weft why {folder} URL tells more)"
        case name:
            return head + f"--{name} is reached; go on with: weft resume {folder} --{name} ..."


def human_seconds(seconds: float) -> str:
    whole = int(seconds)
    if whole < 60:
        return f"{seconds:.1f} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def human_bytes(size_b: int) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size_b >= factor:
            return f"{size_b / factor:.1f} {unit}"
    return f"{size_b} B"


def is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
