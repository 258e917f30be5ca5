"""Measures kept in the crawl's database, in the table ``measure``, for queries and for `weft pages --with measures`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import islice

from weft.db.connection import open_writer
from weft.db.schema import MIGRATIONS
from weft.derive.graph.measures import FIELDS
from weft.derive.graph.model import Kind, Value
from weft.derive.graph.pages import PageGraph
from weft.derive.read import Page, StoredCrawl
from weft.errors import SpecError
from weft.ports import Progress, silent
from weft.text.human import command

_BATCH = 5_000
_TYPES = {Kind.REAL: "REAL", Kind.WHOLE: "INTEGER", Kind.TEXT: "TEXT", Kind.FLAG: "INTEGER"}
_CHUNK = 1_000


class MeasuredPage(Page, frozen=True, kw_only=True):
    """A page with the measures of its node; None for what is no node, as redirects and duplicates."""

    in_degree: int | None
    out_degree: int | None
    pagerank: float | None
    hub: float | None
    authority: float | None
    betweenness: float | None
    component: int | None
    bow_tie: str | None
    core: int | None
    community: int | None
    distance: int | None


_COLUMNS = tuple(name for name in MeasuredPage.__struct_fields__ if name not in Page.__struct_fields__)


def keep_measures(crawl: StoredCrawl, graph: PageGraph, progress: Progress = silent) -> None:
    """Writes a row for every node that was fetched, in short transactions: a running crawl waits for none of them.

    The old table serves until the new one is whole.
    """
    types = {field.name: _TYPES[field.kind] for field in FIELDS}
    columns = ", ".join(f"{name} {types.get(name, 'INTEGER')}" for name in _COLUMNS)
    database = open_writer(crawl.folder.db, MIGRATIONS)
    try:
        with database.transaction() as connection:
            connection.execute("DROP TABLE IF EXISTS measure_new")
            connection.execute(f"CREATE TABLE measure_new(page INTEGER PRIMARY KEY REFERENCES page, {columns})")
        rows = graph.measured()
        done = 0
        while batch := list(islice(rows, _BATCH)):
            with database.transaction() as connection:
                connection.executemany(f"INSERT INTO measure_new VALUES({', '.join('?' * (len(_COLUMNS) + 1))})", batch)
            done += len(batch)
            progress("keeping measures", done, graph.node_count)
        with database.transaction() as connection:
            connection.execute("DROP TABLE IF EXISTS measure")
            connection.execute("ALTER TABLE measure_new RENAME TO measure")
    finally:
        database.close()


def measured_pages(crawl: StoredCrawl, pages: Iterator[Page]) -> Iterator[MeasuredPage]:
    """The pages with their measures; ``SpecError`` where none were ever made."""
    import msgspec

    measures = _stored(crawl)
    current = next(measures, None)
    nothing: dict[str, Value] = dict.fromkeys(_COLUMNS)
    for page in pages:  # both come in the order of the pages' ids
        found = nothing
        if current is not None and current[0] == page.url:
            found, current = current[1], next(measures, None)
        yield msgspec.convert({**msgspec.structs.asdict(page), **found}, MeasuredPage).with_content(page.content)


def require_measures(crawl: StoredCrawl) -> None:
    """Raises ``SpecError`` where no measures are kept."""
    if crawl.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'measure'").fetchone() is None:
        raise SpecError(
            f"{crawl.folder.path} has no measures yet: {command('graph', crawl.folder.path, '--measures')} makes them"
        )


def _stored(crawl: StoredCrawl) -> Iterator[tuple[str, dict[str, Value]]]:
    require_measures(crawl)
    last = 0
    columns = ", ".join(f"m.{name}" for name in _COLUMNS)
    query = (
        f"SELECT m.page, u.text, {columns} FROM measure m JOIN page_url u ON u.page = m.page"
        " WHERE m.page > ? ORDER BY m.page LIMIT ?"
    )
    while True:
        try:
            rows = crawl.connection.execute(query, (last, _CHUNK)).fetchall()
        except sqlite3.OperationalError as error:
            raise SpecError(f"the measures in {crawl.folder.db} are of another version: make them anew") from error
        if not rows:
            return
        last = rows[-1][0]
        for row in rows:
            yield row[1], dict(zip(_COLUMNS, row[2:], strict=True))
