"""What changed between two crawls, and what would be lost without a page (issue 5)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import networkx
import pytest
from command import call, run_weft
from gexf_schema import check_gexf
from web import Site


@pytest.fixture(scope="module")
def crawls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path, Path]]:
    """A site crawled twice: in between pages came, went, changed and moved."""
    folder = tmp_path_factory.mktemp("diff")

    def crawl(site: Site, name: str) -> None:
        ended = run_weft("crawl", site.at("/"), "-o", name, "--delay", "0", "--per-host", "4", "--quiet", cwd=folder)
        assert ended.code == 0, ended.stderr

    with Site() as site:
        site.page("/", ["/same", "/edited", "/going", "/moving", "/unlinked", "http://outside.test/x"])
        site.page("/same", ["/", "/going"])
        site.page("/edited", ["/same", "/going"], title="before")
        site.page("/going", ["/same"])
        site.page("/moving", ["/same"])
        site.page("/unlinked", ["/"])
        crawl(site, "old")
        site.page("/", ["/same", "/edited", "/going", "/moving", "/fresh", "http://outside.test/y"])
        site.page("/edited", ["/same", "/fresh"], title="after")
        site.forget("/going")
        site.redirect("/moving", "/step", 301)
        site.redirect("/step", "/moved", 302)
        site.page("/moved", ["/same"])
        site.page("/fresh", ["/", "/edited"])
        crawl(site, "new")
        url = site.url
    yield url, folder / "old", folder / "new"


def listed(crawls: tuple[str, Path, Path], *options: str) -> list[dict[str, object]]:
    ended = call("diff", *crawls[1:], "--format", "jsonl", *options)
    assert ended.code == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_pages_by_what_became_of_them(crawls: tuple[str, Path, Path]) -> None:
    url = crawls[0]
    found = {str(row["url"]).removeprefix(url): row for row in listed(crawls, "--only", "pages")}
    assert {path: row["change"] for path, row in found.items()} == {
        "/": "changed", "/edited": "changed", "/going": "gone", "/moving": "moved", "/unlinked": "gone",
        "/moved": "added", "/fresh": "added",
    }  # fmt: skip
    assert (found["/going"]["old_status"], found["/going"]["new_status"]) == (200, 404)
    assert (found["/unlinked"]["old_status"], found["/unlinked"]["new_status"]) == (200, None)
    assert found["/moving"]["target"] == f"{url}/moved"


def test_links_added_and_gone(crawls: tuple[str, Path, Path]) -> None:
    url = crawls[0]
    found = {
        (row["change"], str(row["url"]).removeprefix(url), str(row["target"]).removeprefix(url))
        for row in listed(crawls, "--only", "links")
    }
    assert found == {
        ("added", "/", "/fresh"), ("added", "/", "http://outside.test/y"), ("gone", "/", "/unlinked"),
        ("gone", "/", "http://outside.test/x"), ("added", "/edited", "/fresh"), ("gone", "/edited", "/going"),
        ("gone", "/going", "/same"), ("gone", "/moving", "/same"), ("gone", "/unlinked", "/"),
        ("added", "/moved", "/same"), ("added", "/fresh", "/"), ("added", "/fresh", "/edited"),
    }  # fmt: skip


def test_counts_agree_with_the_list(crawls: tuple[str, Path, Path]) -> None:
    ended = call("diff", *crawls[1:], "--json")
    assert ended.code == 0, ended.stderr
    counts = json.loads(ended.stdout)
    assert counts["pages"] == {"added": 2, "gone": 2, "changed": 2, "moved": 1, "unchanged": 1}
    assert counts["links"] == {"added": 6, "gone": 6, "unchanged": 7}
    rows = listed(crawls)
    assert len(rows) == 2 + 2 + 2 + 1 + 6 + 6
    nothing = json.loads(call("diff", crawls[1], crawls[1], "--json").stdout)
    assert {name for kind in nothing.values() for name, number in kind.items() if number} == {"unchanged"}


def test_the_graph_of_both_is_coloured_by_what_changed(crawls: tuple[str, Path, Path], tmp_path: Path) -> None:
    ended = call("diff", *crawls[1:], "--to", tmp_path / "changes.gexf")
    assert ended.code == 0, ended.stderr
    assert check_gexf(tmp_path / "changes.gexf")[0] == 8
    graph = networkx.read_gexf(tmp_path / "changes.gexf", relabel=True)
    colors = {data["change"]: tuple(data["viz"]["color"].values()) for _, data in graph.nodes(data=True)}
    assert len(set(colors.values())) == len(colors) == 5
    url = crawls[0]
    edges = {(a.removeprefix(url), b.removeprefix(url)): data["kind"] for a, b, data in graph.edges(data=True)}
    assert edges["/", "/same"] == edges["/same", "/going"] == "unchanged"
    assert edges["/", "/fresh"] == "added" and edges["/edited", "/going"] == "gone"
    refused = call("diff", *crawls[1:], "--to", tmp_path / "changes.gexf")
    assert refused.code == 2 and "--force" in refused.stderr


@pytest.mark.parametrize("form", ["csv", "table", "parquet"])
def test_other_forms_of_the_list(crawls: tuple[str, Path, Path], tmp_path: Path, form: str) -> None:
    ended = call("diff", *crawls[1:], "--format", form, "-o", tmp_path / "changes")
    assert ended.code == 0 and (tmp_path / "changes").stat().st_size > 100, ended.stderr


def test_a_folder_without_a_crawl_is_told(crawls: tuple[str, Path, Path], tmp_path: Path) -> None:
    ended = call("diff", crawls[1], tmp_path)
    assert ended.code == 2 and "no crawl" in ended.stderr


# --- what if


def test_pages_that_would_be_lost(crawls: tuple[str, Path, Path], tmp_path: Path) -> None:
    """/moved is reached by / alone; /edited and /same by several."""
    url, _, new = crawls
    ended = call("graph", new, "--without", f"{url}/edited", f"{url}/fresh", "--format", "jsonl")
    assert ended.code == 0 and ended.stdout == "", ended.stderr
    assert "0 of 5 pages" in ended.stderr
    ended = call("graph", new, "--without", f"{url}/")
    lost = {json.loads(line)["url"].removeprefix(url) for line in ended.stdout.splitlines()}
    assert lost == {"/same", "/edited", "/moved", "/fresh"}


def test_what_if_equals_a_search_by_networkx(crawls: tuple[str, Path, Path], tmp_path: Path) -> None:
    url, old, _ = crawls
    assert call("graph", old, "--to", tmp_path / "graph.json").code == 0
    graph = networkx.node_link_graph(json.loads((tmp_path / "graph.json").read_bytes()), edges="edges")
    names = {node: data["url"] for node, data in graph.nodes(data=True)}
    start = next(node for node, name in names.items() if name == f"{url}/")
    for node, name in names.items():
        if node == start:
            continue
        left = graph.subgraph(set(graph) - {node})
        wanted = {names[other] for other in set(left) - networkx.descendants(left, start) - {start}}
        ended = call("graph", old, "--without", name, "--to", tmp_path / "lost.json", "--force")
        assert ended.code == 0, ended.stderr
        nodes = json.loads((tmp_path / "lost.json").read_bytes())["nodes"]
        assert {one["url"] for one in nodes if not one["reachable"]} == wanted | {name}


def test_what_if_wants_a_known_page(crawls: tuple[str, Path, Path]) -> None:
    ended = call("graph", crawls[1], "--without", "http://nowhere.test/")
    assert ended.code == 2 and "no node" in ended.stderr
    ended = call("graph", crawls[1], "http://nowhere.test/")
    assert ended.code == 2 and "too many" in ended.stderr
