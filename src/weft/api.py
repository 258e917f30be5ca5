"""weft from Python: a crawl as an async stream of pages, and a stored crawl to read."""

from __future__ import annotations

import asyncio
import tempfile
from collections import deque
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from weft.records import Purpose

if TYPE_CHECKING:
    from weft.conclude import Concluded
    from weft.loop import Crawl
    from weft.derive.read import Page, StoredCrawl

_UNREAD_MAX = 256


class _Stream:
    """Collects committed pages for a reader, and holds the crawl back while the reader is behind."""

    def __init__(self) -> None:
        self.pages: deque[int] = deque()
        self.filled = asyncio.Event()

    def ticked(self, visits: list[Concluded], crawl: Crawl) -> None:
        for done in visits:
            if done.lease.purpose is Purpose.PAGE and done.retry_s is None and done.again_at is None:
                self.pages.append(done.lease.page)
        self.filled.set()

    def is_full(self) -> bool:
        return len(self.pages) >= _UNREAD_MAX


async def crawl(*seeds: str, folder: str | Path | None = None, **options: object) -> AsyncIterator[Page]:
    """The pages of a crawl, each once, when it is committed: ``async for page in weft.crawl("https://example.org")``.

    Options are those of `weft crawl` with underscores: ``max_pages=100, delay=1.0``. With ``folder`` the crawl stays on
    disk, and one that is there is gone on with; without it a temporary folder is used and removed. Leaving the loop
    stops the crawl; a slow reader slows it down.
    """
    from weft.assemble import open_crawl, run_crawl
    from weft.derive.read import StoredCrawl
    from weft.options import spec_of
    from weft.session import plan_crawl

    async with AsyncExitStack() as stack:
        path = folder if folder is not None else Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="weft-")), "crawl")
        plan = plan_crawl(spec_of(seeds, options), str(path), fresh=False, warn=_ignore)
        stream = _Stream()
        running = await stack.enter_async_context(
            open_crawl(plan.spec, plan.folder, plan.seeds, [stream], limits_changed=plan.limits_changed)
        )
        running.held_back = stream.is_full
        stored = stack.enter_context(StoredCrawl(path))
        task = asyncio.create_task(run_crawl(running))
        task.add_done_callback(lambda _: stream.filled.set())
        try:
            while True:
                while stream.pages:
                    page = stored.page_by_id(stream.pages.popleft())
                    if page is not None:
                        yield page
                    running.wake()
                if task.done():
                    break
                stream.filled.clear()
                await stream.filled.wait()
            task.result()
        finally:
            running.stop()
            await asyncio.wait([task])


def open(folder: str | Path) -> StoredCrawl:  # noqa: A001 - weft.open, as one says it
    """A crawl on disk, running or not: its pages, links and numbers."""
    from weft.derive.read import StoredCrawl

    return StoredCrawl(folder)


def _ignore(_message: str) -> None:
    """A library does not print."""
