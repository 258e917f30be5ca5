"""weft from Python: a crawl as a stream of pages, async or blocking, and a stored crawl to read."""

from __future__ import annotations

import asyncio
import atexit
import logging
import tempfile
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from os import PathLike
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING, Unpack

from weft.errors import SpecError
from weft.records import Purpose, StopReason

if TYPE_CHECKING:
    from weft.crawl.opening import OpenCrawl
    from weft.derive.read import Page, StoredCrawl
    from weft.options.crawl_options import CrawlOptions
    from weft.records import Progress, StoredVisit

UNREAD_MAX = 256
"""Pages that wait for their reader before the crawl takes no more."""

_logger = logging.getLogger("weft")


class _Stream:
    """Collects committed pages for a reader, and holds the crawl back while the reader is behind."""

    def __init__(self) -> None:
        self.pages: deque[int] = deque()
        self.filled = asyncio.Event()

    def ticked(self, visits: Sequence[StoredVisit], progress: Progress) -> None:
        for one in visits:
            if one.lease.purpose is Purpose.PAGE and one.state != "W":
                self.pages.append(one.lease.page)
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
    from weft.crawl.build import open_crawl
    from weft.crawl.opening import RunStart
    from weft.derive.read import StoredCrawl
    from weft.fetch.http.bounds import make_room_for_files
    from weft.folder import Folder
    from weft.options import spec_of
    from weft.ports import silent
    from weft.run.results import write_results
    from weft.run.session import plan_crawl
    from weft.spec import RESULT_IN_FOLDER

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
            open_crawl(plan.spec, plan.folder, RunStart(plan.seeds, plan.limits_changed), [stream], ranks=plan.ranks)
        )
        running.hold_back(stream.is_full)
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
            for page in stored.never_asked():
                yield page
        finally:
            await _end(running, task)
            if folder is not None or plan.spec.keep.graphs != RESULT_IN_FOLDER:
                write_results(plan.spec, plan.folder, silent)


def crawl_sync(
    *seeds: str | PathLike[str], folder: str | Path | None = None, **options: Unpack[CrawlOptions]
) -> Iterator[Page]:
    """``weft.crawl`` for programs without asyncio: ``for page in weft.crawl_sync("https://example.org")``.

    The crawl runs on a thread of its own, and goes on while a page is looked at. Also where an event loop runs already,
    as in notebooks.
    """
    crawling = _Crawling(crawl(*seeds, folder=folder, **options))
    try:
        yield from crawling.pages()
    finally:
        crawling.end()


class _Crawling:
    """A crawl on a thread and an event loop of its own, whose pages are taken by another thread."""

    def __init__(self, stream: AsyncGenerator[Page, None]) -> None:
        self._stream = stream
        self._found: SimpleQueue[Page | None] = SimpleQueue()  # None: it has ended
        self._began = Event()
        self._fault: BaseException | None = None
        self._thread = Thread(target=self._run, name="weft crawl", daemon=True)
        self._thread.start()
        atexit.register(self.end)  # of a program that ends in the midst of its pages

    def pages(self) -> Iterator[Page]:
        """The pages until the crawl ends; raises what ended it, if that was a fault."""
        while (page := self._found.get()) is not None:
            yield page
            with suppress(RuntimeError):  # the loop is closed where the crawl has ended
                self._loop.call_soon_threadsafe(self._asked.release)
        if self._fault is not None:
            raise self._fault

    def end(self) -> None:
        """Stops the crawl, if it still runs, and waits for its end."""
        atexit.unregister(self.end)
        self._began.wait()
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._take())
        except asyncio.CancelledError:
            _logger.debug("the reader has left the crawl")
        except BaseException as error:  # it is raised where the pages are read
            self._fault = error
        finally:
            self._began.set()
            self._found.put(None)

    async def _take(self) -> None:
        self._loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._asked = asyncio.Semaphore(0)
        self._began.set()
        async with aclosing(self._stream) as pages:
            async for page in pages:
                self._found.put(page)
                await self._asked.acquire()  # so a temporary folder is there while its last page is looked at


def open(folder: str | Path) -> StoredCrawl:
    """A crawl on disk, running or not: its pages, links and numbers."""
    from weft.derive.read import StoredCrawl

    return StoredCrawl(folder)


def _temporary(stack: AsyncExitStack) -> Path:
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="weft-")), "crawl")


async def _run(running: OpenCrawl) -> StopReason:
    """The crawl to its end. Cancelled, it stops at once, and still writes all that is known: nothing of that waits."""
    from weft.run.ending import run_crawl

    try:
        return await run_crawl(running)
    except asyncio.CancelledError:
        running.stop()
        running.stop()
        await run_crawl(running)
        raise


async def _end(running: OpenCrawl, task: asyncio.Task[StopReason]) -> None:
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
