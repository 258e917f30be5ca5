"""Births and deaths of workers, as the crawl has them: by a nursery, and by the next one where that is gone."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Sequence

from weft.errors import BugError
from weft.workers.fork_server import Nursery

DEATH_S = 1.0


class Births:
    """See the module. The news of the nursery is heard on the event loop from ``begin`` to ``close``."""

    def __init__(self, nursery: Nursery | None = None) -> None:
        self._nursery = nursery

    def begin(self) -> None:
        """Hears the nursery from now on."""
        self._loop = asyncio.get_running_loop()
        if self._nursery is not None:
            self._loop.add_reader(self._nursery.fileno(), self._hear, self._nursery)

    def bear(self, number: int, shared: Sequence[int]) -> socket.socket:
        """Our end of a new worker's socket; ``shared``: descriptors that it gets too."""
        for _ in range(2):  # the nursery may be gone: the next one is not
            nursery = self._nursery or self._new_nursery()
            end = nursery.bear(number, shared)
            if end is not None:
                return end
            self.close()
        raise BugError("no process can be started: try --processes 1")

    def end(self, number: int) -> None:
        """Kills a worker that lives still, and waits a moment at most: what is killed may still be writing."""
        nursery = self._nursery
        if nursery is None or number not in nursery.pids:
            return
        _kill(nursery.pids[number])
        deadline_s = time.monotonic() + DEATH_S
        while number in nursery.pids and time.monotonic() < deadline_s:
            time.sleep(0.001)
            if not nursery.hear():
                return

    def pids(self) -> list[int]:
        """The processes of the nursery and of all workers that live."""
        return [] if self._nursery is None else [self._nursery.pid, *self._nursery.pids.values()]

    def close(self) -> None:
        """Ends the nursery and all that it has borne. A second call does nothing."""
        if self._nursery is not None:
            self._loop.remove_reader(self._nursery.fileno())
            self._nursery.close()
            self._nursery = None

    def _new_nursery(self) -> Nursery:
        nursery = self._nursery = Nursery()
        self._loop.add_reader(nursery.fileno(), self._hear, nursery)
        return nursery

    def _hear(self, nursery: Nursery) -> None:
        if not nursery.hear() and nursery is self._nursery:
            self.close()


def _kill(pid: int) -> None:
    try:
        os.kill(pid, 9)
    except ProcessLookupError:
        return
