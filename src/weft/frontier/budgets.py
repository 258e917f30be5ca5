"""How many pages, and how much time, a site may have; what waits on a site that has had them is set aside."""

from __future__ import annotations

import sqlite3
from collections import Counter

from weft.clock import Clock
from weft.errors import Reason
from weft.frontier.pages import NO_PAGES, Role
from weft.frontier.polite import END, Site
from weft.spec import Limits

CUT_AT_ONCE = 20_000
_NO_PAGES = ", ".join(map(str, sorted(NO_PAGES)))


class FileBudget:
    """How many files may still be asked for (``--max-files``). A file that is asked again counts once."""

    def __init__(self, connection: sqlite3.Connection, most: int | None) -> None:
        self._most = most
        self._asked = 0
        if most is not None:
            (self._asked,) = connection.execute(_FILES_ASKED).fetchone()

    def take(self, attempts: int) -> bool:
        """Whether a file may be asked that was asked so often before; it counts then."""
        if self._most is None or attempts:
            return True
        if self._asked >= self._most:
            return False
        self._asked += 1
        return True


_FILES_ASKED = f"SELECT count(*) FROM page WHERE role = {Role.FILE.value} AND attempts > 0"


class Budgets:
    """See the module. ``answered`` counts pages by site before their tick, ``cut_sites`` names those being cut."""

    def __init__(self, connection: sqlite3.Connection, limits: Limits, clock: Clock, counts: dict[str, int]) -> None:
        self._db = connection
        self._clock = clock
        self._counts = counts
        self._page_limit = limits.max_pages_per_site
        self._time_limit_s = limits.max_time_per_site_s
        self.has_any = self._page_limit is not None or self._time_limit_s is not None
        self.answered: Counter[int] = Counter()  # by site: answered 2xx since the last tick
        self.cut_sites: dict[int, str] = {}
        self._cut_wholly: list[int] = []

    def is_spent(self, site: Site) -> bool:
        """Whether the site has had its pages or its time; what waits there is then set aside at the next tick."""
        reason = None
        if self._page_limit is not None:
            pages = site.pages + self.answered[site.id]
            if pages < self._page_limit <= pages + site.running + site.ahead:
                return True  # what is under way may still fail: wait for it
            if pages >= self._page_limit:
                reason = Reason.SITE_PAGES
        if self._time_limit_s is not None and site.first_ms:
            used_s = (self._clock.epoch_ms() - site.first_ms) / 1000
            if used_s >= self._time_limit_s:
                reason = Reason.SITE_TIME
        if reason is None:
            return False
        self.cut_sites[site.id] = reason.value
        if reason is Reason.SITE_PAGES:
            site.keep_files()
        else:
            site.head, site.heads, site.cursor = [], {}, END
        return True

    def is_cut(self, site_id: int, is_file: bool) -> bool:
        """Whether what waits on the site is being set aside; files do not count as pages."""
        reason = self.cut_sites.get(site_id)
        return reason is not None and not (is_file and reason == Reason.SITE_PAGES.value)

    def set_aside(self) -> None:
        """Writes what waits on sites that are over their budget, so much at a time that a tick stays short."""
        for site_id, reason in list(self.cut_sites.items()):
            number = 0
            for tried in ("NOT NULL", "NULL"):
                pages = f"AND role NOT IN ({_NO_PAGES})" if reason == Reason.SITE_PAGES.value else ""
                some = (
                    f"SELECT id FROM page WHERE site = ? AND state = 'W' AND retry_ms IS {tried} {pages}"
                    f" LIMIT {CUT_AT_ONCE}"
                )
                number = self._db.execute(
                    f"UPDATE page SET state = NULL, reason = ?, retry_ms = NULL WHERE id IN ({some})", (reason, site_id)
                ).rowcount
                self._counts["waiting"] -= number
                self._counts["refused"] += number
            if number < CUT_AT_ONCE:
                self._cut_wholly.append(site_id)

    def committed(self) -> None:
        """After the commit: nothing waits any more on the sites that were cut wholly."""
        for site_id in self._cut_wholly:
            self.cut_sites.pop(site_id, None)
        self._cut_wholly = []
