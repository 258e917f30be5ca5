"""A worker: asks, reads, archives, and reports. It knows nothing of the crawl but the jobs it is given.

It ends when its socket is closed, whoever closed it, and it never outlives the crawl.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
import traceback
from collections import deque
from collections.abc import Iterable
from pathlib import Path

import msgspec

from weft.clock import Clock
from weft.crawl.conclude import SLOW_DOWN, conclude_failure
from weft.crawl.machine import settle_memory
from weft.crawl.marks import ParseMark
from weft.crawl.per_process import file_types_of, make_pipeline
from weft.crawl.pipeline import bug_being_handled
from weft.db.connection import open_reader
from weft.db.schema import VERSION
from weft.errors import StoreError, WeftError
from weft.fetch.http import Fetcher, Outcome
from weft.folder import Folder
from weft.plugins import LoadedPlugins
from weft.records import Failure, FilePosition, Lease, Processed
from weft.store.bodies import SharedBodies
from weft.store.visits import StoredBody, find_body
from weft.workers.messages import (
    ALL_SITES,
    Hello,
    Job,
    JobDone,
    Line,
    Orders,
    Report,
    receive_blocking,
    send_blocking,
)
from weft.workers.rate import SharedRate

REPORTED_AT_ONCE = 16
REPORT_WAIT_S = 0.004  # for others that come, where more are under way
UNREAD_MAX = 24  # answers that wait to be read before no more are asked for
CLOCKS_MAX = 10_000
UNSENT_MAX_B = 8 << 20  # the crawl is slower than we are: no more is read until it has taken these


class CarriedCookies:
    """The cookies that each job brings; those of answers go back with the report to the jar, which is elsewhere."""

    def __init__(self) -> None:
        self.by_url: dict[str, str] = {}

    @property
    def is_empty(self) -> bool:
        return not self.by_url

    def header_for(self, url: str, now: float) -> str | None:
        return self.by_url.get(url)

    def store(self, url: str, set_cookie_values: Iterable[str], now: float) -> None:
        return


class CheckedAddresses:
    """The addresses that a job brings were checked where they were resolved; a transfer connects to no other."""

    def refusal(self, host: str, address: str) -> str | None:
        return None


class Worker:
    """See the module. One per process."""

    def __init__(self, hello: Hello, end: socket.socket, bodies: SharedBodies | None) -> None:
        self._end = end
        self._bodies = bodies
        self._spec = hello.spec
        self._folder = Folder(Path(hello.folder))
        self._wake = asyncio.Event()
        self._over = False
        self._cookies = CarriedCookies()
        clock = Clock.going_on(hello.clock_start_s, hello.clock_epoch_ms)
        rate_b = hello.spec.limits.max_rate_b
        fetcher = Fetcher(
            hello.spec,
            CheckedAddresses(),
            jar=self._cookies,
            seed_origins=hello.seed_origins,
            epoch_ms=clock.epoch_ms,
            rate=SharedRate(rate_b, self._folder.parsing) if rate_b else None,
            is_file_type=file_types_of(hello.spec),
        )
        self._fetcher: Fetcher = LoadedPlugins(hello.spec.plugins.parts).made("downloader", fetcher)
        mark = ParseMark(self._folder.parsing, hello.slot)
        self._reader = open_reader(self._folder.db, VERSION) if hello.spec.keep.archive else None
        self._pipeline = make_pipeline(
            hello.spec, self._folder.warc, hello.prefix, mark, self._find_body, self._fetcher.request_head
        )
        self._jobs: dict[int, Job] = {}  # by the identity of their leases
        self._ahead: dict[int, dict[int, Job]] = {}  # by site, then by number, in the order they came
        self._late: deque[Job] = deque()  # may be asked, as soon as less waits to be read
        self._successors: dict[int, int] = {}  # by the identity of the lease whose place was taken: the job that has it
        self._due: dict[str, float] = {}  # when a clock allows the next request
        self._timers: dict[int, asyncio.TimerHandle] = {}  # by the number of the job that waits for its clocks
        self._looked_at = 0  # how many of the finished have given their places away
        self._report = Report()
        self._report_timer: asyncio.TimerHandle | None = None
        self._told: dict[str, FilePosition] = {}

    def _find_body(self, body_hash: int, digest: str) -> StoredBody | None:
        if self._bodies is not None and not self._bodies.may_hold(body_hash):
            return None
        assert self._reader is not None
        return find_body(self._reader, body_hash, digest)

    async def run(self) -> None:
        self._line = Line(self._end, Orders, self._follow)
        self._line.on_closed = self._leave
        self._line.on_sent = self._wake.set
        async with self._fetcher:
            self._fetcher.on_finished = self._pass_places_on
            self._send_report()
            while not self._over:
                if self._turn():
                    await asyncio.sleep(0)
                else:
                    self._wake.clear()
                    await self._wake.wait()

    def _leave(self) -> None:
        self._over = True
        self._wake.set()

    # ---- orders ----------------------------------------------------------------------------------------------

    def _follow(self, orders: Orders) -> None:
        for job in orders.jobs:
            if job.answer is not None:
                self._jobs[id(job.lease)] = job
                self._fetcher.finished.append((job.lease, job.answer))
            elif job.ahead:
                self._ahead.setdefault(job.lease.site, {})[job.number] = job
            else:
                self._start(job)
        for site, number in orders.grants:
            granted = self._ahead.get(site, {}).pop(number, None)
            if granted is not None:
                self._start(granted)
        for site in orders.recalls:
            self._give_back(site)
        if orders.cancel:
            self._fetcher.cancel_all()
            for timer in self._timers.values():
                timer.cancel()
            self._timers.clear()
            self._fetcher.finished.clear()
            self._looked_at = 0
            self._late.clear()
            self._ahead.clear()
            self._jobs.clear()
            self._successors.clear()
            self._report.cancelled = True
            self._send_report()
        if orders.end:
            self._end_archive()
        elif orders.answer:
            self._send_report()
        self._wake.set()

    def _start(self, job: Job) -> None:
        self._jobs[id(job.lease)] = job
        if job.cookie is not None:
            self._cookies.by_url[job.lease.url] = job.cookie
        wait_s = self._until_due(job) if job.clocks else 0.0
        if wait_s > 0:
            self._timers[job.number] = asyncio.get_running_loop().call_later(wait_s, self._start_now, job)
        else:
            self._start_now(job)

    def _until_due(self, job: Job) -> float:
        """Seconds until the job's clocks allow it; they stand at its start then.

        The crawl keeps the clocks, but it cannot know how long a job lay here before it was asked; so what follows on
        its heels waits here. All that share a clock come to the same worker.
        """
        now_s = time.monotonic()
        start_s = max([now_s, *(self._due.get(clock, 0.0) for clock, _ in job.clocks)])
        for clock, gap_s in job.clocks:
            self._due.pop(clock, None)
            self._due[clock] = start_s + gap_s
        while len(self._due) > CLOCKS_MAX:
            del self._due[next(iter(self._due))]
        return start_s - now_s

    def _start_now(self, job: Job) -> None:
        self._timers.pop(job.number, None)
        self._fetcher.start(job.lease, job.addresses)

    def _give_back(self, site: int) -> None:
        sites = list(self._ahead) if site == ALL_SITES else [site]
        for one in sites:
            self._report.unused += self._ahead.pop(one, ())

    def _end_archive(self) -> None:
        try:
            self._pipeline.archive.close()
        except StoreError as error:
            self._report.fail(error)
        self._send_report()
        self._leave()

    # ---- answers ---------------------------------------------------------------------------------------------

    def _pass_places_on(self) -> None:
        """The requests that ended make room for the next of their sites, before anything is read."""
        self._look_at_finished()
        self._wake.set()

    def _look_at_finished(self) -> None:
        finished = self._fetcher.finished
        while self._looked_at < len(finished):
            lease, answer = finished[self._looked_at]
            self._looked_at += 1
            self._pass_place_on(lease, answer)

    def _pass_place_on(self, lease: Lease, answer: Outcome) -> None:
        if isinstance(answer, Failure) or answer.status in SLOW_DOWN:
            self._give_back(lease.site)  # the site may want rest: the crawl decides
            return
        waiting = self._ahead.get(lease.site)
        if not waiting:
            return
        job = waiting.pop(next(iter(waiting)))
        self._successors[id(lease)] = job.number
        if not waiting:
            del self._ahead[lease.site]
        if len(self._fetcher.finished) < UNREAD_MAX:
            self._start(job)
        else:
            self._late.append(job)

    def _turn(self) -> bool:
        """Reads a few answers and reports them; whether there was anything to do."""
        finished = self._fetcher.finished
        worked = False
        while finished and len(self._report.ended) < REPORTED_AT_ONCE and self._line.unsent_b < UNSENT_MAX_B:
            self._look_at_finished()
            self._process_one()
            worked = True
            if self._report.failure:
                break
        while self._late and len(finished) < UNREAD_MAX:
            self._start(self._late.popleft())
        if self._report.unused or self._report.failure or len(self._report.ended) >= REPORTED_AT_ONCE:
            self._send_report()
        elif self._report.ended and not finished:
            self._report_soon()
        return worked

    def _report_soon(self) -> None:
        """A report costs two processes a wake-up: it waits a moment for others, unless none can come."""
        if not self._fetcher.running:
            self._send_report()
        elif self._report_timer is None:
            self._report_timer = asyncio.get_running_loop().call_later(REPORT_WAIT_S, self._send_report)

    def _process_one(self) -> None:
        lease, answer = self._fetcher.finished.popleft()
        self._looked_at -= 1
        try:
            processed = self._pipeline.process(lease, answer)
        except StoreError as error:
            self._report.fail(error)
            return
        assert processed is not None  # a worker reads all pages itself
        job = self._jobs.pop(id(lease))
        if job.cookie is not None:
            self._cookies.by_url.pop(lease.url, None)
        self._report.ended.append(JobDone(job.number, self._successors.pop(id(lease), 0), processed))

    def _send_report(self) -> None:
        """All that a report tells of is on disk before it is sent."""
        if self._report_timer is not None:
            self._report_timer.cancel()
            self._report_timer = None
        report, self._report = self._report, Report()
        if not report.failure:
            try:
                self._pipeline.archive.flush()
            except StoreError as error:
                report.fail(error)
                report.ended = []
        report.positions = self._news_of_files()
        try:
            self._line.send(report)
        except Exception:  # a text that cannot be written down: find the page that it belongs to
            report.ended = [self._sendable(one) for one in report.ended]
            self._line.send(report)

    def _sendable(self, job: JobDone) -> JobDone:
        """What is reported of a page; a bug where that cannot be written down. Its record stays where it is."""
        try:
            msgspec.msgpack.encode(job)
        except Exception:
            lease, failure = job.processed.done.lease, bug_being_handled()
            processed = Processed(
                done=conclude_failure(lease, failure, self._spec.limits), place=job.processed.place,
                bug=traceback.format_exc(), answer=None if lease.purpose.is_queued else failure,
            )  # fmt: skip
            return JobDone(job.number, job.successor, processed)
        return job

    def _news_of_files(self) -> dict[str, FilePosition]:
        positions = self._pipeline.archive.positions()
        news = {file: place for file, place in positions.items() if self._told.get(file) != place}
        self._told.update(news)
        return news


def work(end: socket.socket, shared: list[int]) -> None:
    """The life of a worker process, from its first message to its last.

    ``shared``: memory with the bodies that were met.
    """
    bodies = SharedBodies(shared[0]) if shared else None
    hello = receive_blocking(end, Hello)
    if hello is None:
        return
    _step_back()
    settle_memory()
    asyncio.run(_main(hello, end, bodies))


def _step_back() -> None:
    """Woken by an answer, a worker waits its turn instead of pushing aside who is at work: that would cost both their
    processor's caches, seven per cent of all CPU where workers are as many as cores.
    """
    if hasattr(os, "SCHED_BATCH"):
        with contextlib.suppress(OSError):  # it may be forbidden, and nothing depends on it
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


async def _main(hello: Hello, end: socket.socket, bodies: SharedBodies | None) -> None:
    try:
        worker = Worker(hello, end, bodies)
    except FileNotFoundError as error:  # a folder that is there no more ends the crawl, and tells nobody of our code
        gone = f"{error.filename} is gone: somebody has removed or moved it while the crawl ran"
        send_blocking(end, Report(failure=gone))
        return
    except WeftError as error:
        report = Report()
        report.fail(error)
        send_blocking(end, report)
        return
    await worker.run()
