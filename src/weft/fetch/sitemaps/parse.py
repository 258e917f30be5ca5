"""A sitemap of any kind, read."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from weft.fetch.sitemaps.body import ascii_compatible, encoding_of, sniff, unpack
from weft.fetch.sitemaps.found import LEFT_OUT, MAX_TEXT_B, MAX_URLS, Sitemap, SitemapEntry, http_url
from weft.fetch.sitemaps.xml import XmlReader
from weft.spec import MAX_SITEMAP_B
from weft.url import host_of

_LINE = r"^[ \t]*((?:https?://|%s(?=[/?:#\s]|\Z))[^\r\n]{0,%d})"


def parse_sitemap(
    body: bytes,
    url: str,
    content_type: str | None = None,
    *,
    max_urls: int = MAX_URLS,
    max_decoded_b: int = MAX_SITEMAP_B,
    truncated: bool = False,
    extensions: bool = False,
) -> Sitemap:
    """What the sitemap found at ``url`` names. Never raises; ``problem`` is empty where all was well.

    ``truncated``: the body is only the beginning of the sitemap. ``extensions`` keeps images, videos and news of the
    entries too.
    """
    unpacked, problem = unpack(body, max_decoded_b)
    if truncated:
        problem = f"longer than {len(body)} bytes: {LEFT_OUT}"
    text = ascii_compatible(unpacked)
    if sniff(text) == "application/xml":
        sitemap = XmlReader(url, encoding_of(text, content_type), max_urls, extensions).read(text)
    else:
        sitemap = _read_lines(text, url, max_urls)
    if problem:
        sitemap.problem = problem
    return sitemap


def _read_lines(body: bytes, url: str, max_urls: int) -> Sitemap:
    """The URLs of a list, one a line, of the sitemap's own host without scheme too; other lines say nothing."""
    sitemap = Sitemap()
    own_host = re.escape(host_of(url)) or "(?!)"
    url_line = re.compile((_LINE % (own_host, MAX_TEXT_B)).encode(), re.I | re.M)
    for found in url_line.finditer(body.replace(b"\r", b"\n")):
        loc = found.group(1).decode("utf-8", "replace").strip()
        absolute = http_url(url, loc)
        if absolute is None:
            continue
        if len(sitemap.entries) >= max_urls:
            sitemap.problem = f"more than {max_urls} URLs: {LEFT_OUT}"
            break
        sitemap.entries.append(SitemapEntry(absolute, loc=loc))
    if sitemap.entries:
        sitemap.kind = "text"
    else:
        sitemap.problem = "not a sitemap" if body else "empty"
    return sitemap


def in_sitemap_scope(sitemap_base: str, url: str) -> bool:
    """Whether sitemaps.org lets a sitemap in the folder of ``sitemap_base`` speak for a URL: same origin, below it."""
    try:
        base, other = urlsplit(sitemap_base), urlsplit(url)
        if (base.scheme, base.hostname, base.port) != (other.scheme, other.hostname, other.port):
            return False
    except ValueError:
        return False
    folder = base.path[: base.path.rfind("/") + 1] or "/"
    return (other.path or "/").startswith(folder)
