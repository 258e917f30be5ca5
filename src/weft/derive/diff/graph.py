"""The graph of both crawls together, coloured by what changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from weft.derive.diff.compare import ADDED, CHANGED, GONE, MOVED, SAME, Comparison
from weft.derive.graph.look import Color, Rings, size_of
from weft.derive.graph.model import Edge, Field, Kind, Look, Node
from weft.ports import Progress, silent
from weft.text.human import counted

COLORS: dict[str, Color] = {
    ADDED: (44, 160, 80),
    GONE: (210, 50, 45),
    CHANGED: (240, 150, 30),
    MOVED: (60, 110, 200),
    SAME: (190, 190, 190),
}
_FIELDS = (
    Field("url", Kind.TEXT),
    Field("title", Kind.TEXT),
    Field("change", Kind.TEXT),
    Field("old_status", Kind.WHOLE),
    Field("new_status", Kind.WHOLE),
    Field("in_degree", Kind.WHOLE),
)


class ChangeGraph:
    """Every page that was or is there is a node; every link that was or is between them an edge, by what changed.

    An edge's kind is added, gone or unchanged.
    """

    dynamic = False
    multi = False

    def __init__(self, comparison: Comparison, name: str, progress: Progress = silent) -> None:
        self._comparison = comparison
        self.name = name
        self.fields: tuple[Field, ...] = _FIELDS
        self._changes = {pair.id: pair.change for pair in comparison.pairs() if pair.change is not None}
        self._degrees: Counter[int] = Counter()
        self.edge_count = 0
        for batch in self.edges(progress):
            self.edge_count += len(batch)
            self._degrees.update(edge.target for edge in batch)
        self.node_count = len(self._changes)

    @property
    def description(self) -> str:
        counts = Counter(self._changes.values())
        told = ", ".join(f"{counts[change]:,} {change}" for change in COLORS)
        return f"{counted(self.node_count, 'page')}: {told}; {counted(self.edge_count, 'edge')}"

    def nodes(self, progress: Progress = silent) -> Iterator[Node]:
        order = list(COLORS)
        rings = Rings([0] * len(self._changes), [order[::-1].index(str(change)) for change in self._changes.values()])
        most = max(self._degrees.values(), default=0)
        for pair in self._comparison.pairs():
            change = pair.change
            if change is None:
                continue
            degree = self._degrees[pair.id]
            look = Look(COLORS[change], size_of(degree, most), *rings.place(0, order[::-1].index(change)))
            title = pair.new_title or pair.old_title
            values = (pair.url, title, change, pair.old_status, pair.new_status, degree)
            yield Node(pair.id, pair.url, values, look)

    def edges(self, progress: Progress = silent) -> Iterator[list[Edge]]:
        old_pair, new_pair = self._comparison.old.pair_of, self._comparison.new.pair_of
        for pair, old, new in self._comparison.link_targets(progress):
            was = {old_pair[url] for url in old if url < len(old_pair)} & self._changes.keys()
            now = {new_pair[url] for url in new if url < len(new_pair)} & self._changes.keys()
            if pair.change == SAME:
                was = now
            edges = [
                Edge(pair.id, target, 1, "", ADDED if target not in was else GONE if target not in now else SAME)
                for target in sorted(was | now)
                if target != pair.id
            ]
            if edges:
                yield edges
