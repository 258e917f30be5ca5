"""robots.txt and sitemaps of an invented web."""

from __future__ import annotations

import gzip

from weft.demo.invented.nouns import FAMILIES, Answer
from weft.demo.invented.shape import Shape
from weft.demo.invented.special import missing

SITEMAP_URLS = 5_000


def robots_of(web: Shape, host: int) -> str:
    delay = web.crawl_delay(host)
    wait = f"Crawl-delay: {delay:g}\n" if delay else ""
    return (
        f"# h{host}\nUser-agent: *\nDisallow: {FAMILIES['private'].prefix}\nAllow: {FAMILIES['open'].prefix}\n"
        f"{wait}\nUser-agent: greedybot\nDisallow: /\n\nSitemap: {web.url(host, '/sitemap.xml')}\n"
    )


def sitemaps_of(web: Shape, host: int) -> dict[str, list[str]]:
    orphans = web.numbers(host, "orphan")
    count = (len(orphans) + SITEMAP_URLS - 1) // SITEMAP_URLS
    parts = [web.url(host, f"/sitemap-orphans-{at}.xml.gz") for at in range(count)]
    maps = {web.url(host, "/sitemap.xml"): [web.url(host, "/sitemap-pages.xml"), *parts]}
    front = range(min(web.size(host), web.levels[2]))
    maps[web.url(host, "/sitemap-pages.xml")] = [web.url(host, web.name(host, at)[0]) for at in front]
    for at, part in enumerate(parts):
        chunk = orphans[at * SITEMAP_URLS : (at + 1) * SITEMAP_URLS]
        maps[part] = [web.url(host, FAMILIES["orphan"].path(number)) for number in chunk]
    return maps


def sitemap_of(web: Shape, host: int, path: str) -> Answer:
    places = sitemaps_of(web, host).get(web.url(host, path))
    if places is None:
        return missing()
    outer, inner = ("sitemapindex", "sitemap") if path == "/sitemap.xml" else ("urlset", "url")
    items = "".join(f"<{inner}><loc>{place}</loc><lastmod>2024-01-02</lastmod></{inner}>\n" for place in places)
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<{outer} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{items}</{outer}>\n'
    ).encode()
    if path.endswith(".gz"):
        return Answer(200, "application/gzip", (), gzip.compress(text, 6, mtime=0))
    return Answer(200, "application/xml", (), text)
