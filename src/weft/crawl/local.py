"""The local worker: it asks, reads and archives in the crawl's own process, and copies nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from weft.crawl.pipeline import HandOver, Pipeline
from weft.fetch.http import Fetcher
from weft.ports import Browser, Returned, RoomAhead
from weft.records import Ended, Failure, Fetched, FilePosition, Lease

if TYPE_CHECKING:
    from weft.fetch.archived import ArchivedFetcher
    from weft.fetch.browser.fetcher import RenderingFetcher


class LocalWorker:
    """Asks by its fetcher, and finishes a few answers when the loop wants the next ones."""

    def __init__(
        self, fetcher: Fetcher | ArchivedFetcher | RenderingFetcher, pipeline: Pipeline, browser: Browser | None = None
    ) -> None:
        self._fetcher = fetcher
        self._browser = browser
        self._pipeline = pipeline

    def on_finished(self, wake: Callable[[], None]) -> None:
        self._fetcher.on_finished = wake

    @property
    def running(self) -> int:
        return self._fetcher.running

    @property
    def takes_ahead(self) -> bool:
        return False  # the next lease is at hand

    @property
    def has_finished(self) -> bool:
        return bool(self._fetcher.finished)

    def free(self, workers: int) -> int:
        if self._fetcher.throttled:
            return 0
        return min(workers, self._fetcher.max_parallel) - self._fetcher.running

    def start(self, lease: Lease, addresses: Sequence[str], gap_s: float) -> None:
        self._fetcher.start(lease, addresses)

    def fail(self, lease: Lease, failure: Failure) -> None:
        self._fetcher.finished.append((lease, failure))

    def next(self) -> list[Ended]:
        finished = self._fetcher.finished
        while finished:
            lease, answer = finished.popleft()
            processed = self._pipeline.process(lease, answer)
            if self._browser is not None and isinstance(answer, Fetched) and processed is not None:
                self._browser.learn(lease.url, answer, processed.rendering)
            if processed is not None:
                return [Ended(processed)]
        return []

    def hand_over(self, to: HandOver | None) -> None:
        """Pages that need the tree are read by somebody else from now on; None: here, as all others."""
        self._pipeline.hand_over(to)

    def room_ahead(self, untaken: int) -> Iterable[RoomAhead]:
        return ()

    def start_ahead(self, place: int, lease: Lease, addresses: Sequence[str]) -> None:
        raise NotImplementedError("nothing is taken ahead where the next lease is at hand")

    def feed(self, take_ahead: Callable[[], None]) -> None:
        return

    def brought_back(self) -> list[Returned]:
        return []

    def recall(self) -> None:
        return

    async def cancel_all(self) -> list[Returned]:
        return [Returned(lease, was_asked=True) for lease in self._fetcher.cancel_all()]

    def flush(self) -> Mapping[str, FilePosition]:
        self._pipeline.archive.flush()
        return self._pipeline.archive.positions()

    def pids(self) -> list[int]:
        return self._browser.pids() if self._browser is not None else []

    async def close(self) -> Mapping[str, FilePosition]:
        self._pipeline.archive.close()
        return self._pipeline.archive.positions()
