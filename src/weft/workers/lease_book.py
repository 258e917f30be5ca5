"""The book of leases: which worker has which, whose place each takes, and what came of them.

Leases go to the worker that has least to do. Leases of one site stay together while that costs nothing, so that
connections are used again.

A lease that is under way has a place among the requests of its site. Where requests of a site may follow each other at
once, workers also get leases ahead. A lease ahead waits at its worker until a request of the same site ends there, and
takes its place without asking the crawl, so that nobody waits while a tick is written. A place that nothing takes is
vacant: the worker may be given a lease for it, or the crawl takes it back with the answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from zlib import crc32

import msgspec

from weft.clock import Clock
from weft.crawl.conclude import conclude_failure
from weft.errors import Cause
from weft.fetch.cookies import CookieJar
from weft.ports import Returned, RoomAhead
from weft.records import Ended, Failure, Fetched, Lease, Processed
from weft.spec import CrawlSpec, PageOrder
from weft.workers.member import Files, Member, Reported
from weft.workers.messages import ALL_SITES, Job, JobDone, Report

AHEAD_MAX = 512  # leases taken ahead per worker: what it does while the crawl writes a tick
BACKLOG_MAX = 256  # pages reported that wait: then nobody is fed, as what the crawl learns from them comes too late
SPREAD = 2  # a site leaves its worker for one that has so many requests less


class LeaseBook:
    """See the module. ``processes``: how many ask, the crawl's own counted; ``send_soon`` has orders sent."""

    def __init__(
        self, spec: CrawlSpec, processes: int, clock: Clock, jar: CookieJar | None, send_soon: Callable[[], None]
    ) -> None:
        self._spec = spec
        self._processes = processes
        self._clock = clock
        self._jar = jar
        self._send_soon = send_soon
        self._ahead_max = AHEAD_MAX if not spec.politeness.delay_s and spec.politeness.order is PageOrder.BFS else 0
        self._jobs = 0
        self._finished: deque[Reported] = deque()
        self._back: list[Returned] = []
        self._vacant: dict[int, Member] = {}  # by the identity of what ended, and was not taken yet: who had its place
        self.members: list[Member] = []  # by their slots
        self.news: Files = {}

    @property
    def has_news(self) -> bool:
        """Whether a lease ended or is brought back."""
        return bool(self._finished or self._back)

    # ---- leases go out ---------------------------------------------------------------------------------------

    @property
    def running(self) -> int:
        return sum(len(member.jobs) for member in self.members)

    def start(self, lease: Lease, addresses: Sequence[str], gap_s: float) -> None:
        clocks = self.clocks(lease, addresses, gap_s)
        keeper = self.keeper(clocks) if clocks else None
        member = keeper or self._member_for(lease.site)
        job = self._job(lease, addresses, ahead=False, clocks=clocks)
        member.begin(job)
        self._give(member, job)

    def room_ahead(self, untaken: int) -> Iterable[RoomAhead]:
        most_ahead = min(self._ahead_max, untaken // self._processes)  # what is left is for all
        for member in self.members if most_ahead else ():
            room = most_ahead - member.waiting
            if 4 * room < most_ahead:
                continue
            sites = [*member.sites, *(site for site in member.vacant if site not in member.sites)]
            share = max(1, room // max(1, len(sites)))
            for site in sites:
                most = min(share - len(member.ahead.get(site, ())), most_ahead - member.waiting)
                if most > 0:
                    yield RoomAhead(member.slot, site, most)

    def start_ahead(self, place: int, lease: Lease, addresses: Sequence[str]) -> None:
        member = self.members[place]
        vacant = member.vacant.get(lease.site)
        job = self._job(lease, addresses, ahead=not vacant)
        if vacant:  # it had run dry
            reported = next(iter(vacant.values()))
            self._fill(reported)
            reported.successor = lease
            member.begin(job)
        else:
            member.wait(job)
        self._give(member, job)

    def read(self, lease: Lease, answer: Fetched) -> None:
        """Has a page read that was asked for by the crawl's own process."""
        member = self._member_for(lease.site)
        job = self._job(lease, (), ahead=False)
        member.begin(job)
        self._give(member, job, answer)

    def _member_for(self, site: int) -> Member:
        own = self.members[site % len(self.members)]
        least = min(self.members, key=lambda member: (not member.ready, member.running))
        return own if own.ready and own.running <= least.running + SPREAD else least

    @property
    def least_running(self) -> int:
        """How many requests the worker has that has least."""
        return min(member.running for member in self.members)

    @property
    def is_ahead_of_us(self) -> bool:
        """Whether workers have reported more than the crawl finds time to store."""
        return len(self._finished) > BACKLOG_MAX

    def keeper(self, clocks: Sequence[tuple[str, float]]) -> Member | None:
        """The worker that has all requests of the first of these clocks; None: the crawl's own process."""
        place = crc32(clocks[0][0].encode()) % self._processes
        return self.members[place] if place < len(self.members) else None

    def clocks(self, lease: Lease, addresses: Sequence[str], gap_s: float) -> tuple[tuple[str, float], ...]:
        """The clocks that the worker has to heed, first the one that most share."""
        ip_gap_s = self._spec.politeness.ip_delay_s if addresses else 0.0
        by_ip = ((addresses[0], ip_gap_s),) if ip_gap_s else ()
        return (*by_ip, (f"site {lease.site}", gap_s)) if gap_s else by_ip

    def _job(
        self, lease: Lease, addresses: Sequence[str], *, ahead: bool, clocks: tuple[tuple[str, float], ...] = ()
    ) -> Job:
        self._jobs += 1
        cookie = self._jar.header_for(lease.url, self._clock.epoch_ms() / 1000) if self._jar is not None else None
        return Job(self._jobs, lease, tuple(addresses), cookie, ahead, clocks)

    def _give(self, member: Member, job: Job, answer: Fetched | None = None) -> None:
        member.jobs[job.number] = job
        member.orders.jobs.append(job if answer is None else msgspec.structs.replace(job, answer=answer))
        self._send_soon()

    def recall_all(self) -> None:
        """Has all leases brought back that wait at workers; none goes ahead any more."""
        for member in self.members:
            if member.waiting:
                member.orders.recalls.append(ALL_SITES)
                self._send_soon()
        self.end_ahead()

    def end_ahead(self) -> None:
        """From now on no lease goes ahead."""
        self._ahead_max = 0

    # ---- and come back ---------------------------------------------------------------------------------------

    def take_report(self, member: Member, report: Report) -> None:
        """Takes in what a worker reports of its leases. The WARC files grow with the last of them."""
        for number in report.unused:
            job = member.jobs.pop(number)
            asked = not member.is_ahead(job)  # it was, but for the word on its way
            member.end(job) if asked else member.wait_no_more(job)
            self._bring_back([Returned(job.lease, asked)])
        ended = [one for one in report.ended if one.number in member.jobs]
        for one in ended:
            self._take_in(member, one)
        if ended:
            self._finished[-1].files = report.positions
        else:
            self.news.update(report.positions)

    def _take_in(self, member: Member, ended: JobDone) -> None:
        """A job that is done; the next one of its site has its place, or gets it now."""
        job = member.jobs.pop(ended.number)
        member.end(job)
        site, done = job.lease.site, ended.processed.done
        reported = Reported(ended.processed)
        self._finished.append(reported)
        if done.is_slow or done.facts.cause is not None:
            self._recall_site(site)  # it may want rest: the next tick of its clock decides
            return
        waiting = member.ahead.get(site)
        if not waiting:
            member.vacant.setdefault(site, {})[id(reported)] = reported
            self._vacant[id(reported)] = member
            return
        successor = waiting.get(ended.successor) if ended.successor else next(iter(waiting.values()))
        if successor is None:  # it has a place already, that of another job
            return
        member.wait_no_more(successor)
        member.begin(successor)
        reported.successor = successor.lease
        if not ended.successor:  # it was on its way to the worker when the place became free
            member.orders.grants.append((site, successor.number))
            self._send_soon()

    def _fill(self, reported: Reported) -> None:
        """The place of a lease that ended is given away, or it belongs to the crawl again: no other may have it."""
        member = self._vacant.pop(id(reported), None)
        if member is not None:
            site = reported.processed.done.lease.site
            places = member.vacant[site]
            del places[id(reported)]
            if not places:
                del member.vacant[site]

    def _recall_site(self, site: int) -> None:
        for member in self.members:
            for reported in list(member.vacant.get(site, {}).values()):
                self._fill(reported)
            if site in member.ahead:
                member.orders.recalls.append(site)
                self._send_soon()

    def _bring_back(self, leases: Iterable[Returned]) -> None:
        """Leases that no answer will end. One whose place the crawl has not heard of yet never gets it."""
        giving = {id(one.successor): one for one in self._finished if one.successor is not None}
        for lease, asked in leases:
            giver = giving.get(id(lease))
            if giver is not None:
                giver.successor = None
            self._back.append(Returned(lease, asked and giver is None))

    def fail(self, lease: Lease, failure: Failure) -> None:
        self._finished.append(self._failed(lease, failure))

    def _failed(self, lease: Lease, failure: Failure) -> Reported:
        """The end of a lease that no worker reports."""
        done = conclude_failure(lease, failure, self._spec.limits)
        return Reported(Processed(done=done, answer=None if lease.purpose.is_queued else failure), files={})

    def next(self) -> list[Ended]:
        report: list[Ended] = []
        while self._finished:
            reported = self._finished.popleft()
            if self._vacant:
                self._fill(reported)
            report.append(Ended(reported.processed, reported.successor))
            if reported.files is not None:
                self.news.update(reported.files)
                break
        return report

    def brought_back(self) -> list[Returned]:
        back, self._back = self._back, []
        return back

    # ---- of workers that are gone ------------------------------------------------------------------------------

    def bring_back_all(self, member: Member) -> None:
        """Brings back all leases of a worker that is gone, and takes its files as closed."""
        self._bring_back([Returned(job.lease, not member.is_ahead(job)) for job in member.jobs.values()])
        self._forget_jobs(member)
        self._note_files(member)

    def cut_off(self, member: Member) -> list[Returned]:
        """The leases of a worker that will report no more of them, and whether they were asked."""
        left = [Returned(job.lease, not member.is_ahead(job)) for job in member.jobs.values()]
        self._forget_jobs(member)
        return left

    def give_up(self, member: Member, job: Job, activity: str) -> None:
        """Ends a lease at which workers die."""
        failure = Failure(Cause.BUG, f"the processes that {activity} died", started_ms=self._clock.epoch_ms())
        reported = self._failed(job.lease, failure)
        del member.jobs[job.number]
        if member.is_ahead(job):
            member.wait_no_more(job)
            reported.successor = job.lease  # it had a place after all
        else:
            member.end(job)
        self._finished.append(reported)

    def _note_files(self, member: Member) -> None:
        """The files of a worker that is gone are closed, once all that it reported has been taken."""
        if self._finished:
            last = self._finished[-1]
            last.files = {**(last.files or {}), **member.positions}
        else:
            self.news.update(member.positions)

    def _forget_jobs(self, member: Member) -> None:
        for reported in [reported for places in member.vacant.values() for reported in places.values()]:
            self._fill(reported)
        member.jobs.clear()
        member.ahead.clear()
        member.sites.clear()
        member.waiting = member.running = 0
