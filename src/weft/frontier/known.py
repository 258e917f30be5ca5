"""The URLs and pages that are known: texts with their ids, each with its page, written or new in this tick.

What is new is kept in RAM until ``flush``, inside the transaction of the tick, and is visible to all look-ups here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import chain

import msgspec

from weft.db.connection import insert
from weft.frontier.given import Memory
from weft.frontier.pages import PageRow, flags_of
from weft.frontier.seen import DEPTH_MAX, FINAL, Seen, pack, url_id_of
from weft.frontier.site_names import SiteNames
from weft.records import Links


class KnownUrls:
    """See the module. It judges nothing: ``discovery`` says what becomes of a URL."""

    def __init__(self, connection: sqlite3.Connection, counts: dict[str, int], memory: Memory) -> None:
        self._db = connection
        self.seen = Seen(connection, memory.hash_seed, memory.cache_entries, memory.run_entries)
        self.site_names = SiteNames(connection, counts)
        self.new_pages: dict[int, PageRow] = {}
        self._new_urls: dict[int, tuple[int, str, int | None]] = {}
        self.next_id = int(connection.execute("SELECT coalesce(max(id), 0) FROM url").fetchone()[0]) + 1

    # ---- texts and their ids -----------------------------------------------------------------------------------

    def name(self, url: str) -> int:
        """The id of a URL's text that need not be a page of the crawl (robots.txt, sitemaps)."""
        info = self.seen.recent.young.get(url)
        if info is None:
            self.prefetch([url])
            info = self.seen.recent.find(url)
        return url_id_of(info) if info is not None else self.spelling(url, 0)

    def spelling(self, url: str, page: int) -> int:
        """The id of a text that is another spelling of a page; page 0: of none."""
        url_id = self.new_url(url, page)
        info = self.info_of(url_id, self.row(page)) if page else pack(url_id, DEPTH_MAX, 0)
        self.seen.recent.put(url, info)
        return url_id

    def new_url(self, text: str, page: int | None) -> int:
        """The id that a new text gets; ``page`` is the page it belongs to (None: it has its own, 0: none)."""
        url_id = self.next_id
        self.next_id += 1
        self._new_urls[url_id] = (url_id, text, page)
        return url_id

    def text(self, url_id: int) -> str:
        """The text of a URL."""
        new = self._new_urls.get(url_id)
        if new is not None:
            return new[1]
        return str(self._db.execute("SELECT text FROM url WHERE id = ?", (url_id,)).fetchone()[0])

    # ---- their pages -------------------------------------------------------------------------------------------

    def page_of(self, url_id: int) -> int:
        """The page that a URL belongs to; 0: none."""
        new = self._new_urls.get(url_id)
        if new is not None:
            return url_id if new[2] is None else new[2]
        return int(self._db.execute("SELECT coalesce(page, id) FROM url WHERE id = ?", (url_id,)).fetchone()[0])

    def pages_at(self, urls: Sequence[str]) -> list[int]:
        """The page of each URL; 0 where there is none."""
        self.prefetch(urls)
        infos = [self.seen.recent.find(url) for url in urls]
        return [self.page_of(url_id_of(info)) if info is not None else 0 for info in infos]

    def own_page(self, url_id: int, text: str) -> None:
        """A text that was no page has a page of its own from now on."""
        if url_id in self._new_urls:
            self._new_urls[url_id] = (url_id, text, None)
        self._db.execute("UPDATE url SET page = NULL WHERE id = ?", (url_id,))

    def row(self, page: int) -> PageRow:
        """A page as it is now, written or not."""
        row = self.new_pages.get(page)
        if row is None:
            row = PageRow(*self._db.execute(_ROW, (page,)).fetchone())
        return row

    def row_of(self, url_id: int) -> PageRow | None:
        """The page that a URL belongs to, as it is now; None: it has none."""
        if url_id in self._new_urls or url_id in self.new_pages:
            page = self.page_of(url_id)
            return self.row(page) if page else None
        found = self._db.execute(_ROW_OF, (url_id,)).fetchone()
        return PageRow(*found) if found else None

    def update(self, row: PageRow) -> None:
        """A page has changed: it is written at once, where it is not new."""
        if row.id not in self.new_pages:
            self._db.execute(
                "UPDATE page SET state = ?, reason = ?, depth = ?, hops = ?, chain = ?, priority = ?, found_in = ?,"
                " role = ? WHERE id = ?",
                (row.state, row.reason, row.depth, row.hops, row.chain, row.priority, row.found_in, row.role, row.id),
            )

    def write_priorities(self, rows: Sequence[tuple[int, int]]) -> None:
        """Many of these (priority, page), whose places in RAM are forgotten."""
        written = []
        for priority, page in rows:
            row = self.new_pages.get(page)
            if row is None:
                written.append((priority, page))
            else:
                row.priority = priority
        self._db.executemany("UPDATE page SET priority = ? WHERE id = ?", written)

    # ---- looking up --------------------------------------------------------------------------------------------

    def prefetch(self, targets: Iterable[str]) -> None:
        """Looks all targets of a tick up at once; after it no link that is offered needs one of its own."""
        self.seen.prefetch(targets, self._describe)

    def prefetch_links(self, pages: Iterable[Links]) -> None:
        """Looks the links of all pages of a tick up at once."""
        self.prefetch(chain.from_iterable(links.targets for links in pages))

    def _describe(self, rows: list[tuple[object, ...]]) -> None:
        for text, url_id, page, depth, state, reason, hops, role in rows:
            assert isinstance(text, str) and isinstance(url_id, int)
            if page is None:  # a text that is no page: of another scheme, or one that may become a page
                info = pack(url_id, DEPTH_MAX, 0 if text.startswith("http") else FINAL)
            else:
                assert isinstance(depth, int) and isinstance(hops, int) and isinstance(role, int)
                info = pack(url_id, depth, flags_of(state, reason, hops, role))
            self.seen.recent.put(text, info)

    def info_of(self, url_id: int, row: PageRow) -> int:
        """What is remembered of a URL of this page."""
        return pack(url_id, row.depth, flags_of(row.state, row.reason, row.hops, row.role))

    # ---- the tick ----------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Writes all that is new, inside the caller's transaction."""
        self.site_names.flush()
        insert(self._db, "url", self._new_urls.values())
        insert(
            self._db, "page(id, site, state, reason, depth, hops, chain, priority, found_in, key, visit, role)",
            map(msgspec.structs.astuple, self.new_pages.values()),
        )  # fmt: skip
        self.seen.flush(self._new_urls.values(), self.next_id - 1)

    def committed(self) -> None:
        """After the commit: nothing is new any more."""
        self.seen.age()
        self.new_pages, self._new_urls = {}, {}
        self.site_names.committed()

    def shed(self) -> None:
        """Gives back the memory of what can be read again."""
        self.seen.recent.shed()
        self.site_names.shed()

    def close(self) -> None:
        """At the end of a run, inside the caller's transaction."""
        self.seen.close(self.next_id - 1)


_ROW = "SELECT id, site, state, reason, depth, hops, chain, priority, found_in, key, visit, role FROM page WHERE id = ?"
_ROW_OF = (
    "SELECT p.id, site, state, reason, depth, hops, chain, priority, found_in, p.key, visit, p.role"
    " FROM url u JOIN page p ON p.id = coalesce(u.page, u.id) WHERE u.id = ?"
)
