"""Names to parts: builds a Crawl from a CrawlSpec and a folder. The only module that sees all of weft."""

from __future__ import annotations

import gc
import mmap
import os
import secrets
import struct
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from weft import __version__
from weft.db import Database, open_writer
from weft.errors import Cause
from weft.fetch.cookies import CookieJar, CookieRow
from weft.fetch.http import Fetcher, user_agent_of
from weft.fetch.resolve import AddressPolicy, Resolver, kind_of
from weft.fetch.site import SiteRules
from weft.fetch.sitemap_queue import SitemapQueue
from weft.folder import Folder
from weft.frontier.polite import Schedule
from weft.frontier.sql import SqlFrontier
from weft.judge.admit import Admission
from weft.loop import DONE, FAILED, Crawl, Observer, StopReason
from weft.parse.html import parse_page
from weft.ports import Clock
from weft.records import Fetched, Parsed
from weft.seeds import Seed
from weft.spec import CrawlSpec
from weft.store.archive import Archive, NoArchive
from weft.store.cdxj import CdxRow, write_cdxj
from weft.store.schema import MIGRATIONS
from weft.store.sql import SqlStore
from weft.store.warc import WarcWriter, recover
from weft.url import DEFAULT_RULES, Normalizer, host_of, origin_of, site_of

if TYPE_CHECKING:
    from weft.fetch.sitemaps import Sitemap

_PUBLIC_IP_PARALLEL = 16
_DEATHS_ON_A_PAGE = 3
_PRIMED_SEEDS = 64  # a few seeds: what they open does not depend on whose name resolves first
_SHED_SHARE = 0.9  # of --max-memory: caches are given back before the bound is reached


class Parts:
    """Everything one run works with. Made by ``open_crawl``; fields, not a locator: each is handed on by name."""

    def __init__(self, spec: CrawlSpec, folder: Folder, database: Database, clock: Clock, seed_urls: list[str]) -> None:
        connection = database.connection
        self.spec = spec
        self.folder = folder
        self.database = database
        self.clock = clock
        self.normalizer = Normalizer(
            (spec.urls.normalize or DEFAULT_RULES) + (("drop-query",) if spec.urls.drop_query else ())
        )
        self.judge = Admission(spec, seed_urls, datetime.now(UTC).year)
        self.judge.load(connection.execute("SELECT key, value FROM trap").fetchall())
        for (name,) in connection.execute("SELECT name FROM scope_site").fetchall():
            self.judge.allow_site(name)
        self.rules = SiteRules(connection, spec, clock)
        self.sitemaps = SitemapQueue(connection)
        self.policy = AddressPolicy(spec.network, [host_of(url) for url in seed_urls])
        self.resolver = Resolver(spec.network, self.policy, timeout_s=min(10.0, spec.limits.timeout_s))
        self.jar = self._cookie_jar()
        self.fetcher = Fetcher(
            spec, self.policy, jar=self.jar, home_origins=[origin_of(url) for url in seed_urls], epoch_ms=clock.epoch_ms
        )
        schedule = Schedule(spec.politeness.per_host, self._ip_bounds, by_turns=spec.politeness.order == "dfs")
        self.frontier = SqlFrontier(
            connection, spec, self.judge, self.rules, schedule, self.normalizer, clock, self.resolver.cached,
            hash_seed=int(_meta(database, "hash_seed")), cache_entries=_cache_entries(spec),
        )  # fmt: skip
        self.store = SqlStore(connection)
        self.archive: Archive | NoArchive = NoArchive()
        self._mark = _ParseMark(folder.parsing)
        self._throttled = False

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

    def _ip_bounds(self, ip: str) -> tuple[int, float]:
        """Parallel requests and delay of an address; private ones are bounded only where the user says so."""
        polite = self.spec.politeness
        if polite.per_ip is not None or polite.ip_delay_s:
            return (polite.per_ip or 0, polite.ip_delay_s) if ip else (0, 0.0)
        return (_PUBLIC_IP_PARALLEL if ip and not kind_of(ip) else 0, 0.0)

    def parse(self, answer: Fetched, url: str) -> Parsed:
        """The parser, with the page marked while it runs."""
        with self._mark.of(url):
            return parse_page(
                answer.body,
                url,
                answer.header("content-type"),
                answer.header_values("x-robots-tag"),
                answer.header_values("link"),
                answer.header("refresh"),
                max_links=self.spec.limits.max_links_per_page,
            )

    def parse_sitemap(self, body: bytes, url: str, content_type: str | None) -> Sitemap:
        from weft.fetch.sitemaps import parse_sitemap  # many expressions to compile, and many crawls meet no sitemap

        return parse_sitemap(body, url, content_type)

    def free_slots(self) -> int:
        running = self.fetcher.running
        if self.fetcher.throttled:
            return 0
        if self._throttled:
            return 1 - running
        return min(self.spec.politeness.workers, self.fetcher.max_parallel) - running

    def watch_memory(self) -> None:
        """Past the bound: caches are shed, then taking slows down until memory is below it again."""
        limit = self.spec.limits.max_memory_b
        if _resident_b() < limit * _SHED_SHARE:
            self._throttled = False
            return
        self.frontier.discovery.seen.recent.shed()
        gc.collect()
        self._throttled = _resident_b() >= limit

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
        connection.execute(
            "UPDATE run SET active_ms = ?, pages = ? WHERE id = (SELECT max(id) FROM run)",
            (int(elapsed_s * 1000), self.store.totals["pages"]),
        )

    def close(self) -> None:
        self._mark.close()


class _ParseMark:
    """The URL being parsed, in a small mapped file: it outlives the process that a page takes down."""

    _SIZE = 4096

    def __init__(self, path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(self._SIZE)
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), self._SIZE)
        self._path = path

    def of(self, url: str) -> _ParseMark:
        text = url.encode()[: self._SIZE - 2]
        self._map[2 : 2 + len(text)] = text
        struct.pack_into("<H", self._map, 0, len(text))
        return self

    def __enter__(self) -> None:
        return

    def __exit__(self, *_: object) -> None:
        struct.pack_into("<H", self._map, 0, 0)

    def close(self) -> None:
        self._map.close()
        self._path.unlink(missing_ok=True)


def _fatal_page(path: Path) -> str | None:
    """The page that was being parsed when the process died, if it died there."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if len(data) < 2:
        return None
    (length,) = struct.unpack_from("<H", data)
    return data[2 : 2 + length].decode("ascii", "replace") if length else None


@asynccontextmanager
async def open_crawl(
    spec: CrawlSpec, folder: Folder, seeds: Iterable[Seed], observers: list[Observer], *, limits_changed: bool = False
) -> AsyncIterator[Crawl]:
    """A crawl ready to run, its folder locked; all that it holds is freed at the end, whatever happens."""
    async with AsyncExitStack() as stack:
        stack.enter_context(folder.lock())
        folder.stop.unlink(missing_ok=True)
        fatal = _fatal_page(folder.parsing)
        database = open_writer(folder.db, MIGRATIONS)
        stack.callback(database.close)
        with database.transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO meta VALUES('hash_seed', ?)", (secrets.randbits(62),))
        seeded = _meta(database, "seeded") is not None
        seed_list = [] if seeded else list(seeds)
        clock = Clock(int(_meta(database, "last_tick_ms") or 0))
        seed_urls = [seed.url for seed in seed_list] or _stored_seeds(database)
        parts = Parts(spec, folder, database, clock, seed_urls)
        stack.callback(parts.close)
        await stack.enter_async_context(parts.fetcher)
        stack.push_async_callback(parts.resolver.close)
        hosts = {host_of(url) for url in seed_urls}
        if len(hosts) <= _PRIMED_SEEDS:
            await parts.resolver.prime(hosts)
        run_id = _begin(parts, seed_list, seeded, fatal, limits_changed)
        if spec.keep.archive:
            parts.archive = _archive(parts, run_id)
            stack.callback(parts.archive.close)
        for lease in parts.sitemaps.waiting():
            parts.frontier.errand(site_of(lease.url), lease)
        yield Crawl(parts, observers)


def _begin(parts: Parts, seeds: list[Seed], seeded: bool, fatal: str | None, limits_changed: bool) -> int:
    """Under the lock, in one transaction: recovers from however the last run ended, admits the seeds of a new crawl."""
    database, frontier = parts.database, parts.frontier
    last = database.connection.execute("SELECT ended_ms, stop_reason FROM run ORDER BY id DESC LIMIT 1").fetchone()
    killed = last is not None and last[0] is None
    _recover_archive(parts)
    with database.transaction() as connection:
        connection.execute("DELETE FROM origin WHERE robots_cause IS NOT NULL")  # asked again by each run
        _leave_fatal_page_alone(parts, fatal)
        if last is not None and last[1] in (DONE.name, FAILED.name):
            frontier.retry_failed()
        if seeded:
            frontier.load(killed=killed, limits_changed=limits_changed)
        for seed in seeds:
            frontier.discovery.seed(
                seed.url, f"{seed.source}:{seed.line}" if seed.source else "command line", seed.fallback
            )
        connection.execute("INSERT OR IGNORE INTO meta VALUES('seeded', 1)")
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


def _recover_archive(parts: Parts) -> None:
    """Cuts WARC files back to what is committed. Where a power cut took bytes, their pages are asked again."""
    database = parts.database
    committed = dict(database.connection.execute("SELECT file, committed_b FROM warc").fetchall())
    for file in recover(parts.folder.warc, committed):
        path = parts.folder.warc / file
        size = path.stat().st_size if path.exists() else 0
        with database.transaction() as connection:
            lost = (
                "SELECT v.id FROM visit v JOIN warc w ON w.id = v.warc"
                " WHERE w.file = ? AND v.warc_offset + v.warc_length > ?"
            )
            connection.execute(
                f"UPDATE page SET state = 'W', visit = NULL WHERE state IN ('C', 'E') AND visit IN ({lost})",
                (file, size),
            )
            connection.execute(
                f"UPDATE visit SET warc = NULL, digest = NULL, hash = NULL WHERE id IN ({lost})", (file, size)
            )
            connection.execute("UPDATE warc SET committed_b = ?, closed = 1 WHERE file = ?", (size, file))
            parts.frontier.recount_states()


def _archive(parts: Parts, run_id: int) -> Archive:
    info = {
        "robots": "ignore" if parts.spec.politeness.ignore_robots else "obey",
        "http-header-user-agent": user_agent_of(parts.spec.identity),
    }
    writer = WarcWriter(
        parts.folder.warc,
        prefix=f"{run_id:05d}",
        max_file_b=parts.spec.keep.warc_file_b,
        software=f"weft/{__version__}",
        info=info,
        now=lambda: datetime.now(UTC),
    )
    return Archive(writer, parts.store, parts.fetcher.request_head)


async def run_crawl(crawl: Crawl) -> StopReason:
    """Runs to the end and writes what belongs to the end: the index of the archive, why and when it stopped."""
    parts = crawl.parts
    reason = await crawl.run()
    if reason == DONE and _no_seed_answered(parts.database):
        reason = FAILED
    parts.archive.close()
    with parts.database.transaction() as connection:
        connection.executemany(
            "UPDATE warc SET committed_b = ?, closed = ? WHERE file = ?",
            [(size, closed, f) for f, (size, closed) in parts.archive.positions().items()],
        )
        connection.execute(
            "UPDATE run SET ended_ms = ?, stop_reason = ? WHERE id = (SELECT max(id) FROM run)",
            (parts.clock.epoch_ms(), reason.name),
        )
    if parts.spec.keep.archive:
        write_index(parts.database, parts.folder)
    return reason


def write_index(database: Database, folder: Folder) -> None:
    """CDXJ, made from the database."""
    rows = database.connection.execute(
        "SELECT u.text, v.started_ms, v.type, v.status, v.digest, v.warc_length, v.warc_offset, w.file, v.revisit"
        " FROM visit v JOIN url u ON u.id = v.url JOIN warc w ON w.id = v.warc WHERE v.status IS NOT NULL"
    )
    write_cdxj(
        (
            CdxRow(
                url,
                datetime.fromtimestamp(ms / 1000, UTC),
                "warc/revisit" if revisit else mime or "unk",
                status,
                digest,
                length,
                offset,
                file,
            )
            for url, ms, mime, status, digest, length, offset, file, revisit in rows
        ),
        folder.cdxj,
    )


def _no_seed_answered(database: Database) -> bool:
    rows = database.connection.execute("SELECT p.state, p.cause FROM seed s JOIN page p ON p.id = s.page").fetchall()
    unanswered = [cause for state, cause in rows if state == "E" and cause != Cause.ROBOTS_DISALLOWED.value]
    return len(unanswered) == len(rows) and bool(rows)


def _meta(database: Database, name: str) -> str:
    row = database.connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return row[0] if row is not None else None  # type: ignore[return-value]


def _stored_seeds(database: Database) -> list[str]:
    return [
        row[0]
        for row in database.connection.execute("SELECT u.text FROM seed s JOIN url u ON u.id = s.page ORDER BY s.id")
    ]


def _cache_entries(spec: CrawlSpec) -> int:
    """Texts of URLs kept in RAM: about 250 bytes each, a quarter of the memory allowed, and no more than pays."""
    return max(10_000, min(400_000, spec.limits.max_memory_b // 4 // 250))


def _resident_b() -> int:
    """Memory of this process; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
