"""Pajek, DOT, node-link JSON, and the two tables of CSV and Parquet, each written as a stream."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import IO, Any

import msgspec

from weft.derive.graph.model import Edge, Graph, Kind, Node
from weft.derive.rows import batches
from weft.ports import Progress, silent
from weft.text.safe import cell, in_json, shown

_ROW_GROUP = 50_000


# ---- Pajek -----------------------------------------------------------------------------------------------------


def write_pajek(graph: Graph, out: IO[bytes], progress: Progress = silent) -> None:
    """A Pajek network: vertices numbered from 1, arcs with weights. A vertex is named by its URL, which is unique."""
    out.write(f"*Vertices {graph.node_count}\n".encode())
    number_of: dict[int, int] = {}
    for number, node in enumerate(graph.nodes(progress), 1):
        number_of[node.id] = number
        out.write(f"{number} {_pajek_name(node.label)}\n".encode())
    out.write(b"*Arcs\n")
    for batch in graph.edges(progress):
        lines = [f"{number_of[edge.source]} {number_of[edge.target]} {edge.weight}\n" for edge in batch]
        out.write("".join(lines).encode())


def _pajek_name(text: str) -> str:
    """A name in quotes; there is no escape for a quote in it, and a backslash is one to some readers."""
    return '"' + shown(text).replace('"', "%22").replace("\\", "%5C") + '"'


# ---- DOT -------------------------------------------------------------------------------------------------------


def write_dot(graph: Graph, out: IO[bytes], progress: Progress = silent) -> None:
    """A directed graph in the language of Graphviz; nodes carry URL, tooltip and colour."""
    out.write(f"digraph {_quoted(graph.name)} {{\n  graph [overlap=false, splines=false];\n".encode())
    out.write(b'  node [shape=box, style="rounded,filled", fontname="sans-serif", fontsize=10];\n')
    for node in graph.nodes(progress):
        out.write(_dot_node(node, graph).encode())
    for batch in graph.edges(progress):
        out.write("".join([_dot_edge(edge) for edge in batch]).encode())
    out.write(b"}\n")


def _dot_node(node: Node, graph: Graph) -> str:
    named = {field.name: value for field, value in zip(graph.fields, node.values, strict=True)}
    title = named.get("title")
    tooltip = f", tooltip={_quoted(title)}" if isinstance(title, str) and title else ""
    url = named.get("url")
    link = f", URL={_quoted(url)}" if isinstance(url, str) else ""
    color = ""
    if node.look is not None:
        red, green, blue = (round(part + (255 - part) * 0.6) for part in node.look.color)  # light behind black text
        color = f', fillcolor="#{red:02x}{green:02x}{blue:02x}"'
    return f"  {node.id} [label={_quoted(node.label)}{link}{tooltip}{color}];\n"


def _dot_edge(edge: Edge) -> str:
    label = f", edgetooltip={_quoted(edge.anchor)}" if edge.anchor else ""
    return f"  {edge.source} -> {edge.target} [weight={edge.weight}{label}];\n"


def _quoted(text: str) -> str:
    """A string of DOT: quotes and backslashes escaped, so that no text is taken for an escape or an end."""
    return '"' + shown(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


# ---- JSON ------------------------------------------------------------------------------------------------------


def write_json(graph: Graph, out: IO[bytes], progress: Progress = silent) -> None:
    """Node-link JSON, as `networkx.node_link_graph(data, edges="edges")` and d3 read it; it steers no terminal."""
    plain = msgspec.json.Encoder().encode

    def encode(value: object) -> bytes:
        return in_json(plain(value))

    head = {
        "directed": True,
        "multigraph": graph.multi,
        "graph": {"name": shown(graph.name), "about": graph.description},
    }
    out.write(encode(head)[:-1] + b',"nodes":[')
    names = [field.name for field in graph.fields]
    comma = b""
    for node in graph.nodes(progress):
        values = dict(zip(names, node.values, strict=True))
        color = "#{:02x}{:02x}{:02x}".format(*node.look.color) if node.look is not None else None
        out.write(comma + encode({"id": node.id, "label": node.label, **values, "color": color}))
        comma = b",\n"
    out.write(b'],"edges":[')
    comma = b""
    for batch in graph.edges(progress):
        objects = [
            encode(
                {
                    "source": edge.source,
                    "target": edge.target,
                    "weight": edge.weight,
                    "anchor": edge.anchor,
                    "kind": edge.kind,
                }
            )
            for edge in batch
        ]
        if objects:
            out.write(comma + b",\n".join(objects))
            comma = b",\n"
    out.write(b"]}\n")


# ---- tables ----------------------------------------------------------------------------------------------------


def write_csv(graph: Graph, nodes: IO[bytes], edges: IO[bytes], progress: Progress = silent) -> None:
    """Two tables with the column names that Gephi's spreadsheet import knows."""
    names = ("Id", "Label", *(field.name for field in graph.fields))
    _write_csv(nodes, names, ([node.id, node.label, *node.values] for node in graph.nodes(progress)))
    rows = (
        (edge.source, edge.target, "Directed", edge.weight, edge.anchor, edge.kind)
        for batch in graph.edges(progress)
        for edge in batch
    )
    _write_csv(edges, ("Source", "Target", "Type", "Weight", "Label", "kind"), rows)


def _write_csv(out: IO[bytes], names: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for batch in batches(rows, 5_000):
        writer.writerows([[cell(value) for value in row] for row in batch])
        out.write(text.getvalue().encode("utf-8"))
        text.seek(0)
        text.truncate()
    out.write(text.getvalue().encode("utf-8"))


def write_parquet(graph: Graph, nodes: IO[bytes], edges: IO[bytes], progress: Progress = silent) -> None:
    """The same two tables as Parquet files, zstd-compressed."""
    import pyarrow

    types = {
        Kind.TEXT: pyarrow.string(),
        Kind.WHOLE: pyarrow.int64(),
        Kind.REAL: pyarrow.float64(),
        Kind.FLAG: pyarrow.bool_(),
    }
    columns = [("id", pyarrow.int64()), ("label", pyarrow.string())]
    columns += [(field.name, types[field.kind]) for field in graph.fields]
    rows = ((node.id, node.label, *node.values) for node in graph.nodes(progress))
    _write_parquet(nodes, pyarrow.schema(columns), rows)
    schema = pyarrow.schema(
        [
            ("source", pyarrow.int64()),
            ("target", pyarrow.int64()),
            ("weight", pyarrow.int64()),
            ("anchor", pyarrow.string()),
            ("kind", pyarrow.dictionary(pyarrow.int32(), pyarrow.string())),
        ]
    )
    _write_parquet(edges, schema, (edge[:5] for batch in graph.edges(progress) for edge in batch))


def _write_parquet(out: IO[bytes], schema: Any, rows: Iterable[tuple[object, ...]]) -> None:
    import pyarrow
    from pyarrow import parquet

    with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        for batch in batches(rows, _ROW_GROUP):
            columns = [
                pyarrow.array(column, field.type)
                for column, field in zip(zip(*batch, strict=True), schema, strict=True)
            ]
            writer.write_batch(pyarrow.record_batch(columns, schema=schema))
