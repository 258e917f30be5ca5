"""PageRank and HITS by the power method, with arrays only: about 20 bytes a link while they work."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]
Nodes = npt.NDArray[np.int32]

DAMPING = 0.85
_TURNS = 100
_CLOSE = 1e-9
_AT_ONCE = 1 << 20


def pagerank(size: int, sources: Nodes, targets: Nodes, start: Reals | None = None) -> Reals:
    """The PageRank of every page; the sum is 1. Pages without links give their rank to all pages alike.

    ``start``: ranks from before, from which the work is shorter.
    """
    out = np.bincount(sources, minlength=size)
    shares = np.divide(1.0, out, out=np.zeros(size), where=out > 0)
    ranks = np.full(size, 1.0 / size) if start is None else start / start.sum()
    for _ in range(_TURNS):
        flow = DAMPING * _sums(sources, targets, ranks * shares, size)
        new = flow + (1.0 - flow.sum()) / size
        change = float(np.abs(new - ranks).sum())
        ranks = new
        if change < _CLOSE:
            break
    return ranks


def hits(size: int, sources: Nodes, targets: Nodes) -> tuple[Reals, Reals]:
    """The hub and the authority score of every page; the largest of each is 1, where there are links."""
    hubs = authorities = np.ones(size)
    for _ in range(_TURNS):
        authorities = _scaled(_sums(sources, targets, hubs, size))
        new = _scaled(_sums(targets, sources, authorities, size))
        change = float(np.abs(new - hubs).max(initial=0.0))
        hubs = new
        if change < _CLOSE:
            break
    return hubs, authorities


def _scaled(values: Reals) -> Reals:
    most = float(values.max(initial=0.0))
    return values / most if most else values


def _sums(sources: Nodes, targets: Nodes, weights: Reals, size: int) -> Reals:
    """For each page the sum of the weights of the pages that link to it; a stretch of the links at a time."""
    total = np.zeros(size)
    for start in range(0, len(sources), _AT_ONCE):
        span = slice(start, start + _AT_ONCE)
        total += np.bincount(targets[span], weights=weights[sources[span]], minlength=size)
    return total


def in_links(size: int, targets: Nodes) -> Reals:
    """How many pages link to each page."""
    return np.bincount(targets, minlength=size).astype(np.float64)


def to_ranks(scores: Reals) -> npt.NDArray[np.int64]:
    """Scores as ranks from 1 to 10: ``1 + floor(9 * ln(1 + s / mean) / ln(1 + greatest / mean))``."""
    mean = float(scores.mean()) or 1.0
    greatest = float(np.log1p(scores.max(initial=0.0) / mean)) or 1.0
    return 1 + np.floor(9 * np.log1p(scores / mean) / greatest).astype(np.int64)
