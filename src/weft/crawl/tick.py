"""The tick: all that came since the last one, stored in one transaction. After it a kill loses nothing of that.

WARC bytes come first, then one transaction with the visits, their links, the states of the pages and the offsets of the
WARC files. Answers that are not committed are asked again after a kill, so a tick comes soon after the first visit, as
long as ticks take little time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from weft.clock import Clock
from weft.crawl.housekeeping import SmallState
from weft.crawl.site_requests import Entries, SiteRequests
from weft.errors import Cause
from weft.ports import Admissions, AnswerJudge, DuplicateJudge, Positions, Store, Transaction
from weft.records import NOT_MODIFIED, PAGE, Concluded, Decision, Facts, Finds, Processed, Settled, StoredVisit, Visit

TICK_S = 1.0
EARLY_TICK_S = 0.05  # after the first visit that is not committed: a kill then loses few
TICK_SHARE = 0.1  # of the time that ticks may take for being early: many small ones cost more than a large one
IDLE_TICK_S = 0.1  # when nothing is to be done and the batch may bring work for a site that has none
TICK_REFUSALS = 10_000  # what waits may be refused a million pages at once: no more of them are held in RAM
TICK_VISITS = 256  # a fast site gives thousands in a second: what is learnt of it must not come that late
FED_EVERY = 8  # visits of a long tick, after which workers get more to do


class BatchEntry(NamedTuple):
    """One lease that ended, with all that the crawl makes of it."""

    processed: Processed
    decision: Decision
    visit: int  # the id of its visit
    facts: Facts
    entries: Entries = ()  # of a sitemap


class Batch:
    """What waits for the next tick."""

    def __init__(self) -> None:
        self.learnt: list[BatchEntry] = []
        self.pages = 0  # leases of pages
        self.stored = 0  # those that bring a stored page
        self.feeds = False  # it has work for a site that has nothing else to do
        self.since_s = 0.0  # when the first of it came

    def add(self, learnt: BatchEntry, now_s: float) -> None:
        if not self.learnt:
            self.since_s = now_s
        self.learnt.append(learnt)
        if learnt.processed.done.lease.purpose is PAGE:
            self.pages += 1
            self.stored += learnt.processed.done.is_stored_2xx


class TickTime:
    """When a tick is due."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.last_s = clock.seconds()
        self._spare_s = TICK_SHARE * TICK_S  # what ticks may take before they are over their share; below 0 they are

    def due_s(self, batch: Batch) -> float:
        """When the next tick comes at the latest, whatever else there is to do."""
        latest = self.last_s + TICK_S
        if not batch.learnt:
            return latest
        affordable = self.last_s + max(0.0, -self._spare_s) / TICK_SHARE
        return min(latest, max(batch.since_s + EARLY_TICK_S, affordable))

    def is_due(self, batch: Batch, unsettled: int) -> bool:
        """Whether a tick is due, although something else could be done."""
        now_s = self._clock.seconds()
        if not (batch.learnt or unsettled):
            return now_s - self.last_s >= TICK_S
        return len(batch.learnt) >= TICK_VISITS or unsettled >= TICK_REFUSALS or now_s >= self.due_s(batch)

    def until_s(self, batch: Batch) -> float:
        """Seconds to the next tick, where nothing more is to be done until then."""
        due_s = min(self.due_s(batch), self.last_s + IDLE_TICK_S) if batch.feeds else self.due_s(batch)
        return max(0.0, due_s - self._clock.seconds())

    def ended(self, began_s: float) -> None:
        """Notes when a tick ended, and how its time stands to the share that ticks may take of the last second."""
        now_s, most = self._clock.seconds(), TICK_SHARE * TICK_S
        left_s = self._spare_s + TICK_SHARE * (now_s - self.last_s) - (now_s - began_s)
        self._spare_s = max(-most, min(most, left_s))
        self.last_s = now_s


class Tick:
    """Stores batches."""

    def __init__(
        self, transaction: Transaction, admissions: Admissions, store: Store, judge: AnswerJudge,
        duplicates: DuplicateJudge | None, site_requests: SiteRequests, state: SmallState,
    ) -> None:  # fmt: skip
        self._transaction = transaction
        self._admissions = admissions
        self._store = store
        self._judge = judge
        self._duplicates = duplicates
        self._site_requests = site_requests
        self._state = state
        self._keeps_cookies = state.keeps_cookies

    @property
    def totals(self) -> dict[str, int]:
        """Pages, links, items, bytes and bugs of all runs, as of the last tick."""
        return self._store.totals

    def take_notes(self) -> tuple[str, ...]:
        """Facts that whoever runs the crawl should know, since the last call."""
        return self._site_requests.take_notes()

    def read_queue_anew(self) -> None:
        """Takes the table of pages for right, whatever is in RAM."""
        with self._transaction():
            self._admissions.load(killed=False, limits_changed=False)

    def store(self, batch: Batch, positions: Positions, feed: Callable[[], None]) -> list[StoredVisit]:
        """Stores a batch, and gives its visits. ``feed`` is called now and then, so that workers stay busy."""
        admissions, store, learnt = self._admissions, self._store, batch.learnt
        with self._transaction():
            admissions.settle([self._settled(one) for one in learnt if one.processed.done.lease.purpose.is_queued])
            visits, packs = self._offer(learnt, feed)
            self._count(batch)
            for one in learnt:
                if one.processed.bug:
                    store.bug(one.facts.started_ms, one.processed.done.lease.url, one.processed.bug)
            feed()
            sketches = [(one.visit, one.processed.sketch) for one in learnt if one.processed.sketch]
            renderings = [(one.visit, one.processed.rendering) for one in learnt if one.processed.rendering]
            texts = [(one.visit, one.processed.text) for one in learnt if one.processed.text is not None]
            items = [
                (visit, one.processed.items) for visit, one in zip(visits, learnt, strict=True) if one.processed.items
            ]
            files = [(one.visit, file) for one in learnt if (file := one.processed.done.file) is not None]
            store.write(visits, packs, positions, Finds(sketches, texts, renderings, items, files))
            feed()
            admissions.finish_offers()
            self._site_requests.flush(admissions.name)
            admissions.flush()
            self._state.keep()
        admissions.committed()
        return [
            StoredVisit(visit, one.processed.done.state if one.decision.is_final else "W", one.processed.items)
            for visit, one in zip(visits, learnt, strict=True)
        ]

    def _settled(self, one: BatchEntry) -> Settled:
        done, facts = one.processed.done, one.facts
        is_redirect = self._keeps_cookies and facts.redirect_to is not None
        return Settled(
            lease=done.lease, state=done.state, visit=None if _is_unchanged(done) else one.visit,
            cause=Cause(facts.cause) if facts.cause else None,
            stored_2xx=done.is_stored_2xx, retry_s=one.decision.retry_s, again_at=one.decision.again_at,
            redirect_to=done.links.targets[0] if is_redirect else None, sets_cookie=bool(done.cookies),
            status=facts.status,
        )  # fmt: skip

    def _offer(
        self, learnt: Sequence[BatchEntry], feed: Callable[[], None]
    ) -> tuple[list[Visit], list[tuple[int, str]]]:
        """The visits, and the links of each as they are stored; those that belong to the crawl are admitted."""
        self._admissions.prefetch_links([one.processed.done.links for one in learnt])
        if self._duplicates is not None:
            self._duplicates.begin()
        visits: list[Visit] = []
        packs: list[tuple[int, str]] = []
        for number, one in enumerate(learnt, start=1):
            if number % FED_EVERY == 0:
                feed()
            offer = self._page if one.processed.done.lease.purpose.is_queued else self._site_request
            visit, packed = offer(one)
            visits.append(visit)
            if packed:
                packs.append((one.visit, packed))
        return visits, packs

    def _page(self, one: BatchEntry) -> tuple[Visit, str]:
        done, lease, facts = one.processed.done, one.processed.done.lease, one.facts
        offered = self._admissions.offer_page(
            lease.page, one.visit, done.links, facts.nofollow, self._is_duplicate(one)
        )  # fmt: skip
        if lease.purpose is PAGE and (
            done.is_stored_2xx or done.links.targets
        ):  # a redirect to a new place is a page that brings one
            self._judge.linked(lease.url, lease.site, offered.depth, offered.new, offered.known)
        return self._visit(one, offered.url, len(done.links.targets), offered.external), offered.packed

    def _is_duplicate(self, one: BatchEntry) -> bool:
        if self._duplicates is None or one.processed.done.lease.purpose is not PAGE:
            return False
        facts, processed = one.facts, one.processed
        body = (facts.hash, facts.size, processed.place.digest) if facts.hash is not None else None
        return self._duplicates.is_duplicate(processed.done.lease.page, one.visit, body, processed.sketch)

    def _site_request(self, one: BatchEntry) -> tuple[Visit, str]:
        packed = self._admissions.offer_sitemap(one.visit, one.entries) if one.entries else ""
        return self._visit(one, self._admissions.name(one.processed.done.lease.url), len(one.entries), 0), packed

    def _visit(self, one: BatchEntry, url: int, out_links: int, external_links: int) -> Visit:
        place = one.processed.place
        return Visit(
            id=one.visit, lease=one.processed.done.lease, url=url, facts=one.facts, out_links=out_links,
            external_links=external_links, warc=self._store.warc_id(place.file) if place.file else None, place=place,
        )  # fmt: skip

    def _count(self, batch: Batch) -> None:
        totals = self._store.totals
        totals["pages"] += batch.stored
        totals["files"] += sum([one.processed.done.file is not None for one in batch.learnt])
        totals["bytes"] += sum([one.facts.size_wire or 0 for one in batch.learnt])
        totals["links"] += sum([len(one.processed.done.links.targets) or len(one.entries) for one in batch.learnt])


def _is_unchanged(done: Concluded) -> bool:
    """Whether the server says that a page is what an earlier pass has stored of it: that visit still counts."""
    return done.facts.status == NOT_MODIFIED and done.lease.is_conditional
