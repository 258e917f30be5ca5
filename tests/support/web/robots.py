"""Sites whose robots.txt or sitemap misbehaves; the path itself is a plain page."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

import web.slow
import web.wire  # noqa: F401  # robots.txt and sitemaps misbehave as their kinds do
from web.content import bomb_head, mebibyte_of, squash
from web.kinds import ANSWER, BAD, CUT, KINDS, LOST, MISBEHAVIOURS, SLOW, add_kind
from web.server import Response, Site, html_page

# --- robots.txt and sitemaps: the path is a plain page, the site's own files misbehave


def _robots(
    kind: str,
    outcomes: Sequence[str],
    why: str,
    content: bytes,
    status: int = 200,
    *,
    content_type: str = "text/plain",
    headers: Mapping[str, str] | None = None,
    asks: tuple[str, ...] = (),
    never: tuple[str, ...] = (),
) -> None:
    def install(site: Site, path: str, host: str | None, target: str) -> None:
        site.page(path, [f"{path}{suffix}" for suffix in (*asks, *never)], host=host)
        for suffix in (*asks, *never):
            site.page(path + suffix, host=host)
        text = content.replace(b"{path}", path.encode())
        site.file("/robots.txt", text, content_type, status=status, headers=headers, host=host)

    page = status if 300 > status >= 200 else None
    add_kind(kind, install, "robots", outcomes, why, status=page and 200, whole_site=True, asks=asks, never=never)


def _rules(kind: str, why: str, content: bytes) -> None:
    """A kind whose rules allow ``-yes`` and forbid ``-no``."""
    _robots(kind, (ANSWER,), why, content, asks=("-yes",), never=("-no",))


NOT_NOW = ("ROBOTS_UNAVAILABLE",)
DENIED = ("ROBOTS_DISALLOWED",)
FORBIDS = b"User-agent: *\nDisallow: {path}-no\n"
for _code in (500, 502, 503, 599):
    _robots(f"robots_{_code}", NOT_NOW, f"{_code}: nothing may be asked (RFC 9309, 2.3.1.4)", b"oops", _code)
_robots("robots_429", (*NOT_NOW, ANSWER), "429 is busy, not absent", b"busy", 429, headers={"Retry-After": "1"})
for _code in (400, 401, 403, 404, 410, 451):
    _robots(
        f"robots_{_code}",
        (ANSWER,),
        f"{_code}: all is allowed (RFC 9309, 2.3.1.3)",
        b"User-agent: *\nDisallow: /\n",
        _code,
    )
_robots("robots_denies_all", DENIED, "all forbidden", b"User-agent: *\nDisallow: /\n")
_robots("robots_denies_us", DENIED, "we are forbidden", b"User-agent: *\nAllow: /\n\nUser-agent: weft\nDisallow: /\n")
_robots(
    "robots_allows_us",
    (ANSWER,),
    "others are forbidden",
    b"User-agent: *\nDisallow: /\n\nUser-agent: weft\nDisallow:\n",
)
_robots(
    "robots_prefix_of_us",
    (ANSWER,),
    "a name that is longer than ours is not ours",
    b"User-agent: weftling\nDisallow: /\n",
)
_robots("robots_empty", (ANSWER,), "empty: all allowed", b"")
_robots("robots_html", (ANSWER,), "an error page with status 200", html_page("404"), content_type="text/html")
_robots("robots_binary", (ANSWER,), "random bytes", random.Random(3).randbytes(20_000))
_rules("robots_bom", "a byte order mark first", b"\xef\xbb\xbf" + FORBIDS)
_robots("robots_utf16", (ANSWER,), "UTF-16 is not UTF-8", FORBIDS.decode().encode("utf-16"))
_rules("robots_cr_only", "CR as line end", FORBIDS.replace(b"\n", b"\r"))
_rules("robots_nul", "NUL bytes between lines", b"\0\0\n" + FORBIDS)
_rules("robots_no_colon", "lines without a colon", b"what is this\n" + FORBIDS)
_rules("robots_huge", "600 KB; the first 500 count", FORBIDS + b"# filler\n" * 70_000)
_rules("robots_long_line", "a line of 400 KB", b"#" + b"x" * 400_000 + b"\n" + FORBIDS)
_robots(
    "robots_stars",
    (ANSWER,),
    "patterns made to stall a matcher",
    b"User-agent: *\nDisallow: /" + b"*a" * 2_000 + b"$\nDisallow: {path}-no\n",
    asks=("-" + "a" * 200,),
    never=("-no",),
)
_robots(
    "robots_escapes",
    (ANSWER,),
    "a path escaped in another way",
    b"User-agent: *\nDisallow: {path}-%6Eo\n",
    never=("-no",),
)
_rules(
    "robots_longest", "the longest rule wins, not the first", b"User-agent: *\nDisallow: {path}-\nAllow: {path}-yes\n"
)
_robots("robots_delay_huge", (ANSWER,), "a day between requests: capped", b"User-agent: *\nCrawl-delay: 86400\n")
_robots(
    "robots_delay_nonsense",
    (ANSWER,),
    "delays that are none",
    b"User-agent: *\nCrawl-delay: -1\nCrawl-delay: soon\nCrawl-delay: 1e999\n",
)
_rules(
    "robots_many_groups",
    "5,000 groups",
    b"".join(b"User-agent: bot%d\nDisallow: /\n" % n for n in range(5_000)) + FORBIDS,
)
_robots(
    "robots_control_lines",
    (ANSWER,),
    "terminal escapes in comments",
    b"# \x1b]0;owned\x07\x1b[2J\n" + FORBIDS,
    never=("-no",),
)


def _broken_robots(kind: str, like: str, outcomes: Sequence[str], why: str) -> None:
    """robots.txt itself misbehaves like another kind."""

    def install(site: Site, path: str, host: str | None, target: str) -> None:
        site.page(path, host=host)
        KINDS[like](site, "/robots.txt", host, target)

    expected = MISBEHAVIOURS[like]
    add_kind(
        kind, install, "robots", outcomes, why, whole_site=True, timeout=expected.timeout, endless=expected.endless
    )


_broken_robots("robots_reset", "reset_before_answer", (*LOST, *NOT_NOW), "unreachable: nothing may be asked")
_broken_robots("robots_cut", "short_body", (*CUT, *NOT_NOW), "cut off: nobody knows the rest")
_broken_robots("robots_hangs", "hang_before_answer", (*SLOW, *NOT_NOW), "never answers")
_broken_robots("robots_drips", "drip_body", (*SLOW, *NOT_NOW), "a byte a second")
_broken_robots("robots_garbage", "random_bytes", (*BAD, *NOT_NOW), "no HTTP at all")
_broken_robots("robots_endless", "endless_body", (ANSWER,), "without end: the first 500 KiB count")
_broken_robots("robots_bomb", "gzip_bomb", (ANSWER,), "a gzip bomb: the first 500 KiB count")
_broken_robots("robots_redirect_loop", "redirect_self", (ANSWER, *NOT_NOW), "leads to itself: as if there were none")
_broken_robots(
    "robots_redirect_endless",
    "redirect_chain_30",
    (ANSWER, *NOT_NOW),
    "more than five redirects: as if there were none",
)


def _robots_moved(site: Site, path: str, host: str | None, target: str) -> None:
    site.page(path, [f"{path}-no", f"{path}-yes"], host=host)
    site.page(f"{path}-no", host=host)
    site.page(f"{path}-yes", host=host)
    for step in range(4):
        site.redirect("/robots.txt" if step == 0 else f"/moved/{step}", f"/moved/{step + 1}", 301, host=host)
    site.file("/moved/4", FORBIDS.replace(b"{path}", path.encode()), "text/plain", host=host)


add_kind(
    "robots_moved",
    _robots_moved,
    "robots",
    (ANSWER,),
    "four redirects are followed, and the rules found there hold",
    status=200,
    whole_site=True,
    asks=("-yes",),
    never=("-no",),
)


def _sitemap(
    kind: str,
    why: str,
    content: Callable[[Site, str, str], bytes],
    *,
    asks: tuple[str, ...] = (),
    never: tuple[str, ...] = (),
    content_type: str = "application/xml",
    endless: bool = False,
) -> None:
    def install(site: Site, path: str, host: str | None, target: str) -> None:
        own = site.at("", host)
        site.page(path, host=host)
        for suffix in asks:
            site.page(path + suffix, host=host)
        site.robots(f"User-agent: *\nDisallow:\nSitemap: {own}{path}.xml\n", host=host)
        site.file(f"{path}.xml", content(site, own + path, target or "http://elsewhere.test"), content_type, host=host)
        site.serve(
            f"{path}.xml?*", lambda request: Response(content(site, own + path, target), 200, content_type), host=host
        )

    add_kind(
        kind, install, "sitemaps", (ANSWER,), why, status=200, whole_site=True, asks=asks, never=never, endless=endless
    )


def _urlset(*places: str, before: str = "") -> bytes:
    items = "".join(f"<url><loc>{place}</loc></url>" for place in places)
    return f'<?xml version="1.0"?>{before}<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{items}</urlset>'.encode()


def _mapindex(*places: str) -> bytes:
    items = "".join(f"<sitemap><loc>{place}</loc></sitemap>" for place in places)
    return f'<?xml version="1.0"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{items}</sitemapindex>'.encode()


_LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "ha" * 100}">' for n in range(10))
_sitemap(
    "sitemap_laughs",
    "a billion laughs",
    lambda site, url, target: _urlset(f"{url}-leaf", f"{url}-&l9;", before=f"<!DOCTYPE x [{_LAUGHS}]>"),
)
_sitemap(
    "sitemap_xxe",
    "an entity that is a file of ours",
    lambda site, url, target: _urlset(
        f"{url}-leaf", f"{url}-&f;", before='<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/hostname">]>'
    ),
)
_sitemap(
    "sitemap_external_dtd",
    "a DTD elsewhere is not fetched",
    lambda site, url, target: _urlset(f"{url}-leaf", before=f'<!DOCTYPE x SYSTEM "{url}-dtd">'),
    asks=("-leaf",),
    never=("-dtd",),
)
_sitemap("sitemap_self", "an index that holds itself", lambda site, url, target: _mapindex(f"{url}.xml"))
_sitemap(
    "sitemap_endless",
    "an index that always holds a new one",
    lambda site, url, target: _mapindex(*(f"{url}.xml?{random.SystemRandom().getrandbits(60)}" for _ in range(3))),
    endless=True,
)
_sitemap(
    "sitemap_other_host",
    "pages of another host are out of scope",
    lambda site, url, target: _urlset(f"{target}/x", f"{url}-leaf"),
    asks=("-leaf",),
)
_sitemap(
    "sitemap_schemes",
    "other schemes",
    lambda site, url, target: _urlset(
        "file:///etc/passwd", "javascript:1", "ftp://x.test/", "http://169.254.169.254/", "", f"{url}-leaf"
    ),
    asks=("-leaf",),
)
_sitemap(
    "sitemap_cut",
    "cut off inside an element: what came before counts",
    lambda site, url, target: _urlset(f"{url}-leaf", f"{url}-b")[:-40],
    asks=("-leaf",),
)
_sitemap("sitemap_html", "an error page instead", lambda site, url, target: html_page("404"), content_type="text/html")
_sitemap("sitemap_empty", "nothing", lambda site, url, target: b"")
_sitemap("sitemap_binary", "random bytes", lambda site, url, target: random.Random(5).randbytes(9_000))
_sitemap(
    "sitemap_text",
    "a plain list",
    lambda site, url, target: f"{url}-leaf\r\n\nnot a url\n".encode(),
    asks=("-leaf",),
    content_type="text/plain",
)
_sitemap(
    "sitemap_gzip",
    "gzip that says nothing of it",
    lambda site, url, target: squash(_urlset(f"{url}-leaf")),
    asks=("-leaf",),
    content_type="application/octet-stream",
)
_sitemap(
    "sitemap_bomb",
    "a gzip bomb as a file",
    lambda site, url, target: bomb_head(_urlset(f"{url}-leaf")) + mebibyte_of(b" ") * 2_048,
    content_type="application/x-gzip",
)
_sitemap(
    "sitemap_blanks",
    "blanks, CDATA, comments, entities in addresses",
    lambda site, url, target: _urlset(f"\n  {url}-leaf \t", f"<![CDATA[{url}-b]]>", f"<!-- no -->{url}-c?x=1&amp;y=2"),
    asks=("-leaf", "-b", "-c?x=1&y=2"),
)
_sitemap(
    "sitemap_namespace",
    "prefixes and upper case",
    lambda site, url, target: (
        b'<s:urlset xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9"><s:url><s:loc>'
        + f"{url}-leaf".encode()
        + b"</s:loc></s:url></s:urlset>"
    ),
    asks=("-leaf",),
)
_sitemap(
    "sitemap_many",
    "60,000 addresses in one file: more than 50,000",
    lambda site, url, target: _urlset(*(f"{url}?n={n}" for n in range(60_000))),
    endless=True,
)
_sitemap(
    "sitemap_deep",
    "100,000 nested elements",
    lambda site, url, target: b"<a>" * 100_000 + f"<url><loc>{url}-leaf</loc></url>".encode(),
)
