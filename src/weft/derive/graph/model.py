"""What every form of the graph is written from: nodes with fields, edges in batches, and nothing held in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from weft.ports import Progress, silent


class Level(StrEnum):
    """What a node stands for."""

    PAGE = "page"
    SITE = "site"
    DOMAIN = "domain"
    DIRECTORY = "directory"


class Merged(StrEnum):
    """What becomes of duplicates and redirects (R11, R13)."""

    YES = "yes"  # one node with the page they stand for; near-duplicates, too, where the crawl knows them
    NO = "no"  # each is a node of its own
    KEEP = "keep"  # as yes, and duplicates stay as nodes without edges


class Kind(StrEnum):
    """The type of a field's values."""

    TEXT = "text"
    WHOLE = "whole"
    REAL = "real"
    FLAG = "flag"


class Field(NamedTuple):
    """A column of the nodes."""

    name: str
    kind: Kind


Value = str | int | float | bool | None


class Look(NamedTuple):
    """How a node is drawn: colour as (red, green, blue) of 0..255, diameter, place."""

    color: tuple[int, int, int]
    size: float
    x: float
    y: float


class Node(NamedTuple):
    """One node; ``values`` stand in the order of the graph's fields. ``start_ms``: when it was found."""

    id: int
    label: str
    values: tuple[Value, ...]
    look: Look | None = None
    start_ms: int | None = None


class Edge(NamedTuple):
    """Links from one node to another; ``weight`` is their number, anchor and kind are of the first one."""

    source: int
    target: int
    weight: int
    anchor: str
    kind: str
    start_ms: int | None = None


class Graph(Protocol):
    """A directed graph that can be read any number of times. Every pass gives the same nodes and edges."""

    name: str
    node_count: int
    edge_count: int
    dynamic: bool
    multi: bool

    @property
    def description(self) -> str: ...

    @property
    def fields(self) -> tuple[Field, ...]: ...

    def nodes(self, progress: Progress = silent) -> Iterator[Node]: ...

    def edges(self, progress: Progress = silent) -> Iterator[list[Edge]]:
        """All edges in batches of a bounded size, those of a source together."""
        ...


@dataclass(frozen=True)
class Choice:
    """What shall be in the graph."""

    level: Level = Level.PAGE
    merged: Merged = Merged.YES
    canonical: bool = False  # pages that name another one as canonical are merged into it
    all_types: bool = False  # any 2xx answer is a node, not only HTML answered 200
    self_loops: bool = False
    multi: bool = False  # every link is an edge
    external: bool = False  # pages outside the crawl, too
    dynamic: bool = False
    where: tuple[str, ...] = ()
    apart: bool = False  # each site is a graph of its own: merging stays inside
    measures: bool = False
