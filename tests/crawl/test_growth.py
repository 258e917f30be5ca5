"""Growth (E7, G8; promise 5): the seen-set's runs against a dictionary, sites that leave RAM, the benchmark itself."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import growing
import growth
import million
import pytest
from frontiers import FakeTime, loopback, make_sql

from weft.db import connection as db
from weft.db.connection import open_writer
from weft.db.schema import MIGRATIONS, create
from weft.derive.read import StoredCrawl
from weft.frontier.leases import AddressOf
from weft.frontier.seen import Seen
from weft.frontier.sql import SqlFrontier
from weft.ports import SiteState
from weft.records import Settled


@contextlib.contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    database = open_writer(path, MIGRATIONS)
    try:
        yield database.connection
    finally:
        database.close()


def test_an_older_crawl_is_taken_up(tmp_path: Path) -> None:
    """A crawl of the first schema: its URLs and keys are known at once, to the crawl and to its readers (G8)."""
    path = tmp_path / "crawl.db"
    old = open_writer(path, (create,))
    with old.transaction() as connection:
        connection.execute("INSERT INTO meta VALUES('hash_seed', 7)")
        connection.execute("INSERT INTO site(id, name) VALUES(1, 'a.test')")
        connection.executemany(
            "INSERT INTO url(id, text) VALUES(?, ?)", [(1, "http://a.test/"), (2, "http://a.test/%7Ef")]
        )
        connection.executemany(
            "INSERT INTO page(id, site, state, depth, priority, key) VALUES(?, 1, 'W', 0, 0, ?)",
            [(1, None), (2, "http://a.test/~f")],
        )
    old.close()
    (tmp_path / "crawl.toml").write_text('seeds = ["http://a.test/"]\n')
    with contextlib.closing(StoredCrawl(tmp_path)) as crawl:
        assert crawl.page_id("http://a.test/~f") == 2
        assert crawl.page_id("http://a.test/g") is None
    with opened(path) as connection:
        seen = Seen(connection, 7, 10, run_entries=2)
        assert seen.has_keys
        assert seen.id_of_key("http://a.test/~f", "http://a.test/~f") == 2
        assert seen.id_of_key("http://a.test/", "http://a.test/%2F") == 1
        assert connection.execute("SELECT max(upto), sum(entries) FROM seen_run").fetchone() == (2, 3)
    with contextlib.closing(StoredCrawl(tmp_path)) as crawl:
        assert crawl.page_id("http://a.test/%7Ef") == crawl.page_id("http://a.test/~f") == 2


_QUEUE_INDEX = "SELECT sql FROM sqlite_master WHERE name = 'page_queue'"


def test_a_queue_of_the_schema_before_goes_on(tmp_path: Path) -> None:
    """The index of a queue that was written by the version before is made anew: all that waits there has its turn."""
    path = tmp_path / "crawl.db"
    old = open_writer(path, MIGRATIONS[:4])
    with old.transaction() as connection:
        assert "priority, id)" in connection.execute(_QUEUE_INDEX).fetchone()[0]
        connection.executemany("INSERT INTO site(id, name) VALUES(?, ?)", [(1, "a.test"), (2, "b.test")])
        for number in range(1, 41):
            site = 1 + number % 2
            connection.execute(
                "INSERT INTO url(id, text) VALUES(?, ?)", (number, f"http://{'ab'[site - 1]}.test/{number}")
            )
            connection.execute(
                "INSERT INTO page(id, site, state, depth, priority) VALUES(?, ?, 'W', 1, ?)", (number, site, number % 3)
            )
        connection.execute("INSERT INTO counter VALUES('waiting', 40)")
    old.close()
    with opened(path) as connection:
        assert "(site, priority)" in connection.execute(_QUEUE_INDEX).fetchone()[0]
        time = FakeTime()
        frontier = make_sql_of(connection, time, 1000)
        connection.execute("BEGIN")
        frontier.load(killed=True, limits_changed=False)
        connection.execute("COMMIT")
        taken = [int(url.rpartition("/")[2]) for url in crawl_all(frontier, connection, time)]
    assert sorted(taken) == list(range(1, 41))
    for site in 0, 1:
        mine = [number for number in taken if number % 2 == site]
        assert mine == sorted(mine, key=lambda number: (number % 3, number))


def crawl_some(frontier: SqlFrontier, connection: sqlite3.Connection, most: int) -> list[str]:
    """The URLs that are taken next, all of them answered in one tick."""
    leases = frontier.take(most).leases
    for lease in leases:
        frontier.freed(lease)
    connection.execute("BEGIN")
    frontier.settle([Settled(lease=lease, state="C") for lease in leases])
    frontier.flush()
    connection.execute("COMMIT")
    frontier.committed()
    return [lease.url for lease in leases]


def crawl_all(frontier: SqlFrontier, connection: sqlite3.Connection, time: FakeTime) -> list[str]:
    """Every URL as it is taken, with one page a site and tick."""
    taken: list[str] = []
    for _ in range(400):
        taken += crawl_some(frontier, connection, 7)
        if frontier.wait_s() is None and not frontier.has_work():
            return taken
        time.now += 1.0
    raise AssertionError(f"no end after {len(taken)} pages")


@pytest.mark.parametrize("in_ram", [3, 1000])
def test_sites_wait_on_disk(tmp_path: Path, in_ram: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few sites fit into RAM, all pages of all sites have their turn, once, and politely (promises 2 and 5)."""
    monkeypatch.setattr("weft.frontier.sites.SWEPT", 4)
    time = FakeTime()
    urls = [f"http://{site}.a.test/{page}" for page in range(6) for site in range(40)]
    with opened(tmp_path / "crawl.db") as connection:
        frontier = make_sql_of(connection, time, in_ram)
        connection.execute("BEGIN")
        for url in urls:
            frontier.discovery.seed(url, "test")
        frontier.flush()
        connection.execute("COMMIT")
        frontier.committed()
        assert len(frontier.schedule.sites) <= max(in_ram, 40 if in_ram > 40 else 3)
        taken = crawl_all(frontier, connection, time)
        assert len(frontier.schedule.sites) <= in_ram + 4
    assert sorted(taken) == sorted(urls)


def make_sql_of(
    connection: sqlite3.Connection, time: FakeTime, in_ram: int, address_of: AddressOf = loopback
) -> SqlFrontier:
    from weft.db.connection import Database

    return make_sql(Database(connection, Path("crawl.db")), time, "bfs", 1, 10, in_ram, 16, address_of)


def seed_sites(connection: sqlite3.Connection, time: FakeTime, number: int) -> None:
    """Leaves a crawl on disk with the front pages of so many sites waiting."""
    frontier = make_sql_of(connection, time, number)
    connection.execute("BEGIN")
    for site in range(number):
        frontier.discovery.seed(f"http://{site}.a.test/", "test")
    frontier.flush()
    connection.execute("COMMIT")


def test_resting_sites_do_not_keep_others_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sites that rest for an hour leave RAM to those that may be asked, and are waited for at the end."""
    monkeypatch.setattr("weft.frontier.sites.SWEPT", 2)
    time = FakeTime()
    with opened(tmp_path / "crawl.db") as connection:
        seed_sites(connection, time, 12)
        connection.execute("UPDATE site SET next_access_ms = ? WHERE id <= 8", (int((time.now + 3600) * 1000),))
        frontier = make_sql_of(connection, time, 2)
        connection.execute("BEGIN")
        frontier.load(killed=False, limits_changed=False)
        frontier.flush()
        connection.execute("COMMIT")
        frontier.committed()
        taken: list[str] = []
        for _ in range(60):
            taken += crawl_some(frontier, connection, 3)
            time.now += 0.5
        assert sorted(taken) == sorted(f"http://{site}.a.test/" for site in range(8, 12))
        wait_s = frontier.wait_s()
        assert frontier.rests_long(60.0) and wait_s is not None and 3000 < wait_s < 3600
        time.now += 3600
        assert len(crawl_all(frontier, connection, time)) == 8


def test_few_names_are_resolved_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sites come from disk only as fast as their addresses are found."""
    monkeypatch.setattr("weft.frontier.sites.SWEPT", 5)
    monkeypatch.setattr("weft.frontier.leases.RESOLVING_MOST", 10)
    time, addresses = FakeTime(), dict[str, tuple[str, ...]]()
    with opened(tmp_path / "crawl.db") as connection:
        seed_sites(connection, time, 60)
        frontier = make_sql_of(connection, time, 1000, addresses.get)
        connection.execute("BEGIN")
        frontier.load(killed=False, limits_changed=False)
        connection.execute("COMMIT")
        taken: list[str] = []
        unresolved: deque[SiteState] = deque()
        for _ in range(60):
            found_now = frontier.take(100)
            taken += [lease.url for lease in found_now.leases]
            assert frontier.resolving < 10 + 5
            unresolved += found_now.unresolved
            for _ in range(min(3, len(unresolved))):
                found = unresolved.popleft()
                addresses[found.host] = ("127.0.0.1",)
                frontier.addressed(found.id)
        assert sorted(taken) == sorted(f"http://{site}.a.test/" for site in range(60))


def test_the_write_ahead_log_is_short_and_longer_beside_a_large_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(db, "CHECKPOINT_B", 256_000)
    monkeypatch.setattr(db, "LARGE_CHECKPOINT_B", 1_024_000)
    monkeypatch.setattr(db, "LARGE_B", 3_000_000)
    path, log = tmp_path / "crawl.db", tmp_path / "crawl.db-wal"
    longest = {False: 0, True: 0}
    for _ in range(2):  # also when it is opened again
        with contextlib.closing(open_writer(path, MIGRATIONS)) as database:
            for _ in range(100):
                large = path.stat().st_size > db.LARGE_B
                with database.transaction() as connection:
                    connection.execute("CREATE TABLE IF NOT EXISTS filler (bytes)")
                    connection.execute("INSERT INTO filler VALUES (zeroblob(50000))")
                longest[large] = max(longest[large], log.stat().st_size)
    assert 256_000 < longest[False] < 400_000
    assert 1_024_000 < longest[True] < 1_200_000


def test_both_ways_of_growing_make_the_same_web() -> None:
    web = growing.GrowingWeb(20_000, 1_000)
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        rows = connection.execute(web.sql(), (0, 20_000)).fetchall()
    assert [(number, host) for number, host, _ in rows] == [(number, web.host_of(number)) for number in range(20_000)]
    assert [text for _, _, text in rows] == [web.url(number) for number in range(20_000)]
    assert max(host for _, host, _ in rows) == 999
    assert 0.15 < sum(host == 0 for _, host, _ in rows) / 20_000 < 0.25


@pytest.mark.parametrize("way", [[], ["--fill"]])
def test_growth_runs(way: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The benchmark grows, is killed, takes up, and draws its curve; no figure is asked to be fast."""
    assert growth.main(["--urls", "130k", "--hosts", "5k", "--json", "--svg", str(tmp_path / "curve.svg"), *way]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = found["sizes"]
    assert [row["urls"] // 10_000 for row in rows] == [10, 13]
    assert rows[-1]["hosts"] >= 5_000
    assert rows[-1]["beside_text_b_per_url"] < 100 + 40e6 / 130e3  # the write-ahead log does not grow with the crawl
    assert found["after_kill"]["ready_s"] > 0
    assert (tmp_path / "curve.svg").read_text().startswith("<svg")


def test_a_large_crawl_in_small(capsys: pytest.CaptureFixture[str]) -> None:
    """bench/million.py: crawled, killed, resumed, asked; the stretches are told with CPU, memory and files."""
    slow = [f"--option={word}" for word in ("--processes", "1", "--per-ip", "1", "--ip-delay", "0.04")]  # to be watched
    assert million.main(["--pages", "150", *slow, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["stretches"][-1]["pages"] >= 90  # a short crawl may end before its last stretch is seen
    assert all(row["memory_mb"] > 0 and row["files"] > 0 for row in found["stretches"])  # the last may be at its end
    assert found["ready_s"] > 0 and found["links mb"] > 10
