"""Crawls of hostile sites: runs weft as a user does, and lets the server's log and the stored crawl judge together."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from command import Weft
from web import ANSWER, MISBEHAVIOURS, POISON, Line, Request, Site, html_page

from weft.derive.read import LinkRow, Page, Status, StoredCrawl
from weft.errors import Cause

ROOT = Path(__file__).resolve().parents[2]
HOST = "hostile.test"
"""The name under which sites are crawled: a public-looking host that `--resolve` leads to loopback."""

FAST = ("--delay", "0", "--per-host", "8", "--retries", "0", "--sitemaps", "no")
HASTY = (*FAST, "--timeout", "6s")
"""For sites with answers that only a deadline ends: short, but a busy machine may stand still for a while."""
GOOD = tuple(f"/good/{number}" for number in range(8))


@dataclass
class Crawled:
    """A crawl that ended: how, and all that it stored."""

    code: int
    stderr: str
    seconds: float
    status: Status
    pages: dict[str, Page]  # every URL known, by its text
    details: dict[str, str]  # what `weft why` adds to the last attempt at a URL
    links: list[LinkRow] = field(default_factory=list)
    peak_b: int = 0  # the most memory the process had

    def page(self, url: str) -> Page:
        assert url in self.pages, f"{url} is not known; known are {sorted(self.pages)[:50]}"
        return self.pages[url]

    def targets(self, source: str) -> list[str]:
        """Where the links of a page lead."""
        return [link.target for link in self.links if link.source == source]


@dataclass(frozen=True)
class Visited:
    """A site that was crawled once, for many tests that each look at a part of it."""

    site: Site
    crawled: Crawled


@dataclass(frozen=True)
class Lured(Visited):
    """The same with a second site, to which the first one lures."""

    other: Site


def crawl(
    folder: Path,
    seeds: Sequence[str],
    *options: str,
    limit_s: float = 300.0,
    read_links: bool = False,
    check: bool = False,
) -> Crawled:
    """One crawl by the command line, ended by itself; all it knows is read back.

    ``check``: `weft check` finds the folder consistent, archive and index too.
    """
    place = folder / "crawl"
    began = time.monotonic()
    with Weft(folder) as weft:
        with (folder / "stderr").open("wb") as noise:
            process = weft.start("crawl", *seeds, "-o", place, "--quiet", *options, stdout=noise, stderr=noise)
            peak_b = weft.watch(process, limit_s)
        seconds = time.monotonic() - began
        stderr = (folder / "stderr").read_text(errors="replace")
        assert place.exists(), f"exit {process.returncode}: {stderr[-2_000:]}"
        if check:
            verdict = weft("check", place)
            assert verdict.code == 0, verdict.stdout[-2_000:] + verdict.stderr[-2_000:]
    with StoredCrawl(place) as stored:
        pages = {page.url: page for page in stored.pages(everything=True)}
        visits = "SELECT u.text, v.detail FROM visit v JOIN url u ON u.id = v.url ORDER BY v.id"
        details = {url: detail or "" for url, detail in stored.connection.execute(visits)}
        links = list(stored.links()) if read_links else []
        return Crawled(process.returncode, stderr, seconds, stored.status(), pages, details, links, peak_b)


def at_host(site: Site, *hosts: str) -> tuple[str, ...]:
    """The options that lead public-looking names to the site."""
    return tuple(word for host in hosts or (HOST,) for word in ("--resolve", f"{host}={site.address}"))


def kinds_of(group: str, *left_out: str) -> list[str]:
    """The kinds of a group that misbehave at one path of a site."""
    return [kind for kind, e in MISBEHAVIOURS.items() if e.group == group and not e.listener and kind not in left_out]


def lay_out(site: Site, places: Iterable[str], *, host: str = HOST, neighbours: bool = False) -> None:
    """A home page that leads to the places, with good pages between them; ``neighbours``: a good one after each."""
    links: list[str] = []
    good = iter(GOOD)
    for number, place in enumerate(places):
        links.append(place)
        if neighbours:
            links.append(f"/next/{number}")
            site.page(links[-1], host=host)
        elif number % 12 == 0:
            links.extend([next(good)] if number < 12 * len(GOOD) else [])
    site.page("/", [*links, *GOOD], host=host)
    for path in GOOD:
        site.page(path, host=host)


def crawl_kinds(folder: Path, kinds: Sequence[str], *hosts: str) -> Lured:
    """A site with all of these kinds, and what a crawl of it stored; ``hosts`` are those of the other site."""
    with Site() as site, Site() as other:
        for kind in kinds:
            site.misbehave(f"/{kind}", kind, host=HOST, target=other.at("", hosts[0]))
        lay_out(site, [f"/{kind}" for kind in kinds])
        options = (*FAST, *at_host(site), *at_host(other, *hosts))
        return Lured(site, crawl(folder, [site.at("/", HOST)], *options, read_links=True), other)


def raw(site: Site, path: str, answer: Callable[[bytes], bytes], end: str = "keep", *, host: str = HOST) -> None:
    """A path answered by bytes made from its honest page; then the line is kept, closed, reset, or left hanging."""

    async def behave(line: Line, request: Request) -> bool:
        await line.send(answer(own_page(request.path)))
        match end:
            case "reset":
                return await line.reset()
            case "hang":
                return await line.hang()
        return end == "keep"

    site.behave(path, behave, host=host)


def own_page(path: str) -> bytes:
    """The page that honestly belongs to a path: its title is the path."""
    return html_page(path, body="<p>This is the page that was asked for.</p>")


def outcome_of(page: Page) -> str:
    """The word that an `Expectation` uses for what was stored."""
    return ANSWER if page.state == "C" else str(page.error)


def judge_kind(kind: str, url: str, path: str, crawled: Crawled, site: Site) -> None:
    """The record of one kind, and the server's log, are as its `Expectation` wants them."""
    expected = MISBEHAVIOURS[kind]
    page = crawled.page(url)
    assert page.state in ("C", "E"), page
    assert outcome_of(page) in expected.outcomes, (page, crawled.details[url])
    if page.state == "C":
        assert page.error is None and page.status is not None
        assert expected.status in (None, page.status), page
        assert expected.truncated in (None, page.truncated), page
        if expected.title is not None:
            assert (page.title or "") == expected.title.replace("{path}", path), page
    else:
        assert page.status is None and page.hash is None and not page.truncated, page
    for suffix in expected.asks:
        assert site.asked(path + suffix), f"{path + suffix} was not asked"
    for suffix in expected.never:
        assert not site.asked(path + suffix), f"{path + suffix} was asked"


def assert_healthy(crawled: Crawled, *sites: Site, host: str = HOST, code: int = 0) -> None:
    """The crawl ended by itself and well; the good pages are there with their own content, asked once.

    No page met a fault of weft's own, no stray answer was stored, nothing but clean GETs was sent.
    """
    assert crawled.code == code, (crawled.code, crawled.stderr)
    assert crawled.status.state == "done" and crawled.status.waiting == 0, crawled.status
    bugs = [
        (page.url[:200], crawled.details.get(page.url)) for page in crawled.pages.values() if page.error == Cause.BUG
    ]
    assert not bugs and crawled.status.bugs == 0, bugs
    poisoned = [page.url for page in crawled.pages.values() if POISON in (page.title or "")]
    assert not poisoned, f"stray answers were stored for {poisoned}"
    for path in ("/", *GOOD):
        page = crawled.page(sites[0].at(path, host))
        assert (page.state, page.status, page.title, page.truncated) == ("C", 200, path, False), (
            page,
            crawled.details.get(page.url),
        )
        assert sites[0].asked(path, host) == 1, (path, sites[0].asked(path, host))
    for site in sites:
        assert_clean(site)


def assert_clean(site: Site) -> None:
    """Every request was plain HTTP, GET, without anything that a page had smuggled into it."""
    assert not site.refused, f"sent what is no HTTP: {site.refused}"
    for request in list(site.requests):
        assert request.method == "GET" and not request.body, request
        names = Counter(name.lower() for name, _ in request.headers)
        assert names["host"] == 1 and max(names.values()) == 1, request
        assert not {"x-injected", "referer", "authorization", "proxy-authorization"} & set(names), request
        assert re.fullmatch(r"/[\x21-\x7e]*", request.target), request.target


def assert_neighbours(crawled: Crawled, site: Site, host: str = HOST) -> None:
    """Every page that follows a bad answer on its line has its own content."""
    found = [page for url, page in crawled.pages.items() if "/next/" in url]
    assert found
    for page in found:
        path = page.url.removeprefix(site.at("", host))
        assert (page.state, page.status, page.title, site.asked(path)) == ("C", 200, path, 1), page
