"""The order ``weft``: PageRank that looks ahead, because pages that wait resemble the pages that link to them.

PageRank over what is known lets a page that was not fetched give its rank to all pages alike, as if it had no links.
But navigation repeats: most pages link to what the pages link to that link to them. So half of the rank of a waiting
page goes where the links of its parents go, and only the other half to all pages alike. A parent's share in a waiting
page is the share of its links that leads there.

Pages that have no links resemble nobody: the half is made smaller by the share of fetched pages that have links.
Between two batches the score of a target grows by what the fetched page gives it. docs/ordering.md has the figures.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.frontier.order.interface import Numbers, Reals, Scored, with_room
from weft.frontier.order.web import DAMPING, FetchedLinks

_RESEMBLANCE = 0.5
_TURNS = 3


class Weft(Scored):
    """See the module. Ranks are made again after every tenth page, from where they stood."""

    every = 10
    link_b = 8
    page_b = 29

    def __init__(self) -> None:
        super().__init__()
        self._links = FetchedLinks()
        self._ranks: Reals = np.zeros(0)
        self._mean = 1.0
        self._is_fetched = np.zeros(0, np.bool_)
        self._fetched = 0
        self._with_links = 0

    def found(self, first: int, urls: Sequence[str], depth: int, parent: int) -> None:
        """A new page begins with the mean rank."""
        super().found(first, urls, depth, parent)
        self._ranks = with_room(self._ranks, self.count)
        self._ranks[first : self.count] = self._mean
        self._is_fetched = with_room(self._is_fetched, self.count)

    def fetched(self, page: int, targets: Numbers) -> None:
        """Keeps the links, and gives the targets their shares at once."""
        self._is_fetched[page] = True
        self._fetched += 1
        self._links.add(page, targets)
        if len(targets):
            self._with_links += 1
            self.scores[targets] += self._ranks[page] / len(targets)

    def begin_batch(self) -> None:
        """Makes the ranks again."""
        count, links = self.count, self._links
        ranks = self._ranks[:count] / self._ranks[:count].sum()
        resemblance = _RESEMBLANCE * (self._with_links + 1) / (self._fetched + 1)
        lent = resemblance * links.back_flow(ranks, ~self._is_fetched[:count])
        for _ in range(_TURNS):
            flow = DAMPING * links.flow(ranks + lent)
            ranks = flow + (1.0 - flow.sum()) / count
        self._ranks[:count] = ranks
        self._mean = 1.0 / count
        scores = self.scores[:count]
        np.copyto(scores, ranks, where=np.isfinite(scores))
