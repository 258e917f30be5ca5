"""The verbs between the stations, as Protocols. A station knows these and no other station.

What the loop and the tick use is grouped by who uses it, so that each is handed its own ports by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from weft.errors import Cause
from weft.records import (
    NO_FINDS,
    Concluded,
    Ended,
    Failure,
    Fetched,
    FilePosition,
    Finds,
    Lease,
    Links,
    OriginRow,
    Place,
    Rendering,
    Settled,
    Verdict,
    Visit,
)

if TYPE_CHECKING:
    from turbohtml import Document

Transaction = Callable[[], AbstractContextManager[object]]
"""All or nothing in the database of the crawl."""

Positions = Mapping[str, FilePosition]
"""WARC files, by name."""

Addresses = tuple[str, ...]
"""Addresses of one host that may be connected to; none behind a proxy."""


class Reading(msgspec.Struct, frozen=True):
    """How the stage ``parse`` reads bodies, for stages that look for more in them."""

    utf8_of: Callable[[bytes, str], bytes]  # of a body and its encoding
    document_of: Callable[[bytes, str, str], Document | None]  # of a body, its media type and its encoding
    text_of: Callable[[Document], str]  # uses the tree up


class Parent(msgspec.Struct, frozen=True, gc=False):
    """The page on which a candidate was found, as far as judging needs it."""

    url: str
    depth: int
    chain: int  # hops from page to page of the same shape (traps)


class Judge(Protocol):
    """Decides which URLs belong to the crawl. Pure but for trap budgets, which it keeps itself."""

    def judge_url(self, url: str, site_id: int, parent: Parent | None) -> Verdict:
        """For a URL that is new: asked once for each."""

    def judge_link(
        self, kind: int, rel: str, nofollow: bool, depth: int, hops: int, target: str, source: str
    ) -> Verdict:
        """For one link on the page ``source`` ("": in a sitemap): may it bring its target in?"""

    @property
    def shows_files(self) -> bool:
        """Whether files are asked for that pages show."""

    def shows(self, kind: int, rel: str, target: str) -> bool:
        """Whether a link of this kind shows a file that is asked for."""

    def is_file(self, url: str) -> bool:
        """Whether a URL is asked as a file, however it is linked."""

    def judge_shown(self, url: str) -> Verdict:
        """For a file that a page shows: may it be asked?"""

    @property
    def checks_links(self) -> bool:
        """Whether all targets of links are asked, only to learn whether they answer."""

    def judge_checked(self, url: str) -> Verdict:
        """For the target of a link that is no page and no file of the crawl: may it be asked?"""

    def is_suspect(self, site_id: int) -> bool:
        """Whether ``judge_waiting`` may refuse pages of this site. Cheap: asked at every lease."""

    def judge_waiting(self, url: str, site_id: int) -> Verdict:
        """For a page that was admitted and still waits: whether what was learnt since refuses it."""

    def chain_of(self, url: str, parent: Parent | None) -> int:
        """How many hops of the same shape lead to this URL."""


class Pass(msgspec.Struct, frozen=True):
    """The page may be asked; ``delay_s`` is what robots.txt wants between requests."""

    delay_s: float


class Ask(msgspec.Struct, frozen=True):
    """robots.txt of the origin must be asked first, with this lease."""

    lease: Lease


class Hold(msgspec.Struct, frozen=True):
    """robots.txt is being asked already."""


class Refuse(msgspec.Struct, frozen=True):
    cause: Cause
    detail: str = ""


class Answers(Protocol):
    """What others have fetched: answers in the place of the network."""

    def has(self, url: str) -> bool: ...

    def answer(self, lease: Lease) -> Fetched | Failure: ...

    def request_head(self, lease: Lease) -> bytes:
        """The request that was sent; empty where nobody knows."""


class Gate(Protocol):
    """robots.txt: stands between the queue and the lease, so that nobody can forget it."""

    def check(self, url: str, site_id: int) -> Pass | Ask | Hold | Refuse: ...


class RoomAhead(NamedTuple):
    """Where leases taken ahead are wanted."""

    place: int  # whose they will be
    site: int
    most: int


class Returned(NamedTuple):
    """A lease that no answer will end."""

    lease: Lease
    was_asked: bool


class AskAgain(msgspec.Struct, frozen=True):
    """robots.txt is not known yet: this lease next, after so many seconds of rest."""

    lease: Lease
    rest_s: float


class Learnt(msgspec.Struct, frozen=True):
    """robots.txt is known now. ``sitemaps`` are absolute URLs; ``cause`` is set where it could not be had."""

    origin: str
    delay_s: float | None
    sitemaps: tuple[str, ...]
    cause: Cause | None


# ---- what the loop and the tick use ----------------------------------------------------------------------------------


class SiteState(Protocol):
    """A site, as far as answers change it and are judged by it."""

    id: int
    host: str
    slow_answers: int  # in a row
    failures: int  # in a row

    @property
    def has_work(self) -> bool:
        """Whether it can be asked for something."""

    def answered(self, *, is_slow: bool) -> None:
        """Notes an answer: one that asks for rest, or a good one."""

    def failed(self, weight: int) -> None:
        """Notes that no answer came; a failure that nothing will mend weighs more."""


class Taken(NamedTuple):
    """What a look at the queue brought."""

    leases: Sequence[Lease]
    refused: int  # pages that were refused as their turn came
    unresolved: Sequence[SiteState]  # sites whose address is to be asked for; each is told once


class Queue(Protocol):
    """Whose turn it is, for the loop. Politeness is inside: there is no other way to a lease."""

    @property
    def counts(self) -> Mapping[str, int]:
        """How many pages are in each state, and what else is counted."""

    @property
    def untaken(self) -> int:
        """How many pages wait that no one holds."""

    @property
    def unsettled(self) -> int:
        """How many pages the next tick has to write that did not come from an answer."""

    @property
    def pages_under_way(self) -> int:
        """How many pages, files left out, were taken, and are not settled by an answer or without one."""

    @property
    def has_files(self) -> bool:
        """Whether files wait or are under way, as of the last tick."""

    @property
    def resolving(self) -> int:
        """How many sites wait for their address."""

    @property
    def has_ready(self) -> bool:
        """Whether a site may be asked for something now."""

    def take(self, most: int, most_pages: int | None = None) -> Taken:
        """Up to so many leases whose time has come, in order; ``most_pages`` of them for pages (None: no bound)."""

    def take_ahead(self, site_id: int, most: int) -> list[Lease]:
        """Up to so many leases of a site whose requests may follow each other without a pause."""

    def addressed(self, site_id: int) -> None:
        """The address of a site is known now, or its look-up failed."""

    def wait_s(self) -> float | None:
        """Seconds until something can be taken. None: nothing waits for time."""

    def rests_long(self, max_wait_s: float) -> bool:
        """Whether the next turn is farther away than that, and than the site's own delay."""

    def has_work(self) -> bool:
        """Whether anything is left that can be taken sooner or later. Asked only when all is quiet."""


class Clocks(Protocol):
    """The clocks of sites and addresses, told of their requests; for the loop."""

    def gap_s(self, site_id: int) -> float:
        """From the start of a request to a site to that of the next."""

    def started(self, lease: Lease) -> None:
        """The request goes out now: the delay counts from here."""

    def promoted(self, lease: Lease) -> None:
        """A lease taken ahead is asked now, in the place of one that is about to be freed."""

    def ended(self, lease: Lease, answer_s: float, status: int | None) -> SiteState:
        """A request was answered after so long, or has failed (no status). Gives its site."""

    def freed(self, lease: Lease) -> None:
        """A request is over, and no answer of it will come."""

    def brought_back(self, lease: Lease, *, asked: bool) -> None:
        """A lease that no answer will end: its page waits again after the next tick."""

    def give_back(self, pages: Iterable[int]) -> None:
        """Pages whose leases were never answered wait again after the next tick."""

    def rest(self, site_id: int, seconds: float) -> None:
        """No request to the site for this long."""


class Frontier(Queue, Clocks, Protocol):
    """The frontier as the loop uses it."""


class SiteQueue(Protocol):
    """Requests for a site that are no pages; for robots.txt and sitemaps."""

    def site_id_of(self, url: str) -> int:
        """The id of the site of a URL."""

    def site_request(self, lease: Lease, *, first: bool = False) -> None:
        """Joins the queue of its site, on the clock of that site."""

    def try_later(self, lease: Lease, after_s: float) -> None:
        """The same, only after so many seconds."""

    def rest(self, site_id: int, seconds: float) -> None:
        """No request to the site for this long."""

    def reads_later(self, site_id: int) -> None:
        """The sitemaps of a site wait behind its pages from now on."""

    def set_delay(self, site_id: int, delay_s: float | None) -> float:
        """Takes in the Crawl-delay of robots.txt; gives the delay that holds from now on."""

    def release(self, site_id: int) -> None:
        """robots.txt of the site is known now."""

    def refused_site_requests(self) -> list[tuple[Lease, Refuse]]:
        """Sitemaps that robots.txt forbade when their turn came; each is told once."""


class Offered(NamedTuple):
    """What the links of one page led to, and the page as the queue has it."""

    url: int  # the id of the URL that was asked
    depth: int
    packed: str  # the links as they are stored; "" for none
    external: int  # links to other sites
    new: Sequence[str]  # pages of the site that these links admitted
    known: Sequence[str]  # pages of the site that were known before


class Admissions(Protocol):
    """How leases ended, and which links are admitted, inside the transaction of a tick."""

    def load(self, *, killed: bool, limits_changed: bool) -> None:
        """Reads the queue from its table."""

    def settle(self, batch: Iterable[Settled]) -> None:
        """Writes how leases of pages ended."""

    def prefetch_links(self, pages: Iterable[Links]) -> None:
        """Looks the links of all pages of the tick up at once."""

    def offer_page(self, page: int, visit: int, links: Links, nofollow: bool, is_duplicate: bool) -> Offered:
        """The links of a page as they are stored; those that belong to the crawl are admitted."""

    def offer_sitemap(self, visit: int, entries: Sequence[tuple[str, str]]) -> str:
        """The same for the entries (URL, date) of a sitemap."""

    def name(self, url: str) -> int:
        """The id of the text of a URL that need not be a page."""

    def finish_offers(self) -> None:
        """Admits seeds that settling has brought, and follows pages that came nearer."""

    def flush(self) -> None:
        """Writes all that is new. Ends the tick."""

    def committed(self) -> None:
        """After the commit: admitted pages join the queues of their sites."""


class AnswerJudge(Protocol):
    """What the judge learns from answers."""

    def seed_redirects_to(self, url: str, source: str) -> None:
        """A seed may lead to its real host: example.org to www.example.org."""

    def fetched(self, url: str, site_id: int, known_body: int | None) -> None:
        """A body came; ``known_body`` is its hash, where it was met before."""

    def linked(self, url: str, site_id: int, depth: int, new: Sequence[str], known: Sequence[str]) -> None:
        """The links of a page were offered."""


class SitemapJudge(Protocol):
    """Which sitemaps belong to the crawl."""

    def is_askable(self, url: str) -> bool:
        """Whether anything may be asked there."""

    def covers(self, url: str) -> bool:
        """Whether a URL lies inside the scope."""

    def has_pages(self, origin: str) -> bool:
        """Whether pages may belong to the crawl there, and not only files that other pages show."""

    def admits_from_sitemap(self, url: str) -> bool:
        """Whether an entry of this sitemap could belong to the crawl."""


class DuplicateJudge(Protocol):
    """Whose links are not followed, because their page is a duplicate."""

    def begin(self) -> None:
        """A new tick: what the last one brought is stored."""

    def is_duplicate(
        self, page: int, visit: int, body: tuple[int, int | None, str | None] | None, sketch: bytes
    ) -> bool:
        """``visit`` is the attempt that brought the body: its hash, size and digest."""


class Resolve(Protocol):
    """Addresses of hosts that may be connected to."""

    def cached(self, host: str) -> Addresses | Failure | None:
        """What is known at this moment; None: nothing."""

    def request(self, host: str, callback: Callable[[str, Addresses | Failure], None]) -> None:
        """Asks; the answer may come at once."""


class CookieStore(Protocol):
    """Cookies with the origin that they belong to."""

    def store(self, url: str, set_cookie_values: Iterable[str], now: float) -> None:
        """Takes in the values of Set-Cookie of an answer."""

    def dump(self) -> Sequence[tuple[str, str, str, str | None, float | None]]:
        """What changed since the last call: origin, path, name, value (None: it is gone), and until when it holds."""


class JudgeState(Protocol):
    """What the judge has learnt and the next run has to know."""

    def dump(self) -> Iterable[tuple[str, int | bytes]]:
        """The budgets of traps that changed since the last call."""

    def new_sites(self) -> list[str]:
        """The sites that joined the scope since the last call."""


class SeedQueue(Protocol):
    """The queue, for start addresses that come while a crawl runs."""

    def add_seeds(self, seeds: Sequence[tuple[str, str, str | None]]) -> int:
        """Admits them (URL, source, fallback), after the scope grew by them; how many were new."""

    def flush(self) -> None:
        """Writes all that is new."""

    def committed(self) -> None:
        """After the commit: admitted pages join the queues of their sites."""


class RobotsFiles(Protocol):
    """robots.txt of each origin, as its answers tell it."""

    def waiting_site(self, origin: str) -> int:
        """The site whose pages wait for this origin's robots.txt."""

    def answered(
        self, lease: Lease, answer: Fetched | Failure, site_of_url: Callable[[str], int | None]
    ) -> AskAgain | Learnt:
        """What an answer for robots.txt means. ``site_of_url``: None for a URL that nobody may ask."""

    def give_up(self, origin: str, site_id: int, cause: Cause) -> None:
        """The origin does not answer: its pages are refused for this cause for a while."""

    def flush(self) -> None:
        """Writes what was learnt, inside a transaction."""


class SitemapFiles(Protocol):
    """Which sitemap files are still to be read."""

    def add(self, url: str, site: int, parent: int | None) -> Lease | None:
        """The lease for a sitemap that is new; None where it is known, too deep, or one too many."""

    def put_off(self, lease: Lease) -> None:
        """Leaves a sitemap that is new to a later run."""

    def again(self, lease: Lease) -> Lease:
        """The lease for the next attempt."""

    def end(self, lease: Lease, cause: str | None, entries: int) -> None:
        """The file was read, or could not be."""

    def flush(self, name: Callable[[str], int]) -> None:
        """Writes what is new, inside a transaction; ``name`` gives the id of a URL's text."""


class Store(Protocol):
    """The write side of visits, their links and the places of their bodies."""

    @property
    def totals(self) -> dict[str, int]:
        """Pages, links, items, bytes and bugs of all runs."""

    def next_visit(self) -> int:
        """The id of the next visit."""

    def warc_id(self, file: str) -> int:
        """The id of a WARC file."""

    def body_seen(self, body_hash: int) -> bool:
        """Whether a body with this hash was met before; it has been from now on."""

    def write(
        self,
        visits: Sequence[Visit],
        packs: Sequence[tuple[int, str]],
        positions: Positions,
        finds: Finds = NO_FINDS,
    ) -> None:
        """All of one tick, inside its transaction."""

    def bug(self, at_ms: int, url: str, traceback: str) -> None:
        """A bug that was met on a page."""


class Browser(Protocol):
    """What renders pages, beside the process that asks for them."""

    def pids(self) -> list[int]:
        """Its processes."""

    def learn(self, url: str, answer: Fetched, rendering: Rendering | None) -> None:
        """An answer was read; ``rendering``: what came of rendering it, if it was rendered."""


class Archive(Protocol):
    """Where answers are kept."""

    def keep(self, done: Concluded, answer: Fetched | Failure) -> Place:
        """Puts an answer into the archive's buffer; where its record lies."""

    def keep_rendered(self, done: Concluded, html: str) -> Place:
        """Puts a page as its scripts left it into the archive's buffer; where its record lies."""

    def flush(self) -> None:
        """What was kept so far is the operating system's."""

    def positions(self) -> Positions:
        """The WARC files."""

    def close(self) -> None:
        """The last file is closed. A second call does nothing."""


class Origins(Protocol):
    """robots.txt of all origins, as it is stored."""

    def find(self, origin: str) -> OriginRow | None:
        """The row of an origin; None where there is none."""

    def write(self, rows: Sequence[OriginRow]) -> None:
        """Writes rows, inside a transaction."""


class Workers(Protocol):
    """Those who ask, read and archive, in this process or in others. Each lease started comes back exactly once."""

    def on_finished(self, wake: Callable[[], None]) -> None:
        """``wake`` is called when ``next`` has something to give."""

    @property
    def running(self) -> int:
        """How many leases are under way."""

    @property
    def takes_ahead(self) -> bool:
        """Whether leases taken ahead are of use."""

    @property
    def has_finished(self) -> bool:
        """Whether ``next`` has something to give."""

    def free(self, workers: int) -> int:
        """How many more leases may be started, were so many allowed at once."""

    def start(self, lease: Lease, addresses: Sequence[str], gap_s: float) -> None:
        """Begins one request, at addresses that may be connected to, of a site whose requests are so far apart."""

    def room_ahead(self, untaken: int) -> Iterable[RoomAhead]:
        """Where leases taken ahead are wanted, while so many pages wait."""

    def start_ahead(self, place: int, lease: Lease, addresses: Sequence[str]) -> None:
        """Begins a request as soon as one of the same site ends there, whose ``successor`` it then is."""

    def feed(self, take_ahead: Callable[[], None]) -> None:
        """In the midst of a tick: hears those who ask elsewhere, has leases taken ahead for them, and sends these."""

    def fail(self, lease: Lease, failure: Failure) -> None:
        """Ends a lease that could not even be started; it comes back like the others."""

    def next(self) -> list[Ended]:
        """A few leases that ended and belong together: no tick may come between them. Empty: none has."""

    def brought_back(self) -> list[Returned]:
        """The leases of those who are gone."""

    def recall(self) -> None:
        """Has all leases brought back that were taken ahead."""

    async def cancel_all(self) -> list[Returned]:
        """Ends everything at once; these leases will not come back. What had ended before is still to be taken."""

    def flush(self) -> Positions:
        """The WARC files as they are on disk, with at least all that came back."""

    def pids(self) -> list[int]:
        """The processes beside this one."""

    async def close(self) -> Positions:
        """Closes the archive; its files, as ``flush`` gives them."""


Progress = Callable[[str, int, int], None]
"""Is told what is being done, how far it is, and of how much (0: nobody knows)."""


def silent(what: str, done: int, total: int) -> None:
    """Progress that nobody sees."""
