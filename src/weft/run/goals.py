"""Ends a run once enough goal pages were fetched (P5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.derive.goals import Goals, Row
from weft.derive.read import StoredCrawl
from weft.folder import Folder
from weft.records import PAGE, Progress, StoredVisit
from weft.spec import Limits


class GoalWatch:
    """An observer that counts goals, those of earlier runs too, and calls ``enough`` once there are enough.

    A page is tested when it was fetched, never when a link to it was found.
    """

    def __init__(self, expression: str, limits: Limits, folder: Folder, enough: Callable[[], None]) -> None:
        self._goals = Goals(expression)
        self._most = limits.goals
        self._enough = enough
        self._found = 0
        if folder.db.is_file() and folder.db.stat().st_size:
            with StoredCrawl(folder.path) as crawl:
                self._found = self._goals.count_stored(crawl)

    def ticked(self, visits: Sequence[StoredVisit], progress: Progress) -> None:
        """Counts the pages of a tick that were answered 2xx."""
        rows: list[Row] = []
        for stored in visits:
            lease, facts = stored.lease, stored.visit.facts
            if lease.purpose is PAGE and facts.status is not None and 200 <= facts.status < 300:
                rows.append((lease.url, facts.title, lease.depth, facts.status, facts.type, facts.language, facts.size))
        self._found += self._goals.count(rows)
        if self._most is not None and self._found >= self._most and not progress.stopping:
            self._enough()
