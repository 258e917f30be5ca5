"""Which bodies and texts the crawl has met: asked while it runs, where the links of duplicates are not followed."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

_COMPARED_MOST = 256  # sketches that one text is compared with: more share a band only where texts are made to


class StoredCopies:
    """Looks bodies and sketches up; inside the transaction of the tick."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def has_body(self, body_hash: int, size: int | None, digest: str | None, page: int | None) -> bool:
        """Whether another page has this body."""
        return self._db.execute(_OTHER_PAGE, (body_hash, size, digest, page)).fetchone() is not None

    def sharing(self, bands: Sequence[int]) -> list[int]:
        """The visits, oldest first, of texts that have one of these bands and stand for themselves."""
        places = ", ".join("?" * len(bands))
        query = f"SELECT DISTINCT visit FROM sketch_band WHERE hash IN ({places}) ORDER BY visit LIMIT {_COMPARED_MOST}"
        return [row[0] for row in self._db.execute(query, bands)]

    def sketch(self, visit: int) -> tuple[int, bytes] | None:
        """The page of a visit and the sketch of its text; None where it has none."""
        row = self._db.execute(
            "SELECT v.page, s.data FROM sketch s JOIN visit v ON v.id = s.visit WHERE s.visit = ?", (visit,)
        ).fetchone()
        return None if row is None else (row[0], row[1])

    def add(self, visit: int, bands: Sequence[int]) -> None:
        """Lets later texts find this one by its bands."""
        self._db.executemany("INSERT OR IGNORE INTO sketch_band VALUES(?, ?)", [(band, visit) for band in bands])


_OTHER_PAGE = "SELECT 1 FROM visit WHERE hash = ? AND size = ? AND digest IS ? AND page <> ? LIMIT 1"
