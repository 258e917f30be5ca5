"""A small fast HTTP server on loopback for an `InventedWeb`; hosts are told apart by the Host header.

    with serve_invented(InventedWeb(seed=1, hosts=3, pages=300)) as served:
        weft crawl {served.seeds[0]} --resolve {served.resolve}

``python -m weft.demo.server --seed 1 --hosts 3 --pages 300`` serves until its standard input is closed.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from weft.demo.invented import Answer, InventedWeb

MAX_HEAD_B = 65_536
START_S = 60.0
REASONS = {
    200: "OK", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified", 307: "Temporary Redirect",
    308: "Permanent Redirect", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 410: "Gone",
    500: "Internal Server Error",
}  # fmt: skip


class Asked(NamedTuple):
    """One request as the server saw it."""

    time_monotonic: float
    host: str
    path: str
    method: str
    status: int


Recorder = Callable[[Asked], None]


@dataclass(frozen=True)
class Served:
    """A running server: the web with the server's port in its URLs, and what a crawl needs to find it."""

    web: InventedWeb
    port: int
    requests: list[Asked] = field(default_factory=list)  # filled where recording was asked for

    @property
    def seeds(self) -> list[str]:
        return self.web.seeds()

    @property
    def resolve(self) -> str:
        """The value for ``--resolve``."""
        return f"*.{self.web.suffix}=127.0.0.1"

    def gaps(self, host: str) -> list[float]:
        """Seconds between the starts of neighbouring requests to a host."""
        times = sorted(asked.time_monotonic for asked in self.requests if asked.host == host)
        return [later - earlier for earlier, later in itertools.pairwise(times)]


class _Connection(asyncio.Protocol):
    """One connection: keep-alive, pipelining, GET and HEAD; anything else is told so and the line is closed."""

    def __init__(self, web: InventedWeb, record: Recorder | None, lines: set[asyncio.Transport]) -> None:
        self._web = web
        self._record = record
        self._lines = lines
        self._pending = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._lines.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is not None:
            self._lines.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        transport = self._transport
        assert transport is not None
        self._pending = data = self._pending + data if self._pending else data
        while (end := data.find(b"\r\n\r\n")) >= 0:
            head, data = data[:end], data[end + 4 :]
            self._pending = data
            reply, goes_on = self._reply(head)
            transport.write(reply)
            if not goes_on:
                transport.close()
                return
        if len(data) > MAX_HEAD_B:
            transport.close()

    def _reply(self, head: bytes) -> tuple[bytes, bool]:
        started = time.monotonic()
        first, *lines = head.decode("latin-1").split("\r\n")
        method, _, rest = first.partition(" ")
        path, _, version = rest.rpartition(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        host = headers.get("host", "").partition(":")[0].lower()
        if method not in ("GET", "HEAD") or not path.startswith("/") or not version.startswith("HTTP/1."):
            return _wire(Answer(400 if not version else 405, "text/plain", (), b"no\n"), False, False), False
        number = self._web.host_number(host)
        answer = self._web.answer_at(number, path) if number is not None else _UNKNOWN_HOST
        if answer.status == 200 and _unchanged(headers, answer):
            answer = Answer(304, "", answer.headers, b"")
        if self._record is not None:
            self._record(Asked(started, host, path, method, answer.status))
        goes_on = headers.get("connection", "").lower() != "close" and version == "HTTP/1.1"
        return _wire(answer, method == "HEAD", goes_on), goes_on


_UNKNOWN_HOST = Answer(404, "text/plain; charset=utf-8", (), b"no such host\n")


def _unchanged(headers: dict[str, str], answer: Answer) -> bool:
    known = dict(answer.headers)
    if (tag := headers.get("if-none-match")) is not None:
        return tag == known.get("ETag")
    since = headers.get("if-modified-since")
    return since is not None and since == known.get("Last-Modified")


def _wire(answer: Answer, head_only: bool, goes_on: bool) -> bytes:
    lines = [f"HTTP/1.1 {answer.status} {REASONS.get(answer.status, 'Unnamed')}", "Server: weft-demo"]
    if answer.status != 304:
        lines += [f"Content-Type: {answer.content_type}", f"Content-Length: {len(answer.body)}"]
    lines += [f"{name}: {value}" for name, value in answer.headers]
    if not goes_on:
        lines.append("Connection: close")
    head = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
    return head if head_only else head + answer.body


def _listener(port: int) -> socket.socket:
    # the protocol is named because asyncio switches Nagle's delay off only where it is
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(1_024)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


async def _serve(web: InventedWeb, listener: socket.socket, record: Recorder | None, stop: asyncio.Event) -> None:
    """Answers until ``stop`` is set, then closes every connection."""
    lines: set[asyncio.Transport] = set()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(web, record, lines), sock=listener, backlog=1_024)
    try:
        await stop.wait()
    finally:
        server.close()
        for transport in list(lines):
            transport.abort()
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # aborted transports close their sockets in the next turn


class _Thread:
    """The server in a thread of this process."""

    def __init__(self, web: InventedWeb, listener: socket.socket, record: Recorder | None) -> None:
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, args=(web, listener, record), name="invented-web")
        self._thread.start()
        self._ready.wait(START_S)

    def _run(self, web: InventedWeb, listener: socket.socket, record: Recorder | None) -> None:
        async def main() -> None:
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            self._ready.set()
            await _serve(web, listener, record, self._stop)

        asyncio.run(main())

    def stop(self) -> None:
        if self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(START_S)


@contextmanager
def serve_invented(web: InventedWeb, port: int = 0, *, process: bool = False, record: bool = False) -> Iterator[Served]:
    """The web, served on a free (or the given) loopback port until the block is left.

    In a thread of this process, or with ``process`` in one of its own, so that a benchmark does not time it.
    ``record`` keeps every request in ``requests``: memory grows with them (of a process: read when the block is left).
    """
    if process:
        with _in_process(web, port, record) as served:
            yield served
        return
    listener = _listener(port)
    taken = int(listener.getsockname()[1])
    served = Served(web.at_port(taken), taken)
    thread = _Thread(served.web, listener, served.requests.append if record else None)
    try:
        yield served
    finally:
        thread.stop()


def environment() -> dict[str, str]:
    """The environment of a process that finds this weft, wherever it lies."""
    source = str(Path(__file__).resolve().parents[2])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])}


@contextmanager
def _in_process(web: InventedWeb, port: int, record: bool) -> Iterator[Served]:
    command = [sys.executable, "-P", "-m", "weft.demo.server", "--settings", _settings(web), "--port", str(port)]
    with subprocess.Popen(
        [*command, "--record"] if record else command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
        text=True,
        start_new_session=True,  # a Ctrl-C is for the crawl; the server ends when its input does
    ) as child:
        assert child.stdin is not None and child.stdout is not None
        try:
            first = child.stdout.readline()
            if not first:
                raise RuntimeError("the invented web did not start")
            served = Served(web.at_port(int(first)), int(first))
            try:
                yield served
            finally:
                child.stdin.close()
                _read_requests(child.stdout, served.requests)
        finally:
            _end(child)


def _end(child: subprocess.Popen[str]) -> None:
    if child.stdin is not None:
        child.stdin.close()
    try:
        child.wait(START_S)
    except subprocess.TimeoutExpired:
        child.kill()


def _read_requests(lines: IO[str], requests: list[Asked]) -> None:
    for line in lines:
        when, host, path, method, status = json.loads(line)
        requests.append(Asked(float(when), str(host), str(path), str(method), int(status)))


def _settings(web: InventedWeb) -> str:
    names = ("seed", "hosts", "pages", "traps", "crawl_delays", "edition")
    return json.dumps({name: getattr(web, name) for name in names})


def _from_settings(text: str) -> InventedWeb:
    given = json.loads(text)
    return InventedWeb(
        int(given["seed"]), int(given["hosts"]), int(given["pages"]), traps=bool(given["traps"]),
        crawl_delays=tuple(float(delay) for delay in given["crawl_delays"]), edition=int(given["edition"]),
    )  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Serves until standard input ends; the first line printed is the port."""
    parser = argparse.ArgumentParser(prog="python -m weft.demo.server", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hosts", type=int, default=3)
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--traps", action="store_true")
    parser.add_argument("--crawl-delay", type=float, action="append", default=[])
    parser.add_argument("--settings", help="all of these as JSON")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--record", action="store_true", help="print every request at the end, a JSON array a line")
    given = parser.parse_args(arguments)
    if given.settings:
        web = _from_settings(given.settings)
    else:
        web = InventedWeb(
            given.seed, given.hosts, given.pages, traps=given.traps, crawl_delays=tuple(given.crawl_delay)
        )
    with serve_invented(web, given.port, record=given.record) as served:
        print(served.port, flush=True)
        sys.stdin.read()
    for asked in served.requests:
        print(json.dumps(asked))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
