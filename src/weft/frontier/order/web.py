"""The links of the pages that were fetched, as arrays: eight bytes a link."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from weft.frontier.order.interface import Numbers, Reals, with_room

DAMPING = 0.85


class FetchedLinks:
    """Sources and targets, in the order of the fetches; of each page how many links it has."""

    def __init__(self) -> None:
        self.count = 0
        self._sources = np.zeros(0, np.int32)
        self._targets = np.zeros(0, np.int32)
        self.out: npt.NDArray[np.int32] = np.zeros(0, np.int32)

    def add(self, page: int, targets: Numbers) -> None:
        """The links of one more page."""
        start, self.count = self.count, self.count + len(targets)
        self._sources = with_room(self._sources, self.count)
        self._targets = with_room(self._targets, self.count)
        self._sources[start : self.count] = page
        self._targets[start : self.count] = targets
        self.out = with_room(self.out, page + 1)
        self.out[page] = len(targets)

    def flow(self, ranks: Reals) -> Reals:
        """What each page gets where every fetched page gives equal shares of its rank to its targets."""
        pages = len(ranks)
        out = with_room(self.out, pages)[:pages]
        shares = np.divide(ranks, out, out=np.zeros(pages), where=out > 0)
        weights = shares[self._sources[: self.count]]
        return np.bincount(self._targets[: self.count], weights, pages).astype(np.float64, copy=False)

    def back_flow(self, ranks: Reals, waits: npt.NDArray[np.bool_]) -> Reals:
        """What each fetched page gets where every waiting page gives its rank to the pages that link to it.

        The share of a parent is the greater the fewer links it has.
        """
        pages = len(ranks)
        chosen = np.flatnonzero(waits[self._targets[: self.count]])
        sources, targets = self._sources[chosen], self._targets[chosen]
        weights = 1.0 / self.out[sources]
        sums = np.bincount(targets, weights, pages)
        shares = np.divide(ranks, sums, out=np.zeros(pages), where=sums > 0)
        return np.bincount(sources, weights * shares[targets], pages).astype(np.float64, copy=False)

    def ranks(self, ranks: Reals, turns: int) -> Reals:
        """PageRank over the known pages, whose sum is 1, after some turns from where ``ranks`` stand.

        Pages that were not fetched, and pages without links, give their rank to all pages alike.
        """
        pages = len(ranks)
        ranks = ranks / ranks.sum()
        for _ in range(turns):
            flow = DAMPING * self.flow(ranks)
            ranks = flow + (1.0 - flow.sum()) / pages
        return ranks
