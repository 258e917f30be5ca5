"""One crawl in memory: an order over a graph, page after page."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from weft.derive.simulate.graph import PageGraph
from weft.frontier.order.interface import SEED, Numbers, Order, batch_after, with_room
from weft.ports import Progress, silent

_EVERY = 5_000


class Queue:
    """The pages that wait, by priority and number: the best of them in a list for one batch, new ones in a heap."""

    def __init__(self) -> None:
        self.told: Numbers = np.zeros(0, np.int64)  # the priority of every page
        self.waits: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)
        self.count = 0
        self._batch: list[tuple[int, int]] = []  # the last one comes first
        self._heap: list[tuple[int, int]] = []

    def add(self, pages: Numbers, priorities: Numbers) -> None:
        """Pages that are new, or have another priority now."""
        self.count = max(self.count, int(pages[-1]) + 1)
        self.told, self.waits = with_room(self.told, self.count), with_room(self.waits, self.count)
        self.told[pages], self.waits[pages] = priorities, True
        for entry in zip(priorities.tolist(), pages.tolist(), strict=True):
            heapq.heappush(self._heap, entry)

    def waiting(self) -> Numbers:
        """The pages that wait, by number."""
        return np.flatnonzero(self.waits[: self.count])

    def in_order(self) -> list[int]:
        """The pages that wait, the next one first."""
        pages = self.waiting()
        in_order: list[int] = pages[np.lexsort((pages, self.told[pages]))].tolist()
        return in_order

    def begin_batch(self, priorities: Callable[[Numbers], Numbers], size: int) -> None:
        """Takes new priorities for all pages that wait; no more than ``size`` of them come before the next batch."""
        pages = self.waiting()
        if not len(pages):
            return
        told = self.told[pages] = priorities(pages)
        if len(pages) > size:
            bound = np.partition(told, size - 1)[size - 1]
            pages, told = pages[told <= bound], told[told <= bound]
        first = np.lexsort((pages, told))[:size][::-1]
        self._batch = list(zip(told[first].tolist(), pages[first].tolist(), strict=True))
        self._heap = []

    def take(self) -> int | None:
        """The page that comes next; None if none waits."""
        heap, batch = self._heap, self._batch
        while heap or batch:
            if not batch or (heap and heap[0] < batch[-1]):
                priority, page = heapq.heappop(heap)
            else:
                priority, page = batch.pop()
            if self.waits[page] and self.told[page] == priority:
                self.waits[page] = False
                return page
        return None


class Simulation:
    """A crawl of a graph by an order. ``steps`` is used once.

    ``numbers`` has the number of every node, in the order in which pages were found; -1 for pages not found yet.
    """

    def __init__(self, graph: PageGraph, order: Order, seeds: Sequence[int]) -> None:
        self.graph = graph
        self.order = order
        self.queue = Queue()
        self.nodes: list[int] = []
        self.parents: list[int] = []
        self._depths: list[int] = []
        self._seeds = seeds
        self._numbers = np.full(graph.size, SEED, np.int64)

    def name_of(self, page: int) -> str:
        """The name of a page."""
        return self.graph.names[self.nodes[page]]

    def steps(self, progress: Progress = silent, what: str = "") -> Iterator[int]:
        """The number of each page, as its turn comes; the next page is chosen once its links are in."""
        order, queue = self.order, self.queue
        self._find(np.array(self._seeds, np.int32), 0, SEED)
        queue.add(np.arange(len(self.nodes)), order.priorities(np.arange(len(self.nodes))))
        fetched, batch_at = 0, 0
        while True:
            if order.every and fetched >= batch_at:
                batch_at = batch_after(fetched, order.every)
                order.begin_batch()
                queue.begin_batch(order.priorities, batch_at - fetched + len(self.graph.refused))
            page = queue.take()
            if page is None:
                return
            if self.nodes[page] in self.graph.refused:
                continue
            self._read(page)
            fetched += 1
            if not fetched % _EVERY:
                progress(what, fetched, self.graph.size)
            yield page

    def _read(self, page: int) -> None:
        """Takes in the links of a page."""
        graph, numbers, order = self.graph, self._numbers, self.order
        node, known = self.nodes[page], len(self.nodes)
        targets = graph.targets[graph.starts[node] : graph.starts[node + 1]]
        reached = numbers[targets]
        fresh = targets[reached < 0]
        if len(fresh):
            self._find_all(page, node, fresh)
            reached = numbers[targets]
        order.fetched(page, reached)
        moved = [one for one in order.moved() if one < known]
        if moved:
            pages = np.array(sorted(set(moved)), np.int64)
            self.queue.add(pages, order.priorities(pages))
        if len(fresh):
            pages = np.arange(known, len(self.nodes))
            self.queue.add(pages, order.priorities(pages))

    def _find_all(self, page: int, node: int, fresh: npt.NDArray[np.int32]) -> None:
        depth = self._depths[page] + 1
        if not self.graph.redirects:
            self._find(fresh, depth, page)
            return
        for target in fresh.tolist():
            hop = (node, target) in self.graph.redirects
            self._find(np.array([target], np.int32), depth - hop, page)

    def _find(self, nodes: npt.NDArray[np.int32], depth: int, parent: int) -> None:
        """Gives pages their numbers."""
        first, found, names = len(self.nodes), nodes.tolist(), self.graph.names
        self._numbers[nodes] = np.arange(first, first + len(found))
        self.nodes += found
        self.parents += [parent] * len(found)
        self._depths += [depth] * len(found)
        self.order.found(first, [names[node] for node in found], depth, parent)
