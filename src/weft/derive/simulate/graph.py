"""A graph of pages and links as arrays: four bytes a link, and the names of the pages."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from weft.errors import SpecError

Nodes = npt.NDArray[np.int32]


class PageGraph(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes are numbered from 0 in the order in which they are named first.

    The links of node n are ``targets[starts[n]:starts[n + 1]]``, each target once, in the order of the source.
    ``redirects`` has the links that are redirects, whose target is as deep as their page. ``refused`` are pages that
    robots.txt forbids: a crawl knows and counts them as targets, and when their turn comes they are left out.
    """

    title: str
    names: Sequence[str]
    starts: npt.NDArray[np.int64]
    targets: Nodes
    link_count: int  # lines: parallel links and links of a page to itself are counted
    loops: int
    parallel: int
    seeds: Sequence[int]  # those of the source, else the page with most links, the first of several
    redirects: frozenset[tuple[int, int]] = frozenset()
    refused: frozenset[int] = frozenset()

    @property
    def size(self) -> int:
        """The number of pages."""
        return len(self.names)

    def number_of(self, name: str) -> int:
        """The node of a name; ``SpecError`` where there is none."""
        try:
            return self.names.index(name)
        except ValueError:
            raise SpecError(f"{name} is not in the graph {self.title}") from None

    def sources(self) -> Nodes:
        """The source of every link, in the order of ``targets``."""
        return np.repeat(np.arange(self.size, dtype=np.int32), np.diff(self.starts))


class Edges:
    """Links as they are read, one after the other."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._sources = array("i")
        self._targets = array("i")

    def node(self, name: str) -> int:
        """The number of a page, which is new or known."""
        return self._numbers.setdefault(name, len(self._numbers))

    def add(self, source: str, target: str) -> None:
        """One link."""
        numbers = self._numbers
        self._sources.append(numbers.setdefault(source, len(numbers)))
        self._targets.append(numbers.setdefault(target, len(numbers)))

    def graph(
        self, title: str, seeds: Sequence[str] = (), redirects: frozenset[tuple[int, int]] = frozenset(),
        refused: frozenset[int] = frozenset(),
    ) -> PageGraph:  # fmt: skip
        """The graph of all links; ``SpecError`` where there are none."""
        if not self._sources:
            raise SpecError(f"{title} has no links")
        sources, targets = (np.frombuffer(ends, np.int32) for ends in (self._sources, self._targets))
        numbers = [self._numbers[seed] for seed in seeds]
        return _made(title, list(self._numbers), sources, targets, numbers, redirects, refused)


def graph_of_pairs(
    title: str, names: Sequence[str], pairs: Iterable[tuple[int, list[int]]], seeds: Sequence[int]
) -> PageGraph:  # fmt: skip
    """The graph of sources with their targets, as numbers of nodes; ``SpecError`` where there are no links."""
    sources, targets = ends_of(pairs)
    if not len(sources):
        raise SpecError(f"{title} has no links")
    return _made(title, names, sources, targets, seeds)


def ends_of(pairs: Iterable[tuple[int, list[int]]]) -> tuple[Nodes, Nodes]:
    """The source and the target of every link."""
    sources, targets = array("i"), array("i")
    for source, found in pairs:
        sources.extend([source] * len(found))
        targets.extend(found)
    return np.frombuffer(sources, np.int32), np.frombuffer(targets, np.int32)


def _made(
    title: str, names: Sequence[str], sources: Nodes, targets: Nodes, seeds: Sequence[int],
    redirects: frozenset[tuple[int, int]] = frozenset(), refused: frozenset[int] = frozenset(),
) -> PageGraph:  # fmt: skip
    starts, kept = by_source(len(names), sources, targets)
    return PageGraph(
        title=title, names=names, starts=starts, targets=kept, link_count=len(sources),
        loops=int((sources == targets).sum()), parallel=len(sources) - len(kept),
        seeds=seeds or [int(np.diff(starts).argmax())], redirects=redirects,
        refused=refused,
    )  # fmt: skip


def by_source(size: int, sources: Nodes, targets: Nodes) -> tuple[npt.NDArray[np.int64], Nodes]:
    """Where the links of each page start, and the targets, without repetition and in their order."""
    order = np.argsort(sources, kind="stable")
    pairs = sources[order].astype(np.int64) * size + targets[order]
    _, firsts = np.unique(pairs, return_index=True)
    kept = order[np.sort(firsts)]
    starts = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(sources[kept], minlength=size), out=starts[1:])
    return starts, targets[kept]
