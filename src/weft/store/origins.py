"""robots.txt of origins, in the table ``origin``."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from weft.records import OriginRow

_COLUMNS = ", ".join(OriginRow.__struct_fields__)


class StoredOrigins:
    """Finds and writes rows. Writing happens inside the caller's transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def find(self, origin: str) -> OriginRow | None:
        row = self._db.execute(f"SELECT {_COLUMNS} FROM origin WHERE name = ?", (origin,)).fetchone()
        return OriginRow(*row) if row is not None else None

    def write(self, rows: Sequence[OriginRow]) -> None:
        places = ", ".join("?" * len(OriginRow.__struct_fields__))
        self._db.executemany(
            f"INSERT OR REPLACE INTO origin({_COLUMNS}) VALUES({places})", map(msgspec.structs.astuple, rows)
        )
