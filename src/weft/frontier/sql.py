"""The durable frontier: three verbs, ``offer``, ``take``, ``settle``, on the tables ``url``, ``page`` and ``site``.

A page is in exactly one state, moved by UPDATE (E1). All writing happens inside the caller's transaction, the
tick; ``take`` only reads. RAM holds some of the sites that have work and the heads of their queues, never the queue.
Depth is the least distance known: when it falls after the page was fetched, its stored links are offered again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from weft.clock import Clock
from weft.frontier import recovery
from weft.frontier.budgets import Budgets
from weft.frontier.discovery import Discovery
from weft.frontier.given import Memory, Policies, Queues
from weft.frontier.heads import Heads
from weft.frontier.leases import AddressOf, Leases
from weft.frontier.polite import Schedule, Site
from weft.frontier.settling import Settling
from weft.frontier.sites import Sites
from weft.records import PAGE, Lease
from weft.spec import CrawlSpec
from weft.url import site_of

COUNTERS = (
    "known", "refused", "waiting", "running", "completed", "errors", "broken", "forbidden", "hosts", "asked",
)  # fmt: skip


class SqlFrontier:
    """See the module. One instance per crawl folder, under the folder's lock.

    ``offer`` is a verb of ``discovery``. The verbs of ``Leases`` and ``Settling`` that are asked for every page are
    given on as they are, without a call in between.
    """

    def __init__(
        self, connection: sqlite3.Connection, spec: CrawlSpec, policies: Policies, schedule: Schedule, clock: Clock,
        address_of: AddressOf, memory: Memory,
    ) -> None:  # fmt: skip
        self._db = connection
        self._clock = clock
        self._paces = policies.paces
        self._max_depth = spec.scope.max_depth
        self.schedule = schedule
        self.counts = recovery.stored_counts(connection, COUNTERS)
        self.discovery = discovery = Discovery(connection, spec, policies, clock, schedule, self.counts, memory)
        self.in_flight = discovery.in_flight
        self._sites = sites = Sites(
            connection, schedule, clock, spec, policies.paces, discovery.site_names.of_new, in_ram=memory.sites_in_ram
        )
        self._budgets = budgets = Budgets(connection, spec.limits, clock, self.counts)
        self._heads = heads = Heads(
            connection, discovery, schedule, sites, clock, budgets.cut_sites, spec.scope.min_depth
        )
        queues = Queues(sites, heads, budgets)
        self._settling = settling = Settling(connection, discovery, schedule, queues, clock, self.counts)
        self._leases = leases = Leases(spec.politeness, policies, schedule, queues, settling, clock, address_of)
        self.take, self.take_ahead, self.try_later = leases.take, leases.take_ahead, leases.try_later
        self.started, self.promoted = leases.started, leases.promoted
        self.ended, self.freed = leases.ended, leases.freed
        self.addressed, self.unresolved = leases.addressed, leases.unresolved
        self.wait_s, self.rests_long = leases.wait_s, leases.rests_long
        self.settle = settling.settle
        self.refused_site_requests, self.later_seeds = leases.refused_site_requests, settling.later_seeds

    # ---- start -----------------------------------------------------------------------------------------------

    def load(self, *, killed: bool, limits_changed: bool) -> None:
        """Takes up what an earlier run left, inside a transaction: every R becomes W, new limits are applied.

        What waits is not looked at here: however much it is, the first page can be asked at once.
        """
        recovery.return_running(self._db, self.counts)
        if limits_changed:
            recovery.lift_limits(self._db, self.counts, self._paces, self._max_depth)
        self._sites.begin(killed=killed)
        self._heads.retry_ms = self._clock.epoch_ms()

    def recount_states(self) -> None:
        """Counts the table once, after something outside the tick changed it."""
        recovery.recount_states(self._db, self.counts)

    def retry_failed(self) -> int:
        """Puts back what failed for a passing reason (E4); how many those were."""
        return recovery.retry_failed(self._db, self.counts)

    # ---- sites -----------------------------------------------------------------------------------------------

    def site(self, site_id: int) -> Site:
        """The site, brought to RAM where it is not there."""
        return self._sites.get(site_id)

    def set_delay(self, site_id: int, delay_s: float | None) -> float:
        """Takes in the Crawl-delay of robots.txt; gives the delay that holds from now on."""
        site = self._sites.get(site_id)
        wanted = self._sites.delay_s(site.name, delay_s)
        if wanted > site.delay_s:
            site.next_at += wanted - site.delay_s
            self.schedule.changed.add(site)
        site.delay_s = wanted
        site.reads_later = site.reads_later or self._sites.saves_requests(site.name, delay_s)
        return wanted

    def site_request(self, site_name: str, lease: Lease, *, first: bool = False) -> None:
        """A request the crawl needs for itself, in the site's own queue and on the site's own clock."""
        site = self._sites.get(self.discovery.site_names.id_of(site_name))
        site.site_requests.appendleft(lease) if first else site.site_requests.append(lease)
        self.schedule.place(site, self._clock.seconds())

    def release(self, site_id: int) -> None:
        """robots.txt of the site is known now."""
        site = self._sites.get(site_id)
        site.robots_pending = False
        self.schedule.place(site, self._clock.seconds())

    # ---- what nobody will answer -----------------------------------------------------------------------------

    def brought_back(self, lease: Lease, *, asked: bool) -> None:
        """A lease that no answer will end, because those who had it are gone: it waits again after the next tick."""
        if asked:
            self.freed(lease)
        else:
            self.schedule.sites[lease.site].ahead -= 1
        if lease.purpose is PAGE:
            self._settling.brought_back.append(lease.page)
        else:
            self.site_request(site_of(lease.url), lease, first=True)

    def give_back(self, pages: Iterable[int]) -> None:
        """Leases that were never answered: their pages wait again after the next tick."""
        self._settling.given_back.extend(pages)

    # ---- how much is left ------------------------------------------------------------------------------------

    @property
    def resolving(self) -> int:
        """How many sites wait for their address."""
        return self._leases.resolving

    @property
    def unsettled(self) -> int:
        """How many pages the next tick has to write that did not come from an answer."""
        return len(self._settling.refused) + len(self._settling.brought_back)

    @property
    def untaken(self) -> int:
        """How many pages wait that no one holds; if none, only the links of the present batch can bring more."""
        return max(0, self.counts["waiting"] - self._settling.unstored)

    def has_work(self) -> bool:
        """Whether anything is left that can be taken sooner or later. Asked only when all is quiet."""
        if self._sites.on_disk or self._budgets.cut_sites:
            return True
        return any(s.has_work or s.robots_pending or s.resolving for s in self.schedule.sites.values())

    # ---- the tick --------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Writes all that is new, marks what is under way as R, lets the settled pages go. Ends the tick."""
        self._settling.mark_running()
        self.discovery.flush()
        self._budgets.set_aside()
        self._sites.store()
        self.counts["asked"] += self._sites.newly_asked
        self._sites.newly_asked = 0
        self._db.executemany("INSERT OR REPLACE INTO counter VALUES(?, ?)", list(self.counts.items()))

    def committed(self) -> None:
        """After the commit: admitted pages join the heads of their sites, idle sites leave RAM."""
        now = self._clock.seconds()
        self._heads.join(self.discovery.admitted, self.discovery.moved, now)
        self.discovery.committed()
        self._budgets.committed()
        self._sites.let_go(now)
        if self._sites.retries_ms is not None:
            self._heads.look_for_retries(self._sites.retries_ms)
            self._sites.retries_ms = None

    def shed(self) -> None:
        """Between two ticks: gives back the memory of caches, its own and the database's."""
        self.discovery.shed()
        self._db.execute("PRAGMA shrink_memory")
