"""The graph of an invented web equals its answer key: nodes, edges, weights, merged pages (R3, R8-R13)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import key as bench_key
import pytest
from command import call, run_weft
from key import Key, edges_of

from weft.demo.invented import FOLLOWED, InventedWeb
from weft.demo.server import Served, serve_invented
from weft.derive.graph import site_links
from weft.derive.read import StoredCrawl


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Path]]:
    folder = tmp_path_factory.mktemp("graph")
    with ExitStack() as running:
        served = running.enter_context(serve_invented(InventedWeb(11, 4, 280), record=False))
        ended = run_weft(
            "crawl", *served.seeds, "-o", "crawl", "--resolve", served.resolve, "--delay", "0", "--per-host", "8",
            "--quiet", cwd=folder,
        )  # fmt: skip
        assert ended.code == 0, ended.stderr
    yield served, folder / "crawl"


@pytest.fixture
def graph(crawled: tuple[Served, Path], tmp_path: Path) -> Callable[..., dict[str, list[dict[str, object]]]]:
    def make(*options: str) -> dict[str, list[dict[str, object]]]:
        ended = call("graph", crawled[1], "--to", tmp_path / "graph.json", "--force", *options)
        assert ended.code == 0, ended.stderr
        found: dict[str, list[dict[str, object]]] = json.loads((tmp_path / "graph.json").read_bytes())
        return found

    return make


Graph = Callable[..., dict[str, list[dict[str, object]]]]


def test_nodes_edges_and_weights_equal_the_key(crawled: tuple[Served, Path], graph: Graph) -> None:
    key = Key(crawled[0].web)
    found = graph()
    assert {node["label"] for node in found["nodes"]} == key.nodes
    assert edges_of(found) == key.edges()
    assert key.twin and key.redirect, "the web has something to merge"
    depth = {str(node["url"]): node["depth"] for node in found["nodes"]}
    assert depth == {url: key.depth[url] for url in key.nodes}
    merged = {str(node["url"]): node["duplicates"] for node in found["nodes"] if node["duplicates"]}
    assert merged == Counter(key.twin.values())


@pytest.mark.parametrize("processes", ["1", "2"])
def test_killed_crawls_equal_the_key(processes: str, capsys: pytest.CaptureFixture[str]) -> None:
    """G7, R3, R13, promise 1: pages, duplicates exact and near, nodes and edges, whatever kills and processes.

    `python bench/key.py` does the same with any number of pages.
    """
    sizes = ["--pages", "150", "--hosts", "2", "--seed", "5", "--kills", "3"]
    code = bench_key.main([*sizes, "--processes", processes, "--json"])
    said = capsys.readouterr()
    (found,) = json.loads(said.out)
    assert code == 0, said.err
    assert all(found[name] for name in ("pages", "exact duplicates", "near duplicates", "nodes", "edges"))


def test_what_differs_from_the_key_is_told(crawled: tuple[Served, Path]) -> None:
    """The comparison can fail: this crawl was not told to merge near-duplicates, so its graph has more nodes."""
    compared = bench_key.compare(Key(crawled[0].web, near=True), bench_key.command_of(None), crawled[1])
    assert {fault.partition(":")[0] for fault in compared.faults} == {"nodes", "edges"}
    assert any("not in the key" in fault for fault in compared.faults)
    assert any(": 0, not 1" in fault for fault in compared.faults), "pages merged into a node"


def test_degrees_are_those_of_the_edges(graph: Graph) -> None:
    found = graph()
    into, out = Counter(edge["target"] for edge in found["edges"]), Counter(edge["source"] for edge in found["edges"])
    assert into and out
    for node in found["nodes"]:
        assert (node["in_degree"], node["out_degree"]) == (into[node["id"]], out[node["id"]])


def test_external_out_degree_counts_links_to_other_sites(crawled: tuple[Served, Path], graph: Graph) -> None:
    """R12: links to other hosts are counted, subdomains included."""
    web = crawled[0].web
    nodes = graph()["nodes"]
    assert any(node["external_out_degree"] for node in nodes)
    for node in nodes:
        own = str(node["url"]).split("/")[2]
        links = [link for link in web.links(str(node["url"])) if link.kind in FOLLOWED]
        wanted = sum(link.target.startswith("http") and link.target.split("/")[2] != own for link in links)
        assert node["external_out_degree"] == wanted, node["url"]


def test_self_loops_and_single_links(crawled: tuple[Served, Path], graph: Graph) -> None:
    key = Key(crawled[0].web)
    assert edges_of(graph("--self-loops")) == key.edges(loops=True)
    several = graph("--multi")
    names = {node["id"]: node["label"] for node in several["nodes"]}
    assert Counter((names[edge["source"]], names[edge["target"]]) for edge in several["edges"]) == key.edges()


def test_unmerged_pages_are_nodes_of_their_own(crawled: tuple[Served, Path], graph: Graph) -> None:
    key = Key(crawled[0].web)
    found = graph("--merged", "no")
    assert {node["label"] for node in found["nodes"]} == key.pages | key.redirect.keys()
    edges = edges_of(found)
    wanted = {
        (url, target) for url, target in key.redirect.items() if target in key.pages | key.redirect.keys() - {url}
    }
    assert wanted <= edges.keys()
    assert any(target in key.twin for _, target in edges)


def test_kept_duplicates_have_no_edges(crawled: tuple[Served, Path], graph: Graph) -> None:
    """R13: whether duplicates are also saved is a setting; no edge leads to them."""
    key = Key(crawled[0].web)
    found = graph("--merged", "keep")
    assert {node["label"] for node in found["nodes"]} == key.pages
    assert edges_of(found) == key.edges()
    names = {node["id"]: str(node["label"]) for node in found["nodes"]}
    assert {
        str(node["label"]): names[node["duplicate_of"]] for node in found["nodes"] if node["duplicate_of"]
    } == key.twin


def test_site_level_sums_the_links_between_pages(crawled: tuple[Served, Path], graph: Graph) -> None:
    """G9: how the sites link to each other."""
    key = Key(crawled[0].web)
    sums: Counter[tuple[str, str]] = Counter()
    for (source, target), weight in key.edges().items():
        sums[source.split("/")[2], target.split("/")[2]] += weight
    assert edges_of(graph("--level", "site", "--self-loops")) == sums
    assert edges_of(graph("--level", "site")) == {pair: n for pair, n in sums.items() if pair[0] != pair[1]}
    with StoredCrawl(crawled[1]) as crawl:
        assert {(source, target): n for source, target, n in site_links(crawl)} == sums
    pages = {str(node["label"]): node["pages"] for node in graph("--level", "site")["nodes"]}
    assert pages == Counter(url.split("/")[2] for url in key.nodes)


def test_domain_and_directory_levels(crawled: tuple[Served, Path], graph: Graph) -> None:
    key = Key(crawled[0].web)
    (only,) = graph("--level", "domain")["nodes"]
    assert only["label"] == "weft.test" and only["pages"] == len(key.nodes)
    folders = {url.split("//")[1].partition("?")[0].rpartition("/")[0] + "/" for url in key.nodes}
    assert {node["label"] for node in graph("--level", "directory")["nodes"]} == folders


def test_sites_outside_are_nodes_when_asked(crawled: tuple[Served, Path], graph: Graph) -> None:
    web = crawled[0].web
    key = Key(web)
    outside = {
        link.target
        for url in key.nodes
        for link in web.links(url)
        if link.kind in FOLLOWED and link.target.startswith("http") and web.place(link.target) is None
    }
    found = graph("--with-external")
    assert {node["label"] for node in found["nodes"] if node["external"]} == outside
    sites = graph("--with-external", "--level", "site")["nodes"]
    assert {node["label"] for node in sites if node["external"]} == {url.split("/")[2] for url in outside}


def test_a_file_for_each_site_is_named_after_its_host(crawled: tuple[Served, Path], tmp_path: Path) -> None:
    """R3: for each site every page and every internal link between its pages, in files named after the host."""
    key = Key(crawled[0].web)
    ended = call("graph", crawled[1], "--per-site", tmp_path / "sites", "--format", "json")
    assert ended.code == 0, ended.stderr
    files = {path.name: json.loads(path.read_bytes()) for path in (tmp_path / "sites").iterdir()}
    hosts = {crawled[0].web.host_name(number): number for number in range(4)}
    assert files.keys() == {f"{host}.json" for host in hosts}
    for host, number in hosts.items():
        prefix = crawled[0].web.base(number) + "/"
        assert {node["label"] for node in files[f"{host}.json"]["nodes"]} == {
            url for url in key.nodes if url.startswith(prefix)
        }
        assert edges_of(files[f"{host}.json"]) == {
            pair: weight for pair, weight in key.edges().items() if all(end.startswith(prefix) for end in pair)
        }


def test_no_file_of_a_site_is_written_where_one_exists(crawled: tuple[Served, Path], tmp_path: Path) -> None:
    last = tmp_path / "sites" / f"{crawled[0].web.host_name(3)}.gexf"
    last.parent.mkdir()
    last.write_text("mine")
    ended = call("graph", crawled[1], "--per-site", tmp_path / "sites")
    assert ended.code == 2 and "--force" in ended.stderr
    assert [path.name for path in (tmp_path / "sites").iterdir()] == [last.name] and last.read_text() == "mine"
    ended = call("graph", crawled[1], "--per-site", tmp_path / "sites", "--force", "--json")
    assert ended.code == 0 and len(json.loads(ended.stdout)["files"]) == 4
    assert last.read_text() != "mine"


def test_filters_keep_the_nodes_and_links_they_name(crawled: tuple[Served, Path], graph: Graph) -> None:
    key = Key(crawled[0].web)
    near = {url for url in key.nodes if key.depth[url] <= 1}
    found = graph("--where", "depth <= 1")
    assert {node["label"] for node in found["nodes"]} == near
    assert edges_of(found) == {pair: n for pair, n in key.edges().items() if set(pair) <= near}
    assert {edge["kind"] for edge in graph("--where", "kind = 'area'")["edges"]} == {"area"}
    strong = graph("--where", "weight >= 2", "--where", "in_degree > 3")
    assert strong["edges"] and all(int(str(edge["weight"])) >= 2 for edge in strong["edges"])
