"""What if pages were not there: which others could no longer be reached from where the crawl began."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

import msgspec

from weft.derive.graph.model import Field, Kind
from weft.derive.graph.pages import PageGraph
from weft.ports import Progress, silent

REACHABLE = Field("reachable", Kind.FLAG)


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    """A page that would be lost."""

    url: str
    title: str | None
    depth: int


class WhatIf:
    """A graph of pages from which some are taken away. ``lost`` are the numbers of those that no way leads to then.

    Pages that no way leads to even now, as those known by a sitemap only, are not lost. Costs 4 bytes an edge.
    """

    def __init__(self, graph: PageGraph, urls: Sequence[str], progress: Progress = silent) -> None:
        self._graph = graph
        taken = {graph.number_of(url) for url in urls}
        offsets, targets = _adjacency(graph, progress)
        starts = graph.starts()
        before = _reached(starts, offsets, targets, set())
        after = _reached([start for start in starts if start not in taken], offsets, targets, taken)
        self.taken = taken
        self.lost = {node for node in range(graph.node_count) if before[node] and not after[node] and node not in taken}

    def pages(self) -> Iterator[Lost]:
        """The pages that would be lost, in the order they were fetched."""
        for number, facts in self._graph.facts():
            if number in self.lost:
                yield Lost(url=facts.url, title=facts.title, depth=self._graph.depth_of(number))

    def mark(self) -> None:
        """Adds the field `reachable` to the graph, and colours what is taken away and what is lost."""
        gone = self.lost | self.taken
        self._graph.columns[REACHABLE] = [node not in gone for node in range(self._graph.node_count)]
        self._graph.paint(dict.fromkeys(self.lost, (214, 60, 50)) | dict.fromkeys(self.taken, (20, 20, 20)))


def _adjacency(graph: PageGraph, progress: Progress) -> tuple[array[int], array[int]]:
    """The targets of all nodes in one array, and where those of each node begin in it."""
    offsets = array("q", [0]) * (graph.node_count + 1)
    targets = array("i", bytes(4 * graph.edge_count))
    for node in range(graph.node_count):
        offsets[node + 1] = offsets[node] + graph.degrees.out[node]
    for source, several in graph.pairs(progress):
        for place, target in enumerate(several, offsets[source]):
            targets[place] = target
    return offsets, targets


def _reached(starts: Sequence[int], offsets: array[int], targets: array[int], closed: set[int]) -> bytearray:
    """For each node whether a way leads to it from a start, none of them through what is closed."""
    reached = bytearray(len(offsets) - 1)
    for node in closed:
        reached[node] = 2
    queue = array("i")
    for start in starts:
        if not reached[start]:
            reached[start] = 1
            queue.append(start)
    at = 0
    while at < len(queue):
        node = queue[at]
        at += 1
        for target in targets[offsets[node] : offsets[node + 1]]:
            if not reached[target]:
                reached[target] = 1
                queue.append(target)
    for node in closed:
        reached[node] = 0
    return reached
