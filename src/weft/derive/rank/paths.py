"""The cheapest paths from the start addresses to every page of a graph (P1), level by level."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from weft.derive.rank.power import Nodes

Numbers = npt.NDArray[np.int64]
UNREACHED = -1


def path_costs(starts: Numbers, targets: Nodes, seeds: Sequence[int], ranks: Numbers) -> Numbers:
    """The cost of the cheapest path to each page; ``UNREACHED`` where there is none.

    An edge costs 1 at least, so all pages of the least cost are settled together: one step for each cost there is.
    """
    size = len(starts) - 1
    far = np.iinfo(np.int64).max
    costs = np.full(size, far)
    costs[list(seeds)] = 0
    is_open = np.zeros(size, np.bool_)
    is_open[list(seeds)] = True
    while True:
        pages = np.flatnonzero(is_open)
        if not len(pages):
            break
        least = costs[pages].min()
        settled = pages[costs[pages] == least]
        is_open[settled] = False
        sources, reached = _links_of(starts, targets, settled)
        by_path = least + -(-(ranks[sources] ** 2) // ranks[reached])
        cheaper = by_path < costs[reached]
        np.minimum.at(costs, reached[cheaper], by_path[cheaper])
        is_open[reached[cheaper]] = True
    costs[costs == far] = UNREACHED
    return costs


def _links_of(starts: Numbers, targets: Nodes, pages: Numbers) -> tuple[Numbers, Nodes]:
    """Sources and targets of all links of some pages."""
    counts = starts[pages + 1] - starts[pages]
    before = np.cumsum(counts) - counts
    places = np.arange(int(counts.sum())) + np.repeat(starts[pages] - before, counts)
    return np.repeat(pages, counts), targets[places]
