"""Whose turn it is, as leases; and the clocks of site and address as their requests start and end.

Politeness and robots.txt are inside: there is no other way to a lease. Nothing here writes to the database.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

from weft.clock import Clock
from weft.errors import Reason
from weft.frontier.given import Policies, Queues
from weft.frontier.pace import next_pace_s
from weft.frontier.polite import Schedule, Site, Waiting
from weft.frontier.settling import Settling
from weft.ports import Ask, Hold, Pass, Refuse
from weft.records import CHECK, FILE, PAGE, Asked, Failure, Lease, Purpose, Verdict
from weft.spec import Pace, PageOrder, Politeness

AddressOf = Callable[[str], tuple[str, ...] | Failure | None]
RESOLVING_MOST = 1_000  # sites whose address is being asked for: then no more come from disk
_REFUSALS_A_TAKE = 2_000
_ENOUGH_FILES = Verdict(Reason.MAX_FILES)
_READ_BY_SERVER_S = 0.25  # a request that was sent has been read after this, even by a busy server


_HEAD = Asked("HEAD")


def _check_of(entry: Waiting, site: int, attempt: int) -> Lease:
    """Asks whether the target of a link answers: by HEAD, and by GET where HEAD brought nothing good."""
    asked = _HEAD if attempt == 1 else None
    return Lease(entry.page, entry.url, site, CHECK, entry.depth, attempt, entry.hops, asked=asked)


class Leases:
    """See the module. ``unresolved`` are the sites whose address is to be asked for, ``resolving`` how many wait."""

    def __init__(
        self, politeness: Politeness, policies: Policies, schedule: Schedule, queues: Queues, settling: Settling,
        clock: Clock, address_of: AddressOf,
    ) -> None:  # fmt: skip
        sites, heads, budgets, files = queues
        self._judge = policies.judge
        self._is_suspect = policies.judge.is_suspect
        self._ask_robots = policies.gate.check
        self._schedule = schedule
        self._sites = sites
        self._heads = heads
        self._settling = settling
        self._clock = clock
        self._address_of = address_of
        self._next_waiting = heads.next_waiting
        self._put_in_flight = settling.put_in_flight
        self._has_budgets = budgets.has_any
        self._takes_file = files.take
        self._is_spent = budgets.is_spent
        self._answered = budgets.answered
        self._breadth_first = politeness.order is PageOrder.BFS
        self._auto_pace = politeness.pace is Pace.AUTO
        self._longest_pace_s = politeness.max_crawl_delay_s
        self._in_flight = settling.in_flight
        self.unresolved: list[Site] = []
        self.resolving = 0
        self.refused_site_requests: list[tuple[Lease, Refuse]] = []
        self._site_request_ips: dict[tuple[Purpose, str], str] = {}
        self._later: list[tuple[float, int, Lease]] = []  # site requests to be tried again, by time
        self._refusals_left = 0
        self._pages_left: int | None = None  # that this call of ``take`` may give; None: no bound
        self._out_of_pages: list[Site] = []  # sites that had their turn when no page was allowed any more
        self.validators_of: Callable[[int], tuple[str, str]] | None = None  # in a further pass: of the last answer

    # ---- given out -------------------------------------------------------------------------------------------

    def try_later(self, site_request: Lease, after_s: float) -> None:
        """a site request that joins its site's queue only after so many seconds; the site itself does not rest."""
        heapq.heappush(self._later, (self._clock.seconds() + after_s, site_request.page, site_request))

    def take(self, most: int, most_pages: int | None = None) -> list[Lease]:
        """Up to ``most`` leases whose time has come, in order; ``most_pages`` of them for pages, the others for files.

        None: as many pages as there are.
        """
        now = self._clock.seconds()
        self._pages_left = most_pages
        if self._out_of_pages and most_pages != 0:
            for waiting_site in self._out_of_pages:
                if self._schedule.sites.get(waiting_site.id) is waiting_site:
                    self._schedule.place(waiting_site, now)
            self._out_of_pages = []
        while self._later and self._later[0][0] <= now:
            site_request = heapq.heappop(self._later)[-1]
            asked_site = self._sites.get(site_request.site)
            asked_site.site_requests.append(site_request)
            self._schedule.place(asked_site, now)
        retry_ms = self._heads.retry_ms
        if retry_ms is not None and retry_ms <= self._clock.epoch_ms():
            self._heads.load_retries(now)
        self._schedule.wake(now)
        leases: list[Lease] = []
        self._refusals_left = _REFUSALS_A_TAKE
        while len(leases) < most and self._refusals_left > 0:
            site = self._schedule.next_ready(now)
            if site is None:
                if self.resolving >= RESOLVING_MOST or not self._sites.sweep(now):
                    break
            elif self._is_addressed(site):
                self._take_from(site, leases, most, now)
        return leases

    def _take_from(self, site: Site, leases: list[Lease], most: int, now: float) -> None:
        """Leases of a site as long as it comes first; then it stands where it belongs, or waits for something."""
        schedule = self._schedule
        while (lease := self._lease_of(site, now)) is not None:
            leases.append(lease)
            site.running += 1
            site.turns += 1
            next_at = now + site.gap_s
            if next_at > site.next_at:
                site.next_at = next_at
            self._sites.note_request(site)
            schedule.changed.add(site)
            if len(leases) >= most:
                break
            if not schedule.goes_on(site, now):
                return
        if lease is not None or self._refusals_left <= 0:
            schedule.place(site, now)  # else it waits for an answer, which will place it again

    def take_ahead(self, site_id: int, most: int) -> list[Lease]:
        """Up to ``most`` leases of a site whose requests may follow each other without a pause.

        Each is asked when a request of the same site is over, in its place (``promoted``), so that no more run at once
        than may; it saves the way back here in between. None where the site has a delay, rests, or waits for something.
        """
        site = self._schedule.sites.get(site_id)
        leases: list[Lease] = []
        self._pages_left = None
        while site is not None and len(leases) < most and self._goes_on_at_once(site):
            lease = self._page(site)
            if lease is None:
                break
            if not lease.purpose.is_queued:  # robots.txt has grown old: it takes its turn like any other request
                site.site_requests.appendleft(lease)
                self._schedule.place(site, self._clock.seconds())
                break
            site.ahead += 1
            self._in_flight[lease.page].is_ahead = True
            leases.append(lease)
        return leases

    def _goes_on_at_once(self, site: Site) -> bool:
        addresses = self._address_of(site.host)
        if not isinstance(addresses, tuple) or (addresses[0] if addresses else "") != site.ip:
            return False
        return not (
            site.gap_s
            or self._auto_pace
            or site.site_requests
            or site.robots_pending
            or site.slow_answers
            or site.failures
            or not self._breadth_first
            or site.next_at > self._clock.seconds()
            or not self._schedule.is_unhurried(site.ip)
        )

    def _is_addressed(self, site: Site) -> bool:
        """Whether the site has its address; where it has not, it is not ready any more until that is known."""
        addresses = self._address_of(site.host)
        if addresses is None:
            site.resolving = True
            self.resolving += 1
            self.unresolved.append(site)
            return False
        site.ip = addresses[0] if isinstance(addresses, tuple) and addresses else ""
        return True

    def _lease_of(self, site: Site, now: float) -> Lease | None:
        """The site's next lease, or None where it has to wait for something (and then it is not ready any more)."""
        if not self._schedule.enter(site, now):
            return None
        lease = self._site_request_or_page(site) if site.site_requests else self._page(site)
        if lease is None:
            self._schedule.leave(site.ip, now)
        elif not lease.purpose.is_queued:
            self._site_request_ips[(lease.purpose, lease.url)] = site.ip
        return lease

    def _site_request_or_page(self, site: Site) -> Lease | None:
        """Sitemaps and pages take turns: a site may have hundreds of sitemaps. Where one hung, they all come last."""
        page_first = site.site_requests[0].purpose is not Purpose.ROBOTS and (site.owes_page or site.reads_later)
        lease = (self._page(site) if page_first else None) or self._site_request(site)
        return self._page(site) if lease is None else lease

    def _site_request(self, site: Site) -> Lease | None:
        while site.site_requests:
            if site.site_requests[0].purpose is Purpose.ROBOTS:
                return site.site_requests.popleft()
            if site.robots_pending:
                return None
            match self._ask_robots(site.site_requests[0].url, site.id):
                case Pass(delay_s=delay_s):
                    site.delay_s = self._sites.delay_s(site.name, delay_s)
                    site.owes_page = True
                    return site.site_requests.popleft()
                case Ask(lease=lease):
                    site.robots_pending = True
                    return lease
                case Hold():
                    site.robots_pending = True
                    return None
                case Refuse() as refused:
                    self.refused_site_requests.append((site.site_requests.popleft(), refused))
        return None

    def _page(self, site: Site) -> Lease | None:
        if site.robots_pending:
            return None
        is_suspect = self._is_suspect(site.id)
        is_spent = self._has_budgets and self._is_spent(site)
        while (entry := self._next_entry(site, is_spent)) is not None:
            if is_suspect and not entry.is_file:
                answer = self._ask_gates(entry, site)
            elif entry.is_file and not entry.is_check and not self._takes_file(entry.attempts):
                answer = _ENOUGH_FILES
            else:
                answer = self._ask_robots(entry.url, site.id)
            if type(answer) is Pass:  # nearly always
                site.delay_s = self._sites.delay_s(site.name, answer.delay_s)
                site.owes_page = False
                flight = self._put_in_flight(entry, site)
                if self._pages_left is not None and not entry.is_file:
                    self._pages_left -= 1
                if entry.is_check:
                    return _check_of(entry, site.id, flight.attempts)
                purpose = FILE if entry.is_file else PAGE
                if self.validators_of is None:
                    return Lease(entry.page, entry.url, site.id, purpose, entry.depth, flight.attempts, entry.hops)
                etag, modified = self.validators_of(entry.page)
                return Lease(
                    entry.page, entry.url, site.id, purpose, entry.depth, flight.attempts, entry.hops, "", etag,
                    modified,
                )  # fmt: skip
            match answer:
                case Ask(lease=lease):
                    site.push(entry)
                    site.robots_pending = True
                    return lease
                case Hold():
                    site.push(entry)
                    site.robots_pending = True
                    return None
                case (Refuse() | Verdict()) as refusal:
                    self._put_in_flight(entry, site)
                    self._settling.refused.append((entry.page, refusal))
                    self._refusals_left -= 1
                    if self._refusals_left <= 0 or not self._is_still_first(site):
                        return None
        return None

    def _next_entry(self, site: Site, is_spent: bool) -> Waiting | None:
        """The next page or file of the site; where it may have no more pages now, the next file."""
        entry = self._next_waiting(site)
        if entry is None or entry.is_file:
            return entry
        is_over = self._pages_left is not None and self._pages_left <= 0
        if not is_over and not is_spent:
            return entry
        site.push(entry)
        entry = site.pop_file()
        if entry is None and is_over:
            self._out_of_pages.append(site)
        return entry

    def _is_still_first(self, site: Site) -> bool:
        """Whether the next page of a site whose turn it is comes before those of other sites; if not, it waits."""
        return site.placed or self._schedule.goes_on(site, self._clock.seconds())

    def _ask_gates(self, entry: Waiting, site: Site) -> Pass | Ask | Hold | Refuse | Verdict:
        """What was learnt of a suspect site since the page was admitted, then robots.txt."""
        verdict = self._judge.judge_waiting(entry.url, site.id)
        return self._ask_robots(entry.url, site.id) if verdict.admitted else verdict

    def addressed(self, site: Site) -> None:
        """The site's address is known now, or its look-up failed, and then the fetch will say so."""
        site.resolving = False
        self.resolving -= 1
        self._schedule.place(site, self._clock.seconds())

    def wait_s(self) -> float | None:
        """Seconds until something can be taken; None if nothing waits for time (only for answers, or not at all)."""
        times = []
        at = self._schedule.next_at()
        if at is not None:
            times.append(at - self._clock.seconds())
        if self._later:
            times.append(self._later[0][0] - self._clock.seconds())
        if self._heads.retry_ms is not None:
            times.append((self._heads.retry_ms - self._clock.epoch_ms()) / 1000)
        sweep_s = self._sites.wait_s()
        if sweep_s is not None and self.resolving < RESOLVING_MOST:  # else an address wakes the crawl
            times.append(sweep_s)
        return max(0.0, min(times)) if times else None

    def rests_long(self, max_wait_s: float) -> bool:
        """Whether the next turn is farther away than ``max_wait_s``, and than the site's own delay."""
        wait_s = self.wait_s()
        if wait_s is None or wait_s <= max_wait_s:
            return False
        site = self._schedule.first_sleeper()
        return site is None or wait_s > site.gap_s

    # ---- their requests --------------------------------------------------------------------------------------

    def started(self, lease: Lease) -> None:
        """The request goes out now: the delay counts from here, not from when the lease was given."""
        site = self._schedule.sites[lease.site]
        site.next_at = max(site.next_at, self._clock.seconds() + site.gap_s)
        self._schedule.changed.add(site)

    def promoted(self, lease: Lease) -> None:
        """A lease taken ahead is asked now, in the place of one that is about to be freed."""
        site = self._schedule.sites[lease.site]
        flight = self._in_flight[lease.page]
        flight.is_ahead = False
        site.ahead -= 1
        site.running += 1
        self._schedule.inherit(flight.ip)

    def ended(self, lease: Lease, answer_s: float, status: int | None) -> Site:
        """A request was answered after so long, or has failed (no status): it is freed. Gives its site.

        A page that was answered well counts for --max-pages-per-site at once, before its tick. How long an answer took
        sets the pace of its site, where the user wants that.
        """
        if self._has_budgets and lease.purpose is PAGE and status is not None and 200 <= status < 300:
            self._answered[lease.site] += 1
        if self._auto_pace:
            site = self._schedule.sites[lease.site]
            site.pace_s = next_pace_s(
                site.pace_s, answer_s, status, delay_s=site.delay_s, parallel=site.parallel,
                most_s=self._longest_pace_s,
            )  # fmt: skip
        return self.freed(lease, answer_s)

    def freed(self, lease: Lease, response_s: float = 0.0) -> Site:
        """The request is over: its slots are free at once, before its tick.

        When exactly the server read it is not known, only that it was before it answered; so the delay counts from
        the end of a quick answer, and for a slow one from a good moment after it was sent.
        """
        now, schedule = self._clock.seconds(), self._schedule
        site = schedule.sites[lease.site]
        site.running -= 1
        schedule.touched.add(site)
        schedule.changed.add(site)
        read_at = now if response_s < _READ_BY_SERVER_S else now - (response_s - _READ_BY_SERVER_S)
        if site.delay_s or site.pace_s:
            site.next_at = max(site.next_at, read_at + site.gap_s)
        if lease.purpose.is_queued:
            ip = self._in_flight[lease.page].ip
        else:
            ip = self._site_request_ips.pop((lease.purpose, lease.url), "")
        schedule.leave(ip, now, read_at)
        schedule.place(site, now)
        return site
