"""The durable frontier: three verbs, ``offer``, ``take``, ``settle``, on the tables ``url``, ``page`` and ``site``.

A page is in exactly one state, moved by UPDATE (E1). All writing happens inside the caller's transaction, the
tick; ``take`` only reads. RAM holds some of the sites that have work and the heads of their queues, never the queue.
Depth is the least distance known: when it falls after the page was fetched, its stored links are offered again.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, deque
from collections.abc import Callable, Iterable

import msgspec

from weft.errors import POLICIES, Cause, Reason
from weft.frontier.discovery import LIMIT_REASONS, Discovery, Hand
from weft.frontier.pace import next_pace_s
from weft.frontier.polite import END, START, Schedule, Site, Waiting
from weft.frontier.runs import RUN_ENTRIES
from weft.frontier.seen import DEPTH_MAX, url_id_of
from weft.frontier.sites import IN_RAM, Sites
from weft.ports import Ask, Clock, Gate, Hold, Judge, Pass, Refuse
from weft.records import Failure, Lease, Purpose, Verdict
from weft.spec import CrawlSpec, Paces
from weft.url import Normalizer, site_of

AddressOf = Callable[[str], tuple[str, ...] | Failure | None]
HEAD_SIZE = 128
RETRIES_AT_ONCE = 2_000
HEADS_IN_ALL = 60_000
CUT_AT_ONCE = 20_000
RESOLVING_MOST = 1_000  # sites whose address is being asked for: then no more come from disk
_REFUSALS_A_TAKE = 2_000
_READ_BY_SERVER_S = 0.25  # a request that was sent has been read after this, even by a busy server
COUNTERS = ("known", "refused", "waiting", "running", "completed", "errors", "hosts")


class Settled(msgspec.Struct, frozen=True):
    """How a lease ended. ``retry_s``: it waits again; ``again_at``: the same page asked at another URL of its key."""

    lease: Lease
    state: str
    visit: int | None = None
    cause: Cause | None = None
    stored_2xx: bool = False
    retry_s: float | None = None
    again_at: str | None = None


class SqlFrontier:
    """See the module. One instance per crawl folder, under the folder's lock."""

    def __init__(
        self, connection: sqlite3.Connection, spec: CrawlSpec, judge: Judge, gate: Gate, schedule: Schedule,
        normalizer: Normalizer, clock: Clock, address_of: AddressOf, *, paces: Paces, hash_seed: int,
        cache_entries: int = 300_000, sites_in_ram: int = IN_RAM, run_entries: int = RUN_ENTRIES,
    ) -> None:  # fmt: skip
        self._db = connection
        self._spec = spec
        self._judge = judge
        self._gate = gate
        self._clock = clock
        self._address_of = address_of
        self._paces = paces
        self._page_limit = spec.limits.max_pages_per_site
        self._time_limit_s = spec.limits.max_time_per_site_s
        self._min_depth = spec.scope.min_depth
        self._auto_pace = spec.politeness.pace == "auto"
        self.schedule = schedule
        self.counts = dict.fromkeys(COUNTERS, 0)
        self.counts.update(
            row for row in self._db.execute("SELECT name, value FROM counter").fetchall() if row[0] in self.counts
        )
        self.discovery = Discovery(
            connection, spec, judge, normalizer, clock, schedule, self.counts,
            hash_seed=hash_seed, cache_entries=cache_entries, run_entries=run_entries,
        )  # fmt: skip
        self._sites = Sites(
            connection, schedule, clock, spec, paces, self.discovery.name_of_new_site, in_ram=sites_in_ram
        )
        self.hands = self.discovery.hands
        self.unresolved: deque[Site] = deque()
        self.resolving = 0
        self.refused_in_take: list[tuple[int, Refuse | Verdict]] = []
        self.refused_errands: list[tuple[Lease, Refuse]] = []
        self.later_seeds: list[tuple[str, str]] = []
        self._cut_sites: dict[int, str] = {}
        self._cut_wholly: list[int] = []
        self._next_retry_ms: int | None = None
        self._unsettled_pages: Counter[int] = Counter()  # by site: answered 2xx since the last tick
        self._errand_ips: dict[tuple[Purpose, str], str] = {}
        self._refusals_left = 0
        self._settled: list[int] = []
        self._given_back: list[int] = []
        self._brought_back: list[int] = []
        self._unstored = 0  # hands whose R is not in the database yet

    def _scalar(self, query: str, *values: object) -> int:
        return int(self._db.execute(query, values).fetchone()[0])

    # ---- start -----------------------------------------------------------------------------------------------

    def load(self, *, killed: bool, limits_changed: bool) -> None:
        """Takes up what an earlier run left, inside a transaction: every R becomes W, new limits are applied.

        What waits is not looked at here: however much it is, the first page can be asked at once.
        """
        returned = self._db.execute("UPDATE page SET state = 'W' WHERE state = 'R'").rowcount
        self.counts["waiting"] += returned
        self.counts["running"] = 0
        if limits_changed:
            self._lift_limits()
        self._sites.begin(killed=killed)
        self._next_retry_ms = self._clock.epoch_ms()

    def _lift_limits(self) -> None:
        """Lets in what only an older, tighter limit kept out."""
        back = self._db.execute(
            "UPDATE page SET state = 'W', reason = NULL WHERE state IS NULL AND reason IN (?, ?)", LIMIT_REASONS
        ).rowcount
        own = self._paces.depths()
        lift = "UPDATE page SET state = 'W', reason = NULL WHERE state IS NULL AND reason = ? AND depth <= ? AND site "
        named = "IN (SELECT s.id FROM site s JOIN json_each(?) j ON j.value = s.name)"
        bounds = [(named, [name], depth) for name, depth in own.items()]
        for where, names, deepest in [*bounds, (f"NOT {named}", list(own), self._spec.scope.max_depth)]:
            bound = DEPTH_MAX if deepest is None else deepest
            back += self._db.execute(
                lift + where, (Reason.TOO_DEEP.value, bound, msgspec.json.encode(names).decode())
            ).rowcount
        self.counts["waiting"] += back
        self.counts["refused"] -= back

    def recount_states(self) -> None:
        """Counts the table once, after something outside the tick changed it."""
        rows = dict(self._db.execute("SELECT coalesce(state, '-'), count(*) FROM page GROUP BY state").fetchall())
        names = {"-": "refused", "W": "waiting", "R": "running", "C": "completed", "E": "errors"}
        self.counts.update((name, rows.get(state, 0)) for state, name in names.items())

    def retry_failed(self) -> int:
        """Puts back what failed for a passing reason (E4); how many those were."""
        passing = [cause.value for cause, policy in POLICIES.items() if policy.passing]
        marks = ", ".join("?" * len(passing))
        number = self._db.execute(
            f"UPDATE page SET state = 'W', attempts = 0, cause = NULL WHERE state = 'E' AND cause IN ({marks})", passing
        ).rowcount
        self.counts["waiting"] += number
        self.counts["errors"] -= number
        return number

    # ---- sites -----------------------------------------------------------------------------------------------

    def site(self, site_id: int) -> Site:
        """The site, brought to RAM where it is not there."""
        return self._sites.get(site_id)

    def set_delay(self, site_id: int, delay_s: float | None) -> None:
        """Takes in the Crawl-delay of robots.txt."""
        site = self._sites.get(site_id)
        wanted = self._sites.delay_s(site.name, delay_s)
        if wanted > site.delay_s:
            site.next_at += wanted - site.delay_s
            self.schedule.changed.add(site)
        site.delay_s = wanted

    def errand(self, site_name: str, lease: Lease, *, first: bool = False) -> None:
        """A request the crawl needs for itself, in the site's own queue and on the site's own clock."""
        site = self._sites.get(self.discovery.site_id(site_name))
        site.errands.appendleft(lease) if first else site.errands.append(lease)
        self.schedule.place(site, self._clock.seconds())

    def release(self, site_id: int) -> None:
        """robots.txt of the site is known now."""
        site = self._sites.get(site_id)
        site.robots_pending = False
        self.schedule.place(site, self._clock.seconds())

    def addressed(self, site: Site) -> None:
        """The site's address is known now, or its look-up failed, and then the fetch will say so."""
        site.resolving = False
        self.resolving -= 1
        self.schedule.place(site, self._clock.seconds())

    # ---- take ------------------------------------------------------------------------------------------------

    def take(self, most: int) -> list[Lease]:
        """Up to ``most`` leases whose time has come, in order. Politeness and robots.txt are in here."""
        now = self._clock.seconds()
        if self._next_retry_ms is not None and self._next_retry_ms <= self._clock.epoch_ms():
            self._load_retries(now)
        self.schedule.wake(now)
        leases: list[Lease] = []
        self._refusals_left = _REFUSALS_A_TAKE
        while len(leases) < most and self._refusals_left > 0:
            site = self.schedule.next_ready(now)
            if site is None:
                if self.resolving >= RESOLVING_MOST or not self._sites.sweep(now):
                    break
                continue
            lease = self._lease_of(site, now)
            if lease is not None:
                leases.append(lease)
                site.running += 1
                site.turns += 1
                site.next_at = max(site.next_at, now + site.gap_s)
                site.first_ms = site.first_ms or self._clock.epoch_ms()
                self.schedule.changed.add(site)
            if lease is not None or self._refusals_left <= 0:
                self.schedule.place(site, now)  # else it waits for an answer, which will place it again
        return leases

    def take_ahead(self, site_id: int, most: int) -> list[Lease]:
        """Up to ``most`` leases of a site whose requests may follow each other without a pause.

        Each is asked when a request of the same site is over, in its place (``promoted``), so that no more run at once
        than may; it saves the way back here in between. None where the site has a delay, rests, or waits for something.
        """
        site = self.schedule.sites.get(site_id)
        leases: list[Lease] = []
        while site is not None and len(leases) < most and self._goes_on_at_once(site):
            lease = self._errand_or_page(site)
            if lease is None:
                break
            if lease.purpose is not Purpose.PAGE:  # robots.txt has grown old: it takes its turn like any other request
                site.errands.appendleft(lease)
                self.schedule.place(site, self._clock.seconds())
                break
            site.ahead += 1
            leases.append(lease)
        return leases

    def _goes_on_at_once(self, site: Site) -> bool:
        addresses = self._address_of(site.host)
        if not isinstance(addresses, tuple) or (addresses[0] if addresses else "") != site.ip:
            return False
        return not (
            site.gap_s
            or self._auto_pace
            or site.errands
            or site.robots_pending
            or site.slow_answers
            or site.failures
            or self._spec.politeness.order != "bfs"
            or site.next_at > self._clock.seconds()
            or not self.schedule.is_unhurried(site.ip)
        )

    def promoted(self, lease: Lease) -> None:
        """A lease taken ahead is asked now, in the place of one that is about to be freed."""
        site = self.schedule.sites[lease.site]
        site.ahead -= 1
        site.running += 1
        self.schedule.inherit(self.hands[lease.page].ip)

    def brought_back(self, lease: Lease, *, asked: bool) -> None:
        """A lease that no answer will end, because those who had it are gone: it waits again after the next tick."""
        if asked:
            self.freed(lease)
        else:
            self.schedule.sites[lease.site].ahead -= 1
        if lease.purpose is Purpose.PAGE:
            self._brought_back.append(lease.page)
        else:
            self.errand(site_of(lease.url), lease, first=True)

    def _lease_of(self, site: Site, now: float) -> Lease | None:
        """The site's next lease, or None where it has to wait for something (and then it is not ready any more)."""
        addresses = self._address_of(site.host)
        if addresses is None:
            site.resolving = True
            self.resolving += 1
            self.unresolved.append(site)
            return None
        site.ip = addresses[0] if isinstance(addresses, tuple) and addresses else ""
        if not self.schedule.enter(site, now):
            return None
        lease = self._errand_or_page(site)
        if lease is None:
            self.schedule.leave(site.ip, now)
            return None
        if lease.purpose is not Purpose.PAGE:
            self._errand_ips[(lease.purpose, lease.url)] = site.ip
        return lease

    def _errand_or_page(self, site: Site) -> Lease | None:
        while site.errands:
            if site.errands[0].purpose is Purpose.ROBOTS:
                return site.errands.popleft()
            if site.robots_pending:
                return None
            match self._gate.check(site.errands[0].url, site.id):
                case Pass():
                    return site.errands.popleft()
                case Ask(lease=lease):
                    site.robots_pending = True
                    return lease
                case Hold():
                    site.robots_pending = True
                    return None
                case Refuse() as refused:
                    self.refused_errands.append((site.errands.popleft(), refused))
        if site.robots_pending:
            return None
        if self._over_budget(site):
            return None
        while (entry := self._next_waiting(site)) is not None:
            match self._ask_gates(entry, site):
                case Pass(delay_s=delay_s):
                    site.delay_s = self._sites.delay_s(site.name, delay_s)
                    hand = self._in_hand(entry, site)
                    return Lease(
                        page=entry.page,
                        url=entry.url,
                        site=site.id,
                        depth=entry.depth,
                        attempt=hand.attempts,
                        hops=entry.hops,
                    )
                case Ask(lease=lease):
                    site.push(entry)
                    site.robots_pending = True
                    return lease
                case Hold():
                    site.push(entry)
                    site.robots_pending = True
                    return None
                case (Refuse() | Verdict()) as refusal:
                    self._in_hand(entry, site)
                    self.refused_in_take.append((entry.page, refusal))
                    self._refusals_left -= 1
                    if self._refusals_left <= 0:
                        return None
        return None

    def _ask_gates(self, entry: Waiting, site: Site) -> Pass | Ask | Hold | Refuse | Verdict:
        """What was learnt of the site since the page was admitted, then robots.txt."""
        if self._judge.is_suspect(site.id):
            verdict = self._judge.judge_waiting(entry.url, site.id)
            if not verdict.admitted:
                return verdict
        return self._gate.check(entry.url, site.id)

    def _in_hand(self, entry: Waiting, site: Site) -> Hand:
        hand = self.hands[entry.page] = Hand(entry, site.id, site.ip)
        self._unstored += 1
        return hand

    def _over_budget(self, site: Site) -> bool:
        """Whether the site has had its pages or its time; what waits there is then set aside at the next tick."""
        reason = None
        pages = site.pages + self._unsettled_pages[site.id]
        if self._page_limit is not None and pages + site.running + site.ahead >= self._page_limit:
            if pages < self._page_limit:
                return True  # what is under way may still fail: wait for it
            reason = Reason.SITE_PAGES
        used_s = (self._clock.epoch_ms() - site.first_ms) / 1000 if site.first_ms else 0.0
        if self._time_limit_s is not None and used_s >= self._time_limit_s:
            reason = Reason.SITE_TIME
        if reason is None:
            return False
        self.cut(site.id, reason)
        return True

    def cut(self, site_id: int, reason: Reason) -> None:
        """Refuses, at the next tick, all that waits on a site."""
        self._cut_sites[site_id] = reason.value
        site = self.schedule.sites.get(site_id)
        if site is not None:
            site.head, site.heads, site.cursor = [], {}, END

    def _next_waiting(self, site: Site) -> Waiting | None:
        entry = site.pop()
        if entry is None and site.cursor is not END:
            if site.cursor is not START and self._sites.on_disk and self._sites.is_full:
                site.is_through = True  # others wait longer
                return None
            self._refill(site)
            entry = site.pop()
        return entry

    def _head_size(self) -> int:
        return max(4, min(HEAD_SIZE, HEADS_IN_ALL // max(1, len(self.schedule.sites))))

    def _refill(self, site: Site) -> None:
        """Reads the next stretch of the site's queue: a range of the index, never a scan."""
        while site.cursor is not END:
            size = self._head_size()
            rows = self._db.execute(
                "SELECT p.id, p.priority, u.text, p.depth, p.hops, p.chain, p.attempts FROM page p"
                " JOIN url u ON u.id = coalesce(p.url, p.id)"
                " WHERE p.site = ? AND p.state = 'W' AND p.retry_ms IS NULL AND (p.priority, p.id) > (?, ?)"
                " ORDER BY p.priority, p.id LIMIT ?",
                (site.id, *site.cursor, size),
            ).fetchall()
            site.cursor = END if len(rows) < size else (rows[-1][1], rows[-1][0])
            for page, priority, url, depth, hops, chain, attempts in rows:
                if page not in self.hands and depth >= self._min_depth:
                    site.push(Waiting(page, priority, url, depth, hops, chain, attempts))
            if site.heads:
                return

    def _load_retries(self, now: float) -> None:
        """Brings pages whose time to be tried again has come to the heads of their sites."""
        rows = self._db.execute(
            "SELECT p.id, p.site, p.priority, u.text, p.depth, p.hops, p.chain, p.attempts, p.retry_ms FROM page p"
            " JOIN url u ON u.id = coalesce(p.url, p.id)"
            " WHERE p.state = 'W' AND p.retry_ms IS NOT NULL ORDER BY p.retry_ms LIMIT ?",
            (RETRIES_AT_ONCE,),
        ).fetchall()
        self._next_retry_ms = None
        now_ms = self._clock.epoch_ms()
        for page, site_id, priority, url, depth, hops, chain, attempts, retry_ms in rows:
            if page in self.hands:
                continue
            site = self._sites.get(site_id)
            if page in site.heads:
                continue
            if retry_ms > now_ms:
                self._next_retry_ms = retry_ms
                break
            site.push(Waiting(page, priority, url, depth, hops, chain, attempts))
            self.schedule.place(site, now)
        else:
            if len(rows) == RETRIES_AT_ONCE:  # there may be more: they are looked for when some of these are through
                self._next_retry_ms = now_ms + 250

    def wait_s(self) -> float | None:
        """Seconds until something can be taken; None if nothing waits for time (only for answers, or not at all)."""
        times = []
        at = self.schedule.next_at()
        if at is not None:
            times.append(at - self._clock.seconds())
        if self._next_retry_ms is not None:
            times.append((self._next_retry_ms - self._clock.epoch_ms()) / 1000)
        sweep_s = self._sites.wait_s()
        if sweep_s is not None and self.resolving < RESOLVING_MOST:  # else an address wakes the crawl
            times.append(sweep_s)
        return max(0.0, min(times)) if times else None

    def rests_long(self, max_wait_s: float) -> float | None:
        """Seconds to the next turn, if that is longer than ``max_wait_s`` and than the site's own delay; else None."""
        wait_s = self.wait_s()
        if wait_s is None or wait_s <= max_wait_s:
            return None
        site = self.schedule.first_sleeper()
        return None if site is not None and wait_s <= site.gap_s else wait_s

    @property
    def is_unsettled(self) -> bool:
        """Whether the next tick has to write what did not come from an answer."""
        return bool(self.refused_in_take or self._brought_back)

    @property
    def untaken(self) -> int:
        """How many pages wait that no one holds; if none, only the links of the present batch can bring more."""
        return max(0, self.counts["waiting"] - self._unstored)

    def has_work(self) -> bool:
        """Whether anything is left that can be taken sooner or later. Asked only when all is quiet."""
        if self._sites.on_disk or self._cut_sites:
            return True
        return any(s.has_work or s.robots_pending or s.resolving for s in self.schedule.sites.values())

    # ---- settle ----------------------------------------------------------------------------------------------

    def started(self, lease: Lease) -> None:
        """The request goes out now: the delay counts from here, not from when the lease was given."""
        site = self.schedule.sites[lease.site]
        site.next_at = max(site.next_at, self._clock.seconds() + site.gap_s)
        self.schedule.changed.add(site)

    def answered(self, lease: Lease, answer_s: float, status: int | None) -> None:
        """How long an answer took (None: there was none) sets the pace of its site, where the user wants that.

        A page that was answered well counts for --max-pages-per-site at once, before its tick.
        """
        if lease.purpose is Purpose.PAGE and status is not None and 200 <= status < 300:
            self._unsettled_pages[lease.site] += 1
        if self._auto_pace:
            site = self.schedule.sites[lease.site]
            site.pace_s = next_pace_s(
                site.pace_s, answer_s, status, delay_s=site.delay_s, parallel=site.parallel,
                most_s=self._spec.politeness.max_crawl_delay_s,
            )  # fmt: skip

    def freed(self, lease: Lease, response_s: float = 0.0) -> None:
        """The request is over: its slots are free at once, before its tick.

        When exactly the server read it is not known, only that it was before it answered; so the delay counts from
        the end of a quick answer, and for a slow one from a good moment after it was sent.
        """
        now = self._clock.seconds()
        site = self.schedule.sites[lease.site]
        site.running -= 1
        self.schedule.touched.add(site)
        self.schedule.changed.add(site)
        read_at = now - max(0.0, response_s - _READ_BY_SERVER_S)
        if site.delay_s or site.pace_s:
            site.next_at = max(site.next_at, read_at + site.gap_s)
        if lease.purpose is Purpose.PAGE:
            ip = self.hands[lease.page].ip
        else:
            ip = self._errand_ips.pop((lease.purpose, lease.url), "")
        self.schedule.leave(ip, now, read_at)
        self.schedule.place(site, now)

    def settle(self, batch: Iterable[Settled]) -> None:
        """Writes how leases ended. The hands stay until ``flush``, so that depths can still fall."""
        now_ms = self._clock.epoch_ms()
        self._unsettled_pages.clear()  # a tick takes all that was answered
        for done in batch:
            lease = done.lease
            hand = self.hands[lease.page]
            self._settled.append(lease.page)
            if done.stored_2xx:
                site = self._sites.get(lease.site)
                site.pages += 1
                self.schedule.changed.add(site)
            self._let_go(hand)
            if done.again_at is not None or done.retry_s is not None:
                self._wait_again(done, hand, now_ms)
                continue
            self.counts["completed" if done.state == "C" else "errors"] += 1
            self._fall_back(hand, done.cause)
            self._db.execute(
                "UPDATE page SET state = ?, attempts = ?, retry_ms = NULL, cause = ?, visit = coalesce(?, visit)"
                " WHERE id = ?",
                (done.state, hand.attempts, done.cause.value if done.cause else None, done.visit, lease.page),
            )
        self._refuse_taken()

    def _let_go(self, hand: Hand) -> None:
        self.counts["running" if hand.stored else "waiting"] -= 1
        if not hand.stored:
            self._unstored -= 1

    def _fall_back(self, hand: Hand, cause: Cause | None) -> None:
        """A seed given as a bare host is tried as https, then as http."""
        if hand.depth == 0 and cause is not None and POLICIES[cause].condemns_origin:
            row = self._db.execute(
                "SELECT fallback FROM seed WHERE page = ? AND fallback IS NOT NULL", (hand.page,)
            ).fetchone()
            if row is not None:
                self.later_seeds.append((str(row[0]), "fallback"))

    def give_back(self, pages: Iterable[int]) -> None:
        """Leases that were never answered: their pages wait again after the next tick."""
        self._given_back.extend(pages)

    def _wait_again(self, done: Settled, hand: Hand, now_ms: int) -> None:
        self.counts["waiting"] += 1
        retry_ms = now_ms + int((done.retry_s or 0.0) * 1000)
        if done.again_at is not None:
            info = self.discovery.seen.recent.find(done.again_at)
            url_id = url_id_of(info) if info is not None else self.discovery.spelling(done.again_at, hand.page)
            hand.hops += 1
            self._db.execute(
                "UPDATE page SET state = 'W', url = ?, hops = ?, retry_ms = ?, visit = coalesce(?, visit) WHERE id = ?",
                (url_id, hand.hops, now_ms, done.visit, hand.page),
            )
        else:
            self._db.execute(
                "UPDATE page SET state = 'W', attempts = ?, retry_ms = ?, cause = ?, visit = coalesce(?, visit)"
                " WHERE id = ?",
                (hand.attempts, retry_ms, done.cause.value if done.cause else None, done.visit, hand.page),
            )
        self._look_for_retries(retry_ms)

    def _look_for_retries(self, at_ms: int) -> None:
        self._next_retry_ms = at_ms if self._next_retry_ms is None else min(self._next_retry_ms, at_ms)

    def _refuse_taken(self) -> None:
        """Pages that robots.txt, its absence, or what was learnt of a trap refused when their turn came."""
        refused, self.refused_in_take = self.refused_in_take, []
        for page, refusal in refused:
            hand = self.hands[page]
            self._settled.append(page)
            self._let_go(hand)
            match refusal:
                case Refuse(cause=cause):
                    self._fall_back(hand, cause)
                    self.counts["errors"] += 1
                    self._db.execute(
                        "UPDATE page SET state = 'E', attempts = ?, retry_ms = NULL, cause = ? WHERE id = ?",
                        (hand.attempts - 1, cause.value, page),
                    )
                case Verdict(reason=reason):
                    self.counts["refused"] += 1
                    self._db.execute(
                        "UPDATE page SET state = NULL, reason = ?, retry_ms = NULL WHERE id = ?", (reason, page)
                    )

    def shed(self) -> None:
        """Between two ticks: gives back the memory of caches, its own and the database's."""
        self.discovery.shed()
        self._db.execute("PRAGMA shrink_memory")

    # ---- the tick --------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Writes all that is new, marks what is under way as R, lets the settled hands go. Ends the tick."""
        self._mark_running()
        self.discovery.flush()
        self._cut()
        self._sites.store()
        self._db.executemany("INSERT OR REPLACE INTO counter VALUES(?, ?)", list(self.counts.items()))

    def _mark_running(self) -> None:
        for page in self._settled:
            self.hands.pop(page, None)
        self._settled = []
        for page in self._given_back:
            if self.hands.pop(page).stored:
                self._db.execute("UPDATE page SET state = 'W' WHERE id = ?", (page,))
                self.counts["running"] -= 1
                self.counts["waiting"] += 1
            self.discovery.moved.append(page)
        self._given_back = []
        self._wait_once_more()
        fresh = [hand for hand in self.hands.values() if not hand.stored]
        for hand in fresh:
            hand.stored = True
        self._db.executemany("UPDATE page SET state = 'R' WHERE id = ?", [(hand.page,) for hand in fresh])
        self._unstored = 0
        self.counts["running"] += len(fresh)
        self.counts["waiting"] -= len(fresh)

    def _wait_once_more(self) -> None:
        """What was brought back joins the queue as if it were to be tried again now."""
        now_ms = self._clock.epoch_ms()
        for page in self._brought_back:
            hand = self.hands.pop(page)
            if hand.stored:
                self.counts["running"] -= 1
                self.counts["waiting"] += 1
            self._db.execute("UPDATE page SET state = 'W', retry_ms = ? WHERE id = ?", (now_ms, page))
            self._next_retry_ms = now_ms
        self._brought_back = []

    def _cut(self) -> None:
        """Sets aside what waits on sites that are over their budget, so much at a time that a tick stays short."""
        for site_id, reason in list(self._cut_sites.items()):
            number = 0
            for tried in ("NOT NULL", "NULL"):
                some = f"SELECT id FROM page WHERE site = ? AND state = 'W' AND retry_ms IS {tried} LIMIT {CUT_AT_ONCE}"
                number = self._db.execute(
                    f"UPDATE page SET state = NULL, reason = ?, retry_ms = NULL WHERE id IN ({some})", (reason, site_id)
                ).rowcount
                self.counts["waiting"] -= number
                self.counts["refused"] += number
            if number < CUT_AT_ONCE:
                self._cut_wholly.append(site_id)

    def committed(self) -> None:
        """After the commit: admitted pages join the heads of their sites, idle sites leave RAM."""
        now = self._clock.seconds()
        touched: set[Site] = set()
        for page in self.discovery.admitted:
            self._join_head(page, touched)
        for page in self.discovery.moved:
            self._join_head(page, touched)
        for site in touched:
            self.schedule.place(site, now)
        self.discovery.committed()
        for site_id in self._cut_wholly:
            self._cut_sites.pop(site_id, None)
        self._cut_wholly = []
        self._sites.let_go(now)
        if self._sites.retries_ms is not None:
            self._look_for_retries(self._sites.retries_ms)
            self._sites.retries_ms = None

    def _join_head(self, page: int, touched: set[Site]) -> None:
        """Puts a page into the head of its site, if it belongs there."""
        row = self.discovery.row(page)
        if row.state != "W" or row.site in self._cut_sites or row.depth < self._min_depth or page in self.hands:
            return
        site = self.schedule.sites.get(row.site)
        if site is None:
            if self._sites.is_full:
                self._sites.look_on_disk()
                return
            site = self._sites.get(row.site)
        elif site.cursor is not END and (row.priority, page) > site.cursor:
            if not site.placed:
                touched.add(site)
            return
        if page in site.heads:
            return
        site.push(self.discovery.waiting(row))
        touched.add(site)
        size = self._head_size()
        if len(site.heads) > 2 * size:
            site.trim(size)
