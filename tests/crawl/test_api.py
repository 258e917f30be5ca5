"""weft from Python (issue section 2): the stream of pages, the stored crawl, and nothing left behind."""

from __future__ import annotations

import asyncio
import gzip
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from stored import ROOT
from until import wait_until
from web import Response, Site, html_page

import weft
from weft.api import UNREAD_MAX
from weft.demo.server import Served
from weft.errors import FolderError
from weft.options import keywords_module

Invented = Callable[..., Served]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made in this test; whatever is left there was left behind."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def small_site(site: Site, pages: int = 12) -> set[str]:
    """Serves a front page with links; the URLs that a crawl of it tries."""
    paths = [f"/{number}" for number in range(1, pages)]
    site.page("/", links=[*paths, "/missing"])
    for path in paths:
        site.page(path, links=["/"])
    return {site.at(path) for path in ("/", "/missing", *paths)}


async def gathered(*seeds: str, **options: object) -> list[weft.Page]:
    return [page async for page in weft.crawl(*seeds, **options)]  # type: ignore[arg-type]


def test_each_page_comes_once_and_the_temporary_folder_goes(site: Site, temporary: Path) -> None:
    expected = small_site(site)
    pages = asyncio.run(gathered(site.url, delay=0))
    assert sorted(page.url for page in pages) == sorted(expected)
    front = next(page for page in pages if page.url == site.at("/"))
    assert (front.status, front.title, front.depth, front.out_links, front.in_links) == (200, "/", 0, 12, None)
    assert next(page for page in pages if page.url.endswith("/missing")).status == 404
    assert list(temporary.iterdir()) == []


def test_a_folder_stays_and_can_be_opened(site: Site, tmp_path: Path, temporary: Path) -> None:
    expected = small_site(site)
    folder = tmp_path / "kept"
    streamed = asyncio.run(gathered(site.url, folder=folder, delay="0s"))
    with weft.open(folder) as stored:
        assert isinstance(stored, weft.StoredCrawl)
        status = stored.status()
        assert (status.state, status.stop_reason, status.pages) == ("done", "done", 12)
        pages = list(stored.pages())
        assert {page.url for page in pages} == expected
        assert {page.url: page.hash for page in pages} == {page.url: page.hash for page in streamed}
        assert next(page for page in pages if page.url == site.at("/")).in_links == 11
        links = list(stored.links(target=site.at("/")))
        assert len(links) == 11 and all(isinstance(link, weft.LinkRow) for link in links)
        one = stored.page(site.at("/3"))
        assert one is not None and one.title == "/3" and one.in_links is None
        assert stored.page(site.at("/never")) is None and stored.page_by_id(10**9) is None
        assert stored.spec.limits.max_pages is None
        assert stored.connection.execute("SELECT count(*) FROM page").fetchone() == (13,)


def test_a_finished_crawl_gives_nothing_again(site: Site, tmp_path: Path) -> None:
    small_site(site)
    folder = tmp_path / "kept"
    assert len(asyncio.run(gathered(site.url, folder=folder, delay=0))) == 13
    site.clear_log()
    assert asyncio.run(gathered(site.url, folder=folder, delay=0)) == []
    assert asyncio.run(gathered(folder=folder, delay=0)) == []
    assert site.asked("/") == 0


@pytest.mark.parametrize("leave", ["break", "return", "aclosing", "error"])
def test_leaving_the_loop_stops_the_crawl(invented: Invented, tmp_path: Path, leave: str) -> None:
    """However the loop is left, the crawl ends cleanly: not killed, nothing lost; it can be gone on with."""
    served = invented(3, 1, 150)
    folder = tmp_path / "left"
    options: dict[str, object] = {"resolve": [served.resolve], "delay": 0.01, "workers": 1}

    async def leaving() -> weft.Page:
        async with aclosing(weft.crawl(*served.seeds, folder=folder, **options)) as pages:
            if leave == "aclosing":
                async for page in pages:
                    return page
        async for page in weft.crawl(*served.seeds, folder=folder, **options):
            if leave == "error":
                raise ZeroDivisionError
            if leave == "return":
                return page
            break
        return page

    if leave == "error":
        with pytest.raises(ZeroDivisionError):
            asyncio.run(leaving())
    else:
        assert asyncio.run(leaving()).url == served.seeds[0]
    with weft.open(folder) as stored:
        status = stored.status()
        assert (status.state, status.stop_reason) == ("stopped", "stopped")
        assert 0 < status.completed < 100 and status.running == 0 and status.waiting > 0
        first = {page.url for page in stored.pages()}
    rest = asyncio.run(gathered(*served.seeds, folder=folder, **(options | {"workers": 8, "delay": 0})))
    second = {page.url for page in rest}
    assert len(rest) == len(second) and not first & second
    assert first | second == set(served.web.expected())


CLOCKS_S = 0.05
"""What lies between our clock and that of the kernel, which tells when a request came."""


def test_nothing_is_asked_after_the_loop_is_left(site: Site) -> None:
    site.serve(lambda request: _endless(request.path))

    async def leaving() -> float:
        async with aclosing(weft.crawl(site.url, delay=0, per_host=4)) as pages:
            seen = 0
            async for _page in pages:
                seen += 1
                if seen == 20:
                    break
        left_s = time.monotonic()
        await asyncio.sleep(0.3)
        return left_s

    left_s = asyncio.run(leaving())
    late = [request for request in site.requests if request.time_monotonic > left_s + CLOCKS_S]
    assert site.requests and not late


def _endless(path: str) -> Response:
    number = int(path.strip("/") or "0") if path.strip("/").isdigit() else 0
    return Response(html_page(path, [f"/{number * 2 + 1}", f"/{number * 2 + 2}"]))


def test_a_slow_reader_slows_taking(invented: Invented) -> None:
    """Past the pages that nobody has read, no more are taken, however long the reader waits; then it goes on."""
    served = invented(5, 1, 1_500)
    options = {"resolve": [served.resolve], "delay": 0.004}

    async def reading() -> tuple[int, list[str]]:
        urls = []
        asked = 0
        async with aclosing(weft.crawl(*served.seeds, **options)) as stream:  # type: ignore[arg-type]
            async for page in stream:
                urls.append(page.url)
                if len(urls) == 1:
                    asked = await _asked_in_the_end(served)
                if len(urls) > asked + 10:
                    break
        return asked, urls

    asked, urls = asyncio.run(reading())
    assert asked < len(served.web.expected()) / 2, "the crawl went on although nobody read"
    assert len(urls) == len(set(urls)) > asked


async def _asked_in_the_end(served: Served) -> int:
    """How many requests there were when no more came for a while."""
    asked, quiet = -1, 0
    while quiet < 10 or asked < UNREAD_MAX:
        await asyncio.sleep(0.1)
        quiet = quiet + 1 if len(served.requests) == asked else 0
        asked = len(served.requests)
    return asked


def test_two_crawls_share_nothing(sites: Callable[..., Site], tmp_path: Path) -> None:
    """Two crawls in one process, of two sites with the same paths (STYLE section 6)."""
    one, two = sites(), sites("127.0.0.2")
    first, second = small_site(one), small_site(two, pages=7)
    one.page("/", links=["/1", "/2", "/missing"], headers={"Set-Cookie": "a=1"})
    expected = {one.at(path) for path in ("/", "/1", "/2", "/missing")}

    async def both() -> tuple[list[weft.Page], list[weft.Page]]:
        return await asyncio.gather(
            gathered(one.url, folder=tmp_path / "one", delay=0),
            gathered(two.url, folder=tmp_path / "two", delay=0, max_pages=3, ignore_robots=True),
        )

    pages_one, pages_two = asyncio.run(both())
    assert {page.url for page in pages_one} == expected < first
    assert {page.url for page in pages_two} < second
    assert sum(page.status == 200 for page in pages_two) == 3
    assert one.asked("/robots.txt") == 1 and two.asked("/robots.txt") == 0
    assert all(request.header("cookie") is None for request in two.requests)


def test_what_the_web_does_wrong_is_in_the_pages(site: Site, temporary: Path) -> None:
    site.page("/", links=["/moved", "/broken", "/forbidden"])
    site.redirect("/moved", "/")
    site.misbehave("/broken", "close_before_answer")
    site.robots("User-agent: *\nDisallow: /forbidden\n")
    pages = {page.url: page for page in asyncio.run(gathered(site.url, delay=0, retries=0))}
    assert pages.keys() == {site.at(path) for path in ("/", "/moved", "/broken")}
    assert pages[site.at("/moved")].redirect_to == site.at("/")
    broken = pages[site.at("/broken")]
    assert (broken.state, broken.error, broken.status) == ("E", weft.Cause.EMPTY_ANSWER.value, None)


def test_a_site_that_is_not_there_comes_as_a_page(temporary: Path) -> None:
    """robots.txt cannot be had, so the seed is never asked; its cause is told all the same."""
    import socket

    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}/"
        pages = asyncio.run(gathered(url, delay=0, retries=0))
    assert [(page.url, page.state, page.error) for page in pages] == [(url, "E", weft.Cause.CONNECT_REFUSED.value)]
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("seeds", "options", "told"),
    [
        (["https://example.org"], {"max_page": 1}, "nearest: max_pages"),
        (["https://example.org"], {"delay": "soon"}, "delay"),
        (["ftp://example.org"], {}, "http"),
        ([], {}, "no seed"),
        ([["https://example.org"]], {}, r"not of type list \(a list is given as \*seeds\)"),
    ],
)
def test_wrong_use_is_an_exception(seeds: list[Any], options: dict[str, object], told: str, temporary: Path) -> None:
    with pytest.raises(weft.WeftError, match=told) as raised:
        asyncio.run(gathered(*seeds, **options))
    assert raised.value.exit_code == 2
    assert list(temporary.iterdir()) == []


def test_a_folder_in_use_is_an_exception(site: Site, tmp_path: Path) -> None:
    small_site(site)

    async def twice() -> None:
        async with aclosing(weft.crawl(site.url, folder=tmp_path / "kept", delay=0)) as pages:
            async for _page in pages:
                with pytest.raises(FolderError, match="running"):
                    await gathered(site.url, folder=tmp_path / "kept", delay=0)
                break

    asyncio.run(twice())


def test_open_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(weft.WeftError, match="no folder"):
        weft.open(tmp_path / "nothing")
    with pytest.raises(weft.WeftError, match="holds no crawl"):
        weft.open(str(tmp_path))


def test_warnings_go_to_the_logger(site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: Capfd) -> None:
    small_site(site, 2)
    seeds = tmp_path / "seeds.txt"
    seeds.write_text(f"{site.url}\nnot a url at all\n")
    with caplog.at_level(logging.WARNING, "weft"):
        assert len(asyncio.run(gathered(str(seeds), folder=tmp_path / "kept", delay=0))) == 3
    assert [record.name for record in caplog.records] == ["weft"] and "seeds.txt:2" in caplog.text
    assert capfd.readouterr() == ("", "")


Capfd = pytest.CaptureFixture[str]


def test_cancelling_ends_the_crawl_cleanly(invented: Invented, tmp_path: Path) -> None:
    served = invented(3, 1, 150)

    async def cancelled() -> None:
        async for _page in weft.crawl(*served.seeds, folder=tmp_path / "kept", resolve=[served.resolve], delay=0.01):
            await asyncio.sleep(3_600)

    async def main() -> None:
        task = asyncio.create_task(cancelled())
        await asyncio.to_thread(wait_until, lambda: served.requests, "the first request")
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(main())
    with weft.open(tmp_path / "kept") as stored:
        assert stored.status().stop_reason in ("stopped", "killed") and stored.status().running == 0


def test_names_are_typed() -> None:
    """`py.typed` is there, and the public names have their annotations."""
    assert (Path(weft.__file__).parent / "py.typed").is_file()
    for name in ("crawl", "open"):
        assert "return" in getattr(weft, name).__annotations__


CALLS = """
from typing import Unpack

import weft


async def titles(*seeds: str, **options: Unpack[weft.CrawlOptions]) -> list[str | None]:
    return [page.title async for page in weft.crawl(*seeds, folder="kept", **options)]


async def main() -> None:
    await titles("a", max_pages=3, delay="2s", order="dfs", max_depth=None, header=["A: b"], sitemaps=False, ca="x.pem")
    weft.crawl("a", max_page=3)  # wrong
    weft.crawl("a", order="sideways")  # wrong
    weft.crawl("a", max_bugs=None)  # wrong
    weft.crawl("a", output="x")  # wrong
    await titles("a", no_archive="yes")  # wrong
"""


def test_type_checkers_find_what_is_wrong_in_a_call(tmp_path: Path) -> None:
    """Issue 21, section 4: a typo is a mypy error."""
    (tmp_path / "calls.py").write_text(CALLS)
    words = [sys.executable, "-P", "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", tmp_path / "calls.py"]
    checked = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    wrong = [number for number, line in enumerate(CALLS.splitlines(), start=1) if line.endswith("# wrong")]
    found = re.findall(r"calls\.py:(\d+): error: (.*)", checked.stdout)
    assert [int(line) for line, _ in found] == wrong, checked.stdout + checked.stderr
    assert '"max_page"' in found[0][1]


def test_types_of_the_options_are_those_of_the_specification() -> None:
    written = ROOT / "src" / "weft" / "options" / "crawl_options.py"
    assert written.read_text() == keywords_module(), "write it anew: python tools/write_options.py"


# --- what pages hold


def test_pages_have_their_bodies(site: Site, tmp_path: Path) -> None:
    """body, html and text, from the archive, of pages of every kind; while the crawl runs, and after it."""
    words = "two  words of \u00e5ngstr\u00f6m"
    latin = f"<title>t</title><p>{words}</p><script>no()</script>".encode("latin-1")
    site.page("/", links=["/latin", "/same", "/packed", "/bin", "/missing", "/moved", "/reset", "/plain"])
    site.file("/latin", latin, "text/html; charset=iso-8859-1")
    site.file("/same", latin, "text/html; charset=iso-8859-1")
    site.file("/packed", gzip.compress(latin), "text/html", headers={"Content-Encoding": "gzip"})
    site.file("/bin", bytes(range(256)), "image/png")
    site.file("/plain", b"1 < 2\n", "text/plain")
    site.redirect("/moved", "/latin", 301)
    site.misbehave("/reset", "reset_mid_body")
    folder = tmp_path / "kept"
    seen: dict[str, tuple[bytes, str, str]] = {}

    async def read() -> list[weft.Page]:
        pages = []
        async for page in weft.crawl(site.url, folder=folder, delay=0, retries=0):
            seen[page.url.removeprefix(site.url)] = (page.body, page.html, page.text)
            pages.append(page)
        return pages

    pages = asyncio.run(read())
    seen_text = "two words of \u00e5ngstr\u00f6m"
    assert seen["/latin"] == seen["/same"] == (latin, latin.decode("latin-1"), seen_text)
    assert seen["/packed"][0] == latin
    assert seen["/bin"] == (bytes(range(256)), "", "")
    assert seen["/plain"] == (b"1 < 2\n", "1 < 2\n", "1 < 2\n")
    assert seen["/reset"] == (b"", "", "")
    assert b"404" in seen["/missing"][0] and seen["/moved"][1] is not None
    assert {page.url.removeprefix(site.url): page.body for page in pages} == {at: held[0] for at, held in seen.items()}
    with weft.open(folder) as stored:
        again = {page.url.removeprefix(site.url): page for page in stored.pages()}
        assert {at: (page.body, page.html, page.text) for at, page in again.items()} == seen
        one = stored.page(site.at("/latin"))
        assert one is not None and one.text == seen_text
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(lambda: again["/latin"].text).result() == seen_text
    assert again["/latin"].text == seen_text  # the crawl is closed, and its folder is there
    shutil.rmtree(folder)
    with pytest.raises(weft.WeftError, match="is gone"):
        _ = again["/latin"].body


def test_a_crawl_without_an_archive_says_that_it_has_no_bodies(site: Site, tmp_path: Path) -> None:
    small_site(site, 3)
    (first, *_) = asyncio.run(gathered(site.url, folder=tmp_path / "kept", delay=0, no_archive=True))
    with pytest.raises(weft.WeftError, match="keeps no bodies"):
        _ = first.body


# --- without asyncio


def test_a_crawl_without_asyncio(site: Site, tmp_path: Path, temporary: Path) -> None:
    expected = small_site(site)
    assert {page.url for page in weft.crawl_sync(site.url, delay=0) if page.html} == expected

    async def in_a_notebook() -> list[weft.Page]:
        return list(weft.crawl_sync(site.url, folder=tmp_path / "kept", delay=0))

    assert {page.url for page in asyncio.run(in_a_notebook())} == expected
    assert list(temporary.iterdir()) == []


def test_leaving_a_crawl_without_asyncio_stops_it(site: Site, tmp_path: Path) -> None:
    """Also by an exception of the reader's; what is wrong with the options is raised where the pages are read."""
    small_site(site, 200)
    for page in weft.crawl_sync(site.url, folder=tmp_path / "kept"):
        assert page.url == site.at("/")
        break
    assert not any(thread.name == "weft crawl" for thread in threading.enumerate())
    with weft.open(tmp_path / "kept") as stored:
        assert stored.status().state == "stopped" and stored.status().waiting > 100
    with pytest.raises(weft.WeftError, match="unknown option 'max_page'"):
        next(iter(weft.crawl_sync(site.url, max_page=3)))
    script = f"import weft; pages = weft.crawl_sync({site.url!r}, folder='third'); print(next(pages).url)"
    environment = os.environ | {"PYTHONPATH": str(Path(weft.__file__).parent.parent)}
    command = [sys.executable, "-c", script]
    ended = subprocess.run(command, env=environment, cwd=tmp_path, timeout=100, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, site.at("/") + "\n", "")
    with weft.open(tmp_path / "third") as stored:
        assert stored.status().stop_reason == "stopped"
    with pytest.raises(ZeroDivisionError):
        for page in weft.crawl_sync(site.url, folder=tmp_path / "other"):
            raise ZeroDivisionError(page.url)
    assert not any(thread.name == "weft crawl" for thread in threading.enumerate())
