"""Takes items out of a crawl, and keeps them out for good: when people ask to be left out of a collection."""

from __future__ import annotations

import time

from weft.db.connection import open_writer
from weft.db.schema import MIGRATIONS
from weft.derive.read import StoredCrawl
from weft.store.items import Items


def forget(crawl: StoredCrawl, expression: str) -> int:
    """Removes all items that match; how many those were. The caller holds the folder's lock."""
    database = open_writer(crawl.folder.db, MIGRATIONS)
    try:
        with database.transaction() as connection:
            count = Items(connection).forget(expression, int(time.time() * 1000))
            connection.execute("INSERT OR REPLACE INTO counter VALUES('items', (SELECT count(*) FROM item))")
    finally:
        database.close()
    return count
