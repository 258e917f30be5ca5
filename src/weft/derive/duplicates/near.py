"""Near-duplicates among many texts: candidates by bands of their sketches, then the true likeness of each.

Clusters, not chains. Texts are taken in their order, the order of (depth, key); each either is alike enough to the
first representative that is, and belongs to it, or becomes a representative itself. So every member is as near to its
representative as the threshold says, however long a row of small changes leads away from it, and the result depends
on nothing but the texts and their order.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.derive.duplicates.texts import Texts
from weft.judge.likeness import (
    Likeness,
    Sketches,
    band_hashes,
    bands_of,
    estimates,
    least_estimate,
    matrix,
    signature_similarity,
)
from weft.judge.sketch import jaccard
from weft.ports import Progress

_TELL_EVERY = 500
_COMPARED_AT_ONCE = 4_096


class Alike(NamedTuple):
    """A text, an earlier one (both by their places in the order), and how alike they are."""

    place: int
    earlier: int
    similarity: float


class NearTexts:
    """The texts of visits, given in the order of their pages, and what is near among them."""

    def __init__(self, visits: Sequence[int], texts: Texts, like: Likeness, progress: Progress) -> None:
        self._visits = visits
        self._texts = texts
        self._like = like
        self._progress = progress
        self._sketches: Sketches
        self._groups: NDArray[np.int32] | None
        self._has_text: NDArray[np.bool_]
        self._load()

    def clusters(self) -> Iterator[Alike]:
        """Each text that belongs to a representative, with it."""
        standing = _Standing(self._groups)
        for place in self._worth_comparing():
            found = next(self._alike(place, standing.candidates(place)), None)
            if found is None:
                standing.add(place)
            else:
                yield found

    def pairs(self) -> Iterator[Alike]:
        """Each two texts that are alike enough."""
        standing = _Standing(self._groups)
        for place in self._worth_comparing():
            yield from self._alike(place, standing.candidates(place))
            standing.add(place)

    def _load(self) -> None:
        """Reads all sketches, and tells which of them agree in a band."""
        count = len(self._visits)
        bands = bands_of(self._like)
        memory_b = self._texts.memory_b
        self._sketches = matrix(count, self._like.width, self._like.dtype, memory_b)
        self._has_text = np.zeros(count, bool)
        hashes = None if bands is None else matrix(bands.count, count, np.uint64, memory_b)
        at = 0
        for some, rows, has_text in self._texts.sketches(self._visits):
            end = at + len(some)
            self._sketches[at:end] = rows
            self._has_text[at:end] = has_text
            if hashes is not None and bands is not None:
                hashes[:, at:end] = band_hashes(rows, bands)
            at = end
            self._progress("reading texts", at, count)
        self._groups = None if hashes is None else _groups(hashes, self._has_text, memory_b)

    def _worth_comparing(self) -> Iterator[int]:
        """The places of the texts that may have a near-duplicate."""
        worth = self._has_text if self._groups is None else self._has_text & (self._groups >= 0).any(axis=1)
        places = np.flatnonzero(worth)
        for number, place in enumerate(places.tolist()):
            if number % _TELL_EVERY == 0:
                self._progress("comparing texts", number, len(places))
            yield place

    def _alike(self, place: int, candidates: NDArray[np.int64]) -> Iterator[Alike]:
        """Those candidates, in their order, that are alike enough."""
        one = self._sketches[place]
        for start in range(0, len(candidates), _COMPARED_AT_ONCE):
            some = candidates[start : start + _COMPARED_AT_ONCE]
            told, numbers = estimates(one, self._sketches[some])
            likely = (
                np.ones(len(some), bool)
                if self._like.by_signature
                else told >= least_estimate(self._like.threshold, numbers)
            )
            for earlier, estimate in zip(some[likely].tolist(), told[likely].tolist(), strict=True):
                similarity = self._similarity(place, earlier, estimate)
                if similarity >= self._like.threshold:
                    yield Alike(place, earlier, similarity)

    def _similarity(self, place: int, earlier: int, estimate: float) -> float:
        """How alike two texts are: exactly, wherever the texts are kept."""
        if self._like.by_signature:
            return signature_similarity(self._sketches[place], self._sketches[earlier])
        one, other = self._texts.shingles(self._visits[place]), self._texts.shingles(self._visits[earlier])
        return estimate if one is None or other is None else jaccard(one, other)


class _Standing:
    """The texts that later ones are compared with, by the bands they have in common."""

    def __init__(self, groups: NDArray[np.int32] | None) -> None:
        self._groups = groups
        self._all = array("q")
        self._by_group: dict[int, array[int]] = {}

    def candidates(self, place: int) -> NDArray[np.int64]:
        """The places, in order, of what shares a band with this text; of everything where there are no bands."""
        if self._groups is None:
            return np.array(self._all, np.int64)
        found: set[int] = set()
        for group in self._groups[place].tolist():
            if group >= 0:
                found.update(self._by_group.get(group, ()))
        return np.array(sorted(found), np.int64)

    def add(self, place: int) -> None:
        if self._groups is None:
            self._all.append(place)
            return
        for group in self._groups[place].tolist():
            if group >= 0:
                self._by_group.setdefault(group, array("q")).append(place)


def _groups(hashes: NDArray[np.uint64], has_text: NDArray[np.bool_], memory_b: int) -> NDArray[np.int32]:
    """For each text (a row) and band the number of the group that agrees in it; -1 where it is alone."""
    bands, count = hashes.shape
    groups: NDArray[Any] = matrix(count, bands, np.int32, memory_b)
    groups[:] = -1
    places = np.flatnonzero(has_text)
    used = 0
    for band in range(bands):
        values = hashes[band][places]
        order = np.argsort(values, kind="stable")
        ordered = values[order]
        begins = np.ones(len(order), bool)
        np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
        number = np.cumsum(begins) - 1
        sizes = np.bincount(number)
        shared = sizes[number] > 1
        groups[places[order[shared]], band] = number[shared] + used
        used += len(sizes)
    return groups
