"""Further passes of a crawl (T5, T9): every page asked once more, for what changed; judged by the server's log."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command import Weft, call
from index_reader import read_index
from until import wait_until
from warcio.archiveiterator import ArchiveIterator
from web import Request, Response, Site, html_page

from weft.cli import running


class Pages:
    """Pages that a test changes, served with validators; a request that names the right one gets 304."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.bodies: dict[str, bytes] = {}
        self.modified = "Sun, 06 Nov 1994 08:49:37 GMT"

    def put(self, path: str, body: bytes, validator: str = "etag") -> None:
        self.bodies[path] = body
        self.site.serve(path, lambda request: self._answer(request, path, validator))

    def _answer(self, request: Request, path: str, validator: str) -> Response:
        body = self.bodies[path]
        tag = f'"{len(body)}-{body.count(b"x")}"'
        if validator == "etag" and request.header("If-None-Match") == tag:
            return Response(status=304, headers={"ETag": tag})
        if validator == "date" and request.header("If-Modified-Since") == self.modified:
            return Response(status=304)
        headers = {"etag": {"ETag": tag}, "date": {"Last-Modified": self.modified}, "": {}}[validator]
        return Response(body, headers=headers)


@pytest.fixture
def pages(site: Site) -> Pages:
    made = Pages(site)
    made.put("/", html_page("start", ["/same", "/dated", "/plain", "/changes", "/goes"]))
    made.put("/same", html_page("same", ["/"]))
    made.put("/dated", html_page("dated", []), "date")
    made.put("/plain", html_page("plain", ["/same"], body="<p>long enough for a revisit record</p>" * 20), "")
    made.put("/changes", html_page("before", ["/same"]))
    made.put("/goes", html_page("goes", []))
    return made


@pytest.fixture
def due(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Lets a period pass at once, by the clock of the command line."""
    now = [running.time.time_ns()]
    monkeypatch.setattr(running.time, "time_ns", lambda: now[0])

    def forward() -> None:
        now[0] += 4_000 * 10**9

    return forward


def crawl(pages: Pages, folder: Path, *options: str) -> str:
    ended = call(
        "crawl", pages.site.at("/"), "-o", folder, "--delay", "0", "--period", "1h", "--sitemaps", "no", *options
    )
    assert ended.code == 0, ended.stderr
    return ended.stderr


def crawl_twice(pages: Pages, folder: Path, due: Callable[[], None], *options: str) -> None:
    crawl(pages, folder, *options)
    pages.site.clear_log()
    pages.put("/changes", html_page("after", ["/new"]))
    pages.put("/new", html_page("new", []))
    pages.site.forget("/goes")
    due()
    crawl(pages, folder, *options)


def rows(folder: Path, *words: str) -> list[dict[str, object]]:
    ended = call(*words[:1], folder, *words[1:], "--format", "jsonl")
    assert ended.code == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_a_pass_that_is_not_due_is_told(pages: Pages, tmp_path: Path, due: Callable[[], None]) -> None:
    assert "pass 2 is due at 20" in crawl(pages, tmp_path / "c")
    pages.site.clear_log()
    assert "pass 2 is due at 20" in crawl(pages, tmp_path / "c")
    assert pages.site.paths() == []
    due()
    assert "pass 3 is due at 20" in crawl(pages, tmp_path / "c")
    assert len(pages.site.paths()) >= 6


def test_a_further_pass_asks_each_page_once_for_what_changed(
    pages: Pages, tmp_path: Path, due: Callable[[], None]
) -> None:
    crawl_twice(pages, tmp_path / "c", due)
    asked = sorted(path for path in pages.site.paths() if path != "/robots.txt")
    assert asked == ["/", "/changes", "/dated", "/goes", "/new", "/plain", "/same"]
    by_url = {str(row["url"]).removeprefix(pages.site.url): row for row in rows(tmp_path / "c", "pages")}
    assert {path: row["title"] for path, row in by_url.items()} == {
        "/": "start", "/same": "same", "/dated": "dated", "/plain": "plain", "/changes": "after", "/goes": "not found",
        "/new": "new",
    } or by_url["/goes"]["status"] == 404  # fmt: skip
    assert {path for path, row in by_url.items() if row["status"] == 200} == set(by_url) - {"/goes"}
    assert by_url["/changes"]["title"] == "after"
    assert all(row["duplicate_of"] is None for row in by_url.values())
    links = {(row["source"], row["target"]) for row in rows(tmp_path / "c", "links")}
    assert (pages.site.at("/changes"), pages.site.at("/new")) in links
    assert (pages.site.at("/changes"), pages.site.at("/same")) not in links
    assert (pages.site.at("/same"), pages.site.at("/")) in links


def test_versions(pages: Pages, tmp_path: Path, due: Callable[[], None]) -> None:
    crawl_twice(pages, tmp_path / "c", due)
    changed: dict[str, list[object]] = {}
    for row in rows(tmp_path / "c", "pages", "--versions"):
        changed.setdefault(str(row["url"]).removeprefix(pages.site.url), []).append((row["status"], row["changed"]))
    assert changed == {
        "/": [(200, "new"), (304, "same")],
        "/same": [(200, "new"), (304, "same")],
        "/dated": [(200, "new"), (304, "same")],
        "/plain": [(200, "new"), (200, "same")],
        "/changes": [(200, "new"), (200, "real")],
        "/goes": [(200, "new"), (404, "gone")],
        "/new": [(200, "new")],
    }


def test_what_did_not_change_is_a_revisit_record(pages: Pages, tmp_path: Path, due: Callable[[], None]) -> None:
    crawl_twice(pages, tmp_path / "c", due)
    profiles: dict[str, str] = {}
    for path in (tmp_path / "c" / "warc").glob("*.warc.gz"):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                if record.rec_type == "revisit":
                    url = record.rec_headers.get_header("WARC-Target-URI").removeprefix(pages.site.url)
                    profiles[url] = record.rec_headers.get_header("WARC-Profile").rpartition("/")[2]
    assert profiles == {
        "/": "server-not-modified",
        "/same": "server-not-modified",
        "/dated": "server-not-modified",
        "/plain": "identical-payload-digest",
    }
    checked = call("check", tmp_path / "c")
    assert checked.code == 0, checked.stdout
    assert call("show", tmp_path / "c", pages.site.at("/same"), "--body").out == pages.bodies["/same"]
    assert '"status":"304"' not in (tmp_path / "c" / "warc" / "index.cdxj").read_text()


def test_the_repository_and_the_index_follow(pages: Pages, tmp_path: Path, due: Callable[[], None]) -> None:
    crawl_twice(pages, tmp_path / "c", due, "--repository", str(tmp_path / "copies"))
    entries = {
        entry.url.removeprefix(pages.site.url): entry.title for entry in read_index(tmp_path / "copies/index.txt")
    }
    assert entries == {
        "/": "start", "/same": "same", "/dated": "dated", "/plain": "plain", "/changes": "after", "/new": "new",
    }  # fmt: skip
    host = tmp_path / "copies" / pages.site.url.removeprefix("http://").replace(":", "_")
    assert (host / "changes").read_bytes() == pages.bodies["/changes"]
    assert not (host / "goes").exists()


def test_max_pages_counts_anew(pages: Pages, tmp_path: Path, due: Callable[[], None]) -> None:
    crawl(pages, tmp_path / "c", "--max-pages", "3")
    pages.site.clear_log()
    due()
    crawl(pages, tmp_path / "c", "--max-pages", "3")
    assert 4 <= len(pages.site.paths()) <= 7  # robots.txt may be known still


def test_a_pass_that_was_killed_is_gone_on_with(pages: Pages, tmp_path: Path, due: Callable[[], None]) -> None:
    """What was asked in this pass is not asked again, and what was not is asked for what changed."""
    crawl(pages, tmp_path / "c", "--workers", "1")
    before = len(pages.site.requests)
    pages.site.clear_log()
    ended_s = time.time()
    wait_until(lambda: time.time() > ended_s + 1, "the least period there is")
    with Weft(tmp_path) as weft:
        pages.site.let(before + 3)
        options = ("--delay", "0", "--period", "1s", "--sitemaps", "no", "--workers", "1")
        killed = weft.start("crawl", pages.site.at("/"), "-o", "c", *options)
        wait_until(lambda: len(pages.site.paths()) >= 4, "the fourth request")
        killed.kill()
        killed.wait()
    pages.site.let()
    crawl(pages, tmp_path / "c", "--workers", "1")
    conditional = [
        request for request in pages.site.requests if request.path not in ("/plain", "/robots.txt", "/dated")
    ]
    assert all(request.header("If-None-Match") for request in conditional)
    assert len([request for request in pages.site.requests if request.path != "/robots.txt"]) <= 8


def test_watch_stays_and_does_each_pass(pages: Pages, tmp_path: Path) -> None:
    with Weft(tmp_path) as weft:
        options = ("--delay", "0", "--period", "1s", "--sitemaps", "no", "--watch")
        watching = weft.start("crawl", pages.site.at("/"), "-o", "c", *options)
        wait_until(lambda: pages.site.asked("/same") >= 3, "three passes")
        watching.send_signal(signal.SIGINT)
        _, said = watching.communicate(timeout=120)
    assert watching.returncode == 3
    assert b"pass 2 is due at" in said
    assert b"pass 3 is due at" in said
    conditional = [request.header("If-None-Match") for request in pages.site.requests if request.path == "/same"]
    assert conditional[0] is None
    assert all(conditional[1:3])
