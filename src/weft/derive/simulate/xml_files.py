"""GraphML and GEXF as edges: read as a stream, whatever the size."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import cast
from xml.etree.ElementTree import Element, ParseError, iterparse

from weft.derive.simulate.graph import Edges
from weft.errors import SpecError
from weft.ports import Progress

_EVERY = 100_000
_NAMES = ("url", "label", "name")


def read_gexf(path: Path, edges: Edges, progress: Progress) -> None:
    """The labels of nodes are their names; without one the id is."""
    names: dict[str, str] = {}
    for number, element in enumerate(_elements(path), 1):
        tag = _tag(element)
        if tag == "node":
            names[element.get("id", "")] = element.get("label", "") or element.get("id", "")
        elif tag == "edge":
            _add(path, edges, names, element, number)
        if tag in ("node", "edge"):
            element.clear()
        if not number % _EVERY:
            progress("reading links", number, 0)


def read_graphml(path: Path, edges: Edges, progress: Progress) -> None:
    """The attribute ``url``, ``label`` or ``name`` of a node is its name; without one the id is."""
    keys: dict[str, str] = {}
    names: dict[str, str] = {}
    for number, element in enumerate(_elements(path), 1):
        tag = _tag(element)
        if tag == "key":
            keys[element.get("id", "")] = element.get("attr.name", "").lower()
        elif tag == "node":
            names[element.get("id", "")] = _named(element, keys)
        elif tag == "edge":
            _add(path, edges, names, element, number)
        if tag in ("node", "edge"):
            element.clear()
        if not number % _EVERY:
            progress("reading links", number, 0)


def _named(node: Element, keys: dict[str, str]) -> str:
    values = {keys.get(data.get("key", ""), ""): data.text or "" for data in node if _tag(data) == "data"}
    return next((values[name] for name in _NAMES if values.get(name)), node.get("id", ""))


def _add(path: Path, edges: Edges, names: dict[str, str], edge: Element, number: int) -> None:
    ends = [edge.get("source"), edge.get("target")]
    for end in ends:
        if end is None or end not in names:
            raise SpecError(f"{path}: element {number} is an edge of a node that is not there: {end}")
    source, target = (names[cast(str, end)] for end in ends)
    edges.add(source, target)


def _elements(path: Path) -> Iterator[Element]:
    unpacks = path.suffix.lower() == ".gz"
    try:
        with gzip.open(path) if unpacks else path.open("rb") as file:
            for _, element in iterparse(file):
                yield element
    except ParseError as error:
        raise SpecError(f"{path}: line {error.position[0]}: {error}") from error
    except (gzip.BadGzipFile, EOFError) as error:
        raise SpecError(f"{path} cannot be unpacked: {error}") from error


def _tag(element: Element) -> str:
    return element.tag.rpartition("}")[2]
