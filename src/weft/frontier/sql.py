"""The durable frontier: three verbs, ``offer``, ``take``, ``settle``, on the tables ``url``, ``page`` and ``site``.

A page is in exactly one state, moved by UPDATE (E1). All writing happens inside the caller's transaction, the
tick; ``take`` only reads. RAM holds the sites that have work and the heads of their queues, never the queue.
Depth is the least distance known: when it falls after the page was fetched, its stored links are offered again.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Iterable

import msgspec

from weft.errors import POLICIES, Cause, Reason
from weft.frontier.discovery import LIMIT_REASONS, Discovery, Hand
from weft.frontier.polite import END, Schedule, Site, Waiting
from weft.frontier.seen import DEPTH_MAX, url_id_of
from weft.ports import Ask, Clock, Gate, Hold, Judge, Pass, Refuse
from weft.records import Failure, Lease, Purpose, Verdict
from weft.spec import CrawlSpec
from weft.url import Normalizer

AddressOf = Callable[[str], tuple[str, ...] | Failure | None]
HEAD_SIZE = 128
RETRIES_AT_ONCE = 2_000
HEADS_IN_ALL = 60_000
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
        normalizer: Normalizer, clock: Clock, address_of: AddressOf, *, hash_seed: int, cache_entries: int = 300_000,
    ) -> None:  # fmt: skip
        self._db = connection
        self._spec = spec
        self._judge = judge
        self._gate = gate
        self._clock = clock
        self._address_of = address_of
        self._page_limit = spec.limits.max_pages_per_site
        self._time_limit_s = spec.limits.max_time_per_site_s
        self._min_depth = spec.scope.min_depth
        self.schedule = schedule
        self.counts = dict.fromkeys(COUNTERS, 0)
        self.counts.update(
            row for row in self._db.execute("SELECT name, value FROM counter").fetchall() if row[0] in self.counts
        )
        self.discovery = Discovery(
            connection, spec, judge, normalizer, clock, schedule, self.counts,
            hash_seed=hash_seed, cache_entries=cache_entries,
        )  # fmt: skip
        self.hands = self.discovery.hands
        self.unresolved: deque[Site] = deque()
        self.resolving = 0
        self.refused_in_take: list[tuple[int, Refuse | Verdict]] = []
        self.refused_errands: list[tuple[Lease, Refuse]] = []
        self.later_seeds: list[tuple[str, str]] = []
        self._cut_sites: dict[int, str] = {}
        self._next_retry_ms: int | None = None
        self._errand_ips: dict[tuple[Purpose, str], str] = {}
        self._refusals_left = 0
        self._settled: list[int] = []
        self._given_back: list[int] = []
        self._unstored = 0  # hands whose R is not in the database yet

    def _scalar(self, query: str, *values: object) -> int:
        return int(self._db.execute(query, values).fetchone()[0])

    # ---- start -----------------------------------------------------------------------------------------------

    def load(self, *, killed: bool, limits_changed: bool) -> None:
        """Takes up what an earlier run left, inside a transaction: every R becomes W, new limits are applied.

        After a kill the last starts are unknown, so each site rests its delay once more.
        """
        db = self._db
        returned = db.execute("UPDATE page SET state = 'W' WHERE state = 'R'").rowcount
        self.counts["waiting"] += returned
        self.counts["running"] = 0
        if limits_changed:
            self._lift_limits()
        now, now_ms = self._clock.seconds(), self._clock.epoch_ms()
        rows = db.execute(
            "SELECT site, count(*) FROM page INDEXED BY page_queue WHERE state = 'W' AND retry_ms IS NULL GROUP BY site"
        ).fetchall()
        for site_id, waiting in rows:
            site = self._activate(site_id)
            site.waiting = waiting
            site.cursor = (-END[0], 0)
            if killed:
                self.schedule.rest(site, site.delay_s, now)
            self.schedule.place(site, now)
        self._next_retry_ms = now_ms

    def _lift_limits(self) -> None:
        """Lets in what only an older, tighter limit kept out."""
        back = self._db.execute(
            "UPDATE page SET state = 'W', reason = NULL WHERE state IS NULL AND reason IN (?, ?)", LIMIT_REASONS
        ).rowcount
        deepest = self._spec.scope.max_depth
        back += self._db.execute(
            "UPDATE page SET state = 'W', reason = NULL WHERE state IS NULL AND reason = ? AND depth <= ?",
            (Reason.TOO_DEEP.value, DEPTH_MAX if deepest is None else deepest),
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

    def _activate(self, site_id: int) -> Site:
        """The site in RAM, with its clock as stored."""
        site = self.schedule.sites.get(site_id)
        if site is None:
            row = self._db.execute(
                "SELECT s.name, s.first_access_ms, s.next_access_ms, s.slow_answers, s.failures, s.pages,"
                " (SELECT max(crawl_delay_s) FROM origin WHERE site = s.id) FROM site s WHERE s.id = ?", (site_id,)
            ).fetchone()  # fmt: skip
            if row is None:
                row = (self.discovery.site_name(site_id), None, 0, 0, 0, 0, None)
            name, first_ms, next_ms, slow, failures, pages, delay = row
            host = name[: name.index("]") + 1] if name.startswith("[") else name.partition(":")[0]
            site = Site(site_id, name, host, max(self._spec.politeness.delay_s, self._capped(delay or 0.0)))
            rest_s = (next_ms - self._clock.epoch_ms()) / 1000
            if rest_s > 0:
                site.next_at = self._clock.seconds() + rest_s
            site.slow_answers, site.failures, site.pages, site.first_ms = slow, failures, pages, first_ms or 0
            self.schedule.sites[site_id] = site
        return site

    def _capped(self, delay_s: float) -> float:
        return min(delay_s, self._spec.politeness.max_crawl_delay_s)

    def site(self, site_id: int) -> Site:
        return self._activate(site_id)

    def set_delay(self, site_id: int, delay_s: float | None) -> None:
        """What robots.txt asks for; never below the operator's own delay."""
        site = self._activate(site_id)
        wanted = max(self._spec.politeness.delay_s, self._capped(delay_s or 0.0))
        if wanted > site.delay_s:
            site.next_at += wanted - site.delay_s
        site.delay_s = wanted

    def errand(self, site_name: str, lease: Lease, *, first: bool = False) -> None:
        """A request the crawl needs for itself, in the site's own queue and on the site's own clock."""
        site = self._activate(self.discovery.site_id(site_name))
        site.errands.appendleft(lease) if first else site.errands.append(lease)
        self.schedule.place(site, self._clock.seconds())

    def release(self, site_id: int) -> None:
        """robots.txt of the site is known now."""
        site = self._activate(site_id)
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
        while len(leases) < most:
            site = self.schedule.next_ready(now)
            if site is None:
                break
            lease = self._lease_of(site, now)
            if lease is not None:
                leases.append(lease)
                site.running += 1
                site.turns += 1
                site.next_at = max(site.next_at, now + site.delay_s)
                site.first_ms = site.first_ms or self._clock.epoch_ms()
                site.dirty = True
            if lease is not None or self._refusals_left <= 0:
                self.schedule.place(site, now)  # else it waits for an answer, which will place it again
            if self._refusals_left <= 0:
                break
        return leases

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
                    site.delay_s = max(self._spec.politeness.delay_s, self._capped(delay_s))
                    site.waiting -= 1
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
                    site.waiting -= 1
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
        if self._page_limit is not None and site.pages + site.running >= self._page_limit:
            if site.pages < self._page_limit:
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
            site.head, site.heads, site.cursor, site.waiting = [], {}, END, 0

    def _next_waiting(self, site: Site) -> Waiting | None:
        entry = site.pop()
        if entry is None and site.cursor != END:
            self._refill(site)
            entry = site.pop()
            if entry is None:
                site.waiting = 0
        return entry

    def _head_size(self) -> int:
        return max(4, min(HEAD_SIZE, HEADS_IN_ALL // max(1, len(self.schedule.sites))))

    def _refill(self, site: Site) -> None:
        """Reads the next stretch of the site's queue: a range of the index, never a scan."""
        while site.cursor != END:
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
            site = self._activate(site_id)
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
        return max(0.0, min(times)) if times else None

    def rests_long(self, max_wait_s: float) -> float | None:
        """Seconds to the next turn, if that is longer than ``max_wait_s`` and than the site's own delay; else None."""
        wait_s = self.wait_s()
        if wait_s is None or wait_s <= max_wait_s:
            return None
        site = self.schedule.first_sleeper()
        return None if site is not None and wait_s <= site.delay_s else wait_s

    def has_ready_work(self) -> bool:
        """Whether pages wait that no one holds: if not, only the links of the present batch can bring more."""
        return self.counts["waiting"] > self._unstored

    def has_work(self) -> bool:
        """Whether anything is left that can be taken sooner or later. Asked only when all is quiet."""
        working = False
        now = self._clock.seconds()
        for site in list(self.schedule.sites.values()):
            if site.waiting > 0 and not (site.placed or site.heads or site.robots_pending or site.resolving):
                self._recount(site)
                self.schedule.place(site, now)
            working = working or site.has_work or site.robots_pending or site.resolving
        return working

    def _recount(self, site: Site) -> None:
        """The number that waits is kept in RAM by adding and subtracting; here it is read from the table."""
        site.waiting = self._scalar(
            "SELECT count(*) FROM page WHERE site = ? AND state = 'W' AND retry_ms IS NULL AND depth >= ?",
            site.id, self._min_depth,
        )  # fmt: skip
        site.cursor = (-END[0], 0)

    # ---- settle ----------------------------------------------------------------------------------------------

    def started(self, lease: Lease) -> None:
        """The request goes out now: the delay counts from here, not from when the lease was given."""
        site = self.schedule.sites[lease.site]
        site.next_at = max(site.next_at, self._clock.seconds() + site.delay_s)

    def freed(self, lease: Lease, response_s: float = 0.0) -> None:
        """The request is over: its slots are free at once, before its tick.

        When exactly the server read it is not known, only that it was before it answered; so the delay counts from
        the end of a quick answer, and for a slow one from a good moment after it was sent.
        """
        now = self._clock.seconds()
        site = self.schedule.sites[lease.site]
        site.running -= 1
        if site.delay_s:
            site.next_at = max(site.next_at, now - max(0.0, response_s - _READ_BY_SERVER_S) + site.delay_s)
        if lease.purpose is Purpose.PAGE:
            ip = self.hands[lease.page].ip
        else:
            ip = self._errand_ips.pop((lease.purpose, lease.url), "")
        self.schedule.leave(ip, now)
        self.schedule.place(site, now)

    def settle(self, batch: Iterable[Settled]) -> None:
        """Writes how leases ended. The hands stay until ``flush``, so that depths can still fall."""
        now_ms = self._clock.epoch_ms()
        for done in batch:
            lease = done.lease
            hand = self.hands[lease.page]
            self._settled.append(lease.page)
            site = self.schedule.sites[lease.site]
            if done.stored_2xx:
                site.pages += 1
                site.dirty = True
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
        self.schedule.sites[hand.site].waiting += 1
        self._next_retry_ms = retry_ms if self._next_retry_ms is None else min(self._next_retry_ms, retry_ms)

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

    # ---- the tick --------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Writes all that is new, marks what is under way as R, lets the settled hands go. Ends the tick."""
        self._mark_running()
        self.discovery.flush()
        self._cut()
        self._store_sites()
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
        self._given_back = []
        fresh = [hand for hand in self.hands.values() if not hand.stored]
        for hand in fresh:
            hand.stored = True
        self._db.executemany("UPDATE page SET state = 'R' WHERE id = ?", [(hand.page,) for hand in fresh])
        self._unstored = 0
        self.counts["running"] += len(fresh)
        self.counts["waiting"] -= len(fresh)

    def _cut(self) -> None:
        for site_id, reason in self._cut_sites.items():
            number = self._db.execute(
                "UPDATE page SET state = NULL, reason = ?, retry_ms = NULL WHERE site = ? AND state = 'W'",
                (reason, site_id),
            ).rowcount
            self.counts["waiting"] -= number
            self.counts["refused"] += number

    def _store_sites(self) -> None:
        now, now_ms = self._clock.seconds(), self._clock.epoch_ms()
        rows = []
        for site in self.schedule.sites.values():
            if site.dirty:
                site.dirty = False
                next_ms = now_ms + int(max(0.0, site.next_at - now) * 1000)
                rows.append((site.first_ms or None, next_ms, site.slow_answers, site.failures, site.pages, site.id))
        self._db.executemany(
            "UPDATE site SET first_access_ms = ?, next_access_ms = ?, slow_answers = ?, failures = ?, pages = ?"
            " WHERE id = ?",
            rows,
        )

    def _join_head(self, page: int, *, is_new: bool) -> int | None:
        """Puts a page into the head of its site, if it belongs there; the site, where it waits."""
        found = self.discovery.waiting(page)
        if found is None or found[0] in self._cut_sites or page in self.hands or found[1].depth < self._min_depth:
            return None
        site_id, entry = found
        site = self._activate(site_id)
        if page in site.heads:
            return None
        site.waiting += is_new
        if (entry.priority, page) <= site.cursor:
            site.push(entry)
            size = self._head_size()
            if len(site.heads) > 2 * size:
                site.trim(size)
        return site_id

    def committed(self) -> None:
        """After the commit: admitted pages join the heads of their sites, idle sites leave RAM."""
        now = self._clock.seconds()
        touched = {self._join_head(page, is_new=True) for page in self.discovery.admitted}
        touched |= {self._join_head(page, is_new=False) for page in self.discovery.moved}
        sites = self.schedule.sites
        for site_id in touched:
            if site_id is not None:
                self.schedule.place(sites[site_id], now)
        self.discovery.committed()
        self._cut_sites = {}
        idle = [
            s
            for s in sites.values()
            if not (s.running or s.has_work or s.placed or s.resolving or s.robots_pending or s.dirty)
        ]
        for site in idle:
            if site.next_at <= now:
                del sites[site.id]
