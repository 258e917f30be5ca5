"""The loop: take, fetch, conclude, store, settle. It reads in one sitting; the parts are handed in.

The tick is the unit of everything: at most a second (one page with ``--workers 1``), it ends in WARC bytes
flushed and one transaction with the visits, their links, the states, and the offsets of the WARC files. What is not
committed is asked again after a kill, so a tick comes soon after the first visit, as long as ticks take little time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from weft.crawl.conclude import PASSING_STATUSES, Concluded, back_off
from weft.crawl.site_requests import SiteRequests
from weft.errors import POLICIES, STALLS_MAX, BugError, Cause
from weft.frontier.settling import Settled
from weft.records import PAGE, Ending, Failure, Lease, Progress, Purpose, StopReason
from weft.text.human import command
from weft.url import host_of, origin_of

if TYPE_CHECKING:
    from weft.crawl.build import Parts
    from weft.frontier.polite import Site

TICK_S = 1.0
EARLY_TICK_S = 0.05  # after the first visit that is not committed: a kill then loses few
TICK_SHARE = 0.1  # of the time that ticks may take for being early: many small ones cost more than a large one
IDLE_TICK_S = 0.1  # when nothing is to be done and the batch may bring work for a site that has none
TICK_REFUSALS = 10_000  # what waits may be refused a million pages at once: no more of them are held in RAM
TICK_VISITS = 256  # a fast site gives thousands in a second: what is learnt of it must not come that late
FED_EVERY = 8  # visits of a long tick, after which those who ask elsewhere get more to do
ANSWERS_A_TURN = 16
TURN_S = 0.1  # heavy pages one after the other would make us miss what servers send meanwhile
SLOW_ANSWERS_MAX = 16
GOOD_ANSWERS = 2  # in a row, until a site that sent 429 or 503 is taken for well again: one may be a cached page


class Observer(Protocol):
    """Is told of every tick after it is committed; must be quick."""

    def ticked(self, visits: list[Concluded], progress: Progress) -> None: ...


class Crawl:
    """One run over one folder. ``run`` returns why it ended; what it did is in the store."""

    def __init__(self, parts: Parts, observers: list[Observer]) -> None:
        self.parts = parts
        self._observers = observers
        self._limits = parts.spec.limits
        self._batch: list[Concluded] = []
        self._batch_pages = 0  # of the batch: leases of pages, and those that bring a stored page
        self._batch_stored = 0
        self._batch_feeds = False  # it has work for a site that has nothing else to do
        self.visits = 0
        self._looked_again = -1
        self.notes: list[str] = []  # of the tick: what whoever runs the crawl should know
        self._site_requests = SiteRequests(parts, self.notes.append)
        self._bugs: list[tuple[int, str, str]] = []
        self._wake = asyncio.Event()
        self._stop: StopReason | None = None
        self._started = parts.clock.seconds()
        self._last_tick = self._started
        self._spare_s = TICK_SHARE * TICK_S  # what ticks may take before they are over their share; below 0 they are
        self._batch_since = self._started  # when the first visit of the batch came
        self._ending = False
        self.held_back: Callable[[], bool] = _never
        self.is_private = False  # all start addresses are on this machine, or in a private network
        self.stopped_by = ""  # the user's stop file
        self.ending: Ending | None = None  # once it is over

    # ---- from outside ----------------------------------------------------------------------------------------

    def stop(self, reason: StopReason = StopReason.STOPPED) -> None:
        """Takes no more; what is under way may finish within the grace time. A second call ends at once."""
        self._ending = self._stop is not None
        self._stop = self._stop or reason
        self._wake.set()

    def watch_stop(self, *_progress: object) -> None:
        """Raises InterruptedError where a stop was asked for since the crawl ended: what is left can be done later."""
        if self._ending:
            raise InterruptedError

    def wake(self) -> None:
        """Something outside changed: a reader has caught up."""
        self._wake.set()

    @property
    def elapsed_s(self) -> float:
        return self.parts.clock.seconds() - self._started

    @property
    def progress(self) -> Progress:
        """How far the run is at this moment."""
        counts, totals = self.parts.frontier.counts, self.parts.store.totals
        return Progress(
            pages=totals["pages"], links=totals["links"], received_b=totals["bytes"], waiting=counts["waiting"],
            running=counts["running"], completed=counts["completed"], errors=counts["errors"] - counts["forbidden"],
            broken=counts["broken"], forbidden=counts["forbidden"], refused=counts["refused"], hosts=counts["asked"],
            requests=self.parts.workers.running, elapsed_s=self.elapsed_s, stopping=self._stop is not None,
            max_pages=self._limits.max_pages, max_time_s=self._limits.max_time_s,
            delay_s=self.parts.spec.politeness.delay_s, notes=tuple(self.notes),
        )  # fmt: skip

    # ---- the loop --------------------------------------------------------------------------------------------

    async def run(self) -> StopReason:
        self.parts.workers.on_finished(self._wake.set)
        self._read_the_outside()
        while self._stop is None:
            progressed = self._turn()
            if self._tick_due(progressed):
                self.tick()
                self._read_the_outside()
                progressed = True
            if self._stop is None:
                self._stop = self._end()
            if self._stop is None:
                await self._rest(progressed)
        await self._finish()
        return self._stop

    def _turn(self) -> bool:
        """Concludes a few answers, then fills the free slots, so that the network never waits for the parser."""
        concluded = 0
        until_s = self.parts.clock.seconds() + TURN_S
        workers = self.parts.workers
        for lease, asked in workers.brought_back():
            self.parts.frontier.brought_back(lease, asked=asked)
            self._batch_feeds = True  # its site may have nothing else until the tick lets it wait again
        while concluded < ANSWERS_A_TURN and self.parts.clock.seconds() < until_s and (ended := workers.next()):
            for done in ended:
                self._absorb(done)
            concluded += len(ended)
        taken = 0
        one_by_one = self.parts.spec.politeness.workers == 1  # the next is chosen when the links of the last are known
        if self._stop is None and not (one_by_one and self._batch):
            taken = self._take()
            self._take_ahead()
        return bool(concluded or taken)

    def _take(self) -> int:
        """How many pages left the queue: those that are asked for now, and those that were refused."""
        free = 0 if self.held_back() else self.parts.free_slots()
        left = self._pages_left()
        if left is not None:
            free = min(free, left)
        if free <= 0:
            return 0
        frontier = self.parts.frontier
        unsettled = frontier.unsettled
        leases = frontier.take(free)
        self._start(leases)
        while frontier.unresolved:
            self._resolve(frontier.unresolved.popleft())
        return len(leases) + frontier.unsettled - unsettled

    def _take_ahead(self) -> None:
        """Gives those who ask elsewhere something for the time until the next turn."""
        if self.held_back() or self.parts.throttled:
            return
        left = self._pages_left()
        for place, site_id, most in self.parts.workers.room_ahead(self.parts.frontier.untaken):
            leases = self.parts.frontier.take_ahead(site_id, most if left is None else min(most, left))
            for lease in leases:
                addresses = self.parts.resolver.cached(host_of(lease.url))
                assert isinstance(addresses, tuple)
                self.parts.workers.start_ahead(place, lease, addresses)
            left = None if left is None else left - len(leases)

    def _pages_left(self) -> int | None:
        """How many pages may still be asked for under --max-pages; None without it."""
        if self._limits.max_pages is None:
            return None
        under_way = len(self.parts.frontier.in_flight) - self.parts.frontier.unsettled - self._batch_pages
        stored = self.parts.store.totals["pages"] + self._batch_stored
        return self._limits.max_pages - stored - under_way

    def _start(self, leases: list[Lease]) -> None:
        """Has them asked. Those of one site come in a row: what they have in common is looked up once."""
        workers, frontier = self.parts.workers, self.parts.frontier
        site_id, place, gap_s = 0, "", 0.0
        addresses: tuple[str, ...] | Failure | None = None
        for lease in leases:
            if lease.site != site_id or not lease.url.startswith(place):
                site_id, place = lease.site, f"{origin_of(lease.url)}/"
                addresses, gap_s = self.parts.resolver.cached(host_of(lease.url)), frontier.site(site_id).gap_s
            if isinstance(addresses, tuple):
                workers.start(lease, addresses, gap_s)
                if gap_s:  # else nothing counts from here
                    frontier.started(lease)
            elif addresses is None:  # it was dropped from the cache since the lease was given
                workers.fail(lease, Failure(Cause.DNS_FAILED, "the address was lost before it was used"))
            else:
                workers.fail(lease, addresses)

    def _resolve(self, site: Site) -> None:
        def resolved(_host: str, _outcome: tuple[str, ...] | Failure) -> None:
            self.parts.frontier.addressed(site)
            self._wake.set()

        self.parts.resolver.request(site.host, resolved)

    def _tick_due(self, progressed: bool) -> bool:
        unsettled = self.parts.frontier.unsettled
        if not (self._batch or unsettled):
            return self.parts.clock.seconds() - self._last_tick >= TICK_S
        if (
            len(self._batch) >= TICK_VISITS
            or unsettled >= TICK_REFUSALS
            or self.parts.spec.politeness.workers == 1
            or self.parts.clock.seconds() >= self._tick_at()
        ):
            return True
        # nothing else can be taken, here or on one of the sites, until the links of this batch are admitted
        return not progressed and (not self.parts.frontier.untaken or self._until_tick_s() <= 0)

    def _until_tick_s(self) -> float:
        """Seconds to the next tick, where nothing brings it forward."""
        # nothing can come that would go into the same tick, and nothing is asked before it
        if not self.parts.workers.running and (self._batch_feeds or self._pages_left() == 0):
            return 0.0
        at = min(self._tick_at(), self._last_tick + IDLE_TICK_S) if self._batch_feeds else self._tick_at()
        return max(0.0, at - self.parts.clock.seconds())

    def _tick_at(self) -> float:
        """When the next tick comes at the latest, whatever else there is to do."""
        latest = self._last_tick + TICK_S
        if not self._batch:
            return latest
        affordable = self._last_tick + max(0.0, -self._spare_s) / TICK_SHARE
        return min(latest, max(self._batch_since + EARLY_TICK_S, affordable))

    def _ticked(self, began: float) -> None:
        """Notes when the tick ended, and how its time stands to the share that ticks may take of the last second."""
        now, most = self.parts.clock.seconds(), TICK_SHARE * TICK_S
        left = self._spare_s + TICK_SHARE * (now - self._last_tick) - (now - began)
        self._spare_s = max(-most, min(most, left))
        self._last_tick = now

    def _end(self) -> StopReason | None:
        """Why the crawl is over, or None."""
        frontier, workers = self.parts.frontier, self.parts.workers
        if self._limits.max_time_s is not None and self.elapsed_s >= self._limits.max_time_s:
            return StopReason.MAX_TIME
        busy = workers.running or workers.has_finished or self._batch or frontier.unsettled or frontier.resolving
        if busy:
            return None
        if self._limits.max_pages is not None and self.parts.store.totals["pages"] >= self._limits.max_pages:
            return StopReason.MAX_PAGES
        if frontier.schedule.has_ready:  # what the last tick admitted is still to be taken
            return None
        if frontier.rests_long(self.parts.spec.politeness.max_wait_s) is not None:
            return StopReason.WAITING
        if frontier.wait_s() is not None or frontier.has_work():
            return None
        if self._limits.wait:
            return None
        if not frontier.counts["waiting"]:
            return StopReason.DONE
        return StopReason.MIN_DEPTH if self.parts.spec.scope.min_depth else self._look_again()

    def _look_again(self) -> StopReason | None:
        """The queue says empty and the table says not: the table is right, so it is read anew, once for each progress.

        This should never happen; if it does, it must not lose pages.
        """
        if self._looked_again == self.visits:
            return StopReason.STOPPED
        self._looked_again = self.visits
        with self.parts.database.transaction():
            self.parts.frontier.load(killed=False, limits_changed=False)
        return None

    async def _rest(self, progressed: bool) -> None:
        """Lets the network go on; sleeps until an answer, a site's turn, or the tick."""
        if progressed or self.parts.workers.has_finished:
            await asyncio.sleep(0)
            return
        wait_s = self.parts.frontier.wait_s()
        tick_s = self._until_tick_s()
        self._wake.clear()
        try:
            async with asyncio.timeout(min(tick_s, wait_s if wait_s is not None else TICK_S) + 0.001):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _finish(self) -> None:
        """Lets what is under way end within the grace time, returns the rest to the queue, ticks for the last time."""
        deadline = self.parts.clock.seconds() + self._limits.grace_s
        workers = self.parts.workers
        workers.recall()
        if workers.running:
            self.tick()  # the grace may be long: what came before it is kept, and the screen says what is waited for
        while (workers.running or workers.has_finished) and not self._ending:
            self._turn()
            if self.parts.clock.seconds() >= self._tick_at():
                self.tick()
            left_s = deadline - self.parts.clock.seconds()
            if left_s <= 0:
                break
            if workers.running and not workers.has_finished:
                self._wake.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(left_s, self._until_tick_s() + 0.001)):
                        await self._wake.wait()
        returned = await workers.cancel_all()
        while ended := workers.next():
            for done in ended:
                self._absorb(done)
        for lease, asked in returned:
            if asked:
                self.parts.frontier.freed(lease)
        self.parts.frontier.give_back(lease.page for lease, _ in returned if lease.purpose is PAGE)
        self.tick()

    # ---- conclude --------------------------------------------------------------------------------------------

    def _absorb(self, done: Concluded) -> None:
        """One lease that ended, whoever asked: what the crawl learns from it, and its place in the next tick."""
        parts, lease, visit = self.parts, done.lease, done.visit
        if done.successor is not None:
            parts.frontier.promoted(done.successor)
        self._identify(done)
        if lease.purpose is Purpose.RESOURCE:
            done.answer, done.retry_s = None, None  # the page that loads it waits for it, and nobody else
            self._queue(done)
            return
        # a page that was rendered has only now stopped to ask for things
        answer_s = (visit.response_ms or 0) / 1000 if done.rendering is None else 0.0
        site = parts.frontier.ended(lease, answer_s, visit.status)
        if visit.status in PASSING_STATUSES:
            back_off(done, self._limits, site.slow_answers)
        self._slow_down(done, site)
        if done.condemns is not None and lease.purpose is not Purpose.ROBOTS:
            self._give_up(lease, site, done.condemns)
        if lease.purpose is PAGE:
            self._page(done, site)
        elif lease.purpose is Purpose.ROBOTS:
            self._site_requests.robots(done)
        else:
            self._site_requests.sitemap(done)
        self._queue(done)

    def _identify(self, done: Concluded) -> None:
        """Gives a visit its id and those of its archive, and takes its cookies and bugs."""
        parts, visit = self.parts, done.visit
        visit.id = parts.store.next_visit()
        if done.warc:
            visit.warc = parts.store.warc_id(done.warc)
        if done.rendering is not None:
            done.rendering.visit = visit.id
            done.rendering.warc = parts.store.warc_id(done.rendering.file) if done.rendering.file else None
        if done.bug:
            self._bugs.append((parts.clock.epoch_ms(), done.lease.url, done.bug))
        if done.cookies and parts.jar is not None:
            parts.jar.store(done.lease.url, done.cookies, visit.started_ms / 1000)

    def _queue(self, done: Concluded) -> None:
        """A place in the next tick."""
        if not self._batch:
            self._batch_since = self.parts.clock.seconds()
        self._batch.append(done)

    def _slow_down(self, done: Concluded, site: Site) -> None:
        if done.slow:
            site.slow_answers = min(site.slow_answers + 1, SLOW_ANSWERS_MAX)
            site.good_answers = 0
        elif done.state == "C":
            site.failures = 0
            site.good_answers += 1
            if site.good_answers >= GOOD_ANSWERS:
                site.slow_answers = 0
        elif done.visit.cause is not None:
            policy = POLICIES[Cause(done.visit.cause)]
            if policy.condemns_origin or policy.stalls:
                site.failures += 1 if policy.retried else self._limits.retries + 1
        if done.rest_s:
            self.parts.frontier.schedule.rest(site, done.rest_s, self.parts.clock.seconds())

    def _page(self, done: Concluded, site: Site) -> None:
        lease, visit = done.lease, done.visit
        self._batch_pages += 1
        self._batch_stored += done.stored_2xx
        if not self._batch_feeds and done.links.targets and not site.has_work:
            self._batch_feeds = True
        if visit.redirect_to is not None:
            self._own_key_redirect(done)
            if lease.depth == 0:  # a seed may lead to its real host: example.org to www.example.org
                self.parts.judge.seed_redirects_to(done.links.targets[0], lease.url)
        if visit.hash is not None:
            known = visit.hash if self.parts.store.body_seen(visit.hash) else None
            self.parts.judge.fetched(lease.url, lease.site, known)

    def _give_up(self, lease: Lease, site: Site, cause: Cause) -> None:
        """Gives an origin up that has failed too often in a row, pages and sitemaps counted together."""
        bearable = STALLS_MAX if POLICIES[cause].stalls else self._limits.retries
        if site.failures > bearable:
            self.parts.rules.give_up(origin_of(lease.url), lease.site, cause)

    def _own_key_redirect(self, done: Concluded) -> None:
        """`/a` to `/a/` with the slash rule on: the same page, asked again at the other URL."""
        target, lease = done.links.targets[0], done.lease
        key = self.parts.normalizer.key
        if (
            target != lease.url
            and target.startswith("http")
            and lease.hops < self._limits.max_redirects
            and key(target) == key(lease.url)
        ):
            done.again_at = target

    # ---- the tick --------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """WARC bytes out, then one transaction. After it a kill loses nothing of this batch."""
        parts, frontier, store = self.parts, self.parts.frontier, self.parts.store
        began = parts.clock.seconds()
        batch, self._batch = self._batch, []
        entries = self._site_requests.take_entries()
        positions = parts.workers.flush()
        with parts.database.transaction():
            keeps_cookies = parts.jar is not None
            frontier.settle(_settled(done, keeps_cookies) for done in batch if done.lease.purpose is PAGE)
            packs = self._offer(batch)
            for done, found in entries:
                frontier.discovery.prefetch(url for url, _ in found)
                packed = frontier.discovery.offer_sitemap(done.visit.id, found)
                if packed:
                    packs.append((done.visit.id, packed))
                done.visit.out_links = len(found)
            for url, source in frontier.later_seeds:
                frontier.discovery.seed(url, source)
            frontier.later_seeds.clear()
            for done in batch:
                done.visit.url = done.visit.url or frontier.discovery.name(done.lease.url)
            store.totals["pages"] += self._batch_stored
            store.totals["links"] += sum([len(done.links.targets) for done in batch if done.lease.purpose is PAGE])
            store.totals["links"] += sum(len(found) for _, found in entries)
            store.totals["bytes"] += sum([done.visit.size_wire or 0 for done in batch])
            for bug in self._bugs:
                store.bug(*bug)
            self._feed()
            sketches = [(done.visit.id, done.sketch) for done in batch if done.sketch]
            renderings = [done.rendering for done in batch if done.rendering is not None]
            store.write([done.visit for done in batch], packs, positions, sketches, renderings)
            self._feed()
            frontier.discovery.offer_again()
            for lease, refusal in frontier.refused_site_requests:
                parts.sitemaps.end(lease, refusal.cause.value, 0)
            frontier.refused_site_requests.clear()
            parts.sitemaps.flush(frontier.discovery.name)
            parts.rules.flush()
            frontier.flush()
            parts.keep_small_state(self.elapsed_s)
        frontier.committed()
        self._bugs.clear()
        self._batch_pages = self._batch_stored = 0
        self._batch_feeds = False
        self.visits += len(batch)
        progress = self.progress
        for observer in self._observers:
            observer.ticked(batch, progress)
        self.notes.clear()
        self._ticked(began)
        if store.totals["bugs"] > self._limits.max_bugs:
            raise BugError(
                f"more than {self._limits.max_bugs} pages met a bug in weft;"
                f" `{command('status', parts.folder.path)}` tells where they are described"
            )

    def _offer(self, batch: list[Concluded]) -> list[tuple[int, str]]:
        """The links of each page as they are stored; what belongs to the crawl is admitted."""
        frontier = self.parts.frontier
        frontier.discovery.prefetch_links([done.links for done in batch])
        packs = []
        skips = self.parts.skips
        if skips is not None:
            skips.begin()
        for number, done in enumerate(batch, start=1):
            if number % FED_EVERY == 0:
                self._feed()
            if done.lease.purpose is not PAGE:
                continue
            flight = frontier.in_flight[done.lease.page]
            done.visit.url = flight.url_id
            skipped = skips is not None and skips.is_duplicate(done.visit, done.sketch)
            packed, found = frontier.discovery.offer(flight, done.visit.id, done.links, done.visit.nofollow, skipped)
            done.visit.external_links = found.external
            if packed:
                packs.append((done.visit.id, packed))
            if done.stored_2xx or done.links.targets:  # a redirect to a new place is a page that brings one
                self.parts.judge.linked(done.lease.url, done.lease.site, flight.depth, found.new, found.known)
        return packs

    def _feed(self) -> None:
        """In the midst of a tick: those who ask elsewhere get more to do."""
        if self._stop is None:
            self.parts.workers.feed(self._take_ahead)

    def _read_the_outside(self) -> None:
        """Once a tick: the stop file, URLs that `weft add` left, memory."""
        folder = self.parts.folder
        if folder.stop.is_file():
            folder.stop.unlink(missing_ok=True)
            self.stop()
        elif self._stop is None and self.parts.stop_file.appeared():
            self.stopped_by = str(self.parts.stop_file.path)
            self.stop()
        elif self._stop is None and self.parts.wants_to_finish(self.progress):
            self.stop(StopReason.FINISHER)
        self.parts.add_seeds()
        self.parts.watch_memory()


def _settled(done: Concluded, keeps_cookies: bool) -> Settled:
    redirects = keeps_cookies and done.visit.redirect_to is not None
    return Settled(
        done.lease, done.state, done.visit.id, Cause(done.visit.cause) if done.visit.cause else None, done.stored_2xx,
        done.retry_s, done.again_at, done.links.targets[0] if redirects else None, bool(done.cookies),
        done.visit.status,
    )  # fmt: skip


def _never() -> bool:
    return False
