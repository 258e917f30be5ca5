"""A DNS server on loopback."""

from __future__ import annotations

import socket
import struct
import threading
from collections import Counter
from types import TracebackType
from typing import Self

from web.server import free_port

# Names: a small DNS server, for names that move, vanish, or lead to forbidden addresses.

_REFUSALS = {"servfail": 2, "nxdomain": 3, "refused": 5}


class NameServer:
    """A DNS server on a free UDP port; unknown names do not exist.

    ``names.add("a.test", "127.0.0.1")``; ``names.rotate("rebind.test", ["127.0.0.1"], ["10.0.0.1"])`` answers anew each
    time (the last one stays); ``names.fail("x.test", kind)`` with nxdomain, servfail, refused, silent, garbage or
    empty; ``names.wait("x.test", 1.5)`` answers so many seconds late. A name may begin with ``*.``.
    """

    def __init__(self, address: str = "127.0.0.1") -> None:
        self.address = address
        self.port = free_port(address)
        self.queries: list[tuple[str, str]] = []  # name, type
        self._answers: dict[str, list[list[str]]] = {}
        self._failures: dict[str, str] = {}
        self._aliases: dict[str, str] = {}
        self._ttl: dict[str, int] = {}
        self._late_s: dict[str, float] = {}
        self._late: list[threading.Timer] = []
        self._asked: Counter[tuple[str, int]] = Counter()
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None

    def add(self, name: str, *addresses: str, ttl_s: int = 60) -> None:
        self.rotate(name, list(addresses), ttl_s=ttl_s)

    def rotate(self, name: str, *turns: list[str], ttl_s: int = 0) -> None:
        self._answers[name] = list(turns)
        self._ttl[name] = ttl_s
        self._failures.pop(name, None)

    def alias(self, name: str, to: str) -> None:
        self._aliases[name] = to

    def fail(self, name: str, kind: str) -> None:
        self._failures[name] = kind

    def wait(self, name: str, late_s: float) -> None:
        self._late_s[name] = late_s

    def start(self) -> Self:
        if self._thread is None:
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._socket.bind((self.address, self.port))
            self._thread = threading.Thread(target=self._run, args=(self._socket,), name=f"names-{self.port}")
            self._thread.start()
        return self

    def stop(self) -> None:
        """Goes away; the port refuses until `start`."""
        if self._thread is None or self._socket is None:
            return
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as knock:
            knock.sendto(b"", (self.address, self.port))
        self._thread.join(10)
        for late in self._late:
            late.cancel()
            late.join(10)
        self._late.clear()
        self._socket.close()
        self._thread = self._socket = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self, sock: socket.socket) -> None:
        while True:
            try:
                query, client = sock.recvfrom(4_096)
            except ConnectionError:
                continue  # an ICMP for an answer whose client had left
            if not query:
                return
            answer = self._answer(query)
            late_s = self._late_s.get(self._known(self.queries[-1][0])) if self.queries else None
            if answer is not None and late_s is not None:
                self._late.append(threading.Timer(late_s, sock.sendto, (answer, client)))
                self._late[-1].start()
            elif answer is not None:
                sock.sendto(answer, client)

    def _known(self, name: str) -> str:
        """The entry that speaks for a name: its own, or the nearest with a star."""
        labels = name.split(".")
        stars = [".".join(["*", *labels[at:]]) for at in range(1, len(labels))]
        known = (*self._answers, *self._failures, *self._aliases)
        return next((entry for entry in (name, *stars) if entry in known), name)

    def _answer(self, query: bytes) -> bytes | None:
        at, labels = 12, []
        while at < len(query) and query[at]:
            labels.append(query[at + 1 : at + 1 + query[at]].decode("latin-1").lower())
            at += query[at] + 1
        if at + 5 > len(query):
            return None
        name, kind = ".".join(labels), struct.unpack_from("!H", query, at + 1)[0]
        question = query[12 : at + 5]
        self.queries.append((name, {1: "A", 28: "AAAA", 5: "CNAME"}.get(kind, str(kind))))
        entry = self._known(name)
        failure = self._failures.get(entry)
        if failure == "silent":
            return None
        if failure == "garbage":
            return query[:2] + b"\xff" * 20
        code = _REFUSALS.get(failure or "", 0)
        records = [] if failure else self._records(entry, kind)
        if not failure and not records and entry not in self._answers:
            code = _REFUSALS["nxdomain"]
        flags = 0x8580 | code
        return query[:2] + struct.pack("!HHHHH", flags, 1, len(records), 0, 0) + question + b"".join(records)

    def _records(self, entry: str, kind: int) -> list[bytes]:
        records = []
        owner = b"\xc0\x0c"
        for _ in range(8):
            if entry not in self._aliases:
                break
            entry = self._aliases[entry]
            data = b"".join(bytes([len(label)]) + label.encode() for label in entry.split(".")) + b"\0"
            records.append(owner + struct.pack("!HHIH", 5, 1, 60, len(data)) + data)
            owner = data
        turns = self._answers.get(entry, [])
        if not turns:
            return records
        turn = turns[min(self._asked[entry, kind], len(turns) - 1)]
        self._asked[entry, kind] += 1
        family, wanted = (socket.AF_INET6, ":") if kind == 28 else (socket.AF_INET, ".")
        for address in turn if kind in (1, 28) else []:
            if wanted in address:
                data = socket.inet_pton(family, address)
                records.append(owner + struct.pack("!HHIH", kind, 1, self._ttl[entry], len(data)) + data)
        return records
