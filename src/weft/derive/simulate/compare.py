"""Several orders over the same graph, side by side with what no order can know."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO

import msgspec
import numpy as np
import numpy.typing as npt

from weft.derive.simulate.costs import Costs, GoalSearch
from weft.derive.simulate.graph import PageGraph
from weft.derive.simulate.measured import Reals, curve_of, ideal, importance_by
from weft.derive.simulate.model import Curve, Goals, Simulated, Spread
from weft.derive.simulate.run import Simulation
from weft.frontier.order.interface import SEED, Order
from weft.frontier.order.scores import ByScore, from_table
from weft.frontier.order.table import Settings, order_of
from weft.ports import Progress, silent

IDEAL, OMNISCIENT = "ideal", "omniscient"

Nodes = npt.NDArray[np.int64]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be simulated. ``own`` has the orders of the user's, by the words that name them."""

    orders: Sequence[str]
    seeds: Sequence[str] = ()
    by: str = "pagerank"
    importance: Mapping[str, float] | None = None
    ranks: Mapping[str, float] | None = None
    at: Sequence[str] = ("1", "5", "10", "20", "50")
    best: float = 10.0
    goal: str | None = None
    goals: int | None = None
    random_seed: int = 0
    repeat: int = 1
    scores: Mapping[str, Mapping[str, float]] = msgspec.field(default_factory=dict)
    own: Mapping[str, Callable[[], Order]] = msgspec.field(default_factory=dict)


class Comparison:
    """The orders of a question over one graph. ``answer`` gives the numbers, ``fetched`` the nodes of each order."""

    def __init__(self, graph: PageGraph, question: Question, trace: IO[str] | None, *, frontier: bool) -> None:
        self.graph = graph
        self.fetched: dict[str, Nodes] = {}
        self.importance: Reals = importance_by(graph, question.by, question.importance)
        self._question = question
        self._trace = trace
        self._with_frontier = frontier
        self._goals: dict[str, Goals] = {}
        self._by_name = dict(zip(graph.names, self.importance.tolist(), strict=True))

    def answer(self, progress: Progress = silent) -> Simulated:
        """Runs all orders, and the references."""
        question, graph = self._question, self.graph
        seeds = [graph.number_of(seed) for seed in question.seeds] or list(graph.seeds)
        draw = random.Random(question.random_seed)
        starts = [seeds, *(self._drawn(draw) for _ in range(question.repeat - 1))]
        curves = {name: [self._curve(name, start, progress) for start in starts] for name in question.orders}
        references = {OMNISCIENT: self._curve(OMNISCIENT, seeds, progress)}
        reached = self.fetched[OMNISCIENT]
        references[IDEAL] = self._measured(ideal(reached, self.importance), 0.0)
        spread = {
            name: Spread(runs=len(found), least=min(one.mean for one in found), greatest=max(one.mean for one in found))
            for name, found in curves.items()
        }
        return Simulated(
            graph=graph.title, pages=graph.size, links=graph.link_count, reachable=len(reached),
            seeds=[graph.names[seed] for seed in seeds], by=question.by,
            orders={name: found[0] for name, found in curves.items()}, references=references,
            spread=spread if question.repeat > 1 else msgspec.UNSET,
            goals=self._goals if question.goal is not None else msgspec.UNSET, notes=self._notes(len(reached)),
        )  # fmt: skip

    def _drawn(self, draw: random.Random) -> list[int]:
        """A start address by lot: a page with links."""
        linking = np.flatnonzero(np.diff(self.graph.starts))
        return [int(linking[draw.randrange(len(linking))])]

    def _curve(self, name: str, seeds: Sequence[int], progress: Progress) -> Curve:
        start = time.process_time()
        if name == IDEAL:
            found = ideal(self._run(OMNISCIENT, seeds, progress), self.importance)
        else:
            found = self._run(name, seeds, progress)
        cpu_s = time.process_time() - start
        self.fetched.setdefault(name, found)
        return self._measured(found, cpu_s)

    def _measured(self, found: Nodes, cpu_s: float) -> Curve:
        return curve_of(found, self.importance, self._question.at, self._question.best, cpu_s)

    def _order(self, name: str) -> Order:
        question = self._question
        if name in question.own:
            return question.own[name]()
        if name == OMNISCIENT:
            return ByScore(from_table(self._by_name))
        scores = {known: from_table(table) for known, table in question.scores.items()}
        return order_of(name, Settings(ranks=question.ranks, random_seed=question.random_seed, scores=scores))

    def _run(self, name: str, seeds: Sequence[int], progress: Progress) -> Nodes:
        simulation = Simulation(self.graph, self._order(name), seeds)
        steps = simulation.steps(progress, name)
        asked = name in self._question.orders and name not in self._goals and name not in self.fetched
        if asked and (self._trace is not None or self._question.goal is not None):
            pages = self._watched(name, simulation, steps)
        else:
            pages = list(steps)
        return np.array(simulation.nodes, np.int64)[pages]

    def _watched(self, name: str, simulation: Simulation, steps: Iterator[int]) -> list[int]:
        """The same run, with a line a step, and goals looked for: both end with the last goal, the run does not."""
        question = self._question
        costs = Costs(simulation, question.ranks)
        search = None if question.goal is None else GoalSearch(question.goal, question.goals)
        pages: list[int] = []
        for page in steps:
            pages.append(page)
            edge, cost = costs.of(page)
            is_over = search is not None and search.is_over
            if search is not None and not is_over:
                search.look_at(simulation.name_of(page), costs.rank_of(page), edge, cost)
            if self._trace is not None and not is_over:
                self._trace.write(msgspec.json.encode(self._line(name, simulation, costs, page, len(pages))).decode())
                self._trace.write("\n")
        if search is not None:
            self._goals[name] = search.result()
        return pages

    def _line(self, name: str, simulation: Simulation, costs: Costs, page: int, step: int) -> TraceLine:
        parent = costs.parent_of(page)
        edge, cost = costs.of(page)
        waiting: list[WaitingPage] | msgspec.UnsetType = msgspec.UNSET
        if self._with_frontier:
            waiting = [
                WaitingPage(page=simulation.name_of(one), path_cost=costs.path_cost_of(one))
                for one in simulation.queue.in_order()
            ]
        found_on = None if parent == SEED else simulation.name_of(parent)
        return TraceLine(
            order=name, n=step, page=simulation.name_of(page), parent=found_on, edge_cost=edge, path_cost=cost,
            waiting=waiting,
        )  # fmt: skip

    def _notes(self, reachable: int) -> list[str]:
        """What a user should know of the graph and the tables."""
        graph, question, notes = self.graph, self._question, []
        if reachable < graph.size:
            notes.append(
                f"{graph.size - reachable:,} of {graph.size:,} pages cannot be reached from the start addresses"
            )
        if graph.loops:
            notes.append(f"{graph.loops:,} links lead to their own page: no order follows them")
        if graph.parallel:
            notes.append(f"{graph.parallel:,} links are there more than once: each counts once")
        for option, table, value in (("--by", question.importance, "0"), ("--ranks", question.ranks, "rank 1")):
            if table is not None and (missing := sum(name not in table for name in graph.names)):
                notes.append(f"{missing:,} pages are not in {option}: each has {value}")
        return notes


class WaitingPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page that waits at one step of a trace."""

    page: str
    path_cost: int | None


class TraceLine(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a trace: the page that was fetched, how it was reached, and the pages that wait then."""

    order: str
    n: int
    page: str
    parent: str | None
    edge_cost: int | None
    path_cost: int | None
    waiting: list[WaitingPage] | msgspec.UnsetType = msgspec.UNSET
