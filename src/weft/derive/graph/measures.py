"""Measures of a graph by igraph: ranks, centrality, components with the bow-tie, cores, communities, distances.

Loaded only where measures are asked for. Memory: about 100 bytes an edge while it works.
"""

from __future__ import annotations

import random
import warnings
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from weft.derive.graph.model import Field, Kind, Value
from weft.extras import need
from weft.ports import Progress, silent

FIELDS = (
    Field("pagerank", Kind.REAL),
    Field("hub", Kind.REAL),
    Field("authority", Kind.REAL),
    Field("betweenness", Kind.REAL),
    Field("component", Kind.WHOLE),
    Field("bow_tie", Kind.TEXT),
    Field("core", Kind.WHOLE),
    Field("community", Kind.WHOLE),
    Field("distance", Kind.WHOLE),
)
CORE, IN, OUT, TENDRILS, APART = "CORE", "IN", "OUT", "TENDRILS", "APART"

_EXACT_WORK = 200_000_000
"""Betweenness looks at every edge from every node: above this many looks only from some, drawn by lot."""
_LEAST_SOURCES = 16
_SEED = 1


def measures_of(
    count: int,
    pairs: Iterable[tuple[int, Sequence[int]]],
    starts: Sequence[int],
    *,
    weights: Sequence[int] | None = None,
    progress: Progress = silent,
) -> dict[Field, Sequence[Value]]:
    """A column for each field, over nodes numbered from 0.

    ``pairs`` gives each source with its targets, ``starts`` the nodes that distances are counted from. Parallel edges
    and self-links do not count. ``weights`` belong to the edges in their order.
    """
    need("graph")
    import igraph

    igraph.set_random_number_generator(random.Random(_SEED))
    graph = _built(count, pairs)
    steps: list[tuple[str, Any]] = [
        ("pagerank", lambda: [graph.pagerank(weights=weights)]),
        ("hubs and authorities", lambda: _hits(graph)),
        ("betweenness", lambda: [_betweenness(graph)]),
        ("components", lambda: _components(graph)),
        ("cores", lambda: [graph.coreness(mode="all")]),
        ("communities", lambda: [_communities(graph, weights)]),
        ("distances", lambda: [_distances(graph, starts)]),
    ]
    columns: list[Sequence[Value]] = []
    if not count:
        return {field: [] for field in FIELDS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # igraph says where a measure is not unique, as hubs of a graph without rings
        for number, (what, work) in enumerate(steps):
            progress(f"measuring {what}", number, len(steps))
            columns += work()
    return dict(zip(FIELDS, columns, strict=True))


def _built(count: int, pairs: Iterable[tuple[int, Sequence[int]]]) -> Any:
    import igraph

    ends = array("q")
    for source, targets in pairs:
        for target in targets:
            if target != source:
                ends.append(source)
                ends.append(target)
    if not ends:
        return igraph.Graph(n=count, directed=True)
    edges = memoryview(ends).cast("B").cast("q", (len(ends) // 2, 2))
    return igraph.Graph(n=count, edges=edges, directed=True)


def _hits(graph: Any) -> list[Sequence[Value]]:
    if not graph.ecount():
        return [[0.0] * graph.vcount(), [0.0] * graph.vcount()]
    return [graph.hub_score(), graph.authority_score()]


def _betweenness(graph: Any) -> Sequence[Value]:
    """Betweenness as a share of all pairs of nodes; from a sample of the sources where all would take too long."""
    count, edges = graph.vcount(), graph.ecount()
    pairs = max(1, (count - 1) * (count - 2))
    if count * max(edges, count) <= _EXACT_WORK:
        return [value / pairs for value in graph.betweenness(directed=True)]
    sources = min(count, max(_LEAST_SOURCES, _EXACT_WORK // max(edges, count)))
    chosen = random.Random(_SEED).sample(range(count), sources)
    share = count / sources / pairs
    return [value * share for value in graph.betweenness(directed=True, sources=chosen, targets=None)]


def _components(graph: Any) -> list[Sequence[Value]]:
    """The strongly connected component of each node, largest first, and its class in the bow-tie."""
    membership = _largest_first(graph.connected_components(mode="strong").membership)
    weak = graph.connected_components(mode="weak").membership
    heart = membership.index(0)
    reached, reaching = set(graph.subcomponent(heart, mode="out")), set(graph.subcomponent(heart, mode="in"))
    classes = []
    for node, component in enumerate(membership):
        if component == 0:
            classes.append(CORE)
        elif node in reaching:
            classes.append(IN)
        elif node in reached:
            classes.append(OUT)
        else:
            classes.append(TENDRILS if weak[node] == weak[heart] else APART)
    return [membership, classes]


def _communities(graph: Any, weights: Sequence[int] | None) -> Sequence[Value]:
    """The community of each node by Leiden's method, links taken in both directions; 0 is the largest."""
    both = graph.copy()
    if weights is not None:
        both.es["weight"] = list(weights)
    both.to_undirected(combine_edges={"weight": "sum"} if weights is not None else None)
    found = both.community_leiden(
        objective_function="modularity", weights="weight" if weights is not None else None, n_iterations=2
    )
    return _largest_first(found.membership)


def _largest_first(membership: Sequence[int]) -> list[int]:
    """The same groups, numbered from the largest; of equal ones, the one with the first node comes first."""
    sizes = Counter(membership)
    rank = {group: place for place, (group, _) in enumerate(sizes.most_common())}  # ties keep the order of first nodes
    return [rank[group] for group in membership]


def _distances(graph: Any, starts: Sequence[int]) -> Sequence[Value]:
    """Clicks from the nearest start; None where no way leads. Adds a node that links to all starts: done last."""
    count = graph.vcount()
    if not starts:
        return [None] * count
    graph.add_vertices(1)
    graph.add_edges([(count, start) for start in dict.fromkeys(starts)])
    ways = graph.distances(source=[count], mode="out")[0]
    return [None if way == float("inf") else int(way) - 1 for way in ways[:count]]
