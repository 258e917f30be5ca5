"""Which pages are one: equal bodies, near-duplicates, canonical addresses. The one place that decides it.

A source of sameness gives pairs (page, representative) of page ids. Chains and rings of pairs end at one page, so
sources need not know each other.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import NamedTuple

import msgspec

from weft.derive.duplicates.bodies import Bodies, Member
from weft.derive.duplicates.verdicts import near_verdicts
from weft.derive.read import StoredCrawl
from weft.ports import Progress, silent

_HASHES_AT_ONCE = 500
_PARTS = 256

IsNode = Callable[[int, int], bool]
"""Whether a page (id) with this visit (id) is a node of the graph."""


class _Copy(NamedTuple):
    hash: int
    page: int
    site: int
    depth: int
    key: str
    body: Member


def exact_duplicates(crawl: StoredCrawl, is_node: IsNode, *, apart: bool = False) -> Iterator[tuple[int, int]]:
    """(page, representative) for pages with equal bodies; the representative is the least by (depth, key) (R13).

    ``apart``: only pages of the same site stand for each other. A body of no bytes is no content to be equal in.
    Equal fingerprints are checked on the bytes (E18).
    """
    bodies = Bodies(crawl)
    for hashes in _shared_hashes(crawl):
        rows = crawl.connection.execute(_COPIES, (msgspec.json.encode(hashes).decode(),)).fetchall()
        copies = [
            _Copy(shared, page, site, depth, key, Member(visit, size, digest))
            for shared, page, site, depth, key, visit, size, digest in rows
        ]
        copies = sorted((copy for copy in copies if is_node(copy.page, copy.body.visit)), key=partial(_order, apart))
        for _, group in groupby(copies, key=partial(_group, apart)):
            yield from _pairs(bodies, list(group))


def _shared_hashes(crawl: StoredCrawl) -> Iterator[list[int]]:
    """The fingerprints that several visits have, some at a time; no statement looks at more than a part of them."""
    step = (1 << 64) // _PARTS
    for part in range(_PARTS):
        least = -(1 << 63) + part * step
        hashes = [row[0] for row in crawl.connection.execute(_SHARED, (least, least + step - 1)).fetchall()]
        for start in range(0, len(hashes), _HASHES_AT_ONCE):
            yield hashes[start : start + _HASHES_AT_ONCE]


def _group(apart: bool, copy: _Copy) -> tuple[int, int]:
    return copy.hash, copy.site if apart else 0


def _order(apart: bool, copy: _Copy) -> tuple[int, int, int, str]:
    return *_group(apart, copy), copy.depth, copy.key


def _pairs(bodies: Bodies, copies: list[_Copy]) -> Iterator[tuple[int, int]]:
    """(page, representative) among pages with one fingerprint, in the order in which they may represent."""
    if len(copies) > 1:
        first = bodies.classes(copy.body for copy in copies)
        page_of = {copy.body.visit: copy.page for copy in copies}
        yield from ((copy.page, page_of[first[copy.body.visit]]) for copy in copies)


def near_duplicates(crawl: StoredCrawl, progress: Progress = silent) -> Iterator[tuple[int, int]]:
    """(page, representative) for near-duplicates, where the crawl asked for them; else none."""
    for page, verdict in near_verdicts(crawl, progress).items():
        yield page, verdict.page


def united(size: int, pairs: Iterable[tuple[int, int]]) -> array[int]:
    """For each of ``size`` nodes the node that stands for it, given pairs (node, representative).

    A chain ends at its last representative. A ring is represented by its first node, so that nothing vanishes.
    """
    parent = array("i", range(size))
    for node, representative in pairs:
        if node != representative and parent[node] == node:
            parent[node] = representative
    for node in range(size):
        if parent[node] == node:
            continue
        path = []
        at = node
        on_path: set[int] = set()
        while parent[at] != at and at not in on_path:
            on_path.add(at)
            path.append(at)
            at = parent[at]
        root = at if parent[at] == at else min(path[path.index(at) :])
        for step in path:
            parent[step] = root
    return parent


_SHARED = """
SELECT hash FROM visit WHERE hash IS NOT NULL AND hash BETWEEN ? AND ?
GROUP BY hash HAVING count(*) > 1 ORDER BY hash
"""
_COPIES = """
SELECT v.hash, p.id, p.site, p.depth, coalesce(p.key, o.text), v.id, v.size, v.digest
FROM json_each(?) j JOIN visit v ON v.hash = j.value JOIN page p ON p.id = v.page JOIN url o ON o.id = p.id
WHERE coalesce(v.size, 0) > 0 AND v.purpose = 0
"""
