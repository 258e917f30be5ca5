"""What an order is: it gives every page that waits a priority, and the page with the least one comes next.

Pages have numbers here, from 0 in the order in which they were found. Of two pages with the same priority the one that
was found first comes first. So an order is a pure function of what was fetched, one page after the other, and an order
that is made anew from a stored crawl goes on where the other one stopped.

Scores that change while a page waits are brought up to date in batches, which are counted in fetches and never in
time: see ``batch_after``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

SEED = -1
"""The parent of a start address, and of a page that a sitemap names."""
DEPTH_BITS = 12
_DEEPEST = (1 << DEPTH_BITS) - 1
_HIGHEST = (1 << 47) - 1
_DROPPED_BITS = 16  # of the 63 bits of a positive double; 36 bits of its fraction stay, which are ten digits


class Order(Protocol):
    """A strategy. For every page that is fetched come ``found``, ``fetched``, ``moved``, ``priorities``, in this order.

    At the beginning of a batch come ``begin_batch``, and ``priorities`` of all pages that wait.

    ``every`` is 0 for an order without batches. ``link_b`` and ``page_b`` say how many bytes of memory the order keeps
    for a link that was seen and for a page that is known.
    """

    every: int
    link_b: int
    page_b: int

    def found(self, first: int, urls: Sequence[str], depth: int, parent: int) -> None:
        """Pages were found, numbered from ``first``, on the page ``parent`` (``SEED``: on none)."""

    def fetched(self, page: int, targets: Numbers) -> None:
        """A page was fetched, and its links that are followed lead to these pages, each named once."""

    def moved(self) -> Iterable[int]:
        """The pages that have another priority since the last fetch, at once and not with a batch."""

    def begin_batch(self) -> None:
        """Brings the scores up to date."""

    def priorities(self, pages: Numbers) -> Numbers:
        """The priorities of these pages."""


def batch_after(fetched: int, every: int) -> int:
    """At how many fetched pages the next batch begins: one more, or ``1 / every`` more of them where that is more.

    So a score is at most that share of the crawl out of date.
    """
    return fetched + max(1, fetched // every)


def by_score(scores: Reals, depths: Numbers) -> Numbers:
    """Priorities for scores of 0 and more: the highest score first, then the least depth."""
    bits = scores.view(np.int64) >> _DROPPED_BITS
    return ((_HIGHEST - bits) << DEPTH_BITS) + np.minimum(depths, _DEEPEST)


def by_cost(costs: Numbers, depths: Numbers) -> Numbers:
    """Priorities for costs in whole numbers: the cheapest first, then the least depth."""
    return (np.minimum(costs, _HIGHEST) << DEPTH_BITS) + np.minimum(depths, _DEEPEST)


def with_room(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """The array, made longer by zeros where it has less than ``size`` places; it doubles, so that it seldom moves."""
    if len(array) >= size:
        return array
    longer = np.zeros((max(size, 2 * len(array), 1_024), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


class Found:
    """The pages that are known, with the depth at which each was found. A shorter way met later changes none."""

    every = 0
    link_b = 0
    page_b = 8

    def __init__(self) -> None:
        self.count = 0
        self._depths = np.zeros(0, np.int64)

    def found(self, first: int, urls: Sequence[str], depth: int, parent: int) -> None:
        """Keeps the depth."""
        self.count = first + len(urls)
        self._depths = with_room(self._depths, self.count)
        self._depths[first : self.count] = depth

    def fetched(self, page: int, targets: Numbers) -> None:
        """Changes nothing."""

    def moved(self) -> Iterable[int]:
        """None, where priorities change with batches or never."""
        return ()

    def begin_batch(self) -> None:
        """Nothing, where scores are up to date at once."""

    def depths_of(self, pages: Numbers) -> Numbers:
        """Of some pages."""
        depths: Numbers = self._depths[pages]
        return depths


class Scored(Found):
    """The pages that are known, with a score each. Start addresses come before all others."""

    page_b = 16

    def __init__(self) -> None:
        super().__init__()
        self.scores: Reals = np.zeros(0)

    def found(self, first: int, urls: Sequence[str], depth: int, parent: int) -> None:
        """A start address has the highest score there is; all others begin with none."""
        super().found(first, urls, depth, parent)
        self.scores = with_room(self.scores, self.count)
        if parent == SEED and depth == 0:
            self.scores[first : self.count] = np.inf

    def priorities(self, pages: Numbers) -> Numbers:
        """The highest score first."""
        return by_score(self.scores[pages], self.depths_of(pages))
