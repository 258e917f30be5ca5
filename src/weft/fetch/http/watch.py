"""libcurl's sockets on the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import socket
import sys
from collections.abc import Callable, Iterable
from typing import Protocol

import pycurl


class Watch(Protocol):
    """Tells libcurl's sockets apart that are ready."""

    def changed(self, what: int, fd: int, multi: object, data: object) -> None:
        """libcurl's socket callback."""

    def fresh(self, fd: int) -> None:
        """A socket was just opened under this number."""

    def ready(self) -> Iterable[tuple[int, int]]:
        """The sockets that are ready now, with libcurl's mask for each."""

    def close(self) -> None: ...


class EpollWatch:
    """All sockets in one epoll set, left in it while they idle between two requests.

    libcurl lets go of a socket after each answer and takes it up again for the next request: leaving it in the set
    saves two system calls a request. It also shows what libcurl does not look for: a server that closes an idle
    connection, or sends bytes that nobody asked for, which would be taken for the next answer: ``talks_unasked``.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, wake: Callable[[], None], talks_unasked: Callable[[int], None]
    ) -> None:
        self._talks_unasked = talks_unasked
        self._epoll = select.epoll()
        self._masks: dict[int, int] = {}
        self._idle: set[int] = set()
        self._loop = loop
        loop.add_reader(self._epoll.fileno(), wake)

    def changed(self, what: int, fd: int, multi: object, data: object) -> None:
        before = self._masks.get(fd)
        if what == pycurl.POLL_REMOVE:
            self._idle.add(fd)
            mask = before and _EPOLLIN  # a quick answer is read before libcurl ever waits for it
        else:
            self._idle.discard(fd)
            mask = _EPOLL_MASKS[what & 3]
        if before == mask or mask is None:
            return
        self._masks[fd] = mask
        try:
            if before is None:
                self._epoll.register(fd, mask)
            else:
                self._epoll.modify(fd, mask)
        except FileExistsError:
            self._epoll.modify(fd, mask)
        except FileNotFoundError:
            self._epoll.register(fd, mask)
        except OSError:  # closed already: libcurl finds out by itself, at its deadline at the latest
            self._masks.pop(fd, None)

    def fresh(self, fd: int) -> None:
        self._masks.pop(fd, None)
        self._idle.discard(fd)

    def ready(self) -> list[tuple[int, int]]:
        found = []
        for fd, events in self._epoll.poll(0):
            if fd in self._idle:
                self._leave(fd)
            else:
                found.append((fd, _CURL_MASKS.get(events, pycurl.CSELECT_IN | pycurl.CSELECT_ERR)))
        return found

    def close(self) -> None:
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()

    def _leave(self, fd: int) -> None:
        self._masks.pop(fd, None)
        with contextlib.suppress(OSError):
            self._epoll.unregister(fd)
        self._talks_unasked(fd)


class LoopWatch:
    """A reader and a writer of the event loop for each socket, where there is no epoll."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, wake: Callable[[], None], talks_unasked: Callable[[int], None]
    ) -> None:
        self._talks_unasked = talks_unasked
        self._loop = loop
        self._wake = wake
        self._masks: dict[int, int] = {}
        self._idle: set[int] = set()
        self._ready: dict[int, int] = {}

    def changed(self, what: int, fd: int, multi: object, data: object) -> None:
        before = self._masks.get(fd, 0)
        if what == pycurl.POLL_REMOVE:
            self._idle.add(fd)
            mask = 1 if before else 0  # a reader stays, to see a server that talks unasked
        else:
            self._idle.discard(fd)
            mask = what & 3
        if mask & 1 and not before & 1:
            self._loop.add_reader(fd, self._note, fd, pycurl.CSELECT_IN)
        elif before & 1 and not mask & 1:
            self._loop.remove_reader(fd)
        if mask & 2 and not before & 2:
            self._loop.add_writer(fd, self._note, fd, pycurl.CSELECT_OUT)
        elif before & 2 and not mask & 2:
            self._loop.remove_writer(fd)
        if mask:
            self._masks[fd] = mask
        else:
            self._masks.pop(fd, None)

    def fresh(self, fd: int) -> None:
        self._loop.remove_reader(fd)
        self._loop.remove_writer(fd)
        self._masks.pop(fd, None)
        self._idle.discard(fd)

    def ready(self) -> list[tuple[int, int]]:
        found = list(self._ready.items())
        self._ready.clear()
        return found

    def close(self) -> None:
        for fd in list(self._masks):
            self.fresh(fd)

    def _note(self, fd: int, mask: int) -> None:
        if fd in self._idle:
            self.fresh(fd)
            if mask == pycurl.CSELECT_IN:
                self._talks_unasked(fd)
            return
        self._ready[fd] = self._ready.get(fd, 0) | mask
        self._wake()


def silence(fd: int) -> int:
    """Make sure that libcurl cannot use an idle connection again; its local port, 0 where it is no connection.

    The bytes that wait in it are thrown away and both directions shut, so that the next request on it fails before
    anything is sent or read, and libcurl sends it over a new connection by itself.
    """
    port = 0
    with contextlib.suppress(OSError), copy_of(fd) as copy:  # closed already, or no socket: libcurl wakes itself by one
        copy.setblocking(False)
        if copy.family in (socket.AF_INET, socket.AF_INET6):
            port = copy.getsockname()[1]
        copy.shutdown(socket.SHUT_RDWR)
        for _ in range(64):
            if not copy.recv(65_536):
                break
    return port


def received_b(fd: int) -> int:
    """How many bytes have come in on a connection since it was opened; 0 where the system does not tell."""
    if fd < 0 or _TCP_INFO is None:
        return 0
    try:
        view = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=fd)
    except OSError:
        return 0
    try:
        facts = view.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _BYTES_RECEIVED_AT + 8)
    except OSError:
        return 0
    finally:
        view.detach()  # the descriptor is libcurl's
    return int.from_bytes(facts[_BYTES_RECEIVED_AT:], sys.byteorder)


def copy_of(fd: int) -> socket.socket:
    """A socket object for a descriptor that is libcurl's; closing it leaves libcurl's open. Raises ``OSError``."""
    number = os.dup(fd)
    try:
        return socket.socket(fileno=number)
    except OSError:
        os.close(number)
        raise


_TCP_INFO = getattr(socket, "TCP_INFO", None) if sys.platform == "linux" else None
_BYTES_RECEIVED_AT = 128  # in struct tcp_info of linux/tcp.h, since Linux 4.1
_EPOLLIN, _EPOLLOUT = 1, 4
_EPOLL_MASKS = (0, _EPOLLIN, _EPOLLOUT, _EPOLLIN | _EPOLLOUT)
_CURL_MASKS = {1: 1, 4: 2, 5: 3}
