"""Starts and deaths of workers, as the crawl has them: by a fork server, and by the next one where that is gone."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Sequence

from weft.errors import BugError
from weft.workers.fork_server import ForkServer

DEATH_S = 1.0


class Launcher:
    """See the module. The news of the fork server is heard on the event loop from ``begin`` to ``close``."""

    def __init__(self, fork_server: ForkServer | None = None) -> None:
        self._fork_server = fork_server

    def begin(self) -> None:
        """Hears the fork server from now on."""
        self._loop = asyncio.get_running_loop()
        if self._fork_server is not None:
            self._loop.add_reader(self._fork_server.fileno(), self._hear, self._fork_server)

    def launch(self, number: int, shared: Sequence[int]) -> socket.socket:
        """Our end of a new worker's socket; ``shared``: descriptors that it gets too."""
        for _ in range(2):  # the fork server may be gone: the next one is not
            fork_server = self._fork_server or self._new_fork_server()
            end = fork_server.fork(number, shared)
            if end is not None:
                return end
            self.close()
        raise BugError("no process can be started: try --processes 1")

    def end(self, number: int) -> None:
        """Kills a worker that lives still, and waits a moment at most: what is killed may still be writing."""
        fork_server = self._fork_server
        if fork_server is None or number not in fork_server.pids:
            return
        _kill(fork_server.pids[number])
        deadline_s = time.monotonic() + DEATH_S
        while number in fork_server.pids and time.monotonic() < deadline_s:
            time.sleep(0.001)
            if not fork_server.hear():
                return

    def pids(self) -> list[int]:
        """The processes of the fork server and of all workers that live."""
        return [] if self._fork_server is None else [self._fork_server.pid, *self._fork_server.pids.values()]

    def close(self) -> None:
        """Ends the fork server and all that it has forked. A second call does nothing."""
        if self._fork_server is not None:
            self._loop.remove_reader(self._fork_server.fileno())
            self._fork_server.close()
            self._fork_server = None

    def _new_fork_server(self) -> ForkServer:
        fork_server = self._fork_server = ForkServer()
        self._loop.add_reader(fork_server.fileno(), self._hear, fork_server)
        return fork_server

    def _hear(self, fork_server: ForkServer) -> None:
        if not fork_server.hear() and fork_server is self._fork_server:
            self.close()


def _kill(pid: int) -> None:
    try:
        os.kill(pid, 9)
    except ProcessLookupError:
        return
