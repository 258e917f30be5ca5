"""Housekeeping: what a run does beside its pages, once a tick. Each part knows nothing of the others."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Sequence

from weft.clock import Clock
from weft.crawl.machine import give_memory_back, memory_b
from weft.errors import BugError
from weft.folder import Added, Folder, StopFile
from weft.ports import CookieStore, JudgeState, SeedQueue, Store, Transaction
from weft.records import Progress, StopReason
from weft.store.state import StoredState
from weft.text.human import command
from weft.url import host_of

TemplateRow = tuple[str, str, int, int, int, int]

WATCH_EVERY_S = 1.0  # what the system counts for it takes a millisecond a process
SHED_SHARE = 0.9  # of --max-memory: caches are given back before the bound is reached


class MemoryWatch:
    """Holds a run within ``--max-memory``. Past it caches are shed, then fewer requests run at once."""

    def __init__(self, limit_b: int, clock: Clock, pids: Callable[[], Iterable[int]], shed: Callable[[], None]) -> None:
        self._limit_b = limit_b
        self._clock = clock
        self._pids = pids  # of the processes beside this one
        self._shed = shed
        self._watched_s = clock.seconds()
        self.is_short = False

    def look(self) -> None:
        """Looks once a second."""
        now_s, shed_b = self._clock.seconds(), self._limit_b * SHED_SHARE
        if now_s < self._watched_s + WATCH_EVERY_S:
            return
        self._watched_s = now_s
        if memory_b(self._pids(), shed_b) < shed_b:
            self.is_short = False
            return
        self._shed()
        gc.collect()
        give_memory_back()
        self.is_short = memory_b(self._pids(), self._limit_b) >= self._limit_b


class SmallState:
    """Cookies, budgets of traps, and how far the run is: small, and changed at every tick."""

    def __init__(
        self,
        state: StoredState,
        judge: JudgeState,
        jar: CookieStore | None,
        clock: Clock,
        store: Store,
        stop_file: StopFile,
        templates: Callable[[], Iterable[TemplateRow]] = tuple,
    ) -> None:
        self._state = state
        self._templates = templates  # of pages, that changed: where some pages are rendered
        self._judge = judge
        self._jar = jar
        self._clock = clock
        self._store = store
        self._stop_file = stop_file
        self.keeps_cookies = jar is not None
        self._started_s = clock.seconds()

    def keep(self) -> None:
        """Writes what has changed, inside the transaction of the tick."""
        state = self._state
        if self._jar is not None:
            state.keep_cookies(self._jar.dump())
        state.keep_traps(self._judge.dump())
        state.keep_scope_sites(self._judge.new_sites())
        state.keep_templates(self._templates())
        active_s = self._clock.seconds() - self._started_s
        state.keep_run(self._clock.epoch_ms(), active_s, self._store.totals["pages"], self._stop_file.obeyed)


class AddedSeeds:
    """Start addresses that a crawl gets after it began: those of `weft add`."""

    def __init__(
        self, folder: Folder, transaction: Transaction, queue: SeedQueue, widen: Callable[[str], None],
        allow: Callable[[Iterable[str]], None],
    ) -> None:  # fmt: skip
        """``widen`` lets a seed into the scope; ``allow`` lets hosts be connected to."""
        self._folder = folder
        self._transaction = transaction
        self._queue = queue
        self._widen = widen
        self._allow = allow

    def take(self, seeds: Sequence[Added] = ()) -> int:
        """Admits these, and those that were left in the folder; how many were new."""
        left = self._folder.take_added()
        seeds = [*seeds, *(seed for _, some in left for seed in some)]
        new = 0
        if seeds:
            with self._transaction():
                for url, _ in seeds:
                    self._widen(url)
                self._allow({host_of(url) for url, _ in seeds})  # a fallback is on the same host
                new = self._queue.add_seeds([(url, "weft add", fallback) for url, fallback in seeds])
                self._queue.flush()
            self._queue.committed()
        for path, _ in left:
            path.unlink(missing_ok=True)
        return new


class Housekeeping:
    """The chores between ticks: memory, stop files, added seeds, finishers. The loop calls ``look`` after each tick."""

    def __init__(
        self, folder: Folder, stop_file: StopFile, memory: MemoryWatch, added: AddedSeeds,
        finishers: Sequence[Callable[[Progress], bool]], max_bugs: int,
    ) -> None:  # fmt: skip
        self._folder = folder
        self._stop_file = stop_file
        self._memory = memory
        self._added = added
        self._finishers = finishers  # R4: plugins that say whether the run ends
        self._max_bugs = max_bugs
        self.stopped_by = ""  # the stop file of the user, if it was that

    def look(self, progress: Progress) -> StopReason | None:
        """Takes in what comes from outside: URLs, and the wish to stop. Watches memory. None: the run goes on."""
        reason = self._wish_to_stop(progress)
        self._added.take()
        self._memory.look()
        return reason

    def _wish_to_stop(self, progress: Progress) -> StopReason | None:
        if self._folder.stop.is_file():
            self._folder.stop.unlink(missing_ok=True)
            return StopReason.STOPPED
        if progress.stopping:
            return None
        if self._stop_file.appeared():
            self.stopped_by = str(self._stop_file.path)
            return StopReason.STOPPED
        return StopReason.FINISHER if any(is_over(progress) for is_over in self._finishers) else None

    @property
    def is_memory_short(self) -> bool:
        """Whether only one request may run at once."""
        return self._memory.is_short

    def bear_bugs(self, number: int) -> None:
        """Raises ``BugError`` where so many pages have met a bug that something is wrong with weft."""
        if number > self._max_bugs:
            raise BugError(
                f"more than {self._max_bugs} pages met a bug in weft;"
                f" `{command('status', self._folder.path)}` tells where they are described"
            )
