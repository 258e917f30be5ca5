"""What is remembered of connections and addresses: those that were shut, that get lost, that do not answer.

Everything here is bounded: what was noted first is forgotten first.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

import pycurl

from weft.fetch.http.transfer import Heard, Transfer
from weft.fetch.http.watch import received_b, silence
from weft.url import origin_of

DEAD_ADDRESS_S = 60.0
STALLS_ON_REUSE = 2
TLS_TAKES_B, TLS_TAKES_SHARE = 64, 16  # at most, for its records: this, and one part in so many of what they hold
MAX_REMEMBERED = 10_000  # of each

_SEND, _DO_NOT_SEND = int(pycurl.PREREQFUNC_OK), int(pycurl.PREREQFUNC_ABORT)

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class Connections:
    """See the module."""

    def __init__(self) -> None:
        self.multiplexed: set[int] = set()  # sockets that speak HTTP/2
        self.fickle: dict[str, None] = {}  # origins that lose connections they had kept, or talk on them unasked
        self.stalling: dict[str, int] = {}  # how often they were silent on those, by origin; no answer on one since
        self._heard: dict[int, Heard] = {}  # by local port: connections that were used, with HTTP/1 in TLS,
        self._ports: dict[int, int] = {}  # and the local ports of their sockets
        self._silenced: dict[int, None] = {}  # local ports of connections that were shut from this side
        self._dead: dict[str, float] = {}  # addresses that did not connect, and until when that counts

    def opened(self, fd: int) -> None:
        """A socket has this number now: what was known of it was another's."""
        self.multiplexed.discard(fd)
        if fd in self._ports:
            self._heard.pop(self._ports.pop(fd), None)

    def answered(self, transfer: Transfer) -> None:
        """An answer of HTTP/1 in TLS has ended: note what had come in by then, see ``Transfer.came_too_early``.

        Where more had come than TLS itself takes, something waits behind the answer, and the connection is left alone.
        """
        curl = transfer.curl
        fd = curl.getinfo(pycurl.ACTIVESOCKET)
        size_b = received_b(fd)
        if not size_b:
            return
        read_b = curl.getinfo(pycurl.HEADER_SIZE) + curl.getinfo(pycurl.SIZE_DOWNLOAD_T)
        if transfer.had_b and size_b - transfer.had_b - read_b > TLS_TAKES_B + read_b // TLS_TAKES_SHARE:
            self.distrust(transfer)
            return
        port = curl.getinfo(pycurl.LOCAL_PORT)
        _note(self._heard, port, Heard(fd, size_b))
        _note(self._ports, fd, port)

    def distrust(self, transfer: Transfer) -> None:
        """Keep no more connections to an origin that answers what it was not asked."""
        fd = transfer.curl.getinfo(pycurl.ACTIVESOCKET)
        if fd >= 0:
            self.shut(fd)
        _note(self.fickle, origin_of(transfer.lease.url), None)

    def shut(self, fd: int) -> None:
        """Close a connection that talks while nobody asks, or that the server has left."""
        _note(self._silenced, silence(fd), None)

    def before_sending(self, transfer: Transfer, ip: str, local_ip: str, port: int, local_port: int) -> int:
        """libcurl's question whether a request may go out now, on the connection from this port.

        libcurl sends a request again by itself where a connection that was used before is lost. That is right where
        the connection was shut from this side; else the server may have read it, and when it is asked again is not
        for libcurl to say. From then on each request to that origin has a connection of its own, in HTTP/1.1: a
        server may also lose HTTP/2 connections because it cannot serve something over them.
        """
        heard = transfer.heard = self._heard.pop(local_port, None) if self._heard else None
        transfer.had_b = heard.size_b if heard else 0
        if self._silenced.pop(local_port, True) is None:
            return _SEND
        transfer.sendings += 1
        if transfer.sendings == 1:
            return _SEND
        _note(self.fickle, origin_of(transfer.lease.url), None)
        return _DO_NOT_SEND

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
