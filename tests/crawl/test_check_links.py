"""--check-links: all that pages refer to is asked whether it answers, and nothing of it is kept (E21)."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from command import Weft
from until import wait_until
from web import Request, Response, Site, free_port

QUICK = ("--delay", "0", "--per-host", "8", "--quiet", "--resolve", "*.test=127.0.0.1")
OTHER = "other.test"


def crawl(weft: Weft, *words: str) -> Path:
    ended = weft("crawl", *words, "-o", "out", "--fresh", *QUICK)
    assert ended.code == 0, ended.stderr
    return checked(weft)


def checked(weft: Weft) -> Path:
    found = weft("check", "out")
    assert found.code == 0, found.stdout
    return weft.folder / "out"


def broken(weft: Weft) -> dict[tuple[str, str], tuple[int | None, str | None, str]]:
    """By target and page: status, error and anchor of each broken link."""
    lines = weft("links", "out", "--broken", "--format", "jsonl").stdout.splitlines()
    links = [json.loads(line) for line in lines]
    return {
        (link["target"], link["source"]): (link["target_status"], link["target_error"], link["anchor"])
        for link in links
    }


def pages(weft: Weft) -> list[str]:
    """The URLs that were asked as pages."""
    lines = weft("pages", "out", "--format", "jsonl").stdout.splitlines()
    return [page["url"] for page in map(json.loads, lines) if page["state"] is not None]


def methods(site: Site, path: str, host: str | None = None) -> list[str]:
    return [one.method for one in site.requests if one.path == path and host in (None, one.host)]


def a_web(site: Site) -> None:
    """Two pages with targets of every kind, and what is wrong with each."""
    site.page("/", [("/two", "on"), (site.at("/gone", OTHER), "gone"), (site.at("/fine", OTHER), "fine")],
              head='<link rel="stylesheet" href="/s.css"><script src="/s.js"></script>',
              body='<img src="/there.png" alt="here"><img src="/missing.png" alt="a picture">'
                   '<video src="/film.mp4"></video><a href="mailto:a@example.org">write</a>')  # fmt: skip
    site.page("/two", [(site.at("/gone", OTHER), "gone too"), "/missing-page"])
    site.file("/there.png", b"\x89PNG\r\n\x1a\n", "image/png")
    site.file("/s.css", b"p { margin: 0 }", "text/css")
    site.page("/fine", ["/never"], host=OTHER)
    for path in ("/gone", "/s.js", "/missing.png", "/film.mp4", "/missing-page"):
        site.file(path, b"no", status=404)


def expected(site: Site) -> dict[tuple[str, str], tuple[int | None, str | None, str]]:
    top, two, gone = site.at("/"), site.at("/two"), site.at("/gone", OTHER)
    return {
        (gone, top): (404, None, "gone"),
        (gone, two): (404, None, "gone too"),
        (site.at("/s.js"), top): (404, None, ""),
        (site.at("/missing.png"), top): (404, None, "a picture"),
        (site.at("/film.mp4"), top): (404, None, ""),
        (site.at("/missing-page"), two): (404, None, "/missing-page"),
    }


@pytest.mark.parametrize("processes", ["1", "2"])
def test_all_that_does_not_answer_with_the_pages_that_refer_to_it(site: Site, weft: Weft, processes: str) -> None:
    a_web(site)
    log = ("--log-file", "crawl.log")
    folder = crawl(weft, site.at("/"), "--check-links", "--processes", processes, *log)
    assert broken(weft) == expected(site)
    assert "checked: 404" in (weft.folder / "crawl.log").read_text()
    why = weft("why", "out", site.at("/fine", OTHER)).stdout
    assert "answered 200" in why and "only checked" in why and "OUT_OF_SCOPE" in why
    assert sorted(pages(weft)) == [site.at("/"), site.at("/missing-page"), site.at("/two")]
    assert json.loads(weft("status", "out", "--json").stdout)["pages"] == 2
    assert methods(site, "/fine", OTHER) == ["HEAD"] and methods(site, "/there.png") == ["HEAD"]
    assert methods(site, "/gone", OTHER) == ["HEAD", "GET"]
    assert site.asked("/never", OTHER) == site.asked("/sitemap.xml", OTHER) == 0
    with closing(sqlite3.connect(folder / "crawl.db")) as db:
        assert db.execute("SELECT count(*) FROM visit WHERE purpose = 5 AND warc IS NOT NULL").fetchone() == (0,)
        assert db.execute("SELECT count(*) FROM visit WHERE purpose = 5 AND size IS NOT NULL").fetchone() == (0,)
        assert db.execute("SELECT count(*) FROM image").fetchone() == (0,)
    graph = weft("graph", "out", "--format", "graphml", "-o", "graph.graphml")
    assert graph.code == 0, graph.stderr
    assert "there.png" not in (weft.folder / "graph.graphml").read_text()


def test_what_is_not_checked_without_the_option(site: Site, weft: Weft) -> None:
    a_web(site)
    crawl(weft, site.at("/"))
    assert broken(weft).keys() == {(site.at("/missing-page"), site.at("/two"))}
    assert site.asked("/there.png") == site.asked("/fine", OTHER) == 0


def test_where_head_is_refused_get_decides(site: Site, weft: Weft) -> None:
    """405, 501, 403 and a 404 that is meant for HEAD alone; of the body nothing is read."""

    def only_get(status: int, request: Request) -> Response:
        return Response(b"x" * 100_000, 200 if request.method == "GET" else status, "text/plain")

    for status in (403, 404, 405, 501):
        site.serve(f"/{status}", partial(only_get, status), host=OTHER)
    site.page("/", [site.at(f"/{status}", OTHER) for status in (403, 404, 405, 501)])
    folder = crawl(weft, site.at("/"), "--check-links", "--retries", "0")
    assert broken(weft) == {}
    assert methods(site, "/405", OTHER) == ["HEAD", "GET"]
    with closing(sqlite3.connect(folder / "crawl.db")) as db:
        assert db.execute("SELECT sum(size_wire) FROM visit WHERE purpose = 5").fetchone() == (0,)


def test_a_host_that_is_down_and_one_that_robots_forbids(site: Site, weft: Weft) -> None:
    site.robots("User-agent: *\nDisallow: /\n", host="closed.test")
    down = f"http://down.test:{free_port()}/x"
    site.page("/", [(down, "down"), (site.at("/x", "closed.test"), "closed")])
    crawl(weft, site.at("/"), "--check-links", "--retries", "0")
    ((target, source), (status, error, anchor)), *others = broken(weft).items()
    assert (target, source, status, anchor, others) == (down, site.at("/"), None, "down", [])
    assert error
    assert site.asked("/x", "closed.test") == 0
    assert pages(weft) == [site.at("/")]


def test_redirects_are_followed_and_bring_nothing_in(site: Site, weft: Weft) -> None:
    """A target that leads to a page of the crawl does not bring it in; one that leads nowhere is broken."""
    site.redirect("/back", site.at("/hidden"), host=OTHER)
    site.redirect("/off", "/nothing", host=OTHER)
    site.file("/nothing", b"no", status=404, host=OTHER)
    site.page("/hidden", ["/behind"])
    site.page("/", [site.at("/back", OTHER), site.at("/off", OTHER)])
    crawl(weft, site.at("/"), "--check-links")
    assert pages(weft) == [site.at("/")]
    assert broken(weft).keys() == {(site.at("/nothing", OTHER), site.at("/off", OTHER))}
    assert methods(site, "/hidden") == ["HEAD"] and site.asked("/behind") == 0


def test_pages_and_files_win(site: Site, weft: Weft) -> None:
    """What is checked first, and then linked like a page or shown as an image that is kept, is asked as that."""
    site.page("/", ["/a"], body='<script src="/late"></script><a href="/x.png">x</a>')
    site.page("/a", ["/late"], body='<img src="/x.png">')
    site.page("/late", ["/behind"])
    site.page("/behind")
    site.file("/x.png", b"\x89PNG\r\n\x1a\n", "image/png")
    folder = crawl(weft, site.at("/"), "--check-links", "--images")
    assert sorted(pages(weft)) == [site.at(path) for path in ("/", "/a", "/behind", "/late")]
    with closing(sqlite3.connect(folder / "crawl.db")) as db:
        assert db.execute("SELECT url, type FROM image WHERE page LIKE '%/a'").fetchall() == [
            (site.at("/x.png"), "image/png")
        ]
    assert broken(weft) == {}


def test_limits_are_for_pages(site: Site, weft: Weft) -> None:
    """Targets do not count for --max-pages; a larger --max-depth makes pages of those that were too deep."""
    for number in range(4):
        site.page(f"/{number}", [f"/{number + 1}"], body=f'<img src="/{number}.png">')
        site.file(f"/{number}.png", b"no", status=404)
    crawl(weft, site.at("/0"), "--check-links", "--max-pages", "2")
    assert broken(weft).keys() == {(site.at(f"/{number}.png"), site.at(f"/{number}")) for number in (0, 1)}
    crawl(weft, site.at("/0"), "--check-links", "--max-depth", "1")
    assert pages(weft) == [site.at("/0"), site.at("/1")] and methods(site, "/2")[-1] == "HEAD"
    resumed = weft("resume", "out", "--max-depth", "2", "--quiet")
    assert resumed.code == 0, resumed.stderr
    checked(weft)
    assert pages(weft) == [site.at(f"/{number}") for number in range(3)]


def test_a_scope_that_grows_makes_pages_of_what_was_checked(site: Site, weft: Weft) -> None:
    site.page("/", [site.at("/a", OTHER)])
    site.page("/a", ["/b"], host=OTHER)
    site.page("/b", host=OTHER)
    crawl(weft, site.at("/"), "--check-links")
    assert pages(weft) == [site.at("/")]
    assert weft("add", "out", site.at("/c", OTHER)).code == 0
    resumed = weft("resume", "out", *QUICK[:5])
    assert resumed.code == 0, resumed.stderr
    checked(weft)
    assert sorted(pages(weft)) == sorted([site.at("/"), *(site.at(path, OTHER) for path in ("/a", "/b", "/c"))])
    assert broken(weft) == {}


@pytest.mark.parametrize("processes", ["1", "2"])
def test_kills_change_nothing(site: Site, weft: Weft, processes: str) -> None:
    """Killed three times while targets wait: each is checked, and the list of the broken ones is whole."""
    targets = [site.at(f"/{number}", OTHER) for number in range(40)]
    for number in range(0, 40, 2):
        site.file(f"/{number}", b"there", host=OTHER)
    site.page("/", targets)
    words = ["--check-links", "--processes", processes, "--quiet", "--resolve", "*.test=127.0.0.1"]
    for wanted in (5, 15, 30):
        running = weft.start("crawl", site.at("/"), "-o", "out", *words, "--delay", "0.05", "--per-host", "1")
        wait_until(partial(is_past, weft.folder / "out/crawl.db", wanted, running), f"{wanted} visits")
        weft.kill(running)
        running.communicate()
    ended = weft("resume", "out", "--quiet", "--delay", "0", "--per-host", "8")
    assert ended.code == 0, ended.stderr
    checked(weft)
    assert broken(weft).keys() == {(url, site.at("/")) for url in targets[1::2]}


def is_past(database: Path, wanted: int, running: subprocess.Popen[bytes]) -> bool:
    """Whether so many visits are committed, or the crawl has ended."""
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as db:
            done = db.execute("SELECT count(*) FROM visit").fetchone()[0] >= wanted
    except sqlite3.OperationalError:
        done = False
    return done or running.poll() is not None
