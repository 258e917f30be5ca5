"""An order at work in a crawl: told what was found and fetched, asked for priorities, and made again after a restart.

What an order is told is kept, a row for each page that was fetched (the table ``ordering``), in the transaction that
stores the page. A run begins by telling a new order all of that again, and so it is where the other one stopped: what
was fetched, found and linked in which sequence, and where batches began, is the same.
"""

from __future__ import annotations

import sqlite3
from array import array
from itertools import groupby

import numpy as np

from weft.frontier.discovery import Discovery
from weft.frontier.heads import Heads
from weft.frontier.links import Infos
from weft.frontier.order.interface import SEED, Numbers, Order, batch_after, with_room
from weft.frontier.pages import NO_PAGES
from weft.frontier.seen import ADMITTED, ID

_CHUNK = 1_000
_LEAST_HEAD = 64
_UNKNOWN = np.iinfo(np.int64).min
Step = tuple[int, bytes, bytes]
"""A row of the table: the page that was fetched (0: none), the pages found with their depths, the pages linked to."""


class Ordering:
    """See the module. All writing happens inside the caller's transaction, the tick."""

    def __init__(
        self, connection: sqlite3.Connection, discovery: Discovery, heads: Heads, order: Order
    ) -> None:  # fmt: skip
        self._db = connection
        self._discovery = discovery
        self._heads = heads
        self._order = order
        self._number_of = array("i")  # by the id of a URL; 0: it has none, else one more than its number
        self._pages = array("i")  # by number
        self._depths = array("i")  # at which each was found
        self._waits = np.zeros(0, np.bool_)
        self._read = np.zeros(0, np.bool_)
        self._told = np.zeros(0, np.int64)  # the priority of each page that the database has
        self._fetched = 0
        self._batch_at = 0
        self._batch_began = False
        self._untold = 0  # from which place in ``discovery.admitted`` on the order was not told
        self._targets: dict[int, list[int]] = {}  # of pages that were read and not told
        self._steps: list[Step] = []

    # ---- start -----------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Tells the order all that it was told in earlier runs."""
        last = 0
        query = "SELECT step, page, found, links FROM ordering WHERE step > ? ORDER BY step LIMIT ?"
        while rows := self._db.execute(query, (last, _CHUNK)).fetchall():
            last = rows[-1][0]
            for _, page, found, links in rows:
                first = self._add(array("i", found))
                self._tell(page, array("i", found), first, np.frombuffer(links, np.int32).astype(np.int64))
        list(self._order.moved())
        self._batch_began = False
        self._size_heads()

    # ---- what is told ----------------------------------------------------------------------------------------

    def linked(self, page: int, infos: Infos, offered: bytearray) -> None:
        """The links of a page that was read: what is known of their targets, and which of them may be followed."""
        known = np.array(infos, np.uint64)
        followed = (np.frombuffer(offered, np.uint8) == 1) & (known & np.uint64(ADMITTED) != 0)
        self._targets[page] = (known[followed] & np.uint64(ID)).astype(np.int64).tolist()

    def read(self, page: int, *, is_final: bool) -> None:
        """A page was asked, and its links were offered. One that is tried again counts once, and waits on."""
        urls = self._targets.pop(page, [])
        if is_final or not self._was_read(page):
            if not self._number(page):
                self._tell_found(array("i", (page, self._discovery.known.row(page).depth)))
            number, depth = self._number(page) - 1, self._discovery.in_flight[page].depth
            found = self._admitted(self._depths[number] - depth)
            first = self._add(found)
            numbers = dict.fromkeys(filter(None, map(self._number, urls)))
            links = np.array(list(numbers), np.int32) - 1
            fetched = 0 if self._read[number] else page
            self._steps.append((fetched, found.tobytes(), links.tobytes()))
            self._tell(fetched, found, first, links.astype(np.int64))
            self._give_priorities(first)
            self._waits[number] = not is_final

    def _was_read(self, page: int) -> bool:
        number = self._number(page)
        return number > 0 and bool(self._read[number - 1])

    def _tell_found(self, found: array[int]) -> None:
        """Pages that no page of the crawl brought."""
        if found:
            first = self._add(found)
            self._steps.append((0, found.tobytes(), b""))
            self._tell(0, found, first, np.zeros(0, np.int64))
            self._give_priorities(first)

    def _admitted(self, deeper: int = 0) -> array[int]:
        """The pages, no files, that were admitted since the last step, each with the depth at which it was found.

        That is ``deeper`` than now: their page may have come nearer since it was found itself.
        """
        found = array("i")
        admitted = self._discovery.admitted
        for page in dict.fromkeys(admitted[self._untold :]):
            row = self._discovery.known.row(page)
            if row.role not in NO_PAGES and not self._number(page):
                found.extend((page, row.depth + deeper))
        self._untold = len(admitted)
        return found

    def _number(self, url: int) -> int:
        """One more than the number of the page that a URL belongs to; 0: the order does not know it."""
        self._make_room(url)
        number = self._number_of[url]
        if not number:
            page = self._discovery.known.page_of(url)
            if page not in (0, url):
                number = self._number_of[url] = self._number(page)
        return number

    def _make_room(self, url: int) -> None:
        if url >= len(self._number_of):
            self._number_of.extend(array("i", bytes(4 * (url - len(self._number_of) + _CHUNK))))

    def _add(self, found: array[int]) -> int:
        """Gives pages their numbers; the first of these."""
        first = len(self._pages)
        self._depths.extend(found[1::2])
        for page in found[::2]:
            self._pages.append(page)
            self._make_room(page)
            self._number_of[page] = len(self._pages)
        count = len(self._pages)
        self._waits, self._told = with_room(self._waits, count), with_room(self._told, count)
        self._read = with_room(self._read, count)
        self._waits[first:count] = True
        self._told[first:count] = _UNKNOWN
        return first

    def _tell(self, page: int, found: array[int], first: int, links: Numbers) -> None:
        """One step, now or in an earlier run. A batch begins as soon as enough pages were fetched."""
        order, known = self._order, self._discovery.known
        parent = self._number_of[page] - 1 if page else SEED
        for depth, group in groupby(zip(found[::2], found[1::2], strict=True), key=lambda pair: pair[1]):
            urls = [known.text(one) for one, _ in group]
            order.found(first, urls, depth, parent)
            first += len(urls)
        if page:
            self._waits[parent], self._read[parent] = False, True
            self._fetched += 1
            order.fetched(parent, links)
        if order.every and self._fetched >= self._batch_at:
            self._batch_at = batch_after(self._fetched, order.every)
            order.begin_batch()
            self._batch_began = True

    # ---- priorities ------------------------------------------------------------------------------------------

    def _give_priorities(self, first: int) -> None:
        """The priorities of new pages, and of those that have another one at once."""
        moved = [page for page in self._order.moved() if page < first and self._waits[page]]
        numbers = np.array([*dict.fromkeys(moved), *range(first, len(self._pages))], np.int64)
        if len(numbers):
            priorities = self._told[numbers] = self._order.priorities(numbers)
            for number, priority in zip(numbers.tolist(), priorities.tolist(), strict=True):
                self._discovery.reprioritize(self._pages[number], priority)

    def flush(self) -> None:
        """Tells what no page brought (start addresses, sitemaps), and writes what is new."""
        self._tell_found(self._admitted())
        self._db.executemany("INSERT INTO ordering(page, found, links) VALUES(?, ?, ?)", self._steps)
        self._steps = []
        if self._batch_began:
            self._write_priorities()

    def _write_priorities(self) -> None:
        """All that waits gets the priorities of the batch, in the database."""
        waiting = np.flatnonzero(self._waits[: len(self._pages)])
        priorities = self._order.priorities(waiting)
        changed = priorities != self._told[waiting]
        self._told[waiting] = priorities
        rows = zip(priorities[changed].tolist(), waiting[changed].tolist(), strict=True)
        self._discovery.known.write_priorities([(priority, self._pages[number]) for priority, number in rows])

    def committed(self) -> None:
        """After the commit: where a batch began, the heads of all queues are read anew; sites follow their pages."""
        self._untold = 0
        if self._batch_began:
            self._batch_began = False
            self._size_heads()
            self._heads.forget()

    def _size_heads(self) -> None:
        """No more pages of a site are read from disk than may come before the next batch."""
        if self._order.every:
            self._heads.most = max(_LEAST_HEAD, self._batch_at - self._fetched)
