"""Scrapy as its documentation has it: a CrawlSpider with one rule, items to a feed.

python scrapy_crawlspider.py FOLDER SEED...
"""

from __future__ import annotations

import sys
from typing import Any

from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class Pages(CrawlSpider):
    name = "pages"
    start_urls = sys.argv[2:]
    allowed_domains = ("127.0.0.1",)
    rules = (Rule(LinkExtractor(), callback="parse_item", follow=True),)

    def parse_start_url(self, response: Any, **_: Any) -> Any:
        return self.parse_item(response)

    def parse_item(self, response: Any) -> dict[str, object]:
        return {"url": response.url, "status": response.status, "title": response.css("title::text").get()}


process = CrawlerProcess(
    settings={
        "ROBOTSTXT_OBEY": True,  # as the project template has it
        "CONCURRENT_REQUESTS": 48,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 48,
        "DOWNLOAD_DELAY": 0,
        "LOG_LEVEL": "INFO",  # "Broad crawls": reduce the log level
        "FEEDS": {f"{sys.argv[1]}/pages.jsonl": {"format": "jsonlines"}},
    }
)
process.crawl(Pages)
process.start()
