"""Which bodies were met, so that nearly every page knows without a look into the database that it is no copy."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable
from typing import Final

_BITS: Final = 1 << 24  # a bit for each value of the last bits of a hash: at a million bodies 6 % look for nothing
_SIZE_B: Final = 1 + _BITS // 8


def share_bodies() -> SharedBodies | None:
    """Nothing met yet, in memory that lies in no folder and vanishes with its last user; None where there is none such.

    A mapped file would not do: where the disk is full, to set a bit would end the process.
    """
    if not hasattr(os, "memfd_create"):
        return None
    try:
        descriptor = os.memfd_create("weft-bodies")
        os.truncate(descriptor, _SIZE_B)
        return SharedBodies(descriptor)
    except OSError:
        return None


class SharedBodies:
    """What several processes know of bodies: bits in memory that they share, set by the one that writes the database.

    The first byte says whether they tell of all bodies there are; where they do not, every body may be known. A bit is
    set before its body is committed, so who finds it set has to look, and may find nothing.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._map = mmap.mmap(descriptor, _SIZE_B)

    def begin(self, met: Iterable[int]) -> None:
        """From now on the bits tell of all bodies; these are known already."""
        for body_hash in met:
            self.add(body_hash)
        self._map[0] = 1

    def add(self, body_hash: int) -> None:
        number = body_hash & (_BITS - 1)
        self._map[1 + (number >> 3)] |= 1 << (number & 7)

    def may_hold(self, body_hash: int) -> bool:
        """Whether a body with this hash may have been met."""
        number = body_hash & (_BITS - 1)
        return not self._map[0] or bool(self._map[1 + (number >> 3)] & 1 << (number & 7))

    def close(self) -> None:
        self._map.close()
        os.close(self.descriptor)
