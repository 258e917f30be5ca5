"""Waiting for others costs only what it must: TLS handshakes, name servers, and the pace that a server can bear."""

from __future__ import annotations

import asyncio
import itertools
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

import pytest
from command import Weft
from hypothesis import given
from hypothesis import strategies as st
from tlsweb import TlsHosts
from web import NameServer, Request, Response, Site, html_page

import weft
from weft.derive.read import StoredCrawl
from weft.frontier.pace import next_pace_s
from weft.text.human import human_moment

# --- TLS (issue 4, section 4)

HOSTS = 40  # more than libcurl keeps sessions of in one place
PAGES = 3


@pytest.mark.skipif(shutil.which("openssl") is None, reason="the openssl command is not installed")
@pytest.mark.parametrize("closing", [False, True])
def test_one_full_handshake_for_each_host(weft: Weft, tmp_path: Path, closing: bool) -> None:
    """Connections are used again; where the server closes them, sessions are."""
    folder = tmp_path / "certificates"
    folder.mkdir()
    with TlsHosts(folder, HOSTS, PAGES, closing=closing) as web:
        seeds = tmp_path / "seeds.txt"
        seeds.write_text("\n".join(web.seeds))
        words = ["--ca", str(web.authority), "--resolve", "*.test=127.0.0.1", "--delay", "0", "--workers", "8"]
        run = weft("crawl", str(seeds), "-o", "out", "--quiet", *words)
        assert run.code == 0, run.stderr
    requests = HOSTS * (PAGES + 2)  # robots.txt, and a sitemap that is not there
    resumed = requests - HOSTS if closing else 0
    assert web.counts == {"full": HOSTS, "resumed": resumed, "requests": requests}


# --- names (issue 4, section 4)

GOOD = [f"h{number}.test" for number in range(30)]


def seeds_of(site: Site, hosts: list[str], folder: Path) -> str:
    place = folder / "seeds.txt"
    place.write_text("\n".join(site.at("/", host=host) for host in hosts))
    return str(place)


def serve_tree(site: Site, hosts: list[str]) -> None:
    for host in hosts:
        site.page("/", ["/a", "/b", "/c"], host=host)
        for path in ("/a", "/b", "/c"):
            site.page(path, [], title=f"{host} {path}", host=host)


def test_each_name_is_asked_once(site: Site, names: NameServer, weft: Weft, tmp_path: Path) -> None:
    """One query of each type for a host, however many pages, workers and connections it has."""
    serve_tree(site, GOOD)
    for host in GOOD:
        names.add(host, "127.0.0.1", ttl_s=300)
    words = ["--nameserver", f"127.0.0.1:{names.port}", "--delay", "0", "--per-host", "4", "--allow-net", "127.0.0.0/8"]
    run = weft("crawl", seeds_of(site, GOOD, tmp_path), "-o", "out", "--quiet", *words)
    assert run.code == 0, run.stderr
    assert set(names.queries) == {(host, kind) for host in GOOD for kind in ("A", "AAAA")}
    assert len(names.queries) < 2 * 2 * len(GOOD)  # a query may be repeated on a busy machine, but not for each page
    assert len([path for path in site.paths() if path in ("/", "/a", "/b", "/c")]) == 4 * len(GOOD)


def test_a_silent_name_server_costs_only_its_own_hosts(
    site: Site, names: NameServer, weft: Weft, tmp_path: Path
) -> None:
    """While names of a dead zone are waited for, all others are crawled; the dead ones are told when they are known."""
    good, dead = GOOD[:10], [f"h{number}.dead.test" for number in range(20)]
    serve_tree(site, good)
    names.add("*.test", "127.0.0.1", ttl_s=300)
    names.fail("*.dead.test", "silent")
    words = ["--nameserver", f"127.0.0.1:{names.port}", "--delay", "0", "--allow-net", "127.0.0.0/8", "--workers", "4"]
    words += ["--timeout", "1m", "--retries", "0", "--sitemaps", "no"]
    process = weft.start("crawl", seeds_of(site, dead + good, tmp_path), "-o", "out", "--quiet", *words)
    while len(site.requests) < 5 * len(good) and process.poll() is None:
        time.sleep(0.02)
    names.fail("*.dead.test", "nxdomain")
    assert process.wait(300) == 0
    with StoredCrawl(weft.folder / "out") as crawled:
        told = Counter((page.status, (page.error or "")[:4]) for page in crawled.pages())
        first = crawled.connection.execute("SELECT cause FROM visit ORDER BY id LIMIT 1").fetchone()
    assert told == {(200, ""): 4 * len(good), (None, "DNS_"): len(dead)}
    assert first == (None,), "the others waited for the dead"


# --- pace (issue 4, section 4)

Handler = Callable[[Request], Response]


def phases(site: Site, *stretches: tuple[int, Handler]) -> None:
    """A site of numbered pages, each linking to the next; a stretch of so many pages answers in its own way."""
    served: list[Handler] = [handler for number, handler in stretches for _ in range(number)]

    def page(request: Request) -> Response:
        number = int(request.path[2:]) if request.path[:2] == "/p" else 0
        return served[min(number, len(served) - 1)](request)

    site.serve(page)
    site.page("/", [f"/p{number}" for number in range(len(served))])
    site.robots("")


def in_time(seconds: float) -> Handler:
    return lambda request: Response(html_page(request.path), delay_s=seconds)


def gaps_of(site: Site, first: int, last: int) -> list[float]:
    """Seconds from the start of a page to that of the next request, for the pages of a stretch."""
    requests = sorted(site.requests, key=lambda request: request.time_monotonic)
    wanted = {f"/p{number}" for number in range(first, last)}
    return [b.time_monotonic - a.time_monotonic for a, b in itertools.pairwise(requests) if a.path in wanted]


def paced(weft: Weft, site: Site, *words: str) -> None:
    run = weft("crawl", site.url, "-o", "out", "--quiet", "--sitemaps", "no", *words)
    assert run.code == 0, run.stderr


def test_the_pace_follows_the_answer_times(site: Site, weft: Weft) -> None:
    """A server that becomes slow is asked less often, as much as it is slower; one that recovers more often again."""
    phases(site, (3, in_time(0.0)), (5, in_time(0.25)), (16, in_time(0.0)))
    paced(weft, site, "--delay", "0", "--pace", "auto")
    slow, after = gaps_of(site, 5, 8), gaps_of(site, 8, 24)
    assert min(slow) > 0.4, slow  # 0.25 s of answer and as much of pause, half of the way at each answer
    assert after[0] > 0.3 and min(after) < 0.5 * min(slow), after


def test_refusals_slow_down_for_good_and_not_only_once(site: Site, weft: Weft) -> None:
    """429 doubles the pace beside the rest that it asks for; it falls again little by little."""
    refused: list[str] = []

    def busy(request: Request) -> Response:
        refused.append(request.path)
        first = refused.count(request.path) == 1
        return Response(b"", 429, headers={"Retry-After": "0"}) if first else Response(html_page(request.path))

    phases(site, (2, in_time(0.0)), (1, busy), (3, in_time(0.0)))
    paced(weft, site, "--delay", "50ms", "--pace", "auto")
    after = gaps_of(site, 3, 5)
    assert min(after) > 0.6, after  # once refused: a second, and an eighth of that less at each good answer


def test_without_it_the_pace_is_fixed(site: Site, weft: Weft) -> None:
    phases(site, (4, in_time(0.6)))
    paced(weft, site, "--delay", "0")
    assert min(gaps_of(site, 0, 4)) < 1.1  # where it would be 1.2


@pytest.mark.parametrize(
    ("robots", "least_s", "processes"), [("", 0.5, "2"), ("User-agent: *\nCrawl-delay: 0.8\n", 0.8, "1")]
)
def test_it_is_never_faster_than_the_delay(site: Site, weft: Weft, robots: str, least_s: float, processes: str) -> None:
    """However fast the answers are: --delay and robots.txt set the floor."""
    phases(site, (5, in_time(0.0)))
    site.robots(robots)
    paced(weft, site, "--delay", "500ms", "--pace", "auto", "--per-host", "4", "--processes", processes)
    assert site.hurry_s(least_s, first=1) < least_s / 2


@given(
    st.floats(0, 60), st.floats(0, 600), st.one_of(st.none(), st.integers(100, 999)), st.floats(0, 60),
    st.integers(1, 64),
)  # fmt: skip
def test_the_rule_of_the_pace(
    pace_s: float, answer_s: float, status: int | None, delay_s: float, parallel: int
) -> None:
    """It stays within its bound; refusals and failures never speed up; a steady answer time is where it ends."""
    most_s = 30.0
    after = next_pace_s(pace_s, answer_s, status, delay_s=delay_s, parallel=parallel, most_s=most_s)
    assert 0 <= after <= max(most_s, pace_s)
    if status is None or status in (429, 503) or status >= 500:
        assert after >= min(pace_s, most_s)
    if status in (429, 503) and pace_s < most_s:
        assert after >= min(most_s, 2 * pace_s)
    for _ in range(200):
        after = next_pace_s(after, answer_s, 200, delay_s=delay_s, parallel=parallel, most_s=most_s)
    assert after == pytest.approx(min(most_s, 2 * answer_s / parallel), abs=1e-6)


@pytest.mark.parametrize(
    ("wait_s", "told"), [(0, "22:31"), (29, "22:31"), (31, "22:32"), (5_000, "23:54"), (9_000, "2026-03-15 01:01")]
)
def test_when_to_go_on(wait_s: float, told: str) -> None:
    """Promise 4: never a moment at which it is too early; the day is told where it is another one."""
    assert human_moment(datetime(2026, 3, 14, 22, 30, 30, tzinfo=UTC), wait_s) == told


def test_a_site_that_wants_a_day(site: Site, weft: Weft) -> None:
    site.respond("/", Response(b"", 503, headers={"Retry-After": "86000"}))
    run = weft("crawl", site.at("/"), "-o", "out", "--delay", "0")
    assert run.code == 3
    assert re.search(r"go on after (\d{4}-\d\d-\d\d )?\d\d:\d\d with: weft resume out", run.stderr)


# --- what is refused when its turn comes


@pytest.mark.parametrize("limits", [{}, {"max_pages": 3_000}])
def test_refusals_do_not_wait_for_ticks(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: dict[str, int]
) -> None:
    """However many pages of a queue are refused, the crawl goes on at once: thousands a second are not its bound."""
    monkeypatch.setattr(import_module("weft.crawl.tick"), "TICK_S", 600.0)
    site.robots("User-agent: *\nDisallow: /no/")
    site.page("/", [f"/no/{number}" for number in range(5_000)])

    async def crawl() -> None:
        async with asyncio.timeout(60):
            async for _ in weft.crawl(site.url, folder=tmp_path / "out", delay=0, **limits):  # type: ignore[arg-type]
                pass

    asyncio.run(crawl())
    with weft.open(tmp_path / "out") as stored:
        status = stored.status()
        assert (status.stop_reason, status.pages, status.robots_refused, status.waiting) == ("done", 1, 5_000, 0)


def test_the_last_page_that_is_wanted_ends_the_crawl_at_once(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where --max-pages is reached, nothing is waited for: a tick that is not due for ten minutes comes now."""
    monkeypatch.setattr(import_module("weft.crawl.tick"), "TICK_S", 600.0)
    site.page("/", [f"/{number}" for number in range(100)])
    for number in range(100):
        site.page(f"/{number}", [] if number % 2 else ["/gone"])

    async def crawl() -> None:
        async with asyncio.timeout(60):
            async for _ in weft.crawl(site.url, folder=tmp_path / "out", delay=0, max_pages=30, per_host=4):
                pass

    asyncio.run(crawl())
    with weft.open(tmp_path / "out") as stored:
        status = stored.status()
        assert (status.stop_reason, status.pages, status.errors) == ("max-pages", 30, 0)
