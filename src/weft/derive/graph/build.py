"""From a stored crawl and a choice to a graph that can be written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from weft.derive.graph.groups import GROUP_FIELDS, GroupGraph
from weft.derive.graph.model import Choice, Graph, Level, Value
from weft.derive.graph.pages import PAGE_FIELDS, PageGraph
from weft.derive.graph.scene import MOST_NODES
from weft.derive.graph.select import Nodes
from weft.derive.graph.where import EdgeFilter, Filter, filters_of
from weft.derive.read import StoredCrawl
from weft.errors import SpecError
from weft.extras import need
from weft.ports import Progress, silent

_PAGE_COLUMNS = tuple(field.name for field in PAGE_FIELDS)
_COUNTED = frozenset({"in_degree", "out_degree", "external_out_degree"})
_ROWS_AT_ONCE = 1_000
_SEVERAL_SITES = 8


def graph_of(crawl: StoredCrawl, choice: Choice, progress: Progress = silent) -> Graph:
    """The graph of a crawl, ready to be written."""
    if choice.measures:
        need("graph")  # said before the work, not after it
    if choice.level is Level.PAGE:
        return page_graph(crawl, choice, progress)
    pages, groups, links = _filters(choice)
    nodes = _selected(crawl, replace(choice, external=False), pages, links, progress)
    graph = GroupGraph(nodes, choice, name=_name(crawl), links=links, wanted=groups, progress=progress)
    if choice.measures:
        graph.measure(progress)
    return graph


def picture_graph(crawl: StoredCrawl, choice: Choice, progress: Progress = silent) -> Graph:
    """What a picture shows best: pages, or sites where there are too many pages and several sites."""
    nodes = Nodes(crawl, choice, progress)
    several = len(set(nodes.sites)) >= _SEVERAL_SITES
    level = Level.SITE if len(nodes.pages) > MOST_NODES and several else Level.PAGE
    return graph_of(crawl, replace(choice, level=level), progress)


def page_graph(crawl: StoredCrawl, choice: Choice, progress: Progress = silent) -> PageGraph:
    """The graph of a crawl's pages."""
    pages, _, links = _filters(choice)
    nodes = _selected(crawl, choice, pages, links, progress)
    graph = PageGraph(nodes, choice, name=_name(crawl), links=links, progress=progress)
    if choice.measures:
        graph.measure(progress)
    return graph


def site_graphs(crawl: StoredCrawl, choice: Choice, progress: Progress = silent) -> Iterator[tuple[str, PageGraph]]:
    """(site, graph) for each site with a page or a start address: internal links, pages merged inside the site (R3)."""
    if choice.external:
        raise SpecError("--per-site gives the links inside each site: --with-external does not go with it")
    if choice.level is not Level.PAGE:
        raise SpecError(f"--per-site gives graphs of pages: --level {choice.level.value} does not go with it")
    choice = replace(choice, apart=True)
    pages, _, links = _filters(choice)
    nodes = _selected(crawl, choice, pages, links, progress)
    for site, span in nodes.by_site().items():
        name = nodes.site_names[site]
        graph = PageGraph(nodes, choice, name=name, span=span, links=links, progress=progress)
        if choice.measures:
            graph.measure(progress)
        yield name, graph


def _name(crawl: StoredCrawl) -> str:
    return crawl.folder.path.resolve().name or "crawl"


def _filters(choice: Choice) -> tuple[list[Filter], tuple[Filter, ...], EdgeFilter | None]:
    """Filters over pages, over groups, and over links."""
    groups = () if choice.level is Level.PAGE else (*(field.name for field in GROUP_FIELDS), "name")
    found = filters_of(choice.where, _PAGE_COLUMNS, groups)
    return found.nodes, tuple(found.groups), EdgeFilter(found.edges) if found.edges else None


def _selected(
    crawl: StoredCrawl, choice: Choice, filters: list[Filter], links: EdgeFilter | None, progress: Progress
) -> Nodes:
    """The nodes that pass."""
    nodes = Nodes(crawl, choice, progress)
    if not filters:
        return nodes
    counted = any(one.read & _COUNTED for one in filters)
    graph = PageGraph(nodes, replace(choice, external=False), name="", links=links, counted=counted, progress=progress)
    passing: set[int] = set()
    rows: list[tuple[Value, ...]] = []
    for number, node in enumerate(graph.nodes(lambda _, done, of: progress("filtering", done, of))):
        rows.append(node.values[: len(_PAGE_COLUMNS)])
        if len(rows) == _ROWS_AT_ONCE or number + 1 == graph.node_count:
            start = number + 1 - len(rows)
            passing |= {start + place for place in set.intersection(*(one.passing(rows) for one in filters))}
            rows = []
    nodes.keep(passing.__contains__)
    return nodes
