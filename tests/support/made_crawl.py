"""Crawls of any size, written straight into the database: for what would take too long to fetch."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from weft.db.connection import APPLICATION_ID
from weft.db.schema import MIGRATIONS
from weft.records import LinkKind

FIRST_MS = 1_700_000_000_000
STATUSES = (200,) * 18 + (404, 301)


def make(folder: Path, pages: int, *, sites: int = 1, links: int = 10, seed: int = 1) -> Path:
    """A crawl of so many pages: a tree with twenty children a page, random links beside it; every twentieth is gone.

    Page n is on site n modulo ``sites`` and was found on page (n - 1) // 20; the first pages of all sites are seeds.
    """
    folder.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(folder / "crawl.db")
    for migrate in MIGRATIONS:
        migrate(db)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    db.execute("INSERT INTO meta VALUES('hash_seed', 7)")
    db.executemany("INSERT INTO site(id, name) VALUES(?, ?)", [(n + 1, f"s{n}.test") for n in range(sites)])
    db.executemany("INSERT INTO url VALUES(?, ?, NULL)", ((n + 1, url_of(n, sites)) for n in range(pages)))
    db.executemany(
        "INSERT INTO page(id, site, state, depth, priority, found_in, attempts, visit)"
        " VALUES(?, ?, 'C', ?, 0, ?, 1, ?)",
        (
            (n + 1, n % sites + 1, depth_of(n, sites), None if n < sites else parent_of(n) + 1, n + 1)
            for n in range(pages)
        ),
    )
    db.executemany("INSERT INTO seed(page, added_ms, source) VALUES(?, 0, 'made')", ((n + 1,) for n in range(sites)))
    db.executemany(
        "INSERT INTO visit(id, page, url, purpose, attempt, started_ms, response_ms, status, type, language, title,"
        " size, size_wire, hash, out_links) VALUES(?, ?, ?, 0, 1, ?, ?, ?, 'text/html', 'en', ?, ?, ?, ?, ?)",
        (
            (n + 1, n + 1, n + 1, FIRST_MS + n, n % 300, status_of(n), f"Page {n}", 500 + n % 5_000, 400, n, links)
            for n in range(pages)
        ),
    )
    db.executemany("INSERT INTO link_pack VALUES(?, ?)", _packs(pages, links, random.Random(seed)))
    db.execute("INSERT INTO run VALUES(1, ?, ?, 'done', '0', ?, ?)", (FIRST_MS, FIRST_MS + pages, pages, pages))
    db.commit()
    db.close()
    return folder


def url_of(n: int, sites: int) -> str:
    return f"http://s{n % sites}.test/" if n < sites else f"http://s{n % sites}.test/section-{n % 50}/page-{n}.html"


def parent_of(n: int) -> int:
    return (n - 1) // 20


def depth_of(n: int, sites: int) -> int:
    depth = 0
    while n >= sites:
        n, depth = parent_of(n), depth + 1
    return depth


def status_of(n: int) -> int:
    return 200 if n == 0 else STATUSES[n % len(STATUSES)]


def _packs(pages: int, links: int, chance: random.Random) -> Iterator[tuple[int, str]]:
    for n in range(pages):
        goals = [child + 1 for child in range(20 * n + 1, min(20 * n + 21, pages))]
        goals += [int(chance.random() * pages) + 1 for _ in range(max(0, links - len(goals)))]
        yield n + 1, json.dumps([[goal, LinkKind.A.value, 1, "word"] for goal in goals], separators=(",", ":"))
