"""Orders by the links of the pages that were fetched: by their number, and by the cash of OPIC."""

from __future__ import annotations

import numpy as np

from weft.frontier.order.interface import Numbers, Scored


class InLinks(Scored):
    """The page to which most of the fetched pages link comes first."""

    every = 100

    def fetched(self, page: int, targets: Numbers) -> None:
        """One link more for each target."""
        self.scores[targets] += 1.0


class Opic(Scored):
    """On-line page importance: a fetched page gives its cash to its targets, and the richest page comes next.

    Abiteboul, Preda, Cobena: Adaptive On-Line Page Importance Computation (2003). A start address has one unit of cash.
    The cash that reaches a page after its fetch stays there: no page is fetched twice here.
    """

    every = 100

    def fetched(self, page: int, targets: Numbers) -> None:
        """Equal shares for all targets."""
        if len(targets):
            cash = float(self.scores[page])
            self.scores[targets] += (cash if np.isfinite(cash) else 1.0) / len(targets)
