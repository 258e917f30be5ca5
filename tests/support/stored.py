"""A small crawl on disk that holds every kind of outcome, for the tests of the commands that read one."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

from command import run_weft
from web import HTML, Site, html_page

ROOT = Path(__file__).resolve().parents[2]
SAME = "the same text on two pages, long enough to be stored only once. " * 20
ODD_TITLE = "=cmd|' /C calc'!A0"
EVIL_TITLE = "evil \x1b[31m red \u202e turned"
GZIPPED = html_page("packed", ["/a"], body="<p>packed text</p>" * 50)
LONG_DATA = "data:text/html," + 5_000 * "x"
BINARY = bytes(range(256)) * 4


@dataclass(frozen=True)
class Stored:
    """Where the crawl lies, and the address of the site it was made from, which is gone."""

    folder: Path
    url: str


def build(site: Site) -> None:
    """What the site serves: 200s, duplicates, redirects, 404, failures, forbidden and foreign links."""
    links: list[str | tuple[str, str]] = [
        ("/a", "to a"), "/b", "/a#part", "/dup1", "/dup2", "/old", "/missing", "/private/x", "/%7euser", "/~user",
        "/gz", "/bin", "/reset", "/odd", "/evil", "http://elsewhere.test/x", "mailto:me@example.org",
        "/x/x/x/x/x/page", "/doc.pdf", "/hinted", "/noindex",
    ]  # fmt: skip
    body = '<img src="/logo.png"><a href="/secret" rel="nofollow">no</a>'
    site.page("/", links, title="start", body=body)
    site.page("/a", ["/", "/b"], title="A", head='<link rel="canonical" href="/a">')
    site.page("/b", ["/a", "/deep", LONG_DATA], title="B")
    site.page("/deep", ["/deeper"])
    site.page("/deeper", ["/deepest"])
    site.page("/dup1", title="twin", body=SAME)
    site.page("/dup2", title="twin", body=SAME)
    site.redirect("/old", "/a", 301)
    site.page("/~user")
    site.page("/private/x")
    site.file("/gz", gzip.compress(GZIPPED), HTML, headers={"Content-Encoding": "gzip"})
    site.file("/bin", BINARY)
    site.page("/odd", title=ODD_TITLE)
    site.page("/evil", title=EVIL_TITLE)
    site.page("/noindex", ["/unfollowed"], head='<meta name="robots" content="noindex, nofollow">')
    site.page("/mapped")
    site.misbehave("/reset", "reset_mid_body")
    site.robots("User-agent: *\nAllow: /private/open\nDisallow: /private\nSitemap: /sitemap.xml\n")
    place = site.at("/mapped")
    site.file(
        "/sitemap.xml",
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>{place}</loc></url></urlset>'.encode(),
        "application/xml",
    )


def make(folder: Path, *options: str) -> Stored:
    """Crawls the site into ``folder``/crawl and closes the site."""
    with Site() as site:
        build(site)
        arguments = ("-o", "crawl", "--delay", "0", "--per-host", "4", "--retries", "0", "--max-depth", "3", "--quiet")
        ended = run_weft("crawl", site.at("/"), *arguments, *options, cwd=folder)
        assert ended.code == 0, ended.stderr
        return Stored(folder / "crawl", site.url)
