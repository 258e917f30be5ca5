"""Killed, stopped or frozen at any moment and resumed, a crawl ends as if nothing had happened.

Promise 1 of the design, R5 and E1. `bench/kill.py` does the same with any number of runs.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path

import kill
import pytest
from command import Weft
from equal import archive_faults, differences, result_of
from web import Site

from weft.demo.server import Served

SMALL = ["--pages", "200", "--hosts", "2"]


def test_killed_at_random_moments(capsys: pytest.CaptureFixture[str]) -> None:
    """Promise 1: pages, links and numbers equal those of the undisturbed crawl; only what was not committed is
    asked again; each visit has its WARC record, each record its visit."""
    code = kill.main(["--runs", "3", "--kills", "5", "--seed", "3", *SMALL])
    assert code == 0, capsys.readouterr().out


def test_a_kill_costs_little(capsys: pytest.CaptureFixture[str]) -> None:
    """DESIGN section 2, the tick: at up to 400 pages a second a kill has at most 18 URLs asked again; so the mean."""
    words = [
        "--runs",
        "3",
        "--kills",
        "4",
        "--seed",
        "3",
        "--pages",
        "600",
        "--delay",
        "0.0075",
        "--no-check",
        "--json",
    ]
    assert kill.main(words) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert sum(run["asked_twice"] for run in runs) <= 18 * sum(len(run["kills"]) for run in runs), runs


def test_stopped_and_frozen_at_random_moments(capsys: pytest.CaptureFixture[str]) -> None:
    """R5: a signal, a file STOP and `weft stop` save the state; nothing is asked twice; a frozen process goes on."""
    code = kill.main(
        ["--runs", "2", "--kills", "4", "--seed", "5", "--how", "int", "term", "file", "stop", "freeze", *SMALL]
    )
    assert code == 0, capsys.readouterr().out


@pytest.mark.parametrize("options", [[], ["--max-depth", "2"], ["--order", "dfs"]], ids=["all", "max-depth", "dfs"])
def test_the_same_with_any_number_of_workers(invented: Callable[..., Served], weft: Weft, options: list[str]) -> None:
    """T10, R2: keys, links, states, depths and duplicates do not depend on who was faster."""
    served = invented(seed=4, hosts=2, pages=120)
    results = []
    for workers, per_host in (("64", "16"), ("1", "1"), ("3", "2")):
        words = ["--resolve", served.resolve, "--delay", "0", "--workers", workers, "--per-host", per_host, *options]
        assert weft("crawl", *served.seeds, "-o", workers, *words).code == 0
        results.append(result_of(weft.folder / workers))
    assert differences(results[0], results[1]) == []
    assert differences(results[0], results[2]) == []


@pytest.mark.parametrize(
    ("order", "asked"),
    [("bfs", "/ /1 /2 /11 /12 /21 /22 /111"), ("dfs", "/ /1 /11 /111 /12 /2 /21 /22")],
    ids=["bfs", "dfs"],
)
@pytest.mark.parametrize("processes", ["1", "2"])
def test_one_at_a_time_the_order_is_exact(site: Site, weft: Weft, order: str, asked: str, processes: str) -> None:
    """DESIGN section 2: with --workers 1 a tick is a page; the next is chosen when the links of the last are known."""
    for path in asked.split():
        name = path.strip("/")
        site.page(path, links=[found for found in asked.split() if found[1:-1] == name and found != "/"])
    words = ["--order", order, "--workers", "1", "--processes", processes, "--delay", "0", "--sitemaps", "no"]
    assert weft("crawl", site.url, "-o", "out", *words).code == 0
    assert site.paths()[1:] == asked.split()


def test_depth_is_of_links_that_are_followed(site: Site, weft: Weft) -> None:
    """R2: a nofollow link makes its target no nearer, not even one that spells it anew."""
    site.page("/", links=["/a", "/late"])
    site.page("/a", links=["/b"])
    site.page("/b", links=["/x"])
    site.page("/x")
    site.page("/late", body='<a href="/%78" rel="nofollow">x</a>', delay_s=1.0)  # when /x is known already
    assert weft("crawl", site.url, "-o", "out", "--delay", "0", "--per-host", "2").code == 0
    pages = result_of(weft.folder / "out").pages
    assert [page["depth"] for key, page in pages.items() if key.endswith("/x")] == [3]


@pytest.fixture
def small_site(site: Site) -> Site:
    site.page("/", links=["/a", "/b"])
    site.page("/a", links=["/b"])
    site.page("/b", links=["/"])
    return site


def _empty_wal_database(path: Path) -> None:
    """What lies there when a crawl is killed between making its database and making its tables."""
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = WAL")
    database.close()


def _half_made_database(path: Path) -> None:
    """The same with a journal that the next one to write has to play back: killed while pages were written."""
    beside = path.with_name("beside.db")
    database = sqlite3.connect(beside, isolation_level=None)
    database.execute("PRAGMA cache_size = 1")
    database.execute("BEGIN")
    database.execute("CREATE TABLE filler(x)")
    database.executemany("INSERT INTO filler VALUES(?)", [("x" * 3_000,)] * 50)
    shutil.copyfile(beside, path)
    shutil.copyfile(beside.with_name("beside.db-journal"), path.with_name("crawl.db-journal"))
    database.execute("ROLLBACK")
    database.close()
    beside.unlink()


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda folder: None, id="nothing-yet"),
        pytest.param(lambda folder: (folder / "crawl.db").touch(), id="empty-database"),
        pytest.param(lambda folder: _empty_wal_database(folder / "crawl.db"), id="database-without-tables"),
        pytest.param(lambda folder: _half_made_database(folder / "crawl.db"), id="database-half-made"),
        pytest.param(lambda folder: (folder / "warc").mkdir(exist_ok=True), id="archive-folder"),
    ],
)
def test_killed_while_it_began(small_site: Site, weft: Weft, damage: Callable[[Path], None]) -> None:
    """Section 2 of the design: crawl.toml is written first, so a crawl killed at its first instant can be resumed."""
    assert weft("crawl", small_site.url, "-o", "whole", "--delay", "0").code == 0
    folder = weft.folder / "cut"
    folder.mkdir()
    shutil.copyfile(weft.folder / "whole" / "crawl.toml", folder / "crawl.toml")
    damage(folder)
    ended = weft("resume", folder)
    assert ended.code == 0, ended.stderr
    assert differences(result_of(weft.folder / "whole"), result_of(folder)) == []
    assert archive_faults(folder) == []


def test_killed_while_the_specification_was_written(small_site: Site, weft: Weft) -> None:
    """The same command works again: what a killed crawl left of its own is no foreign file."""
    folder = weft.folder / "cut"
    (folder / "warc").mkdir(parents=True)
    (folder / ".crawl.toml.12345").write_text("seeds = [", encoding="utf-8")
    ended = weft("crawl", small_site.url, "-o", folder, "--delay", "0")
    assert ended.code == 0, ended.stderr


def test_killed_while_a_page_was_parsed(small_site: Site, weft: Weft) -> None:
    """Promise 1: a kill that strikes inside the parser says nothing about the page; it is asked once more."""
    assert weft("crawl", small_site.url, "-o", "cut", "--delay", "0", "--max-pages", "1").code == 0
    folder = weft.folder / "cut"
    url = f"{small_site.url}/a".encode()
    (folder / "parsing").write_bytes((struct.pack("<H", len(url)) + url).ljust(4096, b"\0"))
    ended = weft("resume", folder, "--max-pages", "100")
    assert ended.code == 0, ended.stderr
    assert {page["state"] for page in result_of(folder).pages.values()} == {"C"}
