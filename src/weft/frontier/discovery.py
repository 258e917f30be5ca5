"""Discovery: every URL found gets its id, every key its page, and the judge's word; depths only ever fall.

Works inside the caller's transaction, the tick. ``known`` keeps what is new in RAM until its ``flush``; pages that are
written are changed by UPDATE at once.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections import deque
from collections.abc import Callable, Sequence

import msgspec

from weft.clock import Clock
from weft.errors import Cause, Reason
from weft.frontier.given import Policies
from weft.frontier.known import KnownUrls
from weft.frontier.links import (
    Infos,
    KnownLinks,
    PackedLink,
    PageSite,
    leads_on,
    packed,
    packed_leads_on,
    packed_links,
    recalled,
)
from weft.frontier.pages import (
    FILE_PRIORITY,
    NO_PAGES,
    Found,
    FoundBy,
    PageInFlight,
    PageRow,
    Role,
    flags_of,
)
from weft.frontier.polite import Schedule, Waiting
from weft.frontier.seen import (
    ADMITTED,
    CHECKED,
    DEPTH_MAX,
    FINAL,
    JUDGED_FILE,
    UNKNOWN,
    depth_of,
    pack,
    reach,
    url_id_of,
)
from weft.ports import Parent
from weft.records import Link, LinkKind, Links
from weft.spec import CrawlSpec, PageOrder
from weft.url import site_of

_A = LinkKind.A.value
_REDIRECT = LinkKind.REDIRECT.value
_LINK = LinkKind.LINK.value
_FORM = LinkKind.FORM.value
_NO_ADDRESSES = frozenset({"preconnect", "dns-prefetch"})  # rels of hosts that are no documents
_PAGE_SITES = 2_000  # sites whose pages were read last


class Discovery:
    """See the module. ``admitted`` and ``moved`` tell the frontier which pages joined, or moved in, the queue."""

    def __init__(
        self, connection: sqlite3.Connection, spec: CrawlSpec, policies: Policies, clock: Clock, schedule: Schedule,
        counts: dict[str, int], known: KnownUrls,
    ) -> None:  # fmt: skip
        self._db = connection
        self._judge = policies.judge
        self._normalizer = policies.normalizer
        self._clock = clock
        self._schedule = schedule
        self._counts = counts
        self.known, self._seen, self._site_names = known, known.seen, known.site_names
        self._dfs = spec.politeness.order is PageOrder.DFS
        self._by_depth = spec.politeness.order is PageOrder.BFS
        followed = {kind.value for kind in LinkKind if kind.label in spec.scope.followed}
        self._by_kind = bytes(number in followed for number in range(max(LinkKind) + 1))
        self._by_redirects = bytes(number in followed and number == _REDIRECT for number in range(max(LinkKind) + 1))
        self._heeds_nofollow = not spec.scope.follow_nofollow
        self._longest_b = spec.limits.max_url_b
        self._most_hops = spec.limits.max_redirects
        self._page_sites: dict[str, PageSite] = {}  # by the prefix of their URLs
        self.in_flight: dict[int, PageInFlight] = {}  # the pages taken and not settled
        self.admitted: list[int] = []
        self.moved: list[int] = []
        self._lowered: deque[int] = deque()
        self.tell_links: Callable[[int, Infos, bytearray], None] | None = None  # of each page that is read

    def mention(self, links: Links, source: str) -> tuple[str, int]:
        """Links that bring nothing in, as they are stored, and how many lead to other sites."""
        self.known.prefetch(links.targets)
        infos = memoryview(array("Q", map(self._mentioned, links.targets)))
        external = self._page_site_of(source).external_links(links.targets)
        return packed_links(links, infos, bytearray(len(links.targets))), external

    def _mentioned(self, url: str) -> int:
        """What is known of a URL. One that is new gets a name, of its page where another spelling has one."""
        info = self._seen.recent.find(url)
        if info is not None:
            return info
        known = self._seen.id_of_key(self._normalizer.key(url), url) if url.startswith("http") else None
        page = self.known.page_of(known) if known is not None else 0
        return pack(self.known.spelling(url, page), DEPTH_MAX, 0)

    # ---- offers ----------------------------------------------------------------------------------------------

    def seed(self, url: str, source: str, fallback: str | None = None) -> bool:
        """Admits a start address at depth 0; whether it was new to the queue."""
        self.known.prefetch([url])
        before = len(self.admitted)
        link, found_by = Link(url, _REDIRECT), FoundBy(None, None, 0, 0)
        info = self._seen.recent.find(url)
        if info is None:
            info = self._discover(url, _REDIRECT, "", found_by)
        else:
            self._reconsider(link, url_id_of(info), found_by)
        self._db.execute(
            "INSERT INTO seed(page, added_ms, source, fallback) VALUES(?, ?, ?, ?)",
            (self.known.page_of(url_id_of(info)), self._clock.epoch_ms(), source, fallback),
        )
        return len(self.admitted) > before

    def offer(
        self, flight: PageInFlight, visit: int, links: Links, nofollow: bool, duplicate: bool = False
    ) -> tuple[str, Found]:
        """Every link of a page as it is stored, "" for none, and what they led to; admits what belongs to the crawl."""
        flight.offered = True
        if not links.targets:
            return "", Found(0, [], ())
        if self._normalizer.ip_hosts:  # R14: a link to the address of a known host is one to the host
            links = msgspec.structs.replace(links, targets=list(map(self._normalizer.named, links.targets)))
            self.known.prefetch(links.targets)
        targets, page_site = links.targets, self._page_site_of(flight.url)
        first_new, bound, heed = self.known.next_id, reach(flight.depth + 1), self._heeds_nofollow
        by_kind = self._by_redirects if (nofollow and heed) or duplicate else self._by_kind
        offered, infos, places = recalled(self._seen.recent.young, links, by_kind, heed, bound)
        if _REDIRECT in links.kinds.values():  # its target is no farther than the page: it may be nearer by it
            places = sorted({*places, *(at for at, kind in links.kinds.items() if kind == _REDIRECT)})
        if self._judge.shows_files:
            places = self._with_shown(links, infos, offered, places)
        new: list[str] = []
        if places:  # else all are known, and none is nearer by this page
            hops = flight.hops + 1 if leads_on(links) else 0
            found_by = FoundBy(
                Parent(flight.url, flight.depth, flight.chain), visit, flight.depth + 1, hops, nofollow, duplicate,
                flight.is_file and not flight.is_check, flight.is_check,
            )  # fmt: skip
            new = self._take_in(links, places, infos, offered, found_by, flight.hops, page_site)
        if self._judge.checks_links:
            self._check(flight, visit, links, infos)
        if self.tell_links is not None and not flight.is_file:
            self.tell_links(flight.page, infos, offered)
        known = KnownLinks(targets, infos, offered, page_site.prefix, first_new)
        return packed_links(links, infos, offered), Found(page_site.external_links(targets), new, known)

    def _with_shown(self, links: Links, infos: Infos, offered: bytearray, places: list[int]) -> list[int]:
        """Where to look closer, with the links that show files: those not yet judged as files. They are offered too."""
        shows, targets, rel_of = self._judge.shows, links.targets, links.rels.get
        more = []
        for at, kind in links.kinds.items():
            if shows(kind, rel_of(at, ""), targets[at]):
                offered[at] = 1
                if infos[at] != UNKNOWN and not infos[at] & (ADMITTED | JUDGED_FILE):
                    more.append(at)
        return sorted({*places, *more}) if more else places

    def _check(self, flight: PageInFlight, visit: int, links: Links, infos: Infos) -> None:
        """Puts targets that are no pages and no files of the crawl into the queue, to learn whether they answer."""
        depth, kind_of, rel_of = flight.depth + 1, links.kinds.get, links.rels.get
        for at, info in enumerate(infos):
            kind = kind_of(at, _A)
            if info & (ADMITTED | JUDGED_FILE | CHECKED) or kind == _FORM:
                continue
            if kind == _LINK and not _NO_ADDRESSES.isdisjoint(rel_of(at, "").lower().split()):
                continue
            target = links.targets[at]
            hops = flight.hops + 1 if kind == _REDIRECT else 0
            row = self.known.row_of(url_id_of(info)) if target.startswith(("http://", "https://")) else None
            if row is None or row.state is not None or row.role != Role.PAGE or hops > self._most_hops:
                continue
            row.found_in, row.depth, row.hops = visit, depth, hops
            if self._judge.judge_checked(target).admitted:
                row.state, row.role, row.priority, row.chain = "W", Role.CHECK, FILE_PRIORITY, 0
                self._counts["refused"] -= 1
                self._counts["waiting"] += 1
                self.admitted.append(row.id)
            else:
                row.role = Role.NO_FILE
            self.known.update(row)
            self._seen.recent.put(target, self.known.info_of(url_id_of(info), row))

    def _page_site_of(self, url: str) -> PageSite:
        prefix = url[: url.index("/", 8) + 1]
        page_site = self._page_sites.get(prefix)
        if page_site is None:
            if len(self._page_sites) >= _PAGE_SITES:
                self._page_sites.clear()
            page_site = self._page_sites[prefix] = PageSite(prefix)
        return page_site

    def _take_in(
        self, links: Links, places: list[int], infos: Infos, offered: bytearray, onward: FoundBy, hops: int,
        page_site: PageSite,
    ) -> list[str]:  # fmt: skip
        """Meets what is new, and looks again at what is known and may be nearer now; what was new.

        What is known of each is put into ``infos``.
        """
        find, discover, kind_of, rel_of = self._seen.recent.find, self._discover, links.kinds.get, links.rels.get
        targets, prefix, bound = links.targets, page_site.prefix, reach(onward.depth)
        new: list[str] = []
        for at in places:
            target, kind, found_by = targets[at], kind_of(at, _A), onward
            if kind == _REDIRECT:
                found_by = onward._replace(depth=onward.depth - 1, hops=hops + 1)
            info = find(target) if infos[at] == UNKNOWN else infos[at]
            if info is None:
                info = discover(target, kind, rel_of(at, ""), found_by, page_site)
                if info & ADMITTED and target.startswith(prefix):
                    new.append(target)
            elif offered[at] and self._may_change(info, targets[at], kind, rel_of(at, ""), found_by, bound):
                self._reconsider(links.bare(at), url_id_of(info), found_by)
            infos[at] = info
        return new

    def _may_change(self, info: int, target: str, kind: int, rel: str, found_by: FoundBy, bound: int) -> bool:
        """Whether a link may bring in, or nearer, what is known so of its target."""
        if self._judge.shows_files:
            if self._judge.shows(kind, rel, target):
                return not info & (ADMITTED | JUDGED_FILE)
            if info & JUDGED_FILE and not info & FINAL and self._judge.is_file(target):
                return depth_of(info) > found_by.depth
        return not info & FINAL and (info > bound or kind == _REDIRECT)

    def offer_sitemap(self, visit: int, entries: Sequence[tuple[str, str]]) -> str:
        """The entries (URL, date of change) of a sitemap, admitted at depth 1; the date is put where anchors are."""
        rows: list[PackedLink] = []
        found_by = FoundBy(None, visit, 1, 0)
        for url, changed in entries:
            info = self._seen.recent.find(url)
            if info is None:
                info = self._discover(url, LinkKind.SITEMAP.value, "", found_by)
            elif info > reach(1):
                self._reconsider(Link(url, LinkKind.SITEMAP.value), url_id_of(info), found_by)
            rows.append((url_id_of(info), LinkKind.SITEMAP.value, 1, changed))
        return packed(rows) if rows else ""

    def _discover(self, text: str, kind: int, rel: str, found_by: FoundBy, page_site: PageSite | None = None) -> int:
        """Gives a text that is new its id, and a page if its key is new; returns what is known of it now."""
        if len(text) > self._longest_b:  # cut to one past the bound: a name of its own, refused as too long
            text = text[: self._longest_b + 1]
            info = self._seen.recent.find(text)
            if info is not None:
                return info
        if not text.startswith(("http://", "https://")):
            info = pack(self.known.new_url(text, 0), DEPTH_MAX, FINAL)
            self._seen.recent.put(text, info)
            return info
        normalizer, seen = self._normalizer, self._seen
        key = normalizer.key(text) if normalizer.trigger in text else text
        known = seen.id_of_key(key, text) if seen.has_keys or key is not text else None
        page = self.known.page_of(known) if known is not None else 0
        if page:
            return self._discover_spelling(Link(text, kind, "", rel), found_by, page)
        url_id = self.known.new_url(text, None)
        info = self._new_page(url_id, key, text, kind, rel, found_by, page_site)
        seen.recent.put(text, info)
        if key is not text and key != text:
            seen.add_key(key, url_id)
        return info

    def _discover_spelling(self, link: Link, found_by: FoundBy, page: int) -> int:
        """A text that is new, of a page that is known."""
        url_id = self.known.new_url(link.target, page)
        info = self.known.info_of(url_id, self.known.row(page))
        self._seen.recent.put(link.target, info)
        if self._may_change(info, link.target, link.kind, link.rel, found_by, -1):
            self._reconsider(link, url_id, found_by)
            info = self.known.info_of(url_id, self.known.row(page))
        return info

    def _new_page(
        self,
        url_id: int,
        key: str,
        text: str,
        kind: int,
        rel: str,
        found_by: FoundBy,
        page_site: PageSite | None = None,
    ) -> int:
        """Makes the page of a key that is new, by the judge's word; what is known of it now."""
        judge, counts = self._judge, self._counts
        parent, visit, depth, hops, *_ = found_by
        if page_site is not None and text.startswith(page_site.prefix):
            site_id = page_site.site = page_site.site or self._site_names.id_of(site_of(text))
        else:
            site_id = self._site_names.id_of(site_of(text))
        role = Role.PAGE
        if self._is_shown(text, kind, rel, found_by):
            reason = self._shown_reason(text, kind, rel, found_by)
            role = Role.FILE if reason is None else Role.NO_FILE
        else:
            reason = self._link_reason(text, kind, rel, found_by) or judge.judge_url(text, site_id, parent).reason
            if reason is None and judge.is_file(text):
                role = Role.FILE
        counts["known"] += 1
        if reason is None:
            state, why = "W", None
            chain = 0 if role is Role.FILE else judge.chain_of(text, parent)
            counts["waiting"] += 1
            self.admitted.append(url_id)
        else:
            state, why, chain = None, str(reason), 0  # quicker than its value
            counts["refused"] += 1
        priority = FILE_PRIORITY if role is Role.FILE else -(visit or 0) if self._dfs else depth
        self.known.new_pages[url_id] = PageRow(
            url_id, site_id, state, why, depth, hops, chain, priority, visit, None if key == text else key, None,
            role.value,
        )  # fmt: skip
        return pack(url_id, depth, flags_of(state, why, hops, role))

    def _is_shown(self, text: str, kind: int, rel: str, found_by: FoundBy) -> bool:
        """Whether a link asks for its target as a file: it shows it, or a file redirects there."""
        return self._judge.shows_files and (
            self._judge.shows(kind, rel, text) or (found_by.by_file and kind == _REDIRECT)
        )

    def _shown_reason(self, text: str, kind: int, rel: str, found_by: FoundBy) -> Reason | None:
        """Why a file that a page shows is not asked."""
        reason = self._link_reason(text, kind, rel, found_by) if kind == _REDIRECT else None
        return reason or self._judge.judge_shown(text).reason

    def _link_reason(self, target: str, kind: int, rel: str, found_by: FoundBy) -> Reason | None:
        """Why this link cannot bring its target in; seeds are no links."""
        parent, visit, depth, hops, nofollow, duplicate, _, by_check = found_by
        if visit is None:
            return None
        if by_check:
            return Reason.KIND_NOT_FOLLOWED
        if duplicate and kind != _REDIRECT:
            return Reason.ON_DUPLICATE
        source = parent.url if parent is not None else ""
        return self._judge.judge_link(kind, rel, nofollow, depth, hops, target, source).reason

    def _priority(self, found_by: FoundBy) -> int:
        """Breadth first: by depth. Depth first: the links of the page read last come first."""
        return -(found_by.visit or 0) if self._dfs else found_by.depth

    def _reconsider(self, link: Link, url_id: int, found_by: FoundBy) -> None:
        """A link to a page that is known and perhaps not admitted, or farther away than this link makes it."""
        row = self.known.row_of(url_id) or self._become_page(url_id, link, found_by)
        if self._is_shown(link.target, link.kind, link.rel, found_by):
            if row.state is None and row.role in (Role.PAGE, Role.CHECK):
                self._admit_file(row, link, found_by)
            elif row.role == Role.CHECK and self._shown_reason(link.target, link.kind, link.rel, found_by) is None:
                self._ask_anew(row, Role.FILE, FILE_PRIORITY)
        elif flags_of(row.state, row.reason, row.hops, row.role) & FINAL:
            pass
        elif row.state is not None and (
            row.role == Role.CHECK or (row.role == Role.FILE and not self._judge.is_file(link.target))
        ):
            self._make_page(row, link, found_by)
        elif row.state is None:
            reason = self._link_reason(link.target, link.kind, link.rel, found_by)
            if reason is None:
                self._admit_late(row, link.target, found_by)
            elif reason is Reason.TOO_DEEP and row.reason == Reason.OTHER_SITE.value:
                # a site's own link: it counts once --max-depth is raised
                row.reason, row.depth, row.found_in = reason.value, found_by.depth, found_by.visit
                self.known.update(row)
        elif (found_by.depth < row.depth or found_by.hops < row.hops) and (
            self._link_reason(link.target, link.kind, link.rel, found_by) is None
        ):
            self._lower(row, found_by, min(found_by.depth, row.depth), min(found_by.hops, row.hops))
        self._seen.recent.put(link.target, self.known.info_of(url_id, row))

    def _admit_file(self, row: PageRow, link: Link, found_by: FoundBy) -> None:
        """A URL that is no page of the crawl is shown by a page: it may be asked as a file."""
        reason = self._shown_reason(link.target, link.kind, link.rel, found_by)
        if reason is not None:
            row.role = Role.NO_FILE
            self.known.update(row)
            return
        row.state, row.reason, row.role, row.priority = "W", None, Role.FILE, FILE_PRIORITY
        row.depth, row.hops, row.found_in, row.chain = found_by.depth, found_by.hops, found_by.visit, 0
        self.known.update(row)
        self._counts["refused"] -= 1
        self._counts["waiting"] += 1
        self.admitted.append(row.id)

    def _make_page(self, row: PageRow, link: Link, found_by: FoundBy) -> None:
        """A file, or a checked target, is linked like a page: it is one, if it belongs to the crawl."""
        reason = self._link_reason(link.target, link.kind, link.rel, found_by)
        reason = reason or self._judge.judge_url(link.target, row.site, found_by.parent).reason
        if reason is not None:
            return
        row.depth, row.hops, row.found_in = found_by.depth, found_by.hops, found_by.visit
        if self._judge.is_file(link.target):
            self._ask_anew(row, Role.FILE, FILE_PRIORITY)
        else:
            row.chain = self._judge.chain_of(link.target, found_by.parent)
            self._ask_anew(row, Role.PAGE, self._priority(found_by))

    def _ask_anew(self, row: PageRow, role: Role, priority: int) -> None:
        """Gives another role to what is, or was, asked beside pages; it is asked once more where it was asked."""
        row.role, row.priority, row.reason = role, priority, None
        self.known.update(row)
        flight = self.in_flight.get(row.id)
        if flight is not None:
            flight.becomes_page = True
        elif row.id in self.known.new_pages:
            pass
        elif row.state == "W":
            self._move(row)
        else:
            self.ask_as_page(row.id)

    def ask_as_page(self, page: int) -> None:
        """A URL that was asked as a file waits for its turn as a page."""
        state, cause, status = self._db.execute(_OUTCOME, (page,)).fetchone()
        if state not in ("C", "E"):
            return
        self._counts["completed" if state == "C" else "errors"] -= 1
        if state == "E" and cause == Cause.ROBOTS_DISALLOWED.value:
            self._counts["forbidden"] -= 1
        elif state == "E" or (status or 0) >= 400:
            self._counts["broken"] -= 1
        self._counts["waiting"] += 1
        self._db.execute(
            "UPDATE page SET state = 'W', attempts = 0, cause = NULL, retry_ms = NULL WHERE id = ?", (page,)
        )
        self.admitted.append(page)

    def let_in(self) -> None:
        """After the scope grew: admits what was found earlier, and only the narrower scope kept out."""
        last = 0
        while rows := self._db.execute(_OUTSIDE, (last, Reason.OUT_OF_SCOPE.value)).fetchall():
            last = rows[-1][0]
            for page, site_id, url, source in rows:
                row = self.known.row(page)
                is_shown = row.role == Role.NO_FILE
                judged = self._judge.judge_shown(url) if is_shown else self._judge.judge_url(url, site_id, None)
                reason = judged.reason
                if reason is Reason.OUT_OF_SCOPE:
                    continue
                if reason is None and source is not None and self._is_foreign(source, url):
                    reason = Reason.OTHER_SITE
                if row.role == Role.CHECK:
                    row.reason = reason.value if reason is not None else None
                    if reason is not None:
                        self.known.update(row)
                    elif self._judge.is_file(url):
                        self._ask_anew(row, Role.FILE, FILE_PRIORITY)
                    else:
                        self._ask_anew(row, Role.PAGE, row.depth)
                    self._seen.recent.put(url, self.known.info_of(page, row))
                    continue
                row.state, row.reason = ("W", None) if reason is None else (None, reason.value)
                if reason is None and (is_shown or self._judge.is_file(url)):
                    row.role, row.priority = Role.FILE, FILE_PRIORITY
                self.known.update(row)
                self._seen.recent.put(url, self.known.info_of(page, row))
                if reason is None:
                    self._counts["refused"] -= 1
                    self._counts["waiting"] += 1
                    self.admitted.append(page)

    def _is_foreign(self, source: str, target: str) -> bool:
        """Whether links from a page to another URL do not count because their sites are crawled apart (R2)."""
        return self._judge.judge_link(_REDIRECT, "", False, 0, 0, target, source).reason is Reason.OTHER_SITE

    def _become_page(self, url_id: int, link: Link, found_by: FoundBy) -> PageRow:
        """A sitemap or robots.txt that is linked like any page: its text has an id, now it gets a page."""
        self.known.own_page(url_id, link.target)
        self._new_page(url_id, self._normalizer.key(link.target), link.target, link.kind, link.rel, found_by)
        return self.known.new_pages[url_id]

    def _admit_late(self, row: PageRow, text: str, found_by: FoundBy) -> None:
        """A page known only by links that are not followed, and now by one that is."""
        reason = self._judge.judge_url(text, row.site, found_by.parent).reason
        row.state, row.reason = ("W", None) if reason is None else (None, reason.value)
        row.depth, row.hops, row.found_in = found_by.depth, found_by.hops, found_by.visit
        row.chain, row.priority = self._judge.chain_of(text, found_by.parent), self._priority(found_by)
        row.role = Role.PAGE
        if reason is None and self._judge.is_file(text):
            row.role, row.priority, row.chain = Role.FILE, FILE_PRIORITY, 0
        self.known.update(row)
        if reason is None:
            self._counts["refused"] -= 1
            self._counts["waiting"] += 1
            self.admitted.append(row.id)

    def _lower(self, row: PageRow, found_by: FoundBy, depth: int, hops: int) -> None:
        """The page is nearer than was known: its place in the queue, or the pages behind it, follow."""
        row.depth, row.hops, row.found_in = depth, hops, found_by.visit
        row.priority = depth if self._by_depth and row.role != Role.FILE else row.priority
        self.known.update(row)
        flight = self.in_flight.get(row.id)
        if flight is not None:
            flight.depth, flight.hops = depth, hops
            if flight.offered:
                self._lowered.append(row.id)
        elif row.id in self.known.new_pages:
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
            entry.is_file, entry.is_check = row.role in NO_PAGES, row.role == Role.CHECK
            site.push(entry)
        elif (row.priority, row.id) <= site.cursor:
            self.moved.append(row.id)  # in front of the cursor now: it belongs to the head

    def waiting(self, row: PageRow) -> Waiting:
        """A page as an entry of its site's queue."""
        text, is_file = self.known.text(row.id), row.role in NO_PAGES
        is_check = row.role == Role.CHECK
        return Waiting(row.id, row.priority, row.id, text, row.depth, row.hops, row.chain, 0, is_file, is_check)

    def reprioritize(self, page: int, priority: int) -> None:
        """Gives a page that waits another priority."""
        row = self.known.row(page)
        row.priority = priority
        if page not in self.known.new_pages:
            self._db.execute("UPDATE page SET priority = ? WHERE id = ?", (priority, page))
            if page not in self.in_flight:
                self._move(row)

    def offer_again(self) -> None:
        """Offers the stored links of pages that came nearer, and of those behind them, until nothing falls."""
        while self._lowered:
            row = self.known.row(self._lowered.popleft())
            stored = self._db.execute(
                "SELECT l.links, v.nofollow FROM link_pack l JOIN visit v ON v.id = l.visit WHERE l.visit = ?",
                (row.visit,),
            ).fetchone()
            if stored is None:
                continue
            parent = Parent(self.known.text(row.id), row.depth, row.chain)
            rows = msgspec.json.decode(stored[0])
            hops = row.hops + 1 if packed_leads_on(rows) else 0
            onward = FoundBy(parent, row.visit, row.depth + 1, hops, bool(stored[1]))
            redirected = FoundBy(
                parent, row.visit, row.depth, row.hops + 1, bool(stored[1]), by_file=row.role == Role.FILE
            )
            for url_id, kind, offered, *rest in rows:
                found_by = redirected if kind == _REDIRECT else onward
                known = self.known.row_of(url_id) if offered else None
                if known and (known.state is None or found_by.depth < known.depth or found_by.hops < known.hops):
                    self._reconsider(
                        Link(self.known.text(url_id), kind, "", rest[1] if len(rest) > 1 else ""), url_id, found_by
                    )

    # ---- the tick --------------------------------------------------------------------------------------------

    def committed(self) -> None:
        """After the commit: those that joined the queue, or moved in it, are told."""
        self.admitted, self.moved = [], []

    def shed(self) -> None:
        """Gives back the memory of what can be made again."""
        self._page_sites.clear()


_OUTSIDE = (
    "SELECT p.id, p.site, u.text, (SELECT f.text FROM visit v JOIN url f ON f.id = v.url WHERE v.id = p.found_in)"
    " FROM page p JOIN url u ON u.id = p.id"
    f" WHERE p.id > ? AND (p.state IS NULL OR p.role = {Role.CHECK.value}) AND p.reason = ? ORDER BY p.id LIMIT 1000"
)
_OUTCOME = "SELECT p.state, p.cause, v.status FROM page p LEFT JOIN visit v ON v.id = p.visit WHERE p.id = ?"
