"""The names of sites and their ids. What is new is kept in RAM until the tick writes it."""

from __future__ import annotations

import sqlite3

_IN_RAM = 200_000


class SiteNames:
    """Gives every site its id, inside the caller's transaction."""

    def __init__(self, connection: sqlite3.Connection, counts: dict[str, int]) -> None:
        self._db = connection
        self._counts = counts
        self._new: dict[int, str] = {}
        self._ids: dict[str, int] = {}
        self._next = int(connection.execute("SELECT coalesce(max(id), 0) FROM site").fetchone()[0]) + 1
        self._has_all = self._next == 1  # a new crawl: what is not in RAM is new

    def id_of(self, name: str) -> int:
        """The id of a site by name; it is made if it is new."""
        site_id = self._ids.get(name)
        if site_id is None:
            row = None if self._has_all else self._stored(name)
            if row is None:
                site_id = self._next
                self._next += 1
                self._new[site_id] = name
                self._counts["hosts"] += 1
            else:
                site_id = int(row[0])
            if len(self._ids) > _IN_RAM:
                self.shed()
            self._ids[name] = site_id
        return site_id

    def _stored(self, name: str) -> tuple[int] | None:
        row: tuple[int] | None = self._db.execute("SELECT id FROM site WHERE name = ?", (name,)).fetchone()
        return row

    def of_new(self, site_id: int) -> str | None:
        """The name of a site that is not in the database yet."""
        return self._new.get(site_id)

    def flush(self) -> None:
        """Writes what is new, inside the caller's transaction."""
        self._db.executemany("INSERT INTO site(id, name) VALUES(?, ?)", self._new.items())

    def committed(self) -> None:
        """After the commit: nothing is new any more."""
        self._new = {}

    def shed(self) -> None:
        """Gives back the memory of what can be read again."""
        self._ids = {name: number for number, name in self._new.items()}
        self._has_all = False
