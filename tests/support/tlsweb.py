"""Many hosts in TLS, each with a certificate of its own, behind one port; it counts what handshakes it was asked for.

    with TlsHosts(folder, hosts=40, pages=5, closing=True) as web:
        weft("crawl", *web.seeds, "--ca", web.authority, "--resolve", "*.test=127.0.0.1")
    web.counts          # {"full": 40, "resumed": 200, "requests": 240}

The server is a process of its own, as TLS in Python takes its time. Needs the ``openssl`` command, 3.0 or newer.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import ssl
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

DAYS = "30"


def make_certificates(folder: Path, hosts: list[str]) -> None:
    """Makes ``ca.pem`` and, for each host, a certificate signed by it; all hosts have one key, to save time."""
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", DAYS]

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", "req", "-x509", *words], cwd=folder, check=True, capture_output=True, timeout=300)

    def certify(host: str) -> None:
        names = ["-addext", f"subjectAltName=DNS:{host}", "-addext", "basicConstraints=CA:FALSE"]
        signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-key", "host.key", "-days", DAYS]
        openssl(*signed, "-subj", f"/CN={host}", *names, "-out", f"{host}.pem")

    openssl(*curve, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=a test authority")
    openssl(*curve, "-keyout", "host.key", "-out", "host.pem", "-subj", "/CN=any host")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(certify, hosts))


class TlsHosts:
    """A running server of ``hosts`` hosts with ``pages`` pages each; ``closing``: a connection for each answer."""

    def __init__(self, folder: Path, hosts: int, pages: int, *, closing: bool = False) -> None:
        self.names = [f"h{number}.test" for number in range(hosts)]
        self.authority = folder / "ca.pem"
        self.counts: dict[str, int] = {}
        self._folder = folder
        self._words = [str(folder), str(hosts), str(pages), *(["--closing"] if closing else [])]

    def __enter__(self) -> Self:
        if not self.authority.exists():
            make_certificates(self._folder, self.names)
        self._process = subprocess.Popen([sys.executable, __file__, *self._words], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        self.seeds = [f"https://{name}:{self.port}/" for name in self.names]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        said, _ = self._process.communicate(timeout=300)
        self.counts = json.loads(said)


class _Connection(asyncio.Protocol):
    """One connection: the counts of all, and answers that are the same for every host but for its name."""

    def __init__(self, counts: Counter[str], pages: int, closing: bool) -> None:
        self._counts = counts
        self._pages = pages
        self._closing = closing
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._counts["resumed" if transport.get_extra_info("ssl_object").session_reused else "full"] += 1

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            request, self._buffer = self._buffer[:end].decode("latin-1"), self._buffer[end + 4 :]
            self._counts["requests"] += 1
            host = next(line[6:] for line in request.split("\r\n") if line.lower().startswith("host: "))
            self._transport.write(self._answer(request.split()[1], host))
            if self._closing:
                self._transport.close()
                return

    def _answer(self, path: str, host: str) -> bytes:
        known = path == "/" or (path[:2] == "/p" and path[2:].isdecimal() and 0 < int(path[2:]) < self._pages)
        links = "".join(f'<a href="/p{number}">{number}</a> ' for number in range(1, self._pages))
        body = f"<title>{host}{path}</title>{links}".encode() if known else b""
        lines = [f"HTTP/1.1 {'200 OK' if known else '404 Not Found'}", "Content-Type: text/html; charset=utf-8"]
        lines += [f"Content-Length: {len(body)}", *(["Connection: close"] if self._closing else []), "", ""]
        return "\r\n".join(lines).encode() + body


def _context(folder: Path, name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / f"{name}.pem", folder / "host.key")
    context.set_alpn_protocols(["http/1.1"])
    return context


async def serve(folder: Path, hosts: int, pages: int, closing: bool) -> None:
    """Serves until SIGTERM, and says then what it has counted."""
    counts: Counter[str] = Counter(full=0, resumed=0, requests=0)
    contexts = {name: _context(folder, name) for name in (f"h{number}.test" for number in range(hosts))}

    def choose(connection: ssl.SSLObject, name: str, _context: ssl.SSLContext) -> int | None:
        if name not in contexts:
            return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
        connection.context = contexts[name]
        return None

    first = _context(folder, "h0.test")
    first.sni_callback = choose
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: _Connection(counts, pages, closing), "127.0.0.1", 0, ssl=first, backlog=1_024
    )
    ended = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    print(server.sockets[0].getsockname()[1], flush=True)
    await ended.wait()
    print(json.dumps(counts), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("hosts", type=int)
    parser.add_argument("pages", type=int)
    parser.add_argument("--closing", action="store_true")
    given = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(given.folder, given.hosts, given.pages, given.closing))
