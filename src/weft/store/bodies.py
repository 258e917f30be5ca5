"""Which bodies were met, so that nearly every page knows without a look into the database that it is no copy."""

from __future__ import annotations

import mmap
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_BITS: Final = 1 << 24  # a bit for each value of the last bits of a hash: at a million bodies 6 % look for nothing
SIZE_B: Final = 1 + _BITS // 8


class SharedBodies:
    """The same for several processes: bits in a mapped file, set by the one that writes the database.

    The first byte says whether they tell of all bodies there are; where they do not, every body may be known. A bit is
    set before its body is committed, so who finds it set has to look, and may find nothing.
    """

    def __init__(self, path: Path, at: int) -> None:
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), at + SIZE_B)
        self._at = at

    def begin(self, met: Iterable[int]) -> None:
        """From now on the bits tell of all bodies; these are known already."""
        for body_hash in met:
            self.add(body_hash)
        self._map[self._at] = 1

    def add(self, body_hash: int) -> None:
        number = body_hash & (_BITS - 1)
        self._map[self._at + 1 + (number >> 3)] |= 1 << (number & 7)

    def may_hold(self, body_hash: int) -> bool:
        """Whether a body with this hash may have been met."""
        number = body_hash & (_BITS - 1)
        return not self._map[self._at] or bool(self._map[self._at + 1 + (number >> 3)] & 1 << (number & 7))

    def close(self) -> None:
        self._map.close()
