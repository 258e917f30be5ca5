"""`weft graph` with wrong use, with nothing to show, beside a running crawl, and on a disk that fills (issue 5)."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import igraph
import networkx
import pytest
from command import ROOT, Weft, call
from gexf_schema import check_gexf
from stored import Stored, make
from web import Request, Response, Site, html_page

from weft.derive.graph.write import file_name

FORMS = ("gexf", "graphml", "net", "csv", "parquet", "dot", "json")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    return make(tmp_path_factory.mktemp("graph"))


def graph_of(crawl: Path, tmp_path: Path, *options: str) -> networkx.DiGraph:
    ended = call("graph", crawl, "--to", tmp_path / "graph.json", "--force", *options)
    assert ended.code == 0, ended.stderr
    return networkx.node_link_graph(json.loads((tmp_path / "graph.json").read_bytes()), edges="edges")


def urls(graph: networkx.DiGraph, site: str) -> set[str]:
    return {data["url"].removeprefix(site) for _, data in graph.nodes(data=True)}


# --- what is a node


def test_failures_redirects_and_files_are_no_nodes(stored: Stored, tmp_path: Path) -> None:
    """R8, R10, R11: HTML answered 200; the final page takes the place of a redirect."""
    graph = graph_of(stored.folder, tmp_path)
    names = urls(graph, stored.url)
    assert {"/", "/a", "/b", "/odd", "/evil", "/gz", "/mapped"} <= names
    assert not names & {"/old", "/missing", "/bin", "/reset", "/private/x", "/dup2", "/secret", "/doc.pdf"}
    assert {data["status"] for _, data in graph.nodes(data=True)} == {200}
    assert {data["type"] for _, data in graph.nodes(data=True)} == {"text/html"}
    everything = urls(graph_of(stored.folder, tmp_path, "--nodes", "all"), stored.url)
    assert everything == names | {"/bin"}


def test_canonical_merges_when_asked(site: Site, weft: Weft, tmp_path: Path) -> None:
    """A page that names another one as canonical is that one; two that name each other do not both vanish."""
    site.page("/", ["/copy?x=1", "/left", "/right", "/page"])
    site.page("/page", ["/left"], body="one")
    site.page("/copy?x=1", ["/right"], body="two", head='<link rel="canonical" href="/page">')
    site.page("/left", body="three", head='<link rel="canonical" href="/right">')
    site.page("/right", body="four", head='<link rel="canonical" href="/left">')
    assert weft("crawl", site.at("/"), "-o", "out", "--delay", "0", "--quiet").code == 0
    assert urls(graph_of(tmp_path / "out", tmp_path), site.url) == {"/", "/page", "/copy?x=1", "/left", "/right"}
    merged = graph_of(tmp_path / "out", tmp_path, "--canonical")
    names = urls(merged, site.url)
    assert {"/", "/page"} < names and "/copy?x=1" not in names and len(names & {"/left", "/right"}) == 1


def test_redirect_chains_and_rings(site: Site, weft: Weft, tmp_path: Path) -> None:
    """R11: the final page replaces the redirecting one; loops end, and lead nowhere."""
    site.page("/", ["/one", "/ring1", "/gone", "/end"])
    site.redirect("/one", "/two", 301)
    site.redirect("/two", "/three", 307)
    site.redirect("/three", "/end", 303)
    site.page("/end", ["/two", "/"])
    site.redirect("/ring1", "/ring2")
    site.redirect("/ring2", "/ring1")
    site.redirect("/gone", "/nothing", 308)
    assert weft("crawl", site.at("/"), "-o", "out", "--delay", "0", "--quiet").code == 0
    graph = graph_of(tmp_path / "out", tmp_path)
    names = {node: data["url"].removeprefix(site.url) for node, data in graph.nodes(data=True)}
    edges = {(names[a], names[b]): data["weight"] for a, b, data in graph.edges(data=True)}
    assert edges == {("/", "/end"): 2, ("/end", "/"): 1}
    assert {names[node]: data["redirects"] for node, data in graph.nodes(data=True)} == {"/": 0, "/end": 3}


def test_graph_mode_wants_a_declared_type(site: Site, weft: Weft, tmp_path: Path) -> None:
    """R8: an answer whose Content-Type is missing, or not text/html, is no node in this mode."""
    site.page("/", ["/typed", "/untyped", "/xhtml"])
    site.page("/typed", ["/"])
    page = html_page("page", ["/"])
    site.respond("/untyped", Response(page, content_type=None))
    site.respond("/xhtml", Response(page + b" ", content_type="application/xhtml+xml"))
    for mode, wanted in (((), {"/", "/typed", "/untyped", "/xhtml"}), (("--mode", "graph"), {"/", "/typed"})):
        folder = f"out{len(mode)}"
        assert weft("crawl", site.at("/"), "-o", folder, "--delay", "0", "--quiet", *mode).code == 0
        assert urls(graph_of(tmp_path / folder, tmp_path), site.url) == wanted


def test_a_page_not_modified_keeps_its_answer(stored: Stored, tmp_path: Path) -> None:
    """A later visit with 304 says nothing new: the page and its links stay in the graph (T5)."""
    copy = tmp_path / "copy"
    shutil.copytree(stored.folder, copy)
    with sqlite3.connect(copy / "crawl.db") as database:
        page, url = database.execute("SELECT page, url FROM visit WHERE purpose = 0 AND title = 'A'").fetchone()
        database.execute(
            "INSERT INTO visit(page, url, purpose, attempt, started_ms, status) VALUES(?, ?, 0, 2, 9, 304)", (page, url)
        )
        database.execute("UPDATE page SET visit = (SELECT max(id) FROM visit) WHERE id = ?", (page,))
    database.close()
    before, after = graph_of(stored.folder, tmp_path), graph_of(copy, tmp_path)
    assert urls(before, stored.url) == urls(after, stored.url)
    assert set(before.edges) == set(after.edges)


# --- wrong use


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--to", "graph.xyz"], ".gexf"),
        (["--to", "graph"], ".parquet"),
        ([], "--per-site"),
        (["--to", "a.gexf", "--per-site", "b"], "not both"),
        (["--to", "nowhere/graph.gexf"], "nowhere"),
        (["--to", "graph.gexf", "--where", "depht < 3"], "depth"),
        (["--to", "graph.gexf", "--where", "depth <"], "--where"),
        (["--to", "graph.gexf", "--where", "1) UNION SELECT (1"], "only columns"),
        (["--to", "graph.gexf", "--where", "(SELECT 1)"], "only columns"),
        (["--to", "graph.gexf", "--where", "load_extension('x')"], "--where"),
        (["--to", "graph.gexf", "--where", "1; DROP TABLE page"], "--where"),
        (["--to", "graph.gexf", "--where", "url regexp '('"], "regular expression"),
        (["--to", "graph.gexf", "--level", "planet"], "planet"),
        (["--to", "graph.csv", "--dynamic"], "--dynamic is for pages in GEXF"),
        (["--to", "graph.gexf", "--dynamic", "--level", "site"], "--dynamic is for pages in GEXF"),
        (["--per-site", "x", "--dynamic", "--format", "json"], "--dynamic is for pages in GEXF"),
        (["--per-site", "x", "--with-external"], "--with-external"),
        (["--per-site", "x", "--format", "doc"], ".gexf"),
    ],
)
def test_wrong_use_is_told(
    stored: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = call("graph", stored.folder, *arguments)
    assert ended.code == 2, ended.stderr
    assert words in ended.stderr and ended.stderr.count("\n") == 1, ended.stderr
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_folder_without_a_crawl_is_told(tmp_path: Path) -> None:
    ended = call("graph", tmp_path, "--to", tmp_path / "graph.gexf")
    assert ended.code == 2 and "no crawl" in ended.stderr


def test_an_existing_file_needs_force(stored: Stored, tmp_path: Path) -> None:
    for name, file in (("graph.gexf", "graph.gexf"), ("graph.csv", "graph.edges.csv")):
        (tmp_path / file).write_text("mine")
        refused = call("graph", stored.folder, "--to", tmp_path / name)
        assert refused.code == 2 and "--force" in refused.stderr
        assert (tmp_path / file).read_text() == "mine"
        assert call("graph", stored.folder, "--to", tmp_path / name, "--force").code == 0
        assert (tmp_path / file).read_text() != "mine"


def test_the_crawls_own_files_are_never_a_target(stored: Stored) -> None:
    ended = call("graph", stored.folder, "--to", stored.folder / "crawl.db", "--format", "gexf", "--force")
    assert ended.code == 2 and "belongs to the crawl" in ended.stderr


@pytest.mark.parametrize(
    "words",
    [
        "graph {folder} --to {there}/graph.json",
        "graph {folder} --without {url}/a",
        "diff {folder} {folder}",
        "stats {folder} --html {there}/report.html",
        "stop {folder}",
    ],
)
def test_what_is_noted_beside_the_output_says_who_speaks(stored: Stored, tmp_path: Path, words: str) -> None:
    ended = call(*words.format(folder=stored.folder, there=tmp_path, url=stored.url).split())
    assert ended.code == 0, ended.stderr
    said = ended.stderr.splitlines()
    assert said and all(line.startswith("weft: ") for line in said)


def test_a_pipe_is_written_to(stored: Stored, weft: Weft) -> None:
    ended = weft("graph", stored.folder, "--to", "/dev/stdout", "--format", "json")
    assert ended.code == 0 and json.loads(ended.stdout)["nodes"]


def test_a_disk_that_fills_leaves_no_half_file(stored: Stored, tmp_path: Path) -> None:
    limited = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500));"
        "from weft.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    crawl = tmp_path / "crawl"
    shutil.copytree(stored.folder, crawl)
    with sqlite3.connect(crawl / "crawl.db") as database:
        database.execute("PRAGMA journal_mode = DELETE")  # so that SQLite needs no file of its own
    database.close()
    (tmp_path / "graph.gexf").write_text("older")
    graphs = [
        ("graph", crawl, "--to", tmp_path / f"graph.{form}", "--force") for form in ("gexf", "csv", "parquet", "json")
    ]
    lists = [(command, crawl, "-o", tmp_path / "list.csv") for command in ("pages", "links")]
    for words in (*graphs, *lists):
        ended = subprocess.run(
            [sys.executable, "-c", limited, *words], env=environment, capture_output=True, timeout=300
        )
        assert ended.returncode == 1, ended.stderr
        assert b"cannot be written" in ended.stderr and ended.stderr.count(b"\n") == 1, ended.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"graph.gexf", "crawl"}
    assert (tmp_path / "graph.gexf").read_text() == "older"


# --- nothing to show, and a crawl that runs


def test_an_empty_crawl_gives_valid_empty_files(site: Site, weft: Weft, tmp_path: Path) -> None:
    site.page("/robots.txt")
    site.respond("/", Response(b"nothing", 404, "text/plain"))
    weft("crawl", site.at("/"), "-o", "out", "--delay", "0", "--quiet")
    for form in FORMS:
        for level in ("page", "site", "directory"):
            ended = call("graph", tmp_path / "out", "--to", tmp_path / f"{level}.{form}", "--level", level)
            assert ended.code == 0, ended.stderr
    assert check_gexf(tmp_path / "page.gexf") == (0, 0)
    assert len(networkx.read_graphml(tmp_path / "page.graphml")) == 0
    assert len(networkx.read_pajek(tmp_path / "page.net")) == 0
    assert igraph.Graph.Read_GraphML(str(tmp_path / "page.graphml")).vcount() == 0
    assert json.loads((tmp_path / "page.json").read_bytes())["nodes"] == []
    assert call("graph", tmp_path / "out", "--per-site", tmp_path / "sites").code == 0
    (file,) = (tmp_path / "sites").iterdir()
    assert check_gexf(file) == (0, 0)


def test_a_running_crawl_is_exported_as_it_stands(site: Site, weft: Weft, tmp_path: Path) -> None:
    """Whatever the moment: every edge has its two ends, and the numbers in the file are those of the file."""

    def page(request: Request) -> Response:
        name = request.path.removeprefix("/")
        if name and not name.isdigit():  # robots.txt
            return Response(b"", 404)
        number = int(name or 0)
        return Response(html_page(f"page {number}", [f"/{number * 2 + 1}", f"/{number * 2 + 2}", "/"]))

    site.serve(page)
    site.let(30)
    running = weft.start("crawl", site.at("/"), "-o", "out", "--delay", "0", "--per-host", "2", "--timeout", "1h")
    sizes: list[int] = []
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and len(set(sizes)) < 4:
        site.let(len(site.requests) + 30)  # it goes on while we read, and never ends before
        ended = call("graph", tmp_path / "out", "--to", tmp_path / "graph.gexf", "--force")
        if ended.code == 0:
            sizes.append(check_gexf(tmp_path / "graph.gexf")[0])
    weft.kill(running)
    assert len(set(sizes)) == 4 and sizes == sorted(sizes), sizes


# --- parts


def test_names_of_files_are_safe_and_differ() -> None:
    sites = [
        "example.org",
        "example.org:8080",
        "[::1]:80",
        "a_b.test",
        "a:b.test",
        "x" * 253,
        "x" * 252 + "y",
        "..",
        "-rf.test",
        "rf.test",
        "",
    ]
    names = [file_name(site) for site in sites]
    assert len({name.casefold() for name in names}) == len(sites)
    assert all(name and len(name) < 240 and not set(name) & set('/\\:*?"<>|') and name[0] not in ".-" for name in names)
    assert names[:2] == ["example.org", "example.org_8080"]
