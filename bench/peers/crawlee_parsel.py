"""Crawlee for Python as its documentation has it: the faster of its two HTTP crawlers, links enqueued, data pushed.

python crawlee_parsel.py FOLDER SEED...
"""

from __future__ import annotations

import asyncio
import sys

from crawlee import ConcurrencySettings
from crawlee.configuration import Configuration
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext


async def main() -> None:
    crawler = ParselCrawler(
        configuration=Configuration(storage_dir=sys.argv[1]),
        respect_robots_txt_file=True,
        concurrency_settings=ConcurrencySettings(min_concurrency=16, desired_concurrency=48, max_concurrency=48),
    )

    @crawler.router.default_handler
    async def handle(context: ParselCrawlingContext) -> None:
        title = context.selector.css("title::text").get()
        await context.push_data({"url": context.request.url, "title": title})
        await context.enqueue_links()

    await crawler.run(sys.argv[2:])


asyncio.run(main())
