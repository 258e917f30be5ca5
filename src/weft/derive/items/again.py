"""Extraction over a stored crawl: on all cores, without the network; the same items as if asked while crawling."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import NamedTuple

import msgspec

from weft.db.connection import open_writer
from weft.db.schema import MIGRATIONS
from weft.derive.body import answer_of_visit, page_of
from weft.derive.read import StoredCrawl
from weft.errors import WeftError
from weft.extract.extractor import NOTHING, Extracted, Extractor
from weft.parse.source import READING
from weft.ports import Progress, silent
from weft.records import RENDERED_TYPE, Item
from weft.spec import Harvest
from weft.store.items import Items

_PAGES_AT_ONCE = 64


class Page(NamedTuple):
    """A page that was answered 2xx: the visit that counts, and what is known of its body."""

    id: int
    visit: int
    url: str
    media: str
    encoding: str | None


class Outcome(msgspec.Struct, frozen=True):
    """What became of an extraction."""

    pages: int
    items: int
    unread: int  # pages whose bodies are gone from the archive


def extract_again(crawl: StoredCrawl, wanted: Harvest, progress: Progress = silent) -> Outcome:
    """Puts the items of all pages in the place of those of the same kinds. The caller holds the folder's lock."""
    names = Extractor(wanted, READING).names
    total = crawl.scalar("SELECT count(*) FROM page WHERE visit IS NOT NULL")
    database = open_writer(crawl.folder.db, MIGRATIONS)
    pages = unread = 0
    try:
        items = Items(database.connection)
        for done in _batches(crawl, wanted):
            with database.transaction():
                for page, found in done:
                    pages += 1
                    if found is None:
                        unread += 1
                    else:
                        items.replace(page.visit, page.id, names, found)
            progress("extracting", pages, total)
        with database.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO counter VALUES('items', (SELECT count(*) FROM item))",
            )
            count = connection.execute("SELECT value FROM counter WHERE name = 'items'").fetchone()[0]
    finally:
        database.close()
    return Outcome(pages, int(count), unread)


def extract_page(crawl: StoredCrawl, page_id: int, extractor: Extractor) -> Extracted:
    """The items of one page; ``WeftError`` where its body cannot be had."""
    row = crawl.connection.execute(f"{_PAGE} AND p.id = ?", (page_id,)).fetchone()
    return NOTHING if row is None else _extracted(crawl, Page(*row), extractor)


def _batches(crawl: StoredCrawl, wanted: Harvest) -> Iterator[list[tuple[Page, list[Item] | None]]]:
    """The items of all pages, in batches, in the order of the pages."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    batches = _pages(crawl)
    first = next(batches, None)
    if first is None:
        return
    second = next(batches, None)
    if cores < 2 or second is None:
        read = partial(_read_batch, crawl, Extractor(wanted, READING))
        yield read(first)
        for batch in (second, *batches) if second is not None else ():
            yield read(batch)
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


_worker: list[tuple[StoredCrawl, Extractor]] = []  # what a process of the pool has, once it has begun


def _begin(folder: str, wanted: Harvest) -> None:
    _worker.append((StoredCrawl(folder), Extractor(wanted, READING)))


def _read_in_worker(pages: list[Page]) -> list[tuple[Page, list[Item] | None]]:
    return _read_batch(*_worker[0], pages)


def _read_batch(crawl: StoredCrawl, extractor: Extractor, pages: list[Page]) -> list[tuple[Page, list[Item] | None]]:
    found: list[tuple[Page, list[Item] | None]] = []
    for page in pages:
        try:
            found.append((page, _extracted(crawl, page, extractor).items))
        except WeftError:
            found.append((page, None))
    return found


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


_PAGE = """
SELECT p.id, v.id, u.text, coalesce(v.type, ''), v.encoding FROM page p JOIN visit v ON v.id = p.visit
       JOIN url u ON u.id = v.url WHERE v.status BETWEEN 200 AND 299
"""
