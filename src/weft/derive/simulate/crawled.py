"""The graph of a stored crawl: its pages, with redirects and duplicates merged, as ``weft graph`` has it."""

from __future__ import annotations

from pathlib import Path

from weft.derive.graph import Choice, page_graph
from weft.derive.read import StoredCrawl
from weft.derive.simulate.graph import PageGraph, graph_of_pairs
from weft.ports import Progress, silent


def crawled_graph(path: Path, progress: Progress = silent) -> PageGraph:
    """Its start addresses are those of the crawl that are pages."""
    with StoredCrawl(path) as crawl:
        graph = page_graph(crawl, Choice(self_loops=True), progress)
        names = [facts.url for _, facts in graph.facts(progress)]
        return graph_of_pairs(str(path), names, graph.pairs(progress), graph.starts())
