"""Which pages are nodes, and to which node each URL belongs: a few bytes a URL, whatever the number of links.

Read once at the start, up to the largest visit, in short statements. What a running crawl adds after that is not in
the graph.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import chain, groupby
from typing import NamedTuple

import msgspec

from weft.derive.graph.merging import exact_duplicates, near_duplicates, united
from weft.derive.graph.model import Choice, Merged
from weft.derive.read import Hop, StoredCrawl
from weft.derive.read.links import hops_of
from weft.errors import Reason, SpecError
from weft.parse.content import HTML_TYPES, declared_type, field_that_counts
from weft.ports import Progress, silent
from weft.records import LinkKind, Purpose
from weft.spec import FOLLOWED_KINDS
from weft.url.location import REDIRECTS

_CHUNK = 5_000
_SPAN = 100_000
_PACKS_AT_ONCE = 500
_CONTENT_TYPE = re.compile(r"^content-type:[ \t]*([^\r\n]*)", re.IGNORECASE | re.MULTILINE)
_NONE = -1


class _Visited(NamedTuple):
    visit: int
    page: int
    site: int
    depth: int
    status: int | None
    type: str | None
    headers: str | None
    canonical: int


class Nodes:
    """The nodes of a page graph, by number, and the way from any URL's id to a number.

    ``count`` nodes were fetched; those behind them, up to ``len(pages)``, are outside the crawl.
    """

    def __init__(self, crawl: StoredCrawl, choice: Choice, progress: Progress = silent) -> None:
        self.crawl = crawl
        self.choice = choice
        self.kinds = followed_kinds(crawl)
        # The largest visit first: every URL that it and those before it name is then in the tables.
        self.newest = crawl.newest_visit()
        self.size = crawl.newest_url() + 1
        self.pages, self.visits, self.depths, self.sites = array("i"), array("q"), array("i"), array("i")
        self.node_of = array("i", [_NONE]) * self.size
        self.site_of = array("i", [0]) * self.size
        self.duplicate_of: dict[int, int] = {}  # nodes that stay beside their representative (Merged.KEEP)
        self._redirects: list[tuple[int, int]] = []
        self._canonical: list[int] = []
        self._read_sites(progress)
        self._read_pages(progress)
        self.count = len(self.pages)
        self.duplicates, self.redirects = array("i", bytes(4 * self.count)), array("i", bytes(4 * self.count))
        self._merge(progress)
        if choice.external:
            self._add_external()

    # ---- reading ---------------------------------------------------------------------------------------------

    def _read_sites(self, progress: Progress) -> None:
        """The site of every page; spellings get theirs in ``_spread``."""
        last = 0
        query = "SELECT id, site FROM page WHERE id > ? ORDER BY id LIMIT ?"
        site_of, size = self.site_of, self.size
        while rows := self.crawl.connection.execute(query, (last, _CHUNK)).fetchall():
            last = rows[-1][0]
            progress("reading URLs", last, size)
            for page, site in rows:
                if page < size:
                    site_of[page] = site

    def _read_pages(self, progress: Progress) -> None:
        """Every page whose answer makes it a node, in the order of the answers; redirects are kept aside."""
        strict = _wants_declared_html(self.crawl)
        last, values = 0, {"newest": self.newest, "most": _CHUNK, "strict": strict}
        while rows := self.crawl.connection.execute(_VISITED, {**values, "after": last}).fetchall():
            last = rows[-1][0]
            progress("reading pages", last, self.newest)
            for row in map(_Visited._make, rows):
                if row.status == 304:  # not modified: the newest answer with a body speaks
                    row = self._answer_before(row)
                if row.status in REDIRECTS:
                    self._redirects.append((row.page, row.visit))
                if self._is_node(row, strict):
                    self._add(row.page, row.visit, row.depth, row.site)
                    if row.canonical and self.choice.canonical:
                        self._canonical.append(len(self.pages) - 1)

    def _answer_before(self, row: _Visited) -> _Visited:
        found = self.crawl.connection.execute(_BEFORE, (row.page, row.visit)).fetchone()
        return row if found is None else _Visited._make(found)

    def _is_node(self, row: _Visited, strict: bool) -> bool:
        if row.status is None:
            return False
        if row.status in REDIRECTS:
            return self.choice.merged is Merged.NO
        if self.choice.all_types:
            return 200 <= row.status <= 299
        if strict:
            content_type = field_that_counts(_CONTENT_TYPE.findall(row.headers or ""))
            return row.status == 200 and declared_type(content_type) == "text/html"
        return row.status == 200 and row.type in HTML_TYPES

    def _add(self, page: int, visit: int, depth: int, site: int) -> None:
        self.node_of[page] = len(self.pages)
        self.pages.append(page)
        self.visits.append(visit)
        self.depths.append(depth)
        self.sites.append(site)

    # ---- merging ---------------------------------------------------------------------------------------------

    def _merge(self, progress: Progress) -> None:
        """Redirects lead to where they end, pages that are the same become one, spellings join their page."""
        progress("merging", 0, 0)
        targets = self._redirect_targets()
        if self.choice.merged is not Merged.NO:
            self._follow_redirects(targets)
        self._spread()
        if self.choice.merged is not Merged.NO:
            self._unite(progress)

    def _redirect_targets(self) -> dict[int, int]:
        """Where each redirecting page leads: page id to page id."""
        if self.choice.merged is Merged.NO:
            return {}
        targets: dict[int, int] = {}
        pages = {visit: page for page, visit in self._redirects}
        for visit, links in self.packs([visit for _, visit in self._redirects]):
            for hop in self.hops(links, visit):
                if hop.kind == LinkKind.REDIRECT:
                    targets[pages[visit]] = hop.target
                    break
        spellings = self.crawl.connection.execute(
            "SELECT id, page FROM url WHERE page > 0 AND id IN (SELECT value FROM json_each(?))",
            (msgspec.json.encode(sorted(set(targets.values()))).decode(),),
        )
        page_of = dict(spellings.fetchall())
        return {page: page_of.get(target, target) for page, target in targets.items()}

    def _follow_redirects(self, targets: dict[int, int]) -> None:
        """Each redirecting page gets the node at the end of its chain; none where that is no node, or a ring (R11)."""
        for start in targets:
            at, steps = start, {start}
            while at in targets and (goal := targets[at]) not in steps and goal < self.size:
                at = goal
                steps.add(at)
            node = self.node_of[at]
            if at != start and node >= 0 and self.node_of[start] < 0 and self._within(start, node):
                self.node_of[start] = node
                self.redirects[node] += 1

    def _within(self, page: int, node: int) -> bool:
        """Whether a page may be merged into a node: with graphs apart, only on its own site."""
        return not self.choice.apart or self.site_of[page] == self.sites[node]

    def _spread(self) -> None:
        """Other spellings of a page lead to its node and are of its site."""
        size, node_of, site_of = self.size, self.node_of, self.site_of
        for alias, page in spellings(self.crawl, size):
            if page < size:
                if node_of[alias] < 0:
                    node_of[alias] = node_of[page]
                site_of[alias] = site_of[page]

    def _unite(self, progress: Progress) -> None:
        """Nodes that are the same become one; the others' URLs lead to it."""
        parent = united(self.count, chain(self._same_pages(progress), self._canonical_pairs()))
        moved = [node for node in range(self.count) if parent[node] != node]
        if not moved:
            return
        for node in moved:
            self.duplicates[parent[node]] += 1
            self.redirects[parent[node]] += self.redirects[node]
        if self.choice.merged is Merged.KEEP:
            self.duplicate_of = {node: parent[node] for node in moved}
            self._renumber(parent.__getitem__)
        else:
            self.keep(lambda node: parent[node] == node, parent.__getitem__)

    def _same_pages(self, progress: Progress) -> Iterator[tuple[int, int]]:
        """Exact and near duplicates as pairs of node numbers."""
        node_of, visits, apart = self.node_of, self.visits, self.choice.apart

        def is_node(page: int, visit: int) -> bool:
            return page < self.size and node_of[page] >= 0 and visits[node_of[page]] == visit

        exact, near = exact_duplicates(self.crawl, is_node, apart=apart), near_duplicates(self.crawl, progress)
        for page, representative in chain(exact, near):
            if page < self.size and representative < self.size:
                one, other = node_of[page], node_of[representative]
                if one >= 0 and other >= 0 and (not apart or self.sites[one] == self.sites[other]):
                    yield one, other

    def _canonical_pairs(self) -> Iterator[tuple[int, int]]:
        number_of = {self.visits[node]: node for node in self._canonical}
        for visit, links in self.packs(list(number_of)):
            node = number_of[visit]
            for hop in self.hops(links, visit):
                if hop.kind == LinkKind.CANONICAL and hop.target < self.size:
                    goal = self.node_of[hop.target]
                    if goal >= 0 and goal != node and self._within(self.pages[node], goal):
                        yield node, goal
                    break

    def _renumber(self, number: Callable[[int], int]) -> None:
        node_of = self.node_of
        for url, node in enumerate(node_of):
            if node >= 0:
                node_of[url] = number(node)

    def keep(self, wanted: Callable[[int], bool], goes_to: Callable[[int], int] = lambda node: node) -> None:
        """Keeps the nodes that are wanted, in their order; URLs of the others go to another node, or to none."""
        kept = [node for node in range(len(self.pages)) if wanted(node)]
        fetched = sum(node < self.count for node in kept)
        self._arrange(kept, goes_to)
        self.count = fetched

    def by_site(self) -> dict[int, range]:
        """The numbers of the nodes of each site, after the nodes were put in the order of their sites.

        Sites with a start address are there also without a node: whoever asked for a site finds its file (R3, R6).
        """
        self._arrange(sorted(range(len(self.pages)), key=self.sites.__getitem__), lambda node: node)
        spans = {site: range(0) for (site,) in self.crawl.connection.execute(_START_SITES)}
        for site, group in groupby(range(len(self.pages)), key=self.sites.__getitem__):
            members = list(group)
            spans[site] = range(members[0], members[-1] + 1)
        return dict(sorted(spans.items()))

    def _arrange(self, order: list[int], goes_to: Callable[[int], int]) -> None:
        new = array("i", [_NONE]) * len(self.pages)
        for number, node in enumerate(order):
            new[node] = number
        for name in ("pages", "visits", "depths", "sites", "duplicates", "redirects"):
            old = getattr(self, name)
            setattr(self, name, array(old.typecode, (old[node] for node in order)))
        self.duplicate_of = {
            new[node]: new[other] for node, other in self.duplicate_of.items() if new[node] >= 0 and new[other] >= 0
        }
        self._renumber(lambda node: new[goes_to(node)])

    # ---- outside the crawl -----------------------------------------------------------------------------------

    def _add_external(self) -> None:
        """Pages that were never asked because they are outside: out of scope, or on a site without a node."""
        crawled = set(self.sites)
        last = 0
        while rows := self.crawl.connection.execute(_REFUSED, (last, _CHUNK)).fetchall():
            last = rows[-1][0]
            for page, site, depth, reason in rows:
                if page < self.size and (reason == Reason.OUT_OF_SCOPE.value or site not in crawled):
                    self._add(page, 0, depth, site)
                    self.duplicates.append(0)
                    self.redirects.append(0)
        self._spread()

    # ---- links -----------------------------------------------------------------------------------------------

    def packs(self, visits: list[int]) -> Iterator[tuple[int, str]]:
        """(visit, packed links) of those of the visits that found any, in the order given where that is ascending."""
        for start in range(0, len(visits), _PACKS_AT_ONCE):
            chosen = msgspec.json.encode(visits[start : start + _PACKS_AT_ONCE]).decode()
            yield from self.crawl.connection.execute(_PACKS, (chosen,)).fetchall()

    def hops(self, links: str, visit: int) -> list[Hop]:
        """The targets and kinds of packed links."""
        return hops_of(self.crawl, links, visit)

    @cached_property
    def site_names(self) -> dict[int, str]:
        """The name of every site by its id."""
        return dict(self.crawl.connection.execute("SELECT id, name FROM site").fetchall())


def spellings(crawl: StoredCrawl, size: int) -> Iterator[tuple[int, int]]:
    """(URL, page) by ids for every URL below ``size`` that is another spelling of a page."""
    query = "SELECT id, page FROM url WHERE id >= ? AND id < ? AND page > 0"
    for start in range(0, size, _SPAN):
        yield from crawl.connection.execute(query, (start, min(start + _SPAN, size))).fetchall()


def followed_kinds(crawl: StoredCrawl) -> frozenset[int]:
    """The numbers of the kinds of links that this crawl followed; the default ones where crawl.toml cannot be read."""
    try:
        names: Iterable[str] = crawl.spec.scope.follow
    except (SpecError, OSError):
        names = FOLLOWED_KINDS
    return frozenset(kind.value for kind in LinkKind if kind.label in set(names))


def _wants_declared_html(crawl: StoredCrawl) -> bool:
    """Whether only what says that it is text/html is a page (R8, mode graph)."""
    try:
        return crawl.spec.scope.html_only
    except (SpecError, OSError):
        return False


_COUNTS = f"""(p.visit = v.id OR (p.visit > :newest AND v.id =
    (SELECT max(w.id) FROM visit w WHERE w.page = p.id AND w.id <= :newest AND w.purpose = {Purpose.PAGE.value})))"""
_START_SITES = "SELECT DISTINCT p.site FROM seed s JOIN page p ON p.id = s.page"
_VISITED = f"""
SELECT v.id, p.id, p.site, p.depth, CASE WHEN v.cause IS NULL THEN v.status END, v.type,
       CASE WHEN :strict THEN v.headers END, v.canonical IS NOT NULL
FROM visit v JOIN page p ON p.id = v.page
WHERE v.id > :after AND v.id <= :newest AND v.purpose = {Purpose.PAGE.value} AND {_COUNTS}
ORDER BY v.id LIMIT :most
"""
_BEFORE = f"""
SELECT v.id, p.id, p.site, p.depth, v.status, v.type, v.headers, v.canonical IS NOT NULL
FROM visit v JOIN page p ON p.id = v.page
WHERE v.page = ? AND v.id < ? AND v.purpose = {Purpose.PAGE.value} AND v.status BETWEEN 200 AND 299 AND v.cause IS NULL
ORDER BY v.id DESC LIMIT 1
"""
_REFUSED = """
SELECT p.id, p.site, p.depth, p.reason FROM page p JOIN url u ON u.id = p.id
WHERE p.id > ? AND p.state IS NULL AND p.visit IS NULL AND u.text LIKE 'http%' ORDER BY p.id LIMIT ?
"""
_PACKS = "SELECT l.visit, l.links FROM json_each(?) j JOIN link_pack l ON l.visit = j.value"
