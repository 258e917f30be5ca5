"""Scrapy without all that can be left out: a plain spider on uvloop, its own seen-set, selectolax for the links.

python scrapy_lean.py FOLDER SEED...
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urljoin, urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from selectolax.lexbor import LexborHTMLParser


class Pages(scrapy.Spider):
    name = "pages"

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._seen = set(sys.argv[2:])
        self._sites = {urlsplit(url).netloc for url in self._seen}
        self._output = Path(sys.argv[1], "pages.tsv").open("w", encoding="utf-8")  # noqa: SIM115  # until the end

    async def start(self) -> AsyncIterator[Any]:
        for url in sorted(self._seen):
            yield scrapy.Request(url, dont_filter=True)

    def parse(self, response: Any) -> Iterator[Any]:
        if not response.headers.get(b"Content-Type", b"").startswith(b"text/html"):
            return
        tree = LexborHTMLParser(response.body)
        links = 0
        for node in tree.css("a[href], area[href]"):
            url = urldefrag(urljoin(response.url, node.attributes["href"] or "")).url
            links += 1
            if url not in self._seen and urlsplit(url).netloc in self._sites:
                self._seen.add(url)
                yield scrapy.Request(url, dont_filter=True)
        title = tree.css_first("title")
        self._output.write(f"{response.url}\t{response.status}\t{links}\t{title.text() if title else ''}\n")


NOT_NEEDED = {
    "DOWNLOADER_MIDDLEWARES": (
        "httpauth.HttpAuthMiddleware", "defaultheaders.DefaultHeadersMiddleware", "retry.RetryMiddleware",
        "cookies.CookiesMiddleware", "stats.DownloaderStats",
    ),
    "SPIDER_MIDDLEWARES": (
        "referer.RefererMiddleware", "urllength.UrlLengthMiddleware", "depth.DepthMiddleware",
    ),
    "EXTENSIONS": (
        "corestats.CoreStats", "telnet.TelnetConsole", "memusage.MemoryUsage", "memdebug.MemoryDebugger",
        "logstats.LogStats", "feedexport.FeedExporter", "spiderstate.SpiderState", "throttle.AutoThrottle",
    ),
}  # fmt: skip
PLACES = {
    "DOWNLOADER_MIDDLEWARES": "scrapy.downloadermiddlewares",
    "SPIDER_MIDDLEWARES": "scrapy.spidermiddlewares",
    "EXTENSIONS": "scrapy.extensions",
}

process = CrawlerProcess(
    settings={
        "ROBOTSTXT_OBEY": True,
        "CONCURRENT_REQUESTS": 48,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 48,
        "LOG_LEVEL": "WARNING",
        "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
        **{setting: {f"{PLACES[setting]}.{name}": None for name in names} for setting, names in NOT_NEEDED.items()},
    }
)
process.crawl(Pages)
process.start()
