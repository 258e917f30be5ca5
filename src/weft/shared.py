"""What is known of URLs, in memory that the crawl's process shares with its workers.

A page has a hundred links, and nearly all lead to what the crawl has seen. A worker finds those in the memory and
reports where they lie, four bytes each, instead of their texts; the crawl's process has the texts there, and what is
known of them beside it. Only texts that are new travel.

The memory has room for four generations. What is put goes into the newest; when that is full enough, the next one
begins, in the room of the one four before. Workers look into the newest and the one before it, so a room may be used
again once every worker is known to have looked into a later one: until then nothing more is put.
"""

from __future__ import annotations

import mmap
import os
import sys
from typing import Final

import msgspec

from weft import native
from weft.records import Links

GENERATIONS: Final = 4
ENTRIES_MAX: Final = 1 << 17  # of a generation: what a crawl's pages link to lately, three megabytes
_ENTRY_B: Final = 24
_FRONT_B: Final = 64
_WORD_B: Final = 8

Places = tuple[bytes, mmap.mmap, list[list[str]]]
"""Where the targets of links lie in which memory, and the texts there."""


class SeenByWorkers:
    """The side that writes. ``joined``, ``heard`` and ``left`` tell of workers, by their numbers."""

    def __init__(self, entries: int) -> None:
        self._entries = 1 << max(1, min(entries, ENTRIES_MAX)).bit_length() - 1
        self.descriptor = os.memfd_create("weft-seen")
        try:
            size_b = _FRONT_B + GENERATIONS * self._entries * _ENTRY_B
            os.truncate(self.descriptor, size_b)
            self._memory = mmap.mmap(self.descriptor, size_b)
        except OSError:
            os.close(self.descriptor)
            raise
        self._texts: list[list[str]] = [[] for _ in range(GENERATIONS)]
        self._looked_into: dict[int, int] = {}  # by worker: nothing older than the one before this matters to it
        self.generation = 0
        self._memory[_WORD_B : 3 * _WORD_B] = os.urandom(2 * _WORD_B)  # by which texts are told apart

    def put(self, text: str, info: int) -> None:
        assert native.put_shared is not None
        native.put_shared(self._memory, self._texts, text, info)

    def restore(self, links: Links, generation: int) -> None:
        """Gives links that a worker reported their texts back."""
        if links.places:
            assert native.texts_at is not None
            links.targets = native.texts_at(links.places, self._texts, links.targets)
            links.generation = generation

    def still_has(self, links: Links) -> bool:
        """Whether what is known of these links lies where it lay when they were reported."""
        return self.generation < links.generation + GENERATIONS - 1

    def of(self, links: Links) -> Places | None:
        """Links that were reported by their places, as ``native.recall`` wants to know of them; None: they were not."""
        return (links.places, self._memory, self._texts) if links.places else None

    def joined(self, worker: int) -> None:
        self._looked_into[worker] = self.generation

    def heard(self, worker: int, generation: int) -> None:
        self._looked_into[worker] = generation

    def left(self, worker: int) -> None:
        self._looked_into.pop(worker, None)

    def age(self) -> None:
        """Between ticks: begins the next generation where this one is half full, if nobody may look for the oldest."""
        if 2 * len(self._texts[self.generation % GENERATIONS]) >= self._entries:
            self.begin_next()

    def begin_next(self) -> None:
        """Begins the next generation, if it may; the oldest is forgotten then."""
        if min(self._looked_into.values(), default=self.generation) < self.generation - 1:
            return
        assert native.begin_shared is not None
        self.generation += 1
        self._texts[self.generation % GENERATIONS] = []
        native.begin_shared(self._memory, self.generation)

    def close(self) -> None:
        self._memory.close()
        os.close(self.descriptor)


class SeenByAll:
    """The side of a worker, which only looks."""

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, 0, prot=mmap.PROT_READ)

    @property
    def generation(self) -> int:
        """The newest one; no look from now on is into one before its predecessor."""
        return int.from_bytes(self._memory[:_WORD_B], sys.byteorder)

    def placed(self, links: Links) -> Links:
        """The links with the places of what is found, instead of its texts."""
        assert native.places_of is not None
        places, others = native.places_of(self._memory, links.targets)
        if len(others) == len(links.targets):
            return links
        return msgspec.structs.replace(links, targets=others, places=places)


def share_seen(entries: int) -> SeenByWorkers | None:
    """Nothing known yet; None where there is no such memory, or nothing compiled that could use it."""
    if native.put_shared is None or not hasattr(os, "memfd_create"):
        return None
    try:
        return SeenByWorkers(entries)
    except OSError:
        return None
