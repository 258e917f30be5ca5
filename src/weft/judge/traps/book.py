"""The budgets against endless things: what a site has used of each, kept small, bounded and durable."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from math import log
from zlib import crc32

import msgspec
from xxhash import xxh3_64_digest, xxh3_64_hexdigest

from weft.errors import Reason
from weft.judge.traps.endless import OTHERS, SiteWatch
from weft.judge.traps.ledger import Ledger, Row
from weft.judge.traps.urls import (
    Date,
    Problem,
    date_of,
    date_within,
    group_of,
    is_alias,
    mixture_of,
    path_problem,
    query_problem,
    series_of,
    shape_of,
    split_url,
    without_alias,
    without_session,
)
from weft.ports import Parent
from weft.records import ADMITTED, Verdict
from weft.spec import Traps
from weft.url import domain_of, host_of

OLDEST_YEAR = 1990  # a calendar that is walked page by page goes no farther back
YEARS_AHEAD = 2
ROOT_HALVES = 5  # duplicates in a row that speak for a whole site, in halves of those for a folder
REPEATS_PER_BODY = 8  # below one place, of each body: a folder of copies has each once, what has no end goes on and on
BODIES_B = 512  # bitmap of the bodies that came again below one place
DROP_FACTOR = 2  # duplicates in a row after which even what waits is refused, as a multiple
PREFIXES = 8  # folders of a path that are watched for duplicates
VALUES_B = 512  # bitmap of the values seen in the queries of one path
VARIANTS_PER_VALUE = 8
PAIR_FACTOR = 4  # queries of two parameters have this multiple of the budget of those with more
WATCHED_SITES = 1_000
SAMPLED_SITES = 64  # sites of which URLs are watched at the same time: what costs memory
STALE = 100_000  # pages read since a site was last seen, after which its watch may end
WALKING = 3  # steps from date to date after which no calendar may leave the years of the living
WALKED = 24  # steps from date to date that make a calendar of what could be an archive
REMEMBERED_SITES = 100_000
_COUNT = (1 << 20) - 1

NAMED_SITES = 500
NAMES = 500  # of links on the calendar pages of a site, remembered to know what is new on the next one
TARGETS = 2_000
_ODD = re.compile(r"//|[;(+,|]|\.\.|%2[bBcC]|%7[cC]")


class TrapBook:
    """Judges new URLs by the trap rules, and keeps what the budgets of ``spec.Traps`` have used.

    ``judge`` is asked once for each new URL; ``fetched`` and ``linked`` tell what came of a page. ``dump`` gives the
    rows that changed since the last one, ``load`` takes them back; what is under watch for ENDLESS_SITE is not among
    them, and starts anew. Nothing here grows with the number of URLs.
    """

    def __init__(self, traps: Traps, now_year: int, suffix: str = "") -> None:
        """``suffix`` is the domain suffix that a crawl is about: the names right below it are domains of their own."""
        self._traps = traps
        self._latest_year = now_year + YEARS_AHEAD
        self._suffix = suffix
        self._aliases = Ledger("a", 20_000)
        self._chains = Ledger("c", 20_000)
        self._duplicates = Ledger("d", 20_000)
        self._endless = Ledger("e", 20_000)
        self._hosts = Ledger("h", 4_000)
        self._calendars = Ledger("l", 10_000)
        self._pages = Ledger("n", 50_000)
        self._variants = Ledger("q", 4_000)
        self._sessions = Ledger("s", 50_000)
        self._ledgers = {
            "a": self._aliases, "c": self._chains, "d": self._duplicates, "e": self._endless, "h": self._hosts,
            "l": self._calendars, "n": self._pages, "q": self._variants, "s": self._sessions,
        }  # fmt: skip
        self._watches: dict[int, tuple[int, SiteWatch]] = {}  # with the turn of its last use, the oldest first
        self._turn = 0
        self._sampling: set[int] = set()
        self._endless_parts: dict[int, tuple[frozenset[str], frozenset[str]]] = {}  # endless; told apart by name
        self._names: dict[int, set[str]] = {}  # last segments seen on the calendar pages of a site
        self._with_duplicates: set[int] = set()  # sites that have a row in the ledger
        self._suspects: set[int] = set()  # sites of which something waiting may have to be refused
        self._trusted: set[str] = set()
        self._known_hosts: set[str] = set()
        self._parent_url = self._parent_origin = self._parent_path = self._parent_query = self._parent_folder = ""
        self._parent_shape: str | None = None
        self._parent_date: Date | None = None
        self._last: tuple[str, str, int] = ("", "", 0)

    # ---- what is asked ---------------------------------------------------------------------------------------

    def judge(self, url: str, site_id: int, parent: Parent | None) -> Verdict:
        """ADMITTED, or the first rule that refuses, in the order of ``docs/traps.md``; counts what it admits."""
        traps = self._traps
        origin, path, query = split_url(url)
        problem = path_problem(path, traps.path_repeats, traps.path_segments)
        if problem is None and query:
            problem = query_problem(query, traps.query_repeats, traps.query_b)
        far = False
        run = 0
        if parent is not None and problem is None:
            run = self._run(origin, path, query, parent)
            self._last = (url, parent.url, run)
            far = traps.chain > 0 and (run > traps.chain // 16 or parent.depth >= traps.chain // 2)
            if far:
                problem = self._chain(site_id, path, query, parent, run)
            if problem is None and self._parent_date is not None:
                problem = self._calendar(site_id, path, query, self._parent_date)
        if problem is None and site_id in self._suspects:
            problem = self._standing(url, path, query, site_id)
        if problem is None and origin not in self._known_hosts:
            problem = self._host(url, origin)
        if problem is None and (query or _ODD.search(path)):
            problem = self._spelling(url, path, query, site_id)
        if problem is not None:
            return Verdict(*problem)
        if far and parent is not None:
            for key in self._chain_keys(site_id, path, query, parent, run):
                self._chains.add(key)
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
        if problem is None and self._is_barren(site_id):
            date = date_of(path, query)
            if date is not None and date.month:
                problem = self._barren_calendar()
        return ADMITTED if problem is None else Verdict(*problem)

    def trust_host(self, host: str) -> None:
        """Takes out of HOSTS_PER_DOMAIN a host that the user named."""
        self._trusted.add(host)

    # ---- what is learnt --------------------------------------------------------------------------------------

    def fetched(self, url: str, site_id: int, known_body: int | None) -> None:
        """Takes in an answer: the hash of its body if that was met before, None for a new body."""
        if not self._traps.duplicates_only or not (known_body is not None or site_id in self._with_duplicates):
            return
        _, path, query = split_url(url)
        keys = [f"{site_id} {prefix}" for prefix in _prefixes(path, query)]
        if known_body is None:
            for key in keys:
                self._duplicates.drop(key)
            return
        self._remember_duplicates(site_id)
        for key in reversed(keys):
            if self._repeats_left(key) <= 0:  # a folder above has been found out: it alone counts on
                self._count_repeat(key, known_body)
                return
        for index, key in enumerate(keys):
            self._count_repeat(key, known_body)
            if self._repeats_left(key) <= 0:
                self._suspects.add(site_id)
                explained = self._repeats(key)[0] - 1
                for above in keys[index + 1 :]:  # explained by this folder: those above it do not answer for it
                    count, bodies = self._repeats(above)
                    self._put_repeats(above, max(0, count - explained), bodies)
                return

    def _repeats(self, key: str) -> tuple[int, int]:
        """Answers in a row with bodies already known below a place, and a bitmap of these bodies."""
        row = self._duplicates.blob(key)
        return int.from_bytes(row[:4], "big"), int.from_bytes(row[4:], "big")

    def _put_repeats(self, key: str, count: int, bodies: int) -> None:
        self._duplicates.put(key, min(count, _COUNT).to_bytes(4, "big") + bodies.to_bytes(BODIES_B, "big"))

    def _count_repeat(self, key: str, body: int) -> None:
        count, bodies = self._repeats(key)
        self._put_repeats(key, count + 1, bodies | 1 << body % (BODIES_B * 8))

    def _repeats_left(self, key: str, factor: int = 1) -> int:
        """How many known bodies in a row a place may still answer with: more, the more different ones they are."""
        count, bodies = self._repeats(key)
        limit = self._traps.duplicates_only
        budget = limit * ROOT_HALVES // 2 if key.endswith(" /") else limit
        if factor * budget <= count:
            budget = max(budget, REPEATS_PER_BODY * _different(bodies))
        return factor * budget - count

    def _remember_duplicates(self, site_id: int) -> None:
        self._with_duplicates.add(site_id)
        if len(self._with_duplicates) > REMEMBERED_SITES:  # the ledger has forgotten most of them
            self._with_duplicates = {int(key.partition(" ")[0]) for key in self._duplicates} | {site_id}

    def linked(self, url: str, site_id: int, depth: int, new: Sequence[str], known: Sequence[str]) -> None:
        """Takes in the links of a page within its site: those admitted by it, and those known before.

        To be called after ``judge`` was asked about the new ones, once for each page that was parsed.
        """
        _, path, query = split_url(url)
        date = date_of(path, query) if self._traps.calendar_pages else None
        if date is not None and date.month:
            self._learn_calendar(date, site_id, new, known)
        # an archive that is read from years to months to days is a tree, but no endless one
        if self._traps.endless_site_pages and (date is None or self._calendar_counts(site_id)[0] >= WALKED):
            self._learn_endless(url, site_id, depth, new, known)

    def _learn_endless(self, url: str, site_id: int, depth: int, new: Sequence[str], known: Sequence[str]) -> None:
        pages = self._pages.add(str(site_id))
        watch = self._watch(site_id, pages)
        if watch is None:
            return
        may_sample = site_id in self._sampling or len(self._sampling) < SAMPLED_SITES
        endless = watch.page(url, depth, pages, new, known, may_sample)
        if watch.is_sampling:
            self._sampling.add(site_id)
        else:
            self._sampling.discard(site_id)
        if endless:
            before, _ = self._endless_parts.get(site_id, (frozenset(), frozenset()))
            parts = before.union(endless)
            self._endless_parts[site_id] = (parts, watch.names)
            self._endless.put(str(site_id), msgspec.json.encode((sorted(parts), sorted(watch.names))))
            self._suspects.add(site_id)

    def _watch(self, site_id: int, pages: int) -> SiteWatch | None:
        """The watch of a site, which is now the one used last; None while too many others are at work."""
        self._turn += 1
        entry = self._watches.pop(site_id, None)
        if entry is None:
            if len(self._watches) >= WATCHED_SITES:
                oldest = next(iter(self._watches))
                if self._watches[oldest][0] > self._turn - STALE:
                    return None
                del self._watches[oldest]
                self._sampling.discard(oldest)
            # what was counted before a resume does not shorten the watch
            entry = (0, SiteWatch(pages - 1, self._traps.endless_site_pages))
        self._watches[site_id] = (self._turn, entry[1])
        return entry[1]

    def _learn_calendar(self, own: Date, site_id: int, new: Sequence[str], known: Sequence[str]) -> None:
        """Counts a calendar page that led to nothing but dates, or to something that no page before it had."""
        names = self._names.get(site_id)
        if names is None:
            names = self._names[site_id] = set()
            if len(self._names) > NAMED_SITES:
                del self._names[next(iter(self._names))]
        productive = False
        deeper = False
        for targets in (known, new):
            for target in targets[:TARGETS]:
                _, target_path, target_query = split_url(target)
                date = date_of(target_path, target_query)
                if date is not None and date.month:
                    deeper = deeper or (targets is new and date != own and own.holds(date))
                    continue
                name = target[target.rfind("/", 0, len(target) - 1) + 1 :]
                if name not in names:
                    productive = True
                    if len(names) < NAMES:
                        names.add(name)
        if productive:
            self._count_calendar(site_id, productive=1)
        elif not deeper:
            self._count_calendar(site_id, barren=1)

    # ---- chains ----------------------------------------------------------------------------------------------

    def _run(self, origin: str, path: str, query: str, parent: Parent) -> int:
        if parent.url != self._parent_url:
            self._parent_url = parent.url
            self._parent_origin, self._parent_path, self._parent_query = split_url(parent.url)
            self._parent_folder = self._parent_path[: self._parent_path.rfind("/") + 1]
            self._parent_shape = None
            self._parent_date = date_within(self._parent_path, self._parent_query)
        if bool(query) is not bool(self._parent_query):
            return 0
        if query or path[: path.rfind("/") + 1] != self._parent_folder:  # else they are files of one folder
            if path.count("/") != self._parent_path.count("/"):
                return 0
            if self._parent_shape is None:
                self._parent_shape = shape_of(self._parent_path, self._parent_query)
            if shape_of(path, query) != self._parent_shape:
                return 0
        elif path.endswith("/") is not self._parent_path.endswith("/"):
            return 0
        if origin != self._parent_origin and not _are_neighbours(origin, self._parent_origin):
            return 0
        return min(parent.chain, parent.depth) + 1

    def _chain(self, site_id: int, path: str, query: str, parent: Parent, run: int) -> Problem | None:
        limit = self._traps.chain
        if run > limit:
            return Reason.CHAIN_TOO_LONG, f"{run} pages of one shape in a row (--trap-chain {limit})"
        if parent.depth >= 2 * limit:
            return Reason.CHAIN_TOO_LONG, f"{parent.depth + 1} clicks from the start (--trap-chain {limit})"
        for key in self._chain_keys(site_id, path, query, parent, run):
            if self._chains.number(key) >= 3 * limit:
                return Reason.CHAIN_TOO_LONG, f"{3 * limit} pages far down one chain (--trap-chain {limit})"
        return None

    def _chain_keys(self, site_id: int, path: str, query: str, parent: Parent, run: int) -> Iterator[str]:
        """What the far pages of a wide chain are counted under: their series, and the site."""
        if run > self._traps.chain // 16:
            yield f"{site_id} {_mark(series_of(path, query, self._parent_path, self._parent_query))}"
        if parent.depth >= self._traps.chain // 2:
            yield f"{site_id} depth"

    # ---- calendars -------------------------------------------------------------------------------------------

    def _calendar(self, site_id: int, path: str, query: str, came_from: Date) -> Problem | None:
        """Judges what one calendar page links to: into itself (a month to its days) freely, beside itself not."""
        limit = self._traps.calendar_pages
        if not limit:
            return None
        date = date_of(path, query)
        if date is None or not date.month:
            return None
        steps = self._calendar_counts(site_id)[0]
        beside = not came_from.holds(date)
        if steps >= WALKING and (date.year > self._latest_year or (date.year < OLDEST_YEAR and beside)):
            return Reason.CALENDAR, f"a calendar walked to the year {date.year} ({OLDEST_YEAR} to {self._latest_year})"
        if self._is_barren(site_id):
            return self._barren_calendar()
        if beside or steps >= WALKED:
            if steps >= limit:
                return Reason.CALENDAR, f"{limit} steps from date to date (--trap-calendar-pages {limit})"
            self._count_calendar(site_id, steps=1)
        return None

    def _is_barren(self, site_id: int) -> bool:
        limit = self._traps.calendar_pages
        if not limit or not len(self._calendars):
            return False
        _, barren, productive = self._calendar_counts(site_id)
        return barren >= limit and productive * 10 < barren

    def _barren_calendar(self) -> Problem:
        limit = self._traps.calendar_pages
        return Reason.CALENDAR, f"{limit} dates that led to nothing but dates (--trap-calendar-pages {limit})"

    def _calendar_counts(self, site_id: int) -> tuple[int, int, int]:
        packed = self._calendars.number(str(site_id))
        return packed & _COUNT, packed >> 20 & _COUNT, packed >> 40 & _COUNT

    def _count_calendar(self, site_id: int, steps: int = 0, barren: int = 0, productive: int = 0) -> None:
        old = self._calendar_counts(site_id)
        new = [min(_COUNT, a + b) for a, b in zip(old, (steps, barren, productive), strict=True)]
        self._calendars.put(str(site_id), new[0] | new[1] << 20 | new[2] << 40)
        if barren and self._is_barren(site_id):
            self._suspects.add(site_id)

    # ---- what stands against a part of a site ----------------------------------------------------------------

    def _standing(
        self, url: str, path: str, query: str, site_id: int, waiting: bool = False
    ) -> Problem | None:  # fmt: skip
        pages = self._traps.endless_site_pages
        if pages and site_id in self._endless_parts:
            parts, told_apart = self._endless_parts[site_id]
            group = group_of(url)
            if group in parts or (OTHERS in parts and group not in told_apart):
                return Reason.ENDLESS_SITE, f"this part of the site has no end (--trap-endless-site-pages {pages})"
        limit = self._traps.duplicates_only
        if limit and site_id in self._with_duplicates:
            factor = DROP_FACTOR if waiting else 1
            for prefix in _prefixes(path, query):
                if self._repeats_left(f"{site_id} {prefix}", factor) <= 0:
                    return (
                        Reason.DUPLICATES_ONLY,
                        f"only known bodies below {prefix[:80]} (--trap-duplicates-only {limit})",
                    )
        return None

    # ---- hosts -----------------------------------------------------------------------------------------------

    def _host(self, url: str, origin: str) -> Problem | None:
        limit = self._traps.hosts_per_domain
        if not limit:
            return None
        if len(self._known_hosts) >= 20_000:
            self._known_hosts.clear()  # a cache: what is true is in the ledger
        host = host_of(url)
        domain = self._domain(host)
        if host not in self._trusted and host not in (domain, f"www.{domain}"):
            hosts = self._hosts.blob(domain)
            mark = xxh3_64_digest(host.encode())
            at = hosts.find(mark)
            while at > 0 and at % len(mark):  # the end of one mark and the start of the next
                at = hosts.find(mark, at + 1)
            if at < 0:
                if len(hosts) >= 8 * limit:
                    return (
                        Reason.HOSTS_PER_DOMAIN,
                        f"{limit} hosts below {domain[:80]} (--trap-hosts-per-domain {limit})",
                    )
                self._hosts.put(domain, hosts + mark)
        self._known_hosts.add(origin)
        return None

    def _domain(self, host: str) -> str:
        if self._suffix and host.endswith(f".{self._suffix}"):
            label = host[: -len(self._suffix) - 1].rpartition(".")[2]
            return f"{label}.{self._suffix}"
        return domain_of(host)

    # ---- one page under many spellings -----------------------------------------------------------------------

    def _spelling(self, url: str, path: str, query: str, site_id: int) -> Problem | None:
        traps = self._traps
        if traps.slash_aliases and is_alias(path):
            limit = traps.slash_aliases
            page = f"{site_id} {_mark(without_alias(path))}"
            if self._aliases.number(page):  # not the first odd spelling of that page: sites exist that know no other
                if self._aliases.number(str(site_id)) >= limit:
                    return Reason.SLASH_ALIASES, f"{limit} odd spellings on this site (--trap-slash-aliases {limit})"
                self._aliases.add(str(site_id))
            else:
                self._aliases.put(page, 1)
        if traps.session_ids and (query or ";" in path or "(" in path):
            bare = without_session(url)
            if bare is not url:
                key = _mark(bare)
                limit = traps.session_ids
                if self._sessions.number(key) >= limit:
                    return Reason.SESSION_IDS, f"{limit} session ids of {bare[:200]} (--trap-session-ids {limit})"
                self._sessions.add(key)
        if traps.query_variants and "&" in query:
            return self._variant(site_id, path, query.split("&"))
        if traps.query_variants and not query and (mixture := mixture_of(path)) is not None:
            return self._variant(site_id, *mixture)
        return None

    def _variant(self, site_id: int, path: str, pairs: Sequence[str]) -> Problem | None:
        """Judges filters that combine: few values, many mixtures. What names things brings new values."""
        key = f"{site_id} {'2' if len(pairs) == 2 else ''}{_mark(path)}"
        row = self._variants.blob(key)
        count, bits = int.from_bytes(row[:4], "big"), int.from_bytes(row[4:], "big")
        values = bits.bit_count()
        budget = self._traps.query_variants
        limit = budget * (PAIR_FACTOR if len(pairs) == 2 else 1)
        if values < VALUES_B * 6:  # a fuller map says that there are more values than one could combine
            if count >= limit + VARIANTS_PER_VALUE * values:
                return Reason.QUERY_VARIANTS, f"{count} mixtures of {values} values (--trap-query-variants {budget})"
            for pair in pairs:
                bits |= 1 << crc32(pair.encode()) % (VALUES_B * 8)
            self._variants.put(key, (count + 1).to_bytes(4, "big") + bits.to_bytes(VALUES_B, "big"))
        return None

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
        for key in self._endless:
            parts, told_apart = msgspec.json.decode(self._endless.blob(key), type=tuple[list[str], list[str]])
            self._endless_parts[int(key)] = (frozenset(parts), frozenset(told_apart))
        self._with_duplicates.update(int(key.partition(" ")[0]) for key in self._duplicates)
        self._suspects.update(self._endless_parts, self._with_duplicates, map(int, self._calendars))


def _mark(text: str) -> str:
    return xxh3_64_hexdigest(text.encode())


def _different(bodies: int) -> int:
    """How many different bodies have set the bits of a map: linear counting (Whang 1990), as two may share a bit."""
    bits = BODIES_B * 8
    return round(-bits * log(max(1, bits - bodies.bit_count()) / bits))


def _prefixes(path: str, query: str) -> list[str]:
    """The places of a site that answer for a URL, the nearest first: its path before ``?`` or ``;``, its folders."""
    prefixes: list[str] = []
    at = 0
    while len(prefixes) < PREFIXES and (at := path.find("/", at) + 1):
        prefixes.append(path[:at])
    bare = path.partition(";")[0]
    if query or bare != path:
        prefixes.append(f"{bare}?")
    prefixes.reverse()
    return prefixes


def _are_neighbours(origin: str, other: str) -> bool:
    """Whether two origins differ in the first label of their host only."""
    name = origin.partition(".")[2]
    return "." in name and other.partition(".")[2] == name
