"""How far a run is, for machines: a JSON object a line, or numbers for Prometheus. docs/metrics.md lists the names."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self, TextIO

import msgspec

from weft.crawl.machine import memory_b
from weft.errors import SpecError
from weft.records import Progress, StoredVisit

LINE_EVERY_S = 1.0
LOOPBACK = "127.0.0.1"
TYPE = "text/plain; version=0.0.4; charset=utf-8"
GAUGES = {
    "waiting": "pages that wait to be asked",
    "running": "pages that are taken",
    "requests": "requests under way",
    "hosts": "sites that were asked for anything",
    "elapsed_s": "seconds of this run",
}
COUNTERS = {
    "pages": "answers with a status of 2xx, stored",
    "links": "links stored",
    "received_b": "bytes of bodies, as they came over the wire",
    "completed": "pages that were answered, with any status",
    "errors": "pages that got no answer",
    "broken": "pages that got no answer, or one of 400 and more",
    "forbidden": "pages that robots.txt forbids",
    "refused": "URLs that do not belong to the crawl",
}
"""Fields of ``Progress``, and what they are. They count all runs of the folder, also those before this one."""


class JsonLines:
    """An observer that writes an object a line, at most one a second, and one at the end."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._causes: Counter[str] = Counter()
        self._last_s = 0.0
        self._unwritten: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._unwritten is not None:
            self._write(self._unwritten)

    def ticked(self, visits: Sequence[StoredVisit], progress: Progress) -> None:
        self._causes.update(_causes_of(visits))
        self._unwritten = progress
        if time.monotonic() - self._last_s >= LINE_EVERY_S:
            self._write(progress)

    def _write(self, progress: Progress) -> None:
        self._last_s, self._unwritten = time.monotonic(), None
        numbers = {name: getattr(progress, name) for name in (*COUNTERS, *GAUGES)}
        line = {**numbers, "causes": dict(self._causes), "memory_b": _memory_b(), "stopping": progress.stopping}
        print(msgspec.json.encode(line).decode(), file=self._out, flush=True)


class Metrics:
    """An observer that serves the numbers of the last tick over HTTP, as Prometheus reads them, at ``/metrics``."""

    def __init__(self, address: str) -> None:
        host, port = _address(address)
        self._progress: Progress | None = None
        self._causes: Counter[str] = Counter()
        try:
            self._server = _Server((host, port), _handler(self._text))
        except OSError as error:
            raise SpecError(f"--metrics {address}: {error.strerror or error}") from error
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True)

    @property
    def url(self) -> str:
        """Where the numbers are."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}/metrics"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def ticked(self, visits: Sequence[StoredVisit], progress: Progress) -> None:
        self._causes.update(_causes_of(visits))
        self._progress = progress

    def _text(self) -> str:
        return "".join(self._lines())

    def _lines(self) -> Iterator[str]:
        progress = self._progress
        if progress is not None:
            for name, about in COUNTERS.items():
                yield from _metric(f"{_prometheus(name)}_total", "counter", about, getattr(progress, name))
            for name, about in GAUGES.items():
                yield from _metric(_prometheus(name), "gauge", about, getattr(progress, name))
        yield "# HELP weft_failures_total requests of this run without an answer, by cause\n"
        yield "# TYPE weft_failures_total counter\n"
        for cause, count in sorted(self._causes.copy().items()):
            yield f'weft_failures_total{{cause="{cause}"}} {count}\n'
        yield from _metric("weft_memory_bytes", "gauge", "memory of the crawl's own process", _memory_b())


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def server_bind(self) -> None:
        """Binds, without asking DNS for the machine's own name."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()


def _handler(text: Callable[[], str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            if self.path.partition("?")[0] != "/metrics":
                self.send_error(404)
                return
            body = text().encode()
            self.send_response(200)
            self.send_header("Content-Type", TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing: who reads the numbers is no matter of the crawl."""

    return Handler


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65_535:
        raise SpecError(f"--metrics {text}: a port is wanted, or an address and a port: 9100, 0.0.0.0:9100")
    return (host if colon and host else LOOPBACK), int(port)


def _metric(name: str, kind: str, about: str, value: float) -> Iterator[str]:
    yield f"# HELP {name} {about}\n# TYPE {name} {kind}\n{name} {value}\n"


def _prometheus(name: str) -> str:
    return "weft_" + name.removesuffix("_s").removesuffix("_b") + _UNITS.get(name[-2:], "")


_UNITS = {"_s": "_seconds", "_b": "_bytes"}


def _causes_of(visits: Sequence[StoredVisit]) -> Iterator[str]:
    return (one.visit.facts.cause for one in visits if one.visit.facts.cause is not None)


def _memory_b() -> int:
    return memory_b((), sys.float_info.max)
