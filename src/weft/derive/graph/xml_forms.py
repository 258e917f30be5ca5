"""GEXF 1.3 and GraphML, written as a stream."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import IO

from weft.derive.graph.model import Edge, Field, Graph, Kind, Node, Value
from weft.ports import Progress, silent
from weft.records import LinkKind
from weft.text.safe import in_xml
from weft.text.version import __version__

_TYPES = {Kind.TEXT: "string", Kind.WHOLE: "long", Kind.REAL: "double", Kind.FLAG: "boolean"}
_SMALL = frozenset({"depth", "status", "in_degree", "out_degree", "external_out_degree", "duplicates", "redirects"})


def text_of(value: Value) -> str:
    """A value as XML Schema writes it, safe inside an attribute or an element."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    return str(value) if isinstance(value, int) else in_xml(value or "")


def _moment(epoch_ms: int) -> str:
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).isoformat(timespec="milliseconds")


# ---- GEXF ------------------------------------------------------------------------------------------------------


def write_gexf(graph: Graph, out: IO[bytes], progress: Progress = silent) -> None:
    """GEXF 1.3 as Gephi imports it: typed attributes, colours, sizes, places; anchors are labels of edges."""
    for part in _gexf(graph, progress):
        out.write(part.encode("utf-8"))


def _gexf(graph: Graph, progress: Progress) -> Iterator[str]:
    today = datetime.now(UTC).date().isoformat()
    time = ' timeformat="dateTime" timerepresentation="interval"' if graph.dynamic else ""
    yield (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<gexf xmlns="http://gexf.net/1.3" xmlns:viz="http://gexf.net/1.3/viz" version="1.3">\n'
        f'<meta lastmodifieddate="{today}"><creator>weft {__version__}</creator>'
        f"<description>{in_xml(graph.name)}: {in_xml(graph.description)}</description></meta>\n"
        f'<graph defaultedgetype="directed" idtype="string" mode="{"dynamic" if graph.dynamic else "static"}"{time}>\n'
        '<attributes class="node">\n'
    )
    for number, field in enumerate(graph.fields):
        yield f'<attribute id="{number}" title="{field.name}" type="{_gexf_type(field)}"/>\n'
    yield (
        '</attributes>\n<attributes class="edge">\n<attribute id="kind" title="kind" type="string"/>\n'
        f'</attributes>\n<nodes count="{graph.node_count}">\n'
    )
    for node in graph.nodes(progress):
        yield _gexf_node(node)
    yield f'</nodes>\n<edges count="{graph.edge_count}">\n'
    number = 0
    for batch in graph.edges(progress):
        yield _gexf_edges(number, batch)
        number += len(batch)
    yield "</edges>\n</graph>\n</gexf>\n"


def _gexf_type(field: Field) -> str:
    return "integer" if field.name in _SMALL else _TYPES[field.kind]


def _gexf_node(node: Node) -> str:
    values = "".join(
        [
            f'<attvalue for="{number}" value="{text_of(value)}"/>'
            for number, value in enumerate(node.values)
            if value is not None
        ]
    )
    look = ""
    if node.look is not None:
        (red, green, blue), size, x, y = node.look
        look = (
            f'<viz:color r="{red}" g="{green}" b="{blue}"/><viz:position x="{x}" y="{y}" z="0.0"/>'
            f'<viz:size value="{size}"/>'
        )
    start = "" if node.start_ms is None else f' start="{_moment(node.start_ms)}"'
    return f'<node id="{node.id}" label="{in_xml(node.label)}"{start}><attvalues>{values}</attvalues>{look}</node>\n'


def _gexf_edges(first: int, batch: list[Edge]) -> str:
    """The edges of a batch. The hottest lines of an export: thirty million edges pass here."""
    lines: list[str] = []
    for number, (source, target, weight, anchor, kind, start_ms) in enumerate(batch, first):
        label = f' label="{_escaped(anchor)}"' if anchor else ""
        start = "" if start_ms is None else f' start="{_moment(start_ms)}"'
        lines.append(
            f'<edge id="{number}" source="{source}" target="{target}" weight="{weight}"{label}{start}{_KIND[kind]}'
        )
    return "".join(lines)


def _kind_of_edge(kind: str, color: tuple[int, int, int] | None = None) -> str:
    """What stands behind the attributes of an edge."""
    shade = '<viz:color r="{}" g="{}" b="{}"/>'.format(*color) if color else ""
    return f'><attvalues><attvalue for="kind" value="{kind}"/></attvalues>{shade}</edge>\n'


_KIND = {kind.label: _kind_of_edge(kind.label) for kind in LinkKind} | {
    "unchanged": _kind_of_edge("unchanged", (205, 205, 205)),  # of `weft diff`
    "added": _kind_of_edge("added", (44, 160, 80)),
    "gone": _kind_of_edge("gone", (210, 50, 45)),
}
_escaped = lru_cache(maxsize=20_000)(in_xml)  # anchors come again and again


# ---- GraphML ---------------------------------------------------------------------------------------------------


def write_graphml(graph: Graph, out: IO[bytes], progress: Progress = silent) -> None:
    """GraphML with typed keys, as networkx, igraph, Gephi and yEd read it."""
    for part in _graphml(graph, progress):
        out.write(part.encode("utf-8"))


def _graphml(graph: Graph, progress: Progress) -> Iterator[str]:
    yield (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
        ' xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns'
        ' http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">\n'
        '<key id="label" for="node" attr.name="label" attr.type="string"/>\n'
    )
    for number, field in enumerate(graph.fields):
        yield f'<key id="n{number}" for="node" attr.name="{field.name}" attr.type="{_TYPES[field.kind]}"/>\n'
    yield (
        '<key id="weight" for="edge" attr.name="weight" attr.type="long"/>\n'
        '<key id="anchor" for="edge" attr.name="anchor" attr.type="string"/>\n'
        '<key id="kind" for="edge" attr.name="kind" attr.type="string"/>\n'
        f'<graph id="G" edgedefault="directed" parse.nodes="{graph.node_count}" parse.edges="{graph.edge_count}"'
        ' parse.nodeids="free" parse.edgeids="free" parse.order="nodesfirst">\n'
    )
    for node in graph.nodes(progress):
        data = "".join(
            [
                f'<data key="n{number}">{text_of(value)}</data>'
                for number, value in enumerate(node.values)
                if value is not None
            ]
        )
        yield f'<node id="n{node.id}"><data key="label">{in_xml(node.label)}</data>{data}</node>\n'
    for batch in graph.edges(progress):
        yield "".join([_graphml_edge(edge) for edge in batch])
    yield "</graph>\n</graphml>\n"


def _graphml_edge(edge: Edge) -> str:
    anchor = f'<data key="anchor">{in_xml(edge.anchor)}</data>' if edge.anchor else ""
    return (
        f'<edge source="n{edge.source}" target="n{edge.target}"><data key="weight">{edge.weight}</data>{anchor}'
        f'<data key="kind">{edge.kind}</data></edge>\n'
    )
