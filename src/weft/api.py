"""weft from Python: a crawl as an async stream of pages, and a stored crawl to read."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from weft.errors import Cause, SpecError
from weft.records import Purpose, StopReason

if TYPE_CHECKING:
    from weft.conclude import Concluded
    from weft.derive.read import Page, StoredCrawl
    from weft.loop import Crawl
    from weft.options.crawl_options import CrawlOptions
    from weft.records import Progress

UNREAD_MAX = 256
"""Pages that wait for their reader before the crawl takes no more."""

_logger = logging.getLogger("weft")


class _Stream:
    """Collects committed pages for a reader, and holds the crawl back while the reader is behind."""

    def __init__(self) -> None:
        self.pages: deque[int] = deque()
        self.filled = asyncio.Event()

    def ticked(self, visits: list[Concluded], progress: Progress) -> None:
        for done in visits:
            if done.lease.purpose is Purpose.PAGE and done.retry_s is None and done.again_at is None:
                self.pages.append(done.lease.page)
        self.filled.set()

    def is_full(self) -> bool:
        return len(self.pages) >= UNREAD_MAX


async def crawl(
    *seeds: str | PathLike[str], folder: str | Path | None = None, **options: Unpack[CrawlOptions]
) -> AsyncGenerator[Page, None]:
    """The pages of a crawl, each once, when it is committed: ``async for page in weft.crawl("https://example.org")``.

    Options are those of `weft crawl` with underscores: ``max_pages=100, delay=1.0``. With ``folder`` the crawl stays on
    disk, and one that is there is gone on with; without it a temporary folder is used and removed. Leaving the loop
    stops the crawl; a slow reader slows it down. URLs that could not be asked because their site does not answer come
    last. ``WeftError`` says what is wrong with the options, the folder or the disk; what the web does wrong is in the
    pages.
    """
    from weft.assemble import open_crawl
    from weft.derive.read import StoredCrawl
    from weft.fetch.http.bounds import make_room_for_files
    from weft.folder import Folder
    from weft.options import spec_of
    from weft.ports import silent
    from weft.results import write_results
    from weft.session import plan_crawl
    from weft.spec import OWN_RESULT

    async with AsyncExitStack() as stack:
        path = Path(folder) if folder is not None else _temporary(stack)
        if not seeds and not Folder(path).exists:
            raise SpecError(
                'no seed: give a URL, a host or a file of them, for example: weft.crawl("https://example.org")'
            )
        make_room_for_files(raise_limit=False)
        plan = plan_crawl(spec_of(seeds, options), str(path), fresh=False, warn=_logger.warning)
        stream = _Stream()
        running = await stack.enter_async_context(
            open_crawl(plan.spec, plan.folder, plan.seeds, [stream], limits_changed=plan.limits_changed)
        )
        running.held_back = stream.is_full
        stored = stack.enter_context(StoredCrawl(path))
        task = asyncio.create_task(_run(running))
        task.add_done_callback(lambda _: stream.filled.set())
        try:
            while stream.pages or not task.done():
                if not stream.pages:
                    stream.filled.clear()
                    await stream.filled.wait()
                    continue
                page = stored.page_by_id(stream.pages.popleft())
                running.wake()
                if page is not None:
                    yield page
            task.result()
            for number in _never_asked(stored):
                page = stored.page_by_id(number)
                if page is not None:
                    yield page
        finally:
            await _end(running, task)
            if folder is not None or plan.spec.keep.graphs != OWN_RESULT:
                write_results(plan.spec, plan.folder, silent)


def open(folder: str | Path) -> StoredCrawl:
    """A crawl on disk, running or not: its pages, links and numbers."""
    from weft.derive.read import StoredCrawl

    return StoredCrawl(folder)


def _temporary(stack: AsyncExitStack) -> Path:
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="weft-")), "crawl")


async def _run(running: Crawl) -> StopReason:
    """The crawl to its end. Cancelled, it stops at once, and still writes all that is known: nothing of that waits."""
    from weft.assemble import run_crawl

    try:
        return await run_crawl(running)
    except asyncio.CancelledError:
        running.stop()
        running.stop()
        await run_crawl(running)
        raise


async def _end(running: Crawl, task: asyncio.Task[StopReason]) -> None:
    """Stops the crawl and waits for its last tick, also where the waiting itself is cancelled: `asyncio.run` does that
    to whoever leaves the loop by ``break`` and returns."""
    running.stop()
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            running.stop()
            cancelled = error
    if cancelled is not None:
        raise cancelled
    if not task.cancelled():
        task.result()  # whatever went wrong at the end: a disk that is full


def _never_asked(stored: StoredCrawl) -> Iterator[int]:
    """The pages that ended without a visit of their own, because their site or its robots.txt does not answer."""
    last = 0
    query = "SELECT id FROM page WHERE id > ? AND state = 'E' AND visit IS NULL AND cause <> ? ORDER BY id LIMIT 1000"
    while rows := stored.connection.execute(query, (last, Cause.ROBOTS_DISALLOWED.value)).fetchall():
        last = rows[-1][0]
        yield from (number for (number,) in rows)
