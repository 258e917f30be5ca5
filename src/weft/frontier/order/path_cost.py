"""Path cost (P1): the page with the cheapest path from a start address comes first.

An edge costs ``ceil(rank(parent)^2 / rank(child))``, a path the sum of its edges, and a start address nothing. A
cheaper path to a page that waits takes the place of the one known before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil

import numpy as np
import numpy.typing as npt

from weft.frontier.order.interface import SEED, Found, Numbers, Reals, by_cost, with_room

HIGHEST_RANK = 10
LEAST_RANK = 1
FAR = 1 << 46
"""The cost of a page to which no path is known."""


def edge_cost(parent_rank: float, child_rank: float) -> int:
    """What the link from a page to another one costs; exact for whole numbers of any size."""
    if isinstance(parent_rank, int) and isinstance(child_rank, int):
        return -(-(parent_rank * parent_rank) // child_rank)
    return ceil(parent_rank * parent_rank / child_rank)


class Paths(Found):
    """The cheapest path known to every page: its cost, its last page, and the start address where it begins."""

    page_b = 40

    def __init__(self) -> None:
        super().__init__()
        self.costs: Numbers = np.zeros(0, np.int64)
        self.parents: Numbers = np.zeros(0, np.int64)
        self.seeds: Numbers = np.zeros(0, np.int64)

    def found(self, first: int, urls: Sequence[str], depth: int, parent: int) -> None:
        """A start address costs nothing; to other pages a path is known once their page is fetched."""
        super().found(first, urls, depth, parent)
        self.costs = with_room(self.costs, self.count)
        self.parents = with_room(self.parents, self.count)
        self.seeds = with_room(self.seeds, self.count)
        self.costs[first : self.count] = 0 if parent == SEED else FAR
        self.parents[first : self.count] = parent
        self.seeds[first : self.count] = np.arange(first, self.count) if parent == SEED else self.seeds[parent]

    def priorities(self, pages: Numbers) -> Numbers:
        """The cheapest path first."""
        return by_cost(self.costs[pages], self.depths_of(pages))


class PathCost(Paths):
    """With ranks that are given: those of a file, or of an earlier crawl. A page without one has the least rank, 1."""

    def __init__(self, ranks: Mapping[str, float]) -> None:
        super().__init__()
        self._given = ranks
        self._ranks: list[float] = []
        self._fetched = np.zeros(0, np.bool_)
        self._moved: list[int] = []

    def found(self, first: int, urls: Sequence[str], depth: int, parent: int) -> None:
        """Looks the ranks up."""
        super().found(first, urls, depth, parent)
        self._ranks += [self._given.get(url, LEAST_RANK) for url in urls]
        self._fetched = with_room(self._fetched, self.count)

    def rank_of(self, page: int) -> float:
        """The rank of a page."""
        return self._ranks[page]

    def fetched(self, page: int, targets: Numbers) -> None:
        """A path through this page may be cheaper than the one that was known."""
        self._fetched[page] = True
        rank, cost, ranks = self._ranks[page], int(self.costs[page]), self._ranks
        for target in targets[~self._fetched[targets]].tolist():
            by_page = cost + edge_cost(rank, ranks[target])
            if by_page < self.costs[target]:
                self.costs[target], self.parents[target] = by_page, page
                self.seeds[target] = self.seeds[page]
                self._moved.append(target)

    def moved(self) -> Iterable[int]:
        """The pages to which a cheaper path was met."""
        moved, self._moved = self._moved, []
        return moved


class PathCostByLinks(Paths):
    """With ranks that come from the links seen so far (P2), whole numbers from 1 to 10.

    The weight of a page is the sum of the ranks of the fetched pages that link to it, and its rank is
    ``1 + floor(9 * ln(1 + weight) / ln(1 + greatest weight))``. The rank of a page that waits is made again with every
    batch, and its edges are priced anew; a page that is fetched keeps the rank that it has then.
    """

    every = 100
    page_b = 136

    def __init__(self) -> None:
        super().__init__()
        self._weights: Reals = np.zeros(0)
        self._ranks: Numbers = np.zeros(0, np.int64)
        self._by_rank: Numbers = np.zeros((0, HIGHEST_RANK), np.int64)  # the cheapest parent of each rank, less FAR
        self._through: npt.NDArray[np.int32] = np.zeros((0, HIGHEST_RANK), np.int32)  # which parent that is
        self._fetched = np.zeros(0, np.bool_)

    def found(self, first: int, urls: Sequence[str], depth: int, parent: int) -> None:
        """A page begins with the least rank."""
        super().found(first, urls, depth, parent)
        self._weights = with_room(self._weights, self.count)
        self._ranks = with_room(self._ranks, self.count)
        self._by_rank = with_room(self._by_rank, self.count)
        self._through = with_room(self._through, self.count)
        self._fetched = with_room(self._fetched, self.count)
        self._ranks[first : self.count] = LEAST_RANK
        self._by_rank[first : self.count] = FAR

    def rank_of(self, page: int) -> float:
        """The rank of a page, as it is now."""
        return int(self._ranks[page])

    def fetched(self, page: int, targets: Numbers) -> None:
        """Adds weight to the targets, and a path to each."""
        self._fetched[page] = True
        rank, cost = int(self._ranks[page]), int(self.costs[page])
        open_targets = targets[~self._fetched[targets]]
        self._weights[targets] += rank
        known = self._by_rank[open_targets, rank - 1]
        better = open_targets[cost < known]
        self._by_rank[better, rank - 1] = cost
        self._through[better, rank - 1] = page
        self._price(open_targets)

    def begin_batch(self) -> None:
        """Ranks, and prices, of all that waits."""
        waiting = np.flatnonzero(~self._fetched[: self.count])
        greatest = float(self._weights[: self.count].max(initial=0.0))
        if greatest:
            shares = np.log1p(self._weights[waiting]) / np.log1p(greatest)
            self._ranks[waiting] = LEAST_RANK + np.floor((HIGHEST_RANK - LEAST_RANK) * shares).astype(np.int64)
        self._price(waiting)

    def _price(self, pages: Numbers) -> None:
        """The cheapest path to each page, by the ranks of now; start addresses cost nothing."""
        pages = pages[self.parents[pages] != SEED]
        parent_ranks = np.arange(1, HIGHEST_RANK + 1)
        edges = -(-(parent_ranks**2) // self._ranks[pages, None])
        paths = self._by_rank[pages] + edges
        best = paths.argmin(axis=1)
        self.costs[pages] = np.minimum(paths[np.arange(len(pages)), best], FAR)
        self.parents[pages] = self._through[pages, best]
        self.seeds[pages] = self.seeds[self.parents[pages]]
