"""The pages that were there when workers died: one that was there too often is left alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from weft.crawl.marks import MARKED_B
from weft.workers.member import Member
from weft.workers.messages import Job

DEATHS_ON_A_PAGE = 2
DEATHS_UNDER_WAY = 5  # of workers that were asking for the page, and marked no other
SUSPECTS_MAX = 10_000


class Suspects:
    """See the module."""

    def __init__(self) -> None:
        self._points: Counter[str] = Counter()

    def blame(self, member: Member, marked: str | None) -> Iterator[tuple[Job, str]]:
        """Notes who was there when a worker died; the jobs that were there too often, and what was done to them.

        ``marked`` is the page that the worker was reading, where one is marked.
        """
        if marked is not None:  # also a job that was to wait, for all that is known here: the last report is lost
            guilty = [job for job in member.jobs.values() if job.lease.url[:MARKED_B] == marked]
        else:
            guilty = [job for job in member.jobs.values() if not member.is_ahead(job)]
        for job in guilty:
            url = job.lease.url
            self._points[url] += DEATHS_UNDER_WAY if marked else DEATHS_ON_A_PAGE
            if self._points[url] >= DEATHS_UNDER_WAY * DEATHS_ON_A_PAGE:
                del self._points[url]
                yield job, "read it" if marked else "asked for it"
        if len(self._points) > SUSPECTS_MAX:
            self._points.clear()
