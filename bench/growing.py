"""The crawl that ``growth.py`` lets grow: an invented web of any size, and frontier and seen-set on a null fetcher."""

from __future__ import annotations

import contextlib
import math
import os
import random
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from xxhash import xxh3_64_intdigest

from weft.clock import Clock
from weft.crawl.machine import settle_memory
from weft.db.connection import Database, open_writer
from weft.db.schema import MIGRATIONS
from weft.frontier.given import Memory, Policies
from weft.frontier.pages import PageInFlight
from weft.frontier.polite import Schedule
from weft.frontier.runs import FAN_IN, RUN_ENTRIES, Runs
from weft.frontier.sql import SqlFrontier
from weft.ports import Parent, Pass
from weft.records import ADMITTED, Lease, Links, Settled, Verdict
from weft.spec import CrawlSpec, Paces, Politeness
from weft.url import DEFAULT_RULES, Normalizer

HOT_SHARE = 0.2  # of all URLs on one host
NEW_LINKS = 50  # of each page
OWN_LINKS = 38  # of the new ones: on one host
LATE_LINKS = 45  # to URLs found lately
OLD_LINKS = 5  # to any URL ever found
LATELY = 20_000
SEEDS = 2_000
TICK_PAGES = 256
FILLED_AT_ONCE = 100_000
QUEUED_AT_ONCE = 2_000_000
FILLED_RUN = RUN_ENTRIES * FAN_IN**2
WARM_UP = 200_000  # URLs admitted after filling, before anything is measured: caches are as in the middle of a crawl
WINDOW = 200_000  # URLs admitted one by one before each size
CACHE_ENTRIES = 400_000  # as with --max-memory 1G
HASH_SEED = 7
TEXT = "http://www.host%d.test/folder%d/page-about-%d.html"
_TEXTS = "SELECT id, CAST(text AS BLOB) FROM url WHERE id > ? AND id <= ?"


class AdmitAll:
    """A judge that lets everything in, as pages: what is measured is the frontier."""

    shows_files = False
    checks_links = False

    def judge_url(self, url: str, site_id: int, parent: Parent | None) -> Verdict:
        return ADMITTED

    def judge_link(
        self, kind: int, rel: str, nofollow: bool, depth: int, hops: int, target: str, source: str
    ) -> Verdict:
        return ADMITTED

    def shows(self, kind: int, rel: str, target: str) -> bool:
        return False

    def is_file(self, url: str) -> bool:
        return False

    def judge_shown(self, url: str) -> Verdict:
        return ADMITTED

    def is_suspect(self, site_id: int) -> bool:
        return False

    def judge_waiting(self, url: str, site_id: int) -> Verdict:
        return ADMITTED

    def chain_of(self, url: str, parent: Parent | None) -> int:
        return 0


class OpenGate:
    """No robots.txt anywhere."""

    _pass = Pass(0.0)

    def check(self, url: str, site_id: int) -> Pass:
        return self._pass


class GrowingWeb:
    """URLs by number: any of them can be named again without being remembered.

    Hosts are opened one after the other, by one URL of so many. Host 0 has a fifth of all URLs; of the others, host k
    has about 1/k.
    """

    def __init__(self, urls: int, hosts: int) -> None:
        self.every = max(1, urls // hosts)
        self._draw = random.Random(1).random
        self.known = 0
        self.text_b = 0

    def host_of(self, number: int) -> int:
        if number % self.every == 0:
            return number // self.every
        place = number % NEW_LINKS
        seed = number - place if place < OWN_LINKS else number  # most links of a page stay on one host
        draw = seed * 2654435761 % 4294967296 / 4294967296.0
        if draw < HOT_SHARE:
            return 0
        return int(max(1, seed // self.every) ** ((draw - HOT_SHARE) / (1 - HOT_SHARE)))

    def sql(self, *, text: bool = True) -> str:
        """The same as an SQL query: number, host, URL, for numbers from ?1 to before ?2."""
        draw = "(seed * 2654435761 % 4294967296 / 4294967296.0)"
        power = f"pow(max(1, seed / {self.every}), ({draw} - {HOT_SHARE}) / {1 - HOT_SHARE!r})"
        drawn = f"CASE WHEN {draw} < {HOT_SHARE} THEN 0 ELSE CAST({power} AS INTEGER) END"
        return f"""
WITH RECURSIVE number(n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM number WHERE n + 1 < ?2),
     seeded(n, seed) AS (
         SELECT n, CASE WHEN n % {NEW_LINKS} < {OWN_LINKS} THEN n - n % {NEW_LINKS} ELSE n END FROM number),
     placed(n, host) AS (
         SELECT n, CASE WHEN n % {self.every} = 0 THEN n / {self.every} ELSE {drawn} END FROM seeded)
SELECT n, host, {f"printf('{TEXT}', host, n % 97, n) AS text" if text else "NULL"} FROM placed"""

    def url(self, number: int) -> str:
        return f"http://www.host{self.host_of(number)}.test/folder{number % 97}/page-about-{number}.html"

    def seeds(self, count: int) -> Iterator[str]:
        for number in range(self.known, self.known + count):
            yield self._new(number)

    def _new(self, number: int) -> str:
        self.known = number + 1
        text = self.url(number)
        self.text_b += len(text)
        return text

    def links(self) -> Links:
        """The links of one page."""
        draw, known = self._draw, self.known
        targets = [self._new(number) for number in range(known, known + NEW_LINKS)]
        span = min(LATELY, known)
        targets += [self.url(known - 1 - int(draw() * span)) for _ in range(LATE_LINKS)]
        targets += [self.url(int(draw() * known)) for _ in range(OLD_LINKS)]
        return Links(targets, ["anchor"] * len(targets), [""] * len(targets))


def open_frontier(database: Database) -> SqlFrontier:
    spec = CrawlSpec(politeness=Politeness(delay_s=0.0, per_host=16))
    return SqlFrontier(
        database.connection, spec, Policies(AdmitAll(), OpenGate(), Normalizer(DEFAULT_RULES), Paces(spec)),
        Schedule(lambda ip: (0, 0.0)), Clock(), lambda host: ("127.0.0.1",), Memory(HASH_SEED, CACHE_ENTRIES),
    )  # fmt: skip


class Growth:
    """One crawl that grows. ``spent`` is what the frontier used; making up the web is not in it."""

    def __init__(self, folder: Path, web: GrowingWeb) -> None:
        self.folder = folder
        self.web = web
        self.database = open_writer(folder / "crawl.db", MIGRATIONS)
        self.frontier = open_frontier(self.database)
        self.visit = 0
        self.start_window()

    def start_window(self) -> None:
        self.cpu_s = self.wall_s = self.take_s = 0.0
        self.links = self.leases = 0
        self.known_before = self.web.known

    def seed(self) -> None:
        with self.database.transaction():
            for url in self.web.seeds(SEEDS):
                self.frontier.discovery.seed(url, "bench")
            self.frontier.flush()
        self.frontier.committed()

    def tick(self) -> None:
        """Some pages: taken, their links offered, settled, committed."""
        frontier = self.frontier
        wall, cpu = time.perf_counter(), time.process_time()
        leases = frontier.take(TICK_PAGES).leases
        self.take_s += time.process_time() - cpu
        self.cpu_s += time.process_time() - cpu
        self.wall_s += time.perf_counter() - wall
        if not leases:
            raise SystemExit(f"nothing to take with {self.web.known:,} URLs known")
        self.leases += len(leases)
        pages = [(lease, self.web.links()) for lease in leases]
        self.links += sum(len(links) for _, links in pages)
        wall, cpu = time.perf_counter(), time.process_time()
        self._conclude(pages)
        self.cpu_s += time.process_time() - cpu
        self.wall_s += time.perf_counter() - wall

    def _conclude(self, pages: list[tuple[Lease, Links]]) -> None:
        frontier = self.frontier
        for lease, _ in pages:
            frontier.freed(lease)
        with self.database.transaction():
            frontier.settle([Settled(lease=lease, state="C") for lease, _ in pages])
            frontier.known.prefetch([target for _, links in pages for target in links.targets])
            for lease, links in pages:
                self.visit += 1
                frontier.discovery.offer(frontier.in_flight[lease.page], self.visit, links, False)
            frontier.discovery.offer_again()
            frontier.flush()
        frontier.committed()

    def fill(self, upto: int) -> None:
        """Brings the crawl to a size by a shorter way, in a process of its own: its memory is not the frontier's."""
        self.database.close()
        child = os.fork()
        if child == 0:
            try:
                fill(self.folder, self.web, upto)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            raise SystemExit("filling failed")
        self.database = open_writer(self.folder / "crawl.db", MIGRATIONS)
        self.frontier = taken_up(self.database, killed=False)
        (text_b,) = self.database.connection.execute("SELECT value FROM meta WHERE name = 'text_b'").fetchone()
        self.web.known, self.web.text_b = upto, text_b

    def figures(self) -> dict[str, float]:
        """What the last window showed."""
        known = self.web.known
        disk_b = sum(path.stat().st_size for path in self.folder.iterdir() if path.is_file())
        new = known - self.known_before
        return {
            "urls": known,
            "hosts": self.frontier.counts["hosts"],
            "links_per_s": self.links / self.wall_s,
            "links_per_cpu_s": self.links / self.cpu_s,
            "new_per_s": new / self.wall_s,
            "new_per_cpu_s": new / self.cpu_s,
            "take_us": self.take_s / self.leases * 1e6,
            "memory_mb": memory_b() / 1e6,
            "disk_b_per_url": disk_b / known,
            "text_b_per_url": self.web.text_b / known,
            "beside_text_b_per_url": (disk_b - self.web.text_b) / known,
        }


def fill(folder: Path, web: GrowingWeb, upto: int) -> None:
    """Writes the rows of URLs that are admitted one by one otherwise: the same rows in the same tables.

    In either way ids are in the order of the web's numbers, for URLs and for hosts. Pages join the queue some millions
    at once, in its order: so its leaves are split as they are in a crawl. An index that is made in one piece is packed,
    and then nearly every page that is admitted afterwards splits a leaf, which no crawl does.
    """
    database = open_writer(folder / "crawl.db", MIGRATIONS, cache_b=256_000_000)
    connection, first = database.connection, web.known
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    runs, text_b, queued = Runs(connection), web.text_b, first
    newest = connection.execute(_TEXTS, (runs.upto, first)).fetchall()  # in no run yet
    entries = {xxh3_64_intdigest(text, HASH_SEED): number for number, text in newest}
    for start in range(first, upto, FILLED_AT_ONCE):
        bounds = (start, min(upto, start + FILLED_AT_ONCE))
        with database.transaction():
            connection.execute(f"INSERT INTO url(id, text) SELECT n + 1, text FROM ({web.sql()})", bounds)
            connection.execute(
                "INSERT INTO page(id, site, state, depth, priority, found_in)"
                f" SELECT n + 1, host + 1, 'F', 3, 3, n / {NEW_LINKS} FROM ({web.sql(text=False)})", bounds
            )  # fmt: skip
            connection.execute(
                f"INSERT INTO site(id, name) SELECT site, 'www.host' || (site - 1) || '.test'"
                f" FROM page WHERE id > ? AND id <= ? AND (id - 1) % {web.every} = 0", bounds
            )  # fmt: skip
            rows = connection.execute(_TEXTS, bounds).fetchall()
            entries.update((xxh3_64_intdigest(text, HASH_SEED), number) for number, text in rows)
            text_b += sum(len(text) for _, text in rows)
            if len(entries) >= FILLED_RUN or bounds[1] == upto:
                runs.add(entries, 0, bounds[1], level=level_of(len(entries)))
                runs.tidy(10**10)
                entries = {}
            if bounds[1] - queued >= QUEUED_AT_ONCE or bounds[1] == upto:
                ids = connection.execute("SELECT id FROM page WHERE id > ? ORDER BY site, id", (queued,)).fetchall()
                connection.executemany("UPDATE page SET state = 'W' WHERE id = ?", ids)
                queued = bounds[1]
    with database.transaction():
        for name, more in (("known", upto - first), ("waiting", upto - first)):
            connection.execute("UPDATE counter SET value = value + ? WHERE name = ?", (more, name))
        connection.execute("UPDATE counter SET value = (SELECT max(id) FROM site) WHERE name = 'hosts'")
        connection.execute("INSERT OR REPLACE INTO meta VALUES('text_b', ?)", (text_b,))
    database.close()


def level_of(entries: int) -> int:
    """How often the entries of a run of this size were merged in a crawl."""
    return int(math.log(max(1.0, entries / RUN_ENTRIES), FAN_IN) + 1e-9)


def memory_b() -> int:
    """Proportional set size of this process."""
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def sizes(urls: int) -> list[int]:
    """1, 3, 10, 30, ... times a hundred thousand, up to the number asked for."""
    steps = [factor * 10**power for power in range(5, 12) for factor in (1, 3)]
    return [*(step for step in steps if step < urls), urls]


def grow(folder: Path, urls: int, hosts: int, filled: bool, say: Callable[[dict[str, float]], None]) -> None:
    """Grows a crawl, and tells its figures at every size: what the URLs admitted just before it showed."""
    settle_memory()  # as every crawl does
    growth = Growth(folder, GrowingWeb(urls, hosts))
    growth.seed()
    peak_mb = 0.0
    for size in sizes(urls):
        start = size - min(WINDOW, size // 2)
        if filled and growth.web.known < start - WARM_UP:
            growth.fill(start - WARM_UP)
        while growth.web.known < start:
            growth.tick()
        growth.start_window()
        while growth.web.known < size:
            growth.tick()
        found = growth.figures()
        peak_mb = max(peak_mb, found["memory_mb"])
        say({**found, "peak_memory_mb": peak_mb})
    growth.frontier.take(TICK_PAGES)  # under way when the kill comes
    os.kill(os.getpid(), signal.SIGKILL)


def resume(folder: Path) -> dict[str, float]:
    """After the kill: seconds to the first lease, and what ``take`` costs with all hosts ready, and with one."""
    began = time.perf_counter()
    with contextlib.closing(open_writer(folder / "crawl.db", MIGRATIONS)) as database:
        frontier = taken_up(database, killed=True)
        first = frontier.take(1).leases
        ready_s = time.perf_counter() - began
        for lease in first:
            frontier.freed(lease)
        assert len(first) == 1, "nothing to take after the kill"
        all_us, memory_mb = take_us(database, frontier), memory_b() / 1e6
    with contextlib.closing(open_writer(folder / "crawl.db", MIGRATIONS)) as database:
        with database.transaction() as connection:
            far_ms = int(time.time() * 1000) + 10**9
            connection.execute("UPDATE site SET next_access_ms = ? WHERE id > 1", (far_ms,))
        one_us = take_us(database, taken_up(database, killed=False))
    return {"ready_s": ready_s, "take_all_us": all_us, "take_one_us": one_us, "resumed_memory_mb": memory_mb}


def taken_up(database: Database, *, killed: bool) -> SqlFrontier:
    frontier = open_frontier(database)
    with database.transaction():
        frontier.load(killed=killed, limits_changed=False)
        frontier.flush()
    frontier.committed()
    return frontier


def take_us(database: Database, frontier: SqlFrontier, ticks: int = 40, takes: int = 16, most: int = 64) -> float:
    """CPU microseconds a lease, as pages are taken and settled."""
    spent, leases = 0.0, 0
    for _ in range(ticks):
        for _ in range(takes):
            cpu = time.process_time()
            taken = frontier.take(most).leases
            spent += time.process_time() - cpu
            leases += len(taken)
            for lease in taken:
                frontier.freed(lease)
        with database.transaction():
            frontier.settle(
                [Settled(lease=_lease_of(flight), state="C") for flight in list(frontier.in_flight.values())]
            )
            frontier.flush()
        frontier.committed()
    return spent / max(1, leases) * 1e6


def _lease_of(flight: PageInFlight) -> Lease:
    return Lease(page=flight.page, url=flight.url, site=flight.site)
