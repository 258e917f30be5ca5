"""The durable frontier: three verbs, ``offer``, ``take``, ``settle``, on the tables ``url``, ``page`` and ``site``.

A page is in exactly one state, moved by UPDATE (E1). All writing happens inside the caller's transaction, the
tick; ``take`` only reads. RAM holds the sites that have work and the heads of their queues, never the queue.
Depth is the least distance known: when it falls after the page was fetched, its stored links are offered again.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from weft.errors import LINK_REASONS, POLICIES, Cause, Reason
from weft.frontier.polite import END, Schedule, Site, Waiting
from weft.frontier.seen import ADMITTED, DEPTH_MAX, DEPTH_SHIFT, FINAL, HOPPED, ID_SHIFT, Seen, depth_of, pack, url_id_of
from weft.ports import Ask, Clock, Gate, Hold, Judge, Parent, Pass, Refuse
from weft.records import Failure, Lease, Link, LinkKind, Purpose, Verdict
from weft.spec import CrawlSpec
from weft.url import Normalizer, host_of, site_of

PackedLink = list[int | str]
AddressOf = Callable[[str], tuple[str, ...] | Failure | None]
_LINK_REASONS = frozenset(reason.value for reason in LINK_REASONS)
_LIMIT_REASONS = (Reason.SITE_PAGES.value, Reason.SITE_TIME.value)
_REDIRECT = LinkKind.REDIRECT.value
HEAD_SIZE = 128
HEADS_IN_ALL = 60_000
_REFUSALS_A_TAKE = 2_000
COUNTERS = ("known", "refused", "waiting", "running", "completed", "errors", "hosts")


class Found(NamedTuple):
    """What the links of one page led to."""

    external: int  # links to other sites
    new: list[str]  # pages of the site that these links admitted
    known: list[str]  # pages of the site that were known before


class Hand:
    """A page taken and not yet settled: what may still change while it is under way."""

    __slots__ = ("attempts", "chain", "depth", "hops", "ip", "offered", "page", "site", "stored", "url")

    def __init__(self, entry: Waiting, site: int, ip: str) -> None:
        self.page = entry.page
        self.url = entry.url
        self.depth = entry.depth
        self.hops = entry.hops
        self.chain = entry.chain
        self.attempts = entry.attempts + 1
        self.site = site
        self.ip = ip
        self.offered = False  # its links were offered in this tick
        self.stored = False  # R is in the database


class PageRow(msgspec.Struct):
    """A row of ``page`` as the frontier needs it, not yet written or just read."""

    id: int
    site: int
    state: str | None
    reason: str | None
    depth: int
    hops: int
    chain: int
    priority: int
    found_in: int | None
    key: str | None
    visit: int | None = None


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
        self._normalizer = normalizer
        self._clock = clock
        self._address_of = address_of
        self._dfs = spec.politeness.order == "dfs"
        self._kinds = frozenset(kind.value for kind in LinkKind if kind.label in spec.scope.follow)
        self._page_limit = spec.limits.max_pages_per_site
        self._time_limit_s = spec.limits.max_time_per_site_s
        self.schedule = schedule
        self.seen = Seen(connection, hash_seed, cache_entries)
        self.hands: dict[int, Hand] = {}
        self.unresolved: deque[Site] = deque()
        self.resolving = 0
        self.refused_in_take: list[tuple[int, Refuse | Verdict]] = []
        self._site_ids: dict[str, int] = {}
        self._new_urls: list[tuple[int, str, int | None]] = []
        self._new_pages: dict[int, PageRow] = {}
        self._new_sites: list[tuple[int, str]] = []
        self._aliases: dict[int, int] = {}
        self._lowered: deque[int] = deque()
        self._admitted: list[int] = []
        self._cut_sites: dict[int, str] = {}
        self._next_url = self._scalar("SELECT coalesce(max(id), 0) FROM url") + 1
        self._next_site = self._scalar("SELECT coalesce(max(id), 0) FROM site") + 1
        self.counts = dict.fromkeys(COUNTERS, 0)
        self.counts.update(
            row for row in self._db.execute("SELECT name, value FROM counter").fetchall() if row[0] in self.counts
        )
        self._next_retry_ms: int | None = None
        self._errand_ips: dict[tuple[Purpose, str], str] = {}
        self._refusals_left = 0
        self._settled: list[int] = []
        self._moved: list[int] = []
        self._given_back: list[int] = []
        self._unstored = 0  # hands whose R is not in the database yet
        self.later_seeds: list[tuple[str, str]] = []

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
            "UPDATE page SET state = 'W', reason = NULL WHERE state IS NULL AND reason IN (?, ?)", _LIMIT_REASONS
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

    def site_id(self, name: str) -> int:
        """The id of a site by name; it is made if it is new."""
        site_id = self._site_ids.get(name)
        if site_id is None:
            row = self._db.execute("SELECT id FROM site WHERE name = ?", (name,)).fetchone()
            if row is None:
                site_id = self._next_site
                self._next_site += 1
                self._new_sites.append((site_id, name))
                self.counts["hosts"] += 1
            else:
                site_id = int(row[0])
            if len(self._site_ids) > 200_000:
                self._site_ids = {name: site_id for site_id, name in self._new_sites}
            self._site_ids[name] = site_id
        return site_id

    def _activate(self, site_id: int) -> Site:
        """The site in RAM, with its clock as stored."""
        site = self.schedule.sites.get(site_id)
        if site is None:
            row = self._db.execute(
                "SELECT s.name, s.first_access_ms, s.next_access_ms, s.slow_answers, s.failures, s.pages,"
                " (SELECT max(crawl_delay_s) FROM origin WHERE site = s.id) FROM site s WHERE s.id = ?", (site_id,)
            ).fetchone()  # fmt: skip
            if row is None:
                name = next(name for number, name in self._new_sites if number == site_id)
                row = (name, None, 0, 0, 0, 0, None)
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
        site = self._activate(self.site_id(site_name))
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
        if site.errands:
            return site.errands.popleft()
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
                        page=entry.page, url=entry.url, site=site.id, depth=entry.depth, attempt=hand.attempts, hops=entry.hops
                    )  # fmt: skip
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
        if self._time_limit_s is not None and site.first_ms:
            if (self._clock.epoch_ms() - site.first_ms) / 1000 >= self._time_limit_s:
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
                if page not in self.hands and depth >= self._spec.scope.min_depth:
                    site.push(Waiting(page, priority, url, depth, hops, chain, attempts))
            if site.heads:
                return

    def _load_retries(self, now: float) -> None:
        """Brings pages whose time to be tried again has come to the heads of their sites."""
        rows = self._db.execute(
            "SELECT p.id, p.site, p.priority, u.text, p.depth, p.hops, p.chain, p.attempts, p.retry_ms FROM page p"
            " JOIN url u ON u.id = coalesce(p.url, p.id)"
            " WHERE p.state = 'W' AND p.retry_ms IS NOT NULL ORDER BY p.retry_ms LIMIT 2000"
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
        """Seconds until the next turn, where that is longer than ``max_wait_s`` and than the site's own delay; else None."""
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
            site.id, self._spec.scope.min_depth,
        )  # fmt: skip
        site.cursor = (-END[0], 0)

    # ---- settle ----------------------------------------------------------------------------------------------

    def freed(self, lease: Lease) -> None:
        """The request is over: its slots are free at once, before its tick."""
        now = self._clock.seconds()
        site = self.schedule.sites[lease.site]
        site.running -= 1
        ip = self.hands[lease.page].ip if lease.purpose is Purpose.PAGE else self._errand_ips.pop((lease.purpose, lease.url), "")
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
                "UPDATE page SET state = ?, attempts = ?, retry_ms = NULL, cause = ?, visit = coalesce(?, visit) WHERE id = ?",
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
            row = self._db.execute("SELECT fallback FROM seed WHERE page = ? AND fallback IS NOT NULL", (hand.page,)).fetchone()
            if row is not None:
                self.later_seeds.append((str(row[0]), "fallback"))

    def give_back(self, pages: Iterable[int]) -> None:
        """Leases that were never answered: their pages wait again after the next tick."""
        self._given_back.extend(pages)

    def _wait_again(self, done: Settled, hand: Hand, now_ms: int) -> None:
        self.counts["waiting"] += 1
        retry_ms = now_ms + int((done.retry_s or 0.0) * 1000)
        if done.again_at is not None:
            info = self.seen.recent.find(done.again_at)
            url_id = url_id_of(info) if info is not None else self._name(done.again_at, hand.page)
            hand.hops += 1
            self._db.execute(
                "UPDATE page SET state = 'W', url = ?, hops = ?, retry_ms = ?, visit = coalesce(?, visit) WHERE id = ?",
                (url_id, hand.hops, now_ms, done.visit, hand.page),
            )
        else:
            self._db.execute(
                "UPDATE page SET state = 'W', attempts = ?, retry_ms = ?, cause = ?, visit = coalesce(?, visit) WHERE id = ?",
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
                    self._db.execute("UPDATE page SET state = NULL, reason = ?, retry_ms = NULL WHERE id = ?", (reason, page))

    # ---- offer -----------------------------------------------------------------------------------------------

    def prefetch(self, targets: Iterable[str]) -> None:
        """Looks all targets of a tick up at once; after it ``offer`` needs no look-up of its own."""
        self.seen.prefetch(targets, self._describe)

    def _describe(self, rows: list[tuple[object, ...]]) -> None:
        for text, url_id, page, depth, state, reason, hops in rows:
            assert isinstance(text, str) and isinstance(url_id, int)
            if page is None:
                info = pack(url_id, 0, FINAL)
            else:
                assert isinstance(depth, int) and isinstance(hops, int)
                info = pack(url_id, depth, _flags(state, reason, hops))
            self.seen.recent[text] = info

    def seed(self, url: str, source: str, fallback: str | None = None) -> bool:
        """Admits a start address at depth 0; whether it was new to the queue."""
        self.prefetch([url])
        before = len(self._admitted)
        link = Link(url, LinkKind.REDIRECT.value)
        info = self.seen.recent.find(url)
        if info is None:
            info = self._offer_one(link, None, None, 0, 0)
        else:
            self._reconsider(link, info, None, None, 0, 0)
        page = self._page_of(url_id_of(info))
        self._db.execute(
            "INSERT INTO seed(page, added_ms, source, fallback) VALUES(?, ?, ?, ?)",
            (page, self._clock.epoch_ms(), source, fallback),
        )
        return len(self._admitted) > before

    def offer(self, hand: Hand, visit: int, links: Sequence[Link], nofollow: bool) -> tuple[list[PackedLink], Found]:
        """Every link of a page as it is stored, and what they led to; admits what belongs to the crawl."""
        hand.offered = True
        parent = Parent(hand.url, hand.depth, hand.chain)
        site_name = site_of(hand.url)
        prefix = hand.url[: hand.url.index("/", 8) + 1]
        recent, heed = self.seen.recent, not self._spec.scope.follow_nofollow
        kinds = frozenset({_REDIRECT}) if nofollow and heed else self._kinds
        first_new = self._next_url
        new: list[str] = []
        known: list[str] = []
        packed: list[PackedLink] = []
        external = 0
        for link in links:
            target, kind, anchor, rel, fragment = link
            internal = target.startswith(prefix)
            if not internal and target.startswith("http") and site_of(target) != site_name:
                external += 1
            offered = 1 if kind in kinds and not (rel and heed and "nofollow" in rel.split()) else 0
            depth, hops = (hand.depth, hand.hops + 1) if kind == _REDIRECT else (hand.depth + 1, 0)
            try:
                info = recent[target]
            except KeyError:
                info = self._meet(link, parent, visit, depth, hops, nofollow)
                if internal and info & ADMITTED:
                    new.append(target)
            else:
                if offered and not info & FINAL:
                    if internal and info & ADMITTED and info >> ID_SHIFT < first_new:
                        known.append(target)
                    # admitted, and not nearer by this link: the common case ends here
                    if info & (ADMITTED | HOPPED) != ADMITTED or info >> DEPTH_SHIFT & DEPTH_MAX > depth:
                        self._reconsider(link, info, parent, visit, depth, hops, nofollow)
            row: PackedLink = [info >> ID_SHIFT, kind, offered, anchor]
            if rel or fragment:
                row.append(rel)
                if fragment:
                    row.append(fragment)
            packed.append(row)
        return packed, Found(external, new, known)

    def _meet(self, link: Link, parent: Parent, visit: int, depth: int, hops: int, nofollow: bool) -> int:
        """A target that is not in RAM after ``prefetch``: new, or longer than a URL may be."""
        longest = self._spec.limits.max_url_b
        if len(link.target) > longest:
            link = link._replace(target=link.target[: longest + 1])  # one past the bound: its own name, refused as too long
            info = self.seen.recent.find(link.target)
            if info is not None:
                return info
        return self._offer_one(link, parent, visit, depth, hops, nofollow)

    def offer_sitemap(self, visit: int, entries: Sequence[tuple[str, str]]) -> list[PackedLink]:
        """The entries (URL, date of change) of a sitemap, admitted at depth 1; the date stands where others have an anchor."""
        packed: list[PackedLink] = []
        for url, changed in entries:
            link = Link(url, LinkKind.SITEMAP.value)
            info = self.seen.recent.find(url)
            if info is None:
                info = self._offer_one(link, None, visit, 1, 0)
            elif not info & FINAL and (info & (ADMITTED | HOPPED) != ADMITTED or depth_of(info) > 1):
                self._reconsider(link, info, None, visit, 1, 0)
            packed.append([url_id_of(info), LinkKind.SITEMAP.value, 1, changed])
        return packed

    def name(self, url: str) -> int:
        """The id of a URL's text that is no page of the crawl by itself (robots.txt, sitemaps)."""
        self.prefetch([url])
        info = self.seen.recent.find(url)
        return url_id_of(info) if info is not None else self._name(url, 0)

    def _name(self, url: str, page: int) -> int:
        url_id = self._next_url
        self._next_url += 1
        self._new_urls.append((url_id, url, page))
        self._aliases[url_id] = page
        if page:
            row = self._row(page)
            self.seen.add(url, url_id, pack(url_id, row.depth, _flags(row.state, row.reason, row.hops)))
        else:
            self.seen.add(url, url_id, pack(url_id, DEPTH_MAX, 0))
        return url_id

    def _page_of(self, url_id: int) -> int:
        if url_id in self._new_pages:
            return url_id
        if url_id in self._aliases:
            return self._aliases[url_id]
        row = self._db.execute("SELECT coalesce(page, id) FROM url WHERE id = ?", (url_id,)).fetchone()
        return int(row[0])

    def _row(self, page: int) -> PageRow:
        row = self._new_pages.get(page)
        if row is None:
            row = PageRow(
                *self._db.execute(
                    "SELECT id, site, state, reason, depth, hops, chain, priority, found_in, key, visit FROM page WHERE id = ?", (page,)
                ).fetchone()
            )  # fmt: skip
        return row

    def _offer_one(self, link: Link, parent: Parent | None, visit: int | None, depth: int, hops: int, nofollow: bool = False) -> int:
        """Gives a text that is new its id, and a page if its key is new; returns what is known of it now."""
        text = link.target
        url_id = self._next_url
        self._next_url += 1
        if not text.startswith(("http://", "https://")):
            self._new_urls.append((url_id, text, 0))
            info = pack(url_id, 0, FINAL)
            self.seen.add(text, url_id, info)
            return info
        key = self._normalizer.key(text)
        page = self.seen.page_of_key(key, text)
        if page is not None:
            return self._alias(link, url_id, page, parent, visit, depth, hops, nofollow)
        self._new_urls.append((url_id, text, None))
        row = self._new_page(url_id, key, link, parent, visit, depth, hops, nofollow)
        info = pack(url_id, depth, _flags(row.state, row.reason, hops))
        self.seen.add(text, url_id, info)
        if key != text:
            self.seen.add_key(key, url_id)
        return info

    def _new_page(
        self, url_id: int, key: str, link: Link, parent: Parent | None, visit: int | None, depth: int, hops: int, nofollow: bool
    ) -> PageRow:  # fmt: skip
        text = link.target
        verdict = self._judge.judge_link(link.kind, link.rel, nofollow, depth, hops) if visit is not None else None
        reason = verdict.reason if verdict is not None else None
        site_id = self.site_id(site_of(text))
        if reason is None:
            reason = self._judge.judge_url(text, site_id, parent).reason
        row = self._new_pages[url_id] = PageRow(
            id=url_id, site=site_id, state="W" if reason is None else None, reason=reason.value if reason else None,
            depth=depth, hops=hops, chain=self._judge.chain_of(text, parent), priority=self._priority(depth, visit),
            found_in=visit, key=None if key == text else key,
        )  # fmt: skip
        self.counts["known"] += 1
        if reason is None:
            self._admitted.append(url_id)
            self.counts["waiting"] += 1
        else:
            self.counts["refused"] += 1
        return row

    def _alias(
        self, link: Link, url_id: int, page: int, parent: Parent | None, visit: int | None, depth: int, hops: int, nofollow: bool
    ) -> int:  # fmt: skip
        """Another spelling of a page that is known."""
        self._new_urls.append((url_id, link.target, page))
        self._aliases[url_id] = page
        row = self._row(page)
        info = pack(url_id, row.depth, _flags(row.state, row.reason, row.hops))
        self.seen.add(link.target, url_id, info)
        if not info & FINAL:
            self._reconsider(link, info, parent, visit, depth, hops, nofollow)
        return info

    def _priority(self, depth: int, visit: int | None) -> int:
        """Breadth first: by depth. Depth first: the links of the page read last come first."""
        return -(visit or 0) if self._dfs else depth

    def _reconsider(
        self, link: Link, info: int, parent: Parent | None, visit: int | None, depth: int, hops: int, nofollow: bool = False
    ) -> None:  # fmt: skip
        """A link to a page that is known and perhaps not admitted, or farther away than this link makes it."""
        page = self._page_of(url_id_of(info))
        if not page:
            page = self._named_becomes_page(url_id_of(info), link, parent, visit, depth, hops, nofollow)
        row = self._row(page)
        hand = self.hands.get(page)
        flags = _flags(row.state, row.reason, row.hops)
        if flags & FINAL:
            pass
        elif row.state is None:
            if visit is None or self._judge.judge_link(link.kind, link.rel, nofollow, depth, hops).admitted:
                self._admit_late(row, link.target, parent, visit, depth, hops)
        elif depth < row.depth or hops < row.hops:
            self._lower(row, hand, visit, min(depth, row.depth), min(hops, row.hops))
        row = self._row(page)
        self.seen.recent[link.target] = pack(url_id_of(info), row.depth, _flags(row.state, row.reason, row.hops))

    def _named_becomes_page(
        self, url_id: int, link: Link, parent: Parent | None, visit: int | None, depth: int, hops: int, nofollow: bool
    ) -> int:  # fmt: skip
        """A sitemap or robots.txt that is linked like any page: its text has an id, now it gets a page."""
        self._aliases.pop(url_id, None)
        self._new_urls = [(n, text, None if n == url_id else page) for n, text, page in self._new_urls]
        self._db.execute("UPDATE url SET page = NULL WHERE id = ?", (url_id,))
        self._new_page(url_id, self._normalizer.key(link.target), link, parent, visit, depth, hops, nofollow)
        return url_id

    def _admit_late(self, row: PageRow, text: str, parent: Parent | None, visit: int | None, depth: int, hops: int) -> None:
        """A page known only by links that are not followed, and now by one that is."""
        reason = self._judge.judge_url(text, row.site, parent).reason
        chain = self._judge.chain_of(text, parent)
        state = "W" if reason is None else None
        priority = self._priority(depth, visit)
        if row.id in self._new_pages:
            row.state, row.reason, row.depth, row.hops, row.chain, row.priority = state, reason, depth, hops, chain, priority
            row.found_in = visit
        else:
            self._db.execute(
                "UPDATE page SET state = ?, reason = ?, depth = ?, hops = ?, chain = ?, priority = ?, found_in = ? WHERE id = ?",
                (state, reason.value if reason else None, depth, hops, chain, priority, visit, row.id),
            )
        if reason is None:
            self.counts["refused"] -= 1
            self.counts["waiting"] += 1
            self._admitted.append(row.id)

    def _lower(self, row: PageRow, hand: Hand | None, visit: int | None, depth: int, hops: int) -> None:
        """The page is nearer than was known: its place in the queue, or the pages behind it, follow."""
        priority = row.priority if self._dfs else depth
        if row.id in self._new_pages:
            row.depth, row.hops, row.priority, row.found_in = depth, hops, priority, visit
            return
        self._db.execute(
            "UPDATE page SET depth = ?, hops = ?, priority = ?, found_in = ? WHERE id = ?", (depth, hops, priority, visit, row.id)
        )
        if hand is not None:
            hand.depth, hand.hops = depth, hops
            if hand.offered:
                self._lowered.append(row.id)
        elif row.state == "W":
            site = self.schedule.sites.get(row.site)
            entry = site.heads.get(row.id) if site is not None else None
            if site is not None and entry is not None:
                entry.depth, entry.hops, entry.priority = depth, hops, priority
                site.push(entry)
            elif site is not None and (priority, row.id) <= site.cursor:
                self._moved.append(row.id)  # in front of the cursor now: it belongs to the head
        elif row.visit is not None:
            self._lowered.append(row.id)

    def offer_again(self) -> None:
        """Offers the stored links of pages that came nearer, and of those behind them, until nothing falls."""
        while self._lowered:
            page = self._lowered.popleft()
            row = self._row(page)
            if row.visit is None:
                continue
            stored = self._db.execute(
                "SELECT l.links, v.nofollow FROM link_pack l JOIN visit v ON v.id = l.visit WHERE l.visit = ?", (row.visit,)
            ).fetchone()
            if stored is None:
                continue
            url = self._text(page)
            parent = Parent(url, row.depth, row.chain)
            for url_id, kind, offered, *rest in msgspec.json.decode(stored[0]):
                if offered:
                    redirect = kind == LinkKind.REDIRECT
                    depth = row.depth if redirect else row.depth + 1
                    hops = row.hops + 1 if redirect else 0
                    target = self._page_of(url_id)
                    if target:
                        link = Link(self._text(url_id), kind, "", rest[1] if len(rest) > 1 else "")
                        known = self._row(target)
                        if known.state is None or depth < known.depth or hops < known.hops:
                            info = pack(url_id, known.depth, _flags(known.state, known.reason, known.hops))
                            self._reconsider(link, info, parent, row.visit, depth, hops, bool(stored[1]))

    def _text(self, url_id: int) -> str:
        row = self._db.execute("SELECT text FROM url WHERE id = ?", (url_id,)).fetchone()
        if row is not None:
            return str(row[0])
        return next(text for number, text, _ in self._new_urls if number == url_id)

    # ---- the tick --------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Writes all that is new, marks what is under way as R, lets the settled hands go. Ends the tick."""
        db = self._db
        self._mark_running()
        db.executemany("INSERT INTO site(id, name) VALUES(?, ?)", self._new_sites)
        db.executemany("INSERT INTO url VALUES(?, ?, ?)", self._new_urls)
        db.executemany(
            "INSERT INTO page(id, site, state, reason, depth, hops, chain, priority, found_in, key)"
            " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (r.id, r.site, r.state, r.reason, r.depth, r.hops, r.chain, r.priority, r.found_in, r.key)
                for r in self._new_pages.values()
            ],
        )
        self.seen.flush()
        self._cut()
        self._store_sites()
        db.executemany("INSERT OR REPLACE INTO counter VALUES(?, ?)", list(self.counts.items()))

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
                "UPDATE page SET state = NULL, reason = ?, retry_ms = NULL WHERE site = ? AND state = 'W'", (reason, site_id)
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
            "UPDATE site SET first_access_ms = ?, next_access_ms = ?, slow_answers = ?, failures = ?, pages = ? WHERE id = ?", rows
        )

    def committed(self) -> None:
        """After the commit: admitted pages join the heads of their sites, idle sites leave RAM."""
        now = self._clock.seconds()
        sites, heads = self.schedule.sites, self._head_size()
        texts = {number: text for number, text, _ in self._new_urls}
        touched: set[int] = set()
        for page in self._admitted:
            row = self._row(page)
            if row.state != "W" or row.site in self._cut_sites:
                continue
            site = self._activate(row.site)
            fresh = page in self._new_pages or page not in site.heads
            if row.depth >= self._spec.scope.min_depth and fresh:
                site.waiting += 1
                if (row.priority, page) <= site.cursor:
                    text = texts.get(page) or self._text(page)
                    site.push(Waiting(page, row.priority, text, row.depth, row.hops, row.chain, 0))
                    if len(site.heads) > 2 * heads:
                        site.trim(heads)
                touched.add(row.site)
        for page in self._moved:
            row = self._row(page)
            site = self._activate(row.site)
            if row.state == "W" and page not in site.heads and page not in self.hands:
                site.push(Waiting(page, row.priority, self._text(page), row.depth, row.hops, row.chain, 0))
                touched.add(row.site)
        for site_id in touched:
            self.schedule.place(sites[site_id], now)
        self.seen.age()
        self._new_urls, self._new_pages, self._new_sites = [], {}, []
        self._aliases, self._admitted, self._moved, self._cut_sites = {}, [], [], {}
        idle = [s for s in sites.values() if not (s.running or s.has_work or s.placed or s.resolving or s.robots_pending or s.dirty)]
        for site in idle:
            if site.next_at <= now:
                del sites[site.id]


def _flags(state: object, reason: object, hops: int) -> int:
    flags = HOPPED if hops else 0
    if state is not None:
        return flags | ADMITTED
    return flags if reason in _LINK_REASONS or reason in _LIMIT_REASONS else flags | FINAL
