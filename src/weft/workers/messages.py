"""What the crawl and its workers say to each other: small records, many at once, each message after its length.

Plain sockets and msgspec: a message of a dozen pages costs a few microseconds for each.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import struct
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from weft.errors import StoreError, WeftError, means_full_disk
from weft.records import Fetched, FilePosition, Lease, Processed
from weft.spec import CrawlSpec

BUFFER_B = 1 << 20
ALL_SITES = -1
_LENGTH = struct.Struct("<I")
_encoder = msgspec.msgpack.Encoder()


class Hello(msgspec.Struct, array_like=True):
    """What a worker has to know of the crawl, before anything else."""

    spec: CrawlSpec
    folder: str
    prefix: str  # of its WARC files
    slot: int  # of its mark
    seed_origins: list[str]
    clock_start_s: float
    clock_epoch_ms: int


class Job(msgspec.Struct, array_like=True, gc=False):
    """One lease to be asked: at once, or (``ahead``) in the place of the next request of its site that ends.

    One that was answered elsewhere already (``answer``) is only to be read.
    """

    number: int
    lease: Lease
    addresses: tuple[str, ...]
    cookie: str | None
    ahead: bool
    clocks: tuple[tuple[str, float], ...] = ()  # whose requests must be how far apart, start to start
    answer: Fetched | None = None


class Orders(msgspec.Struct, array_like=True):
    """From the crawl to a worker."""

    jobs: list[Job] = []
    grants: list[tuple[int, int]] = []  # site and number of jobs that wait there, and may be asked now
    recalls: list[int] = []  # sites: jobs that wait there are to be given back
    cancel: bool = False  # all requests are ended; nothing of them is to be reported
    end: bool = False
    answer: bool = False  # say something: is anybody there?


class JobDone(msgspec.Struct, frozen=True, array_like=True):
    """A job that is done. ``successor`` is the job that has taken its place already; 0: none."""

    number: int
    successor: int
    processed: Processed


class Report(msgspec.Struct, array_like=True):
    """From a worker to the crawl; an empty one says that it is ready. All its records are on disk before it is sent."""

    ended: list[JobDone] = []
    unused: list[int] = []  # jobs given back
    positions: dict[str, FilePosition] = {}
    cancelled: bool = False  # all requests are ended, as ordered
    failure: str = ""  # the archive cannot be written, or the folder is gone: the crawl stops
    disk_full: bool = False  # and that is why

    def fail(self, error: WeftError) -> None:
        self.failure, self.disk_full = str(error), means_full_disk(error)

    def fault(self) -> StoreError:
        """What failed, as if it had failed in the crawl's own process."""
        error = StoreError(self.failure)
        error.__cause__ = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) if self.disk_full else None
        return error


Message = TypeVar("Message")


class Line(Generic[Message]):
    """One end of a socket on the event loop: whole messages in, whole messages out, no waiting on either side.

    Both directions have a buffer of their own that stays: a new one for each message costs more than its bytes.
    """

    def __init__(self, end: socket.socket, kind: type[Message], heard: Callable[[Message], None]) -> None:
        self._socket = end
        self._heard = heard
        self._decoder = msgspec.msgpack.Decoder(kind)
        self._loop = asyncio.get_running_loop()
        self._in = bytearray(BUFFER_B)
        self._in_b = 0  # how much of it is filled
        self._packed = bytearray(BUFFER_B)
        self._out: deque[bytes] = deque()  # what the other side has not taken yet
        self.closed = False
        self.unsent_b = 0
        self.on_closed: Callable[[], None] | None = None
        self.on_sent: Callable[[], None] | None = None
        end.setblocking(False)
        self._loop.add_reader(end.fileno(), self.read)

    def send(self, message: object) -> None:
        """Sends a message, now or as soon as the other side reads. Raises where the message cannot be written down."""
        _encoder.encode_into(message, self._packed, _LENGTH.size)
        if self.closed:
            return
        _LENGTH.pack_into(self._packed, 0, len(self._packed) - _LENGTH.size)
        sent_b = 0 if self._out else self._send(self._packed)
        if sent_b < len(self._packed) and not self.closed:
            if not self._out:
                self._loop.add_writer(self._socket.fileno(), self._write)
            self._out.append(bytes(memoryview(self._packed)[sent_b:]))
            self.unsent_b += len(self._packed) - sent_b

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._loop.remove_reader(self._socket.fileno())
            if self._out:
                self._loop.remove_writer(self._socket.fileno())
            self._socket.close()

    def _send(self, data: bytes | bytearray) -> int:
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0
        except OSError:  # the other side is gone: reading says so too, after what it has said before
            return 0

    def _write(self) -> None:
        while self._out:
            data = self._out[0]
            sent_b = self._send(data)
            self.unsent_b -= sent_b
            if sent_b < len(data):
                self._out[0] = data[sent_b:]
                return
            self._out.popleft()
        self._loop.remove_writer(self._socket.fileno())
        if self.on_sent is not None:
            self.on_sent()

    def read(self) -> None:
        """Hears what has come, if anything has."""
        if self._in_b == len(self._in):
            self._in += bytes(len(self._in))
        try:
            size_b = self._socket.recv_into(memoryview(self._in)[self._in_b :])
        except BlockingIOError:
            return
        except OSError:
            size_b = 0
        if not size_b:
            self._lost()
            return
        self._in_b += size_b
        for message in self._messages():
            self._heard(message)

    def _messages(self) -> list[Message]:
        found: list[Message] = []
        start = 0
        with memoryview(self._in) as view:
            while self._in_b - start >= _LENGTH.size:
                (size_b,) = _LENGTH.unpack_from(view, start)
                end = start + _LENGTH.size + size_b
                if self._in_b < end:
                    break
                with view[start + _LENGTH.size : end] as body:
                    found.append(self._decoder.decode(body))
                start = end
            if start:
                view[: self._in_b - start] = view[start : self._in_b]
                self._in_b -= start
        return found

    def _lost(self) -> None:
        if not self.closed:
            self.close()
            if self.on_closed is not None:
                self.on_closed()


def pair() -> tuple[socket.socket, socket.socket]:
    """Two ends of a socket, neither of which a child process inherits by accident."""
    ends = socket.socketpair()
    for end in ends:
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            end.setsockopt(socket.SOL_SOCKET, option, BUFFER_B)
    return ends


def receive_blocking(end: socket.socket, kind: type[Message]) -> Message | None:
    """Waits for one message; None where the other side is gone."""
    head = _exactly(end, _LENGTH.size)
    if head is None:
        return None
    data = _exactly(end, _LENGTH.unpack(head)[0])
    return None if data is None else msgspec.msgpack.decode(data, type=kind)


def _exactly(end: socket.socket, size_b: int) -> bytes | None:
    found = bytearray()
    while len(found) < size_b:
        data = end.recv(size_b - len(found))
        if not data:
            return None
        found += data
    return bytes(found)


def send_blocking(end: socket.socket, message: object) -> None:
    """Sends one message and waits until it is gone."""
    data = _encoder.encode(message)
    end.sendall(_LENGTH.pack(len(data)) + data)
