"""The loop: take leases, have them asked, learn from those that ended, tick. It reads in one sitting.

It is handed what it uses by name (``build``), as ports. It imports no station.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from weft.clock import Clock
from weft.crawl.events import Observer
from weft.crawl.housekeeping import Housekeeping
from weft.crawl.learning import Learning
from weft.crawl.tick import TICK_S, Batch, Tick, TickTime
from weft.errors import Cause
from weft.ports import Addresses, Frontier, Resolve, SiteState, Workers
from weft.records import Ended, Failure, Lease, Progress, StopReason
from weft.spec import CrawlSpec
from weft.url import host_of, origin_of

ANSWERS_A_TURN = 16
TURN_S = 0.1  # heavy pages one after the other would make us miss what servers send meanwhile


class Consumers(NamedTuple):
    """Who consumes what workers bring, in this order."""

    learning: Learning  # of each lease that ended
    tick: Tick  # stores what came since the last one
    observers: Sequence[Observer]  # are told of each tick


class Loop:
    """One run over one folder. ``run`` returns why it ended; what it did is in the store."""

    def __init__(
        self, spec: CrawlSpec, clock: Clock, frontier: Frontier, resolver: Resolve, workers: Workers,
        consumers: Consumers, housekeeping: Housekeeping,
    ) -> None:  # fmt: skip
        self._limits, self._politeness, self._min_depth = spec.limits, spec.politeness, spec.scope.min_depth
        self._wants_items = spec.harvest.is_wanted
        self._asks_files = spec.files.asks_beside_pages
        self._clock = clock
        self._frontier = frontier
        self._resolver = resolver
        self._workers = workers
        self._learning, self._tick, self._observers = consumers
        self._housekeeping = housekeeping
        self._totals = self._tick.totals
        self._batch = Batch()
        self._time = TickTime(clock)
        self._started_s = clock.seconds()
        self._looked_again = -1
        self._wake = asyncio.Event()
        self._stop: StopReason | None = None
        self._ends_now = False
        self.visits = 0  # requests that ended
        self.held_back: Callable[[], bool] = _never  # whether a reader is behind

    # ---- from outside ----------------------------------------------------------------------------------------

    def found_links(self, count: int) -> None:
        """Counts links that were found after the crawl, in documents."""
        self._totals["links"] += count

    def stop(self, reason: StopReason = StopReason.STOPPED) -> None:
        """Takes no more; what is under way may finish within the grace time. A second call ends at once."""
        self._ends_now = self._stop is not None
        self._stop = self._stop or reason
        self._wake.set()

    @property
    def ends_now(self) -> bool:
        """Whether a stop was asked for twice, or once since the run ended."""
        return self._ends_now

    def wake(self) -> None:
        """Something outside changed: a reader has caught up."""
        self._wake.set()

    @property
    def elapsed_s(self) -> float:
        return self._clock.seconds() - self._started_s

    @property
    def progress(self) -> Progress:
        """How far the run is at this moment."""
        return self._progress(())

    def _progress(self, notes: tuple[str, ...]) -> Progress:
        counts, totals = self._frontier.counts, self._totals
        return Progress(
            pages=totals["pages"], links=totals["links"], items=totals["items"] if self._wants_items else None,
            received_b=totals["bytes"], waiting=counts["waiting"],
            running=counts["running"], completed=counts["completed"], errors=counts["errors"] - counts["forbidden"],
            broken=counts["broken"], forbidden=counts["forbidden"], refused=counts["refused"], hosts=counts["asked"],
            requests=self._workers.running, elapsed_s=self.elapsed_s, stopping=self._stop is not None,
            max_pages=self._limits.max_pages, max_time_s=self._limits.max_time_s, delay_s=self._politeness.delay_s,
            notes=notes,
        )  # fmt: skip

    # ---- the loop --------------------------------------------------------------------------------------------

    async def run(self) -> StopReason:
        self._workers.on_finished(self._wake.set)
        self._look_outside()
        while self._stop is None:
            progressed = self._turn()
            if self._is_tick_due(progressed):
                self._store_batch()
                self._look_outside()
                progressed = True
            if self._stop is None:
                self._stop = self._end()
            if self._stop is None:
                await self._rest(progressed)
        await self._finish()
        return self._stop

    def _turn(self) -> bool:
        """Learns from a few answers, then fills the free slots, so that the network never waits for the parser."""
        learnt = 0
        until_s = self._clock.seconds() + TURN_S
        for lease, was_asked in self._workers.brought_back():
            self._frontier.brought_back(lease, asked=was_asked)
            self._batch.feeds = True  # its site may have nothing else until the tick lets it wait again
        while learnt < ANSWERS_A_TURN and self._clock.seconds() < until_s and (ended := self._workers.next()):
            for one in ended:
                self._learn(one)
            learnt += len(ended)
        taken = 0
        if self._stop is None and not (self._is_one_by_one and self._batch.learnt):
            taken = self._take()
            self._take_ahead()
        return bool(learnt or taken)

    @property
    def _is_one_by_one(self) -> bool:
        """Whether the next page is chosen when the links of the last are known."""
        return self._politeness.workers == 1

    def _learn(self, ended: Ended) -> None:
        """One lease that ended, whoever asked: the crawl learns from it, and it waits for the tick."""
        learnt, site = self._learning.learn(ended)
        done = learnt.processed.done
        if done.links.targets and not self._batch.feeds and done.lease.purpose.is_queued:
            self._batch.feeds = site is not None and not site.has_work
        self._batch.add(learnt, self._clock.seconds())

    # ---- leases ----------------------------------------------------------------------------------------------

    def _take(self) -> int:
        """How many pages left the queue: those that are asked for now, and those that were refused."""
        most = 1 if self._housekeeping.is_memory_short else self._politeness.workers
        free = 0 if self.held_back() else self._workers.free(most)
        left = self._pages_left()
        if left is not None:
            left = max(0, left)
            free = free if self._asks_files else min(free, left)
        if free <= 0:
            return 0
        leases, refused, unresolved = self._frontier.take(free, left)
        self._start(leases)
        for site in unresolved:
            self._resolve(site)
        return len(leases) + refused

    def _take_ahead(self) -> None:
        """Gives each worker process extra leases, so that it stays busy until the next turn of this loop."""
        if not self._workers.takes_ahead or self.held_back() or self._housekeeping.is_memory_short:
            return
        left = self._pages_left()
        for place, site_id, most in self._workers.room_ahead(self._frontier.untaken):
            leases = self._frontier.take_ahead(site_id, most if left is None else min(most, left))
            for lease in leases:
                addresses = self._resolver.cached(host_of(lease.url))
                assert isinstance(addresses, tuple)
                self._workers.start_ahead(place, lease, addresses)
            left = None if left is None else left - len(leases)

    def _pages_left(self) -> int | None:
        """How many pages may still be asked for under --max-pages; None without it."""
        if self._limits.max_pages is None:
            return None
        under_way = self._frontier.pages_under_way - self._batch.pages
        return self._limits.max_pages - self._totals["pages"] - self._batch.stored - under_way

    def _start(self, leases: Sequence[Lease]) -> None:
        """Has leases asked. Those of one site come in a row: what they have in common is looked up once."""
        site_id, place, gap_s = 0, "", 0.0
        addresses: Addresses | Failure | None = None
        for lease in leases:
            if lease.site != site_id or not lease.url.startswith(place):
                site_id, place = lease.site, f"{origin_of(lease.url)}/"
                addresses, gap_s = self._resolver.cached(host_of(lease.url)), self._frontier.gap_s(site_id)
            if isinstance(addresses, tuple):
                self._workers.start(lease, addresses, gap_s)
                if gap_s:  # else nothing counts from here
                    self._frontier.started(lease)
            elif addresses is None:  # it was dropped from the cache since the lease was given
                self._workers.fail(lease, Failure(Cause.DNS_FAILED, "the address was lost before it was used"))
            else:
                self._workers.fail(lease, addresses)

    def _resolve(self, site: SiteState) -> None:
        def resolved(_host: str, _outcome: Addresses | Failure) -> None:
            self._frontier.addressed(site.id)
            self._wake.set()

        self._resolver.request(site.host, resolved)

    # ---- the tick --------------------------------------------------------------------------------------------

    def _is_tick_due(self, progressed: bool) -> bool:
        unsettled = self._frontier.unsettled
        if self._time.is_due(self._batch, unsettled) or (self._is_one_by_one and (self._batch.learnt or unsettled)):
            return True
        if progressed or not (self._batch.learnt or unsettled):
            return False
        # nothing else can be taken, here or on one of the sites, until the links of this batch are admitted
        return not self._frontier.untaken or self._until_tick_s() <= 0

    def _until_tick_s(self) -> float:
        """Seconds to the next tick, where nothing brings it forward."""
        if not self._workers.running and (self._batch.feeds or self._pages_left() == 0):
            return 0.0  # nothing can come that would go into the same tick, and nothing is asked before it
        return self._time.until_s(self._batch)

    def _store_batch(self) -> None:
        """Stores all that came since the last tick. After it a kill loses nothing of that."""
        began_s = self._clock.seconds()
        batch, self._batch = self._batch, Batch()
        visits = self._tick.store(batch, self._workers.flush(), self._feed)
        self.visits += len(visits)
        progress = self._progress(self._tick.take_notes())
        for observer in self._observers:
            observer.ticked(visits, progress)
        self._time.ended(began_s)
        self._housekeeping.bear_bugs(self._totals["bugs"])

    def _feed(self) -> None:
        """In the midst of a tick: worker processes get more to do."""
        if self._stop is None:
            self._workers.feed(self._take_ahead)

    def _look_outside(self) -> None:
        reason = self._housekeeping.look(self.progress)
        if reason is not None:
            self.stop(reason)

    # ---- the end ---------------------------------------------------------------------------------------------

    def _end(self) -> StopReason | None:
        """Why the crawl is over, or None."""
        frontier, workers = self._frontier, self._workers
        if self._limits.max_time_s is not None and self.elapsed_s >= self._limits.max_time_s:
            return StopReason.MAX_TIME
        if workers.running or workers.has_finished or self._batch.learnt or frontier.unsettled or frontier.resolving:
            return None
        owes_files = self._asks_files and frontier.has_files  # those of its last pages are still to come
        if self._limits.max_pages is not None and self._totals["pages"] >= self._limits.max_pages and not owes_files:
            return StopReason.MAX_PAGES
        if frontier.has_ready:  # what the last tick admitted is still to be taken
            return None
        if frontier.rests_long(self._politeness.max_wait_s):
            return StopReason.WAITING
        if frontier.wait_s() is not None or frontier.has_work() or self._limits.wait:
            return None
        if not frontier.counts["waiting"]:
            return StopReason.DONE
        return StopReason.MIN_DEPTH if self._min_depth else self._look_again()

    def _look_again(self) -> StopReason | None:
        """The queue says empty and the table says not: the table is right, so it is read anew, once for each progress.

        This should never happen; if it does, it must not lose pages.
        """
        if self._looked_again == self.visits:
            return StopReason.STOPPED
        self._looked_again = self.visits
        self._tick.read_queue_anew()
        return None

    async def _rest(self, progressed: bool) -> None:
        """Lets the network go on; sleeps until an answer, a site's turn, or the tick."""
        if progressed or self._workers.has_finished:
            await asyncio.sleep(0)
            return
        wait_s = self._frontier.wait_s()
        await self._sleep(min(self._until_tick_s(), TICK_S if wait_s is None else wait_s) + 0.001)

    async def _sleep(self, most_s: float) -> None:
        """Sleeps until something wakes the loop, so long at most."""
        self._wake.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(most_s):
                await self._wake.wait()

    async def _finish(self) -> None:
        """Lets what is under way end within the grace time, returns the rest to the queue, ticks for the last time."""
        deadline_s = self._clock.seconds() + self._limits.grace_s
        workers = self._workers
        workers.recall()
        if workers.running:
            self._store_batch()  # the grace may be long: what came before is kept, and the screen tells the rest
        while (workers.running or workers.has_finished) and not self._ends_now:
            self._turn()
            if self._clock.seconds() >= self._time.due_s(self._batch):
                self._store_batch()
            left_s = deadline_s - self._clock.seconds()
            if left_s <= 0:
                break
            if workers.running and not workers.has_finished:
                await self._sleep(min(left_s, self._until_tick_s() + 0.001))
        returned = await workers.cancel_all()
        while ended := workers.next():
            for one in ended:
                self._learn(one)
        for lease, was_asked in returned:
            if was_asked:
                self._frontier.freed(lease)
        self._frontier.give_back(lease.page for lease, _ in returned if lease.purpose.is_queued)
        self._store_batch()


def _never() -> bool:
    return False
