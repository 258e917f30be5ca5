"""Which sitemap files of which site are still to be read; they wait in a table of their own, not among the pages."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import msgspec

from weft.records import Lease, Purpose

FILES_A_SITE = 500
LEVELS = 4  # an index of indexes of indexes is where it ends, a redirect included


class SitemapQueue:
    """Each sitemap URL once; leases for those that wait. Writes inside the caller's transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._next = int(connection.execute("SELECT coalesce(max(id), 0) FROM sitemap").fetchone()[0]) + 1
        self._levels: dict[int, int] = {}  # of those under way
        self._new: list[tuple[int, int, str, int]] = []
        self._tried: list[tuple[int, int]] = []
        self._ended: list[tuple[str, str | None, int, int, int]] = []
        self._known: dict[int, set[str]] = {}  # site -> its files

    def waiting(self) -> list[Lease]:
        """What an earlier run left to read."""
        rows = self._db.execute(
            "SELECT s.id, u.text, s.site, s.level, s.attempts FROM sitemap s JOIN url u ON u.id = s.url"
            " WHERE s.state = 'W' ORDER BY s.id"
        ).fetchall()
        self._levels.update((number, level) for number, _, _, level, _ in rows)
        return [
            Lease(page=number, url=url, site=site, purpose=Purpose.SITEMAP, attempt=attempts + 1)
            for number, url, site, _, attempts in rows
        ]

    def add(self, url: str, site: int, parent: int | None) -> Lease | None:
        """The lease for a sitemap that is new; None where it is known, too deep in indexes, or one too many."""
        level = 0 if parent is None else self._levels.get(parent, 0) + 1
        known = self._known_of(site)
        if level > LEVELS or len(known) >= FILES_A_SITE or url in known:
            return None
        known.add(url)
        number = self._next
        self._next += 1
        self._levels[number] = level
        self._new.append((number, site, url, level))
        return Lease(page=number, url=url, site=site, purpose=Purpose.SITEMAP)

    def put_off(self, lease: Lease) -> None:
        """Leaves a sitemap that is new to a later run."""
        self._levels.pop(lease.page, None)

    def _known_of(self, site: int) -> set[str]:
        """The files of a site, read once a tick: there are few of them, and an index may name each a thousand times."""
        known = self._known.get(site)
        if known is None:
            rows = self._db.execute("SELECT u.text FROM sitemap s JOIN url u ON u.id = s.url WHERE s.site = ?", (site,))
            known = self._known[site] = {text for (text,) in rows}
        return known

    def again(self, lease: Lease) -> Lease:
        """The lease for the next attempt. How many there were is kept: a resume gives it no more of them."""
        self._tried.append((lease.attempt, lease.page))
        return msgspec.structs.replace(lease, attempt=lease.attempt + 1)

    def end(self, lease: Lease, cause: str | None, entries: int) -> None:
        """The file was read, or could not be. Where it leads to may still be added until the next ``flush``."""
        self._ended.append(("C" if cause is None else "E", cause, entries, lease.attempt, lease.page))

    def flush(self, name: Callable[[str], int]) -> None:
        """``name`` gives the id of a URL's text."""
        self._db.executemany(
            "INSERT OR IGNORE INTO sitemap(id, site, url, state, level) VALUES(?, ?, ?, 'W', ?)",
            [(number, site, name(url), level) for number, site, url, level in self._new],
        )
        self._db.executemany("UPDATE sitemap SET attempts = ? WHERE id = ?", self._tried)
        self._db.executemany(
            "UPDATE sitemap SET state = ?, cause = ?, entries = ?, attempts = ? WHERE id = ?", self._ended
        )
        for *_, number in self._ended:
            self._levels.pop(number, None)
        self._new, self._tried, self._ended = [], [], []
        self._known.clear()
