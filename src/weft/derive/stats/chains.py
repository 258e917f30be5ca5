"""Redirect chains: how long they are, where they end, which never do."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable

from weft.derive.stats.known import BROKEN, REDIRECTED_TO, REDIRECTS, Known
from weft.derive.stats.model import Chain, Chains

_SHOWN = 50
_URLS_SHOWN = 25

Outcome = Callable[[int], tuple[str, int | None, str | None]]
"""URL, status and cause of a page."""


def chains_of(known: Known, outcome: Outcome) -> Chains:
    """Every chain once, from its first page; a loop that nothing leads into counts from its least page."""
    by_hops: Counter[int] = Counter()
    loops = bad = 0
    longest: list[tuple[int, int, int]] = []
    in_loops: set[int] = set()
    heads = [page for page in known.with_flag(REDIRECTS) if not known.flags[page] & REDIRECTED_TO]
    walked = bytearray(len(known.flags))
    for head in heads:
        way, loop = known.chain(head)
        for page in way:
            walked[page] = 1
        by_hops[len(way) - 1] += 1
        loops += loop
        bad += not loop and bool(known.flags[way[-1]] & BROKEN)
        heapq.heappush(longest, (loop, len(way) - 1, -head))
        if len(longest) > _SHOWN:
            heapq.heappop(longest)
    for page in known.with_flag(REDIRECTS):
        if walked[page] or page in in_loops:
            continue
        way, _ = known.chain(page)
        in_loops.update(way)
        by_hops[len(way) - 1] += 1
        loops += 1
        heapq.heappush(longest, (1, len(way) - 1, -page))
        if len(longest) > _SHOWN:
            heapq.heappop(longest)
    shown = [_shown(known, -page, outcome) for _, _, page in sorted(longest, reverse=True)]
    counts = {str(hops): number for hops, number in sorted(by_hops.items())}
    return Chains(sum(by_hops.values()), loops, bad, counts, shown)


def _shown(known: Known, head: int, outcome: Outcome) -> Chain:
    way, loop = known.chain(head)
    urls = [outcome(page)[0] for page in way[:_URLS_SHOWN]]
    _, status, error = outcome(way[-1])
    return Chain(urls, len(way) - 1, loop, None if loop else status, None if loop else error)
