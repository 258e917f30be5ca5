"""When a site, and an IP address, may be asked again.

Invariants (tested as a state machine): a site is in at most one of the two heaps; it is never leased while it
rests, runs as many requests as it may, or waits for its address; starts on one site are at least its delay apart.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from functools import lru_cache

import msgspec

from weft.frontier.pages import FILE_PRIORITY
from weft.records import Lease, Purpose

REST_MAX_S = 86_400.0
SLOW_ANSWERS_MAX = 16
GOOD_ANSWERS = 2  # in a row, until a site that sent 429 or 503 is taken for well again: one may be a cached page
KNOWN_BOUNDS = 4_096  # addresses whose bounds are remembered: they are asked for with every request
HeadKey = tuple[int, int]
END: HeadKey = (1 << 62, 0)
START: HeadKey = (-(1 << 62), 0)
AGAIN = 1 << 60
"""Added to the priority of a page that is tried again: it comes after those of its site that never were. So pages that
always answer 503, or time out, keep nobody waiting."""


class Waiting(msgspec.Struct, gc=False):
    """A page at the head of its site's queue, ready to become a lease."""

    page: int
    priority: int
    url_id: int
    url: str
    depth: int
    hops: int
    chain: int
    attempts: int
    is_file: bool = False  # or a target that is only checked
    is_check: bool = False


class Site:
    """One site that has work: its clock, and the head of its queue.

    ``heads`` holds every waiting page of the site up to ``cursor``, and those that come ``AGAIN``; the others lie on
    disk. A site whose head is used up while others wait on disk has had its turn, and makes room (``is_through``).
    """

    __slots__ = (
        "ahead",
        "cursor",
        "delay_s",
        "failures",
        "first_ms",
        "good_answers",
        "head",
        "heads",
        "host",
        "id",
        "ip",
        "is_through",
        "name",
        "next_at",
        "owes_page",
        "pace_s",
        "pages",
        "parallel",
        "parked",
        "placed",
        "reads_later",
        "resolving",
        "robots_pending",
        "running",
        "site_requests",
        "slow_answers",
        "turns",
    )

    def __init__(self, site_id: int, name: str, host: str, delay_s: float, parallel: int) -> None:
        self.id = site_id
        self.name = name
        self.host = host
        self.delay_s = delay_s
        self.pace_s = 0.0  # what its answers ask for, with --pace auto
        self.parallel = parallel  # requests at once
        self.next_at = 0.0
        self.running = 0
        self.ahead = 0  # leased, and asked as soon as a request that runs is over (``Leases.take_ahead``)
        self.head: list[HeadKey] = []
        self.heads: dict[int, Waiting] = {}
        self.cursor: HeadKey = END
        self.site_requests: deque[Lease] = deque()
        self.owes_page = True  # the next turn is that of a page, if one waits, and not that of a sitemap
        self.reads_later = False  # its sitemaps wait behind its pages: one of them did not come, or each request counts
        self.robots_pending = False
        self.resolving = False
        self.ip = ""
        self.placed = False
        self.parked = False  # it waits for its address
        self.is_through = False
        self.slow_answers = 0
        self.good_answers = 0  # in a row
        self.failures = 0
        self.pages = 0
        self.first_ms = 0
        self.turns = 0

    def answered(self, *, is_slow: bool) -> None:
        """Notes an answer: one that asks for rest, or a good one."""
        if is_slow:
            self.slow_answers = min(self.slow_answers + 1, SLOW_ANSWERS_MAX)
            self.good_answers = 0
            return
        self.failures = 0
        self.good_answers += 1
        if self.good_answers >= GOOD_ANSWERS:
            self.slow_answers = 0

    def failed(self, weight: int) -> None:
        """Notes that no answer came; a failure that nothing will mend weighs more."""
        self.failures += weight

    @property
    def gap_s(self) -> float:
        """From the start of a request to that of the next."""
        return self.delay_s if self.delay_s > self.pace_s else self.pace_s

    @property
    def has_work(self) -> bool:
        """Whether it can be asked for something; what is on disk behind the cursor counts until it is looked at."""
        if self.site_requests:
            return True
        return not self.robots_pending and not self.is_through and (bool(self.heads) or self.cursor is not END)

    @property
    def has_urgent_site_request(self) -> bool:
        """Whether the site requests it has come before its pages: robots.txt always does."""
        return not self.reads_later or self.site_requests[0].purpose is Purpose.ROBOTS

    @property
    def is_bound(self) -> bool:
        """Whether something under way needs the site in RAM."""
        return bool(
            self.running or self.ahead or self.site_requests or self.robots_pending or self.resolving or self.parked
        )

    def push(self, entry: Waiting) -> None:
        self.heads[entry.page] = entry
        heapq.heappush(self.head, (entry.priority, entry.page))

    def peek(self) -> HeadKey:
        """The least key in the head, stale entries dropped; END if the head is empty."""
        while self.head:
            priority, page = self.head[0]
            entry = self.heads.get(page)
            if entry is not None and entry.priority == priority:
                return self.head[0]
            heapq.heappop(self.head)
        return END

    def pop(self) -> Waiting | None:
        """Takes the entry with the least key out of the head; None if the head is empty."""
        while self.head:
            priority, page = heapq.heappop(self.head)
            entry = self.heads.get(page)
            if entry is not None and entry.priority == priority:
                del self.heads[page]
                return entry
        return None

    def pop_file(self) -> Waiting | None:
        """Takes the first file out of the head; None if there is none."""
        files = [(entry.priority, entry.page) for entry in self.heads.values() if entry.is_file]
        return self.heads.pop(min(files)[1]) if files else None

    def keep_files(self) -> None:
        """Forgets the pages in the head, and leaves those on disk unread; files are on disk before all pages."""
        self.heads = {page: entry for page, entry in self.heads.items() if entry.is_file}
        self.head = [(entry.priority, page) for page, entry in self.heads.items()]
        heapq.heapify(self.head)
        if self.cursor is not START and self.cursor[0] > FILE_PRIORITY:
            self.cursor = END

    def forget(self) -> None:
        """Leaves the head to the disk, but for what is tried again."""
        self.heads = {page: entry for page, entry in self.heads.items() if entry.priority >= AGAIN}
        self.head = [(entry.priority, page) for page, entry in self.heads.items()]
        heapq.heapify(self.head)
        self.cursor = START

    def trim(self, size: int) -> None:
        """Leaves the tail of an overgrown head to the disk; what is tried again stays: it is not in that queue."""
        keys = [(entry.priority, entry.page) for entry in self.heads.values()]
        keep = heapq.nsmallest(size, (key for key in keys if key[0] < AGAIN))
        if self.cursor is not START and keep:
            self.cursor = keep[-1]
        keep += (key for key in keys if key[0] >= AGAIN)
        kept = {page for _, page in keep}
        self.heads = {page: entry for page, entry in self.heads.items() if page in kept}
        self.head = keep
        heapq.heapify(self.head)


class Address:
    """The clock of one IP address, shared by the sites that live there."""

    __slots__ = ("next_at", "parked", "running")

    def __init__(self) -> None:
        self.running = 0
        self.next_at = 0.0
        self.parked: deque[Site] = deque()


class Schedule:
    """Whose turn it is: ready sites by the key of their head, resting ones by time."""

    def __init__(self, bounds_of: Callable[[str], tuple[int, float]], *, by_turns: bool = False) -> None:
        self._by_turns = by_turns  # depth first: the head of one endless site would always come first
        self.sites: dict[int, Site] = {}
        self.changed: set[Site] = set()  # whose clocks are to be stored
        self.touched: set[Site] = set()  # which perhaps have no work left
        self._bounds_of = lru_cache(KNOWN_BOUNDS)(bounds_of)  # ip -> (parallel requests, delay); 0 parallel: unbounded
        self._number = 0  # of entries in the heaps: the earlier one of two alike comes first
        self._ready: list[tuple[int, int, int, Site]] = []
        self._sleeping: list[tuple[float, int, Site]] = []
        self._addresses: dict[str, Address] = {}
        self.fill: Callable[[Site], None] | None = None  # reads the head of a queue, where sites stand by their pages

    def rerank(self, now: float) -> None:
        """Puts the ready sites in order again, after the heads of their queues have changed."""
        ready, self._ready = self._ready, []
        for *_, site in ready:
            site.placed = False
            if self.sites.get(site.id) is site:
                self.place(site, now)

    def place(self, site: Site, now: float) -> None:
        """Puts a site where it belongs, if it has work and a free slot; does nothing if it is placed already."""
        if site.placed or site.resolving or not site.has_work or site.running >= site.parallel:
            return
        if site.next_at <= now:
            self._make_ready(site, self._rank(site))
        else:
            site.placed = True
            self._number += 1
            heapq.heappush(self._sleeping, (site.next_at, self._number, site))

    def _make_ready(self, site: Site, rank: HeadKey) -> None:
        site.placed = True
        self._number += 1
        heapq.heappush(self._ready, (*rank, self._number, site))

    def goes_on(self, site: Site, now: float) -> bool:
        """Whether a site that has its turn would be the next one, too; if not, it is put where it belongs."""
        if site.next_at > now or site.running >= site.parallel or not site.has_work:
            self.place(site, now)
            return False
        if not self._ready:
            return True
        rank = self._rank(site)
        if rank < self._ready[0][:2]:
            return True
        self._make_ready(site, rank)
        return False

    def _rank(self, site: Site) -> HeadKey:
        """Which of the ready sites comes first: site requests at once, pages by the key of the head.

        A site that failed the last times comes later by as many levels: where more of them stall than requests may
        run at once, those that were never asked would wait for every attempt at the others.
        """
        if site.site_requests and not site.failures and site.has_urgent_site_request:
            return START
        if self.fill is not None and site.cursor is not END and site.peek()[0] >= AGAIN:
            self.fill(site)
        priority, page = (site.turns, 0) if self._by_turns else site.peek()
        if priority >= AGAIN:  # behind others of its site, not behind other sites
            priority = 0 if priority == END[0] else priority - AGAIN
        return priority + site.failures, page

    def wake(self, now: float) -> None:
        """Moves the sites whose rest is over to the ready ones."""
        while self._sleeping and self._sleeping[0][0] <= now:
            site = heapq.heappop(self._sleeping)[-1]
            if self.sites.get(site.id) is site:
                site.placed = False
                self.touched.add(site)
                self.place(site, now)

    def next_ready(self, now: float) -> Site | None:
        """The ready site whose head comes first. It is unplaced: the caller places it again."""
        while self._ready:
            site = heapq.heappop(self._ready)[-1]
            if self.sites.get(site.id) is not site:
                continue  # it left RAM while it stood here
            site.placed = False
            self.touched.add(site)
            if site.next_at > now:  # it was put to rest while it stood here
                self.place(site, now)
                continue
            if site.has_work and site.running < site.parallel:
                return site
        return None

    @property
    def has_ready(self) -> bool:
        return bool(self._ready)

    def next_at(self) -> float | None:
        """When the next resting site may be asked; None if none rests."""
        return self._sleeping[0][0] if self._sleeping else None

    def first_sleeper(self) -> Site | None:
        return self._sleeping[0][-1] if self._sleeping else None

    def enter(self, site: Site, now: float) -> bool:
        """Takes a slot on the site's address; False if it is full or rests, and then the site waits there."""
        parallel, delay_s = self._bounds_of(site.ip)
        if not parallel and not delay_s:
            return True
        address = self._addresses.setdefault(site.ip, Address())
        if parallel and address.running >= parallel:
            site.placed = site.parked = True
            address.parked.append(site)
            return False
        if address.next_at > now:
            site.placed = True
            self._number += 1
            heapq.heappush(self._sleeping, (address.next_at, self._number, site))
            return False
        address.running += 1
        address.next_at = now + delay_s
        return True

    def is_unhurried(self, ip: str) -> bool:
        """Whether requests to an address may follow each other at once."""
        return not self._bounds_of(ip)[1]

    def inherit(self, ip: str) -> None:
        """Takes the slot on an address that another request is about to leave."""
        address = self._addresses.get(ip)
        if address is not None:
            address.running += 1

    def leave(self, ip: str, now: float, read_at: float | None = None) -> None:
        """Gives the slot on an address back, and wakes the next site parked there.

        ``read_at`` is when the server has read the request at the latest: from then on its delay counts.
        """
        address = self._addresses.get(ip)
        if address is None:
            return
        address.running -= 1
        _, delay_s = self._bounds_of(ip)
        if delay_s and read_at is not None:
            address.next_at = max(address.next_at, read_at + delay_s)
        while address.parked:
            site = address.parked.popleft()
            site.placed = site.parked = False
            self.touched.add(site)
            self.place(site, now)
            if site.next_at <= now:
                return
        if address.running <= 0 and address.next_at <= now:
            del self._addresses[ip]

    def rest(self, site: Site, seconds: float, now: float) -> None:
        """No request to the site for this long; a longer rest already ordered stays."""
        site.next_at = max(site.next_at, now + min(seconds, REST_MAX_S))
        self.changed.add(site)
