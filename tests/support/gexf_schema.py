"""Whether a file is valid GEXF 1.3: elements, their order, attributes and types, as gexf.net's schema states them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

GEXF, VIZ = "{http://gexf.net/1.3}", "{http://gexf.net/1.3/viz}"
TYPES = {"integer", "long", "double", "float", "boolean", "string", "anyURI", "short", "byte", "bigdecimal"}

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def anything(text: str) -> bool:
    return True


def whole(text: str) -> bool:
    return text.isdigit()


def number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def moment(text: str) -> bool:
    return _TIME.fullmatch(text) is not None


def byte(text: str) -> bool:
    return text.isdigit() and int(text) <= 255


def one_of(*words: str) -> Callable[[str], bool]:
    return lambda text: text in words


Check = Callable[[str], bool]
ATTRIBUTES: dict[str, tuple[dict[str, Check], dict[str, Check]]] = {  # required, optional
    "gexf": ({"version": one_of("1.3")}, {"variant": anything}),
    "meta": ({}, {"lastmodifieddate": lambda text: _DATE.fullmatch(text) is not None}),
    "creator": ({}, {}),
    "description": ({}, {}),
    "graph": (
        {},
        {
            "defaultedgetype": one_of("directed", "undirected", "mutual"),
            "idtype": one_of("integer", "string"),
            "mode": one_of("static", "dynamic", "slice"),
            "timeformat": one_of("integer", "double", "date", "dateTime"),
            "timerepresentation": one_of("interval", "timestamp"),
        },
    ),
    "attributes": ({"class": one_of("node", "edge")}, {}),
    "attribute": ({"id": anything, "title": anything, "type": lambda text: text in TYPES}, {}),
    "default": ({}, {}),
    "nodes": ({}, {"count": whole}),
    "edges": ({}, {"count": whole}),
    "node": ({"id": anything}, {"label": anything, "start": moment, "end": moment}),
    "edge": (
        {"source": anything, "target": anything},
        {"id": anything, "label": anything, "weight": number, "kind": anything, "start": moment, "end": moment},
    ),
    "attvalues": ({}, {}),
    "attvalue": ({"for": anything, "value": anything}, {}),
    f"{VIZ}color": ({"r": byte, "g": byte, "b": byte}, {"a": number}),
    f"{VIZ}position": ({"x": number, "y": number, "z": number}, {}),
    f"{VIZ}size": ({"value": number}, {}),
}
CHILDREN: dict[str, str] = {  # as a regular expression over the names of the children
    "gexf": "(meta )?graph ",
    "meta": "(creator |description |keywords )*",
    "graph": "(attributes )*nodes edges ",
    "attributes": "(attribute )*",
    "attribute": "(default )?",
    "nodes": "(node )*",
    "edges": "(edge )*",
    "node": "(attvalues )?(viz:color )?(viz:position )?(viz:size )?",
    "edge": "(attvalues )?(viz:color )?",
    "attvalues": "(attvalue )*",
}


def check_gexf(path: Path) -> tuple[int, int]:
    """The numbers of nodes and edges; AssertionError where the file is not valid, or its ids do not fit."""
    root = ElementTree.parse(path).getroot()
    assert root.tag == f"{GEXF}gexf"
    _check(root)
    graph = root.find(f"{GEXF}graph")
    assert graph is not None
    types: dict[tuple[str, str], str] = {}
    for declared in graph.iter(f"{GEXF}attributes"):
        for attribute in declared:
            types[declared.attrib["class"], attribute.attrib["id"]] = attribute.attrib["type"]
    nodes, edges = graph.find(f"{GEXF}nodes"), graph.find(f"{GEXF}edges")
    assert nodes is not None and edges is not None
    ids = [node.attrib["id"] for node in nodes]
    assert len(ids) == len(set(ids)) == int(nodes.attrib["count"])
    assert len(edges) == int(edges.attrib["count"])
    known = set(ids)
    for edge in edges:
        assert edge.attrib["source"] in known and edge.attrib["target"] in known
    for kind, parent in (("node", nodes), ("edge", edges)):
        for value in parent.iter(f"{GEXF}attvalue"):
            _check_value(types[kind, value.attrib["for"]], value.attrib["value"])
    return len(ids), len(edges)


def _name(tag: str) -> str:
    return tag.removeprefix(GEXF)


def _check(element: ElementTree.Element) -> None:
    name = _name(element.tag)
    assert name in ATTRIBUTES, f"there is no element {name}"
    required, optional = ATTRIBUTES[name]
    assert required.keys() <= element.attrib.keys(), (name, element.attrib)
    for attribute, value in element.attrib.items():
        check = required.get(attribute) or optional.get(attribute)
        assert check is not None, f"{name} has no attribute {attribute}"
        assert check(value), f"{name} {attribute}={value!r}"
    children = "".join(_name(child.tag).replace(VIZ, "viz:") + " " for child in element)
    assert re.fullmatch(CHILDREN.get(name, ""), children), (name, children[:200])
    for child in element:
        _check(child)


def _check_value(kind: str, value: str) -> None:
    if kind in ("integer", "long"):
        assert -(2**63) <= int(value) < 2**63 and (kind == "long" or abs(int(value)) < 2**31), value
    elif kind in ("double", "float"):
        float(value)
    elif kind == "boolean":
        assert value in ("true", "false"), value
