"""The pages being read, in a small mapped file: it outlives the process that a page takes down."""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path
from types import TracebackType

SLOT_B = 4096
ROOM_B = 16 * SLOT_B
MARKED_B = SLOT_B - 2  # of a URL
RATE_SLOT = 1  # of the bucket that all share (rate.py); the first slot is the crawl's own
WORKER_SLOTS = 2  # where those of workers begin
_LENGTH = struct.Struct("<H")


class ParseMark:
    """One slot of the file: the URL that its process reads at this moment, or nothing."""

    def __init__(self, path: Path, slot: int = 0) -> None:
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), (slot + 1) * SLOT_B)
        self._at = slot * SLOT_B

    def of(self, url: str) -> ParseMark:
        """Marks the page while the ``with`` block runs."""
        text = url.encode("utf-8", "replace")[:MARKED_B]
        self._map[self._at : self._at + 2 + len(text)] = _LENGTH.pack(len(text)) + text
        return self

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def clear(self) -> None:
        _LENGTH.pack_into(self._map, self._at, 0)

    def close(self) -> None:
        self._map.close()


def make_marks(path: Path) -> None:
    """The file with nothing marked, whatever was there before: one slot, that of the crawl's own process.

    It is written, not left as a hole: to mark a page in a hole of a full disk would end the process. It is longer than
    its slot: a run that ends because the disk is full removes it, and has room to store that.
    """
    with path.open("wb") as file:
        file.write(bytes(ROOM_B))


def add_slots(path: Path, slots: int) -> None:
    """Makes room for so many in all; those that are there stay as they are."""
    with path.open("r+b") as file:
        file.write(bytes(max(0, slots * SLOT_B - file.seek(0, os.SEEK_END))))


def clear_mark(path: Path, slot: int) -> None:
    """Nothing is marked in a slot whose process is gone."""
    mark = ParseMark(path, slot)
    mark.clear()
    mark.close()


def marked_page(path: Path, slot: int = 0) -> str | None:
    """The page that the process of a slot was reading when it died, if it died there."""
    try:
        with path.open("rb") as file:
            file.seek(slot * SLOT_B)
            data = file.read(SLOT_B)
    except OSError:
        return None
    if len(data) < 2:
        return None
    (length,) = _LENGTH.unpack_from(data)
    return data[2 : 2 + length].decode("ascii", "replace") if length else None
