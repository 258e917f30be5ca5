"""The durable frontier: three verbs, ``offer``, ``take``, ``settle``, on the tables ``url``, ``page`` and ``site``.

A page is in exactly one state, moved by UPDATE (E1). All writing happens inside the caller's transaction, the
tick; ``take`` only reads. RAM holds some of the sites that have work and the heads of their queues, never the queue.
Depth is the least distance known: when it falls after the page was fetched, its stored links are offered again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from weft.clock import Clock
from weft.frontier import recovery
from weft.frontier.budgets import Budgets, FileBudget
from weft.frontier.discovery import Discovery
from weft.frontier.given import Memory, Policies, Queues
from weft.frontier.heads import Heads
from weft.frontier.known import KnownUrls
from weft.frontier.leases import AddressOf, Leases
from weft.frontier.pages import NO_PAGES
from weft.frontier.polite import Schedule, Site
from weft.frontier.settling import Settling
from weft.frontier.sites import Sites
from weft.ports import Offered, Refuse, Taken
from weft.records import Lease, Links, Settled
from weft.spec import CrawlSpec
from weft.url import site_of

if TYPE_CHECKING:
    from weft.frontier.order.interface import Order
    from weft.frontier.ordering import Ordering

COUNTERS = (
    "known", "refused", "waiting", "running", "completed", "errors", "broken", "forbidden", "hosts", "asked",
)  # fmt: skip


class SqlFrontier:
    """See the module. One instance per crawl folder, under the folder's lock.

    It puts the parts of the frontier together, and gives their verbs to the loop (``Queue``, ``Clocks``), to the tick
    (``Admissions``) and to site requests (``SiteQueue``).
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
        self.known = known = KnownUrls(connection, self.counts, memory)
        self.discovery = discovery = Discovery(connection, spec, policies, clock, schedule, self.counts, known)
        self.in_flight = discovery.in_flight
        self._sites = sites = Sites(
            connection, schedule, clock, spec, policies.paces, known.site_names.of_new, in_ram=memory.sites_in_ram
        )
        self._budgets = budgets = Budgets(connection, spec.limits, clock, self.counts)
        self._heads = heads = Heads(connection, discovery, schedule, sites, clock, budgets.is_cut, spec.scope.min_depth)
        queues = Queues(sites, heads, budgets, FileBudget(connection, spec.files.max_files))
        self._settling = settling = Settling(connection, discovery, schedule, queues, clock, self.counts)
        self._ordering = None if policies.order is None else self._ordered(policies.order)
        self._leases = Leases(spec.politeness, policies, schedule, queues, settling, clock, address_of)

    def _ordered(self, order: Order) -> Ordering:
        from weft.frontier.ordering import Ordering

        ordering = Ordering(self._db, self.discovery, self._heads, order)
        self.discovery.tell_links = ordering.linked
        self.schedule.fill = self._heads.fill
        return ordering

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
        if self._ordering is not None:
            self._ordering.load()

    def recount_states(self) -> None:
        """Counts the table once, after something outside the tick changed it."""
        recovery.recount_states(self._db, self.counts)

    def retry_failed(self) -> int:
        """Puts back what failed for a passing reason (E4); how many those were."""
        return recovery.retry_failed(self._db, self.counts)

    def ask_all_again(self) -> None:
        """Puts every page that was asked back into the queue: each is asked once more, conditionally (T9)."""
        recovery.ask_all_again(self._db)
        self.recount_states()

    def ask_conditionally(self) -> None:
        """From now on, pages of which an answer is stored are asked for what changed."""
        self._leases.validators_of = partial(recovery.validators_of, self._db)

    # ---- leases ----------------------------------------------------------------------------------------------

    def take(self, most: int, most_pages: int | None = None) -> Taken:
        """Up to so many leases whose time has come, in order; ``most_pages`` of them for pages (None: no bound)."""
        unsettled = self.unsettled
        leases = self._leases.take(most, most_pages)
        unresolved, self._leases.unresolved = self._leases.unresolved, []
        return Taken(leases, self.unsettled - unsettled, unresolved)

    def take_ahead(self, site_id: int, most: int) -> list[Lease]:
        """Up to so many leases of a site whose requests may follow each other without a pause."""
        return self._leases.take_ahead(site_id, most)

    def addressed(self, site_id: int) -> None:
        """The address of a site is known now, or its look-up failed."""
        self._leases.addressed(self._sites.get(site_id))

    def wait_s(self) -> float | None:
        """Seconds until something can be taken. None: nothing waits for time."""
        return self._leases.wait_s()

    def rests_long(self, max_wait_s: float) -> bool:
        """Whether the next turn is farther away than ``max_wait_s``, and than the site's own delay."""
        return self._leases.rests_long(max_wait_s)

    # ---- their requests --------------------------------------------------------------------------------------

    def gap_s(self, site_id: int) -> float:
        """From the start of a request to a site to that of the next."""
        return self._sites.get(site_id).gap_s

    def started(self, lease: Lease) -> None:
        """The request goes out now: the delay counts from here."""
        self._leases.started(lease)

    def promoted(self, lease: Lease) -> None:
        """A lease taken ahead is asked now, in the place of one that is about to be freed."""
        self._leases.promoted(lease)

    def ended(self, lease: Lease, answer_s: float, status: int | None) -> Site:
        """A request was answered after so long, or has failed (no status). Gives its site."""
        return self._leases.ended(lease, answer_s, status)

    def freed(self, lease: Lease) -> None:
        """A request is over, and no answer of it will come."""
        self._leases.freed(lease)

    def rest(self, site_id: int, seconds: float) -> None:
        """No request to the site for this long."""
        self.schedule.rest(self._sites.get(site_id), seconds, self._clock.seconds())

    # ---- requests for sites, not for pages -------------------------------------------------------------------

    def site_id_of(self, url: str) -> int:
        """The id of the site of a URL."""
        return self.known.site_names.id_of(site_of(url))

    def site_request(self, lease: Lease, *, first: bool = False) -> None:
        """A request for robots.txt or a sitemap, in the queue of its site and on the clock of that site."""
        site = self._sites.get(self.site_id_of(lease.url))
        site.site_requests.appendleft(lease) if first else site.site_requests.append(lease)
        self.schedule.place(site, self._clock.seconds())

    def try_later(self, lease: Lease, after_s: float) -> None:
        """The same, only after so many seconds."""
        self._leases.try_later(lease, after_s)

    def reads_later(self, site_id: int) -> None:
        """The sitemaps of a site wait behind its pages from now on."""
        self._sites.get(site_id).reads_later = True

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

    def release(self, site_id: int) -> None:
        """robots.txt of the site is known now."""
        site = self._sites.get(site_id)
        site.robots_pending = False
        self.schedule.place(site, self._clock.seconds())

    def refused_site_requests(self) -> list[tuple[Lease, Refuse]]:
        """Sitemaps that robots.txt forbade when their turn came; each is told once."""
        refused, self._leases.refused_site_requests = self._leases.refused_site_requests, []
        return refused

    # ---- what nobody will answer -----------------------------------------------------------------------------

    def brought_back(self, lease: Lease, *, asked: bool) -> None:
        """A lease that no answer will end, because those who had it are gone: it waits again after the next tick."""
        if asked:
            self.freed(lease)
        else:
            self.schedule.sites[lease.site].ahead -= 1
        if lease.purpose.is_queued:
            self._settling.brought_back.append(lease.page)
        else:
            self.site_request(lease, first=True)

    def give_back(self, pages: Iterable[int]) -> None:
        """Leases that were never answered: their pages wait again after the next tick."""
        self._settling.given_back.extend(pages)

    # ---- how much is left ------------------------------------------------------------------------------------

    @property
    def resolving(self) -> int:
        """How many sites wait for their address."""
        return self._leases.resolving

    @property
    def has_ready(self) -> bool:
        """Whether a site may be asked for something now."""
        return self.schedule.has_ready

    @property
    def pages_under_way(self) -> int:
        """How many pages, files left out, were taken, and are not settled by an answer or without one."""
        settled = [*(page for page, _ in self._settling.refused), *self._settling.brought_back]
        flights = self.in_flight
        return sum(not one.is_file for one in flights.values()) - sum(not flights[page].is_file for page in settled)

    @property
    def has_files(self) -> bool:
        """Whether files, or targets to check, wait or are under way, as of the last tick."""
        return self._db.execute(_FILES_LEFT).fetchone() is not None

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

    def settle(self, batch: Iterable[Settled]) -> None:
        """Writes how leases of pages ended."""
        self._settling.settle(batch)

    def prefetch_links(self, pages: Iterable[Links]) -> None:
        """Looks the links of all pages of the tick up at once."""
        self.known.prefetch_links(pages)

    def offer_page(self, page: int, visit: int, links: Links, nofollow: bool, is_duplicate: bool) -> Offered:
        """The links of a page as they are stored; those that belong to the crawl are admitted."""
        flight = self.in_flight[page]
        packed, found = self.discovery.offer(flight, visit, links, nofollow, is_duplicate)
        if self._ordering is not None and not flight.is_file:
            self._ordering.read(page, is_final=page not in self._settling.waiting_again)
        return Offered(flight.url_id, flight.depth, packed, found.external, found.new, found.known)

    def offer_sitemap(self, visit: int, entries: Sequence[tuple[str, str]]) -> str:
        """The same for the entries (URL, date) of a sitemap."""
        self.known.prefetch(url for url, _ in entries)
        return self.discovery.offer_sitemap(visit, entries)

    def name(self, url: str) -> int:
        """The id of the text of a URL that need not be a page."""
        return self.known.name(url)

    def mention(self, links: Links, source: str) -> tuple[str, int]:
        """The links of a document that was read after the crawl, as they are stored; how many lead to other sites."""
        return self.discovery.mention(links, source)

    def finish_offers(self) -> None:
        """Admits seeds that settling has brought, and follows pages that came nearer."""
        for url, source in self._settling.later_seeds:
            self.discovery.seed(url, source)
        self._settling.later_seeds.clear()
        self.discovery.offer_again()

    def add_seeds(self, seeds: Sequence[tuple[str, str, str | None]]) -> int:
        """Admits more start addresses (URL, source, fallback), after the scope grew by them; how many were new."""
        self.discovery.let_in()
        return sum(self.discovery.seed(url, source, fallback) for url, source, fallback in seeds)

    def close(self) -> None:
        """Writes what only the end of a run writes, inside a transaction."""
        self.known.close()

    def flush(self) -> None:
        """Writes all that is new, marks what is under way as R, lets the settled pages go. Ends the tick."""
        self._settling.mark_running()
        if self._ordering is not None:
            self._ordering.flush()
        self.known.flush()
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
        self.known.committed()
        if self._ordering is not None:
            self._ordering.committed()
            self.schedule.rerank(now)
        self._budgets.committed()
        self._sites.let_go(now)
        if self._sites.retries_ms is not None:
            self._heads.look_for_retries(self._sites.retries_ms)
            self._sites.retries_ms = None

    def shed(self) -> None:
        """Between two ticks: gives back the memory of caches, its own and the database's."""
        self.discovery.shed()
        self.known.shed()
        self._db.execute("PRAGMA shrink_memory")


_FILES_LEFT = " UNION ALL ".join(  # each by its own index
    f"SELECT 1 FROM page WHERE role = {role} AND state IN ('W', 'R')" for role in sorted(NO_PAGES)
)
