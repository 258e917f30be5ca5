"""The pages in flight: from the lease to the tick that writes how it ended, or that nobody answered it.

While a page is in flight its row says W until the next tick and R from then on. All writing happens inside the
caller's transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from weft.clock import Clock
from weft.errors import POLICIES, Cause
from weft.frontier.discovery import Discovery
from weft.frontier.given import Queues
from weft.frontier.pages import PageInFlight, Role
from weft.frontier.polite import Schedule, Site, Waiting
from weft.frontier.seen import url_id_of
from weft.ports import Refuse
from weft.records import FILE, Settled, Verdict

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
        self._known = discovery.known
        self.in_flight = discovery.in_flight
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
        self.waiting_again: set[int] = set()  # pages of this tick whose answer was not the last
        self.unstored = 0  # pages in flight whose R is not in the database yet

    def put_in_flight(self, entry: Waiting, site: Site) -> PageInFlight:
        """Takes a page from the queue; it is in flight now."""
        flight = self.in_flight[entry.page] = PageInFlight(
            entry.page, entry.url, entry.url_id, entry.depth, entry.hops, entry.chain, entry.attempts + 1,
            site.id, site.ip, entry.is_file, entry.is_check,
        )  # fmt: skip
        self.unstored += 1
        return flight

    # ---- how leases ended ------------------------------------------------------------------------------------

    def settle(self, batch: Iterable[Settled]) -> None:
        """Writes how leases ended. They stay in flight until ``mark_running``, so that depths can still fall."""
        now_ms = self._clock.epoch_ms()
        self._answered.clear()  # a tick takes all that was answered
        completed: list[tuple[int, int, int]] = []
        ended: list[tuple[str, int, str | None, int | None, int]] = []
        unchanged: list[tuple[int, int]] = []
        redirects: list[Settled] = []
        answered_files: list[int] = []
        self.waiting_again.clear()
        for done in batch:
            lease = done.lease
            if done.redirect_to is not None:
                redirects.append(done)
            flight = self.in_flight[lease.page]
            self._settled.append(lease.page)
            if done.stored_2xx:
                site = self._sites.get(lease.site)
                site.pages += 1
                self._schedule.changed.add(site)
            self._let_go(flight)
            if lease.purpose is FILE and not flight.is_file:
                answered_files.append(lease.page)
            if done.again_at is not None or done.retry_s is not None:
                self._wait_again(done, flight, now_ms)
                self.waiting_again.add(lease.page)
                continue
            self._counts["completed" if done.state == "C" else "errors"] += 1
            self._counts["broken"] += done.is_broken
            cause = done.cause
            if cause is None and done.visit is not None and done.state == "C":
                completed.append((flight.attempts, done.visit, lease.page))
                continue
            if cause is None and done.state == "C":
                unchanged.append((flight.attempts, lease.page))
                continue
            if cause is not None and not flight.is_file:
                self._fall_back(flight, cause)
            ended.append((done.state, flight.attempts, cause.value if cause else None, done.visit, lease.page))
        self._db.executemany(
            "UPDATE page SET state = 'C', attempts = ?, retry_ms = NULL, cause = NULL, visit = ? WHERE id = ?",
            completed,
        )
        self._db.executemany(
            "UPDATE page SET state = ?, attempts = ?, retry_ms = NULL, cause = ?, visit = coalesce(?, visit)"
            " WHERE id = ?",
            ended,
        )
        self._db.executemany(
            f"UPDATE page SET role = {Role.ANSWERED_FILE.value} WHERE id = ?", [(page,) for page in answered_files]
        )
        if unchanged:  # the newest body that is stored counts, whatever failed since
            self._db.executemany(_UNCHANGED, unchanged)
        if redirects:
            self._pass_gates(redirects, now_ms)
        self._refuse_taken()

    def _pass_gates(self, redirects: list[Settled], now_ms: int) -> None:
        """Asks again for pages that led to a cookie, and are led back to: with it they may answer."""
        targets = [done.redirect_to for done in redirects if done.redirect_to is not None]
        for done, page in zip(redirects, self._known.pages_at(targets), strict=True):
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
            (page,) = self._known.pages_at([target])
        return False

    def _let_go(self, flight: PageInFlight) -> None:
        self._counts["running" if flight.stored else "waiting"] -= 1
        if not flight.stored:
            self.unstored -= 1

    def _fall_back(self, flight: PageInFlight, cause: Cause) -> None:
        """A seed given as a bare host is tried as https, then as http."""
        if flight.depth == 0 and POLICIES[cause].condemns_origin:
            row = self._db.execute(
                "SELECT fallback FROM seed WHERE page = ? AND fallback IS NOT NULL", (flight.page,)
            ).fetchone()
            if row is not None:
                self.later_seeds.append((str(row[0]), "fallback"))

    def _wait_again(self, done: Settled, flight: PageInFlight, now_ms: int) -> None:
        self._counts["waiting"] += 1
        retry_ms = now_ms + int((done.retry_s or 0.0) * 1000)
        if done.again_at is not None:
            info = self._known.seen.recent.find(done.again_at)
            url_id = url_id_of(info) if info is not None else self._known.spelling(done.again_at, flight.page)
            flight.hops += 1
            self._db.execute(
                "UPDATE page SET state = 'W', url = ?, hops = ?, retry_ms = ?, visit = coalesce(?, visit) WHERE id = ?",
                (url_id, flight.hops, now_ms, done.visit, flight.page),
            )
        else:
            self._db.execute(
                "UPDATE page SET state = 'W', attempts = ?, retry_ms = ?, cause = ?, visit = coalesce(?, visit)"
                " WHERE id = ?",
                (flight.attempts, retry_ms, done.cause.value if done.cause else None, done.visit, flight.page),
            )
        self._heads.look_for_retries(retry_ms)

    def _refuse_taken(self) -> None:
        """Pages that robots.txt, its absence, or what was learnt of a trap refused when their turn came."""
        refused, self.refused = self.refused, []
        for page, refusal in refused:
            flight = self.in_flight[page]
            self._settled.append(page)
            self._let_go(flight)
            match refusal:
                case Refuse(cause=cause):
                    self._fall_back(flight, cause)
                    self._counts["errors"] += 1
                    self._counts["forbidden" if cause is Cause.ROBOTS_DISALLOWED else "broken"] += 1
                    self._db.execute(
                        "UPDATE page SET state = 'E', attempts = ?, retry_ms = NULL, cause = ? WHERE id = ?",
                        (flight.attempts - 1, cause.value, page),
                    )
                case Verdict(reason=reason):
                    self._counts["refused"] += 1
                    self._db.execute(
                        "UPDATE page SET state = NULL, reason = ?, retry_ms = NULL WHERE id = ?", (reason, page)
                    )

    # ---- what stays in flight ----------------------------------------------------------------------------------

    def mark_running(self) -> None:
        """Lets the settled pages go, returns what nobody answered, and marks as R what is under way.

        What was taken ahead and is not asked yet waits still; on a site that is cut it must not be set aside, though.
        """
        for page in self._settled:
            flight = self.in_flight.pop(page, None)
            if flight is not None and flight.becomes_page:
                self._discovery.ask_as_page(page)
        self._settled = []
        for page in self.given_back:
            if self.in_flight.pop(page).stored:
                self._db.execute("UPDATE page SET state = 'W' WHERE id = ?", (page,))
                self._counts["running"] -= 1
                self._counts["waiting"] += 1
            self._discovery.moved.append(page)
        self.given_back = []
        self._wait_once_more()
        unstored = [flight for flight in self.in_flight.values() if not flight.stored]
        fresh = [flight for flight in unstored if not flight.is_ahead or flight.site in self._cut_sites]
        for flight in fresh:
            flight.stored = True
        self._db.executemany("UPDATE page SET state = 'R' WHERE id = ?", [(flight.page,) for flight in fresh])
        self.unstored = len(unstored) - len(fresh)
        self._counts["running"] += len(fresh)
        self._counts["waiting"] -= len(fresh)

    def _wait_once_more(self) -> None:
        """What was brought back joins the queue as if it were to be tried again now."""
        now_ms = self._clock.epoch_ms()
        for page in self.brought_back:
            flight = self.in_flight.pop(page)
            if flight.stored:
                self._counts["running"] -= 1
                self._counts["waiting"] += 1
            self._db.execute("UPDATE page SET state = 'W', retry_ms = ? WHERE id = ?", (now_ms, page))
            self._heads.look_for_retries(now_ms)
        self.brought_back = []


_UNCHANGED = (
    "UPDATE page SET state = 'C', attempts = ?, retry_ms = NULL, cause = NULL, visit = coalesce("
    "(SELECT max(v.id) FROM visit v WHERE v.page = page.id AND v.status BETWEEN 200 AND 299), visit) WHERE id = ?"
)
_REDIRECT = (
    "SELECT v.redirect_to, coalesce(v.headers, '') FROM page p JOIN visit v ON v.id = p.visit"
    " WHERE p.id = ? AND p.state = 'C' AND v.redirect_to IS NOT NULL"
)
