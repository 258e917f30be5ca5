"""Discovery: every URL found gets its name, every key its page, and the judge's word; depths only ever fall.

Works inside the caller's transaction, the tick. What is new is kept in RAM until ``flush`` and visible to all
look-ups here; what is known is changed by UPDATE at once.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from weft.errors import LINK_REASONS, Reason
from weft.frontier.polite import Schedule, Waiting
from weft.frontier.seen import (
    ADMITTED,
    DEPTH_MAX,
    DEPTH_SHIFT,
    FINAL,
    HOPPED,
    ID_SHIFT,
    Seen,
    depth_of,
    pack,
    url_id_of,
)
from weft.ports import Clock, Judge, Parent
from weft.records import Link, LinkKind
from weft.spec import CrawlSpec
from weft.url import Normalizer, site_of

PackedLink = list[int | str]
LIMIT_REASONS = (Reason.SITE_PAGES.value, Reason.SITE_TIME.value)
_LINK_REASONS = frozenset(reason.value for reason in LINK_REASONS)
_REDIRECT = LinkKind.REDIRECT.value
_SITES_IN_RAM = 200_000


class Way(NamedTuple):
    """How a URL was reached: by which page and visit (None: a seed), how far from the start, by how many redirects."""

    parent: Parent | None
    visit: int | None
    depth: int
    hops: int
    nofollow: bool = False  # the page's word for all its links


class Found(NamedTuple):
    """What the links of one page led to."""

    external: int  # links to other sites
    new: list[str]  # pages of the site that these links admitted
    known: list[str]  # pages of the site that were known before


class Hand:
    """A page taken and not yet settled: what may still change while it is under way."""

    __slots__ = ("attempts", "chain", "depth", "hops", "ip", "offered", "page", "site", "stored", "url")

    def __init__(self, entry: Waiting, site: int, ip: str) -> None:
        self.page = entry.page
        self.url = entry.url
        self.depth = entry.depth
        self.hops = entry.hops
        self.chain = entry.chain
        self.attempts = entry.attempts + 1
        self.site = site
        self.ip = ip
        self.offered = False  # its links were offered in this tick
        self.stored = False  # R is in the database


class PageRow(msgspec.Struct):
    """A row of ``page`` as the frontier needs it, not yet written or just read."""

    id: int
    site: int
    state: str | None
    reason: str | None
    depth: int
    hops: int
    chain: int
    priority: int
    found_in: int | None
    key: str | None
    visit: int | None = None


class Discovery:
    """See the module. ``admitted`` and ``moved`` tell the frontier which pages joined, or moved in, the queue."""

    def __init__(
        self, connection: sqlite3.Connection, spec: CrawlSpec, judge: Judge, normalizer: Normalizer, clock: Clock,
        schedule: Schedule, counts: dict[str, int], *, hash_seed: int, cache_entries: int,
    ) -> None:  # fmt: skip
        self._db = connection
        self._judge = judge
        self._normalizer = normalizer
        self._clock = clock
        self._schedule = schedule
        self._counts = counts
        self._dfs = spec.politeness.order == "dfs"
        self._kinds = frozenset(kind.value for kind in LinkKind if kind.label in spec.scope.followed)
        self._heeds_nofollow = not spec.scope.follow_nofollow
        self._longest_b = spec.limits.max_url_b
        self.seen = Seen(connection, hash_seed, cache_entries)
        self.hands: dict[int, Hand] = {}  # the pages taken and not settled
        self.admitted: list[int] = []
        self.moved: list[int] = []
        self.new_pages: dict[int, PageRow] = {}
        self._new_urls: dict[int, tuple[str, int | None]] = {}
        self._new_sites: dict[int, str] = {}
        self._site_ids: dict[str, int] = {}
        self._lowered: deque[int] = deque()
        self._next_url = self._scalar("SELECT coalesce(max(id), 0) FROM url") + 1
        self._next_site = self._scalar("SELECT coalesce(max(id), 0) FROM site") + 1

    def _scalar(self, query: str) -> int:
        return int(self._db.execute(query).fetchone()[0])

    # ---- names -----------------------------------------------------------------------------------------------

    def site_id(self, name: str) -> int:
        """The id of a site by name; it is made if it is new."""
        site_id = self._site_ids.get(name)
        if site_id is None:
            row = self._db.execute("SELECT id FROM site WHERE name = ?", (name,)).fetchone()
            if row is None:
                site_id = self._next_site
                self._next_site += 1
                self._new_sites[site_id] = name
                self._counts["hosts"] += 1
            else:
                site_id = int(row[0])
            if len(self._site_ids) > _SITES_IN_RAM:
                self._site_ids = {new: number for number, new in self._new_sites.items()}
            self._site_ids[name] = site_id
        return site_id

    def site_name(self, site_id: int) -> str:
        return self._new_sites[site_id]

    def name(self, url: str) -> int:
        """The id of a URL's text that need not be a page of the crawl (robots.txt, sitemaps)."""
        self.prefetch([url])
        info = self.seen.recent.find(url)
        return url_id_of(info) if info is not None else self.spelling(url, 0)

    def spelling(self, url: str, page: int) -> int:
        """The id of a text that is another spelling of a page; page 0: of none."""
        url_id = self._new_url(url, page)
        info = self._info(url_id, self.row(page)) if page else pack(url_id, DEPTH_MAX, 0)
        self.seen.add(url, url_id, info)
        return url_id

    def text(self, url_id: int) -> str:
        new = self._new_urls.get(url_id)
        if new is not None:
            return new[0]
        return str(self._db.execute("SELECT text FROM url WHERE id = ?", (url_id,)).fetchone()[0])

    def _new_url(self, text: str, page: int | None) -> int:
        url_id = self._next_url
        self._next_url += 1
        self._new_urls[url_id] = (text, page)
        return url_id

    def _page_of(self, url_id: int) -> int:
        """The page that a URL belongs to; 0: none."""
        new = self._new_urls.get(url_id)
        if new is not None:
            return url_id if new[1] is None else new[1]
        return int(self._db.execute("SELECT coalesce(page, id) FROM url WHERE id = ?", (url_id,)).fetchone()[0])

    def row(self, page: int) -> PageRow:
        """A page as it is now, written or not."""
        row = self.new_pages.get(page)
        if row is None:
            row = PageRow(*self._db.execute(_ROW, (page,)).fetchone())
        return row

    def _info(self, url_id: int, row: PageRow) -> int:
        return pack(url_id, row.depth, _flags(row.state, row.reason, row.hops))

    def prefetch(self, targets: Iterable[str]) -> None:
        """Looks all targets of a tick up at once; after it ``offer`` needs no look-up of its own."""
        self.seen.prefetch(targets, self._describe)

    def _describe(self, rows: list[tuple[object, ...]]) -> None:
        for text, url_id, page, depth, state, reason, hops in rows:
            assert isinstance(text, str) and isinstance(url_id, int)
            if page is None:  # a text that is no page: of another scheme, or one that may become a page
                info = pack(url_id, DEPTH_MAX, 0 if text.startswith("http") else FINAL)
            else:
                assert isinstance(depth, int) and isinstance(hops, int)
                info = pack(url_id, depth, _flags(state, reason, hops))
            self.seen.recent.put(text, info)

    # ---- offers ----------------------------------------------------------------------------------------------

    def seed(self, url: str, source: str, fallback: str | None = None) -> bool:
        """Admits a start address at depth 0; whether it was new to the queue."""
        self.prefetch([url])
        before = len(self.admitted)
        link, way = Link(url, _REDIRECT), Way(None, None, 0, 0)
        info = self.seen.recent.find(url)
        if info is None:
            info = self._meet(link, way)
        else:
            self._reconsider(link, url_id_of(info), way)
        self._db.execute(
            "INSERT INTO seed(page, added_ms, source, fallback) VALUES(?, ?, ?, ?)",
            (self._page_of(url_id_of(info)), self._clock.epoch_ms(), source, fallback),
        )
        return len(self.admitted) > before

    def offer(self, hand: Hand, visit: int, links: Sequence[Link], nofollow: bool) -> tuple[list[PackedLink], Found]:
        """Every link of a page as it is stored, and what they led to; admits what belongs to the crawl."""
        hand.offered = True
        parent = Parent(hand.url, hand.depth, hand.chain)
        onward = Way(parent, visit, hand.depth + 1, 0, nofollow)
        redirected = Way(parent, visit, hand.depth, hand.hops + 1, nofollow)
        site_name = site_of(hand.url)
        prefix = hand.url[: hand.url.index("/", 8) + 1]
        young, find, heed = self.seen.recent.young, self.seen.recent.find, self._heeds_nofollow
        kinds = self._kinds & {_REDIRECT} if nofollow and heed else self._kinds
        first_new, next_depth = self._next_url, hand.depth + 1
        new: list[str] = []
        known: list[str] = []
        packed: list[PackedLink] = []
        external = 0
        for link in links:
            target, kind, anchor, rel, fragment = link
            internal = target.startswith(prefix)
            if not internal and target.startswith("http") and site_of(target) != site_name:
                external += 1
            offered = 1 if kind in kinds and not (rel and heed and "nofollow" in rel.split()) else 0
            info = young.get(target) or find(target)
            if info is None:
                info = self._meet(link, redirected if kind == _REDIRECT else onward)
                if internal and info & ADMITTED:
                    new.append(target)
            else:
                if offered and not info & FINAL:
                    if internal and info & ADMITTED and info >> ID_SHIFT < first_new:
                        known.append(target)
                    # admitted, by more than redirects, and not nearer by this link: the common case ends here
                    if (
                        info & (ADMITTED | HOPPED) != ADMITTED
                        or info >> DEPTH_SHIFT & DEPTH_MAX > next_depth
                        or kind == _REDIRECT
                    ):
                        self._reconsider(link, info >> ID_SHIFT, redirected if kind == _REDIRECT else onward)
            row: PackedLink = [info >> ID_SHIFT, kind, offered, anchor]
            if rel or fragment:
                row.append(rel)
                if fragment:
                    row.append(fragment)
            packed.append(row)
        return packed, Found(external, new, known)

    def offer_sitemap(self, visit: int, entries: Sequence[tuple[str, str]]) -> list[PackedLink]:
        """The entries (URL, date of change) of a sitemap, admitted at depth 1; the date is put where anchors are."""
        packed: list[PackedLink] = []
        way = Way(None, visit, 1, 0)
        for url, changed in entries:
            link = Link(url, LinkKind.SITEMAP.value)
            info = self.seen.recent.find(url)
            if info is None:
                info = self._meet(link, way)
            elif not info & FINAL and (info & (ADMITTED | HOPPED) != ADMITTED or depth_of(info) > 1):
                self._reconsider(link, url_id_of(info), way)
            packed.append([url_id_of(info), LinkKind.SITEMAP.value, 1, changed])
        return packed

    def _meet(self, link: Link, way: Way) -> int:
        """Gives a text that is new its id, and a page if its key is new; returns what is known of it now."""
        text = link.target
        if len(text) > self._longest_b:  # cut to one past the bound: a name of its own, refused as too long
            text = text[: self._longest_b + 1]
            link = link._replace(target=text)
            info = self.seen.recent.find(text)
            if info is not None:
                return info
        if not text.startswith(("http://", "https://")):
            info = pack(self._new_url(text, 0), DEPTH_MAX, FINAL)
            self.seen.add(text, url_id_of(info), info)
            return info
        key = self._normalizer.key(text)
        page = self.seen.page_of_key(key, text)
        url_id = self._new_url(text, page)
        row = self._new_page(url_id, key, link, way) if page is None else self.row(page)
        info = self._info(url_id, row)
        self.seen.add(text, url_id, info)
        if page is None:
            if key != text:
                self.seen.add_key(key, url_id)
        elif not info & FINAL:  # another spelling of a page that is known
            self._reconsider(link, url_id, way)
            info = self._info(url_id, self.row(page))
        return info

    def _new_page(self, url_id: int, key: str, link: Link, way: Way) -> PageRow:
        text, site_id = link.target, self.site_id(site_of(link.target))
        reason = self._link_reason(link, way) or self._judge.judge_url(text, site_id, way.parent).reason
        row = self.new_pages[url_id] = PageRow(
            id=url_id, site=site_id, state=None if reason else "W", reason=reason.value if reason else None,
            depth=way.depth, hops=way.hops, chain=self._judge.chain_of(text, way.parent),
            priority=self._priority(way), found_in=way.visit, key=None if key == text else key,
        )  # fmt: skip
        self._counts["known"] += 1
        self._counts["refused" if reason else "waiting"] += 1
        if reason is None:
            self.admitted.append(url_id)
        return row

    def _link_reason(self, link: Link, way: Way) -> Reason | None:
        """Why this link cannot bring its target in; seeds are no links."""
        if way.visit is None:
            return None
        return self._judge.judge_link(link.kind, link.rel, way.nofollow, way.depth, way.hops).reason

    def _priority(self, way: Way) -> int:
        """Breadth first: by depth. Depth first: the links of the page read last come first."""
        return -(way.visit or 0) if self._dfs else way.depth

    def _reconsider(self, link: Link, url_id: int, way: Way) -> None:
        """A link to a page that is known and perhaps not admitted, or farther away than this link makes it."""
        page = self._page_of(url_id) or self._become_page(url_id, link, way)
        row = self.row(page)
        if _flags(row.state, row.reason, row.hops) & FINAL:
            pass
        elif row.state is None:
            if self._link_reason(link, way) is None:
                self._admit_late(row, link.target, way)
        elif (way.depth < row.depth or way.hops < row.hops) and self._link_reason(link, way) is None:
            self._lower(row, way, min(way.depth, row.depth), min(way.hops, row.hops))
        self.seen.recent.put(link.target, self._info(url_id, self.row(page)))

    def let_in(self) -> None:
        """After the scope grew: admits what was found earlier, and only the narrower scope kept out."""
        last = 0
        while rows := self._db.execute(_OUTSIDE, (last, Reason.OUT_OF_SCOPE.value)).fetchall():
            last = rows[-1][0]
            for page, site_id, url in rows:
                reason = self._judge.judge_url(url, site_id, None).reason
                if reason is Reason.OUT_OF_SCOPE:
                    continue
                row = self.row(page)
                row.state, row.reason = ("W", None) if reason is None else (None, reason.value)
                self._update(row)
                self.seen.recent.put(url, self._info(page, row))
                if reason is None:
                    self._counts["refused"] -= 1
                    self._counts["waiting"] += 1
                    self.admitted.append(page)

    def _become_page(self, url_id: int, link: Link, way: Way) -> int:
        """A sitemap or robots.txt that is linked like any page: its text has an id, now it gets a page."""
        if url_id in self._new_urls:
            self._new_urls[url_id] = (link.target, None)
        self._db.execute("UPDATE url SET page = NULL WHERE id = ?", (url_id,))
        self._new_page(url_id, self._normalizer.key(link.target), link, way)
        return url_id

    def _admit_late(self, row: PageRow, text: str, way: Way) -> None:
        """A page known only by links that are not followed, and now by one that is."""
        reason = self._judge.judge_url(text, row.site, way.parent).reason
        row.state, row.reason = ("W", None) if reason is None else (None, reason.value)
        row.depth, row.hops, row.found_in = way.depth, way.hops, way.visit
        row.chain, row.priority = self._judge.chain_of(text, way.parent), self._priority(way)
        self._update(row)
        if reason is None:
            self._counts["refused"] -= 1
            self._counts["waiting"] += 1
            self.admitted.append(row.id)

    def _lower(self, row: PageRow, way: Way, depth: int, hops: int) -> None:
        """The page is nearer than was known: its place in the queue, or the pages behind it, follow."""
        row.depth, row.hops, row.found_in = depth, hops, way.visit
        row.priority = row.priority if self._dfs else depth
        self._update(row)
        hand = self.hands.get(row.id)
        if hand is not None:
            hand.depth, hand.hops = depth, hops
            if hand.offered:
                self._lowered.append(row.id)
        elif row.id in self.new_pages:
            pass
        elif row.state == "W":
            self._move(row)
        elif row.visit is not None:
            self._lowered.append(row.id)

    def _move(self, row: PageRow) -> None:
        """A waiting page whose place in its site's queue has changed."""
        site = self._schedule.sites.get(row.site)
        if site is None:
            return
        entry = site.heads.get(row.id)
        if entry is not None:
            entry.depth, entry.hops, entry.priority = row.depth, row.hops, row.priority
            site.push(entry)
        elif (row.priority, row.id) <= site.cursor:
            self.moved.append(row.id)  # in front of the cursor now: it belongs to the head

    def _update(self, row: PageRow) -> None:
        if row.id not in self.new_pages:
            self._db.execute(
                "UPDATE page SET state = ?, reason = ?, depth = ?, hops = ?, chain = ?, priority = ?, found_in = ?"
                " WHERE id = ?",
                (row.state, row.reason, row.depth, row.hops, row.chain, row.priority, row.found_in, row.id),
            )

    def offer_again(self) -> None:
        """Offers the stored links of pages that came nearer, and of those behind them, until nothing falls."""
        while self._lowered:
            row = self.row(self._lowered.popleft())
            stored = self._db.execute(
                "SELECT l.links, v.nofollow FROM link_pack l JOIN visit v ON v.id = l.visit WHERE l.visit = ?",
                (row.visit,),
            ).fetchone()
            if stored is None:
                continue
            parent = Parent(self.text(row.id), row.depth, row.chain)
            onward = Way(parent, row.visit, row.depth + 1, 0, bool(stored[1]))
            redirected = Way(parent, row.visit, row.depth, row.hops + 1, bool(stored[1]))
            for url_id, kind, offered, *rest in msgspec.json.decode(stored[0]):
                target = self._page_of(url_id) if offered else 0
                way = redirected if kind == _REDIRECT else onward
                known = self.row(target) if target else None
                if known and (known.state is None or way.depth < known.depth or way.hops < known.hops):
                    self._reconsider(Link(self.text(url_id), kind, "", rest[1] if len(rest) > 1 else ""), url_id, way)

    # ---- the tick --------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Writes all that is new, inside the caller's transaction."""
        self._db.executemany("INSERT INTO site(id, name) VALUES(?, ?)", self._new_sites.items())
        self._db.executemany("INSERT INTO url VALUES(?, ?, ?)", [(n, *new) for n, new in self._new_urls.items()])
        self._db.executemany(
            "INSERT INTO page(id, site, state, reason, depth, hops, chain, priority, found_in, key)"
            " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (r.id, r.site, r.state, r.reason, r.depth, r.hops, r.chain, r.priority, r.found_in, r.key)
                for r in self.new_pages.values()
            ],
        )
        self.seen.flush()

    def waiting(self, page: int) -> tuple[int, Waiting] | None:
        """The site of a page and its entry for the queue; None if it does not wait any more."""
        row = self.row(page)
        if row.state != "W":
            return None
        return row.site, Waiting(page, row.priority, self.text(page), row.depth, row.hops, row.chain, 0)

    def committed(self) -> None:
        """After the commit: nothing is new any more."""
        self.seen.age()
        self.admitted, self.moved, self.new_pages = [], [], {}
        self._new_urls, self._new_sites = {}, {}


_OUTSIDE = (
    "SELECT p.id, p.site, u.text FROM page p JOIN url u ON u.id = p.id"
    " WHERE p.id > ? AND p.state IS NULL AND p.reason = ? ORDER BY p.id LIMIT 1000"
)
_ROW = "SELECT id, site, state, reason, depth, hops, chain, priority, found_in, key, visit FROM page WHERE id = ?"


def _flags(state: object, reason: object, hops: int) -> int:
    flags = HOPPED if hops else 0
    if state is not None:
        return flags | ADMITTED
    return flags if reason in _LINK_REASONS or reason in LIMIT_REASONS else flags | FINAL
