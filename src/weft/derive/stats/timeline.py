"""Pages a second over the time that a crawl ran: pauses between runs are left out."""

from __future__ import annotations

from bisect import bisect_right

from weft.derive.read import StoredCrawl
from weft.derive.stats.model import Moment, Timeline
from weft.derive.stats.pages import Snapshot
from weft.ports import Progress
from weft.records import Purpose

_CHUNK = 5_000
_MOST_STEPS = 240
_FIRST_STEP_MS = 250


class _Clock:
    """Running time since the first start, of an instant."""

    def __init__(self, runs: list[tuple[int, int]]) -> None:
        self._starts = [start for start, _ in runs]
        self._lengths = [length for _, length in runs]
        self.offsets = [sum(self._lengths[:number]) for number in range(len(runs))]

    def __call__(self, at_ms: int) -> int:
        number = max(0, bisect_right(self._starts, at_ms) - 1)
        if not self._starts:
            return 0
        return self.offsets[number] + min(max(0, at_ms - self._starts[number]), self._lengths[number])


class _Steps:
    """Counts by stretch of time; when there are too many stretches, each becomes twice as long."""

    def __init__(self) -> None:
        self.step_ms = _FIRST_STEP_MS
        self._counts: dict[int, list[int]] = {}

    def note(self, at_ms: int, page: bool, failure: bool, size_b: int) -> None:
        while at_ms // self.step_ms >= _MOST_STEPS:
            self._double()
        counts = self._counts.setdefault(at_ms // self.step_ms, [0, 0, 0, 0])
        counts[0] += 1
        counts[1] += page
        counts[2] += failure
        counts[3] += size_b

    def _double(self) -> None:
        merged: dict[int, list[int]] = {}
        for number, counts in self._counts.items():
            into = merged.setdefault(number // 2, [0, 0, 0, 0])
            for place, value in enumerate(counts):
                into[place] += value
        self._counts, self.step_ms = merged, self.step_ms * 2

    def moments(self) -> list[Moment]:
        last = max(self._counts, default=-1)
        empty = [0, 0, 0, 0]
        return [Moment(n * self.step_ms / 1000, *self._counts.get(n, empty)) for n in range(last + 1)]


def timeline_of(crawl: StoredCrawl, upto: Snapshot, progress: Progress) -> Timeline:
    """All requests of all runs, in at most a few hundred stretches of equal length."""
    rows = crawl.connection.execute("SELECT started_ms, active_ms, ended_ms FROM run ORDER BY id").fetchall()
    runs = [(start, max(active, (ended or start) - start)) for start, active, ended in rows]
    if rows and rows[-1][2] is None:  # it runs, or was killed: as long as its newest visit tells
        newest = crawl.connection.execute("SELECT started_ms FROM visit WHERE id = ?", (upto.newest,)).fetchone()
        runs[-1] = (runs[-1][0], max(runs[-1][1], (newest[0] if newest else 0) - runs[-1][0]))
    clock, steps, after = _Clock(runs), _Steps(), 0
    while found := crawl.connection.execute(_VISITS, (after, upto.newest, _CHUNK)).fetchall():
        after = found[-1][0]
        progress("requests", after, upto.newest)
        for _, at_ms, purpose, status, wire in found:
            page = purpose == Purpose.PAGE and status is not None and 200 <= status < 300
            steps.note(clock(at_ms), page, status is None, wire or 0)
    return Timeline(steps.step_ms / 1000, [offset / 1000 for offset in clock.offsets], steps.moments())


_VISITS = "SELECT id, started_ms, purpose, status, size_wire FROM visit WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"
