"""`--max-rate` for all processes together: one bucket of bytes, in the file that holds the marks."""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weft.crawl.marks import RATE_SLOT, SLOT_B
from weft.fetch.http import Rate

_STATE = struct.Struct("<?dd")  # whether it was ever used, bytes left, when that was


class SharedRate(Rate):
    """The same bucket for whoever opens the same file. Times are of the machine's monotonic clock."""

    def __init__(self, rate_b: int, path: Path) -> None:
        super().__init__(rate_b)
        self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._map = mmap.mmap(self._file, (RATE_SLOT + 1) * SLOT_B)
        self._at = RATE_SLOT * SLOT_B

    def spend(self, size_b: int, now_s: float) -> bool:
        with self._held():
            return super().spend(size_b, now_s)

    def refill(self, now_s: float) -> bool:
        with self._held():
            return super().refill(now_s)

    @contextmanager
    def _held(self) -> Iterator[None]:
        fcntl.lockf(self._file, fcntl.LOCK_EX)  # let go by the system, too, when a process dies
        try:
            used, left_b, at_s = _STATE.unpack_from(self._map, self._at)
            if used:
                self.left_b, self.at_s = left_b, at_s
            yield
            _STATE.pack_into(self._map, self._at, True, self.left_b, self.at_s or 0.0)
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        self._map.close()
        os.close(self._file)
