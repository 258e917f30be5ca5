"""The heads of the sites' queues in RAM: what comes into them from disk, from a tick, and when it is tried again."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable

from weft.clock import Clock
from weft.frontier.discovery import Discovery
from weft.frontier.pages import NO_PAGES, Role
from weft.frontier.polite import AGAIN, END, START, Schedule, Site, Waiting
from weft.frontier.sites import Sites

HEAD_SIZE = 1_024  # of few sites: what is left to the disk is read again when its turn comes
HEADS_IN_ALL = 60_000
RETRIES_AT_ONCE = 2_000
_MORE_RETRIES_MS = 250


class Heads:
    """See the module. ``retry_ms`` says when to look for pages to be tried again; None: there are none."""

    def __init__(
        self, connection: sqlite3.Connection, discovery: Discovery, schedule: Schedule, sites: Sites, clock: Clock,
        is_cut: Callable[[int, bool], bool], min_depth: int,
    ) -> None:  # fmt: skip
        self._db = connection
        self._discovery = discovery
        self._in_flight = discovery.in_flight
        self._schedule = schedule
        self._sites = sites
        self._clock = clock
        self._is_cut = is_cut
        self._min_depth = min_depth
        self.retry_ms: int | None = None
        self.most = HEAD_SIZE  # pages of a site at once

    def next_waiting(self, site: Site) -> Waiting | None:
        """Takes the first page out of the site's queue; None where it is empty, or others wait longer."""
        entry = site.pop()
        if (entry is None or entry.priority >= AGAIN) and site.cursor is not END:
            if entry is not None:
                site.push(entry)
            if site.cursor is not START and self._sites.on_disk and self._sites.is_full:
                site.is_through = True  # others wait longer
                return None
            self.fill(site)
            entry = site.pop()
        return entry

    def _size(self) -> int:
        sites = len(self._schedule.sites)
        return min(self.most, HEAD_SIZE if sites * HEAD_SIZE <= HEADS_IN_ALL else max(4, HEADS_IN_ALL // sites))

    def forget(self) -> None:
        """All priorities changed: queues are read from disk again. What is tried again is not in them, and stays."""
        for site in self._schedule.sites.values():
            if site.heads or site.cursor is not END:
                site.forget()

    def fill(self, site: Site) -> None:
        """Reads the next stretch of the site's queue: a range of the index, never a scan."""
        while site.cursor is not END:
            size = self._size()
            rows = self._db.execute(
                "SELECT p.id, p.priority, u.url, u.text, p.depth, p.hops, p.chain, p.attempts, p.role FROM page p"
                " JOIN page_url u ON u.page = p.id"
                " WHERE p.site = ? AND p.state = 'W' AND p.retry_ms IS NULL AND (p.priority, p.id) > (?, ?)"
                " ORDER BY p.priority, p.id LIMIT ?",
                (site.id, *site.cursor, size),
            ).fetchall()
            site.cursor = END if len(rows) < size else (rows[-1][1], rows[-1][0])
            for *columns, role in rows:
                entry = Waiting(*columns)
                entry.is_file, entry.is_check = role in NO_PAGES, role == Role.CHECK
                if entry.page not in self._in_flight and self._may_wait(entry.depth, site.id, entry.is_file):
                    site.push(entry)
            if site.heads:
                return

    def _may_wait(self, depth: int, site_id: int, is_file: bool) -> bool:
        """Whether an entry belongs into the head of its site: bounds of depth and of pages are for pages."""
        return (is_file or depth >= self._min_depth) and not self._is_cut(site_id, is_file)

    # ---- what is tried again ---------------------------------------------------------------------------------

    def look_for_retries(self, at_ms: int) -> None:
        """There is a page whose time to be tried again comes then."""
        self.retry_ms = at_ms if self.retry_ms is None else min(self.retry_ms, at_ms)

    def load_retries(self, now: float) -> None:
        """Brings pages whose time to be tried again has come to the heads of their sites."""
        rows = self._db.execute(
            "SELECT p.id, p.site, p.priority, u.url, u.text, p.depth, p.hops, p.chain, p.attempts, p.retry_ms, p.role"
            " FROM page p JOIN page_url u ON u.page = p.id"
            " WHERE p.state = 'W' AND p.retry_ms IS NOT NULL ORDER BY p.retry_ms LIMIT ?",
            (RETRIES_AT_ONCE,),
        ).fetchall()
        self.retry_ms = None
        now_ms = self._clock.epoch_ms()
        for page, site_id, priority, url_id, url, depth, hops, chain, attempts, retry_ms, role in rows:
            if page in self._in_flight:
                continue
            site = self._sites.get(site_id)
            if page in site.heads:
                continue
            if retry_ms > now_ms:
                self.retry_ms = retry_ms
                break
            is_file, is_check = role in NO_PAGES, role == Role.CHECK
            # not tried before: it leads to itself by a redirect
            place = (AGAIN if is_file else priority + AGAIN) if attempts else priority
            site.push(Waiting(page, place, url_id, url, depth, hops, chain, attempts, is_file, is_check))
            self._schedule.place(site, now)
        else:
            if len(rows) == RETRIES_AT_ONCE:  # there may be more: they are looked for when some of these are through
                self.retry_ms = now_ms + _MORE_RETRIES_MS

    # ---- what a tick admitted --------------------------------------------------------------------------------

    def join(self, admitted: Iterable[int], moved: Iterable[int], now: float) -> None:
        """Puts pages that are new in the queue, or have another place in it, into the heads where they belong."""
        touched: set[Site] = set()
        for page in admitted:
            self._join(page, touched)
        for page in moved:
            self._join(page, touched)
        for site in touched:
            self._schedule.place(site, now)

    def _join(self, page: int, touched: set[Site]) -> None:
        """Puts a page into the head of its site, if it belongs there."""
        row = self._discovery.known.row(page)
        if row.state != "W" or page in self._in_flight or not self._may_wait(row.depth, row.site, row.role in NO_PAGES):
            return
        site = self._schedule.sites.get(row.site)
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
        site.push(self._discovery.waiting(row))
        touched.add(site)
        size = self._size()
        if len(site.heads) > 2 * size:
            site.trim(size)
