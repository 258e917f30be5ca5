"""Two crawls side by side, page by page, matched by key. Kept in a temporary database: memory does not grow with them.

A page is there if it was answered with 2xx. Links are those of the kinds that the newer crawl followed, each pair of
page and target once. A page whose body did not change has the links it had.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import msgspec

from weft.derive.graph.select import followed_kinds, spellings
from weft.derive.read import StoredCrawl
from weft.derive.read.links import hops_of
from weft.ports import Progress, silent
from weft.records import LinkKind, Purpose

ADDED, GONE, CHANGED, MOVED, SAME = "added", "gone", "changed", "moved", "unchanged"
_CHUNK = 1_000
_MOST_HOPS = 20


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One difference. ``target`` is where a link leads, or where a page has moved to."""

    what: str  # page, link
    change: str  # added, gone, changed, moved
    url: str
    target: str | None
    old_status: int | None
    new_status: int | None


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How many of each."""

    pages: dict[str, int]
    links: dict[str, int]


class Pair(NamedTuple):
    """A page as both crawls have it; what one of them never asked is None there."""

    id: int
    old_url: str | None
    old_visit: int | None
    old_status: int | None
    old_hash: int | None
    old_title: str | None
    new_url: str | None
    new_visit: int | None
    new_status: int | None
    new_hash: int | None
    new_title: str | None
    new_redirect: str | None

    @property
    def url(self) -> str:
        return self.new_url or self.old_url or ""

    @property
    def change(self) -> str | None:
        """What became of the page; None where it was there neither then nor now."""
        was, now = _there(self.old_status), _there(self.new_status)
        if was and now:
            return SAME if self.old_hash == self.new_hash else CHANGED
        if was:
            return MOVED if self.new_redirect and 300 <= (self.new_status or 0) < 400 else GONE
        return ADDED if now else None


def _there(status: int | None) -> bool:
    return status is not None and 200 <= status <= 299


class Side:
    """One of the two crawls."""

    def __init__(self, crawl: StoredCrawl, name: str) -> None:
        self.crawl = crawl
        self.name = name
        self.newest = crawl.newest_visit()
        self.size = crawl.newest_url() + 1
        self.pair_of = array("i", [0]) * self.size  # the pair that the page of a URL's id belongs to; 0: none

    def pages(self) -> Iterator[tuple[object, ...]]:
        """Key and facts of every page that was asked, as the newest visit tells."""
        last = 0
        while rows := self.crawl.connection.execute(
            _PAGES, {"after": last, "newest": self.newest, "most": _CHUNK}
        ).fetchall():
            last = rows[-1][-1]
            yield from (row[:-1] for row in rows)

    def spread(self) -> None:
        """Other spellings of a page belong to its pair."""
        for alias, page in spellings(self.crawl, self.size):
            if page < self.size:
                self.pair_of[alias] = self.pair_of[page]

    def targets(self, visits: list[int], kinds: frozenset[int]) -> dict[int, list[int]]:
        """For each visit the ids of the URLs that its links lead to, each once, in the order of the document."""
        rows = self.crawl.connection.execute(_PACKS, (msgspec.json.encode(visits).decode(),)).fetchall()
        hops = {visit: hops_of(self.crawl, links, visit) for visit, links in rows}
        return {
            visit: list(dict.fromkeys(hop.target for hop in some if hop.kind in kinds)) for visit, some in hops.items()
        }

    def keys(self, ids: set[int]) -> dict[int, str]:
        """The key of each URL's id."""
        rows = self.crawl.connection.execute(_KEYS, (msgspec.json.encode(sorted(ids)).decode(),))
        return dict(rows.fetchall())


class Comparison:
    """What changed from an older crawl to a newer one. Use as a context manager, or close it."""

    def __init__(self, old: StoredCrawl, new: StoredCrawl, progress: Progress = silent) -> None:
        self.old, self.new = Side(old, "old"), Side(new, "new")
        self.kinds = followed_kinds(new) - {LinkKind.REDIRECT.value}
        self._db = sqlite3.connect("", isolation_level=None)  # a temporary file, gone when closed
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute(_TABLE)
        for side in (self.old, self.new):
            self._load(side, progress)
        self._link_counts: dict[str, int] = {}

    def __enter__(self) -> Comparison:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    def _load(self, side: Side, progress: Progress) -> None:
        insert = _INSERT.replace("SIDE", side.name)
        rows = side.pages()
        self._db.execute("BEGIN")
        while batch := list(islice(rows, _CHUNK)):
            self._db.executemany(insert, batch)
            progress(f"reading the {side.name} crawl", int(str(batch[-1][2])), side.size)
        self._db.execute("COMMIT")
        column = f"{side.name}_page"
        for pair, page in self._db.execute(f"SELECT id, {column} FROM pair WHERE {column} IS NOT NULL"):
            if page < side.size:
                side.pair_of[page] = pair
        side.spread()

    # ---- pages -----------------------------------------------------------------------------------------------

    def pairs(self) -> Iterator[Pair]:
        """Every page that one of the crawls asked."""
        last = 0
        while rows := self._db.execute(_PAIRS, (last, _CHUNK)).fetchall():
            last = rows[-1][0]
            yield from map(Pair._make, rows)

    def pages(self) -> Iterator[Change]:
        """The pages that are not as they were."""
        for pair in self.pairs():
            change = pair.change
            if change is not None and change != SAME:
                target = self._moved_to(pair.new_redirect) if change == MOVED else None
                yield Change(
                    what="page", change=change, url=pair.url, target=target, old_status=pair.old_status,
                    new_status=pair.new_status,
                )  # fmt: skip

    def _moved_to(self, url: str | None) -> str | None:
        """Where a chain of redirects ends in the newer crawl, as far as it was followed."""
        seen: set[str] = set()
        crawl = self.new.crawl
        while url is not None and url not in seen and len(seen) < _MOST_HOPS:
            seen.add(url)
            page = crawl.page_id(url)
            row = None if page is None else crawl.connection.execute(_NEXT, (page,)).fetchone()
            if row is None or row[0] is None:
                break
            url = row[0]
        return url

    # ---- links -----------------------------------------------------------------------------------------------

    def links(self, progress: Progress = silent) -> Iterator[Change]:
        """The links that were added and those that are gone; counts those that stayed."""
        same = 0
        counts = dict.fromkeys((ADDED, GONE), 0)
        for pair, old, new in self.link_targets(progress):
            if pair.change == SAME:
                same += len(new)
                continue
            before = self.old.keys(set(old)) if old else {}
            after = self.new.keys(set(new)) if new else {}
            was, now = dict.fromkeys(map(before.__getitem__, old)), dict.fromkeys(map(after.__getitem__, new))
            same += len(was.keys() & now.keys())
            for change, several, others in ((ADDED, now, was), (GONE, was, now)):
                for target in several:
                    if target not in others:
                        counts[change] += 1
                        yield Change(
                            what="link", change=change, url=pair.url, target=target, old_status=pair.old_status,
                            new_status=pair.new_status,
                        )  # fmt: skip
        self._link_counts = {**counts, SAME: same}

    def link_targets(self, progress: Progress = silent) -> Iterator[tuple[Pair, list[int], list[int]]]:
        """Each page with the ids of its targets in the older and in the newer crawl, where it was there."""
        pairs = self.pairs()
        total = int(self._db.execute("SELECT count(*) FROM pair").fetchone()[0])
        done = 0
        while batch := list(islice(pairs, 500)):
            progress("comparing links", done, total)
            done += len(batch)
            was = {pair.id: pair.old_visit for pair in batch if pair.old_visit and _there(pair.old_status)}
            now = {pair.id: pair.new_visit for pair in batch if pair.new_visit and _there(pair.new_status)}
            old = self.old.targets(sorted(was.values()), self.kinds)
            new = self.new.targets(sorted(now.values()), self.kinds)
            for pair in batch:
                if pair.id in was or pair.id in now:
                    yield pair, old.get(was.get(pair.id, 0), []), new.get(now.get(pair.id, 0), [])

    def changes(self, progress: Progress = silent) -> Iterator[Change]:
        """All that changed: pages first, then links."""
        yield from self.pages()
        yield from self.links(progress)

    def counts(self, progress: Progress = silent) -> Counts:
        """How many pages and links were added, are gone, changed, moved, stayed."""
        pages = dict.fromkeys((ADDED, GONE, CHANGED, MOVED, SAME), 0)
        for pair in self.pairs():
            if pair.change is not None:
                pages[pair.change] += 1
        for _ in self.links(progress):
            pass
        return Counts(pages=pages, links=self._link_counts)


_TABLE = """
CREATE TABLE pair(
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,
    old_url, old_page, old_visit, old_status, old_hash, old_title, old_redirect,
    new_url, new_page, new_visit, new_status, new_hash, new_title, new_redirect)
"""
_INSERT = """
INSERT INTO pair(key, SIDE_url, SIDE_page, SIDE_visit, SIDE_status, SIDE_hash, SIDE_title, SIDE_redirect)
VALUES(?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT(key) DO UPDATE SET SIDE_url = excluded.SIDE_url, SIDE_page = excluded.SIDE_page,
    SIDE_visit = excluded.SIDE_visit, SIDE_status = excluded.SIDE_status, SIDE_hash = excluded.SIDE_hash,
    SIDE_title = excluded.SIDE_title, SIDE_redirect = excluded.SIDE_redirect
"""
_PAIRS = """
SELECT id, old_url, old_visit, old_status, old_hash, old_title, new_url, new_visit, new_status, new_hash, new_title,
       new_redirect
FROM pair WHERE id > ? ORDER BY id LIMIT ?
"""
# The newest visit that says more than "not modified", up to the moment the comparison began.
_PAGES = f"""
SELECT coalesce(p.key, o.text), u.text, p.id, v.id, CASE WHEN v.cause IS NULL THEN v.status END, v.hash, v.title,
       v.redirect_to, p.id
FROM page p JOIN url o ON o.id = p.id JOIN page_url u ON u.page = p.id
     JOIN visit v ON v.id = (SELECT max(w.id) FROM visit w WHERE w.page = p.id AND w.id <= :newest
                             AND w.purpose = {Purpose.PAGE.value} AND w.status IS NOT 304)
WHERE p.id > :after ORDER BY p.id LIMIT :most
"""
_PACKS = "SELECT l.visit, l.links FROM json_each(?) j JOIN link_pack l ON l.visit = j.value"
_KEYS = """
SELECT t.id, coalesce(p.key, o.text, t.text) FROM json_each(?) j JOIN url t ON t.id = j.value
     LEFT JOIN page p ON p.id = coalesce(t.page, t.id) LEFT JOIN url o ON o.id = p.id
"""
_NEXT = "SELECT v.redirect_to FROM page p JOIN visit v ON v.id = p.visit WHERE p.id = ?"
