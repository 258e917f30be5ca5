"""A rehearsal: which of several orders would have been best on the part of the web that was fetched so far?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from weft.frontier.order.interface import Numbers, Order, Reals
from weft.frontier.order.walk import Simulation

_PERCENTS = (1, 5, 10, 20, 50)


class Stage(NamedTuple):
    """The part of the web, as a graph whose nodes have no names."""

    names: Sequence[str]
    starts: Numbers
    targets: npt.NDArray[np.int32]
    redirects: frozenset[tuple[int, int]] = frozenset()
    refused: frozenset[int] = frozenset()


def mean_share(stage: Stage, order: Order, seeds: Sequence[int], importance: Reals) -> float:
    """The mean share of importance among the first pages that the order fetches, as ``weft simulate`` counts it."""
    simulation = Simulation(stage, order, seeds)
    pages = list(simulation.steps())
    gained = np.cumsum(importance[np.array(simulation.nodes)[pages]])
    firsts = [max(1, len(pages) * percent // 100) - 1 for percent in _PERCENTS]
    return float(gained[firsts].mean() / gained[-1])
