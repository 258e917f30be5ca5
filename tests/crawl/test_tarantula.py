"""Tarantula's Crawler.conf, as its description prints it, run as it is (T1-T11); judged by the server's log, by the
copies that the run leaves, and by an independent reader of the index file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command import call
from hypothesis import given
from hypothesis import strategies as st
from index_reader import read_index
from web import HTML, Site, html_page

from weft.cli import running
from weft.errors import SpecError, WeftError
from weft.options import crawl_order
from weft.options.foreign.tarantula import KEYS, read_conf

EXAMPLE = r"""# Configuration File for Web Crawler

<crawler-options>

# The starting points of crawler. Must be one per line ending with
# `",<newline>'
# to ease parsing.

Starting-points = {
    "http://www.csd.uoc.test/",
    "http://www.ics.forth.test/",
    "http://el.wikipedia.test",
};

# accept only the following file patterns (regular expressions).
# example: "^-[a-f].*.pdf$" will download only the pdf files beginning
# with a character from a to f.
accept-list = {
    ".*\.[hH][tT][mM][lL]?$",
    ".*\.[pP][hH][pP]$",
    ".*\.[jJ][sS][pP]$",
    ".*\.[aA][sS][pP]$",
    ".*\.[tT][xX][tT]$",
    ".*\.[pP][dD][fF]$",
    ".*\.[dD][oO][cC]$" };

# reject the following file patterns (regular expressions).
# example: "*tmp*" will not download files containing
# the string "tmp".
Reject-list = {
    ".*\.[tT][mM][pP]\.{0,4}$",
    ".*\.[tT][mM][pP]\.?.{0,4}$",
    ".*\.[tT][mM][pP]\.?.{0,4}$",
    ".*\.[tT][mM][pP]\.?.{0,4}$",
};

# the maximum number of pages to retrieve. If this number is reached the
# crawler stops. `0' or negative means no limit.
max-page-number = 1000000;

# Scope-mode that will determine the host-spanning policy:
# "free-spanning", "domain-scope", "host-scope", "path-scope"
scope = "domain-scope";

# Traversal algorithm (currently supported: bfs, dfs).
# The `depth within site' algorithm can be approximated
# by setting the algorithm here to `dfs' and setting
# `scope' to `path-scope'.
traversal-algorithm = "bfs";

# the directory where the retrieved documents will be stored.
repository = "./testbedCSDICS";
```

```
<logging>

# Log-messages target. Valid values: "log" and "screen".
log-file = "log";

# valid values are [0-2]: 0 stands for quiet, 1 for verbose
# and 2 for debug mode
log-level = 1;

<recrawling-options>

# in hours
period = 72;
```
"""
"""The example of the description, with hosts of its own; the marks of its printed page included."""


def order(folder: Path, text: str) -> object:
    (folder / "Crawler.conf").write_text(text)
    return crawl_order([], {}, config=str(folder / "Crawler.conf"), warn=lambda _: None, environment={}).spec


def test_the_example_as_it_stands(tmp_path: Path) -> None:
    spec = order(tmp_path, EXAMPLE)
    assert spec.seeds == ("http://www.csd.uoc.test/", "http://www.ics.forth.test/", "http://el.wikipedia.test")
    assert spec.scope.accept[0] == r".*\.[hH][tT][mM][lL]?$"
    assert len(spec.scope.accept) == 7
    assert spec.scope.reject == (r".*\.[tT][mM][pP]\.{0,4}$", r".*\.[tT][mM][pP]\.?.{0,4}$")
    assert (spec.scope.scope, spec.scope.match, spec.scope.exact) == ("seed-domain", "name", True)
    assert (spec.politeness.order, spec.limits.max_pages) == ("bfs", 1_000_000)
    assert spec.keep.repository == str(tmp_path / "testbedCSDICS")
    assert (spec.keep.log_file, spec.keep.log_level) == (str(tmp_path / "log"), 1)
    assert spec.recrawl.period_s == 72 * 3600


@pytest.mark.parametrize(
    ("scope", "meant"),
    [
        ("free-spanning", "free"), ("Domain-Scope", "seed-domain"), ("host-scope", "host"), ("path-scope", "path"),
    ],
)  # fmt: skip
def test_scopes(tmp_path: Path, scope: str, meant: str) -> None:
    spec = order(tmp_path, f'starting-points={{"http://a.test/"}};scope="{scope}";')
    assert spec.scope.scope == meant


def test_every_way_to_write_it(tmp_path: Path) -> None:
    text = (
        '<crawler-options> # a comment\r\n STARTING-POINTS = { "http://a.test/b#c", # why\n "http://d.test/" } ;\n'
        "</crawler-options>\n<log-options>\nlog-file = screen; log-level=2; <multithreading-options>\n"
        "number-of-threads = 7; processes=1; max-page-number = -5 ;\nTRAVERSAL-algorithm = DFS;period=0;"
    )
    spec = order(tmp_path, text)
    assert spec.seeds == ("http://a.test/b#c", "http://d.test/")
    assert (spec.keep.log_file, spec.keep.log_level) == ("screen", 2)
    assert (spec.politeness.workers, spec.politeness.processes, spec.politeness.order) == (7, 1, "dfs")
    assert (spec.limits.max_pages, spec.recrawl.period_s) == (None, None)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('\nscope = "hosts-scope";', 2, "host-scope"),
        ("scop = x;", 1, "scope"),
        ("<crawler-option>", 1, "crawler-options"),
        ("\n\naccept-list = {\n  \"a(\"\n};", 4, "accept-list"),
        ('accept-list = {\n  "a"\n  "b" };', 3, "comma"),
        ('accept-list = { "a",', 1, "never closed"),
        ('accept-list = { "a\n", };', 1, "never closed"),
        ('accept-list = "a";', 1, "list"),
        ('scope = { "path-scope" };', 1, "one value"),
        ("period = soon;", 1, "whole number"),
        ("log-level = 3;", 1, "0 to 2"),
        ("period = 72", 1, ";"),
        ("period = ;", 1, "no value"),
        ("period = 72;\nPERIOD = 3;", 2, "line 1"),
        ('repository = "";', 1, "names nothing"),
        ("what is this", 1, "key = value"),
        ('max-page-number = 99999999999999999;', 1, "whole number"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_told_with_file_line_and_reason(tmp_path: Path, text: str, line: int, said: str) -> None:
    file = tmp_path / "Crawler.conf"
    file.write_text(text)
    with pytest.raises(SpecError) as error:
        read_conf(file)
    assert str(error.value).startswith(f"{file}:{line}: ")
    assert said in str(error.value)


@given(st.lists(st.sampled_from([*'{}",;=#<>\\ \n', "a", "1", *KEYS]), max_size=30).map("".join))
def test_nothing_that_a_file_says_is_a_bug(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.getbasetemp() / "Crawler.conf"
    file.write_text(text)
    try:
        read_conf(file)
    except WeftError as error:
        assert str(error).startswith(f"{file}:")


# --- a run


def build(site: Site) -> None:
    links = ["/docs/", "/a.HTML", "/b.txt", "/c.pdf", "/pic.png", "/x.tmp", "/plain", "/q.php?id=1", "/old.htm"]
    site.page("/", links, title="start")
    site.page("/docs/", ["/docs/in.htm"], title="a folder")
    site.page("/docs/in.htm", title="in")
    site.page("/a.HTML", title="a")
    site.file("/b.txt", b"text", "text/plain", headers={"Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"})
    site.file("/c.pdf", b"%PDF-1.4 nothing", "application/pdf")
    site.file("/pic.png", b"x", "image/png")
    site.page("/x.tmp")
    site.page("/plain")
    site.page("/q.php?id=1", title='a "query"')
    site.redirect("/old.htm", "/docs/in.htm", 301)


def conf(site: Site, *more: str) -> str:
    text = EXAMPLE.replace('"http://www.ics.forth.test/",\n    "http://el.wikipedia.test",\n', "")
    text = text.replace("http://www.csd.uoc.test/", site.at("/"))
    for line in more:
        key = line.partition(" ")[0]
        kept = [one for one in text.split("\n") if not one.startswith(f"{key} ")]
        text = "\n".join([*kept, line])
    return text


def run(folder: Path, site: Site, *options: str, lines: tuple[str, ...] = ()) -> str:
    (folder / "Crawler.conf").write_text(conf(site, *lines))
    command = ("crawl", "-c", folder / "Crawler.conf", "-o", folder / "crawl", "--delay", "0", *options)
    ended = call(*command)
    assert ended.code == 0, ended.stderr
    return ended.stderr


def test_a_run_leaves_copies_index_and_log(site: Site, tmp_path: Path) -> None:
    build(site)
    run(tmp_path, site)
    asked = {path for path in site.paths() if path != "/robots.txt"}
    assert asked == {"/", "/docs/", "/docs/in.htm", "/a.HTML", "/b.txt", "/c.pdf", "/q.php?id=1", "/old.htm"}
    copies = tmp_path / "testbedCSDICS"
    host = copies / site.url.removeprefix("http://").replace(":", "_")
    assert (host / "b.txt").read_bytes() == b"text"
    assert (host / "c.pdf").read_bytes() == b"%PDF-1.4 nothing"
    assert (host / "docs" / "index.html").is_file()
    entries = {entry.url.removeprefix(site.url): entry for entry in read_index(copies / "index.txt")}
    assert set(entries) == asked - {"/old.htm"}
    assert {path: entry.type for path, entry in entries.items()} == {
        "/": "html", "/docs/": "html", "/docs/in.htm": "html", "/a.HTML": "html", "/b.txt": "txt", "/c.pdf": "pdf",
        "/q.php?id=1": "html",
    }  # fmt: skip
    assert entries["/b.txt"].modified == "1994-11-06T08:49:37Z"
    assert entries["/q.php?id=1"].title == 'a "query"'
    assert [key.removeprefix(site.url) for key, _ in entries["/"].links] == [
        "/docs/", "/a.HTML", "/b.txt", "/c.pdf", "/q.php?id=1", "/old.htm",
    ]  # fmt: skip
    log = (tmp_path / "log").read_text()
    assert "fetched: 200 text/plain, 4 bytes, 0 links" in log and site.at("/b.txt") in log
    assert "Content-Type" not in log


@pytest.mark.parametrize("level", [0, 1, 2])
def test_log_levels(site: Site, tmp_path: Path, level: int) -> None:
    build(site)
    run(tmp_path, site, lines=(f"log-level = {level};", "max-page-number = 0;"))
    log = (tmp_path / "log").read_text().lower()
    assert ("fetched: 200" in log, "content-type:" in log) == (level >= 1, level == 2)
    assert "pages" in log


def test_seeds_and_folders_pass_the_accept_list(site: Site, tmp_path: Path) -> None:
    site.page("/start", ["/folder/", "/no"])
    site.page("/folder/", ["/folder/yes.txt"])
    site.page("/no")
    site.file("/folder/yes.txt", b"1", "text/plain")
    (tmp_path / "c.conf").write_text(f'starting-points={{"{site.at("/start")}"}}; accept-list={{"[.]txt$"}};')
    assert call("crawl", "-c", tmp_path / "c.conf", "-o", tmp_path / "c", "--delay", "0", "--quiet").code == 0
    assert set(site.paths()) == {"/robots.txt", "/start", "/folder/", "/folder/yes.txt"}


def test_host_scope_is_the_seeds_hosts_and_no_others(sites: Callable[..., Site], tmp_path: Path) -> None:
    one, other = sites(), sites()
    one.file("/", html_page("x", ["/a"]), HTML)
    one.redirect("/a", other.at("/"))
    other.page("/")
    text = f'starting-points={{"{one.at("/")}", "{one.at("/a")}"}}; scope = "host-scope";'
    (tmp_path / "c.conf").write_text(text)
    assert call("crawl", "-c", tmp_path / "c.conf", "-o", tmp_path / "c", "--delay", "0", "--quiet").code == 0
    assert other.paths() == []


def test_a_file_of_the_users_is_no_log(site: Site, tmp_path: Path) -> None:
    (tmp_path / "log").write_text("my diary")
    (tmp_path / "Crawler.conf").write_text(conf(site))
    ended = call("crawl", "-c", tmp_path / "Crawler.conf", "-o", tmp_path / "crawl")
    assert (ended.code, "no log of weft's" in ended.stderr) == (2, True)
    assert (tmp_path / "log").read_text() == "my diary"


def test_a_folder_of_the_users_is_no_repository(site: Site, tmp_path: Path) -> None:
    site.page("/")
    (tmp_path / "testbedCSDICS").mkdir()
    (tmp_path / "testbedCSDICS" / "mine.txt").write_text("mine")
    (tmp_path / "Crawler.conf").write_text(conf(site))
    ended = call("crawl", "-c", tmp_path / "Crawler.conf", "-o", tmp_path / "crawl")
    assert (ended.code, "files.tsv" in ended.stderr, site.paths()) == (2, True, [])
    assert not (tmp_path / "crawl").exists()


def test_run_again_it_does_the_next_pass_when_that_is_due(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(site)
    assert "pass 2 is due at" in run(tmp_path, site)
    site.clear_log()
    assert "pass 2 is due at" in run(tmp_path, site)
    assert site.paths() == []
    site.page("/a.HTML", ["/later.html"], title="changed")
    site.page("/later.html", title="later")
    site.forget("/b.txt")
    later_ns = running.time.time_ns() + 73 * 3_600 * 10**9
    monkeypatch.setattr(running.time, "time_ns", lambda: later_ns)
    run(tmp_path, site)
    entries = {
        entry.url.removeprefix(site.url): entry for entry in read_index(tmp_path / "testbedCSDICS" / "index.txt")
    }
    assert (entries["/a.HTML"].title, "/later.html" in entries, "/b.txt" in entries) == ("changed", True, False)
    assert [key.removeprefix(site.url) for key, _ in entries["/a.HTML"].links] == ["/later.html"]
    host = tmp_path / "testbedCSDICS" / site.url.removeprefix("http://").replace(":", "_")
    assert b"changed" in (host / "a.HTML").read_bytes()
    assert not (host / "b.txt").exists()
