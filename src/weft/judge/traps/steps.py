"""Numbers that go on and on by steps of the same few widths: lists, grids (CHAIN_TOO_LONG).

A chain is counted by its hops. A list that also links to its next ten, hundred and thousand pages has hardly any, and
no end all the same; nor has a grid of which every page links to its neighbours.
"""

from __future__ import annotations

from weft.errors import Reason
from weft.judge.traps.ledger import SAMPLED, Ledger, mark_of
from weft.judge.traps.urls import Problem
from weft.text.patterns import regex

USUAL = 5  # sampled steps of one width, from which on it is one of the usual widths of its series
STEPS_PER_CHAIN = 4  # steps of usual widths in one series, as a multiple of the length of a chain
OTHERS = 10  # one step of another width in so many, and the series is no list but pages that know each other
GRID = 2  # pages far from the start, found by steps in two directions, as a multiple of the length of a chain
SIDES = 8  # a grid has at least one of so many steps in its second direction
SERIES = 2_000
WIDTHS = 64
LONGEST = 15  # digits of a number that is counted on
_COUNT = (1 << 20) - 1

_NUMBER = regex(r"(\d+)")


class Steps:
    """See the module. ``limit`` is the length of a chain.

    Asked for sampled URLs, and for all of the ``sites`` that were found out.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.sites: set[int] = set()
        self.ledger = Ledger("u", 20_000)
        self._widths: dict[str, dict[int, int]] = {}  # by series: how often each width came
        self._parent = ""
        self._parent_pieces: list[str] = []

    def problem(self, site_id: int, url: str, parent: str, far: bool) -> Problem | None:
        """What is said against a URL that was found on a page of its shape, ``far`` down a chain; counts it."""
        if parent != self._parent:
            self._parent, self._parent_pieces = parent, _NUMBER.split(parent)
        pieces = _NUMBER.split(url)
        at = _only_difference(pieces, self._parent_pieces)
        if at < 0:
            return None
        width = int(pieces[at]) - int(self._parent_pieces[at])
        problem = self._list(site_id, pieces, at, width)
        if problem is None and far and len(pieces) > 3:
            problem = self._grid(site_id, pieces, at)
        return problem

    def _list(self, site_id: int, pieces: list[str], at: int, width: int) -> Problem | None:
        series = f"{site_id} {mark_of(''.join((*pieces[:at], '#', *pieces[at + 1 :])))}"
        widths = self._widths.get(series)
        if widths is None:
            widths = self._widths[series] = {}
            if len(self._widths) > SERIES:
                del self._widths[next(iter(self._widths))]
        if width in widths or len(widths) < WIDTHS:
            widths[width] = widths.get(width, 0) + 1
        usual, others = _unpacked(self.ledger.number(series))
        if widths.get(width, 0) <= USUAL:
            if usual:
                self.ledger.put(series, usual | min(others + 1, _COUNT) << 20)
            return None
        if usual * SAMPLED >= STEPS_PER_CHAIN * self._limit and others * OTHERS < usual:
            self.sites.add(site_id)
            steps = f"{SAMPLED * usual} steps down one series of numbers"
            return Reason.CHAIN_TOO_LONG, f"{steps} (--trap-chain {self._limit})"
        self.ledger.put(series, min(usual + 1, _COUNT) | others << 20)
        return None

    def _grid(self, site_id: int, pieces: list[str], at: int) -> Problem | None:
        """Judges by the shape of all numbers together: every row of a grid is a series of its own."""
        key = f"{site_id} grid {mark_of('#'.join(pieces[::2]).replace('-', ''))}"
        row = bytearray(self.ledger.blob(key) or bytes(16))
        counts = [int.from_bytes(row[place : place + 4], "big") for place in range(0, 16, 4)]
        first, second = sorted(counts, reverse=True)[:2]
        if SAMPLED * (first + second) >= GRID * self._limit and second * SIDES >= first:
            self.sites.add(site_id)
            pages = SAMPLED * (first + second)
            return Reason.CHAIN_TOO_LONG, f"{pages} pages far out in a grid (--trap-chain {self._limit})"
        place = min(at // 2, 3)
        row[4 * place : 4 * place + 4] = min(counts[place] + 1, _COUNT).to_bytes(4, "big")
        self.ledger.put(key, bytes(row))
        return None


def _unpacked(packed: int) -> tuple[int, int]:
    """Steps of usual widths, and of others since there were any."""
    return packed & _COUNT, packed >> 20


def _only_difference(pieces: list[str], others: list[str]) -> int:
    """Where two URLs, split into text and numbers, differ by one number; -1 where they do not, or elsewhere too."""
    if len(pieces) != len(others):
        return -1
    found = -1
    for at, piece in enumerate(pieces):
        if piece != others[at]:
            if found >= 0 or not at & 1 or len(piece) > LONGEST or len(others[at]) > LONGEST:
                return -1
            found = at
    return found
