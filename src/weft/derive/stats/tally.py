"""Counting by site, table and name, and from site to site, in bounded memory: the rest lies in a nameless file."""

from __future__ import annotations

import heapq
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import NamedTuple

_IN_MEMORY = 300_000
_PAIRS_IN_MEMORY = 1_000_000
_CACHE_KIB = 16_384
_VISITED = 40  # bits: how many links a pair has in all stands below, how many lead to what was visited above

Name = str | int
Tables = dict[str, dict[Name, int]]


class _Spill:
    """A file without a name that holds what memory does not; SQLite deletes it when it is closed.

    Rows are only added while counting goes on, and summed once, when the first of them is read.
    """

    def __init__(self, columns: str, summed: str) -> None:
        self._columns, self._summed = columns, summed
        self.db = sqlite3.connect("", isolation_level=None)
        for setting in (f"cache_size = -{_CACHE_KIB}", "synchronous = OFF", "journal_mode = OFF"):
            self.db.execute(f"PRAGMA {setting}")
        self.db.execute(f"CREATE TABLE part({columns}, {', '.join(summed.split())})")

    def add(self, rows: list[tuple[Name, ...]]) -> None:
        if not rows:
            return
        self.db.execute("BEGIN")
        self.db.executemany(f"INSERT INTO part VALUES({', '.join('?' * len(rows[0]))})", rows)
        self.db.execute("COMMIT")

    def sum_up(self) -> None:
        sums = ", ".join(f"sum({name}) AS {name}" for name in self._summed.split())
        names = ", ".join(self._summed.split())
        self.db.execute(f"CREATE TABLE whole({self._columns}, {names}, PRIMARY KEY({self._columns})) WITHOUT ROWID")
        self.db.execute(f"INSERT INTO whole SELECT {self._columns}, {sums} FROM part GROUP BY {self._columns}")
        self.db.execute("DROP TABLE part")


class Tally:
    """Numbers by (site, table, name). Close it.

    First everything is added, then everything is read. A crawl of a thousand sites never touches the disk.
    """

    def __init__(self, in_memory: int = _IN_MEMORY) -> None:
        self._most = in_memory
        self._counts: defaultdict[tuple[int, str, Name], int] = defaultdict(int)
        self._spilled: _Spill | None = None
        self._sites: dict[int, Tables] | None = None  # what was counted, once it is read

    def close(self) -> None:
        if self._spilled is not None:
            self._spilled.db.close()

    def add(self, site: int, table: str, name: Name, number: int = 1) -> None:
        self._counts[site, table, name] += number

    def settle(self) -> None:
        """Moves the numbers to the file if there are too many; called between pages, not between numbers."""
        if len(self._counts) > self._most:
            self._spilled = self._spilled or _Spill("site, tab, name", "number")
            self._spilled.add([(*key, number) for key, number in self._counts.items()])
            self._counts.clear()

    def _read(self) -> sqlite3.Connection | None:
        """The file, summed up; None where all is in memory."""
        if self._sites is None:
            self._sites = {}
            if self._spilled is not None:
                self._spilled.add([(*key, number) for key, number in self._counts.items()])
                self._spilled.sum_up()
            else:
                for (site, table, name), number in self._counts.items():
                    self._sites.setdefault(site, {}).setdefault(table, {})[name] = number
            self._counts.clear()
        return None if self._spilled is None else self._spilled.db

    def total(self, table: str) -> dict[Name, int]:
        """The numbers of a table over all sites, by name."""
        db = self._read()
        if db is not None:
            return dict(db.execute("SELECT name, sum(number) FROM whole WHERE tab = ? GROUP BY name", (table,)))
        found: defaultdict[Name, int] = defaultdict(int)
        for tables in (self._sites or {}).values():
            for name, number in tables.get(table, {}).items():
                found[name] += number
        return dict(found)

    def of_site(self, site: int, tables: tuple[str, ...]) -> Tables:
        """The tables of one site."""
        db = self._read()
        if db is None:
            held = (self._sites or {}).get(site, {})
            return {table: held.get(table, {}) for table in tables}
        query = "SELECT name, number FROM whole WHERE site = ? AND tab = ?"
        return {table: dict(db.execute(query, (site, table))) for table in tables}

    def sites(self) -> Iterator[int]:
        """The sites of which anything was counted, in the order of their ids."""
        db = self._read()
        if db is None:
            yield from sorted(self._sites or {})
            return
        last = -1
        while (row := db.execute("SELECT min(site) FROM whole WHERE site > ?", (last,)).fetchone())[0] is not None:
            last = int(row[0])
            yield last


class Pair(NamedTuple):
    """How many links lead from one site to another: to pages visited, and to all known."""

    source: int
    target: int
    visited: int
    known: int


class Pairs:
    """Links from site to site. First everything is added, then everything is read; close it."""

    def __init__(self, in_memory: int = _PAIRS_IN_MEMORY) -> None:
        self._most = in_memory
        self._counts: defaultdict[int, int] = defaultdict(int)
        self._spilled: _Spill | None = None
        self._read = False

    def close(self) -> None:
        if self._spilled is not None:
            self._spilled.db.close()

    def add(self, source: int, target: int, known: int, visited: int) -> None:
        self._counts[source << 32 | target] += known | visited << _VISITED

    def settle(self) -> None:
        """Moves the numbers to the file if there are too many."""
        if len(self._counts) > self._most:
            self._move()

    def _move(self) -> _Spill:
        self._spilled = self._spilled or _Spill("source, target", "visited known")
        self._spilled.add([tuple(_pair(key, number)) for key, number in self._counts.items()])
        self._counts.clear()
        return self._spilled

    def largest(self, most: int) -> list[Pair]:
        """The pairs with the most links, at most so many, the largest first."""
        db = self._summed()
        if db is None:
            pairs = (_pair(key, number) for key, number in self._counts.items())
            return heapq.nsmallest(most, pairs, key=lambda pair: (-pair.known, pair.source, pair.target))
        query = "SELECT source, target, visited, known FROM whole ORDER BY known DESC, source, target LIMIT ?"
        return [Pair(*row) for row in db.execute(query, (most,))]

    def strongest(self, most: int) -> list[int]:
        """The sites with the most links from and to others, at most so many, the strongest first."""
        strength: defaultdict[int, int] = defaultdict(int)
        db = self._summed()
        if db is None:
            for pair in (_pair(key, number) for key, number in self._counts.items()):
                if pair.source != pair.target:
                    strength[pair.source] += pair.known
                    strength[pair.target] += pair.known
        else:
            for end in ("source", "target"):
                query = f"SELECT {end}, sum(known) FROM whole WHERE source <> target GROUP BY {end}"
                for site, number in db.execute(query):
                    strength[site] += number
        return heapq.nsmallest(most, strength, key=lambda site: (-strength[site], site))

    def among(self, sites: Collection[int]) -> list[Pair]:
        """The pairs between these sites."""
        db = self._summed()
        if db is None:
            pairs = (_pair(key, number) for key, number in self._counts.items())
            return [pair for pair in pairs if pair.source in sites and pair.target in sites]
        query = "SELECT source, target, visited, known FROM whole WHERE source = ?"
        rows = (Pair(*row) for source in sites for row in db.execute(query, (source,)))
        return [pair for pair in rows if pair.target in sites]

    def __len__(self) -> int:
        db = self._summed()
        return len(self._counts) if db is None else int(db.execute("SELECT count(*) FROM whole").fetchone()[0])

    def _summed(self) -> sqlite3.Connection | None:
        if self._spilled is None:
            return None
        if not self._read:
            self._read = True
            self._move().sum_up()
        return self._spilled.db


def _pair(key: int, number: int) -> Pair:
    return Pair(key >> 32, key & 0xFFFF_FFFF, number >> _VISITED, number & (1 << _VISITED) - 1)
