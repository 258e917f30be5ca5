"""Which processes ask, read and archive in a run: the crawl's own, workers, or both (E6)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from weft.clock import Clock
from weft.crawl.local import LocalWorker
from weft.crawl.machine import share_of_memory, usable_cores
from weft.crawl.marks import WORKER_SLOTS, ParseMark, add_slots
from weft.crawl.per_process import file_types_of, make_pipeline
from weft.crawl.reading import needs_trees
from weft.fetch.cookies import CookieJar
from weft.fetch.http import Fetcher
from weft.fetch.resolve import AddressPolicy
from weft.folder import Folder
from weft.plugins import LoadedPlugins
from weft.ports import Answers, Workers
from weft.spec import CrawlSpec, RenderMode
from weft.store.bodies import SharedBodies
from weft.store.warc.archive import FindBody

if TYPE_CHECKING:
    from weft.crawl.rendering import Rules
    from weft.fetch.browser.fetcher import RenderingFetcher
    from weft.workers.fork_server import ForkServer
    from weft.workers.pool import WorkerPool
    from weft.workers.rate import SharedRate


class Asking(NamedTuple):
    """What processes that ask need of the crawl."""

    spec: CrawlSpec
    folder: Folder
    run: int  # its number begins the names of WARC files
    clock: Clock
    seed_origins: list[str]
    policy: AddressPolicy  # which addresses may be connected to
    jar: CookieJar | None
    find_body: FindBody
    share_bodies: Callable[[SharedBodies], None]
    answers: Answers | None = None  # in the place of the network
    rendering: Rules | None = None  # for the requests of rendered pages; None: no page is rendered

    @property
    def prefix(self) -> str:
        return f"{self.run:05d}"


def processes_of(spec: CrawlSpec) -> int:
    """How many processes may ask, the one that keeps the crawl among them."""
    if spec.browser.render is not RenderMode.NO:  # the browser has processes of its own, and they take the time
        return 1
    return min(spec.politeness.processes or usable_cores(), spec.politeness.workers)


def make_fork_server(spec: CrawlSpec) -> ForkServer | None:
    """Where workers come from; None where the crawl asks by itself, at first at least. Early it costs least."""
    if spec.politeness.processes is None or processes_of(spec) < 2:
        return None
    from weft.workers.fork_server import ForkServer, is_bare

    return ForkServer(fork=is_bare())


@asynccontextmanager
async def start_workers(asking: Asking, fork_server: ForkServer | None) -> AsyncIterator[Workers]:
    """The crawl itself, workers, or both, from the start or when it pays."""
    spec, processes = asking.spec, processes_of(asking.spec)
    at_once, goes_on = spec.politeness.processes is not None, not needs_trees(spec)
    make_pool = partial(_pool, asking, fork_server)
    if processes < 2:
        async with _local(asking, None) as local:
            yield local
    elif at_once and not goes_on:
        async with make_pool() as pool:
            yield pool
    else:
        from weft.workers.combined import CombinedWorkers

        rate = _shared_rate(spec, asking.folder)
        try:
            async with (
                _local(asking, rate) as local,
                CombinedWorkers(local, make_pool, at_once=at_once, goes_on=goes_on) as workers,
            ):
                yield workers
        finally:
            if rate is not None:
                rate.close()


@asynccontextmanager
async def _local(asking: Asking, rate: SharedRate | None) -> AsyncIterator[LocalWorker]:
    """The crawl's own process as one that asks; ``rate`` is the bound of bytes a second where it is shared."""
    spec, processes = asking.spec, processes_of(asking.spec)
    if asking.answers is not None:
        async with _archived(asking, asking.answers) as archived:
            yield archived
        return
    fetcher = Fetcher(
        share_of_memory(spec, processes) if processes > 1 else spec, asking.policy, jar=asking.jar,
        seed_origins=asking.seed_origins, epoch_ms=asking.clock.epoch_ms, rate=rate,
        is_file_type=file_types_of(spec),
    )  # fmt: skip
    downloader: Fetcher = LoadedPlugins(spec.plugins.parts).made("downloader", fetcher)
    mark = ParseMark(asking.folder.parsing)
    try:
        async with fetcher:
            pipeline = make_pipeline(
                spec, asking.folder.warc, asking.prefix, mark, asking.find_body, fetcher.request_head
            )
            try:
                if asking.rendering is None:
                    yield LocalWorker(downloader, pipeline)
                else:
                    async with _renders(asking, asking.rendering, downloader) as renders:
                        yield LocalWorker(renders, pipeline, renders)
            finally:
                pipeline.archive.close()
    finally:
        mark.close()


@asynccontextmanager
async def _renders(asking: Asking, rules: Rules, fetcher: Fetcher) -> AsyncIterator[RenderingFetcher]:
    """The fetcher with a browser beside it, and another fetcher for what pages load."""
    from weft.crawl.rendering import rendering

    loads = Fetcher(
        asking.spec, asking.policy, jar=asking.jar, seed_origins=asking.seed_origins, epoch_ms=asking.clock.epoch_ms
    )
    async with loads, rendering(asking.spec, rules, fetcher, loads) as renders:
        yield renders


@asynccontextmanager
async def _archived(asking: Asking, answers: Answers) -> AsyncIterator[LocalWorker]:
    """One that asks files instead of the network."""
    from weft.fetch.archived import ArchivedFetcher  # only imports read answers back

    fetcher = ArchivedFetcher(answers, asking.spec.limits.max_size_b)
    mark = ParseMark(asking.folder.parsing)
    try:
        pipeline = make_pipeline(
            asking.spec, asking.folder.warc, asking.prefix, mark, asking.find_body, fetcher.request_head
        )
        try:
            yield LocalWorker(fetcher, pipeline)
        finally:
            pipeline.archive.close()
    finally:
        mark.close()


def _pool(asking: Asking, fork_server: ForkServer | None) -> WorkerPool:
    """The workers: as many as processes are to ask, less the crawl's own where it goes on."""
    from weft.workers.pool import Wanted, WorkerPool

    beside_crawl = not needs_trees(asking.spec)
    pool = WorkerPool(
        asking.spec, Wanted(processes_of(asking.spec) - beside_crawl, beside_crawl, fork_server), asking.folder,
        asking.prefix, asking.seed_origins, asking.clock, asking.jar,
    )  # fmt: skip
    if pool.bodies is not None:
        asking.share_bodies(pool.bodies)
    return pool


def _shared_rate(spec: CrawlSpec, folder: Folder) -> SharedRate | None:
    """The bound of bytes a second for this process and those that may join it; None where there is none."""
    if not spec.limits.max_rate_b:
        return None
    from weft.workers.rate import SharedRate

    add_slots(folder.parsing, WORKER_SLOTS)
    return SharedRate(spec.limits.max_rate_b, folder.parsing)
