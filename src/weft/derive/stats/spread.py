"""How sizes and times are spread: percentiles and histograms. Pure functions."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from itertools import chain, count, pairwise

from weft.derive.stats.model import Bar, Spread

_EXACT = 2_000_000


def spread_of(values: array[int]) -> Spread | None:
    """Percentiles, exact up to two million values, of every n-th value beyond; None where there are none."""
    if not values:
        return None
    ordered = sorted(values[:: len(values) // _EXACT + 1])
    at = [ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in (0.5, 0.9, 0.99)]
    return Spread(min(values), at[0], at[1], at[2], max(values), sum(values) / len(values))


def size_bars(values: array[int]) -> list[Bar]:
    """Bytes in bars that double: below 1 kB, 1 to 2 kB, 2 to 4 kB ..."""
    return _bars(values, chain([0], (1_000 << number for number in count())))


def time_bars(values: array[int]) -> list[Bar]:
    """Milliseconds in bars of 1, 2, 5, 10 ..."""
    return _bars(values, chain([0], (step * 10**number for number in count() for step in (1, 2, 5))))


def _bars(values: array[int], edges: chain[int]) -> list[Bar]:
    if not values:
        return []
    most, kept = max(values), []
    for edge in edges:
        kept.append(edge)
        if edge > most:
            break
    counts = [0] * (len(kept) - 1)
    for value in values:
        counts[bisect_right(kept, value) - 1] += 1
    first = next(number for number, found in enumerate(counts) if found)
    return [Bar(least, below, counts[n]) for n, (least, below) in enumerate(pairwise(kept)) if n >= first]
