"""Large sites first: the site of which most pages wait comes next, so that no large site is left for the end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.frontier.order.interface import Found, Numbers, Reals, by_score, with_room
from weft.url import site_of


class LargeSitesFirst(Found):
    """Baeza-Yates, Castillo and others: Crawling a Country (2005). Within a site breadth first.

    Without URLs all pages are one site, and this is breadth first.
    """

    every = 100
    page_b = 24

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[str, int] = {}
        self._sites = np.zeros(0, np.int64)
        self._waiting: Reals = np.zeros(0)  # of each site, now
        self._sizes: Reals = np.zeros(0)  # of each site, when the batch began

    def found(self, first: int, urls: Sequence[str], depth: int, parent: int) -> None:
        """Counts the pages of each site. A site that is new in this batch comes last in it."""
        super().found(first, urls, depth, parent)
        sites = [self._number_of(url) for url in urls]
        self._sites = with_room(self._sites, self.count)
        self._sites[first : self.count] = sites
        self._waiting = with_room(self._waiting, len(self._numbers))
        self._sizes = with_room(self._sizes, len(self._numbers))
        self._sizes = with_room(self._sizes, len(self._numbers))
        np.add.at(self._waiting, sites, 1.0)

    def _number_of(self, url: str) -> int:
        site = site_of(url) if "://" in url else ""
        return self._numbers.setdefault(site, len(self._numbers))

    def fetched(self, page: int, targets: Numbers) -> None:
        """One page less waits."""
        self._waiting[self._sites[page]] -= 1.0

    def begin_batch(self) -> None:
        """Takes the sizes for the batch."""
        self._sizes = self._waiting.copy()

    def priorities(self, pages: Numbers) -> Numbers:
        """The largest site first."""
        return by_score(self._sizes[self._sites[pages]], self.depths_of(pages))
