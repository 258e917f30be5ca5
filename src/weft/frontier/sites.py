"""Which sites are in RAM: those at work, and some of those that have work. All others lie on disk, however many.

A site is no more than its clock (a row of ``site``) and its queue (a range of the index of ``page``), so it can leave
RAM between two ticks, and come back when a sweep over the index meets it. With fewer sites than fit, all stay.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from math import ceil

import msgspec

from weft.clock import Clock
from weft.frontier.polite import END, START, Schedule, Site
from weft.spec import CrawlSpec, Paces
from weft.url import host_of_site

IN_RAM = 20_000
SWEPT = 1_000  # sites met by a sweep at once, and how many may be in RAM beyond the bound until the next tick
_DAY_S = 86_400.0
SOON_S = 5.0  # a site that rests longer is left on disk
_CROWDED_S = 0.05
_FRUITLESS_MS = 20


class Sites:
    """See the module. ``name_of_new`` gives the name of a site that is not in the database yet, None for others."""

    def __init__(
        self, connection: sqlite3.Connection, schedule: Schedule, clock: Clock, spec: CrawlSpec, paces: Paces,
        name_of_new: Callable[[int], str | None], in_ram: int = IN_RAM,
    ) -> None:  # fmt: skip
        self._db = connection
        self._schedule = schedule
        self._sites = schedule.sites
        self._clock = clock
        self._paces = paces
        self._longest_s = spec.politeness.max_crawl_delay_s
        self._name_of_new = name_of_new
        self._in_ram = in_ram
        self._not_before: float | None = None  # after a kill: when this run began
        self.on_disk = False  # whether sites with work may be found there
        self._cursor = 0
        self._met = self._rested = False  # in this round: a site on disk; one that came to RAM
        self._next_ms: int | None = None  # in this round: when the first of those that rest may be asked
        self._sweep_ms = 0
        self.newly_asked = 0  # sites that were asked for the first time since the last tick
        self.retries_ms: int | None = None  # when to look again for pages to be tried again: their sites left RAM

    def begin(self, *, killed: bool) -> None:
        """Everything is on disk. After a kill the last starts are unknown: each site rests its delay once more."""
        self._not_before = self._clock.seconds() if killed else None
        self.look_on_disk()

    def delay_s(self, site_name: str, crawl_delay_s: float | None) -> float:
        """What robots.txt asks for, up to a bound; never below the operator's own delay."""
        own_s = self._paces.delay_s(site_name)
        return max(own_s, min(crawl_delay_s, self._longest_s)) if crawl_delay_s else own_s

    def saves_requests(self, site_name: str, crawl_delay_s: float | None) -> bool:
        """Whether robots.txt asks for more than a day from request to request, and gets less: such a site means that
        each request counts, so its sitemaps wait for its pages.
        """
        asked_s = crawl_delay_s or 0.0
        return asked_s > _DAY_S and self.delay_s(site_name, asked_s) < asked_s

    # ---- into RAM --------------------------------------------------------------------------------------------

    def get(self, site_id: int) -> Site:
        """The site, brought to RAM where it is not there, with its clock as stored."""
        site = self._sites.get(site_id)
        if site is None:
            name = self._name_of_new(site_id)
            if name is not None:
                site = self._make(site_id, name, None)
            else:
                site = self._restore(self._db.execute(f"{_SITE} WHERE s.id = ?", (site_id,)).fetchone())
        return site

    def _make(self, site_id: int, name: str, crawl_delay_s: float | None) -> Site:
        site = Site(site_id, name, host_of_site(name), self.delay_s(name, crawl_delay_s), self._paces.per_host(name))
        site.reads_later = self.saves_requests(name, crawl_delay_s)
        self._sites[site_id] = site
        self._schedule.touched.add(site)
        return site

    def _restore(self, row: tuple[int, str, int | None, int, int, int, int, float | None]) -> Site:
        site_id, name, first_ms, next_ms, slow, failures, pages, delay = row
        site = self._make(site_id, name, delay)
        site.cursor = START  # what waits on disk is looked for when its turn comes
        rest_s = (next_ms - self._clock.epoch_ms()) / 1000
        if rest_s > 0:
            site.next_at = self._clock.seconds() + rest_s
        if self._not_before is not None:
            site.next_at = max(site.next_at, self._not_before + site.delay_s)
        site.slow_answers, site.failures, site.pages, site.first_ms = slow, failures, pages, first_ms or 0
        return site

    def note_request(self, site: Site) -> None:
        """The first request of a site starts the time that --max-time-per-site bounds, and counts the site as asked."""
        if not site.first_ms:
            site.first_ms = self._clock.epoch_ms()
            self.newly_asked += 1

    @property
    def is_full(self) -> bool:
        return len(self._sites) >= self._in_ram

    def look_on_disk(self) -> None:
        """There may be sites with work on disk, ready to be asked."""
        self.on_disk = self._met = True
        self._sweep_ms = 0

    def sweep(self, now: float) -> bool:
        """Brings some sites with work from disk to RAM, as a round over all of them goes on; whether it brought any."""
        if not self.on_disk or len(self._sites) >= self._in_ram + SWEPT or self._clock.epoch_ms() < self._sweep_ms:
            return False
        found = [row[0] for row in self._db.execute(_NEXT_SITES, (self._cursor, SWEPT))]
        cold = [site_id for site_id in found if site_id not in self._sites]
        brought = self._bring(cold, now) if cold else 0
        self._met = self._met or bool(cold)
        self._rested = self._rested or bool(brought)
        if len(found) < SWEPT:
            self._end_round()
        else:
            self._cursor = found[-1]
            if not brought:  # millions of sites may rest: those that do not must not wait for the round over them
                self._sweep_ms = self._clock.epoch_ms() + _FRUITLESS_MS
        return bool(brought)

    def _bring(self, site_ids: list[int], now: float) -> int:
        """How many of these sites came to RAM; the others rest for long."""
        until_ms = self._clock.epoch_ms() + int(SOON_S * 1000)
        ids = msgspec.json.encode(site_ids).decode()
        rows = self._db.execute(f"{_SITE} {_OF_THESE} WHERE s.next_access_ms <= ?", (ids, until_ms)).fetchall()
        for row in rows:
            self._schedule.place(self._restore(row), now)
        if len(rows) < len(site_ids):
            (next_ms,) = self._db.execute(
                f"SELECT min(next_access_ms) FROM site s {_OF_THESE} WHERE s.next_access_ms > ?", (ids, until_ms)
            ).fetchone()
            self._next_ms = next_ms if self._next_ms is None else min(next_ms, self._next_ms)
        return len(rows)

    def _end_round(self) -> None:
        self._cursor = 0
        if not self._met:
            self.on_disk = False
        elif not self._rested and self._next_ms is not None:
            self._sweep_ms = self._next_ms - int(SOON_S * 1000)
        self._met, self._rested, self._next_ms = False, False, None

    def wait_s(self) -> float | None:
        """Seconds until a sweep may bring something; None if nothing is on disk."""
        if not self.on_disk:
            return None
        if len(self._sites) >= self._in_ram + SWEPT:
            return _CROWDED_S
        return max(0.0, (self._sweep_ms - self._clock.epoch_ms()) / 1000)

    # ---- out of RAM ------------------------------------------------------------------------------------------

    def store(self) -> None:
        """Writes the clocks that changed, inside the caller's transaction."""
        now, now_ms = self._clock.seconds(), self._clock.epoch_ms()
        changed, self._schedule.changed = self._schedule.changed, set()
        self._db.executemany(
            "UPDATE site SET first_access_ms = ?, next_access_ms = ?, slow_answers = ?, failures = ?, pages = ?"
            " WHERE id = ?",
            [
                (
                    site.first_ms or None, now_ms + ceil(max(0.0, site.next_at - now) * 1000),
                    site.slow_answers, site.failures, site.pages, site.id,
                )
                for site in changed
            ],
        )  # fmt: skip

    def let_go(self, now: float) -> None:
        """After a commit: idle sites leave RAM, and so do those that have had their turn while others wait."""
        touched, self._schedule.touched = self._schedule.touched, set()
        changed = self._schedule.changed
        for site in touched:
            if site.is_bound or site in changed or self._sites.get(site.id) is not site:
                continue
            if site.is_through:
                self._leave(site)
            elif not site.placed and not site.has_work:
                del self._sites[site.id]
        if len(self._sites) > self._in_ram:
            self._make_room(now)

    def _make_room(self, now: float) -> None:
        """Too many are in RAM: those whose turn is farthest away go first."""
        changed = self._schedule.changed
        free = [site for site in self._sites.values() if not site.is_bound and site not in changed]
        free.sort(key=lambda site: site.next_at, reverse=True)
        for site in free[: len(self._sites) - self._in_ram]:
            self._leave(site)

    def _leave(self, site: Site) -> None:
        del self._sites[site.id]
        if site.heads:
            at_ms = self._clock.epoch_ms() + int(max(0.0, site.next_at - self._clock.seconds()) * 1000)
            self.retries_ms = at_ms if self.retries_ms is None else min(at_ms, self.retries_ms)
        if site.cursor is not END or site.heads:
            self.on_disk = self._met = True
            if site.next_at <= self._clock.seconds() + SOON_S:
                self._sweep_ms = 0


_SITE = """
SELECT s.id, s.name, s.first_access_ms, s.next_access_ms, s.slow_answers, s.failures, s.pages,
    (SELECT max(crawl_delay_s) FROM origin WHERE name IN ('http://' || s.name, 'https://' || s.name))
FROM site s
"""
_OF_THESE = "JOIN json_each(?) j ON j.value = s.id"
_QUEUE = "FROM page INDEXED BY page_queue WHERE state = 'W' AND retry_ms IS NULL AND site >"
_NEXT_SITES = f"""
WITH RECURSIVE next(site) AS (
    SELECT * FROM (SELECT site {_QUEUE} ?1 ORDER BY site LIMIT 1)
    UNION ALL
    SELECT (SELECT site {_QUEUE} next.site ORDER BY site LIMIT 1) FROM next WHERE next.site IS NOT NULL)
SELECT site FROM next WHERE site IS NOT NULL LIMIT ?2
"""
