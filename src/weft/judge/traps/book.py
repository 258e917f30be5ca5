"""The budgets against endless things: the rules in their order, and what a site has used of each, durable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from weft.errors import Reason
from weft.judge.traps.calendars import WALKED, Calendars
from weft.judge.traps.hosts import Hosts
from weft.judge.traps.ledger import Ledger, Row, mark_of
from weft.judge.traps.marks import HAS_QUERY, MOST_SEGMENTS, ODD, SAMPLED, WINDING, marks_of
from weft.judge.traps.repeats import Repeats
from weft.judge.traps.respelled import Respelled
from weft.judge.traps.steps import Steps
from weft.judge.traps.urls import (
    Date,
    Problem,
    date_of,
    date_of_url,
    date_within,
    path_problem,
    query_problem,
    series_of,
    shape_of,
    split_url,
)
from weft.judge.traps.variants import Variants
from weft.judge.traps.watches import Watches
from weft.ports import Parent
from weft.records import ADMITTED, Verdict
from weft.spec import Traps

WITHHELD = 500
# a page brings such links, though they are refused: what is read depth first is at these bounds nearly always
_BROUGHT = frozenset({Reason.SPELLINGS, Reason.CHAIN_TOO_LONG, Reason.PATH_TOO_DEEP, Reason.QUERY_TOO_LONG})


class TrapBook:
    """Judges new URLs by the trap rules, and keeps what the budgets of ``spec.Traps`` have used.

    ``judge`` is asked once for each new URL; ``fetched`` and ``linked`` tell what came of a page. ``dump`` gives the
    rows that changed since the last one, ``load`` takes them back; what is under watch for ENDLESS_SITE is not among
    them, and starts anew. Nothing here grows with the number of URLs.
    """

    def __init__(self, traps: Traps, now_year: int, suffix: str = "") -> None:
        """``suffix`` is the domain suffix that a crawl is about: the names right below it are domains of their own."""
        self._traps = traps
        self._suspects: set[int] = set()  # sites of which something waiting may have to be refused
        self._chains = Ledger("c", 20_000)
        self._calendars = Calendars(traps.calendar_pages, now_year, self._suspects)
        self._repeats = Repeats(traps.duplicates_only, self._suspects)
        self._watches = Watches(traps.endless_site_pages, self._suspects)
        self._hosts = Hosts(traps.hosts_per_domain, suffix)
        variants = Variants(traps)
        self._steps = Steps(traps.chain)
        self._respelled = Respelled(traps.spellings)
        ledgers: tuple[Ledger | Respelled, ...] = (
            variants.aliases, self._chains, self._steps.ledger, self._respelled, self._repeats.ledger,
            self._repeats.bodies, self._watches.endless, self._watches.pages, self._watches.behind_tokens,
            self._hosts.ledger, self._calendars.ledger, variants.mixtures, variants.sessions,
        )  # fmt: skip
        self._ledgers = {ledger.prefix: ledger for ledger in ledgers}
        self.fetched, self._learn_endless = self._repeats.fetched, self._watches.learn
        self._known_hosts = self._hosts.known
        self._calendar, self._host, self._variant = self._calendars.step, self._hosts.problem, variants.problem
        self._most_segments = traps.path_segments or MOST_SEGMENTS
        self._long = traps.chain // 16
        self._parent_url = self._parent_origin = self._parent_path = self._parent_query = self._parent_folder = ""
        self._parent_has_query = self._parent_is_folder = False
        self._parent_shape: str | None = None
        self._parent_date: Date | None = None
        self._last: tuple[str, str, int] = ("", "", 0)
        self._far_from, self._far_series, self._far_links = "", "", 0  # what the last page far down a chain led to
        self._withheld_by = ""
        self._withheld: list[str] = []  # what that page brought, and was refused

    # ---- what is asked ---------------------------------------------------------------------------------------

    def judge(self, url: str, site_id: int, parent: Parent | None) -> Verdict:
        """ADMITTED, or the first rule that refuses, in the order of ``docs/traps.md``; counts what it admits."""
        traps, marks = self._traps, marks_of(url, self._most_segments)
        origin, path, query = split_url(url)
        problem = path_problem(path, traps.path_repeats, traps.path_segments) if marks & WINDING else None
        if problem is None and query:
            problem = query_problem(query, traps.query_repeats, traps.query_b)
        far = False
        run = 0
        if parent is not None and problem is None:
            run = self._run(origin, path, query, parent)
            self._last = (url, parent.url, run)
            far = traps.chain > 0 and (run > self._long or parent.depth >= traps.chain // 2)
            if far:
                problem = self._chain(site_id, path, query, parent, run)
            if problem is None and run and traps.chain and (marks & SAMPLED or site_id in self._steps.sites):
                problem = self._steps.problem(site_id, url, parent.url, run > self._long)
            if problem is None and self._parent_date is not None:
                problem = self._calendar(site_id, path, query, self._parent_date)
        if problem is None and site_id in self._suspects:
            problem = self._standing(url, path, query, site_id)
        if problem is None and traps.hosts_per_domain and origin not in self._known_hosts:
            problem = self._host(url, origin)
        if problem is None and marks & (HAS_QUERY | ODD):
            problem = self._variant(url, path, query, site_id)
        if problem is None and traps.spellings and (marks & SAMPLED or site_id in self._respelled.sites):
            problem = self._respelled.problem(path, query, site_id)
        if problem is not None:
            if parent is not None and problem[0] in _BROUGHT:
                self._withhold(url, parent.url)
            return Verdict(*problem)
        if far and parent is not None:
            for key in self._chain_keys(site_id, path, query, parent, run):
                self._chains.add(key)
                if run > self._long:
                    self._far_links = self._far_links + 1 if parent.url == self._far_from else 1
                    self._far_from, self._far_series = parent.url, key
        return ADMITTED

    def chain_of(self, url: str, parent: Parent | None) -> int:
        """How many hops in a row led to this URL from pages of its own shape; never more than its depth."""
        if parent is None:
            return 0
        last_url, last_parent, run = self._last
        if url == last_url and parent.url == last_parent:
            return run
        return self._run(*split_url(url), parent)

    def is_suspect(self, site_id: int) -> bool:
        """Whether ``judge_waiting`` has anything to say about this site's pages. Cheap."""
        return site_id in self._suspects

    def judge_waiting(self, url: str, site_id: int) -> Verdict:
        """For a page that was admitted and still waits: whether what was learnt since refuses it."""
        if site_id not in self._suspects:
            return ADMITTED
        _, path, query = split_url(url)
        problem = self._standing(url, path, query, site_id, waiting=True)
        if problem is None and self._calendars.is_barren(site_id):
            date = date_of(path, query)
            if date is not None and date.month:
                problem = self._calendars.barren()
        return ADMITTED if problem is None else Verdict(*problem)

    def _standing(self, url: str, path: str, query: str, site_id: int, waiting: bool = False) -> Problem | None:
        """What stands against a part of a site."""
        if self._traps.endless_site_pages and site_id in self._watches.found:
            problem = self._watches.problem(url, site_id)
            if problem is not None:
                return problem
        if self._traps.duplicates_only and site_id in self._repeats.sites:
            return self._repeats.problem(path, query, site_id, waiting)
        return None

    def trust_host(self, host: str) -> None:
        """Takes out of HOSTS_PER_DOMAIN a host that the user named."""
        self._hosts.trusted.add(host)

    # ---- what is learnt --------------------------------------------------------------------------------------

    def linked(self, url: str, site_id: int, depth: int, new: Sequence[str], known: Sequence[str]) -> None:
        """Takes in the links of a page within its site: those admitted by it, and those known before.

        To be called after ``judge`` was asked about the new ones, once for each page that was parsed.
        """
        if url == self._far_from:
            self._learn_chain(site_id, is_barren=len(new) <= self._far_links)
        date = date_of_url(url) if self._traps.calendar_pages else None
        if date is not None and date.month:
            self._calendars.learn(date, site_id, new, known)
        # an archive that is read from years to months to days is a tree, but no endless one
        if self._traps.endless_site_pages and (date is None or self._calendars.counts(site_id)[0] >= WALKED):
            if url == self._withheld_by:
                new = (*new, *self._withheld)
            self._learn_endless(url, site_id, depth, new, known)

    def _withhold(self, url: str, parent: str) -> None:
        if parent != self._withheld_by:
            self._withheld_by, self._withheld = parent, []
        if len(self._withheld) < WITHHELD:
            self._withheld.append(url)

    # ---- chains ----------------------------------------------------------------------------------------------

    def _run(self, origin: str, path: str, query: str, parent: Parent) -> int:
        if parent.url != self._parent_url:
            self._parent_url = parent.url
            self._parent_origin, self._parent_path, self._parent_query = split_url(parent.url)
            self._parent_folder = self._parent_path[: self._parent_path.rfind("/") + 1]
            self._parent_has_query, self._parent_is_folder = self._parent_query != "", self._parent_path.endswith("/")
            self._parent_shape = None
            self._parent_date = date_within(self._parent_path, self._parent_query)
        if (query != "") is not self._parent_has_query:
            return 0
        if query or path[: path.rfind("/") + 1] != self._parent_folder:  # else they are files of one folder
            if path.count("/") != self._parent_path.count("/"):
                return 0
            if self._parent_shape is None:
                self._parent_shape = shape_of(self._parent_path, self._parent_query)
            if shape_of(path, query) != self._parent_shape:
                return 0
        elif path.endswith("/") is not self._parent_is_folder:
            return 0
        if origin != self._parent_origin and not _are_neighbours(origin, self._parent_origin):
            return 0
        return (parent.chain if parent.chain < parent.depth else parent.depth) + 1

    def _chain(self, site_id: int, path: str, query: str, parent: Parent, run: int) -> Problem | None:
        limit = self._traps.chain
        if run > limit:
            return Reason.CHAIN_TOO_LONG, f"{run} pages of one shape in a row (--trap-chain {limit})"
        if parent.depth >= 2 * limit:
            return Reason.CHAIN_TOO_LONG, f"{parent.depth + 1} clicks from the start (--trap-chain {limit})"
        for key in self._chain_keys(site_id, path, query, parent, run):
            if self._chains.number(key) >= 3 * limit:
                return Reason.CHAIN_TOO_LONG, f"{3 * limit} pages far down one chain (--trap-chain {limit})"
            if self._chains.number(f"{key} barren") >= limit // 16 and self._barren(site_id) >= 3 * limit:
                return Reason.CHAIN_TOO_LONG, f"{3 * limit} pages led to nothing but the next (--trap-chain {limit})"
        return None

    def _barren(self, site_id: int) -> int:
        """How many pages of a site, far down its chains, led to nothing but the next one."""
        return self._chains.number(f"{site_id} barren")

    def _learn_chain(self, site_id: int, is_barren: bool) -> None:
        """Counts a page far down a chain that led to nothing else; one that did clears its series."""
        if is_barren:
            self._chains.add(f"{site_id} barren")
            self._chains.add(f"{self._far_series} barren")
        else:
            self._chains.drop(f"{self._far_series} barren")

    def _chain_keys(self, site_id: int, path: str, query: str, parent: Parent, run: int) -> Iterator[str]:
        """What far pages are counted under: their series, and the site where they belong to no long chain.

        Lists side by side, and what hangs on their pages, have the bound of each list.
        """
        if run > self._long:
            yield f"{site_id} {mark_of(series_of(path, query, self._parent_path, self._parent_query))}"
        elif parent.depth >= self._traps.chain // 2 and parent.chain <= self._long:
            yield f"{site_id} depth"

    # ---- durable ---------------------------------------------------------------------------------------------

    def dump(self) -> Iterator[Row]:
        """The rows changed since the last dump: a key of text, a whole number or bytes; empty bytes: nothing now."""
        for ledger in self._ledgers.values():
            yield from ledger.dump()

    def load(self, rows: Iterable[tuple[str, int | bytes]]) -> None:
        """Takes back the rows of earlier dumps, before anything is judged. Rows of another version are left alone."""
        for key, value in rows:
            ledger = self._ledgers.get(key[:1])
            if ledger is not None:
                ledger.restore(key[1:], value)
        self._watches.take_up()
        self._repeats.take_up()
        self._calendars.take_up()


def _are_neighbours(origin: str, other: str) -> bool:
    """Whether two origins differ in the first label of their host only."""
    name = origin.partition(".")[2]
    return "." in name and other.partition(".")[2] == name
