"""The web graph of a stored crawl: one node a page, every link, in the forms that people's tools read.

with StoredCrawl("example.org") as crawl:
    write_graph(graph_of(crawl, Choice()), "graph.gexf", crawl.folder)
    write_sites(crawl, "per-site", Choice(merged=Merged.KEEP))
    for source, target, links in site_links(crawl, Level.DOMAIN): ...
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.derive.graph.build import graph_of, page_graph, site_graphs
from weft.derive.graph.model import Choice, Edge, Field, Graph, Level, Merged, Node
from weft.derive.graph.write import FORMS, form_of, write_graph, write_sites
from weft.derive.read import StoredCrawl
from weft.ports import Progress, silent

__all__ = [
    "FORMS",
    "Choice",
    "Edge",
    "Field",
    "Graph",
    "Level",
    "Merged",
    "Node",
    "form_of",
    "graph_of",
    "page_graph",
    "site_graphs",
    "site_links",
    "write_graph",
    "write_sites",
]


def site_links(
    crawl: StoredCrawl, level: Level = Level.SITE, *, external: bool = False, progress: Progress = silent
) -> Iterator[tuple[str, str, int]]:
    """(source, target, links) between sites or domains, in no order that matters; links inside one included (G9).

    Only sites with a page of their own; ``external``: also those that were never asked.
    """
    graph = graph_of(crawl, Choice(level=level, external=external, self_loops=True), progress)
    names = {node.id: node.label for node in graph.nodes()}
    for batch in graph.edges():
        for edge in batch:
            yield names[edge.source], names[edge.target], edge.weight
