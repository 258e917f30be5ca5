"""Sketches of texts: a kilobyte that tells how alike two pages are (G7, E18).

A text is the set of its shingles, the runs of eight characters in it, each whitespace being one space. How alike two
texts are is the Jaccard index of the two sets. A sketch estimates it without the texts:

- ``fast``: one-permutation hashing. A hash of 32 bits puts each shingle into one of 512 bins and gives it a value;
  a bin keeps 16 bits of its least value. Two sketches agree in as many of the bins that either uses as the index says.
- ``classic``: the 250 functions (a x + b) mod c of G7, each keeping its least value over all shingles.

Both are pure functions of the text, the same in every crawl.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, assert_never

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from weft.spec import MinHash

Hashes = NDArray[np.uint64]
Sketcher = Callable[[str], bytes]

SHINGLE: Final = 8
BINS: Final = 512
FUNCTIONS: Final = 250
EMPTY: Final = 0xFFFF
"""What a bin holds that no shingle fell into."""

PRIME: Final = 4_294_967_311
"""c: the least prime above 2 ** 32."""

_BIN_SHIFT = np.uint64(64 - 9)
_MOST = np.uint64(0xFFFFFFFFFFFFFFFF)
_BLOCK = 12_288  # windows at a time: their numbers stay in the processor's cache, whatever the length of the text
_CLASSIC_BLOCK = 512

_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)
_WIDE = (0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3)
_WIDE_1, _WIDE_2, _WIDE_4 = map(np.uint64, _WIDE)
_WIDE_FACTORS = np.array(
    [
        (1 if at & 1 else _WIDE[0]) * (1 if at & 2 else _WIDE[1]) * (1 if at & 4 else _WIDE[2]) & 0xFFFFFFFFFFFFFFFF
        for at in range(SHINGLE)
    ],
    np.uint64,
)
_PLACES = np.arange(SHINGLE)
_SPARSE = 6  # from one wide character in so many on, all windows are gone through at once

_TO_SPACES = bytes(0x20 if chr(code).isspace() else code for code in range(256))
_WIDE_SPACES = np.array([chr(code).isspace() for code in range(0x3002)])  # the last is none, nor is any behind it
_SPACE, _MARK = ord(" "), ord("?")  # the latter stands for other characters in Latin-1
_NOWHERE = np.empty(0, np.int64)
_FEW = 64
_IsalError: type[Exception] = isal_zlib.IsalError  # type: ignore[assignment]  # its stub names an instance


def sketcher(kind: MinHash, *, with_text: bool = False) -> Sketcher:
    """The function that makes sketches of a kind: ``fast`` or ``classic``. Of a text without shingles it gives b"".

    ``with_text``: the text is kept behind the sketch, packed, for crawls that keep no bodies.
    """
    sketch = _sketch_of(kind)
    if not with_text:
        return sketch

    def sketch_and_text(text: str) -> bytes:
        data = sketch(text)
        return data and data + isal_zlib.compress(text.encode("utf-8", "surrogatepass"), 1)

    return sketch_and_text


def _sketch_of(kind: MinHash) -> Sketcher:
    match kind:
        case MinHash.FAST:
            return fast_sketch
        case MinHash.CLASSIC:
            return classic_sketch
        case _:
            assert_never(kind)


def sketch_size(kind: MinHash) -> int:
    """How many bytes the sketch takes; what stands behind them is the text."""
    match kind:
        case MinHash.FAST:
            return 2 * BINS
        case MinHash.CLASSIC:
            return 4 * FUNCTIONS
        case _:
            assert_never(kind)


def kept_text(data: bytes, kind: MinHash) -> str | None:
    """The text that a sketch was kept with; None where there is none, or it is damaged."""
    packed = data[sketch_size(kind) :]
    try:
        return isal_zlib.decompress(packed).decode("utf-8", "surrogatepass") if packed else None
    except (_IsalError, UnicodeDecodeError):
        return None


def fast_sketch(text: str) -> bytes:
    """512 numbers of 16 bits, little-endian; b"" for a text shorter than a shingle."""
    least = np.full(BINS, _MOST, "<u8")
    found = False
    for hashes in _hashes(text):
        found = True
        np.minimum.at(least, (hashes >> _BIN_SHIFT).view(np.int64), hashes)
    # Of the 32 bits of a hash the lower half: it is as good as random, however many shingles fell into the bin. A value
    # that looks like an empty bin counts as one.
    return least.view("<u2")[2::4].tobytes() if found else b""


def classic_sketch(text: str) -> bytes:
    """250 numbers of 32 bits, little-endian; b"" for a text shorter than a shingle."""
    least = np.full(FUNCTIONS, PRIME, np.uint64)
    for hashes in _hashes(text):
        numbers = np.unique(hashes >> _HALF)
        for start in range(0, len(numbers), _CLASSIC_BLOCK):
            values = (_A * numbers[start : start + _CLASSIC_BLOCK] + _B) % np.uint64(PRIME)
            np.minimum(least, values.min(axis=1), out=least)
    if least[0] == PRIME:
        return b""
    return np.minimum(least, np.uint64(0xFFFFFFFF)).astype("<u4").tobytes()


def shingles(text: str) -> Hashes:
    """The set of shingles of a text as hashes of 64 bits, sorted: what the true index is taken of."""
    blocks = list(_hashes(text))
    if not blocks:
        return np.empty(0, np.uint64)
    found: Hashes = np.sort(np.concatenate(blocks))
    new = np.ones(len(found), bool)
    np.not_equal(found[1:], found[:-1], out=new[1:])
    return found[new]


def jaccard(one: Hashes, other: Hashes) -> float:
    """The Jaccard index of two sets of shingles; 0 where either is empty: empty pages are like no other (G7)."""
    if not len(one) or not len(other):
        return 0.0
    both = np.concatenate((one, other))
    both.sort()
    common = int(np.count_nonzero(both[1:] == both[:-1]))
    return common / (len(both) - common)


class _Characters(NamedTuple):
    """The characters of a text: the low byte of each, and where there are others than Latin-1 the rest of those."""

    low: NDArray[np.uint8]
    wide_at: NDArray[np.int64]
    wide: Hashes


def _hashes(text: str) -> Iterator[Hashes]:
    """The hashes of all shingles of a text, with repetitions, a block at a time."""
    low, wide_at, wide = _collapsed(text)
    for start in range(0, len(low) - SHINGLE + 1, _BLOCK):
        count = min(_BLOCK, len(low) - SHINGLE + 1 - start)
        # Eight characters of one byte each are a number of 64 bits as they stand.
        hashes = np.ndarray((count,), "<u8", low, start, (1,)) * _FIRST
        if len(wide_at):
            begin, end = np.searchsorted(wide_at, (start, start + count + SHINGLE - 1))
            _add_wide(hashes, wide_at[begin:end] - start, wide[begin:end])
        hashes ^= hashes >> _HALF
        hashes *= _SECOND  # the upper half of a product depends on every bit: that is the hash of 32 bits
        yield hashes


def _add_wide(hashes: Hashes, at: NDArray[np.int64], wide: Hashes) -> None:
    """Makes windows differ by characters beyond Latin-1; windows without any stay as they are."""
    count = len(hashes)
    if len(at) * _SPARSE > count:
        sums = np.zeros(count + SHINGLE - 1, np.uint64)
        sums[at] = wide
        sums = sums[:-1] * _WIDE_1 + sums[1:]
        sums = sums[:-2] * _WIDE_2 + sums[2:]
        sums = sums[:-4] * _WIDE_4 + sums[4:]
        hashes ^= _mixed(sums)
        return
    windows = (at[:, np.newaxis] - _PLACES).ravel()  # each window in which one stands, once for each that does
    sums = np.zeros(count + SHINGLE, np.uint64)  # those that begin before this block are counted at the end
    np.add.at(sums, windows, (wide[:, np.newaxis] * _WIDE_FACTORS).ravel())
    windows = windows[(windows >= 0) & (windows < count)]
    hashes[windows] = hashes[windows] ^ _mixed(sums[windows])


def _mixed(sums: Hashes) -> Hashes:
    sums ^= sums >> _HALF
    sums *= _WIDE_1
    return sums


def _collapsed(text: str) -> _Characters:
    """The characters of a text, runs of whitespace as one space, none at either end."""
    low, wide_at, codes = _decomposed(text)
    spaces = low == _SPACE
    kept = ~spaces
    kept[1:] |= kept[:-1]  # and the first space of a run
    if len(low) and spaces[-1]:
        kept[len(kept) - int(np.argmin(spaces[::-1])) :] = False
    low = low[kept]
    if len(wide_at):
        wide_at = wide_at - np.searchsorted(np.flatnonzero(~kept), wide_at)
        low[wide_at] = codes & 0xFF
    return _Characters(low, wide_at, (codes >> 8).astype(np.uint64))


def _decomposed(text: str) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """The characters as bytes, each whitespace a space; where those stand that are no byte, and their numbers."""
    low = np.frombuffer(bytearray(text.encode("latin-1", "replace").translate(_TO_SPACES)), np.uint8)
    marks = np.flatnonzero(low == _MARK)
    if len(marks) <= _FEW:  # most texts have a few dashes and quotation marks: to look at them one by one is quicker
        wide = [(at, ord(text[at])) for at in marks.tolist() if text[at] != "?"]
        if not wide:
            return low, _NOWHERE, _NOWHERE
        wide_at, codes = np.array(wide, np.int64).T
    else:
        every = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
        wide_at = np.flatnonzero(every > 0xFF)
        codes = every[wide_at].astype(np.int64)
    spaces = _WIDE_SPACES.take(np.minimum(codes, len(_WIDE_SPACES) - 1))
    if spaces.any():
        low[wide_at[spaces]] = _SPACE
        wide_at, codes = wide_at[~spaces], codes[~spaces]
    return low, wide_at, codes


def _parameters() -> tuple[Hashes, Hashes]:
    """a and b of the classic functions: drawn once for all, by a generator that is the same everywhere."""
    draw = random.Random(7)
    pairs = [(draw.randrange(1, 1 << 32), draw.randrange(1 << 32)) for _ in range(FUNCTIONS)]
    a, b = np.array(pairs, np.uint64).T
    return a[:, np.newaxis].copy(), b[:, np.newaxis].copy()


_A, _B = _parameters()
