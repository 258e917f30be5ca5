"""A crawler as one writes it by hand in an afternoon: aiohttp, selectolax, uvloop, a set, 16 workers for each site.

It asks robots.txt, follows redirects, writes one line for each page and one for each link. No retries, no limits, no
resume, no archive, nothing for pages that are not well.

    python aiohttp_selectolax.py FOLDER SEED...
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TextIO
from urllib.parse import urldefrag, urljoin, urlsplit
from urllib.robotparser import RobotFileParser

import aiohttp
import uvloop
from selectolax.lexbor import LexborHTMLParser

WORKERS = 16


class Site:
    """One host and port with its queue."""

    def __init__(self, seed: str, session: aiohttp.ClientSession, output: TextIO) -> None:
        self._origin = urljoin(seed, "/")
        self._netloc = urlsplit(seed).netloc
        self._session = session
        self._output = output
        self._seen = {seed}
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self._queue.put_nowait(seed)
        self._robots = RobotFileParser()

    async def crawl(self) -> None:
        async with self._session.get(f"{self._origin}robots.txt") as answer:
            self._robots.parse((await answer.text()).splitlines() if answer.status == 200 else [])
        workers = [asyncio.create_task(self._work()) for _ in range(WORKERS)]
        await self._queue.join()
        for worker in workers:
            worker.cancel()

    async def _work(self) -> None:
        while True:
            url = await self._queue.get()
            try:
                await self._page(url)
            except (aiohttp.ClientError, TimeoutError) as error:
                self._output.write(f"{url}\t{error}\n")
            finally:
                self._queue.task_done()

    async def _page(self, url: str) -> None:
        async with self._session.get(url) as answer:
            body = await answer.read()
            final = str(answer.url)
        if answer.status != 200 or not answer.content_type.startswith("text/html"):
            return
        tree = LexborHTMLParser(body)
        title = tree.css_first("title")
        lines = [f"{final}\t{answer.status}\t{title.text() if title else ''}\n"]
        for node in tree.css("a[href], area[href]"):
            target = urldefrag(urljoin(final, node.attributes["href"] or "")).url
            lines.append(f"\t{target}\t{node.text()}\n")
            if target not in self._seen and urlsplit(target).netloc == self._netloc:
                self._seen.add(target)
                if self._robots.can_fetch("*", target):
                    self._queue.put_nowait(target)
        self._output.writelines(lines)


async def main(output: TextIO) -> None:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(Site(seed, session, output).crawl() for seed in sys.argv[2:]))


with Path(sys.argv[1], "pages.tsv").open("w", encoding="utf-8") as pages:
    uvloop.run(main(pages))
