"""By scores from outside: a table of URLs, or a function of the user's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite

import numpy as np

from weft.frontier.order.interface import SEED, Found, Numbers, Reals, by_score, with_room

DEFAULT = 0.0

Score = Callable[[str | None, str], float]
"""From the URL of the page (None for a start address) and the URL of its link to the score of the link."""


class ByScore(Found):
    """The highest score first. Start addresses come before all others.

    ``failed`` has the first ``MOST_FAILURES`` links for which the function raised an exception, or gave no finite
    number, with the reason. Such a link has the default score.
    """

    page_b = 24
    most_failures = 20

    def __init__(self, score: Score) -> None:
        super().__init__()
        self._score = score
        self._urls: list[str] = []
        self._priorities = np.zeros(0, np.int64)
        self.failures = 0
        self.failed: list[tuple[str, str]] = []

    def found(self, first: int, urls: Sequence[str], depth: int, parent: int) -> None:
        """Asks for the scores."""
        super().found(first, urls, depth, parent)
        self._urls += urls
        page = None if parent == SEED else self._urls[parent]
        scores = np.array([self._score_of(page, url) for url in urls])
        if parent == SEED and depth == 0:
            scores[:] = np.inf
        self._priorities = with_room(self._priorities, self.count)
        self._priorities[first : self.count] = signed(scores, self._depths[first : self.count])

    def _score_of(self, page: str | None, url: str) -> float:
        try:
            score = float(self._score(page, url))
        except Exception as error:  # the border to the user's own code
            return self._fail(url, f"{type(error).__name__}: {error}")
        return score if isfinite(score) else self._fail(url, f"the score is {score}")

    def _fail(self, url: str, why: str) -> float:
        self.failures += 1
        if len(self.failed) < self.most_failures:
            self.failed.append((url, why))
        return DEFAULT

    def priorities(self, pages: Numbers) -> Numbers:
        """The highest score first."""
        priorities: Numbers = self._priorities[pages]
        return priorities


def signed(scores: Reals, depths: Numbers) -> Numbers:
    """Priorities for scores of any sign: those below 0 come behind those above."""
    ahead, behind = by_score(np.maximum(scores, 0.0), depths), by_score(np.maximum(-scores, 0.0), depths)
    return np.where(scores < 0, 2 * by_score(np.zeros(len(scores)), depths) - behind, ahead)


def from_table(table: Mapping[str, float]) -> Score:
    """The score function of a table; a URL that is not in it has the default score."""
    return lambda page, url: table.get(url, DEFAULT)
