"""The pass over the pages of a crawl: what each of them is, counted by site."""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from weft.derive.duplicates.verdicts import NEAR, Verdict, Verdicts, near_verdicts
from weft.derive.read import COUNTED_VISIT, StoredCrawl
from weft.derive.read.broken import NOT_BROKEN, ROBOTS_CAUSES
from weft.derive.stats.known import ANSWERED, BROKEN, REDIRECTED_TO, REDIRECTS, START, Known, file_class
from weft.derive.stats.tally import Tally
from weft.parse.content import HTML_TYPES
from weft.ports import Progress
from weft.records import LinkKind, Purpose

_CHUNK = 2_000
_NOTED = 20
_MOST = (1 << 32) - 1  # sizes and times are kept in four bytes


class Snapshot(NamedTuple):
    """Up to where a crawl is read: what comes later does not exist for us."""

    newest: int  # visit
    last: int  # URL


class Seen:
    """What the pass over the pages found, beside the tally."""

    def __init__(self, last: int) -> None:
        self.known = Known(last)
        self.sizes = array("I")
        self.times_ms = array("I")
        self._slowest: list[tuple[int, int]] = []
        self._largest: list[tuple[int, int]] = []

    def note(self, page: int, size: int | None, spent_ms: int | None) -> None:
        if size is not None:
            self.sizes.append(min(size, _MOST))
            _keep(self._largest, (size, -page))
        if spent_ms is not None and spent_ms >= 0:
            self.times_ms.append(min(spent_ms, _MOST))
            _keep(self._slowest, (spent_ms, -page))

    def largest(self) -> list[tuple[int, int]]:
        """(page, bytes), the largest first."""
        return [(-page, value) for value, page in sorted(self._largest, reverse=True)]

    def slowest(self) -> list[tuple[int, int]]:
        """(page, milliseconds), the slowest first."""
        return [(-page, value) for value, page in sorted(self._slowest, reverse=True)]


def _keep(heap: list[tuple[int, int]], entry: tuple[int, int]) -> None:
    if len(heap) < _NOTED:
        heapq.heappush(heap, entry)
    elif entry > heap[0]:
        heapq.heapreplace(heap, entry)


def snapshot_of(crawl: StoredCrawl) -> Snapshot:
    """Where the crawl stands now. The newest visit is asked first: all it links to has an id by then."""
    newest = crawl.newest_visit()
    last = crawl.newest_url()
    return Snapshot(newest, last)


def count_pages(crawl: StoredCrawl, upto: Snapshot, tally: Tally, progress: Progress) -> Seen:
    """Counts every page once, and keeps of each what the pass over the links needs."""
    seen = Seen(upto.last)
    duplicates = _Duplicates(crawl, progress)
    for rows in _chunks(crawl, upto):
        progress("pages", rows[-1][0], upto.last)
        verdicts = duplicates.among(rows)
        for row in rows:
            _count(row, upto, tally, seen, verdicts.get(row[0]))
        tally.settle()
    _count_stored_images(crawl, tally)
    _mark_starts(crawl, seen.known)
    _merge_redirects(seen.known)
    _spellings(crawl, seen.known)
    return seen


def _chunks(crawl: StoredCrawl, upto: Snapshot) -> Iterator[list[tuple[Any, ...]]]:
    after = 0
    values = {"newest": upto.newest, "last": upto.last, "most": _CHUNK}
    while rows := crawl.connection.execute(_PAGES, {**values, "after": after}).fetchall():
        after = rows[-1][0]
        yield rows


def _count(row: tuple[Any, ...], upto: Snapshot, tally: Tally, seen: Seen, verdict: Verdict | None) -> None:
    page, site, visited, state, reason, cause, _, text, status, visit_cause, media, *_ = row
    known = seen.known
    if visited is not None and visited > upto.newest:  # it was visited since we began: then it waited
        state = "W"
    known.site[page] = site
    known.file[page] = file_class(text, media)
    tally.add(site, "sum", "known")
    tally.add(site, "state", state or "refused")
    if state is None:
        tally.add(site, "refused", reason or "unknown")
    elif state == "E":
        cause = cause or visit_cause or "unknown"
        tally.add(site, "error", cause)
        if cause in ROBOTS_CAUSES:
            tally.add(site, "sum", "robots_refused")
        if cause not in NOT_BROKEN:
            known.flags[page] |= BROKEN
    elif state == "C" and status is not None:
        _count_answered(row, tally, seen, verdict)


def _count_answered(row: tuple[Any, ...], tally: Tally, seen: Seen, verdict: Verdict | None) -> None:
    page, site, _, _, _, _, depth, _, status, _, media, language, size, wire, _, _, spent_ms, leads_to, purpose = row
    known, success = seen.known, 200 <= status < 300
    known.flags[page] |= ANSWERED | (BROKEN if status >= 400 else 0)
    if purpose in (Purpose.FILE, Purpose.CHECK):  # no page: of it counts only whether it is there
        return
    _count_answer(tally, site, status, depth, media)
    tally.add(site, "sum", "size", size or 0)
    tally.add(site, "sum", "size_wire", wire or 0)
    tally.add(site, "sum", "response_ms", max(0, spent_ms or 0))
    seen.note(page, size if success else None, spent_ms)
    if leads_to is not None and 0 < leads_to <= known.last:
        known.leads_to[page] = leads_to
        known.flags[page] |= REDIRECTS
        known.flags[leads_to] |= REDIRECTED_TO
    if success:
        tally.add(site, "sum", "pages")
        tally.add(site, "sum", "page_size", size or 0)
    if verdict is not None:
        tally.add(site, "sum", "near_duplicate" if verdict.kind == NEAR else "duplicate")
    if media in HTML_TYPES:
        duplicate_of = page if verdict is None or verdict.page > known.last else verdict.page
        _count_html(tally, site, status, depth, language, is_first=duplicate_of == page)
        if status == 200:
            known.node[page] = duplicate_of


def _count_answer(tally: Tally, site: int, status: int, depth: int, media: str | None) -> None:
    tally.add(site, "sum", "answered")
    tally.add(site, "status", str(status))
    tally.add(site, "depth", str(depth))
    if not 300 <= status < 400:  # a redirect is no document
        tally.add(site, "type", media or "unknown")


def _count_html(tally: Tally, site: int, status: int, depth: int, language: str | None, *, is_first: bool) -> None:
    """Counts an answer in HTML; ``is_first``: it is no duplicate of another page."""
    tally.add(site, "sum", "html_answers")
    if 200 <= status < 300:
        tally.add(site, "language", (language or "unknown").lower())
        tally.add(site, "sum", "html_stored")
    if is_first:
        tally.add(site, "sum", "html")
        tally.add(site, "html_depth", depth)
        if status == 200:
            tally.add(site, "sum", "nodes")


def _count_stored_images(crawl: StoredCrawl, tally: Tally) -> None:
    """Counts the images that people should look at, once for each page that shows them."""
    if crawl.connection.execute(_HAS_FILES).fetchone() is None:  # a folder of an earlier version
        return
    for site, without_alt, large in crawl.connection.execute(_STORED_IMAGES):
        tally.add(site, "sum", "images_without_alt", int(without_alt))
        tally.add(site, "sum", "large_images", int(large))


def _mark_starts(crawl: StoredCrawl, known: Known) -> None:
    for (page,) in crawl.connection.execute("SELECT page FROM seed"):
        if page <= known.last:
            known.flags[page] |= START


def _spellings(crawl: StoredCrawl, known: Known) -> None:
    """A spelling of a page has what its page has."""
    for spelling, page in crawl.aliases():
        if spelling <= known.last and page <= known.last:
            known.site[spelling], known.node[spelling] = known.site[page], known.node[page]
            known.flags[spelling] = known.flags[page] & (ANSWERED | BROKEN)
            known.file[spelling] = known.file[page]


def _merge_redirects(known: Known) -> None:
    """In the graph a page that redirects is the page at the end of the redirects (R11)."""
    for page in known.with_flag(REDIRECTS):
        way, loop = known.chain(page)
        known.node[page] = 0 if loop else known.node[way[-1]]


class _Duplicates:
    """Which page stands for another one: by its body, and by its text where the crawl looks for that."""

    def __init__(self, crawl: StoredCrawl, progress: Progress) -> None:
        self._crawl = crawl
        self._verdicts = Verdicts(crawl, near_verdicts(crawl, progress))

    def among(self, rows: list[tuple[Any, ...]]) -> dict[int, Verdict]:
        """The verdicts on those of the pages that are duplicates, by page."""
        hashes = msgspec.json.encode([row[_HASH] for row in rows if row[_HASH] is not None]).decode()
        shared = {row[0] for row in self._crawl.connection.execute(_SHARED, (hashes,))}
        found = {}
        for row in rows:
            verdict = self._verdicts.of(row[0], row[_HASH], row[_SIZE], row[_DIGEST], alone=row[_HASH] not in shared)
            if verdict is not None:
                found[row[0]] = verdict
        return found


_SIZE, _HASH, _DIGEST = 12, 14, 15
_PAGES = f"""
SELECT p.id, p.site, p.visit, p.state, p.reason, p.cause, p.depth, o.text, v.status, v.cause, v.type, v.language,
       v.size, v.size_wire, CASE WHEN v.status BETWEEN 200 AND 299 THEN v.hash END, v.digest, v.response_ms,
       CASE WHEN v.redirect_to IS NOT NULL THEN (
           SELECT coalesce(t.page, t.id) FROM link_pack k JOIN url t ON t.id = json_extract(k.links, '$[0][0]')
           WHERE k.visit = v.id AND json_extract(k.links, '$[0][1]') = {LinkKind.REDIRECT.value}) END,
       v.purpose
FROM page p JOIN url o ON o.id = p.id LEFT JOIN visit v ON v.id = {COUNTED_VISIT}
WHERE p.id > :after AND p.id <= :last ORDER BY p.id LIMIT :most
"""
_SHARED = """
SELECT DISTINCT j.value FROM json_each(?) j
WHERE (SELECT count(*) FROM (SELECT 1 FROM visit v WHERE v.hash = j.value LIMIT 2)) > 1
"""
LARGE_IMAGE_B = 100_000
_HAS_FILES = "SELECT 1 FROM sqlite_master WHERE type = 'view' AND name = 'shown_file'"
_STORED_IMAGES = f"""
SELECT site, total(alt = ''), total(size > {LARGE_IMAGE_B}) FROM (
    SELECT site, size, max(CASE WHEN kind = 'image' AND rel IS NOT 'background' THEN anchor END) AS alt
    FROM shown_file WHERE type LIKE 'image/%' GROUP BY url, page)
GROUP BY site
"""
