"""Politeness, judged by the servers' own logs: delays, back-off, nofollow, noindex, identity (E17, R7, G6)."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from email.utils import formatdate
from functools import partial
from pathlib import Path
from statistics import median

import pytest
from command import Weft
from hostile import Crawled, crawl
from hostile_b import ALL_TEST_HOSTS, requests_of
from until import wait_until
from web import Request, Response, Site, html_page

from weft.crawl.conclude import conclude, retry_after_s
from weft.records import Fetched, Lease, Parsed

HALF_S = 0.5
EARLY_S = 0.02  # a gap between the crawler's clock and the server's


def _busy(
    site: Site, host: str, refusals: int, status: int, headers: Callable[[], Mapping[str, str]], at: str = "/busy"
) -> None:
    """A host whose page is too busy for the first requests, beside two that are not."""
    turns = iter(range(10_000))

    def answer(_request: Request) -> Response:
        if next(turns) < refusals:
            return Response(html_page("busy"), status, headers=headers())
        return Response(html_page("/busy"))

    site.page("/", [at, "/a", "/b"], host=host)
    site.page("/a", host=host)
    site.page("/b", host=host)
    site.serve(at, answer, host=host)


def _rests_after(site: Site, host: str, path: str) -> list[float]:
    """How long the whole host was left alone after each request of a path."""
    requests = requests_of(site, host)
    return [
        later.time_monotonic - this.time_monotonic for this, later in itertools.pairwise(requests) if this.path == path
    ]


# --- one crawl with the defaults: each host is a case


@pytest.fixture(scope="module")
def by_default(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Crawled]]:
    """Many hosts crawled with nothing but defaults."""
    with Site() as site:
        _plain_hosts(site)
        _busy(site, "seconds.test", 1, 429, lambda: {"Retry-After": "2"})
        _busy(site, "date.test", 1, 503, lambda: {"Retry-After": formatdate(time.time() + 3, usegmt=True)})
        _busy(site, "silent.test", 3, 429, dict)
        _busy(site, "silent503.test", 2, 503, dict)
        for name, value in {
            "nonsense": "in a while",
            "negative": "-5",
            "past": formatdate(1e9, usegmt=True),
            "zero": "0",
            "float": "1.5",
        }.items():
            _busy(site, f"{name}.test", 1, 429, partial(dict, {"Retry-After": value}))
        _busy(site, "robots-busy.test", 0, 429, dict)
        turns = iter(range(100))
        site.serve(
            "/robots.txt",
            lambda _r: (
                Response(b"", 503, headers={"Retry-After": "2"})
                if next(turns) < 1
                else Response(b"", 200, "text/plain")
            ),
            host="robots-busy.test",
        )
        _busy(site, "map-busy.test", 1, 503, lambda: {"Retry-After": "2"}, at="/sitemap.xml")
        hosts = sorted({host for host, _ in site._routes if host})
        crawled = crawl(
            tmp_path_factory.mktemp("polite"),
            [site.at("/", host) for host in hosts],
            *ALL_TEST_HOSTS,
            "--contact",
            "who@example.org",
            read_links=True,
        )
        assert crawled.code == 0, crawled.stderr
        yield site, crawled


def _plain_hosts(site: Site) -> None:
    site.page("/", [f"/{n}" for n in range(4)] + ["/r1"], host="plain.test")
    for n in range(4):
        site.page(f"/{n}", host="plain.test")
    site.redirect("/r1", "/r2", host="plain.test")
    site.redirect("/r2", "/r3", 301, host="plain.test")
    site.page("/r3", host="plain.test")
    site.robots("Sitemap: /index.xml\nUser-agent: *\nDisallow:\n", host="plain.test")
    site.file(
        "/index.xml",
        b"<sitemapindex><sitemap><loc>"
        + site.at("/map.xml", "plain.test").encode()
        + b"</loc></sitemap></sitemapindex>",
        "text/xml",
        host="plain.test",
    )
    site.file(
        "/map.xml",
        b"<urlset><url><loc>" + site.at("/mapped", "plain.test").encode() + b"</loc></url></urlset>",
        "text/xml",
        host="plain.test",
    )
    site.page("/mapped", host="plain.test")
    for host, delay in {"one.test": "1", "fraction.test": "0.7", "small.test": "0.1", "comma.test": "1,2"}.items():
        site.robots(f"User-agent: *\nCrawl-delay: {delay}\n", host=host)
        site.page("/", ["/a", "/b"], host=host)
        site.page("/a", host=host)
        site.page("/b", host=host)
    site.robots("User-agent: weft\nCrawl-delay: 1\n\nUser-agent: *\nCrawl-delay: 20\n", host="ours.test")
    site.page("/", ["/a"], host="ours.test")
    site.page("/a", host="ours.test")
    site.page("/", ["/lost", "/a"], host="retries.test")
    site.page("/a", host="retries.test")
    site.misbehave("/lost", "reset_before_answer", host="retries.test")
    site.page("/", [f"/{n}" for n in range(3)], host="slow.test", delay_s=1.2)
    for n in range(3):
        site.page(f"/{n}", host="slow.test", delay_s=0.8)
    _directives(site)


def _directives(site: Site) -> None:
    """Pages that ask not to be followed or indexed, each in its own way, and a leaf behind each."""
    heads = {
        "/meta": '<meta name="robots" content="nofollow">',
        "/upper": '<META NAME="ROBOTS" CONTENT="NOINDEX, NOFOLLOW">',
        "/none": '<meta name="robots" content="none">',
        "/ours": '<meta name="weft" content="nofollow">',
        "/noindex": '<meta name="robots" content="noindex">',
        "/others": '<meta name="googlebot" content="nofollow">',
        "/follow": '<meta name="robots" content="index, follow">',
    }
    headers = {
        "/header": "nofollow",
        "/header-ours": "weft: nofollow",
        "/header-none": "none",
        "/header-others": "otherbot: nofollow",
        "/header-noindex": "noindex",
        "/header-date": "unavailable_after: 25 Jun 2010 15:00:00 PST",
    }
    host = "directives.test"
    site.page("/", [*heads, *headers, "/links"], host=host)
    for path, head in heads.items():
        site.page(path, [f"/leaf{path}"], head=head, host=host)
        site.page(f"/leaf{path}", host=host)
    for path, value in headers.items():
        site.page(path, [f"/leaf{path}"], headers={"X-Robots-Tag": value}, host=host)
        site.page(f"/leaf{path}", host=host)
    anchors = "".join(
        f'<a rel="{rel}" href="/rel/{n}">x</a>'
        for n, rel in enumerate(("nofollow", "NoFollow", "ugc nofollow", "noopener  nofollow\tx"))
    )
    site.page("/links", body=anchors + '<a rel="noopener" href="/rel/yes">x</a>', host=host)
    site.page("/rel/yes", host=host)


def test_delay_holds_for_everything(by_default: tuple[Site, Crawled]) -> None:
    """E17: half a second from start to start, for pages, robots.txt, sitemaps, redirects and retries; one at a time."""
    site, _ = by_default
    for host in sorted({request.host for request in site.requests}):
        assert site.hurry_s(HALF_S, host) < HALF_S / 2, (host, [round(gap, 3) for gap in site.gaps(host)])
        assert site.parallel_max(host) == 1, host
    assert {"/robots.txt", "/index.xml", "/map.xml", "/mapped", "/r1", "/r2", "/r3"} <= set(site.paths("plain.test"))
    assert site.asked("/lost", "retries.test") == 3


@pytest.mark.parametrize(
    ("host", "delay_s"), [("one.test", 1.0), ("fraction.test", 0.7), ("small.test", 0.5), ("ours.test", 1.0)]
)
def test_crawl_delay(by_default: tuple[Site, Crawled], host: str, delay_s: float) -> None:
    """G6: Crawl-delay of our own group, never below the operator's delay."""
    site, _ = by_default
    assert site.hurry_s(delay_s, host) < delay_s / 2 and min(site.gaps(host)) < delay_s + 5, site.gaps(host)


@pytest.mark.parametrize(
    ("asked", "told", "waits"), [("172800", "2 days", True), ("86400", "24 h", False), ("5400", "90 min", False)]
)
def test_a_capped_crawl_delay_is_told(site: Site, weft: Weft, asked: str, told: str, waits: bool) -> None:
    """Screen and log say that robots.txt asks for more than it gets; a site that asks for more than a day between
    requests has its pages asked before its sitemaps, after a resume too."""
    site.robots(f"User-agent: *\nCrawl-delay: {asked}\nSitemap: /1.xml\nSitemap: /2.xml\n")
    pages = ["/", "/a", "/b", "/c", "/d"]
    for path, link in zip(pages, [*pages[1:], "/d"], strict=True):
        site.page(path, [link])
    for name in ("1", "2"):
        site.file(f"/{name}.xml", f"<urlset><url><loc>{site.at('/d')}</loc></url></urlset>".encode(), "application/xml")
    run = weft("crawl", site.url, "-o", "out", "--max-crawl-delay", "0.3", "--delay", "0", "--max-pages", "2")
    words = f"robots.txt of {site.url.rstrip('/')} asks for {told}, capped to 0.3 s"
    assert run.code == 0 and run.stderr.count(words) == 1, run.stderr
    assert words in (weft.folder / "out" / "logs" / "weft.log").read_text()
    assert weft("resume", "out", "--max-pages", "100", "--quiet").code == 0
    paths = [path for path in site.paths() if path != "/robots.txt"]
    assert sorted(paths) == sorted([*pages, "/1.xml", "/2.xml"])
    assert (paths[:5] == pages) is waits, paths


def test_a_crawl_delay_within_the_bound_is_not_told(site: Site, weft: Weft) -> None:
    site.robots("User-agent: *\nCrawl-delay: 0.3\n")
    site.page("/")
    run = weft("crawl", site.url, "-o", "out", "--max-crawl-delay", "0.3", "--delay", "0")
    assert run.code == 0 and "asks for" not in run.stderr, run.stderr


@pytest.mark.parametrize(
    ("host", "path", "least_s"),
    [
        ("seconds.test", "/busy", 2.0),
        ("date.test", "/busy", 1.9),
        ("nonsense.test", "/busy", 1.0),
        ("negative.test", "/busy", 1.0),
        ("past.test", "/busy", 1.0),
        ("zero.test", "/busy", 1.0),
        ("float.test", "/busy", 1.5),
        ("robots-busy.test", "/robots.txt", 2.0),
        ("map-busy.test", "/sitemap.xml", 2.0),
    ],
)
def test_whole_host_rests(by_default: tuple[Site, Crawled], host: str, path: str, least_s: float) -> None:
    """Promise 4: 429 and 503 slow the host down, Retry-After honoured; then the page is had after all."""
    site, crawled = by_default
    assert _rests_after(site, host, path)[0] >= least_s - EARLY_S, _rests_after(site, host, path)
    for beside in ("/", "/a", "/b"):
        assert crawled.page(site.at(beside, host)).status == 200
    if path == "/busy":
        page = crawled.page(site.at(path, host))
        assert (page.status, page.attempts) == (200, 2), page


NOW_S = 1_700_000_000  # Tue, 14 Nov 2023 22:13:20 GMT


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        (" 0000000000000007 ", 7.0),
        ("2.5", 2.5),
        ("9" * 5_000, 86_400.0),
        ("Tue, 14 Nov 2023 22:13:27 GMT", 7.0),
        ("Tuesday, 14-Nov-23 22:13:27 GMT", 7.0),
        ("Tue Nov 14 22:13:27 2023", 7.0),
        ("Tue, 14 Nov 2023 17:13:27 -0500", 7.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400.0),
        ("Mon, 13 Nov 2023 22:13:27 GMT", 7.0),  # the server's clock is a day behind
        ("Mon, 13 Nov 2023 22:13:20 GMT", None),
        ("0", None),
        ("-7", None),
        ("inf", None),
        ("\u0667", None),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_what_retry_after_asks_for(value: str | None, seconds: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Promise 4: in all forms of RFC 9110, wherever we are; what asks for no time is no excuse not to back off."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert retry_after_s(value, NOW_S * 1_000, "Mon, 13 Nov 2023 22:13:20 GMT") == seconds
    finally:
        monkeypatch.undo()
        time.tzset()


def test_the_longest_of_several_retry_after_counts() -> None:
    """Promise 4: a proxy and the site behind it may both have a word."""
    headers = tuple(("retry-after", text) for text in ("1", "soon", "Tue, 14 Nov 2023 22:13:27 GMT", "3"))
    answer = Fetched(429, b"", headers, b"", b"", False, NOW_S * 1_000, 1, "127.0.0.1", "1.1")
    lease = Lease(page=1, url="http://a.test/", site=1)
    done = conclude(lease, answer, answer.first_values(), None, Parsed(""))
    assert done.asked_s == 7.0


@pytest.mark.parametrize("host", ["silent.test", "silent503.test"])
def test_backs_off_longer_each_time(by_default: tuple[Site, Crawled], host: str) -> None:
    """Promise 4: without Retry-After exponentially, and never faster than before."""
    site, _ = by_default
    first_s, second_s, *_ = _rests_after(site, host, "/busy")
    assert first_s >= 1.0 - EARLY_S and second_s >= 2.0 - EARLY_S, (first_s, second_s)


@pytest.mark.parametrize("path", ["/meta", "/upper", "/none", "/ours", "/header", "/header-ours", "/header-none"])
def test_nofollow_pages(by_default: tuple[Site, Crawled], path: str) -> None:
    """E17: the links of a nofollow page are recorded and not followed."""
    site, crawled = by_default
    assert crawled.page(site.at(path, "directives.test")).nofollow
    assert site.asked(f"/leaf{path}", "directives.test") == 0
    recorded = [link for link in crawled.links if link.source.endswith(path) and link.target.endswith(f"/leaf{path}")]
    assert [link.followed for link in recorded] == [False]
    assert crawled.page(site.at(f"/leaf{path}", "directives.test")).reason == "NOFOLLOW"


@pytest.mark.parametrize(
    "path", ["/noindex", "/others", "/follow", "/header-others", "/header-noindex", "/header-date"]
)
def test_followed_pages(by_default: tuple[Site, Crawled], path: str) -> None:
    """E17: what is said to others, or only of indexing, does not stop us; noindex is a field."""
    site, crawled = by_default
    page = crawled.page(site.at(path, "directives.test"))
    assert not page.nofollow and page.noindex is path.endswith("noindex")
    assert site.asked(f"/leaf{path}", "directives.test") == 1


def test_nofollow_links(by_default: tuple[Site, Crawled]) -> None:
    """E17: rel=nofollow in any company and any case."""
    site, _ = by_default
    assert [path for path in site.paths("directives.test") if path.startswith("/rel/")] == ["/rel/yes"]


def test_identity(by_default: tuple[Site, Crawled]) -> None:
    """Issue 3, 5: who we are, on every request; nobody is told where we came from."""
    site, _ = by_default
    assert len(site.requests) > 60
    for request in site.requests:
        agent = request.header("user-agent") or ""
        assert agent.startswith("weft/") and "(+" in agent and "who@example.org" in agent, agent
        assert request.header("from") == "who@example.org"
        assert request.header("referer") is None and request.header("cookie") is None


# --- more than one at a time, many hosts, long waits


def test_two_hundred_hosts(site: Site, tmp_path: Path) -> None:
    """Must-show 6: Crawl-delay 1 and 5 on 200 hosts of one address; none is asked too early, none starves."""
    hosts = {f"h{n:03}.test": 5.0 if n % 4 == 0 else 1.0 for n in range(200)}
    for host, delay_s in hosts.items():
        site.robots(f"User-agent: *\nCrawl-delay: {delay_s:g}\n", host=host)
        site.page("/", [] if delay_s == 5.0 else ["/1", "/2", "/3"], host=host)
    for n in (1, 2, 3):
        site.page(f"/{n}")
    crawled = crawl(
        tmp_path,
        [site.at("/", host) for host in hosts],
        *ALL_TEST_HOSTS,
        "--sitemaps",
        "no",
        "--no-archive",
    )
    assert crawled.code == 0 and crawled.status.pages == 50 + 150 * 4
    early = {host: site.gaps(host) for host, delay_s in hosts.items() if site.hurry_s(delay_s, host) > delay_s / 2}
    assert not early
    quick = [[r.time_monotonic for r in requests_of(site, host)] for host, delay_s in hosts.items() if delay_s == 1.0]
    assert max(asked[1] for asked in quick) < median(asked[4] for asked in quick), "half were done before all had begun"


def test_parallel_requests_keep_their_bounds(site: Site, tmp_path: Path) -> None:
    """Promise 2: --per-host at once and no more; one that is busy slows all of them down."""
    site.page("/", [f"/{n}" for n in range(40)], host="many.test")
    for n in range(40):
        site.page(f"/{n}", host="many.test", delay_s=0.1)
    site.page("/", [f"/{n}" for n in range(12)], host="busy.test")
    for n in range(12):
        site.page(f"/{n}", host="busy.test", status=429, delay_s=0.05)
    crawled = crawl(
        tmp_path,
        [site.at("/", "many.test"), site.at("/", "busy.test")],
        *ALL_TEST_HOSTS,
        "--delay",
        "0",
        "--per-host",
        "4",
        "--max-wait",
        "1",
        "--sitemaps",
        "no",
    )
    assert site.parallel_max("many.test") == 4
    assert crawled.status.pages >= 42
    starts = [request.time_monotonic for request in requests_of(site, "busy.test")][2:]
    assert len([at for at in starts if at < starts[0] + 0.9]) <= 4, (
        starts
    )  # those that were under way, and then silence
    assert crawled.code == 3 and crawled.status.stop_reason == "waiting"


def test_address_clock(site: Site, tmp_path: Path) -> None:
    """Promise 2: names that share an address share its clock, where that is asked for."""
    hosts = [f"n{n}.test" for n in range(4)]
    for host in hosts:
        site.page("/", ["/a"], host=host)
        site.page("/a", host=host)
    crawled = crawl(
        tmp_path,
        [site.at("/", host) for host in hosts],
        *ALL_TEST_HOSTS,
        "--delay",
        "0",
        "--per-ip",
        "1",
        "--ip-delay",
        "0.4",
        "--sitemaps",
        "no",
    )
    assert crawled.code == 0 and crawled.status.pages == 8
    assert site.hurry_s(0.4) < 0.2
    assert site.parallel_max() == 1


def test_long_waits_end_the_run(site: Site, tmp_path: Path, weft: Weft) -> None:
    """Promise 4: only sites are left that rest longer than --max-wait: exit 3, says when; nothing is lost."""
    site.page("/", ["/a", "/b"], host="good.test")
    site.page("/a", host="good.test")
    site.page("/b", host="good.test")
    for host, value in {
        "year.test": "31536000",
        "overflow.test": "9" * 400,
        "date.test": "Fri, 31 Dec 9999 23:59:59 GMT",
    }.items():
        site.page("/", ["/x"], host=host)
        site.page("/x", status=503, headers={"Retry-After": value}, host=host)
    site.robots(b"", status=503, host="robots.test")
    site.page("/robots.txt", status=429, headers={"Retry-After": "86400"}, host="robots.test")
    site.page("/", host="robots.test")
    hosts = ("good.test", "year.test", "overflow.test", "date.test", "robots.test")
    run = weft(
        "crawl",
        *(site.at("/", host) for host in hosts),
        "-o",
        "out",
        *ALL_TEST_HOSTS,
        "--delay",
        "0",
        "--max-wait",
        "2",
    )
    assert run.code == 3, run.stderr
    assert "weft resume" in run.stderr and "out" in run.stderr, run.stderr
    status = weft("status", "out", "--json")
    assert '"waiting"' in status.stdout and '"stop_reason":"waiting"' in status.stdout.replace(" ", ""), status.stdout
    asked = len(site.requests)
    assert weft("resume", "out", "--max-wait", "1").code == 3  # still resting: nobody is asked
    assert [request.path for request in site.requests[asked:]] == []


def test_pages_that_are_always_busy_keep_no_others_waiting(site: Site, tmp_path: Path) -> None:
    """Promise 4: what is tried again comes after what never was, or two bad pages would end the run before the good."""
    site.page("/", ["/busy/0", "/busy/1", "/a", "/b"])
    site.page("/a")
    site.page("/b")
    site.serve("/busy/*", lambda _request: Response(b"", 503))
    crawled = crawl(tmp_path, [site.url], "--delay", "0", "--max-wait", "2.5", "--sitemaps", "no")
    assert crawled.code == 3 and crawled.status.stop_reason == "waiting"
    assert site.paths()[1:7] == ["/", "/busy/0", "/busy/1", "/a", "/b", "/busy/0"], site.paths()
    assert crawled.status.pages == 3


def test_resume_keeps_the_distance(site: Site, tmp_path: Path, weft: Weft) -> None:
    """Promise 2: after a stop or a kill no site is asked before its delay has passed, nor robots.txt anew."""
    site.robots("User-agent: *\nCrawl-delay: 1\n")
    site.page("/", [f"/{n}" for n in range(4)])
    for n in range(4):
        site.page(f"/{n}")
    for turn in range(2):
        process = weft.start("crawl", site.url, "-o", "out", "--sitemaps", "no", "--quiet")
        wait_until(lambda wanted=2 + turn: len(site.requests) >= wanted, "the next request")
        time.sleep(0.3)
        (process.terminate if turn == 1 else process.kill)()
        process.wait(60)
    assert weft("resume", "out").code == 0
    assert site.hurry_s(1.0) < 0.5, site.gaps()
    assert site.asked("/robots.txt") <= 2
    assert {f"/{n}" for n in range(4)} <= set(site.paths())


def test_thousands_wait_for_their_retry(site: Site, tmp_path: Path) -> None:
    """Issue 3, 10: more pages than are looked at together are to be tried again at one time; none is forgotten."""
    pages = 2_300
    asked: Counter[str] = Counter()

    def answer(request: Request) -> Response:
        asked[request.path] += 1
        if asked[request.path] == 1:
            return Response(html_page("later"), 502, headers={"Retry-After": "5"})
        return Response(html_page(request.path))

    site.page("/", [f"/p/{n}" for n in range(pages)])
    site.serve("/p/*", answer)
    crawled = crawl(tmp_path, [site.url], "--delay", "0", "--per-host", "16", "--sitemaps", "no", "--no-archive")
    assert (crawled.code, crawled.status.stop_reason, crawled.status.waiting) == (0, "done", 0)
    assert crawled.status.pages == pages + 1 and set(asked.values()) == {2}
