"""Goal pages (P5): which of the pages that were fetched are those that the user looks for."""

from __future__ import annotations

from weft.derive.graph.where import Filter
from weft.derive.read import StoredCrawl

COLUMNS = ("url", "title", "depth", "status", "type", "language", "size")
_AT_ONCE = 1_000
Row = tuple[str | int | None, ...]


class Goals:
    """The expression of ``--goal``; ``SpecError`` where it cannot be understood."""

    def __init__(self, expression: str) -> None:
        self._filter = Filter(expression, COLUMNS)

    def count(self, rows: list[Row]) -> int:
        """How many of these pages (a value for each of ``COLUMNS``) are goals."""
        return len(self._filter.passing(rows)) if rows else 0

    def count_stored(self, crawl: StoredCrawl) -> int:
        """How many pages of a stored crawl are goals: those that were answered 2xx."""
        found = 0
        rows: list[Row] = []
        for page in crawl.pages():
            if page.status is not None and 200 <= page.status < 300:
                rows.append((page.url, page.title, page.depth, page.status, page.type, page.language, page.size))
            if len(rows) == _AT_ONCE:
                found += self.count(rows)
                rows = []
        return found + self.count(rows)
