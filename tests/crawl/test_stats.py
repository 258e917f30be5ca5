"""weft stats: figures counted by hand, and beside the answer key of an invented web (G9, R19, issue 5 section 4)."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import made_crawl
import pytest
import stored
from command import Weft, call, run_weft
from hypothesis import given
from hypothesis import strategies as st
from stored import Stored
from web import Response, Site

from weft.demo.invented import FOLLOWED
from weft.demo.server import Served
from weft.derive.stats.across import across_sites, rank_correlation
from weft.derive.stats.known import document_name, file_class, image_name, is_document
from weft.derive.stats.tally import Pair, Pairs, Tally

HYPERLINKS = FOLLOWED - {"sitemap"}


def stats_of(folder: Path, *options: str | Path) -> dict[str, Any]:
    run = call("stats", folder, "--json", *options)
    assert run.code == 0, run.stderr
    found = json.loads(run.stdout)
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    return stored.make(tmp_path_factory.mktemp("stats"))


# --- a site that can be counted by hand


@pytest.fixture(scope="module")
def little(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    """Two pages with pictures and documents, a copy, a chain of redirects, a loop, a missing page."""
    folder = tmp_path_factory.mktemp("little")
    with Site() as site:
        pictures = (
            '<img src="/a.png"><img src="/a.png"><img src="/b.JPG?x=1"><img src="/c.gif"><img src="/d">'
            '<img src="/e.svg"><img src="data:image/png;base64,AAAA">'
            '<a href="/e.PDF">e</a><a href="/f.docx#2">f</a><a href="/f.docx">f</a>'
        )
        site.page("/", ["/one", "/two", "/copy", "/hop1", "/round1", "/gone", "mailto:a@b.test"], body=pictures)
        site.page(
            "/one", ["/", "/two", "/gone", "http://other.test/x", "http://other.test/y"], body='<img src="/a.png">'
        )
        site.respond("/two", Response(body=b"<html><title>same</title><a href='/one'>1</a></html>"))
        site.respond("/copy", Response(body=b"<html><title>same</title><a href='/one'>1</a></html>"))
        site.redirect("/hop1", "/hop2")
        site.redirect("/hop2", "/one")
        site.redirect("/round1", "/round2")
        site.redirect("/round2", "/round1")
        run = run_weft("crawl", site.at("/"), "-o", "crawl", "--delay", "0", "--quiet", cwd=folder)
        assert run.code == 0, run.stderr
        return Stored(folder / "crawl", site.url)


def test_pages_counted_by_hand(little: Stored) -> None:
    """G9: HTML, DUPLICATE, IMAGE, BINARY; states, statuses, types, depths."""
    found = stats_of(little.folder)
    whole = found["all"]
    assert whole["pages"] == 4  # /, /one, /two, /copy
    assert (whole["html"], whole["duplicate"], whole["exact_duplicates"]) == (4, 1, 1)  # the 404 is HTML too
    assert whole["near_duplicates"] is None
    assert whole["states"] == {"C": 9, "refused": whole["known"] - 9}
    assert whole["status"] == {"200": 4, "302": 4, "404": 1}
    assert whole["depths"] == {"0": 1, "1": 8}
    assert (whole["depth"], whole["robots_refused"], whole["errors"]) == (1, 0, {})
    assert whole["types"] == {"text/html": 5}
    (site,) = found["sites"]
    assert (site["site"], site["start"]) == (little.url.removeprefix("http://"), True)
    apart = {"site", "start", "known", "states", "refused"}  # what lies on other sites is known too
    assert {name: site[name] for name in site.keys() - apart} == {name: whole[name] for name in site.keys() - apart}


def test_images_and_documents_counted_by_hand(little: Stored) -> None:
    """G5, G9: once per page that shows it; data: images ignored; by name, whatever its case and query."""
    whole = stats_of(little.folder)["all"]
    assert whole["images"] == {"PNG": 2, "JPG": 1, "GIF": 1, "UNKNOWN": 2}
    assert whole["image_types"] == {"PNG": 2, "GIF": 1, "JPG": 1, "SVG": 1, "UNKNOWN": 1}
    assert whole["documents"] == {"DOCX": 1, "PDF": 1}
    assert (whole["image"], whole["binary"]) == (6, 2)
    assert (whole["mean_images"], whole["mean_documents"]) == (6 / 4, 2 / 4)


def test_links_counted_by_hand(little: Stored) -> None:
    """Internal, external, broken; R19's pages and links; redirects merged in the edges, duplicates too."""
    found = stats_of(little.folder)
    whole, rows = found["all"], [json.loads(line) for line in call("links", little.folder).stdout.splitlines()]
    assert whole["links"] == len(rows)
    assert whole["internal_links"] == sum(row["internal"] for row in rows)
    assert (whole["external_links"], whole["other_links"]) == (2, 1 + sum("data:" in row["target"] for row in rows))
    assert whole["link_kinds"] == Counter(row["kind"] for row in rows)
    assert whole["broken_links"] == 2
    assert whole["nodes"] == 3
    # /: one, two, copy, hop1, round1, gone, e, f, f; /one: /, two, gone; /two: one
    assert whole["node_links"] == 9 + 3 + 1
    # / to one (also by hop1) and two (also by copy); /one to / and two; /two to one
    assert whole["edges"] == 2 + 2 + 1
    assert whole["mean_node_links"] == 13 / 3
    assert found["across"]["internal_links"] == 13


def test_broken_links_name_the_pages_that_hold_them(little: Stored) -> None:
    found = stats_of(little.folder)
    assert found["broken_pages"] == 1
    (broken,) = found["broken"]
    assert (broken["url"], broken["status"], broken["links"]) == (f"{little.url}/gone", 404, 2)
    assert [page["url"] for page in broken["pages"]] == [f"{little.url}/", f"{little.url}/one"]


def test_redirect_chains_counted_by_hand(little: Stored) -> None:
    redirects = stats_of(little.folder)["redirects"]
    assert redirects["number"] == 2
    assert redirects["loops"] == 1
    assert redirects["end_in_error"] == 0
    chains = {chain["urls"][0].removeprefix(little.url): chain for chain in redirects["longest"]}
    assert chains["/hop1"]["urls"] == [f"{little.url}/hop1", f"{little.url}/hop2", f"{little.url}/one"]
    assert (chains["/hop1"]["status"], chains["/hop1"]["loop"]) == (200, False)
    assert chains["/round1"]["loop"] is True


def test_domains_counted_by_hand(little: Stored) -> None:
    """G9: how domains link, to what was visited and to all that is known."""
    domains = stats_of(little.folder)["domains"]
    own = little.url.removeprefix("http://")
    links = {(link["source"], link["target"]): (link["visited"], link["known"]) for link in domains["links"]}
    assert links[own, "other.test"] == (0, 2)
    visited, known = links[own, own]
    assert known - visited == 3  # two documents, one of them linked twice
    assert (domains["visited"], domains["known"]) == (1, 2)


def test_timeline_holds_every_request(little: Stored) -> None:
    found = stats_of(little.folder)
    moments = found["timeline"]["moments"]
    assert sum(moment["pages"] for moment in moments) == 4
    assert sum(moment["requests"] for moment in moments) == 9 + 2  # robots.txt, /sitemap.xml
    assert found["runs"] == 1
    assert found["pages_per_s"] > 0


# --- a site with every kind of outcome


def test_outcomes_agree_with_weft_pages(crawled: Stored) -> None:
    """States, statuses, errors, reasons and sizes are those that `weft pages --all` tells of each page."""
    found = stats_of(crawled.folder)
    pages = [json.loads(line) for line in call("pages", crawled.folder, "--all").stdout.splitlines()]
    whole = found["all"]
    assert whole["known"] == len(pages)
    assert whole["states"] == Counter(page["state"] or "refused" for page in pages)
    assert whole["status"] == Counter(str(page["status"]) for page in pages if page["status"] is not None)
    errors = Counter(page["error"] for page in pages if page["error"] is not None)
    assert whole["robots_refused"] == errors.pop("ROBOTS_DISALLOWED") == 1
    assert whole["errors"] == errors
    assert whole["refused"] == Counter(page["reason"] for page in pages if page["state"] is None)
    assert whole["duplicate"] == sum(page["duplicate_of"] is not None for page in pages) == 1
    assert whole["size"] == sum(page["size"] or 0 for page in pages if page["state"] == "C")
    assert whole["pages"] == sum(200 <= (page["status"] or 0) < 300 for page in pages)
    best = max((page for page in pages if page["state"] == "C"), key=lambda page: page["in_links"])
    assert found["most_linked"][0] == {"url": best["url"], "value": best["in_links"], "title": best["title"]}
    largest = max(page["size"] for page in pages if page["status"] == 200)
    assert found["sizes"]["most"] == found["largest"][0]["value"] == largest
    assert sum(bar["number"] for bar in found["size_bars"]) == whole["pages"]
    assert {page["url"].removeprefix(crawled.url) for page in found["broken"]} == {
        "/missing", "/reset", "/hinted", "/%7euser",
    }  # fmt: skip


def test_terminal_and_csv_are_safe(crawled: Stored) -> None:
    """Nothing the web sent steers a terminal or becomes a formula."""
    run = call("stats", crawled.folder)
    assert run.code == 0
    assert "\x1b" not in run.stdout and "\u202e" not in run.stdout
    assert max(map(len, run.stdout.splitlines())) < 200
    table = list(csv.reader(io.StringIO(call("stats", crawled.folder, "--csv").stdout)))
    assert table[0] == ["table", "site", "name", "value"]
    assert all(len(row) == 4 for row in table)
    assert ["status", "", "200", str(stats_of(crawled.folder)["all"]["status"]["200"])] in table


def test_a_list_that_is_cut_says_so(tmp_path: Path) -> None:
    folder = made_crawl.make(tmp_path / "made", 1_000)
    found = stats_of(folder)
    lines = call("stats", folder).stdout.splitlines()
    of_broken = lines[lines.index("broken links") + 1 :]
    assert len(found["broken"]) == found["broken_pages"] > 10
    assert of_broken[10] == f"  and {found['broken_pages'] - 10} more: weft links {folder} --broken has them all"


def test_a_file_takes_the_form_of_its_ending(crawled: Stored, tmp_path: Path) -> None:
    for name, first in (("x.json", "{"), ("x.csv", "table,site,"), ("x.html", "<!doctype html>")):
        run = call("stats", crawled.folder, "-o", tmp_path / name)
        assert (run.code, run.stdout) == (0, ""), run.stderr
        assert (tmp_path / name).read_text().lower().startswith(first)
    assert json.loads((tmp_path / "x.json").read_text())["all"] == stats_of(crawled.folder)["all"]
    assert call("stats", crawled.folder, "-o", tmp_path / "x.html").code == 2  # a report wants --force
    assert call("stats", crawled.folder, "-o", tmp_path / "x").code == 2


def test_wrong_use_is_one_sentence(crawled: Stored, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for arguments in (("nowhere",), (str(tmp_path / "empty"),), (str(crawled.folder), "--against", "no-such-list")):
        run = call("stats", *arguments)
        assert run.code == 2 and len(run.stderr.splitlines()) == 1, run.stderr


def test_empty_crawl(weft: Weft, tmp_path: Path, site: Site) -> None:
    """A crawl that has not fetched anything has statistics too."""
    assert weft("crawl", site.at("/"), "-o", "none", "--max-time", "0.001", "--quiet").code in (0, 3)
    found = stats_of(tmp_path / "none")
    assert found["all"]["pages"] == 0 and found["sizes"] is None and found["across"]["rank_correlation"] is None
    assert call("stats", tmp_path / "none").code == 0
    assert call("stats", tmp_path / "none", "--csv").code == 0


# --- beside the answer key


@pytest.fixture(scope="module")
def key_crawl(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Served]:
    from weft.demo.invented import InventedWeb
    from weft.demo.server import serve_invented

    folder = tmp_path_factory.mktemp("key")
    with serve_invented(InventedWeb(5, 3, 200, traps=False), record=False) as served:
        options = ("--resolve", served.resolve, "--delay", "0", "--per-host", "8", "--quiet", "--retries", "0")
        run = run_weft("crawl", *served.seeds, "-o", "crawl", *options, cwd=folder)
        assert run.code == 0, run.stderr
        return folder / "crawl", served


def test_figures_equal_the_answer_key(key_crawl: tuple[Path, Served]) -> None:
    """Per site and in all: statuses, depths, duplicates, links, R19's pages; the key knows them without crawling."""
    folder, served = key_crawl
    key, web, found = served.web.expected(), served.web, stats_of(folder)
    assert found["all"]["status"] == Counter(str(entry.status) for entry in key.values())
    assert found["all"]["depths"] == Counter(str(entry.depth) for entry in key.values())
    copies = sum(len(set(group) & key.keys()) - 1 for group in web.duplicates())
    assert found["all"]["duplicate"] == copies
    links = {url: web.links(url) for url in key}
    assert found["all"]["links"] == sum(map(len, links.values()))
    assert found["all"]["link_kinds"] == Counter(link.kind for group in links.values() for link in group)
    bad = {url for url, entry in key.items() if entry.status >= 400}
    assert found["all"]["broken_links"] == sum(link.target in bad for group in links.values() for link in group)
    for site in found["sites"]:
        mine = {url: entry for url, entry in key.items() if url.split("/")[2] == site["site"]}
        html = {url for url, entry in mine.items() if entry.status == 200 and entry.type == "text/html"}
        assert site["status"] == Counter(str(entry.status) for entry in mine.values())
        assert site["nodes"] == len(html) - site["duplicate"]
        assert site["start"] is True
        assert site["internal_links"] == sum(
            link.target.split("/")[2:3] == [site["site"]] for url in mine for link in links[url]
        )
    languages = Counter(entry.language for entry in key.values() if entry.status == 200 and entry.language)
    assert {name: n for name, n in found["all"]["languages"].items() if name != "unknown"} == languages


def test_domain_table_equals_the_answer_key(key_crawl: tuple[Path, Served]) -> None:
    """G9: domain by domain, what was visited and all that is known."""
    folder, served = key_crawl
    key = served.web.expected()
    visited: Counter[tuple[str, str]] = Counter()
    known: Counter[tuple[str, str]] = Counter()
    for url in key:
        for link in served.web.links(url):
            if link.kind in HYPERLINKS and link.target.startswith("http"):
                pair = url.split("/")[2], link.target.split("/")[2]
                known[pair] += 1
                visited[pair] += link.target in key
    links = stats_of(folder)["domains"]["links"]
    assert {(one["source"], one["target"]): one["known"] for one in links} == known
    assert {(one["source"], one["target"]): one["visited"] for one in links} == {pair: visited[pair] for pair in known}


def test_edges_equal_the_answer_key(key_crawl: tuple[Path, Served]) -> None:
    """R11, R13, R19: edges between pages, redirects and copies merged, parallel links once, no loops."""
    folder, served = key_crawl
    key, web = served.web.expected(), served.web
    same = {copy: group[0] for group in web.duplicates() for copy in group if group[0] in key}

    def node(url: str, hops: int = 0) -> str | None:
        entry = key.get(url)
        if entry is None or hops > 20:
            return None
        if entry.role in ("redirect", "loop"):
            return node(web.links(url)[0].target, hops + 1)
        return same.get(url, url) if entry.status == 200 and entry.type == "text/html" else None

    edges = {
        (url, goal)
        for url in key
        if node(url) == url
        for link in web.links(url)
        if link.kind in HYPERLINKS and (goal := node(link.target)) is not None and goal != url
    }
    within = Counter(a.split("/")[2] for a, b in edges if a.split("/")[2] == b.split("/")[2])
    assert within
    assert {site["site"]: site["edges"] for site in stats_of(folder)["sites"] if site["edges"]} == within


def test_nodes_and_edges_are_those_of_the_graph(key_crawl: tuple[Path, Served], tmp_path: Path) -> None:
    """R19: what is counted of a site is what `weft graph` writes of it."""
    folder, _ = key_crawl
    assert call("graph", folder, "--to", tmp_path / "web.json").code == 0
    graph = json.loads((tmp_path / "web.json").read_text())
    site_of = {node["id"]: node["site"] for node in graph["nodes"]}
    nodes = Counter(site_of.values())
    edges = Counter(
        site_of[edge["source"]] for edge in graph["edges"] if site_of[edge["source"]] == site_of[edge["target"]]
    )
    for site in stats_of(folder)["sites"]:
        assert (site["nodes"], site["edges"]) == (nodes[site["site"]], edges[site["site"]])


def test_near_duplicates_are_counted_where_they_are_looked_for(weft: Weft, invented: Callable[..., Served]) -> None:
    """G7, G9: DUPLICATE is exact and near; null where nobody asked. The key knows both."""
    served = invented(seed=5, hosts=2, pages=120, traps=False)
    options = ("--resolve", served.resolve, "--delay", "0", "--per-host", "8", "--quiet", "--retries", "0")
    assert weft("crawl", *served.seeds, "-o", "near", *options, "--near-duplicates", "0.9").code == 0
    whole = stats_of(weft.folder / "near")["all"]
    key = served.web.expected()
    assert whole["exact_duplicates"] == sum(len(set(group) & key.keys()) - 1 for group in served.web.duplicates())
    assert whole["near_duplicates"] == sum(set(pair) <= key.keys() for pair in served.web.near_duplicates()) > 0
    assert whole["duplicate"] == whole["exact_duplicates"] + whole["near_duplicates"]
    rows = [json.loads(line) for line in call("pages", weft.folder / "near").stdout.splitlines()]
    assert whole["duplicate"] == sum(row["duplicate_of"] is not None for row in rows)


# --- beside another crawler's list


@pytest.mark.parametrize("form", ["lines", "csv", "jsonl", "frog"])
def test_comparison_with_a_list(key_crawl: tuple[Path, Served], tmp_path: Path, form: str) -> None:
    """R19: only here, only there, both; by our keys: a fragment, a redirect or a copy is the page it stands for."""
    folder, served = key_crawl
    key, web = served.web.expected(), served.web
    pages = sorted(url for url, e in key.items() if e.role == "page" and e.status == 200 and e.type == "text/html")
    left_out, listed = set(pages[:7]), pages[7:]
    copy = next(group for group in web.duplicates() if group[0] in listed and "index" not in group[1])
    redirect = next(
        url for url, entry in key.items() if entry.role == "redirect" and web.links(url)[0].target in listed
    )
    missing = next(url for url, entry in key.items() if entry.status == 404)
    more = [pages[8] + "#part", copy[1], redirect, missing, web.url(0, "/never-linked"), "http://elsewhere.test/"]
    path = tmp_path / "list"
    entries = [*listed, *more]
    match form:
        case "lines":
            path.write_text("# their pages\n\n" + "\n".join([*entries, "not a url at all"]))
        case "csv":
            path.write_text("status;url\n" + "".join(f'200;"{url}"\n' for url in entries) + "200;::\n")
        case "jsonl":
            path.write_text("".join(json.dumps({"url": url, "n": 1}) + "\n" for url in [*entries, "mailto:x@y.test"]))
        case _:
            path.write_text(
                '\ufeff"Address","Content Type"\n' + "".join(f'"{url}","text/html"\n' for url in [*entries, "x"])
            )
    found = stats_of(folder, "--against", path)["against"]
    assert (found["entries"], found["not_urls"]) == (len(entries) + 1, 1)
    assert found["repeated"] == 3
    assert found["both"] == len(listed)
    assert (found["there"], found["only_there"]) == (len(listed) + 3, 3)
    assert found["why_only_there"] == {"not known": 2, "404": 1}
    assert set(found["urls_only_there"]) == {missing, web.url(0, "/never-linked"), "http://elsewhere.test/"}
    assert left_out <= set(found["urls_only_here"])
    assert found["here"] == stats_of(folder)["all"]["nodes"]
    assert found["only_here"] == found["here"] - found["both"] == len(found["urls_only_here"])
    assert found["difference"] == (found["only_here"] + 3) / (found["here"] + 3)
    assert "only there" in call("stats", folder, "--against", path).stdout
    sites = {site["site"]: site for site in found["sites"]}
    assert sites["elsewhere.test"] == {
        "site": "elsewhere.test", "here": 0, "there": 1, "both": 0, "only_here": 0, "only_there": 1, "difference": 1,
    }  # fmt: skip
    for name in ("here", "there", "both", "only_here", "only_there"):
        assert sum(site[name] for site in sites.values()) == found[name]


def test_list_of_ourselves_differs_in_nothing(key_crawl: tuple[Path, Served], tmp_path: Path) -> None:
    folder, _ = key_crawl
    (tmp_path / "ours.jsonl").write_bytes(call("pages", folder).out)
    found = stats_of(folder, "--against", tmp_path / "ours.jsonl")["against"]
    assert found["only_here"] == 0
    assert set(found["why_only_there"]) <= {"404", "410", "500", "not HTML", "302", "301", "303", "307", "308"}


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"{\n", b"url\n", b"a" * 300_000, b'url,x\n"unclosed\n'])
def test_lists_without_a_url_are_told(little: Stored, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "odd").write_bytes(content)
    run = call("stats", little.folder, "--json", "--against", tmp_path / "odd")
    assert run.code == 2, "nothing in it could be compared with"
    (said,) = run.stderr.splitlines()
    assert str(tmp_path / "odd") in said and "bug" not in said


# --- pure parts


def test_rank_correlation_is_spearmans() -> None:
    """R19. Worked by hand: ranks 1 2 3 4 5 and 2 1 4 3 5 give 1 - 6*4/(5*24) = 0.8; equal values share ranks."""
    assert rank_correlation([10, 20, 30, 40, 50], [2, 1, 4, 3, 5]) == pytest.approx(0.8)
    assert rank_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert rank_correlation([1, 2, 2, 3], [1, 2, 2, 3]) == pytest.approx(1)
    assert rank_correlation([1, 1, 1], [1, 2, 3]) is None
    assert rank_correlation([1, 2], [1, 2]) is None


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=30))
def test_every_site_is_in_one_group(rows: list[tuple[int, int]]) -> None:
    sites = [(f"s{number}", pages, links) for number, (pages, links) in enumerate(rows)]
    found = across_sites(sites)
    assert sorted(name for group in found.groups for name in group.sites) == sorted(
        name for name, pages, _ in sites if pages
    )
    assert found.rank_correlation is None or -1.0001 <= found.rank_correlation <= 1.0001


@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.sampled_from(["a", "b"]), st.sampled_from(["x", "y", 7]), st.integers(1, 9))
    ),
    st.integers(0, 5),
)
def test_tally_is_the_same_in_memory_and_on_disk(rows: list[tuple[int, str, str | int, int]], room: int) -> None:
    """Bounded memory changes no number."""
    wanted: Counter[tuple[int, str, str | int]] = Counter()
    with closing(Tally(in_memory=room)) as tally:
        for site, table, name, number in rows:
            tally.add(site, table, name, number)
            tally.settle()
            wanted[site, table, name] += number
        for table in "ab":
            total: Counter[str | int] = Counter()
            for (_, of, name), number in wanted.items():
                total[name] += number if of == table else 0
            assert tally.total(table) == {name: number for name, number in total.items() if number}
        assert list(tally.sites()) == sorted({site for site, _, _ in wanted})
        for site in range(1, 5):
            assert tally.of_site(site, ("a",))["a"] == {
                n: c for (s, t, n), c in wanted.items() if (s, t) == (site, "a")
            }


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 1 << 31), st.integers(1, 1 << 30), st.integers(0, 1 << 30))),
    st.integers(0, 5),
)
def test_pairs_are_the_same_in_memory_and_on_disk(rows: list[tuple[int, int, int, int]], room: int) -> None:
    """Bounded memory changes no number, and large numbers do not run into each other."""
    known: Counter[tuple[int, int]] = Counter()
    visited: Counter[tuple[int, int]] = Counter()
    with closing(Pairs(in_memory=room)) as pairs:
        for source, target, number, part in rows:
            pairs.add(source, target, number, min(part, number))
            pairs.settle()
            known[source, target] += number
            visited[source, target] += min(part, number)
        wanted = [Pair(*pair, visited[pair], number) for pair, number in known.items()]
        assert pairs.largest(1_000) == sorted(wanted, key=lambda pair: (-pair.known, pair.source, pair.target))
        assert len(pairs) == len(known)
        assert sorted(pairs.among({1, 2, 7})) == sorted(
            pair for pair in wanted if {pair.source, pair.target} <= {1, 2, 7}
        )
        strength: Counter[int] = Counter()
        for pair in wanted:
            if pair.source != pair.target:
                strength.update({pair.source: pair.known, pair.target: pair.known})
        assert pairs.strongest(3) == sorted(strength, key=lambda site: (-strength[site], site))[:3]


@pytest.mark.parametrize(
    ("url", "media", "name"),
    [
        ("http://a.test/x.pdf", None, "PDF"),
        ("http://a.test/x.PDF?page=2.html", None, "PDF"),
        ("http://a.test/x.jpeg", None, "JPG"),
        ("http://a.test/download?id=4", "application/pdf", "PDF"),
        ("http://a.test/x.pdf/", None, ""),
        ("http://pdf.test/", None, ""),
        ("http://a.pdf", None, "PDF"),
        ("http://a.test/", None, ""),
        ("", None, ""),
    ],
)
def test_kind_of_file(url: str, media: str | None, name: str) -> None:
    """G5: by content type where it is known, else by the ending of the path."""
    file = file_class(url, media)
    assert (document_name(file) if is_document(file) else image_name(file)) == (name or "UNKNOWN")


def test_running_crawl_has_one_state(weft: Weft, tmp_path: Path, site: Site) -> None:
    """A snapshot of a crawl that goes on: what is counted adds up, and the crawl is not disturbed."""
    for number in range(40):
        site.page(f"/{number}", [f"/{number + 1}", f"/{number + 2}", "/"])
    site.page("/", ["/0", "/1"])
    process = weft.start("crawl", site.at("/"), "-o", "live", "--delay", "0.03", "--quiet")
    seen = 0
    while process.poll() is None and seen < 20:
        if (tmp_path / "live" / "crawl.db").is_file():
            run = call("stats", tmp_path / "live", "--json")
            if run.code == 0:
                found = json.loads(run.stdout)
                whole = found["all"]
                assert whole["known"] == sum(whole["states"].values())
                assert whole["states"].get("C", 0) == sum(whole["status"].values())
                assert whole["pages"] == sum(moment["pages"] for moment in found["timeline"]["moments"])
                seen = whole["pages"]
    assert process.wait(60) == 0
    assert stats_of(tmp_path / "live")["all"]["pages"] == 41


def test_every_field_is_documented() -> None:
    """docs/statistics.md names every field, and no field that is not there."""
    from test_docs import doc, documented, section

    from weft.derive.stats.model import Against, Numbers, Totals

    text = doc("statistics.md")
    counted = section(text, "What is counted")
    apart = {"all", "sites"}
    assert set(documented(counted)) == {*Numbers.__struct_fields__, *Totals.__struct_fields__} - apart
    assert sorted(documented(section(text, "Beside another crawler"))) == sorted(Against.__struct_fields__)


def test_memory_does_not_grow_with_the_links(tmp_path: Path) -> None:
    """Thirty times the links, the same pages: the same memory (R17)."""
    import tracemalloc

    from weft.derive.read import StoredCrawl
    from weft.derive.stats import gather

    peaks = []
    for links in (10, 10, 300):  # the first time modules are loaded
        folder = made_crawl.make(tmp_path / f"{links}-{len(peaks)}", 800, sites=4, links=links)
        with StoredCrawl(folder) as crawl:
            tracemalloc.start()
            with gather(crawl, lambda what, done, total: None) as statistics:
                assert statistics.totals.all.links >= 800 * links
                peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[2] < peaks[1] + 6_000_000, peaks  # 240,000 links in memory would be 20 MB and more
