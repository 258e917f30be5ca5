"""The server itself: requests, answers as bytes, sites with any number of names."""

from __future__ import annotations

import asyncio
import html
import itertools
import math
import random
import re
import socket
import ssl
import struct
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

HTML = "text/html; charset=utf-8"
POISON = "weft-poison"
"""Stands in bytes that belong to no URL: where it shows up as a page, an answer went to the wrong place."""

HANG_S = 120.0
"""Longer than any deadline a test gives; a hanging answer ends here at last, or when the client leaves."""

LAST_DATA_RECEIVED = 52
"""Where Linux's ``struct tcp_info`` says how many milliseconds ago data came in."""

ENDLESS_B = 256 << 20
"""An endless answer ends here at last: a crawler that reads this much has failed, and the test machine lives on."""


@dataclass(frozen=True)
class Request:
    """One request as the server saw it; ``path`` is the target with its query, as sent."""

    method: str
    host: str  # lower case, without port
    path: str
    headers: list[tuple[str, str]]
    time_monotonic: float
    time_epoch: float
    peer: tuple[str, int]
    connection: int  # which connection of the site, counted from 1
    target: str = ""  # the request target before a proxy's absolute form was taken apart
    body: bytes = b""

    def header(self, name: str) -> str | None:
        """The first value of a header, or None."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


@dataclass(frozen=True)
class Response:
    """An answer that is well formed."""

    body: bytes = b""
    status: int = 200
    content_type: str | None = HTML
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0


def html_page(
    title: str, links: Iterable[str | tuple[str, str]] = (), body: str = "", head: str = "", charset: str = "utf-8"
) -> bytes:
    """A small page with the given links in order; a link is an address, or an address and its anchor text."""
    items = []
    for link in links:
        href, anchor = (link, link) if isinstance(link, str) else link
        items.append(f'<li><a href="{html.escape(href)}">{html.escape(anchor)}</a></li>')
    text = (
        f'<!doctype html>\n<html><head><meta charset="{charset}"><title>{html.escape(title)}</title>{head}</head>\n'
        f"<body><h1>{html.escape(title)}</h1>{body}<ul>{''.join(items)}</ul></body></html>\n"
    )
    return text.encode(charset, "xmlcharrefreplace")


REASONS = {
    200: "OK",
    201: "Created",
    204: "No Content",
    206: "Partial Content",
    300: "Multiple Choices",
    301: "Moved Permanently",
    302: "Found",
    303: "See Other",
    304: "Not Modified",
    305: "Use Proxy",
    307: "Temporary Redirect",
    308: "Permanent Redirect",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    407: "Proxy Authentication Required",
    410: "Gone",
    429: "Too Many Requests",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
}


def answer_bytes(response: Response, *, head_only: bool = False) -> bytes:
    """The response on the wire, with an exact Content-Length."""
    lines = [f"HTTP/1.1 {response.status} {REASONS.get(response.status, 'Unnamed')}"]
    given = {name.lower() for name in response.headers}
    if "date" not in given:
        lines.append(f"Date: {formatdate(usegmt=True)}")
    if response.content_type is not None and "content-type" not in given:
        lines.append(f"Content-Type: {response.content_type}")
    lines += [f"{name}: {value}" for name, value in response.headers.items()]
    bodiless = response.status in (204, 304)
    if not bodiless and "content-length" not in given:
        lines.append(f"Content-Length: {len(response.body)}")
    head = "\r\n".join(lines).encode("utf-8") + b"\r\n\r\n"
    return head if head_only or bodiless else head + response.body


def free_port(address: str = "127.0.0.1") -> int:
    """A port nobody listens on, outside the range the kernel hands to clients.

    Inside that range a client's own port could meet a site that is stopped for a while.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for _ in range(200):
        port = random.SystemRandom().randrange(12_000, 32_000)
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            try:
                probe.bind((address, port))
            except OSError:
                continue
            return port
    raise OSError(f"no free port on {address}")


class Line:
    """One connection, in the hands of an answer that may do with it what it likes."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int, drip_pause_s: float
    ) -> None:
        self.reader = reader
        self.writer = writer
        self.number = number
        self.drip_pause_s = drip_pause_s
        self.asked = 0
        self._tls: ssl.SSLObject | None = None
        self._outgoing = ssl.MemoryBIO()
        self._pump: asyncio.Task[None] | None = None
        peer = writer.get_extra_info("peername") or ("", 0)
        self.peer: tuple[str, int] = (str(peer[0]), int(peer[1]))

    async def send(self, *parts: bytes) -> None:
        for part in parts:
            if self._tls is None:
                self.writer.write(part)
            else:
                self._tls.write(part)
                self.writer.write(self._outgoing.read())
            await self.writer.drain()

    def abort(self) -> None:
        self.writer.transport.abort()

    def close(self) -> None:
        if self._pump is not None:
            self._pump.cancel()
        self.writer.close()

    async def encrypt(self, context: ssl.SSLContext) -> None:
        """TLS by hand: asyncio drops the alert that tells a client why its handshake was refused."""
        incoming, raw = ssl.MemoryBIO(), self.reader
        tls = context.wrap_bio(incoming, self._outgoing, server_side=True)
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self.writer.write(self._outgoing.read())
                if not (piece := await raw.read(65_536)):
                    raise ConnectionResetError("left during the handshake") from None
                incoming.write(piece)
            finally:
                self.writer.write(self._outgoing.read())
        self._tls, self.reader = tls, asyncio.StreamReader(limit=1 << 20)
        self._pump = asyncio.get_running_loop().create_task(_decrypt(tls, incoming, raw, self.reader))

    async def settle(self, seconds: float = 0.03) -> None:
        """Lets the client read what was sent, so that a reset comes after it."""
        await asyncio.sleep(seconds)

    async def reset(self) -> bool:
        """Ends the connection with a RST."""
        await self.settle()
        sock = self.writer.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()
        return False

    async def hang(self, seconds: float = HANG_S) -> bool:
        """Says nothing until the client leaves."""
        try:
            async with asyncio.timeout(seconds):
                while await self.reader.read(65_536):
                    pass
        except TimeoutError:
            pass
        return False

    async def drip(self, data: bytes) -> None:
        for at in range(len(data)):
            await self.send(data[at : at + 1])
            await asyncio.sleep(self.drip_pause_s)

    async def pour(self, piece: bytes, limit_b: int = ENDLESS_B, pause_s: float = 0.0) -> bool:
        """Sends a piece again and again until the client leaves or the limit is reached."""
        sent = 0
        while sent < limit_b:
            await self.send(piece)
            sent += len(piece)
            await asyncio.sleep(pause_s)
        return False


async def _decrypt(
    tls: ssl.SSLObject, incoming: ssl.MemoryBIO, raw: asyncio.StreamReader, plain: asyncio.StreamReader
) -> None:
    """Feeds what the client says, decrypted, to a reader until it leaves."""
    try:
        while True:
            try:
                while piece := tls.read(65_536):
                    plain.feed_data(piece)
                return
            except ssl.SSLWantReadError:
                if not (piece := await raw.read(65_536)):
                    return
                incoming.write(piece)
    except (ConnectionError, ssl.SSLError):
        return
    finally:
        plain.feed_eof()


Behaviour: TypeAlias = Callable[[Line, Request], Awaitable[bool]]
"""Answers one request on a line; True: the connection goes on."""

Handler: TypeAlias = Callable[[Request], Response]


class BadRequest(Exception):
    """The client sent something that is no HTTP request."""


async def read_request(line: Line) -> Request | None:
    """The next request of a connection, or None where the client has left."""
    try:
        first_byte = await line.reader.readexactly(1)
        if first_byte == b"\x16":
            raise BadRequest("a TLS greeting on a plain port")
        head = first_byte + await line.reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError as fault:
        raise BadRequest("request head too long") from fault
    waited_s = _waited_s(line.writer.get_extra_info("socket"))
    now, epoch = time.monotonic() - waited_s, time.time() - waited_s
    first, *rest = head[:-4].decode("latin-1").split("\r\n")
    parts = first.split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        raise BadRequest(first[:200])
    headers = []
    for text in rest:
        name, colon, value = text.partition(":")
        if not colon or not name or name != name.strip():
            raise BadRequest(text[:200])
        headers.append((name, value.strip()))
    method, target, _ = parts
    named = next((value for name, value in headers if name.lower() == "host"), "")
    path = target
    if absolute := re.match(r"https?://([^/?#]*)(.*)", target, re.IGNORECASE):
        named, path = absolute[1], absolute[2] or "/"
    length = next((value for name, value in headers if name.lower() == "content-length"), "0")
    body = await line.reader.readexactly(int(length)) if length.isdigit() else b""
    return Request(method, host_of(named), path, headers, now, epoch, line.peer, line.number, target=target, body=body)


def _waited_s(sock: socket.socket | None) -> float:
    """How long ago the kernel received what was just read; 0 where it does not tell.

    A busy machine may let this server wait while requests pile up: they came when they came, not when they were read.
    """
    try:
        told = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104) if sock is not None else b""
    except (OSError, AttributeError):
        return 0.0
    return struct.unpack_from("=I", told, LAST_DATA_RECEIVED)[0] / 1000 if len(told) > LAST_DATA_RECEIVED + 4 else 0.0


def host_of(authority: str) -> str:
    """The host of ``host:port`` in lower case."""
    return re.sub(r":\d*$", "", authority.lower()).strip("[]")


@dataclass(frozen=True)
class Tls:
    """What a server shows and asks for in TLS."""

    certificate: Path
    key: Path
    client_authority: Path | None = None  # a client must bring a certificate of this authority

    def context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        context.set_alpn_protocols(["http/1.1"])
        if self.client_authority is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.client_authority)
        return context


class Site:
    """A web server on a free loopback port with any number of named hosts.

    What is registered without ``host`` is served under every name. Unknown paths answer 404, and robots.txt answers
    404 until `robots` gives it a text. Everything may be changed while the site runs.
    """

    def __init__(self, address: str = "127.0.0.1", *, host: str | None = None, tls: Tls | None = None) -> None:
        self.address = address
        self.host = host or address
        self.tls = tls
        self.port = free_port(address)
        self.requests: list[Request] = []
        self.refused: list[str] = []  # what came in and was no HTTP: a client that lets CR or LF through shows here
        self.faults: list[BaseException] = []  # errors of the bench itself; the `site` fixture fails on them
        self.drip_pause_s = 1.0
        self.connections = 0
        self._let: float = math.inf
        self._counted = 0
        self._waiting: list[asyncio.Event] = []
        self._routes: dict[tuple[str | None, str], Behaviour] = {}
        self._prefixes: list[tuple[str | None, str, Behaviour]] = []
        self._fallback: Behaviour | None = None
        self._active: Counter[str] = Counter()
        self._most: Counter[str] = Counter()
        self._open = 0
        self.open_max = 0  # the most requests, of all hosts together, that were open at the same time
        self._extra: list[Site] = []
        self._held: list[socket.socket] = []
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._on_connect: Callable[[Line], Awaitable[bool]] | None = None

    # --- what is served

    @property
    def scheme(self) -> str:
        return "https" if self.tls else "http"

    @property
    def url(self) -> str:
        """The address of the site, without a final slash: ``site.url + "/a"``."""
        return self.at("")

    def at(self, path: str, host: str | None = None) -> str:
        """The URL of a path on this site, under one of its names."""
        name = host or self.host
        return f"{self.scheme}://{f'[{name}]' if ':' in name else name}:{self.port}{path}"

    def page(
        self,
        path: str,
        links: Iterable[str | tuple[str, str]] = (),
        *,
        title: str | None = None,
        body: str = "",
        head: str = "",
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        host: str | None = None,
        content_type: str | None = HTML,
        delay_s: float = 0.0,
    ) -> str:
        """The URL of a page that now exists; its title is its path unless given."""
        content = html_page(path if title is None else title, links, body, head)
        return self.respond(path, Response(content, status, content_type, headers or {}, delay_s), host=host)

    def file(
        self,
        path: str,
        content: bytes,
        content_type: str | None = "application/octet-stream",
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        host: str | None = None,
    ) -> str:
        return self.respond(path, Response(content, status, content_type, headers or {}), host=host)

    def redirect(self, path: str, to: str, status: int = 302, *, host: str | None = None) -> str:
        answer = Response(html_page("moved", [to]), status, HTML, {"Location": to})
        return self.respond(path, answer, host=host)

    def robots(self, text: str | bytes, *, status: int = 200, host: str | None = None) -> str:
        content = text.encode() if isinstance(text, str) else text
        return self.file("/robots.txt", content, "text/plain; charset=utf-8", status=status, host=host)

    def respond(self, path: str, response: Response, *, host: str | None = None) -> str:
        return self.behave(path, _constant(response), host=host)

    def serve(self, path: str | Handler, handler: Handler | None = None, *, host: str | None = None) -> str:
        """The URL answered by a function of the request; ``/a/*`` is all below, a function alone is all the rest."""
        if callable(path):
            self._fallback = _dynamic(path)
            return self.at("/", host)
        if handler is None:
            raise TypeError("serve(path, handler): the handler is missing")
        return self.behave(path, _dynamic(handler), host=host)

    def behave(self, path: str, behaviour: Behaviour, *, host: str | None = None) -> str:
        """The URL answered by a function that holds the connection itself."""
        if path.endswith("*"):
            self._prefixes.append((host, path[:-1], behaviour))
            self._prefixes.sort(key=lambda prefix: -len(prefix[1]))
            return self.at(path[:-1], host)
        self._routes[host, path] = behaviour
        return self.at(path, host)

    def misbehave(self, path: str, kind: str, *, host: str | None = None, target: str = "") -> str:
        """The URL at which the site now misbehaves; `MISBEHAVIOURS` tells what a good crawler makes of it.

        ``target`` is where kinds that lure elsewhere point to: another site, which must not be asked.
        """
        from web.kinds import KINDS  # they are made with sites

        misbehaviour = KINDS[kind]
        return misbehaviour(self, path, host, target) or self.at(path, host)

    def forget(self, path: str, *, host: str | None = None) -> None:
        """Removes what was served at a path; it is 404 from now on."""
        self._routes.pop((host, path), None)

    def let(self, requests: float = math.inf) -> None:
        """So many requests, counted from the first, are answered from now on; all others wait for more to be let.

        A crawl that must still be at work when something happens to it is held here, whoever is faster.
        """

        def release() -> None:
            self._let = requests
            while self._waiting:
                self._waiting.pop().set()

        if self._loop is None:
            self._let = requests
        else:
            self._loop.call_soon_threadsafe(release)

    # --- what was asked

    def paths(self, host: str | None = None) -> list[str]:
        """The paths asked, in order."""
        return [request.path for request in self.requests if host is None or request.host == host]

    def asked(self, path: str, host: str | None = None) -> int:
        """How often a path was asked."""
        return self.paths(host).count(path)

    def gaps(self, host: str | None = None) -> list[float]:
        """Seconds between the starts of neighbouring requests to a host (None: to the site)."""
        times = [r.time_monotonic for r in list(self.requests) if host is None or r.host == host]
        times.sort()
        return [later - earlier for earlier, later in itertools.pairwise(times)]

    def hurry_s(self, delay_s: float, host: str | None = None, first: int = 0) -> float:
        """By how much requests of a host came earlier than a delay between their starts allows, at worst.

        A busy machine may hold one request up after its start, so that the next seems early; but then that one alone
        is late. Delays that are too short add up here, request by request. ``first`` requests are left out.
        """
        passed_s, most_s, hurry_s = 0.0, 0.0, 0.0
        for gap_s in self.gaps(host)[first:]:
            passed_s += gap_s - delay_s
            hurry_s = max(hurry_s, most_s - passed_s)
            most_s = max(most_s, passed_s)
        return hurry_s

    def parallel_max(self, host: str | None = None) -> int:
        """The most requests of a host (None: of any one host) that were open at the same time."""
        if host is None:
            return max(self._most.values(), default=0)
        return self._most[host]

    def clear_log(self) -> None:
        self.requests.clear()
        self.refused.clear()
        self._most.clear()

    # --- life

    def start(self) -> Self:
        """The site, listening; after `stop`, on the same port as before."""
        if self._thread is not None:
            return self
        listener = listen(self.address, self.port)
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(listener, ready), name=f"site-{self.port}")
        self._thread.start()
        if not ready.wait(60):
            raise RuntimeError("the site did not start")
        for extra in self._extra:
            extra.start()
        return self

    def stop(self) -> None:
        """Goes away: the port refuses, open connections are reset. What is served and the log are kept."""
        for extra in self._extra:
            extra.stop()
        if self._thread is None or self._loop is None or self._stopping is None:
            return
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(60)
        if self._thread.is_alive():
            raise RuntimeError("the site did not stop")
        self._thread = self._loop = self._stopping = None

    def close(self) -> None:
        """Stops for good."""
        self.stop()
        for held in self._held:
            held.close()
        self._held.clear()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def second(self, on_connect: Callable[[Line], Awaitable[bool]]) -> Site:
        """A site on a port of its own that misbehaves as soon as a connection is made; it shares this one's life."""
        site = Site(self.address, host=self.host)
        site._on_connect = on_connect
        self._extra.append(site)
        if self._thread is not None:
            site.start()
        return site

    def _run(self, listener: socket.socket, ready: threading.Event) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._main(listener, ready))

    async def _main(self, listener: socket.socket, ready: threading.Event) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        lines: set[asyncio.Task[None]] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.connections += 1
            line = Line(reader, writer, self.connections, self.drip_pause_s)
            task = asyncio.get_running_loop().create_task(self._serve(line))
            lines.add(task)
            task.add_done_callback(lines.discard)

        context = self.tls.context() if self.tls and not self.tls.client_authority else None
        asyncio.get_running_loop().set_exception_handler(_quiet)
        server = await asyncio.start_server(connected, sock=listener, limit=1 << 20, ssl=context)
        ready.set()
        await self._stopping.wait()
        server.close()
        is_over = False
        while not is_over:
            for task in list(lines):
                task.cancel()
            await asyncio.gather(*lines, return_exceptions=True)
            await asyncio.sleep(0.01)  # transports close themselves in the turn after,
            is_over = not lines  # and what was accepted just before is connected only then

    async def _serve(self, line: Line) -> None:
        try:
            if self.tls and self.tls.client_authority:
                await line.encrypt(self.tls.context())
            if self._on_connect is None or await self._on_connect(line):
                while await self._answer_next(line):
                    pass
        except (ConnectionError, ssl.SSLError, asyncio.IncompleteReadError, TimeoutError):
            pass  # the client left, as clients do
        except BadRequest as refused:
            self.refused.append(str(refused))
            await line.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        except asyncio.CancelledError:
            line.abort()
        except Exception as fault:  # a bug of the bench must fail the test, not vanish in a thread
            self.faults.append(fault)
        finally:
            line.close()

    async def _answer_next(self, line: Line) -> bool:
        request = await read_request(line)
        if request is None:
            return False
        line.asked += 1
        self.requests.append(request)
        self._active[request.host] += 1
        self._open += 1
        self.open_max = max(self.open_max, self._open)
        self._most[request.host] = max(self._most[request.host], self._active[request.host])
        self._counted += 1
        number = self._counted
        try:
            while number > self._let:
                self._waiting.append(asyncio.Event())
                await self._waiting[-1].wait()
            goes_on = await self._behaviour(request)(line, request)
        finally:
            self._active[request.host] -= 1
            self._open -= 1
        return goes_on and (request.header("connection") or "").lower() != "close"

    def _behaviour(self, request: Request) -> Behaviour:
        bare = request.path.partition("?")[0]
        for key in ((request.host, request.path), (None, request.path), (request.host, bare), (None, bare)):
            if found := self._routes.get(key):
                return found
        for host, prefix, behaviour in self._prefixes:
            if request.path.startswith(prefix) and host in (None, request.host):
                return behaviour
        return self._fallback or _not_found


def _quiet(loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    """Broken handshakes and resets are what these servers are for; they are no news."""


def listen(address: str, port: int, backlog: int = 512) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # the protocol is named because asyncio switches Nagle's delay off only where it is
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port))
        listener.listen(backlog)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


def _constant(response: Response) -> Behaviour:
    return _dynamic(lambda request: response)


def _dynamic(handler: Handler) -> Behaviour:
    async def answer(line: Line, request: Request) -> bool:
        response = handler(request)
        if response.delay_s:
            await asyncio.sleep(response.delay_s)
        if response.status == 200 and _unchanged(request, response.headers):
            response = Response(b"", 304, None, response.headers)
        await line.send(answer_bytes(response, head_only=request.method == "HEAD"))
        return response.headers.get("Connection", "").lower() != "close"

    return answer


def _unchanged(request: Request, headers: Mapping[str, str]) -> bool:
    for ask, has in (("if-none-match", "ETag"), ("if-modified-since", "Last-Modified")):
        if (value := request.header(ask)) is not None:
            return value == headers.get(has)
    return False


async def _not_found(line: Line, request: Request) -> bool:
    content = html_page("404 Not Found", body=f"<p>no {html.escape(request.path)} here</p>")
    await line.send(answer_bytes(Response(content, 404), head_only=request.method == "HEAD"))
    return True
