"""PageRank over the pages that are known, made again with every batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.frontier.order.interface import Numbers, Reals, Scored, with_room
from weft.frontier.order.web import FetchedLinks

_TURNS = 8


class PageRank(Scored):
    """Cho, Garcia-Molina, Page: Efficient Crawling Through URL Ordering (1998).

    A page that was found within a batch has no rank until the next one begins: it comes behind all others.
    """

    every = 20
    link_b = 8
    page_b = 28

    def __init__(self) -> None:
        super().__init__()
        self._links = FetchedLinks()
        self._ranks: Reals = np.zeros(0)
        self._mean = 1.0

    def found(self, first: int, urls: Sequence[str], depth: int, parent: int) -> None:
        """A new page begins with the mean rank."""
        super().found(first, urls, depth, parent)
        self._ranks = with_room(self._ranks, self.count)
        self._ranks[first : self.count] = self._mean

    def fetched(self, page: int, targets: Numbers) -> None:
        """Keeps the links."""
        self._links.add(page, targets)

    def begin_batch(self) -> None:
        """Makes the ranks again, from where they stood."""
        ranks = self._ranks[: self.count] = self._links.ranks(self._ranks[: self.count], _TURNS)
        self._mean = 1.0 / self.count
        scores = self.scores[: self.count]
        np.copyto(scores, ranks, where=np.isfinite(scores))
