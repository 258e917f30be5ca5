"""The graph of sites, domains or directories: how many links lead from one to another."""

from __future__ import annotations

import sqlite3
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import msgspec

from weft.derive.graph.look import OUTSIDE, Rings, color_of, size_of
from weft.derive.graph.model import Choice, Edge, Field, Kind, Level, Look, Node, Value
from weft.derive.graph.pages import PageGraph
from weft.derive.graph.select import Nodes
from weft.derive.graph.where import EdgeFilter, Filter
from weft.derive.read.links import decoded
from weft.ports import Progress, silent
from weft.text.human import counted
from weft.url import domain_of, host_of_site, path_of

GROUP_FIELDS = (
    Field("pages", Kind.WHOLE),
    Field("least_depth", Kind.WHOLE),
    Field("internal_links", Kind.WHOLE),
    Field("links_out", Kind.WHOLE),
    Field("links_in", Kind.WHOLE),
    Field("out_degree", Kind.WHOLE),
    Field("in_degree", Kind.WHOLE),
    Field("external", Kind.FLAG),
)
_PAIRS_IN_RAM = 500_000
_BATCH = 5_000
_SHIFT = 32


class GroupFacts(msgspec.Struct):
    """What is known of a group, in the order of ``GROUP_FIELDS``."""

    pages: int = 0
    least_depth: int = 0
    internal_links: int = 0
    links_out: int = 0
    links_in: int = 0
    out_degree: int = 0
    in_degree: int = 0

    @property
    def is_external(self) -> bool:
        """Whether links lead to the group, and none of its pages was asked."""
        return self.pages == 0

    @property
    def weight(self) -> int:
        """How large it is drawn."""
        return self.pages + self.links_in


class PairCounts:
    """Numbers by (source, target): a bounded part in memory, the rest in a temporary database on disk."""

    def __init__(self) -> None:
        self._recent: Counter[int] = Counter()
        self._disk: sqlite3.Connection | None = None

    def add(self, source: int, target: int, number: int = 1) -> None:
        self._recent[source << _SHIFT | target] += number
        if len(self._recent) > _PAIRS_IN_RAM:
            self._spill()

    def _spill(self) -> None:
        if self._disk is None:
            self._disk = sqlite3.connect("", isolation_level=None)
            self._disk.execute("CREATE TABLE pair(pair INTEGER PRIMARY KEY, number INTEGER NOT NULL)")
        self._disk.execute("BEGIN")
        self._disk.executemany(
            "INSERT INTO pair VALUES(?, ?) ON CONFLICT(pair) DO UPDATE SET number = number + excluded.number",
            sorted(self._recent.items()),
        )
        self._disk.execute("COMMIT")
        self._recent.clear()

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        """(source, target, number), sorted."""
        if self._disk is None:
            pairs: Iterator[tuple[int, int]] = iter(sorted(self._recent.items()))
        else:
            self._spill()
            pairs = iter(self._disk.execute("SELECT pair, number FROM pair ORDER BY pair"))
        mask = (1 << _SHIFT) - 1
        for pair, number in pairs:
            yield pair >> _SHIFT, pair & mask, number

    def close(self) -> None:
        if self._disk is not None:
            self._disk.close()


class GroupGraph:
    """A graph whose nodes are groups of pages. With ``external`` also groups that were never asked."""

    def __init__(
        self,
        nodes: Nodes,
        choice: Choice,
        *,
        name: str,
        links: EdgeFilter | None = None,
        wanted: tuple[Filter, ...] = (),
        progress: Progress = silent,
    ) -> None:
        self._nodes = nodes
        self._choice = choice
        self._links = links
        self.name = name
        self.dynamic = False
        self.multi = False
        self.columns: dict[Field, Sequence[Value]] = {}
        self._names: list[str] = []
        self._numbers: dict[str, int] = {}
        self._colors: dict[str, int] = {}
        self._group_of = self._grouped(progress)
        self._counts = self._count(progress)
        self._facts = self._collected()
        self._kept = self._wanted(wanted)
        self.node_count = len(self._kept)
        self.edge_count = sum(1 for _ in self._pairs())

    @property
    def description(self) -> str:
        pages = sum(self._facts[group].pages for group in self._kept)
        groups = counted(self.node_count, self._choice.level.value)
        return f"{groups} with {counted(pages, 'page')}, and {counted(self.edge_count, 'edge')} between them"

    @property
    def fields(self) -> tuple[Field, ...]:
        return (*GROUP_FIELDS, *self.columns)

    def measure(self, progress: Progress = silent) -> None:
        """Adds the measures as columns; links count by their number."""
        from weft.derive.graph.measures import measures_of

        pairs = [(source - 1, target - 1, number) for source, target, number in self._pairs() if source != target]
        seeds = self._nodes.crawl.connection.execute("SELECT page FROM seed ORDER BY id").fetchall()
        nodes = [self._nodes.node_of[page] for (page,) in seeds if page < self._nodes.size]
        groups = [self._group_of[node] for node in nodes if node >= 0]
        self.columns = measures_of(
            self.node_count, ((source, (target,)) for source, target, _ in pairs),
            [self._kept[group] - 1 for group in groups if group in self._kept],
            weights=[number for _, _, number in pairs], progress=progress,
        )  # fmt: skip

    # ---- grouping --------------------------------------------------------------------------------------------

    def _number(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self._names)
            self._names.append(name)
        return number

    def _grouped(self, progress: Progress) -> array[int]:
        """The group of every node."""
        nodes = self._nodes
        if self._choice.level is Level.DIRECTORY:
            graph = PageGraph(nodes, self._choice, name=self.name, counted=False)
            urls = (facts.url for _, facts in graph.facts(lambda _, done, of: progress("grouping pages", done, of)))
            places = zip(urls, self._sites(), strict=True)
            return array("i", (self._number(directory_of(url, site)) for url, site in places))
        return array("i", (self._number(self._site_group(site)) for site in nodes.sites))

    def _sites(self) -> Iterator[str]:
        return (self._nodes.site_names.get(site, "") for site in self._nodes.sites)

    def _site_group(self, site: int) -> str:
        name = self._nodes.site_names.get(site, "")
        return name if self._choice.level is Level.SITE else domain_of(host_of_site(name))

    def _count(self, progress: Progress) -> PairCounts:
        """How many links lead from group to group, links inside a group included."""
        nodes, group_of = self._nodes, self._group_of
        graph = PageGraph(nodes, self._choice, name=self.name, counted=False, links=self._links)
        outside = self._outside()
        counts = PairCounts()
        for source, visit, pack in graph.packs(progress):
            found: Counter[int] = Counter()
            for url in self._targets(source, visit, pack):
                node = nodes.node_of[url]
                group = group_of[node] if node >= 0 else outside(url)
                if group >= 0:
                    found[group] += 1
            own = group_of[source]
            for group, number in found.items():
                counts.add(own, group, number)
        return counts

    def _targets(self, source: int, visit: int, pack: str) -> Iterator[int]:
        """The ids of the URLs that a page's links lead to, itself left out."""
        nodes = self._nodes
        if self._links is None:
            found = ((hop.target, hop.kind) for hop in nodes.hops(pack, visit))
        else:
            passed = self._links.links([(0, link) for link in decoded(nodes.crawl, pack, visit)])
            found = ((link.target, link.kind) for _, link in passed)
        for url, kind in found:
            if kind in nodes.kinds and url < nodes.size and nodes.node_of[url] != source:
                yield url

    def _outside(self) -> Callable[[int], int]:
        """The group of a URL that is no node: of its site where that is wanted and can be told; -1 for none."""
        if not self._choice.external or self._choice.level is Level.DIRECTORY:
            return lambda url: -1
        crawled, sites = set(self._nodes.sites), self._nodes.site_of
        known: dict[int, int] = {}

        def group(url: int) -> int:
            site = sites[url]
            if site in crawled or not site:  # a page of a crawled site that is no node: missing, a file, refused
                return -1
            if site not in known:
                known[site] = self._number(self._site_group(site))
            return known[site]

        return group

    # ---- what is known of a group ----------------------------------------------------------------------------

    def _collected(self) -> list[GroupFacts]:
        """What is known of each group."""
        facts = [GroupFacts() for _ in self._names]
        for node, group in enumerate(self._group_of):
            depth, own = self._nodes.depths[node], facts[group]
            own.least_depth = min(own.least_depth, depth) if own.pages else depth
            own.pages += 1
        for source, target, number in self._counts:
            if source == target:
                facts[source].internal_links += number
            else:
                facts[source].links_out += number
                facts[target].links_in += number
                facts[source].out_degree += 1
                facts[target].in_degree += 1
        return facts

    def _values(self, group: int) -> tuple[Value, ...]:
        facts = self._facts[group]
        return (*msgspec.structs.astuple(facts), facts.is_external)

    def _wanted(self, filters: tuple[Filter, ...]) -> dict[int, int]:
        """The groups that pass, with the id each has in the graph."""
        passing = set(range(len(self._names)))
        for one in filters:
            passing &= one.passing([(*self._values(group), name) for group, name in enumerate(self._names)])
        return {group: number for number, group in enumerate(sorted(passing), 1)}

    # ---- the graph -------------------------------------------------------------------------------------------

    def nodes(self, progress: Progress = silent) -> Iterator[Node]:
        most = max((facts.weight for facts in self._facts), default=0)
        hosts = [self._site_number(name) for name in self._names]
        rings = Rings([0] * len(self._kept), [int(self._facts[group].is_external) for group in self._kept])
        for group, number in self._kept.items():
            facts = self._facts[group]
            color = OUTSIDE if facts.is_external else color_of(hosts[group])
            look = Look(color, size_of(facts.weight, most), *rings.place(0, int(facts.is_external)))
            added = tuple(column[number - 1] for column in self.columns.values())
            yield Node(number, self._names[group], self._values(group) + added, look)

    def _site_number(self, name: str) -> int:
        """Groups of one site share a colour."""
        return self._colors.setdefault(name.partition("/")[0], len(self._colors))

    def edges(self, progress: Progress = silent) -> Iterator[list[Edge]]:
        batch: list[Edge] = []
        for source, target, number in self._pairs():
            batch.append(Edge(source, target, number, "", "a"))
            if len(batch) >= _BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    def _pairs(self) -> Iterator[tuple[int, int, int]]:
        """(source id, target id, links) between groups that are in the graph."""
        kept, loops = self._kept, self._choice.self_loops
        for source, target, number in self._counts:
            if source in kept and target in kept and (loops or source != target):
                yield kept[source], kept[target], number


def directory_of(url: str, site: str) -> str:
    """Site and directory of a URL: ``example.org/docs/`` for ``https://example.org/docs/a.html?x=/y``."""
    path = path_of(url).partition("?")[0]
    return site + (path[: path.rfind("/") + 1] or "/")
