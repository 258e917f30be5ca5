"""What a simulation says, as ``weft simulate --json`` shows it."""

from __future__ import annotations

import msgspec


class Goals(msgspec.Struct, frozen=True, kw_only=True):
    """Goal pages that were met (P5).

    ``best_cost`` is the least path cost of a goal (Z), ``least_step`` the least cost of an edge on the way to a fetched
    page (l), ``bound`` ceil(Z / l): no path to the best goal has more steps.
    """

    found: int
    best_cost: int | None
    least_step: int | None
    bound: int | None
    fetched: int
    pages: list[str]


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """How an order did. The keys of ``share`` and ``best`` are percentages of the reachable pages, as they were given.

    ``share`` is how much of the importance of all reachable pages is among the pages fetched first, ``best`` which
    share of the best pages, ``mean`` the mean of ``share``, ``cpu_s`` the processor time.
    """

    share: dict[str, float]
    best: dict[str, float]
    mean: float
    cpu_s: float


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """The least and the greatest mean of several runs, and their number."""

    runs: int
    least: float
    greatest: float


class Simulated(msgspec.Struct, frozen=True, kw_only=True):
    """A simulation. ``references`` know the importance: the best pages first (ideal), and the best of those found."""

    graph: str
    pages: int
    links: int
    reachable: int
    seeds: list[str]
    by: str
    orders: dict[str, Curve]
    references: dict[str, Curve]
    spread: dict[str, Spread] | msgspec.UnsetType = msgspec.UNSET
    goals: dict[str, Goals] | msgspec.UnsetType = msgspec.UNSET
    notes: list[str] = []
