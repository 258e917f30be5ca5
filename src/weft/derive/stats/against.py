"""R19: how far our pages differ from another crawler's list of the same sites, compared by our keys."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import xxhash

from weft.derive.read import Place, StoredCrawl
from weft.derive.stats.known import LISTED, Known
from weft.derive.stats.listing import urls_in
from weft.derive.stats.model import Against, AgainstSite
from weft.derive.stats.pages import Snapshot
from weft.errors import SpecError
from weft.parse.content import HTML_TYPES
from weft.ports import Progress
from weft.url import parse, site_of

SHOWN = 100_000
"""How many URLs of each list are kept to be shown."""

OTHER_SITES = "other sites"
_SITES = 10_000
_AT_ONCE = 1_000
NOT_KNOWN, DUPLICATE, NOT_HTML = "not known", "duplicate", "not HTML"


def compare(crawl: StoredCrawl, file: Path, known: Known, upto: Snapshot, progress: Progress) -> Against:
    """Our pages (HTML answered 200, duplicates and redirects merged) beside those of the list.

    An entry that redirects, or that is a duplicate, stands for the page it leads to, on both sides alike.
    """
    total_b = file.stat().st_size if file.is_file() else 0
    read_b = 0
    with _Once() as once:
        theirs = _Theirs(crawl, known, upto, once)
        entries = urls_in(file)
        while some := list(islice(entries, _AT_ONCE)):
            theirs.add(some)
            read_b += sum(len(entry) + 1 for entry in some)
            progress("the list", min(read_b, total_b), total_b)
    if theirs.entries == theirs.not_urls:
        raise SpecError(
            f"the list {file} has no http URL in it: give one a line, or CSV or JSON lines with a column url"
        )
    here, only_here = _ours(crawl, known)
    ours, missing = sum(here.values()), sum(theirs.only.values())
    both = sum(theirs.both.values())
    return Against(
        file=str(file), entries=theirs.entries, not_urls=theirs.not_urls,
        repeated=theirs.entries - theirs.not_urls - both - missing, here=ours, there=both + missing, both=both,
        only_here=ours - both, only_there=missing, difference=_difference(ours, both, missing),
        missing_share=missing / (both + missing) if both + missing else None,
        why_only_there=dict(theirs.why.most_common()), sites=_by_site(crawl, here, theirs), urls_only_here=only_here,
        urls_only_there=theirs.urls, cut=max(ours - both, missing) > SHOWN,
    )  # fmt: skip


class _Theirs:
    """What the list names, counted by site."""

    def __init__(self, crawl: StoredCrawl, known: Known, upto: Snapshot, once: _Once) -> None:
        self._crawl, self._known, self._upto, self._once = crawl, known, upto, once
        self.entries = self.not_urls = 0
        self.both: Counter[str] = Counter()
        self.only: Counter[str] = Counter()
        self.why: Counter[str] = Counter()
        self.urls: list[str] = []

    def add(self, entries: Sequence[str]) -> None:
        """Counts the entries that are pages and were not named before."""
        parsed = map(parse, entries)
        urls = [url.partition("#")[0] for url in parsed if url is not None and url.startswith(("http://", "https://"))]
        self.entries += len(entries)
        self.not_urls += len(entries) - len(urls)
        for url, place in zip(urls, self._crawl.find_all(urls), strict=True):
            self._meet(url, place)

    def _meet(self, url: str, place: Place | None) -> None:
        known = self._known
        page = place.page if place is not None and place.page is not None and place.page <= known.last else None
        node = known.node[page] if page is not None else 0
        if node:
            if not known.flags[node] & LISTED:
                known.flags[node] |= LISTED
                self._count(self.both, _site_name(self._crawl, known.site[node]))
        elif self._once.is_new(page if page is not None else self._crawl.normalizer.key(url)):
            self._count(self.only, site_of(url))
            self.why[NOT_KNOWN if page is None else _told(self._crawl, page, self._upto)] += 1
            if len(self.urls) < SHOWN:
                self.urls.append(url)

    def _count(self, counts: Counter[str], site: str) -> None:
        """Counts a page of a site; where the list names too many sites, the others are one."""
        counts[site if site in counts or len(counts) < _SITES else OTHER_SITES] += 1


def _difference(here: int, both: int, missing: int) -> float | None:
    """The share of all pages that only one of the two lists has."""
    return (here - both + missing) / (here + missing) if here + missing else None


def _ours(crawl: StoredCrawl, known: Known) -> tuple[Counter[int], list[str]]:
    """How many pages we have by site, and the URLs of those that the list has not."""
    here: Counter[int] = Counter()
    urls: list[str] = []
    for page, node in enumerate(known.node):
        if node != page or not page:
            continue
        here[known.site[page]] += 1
        if not known.flags[page] & LISTED and len(urls) < SHOWN:
            row = crawl.connection.execute(_URL, (page,)).fetchone()
            urls.append(row[0])
    return here, urls


def _by_site(crawl: StoredCrawl, here: Counter[int], theirs: _Theirs) -> list[AgainstSite]:
    """The sites that the list speaks of, those it names most first."""
    ours: Counter[str] = Counter()
    for site, number in here.items():
        name = _site_name(crawl, site)
        if name in theirs.both or name in theirs.only:
            ours[name] = number
    sites = sorted(
        theirs.both.keys() | theirs.only.keys(), key=lambda name: (-theirs.both[name] - theirs.only[name], name)
    )
    return [
        AgainstSite(
            site=name, here=ours[name], there=theirs.both[name] + theirs.only[name], both=theirs.both[name],
            only_here=ours[name] - theirs.both[name], only_there=theirs.only[name],
            difference=_difference(ours[name], theirs.both[name], theirs.only[name]),
        )
        for name in sites
        if name != OTHER_SITES
    ]  # fmt: skip


def _site_name(crawl: StoredCrawl, site: int) -> str:
    row = crawl.connection.execute("SELECT name FROM site WHERE id = ?", (site,)).fetchone()
    return str(row[0]) if row is not None else OTHER_SITES


def _told(crawl: StoredCrawl, page: int, upto: Snapshot) -> str:
    """In a word, why a page that we know is none of our pages."""
    row = crawl.connection.execute(_PAGE, (page,)).fetchone()
    if row is None:
        return NOT_KNOWN
    state, reason, cause, visit, status, visit_cause, media = row
    if visit is not None and visit > upto.newest:
        return "waiting"
    match state:
        case None:
            return str(reason or NOT_KNOWN)
        case "E":
            return str(cause or visit_cause or "error")
        case "C" if status == 200:
            return DUPLICATE if media in HTML_TYPES else NOT_HTML
        case "C":
            return str(status)
        case _:
            return "waiting"


class _Once:
    """Which pages and keys were met; in a file that SQLite deletes, however long the list is."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute("CREATE TABLE met(number INTEGER PRIMARY KEY)")

    def __enter__(self) -> _Once:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def is_new(self, what: int | str) -> bool:
        """Whether it was not met before. Pages and hashes of keys do not meet: a page is a small number."""
        if isinstance(what, str):
            what = xxhash.xxh3_64_intdigest(what.encode("utf-8", "surrogatepass")) - (1 << 63)
        return self._db.execute("INSERT OR IGNORE INTO met VALUES(?)", (what,)).rowcount == 1


_PAGE = """SELECT p.state, p.reason, p.cause, p.visit, v.status, v.cause, v.type FROM page p
LEFT JOIN visit v ON v.id = p.visit WHERE p.id = ?"""
_URL = "SELECT text FROM page_url WHERE page = ?"
