"""Scores of a crawl's pages, in the table ``rank`` of its database: for queries, search and the next crawl."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import msgspec
import numpy as np

from weft.db.connection import open_writer
from weft.db.schema import MIGRATIONS
from weft.derive.graph import Choice, page_graph
from weft.derive.rank.paths import UNREACHED, path_costs
from weft.derive.rank.power import Reals, hits, in_links, pagerank, to_ranks
from weft.derive.read import StoredCrawl
from weft.derive.simulate.graph import by_source, ends_of
from weft.ports import Progress, silent

_BATCH = 5_000
_TABLE = (
    "(page INTEGER PRIMARY KEY REFERENCES page, pagerank REAL NOT NULL, hub REAL NOT NULL, authority REAL NOT NULL,"
    " in_links INTEGER NOT NULL, rank INTEGER NOT NULL, path_cost INTEGER)"
)


class Ranked(msgspec.Struct, frozen=True, kw_only=True):
    """A page and its scores. ``rank`` is its PageRank as 1 to 10, and prices ``path_cost`` (None: there is no path)."""

    page: int
    pagerank: float
    hub: float
    authority: float
    in_links: int
    rank: int
    path_cost: int | None


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """What was done: how many pages and links, and the best pages with their URLs."""

    pages: int
    links: int
    best: list[tuple[str, Ranked]]


def rank_crawl(crawl: StoredCrawl, most: int, progress: Progress = silent) -> Ranking:
    """Scores all pages, keeps the scores, and gives the best pages by PageRank.

    PageRank begins with the ranks that were kept before, and is done sooner where few pages are new.
    """
    graph = page_graph(crawl, Choice(), progress)
    pages = graph.page_ids()
    size = len(pages)
    starts, targets = by_source(size, *ends_of(graph.pairs(progress)))
    progress("ranking", 0, 4)
    sources = np.repeat(np.arange(size, dtype=np.int32), np.diff(starts))
    ranks = pagerank(size, sources, targets, _start(crawl, pages))
    progress("ranking", 1, 4)
    hubs, authorities = hits(size, sources, targets)
    progress("ranking", 2, 4)
    whole = to_ranks(ranks)
    costs = path_costs(starts, targets, graph.starts(), whole)
    columns = (
        pages, ranks.tolist(), hubs.tolist(), authorities.tolist(),
        in_links(size, targets).astype(np.int64).tolist(), whole.tolist(),
        [None if cost == UNREACHED else cost for cost in costs.tolist()],
    )  # fmt: skip
    progress("ranking", 3, 4)
    _keep(crawl, zip(*columns, strict=True))
    best = np.lexsort((np.arange(size), -ranks))[:most].tolist()
    rows = [Ranked(**dict(zip(Ranked.__struct_fields__, (c[n] for c in columns), strict=True))) for n in best]
    return Ranking(pages=size, links=len(targets), best=[(_url(crawl, row.page), row) for row in rows])


def _start(crawl: StoredCrawl, pages: list[int]) -> Reals | None:
    """The PageRank that was kept for each page, the mean for new ones; None where none was kept."""
    if crawl.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'rank'").fetchone() is None:
        return None
    kept = dict(crawl.connection.execute("SELECT page, pagerank FROM rank").fetchall())
    if not kept:
        return None
    mean = sum(kept.values()) / len(kept)
    return np.array([kept.get(page, mean) for page in pages])


def _keep(crawl: StoredCrawl, rows: Iterator[tuple[object, ...]]) -> None:
    """Writes all rows in short transactions; the old table serves until the new one is whole."""
    database = open_writer(crawl.folder.db, MIGRATIONS)
    try:
        with database.transaction() as connection:
            connection.execute("DROP TABLE IF EXISTS rank_new")
            connection.execute(f"CREATE TABLE rank_new{_TABLE}")
        while batch := list(islice(rows, _BATCH)):
            with database.transaction() as connection:
                connection.executemany("INSERT INTO rank_new VALUES(?, ?, ?, ?, ?, ?, ?)", batch)
        with database.transaction() as connection:
            connection.execute("DROP TABLE IF EXISTS rank")
            connection.execute("ALTER TABLE rank_new RENAME TO rank")
    finally:
        database.close()


def _url(crawl: StoredCrawl, page: int) -> str:
    row = crawl.connection.execute(
        "SELECT u.text FROM page p JOIN url u ON u.id = coalesce(p.url, p.id) WHERE p.id = ?", (page,)
    ).fetchone()
    return str(row[0])
