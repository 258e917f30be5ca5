"""A private SQLite database of an export: names and rows to be sorted, on disk, so that memory does not grow."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

from weft.errors import WeftError


class Scratch(sqlite3.Connection):
    """Its errors are told as its own: those of other databases are of the crawl that is read."""

    def execute(self, statement: str, values: Any = (), /) -> sqlite3.Cursor:
        try:
            return super().execute(statement, values)
        except sqlite3.OperationalError as error:
            raise _unwritable(error) from error

    def executemany(self, statement: str, rows: Iterable[Iterable[object]], /) -> sqlite3.Cursor:  # type: ignore[override]
        try:
            return super().executemany(statement, map(tuple, rows))
        except sqlite3.OperationalError as error:
            raise _unwritable(error) from error


def scratch(path: Path | None = None) -> AbstractContextManager[Scratch]:
    """A database in a file, or in one without a name that is gone with the connection; one transaction is open."""
    made = sqlite3.connect(path or "", isolation_level=None, factory=Scratch)
    made.execute("PRAGMA journal_mode = OFF")  # what is not whole is thrown away
    made.execute("PRAGMA synchronous = OFF")
    made.execute("BEGIN")
    return closing(made)


def _unwritable(error: sqlite3.OperationalError) -> WeftError:
    return WeftError(f"the export cannot be written: {error} (is the disk, or the one of temporary files, full?)")
