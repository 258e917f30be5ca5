"""The graph of pages: nodes and edges read from the database as they are written, a bounded number at a time."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from weft.derive.graph.look import Color, Painter
from weft.derive.graph.model import Choice, Edge, Field, Kind, Look, Merged, Node, Value
from weft.derive.graph.select import Nodes
from weft.derive.graph.where import EdgeFilter
from weft.derive.read import Hop, PackedLink
from weft.derive.read.links import decoded
from weft.errors import SpecError
from weft.ports import Progress, silent
from weft.records import LinkKind
from weft.text.dates import iso_of_ms
from weft.text.human import command, counted

_AT_ONCE = 500
_KINDS = {kind.value: kind.label for kind in LinkKind}

PAGE_FIELDS = (
    Field("url", Kind.TEXT),
    Field("title", Kind.TEXT),
    Field("depth", Kind.WHOLE),
    Field("status", Kind.WHOLE),
    Field("type", Kind.TEXT),
    Field("language", Kind.TEXT),
    Field("size", Kind.WHOLE),
    Field("site", Kind.TEXT),
    Field("in_degree", Kind.WHOLE),
    Field("out_degree", Kind.WHOLE),
    Field("external_out_degree", Kind.WHOLE),
    Field("duplicates", Kind.WHOLE),
    Field("redirects", Kind.WHOLE),
    Field("hash", Kind.TEXT),
    Field("fetched_at", Kind.TEXT),
)
DUPLICATE_FIELD = Field("duplicate_of", Kind.WHOLE)
EXTERNAL_FIELD = Field("external", Kind.FLAG)


class Facts(NamedTuple):
    """What the database tells of one page."""

    page: int
    url: str
    title: str | None
    status: int | None
    type: str | None
    language: str | None
    size: int | None
    hash: int | None
    started_ms: int | None
    found_ms: int | None


class Degrees:
    """How many edges begin and end at each node, and how many links lead to other sites."""

    def __init__(self, size: int) -> None:
        self.into = array("i", bytes(4 * size))
        self.out = array("i", bytes(4 * size))
        self.external = array("i", bytes(4 * size))
        self.edges = 0


class PageGraph:
    """A graph whose nodes are pages; ``span`` keeps it to some of the nodes, as of one site.

    ``counted`` False: degrees are 0 and nothing of the links is read until edges are asked for.
    """

    def __init__(
        self,
        nodes: Nodes,
        choice: Choice,
        *,
        name: str,
        span: range | None = None,
        links: EdgeFilter | None = None,
        counted: bool = True,
        progress: Progress = silent,
    ) -> None:
        self._nodes = nodes
        self._choice = choice
        self._span = range(len(nodes.pages)) if span is None else span
        self._links = links
        self.name = name
        self.dynamic = choice.dynamic
        self.multi = choice.multi
        self.columns: dict[Field, Sequence[Value]] = {}  # what measures add, in the order of the nodes
        self._colors: dict[int, Color] = {}
        self.degrees = self._count(progress) if counted else Degrees(len(nodes.pages))
        if choice.external and counted:
            self._drop_unlinked()
        self.node_count = len(self._span)
        self.edge_count = self.degrees.edges
        self._starts = self._found(progress) if choice.dynamic else array("q")

    @property
    def description(self) -> str:
        merged = "" if self._choice.merged is Merged.NO else ", redirects and duplicates merged"
        return f"{counted(self.node_count, 'page')} and {counted(self.edge_count, 'edge')}{merged}"

    @property
    def fields(self) -> tuple[Field, ...]:
        kept = (DUPLICATE_FIELD,) if self._choice.merged is Merged.KEEP else ()
        external = (EXTERNAL_FIELD,) if self._choice.external else ()
        return (*PAGE_FIELDS, *kept, *external, *self.columns)

    @property
    def numbers(self) -> range:
        """The numbers, in the selection, of this graph's nodes."""
        return self._span

    # ---- nodes -----------------------------------------------------------------------------------------------

    def nodes(self, progress: Progress = silent) -> Iterator[Node]:
        nodes, span = self._nodes, self._span
        painter = Painter(
            nodes.sites[span.start : span.stop], nodes.depths[span.start : span.stop],
            self.degrees.into[span.start : span.stop], max(0, min(nodes.count, span.stop) - span.start),
        )  # fmt: skip
        extra = list(self.columns.values())
        for number, facts in self.facts(progress):
            look = painter.look(
                number - span.start, nodes.sites[number], nodes.depths[number], self.degrees.into[number]
            )
            if (color := self._colors.get(number - span.start)) is not None:
                look = look._replace(color=color)
            added = tuple(column[number - span.start] for column in extra)
            yield self._node(number, facts, look, added)

    def facts(self, progress: Progress = silent) -> Iterator[tuple[int, Facts]]:
        """The number of every node, and what is known of its page."""
        nodes, span = self._nodes, self._span
        for start in range(span.start, span.stop, _AT_ONCE):
            numbers = range(start, min(start + _AT_ONCE, span.stop))
            progress("writing nodes", start - span.start, len(span))
            chosen = msgspec.json.encode([[nodes.pages[number], nodes.visits[number]] for number in numbers]).decode()
            found = {row[0]: Facts._make(row) for row in nodes.crawl.connection.execute(_FACTS, (chosen,)).fetchall()}
            for number in numbers:
                yield number, found[nodes.pages[number]]

    def _node(self, number: int, facts: Facts, look: Look, added: tuple[Value, ...]) -> Node:
        nodes, degrees = self._nodes, self.degrees
        external = number >= nodes.count
        values: tuple[Value, ...] = (
            facts.url, facts.title, nodes.depths[number], facts.status, facts.type, facts.language, facts.size,
            nodes.site_names.get(nodes.sites[number], ""), degrees.into[number], degrees.out[number],
            degrees.external[number], nodes.duplicates[number], nodes.redirects[number],
            None if facts.hash is None else f"{facts.hash & (1 << 64) - 1:016x}", iso_of_ms(facts.started_ms),
        )  # fmt: skip
        if self._choice.merged is Merged.KEEP:
            other = nodes.duplicate_of.get(number)
            values += (None if other is None else nodes.pages[other],)
        if self._choice.external:
            values += (external,)
        start_ms = _start_of(facts) if self.dynamic else None
        return Node(nodes.pages[number], facts.url, values + added, look, start_ms)

    # ---- edges -----------------------------------------------------------------------------------------------

    def edges(self, progress: Progress = silent) -> Iterator[list[Edge]]:
        pages, multi = self._nodes.pages, self._choice.multi
        for source, links, moment in self._linked(progress):
            source_id = pages[source]
            found = [(target, 1, link.anchor, link.kind) for target, link in links] if multi else self._merged(links)
            if moment is None:
                yield [
                    Edge(source_id, pages[target], weight, anchor, _KINDS[kind])
                    for target, weight, anchor, kind in found
                ]
            else:
                yield [
                    Edge(
                        source_id, pages[target], weight, anchor, _KINDS[kind], self._edge_start(moment, source, target)
                    )
                    for target, weight, anchor, kind in found
                ]

    def _edge_start(self, moment: int, source: int, target: int) -> int:
        """When the link was seen, but not before both its ends: a target may be known by another address first."""
        offset = self._span.start
        return max(moment, self._starts[source - offset], self._starts[target - offset])

    def _found(self, progress: Progress) -> array[int]:
        """When each node was found."""
        return array("q", (_start_of(facts) for _, facts in self.facts(progress)))

    def pairs(self, progress: Progress = silent, count: Degrees | None = None) -> Iterator[tuple[int, list[int]]]:
        """Each source with its targets, once each, as numbers of nodes; ``count`` gets the links to other sites."""
        if self._links is not None:
            for source, links, _ in self._linked(progress):
                yield source, [target for target, *_ in self._merged(links)]
            return
        nodes = self._nodes
        node_of, kinds, size = nodes.node_of, nodes.kinds, nodes.size
        start, stop, loops = self._span.start, self._span.stop, self._choice.self_loops
        for source, visit, pack in self.packs(progress):
            hops = nodes.hops(pack, visit)
            if count is not None:
                self._count_external(count, source, hops)
            targets = {node_of[hop.target]: None for hop in hops if hop.kind in kinds and hop.target < size}
            yield source, [node for node in targets if start <= node < stop and (loops or node != source)]

    def _linked(self, progress: Progress) -> Iterator[tuple[int, list[tuple[int, PackedLink]], int | None]]:
        """Each source with those of its links that lead to a node, in the order of the document."""
        nodes = self._nodes
        node_of, kinds, size = nodes.node_of, nodes.kinds, nodes.size
        start, stop, loops = self._span.start, self._span.stop, self._choice.self_loops
        for source, visit, pack in self.packs(progress):
            links = [
                (node, link)
                for link in decoded(nodes.crawl, pack, visit)
                if link.kind in kinds and link.target < size and start <= (node := node_of[link.target]) < stop
                and (loops or node != source)
            ]  # fmt: skip
            if self._links is not None:
                links = self._links.links(links)
            if links:
                yield source, links, self._moment(visit) if self.dynamic else None

    def _merged(self, links: list[tuple[int, PackedLink]]) -> list[tuple[int, int, str, int]]:
        """(target, number of links, first anchor that is not empty, kind of the first link)."""
        found: dict[int, tuple[int, int, str, int]] = {}
        for target, link in links:
            earlier = found.get(target)
            if earlier is None:
                found[target] = (target, 1, link.anchor, link.kind)
            else:
                found[target] = (target, earlier[1] + 1, earlier[2] or link.anchor, earlier[3])
        edges = list(found.values())
        return edges if self._links is None else self._links.edges(edges)

    def packs(self, progress: Progress) -> Iterator[tuple[int, int, str]]:
        """(number of the node, its visit, its packed links) of every node that was fetched and stands for itself."""
        nodes = self._nodes
        stop = min(nodes.count, self._span.stop)
        total = max(0, stop - self._span.start)
        for start in range(self._span.start, stop, _AT_ONCE):
            progress("reading links", start - self._span.start, total)
            numbers = range(start, min(start + _AT_ONCE, stop))
            number_of = {nodes.visits[number]: number for number in numbers if number not in nodes.duplicate_of}
            for visit, pack in nodes.packs(list(number_of)):
                yield number_of[visit], visit, pack

    def _moment(self, visit: int) -> int:
        row = self._nodes.crawl.connection.execute(
            "SELECT started_ms + coalesce(response_ms, 0) FROM visit WHERE id = ?", (visit,)
        ).fetchone()
        return int(row[0])

    def page_ids(self) -> list[int]:
        """The page of every node, in the order of the nodes."""
        return self._nodes.pages[self._span.start : self._span.stop].tolist()

    def starts(self) -> list[int]:
        """The places, in this graph, of the nodes that the crawl began with."""
        nodes, span = self._nodes, self._span
        seeds = nodes.crawl.connection.execute("SELECT page FROM seed ORDER BY id").fetchall()
        found = [nodes.node_of[page] for (page,) in seeds if page < nodes.size]
        return list(dict.fromkeys(node - span.start for node in found if node in span))

    def number_of(self, url: str) -> int:
        """The place of the node that a URL belongs to; ``SpecError`` where it is no node."""
        page = self._nodes.crawl.page_id(url)
        node = self._nodes.node_of[page] if page is not None and page < self._nodes.size else -1
        if node not in self._span:
            raise SpecError(
                f"{url} is no node of the graph ({command('why', self._nodes.crawl.folder.path, url)} tells more)"
            )
        return node - self._span.start

    def depth_of(self, place: int) -> int:
        return self._nodes.depths[place + self._span.start]

    def paint(self, colors: dict[int, Color]) -> None:
        """Gives some nodes, by their places, colours of their own."""
        self._colors = colors

    def measure(self, progress: Progress = silent) -> None:
        """Adds the measures as columns."""
        from weft.derive.graph.measures import measures_of

        offset = self._span.start
        pairs = ((source - offset, [node - offset for node in targets]) for source, targets in self.pairs(progress))
        self.columns = measures_of(self.node_count, pairs, self.starts(), progress=progress)

    def measured(self) -> Iterator[tuple[Value, ...]]:
        """(page, in-degree, out-degree, measures...) of every node that was fetched, by page."""
        offset, nodes = self._span.start, self._nodes
        fetched = range(offset, min(nodes.count, self._span.stop))
        for number in sorted(fetched, key=nodes.pages.__getitem__):
            added = (column[number - offset] for column in self.columns.values())
            yield nodes.pages[number], self.degrees.into[number], self.degrees.out[number], *added

    # ---- counting --------------------------------------------------------------------------------------------

    def _count(self, progress: Progress) -> Degrees:
        """Degrees of all nodes: one pass over the links."""
        degrees = Degrees(len(self._nodes.pages))
        counted: Iterator[tuple[int, list[int]]]
        if self._choice.multi:
            counted = ((source, [target for target, _ in links]) for source, links, _ in self._linked(progress))
        else:
            counted = self.pairs(progress, degrees)
        into = degrees.into
        for source, targets in counted:
            degrees.out[source] += len(targets)
            degrees.edges += len(targets)
            for target in targets:
                into[target] += 1
        if self._choice.multi or self._links is not None:
            for source, visit, pack in self.packs(progress):
                self._count_external(degrees, source, self._nodes.hops(pack, visit))
        return degrees

    def _count_external(self, degrees: Degrees, source: int, hops: list[Hop]) -> None:
        """The links of a page that lead to another site (R12)."""
        nodes = self._nodes
        site_of, kinds, size, own = nodes.site_of, nodes.kinds, nodes.size, nodes.sites[source]
        degrees.external[source] = sum(
            hop.target < size and site_of[hop.target] != own and site_of[hop.target] != 0 and hop.kind in kinds
            for hop in hops
        )

    def _drop_unlinked(self) -> None:
        """Leaves out pages outside the crawl that no link of the graph leads to: images, scripts, filtered links."""
        nodes, into = self._nodes, self.degrees.into
        fetched = nodes.count
        kept = [number for number in range(len(nodes.pages)) if number < fetched or into[number]]
        if len(kept) == len(nodes.pages):
            return
        wanted = set(kept)
        nodes.keep(lambda number: number in wanted)
        degrees = Degrees(0)
        for name in ("into", "out", "external"):
            old = getattr(self.degrees, name)
            setattr(degrees, name, array("i", (old[number] for number in kept)))
        degrees.edges = self.degrees.edges
        self.degrees = degrees
        self._span = range(len(kept))


def _start_of(facts: Facts) -> int:
    return facts.found_ms or facts.started_ms or 0


# A seed was found when it was given; any other page when the visit that led to it ended.
_FACTS = """
SELECT p.id, u.text, v.title, v.status, v.type, v.language, v.size, v.hash, v.started_ms,
       coalesce((SELECT f.started_ms + coalesce(f.response_ms, 0) FROM visit f WHERE f.id = p.found_in),
                (SELECT min(s.added_ms) FROM seed s WHERE s.page = p.id))
FROM json_each(?) j JOIN page p ON p.id = json_extract(j.value, '$[0]')
     JOIN page_url u ON u.page = p.id LEFT JOIN visit v ON v.id = json_extract(j.value, '$[1]')
"""
