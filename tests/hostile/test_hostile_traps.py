"""Sites that never end, and one page under many spellings: crawled without any limit they end by themselves (E20)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hostile import Crawled, crawl, judge_kind, kinds_of
from hostile_b import MANY_REQUESTS, TRAPS, UNBOUND, crawl_traps, host_of_kind, noise, requests_of
from web import Request, Response, Site, html_page

from weft.demo.server import Served

ALL = bool(os.environ.get("WEFT_ALL_TRAPS"))
"""Set, every trap is crawled, which takes minutes; else one of every family stands for the others."""

FEW = (
    "redirect-numbers",
    "redirect-growing",
    "redirect-cookies",
    "redirect-and-page",
    "refresh-header",
    "calendar-year-month",
    "calendar-with-events",
    "numbers-hex",
    "letters-grow",
    "login-return",
    "relative-grows",
    "dots",
    "semicolons",
    "plus-tags",
    "products-sorted",
    "soft-404",
    *(f"spelling-{way}" for way in ("session", "phpsessid", "asp-session", "jsessionid", "utm", "buster")),
    *(f"spelling-{way}" for way in ("from", "slashes", "escapes", "empty", "case", "order")),
)
CHOSEN = sorted(TRAPS) if ALL else FEW
LEFT_OUT = () if ALL else ("trap_random_words", "trap_facets", "trap_parameters")


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Crawled, dict[str, str]]]:
    """All traps in one crawl without a limit: each on a host of its own, so that each is judged by its own log."""
    with Site() as site:
        yield site, *crawl_traps(site, CHOSEN, tmp_path_factory.mktemp("traps"), "--no-archive")


@pytest.mark.parametrize("name", CHOSEN)
def test_ends_by_itself(crawled: tuple[Site, Crawled, dict[str, str]], name: str) -> None:
    """E20: a few thousand requests at most, and the good pages are had."""
    site, result, wrong = crawled
    assert result.code == 0 and result.status.stop_reason == "done" and result.status.bugs == 0
    assert name not in wrong, wrong[name]
    refused = Counter(page.reason for page in result.pages.values() if page.reason and f"://{name}.test:" in page.url)
    assert set(refused) <= {
        "PATH_REPEATS",
        "PATH_TOO_DEEP",
        "QUERY_REPEATS",
        "QUERY_TOO_LONG",
        "QUERY_VARIANTS",
        "SLASH_ALIASES",
        "SPELLINGS",
        "SESSION_IDS",
        "CALENDAR",
        "CHAIN_TOO_LONG",
        "ENDLESS_SITE",
        "DUPLICATES_ONLY",
        "TOO_MANY_REDIRECTS",
        "URL_TOO_LONG",
    }
    assert not site.refused and not site.faults


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Crawled]]:
    """The traps of the bench, beside good pages."""
    with Site() as site:
        seeds = []
        for kind in kinds_of("traps", *LEFT_OUT):
            host = host_of_kind(kind)
            site.page("/", [f"/{kind}", "/good/1", "/good/2"], host=host)
            site.page("/good/1", ["/good/3"], host=host)
            site.page("/good/2", host=host)
            site.page("/good/3", host=host)
            site.misbehave(f"/{kind}", kind, host=host)
            seeds.append(site.at("/", host))
        yield site, crawl(tmp_path_factory.mktemp("kinds"), seeds, *UNBOUND, "--no-archive")


@pytest.mark.parametrize("kind", kinds_of("traps", *LEFT_OUT))
def test_kinds(kinds: tuple[Site, Crawled], kind: str) -> None:
    """E20: each kind of the bench ends, and costs the pages beside it nothing."""
    site, result = kinds
    host = host_of_kind(kind)
    assert result.code == 0
    judge_kind(kind, site.at(f"/{kind}", host), f"/{kind}", result, site)
    assert len(requests_of(site, host)) <= MANY_REQUESTS
    for path in ("/", "/good/1", "/good/2", "/good/3"):
        assert site.asked(path, host) == 1, path


def test_hosts_without_end(site: Site, tmp_path: Path) -> None:
    """E20: a domain that makes up hosts is bounded in the scopes that would follow them; others do not wait."""

    def answer(request: Request) -> Response:
        if request.path != "/":
            return Response(status=404)
        return Response(
            html_page(request.host, [site.at("/", f"{noise(request.host, n)}.maze.test") for n in range(4)])
        )

    site.serve(answer)
    site.page("/", ["/a", "/b"], host="good.test")
    for path in ("/a", "/b"):
        site.page(path, host="good.test")
    crawled = crawl(
        tmp_path,
        [site.at("/", "www.maze.test"), site.at("/", "good.test")],
        *UNBOUND,
        "--scope",
        "domain",
        "--sitemaps",
        "no",
        "--no-archive",
    )
    assert crawled.code == 0
    assert len({request.host for request in site.requests}) <= 600
    assert len(site.requests) <= MANY_REQUESTS
    assert site.asked("/a", "good.test") == site.asked("/b", "good.test") == 1


def test_others_do_not_wait(site: Site, tmp_path: Path) -> None:
    """Issue 3, 4: a site that makes endless pages never keeps the others waiting."""
    site.serve(lambda request: Response(html_page(request.path, [f"/{noise(request.path, n)}" for n in range(20)])))
    site.robots("", host="maze.test")
    for host in ("one.test", "two.test"):
        site.page("/", [f"/{n}" for n in range(30)], host=host)
        for n in range(30):
            site.page(f"/{n}", host=host)
    crawled = crawl(
        tmp_path,
        [site.at("/", host) for host in ("maze.test", "one.test", "two.test")],
        *UNBOUND,
        "--max-pages",
        "1000",
        "--sitemaps",
        "no",
        "--no-archive",
    )
    assert crawled.status.stop_reason == "max-pages"
    for host in ("one.test", "two.test"):
        assert {f"/{n}" for n in range(30)} <= set(site.paths(host))


# --- honest webs are not cut


def test_long_chain_is_honest(site: Site, tmp_path: Path) -> None:
    """E20, few false alarms: 400 pages, each known only by the one before."""
    for number in range(400):
        site.page(f"/page/{number}", [f"/page/{number + 1}"] if number < 399 else [], body=f"<p>{noise(number)}</p>")
    site.page("/", ["/page/0"])
    crawled = crawl(tmp_path, [site.url], *UNBOUND, "--sitemaps", "no", "--no-archive")
    assert crawled.code == 0 and crawled.status.pages == 401 and crawled.status.refused == 0


def test_large_shop_is_honest(site: Site, tmp_path: Path) -> None:
    """E20, few false alarms: articles by number, lists with pages and two orders, tags, an archive of years."""
    tags = [f"tag-{n}" for n in range(40)]

    def answer(request: Request) -> Response:
        path = request.path
        if path.startswith("/item?id="):
            number = int(path[9:])
            links = [f"/item?id={(number * 7 + step) % 900}" for step in (1, 2, 3)] + [
                f"/tag/{tags[number % 40]}",
                "/list?page=1",
            ]
            return Response(html_page(path, links, body=f"<p>{noise(path)}</p>"))
        if path.startswith("/list?page="):
            page = int(path[11:].partition("&")[0])
            order = path.partition("&")[2]
            links = [f"/item?id={page * 10 + n}" for n in range(10)] + [
                f"/list?page={page + 1}{'&' + order if order else ''}"
            ] * (page < 89)
            return Response(html_page(path, [*links, f"/list?page={page}&order=price"], body=f"<p>{noise(path)}</p>"))
        if path.startswith("/tag/"):
            return Response(html_page(path, [f"/item?id={n}" for n in range(tags.index(path[5:]), 900, 40)]))
        if path.startswith("/news/"):
            parts = path.strip("/").split("/")
            if len(parts) == 2:
                return Response(html_page(path, [f"{path}/{month:02}" for month in range(1, 13)]))
            if len(parts) == 3:
                return Response(html_page(path, [f"{path}/story-{n}" for n in range(4)]))
        return Response(html_page(path, body=f"<p>{noise(path)}</p>"))

    site.serve(answer)
    site.robots("")
    site.page("/", ["/list?page=0", *(f"/news/{year}" for year in range(2005, 2025))])
    crawled = crawl(tmp_path, [site.url], *UNBOUND, "--sitemaps", "no", "--no-archive")
    assert crawled.code == 0
    assert crawled.status.refused == 0, Counter(page.reason for page in crawled.pages.values())
    assert crawled.status.pages == 1 + 900 + 180 + 40 + 20 * (1 + 12 + 48)


def test_invented_web_is_honest(invented: Callable[..., Served], tmp_path: Path) -> None:
    """E20, few false alarms: 2,000 pages of an invented web, none of them refused as a trap."""
    served = invented(seed=11, hosts=5, pages=2_200, record=False, traps=False)
    crawled = crawl(
        tmp_path,
        served.seeds,
        "--resolve",
        served.resolve,
        "--delay",
        "0",
        "--per-host",
        "8",
        "--no-archive",
    )
    assert crawled.code == 0
    reasons = Counter(page.reason for page in crawled.pages.values() if page.reason)
    assert not {
        "ENDLESS_SITE",
        "CHAIN_TOO_LONG",
        "DUPLICATES_ONLY",
        "QUERY_VARIANTS",
        "CALENDAR",
        "PATH_REPEATS",
    } & set(reasons), reasons
    wanted = served.web.expected()
    assert len(wanted) >= 2_000
    assert {url for url, page in crawled.pages.items() if page.state == "C"} == set(wanted)
