"""What a sitemap names: XML sitemaps and indexes, RSS, Atom and plain lists, good and bad.

Pure and bounded. The XML is cut into tags here and not given to an XML parser: real sitemaps hold bare ampersands,
wrong namespaces and unclosed tags, at which an XML parser ends; and what is never parsed cannot attack. A DOCTYPE is
skipped whole, no entity but the five of XML is known, nothing is ever fetched, memory is the body and what is found in
it, time is linear in the body. What is found in spite of a fault is kept, and ``problem`` says what the fault was.

Not done here: fetching, loops between indexes, and whether a URL is in the crawl's scope.
"""

from __future__ import annotations

from weft.fetch.sitemaps.body import sniff, unpack
from weft.fetch.sitemaps.dates import rss_date, w3c_date
from weft.fetch.sitemaps.found import MAX_TEXT_B, Extra, Sitemap, SitemapEntry
from weft.fetch.sitemaps.parse import in_sitemap_scope, parse_sitemap

__all__ = [
    "MAX_TEXT_B",
    "Extra",
    "Sitemap",
    "SitemapEntry",
    "in_sitemap_scope",
    "parse_sitemap",
    "rss_date",
    "sniff",
    "unpack",
    "w3c_date",
]
