"""The folder that is looked at: what all the checks share."""

from __future__ import annotations

from collections.abc import Iterator

from weft.derive.check.report import Report
from weft.derive.read import StoredCrawl
from weft.ports import Progress

_CHUNK = 5_000


class Checked:
    """A crawl, where to put what is found, and whom to tell how far it is.

    ``archived``: answers are kept. ``killed``: the last run was, so what is not committed is no problem.
    """

    def __init__(self, crawl: StoredCrawl, progress: Progress) -> None:
        self.crawl = crawl
        self.db = crawl.connection
        self.folder = crawl.folder
        self.report = Report(folder=str(crawl.folder.path))
        self.problem = self.report.problem
        self.progress = progress
        self.archived = True
        self.killed = False

    def rows(self, what: str, query: str, total: int) -> Iterator[tuple[object, ...]]:
        """The rows of a query by ascending id (its first column, ``:after``), told to the progress as they come."""
        last = seen = 0
        while rows := self.db.execute(query, {"after": last, "most": _CHUNK}).fetchall():
            self.progress(what, seen, total)
            yield from rows
            last = rows[-1][0]
            seen += len(rows)

    def count(self, query: str) -> int:
        """The number that a query finds."""
        return int(self.db.execute(query).fetchone()[0] or 0)

    def has_table(self, name: str) -> bool:
        """Whether the schema has a table: a crawl of an earlier version may have fewer."""
        return self.count(f"SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '{name}'") > 0

    def some(self, kind: str, query: str, sentence: str) -> None:
        """A problem for each row of a query that should find none; the row fills the sentence."""
        for row in self.db.execute(query):
            self.problem(kind, sentence.format(*row))
