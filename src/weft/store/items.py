"""Items into the database: appended with the visit that found them; what is to be forgotten is kept out (E24)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from weft.db.connection import insert
from weft.records import Item, Visit

if TYPE_CHECKING:
    import re2

_COLUMNS = "item(visit, page, kind, value, context, obscured, position, confidence, fields)"


class Items:
    """The write side of the table ``item``, inside of the caller's transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    @cached_property
    def _forgotten(self) -> tuple[re2._Regexp[str], ...]:
        patterns = self._db.execute("SELECT pattern FROM forgotten").fetchall()
        return tuple(forget_pattern(pattern) for (pattern,) in patterns)

    def write(self, found: Sequence[tuple[Visit, Sequence[Item]]]) -> int:
        """Adds the items of visits; how many were not to be forgotten."""
        rows = [
            (visit.id, visit.page, *row)
            for visit, items in found
            for item in items
            if (row := self._row(item)) is not None
        ]
        insert(self._db, _COLUMNS, rows)
        return len(rows)

    def replace(self, visit: int, page: int, kinds: Iterable[str], items: Sequence[Item]) -> None:
        """Puts items in the place of those that a visit had of some kinds."""
        self._db.executemany(
            "DELETE FROM item WHERE page = ? AND visit = ? AND kind = ?", [(page, visit, kind) for kind in kinds]
        )
        insert(self._db, _COLUMNS, [(visit, page, *row) for item in items if (row := self._row(item)) is not None])

    def forget(self, expression: str, at_ms: int) -> int:
        """Removes all items whose values match, and keeps them out for good; how many those were.

        Where a match stands in the context of another item, that context is emptied.
        """
        pattern = forget_pattern(expression)
        self._db.execute("INSERT OR REPLACE INTO forgotten VALUES(?, ?)", (expression, at_ms))
        self._db.create_function("is_forgotten", 1, lambda text: text is not None and _matches(pattern, text))
        count = self._db.execute("DELETE FROM item WHERE is_forgotten(value) OR is_forgotten(fields)").rowcount
        self._db.execute("UPDATE item SET context = '' WHERE is_forgotten(context)")
        return count

    def _row(self, item: Item) -> tuple[object, ...] | None:
        context = item.context
        for pattern in self._forgotten:
            if _matches(pattern, item.value) or _matches(pattern, item.fields):
                return None
            if _matches(pattern, context):
                context = ""
        return item.kind, item.value, context, item.obscured, item.position, item.confidence, item.fields or None


def forget_pattern(expression: str) -> re2._Regexp[str]:
    """The expression of what is to be forgotten; case does not count. ``ValueError`` where it cannot be used."""
    import re2

    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    try:
        return re2.compile(expression, options)
    except re2.error as error:
        raise ValueError(f"{expression!r} is not a regular expression that RE2 takes ({error})") from None


def _matches(pattern: re2._Regexp[str], text: str) -> bool:
    return pattern.search(text) is not None
