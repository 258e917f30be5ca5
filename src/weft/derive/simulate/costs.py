"""Path costs of the pages of a simulated crawl, and its goals, whatever the order."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from weft.derive.graph.where import Filter
from weft.derive.simulate.model import Goals
from weft.derive.simulate.run import Simulation
from weft.frontier.order.interface import SEED
from weft.frontier.order.path_cost import PathCost, PathCostByLinks, edge_cost

GOAL_COLUMNS = ("page", "rank", "path_cost")
_PAGES_SHOWN = 100


class Costs:
    """Edge and path cost of each page as it is fetched: those of the order path-cost, else those of the given ranks.

    Without either nothing is known. The path of another order is the one on which a page was found first.
    """

    def __init__(self, simulation: Simulation, ranks: Mapping[str, float] | None) -> None:
        self._simulation = simulation
        order = simulation.order
        self._paths = order if isinstance(order, PathCost | PathCostByLinks) else None
        self._ranks = ranks
        self._found: dict[int, int] = {}

    def parent_of(self, page: int) -> int:
        """The page before this one on its path; ``SEED`` for a start address."""
        return int(self._paths.parents[page]) if self._paths is not None else self._simulation.parents[page]

    def rank_of(self, page: int) -> float | None:
        """The rank of a page; None where no ranks are known."""
        if self._paths is not None:
            return self._paths.rank_of(page)
        name = self._simulation.name_of(page)
        return None if self._ranks is None else self._ranks.get(name, 1)

    def path_cost_of(self, page: int) -> int | None:
        """The path cost of a page that waits; None where the order does not know it."""
        return int(self._paths.costs[page]) if self._paths is not None else None

    def of(self, page: int) -> tuple[int | None, int | None]:
        """The cost of the last edge to a fetched page, and of its path."""
        parent = self.parent_of(page)
        if self._paths is not None:
            cost = int(self._paths.costs[page])
            return (None, cost) if parent == SEED else (cost - int(self._paths.costs[parent]), cost)
        if self._ranks is None:
            return None, None
        if parent == SEED:
            self._found[page] = 0
            return None, 0
        rank, parent_rank = self.rank_of(page), self.rank_of(parent)
        assert rank is not None and parent_rank is not None
        edge = edge_cost(parent_rank, rank)
        self._found[page] = self._found[parent] + edge
        return edge, self._found[page]


class GoalSearch:
    """Looks for goal pages as pages are fetched; ``is_over`` once there are enough."""

    def __init__(self, expression: str, most: int | None) -> None:
        self._filter = Filter(expression, GOAL_COLUMNS)
        self._most = most
        self._costs: list[int] = []
        self._least_step: int | None = None
        self._fetched = 0
        self._pages: list[str] = []
        self._found = 0

    @property
    def is_over(self) -> bool:
        """Whether enough goals were found."""
        return self._most is not None and self._found >= self._most

    def look_at(self, name: str, rank: float | None, edge: int | None, cost: int | None) -> None:
        """Tests a page that was fetched just now."""
        self._fetched += 1
        if edge is not None:
            self._least_step = edge if self._least_step is None else min(edge, self._least_step)
        if not self._filter.passing([(name, rank, cost)]):
            return
        self._found += 1
        if cost is not None:
            self._costs.append(cost)
        if len(self._pages) < _PAGES_SHOWN:
            self._pages.append(name)

    def result(self) -> Goals:
        """What was found."""
        best, step = min(self._costs, default=None), self._least_step
        bound = ceil(best / step) if best is not None and step else None
        return Goals(
            found=self._found, best_cost=best, least_step=step, bound=bound, fetched=self._fetched, pages=self._pages
        )
