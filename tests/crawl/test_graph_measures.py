"""Measures of the graph: equal to what networkx finds, kept in the database, shown with the pages (issue 5)."""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path

import networkx
import pytest
from command import call
from hypothesis import given, settings
from hypothesis import strategies as st
from stored import Stored, make

from weft.derive.graph import measures as module
from weft.derive.graph.measures import APART, CORE, IN, OUT, TENDRILS, measures_of

Edges = list[tuple[int, int]]


def measured(size: int, edges: Edges, starts: tuple[int, ...] = (0,)) -> dict[str, list[object]]:
    targets: dict[int, list[int]] = {}
    for source, target in edges:
        targets.setdefault(source, []).append(target)
    return {field.name: list(column) for field, column in measures_of(size, targets.items(), starts).items()}


def by_networkx(size: int, edges: Edges) -> networkx.DiGraph:
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(size))
    graph.add_edges_from(edge for edge in edges if edge[0] != edge[1])
    return graph


def pagerank(graph: networkx.DiGraph, damping: float = 0.85) -> list[float]:
    """Plain power iteration; what has no links gives its rank to all."""
    size = len(graph)
    rank = [1 / size] * size
    for _ in range(200):
        lost = sum(rank[node] for node in graph if not graph.out_degree(node))
        rank = [
            (1 - damping) / size
            + damping * (lost / size + sum(rank[source] / graph.out_degree(source) for source in graph.pred[node]))
            for node in range(size)
        ]
    return rank


graphs = st.integers(1, 14).flatmap(
    lambda size: st.tuples(
        st.just(size), st.lists(st.tuples(*[st.integers(0, size - 1)] * 2), max_size=60, unique=True)
    )
)


@settings(max_examples=40)
@given(graphs)
def test_measures_equal_networkx(case: tuple[int, Edges]) -> None:
    size, edges = case
    found, graph = measured(size, edges), by_networkx(size, edges)
    assert found["pagerank"] == pytest.approx(pagerank(graph), abs=1e-6)
    between = networkx.betweenness_centrality(graph) if size > 2 else dict.fromkeys(range(size), 0.0)
    assert found["betweenness"] == pytest.approx([between[node] for node in range(size)], abs=1e-9)
    cores = networkx.core_number(graph)
    assert found["core"] == [cores[node] for node in range(size)]
    ways = networkx.single_source_shortest_path_length(graph, 0)
    assert found["distance"] == [ways.get(node) for node in range(size)]
    components: dict[object, set[int]] = {}
    for node, number in enumerate(found["component"]):
        components.setdefault(number, set()).add(node)
    assert sorted(map(sorted, components.values())) == sorted(
        map(sorted, networkx.strongly_connected_components(graph))
    )
    assert len(components[0]) == max(map(len, components.values()))


def test_bow_tie() -> None:
    """IN leads to the core, OUT comes from it, tendrils hang on either, the rest is apart."""
    edges = [(0, 1), (1, 2), (2, 0), (3, 0), (4, 3), (1, 5), (5, 6), (4, 7), (8, 6), (9, 10)]
    classes = measured(11, edges)["bow_tie"]
    assert classes == [CORE, CORE, CORE, IN, IN, OUT, OUT, TENDRILS, TENDRILS, APART, APART]


def test_communities_are_the_two_that_are_there() -> None:
    edges = [(a, b) for group in (range(6), range(6, 12)) for a in group for b in group if a != b] + [(0, 6)]
    found = measured(12, edges)["community"]
    assert len(set(found[:6])) == len(set(found[6:])) == 1 and found[0] != found[6]
    assert measured(12, edges)["community"] == found, "the same graph has the same communities"


def test_large_graphs_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of the sources estimates betweenness."""
    edges = [(node, (node + 1) % 60) for node in range(60)] + [(node, 0) for node in range(0, 60, 2)]
    exact = measured(60, edges)["betweenness"]
    monkeypatch.setattr(module, "_EXACT_WORK", 3_000)
    sampled = measured(60, edges)["betweenness"]
    assert sampled != exact
    assert sampled == pytest.approx(exact, abs=0.1)


def test_no_nodes_and_no_edges() -> None:
    assert all(column == [] for column in measured(0, [], ()).values())
    assert measured(3, [], ())["bow_tie"] == [CORE, APART, APART]


# --- the command


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    return make(tmp_path_factory.mktemp("measures"))


def test_pages_without_measures_say_how_to_make_them(stored: Stored, tmp_path: Path) -> None:
    ended = call("pages", stored.folder, "--with", "measures", "--format", "jsonl")
    assert ended.code == 2 and "weft graph" in ended.stderr


def test_measures_are_in_file_database_and_pages(stored: Stored, tmp_path: Path) -> None:
    ended = call("graph", stored.folder, "--measures", "--to", tmp_path / "graph.json")
    assert ended.code == 0, ended.stderr
    nodes = {node["url"]: node for node in json.loads((tmp_path / "graph.json").read_bytes())["nodes"]}
    assert sum(node["pagerank"] for node in nodes.values()) == pytest.approx(1)
    start = nodes[f"{stored.url}/"]
    assert start["distance"] == 0 and {node["distance"] for node in nodes.values()} >= {0, 1, 2}

    pages = [json.loads(line) for line in call("pages", stored.folder, "--with", "measures").stdout.splitlines()]
    assert len(pages) > len(nodes)
    shown = {page["url"]: page for page in pages if page["pagerank"] is not None}
    names = ("pagerank", "hub", "authority", "betweenness", "component", "bow_tie", "core", "community", "distance")
    for url, node in nodes.items():
        assert [shown[url][name] for name in (*names, "in_degree", "out_degree")] == [
            node[name] for name in (*names, "in_degree", "out_degree")
        ]
    assert shown.keys() == nodes.keys()

    database = sqlite3.connect(stored.folder / "crawl.db")
    best = database.execute(
        "SELECT document.url FROM measure JOIN document ON document.id = measure.page ORDER BY pagerank DESC LIMIT 1"
    ).fetchone()
    database.close()
    assert best[0] == max(nodes.values(), key=lambda node: float(node["pagerank"]))["url"]
    assert call("check", stored.folder).code == 0

    before = nodes
    assert call("graph", stored.folder, "--measures").code == 0, "a second time replaces the first"
    again = [json.loads(line) for line in call("pages", stored.folder, "--with", "measures").stdout.splitlines()]
    assert {page["url"] for page in again if page["pagerank"] is not None} == before.keys()


def test_sites_can_be_measured(stored: Stored, tmp_path: Path) -> None:
    ended = call("graph", stored.folder, "--measures", "--level", "directory", "--to", tmp_path / "graph.json")
    assert ended.code == 0, ended.stderr
    nodes = json.loads((tmp_path / "graph.json").read_bytes())["nodes"]
    assert nodes and all("pagerank" in node for node in nodes)


@pytest.mark.parametrize(
    ("module", "words", "named"),
    [
        ("igraph", ("--measures",), "weft-crawler[graph]"),
        ("igraph", ("--to", "graph.svg"), "weft-crawler[graph]"),
        ("PIL.Image", ("--to", "graph.png"), "weft-crawler[graph]"),
        ("pyarrow.parquet", ("--to", "graph.parquet"), "weft-crawler[parquet]"),
    ],
)
def test_what_is_not_installed_is_told(
    stored: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, words: tuple[str, ...], named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    ended = call("graph", stored.folder, *words)
    assert ended.code == 2 and named in ended.stderr and ended.stderr.count("\n") == 1, ended.stderr
    assert not list(tmp_path.iterdir())
