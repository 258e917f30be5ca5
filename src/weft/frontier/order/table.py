"""The orders by their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from weft.errors import SpecError
from weft.frontier.order.interface import Order
from weft.frontier.order.links import InLinks, Opic
from weft.frontier.order.path_cost import PathCost, PathCostByLinks
from weft.frontier.order.plain import BreadthFirst, DepthFirst, RandomOrder
from weft.frontier.order.ranks import PageRank
from weft.frontier.order.scores import ByScore, Score
from weft.frontier.order.sites import LargeSitesFirst
from weft.frontier.order.weft import Weft

SCORE = "score:"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What an order may need: ranks by URL (None: made from links), a number for lots, score functions by name."""

    ranks: Mapping[str, float] | None = None
    random_seed: int = 0
    scores: Mapping[str, Score] = msgspec.field(default_factory=dict)


def _path_cost(settings: Settings) -> Order:
    return PathCostByLinks() if settings.ranks is None else PathCost(settings.ranks)


_MAKERS: dict[str, Callable[[Settings], Order]] = {
    "bfs": lambda settings: BreadthFirst(),
    "dfs": lambda settings: DepthFirst(),
    "path-cost": _path_cost,
    "in-links": lambda settings: InLinks(),
    "opic": lambda settings: Opic(),
    "pagerank": lambda settings: PageRank(),
    "large-sites-first": lambda settings: LargeSitesFirst(),
    "random": lambda settings: RandomOrder(settings.random_seed),
    "weft": lambda settings: Weft(),
}
NAMES = (*_MAKERS, "score:NAME")


def order_of(name: str, settings: Settings) -> Order:
    """A new order; ``SpecError`` for a name that is none."""
    if name.startswith(SCORE):
        score = settings.scores.get(name)
        if score is None:
            raise SpecError(f"{name} names no score that is known")
        return ByScore(score)
    maker = _MAKERS.get(name)
    if maker is None:
        raise SpecError(f"there is no order {name!r}; there are {', '.join(NAMES)}")
    return maker(settings)
