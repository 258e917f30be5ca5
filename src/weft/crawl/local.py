"""The local worker: everything in the crawl's own process, nothing copied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from weft.crawl.conclude import Concluded
from weft.crawl.pipeline import HandOver, Pipeline
from weft.fetch.http import Fetcher
from weft.ports import Returned, RoomAhead
from weft.records import Failure, FilePosition, Lease

if TYPE_CHECKING:
    from weft.fetch.browser.fetcher import RenderingFetcher


class LocalWorker:
    """Asks by its fetcher, and finishes a few answers when the loop wants the next ones."""

    def __init__(
        self, fetcher: Fetcher | RenderingFetcher, pipeline: Pipeline, browser_pids: Callable[[], list[int]] = list
    ) -> None:
        self._fetcher = fetcher
        self._browser_pids = browser_pids
        self._pipeline = pipeline

    def on_finished(self, wake: Callable[[], None]) -> None:
        self._fetcher.on_finished = wake

    @property
    def running(self) -> int:
        return self._fetcher.running

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

    def next(self) -> list[Concluded]:
        return self._pipeline.finish(self._fetcher.finished) if self._fetcher.finished else []

    def hand_over(self, to: HandOver | None) -> None:
        """Pages that need the tree are read by somebody else from now on; None: here, as all others."""
        self._pipeline.hand_over = to

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
        return self._browser_pids()

    async def close(self) -> Mapping[str, FilePosition]:
        self._pipeline.archive.close()
        return self._pipeline.archive.positions()
