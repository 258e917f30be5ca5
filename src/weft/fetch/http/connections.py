"""What is remembered of connections and addresses: those that were shut, that get lost, that do not answer.

Everything here is bounded: what was noted first is forgotten first.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

from weft.fetch.http.transfer import Transfer
from weft.fetch.http.watch import silence
from weft.url import origin_of

DEAD_ADDRESS_S = 60.0
STALLS_ON_REUSE = 2
MAX_REMEMBERED = 10_000  # of each

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class Connections:
    """See the module."""

    def __init__(self) -> None:
        self.multiplexed: set[int] = set()  # sockets that speak HTTP/2
        self.fickle: dict[str, None] = {}  # origins that lose connections they had kept
        self.stalling: dict[str, int] = {}  # how often they were silent on those, by origin; no answer on one since
        self._silenced: dict[int, None] = {}  # local ports of connections that were shut from this side
        self._dead: dict[str, float] = {}  # addresses that did not connect, and until when that counts

    def shut(self, fd: int) -> None:
        """Close a connection that talks while nobody asks, or that the server has left."""
        _note(self._silenced, silence(fd), None)

    def may_send(self, transfer: Transfer, local_port: int) -> bool:
        """Whether a request may go out now on the connection from this port.

        libcurl sends a request again by itself where a connection that was used before is lost. That is right where
        the connection was shut from this side; else the server may have read it, and when it is asked again is not
        for libcurl to say. From then on each request to that origin has a connection of its own, in HTTP/1.1: a
        server may also lose HTTP/2 connections because it cannot serve something over them.
        """
        if self._silenced.pop(local_port, True) is None:
            return True
        transfer.sendings += 1
        if transfer.sendings == 1:
            return True
        _note(self.fickle, origin_of(transfer.lease.url), None)
        return False

    def reused(self, url: str, *, answered: bool) -> None:
        """A request on a connection that was used before has ended, answered or by silence up to its deadline.

        Some servers keep connections open and answer only the first request of each; and a connection of HTTP/2 that
        the network has dropped stays in use. After a second time without a word, no connection is kept.
        """
        origin = origin_of(url)
        if answered:
            self.stalling.pop(origin, None)
            return
        stalls = self.stalling.pop(origin, 0) + 1
        if stalls < STALLS_ON_REUSE:
            _note(self.stalling, origin, stalls)
        else:
            _note(self.fickle, origin, None)

    def in_good_order(self, addresses: Sequence[str], now_s: float) -> Sequence[str]:
        """The addresses, those that did not connect a moment ago last."""
        if not self._dead or len(addresses) < 2:
            return addresses
        return sorted(addresses, key=lambda address: self._dead.get(address, 0.0) > now_s)

    def mark_dead(self, address: str, now_s: float) -> None:
        """The address did not connect."""
        _note(self._dead, address, now_s + DEAD_ADDRESS_S)


def _note(memory: dict[_Key, _Value], key: _Key, value: _Value) -> None:
    memory[key] = value
    if len(memory) > MAX_REMEMBERED:
        del memory[next(iter(memory))]
