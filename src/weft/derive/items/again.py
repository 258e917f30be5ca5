"""Extraction over a stored crawl: on all cores, without the network; the same as if asked while crawling."""

from __future__ import annotations

import os
import sqlite3
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

import msgspec

from weft.db.connection import open_writer
from weft.db.schema import MIGRATIONS
from weft.derive.body import answer_of_visit, page_of
from weft.derive.read import StoredCrawl
from weft.derive.texts import text_row_of
from weft.errors import WeftError
from weft.extract.extractor import NOTHING, Extracted, Extractor
from weft.parse.source import READING
from weft.ports import Progress, silent
from weft.records import RENDERED_TYPE, Item, PageText, Purpose
from weft.spec import Extract, Harvest
from weft.store.items import Items
from weft.store.visits import write_texts

_PAGES_AT_ONCE = 64


class Page(NamedTuple):
    """A page that was answered 2xx: the visit that counts, and what is known of its body."""

    id: int
    visit: int
    url: str
    media: str
    encoding: str | None


class Wanted(NamedTuple):
    """What is looked for: items, and main texts with their keywords."""

    items: Harvest
    texts: Extract

    @property
    def is_anything(self) -> bool:
        """Whether anything is looked for."""
        return self.items.is_wanted or self.texts.wants_text


class Read(NamedTuple):
    """What one page holds."""

    items: list[Item] | None = None  # None where none are looked for
    text: PageText | None = None
    is_gone: bool = False  # its body is gone from the archive
    bug: str = ""  # the traceback, where a bug took what it holds


class Outcome(msgspec.Struct, frozen=True):
    """What became of an extraction."""

    pages: int
    items: int
    texts: int
    unread: int  # pages whose bodies are gone from the archive
    bugs: int  # pages that a bug of weft kept from being read


def extract_again(crawl: StoredCrawl, wanted: Wanted, progress: Progress = silent) -> Outcome:
    """Puts what all pages hold in the place of what is there of the same kinds. The caller holds the folder's lock."""
    names = Extractor(wanted.items, READING).names
    total = crawl.scalar(f"SELECT count(*) {_PAGES}")
    database = open_writer(crawl.folder.db, MIGRATIONS)
    pages = unread = bugs = 0
    try:
        items = Items(database.connection)
        for done in _batches(crawl, wanted):
            with database.transaction() as connection:
                for page, read in done:
                    pages += 1
                    unread += read.is_gone
                    if read.items is not None:
                        items.replace(page.visit, page.id, names, read.items)
                    if read.bug:
                        bugs += 1
                        connection.execute(_BUG, (int(time.time() * 1000), page.url, read.bug))
                write_texts(connection, [(page.visit, read.text) for page, read in done if read.text is not None])
            progress("extracting", pages, total)
        with database.transaction() as connection:
            counts = {name: _count(connection, name) for name in ("item", "text", "bug")}
            kept = [("items", counts["item"]), ("bugs", counts["bug"])]
            connection.executemany("INSERT OR REPLACE INTO counter VALUES(?, ?)", kept)
    finally:
        database.close()
    return Outcome(pages, counts["item"], counts["text"], unread, bugs)


def _count(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def extract_page(crawl: StoredCrawl, page_id: int, extractor: Extractor) -> Extracted:
    """The items of one page; ``WeftError`` where its body cannot be had."""
    row = crawl.connection.execute(f"{_PAGE} AND p.id = ?", (page_id,)).fetchone()
    return NOTHING if row is None else _extracted(crawl, Page(*row), extractor)


def _batches(crawl: StoredCrawl, wanted: Wanted) -> Iterator[list[tuple[Page, Read]]]:
    """What all pages hold, in batches, in the order of the pages."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    batches = _pages(crawl)
    first = next(batches, None)
    if first is None:
        return
    second = next(batches, None)
    if cores < 2 or second is None:
        reader = _Reader(crawl, wanted)
        yield reader.read_all(first)
        for batch in (second, *batches) if second is not None else ():
            yield reader.read_all(batch)
        return
    with ProcessPoolExecutor(
        cores, mp_context=get_context("spawn"), initializer=_begin, initargs=(str(crawl.folder.path), wanted)
    ) as pool:
        waiting = [pool.submit(_read_in_worker, batch) for batch in (first, second)]
        for batch in batches:
            waiting.append(pool.submit(_read_in_worker, batch))
            if len(waiting) > 4 * cores:
                yield waiting.pop(0).result()
        for one in waiting:
            yield one.result()


class _Reader:
    """Reads what pages hold."""

    def __init__(self, crawl: StoredCrawl, wanted: Wanted) -> None:
        self._crawl = crawl
        self._extractor = Extractor(wanted.items, READING) if wanted.items.is_wanted else None
        self._texts = wanted.texts

    def read_all(self, pages: list[Page]) -> list[tuple[Page, Read]]:
        return [(page, self._read(page)) for page in pages]

    def _read(self, page: Page) -> Read:
        try:
            items = _extracted(self._crawl, page, self._extractor).items if self._extractor is not None else None
            wanted = self._texts
            return Read(items, text_row_of(self._crawl, page.visit, wanted.keywords) if wanted.wants_text else None)
        except WeftError:
            return Read(is_gone=True)
        except Exception:  # the border to the parser and to patterns of the user: the other pages are read all the same
            return Read(bug=traceback.format_exc())


_worker: list[_Reader] = []  # what a process of the pool has, once it has begun


def _begin(folder: str, wanted: Wanted) -> None:
    _worker.append(_Reader(StoredCrawl(folder), wanted))


def _read_in_worker(pages: list[Page]) -> list[tuple[Page, Read]]:
    return _worker[0].read_all(pages)


def _extracted(crawl: StoredCrawl, page: Page, extractor: Extractor) -> Extracted:
    answer = answer_of_visit(crawl, page.visit)
    if answer is None or not answer.size:
        return NOTHING
    links = _links(crawl, page.visit) if "social" in extractor.names else []
    body, content_type = page_of(crawl, answer)
    if content_type == RENDERED_TYPE:  # the page as its scripts left it
        return extractor.extract(body, page.url, "text/html", "utf-8", links)
    return extractor.extract(body, page.url, page.media, page.encoding, links)


def _links(crawl: StoredCrawl, visit: int) -> list[str]:
    """The links that a visit found, in their order."""
    ids = [link.target for link in crawl.packed_links(visit)]
    rows = crawl.connection.execute(
        "SELECT id, text FROM url WHERE id IN (SELECT value FROM json_each(?))", (msgspec.json.encode(ids).decode(),)
    )
    texts = dict(rows.fetchall())
    return [texts[number] for number in ids if number in texts]


def _pages(crawl: StoredCrawl) -> Iterator[list[Page]]:
    last = 0
    query = f"{_PAGE} AND p.id > ? ORDER BY p.id LIMIT ?"
    while rows := crawl.connection.execute(query, (last, _PAGES_AT_ONCE)).fetchall():
        last = rows[-1][0]
        yield [Page(*row) for row in rows]


_PAGES = f"""
FROM page p JOIN visit v ON v.id = p.visit JOIN url u ON u.id = v.url
WHERE v.status BETWEEN 200 AND 299 AND v.purpose = {Purpose.PAGE.value}
"""
_PAGE = f"SELECT p.id, v.id, u.text, coalesce(v.type, ''), v.encoding {_PAGES}"
_BUG = "INSERT INTO bug(at_ms, url, traceback) VALUES(?, ?, ?)"
