"""The measure of main texts that others use: precision and recall over the bag of 4-word shingles of a page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

WORDS = 4
_WORD = re.compile(r"\w+")


class Score(NamedTuple):
    """How much of what was found was wanted, and how much of what was wanted was found."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        return 2 * self.precision * self.recall / (self.precision + self.recall) if self.precision else 0.0


def score_of(wanted: str, found: str) -> Score:
    """The score of one page."""
    marked, read = _shingles(wanted), _shingles(found)
    common = (marked & read).total()
    return Score(common / read.total() if read else float(not marked), common / marked.total() if marked else 1.0)


def mean_of(scores: Iterable[Score]) -> Score:
    """The mean precision and recall of many pages."""
    all_scores = list(scores)
    return Score(*(sum(column) / len(all_scores) for column in zip(*all_scores, strict=True)))


def _shingles(text: str) -> Counter[tuple[str, ...]]:
    words = _WORD.findall(text)
    starts = range(max(1, len(words) - WORDS + 1)) if words else ()
    return Counter(tuple(words[at : at + WORDS]) for at in starts)
