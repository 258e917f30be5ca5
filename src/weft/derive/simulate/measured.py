"""How good an order is: how much importance, and how many of the best pages, are among those that it fetches first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor

import numpy as np
import numpy.typing as npt

from weft.derive.rank.power import in_links, pagerank
from weft.derive.simulate.graph import PageGraph
from weft.derive.simulate.model import Curve

Reals = npt.NDArray[np.float64]


def importance_by(graph: PageGraph, by: str, table: Mapping[str, float] | None) -> Reals:
    """The importance of every node: its PageRank, its in-links, or its number in a table (0 where it has none)."""
    if table is not None:
        return np.array([table.get(name, 0.0) for name in graph.names], np.float64)
    if by == "in-links":
        return in_links(graph.size, graph.targets)
    return pagerank(graph.size, graph.sources(), graph.targets)


def curve_of(fetched: npt.NDArray[np.int64], importance: Reals, at: Sequence[str], best: float, cpu_s: float) -> Curve:
    """The curve of nodes in the order in which they were fetched; all reachable nodes are among them."""
    count = len(fetched)
    gained = importance[fetched]
    total = float(gained.sum())
    sums = np.cumsum(gained)
    ranked = fetched[np.lexsort((fetched, -gained))][: first_of(count, best)]
    is_best = np.zeros(len(importance), np.bool_)
    is_best[ranked] = True
    hits = np.cumsum(is_best[fetched])
    share = {text: float(sums[first_of(count, float(text)) - 1]) / total if total else 0.0 for text in at}
    best_share = {text: float(hits[first_of(count, float(text)) - 1]) / len(ranked) for text in at}
    return Curve(share=share, best=best_share, mean=sum(share.values()) / len(share), cpu_s=round(cpu_s, 3))


def first_of(count: int, percent: float) -> int:
    """How many pages the first percent are: one at least."""
    return min(count, max(1, floor(count * percent / 100 + 1e-9)))


def ideal(fetched: npt.NDArray[np.int64], importance: Reals) -> npt.NDArray[np.int64]:
    """The reachable nodes, the best first, as if there were no need to find them."""
    return fetched[np.lexsort((fetched, -importance[fetched]))]
