"""Visits, their links, and the places of their bodies: appended, never moved. One transaction a tick."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from weft.db.connection import insert
from weft.records import Facts, FileFacts, FilePosition, Item, PageText, Rendering, Visit
from weft.store.bodies import SharedBodies
from weft.store.items import Items

_OWN = ("id", "page", "url", "purpose", "attempt", "out_links", "external_links", "warc")
_FILE_FACT = (
    f"INSERT INTO file_fact(visit, {', '.join(FileFacts.__struct_fields__)})"
    f" VALUES(?{', ?' * len(FileFacts.__struct_fields__)})"
)
_PLACE = ("warc_offset", "warc_length", "digest", "revisit")
_VISIT = f"visit({', '.join((*_OWN, *Facts.__struct_fields__, *_PLACE))})"
_TEXT = f"INSERT OR REPLACE INTO text VALUES({', '.join('?' * (1 + len(PageText.__struct_fields__)))})"
BODIES_IN_RAM = 500_000


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
        self.totals = dict.fromkeys(("pages", "files", "links", "items", "bytes", "bugs"), 0)
        self.totals.update(
            row for row in connection.execute("SELECT name, value FROM counter").fetchall() if row[0] in self.totals
        )

        self._bodies: set[int] = set()
        self._all_bodies = self._next_visit == 1  # a new crawl: what is not in the set is new
        self._shared: SharedBodies | None = None
        self._items = Items(connection)

    def next_visit(self) -> int:
        number = self._next_visit
        self._next_visit += 1
        return number

    def stored_body(self, body_hash: int, digest: str) -> StoredBody | None:
        """A committed answer with this payload, or None. Costs a look-up only where the body may be known."""
        if self._all_bodies and body_hash not in self._bodies:
            return None
        return find_body(self._db, body_hash, digest)

    def body_seen(self, body_hash: int) -> bool:
        """Whether a body with this hash was met before; it has been from now on."""
        if body_hash in self._bodies:
            return True
        self._bodies.add(body_hash)
        if self._shared is not None:
            self._shared.add(body_hash)
        if self._all_bodies:
            if len(self._bodies) > BODIES_IN_RAM:
                self._all_bodies = False
            return False
        if len(self._bodies) > BODIES_IN_RAM:
            self._bodies.clear()
        return self._db.execute("SELECT 1 FROM visit WHERE hash = ? LIMIT 1", (body_hash,)).fetchone() is not None

    def share_bodies(self, shared: SharedBodies) -> None:
        """Tells others, from now on, which bodies were met; all of them, where all are known here."""
        self._shared = shared
        if self._all_bodies:
            shared.begin(self._bodies)

    def warc_id(self, file: str) -> int:
        """The id of a WARC file; its row is written with its positions at the tick."""
        number = self._warcs.get(file)
        if number is None:
            number = self._warcs[file] = max(self._warcs.values(), default=0) + 1
        return number

    def write(
        self,
        visits: Sequence[Visit],
        packs: Sequence[tuple[int, str]],
        positions: Mapping[str, FilePosition],
        sketches: Sequence[tuple[int, bytes]] = (),
        texts: Sequence[tuple[int, PageText]] = (),
        renderings: Sequence[tuple[int, Rendering]] = (),
        items: Sequence[tuple[Visit, Sequence[Item]]] = (),
        files: Sequence[tuple[int, FileFacts]] = (),
    ) -> None:
        """All of one tick, inside the caller's transaction."""
        self._db.executemany(
            "INSERT INTO warc VALUES(?, ?, ?, ?)"
            " ON CONFLICT(id) DO UPDATE SET committed_b = excluded.committed_b, closed = excluded.closed",
            [(self.warc_id(file), file, *place) for file, place in positions.items()],
        )
        insert(self._db, _VISIT, map(_row_of, visits), at_once=1)
        self._db.executemany("INSERT INTO link_pack VALUES(?, ?)", packs)
        self._db.executemany("INSERT INTO sketch VALUES(?, ?)", sketches)
        write_texts(self._db, texts)
        self._db.executemany(_FILE_FACT, [(visit, *msgspec.structs.astuple(facts)) for visit, facts in files])
        self._db.executemany(
            "INSERT INTO rendering VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [self._rendering_row(visit, rendering) for visit, rendering in renderings],
        )
        if items:
            self.totals["items"] += self._items.write(items)
        self._db.executemany("INSERT OR REPLACE INTO counter VALUES(?, ?)", list(self.totals.items()))

    def _rendering_row(self, visit: int, rendering: Rendering) -> tuple[object, ...]:
        """A row of ``rendering``: the visit, what is told of it, and its place in the archive."""
        *told, place = msgspec.structs.astuple(rendering)
        return visit, *told, self.warc_id(place.file) if place.file else None, place.offset, place.length

    def bug(self, at_ms: int, url: str, traceback: str) -> None:
        self.totals["bugs"] += 1
        self._db.execute("INSERT INTO bug(at_ms, url, traceback) VALUES(?, ?, ?)", (at_ms, url, traceback))


def _row_of(visit: Visit) -> tuple[object, ...]:
    """The row of a visit, in the order of ``_VISIT``."""
    lease, place = visit.lease, visit.place
    return (
        visit.id, visit.page, visit.url, int(lease.purpose), lease.attempt, visit.out_links, visit.external_links,
        visit.warc, *msgspec.structs.astuple(visit.facts), place.offset, place.length, place.digest, place.is_revisit,
    )  # fmt: skip


def write_texts(connection: sqlite3.Connection, texts: Iterable[tuple[int, PageText]]) -> None:
    """The main texts of visits, in the place of any that are there, inside the caller's transaction."""
    connection.executemany(_TEXT, ((visit, *msgspec.structs.astuple(text)) for visit, text in texts))


def find_body(connection: sqlite3.Connection, body_hash: int, digest: str) -> StoredBody | None:
    """A committed answer with this payload, or None."""
    row = connection.execute(
        "SELECT u.text, v.started_ms, v.digest FROM visit v JOIN url u ON u.id = v.url"
        " WHERE v.hash = ? AND v.digest = ? AND v.warc IS NOT NULL AND v.revisit = 0 ORDER BY v.id LIMIT 1",
        (body_hash, digest),
    ).fetchone()  # fmt: skip
    return StoredBody(*row) if row is not None else None
