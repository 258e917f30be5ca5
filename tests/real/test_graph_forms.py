"""Every form of the graph is read by programs that are not ours, and they all find the same (R3, R17, issue 5)."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import duckdb
import igraph
import networkx
import pytest
from command import call, run_weft
from gexf_schema import check_gexf
from nginx import DOCUMENTATION, Nginx, program
from web import Site

FORMS = ("gexf", "graphml", "net", "csv", "parquet", "dot", "json")
LONG = "x" * 10_000
ODD_TITLES = {
    "/control": "a\x01b\x0bc\x1b[31md",
    "/markup": '"quotes" <b>&amp; \'more\' ]]> --> \\" \\',
    "/turned": "one \u202etwo\u202c \u2066three\u2069 \u200f\u061c",
    "/nochar": "end \ufffe\uffff \ufdd0 \U0001fffe",
    "/half": "half a character",
    "/long": LONG,
    "/formula": "=cmd|' /C calc'!A0",
    "/lines": "one\ntwo\r\nthree\u2028four\x85five",
    "/emoji": "\U0001f577\ufe0f \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "/%22quoted%22%5C": "quotes in the address",
}


@pytest.fixture(scope="module")
def manuals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of two real manuals, 1,700 pages of two sites."""
    places = [DOCUMENTATION[name] for name in ("python3.11-doc", "postgresql-doc-15")]
    if program() is None or not all(Path(place.folder).is_dir() for place in places):
        pytest.skip("nginx, or the Debian package python3.11-doc or postgresql-doc-15, is not installed")
    folder = tmp_path_factory.mktemp("manuals")
    with ExitStack() as running:
        seeds = [running.enter_context(Nginx(place.folder)).at(place.start) for place in places]
        ended = run_weft("crawl", *seeds, "-o", "crawl", "--delay", "0", "--per-host", "8", "--quiet", cwd=folder)
    assert ended.code == 0, ended.stderr
    return folder / "crawl"


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of pages whose titles, anchors and addresses are meant to break files."""
    folder = tmp_path_factory.mktemp("odd")
    with Site() as site:
        site.page("/", list(ODD_TITLES.items()), title="start")
        for path, title in ODD_TITLES.items():
            site.page(path, ["/"], title=title, body=f"<p>{path}</p>")
        site.page("/half", ["/"], title="", head="<title>&#xD800; &#xDFFF; &#0;</title>")
        ended = run_weft("crawl", site.at("/"), "-o", "crawl", "--delay", "0", "--quiet", cwd=folder)
    assert ended.code == 0, ended.stderr
    return folder / "crawl"


def export(crawl: Path, target: Path, *options: str) -> Path:
    ended = call("graph", crawl, "--to", target, *options)
    assert ended.code == 0, ended.stderr
    return target


def counts(path: Path) -> list[tuple[int, int]]:
    """(nodes, edges) as each independent reader of the form finds them."""

    def nx(graph: networkx.Graph) -> tuple[int, int]:
        return graph.number_of_nodes(), graph.number_of_edges()

    def ig(graph: igraph.Graph) -> tuple[int, int]:
        return graph.vcount(), graph.ecount()

    def rows(reader: Callable[[Path], int]) -> tuple[int, int]:
        nodes, edges = (path.with_suffix(f".{part}{path.suffix}") for part in ("nodes", "edges"))
        return reader(nodes), reader(edges)

    match path.suffix:
        case ".gexf":
            return [check_gexf(path), nx(networkx.read_gexf(path)), nx(networkx.read_gexf(path, relabel=True))]
        case ".graphml":
            return [nx(networkx.read_graphml(path)), ig(igraph.Graph.Read_GraphML(str(path)))]
        case ".net":
            return [nx(networkx.read_pajek(path)), ig(igraph.Graph.Read_Pajek(str(path)))]
        case ".json":
            return [nx(networkx.node_link_graph(json.loads(path.read_bytes()), edges="edges"))]
        case ".csv":
            return [
                rows(lambda file: len(list(csv.DictReader(io.StringIO(file.read_bytes().decode(), newline=""))))),
                rows(lambda file: duckdb.sql(f"SELECT count(*) FROM read_csv('{file}')").fetchall()[0][0]),
            ]
        case ".parquet":
            return [rows(lambda file: duckdb.sql(f"SELECT count(*) FROM '{file}'").fetchall()[0][0])]
        case ".dot":
            if shutil.which("gc") is None:
                return []
            said = subprocess.run(["gc", "-n", "-e", path], capture_output=True, check=True, timeout=300)
            nodes, edges, *_ = said.stdout.split()
            return [(int(nodes), int(edges))]
        case _:
            raise AssertionError(path)


@pytest.fixture(params=["manuals", "odd"])
def crawl(request: pytest.FixtureRequest) -> Iterator[Path]:
    yield request.getfixturevalue(request.param)


def test_all_readers_find_the_same_graph(crawl: Path, tmp_path: Path) -> None:
    found = {form: counts(export(crawl, tmp_path / f"graph.{form}")) for form in FORMS}
    assert len({one for several in found.values() for one in several}) == 1, found
    nodes, edges = found["gexf"][0]
    assert nodes >= len(ODD_TITLES) and edges >= nodes - 1


def test_pages_and_links_agree_with_the_other_commands(manuals: Path, tmp_path: Path) -> None:
    """The graph has the pages of `weft pages` and the links of `weft links`."""
    pages = [json.loads(line) for line in call("pages", manuals, "--format", "jsonl").stdout.splitlines()]
    links = [json.loads(line) for line in call("links", manuals, "--format", "jsonl").stdout.splitlines()]
    twin = {page["url"]: page["duplicate_of"] or page["url"] for page in pages if page["status"] == 200}
    html = {page["url"] for page in pages if page["status"] == 200 and page["type"] == "text/html"}
    moved = {page["url"]: page["redirect_to"] for page in pages if page["redirect_to"]}
    followed = {"a", "area", "frame", "iframe", "refresh", "onclick"}

    def node(url: str) -> str | None:
        while url in moved:
            url = moved[url]
        return twin[url] if url in html else None

    wanted = {
        (link["source"], node(link["target"]))
        for link in links
        if link["kind"] in followed and node(link["source"]) == link["source"] and node(link["target"])
    }
    graph = networkx.read_gexf(export(manuals, tmp_path / "graph.gexf"), relabel=True)
    assert set(graph.nodes) == {twin[url] for url in html}
    assert set(graph.edges) == {(source, target) for source, target in wanted if source != target}
    kinds = {(link["source"], node(link["target"])): set() for link in links}
    for link in links:
        kinds[link["source"], node(link["target"])].add(link["kind"])
    for source, target, data in graph.edges(data=True):  # networkx knows no defaults
        assert data["kind"] in kinds[source, target]


def test_titles_survive_in_every_form_that_has_them(odd: Path, tmp_path: Path) -> None:
    read = {
        "gexf": lambda path: networkx.read_gexf(path),
        "graphml": lambda path: networkx.read_graphml(path),
        "json": lambda path: networkx.node_link_graph(json.loads(path.read_bytes()), edges="edges"),
    }
    for form, reader in read.items():
        graph = reader(export(odd, tmp_path / f"graph.{form}"))
        titles = {data["url"].split("/", 3)[3]: data.get("title") for _, data in graph.nodes(data=True)}
        assert titles["markup"] == ODD_TITLES["/markup"], form
        assert titles["emoji"] == ODD_TITLES["/emoji"], form
        assert set(titles["long"]) == {"x"}, form
        if form != "json":  # JSON escapes by itself
            for path in ("control", "turned", "lines"):
                assert titles[path].isprintable(), (form, titles[path])
            assert not set(titles["nochar"]) & set("\ufffe\uffff"), (form, titles["nochar"])


def test_columns_are_those_that_gephi_knows(manuals: Path, tmp_path: Path) -> None:
    export(manuals, tmp_path / "graph.csv")
    with (tmp_path / "graph.nodes.csv").open() as nodes, (tmp_path / "graph.edges.csv").open() as edges:
        assert nodes.readline().startswith("Id,Label,url,title,depth,status,")
        assert edges.readline().strip() == "Source,Target,Type,Weight,Label,kind"
        assert edges.readline().split(",")[2] == "Directed"


def test_csv_holds_no_formula(odd: Path, tmp_path: Path) -> None:
    export(odd, tmp_path / "graph.csv")
    for part in ("nodes", "edges"):
        with (tmp_path / f"graph.{part}.csv").open(newline="", encoding="utf-8") as file:
            cells = {cell for row in csv.reader(file) for cell in row}
        assert not {cell for cell in cells if cell.startswith(("=", "+", "@"))}
        assert "'" + ODD_TITLES["/formula"] in cells, "the title of a node, and the anchor of the link to it"


def test_discovery_times(manuals: Path, tmp_path: Path) -> None:
    """A dynamic file is valid, and no edge is older than its ends."""
    path = export(manuals, tmp_path / "graph.gexf", "--dynamic")
    assert check_gexf(path) == check_gexf(export(manuals, tmp_path / "static.gexf"))
    text = path.read_text()
    assert 'mode="dynamic"' in text and 'timeformat="dateTime"' in text
    from xml.etree import ElementTree

    from gexf_schema import GEXF

    root = ElementTree.parse(path).getroot()
    starts = {node.attrib["id"]: node.attrib["start"] for node in root.iter(f"{GEXF}node")}
    edges = list(root.iter(f"{GEXF}edge"))
    assert len(set(starts.values())) > 1
    assert edges
    for edge in edges:
        assert edge.attrib["start"] >= max(starts[edge.attrib[end]] for end in ("source", "target"))


def test_colours_and_sizes_tell_something(manuals: Path, tmp_path: Path) -> None:
    """The colour is the site, on one site the depth; the largest has most links to it; no two lie on each other."""
    nodes = nodes_of(export(manuals, tmp_path / "graph.gexf"))
    assert len(coloured_by(nodes, "site")) == 2
    one = max(data["site"] for data in nodes)
    single = nodes_of(export(manuals, tmp_path / "single.gexf", "--where", f"site = '{one}'"))
    assert len(coloured_by(single, "depth")) >= 3
    for some in (nodes, single):
        assert max(some, key=lambda data: data["in_degree"])["viz"]["size"] == max(data["viz"]["size"] for data in some)
        assert len({tuple(data["viz"]["position"].values()) for data in some}) == len(some)


def nodes_of(path: Path) -> list[dict[str, Any]]:
    return [data for _, data in networkx.read_gexf(path).nodes(data=True)]


def coloured_by(nodes: list[dict[str, Any]], field: str) -> dict[object, tuple[object, ...]]:
    """The colour of each value of a field: one for each, and no two the same."""
    colours = {data[field]: tuple(data["viz"]["color"].values()) for data in nodes}
    assert all(colours[data[field]] == tuple(data["viz"]["color"].values()) for data in nodes)
    assert len(set(colours.values())) == len(colours)
    return colours
