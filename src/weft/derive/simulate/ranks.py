"""Ranks that are given: by a file, or by the PageRank of an earlier crawl."""

from __future__ import annotations

from pathlib import Path

from weft.derive.rank.power import pagerank, to_ranks
from weft.derive.simulate.crawled import crawled_graph
from weft.derive.simulate.numbers import numbers_from


def ranks_from(path: Path) -> dict[str, float]:
    """The rank of each page by URL: the numbers of a file as they are, the PageRank of a folder as 1 to 10."""
    if not path.is_dir():
        return numbers_from(path, positive=True)
    graph = crawled_graph(path)
    ranks = to_ranks(pagerank(graph.size, graph.sources(), graph.targets))
    return dict(zip(graph.names, ranks.tolist(), strict=True))
