"""The pages in hand: from the lease to the tick that writes how it ended, or that nobody answered it.

While a page is in hand its row says W until the next tick and R from then on. All writing happens inside the
caller's transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

import msgspec

from weft.clock import Clock
from weft.errors import POLICIES, Cause
from weft.frontier.discovery import Discovery
from weft.frontier.given import Queues
from weft.frontier.pages import Hand
from weft.frontier.polite import Schedule, Site, Waiting
from weft.frontier.seen import url_id_of
from weft.ports import Refuse
from weft.records import Lease, Verdict


class Settled(msgspec.Struct, frozen=True, gc=False):
    """How a lease ended. ``retry_s``: it waits again; ``again_at``: the same page asked at another URL of its key.

    ``redirect_to`` is where a redirect leads, in a crawl that keeps cookies; ``sets_cookie``: it had one.
    """

    lease: Lease
    state: str
    visit: int | None = None
    cause: Cause | None = None
    stored_2xx: bool = False
    retry_s: float | None = None
    again_at: str | None = None
    redirect_to: str | None = None
    sets_cookie: bool = False
    status: int | None = None

    @property
    def is_broken(self) -> bool:
        """Whether a link to the page is broken: there is no answer, or one that is an error."""
        return self.cause is not None or (self.status is not None and self.status >= 400)


GATE_REDIRECTS = 4  # of a gate that leads back to where it was met
GATE_PASSES = 3  # how often a page is asked again behind its gate


class Settling:
    """See the module. ``refused``, ``given_back`` and ``brought_back`` wait for the next tick."""

    def __init__(
        self, connection: sqlite3.Connection, discovery: Discovery, schedule: Schedule, queues: Queues, clock: Clock,
        counts: dict[str, int],
    ) -> None:  # fmt: skip
        self._db = connection
        self._discovery = discovery
        self.hands = discovery.hands
        self._schedule = schedule
        self._sites = queues.sites
        self._heads = queues.heads
        self._clock = clock
        self._counts = counts
        self._answered = queues.budgets.answered
        self._cut_sites = queues.budgets.cut_sites
        self._settled: list[int] = []
        self.refused: list[tuple[int, Refuse | Verdict]] = []
        self.given_back: list[int] = []
        self.brought_back: list[int] = []
        self.later_seeds: list[tuple[str, str]] = []
        self.unstored = 0  # hands whose R is not in the database yet

    def in_hand(self, entry: Waiting, site: Site) -> Hand:
        """Takes a page from the queue into the hand."""
        hand = self.hands[entry.page] = Hand(
            entry.page, entry.url, entry.url_id, entry.depth, entry.hops, entry.chain, entry.attempts + 1,
            site.id, site.ip,
        )  # fmt: skip
        self.unstored += 1
        return hand

    # ---- how leases ended ------------------------------------------------------------------------------------

    def settle(self, batch: Iterable[Settled]) -> None:
        """Writes how leases ended. The hands stay until ``mark_running``, so that depths can still fall."""
        now_ms = self._clock.epoch_ms()
        self._answered.clear()  # a tick takes all that was answered
        completed: list[tuple[int, int, int]] = []
        ended: list[tuple[str, int, str | None, int | None, int]] = []
        redirects: list[Settled] = []
        for done in batch:
            lease = done.lease
            if done.redirect_to is not None:
                redirects.append(done)
            hand = self.hands[lease.page]
            self._settled.append(lease.page)
            if done.stored_2xx:
                site = self._sites.get(lease.site)
                site.pages += 1
                self._schedule.changed.add(site)
            self._let_go(hand)
            if done.again_at is not None or done.retry_s is not None:
                self._wait_again(done, hand, now_ms)
                continue
            self._counts["completed" if done.state == "C" else "errors"] += 1
            self._counts["broken"] += done.is_broken
            cause = done.cause
            if cause is None and done.visit is not None and done.state == "C":
                completed.append((hand.attempts, done.visit, lease.page))
                continue
            if cause is not None:
                self._fall_back(hand, cause)
            ended.append((done.state, hand.attempts, cause.value if cause else None, done.visit, lease.page))
        self._db.executemany(
            "UPDATE page SET state = 'C', attempts = ?, retry_ms = NULL, cause = NULL, visit = ? WHERE id = ?",
            completed,
        )
        self._db.executemany(
            "UPDATE page SET state = ?, attempts = ?, retry_ms = NULL, cause = ?, visit = coalesce(?, visit)"
            " WHERE id = ?",
            ended,
        )
        if redirects:
            self._pass_gates(redirects, now_ms)
        self._refuse_taken()

    def _pass_gates(self, redirects: list[Settled], now_ms: int) -> None:
        """Asks again for pages that led to a cookie, and are led back to: with it they may answer."""
        targets = [done.redirect_to for done in redirects if done.redirect_to is not None]
        for done, page in zip(redirects, self._discovery.pages_at(targets), strict=True):
            if page in (0, done.lease.page) or not self._is_gate(page, done.lease.url, done.sets_cookie):
                continue
            changed = self._db.execute(
                "UPDATE page SET state = 'W', attempts = 0, hops = hops + 1, retry_ms = ?"
                " WHERE id = ? AND state = 'C' AND hops < ?",
                (now_ms, page, GATE_PASSES),
            )
            if changed.rowcount:
                self._counts["completed"] -= 1
                self._counts["waiting"] += 1
                self._heads.look_for_retries(now_ms)

    def _is_gate(self, page: int, url: str, sets_cookie: bool) -> bool:
        """Whether the redirects from a page on lead to this URL, and a cookie was set on the way."""
        for _ in range(GATE_REDIRECTS):
            row = self._db.execute(_REDIRECT, (page,)).fetchone()
            if row is None:
                return False
            target, headers = row
            sets_cookie = sets_cookie or "\nset-cookie:" in headers.lower()
            if target == url:
                return sets_cookie
            (page,) = self._discovery.pages_at([target])
        return False

    def _let_go(self, hand: Hand) -> None:
        self._counts["running" if hand.stored else "waiting"] -= 1
        if not hand.stored:
            self.unstored -= 1

    def _fall_back(self, hand: Hand, cause: Cause) -> None:
        """A seed given as a bare host is tried as https, then as http."""
        if hand.depth == 0 and POLICIES[cause].condemns_origin:
            row = self._db.execute(
                "SELECT fallback FROM seed WHERE page = ? AND fallback IS NOT NULL", (hand.page,)
            ).fetchone()
            if row is not None:
                self.later_seeds.append((str(row[0]), "fallback"))

    def _wait_again(self, done: Settled, hand: Hand, now_ms: int) -> None:
        self._counts["waiting"] += 1
        retry_ms = now_ms + int((done.retry_s or 0.0) * 1000)
        if done.again_at is not None:
            info = self._discovery.seen.recent.find(done.again_at)
            url_id = url_id_of(info) if info is not None else self._discovery.spelling(done.again_at, hand.page)
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
        self._heads.look_for_retries(retry_ms)

    def _refuse_taken(self) -> None:
        """Pages that robots.txt, its absence, or what was learnt of a trap refused when their turn came."""
        refused, self.refused = self.refused, []
        for page, refusal in refused:
            hand = self.hands[page]
            self._settled.append(page)
            self._let_go(hand)
            match refusal:
                case Refuse(cause=cause):
                    self._fall_back(hand, cause)
                    self._counts["errors"] += 1
                    self._counts["forbidden" if cause is Cause.ROBOTS_DISALLOWED else "broken"] += 1
                    self._db.execute(
                        "UPDATE page SET state = 'E', attempts = ?, retry_ms = NULL, cause = ? WHERE id = ?",
                        (hand.attempts - 1, cause.value, page),
                    )
                case Verdict(reason=reason):
                    self._counts["refused"] += 1
                    self._db.execute(
                        "UPDATE page SET state = NULL, reason = ?, retry_ms = NULL WHERE id = ?", (reason, page)
                    )

    # ---- what stays in hand ----------------------------------------------------------------------------------

    def mark_running(self) -> None:
        """Lets the settled hands go, returns what nobody answered, and marks as R what is under way.

        What was taken ahead and is not asked yet waits still; on a site that is cut it must not be set aside, though.
        """
        for page in self._settled:
            self.hands.pop(page, None)
        self._settled = []
        for page in self.given_back:
            if self.hands.pop(page).stored:
                self._db.execute("UPDATE page SET state = 'W' WHERE id = ?", (page,))
                self._counts["running"] -= 1
                self._counts["waiting"] += 1
            self._discovery.moved.append(page)
        self.given_back = []
        self._wait_once_more()
        unstored = [hand for hand in self.hands.values() if not hand.stored]
        fresh = [hand for hand in unstored if not hand.is_ahead or hand.site in self._cut_sites]
        for hand in fresh:
            hand.stored = True
        self._db.executemany("UPDATE page SET state = 'R' WHERE id = ?", [(hand.page,) for hand in fresh])
        self.unstored = len(unstored) - len(fresh)
        self._counts["running"] += len(fresh)
        self._counts["waiting"] -= len(fresh)

    def _wait_once_more(self) -> None:
        """What was brought back joins the queue as if it were to be tried again now."""
        now_ms = self._clock.epoch_ms()
        for page in self.brought_back:
            hand = self.hands.pop(page)
            if hand.stored:
                self._counts["running"] -= 1
                self._counts["waiting"] += 1
            self._db.execute("UPDATE page SET state = 'W', retry_ms = ? WHERE id = ?", (now_ms, page))
            self._heads.look_for_retries(now_ms)
        self.brought_back = []


_REDIRECT = (
    "SELECT v.redirect_to, coalesce(v.headers, '') FROM page p JOIN visit v ON v.id = p.visit"
    " WHERE p.id = ? AND p.state = 'C' AND v.redirect_to IS NOT NULL"
)
