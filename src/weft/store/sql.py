"""Visits, their links, and the places of their bodies: appended, never moved. One transaction a tick."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache

import msgspec

from weft.records import Visit

_COLUMNS = ", ".join("?" * len(Visit.__struct_fields__))
_INSERT_VISIT = f"INSERT INTO visit({', '.join(Visit.__struct_fields__)}) VALUES({_COLUMNS})"
BODIES_IN_RAM = 500_000
_encode = msgspec.json.Encoder().encode


class StoredBody(msgspec.Struct, frozen=True):
    """An earlier answer with the same payload, as a revisit record names it."""

    url: str
    started_ms: int
    digest: str


class SqlStore:
    """The write side of the tables ``visit``, ``link_pack``, ``warc`` and the small ones beside them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._next_visit = int(connection.execute("SELECT coalesce(max(id), 0) FROM visit").fetchone()[0]) + 1
        self._warcs: dict[str, int] = {file: number for number, file in connection.execute("SELECT id, file FROM warc")}
        self.totals = dict.fromkeys(("pages", "links", "items", "bytes", "bugs"), 0)
        self.totals.update(
            row for row in connection.execute("SELECT name, value FROM counter").fetchall() if row[0] in self.totals
        )

        self._bodies: set[int] = set()
        self._all_bodies = self._next_visit == 1  # a new crawl: what is not in the set is new

    def next_visit(self) -> int:
        number = self._next_visit
        self._next_visit += 1
        return number

    def stored_body(self, body_hash: int, digest: str) -> StoredBody | None:
        """A committed answer with this payload, or None. Costs a look-up only where the body may be known."""
        if self._all_bodies and body_hash not in self._bodies:
            return None
        return find_body(self._db, body_hash, digest)

    def meets_body(self, body_hash: int) -> bool:
        """Whether a body with this hash was met before; it has been from now on."""
        if body_hash in self._bodies:
            return True
        self._bodies.add(body_hash)
        if self._all_bodies:
            if len(self._bodies) > BODIES_IN_RAM:
                self._all_bodies = False
            return False
        if len(self._bodies) > BODIES_IN_RAM:
            self._bodies.clear()
        return self._db.execute("SELECT 1 FROM visit WHERE hash = ? LIMIT 1", (body_hash,)).fetchone() is not None

    def warc_id(self, file: str) -> int:
        """The id of a WARC file; its row is written with its positions at the tick."""
        number = self._warcs.get(file)
        if number is None:
            number = self._warcs[file] = max(self._warcs.values(), default=0) + 1
        return number

    def write(
        self,
        visits: Sequence[Visit],
        packs: Sequence[tuple[int, Sequence[object]]],
        positions: Mapping[str, tuple[int, bool]],
        sketches: Sequence[tuple[int, bytes]] = (),
    ) -> None:
        """All of one tick, inside the caller's transaction."""
        self._db.executemany(
            "INSERT INTO warc VALUES(?, ?, ?, ?)"
            " ON CONFLICT(id) DO UPDATE SET committed_b = excluded.committed_b, closed = excluded.closed",
            [(self.warc_id(file), file, size, closed) for file, (size, closed) in positions.items()],
        )
        self._db.executemany(_INSERT_VISIT, map(msgspec.structs.astuple, visits))
        self._db.executemany(
            "INSERT INTO link_pack VALUES(?, ?)", [(visit, _encode(links).decode()) for visit, links in packs if links]
        )
        self._db.executemany("INSERT INTO sketch VALUES(?, ?)", sketches)
        self._db.executemany("INSERT OR REPLACE INTO counter VALUES(?, ?)", list(self.totals.items()))

    def bug(self, at_ms: int, url: str, traceback: str) -> None:
        self.totals["bugs"] += 1
        self._db.execute("INSERT INTO bug(at_ms, url, traceback) VALUES(?, ?, ?)", (at_ms, url, traceback))


def find_body(connection: sqlite3.Connection, body_hash: int, digest: str) -> StoredBody | None:
    """A committed answer with this payload, or None."""
    row = connection.execute(
        "SELECT u.text, v.started_ms, v.digest FROM visit v JOIN url u ON u.id = v.url"
        " WHERE v.hash = ? AND v.digest = ? AND v.warc IS NOT NULL ORDER BY v.id LIMIT 1", (body_hash, digest)
    ).fetchone()  # fmt: skip
    return StoredBody(*row) if row is not None else None


@lru_cache(maxsize=4096)
def iso_of_http_date(text: str | None) -> str | None:
    """An HTTP date as ISO 8601 UTC with Z; None where it is missing or no date (T8)."""
    if not text:
        return None
    try:
        moment = _plain_date(text) or _any_date(text)
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, IndexError, TypeError):
        return None


def _plain_date(text: str) -> datetime | None:
    """The date of the form that nearly all servers send, ``Sun, 06 Nov 1994 08:49:37 GMT``; None for every other."""
    if len(text) != 29 or text[3:5] != ", " or text[25:] != " GMT" or text[7:12] not in _MONTHS:
        return None
    day, year, clock = text[5:7], text[12:16], text[17:25].split(":")
    if text[16] != " " or len(clock) != 3 or not (day + year + "".join(clock)).isdecimal() or clock[2] == "60":
        return None
    hour, minute, second = map(int, clock)
    return datetime(int(year), _MONTHS[text[7:12]], int(day), hour, minute, second, tzinfo=UTC)


def _any_date(text: str) -> datetime:
    from email.utils import parsedate_to_datetime  # loads a dozen modules

    moment = parsedate_to_datetime(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


_MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {f" {name} ": number for number, name in enumerate(_MONTH_NAMES, 1)}


def iso_of_ms(epoch_ms: int | None) -> str | None:
    """An instant as ISO 8601 UTC with Z, milliseconds kept."""
    return None if epoch_ms is None else f"{_iso_of_s(epoch_ms // 1000)}.{epoch_ms % 1000:03d}Z"


@lru_cache(maxsize=64)
def _iso_of_s(epoch_s: int) -> str:
    return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%dT%H:%M:%S")
