"""Names to parts: builds a Crawl from a CrawlSpec and a folder. The only module that sees all of weft."""

from __future__ import annotations

import asyncio
import gc
import os
import sqlite3
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from weft import __version__
from weft.clock import Clock
from weft.crawl.local import LocalWorker
from weft.crawl.loop import Crawl, Observer
from weft.crawl.machine import give_memory_back, memory_b, share_of_memory, usable_cores
from weft.crawl.marks import WORKER_SLOTS, ParseMark, add_slots, make_marks, marked_page
from weft.crawl.pipeline import Pipeline, make_archive, needs_trees
from weft.db.connection import Database, open_writer
from weft.db.schema import MIGRATIONS
from weft.errors import Cause, StoreError, means_full_disk
from weft.fetch.cookies import CookieJar, CookieRow
from weft.fetch.http import Fetcher
from weft.fetch.resolve import AddressPolicy, Resolver, kind_of
from weft.fetch.site import SiteRules
from weft.folder import Added, Folder, StopFile
from weft.frontier.endings import failed_seeds, last_answer_ms, site_limits
from weft.frontier.given import Memory, Policies
from weft.frontier.polite import Schedule
from weft.frontier.sitemap_queue import SitemapQueue
from weft.frontier.sql import SqlFrontier
from weft.judge.admit import Admission
from weft.judge.duplicates import Skips
from weft.plugins import LoadedPlugins
from weft.ports import Workers
from weft.records import Ending, Progress, StopReason
from weft.seeds.lists import Seed
from weft.spec import CrawlSpec, PageOrder, RenderMode, Skip
from weft.store.copies import StoredCopies
from weft.store.visits import SqlStore
from weft.store.warc.cdxj import stored_rows, write_cdxj
from weft.store.warc.losses import note_losses
from weft.store.warc.recovery import keep_aside, recover
from weft.url import Normalizer, host_of, origin_of, site_of

if TYPE_CHECKING:
    from weft.fetch.sitemaps import Sitemap
    from weft.records import Lease
    from weft.workers.fork_server import ForkServer
    from weft.workers.pool import WorkerPool
    from weft.workers.rate import SharedRate

_PUBLIC_IP_PARALLEL = 16
_DEATHS_ON_A_PAGE = 3
_PRIMED_SEEDS = 64  # a few seeds: what they open does not depend on whose name resolves first
_WATCH_EVERY_S = 1.0  # what the system counts for it takes a millisecond a process
_DATABASE_CACHE_B = 64_000_000
_SHED_SHARE = 0.9  # of --max-memory: caches are given back before the bound is reached


class Parts:
    """Everything one run works with. Made by ``open_crawl``; fields, not a locator: each is handed on by name."""

    def __init__(self, spec: CrawlSpec, folder: Folder, database: Database, clock: Clock, seed_urls: list[str]) -> None:
        connection = database.connection
        self.spec = spec
        self.folder = folder
        self.database = database
        self.clock = clock
        ip_hosts = msgspec.json.decode(_meta(database, "ip_hosts") or "{}", type=dict[str, str])
        self.normalizer = Normalizer.of(spec.urls, ip_hosts)
        self.plugins = LoadedPlugins(spec.plugins.parts)
        self.judge = Admission(spec, seed_urls, datetime.now(UTC).year, self.plugins.one("analyser"))
        self.judge.load(connection.execute("SELECT key, value FROM trap").fetchall())
        for (name,) in connection.execute("SELECT name FROM scope_site").fetchall():
            self.judge.allow_site(name)
        self.rules = SiteRules(connection, spec, clock, self.plugins.one("robots"))
        self.sitemaps = SitemapQueue(connection)
        self.policy = AddressPolicy(spec.network, [host_of(url) for url in seed_urls])
        self.resolver = Resolver(spec.network, self.policy, timeout_s=min(10.0, spec.limits.timeout_s))
        self.jar = self._cookie_jar()
        self.seed_urls = seed_urls
        self.seed_origins = [origin_of(url) for url in seed_urls]
        # a site that may be asked more at once than addresses usually are is asked so
        self._public_parallel = max([_PUBLIC_IP_PARALLEL, *(one.per_host or 0 for one in spec.politeness.sites)])
        schedule = Schedule(self.ip_bounds, by_turns=spec.politeness.order is PageOrder.DFS)
        hash_seed = _meta(database, "hash_seed")
        assert hash_seed is not None  # it is the first thing that a crawl writes
        self.frontier = SqlFrontier(
            connection, spec, Policies(self.judge, self.rules, self.normalizer, self.judge.paces), schedule, clock,
            self.resolver.cached, Memory(int(hash_seed), _cache_entries(spec)),
        )  # fmt: skip
        self.store: SqlStore = self.plugins.made("store", SqlStore(connection))
        self.skips = Skips(spec.duplicates, StoredCopies(connection)) if spec.duplicates.skip is not Skip.NO else None
        obeyed = _meta(database, "stop_file")
        self.stop_file = StopFile(spec.limits.stop_file, int(obeyed) if obeyed is not None else None)
        self.frames_only: set[str] = set()  # origins outside the crawl that are asked for frames of rendered pages
        self.workers: Workers  # joins when the crawl is open
        self.throttled = False  # memory is short: one request at a time
        self._watched_s = clock.seconds()

    def _cookie_jar(self) -> CookieJar | None:
        if not self.spec.network.keep_cookies:
            return None
        jar = CookieJar()
        if self.spec.network.cookies is not None:
            path = Path(self.spec.network.cookies)
            jar.load_file(path.read_text(encoding="utf-8"), str(path))
        rows = self.database.connection.execute("SELECT origin, path, name, value, expires_s FROM cookie").fetchall()
        jar.load([CookieRow(*row) for row in rows], self.clock.epoch_ms() / 1000)
        return jar

    def ip_bounds(self, ip: str) -> tuple[int, float]:
        """Parallel requests and delay of an address; private ones are bounded only where the user says so."""
        polite = self.spec.politeness
        if polite.per_ip is not None or polite.ip_delay_s:
            return (polite.per_ip or 0, polite.ip_delay_s) if ip else (0, 0.0)
        return (self._public_parallel if ip and not kind_of(ip) else 0, 0.0)

    def parse_sitemap(self, body: bytes, url: str, content_type: str | None, truncated: bool) -> Sitemap:
        from weft.fetch.sitemaps import parse_sitemap  # many expressions to compile, and many crawls meet no sitemap

        return parse_sitemap(body, url, content_type, truncated=truncated)

    def ask_sitemap(self, lease: Lease) -> None:
        """Puts a sitemap into the queue; where only start addresses are asked, it waits for a run that lets more in."""
        if self.judge.admits_from_sitemap(lease.url):
            self.frontier.site_request(site_of(lease.url), lease)
        else:
            self.sitemaps.put_off(lease)

    def free_slots(self) -> int:
        return self.workers.free(1 if self.throttled else self.spec.politeness.workers)

    def wants_to_finish(self, progress: Progress) -> bool:
        """Whether a finisher of the user's says that the run ends (R4)."""
        return any(finished(progress) for finished in self.plugins.all("finisher"))

    def add_seeds(self, seeds: Sequence[Added] = ()) -> int:
        """Gives the crawl more start addresses, these and those that `weft add` has left; how many were new."""
        left = self.folder.take_added()
        seeds = [*seeds, *(seed for _, some in left for seed in some)]
        new = 0
        if seeds:
            with self.database.transaction():
                for url, _ in seeds:
                    self.judge.add_seed(url)
                self.resolver.add_seeds({host_of(url) for url, _ in seeds})  # a fallback is on the same host
                self.frontier.discovery.let_in()
                new = sum(self.frontier.discovery.seed(url, "weft add", fallback) for url, fallback in seeds)
                self.frontier.flush()
            self.frontier.committed()
        for path, _ in left:
            path.unlink(missing_ok=True)
        return new

    def watch_memory(self) -> None:
        """Past the bound: caches are shed, then taking slows down until memory is below it again."""
        limit, now_s = self.spec.limits.max_memory_b, self.clock.seconds()
        if now_s < self._watched_s + _WATCH_EVERY_S:
            return
        self._watched_s = now_s
        if memory_b(self.workers.pids(), limit * _SHED_SHARE) < limit * _SHED_SHARE:
            self.throttled = False
            return
        self.frontier.shed()
        gc.collect()
        give_memory_back()
        self.throttled = memory_b(self.workers.pids(), limit) >= limit

    def keep_small_state(self, elapsed_s: float) -> None:
        """What is small and changes often, in the transaction of the tick."""
        connection = self.database.connection
        if self.jar is not None:
            rows = self.jar.dump()
            connection.executemany(
                "DELETE FROM cookie WHERE origin = ? AND path = ? AND name = ?",
                [row[:3] for row in rows if row.value is None],
            )
            connection.executemany(
                "INSERT OR REPLACE INTO cookie VALUES(?, ?, ?, ?, ?)", [row for row in rows if row.value is not None]
            )
        connection.executemany("INSERT OR REPLACE INTO trap VALUES(?, ?)", self.judge.dump())
        connection.executemany(
            "INSERT OR IGNORE INTO scope_site VALUES(?)", [(name,) for name in self.judge.new_sites()]
        )
        connection.execute("INSERT OR REPLACE INTO meta VALUES('last_tick_ms', ?)", (self.clock.epoch_ms(),))
        if self.stop_file.obeyed is not None:
            connection.execute("INSERT OR REPLACE INTO meta VALUES('stop_file', ?)", (self.stop_file.obeyed,))
        connection.execute(
            "UPDATE run SET active_ms = ?, pages = ? WHERE id = (SELECT max(id) FROM run)",
            (int(elapsed_s * 1000), self.store.totals["pages"]),
        )


def make_parts(spec: CrawlSpec, folder: Folder, database: Database, seeds: Sequence[Seed] = ()) -> Parts:
    """The parts of a run. ``seeds`` are those of a crawl that is new: one that has begun keeps its own."""
    seed_urls = [seed.url for seed in seeds] or _stored_seeds(database)
    return Parts(spec, folder, database, Clock(int(_meta(database, "last_tick_ms") or 0)), seed_urls)


@asynccontextmanager
async def open_crawl(
    spec: CrawlSpec, folder: Folder, seeds: Iterable[Seed], observers: list[Observer], *, limits_changed: bool = False,
    fork_server: ForkServer | None = None,
) -> AsyncIterator[Crawl]:  # fmt: skip
    """A crawl ready to run, its folder locked; all that it holds is freed at the end, whatever happens."""
    async with AsyncExitStack() as stack:
        fork_server = fork_server or make_fork_server(spec)
        if fork_server is not None:
            stack.callback(fork_server.close)
        stack.enter_context(folder.lock())
        if folder.stop.is_file():
            folder.stop.unlink(missing_ok=True)
        fatal = marked_page(folder.parsing)
        database = open_writer(folder.db, MIGRATIONS, cache_b=min(_DATABASE_CACHE_B, spec.limits.max_memory_b // 8))
        stack.callback(database.close)
        with database.transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO meta VALUES('hash_seed', ?)", (int.from_bytes(os.urandom(8)) >> 2,)
            )
        seeded = _meta(database, "seeded") is not None
        seed_list = [] if seeded else list(seeds)
        parts = make_parts(spec, folder, database, seed_list)
        make_marks(folder.parsing)
        stack.callback(folder.parsing.unlink, missing_ok=True)
        stack.push(partial(_note_full_disk, parts))
        stack.push_async_callback(parts.resolver.close)
        hosts = {host_of(url) for url in parts.seed_urls}
        if len(hosts) <= _PRIMED_SEEDS:
            await parts.resolver.prime(hosts)
            if not seeded:
                parts.normalizer.know(_addresses(parts.resolver, hosts))
        run_id = _begin(parts, seed_list, seeded, fatal, limits_changed)
        parts.workers = await stack.enter_async_context(_workers(parts, run_id, fork_server))
        _go_on_with_sitemaps(parts)
        for routine in parts.plugins.all("routine"):
            from weft.cli.screen import Routine

            observers = [*observers, Routine(routine)]
        crawl = Crawl(parts, observers)
        crawl.is_private = _are_private(parts.resolver, hosts)
        yield crawl


def _note_full_disk(parts: Parts, _kind: object, error: BaseException | None, _trace: object) -> None:
    """Stores that a full disk ended the run. Nothing else is stored of its end: the next run recovers as after a kill.

    Room for it is where the marks lie, and the answers that are not committed: these will be asked again.
    """
    if not means_full_disk(error):
        return
    with suppress(StoreError, OSError, sqlite3.Error):  # where there is no room even for that, it counts as killed
        parts.folder.parsing.unlink(missing_ok=True)
        recover(parts.folder.warc, _committed(parts.database))
        with parts.database.transaction() as connection:
            reason = StopReason.DISK_FULL.value
            connection.execute("UPDATE run SET stop_reason = ? WHERE id = (SELECT max(id) FROM run)", (reason,))


def _go_on_with_sitemaps(parts: Parts) -> None:
    if parts.spec.scope.max_depth == 0 and not parts.judge.paces.has_depths:
        return  # --max-depth 0 of a list of many hosts has as many sitemaps put off
    for lease in parts.sitemaps.waiting():
        parts.ask_sitemap(lease)


def _processes(spec: CrawlSpec) -> int:
    """How many processes may ask, the one that keeps the crawl among them."""
    if spec.browser.render is not RenderMode.NO:  # the browser has processes of its own, and those take the time
        return 1
    return min(spec.politeness.processes or usable_cores(), spec.politeness.workers)


def make_fork_server(spec: CrawlSpec) -> ForkServer | None:
    """Where workers come from; None where the crawl asks by itself, at first at least. Early it costs least."""
    if spec.politeness.processes is None or _processes(spec) < 2:
        return None
    from weft.workers.fork_server import ForkServer, is_bare

    return ForkServer(fork=is_bare())


def _addresses(resolver: Resolver, hosts: Iterable[str]) -> dict[str, str]:
    """The addresses that belong to one of these hosts alone, each with its host (R14)."""
    found: dict[str, set[str]] = {}
    for host in hosts:
        answer = resolver.cached(host)
        if isinstance(answer, tuple) and not host.startswith("[") and not host[-1:].isdigit():
            for address in answer:
                found.setdefault(address, set()).add(host)
    return {address: names.pop() for address, names in found.items() if len(names) == 1}


def _are_private(resolver: Resolver, hosts: Iterable[str]) -> bool:
    """Whether the addresses of all these hosts are known, and none of them is public."""
    answers = [resolver.cached(host) for host in hosts]
    return bool(answers) and all(isinstance(answer, tuple) and all(map(kind_of, answer)) for answer in answers)


def _begin(parts: Parts, seeds: list[Seed], seeded: bool, fatal: str | None, limits_changed: bool) -> int:
    """Under the lock, in one transaction: recovers from however the last run ended, admits the seeds of a new crawl."""
    database, frontier = parts.database, parts.frontier
    last = database.connection.execute("SELECT ended_ms, stop_reason FROM run ORDER BY id DESC LIMIT 1").fetchone()
    killed = last is not None and last[0] is None
    _recover_archive(parts, seeded)
    with database.transaction() as connection:
        connection.execute("DELETE FROM origin WHERE robots_cause IS NOT NULL")  # asked again by each run
        _leave_fatal_page_alone(parts, fatal)
        if last is not None and last[1] in (StopReason.DONE, StopReason.FAILED):
            frontier.retry_failed()
        if seeded:
            frontier.load(killed=killed, limits_changed=limits_changed)
        for seed in seeds:
            frontier.discovery.seed(
                seed.url, f"{seed.source}:{seed.line}" if seed.source else "command line", seed.fallback
            )
        connection.execute("INSERT OR IGNORE INTO meta VALUES('seeded', 1)")
        if parts.normalizer.ip_hosts:  # as known at the start, or keys would change with the answers of DNS
            known = msgspec.json.encode(parts.normalizer.ip_hosts).decode()
            connection.execute("INSERT OR IGNORE INTO meta VALUES('ip_hosts', ?)", (known,))
        run_id = connection.execute(
            "INSERT INTO run(started_ms, version) VALUES(?, ?)", (parts.clock.epoch_ms(), __version__)
        ).lastrowid
        frontier.flush()
    frontier.committed()
    assert run_id is not None
    return run_id


def _leave_fatal_page_alone(parts: Parts, fatal: str | None) -> None:
    """A page that takes the process down again and again is recorded and not asked any more.

    A kill from outside may meet any page while it is parsed, so it takes several deaths in a row on the same one.
    """
    connection = parts.database.connection
    before = _meta(parts.database, "suspect_page") or "0 "
    deaths, _, url = before.partition(" ")
    number = int(deaths) + 1 if fatal == url else 1
    connection.execute("DELETE FROM meta WHERE name = 'suspect_page'")
    if fatal is None:
        return
    if number < _DEATHS_ON_A_PAGE:
        connection.execute("INSERT INTO meta VALUES('suspect_page', ?)", (f"{number} {fatal}",))
        return
    connection.execute(
        "UPDATE page SET state = 'E', cause = ? WHERE state IN ('R', 'W')"
        " AND id = (SELECT coalesce(page, id) FROM url WHERE text = ?)",
        (Cause.BUG.value, fatal),
    )
    parts.frontier.recount_states()


def _recover_archive(parts: Parts, seeded: bool) -> None:
    """Cuts WARC files back to what is committed. Where bytes are gone (a power cut), their pages are asked again.

    In a new database none is committed, and no crawl writes one before its database is: files that are there belong to
    a database that is lost, and are kept.
    """
    if not seeded:
        keep_aside(parts.folder.warc)
    damaged = recover(parts.folder.warc, _committed(parts.database))
    for file in damaged:
        path = parts.folder.warc / file
        with parts.database.transaction() as connection:
            note_losses(connection, parts.store.totals, file, path.stat().st_size if path.is_file() else 0)
            parts.frontier.recount_states()
    if damaged:  # what is left of them may end in half a record
        recover(parts.folder.warc, _committed(parts.database))


def _committed(database: Database) -> dict[str, int]:
    return dict(database.connection.execute("SELECT file, committed_b FROM warc").fetchall())


@asynccontextmanager
async def _workers(parts: Parts, run_id: int, fork_server: ForkServer | None) -> AsyncIterator[Workers]:
    """Those who ask for this run: the crawl itself, workers, or both, from the start or when it pays."""
    spec, processes = parts.spec, _processes(parts.spec)
    at_once, goes_on = spec.politeness.processes is not None, not needs_trees(spec)
    if processes > 1 and at_once and not goes_on:
        async with _pool(parts, run_id, fork_server) as pool:
            yield pool
        return
    rate = _shared_rate(parts) if processes > 1 else None
    fetcher = Fetcher(
        share_of_memory(spec, processes) if processes > 1 else spec, parts.policy, jar=parts.jar,
        seed_origins=parts.seed_origins, epoch_ms=parts.clock.epoch_ms, rate=rate,
    )  # fmt: skip
    asking: Fetcher = parts.plugins.made("downloader", fetcher)
    mark = ParseMark(parts.folder.parsing)
    try:
        async with fetcher:
            archive = make_archive(
                spec, parts.folder.warc, f"{run_id:05d}", parts.store.stored_body, fetcher.request_head
            )
            pipeline = Pipeline(spec, mark, archive)
            local = LocalWorker(asking, pipeline)
            try:
                if spec.browser.render is not RenderMode.NO:
                    async with _rendering_worker(parts, asking, pipeline) as worker:
                        yield worker
                elif processes < 2:
                    yield local
                else:
                    from weft.workers.combined import CombinedWorkers

                    make_pool = partial(_pool, parts, run_id, fork_server)
                    async with CombinedWorkers(local, make_pool, at_once=at_once, goes_on=goes_on) as workers:
                        yield workers
            finally:
                archive.close()
    finally:
        mark.close()
        if rate is not None:
            rate.close()


@asynccontextmanager
async def _rendering_worker(parts: Parts, fetcher: Fetcher, pipeline: Pipeline) -> AsyncIterator[Workers]:
    """The crawl's own process with a browser beside it."""
    from weft.crawl.rendering import choice_of, rendering

    choice = choice_of(parts)
    pipeline.learn = choice.learn
    loads = Fetcher(
        parts.spec, parts.policy, jar=parts.jar, seed_origins=parts.seed_origins, epoch_ms=parts.clock.epoch_ms
    )
    async with loads, rendering(parts, fetcher, loads, choice) as renders:
        yield LocalWorker(renders, pipeline, renders.pids)


def _shared_rate(parts: Parts) -> SharedRate | None:
    """The bound of bytes a second for this process and those that may join it; None where there is none."""
    rate_b = parts.spec.limits.max_rate_b
    if not rate_b:
        return None
    from weft.workers.rate import SharedRate

    add_slots(parts.folder.parsing, WORKER_SLOTS)
    return SharedRate(rate_b, parts.folder.parsing)


def _pool(parts: Parts, run_id: int, fork_server: ForkServer | None) -> WorkerPool:
    """The workers: as many as processes are to ask, less the crawl's own where it goes on."""
    from weft.workers.pool import Wanted, WorkerPool

    beside_crawl = not needs_trees(parts.spec)
    pool = WorkerPool(
        parts.spec, Wanted(_processes(parts.spec) - beside_crawl, beside_crawl, fork_server), parts.folder,
        f"{run_id:05d}", parts.seed_origins, parts.clock, parts.jar,
    )  # fmt: skip
    if pool.bodies is not None:
        parts.store.share_bodies(pool.bodies)
    return pool


async def run_crawl(crawl: Crawl) -> StopReason:
    """Runs to the end and writes what belongs to the end: the index of the archive, why and when it stopped.

    The run ends when its index is there: where that fails, or is cut off, the next run makes it.
    """
    parts = crawl.parts
    reason = await crawl.run()
    ending = crawl.ending = _ending(crawl, is_done=reason is StopReason.DONE)
    if reason is StopReason.DONE and ending.seeds is not None and ending.seeds.none_gave_a_page:
        reason = StopReason.FAILED
    positions = await parts.workers.close()
    ended_ms = parts.clock.epoch_ms()
    with parts.database.transaction() as connection:
        connection.executemany(
            "UPDATE warc SET committed_b = ?, closed = ? WHERE file = ?",
            [(*place, file) for file, place in positions.items()],
        )
        parts.frontier.discovery.close()
    if parts.spec.keep.archive:
        write_cdxj(stored_rows(parts.database.connection), parts.folder.cdxj)
    with parts.database.transaction() as connection:
        connection.execute(
            "UPDATE run SET ended_ms = ?, stop_reason = ? WHERE id = (SELECT max(id) FROM run)",
            (ended_ms, reason.value),
        )
    if parts.spec.duplicates.near is not None and reason is not StopReason.STOPPED:
        await _keep_near_duplicates(crawl)
    return reason


async def _keep_near_duplicates(crawl: Crawl) -> None:
    """Stores which pages are near-duplicates of which; readers find it out themselves where a stop came in between."""
    from weft.derive.duplicates.verdicts import STORED_AS, find_near, stamp_of
    from weft.derive.read import StoredCrawl

    parts = crawl.parts

    def found() -> tuple[list[tuple[int, int, float]], str]:
        with StoredCrawl(parts.folder.path) as stored:
            rows = list(find_near(stored, parts.spec.duplicates, crawl.watch_stop))
            return rows, stamp_of(stored, parts.spec.duplicates)

    try:
        rows, stamp = await asyncio.to_thread(found)
    except InterruptedError:
        return
    with parts.database.transaction() as connection:
        connection.execute("DELETE FROM near_duplicate")
        connection.executemany("INSERT INTO near_duplicate VALUES(?, ?, ?)", rows)
        connection.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (STORED_AS, stamp))


def _ending(crawl: Crawl, *, is_done: bool) -> Ending:
    """The facts that the last line of this run needs; one that is not done is not kept waiting for large tables."""
    parts, connection, limits = crawl.parts, crawl.parts.database.connection, crawl.parts.spec.limits
    has_limits = limits.max_pages_per_site is not None or limits.max_time_per_site_s is not None
    return Ending(
        visits=crawl.visits, wait_s=parts.frontier.wait_s() or 0.0, stopped_by=crawl.stopped_by,
        seeds=failed_seeds(connection) if is_done else None,
        limits=site_limits(connection) if is_done and has_limits else (),
        last_answer_ms=last_answer_ms(connection),
    )  # fmt: skip


def _meta(database: Database, name: str) -> str | None:
    """What the database keeps under a name of its table ``meta``; None where it keeps nothing."""
    row = database.connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return str(row[0]) if row is not None else None


def _stored_seeds(database: Database) -> list[str]:
    return [
        row[0]
        for row in database.connection.execute("SELECT u.text FROM seed s JOIN url u ON u.id = s.page ORDER BY s.id")
    ]


def _cache_entries(spec: CrawlSpec) -> int:
    """Texts of URLs kept in RAM: about 250 bytes each, a quarter of the memory allowed, and no more than pays."""
    return max(10_000, min(400_000, spec.limits.max_memory_b // 4 // 250))
