"""Breadth first, depth first, and by lot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xxhash import xxh3_64_intdigest

from weft.frontier.order.interface import Found, Numbers, with_room


class BreadthFirst(Found):
    """The page with the least depth first."""

    def priorities(self, pages: Numbers) -> Numbers:
        """Depth is the priority."""
        return self.depths_of(pages)


class DepthFirst(Found):
    """The links of the page that was read last come first, in their order on that page."""

    page_b = 16

    def __init__(self) -> None:
        super().__init__()
        self._read = 0
        self._read_before = np.zeros(0, np.int64)

    def found(self, first: int, urls: Sequence[str], depth: int, parent: int) -> None:
        """Keeps how many pages were read before."""
        super().found(first, urls, depth, parent)
        self._read_before = with_room(self._read_before, self.count)
        self._read_before[first : self.count] = self._read

    def fetched(self, page: int, targets: Numbers) -> None:
        """One more was read."""
        self._read += 1

    def priorities(self, pages: Numbers) -> Numbers:
        """The later its page was read, the sooner a link comes."""
        return -self._read_before[pages]


class RandomOrder(Found):
    """By lot. The lot of a page is a hash of its URL and of a number: the same in every run with this number."""

    page_b = 16

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seed = seed
        self._lots = np.zeros(0, np.int64)

    def found(self, first: int, urls: Sequence[str], depth: int, parent: int) -> None:
        """Draws the lots."""
        super().found(first, urls, depth, parent)
        self._lots = with_room(self._lots, self.count)
        self._lots[first : self.count] = [xxh3_64_intdigest(url.encode(), seed=self._seed) >> 6 for url in urls]

    def priorities(self, pages: Numbers) -> Numbers:
        """The lots."""
        lots: Numbers = self._lots[pages]
        return lots
