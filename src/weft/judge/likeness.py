"""How alike two sketches are, and which of many are worth comparing: the arithmetic of near-duplicates, in numpy."""

from __future__ import annotations

import math
import random
import tempfile
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from weft.judge.sketch import BINS, EMPTY, FUNCTIONS
from weft.spec import MinHash, Similarity

Sketches = NDArray[np.uint16 | np.uint32]

_MISSED: Final = 1e-5
"""The share of pairs at the threshold that bands may miss; above it they miss fewer."""

_SPREADS: Final = 4.5  # so many standard deviations may an estimate lie below the truth
_FILL = np.uint32(40_503)


class Likeness(msgspec.Struct, frozen=True):
    """When two pages are near-duplicates."""

    threshold: float = 0.99
    minhash: MinHash = MinHash.FAST
    similarity: Similarity = Similarity.JACCARD

    @property
    def width(self) -> int:
        return BINS if self.minhash is MinHash.FAST else FUNCTIONS

    @property
    def dtype(self) -> type[np.uint16] | type[np.uint32]:
        return np.uint16 if self.minhash is MinHash.FAST else np.uint32

    @property
    def by_signature(self) -> bool:
        return self.similarity is Similarity.SIGNATURE


class Bands(msgspec.Struct, frozen=True):
    """``count`` runs of ``rows`` numbers of a sketch: pages that agree in all of one run are compared."""

    count: int
    rows: int


def bands_of(like: Likeness) -> Bands | None:
    """The bands under which no pair at the threshold is likely to be missed; None where only all pairs would do.

    Signatures are compared number by number, so a pair at the threshold differs in few enough places that one band
    more than that has none of them: nothing is missed.
    """
    width, threshold = like.width, like.threshold
    if like.by_signature:
        agreeing = math.ceil(2 * threshold / (1 + threshold) * width - 1e-9)
        count = width - agreeing + 1
        return Bands(count, width // count) if count <= width else None
    for rows in range(width, 0, -1):
        count = width // rows
        if (1 - threshold**rows) ** count <= _MISSED:
            return Bands(count, rows)
    return None


def band_hashes(sketches: Sketches, bands: Bands) -> NDArray[np.uint64]:
    """A number for each band (a row) of each sketch (a column)."""
    filled = _filled(sketches).astype(np.uint64)[:, : bands.count * bands.rows]
    runs = filled.reshape(len(sketches), bands.count, bands.rows)
    hashes: NDArray[np.uint64] = (runs * _FACTORS[: bands.rows]).sum(axis=2, dtype=np.uint64)
    hashes ^= hashes >> np.uint64(32)
    return np.ascontiguousarray((hashes * _FACTORS[-1]).T)


def band_numbers(sketch: Sketches, bands: Bands) -> list[int]:
    """The bands of one sketch as numbers that SQLite keeps, each different from those of other bands."""
    hashes = band_hashes(sketch[np.newaxis], bands)[:, 0] + _FACTORS[: bands.count]
    return [int(number) for number in hashes.view(np.int64)]


def sketch_row(data: bytes, like: Likeness) -> Sketches:
    """The numbers of a sketch as it is stored."""
    row: Sketches = np.empty(like.width, like.dtype)
    row[:] = np.frombuffer(data, np.dtype(like.dtype).newbyteorder("<"), like.width)
    return row


def estimates(one: Sketches, others: Sketches) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """How alike a sketch is to each of others, and by how many numbers that was told."""
    equal = others == one
    if others.dtype == np.uint32:
        told = np.full(len(others), others.shape[1], np.int64)
    else:
        used = others != EMPTY
        equal &= used
        told = np.count_nonzero(used | (one != EMPTY), axis=1)
    return np.count_nonzero(equal, axis=1) / np.maximum(told, 1), told


def least_estimate(threshold: float, told: NDArray[np.int64]) -> NDArray[np.float64]:
    """The estimate below which a pair at the threshold is not to be expected."""
    return threshold - _SPREADS * np.sqrt(threshold * (1 - threshold) / np.maximum(told, 1)) - 1e-9


def signature_similarity(one: Sketches, other: Sketches) -> float:
    """G7's measure: the Jaccard index of the two signatures as sets (246 numbers of 254 in common: 0.9685)."""
    common = len(np.intersect1d(one, other))
    return common / (len(np.unique(one)) + len(np.unique(other)) - common)


def matrix(rows: int, columns: int, dtype: Any, memory_b: int) -> NDArray[Any]:
    """An array of zeros in memory, or past a size in a file that has no name."""
    size = rows * columns * np.dtype(dtype).itemsize
    if size <= memory_b:
        return np.zeros((rows, columns), dtype)
    with tempfile.TemporaryFile(prefix="weft-") as file:
        file.truncate(size)
        return np.memmap(file, dtype, "r+", shape=(rows, columns))


def _filled(sketches: Sketches) -> Sketches:
    """The sketches with no empty bin: each takes the value of the next used one, changed by how far that is.

    So short texts, which use few bins, agree in a bin as often as long ones (Shrivastava and Li, 2014).
    """
    if sketches.dtype != np.uint16:
        return sketches
    empty = sketches == EMPTY
    width = sketches.shape[1]
    places = np.where(empty, 2 * width, np.arange(width))
    twice = np.concatenate((places, places + width), axis=1)
    following = np.minimum.accumulate(twice[:, ::-1], axis=1)[:, ::-1][:, :width]
    distance = following - np.arange(width)
    values = np.take_along_axis(sketches, following % width, axis=1).astype(np.uint32)
    return (values + distance.astype(np.uint32) * _FILL).astype(np.uint16)


def _factors() -> NDArray[np.uint64]:
    draw = random.Random(8)
    return np.array([draw.getrandbits(64) | 1 for _ in range(BINS + 1)], np.uint64)


_FACTORS = _factors()
