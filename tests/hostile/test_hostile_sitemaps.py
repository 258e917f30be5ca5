"""Sitemaps that attack, loop, lie, break or are too large: what is asked because of them, and what is not (G6, R7)."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command import Weft
from hostile import Crawled, crawl, judge_kind, kinds_of
from hostile_b import ALL_TEST_HOSTS, host_of_kind, noise, requests_of
from web import Line, Request, Response, Site

FAST = (*ALL_TEST_HOSTS, "--delay", "0", "--per-host", "8", "--timeout", "10s")
XML = "application/xml"
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def urlset(*places: str, before: str = "", declaration: str = '<?xml version="1.0" encoding="UTF-8"?>') -> bytes:
    items = "".join(f"<url><loc>{place}</loc></url>" for place in places)
    return f"{declaration}{before}<urlset {NAMESPACE}>{items}</urlset>".encode()


def index(*places: str) -> bytes:
    items = "".join(f"<sitemap><loc>{place}</loc></sitemap>" for place in places)
    return f'<?xml version="1.0"?><sitemapindex {NAMESPACE}>{items}</sitemapindex>'.encode()


class Maps:
    """The hosts of one crawl: each is a case with its sitemap, a leaf that it names, and a page beside it."""

    def __init__(self) -> None:
        self.site = Site().start()
        self.finds: dict[str, tuple[str, ...]] = {}
        self.most: dict[str, int] = {}
        self.crawled: Crawled | None = None

    def case(
        self,
        name: str,
        content: bytes | Response | Callable[[Request], Response],
        *,
        finds: tuple[str, ...] = ("/leaf",),
        most: int = 20,
        lines: tuple[str, ...] = ("/map.xml",),
    ) -> str:
        host = f"{name}.test"
        self.site.page("/", ["/beside"], host=host)
        self.site.page("/beside", host=host)
        for path in finds:
            self.site.page(path, host=host)
        self.site.robots(
            "User-agent: *\nDisallow: /never\n" + "".join(f"Sitemap: {line}\n" for line in lines), host=host
        )
        if isinstance(content, bytes):
            content = Response(content, 200, XML)
        if isinstance(content, Response):
            self.site.respond("/map.xml", content, host=host)
        else:
            self.site.serve("/map.xml", content, host=host)
            self.site.serve("/map/*", content, host=host)
        self.finds[name], self.most[name] = finds, most
        return host

    def at(self, name: str, path: str = "/leaf") -> str:
        return self.site.at(path, f"{name}.test")


def _cases(maps: Maps) -> None:
    case, at = maps.case, maps.at
    quadratic = f'<!DOCTYPE x [<!ENTITY a "{"A" * 50_000}">]>'
    case("quadratic", urlset(at("quadratic"), "&a;" * 5_000, before=quadratic))
    case(
        "parameter-entity",
        urlset(
            at("parameter-entity"),
            before=f'<!DOCTYPE x [<!ENTITY % p SYSTEM "{at("parameter-entity", "/never-dtd")}"> %p;]>',
        ),
    )
    case(
        "entity-over-http",
        urlset(
            at("entity-over-http"),
            "&x;",
            before=f'<!DOCTYPE x [<!ENTITY x SYSTEM "{at("entity-over-http", "/never-x")}">]>',
        ),
    )
    case("stylesheet", urlset(at("stylesheet"), before=f'<?xml-stylesheet href="{at("stylesheet", "/never-xsl")}"?>'))
    case(
        "xinclude",
        urlset(at("xinclude")).replace(
            b"<url>",
            b'<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="/never-inc"/><url>',
            1,
        ),
    )
    case(
        "attributes",
        urlset(at("attributes")).replace(
            b"<urlset ", b"<urlset " + b" ".join(b'a%d="1"' % n for n in range(20_000)) + b" "
        ),
    )
    case("long-name", b"<" + b"a" * 500_000 + b">" + urlset(at("long-name"), declaration=""))
    case("comment-bomb", b"<!--" + b"-" * 400_000 + b"-->" + urlset(at("comment-bomb"), declaration=""), finds=())
    case("cdata-open", urlset(at("cdata-open"))[:-9] + b"<![CDATA[" + b"x" * 100_000)
    case("two-maps", index(at("two-maps", "/a.xml"), at("two-maps", "/b.xml")))
    maps.site.file("/a.xml", index(at("two-maps", "/b.xml"), at("two-maps", "/map.xml")), XML, host="two-maps.test")
    maps.site.file("/b.xml", index(at("two-maps", "/a.xml"), at("two-maps", "/c.xml")), XML, host="two-maps.test")
    maps.site.file("/c.xml", urlset(at("two-maps")), XML, host="two-maps.test")
    case(
        "endless-index",
        lambda r: Response(index(*(at("endless-index", f"/map/{noise(r.path, n)}.xml") for n in range(3))), 200, XML),
        finds=(),
        most=400,
    )
    case(
        "wide-index",
        lambda r: Response(index(*(at("wide-index", f"/map/{noise(r.path, n)}.xml") for n in range(200))), 200, XML),
        finds=(),
        most=600,
    )
    case("redirect-loop", Response(b"", 302, None, {"Location": "/map.xml"}), finds=())
    case("redirect-endless", lambda r: Response(b"", 302, None, {"Location": f"/map/{noise(r.path)}.xml"}), finds=())
    case("redirected", Response(b"", 301, None, {"Location": "/real.xml"}))
    maps.site.file("/real.xml", urlset(at("redirected")), XML, host="redirected.test")
    case("redirected-out", Response(b"", 301, None, {"Location": maps.site.at("/leaf", "outside.test")}), finds=())
    case(
        "redirected-inside",
        Response(b"", 301, None, {"Location": f"http://127.0.0.4:{maps.site.port}/x.xml"}),
        finds=(),
    )
    case(
        "hosts",
        urlset(
            "http://outside.test/x",
            f"http://127.0.0.5:{maps.site.port}/",
            "http://169.254.169.254/latest",
            "//outside.test/y",
            at("hosts"),
        ),
    )
    case(
        "schemes",
        urlset("file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "ftp://x.test/", at("schemes")),
    )
    case("credentials", urlset(at("credentials").replace("://", "://joe:secret@"), at("credentials")))
    case("relative", urlset("/leaf", "leaf2", "//"), finds=())
    case("control", urlset(at("control") + "&#13;&#10;X-Injected: 1", at("control", "/l&#x0;"), at("control")))
    case("long-url", urlset(at("long-url") + "?" + "x" * 70_000, at("long-url")))
    case("disallowed", urlset(at("disallowed", "/never/x"), at("disallowed")))
    case("files", urlset(at("files", "/film.mp4"), at("files", "/map.xml"), at("files", "/robots.txt"), at("files")))
    case("traps", urlset(*(at("traps", f"/a/b/a/b/a/b/a/b/{n}") for n in range(100)), at("traps")))
    case(
        "dates",
        urlset(at("dates")).replace(
            b"</loc>",
            b"</loc><lastmod>99999-99-99T</lastmod><priority>NaN</priority><changefreq>"
            + b"x" * 9_000
            + b"</changefreq>",
        ),
    )
    case("utf16", urlset(at("utf16"), declaration='<?xml version="1.0" encoding="UTF-16"?>').decode().encode("utf-16"))
    case(
        "latin1",
        urlset(at("latin1"), declaration='<?xml version="1.0" encoding="ISO-8859-1"?>').replace(
            b"<url>", b"<!-- \xe9 --><url>", 1
        ),
    )
    case("bad-utf8", urlset(at("bad-utf8")).replace(b"<url>", b"<!-- \xff\xfe --><url>", 1))
    case("bom", b"\xef\xbb\xbf" + urlset(at("bom")))
    case("blank-first", b"\n\n  " + urlset(at("blank-first")))
    case("no-namespace", f"<urlset><url><loc>{at('no-namespace')}</loc></url></urlset>".encode())
    case(
        "unclosed",
        f"<urlset><url><loc>{at('unclosed')}</loc><url><loc>{at('unclosed', '/leaf2')}".encode(),
        finds=("/leaf",),
    )
    case("ampersand", urlset(at("ampersand", "/leaf?a=1&b=2"), at("ampersand")), finds=("/leaf",))
    case("html-type", Response(urlset(at("html-type")), 200, "text/html"))
    case("gzip-file", Response(gzip.compress(urlset(at("gzip-file"))), 200, "application/gzip"))
    case(
        "gzip-both",
        Response(gzip.compress(gzip.compress(urlset(at("gzip-both")))), 200, XML, {"Content-Encoding": "gzip"}),
    )
    case(
        "gzip-cut",
        Response(
            gzip.compress(urlset(*(at("gzip-cut", f"/leaf?{n}") for n in range(500))))[:-200], 200, "application/gzip"
        ),
        finds=(),
        most=600,
    )
    case(
        "gzip-nested-bomb",
        Response(gzip.compress(gzip.compress(b" " * 200_000_000)), 200, "application/gzip"),
        finds=(),
    )
    case("rss", f'<rss version="2.0"><channel><item><link>{at("rss")}</link></item></channel></rss>'.encode())
    case(
        "atom", f'<feed xmlns="http://www.w3.org/2005/Atom"><entry><link href="{at("atom")}"/></entry></feed>'.encode()
    )
    case("plain", Response(f"{at('plain')}\n{at('plain', '/never/x')}\n\x00\nnot a url\n".encode(), 200, "text/plain"))
    case("error-500", Response(b"oops", 500), finds=())
    case("error-403", Response(urlset(at("error-403", "/never-leaf")), 403, XML), finds=())
    case("line-relative", urlset(at("line-relative")), lines=("/map.xml", "map.xml", ""))
    case(
        "line-odd",
        urlset(at("line-odd")),
        lines=(
            "file:///etc/passwd",
            "ftp://x.test/a",
            "http://169.254.169.254/x",
            f"http://127.0.0.6:{maps.site.port}/",
            "javascript:1",
            "/map.xml",
        ),
    )
    case("line-outside", urlset(at("line-outside")), lines=(maps.site.at("/outside.xml", "outside.test"), "/map.xml"))
    case("many-lines", urlset(at("many-lines")), lines=("/map.xml", *(f"/map.xml?{n}" for n in range(3_000))), most=600)
    maps.site.behave("/hang.xml", _hang, host="hanging.test")
    case("hanging", urlset(at("hanging")), lines=("/hang.xml", "/map.xml"))
    case("no-line", urlset(at("no-line")), lines=())
    maps.site.file("/sitemap.xml", urlset(at("no-line")), XML, host="no-line.test")


async def _hang(line: Line, _request: Request) -> bool:
    return await line.hang()


@pytest.fixture(scope="module")
def maps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Maps]:
    """All cases, and all kinds of the bench, in one crawl."""
    made = Maps()
    try:
        _cases(made)
        kinds = kinds_of("sitemaps")
        for kind in kinds:
            host = host_of_kind(kind)
            made.site.page("/", [f"/{kind}", "/beside"], host=host)
            made.site.page("/beside", host=host)
            made.site.misbehave(f"/{kind}", kind, host=host, target=made.site.at("", "outside.test"))
        seeds = [made.at(name, "/") for name in made.finds] + [made.site.at("/", host_of_kind(kind)) for kind in kinds]
        made.crawled = crawl(tmp_path_factory.mktemp("maps"), seeds, *FAST, "--retries", "1")
        yield made
    finally:
        made.site.close()


NAMES = [
    "quadratic",
    "parameter-entity",
    "entity-over-http",
    "stylesheet",
    "xinclude",
    "attributes",
    "long-name",
    "comment-bomb",
    "cdata-open",
    "two-maps",
    "endless-index",
    "wide-index",
    "redirect-loop",
    "redirect-endless",
    "redirected",
    "redirected-out",
    "redirected-inside",
    "hosts",
    "schemes",
    "credentials",
    "relative",
    "control",
    "long-url",
    "disallowed",
    "files",
    "traps",
    "dates",
    "utf16",
    "latin1",
    "bad-utf8",
    "bom",
    "blank-first",
    "no-namespace",
    "unclosed",
    "ampersand",
    "html-type",
    "gzip-file",
    "gzip-both",
    "gzip-cut",
    "gzip-nested-bomb",
    "rss",
    "atom",
    "plain",
    "error-500",
    "error-403",
    "line-relative",
    "line-odd",
    "line-outside",
    "many-lines",
    "hanging",
    "no-line",
]


def test_every_case_is_named(maps: Maps) -> None:
    assert sorted(maps.finds) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_cases(maps: Maps, name: str) -> None:
    """G6: what the map names and belongs here is had, the site beside it too; nothing else is asked."""
    paths = [request.path for request in requests_of(maps.site, f"{name}.test")]
    assert len(paths) <= maps.most[name], len(paths)
    assert [path for path in ("/", "/beside", *maps.finds[name]) if path not in paths] == []
    assert [path for path in paths if path.startswith("/never")] == []


@pytest.mark.parametrize("kind", kinds_of("sitemaps"))
def test_kinds(maps: Maps, kind: str) -> None:
    host = host_of_kind(kind)
    assert maps.crawled is not None
    judge_kind(kind, maps.site.at(f"/{kind}", host), f"/{kind}", maps.crawled, maps.site)
    assert maps.site.asked("/beside", host) == 1
    assert len(requests_of(maps.site, host)) < 4_000


def test_nothing_else_was_asked(maps: Maps) -> None:
    """Promises 7, 9: no other host or address, nothing smuggled into a request, no bug, little memory."""
    assert maps.crawled is not None
    assert maps.crawled.code == 0 and maps.crawled.status.bugs == 0, maps.crawled.status
    assert requests_of(maps.site, "outside.test") == []
    assert not maps.site.refused and not maps.site.faults
    assert all(
        request.header("x-injected") is None and request.header("authorization") is None
        for request in maps.site.requests
    )
    assert maps.crawled.peak_b < 500 << 20, maps.crawled.peak_b


def test_pages_do_not_wait_for_sitemaps(site: Site, tmp_path: Path) -> None:
    """Issue 3, 4 and 10: a site with many sitemaps, or with some that hang, shows its pages all the same."""
    site.robots("".join(f"Sitemap: /{name}\n" for name in ("hang.xml", *(f"{n}.xml" for n in range(20)))))
    site.behave("/hang.xml", _hang)
    for number in range(20):
        site.file(f"/{number}.xml", urlset(site.at(f"/leaf/{number}")), XML)
        site.page(f"/leaf/{number}")
    site.page("/", ["/linked"])
    site.page("/linked", ["/further"])
    site.page("/further")
    crawled = crawl(tmp_path, [site.at("/")], "--delay", "0.1", "--timeout", "1s", "--retries", "1")
    assert crawled.code == 0 and crawled.status.pages == 23
    paths = site.paths()
    assert paths[:4] == ["/robots.txt", "/", "/hang.xml", "/linked"], paths
    assert paths.index("/further") < paths.index("/15.xml"), paths
    assert paths.count("/hang.xml") == 2 and len(paths) == 46


@pytest.mark.parametrize("processes", ["1", "2"])
def test_sitemaps_have_a_bound_of_their_own(site: Site, weft: Weft, processes: str) -> None:
    """sitemaps.org: 50 MB unpacked, whatever --max-size is; past it the entries read so far count, and it is told."""
    head, filler = urlset(*(site.at(f"/{name}") for name in "ab")).removesuffix(b"</urlset>"), b" " * 1_000_000
    last = urlset(site.at("/late")).partition(b"<url>")
    end = b"".join(last[1:])
    large, too_large = head + 30 * filler + end, head + 53 * filler + end
    site.robots("Sitemap: /plain.xml\nSitemap: /packed.xml.gz\nSitemap: /encoded.xml\nSitemap: /large.xml\n")
    site.file("/plain.xml", too_large.replace(b"/a<", b"/plain<"), XML)
    site.file("/packed.xml.gz", gzip.compress(too_large.replace(b"/a<", b"/packed<"), 1), "application/gzip")
    encoded = gzip.compress(too_large.replace(b"/a<", b"/encoded<"), 1)
    site.file("/encoded.xml", encoded, XML, headers={"Content-Encoding": "gzip"})
    site.file("/large.xml", large.replace(b"/late<", b"/within<"), XML)
    for path in ("/", "/a", "/b", "/plain", "/packed", "/encoded", "/within", "/late"):
        site.page(path)
    words = ["--delay", "0", "--max-size", "10k", "--processes", processes]
    run = weft("crawl", site.url, "-o", "out", *words)
    assert run.code == 0, run.stderr
    for path in ("/plain", "/packed", "/encoded", "/within", "/a", "/b"):
        assert site.asked(path) == 1, path
    assert not site.asked("/late")
    for name in ("plain.xml", "packed.xml.gz", "encoded.xml"):
        (told,) = [line for line in run.stderr.splitlines() if name in line]
        assert "52428800 bytes: the rest is left out, 2 entries so far count" in told
    assert "large.xml" not in run.stderr


def test_a_sitemap_is_tried_again_when_it_is_time(site: Site, tmp_path: Path) -> None:
    """Promise 4: Retry-After counts for sitemaps too, and keeps no page waiting meanwhile."""
    asked_s: list[float] = []

    def answer(request: Request) -> Response:
        asked_s.append(time.monotonic())
        if len(asked_s) == 1:
            return Response(b"", 502, headers={"Retry-After": "3"})
        return Response(urlset(site.at("/leaf")), 200, XML)

    site.serve("/sitemap.xml", answer)
    site.page("/", ["/linked"])
    site.page("/linked")
    site.page("/leaf")
    crawled = crawl(tmp_path, [site.at("/")], "--delay", "0")
    assert crawled.code == 0 and crawled.status.stop_reason == "done"
    assert site.paths()[-2:] == ["/sitemap.xml", "/leaf"], site.paths()
    assert len(asked_s) == 2 and asked_s[1] - asked_s[0] >= 3.0


def test_a_sitemap_that_wants_hours_ends_after_its_retries(site: Site, tmp_path: Path, weft: Weft) -> None:
    """Promise 4: the crawl ends and says when to go on; attempts are kept, so that resumes come to an end."""
    site.file("/sitemap.xml", b"", XML, status=502, headers={"Retry-After": "7200"})
    site.page("/")
    crawled = crawl(tmp_path, [site.at("/")], "--delay", "0", "--retries", "1")
    assert (crawled.code, crawled.status.stop_reason, site.asked("/sitemap.xml")) == (3, "waiting", 1)
    assert weft("resume", tmp_path / "crawl").code == 0
    assert weft("resume", tmp_path / "crawl").code == 0
    assert site.asked("/sitemap.xml") == 2 and site.asked("/") == 1


@pytest.mark.parametrize(
    ("choice", "asked"), [("no", {"/robots.txt", "/", "/linked"}), ("only", {"/robots.txt", "/", "/map.xml", "/leaf"})]
)
def test_choice(site: Site, tmp_path: Path, choice: str, asked: set[str]) -> None:
    """DESIGN section 6: --sitemaps no reads none; only follows nothing else."""
    site.robots(f"Sitemap: {site.at('/map.xml')}\n")
    site.file("/map.xml", urlset(site.at("/leaf")), XML)
    site.page("/", ["/linked"])
    site.page("/linked")
    site.page("/leaf", ["/linked"])
    crawled = crawl(tmp_path, [site.at("/")], "--delay", "0", "--sitemaps", choice)
    assert crawled.code == 0
    assert set(site.paths()) == asked


@pytest.mark.parametrize(
    "bound", [["--max-depth", "0"], ["--site", "127.0.0.1:{port} max-depth=0"]], ids=["all", "site"]
)
def test_a_mere_list_needs_no_sitemaps(site: Site, weft: Weft, bound: list[str]) -> None:
    """Issue 3, section 2: ``--max-depth 0`` fetches just a list. What sitemaps name lies at depth 1, so nobody is asked
    for them; a resume that lets it in reads them."""
    site.robots(f"Sitemap: {site.at('/map.xml')}\n")
    site.file("/map.xml", urlset(site.at("/leaf")), XML)
    site.page("/", ["/beside"])
    for path in ("/leaf", "/beside"):
        site.page(path)
    options = [word.format(port=site.port) for word in bound]
    assert weft("crawl", site.at("/"), "-o", "out", "--delay", "0", "--quiet", *options).code == 0
    assert site.paths() == ["/robots.txt", "/"]
    assert weft("check", "out").code == 0
    deeper = [word.replace("0", "1") if word == "0" else word.replace("max-depth=0", "max-depth=1") for word in options]
    assert weft("resume", "out", "--quiet", *deeper).code == 0
    assert sorted(site.paths()[2:]) == ["/beside", "/leaf", "/map.xml"]
