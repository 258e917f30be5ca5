"""robots.txt that is unreachable, huge, redirected or odd: what is asked because of it (R7, G6, promise 3)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command import Weft
from hostile import Crawled, crawl, judge_kind, kinds_of
from hostile_b import ALL_TEST_HOSTS, host_of_kind, requests_of
from web import MISBEHAVIOURS, Line, Request, Response, Site

FAST = (*ALL_TEST_HOSTS, "--delay", "0", "--per-host", "8", "--max-crawl-delay", "0.5")
PLAIN = "text/plain"


class Origins:
    """The hosts of one crawl: each is a case, with the pages that it may and may not ask."""

    def __init__(self) -> None:
        self.site = Site().start()
        self.hosts: dict[str, str] = {}  # case to host
        self.cases: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self.crawled: Crawled | None = None

    def host(self, name: str) -> str:
        return f"{name}.test"

    def case(
        self,
        name: str,
        robots: Response | Callable[[Request], Response] | None,
        *,
        asks: tuple[str, ...] = (),
        never: tuple[str, ...] = (),
    ) -> str:
        """A host with this robots.txt whose front page links to all the paths."""
        host = self.host(name)
        self.site.page("/", [*asks, *never], host=host)
        for path in (*asks, *never):
            self.site.page(path, host=host)
        if isinstance(robots, Response):
            self.site.respond("/robots.txt", robots, host=host)
        elif robots is not None:
            self.site.serve("/robots.txt", robots, host=host)
        self.cases[name] = (asks, never)
        return host


def text(*lines: str) -> Response:
    return Response("\n".join(lines).encode(), 200, PLAIN)


def after(refusals: int, first: Response, then: Response) -> Callable[[Request], Response]:
    turns = iter(range(1_000))
    return lambda _request: first if next(turns) < refusals else then


def _cases(origins: Origins) -> None:
    case, site = origins.case, origins.site
    no = "Disallow: /no"
    case("recovers", after(1, Response(b"", 503), text("User-agent: *", no)), asks=("/yes",), never=("/no",))
    case("recovers-twice", after(2, Response(b"", 500), text("User-agent: *", no)), asks=("/yes",), never=("/no",))
    case(
        "slow-file",
        lambda _r: Response(b"User-agent: *\nDisallow: /no", 200, PLAIN, delay_s=0.5),
        asks=("/yes",),
        never=("/no",),
    )
    case("no-content", Response(b"", 204, PLAIN), asks=("/yes",))
    case(
        "gzipped",
        Response(_gzip(b"User-agent: *\nDisallow: /no\n"), 200, PLAIN, {"Content-Encoding": "gzip"}),
        asks=("/yes",),
        never=("/no",),
    )
    case("image-type", Response(b"User-agent: *\nDisallow: /no\n", 200, "image/png"), asks=("/yes",), never=("/no",))
    case(
        "agent-case",
        text("User-agent: WEFT", no, "", "User-agent: *", "Disallow: /yes"),
        asks=("/yes",),
        never=("/no",),
    )
    case("agent-version", text("User-agent: weft/9.9", no), asks=("/yes",), never=("/no",))
    case(
        "two-groups",
        text(
            "User-agent: weft",
            "Disallow: /no1",
            "",
            "User-agent: x",
            "Disallow: /",
            "",
            "User-agent: weft",
            "Disallow: /no2",
        ),
        asks=("/yes",),
        never=("/no1", "/no2"),
    )
    case(
        "shared-group",
        text("User-agent: x", "User-agent: weft", no, "User-agent: *", "Disallow: /"),
        asks=("/yes",),
        never=("/no",),
    )
    case(
        "wildcards",
        text("User-agent: *", "Disallow: /*.php$", "Disallow: /a*z", "Disallow: /*?"),
        asks=("/x.php5", "/a/y"),
        never=("/x.php", "/abcz", "/q?x=1"),
    )
    case(
        "allow-longest",
        text("User-agent: *", "Disallow: /", "Allow: /yes", "Allow: /$"),
        asks=("/yes", "/yes/more"),
        never=("/no",),
    )
    case("allow-tie", text("User-agent: *", "Disallow: /same", "Allow: /same"), asks=("/same",))
    case("case-matters", text("User-agent: *", "Disallow: /No"), asks=("/no",), never=("/No",))
    case("utf8", text("User-agent: *", "Disallow: /schön"), asks=("/schon",), never=("/sch%C3%B6n",))
    case(
        "escaped",
        text("User-agent: *", "Disallow: /%7Ejoe/", "Disallow: /a%2Fb"),
        asks=("/a/b",),
        never=("/~joe/x", "/a%2Fb"),
    )
    case("crlf-and-space", text("User-agent : *\r", "  Disallow :   /no  # why\r", ""), asks=("/yes",), never=("/no",))
    case("folded", Response(b"User-agent: *\rDisallow: /no\r", 200, PLAIN), asks=("/yes",), never=("/no",))
    case("no-agent-line", text(no), asks=("/yes", "/no"))
    case("own-path", text("User-agent: *", "Disallow: /robots.txt"), asks=("/yes",))
    case("redirect-target", text("User-agent: *", no), asks=("/go",), never=("/no",))
    site.redirect("/go", "/no", host=origins.host("redirect-target"))
    case("moved-file", Response(b"", 301, PLAIN, {"Location": "/elsewhere/rules.txt"}), asks=("/yes",), never=("/no",))
    site.respond("/elsewhere/rules.txt", text("User-agent: *", no), host=origins.host("moved-file"))
    case(
        "moved-host",
        Response(b"", 302, PLAIN, {"Location": site.at("/robots.txt", "rules-of-others.test")}),
        asks=("/yes",),
        never=("/no",),
    )
    site.respond("/robots.txt", text("User-agent: *", no), host="rules-of-others.test")
    case("moved-to-404", Response(b"", 301, PLAIN, {"Location": "/nothing"}), asks=("/yes",))
    case("moved-to-500", Response(b"", 301, PLAIN, {"Location": "/broken"}), never=("/yes",))
    site.respond("/broken", Response(b"", 500), host=origins.host("moved-to-500"))
    case(
        "moved-inside",
        Response(b"", 302, PLAIN, {"Location": f"http://127.0.0.3:{site.port}/robots.txt"}),
        never=("/yes",),
    )
    place = site.at("/rules", "moved-credentials.test").replace("://", "://joe:pw@")
    case("moved-credentials", Response(b"", 302, PLAIN, {"Location": place}), never=("/yes", "/rules"))
    case("moved-port", Response(b"", 302, PLAIN, {"Location": "http://moved-port.test:6667/x"}), never=("/yes",))
    case("moved-scheme", Response(b"", 302, PLAIN, {"Location": "file:///etc/passwd"}), never=("/yes",))
    case(
        "sitemap-forbidden",
        text("User-agent: *", "Disallow: /map", f"Sitemap: {site.at('/map.xml', 'sitemap-forbidden.test')}"),
        asks=("/yes",),
        never=("/map.xml",),
    )
    case("linked", text("User-agent: *", "Allow: /"), asks=("/robots.txt", "/yes"))
    origins.site.respond("/robots.txt", text("User-agent: *", "Allow: /"), host="linked.test")
    case("delay-comma", text("User-agent: *", "Crawl-delay: 0,3"), asks=("/a", "/b"))
    case("one-terabyte-rule", text("User-agent: *", "Disallow: /" + "x" * 15_000, no), asks=("/yes",), never=("/no",))
    case(
        "many-rules",
        text("User-agent: *", *(f"Disallow: /r{n}/*/x*y$" for n in range(9_000)), no),
        asks=("/r1/z",),
        never=("/no",),
    )


def _gzip(content: bytes) -> bytes:
    import gzip

    return gzip.compress(content)


@pytest.fixture(scope="module")
def origins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Origins]:
    """All cases in one crawl, and all kinds of the bench beside them."""
    made = Origins()
    try:
        _cases(made)
        kinds = kinds_of("robots")
        for kind in kinds:
            host = host_of_kind(kind)
            made.site.page("/", [f"/{kind}"], host=host)
            made.site.misbehave(f"/{kind}", kind, host=host)
        seeds = [made.site.at("/", made.host(name)) for name in made.cases]
        seeds += [made.site.at(path, host_of_kind(kind)) for kind in kinds for path in (f"/{kind}", "/")]
        made.crawled = crawl(tmp_path_factory.mktemp("robots"), seeds, *FAST, "--timeout", "4s", "--scope", "host")
        yield made
    finally:
        made.site.close()


NAMES: list[str] = [
    "recovers",
    "recovers-twice",
    "slow-file",
    "no-content",
    "gzipped",
    "image-type",
    "agent-case",
    "agent-version",
    "two-groups",
    "shared-group",
    "wildcards",
    "allow-longest",
    "allow-tie",
    "case-matters",
    "utf8",
    "escaped",
    "crlf-and-space",
    "folded",
    "no-agent-line",
    "own-path",
    "redirect-target",
    "moved-file",
    "moved-host",
    "moved-to-404",
    "moved-to-500",
    "moved-inside",
    "moved-credentials",
    "moved-port",
    "moved-scheme",
    "sitemap-forbidden",
    "linked",
    "delay-comma",
    "one-terabyte-rule",
    "many-rules",
]


def test_every_case_is_named(origins: Origins) -> None:
    assert sorted(origins.cases) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_asks_what_it_may(origins: Origins, name: str) -> None:
    """R7: every allowed page is asked, no other one is, and robots.txt comes before all else."""
    asks, never = origins.cases[name]
    host = origins.host(name)
    paths = [request.path for request in requests_of(origins.site, host)]
    assert paths[0] == "/robots.txt"
    assert [path for path in never if path in paths] == []
    assert [path for path in asks if path not in paths] == []
    closed = name in ("moved-to-500", "moved-inside", "moved-credentials", "moved-port", "moved-scheme")
    assert ("/" in paths) is not closed
    assert paths.count("/robots.txt") <= (2 if name == "linked" else 3)


@pytest.mark.parametrize("kind", kinds_of("robots"))
def test_kinds(origins: Origins, kind: str) -> None:
    """Promise 3: 5xx and unreachable disallow, 4xx allows, the first 500 KiB count."""
    host = host_of_kind(kind)
    assert origins.crawled is not None
    judge_kind(kind, origins.site.at(f"/{kind}", host), f"/{kind}", origins.crawled, origins.site)
    paths = [request.path for request in requests_of(origins.site, host)]
    assert paths[0] == "/robots.txt"
    assert len(paths) < 20
    if "ROBOTS_UNAVAILABLE" in MISBEHAVIOURS[kind].outcomes and "answer" not in MISBEHAVIOURS[kind].outcomes:
        assert {path for path in paths if not path.startswith(("/robots.txt", "/moved"))} == set()


def test_no_private_address(origins: Origins) -> None:
    """Promise 7: nobody is led to another address by a robots.txt."""
    assert origins.crawled is not None
    assert origins.crawled.code == 0 and origins.crawled.status.bugs == 0
    assert not origins.site.refused and not origins.site.faults
    assert origins.crawled.page(origins.site.at("/", "moved-inside.test")).error in (
        "ADDRESS_REFUSED",
        "ROBOTS_UNAVAILABLE",
    )
    for name in ("moved-credentials", "moved-port", "moved-scheme"):  # nobody was asked there
        assert origins.crawled.page(origins.site.at("/", f"{name}.test")).error == "ROBOTS_UNAVAILABLE", name


# --- every scheme, host and port


def test_each_origin_first(site: Site, sites: Callable[..., Site], tmp_path: Path) -> None:
    """Promise 3: robots.txt of every host and port is the first thing asked there, whatever leads to it."""
    other = sites()
    hosts = ("linked", "redirected", "mapped", "map-file", "framed")
    site.page(
        "/",
        [site.at("/x", "linked.a.test"), other.at("/x", "a.test"), "/go", "/go-port"],
        host="a.test",
        body=f'<iframe src="{site.at("/x", "framed.a.test")}"></iframe>',
    )
    site.redirect("/go", site.at("/x", "redirected.a.test"), host="a.test")
    site.redirect("/go-port", other.at("/y", "a.test"), host="a.test")
    site.robots(
        f"Sitemap: {site.at('/map.xml', 'a.test')}\nSitemap: {site.at('/map.xml', 'map-file.a.test')}\n", host="a.test"
    )
    entries = "".join(
        f"<url><loc>{url}</loc></url>" for url in (site.at("/x", "mapped.a.test"), site.at("/z", "mapped.a.test"))
    )
    for host in ("a.test", "map-file.a.test"):
        site.file("/map.xml", f"<urlset>{entries}</urlset>".encode(), "text/xml", host=host)
    for one in (site, other):
        one.page("/x")
        one.page("/y")
        one.page("/z")
    crawled = crawl(tmp_path, [site.at("/", "a.test")], *FAST, "--scope", "domain")
    assert crawled.code == 0
    for name in hosts:
        paths = [request.path for request in requests_of(site, f"{name}.a.test")]
        assert paths and paths[0] == "/robots.txt" and paths.count("/robots.txt") == 1, (name, paths)
    paths = [request.path for request in requests_of(other, "a.test")]
    assert paths[0] == "/robots.txt" and {"/x", "/y"} <= set(paths), paths


def test_sitemap_of_a_closed_host(site: Site, tmp_path: Path) -> None:
    """Promise 3: a sitemap is not fetched from a host whose robots.txt cannot be had, or forbids it."""
    site.robots(
        "\n".join(
            f"Sitemap: {site.at('/map.xml', host)}" for host in ("broken.a.test", "denies.a.test", "open.a.test")
        ),
        host="a.test",
    )
    site.page("/", host="a.test")
    site.robots("", status=500, host="broken.a.test")
    site.robots("User-agent: *\nDisallow: /", host="denies.a.test")
    site.file("/map.xml", b"<urlset/>", "text/xml")
    crawl(tmp_path, [site.at("/", "a.test")], *FAST, "--scope", "domain", "--retries", "0")
    assert site.asked("/map.xml", "broken.a.test") == 0
    assert site.asked("/map.xml", "denies.a.test") == 0
    assert site.asked("/map.xml", "open.a.test") == 1


def test_small_pages_are_no_small_rules(site: Site, tmp_path: Path) -> None:
    """Promise 3: 500 KiB of robots.txt are read, also by somebody who wants no more than the first bytes of pages."""
    site.robots(b"User-agent: *\n" + b"# a licence\n" * 1_000 + b"Disallow: /no\n")
    site.page("/", ["/no", "/yes"])
    site.page("/no")
    site.page("/yes")
    crawled = crawl(tmp_path, [site.at("/")], "--delay", "0", "--sitemaps", "no", "--max-size", "1K")
    assert crawled.code == 0
    assert site.paths() == ["/robots.txt", "/", "/yes"]


def test_a_slow_file_without_end_is_read_as_far_as_it_counts(site: Site, tmp_path: Path) -> None:
    """Promise 3: what comes after the first 500 KiB is not waited for."""

    async def pour(line: Line, _request: Request) -> bool:
        await line.send(b"HTTP/1.1 200 OK\r\n\r\nUser-agent: *\nDisallow: /no\n")
        return await line.pour(b"# again and again\n" * 5_000, pause_s=0.1)

    site.behave("/robots.txt", pour)
    site.page("/", ["/no", "/yes"])
    site.page("/yes")
    crawled = crawl(tmp_path, [site.at("/")], "--delay", "0", "--sitemaps", "no", "--timeout", "6s")
    assert crawled.code == 0
    assert site.paths() == ["/robots.txt", "/", "/yes"]


def test_own_agent(site: Site, tmp_path: Path, weft: Weft) -> None:
    """R7, E17: a group for the product token that is sent binds, and so does one for weft; so do directives."""
    site.robots(
        "User-agent: acmebot\nDisallow: /acme\n\nUser-agent: weft\nDisallow: /weft\n\nUser-agent: *\nDisallow: /all\n",
        host="a.test",
    )
    site.page("/", ["/acme", "/weft", "/all", "/yes", "/meta", "/header"], host="a.test")
    site.page("/meta", ["/leaf"], head='<meta name="acmebot" content="nofollow">', host="a.test")
    site.page("/header", ["/leaf"], headers={"X-Robots-Tag": "AcmeBot: nofollow"}, host="a.test")
    for path in ("/acme", "/weft", "/all", "/yes"):
        site.page(path, host="a.test")
    crawled = crawl(
        tmp_path, [site.at("/", "a.test")], *FAST, "--user-agent", "AcmeBot/2.0 (+https://acme.example/bot)"
    )
    assert crawled.code == 0
    assert {request.header("user-agent") for request in site.requests} == {"AcmeBot/2.0 (+https://acme.example/bot)"}
    assert site.asked("/acme") == 0 and site.asked("/weft") == 0 and site.asked("/yes") == 1
    assert site.asked("/header") == 1 and site.asked("/meta") == 1 and site.asked("/leaf") == 0
    assert (
        "forbids it, line 2: Disallow: /acme" in weft("why", str(tmp_path / "crawl"), site.at("/acme", "a.test")).stdout
    )
    told = weft("robots", site.at("/acme", "a.test"), *ALL_TEST_HOSTS, "--user-agent", "AcmeBot/2.0", "--json")
    assert '"allowed":false' in told.stdout.replace(" ", ""), told.stdout


@pytest.mark.parametrize(
    ("robots", "asked"),
    [
        ("User-agent: weft\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\nCrawl-delay: 0.2\n", {"/c"}),
        ("User-agent: *\nDisallow: /b\n\nUser-agent: weft\nAllow: /b\nDisallow: /a\n", {"/c"}),
        ("User-agent: acmebot\nDisallow: /a\n\nUser-agent: weft\nAllow: /a\n", {"/b", "/c"}),
        ("User-agent: acmebot\nAllow: /\n\nUser-agent: *\nDisallow: /\n", {"/a", "/b", "/c"}),
    ],
    ids=["beside all", "allowed to another", "allowed to weft only", "its own"],
)
def test_a_group_for_weft_opens_nothing_to_another_name(site: Site, weft: Weft, robots: str, asked: set[str]) -> None:
    """RFC 9309, section 2.2.1: the name that is sent is bound by its own group, or that of all; weft's comes on top."""
    site.robots(robots)
    site.page("/", ["/a", "/b", "/c"])
    for path in ("/a", "/b", "/c"):
        site.page(path)
    named = ("--user-agent", "AcmeBot/2.0")
    assert weft("crawl", site.url, "-o", "out", "--delay", "0", "--sitemaps", "no", "--quiet", *named).code == 0
    assert set(site.paths()) == {"/robots.txt", "/", *asked}
    for path in ("/a", "/b", "/c"):
        told = '"allowed":true' if path in asked else '"allowed":false'
        assert told in weft("robots", site.at(path), "--json", *named).stdout
        assert told in weft("why", "out", site.at(path), "--json").stdout


def test_ignored_loudly(site: Site, weft: Weft) -> None:
    """Issue 3, 2: --ignore-robots asks all, and says on screen that it does."""
    site.robots("User-agent: *\nDisallow: /\n")
    site.page("/", ["/no"])
    site.page("/no")
    run = weft("crawl", site.url, "-o", "out", "--delay", "0", "--ignore-robots")
    assert run.code == 0 and "robots.txt is ignored" in run.stderr
    assert site.asked("/no") == 1


def test_unavailable_is_asked_again_by_a_resume(site: Site, weft: Weft) -> None:
    """Promise 3: unreachable disallows and is asked again later; E4: the pages are then had."""
    site.robots("", status=503)
    site.page("/", ["/a"])
    site.page("/a")
    assert weft("crawl", site.url, "-o", "out", "--delay", "0", "--retries", "0", "--quiet").code == 1
    assert set(site.paths()) == {"/robots.txt"}
    site.robots("User-agent: *\nDisallow:\n")
    assert weft("resume", "out", "--quiet").code == 0
    assert site.asked("/") == 1 and site.asked("/a") == 1


def test_seed_forbidden(site: Site, weft: Weft) -> None:
    """R7: a start address is no excuse; the crawl has failed and tells why it has nothing, and so does a resume."""
    site.robots("User-agent: *\nDisallow: /\n")
    run = weft("crawl", site.at("/x"), "-o", "out", "--delay", "0")
    assert site.paths() == ["/robots.txt"]
    assert run.code == 1 and json.loads(weft("status", "out", "--json").stdout)["stop_reason"] == "failed"
    told = f"no seed may be asked: ROBOTS_DISALLOWED (weft why out {site.at('/x')} tells more)"
    assert told in run.stderr
    again = weft("resume", "out")
    assert again.code == 1 and told in again.stderr
    assert "ROBOTS_DISALLOWED" in weft("pages", "out", "--all").stdout


def test_one_seed_forbidden(site: Site, weft: Weft) -> None:
    """Where another seed answers, the crawl is done, and its last line names the one that is forbidden."""
    site.robots("User-agent: *\nDisallow: /x\n")
    site.page("/")
    run = weft("crawl", site.at("/x"), site.at("/"), "-o", "out", "--delay", "0")
    assert run.code == 0
    told = f"nothing is left to fetch; 1 of 2 seeds gave no page: {site.at('/x')} ROBOTS_DISALLOWED (weft why out "
    assert told in run.stderr
