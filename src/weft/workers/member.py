"""One worker as the crawl sees it: its line, and the jobs it has."""

from __future__ import annotations

from collections import Counter

from weft.records import FilePosition, Lease, Processed
from weft.workers.messages import Job, Line, Orders, Report

Files = dict[str, FilePosition]
"""WARC files: how many bytes of each are on disk, and whether it is closed."""


class Reported:
    """A lease that a worker reported, until the crawl takes it. Its place may still go to another lease.

    ``files`` are those of its report, at the last lease of that.
    """

    __slots__ = ("files", "processed", "successor")

    def __init__(self, processed: Processed, files: Files | None = None) -> None:
        self.processed = processed
        self.files = files
        self.successor: Lease | None = None


class Member:
    """One worker: its line, and the jobs it has."""

    def __init__(self, number: int, slot: int, prefix: str) -> None:
        self.number = number
        self.slot = slot
        self.prefix = prefix
        self.line: Line[Report] | None = None
        self.jobs: dict[int, Job] = {}
        self.ahead: dict[int, dict[int, Job]] = {}  # by site, then by number: jobs that wait for the place of another
        self.waiting = 0  # how many those are
        self.vacant: dict[int, dict[int, Reported]] = {}  # by site: leases whose places nothing has taken
        self.sites: Counter[int] = Counter()  # requests under way
        self.running = 0
        self.orders = Orders([], [], [])
        self.positions: dict[str, FilePosition] = {}
        self.ready = False
        self.reported = False
        self.cancelled = False
        self.silent = 0  # how often it was looked at since it last said something

    def begin(self, job: Job) -> None:
        self.running += 1
        self.sites[job.lease.site] += 1

    def end(self, job: Job) -> None:
        self.running -= 1
        self.sites[job.lease.site] -= 1
        if not self.sites[job.lease.site]:
            del self.sites[job.lease.site]

    def wait(self, job: Job) -> None:
        self.ahead.setdefault(job.lease.site, {})[job.number] = job
        self.waiting += 1

    def wait_no_more(self, job: Job) -> None:
        waiting = self.ahead[job.lease.site]
        del waiting[job.number]
        self.waiting -= 1
        if not waiting:
            del self.ahead[job.lease.site]

    def is_ahead(self, job: Job) -> bool:
        return job.number in self.ahead.get(job.lease.site, ())
