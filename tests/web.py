"""A real web on loopback for tests: `Site` answers well, `Site.misbehave` answers in every bad way we could think of.

Nothing here knows weft, and no HTTP library stands between a test and the wire: each answer is written as bytes on a
socket. A site runs in a thread of its own, so that a crawl may run in the test's process or in another one.

    site.page("/", links=["/a"]); site.page("/a"); site.redirect("/old", "/a")
    url = site.misbehave("/bad", "reset_mid_body")      # MISBEHAVIOURS["reset_mid_body"] says what is right then
    site.requests                                       # the server's own log: the judge of politeness

A page's title is its own path unless a test says otherwise, so an answer that was given to the wrong URL shows.
"""

from __future__ import annotations

import asyncio
import functools
import gzip
import html
import itertools
import random
import re
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
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
    now, epoch = time.monotonic(), time.time()
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
        self._routes: dict[tuple[str | None, str], Behaviour] = {}
        self._prefixes: list[tuple[str | None, str, Behaviour]] = []
        self._fallback: Behaviour | None = None
        self._active: Counter[str] = Counter()
        self._most: Counter[str] = Counter()
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
        misbehaviour = _KINDS[kind]
        return misbehaviour(self, path, host, target) or self.at(path, host)

    def forget(self, path: str, *, host: str | None = None) -> None:
        """Removes what was served at a path; it is 404 from now on."""
        self._routes.pop((host, path), None)

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
        listener = _listen(self.address, self.port)
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(listener, ready), name=f"site-{self.port}")
        self._thread.start()
        if not ready.wait(10):
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
        self._thread.join(10)
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
        for task in list(lines):
            task.cancel()
        await asyncio.gather(*lines, return_exceptions=True)
        await asyncio.sleep(0.01)  # transports close themselves in the turn after

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
        self._most[request.host] = max(self._most[request.host], self._active[request.host])
        try:
            goes_on = await self._behaviour(request)(line, request)
        finally:
            self._active[request.host] -= 1
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


def _listen(address: str, port: int, backlog: int = 512) -> socket.socket:
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


# --------------------------------------------------------------------------------------------------------------------
# Misbehaviour: each kind with what a good crawler must record.

ANSWER = "answer"
LOST = ("CONNECTION_LOST", "EMPTY_ANSWER")
BAD = ("BAD_ANSWER",)
CUT = ("INCOMPLETE_BODY",)
SLOW = ("FIRST_BYTE_TIMEOUT", "READ_TIMEOUT")


@dataclass(frozen=True)
class Expectation:
    """What a good crawler makes of one kind; ``asks`` and ``never`` hold what is put behind the misbehaving path."""

    group: str
    outcomes: frozenset[str]  # "answer", or names of weft.errors.Cause: any of them is honest
    why: str
    status: int | None = None  # of the answer, where it is one
    truncated: bool | None = None  # True: the kept part is used; False: all is there; None: no matter
    timeout: bool = False  # only a deadline ends it: give the crawl a short one
    listener: bool = False  # the whole server is like that, on a port of its own: its robots.txt too
    whole_site: bool = False  # what happens to the site's robots.txt or sitemap decides; the path is a plain page
    asks: tuple[str, ...] = ()  # paths that are asked because of it
    never: tuple[str, ...] = ()  # paths that must not be asked
    endless: bool = False  # the crawl must end by itself, after a few thousand requests at most
    title: str | None = None  # of the page stored: "{path}" its own path, "" none at all, None not judged


Install: TypeAlias = Callable[[Site, str, str | None, str], str | None]

MISBEHAVIOURS: dict[str, Expectation] = {}
_KINDS: dict[str, Install] = {}


def _add(
    kind: str,
    install: Install,
    group: str,
    outcomes: Sequence[str],
    why: str,
    *,
    status: int | None = None,
    truncated: bool | None = None,
    timeout: bool = False,
    listener: bool = False,
    whole_site: bool = False,
    asks: tuple[str, ...] = (),
    never: tuple[str, ...] = (),
    endless: bool = False,
    title: str | None = None,
) -> None:
    if kind in MISBEHAVIOURS:
        raise ValueError(f"two kinds are called {kind}")
    MISBEHAVIOURS[kind] = Expectation(
        group, frozenset(outcomes), why, status, truncated, timeout, listener, whole_site, asks, never, endless, title
    )
    _KINDS[kind] = install


def _own(path: str) -> bytes:
    """The page that honestly belongs to a path."""
    return html_page(path, body="<p>This is the page that was asked for.</p>")


def _head(*lines: str, status: str = "200 OK", version: str = "HTTP/1.1", content_type: str = HTML) -> bytes:
    return "\r\n".join([f"{version} {status}", f"Content-Type: {content_type}", *lines, "", ""]).encode("latin-1")


def _poison() -> bytes:
    return answer_bytes(Response(html_page(POISON)))


def _raw(
    kind: str,
    outcomes: Sequence[str],
    make: Callable[[bytes], bytes],
    why: str,
    *,
    group: str = "wire",
    end: str = "close",
    status: int | None = None,
    judged: bool = True,
) -> None:
    """A kind that is one run of bytes made from the honest body; then ``end``: close, reset, keep or hang."""

    async def behave(line: Line, request: Request) -> bool:
        await line.send(make(_own(request.path)))
        if end == "reset":
            return await line.reset()
        if end == "hang":
            return await line.hang()
        return end == "keep"

    title = "{path}" if judged and status == 200 and set(outcomes) == {ANSWER} else None
    _add(kind, _at_path(behave), group, outcomes, why, status=status, timeout=end == "hang", title=title)


def _at_path(behaviour: Behaviour) -> Install:
    def install(site: Site, path: str, host: str | None, target: str) -> None:
        site.behave(path, behaviour, host=host)

    return install


def _wire(
    kind: str,
    outcomes: Sequence[str],
    why: str,
    *,
    group: str = "wire",
    timeout: bool = False,
    status: int | None = None,
    truncated: bool | None = None,
) -> Callable[[Behaviour], Behaviour]:
    """Registers a behaviour that holds the connection itself."""

    def register(behaviour: Behaviour) -> Behaviour:
        install = _at_path(behaviour)
        _add(kind, install, group, outcomes, why, timeout=timeout, status=status, truncated=truncated)
        return behaviour

    return register


def _sized(body: bytes, *lines: str, status: str = "200 OK", content_type: str = HTML) -> bytes:
    return _head(*lines, f"Content-Length: {len(body)}", status=status, content_type=content_type) + body


def _chunks(body: bytes, size: int = 40, extension: bytes = b"") -> bytes:
    """A body in chunks, without the last one."""
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x%s\r\n%s\r\n" % (len(piece), extension, piece) for piece in pieces)


CHUNKED = _head("Transfer-Encoding: chunked")
LAST = b"0\r\n\r\n"

# --- wire: cut off

_raw("reset_before_answer", LOST, lambda body: b"", "reset as soon as the request is read", end="reset")
_raw("close_before_answer", LOST, lambda body: b"", "closed as soon as the request is read")
_raw("reset_mid_status_line", (*LOST, *BAD), lambda body: b"HTTP/1.", "reset inside the first line", end="reset")
_raw("close_mid_status_line", (*LOST, *BAD), lambda body: b"HTTP/1.1 20", "closed inside the first line")
_raw("reset_mid_headers", (*LOST, *BAD), lambda body: _head()[:-6], "reset inside the headers", end="reset")
_raw("close_mid_headers", (*LOST, *BAD, *CUT), lambda body: _head("Content-Length: 9")[:-9], "headers never end")
_raw(
    "reset_mid_body",
    ("CONNECTION_LOST", *CUT),
    lambda body: _sized(body)[:-50],
    "reset with 50 bytes missing",
    end="reset",
)
_raw("short_body", CUT, lambda body: _sized(body)[:-50], "closed with 50 bytes of the promised length missing")
_raw("no_body", CUT, lambda body: _sized(body)[: -len(body)], "a length, then closed with no body at all")
_raw(
    "reset_without_length",
    ("CONNECTION_LOST", *CUT),
    lambda body: _head("Connection: close") + body[:-50],
    "a body that ends with the connection is cut by a reset",
    end="reset",
)

# --- wire: more than was asked for; the next answer on the line must not be taken from it

_raw(
    "long_body",
    (ANSWER,),
    lambda body: _sized(body) + POISON.encode() * 20,
    "bytes past the length, kept alive",
    end="keep",
    status=200,
)
_raw(
    "long_body_is_answer",
    (ANSWER,),
    lambda body: _sized(body) + _poison(),
    "a whole second answer past the length (response splitting)",
    end="keep",
    status=200,
)
_raw(
    "poison_after_chunks",
    (ANSWER,),
    lambda body: CHUNKED + _chunks(body) + LAST + _poison(),
    "a whole second answer after the last chunk",
    end="keep",
    status=200,
)
_raw(
    "poison_after_204",
    (ANSWER,),
    lambda body: b"HTTP/1.1 204 No Content\r\n\r\n" + _poison(),
    "204 has no body; what follows is no answer to anybody",
    end="keep",
    status=204,
)
_raw(
    "zero_length_with_body",
    (ANSWER,),
    lambda body: _head("Content-Length: 0") + _poison(),
    "length 0, then a second answer",
    end="keep",
    status=200,
    judged=False,
)
_raw(
    "smuggling_length_and_chunks",
    (ANSWER, *BAD),
    lambda body: (
        _head(f"Content-Length: {len(body) + 400}", "Transfer-Encoding: chunked") + _chunks(body) + LAST + _poison()
    ),
    "both lengths: chunks win, and the line is never used again (RFC 9112, 6.3)",
    end="keep",
)
_raw(
    "smuggling_chunks_and_length",
    (ANSWER, *BAD),
    lambda body: _head("Transfer-Encoding: chunked", "Content-Length: 3") + _chunks(body) + LAST + _poison(),
    "the same, the other way round",
    end="keep",
)


# Once the next request is on its way no client can tell this answer from the right one: pause between requests.
@_wire("second_answer_later", (ANSWER,), "an answer nobody asked for, a moment after the right one", status=200)
async def _second_answer_later(line: Line, request: Request) -> bool:
    await line.send(_sized(_own(request.path)))
    await asyncio.sleep(0.01)
    await line.send(_poison())
    return True


@_wire("many_answers", (ANSWER,), "twenty answers to one question", status=200)
async def _many_answers(line: Line, request: Request) -> bool:
    await line.send(_sized(_own(request.path)) + _poison() * 20)
    return True


# --- wire: chunks

_raw(
    "broken_chunk_size",
    (*BAD, *CUT),
    lambda body: CHUNKED + _chunks(body) + b"zz\r\nabc\r\n" + LAST,
    "a chunk size that is no number",
    end="keep",
)
_raw(
    "negative_chunk_size",
    (*BAD, *CUT),
    lambda body: CHUNKED + _chunks(body) + b"-5\r\nabcde\r\n" + LAST,
    "a negative chunk size",
    end="keep",
)
_raw(
    "huge_chunk_size",
    (*BAD, *CUT, ANSWER),
    lambda body: CHUNKED + b"FFFFFFFFFFFFFFFFF\r\n" + body,
    "a chunk size of more than 64 bits",
)
_raw("chunk_too_long", CUT, lambda body: CHUNKED + b"%x\r\n%s" % (len(body) + 500, body), "closed inside a chunk")
_raw("missing_last_chunk", CUT, lambda body: CHUNKED + _chunks(body), "closed before the last chunk")
_raw(
    "chunk_without_line_end",
    (*BAD, *CUT),
    lambda body: CHUNKED + b"5\r\nabcdeXX5\r\nabcde\r\n" + LAST,
    "no line end after a chunk's data",
    end="keep",
)
_raw(
    "empty_chunk_line",
    (*BAD, *CUT, ANSWER),
    lambda body: CHUNKED + b"\r\n" + _chunks(body) + LAST,
    "an empty line where a size should be",
    end="keep",
)
_raw(
    "chunk_size_with_0x",
    (*BAD, *CUT, ANSWER),
    lambda body: CHUNKED + b"0x5\r\nabcde\r\n" + LAST + _poison(),
    "0x before a size: 5 for some, 0 for others",
    end="keep",
)
_raw(
    "chunk_extensions",
    (ANSWER,),
    lambda body: CHUNKED + _chunks(body, extension=b';a=1;b="x;y"') + LAST,
    "chunk extensions are legal",
    end="keep",
    status=200,
)
_raw(
    "chunk_extension_huge",
    (ANSWER, *BAD),
    lambda body: CHUNKED + b"5;" + b"x" * 1_000_000 + b"\r\nabcde\r\n" + LAST,
    "an extension of a megabyte",
)
_raw(
    "chunk_trailers",
    (ANSWER,),
    lambda body: CHUNKED + _chunks(body) + b"0\r\nX-Sum: 1\r\nContent-Length: 3\r\n\r\n",
    "trailers are legal and change nothing",
    end="keep",
    status=200,
)
_raw(
    "chunk_bare_lf",
    (ANSWER, *BAD, *CUT),
    lambda body: CHUNKED + b"%x\n%s\n0\n\n" % (len(body), body),
    "bare line feeds around chunks",
)
_raw(
    "tiny_chunks",
    (ANSWER,),
    lambda body: CHUNKED + _chunks(body, 1) + LAST,
    "a chunk for each byte",
    end="keep",
    status=200,
)
_raw(
    "chunked_in_http10",
    (ANSWER, *BAD),
    lambda body: _head("Transfer-Encoding: chunked", version="HTTP/1.0") + _chunks(body) + LAST,
    "HTTP/1.0 knows no chunks",
)
_raw(
    "unknown_transfer_encoding",
    (ANSWER, *BAD),
    lambda body: _head("Transfer-Encoding: nonsense") + body,
    "a transfer encoding nobody knows",
)
_raw(
    "chunked_not_last",
    (ANSWER, *BAD),
    lambda body: _head("Transfer-Encoding: chunked, identity") + _chunks(body) + LAST,
    "chunked is not the last encoding: the body ends with the connection",
)
_raw("chunked_but_is_not", (*BAD, *CUT), lambda body: CHUNKED + body, "says chunked, sends a plain body")
_raw(
    "transfer_gzip",
    (ANSWER, *BAD),
    lambda body: _head("Transfer-Encoding: gzip, chunked") + _chunks(gzip.compress(body)) + LAST,
    "gzip as a transfer encoding, not asked for",
    end="keep",
)


@_wire("endless_trailers", ("HEADERS_TOO_LARGE", *BAD, *CUT, *SLOW, ANSWER), "trailers that never end")
async def _endless_trailers(line: Line, request: Request) -> bool:
    await line.send(CHUNKED + _chunks(_own(request.path)) + b"0\r\n")
    return await line.pour(b"X-Trailer: " + b"t" * 1_000 + b"\r\n", limit_b=64 << 20)


# --- wire: lengths

_raw("negative_length", BAD, lambda body: _head("Content-Length: -5") + body, "a negative length")
_raw("nonsense_length", (*BAD, ANSWER), lambda body: _head("Content-Length: many") + body, "a length in words")
_raw("plus_length", (*BAD, ANSWER), lambda body: _head(f"Content-Length: +{len(body)}") + body, "a length with a sign")
_raw("empty_length", (*BAD, ANSWER), lambda body: _head("Content-Length: ") + body, "an empty length")
_raw(
    "hex_length", (*BAD, *CUT, ANSWER), lambda body: _head(f"Content-Length: {len(body):#x}") + body, "a length in hex"
)
_raw("huge_length", (*BAD, *CUT, ANSWER), lambda body: _head(f"Content-Length: {10**30}") + body, "a length of 10^30")
_raw(
    "overflow_length",
    (*BAD, *CUT, ANSWER),
    lambda body: _head(f"Content-Length: {2**64 + len(body)}") + body,
    "a length that is right modulo 2^64",
)
_raw(
    "large_length",
    (*CUT, ANSWER),
    lambda body: _head(f"Content-Length: {10**12}") + body,
    "a terabyte promised: nobody reserves it; refused by its size or found cut",
)
_raw(
    "duplicate_length",
    (ANSWER,),
    lambda body: _head(f"Content-Length: {len(body)}", f"Content-Length: {len(body)}") + body,
    "twice the same length",
    end="keep",
    status=200,
)
_raw(
    "conflicting_length",
    (*BAD, *CUT),
    lambda body: _head(f"Content-Length: {len(body)}", f"Content-Length: {len(body) + 9}") + body + _poison(),
    "two lengths that differ (RFC 9112, 6.3: discard, close)",
    end="keep",
)
_raw(
    "conflicting_length_shorter",
    (*BAD, *CUT),
    lambda body: _head(f"Content-Length: {len(body)}", "Content-Length: 3") + body,
    "the second one shorter",
    end="keep",
)
_raw(
    "list_length",
    (ANSWER, *BAD),
    lambda body: _head(f"Content-Length: {len(body)}, {len(body)}") + body,
    "a list of equal lengths",
    end="keep",
)
_raw(
    "list_length_conflicting",
    (*BAD, *CUT),
    lambda body: _head(f"Content-Length: {len(body)}, 3") + body,
    "a list of different lengths",
    end="keep",
)

# --- wire: the first line

_raw("http_09", BAD, lambda body: body, "a body with no head, as in 1991")
_raw("garbage_status_line", BAD, lambda body: b"I am a teapot\r\n\r\n" + body, "words where a status should be")
_raw("status_0", BAD, lambda body: b"HTTP/1.1 0 Zero\r\nContent-Length: 0\r\n\r\n", "status 0")
_raw("status_99", BAD, lambda body: b"HTTP/1.1 99 Low\r\nContent-Length: 0\r\n\r\n", "two digits")
_raw(
    "status_099",
    (*BAD, ANSWER, *SLOW, *LOST),
    lambda body: b"HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n",
    "three digits below 100",
)
_raw(
    "status_999", (*BAD, ANSWER), lambda body: _sized(body, status="999 Request Denied"), "status 999, seen in the wild"
)
_raw("status_2000", (*BAD, ANSWER), lambda body: _sized(body, status="2000 OK"), "four digits")
_raw("status_word", BAD, lambda body: _sized(body, status="OK 200"), "reason and status swapped")
_raw("status_missing", BAD, lambda body: b"HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "no status")
_raw("no_reason", (ANSWER,), lambda body: _sized(body, status="200"), "no reason phrase", end="keep", status=200)
_raw(
    "reason_binary",
    (ANSWER,),
    lambda body: _sized(body, status="200 \xff\xfe\x1b[31m"),
    "bytes and escapes as reason",
    end="keep",
    status=200,
)
_raw(
    "reason_huge",
    (ANSWER, *BAD, "HEADERS_TOO_LARGE"),
    lambda body: _sized(body, status="200 " + "O" * 500_000),
    "a reason phrase of half a megabyte",
)
_raw(
    "version_2_0",
    (*BAD, ANSWER),
    lambda body: b"HTTP/2.0 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body),
    "a version that has no first line",
)
_raw("version_9_9", (*BAD, ANSWER), lambda body: b"HTTP/9.9 200 OK\r\n\r\n" + body, "a version of the future")
_raw(
    "version_1_0",
    (ANSWER,),
    lambda body: b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + body,
    "HTTP/1.0, body until close",
    status=200,
)
_raw("version_lower_case", (*BAD, ANSWER), lambda body: b"http/1.1 200 OK\r\n\r\n" + body, "lower case")
_raw("icy", (*BAD, ANSWER), lambda body: b"ICY 200 OK\r\n\r\n" + body, "a radio station")
_raw("leading_line_ends", (*BAD, ANSWER), lambda body: b"\r\n\r\n" + _sized(body), "empty lines first")
_raw("leading_garbage", (*BAD,), lambda body: b"\x00\x01\x02garbage" + _sized(body), "bytes before the first line")
_raw("bare_line_feeds", (ANSWER,), lambda body: _sized(body).replace(b"\r\n", b"\n"), "line feeds only", status=200)
_raw("random_bytes", BAD, lambda body: random.Random(7).randbytes(5_000), "random bytes")
_raw("tls_alert", BAD, lambda body: b"\x15\x03\x01\x00\x02\x02\x46", "a TLS alert on a plain port")
_raw("ssh_banner", BAD, lambda body: b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", "another protocol")
_raw("smtp_banner", BAD, lambda body: b"220 mail.test ESMTP ready\r\n", "a mail server")
_raw(
    "http2_frames", BAD, lambda body: b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + b"\x00" * 18, "HTTP/2 nobody agreed on"
)

# --- wire: headers

_raw(
    "header_without_colon", (ANSWER, *BAD), lambda body: _sized(body, "this line has no colon"), "no colon", end="keep"
)
_raw("header_empty_name", (ANSWER, *BAD), lambda body: _sized(body, ": nameless"), "no name", end="keep")
_raw(
    "header_blank_before_colon",
    (ANSWER, *BAD),
    lambda body: _sized(body, "X-Odd : 1"),
    "blank before the colon",
    end="keep",
)
_raw(
    "header_folded",
    (ANSWER, *BAD),
    lambda body: _sized(body, "X-Long: one\r\n two\r\n\tthree"),
    "folded lines",
    end="keep",
)
_raw(
    "header_folded_first",
    (ANSWER, *BAD),
    lambda body: b"HTTP/1.1 200 OK\r\n folded: first\r\n" + _sized(body)[17:],
    "a folded line with nothing before it",
)
_raw("header_nul", (ANSWER, *BAD), lambda body: _sized(body, "X-Nul: a\0b"), "NUL in a value", end="keep")
_raw(
    "header_bare_cr",
    (ANSWER, *BAD),
    lambda body: _sized(body, "X-Cr: a\rSet-Cookie: sneaked=1"),
    "CR inside a value",
    end="keep",
)
_raw(
    "header_binary",
    (ANSWER,),
    lambda body: _sized(body, "X-Bin: \xff\xfe\x80\x1b]0;owned\x07"),
    "bytes and terminal escapes in a value",
    end="keep",
    status=200,
)
_raw(
    "header_long_line",
    (ANSWER, "HEADERS_TOO_LARGE"),
    lambda body: _sized(body, "X-Long: " + "x" * 60_000),
    "a line of 60 KB",
    end="keep",
)
_raw(
    "header_very_long_line",
    ("HEADERS_TOO_LARGE", *BAD, ANSWER),
    lambda body: _sized(body, "X-Long: " + "x" * 2_000_000),
    "a line of 2 MB",
)
_raw(
    "headers_many",
    (ANSWER, "HEADERS_TOO_LARGE", *BAD),
    lambda body: _sized(body, *(f"X-{n}: {n}" for n in range(3_000))),
    "three thousand lines",
    end="keep",
)
_raw(
    "no_headers",
    (ANSWER,),
    lambda body: b"HTTP/1.1 200 OK\r\n\r\n" + body,
    "none at all: the body ends with the line",
    status=200,
)
_raw(
    "duplicate_types",
    (ANSWER,),
    lambda body: _sized(body, "Content-Type: image/png", "Content-Type: text/plain"),
    "three content types",
    end="keep",
    status=200,
    judged=False,
)
_raw(
    "date_nonsense",
    (ANSWER,),
    lambda body: _sized(body, "Date: yesterday", "Last-Modified: Fri, 99 Foo 20222"),
    "dates that are none (T8)",
    end="keep",
    status=200,
)


@_wire("endless_headers", ("HEADERS_TOO_LARGE",), "header lines without end")
async def _endless_headers(line: Line, request: Request) -> bool:
    await line.send(_head()[:-2])
    return await line.pour(b"".join(b"X-%d: %s\r\n" % (n, b"h" * 200) for n in range(100)), limit_b=64 << 20)


@_wire("endless_header_line", ("HEADERS_TOO_LARGE", *BAD), "one header line without end")
async def _endless_header_line(line: Line, request: Request) -> bool:
    await line.send(_head()[:-2] + b"X-Endless: ")
    return await line.pour(b"h" * 16_384, limit_b=64 << 20)


@_wire("endless_status_line", ("HEADERS_TOO_LARGE", *BAD), "a first line without end")
async def _endless_status_line(line: Line, request: Request) -> bool:
    await line.send(b"HTTP/1.1 200 ")
    return await line.pour(b"O" * 16_384, limit_b=64 << 20)


# --- wire: interim answers and connection lies

_raw(
    "one_continue",
    (ANSWER,),
    lambda body: b"HTTP/1.1 100 Continue\r\n\r\n" + _sized(body),
    "100 first",
    end="keep",
    status=200,
)
_raw(
    "early_hints",
    (ANSWER,),
    lambda body: b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n" + _sized(body),
    "103 first",
    end="keep",
    status=200,
)
_raw(
    "switching_protocols",
    (*BAD, ANSWER, *LOST, *CUT),
    lambda body: b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "an upgrade nobody asked for",
)
_raw(
    "connection_close_kept",
    (ANSWER,),
    lambda body: _sized(body, "Connection: close") + _poison(),
    "says close, stays open and goes on talking",
    end="keep",
    status=200,
)
_raw(
    "keep_alive_closed",
    (ANSWER,),
    lambda body: _sized(body, "Connection: keep-alive", "Keep-Alive: timeout=99"),
    "says keep-alive, closes at once",
    status=200,
)
_raw(
    "keep_alive_reset",
    (ANSWER,),
    lambda body: _sized(body, "Connection: keep-alive"),
    "says keep-alive, then resets",
    end="reset",
    status=200,
)


@_wire("endless_continue", ("HEADERS_TOO_LARGE", *BAD, *SLOW), "100 Continue for ever", timeout=True)
async def _endless_continue(line: Line, request: Request) -> bool:
    return await line.pour(b"HTTP/1.1 100 Continue\r\n\r\n" * 20, limit_b=64 << 20, pause_s=0.001)


@_wire("dies_on_reuse", (ANSWER,), "answers once, reads the next request of the line, and resets", status=200)
async def _dies_on_reuse(line: Line, request: Request) -> bool:
    await line.send(_sized(_own(request.path)))
    await line.reader.read(1)
    return await line.reset()


# --- slow

_raw("hang_before_answer", SLOW, lambda body: b"", "never says a word", group="slow", end="hang")
_raw("hang_mid_headers", SLOW, lambda body: _head()[:-2], "stops inside the headers", group="slow", end="hang")
_raw(
    "hang_after_headers",
    ("READ_TIMEOUT",),
    lambda body: _head("Content-Length: 1000"),
    "stops after the headers",
    group="slow",
    end="hang",
)
_raw(
    "hang_mid_body",
    ("READ_TIMEOUT",),
    lambda body: _sized(body)[:-20],
    "stops inside the body",
    group="slow",
    end="hang",
)
_raw(
    "hang_without_length",
    ("READ_TIMEOUT",),
    lambda body: _head() + body,
    "all is said, but the line stays open",
    group="slow",
    end="hang",
)
_raw(
    "hang_mid_chunk",
    ("READ_TIMEOUT",),
    lambda body: CHUNKED + _chunks(body) + b"ff\r\nabc",
    "stops inside a chunk",
    group="slow",
    end="hang",
)
_raw(
    "hang_after_body",
    (ANSWER,),
    lambda body: _sized(body, "Connection: close"),
    "complete, then silent: nobody waits",
    group="slow",
    end="hang",
    status=200,
)
_raw(
    "hang_after_continue",
    SLOW,
    lambda body: b"HTTP/1.1 100 Continue\r\n\r\n",
    "100, then silence",
    group="slow",
    end="hang",
)


@_wire("drip_headers", (*SLOW, "HEADERS_TOO_LARGE"), "a byte of header a second", group="slow", timeout=True)
async def _drip_headers(line: Line, request: Request) -> bool:
    await line.drip(_head("X-Slow: " + "x" * 10_000))
    return False


@_wire("drip_body", ("READ_TIMEOUT",), "a byte of body a second", group="slow", timeout=True)
async def _drip_body(line: Line, request: Request) -> bool:
    body = _own(request.path) + b" " * 10_000
    await line.send(_head(f"Content-Length: {len(body)}"))
    await line.drip(body)
    return False


@_wire("drip_chunks", ("READ_TIMEOUT",), "a chunk of one byte a second, for ever", group="slow", timeout=True)
async def _drip_chunks(line: Line, request: Request) -> bool:
    await line.send(CHUNKED + _chunks(_own(request.path)))
    return await line.pour(b"1\r\nx\r\n", limit_b=6 * 3_600, pause_s=line.drip_pause_s)


@_wire(
    "drip_fast_enough", ("READ_TIMEOUT", ANSWER), "never idle, never done: 100 bytes a tick", group="slow", timeout=True
)
async def _drip_fast_enough(line: Line, request: Request) -> bool:
    await line.send(_head() + _own(request.path))
    return await line.pour(b"<p>" + b"w" * 97, limit_b=1 << 20, pause_s=line.drip_pause_s / 20)


@_wire("slow_answer", (ANSWER,), "half a second to think, then all is well", group="slow", status=200)
async def _slow_answer(line: Line, request: Request) -> bool:
    await asyncio.sleep(0.5)
    await line.send(_sized(_own(request.path)))
    return True


@_wire("endless_body", (ANSWER,), "a body without end, at full speed", group="slow", status=200, truncated=True)
async def _endless_body(line: Line, request: Request) -> bool:
    await line.send(_head() + _own(request.path))
    return await line.pour(b"<p>and on and on</p>\n" * 3_000)


@_wire("endless_chunks", (ANSWER,), "chunks without end, at full speed", group="slow", status=200, truncated=True)
async def _endless_chunks(line: Line, request: Request) -> bool:
    await line.send(CHUNKED + _chunks(_own(request.path)))
    return await line.pour(_chunks(b"<p>and on and on</p>\n" * 3_000, 60_000))


@_wire("endless_blanks", (ANSWER,), "white space without end", group="slow", status=200, truncated=True)
async def _endless_blanks(line: Line, request: Request) -> bool:
    await line.send(_head() + _own(request.path))
    return await line.pour(b" \n" * 30_000)


# --- content: compression

MIB = 1 << 20


def _gzip_head() -> bytes:
    return b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"


@functools.cache
def _mebibyte_of(letter: bytes) -> bytes:
    """Deflate of a megabyte of one byte that may be repeated inside one stream: about a kilobyte."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    deflate.compress(b"x")
    deflate.flush(zlib.Z_FULL_FLUSH)
    return deflate.compress(letter * MIB) + deflate.flush(zlib.Z_FULL_FLUSH)


def _bomb_head(content: bytes) -> bytes:
    """The beginning of a gzip member that blocks may follow."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    return _gzip_head() + deflate.compress(content) + deflate.flush(zlib.Z_FULL_FLUSH)


@functools.cache
def gzip_bomb_pieces(mebibytes: int = 10_240) -> tuple[bytes, bytes, int]:
    """The head, the piece and how often it is sent: ten megabytes that become ten gigabytes in one gzip member."""
    return _bomb_head(html_page("bomb")), _mebibyte_of(b"\0"), mebibytes


@functools.cache
def _nested_gzip_bomb() -> bytes:
    head, piece, times = gzip_bomb_pieces(2_048)
    return gzip.compress(head + piece * times, 9, mtime=0)


@functools.cache
def _brotli_bomb() -> bytes:
    import brotli  # type: ignore[import-untyped]

    squeeze = brotli.Compressor(quality=1)
    pieces = [squeeze.process(html_page("bomb"))] + [squeeze.process(bytes(MIB)) for _ in range(512)]
    return b"".join([*pieces, squeeze.finish()])


@functools.cache
def _zstd_bomb() -> bytes:
    import zstandard

    squeeze = zstandard.ZstdCompressor(level=1).compressobj()
    pieces = [squeeze.compress(html_page("bomb"))] + [squeeze.compress(bytes(MIB)) for _ in range(512)]
    return b"".join([*pieces, squeeze.flush()])


def _bomb(kind: str, encoding: str, make: Callable[[], bytes], why: str) -> None:
    async def behave(line: Line, request: Request) -> bool:
        await line.send(_sized(make(), f"Content-Encoding: {encoding}"))
        return True

    _add(kind, _at_path(behave), "content", (ANSWER,), why, status=200, truncated=True, title="bomb")


@_wire("gzip_bomb", (ANSWER,), "10 MB on the wire, 10 GB unpacked", group="content", status=200, truncated=True)
async def _gzip_bomb(line: Line, request: Request) -> bool:
    head, piece, times = gzip_bomb_pieces()
    await line.send(_head("Content-Encoding: gzip", f"Content-Length: {len(head) + len(piece) * times}") + head)
    for _ in range(times // 64):
        await line.send(piece * 64)
    return True


_bomb("gzip_bomb_nested", "gzip, gzip", _nested_gzip_bomb, "a bomb in a bomb: 20 KB on the wire, 2 GB unpacked")
_bomb("deflate_bomb", "deflate", lambda: _bomb_head(html_page("bomb"))[10:] + _mebibyte_of(b"\0") * 64, "64 MB, raw")
_bomb("brotli_bomb", "br", _brotli_bomb, "512 MB in brotli")
_bomb("zstd_bomb", "zstd", _zstd_bomb, "512 MB in zstd")


def _squash(body: bytes) -> bytes:
    return gzip.compress(body, mtime=0)


def _raw_deflate(body: bytes) -> bytes:
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    return deflate.compress(body) + deflate.flush()


def _encoded(kind: str, encoding: str, pack: Callable[[bytes], bytes], why: str, *, judged: bool = True) -> None:
    _raw(
        kind,
        (ANSWER,),
        lambda body: _sized(pack(body), f"Content-Encoding: {encoding}"),
        why,
        group="content",
        end="keep",
        status=200,
        judged=judged,
    )


def _times(pack: Callable[[bytes], bytes], count: int) -> Callable[[bytes], bytes]:
    return lambda body: functools.reduce(lambda inner, _: pack(inner), range(count), body)


_encoded("gzip_says_plain", "gzip", lambda body: body, "says gzip, is plain")
_encoded(
    "gzip_truncated",
    "gzip",
    lambda body: _squash(body + random.Random(1).randbytes(9_000).hex().encode())[:-600],
    "gzip without its end: the part that is there is used",
)
_encoded("gzip_bad_crc", "gzip", lambda body: _squash(body)[:-8] + b"\0" * 8, "gzip with a wrong checksum")
_encoded("gzip_garbage_after", "gzip", lambda body: _squash(body) + b"garbage after the end", "bytes after the gzip")
_encoded("gzip_two_members", "gzip", lambda body: _squash(body[:100]) + _squash(body[100:]), "two gzip members are one")
_encoded(
    "gzip_corrupt",
    "gzip",
    lambda body: _squash(body)[:40] + b"\xff" * 200,
    "gzip that breaks in the middle",
    judged=False,
)
_encoded("gzip_empty", "gzip", lambda body: b"", "says gzip, is empty", judged=False)
_encoded("x_gzip", "x-gzip", _squash, "the old name")
_encoded("gzip_upper_case", "GZIP", _squash, "upper case")
_encoded("encoding_none", "none", lambda body: body, "an encoding called none")
_encoded("encoding_identity", "identity", lambda body: body, "an encoding that is none")
_encoded("encoding_unknown", "x-martian", lambda body: body, "an encoding nobody knows")
_encoded("encoding_empty", "", lambda body: body, "an empty encoding")
_encoded("deflate_zlib", "deflate", zlib.compress, "deflate as the RFC has it")
_encoded("deflate_raw", "deflate", _raw_deflate, "deflate as Microsoft had it")
_encoded("brotli_is_gzip", "br", _squash, "says br, is gzip", judged=False)
_encoded("gzip_stacked", "gzip, gzip, gzip", _times(_squash, 3), "packed three times")
_encoded("gzip_stacked_deep", ", ".join(["gzip"] * 40), _times(_squash, 40), "packed forty times", judged=False)
_raw(
    "gzip_said_twice",
    (ANSWER,),
    lambda body: _sized(_squash(body), "Content-Encoding: gzip", "Content-Encoding: gzip"),
    "packed once, said twice",
    group="content",
    end="keep",
    status=200,
    judged=False,
)

# --- content: types, charsets, markup

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)


def _content(
    kind: str,
    content: Callable[[str], bytes] | bytes,
    why: str,
    content_type: str | None = HTML,
    title: str | None = None,
    asks: tuple[str, ...] = (),
    never: tuple[str, ...] = (),
) -> None:
    """A kind that is well-formed HTTP around a bad body."""

    def install(site: Site, path: str, host: str | None, target: str) -> None:
        body = content if isinstance(content, bytes) else content(path)
        site.file(path, body, content_type, host=host)
        for suffix in asks:
            site.page(path + suffix, host=host)

    _add(kind, install, "content", (ANSWER,), why, status=200, title=title, asks=asks, never=never)


def _wrap(inside: str | bytes, title: str = "monster") -> bytes:
    inner = inside.encode() if isinstance(inside, str) else inside
    return f"<!doctype html><html><head><title>{title}</title></head><body>".encode() + inner + b"</body></html>"


_content("png_as_html", PNG, "says html, is a picture", title="")
_content("html_as_png", _own, "says picture, is html", "image/png", title="")
_content("html_as_text", _own, "says text, is html", "text/plain", title="")
_content("html_as_octets", _own, "says bytes, is html", "application/octet-stream")
_content("html_as_json", b'{"a": "<a href=/never>x</a>"}', "JSON with markup inside", "application/json", title="")
_content("no_type", _own, "no content type at all", None, title="{path}")
_content("nonsense_type", _own, "a content type that is none", "a/b/c;;; charset")
_content("pdf_as_html", b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj<<>>endobj\n%%EOF", "says html, is a PDF", title="")
_content("empty_body", b"", "nothing", title="")
_content("blank_body", b" \n\t " * 1_000, "only white space", title="")
_content("charset_wrong", "<title>caf\xe9</title><p>\xe9t\xe9".encode("latin-1"), "says utf-8, is latin-1")
_content("charset_unknown", _own, "a charset nobody knows", "text/html; charset=klingon-8", title="{path}")
_content("charset_empty", _own, "an empty charset", "text/html; charset=", title="{path}")
_content("charset_quoted", _own, "a charset in quotes and blanks", 'text/html; Charset=" UTF-8 "', title="{path}")
_content(
    "charset_utf7",
    b"<title>u7</title>+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
    "UTF-7 is never believed",
    "text/html; charset=utf-7",
    title="u7",
)
_content(
    "charset_meta_conflict", html_page("conflict", charset="iso-8859-1"), "header and meta disagree", title="conflict"
)
_content("utf16_bom", "\ufeff<title>sixteen</title>".encode("utf-16-le"), "UTF-16, header says UTF-8", title="sixteen")
_content(
    "utf16_no_bom",
    "<!doctype html><title>sixteen</title>".encode("utf-16-le"),
    "UTF-16 in the header only",
    "text/html; charset=utf-16le",
    title="sixteen",
)
_content("double_bom", b"\xef\xbb\xbf\xef\xbb\xbf<title>bom</title>", "two byte order marks", title="bom")
_content(
    "invalid_utf8", b"<title>ok</title><p>\xff\xfe\xc0\xaf\xed\xa0\x80\xf5\x80", "bytes that are no UTF-8", title="ok"
)
_content("nul_bytes", b"<tit\0le>x</title>\0\0<title>nul</title>" + b"\0" * 5_000, "NULs in the markup")
_content("deep_nesting", _wrap("<div>" * 200_000), "200,000 nested elements", title="monster")
_content(
    "deep_inline", _wrap("<b><i><a>" * 20_000 + "</p>" * 20_000), "formatting elements to rebuild", title="monster"
)
_content("nested_tables", _wrap("<table><tr><td>" * 20_000), "20,000 nested tables", title="monster")
_content(
    "many_attributes",
    _wrap("<p " + " ".join(f"a{n}=1" for n in range(100_000)) + ">"),
    "100,000 attributes",
    title="monster",
)
_content(
    "huge_attribute",
    _wrap('<a title="' + "x" * 3_000_000 + '" href="-leaf">leaf</a>'),
    "3 MB of attribute",
    title="monster",
)
_content("huge_title", _wrap("", "t" * 1_000_000), "a title of a megabyte")
_content("huge_text", _wrap("word " * 400_000), "2 MB of one line", title="monster")
_content(
    "many_links",
    lambda path: _wrap("".join(f'<a href="{path}?n={n}#f">{n}</a>' for n in range(100_000))),
    "100,000 links",
    title="monster",
)
_content("entity_flood", _wrap("&amp;&#x41;&notanentity;&" * 100_000), "400,000 entities", title="monster")
_content(
    "xml_entities",
    b'<?xml version="1.0"?><!DOCTYPE html [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">'
    b'<!ENTITY c SYSTEM "file:///etc/passwd">]><html xmlns="http://www.w3.org/1999/xhtml"><head><title>xml</title>'
    b"</head><body>&b;&c;</body></html>",
    "entities in XHTML are not resolved",
    "application/xhtml+xml",
    title="xml",
)
_content("unclosed_comment", b"<title>open</title><!-- " + b"-" * 1_000_000, "a comment without end", title="open")
_content(
    "unclosed_script", b"<title>open</title><script>" + b"<!--<script>" * 100_000, "a script without end", title="open"
)
_content("unclosed_tag", b"<title>open</title><a href='" + b"x" * 500_000, "a tag without end", title="open")
_content("unclosed_title", b"<title>" + b"x" * 500_000, "a title without end")
_content(
    "many_bases",
    lambda path: _wrap(
        f"<base href='{path}-b/'>" + "<base href='http://never.test/'>" * 50 + "<a href='leaf'>leaf</a>"
    ),
    "the first base counts",
    title="monster",
    asks=("-b/leaf",),
)
_content(
    "base_javascript",
    lambda path: _wrap(f"<base href='javascript:1'><a href='{path}-leaf'>leaf</a>"),
    "a base that is no address",
    title="monster",
    asks=("-leaf",),
)
_content(
    "base_data",
    lambda path: _wrap(f"<base href='data:text/html,x'><a href='{path}-leaf'>leaf</a>"),
    "a base of another scheme",
    title="monster",
    asks=("-leaf",),
)
_content(
    "terminal_title",
    b"<title>\x1b]0;owned\x07\x1b[31mred\x1b[2J\r\nsecond\xe2\x80\xaeline</title>",
    "terminal escapes in the title",
)
_content(
    "csv_title",
    b"<title>=cmd|' /C calc'!A0,\"x\"</title><p>@SUM(1)",
    "a formula as title",
    title="=cmd|' /C calc'!A0,\"x\"",
)
_content(
    "markup_title",
    b"<title>&lt;script&gt;alert(1)&lt;/script&gt;</title>",
    "markup as title",
    title="<script>alert(1)</script>",
)
_content(
    "iframe_self",
    lambda path: _wrap(f"<iframe src='{path}'></iframe><frame src='{path}?'>"),
    "frames of itself",
    title="monster",
)
_content(
    "refresh_self",
    lambda path: _wrap(f"<meta http-equiv=refresh content='0;url={path}'>"),
    "refreshes to itself",
    title="monster",
)
_content(
    "links_in_comments",
    lambda path: _wrap(
        f"<!-- <a href='{path}-no'>x</a> --><script>'<a href={path}-no>'</script>"
        f"<template><a href='{path}-no'>t</a></template><textarea><a href='{path}-no'></textarea>"
        f"<a href='{path}-leaf'>leaf</a>"
    ),
    "links where no links are",
    title="monster",
    asks=("-leaf",),
    never=("-no",),
)

# --- statuses


def _status(kind: str, status: int, why: str, headers: Mapping[str, str] | None = None, *, passing: int = 0) -> None:
    """A status for every request (or, with ``passing``, for the first ones; then the page answers 200)."""

    def install(site: Site, path: str, host: str | None, target: str) -> None:
        asked = Counter[str]()

        def answer(request: Request) -> Response:
            asked[path] += 1
            if passing and asked[path] > passing:
                return Response(_own(path))
            return Response(html_page(f"{status}"), status, HTML, _dated(headers or {}))

        site.serve(path, answer, host=host)

    _add(kind, install, "status", (ANSWER,), why, status=200 if passing else status)


def _dated(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers with ``{+N}`` replaced by the HTTP date N seconds from now."""

    def date(found: re.Match[str]) -> str:
        return formatdate(time.time() + int(found[1]), usegmt=True)

    return {name: re.sub(r"\{([+-]\d+)\}", date, value) for name, value in headers.items()}


for _code in (400, 402, 403, 404, 405, 410, 418, 451, 500, 501, 502, 504, 511):
    _status(f"status_{_code}", _code, f"{_code} for ever")
_status("status_401", 401, "asks for a password; none of ours is sent", {"WWW-Authenticate": 'Basic realm="x"'})
_status("status_401_many", 401, "schemes nobody knows", {"WWW-Authenticate": "Negotiate, NTLM, Digest realm=x"})
_status("status_407", 407, "a server that plays proxy", {"Proxy-Authenticate": "Basic realm=x"})
_status("status_201", 201, "created, by a GET")
_status("status_206", 206, "a part nobody asked for", {"Content-Range": "bytes 0-99/1000"})
_status("status_226", 226, "a success of another kind")
_status("status_304", 304, "not modified, though nobody asked whether")
_status("retry_429", 429, "too many, for ever")
_status("retry_429_seconds", 429, "too many, then well", {"Retry-After": "1"}, passing=1)
_status("retry_429_date", 429, "too many until a date, then well", {"Retry-After": "{+2}"}, passing=1)
_status("retry_429_past", 429, "until a date that is over", {"Retry-After": "{-900}"}, passing=1)
_status("retry_429_nonsense", 429, "until nonsense", {"Retry-After": "soon, my friend"}, passing=1)
_status("retry_429_negative", 429, "until minus five", {"Retry-After": "-5"}, passing=1)
_status("retry_429_year", 429, "until next year: the crawl does not sleep a year", {"Retry-After": "31536000"})
_status("retry_429_overflow", 429, "a number past every range", {"Retry-After": "9" * 400})
_status("retry_503", 503, "unavailable, for ever")
_status("retry_503_seconds", 503, "unavailable, then well", {"Retry-After": "1"}, passing=1)
_status("retry_503_date", 503, "unavailable until a date, then well", {"Retry-After": "{+2}"}, passing=1)
_status("flaky_500", 500, "wrong once, then well", passing=1)

_raw(
    "body_with_204",
    (ANSWER,),
    lambda body: _head(f"Content-Length: {len(body)}", status="204 No Content") + body,
    "204 with a length and a body",
    group="status",
    status=204,
)
_raw(
    "body_with_304",
    (ANSWER, *BAD),
    lambda body: _head(f"Content-Length: {len(body)}", status="304 Not Modified") + body + _poison(),
    "304 with a body",
    group="status",
    end="keep",
    status=304,
)
_raw(
    "body_with_205",
    (ANSWER,),
    lambda body: _sized(body, status="205 Reset Content"),
    "205 with a body",
    group="status",
    status=205,
)

# --- redirects; {goal} is a good page beside the path, {target} another site


def _redirect(
    kind: str,
    location: str | None,
    why: str,
    *,
    status: int = 302,
    asks: tuple[str, ...] = (),
    never: tuple[str, ...] = (),
    raw: bool = False,
) -> None:
    def install(site: Site, path: str, host: str | None, target: str) -> None:
        last = path.rpartition("/")[2]
        site.page(f"{path}-goal", host=host)
        names = {
            "path": path,
            "goal": f"{path}-goal",
            "last": last,
            "target": target or "http://elsewhere.test",
            "site": site.at("", host),
            "authority": site.at("", host).partition("//")[2],
        }
        line = [] if location is None else [f"Location: {location.format(**names)}"]
        content = _sized(b"" if status == 304 else html_page("moved"), *line, status=f"{status} Moved")
        site.behave(path, _bytes_kept(content), host=host)

    _add(kind, install, "redirects", (ANSWER, *BAD) if raw else (ANSWER,), why, status=status, asks=asks, never=never)


def _bytes_kept(content: bytes) -> Behaviour:
    async def behave(line: Line, request: Request) -> bool:
        await line.send(content)
        return True

    return behave


GOAL = ("-goal",)
for _code in (301, 302, 303, 307, 308):
    _redirect(f"redirect_{_code}", "{goal}", f"{_code} to a good page", status=_code, asks=GOAL)
_redirect("redirect_300", "{goal}", "300 with a place: an answer; going on is allowed", status=300)
_redirect("redirect_304", "{goal}", "304 is no redirect, whatever Location says", status=304, never=GOAL)
_redirect("redirect_305", "{goal}", "305 names a proxy: never used", status=305, never=GOAL)
_redirect("redirect_306", "{goal}", "306 means nothing", status=306, never=GOAL)
_redirect("redirect_200", "{goal}", "Location with 200 means nothing", status=200, never=GOAL)
_redirect("redirect_201", "{goal}", "Location with 201 is no redirect", status=201, never=GOAL)
_redirect("redirect_absolute", "{site}{goal}", "an absolute address", asks=GOAL)
_redirect("redirect_relative", "{last}-goal", "a relative address", asks=GOAL)
_redirect("redirect_dots", "./x/../{last}-goal", "a relative address with dots", asks=GOAL)
_redirect("redirect_protocol_relative", "//{authority}{goal}", "without a scheme", asks=GOAL)
_redirect("redirect_blanks", "   {goal}  ", "blanks around it", asks=GOAL)
_redirect("redirect_blank_inside", "{goal}?a b", "a blank inside it", asks=("-goal?a%20b",))
_redirect("redirect_fragment", "{goal}#part", "a fragment is not sent", asks=GOAL)
_redirect("redirect_unicode", "{goal}?\xc3\xa9", "raw UTF-8 in it", asks=("-goal?%C3%A9",))
_redirect("redirect_backslash", "\\{last}-goal", "a backslash, as browsers read it", asks=())
_redirect("redirect_upper_scheme", "HTTP://{authority}{goal}", "a scheme in upper case", asks=GOAL)
_redirect("redirect_missing_location", None, "no Location")
_redirect("redirect_empty_location", "", "an empty Location")
_redirect("redirect_crlf", "{goal}%0d%0aX-Injected:%201", "an escaped line end stays escaped", asks=())
_redirect("redirect_bare_cr", "{goal}\rX-Injected: 1", "a raw CR in the Location", raw=True)
_redirect("redirect_nul", "{goal}\0", "a NUL in the Location", raw=True)
_redirect("redirect_huge", "{goal}?" + "x" * 50_000, "an address of 50 KB: refused, not asked")
_redirect("redirect_other_host", "{target}/secret", "to another host: out of scope")
_redirect("redirect_credentials", "http://user:word@{authority}{goal}", "credentials in the address are not used")
_redirect("redirect_bad_port", "http://127.0.0.1:99999/", "a port that is none")
_redirect("redirect_bad_host", "http://exa mple..test/", "a host that is none")
_redirect("redirect_bad_ipv6", "http://[::1/", "a broken address")
for _scheme, _place in {
    "javascript": "javascript:alert(1)",
    "file": "file:///etc/passwd",
    "ftp": "ftp://127.0.0.1/x",
    "data": "data:text/html,x",
    "mailto": "mailto:a@b.test",
    "gopher": "gopher://127.0.0.1:6379/_FLUSHALL",
    "dict": "dict://127.0.0.1:11211/stat",
    "ws": "ws://127.0.0.1/",
    "blob": "blob:http://x.test/1",
    "about": "about:blank",
    "view_source": "view-source:http://x.test/",
    "scp": "scp://127.0.0.1/etc/passwd",
    "unknown": "weft-nonsense:thing",
}.items():
    _redirect(f"redirect_to_{_scheme}", _place, f"another scheme ({_scheme}) is never opened")
PRIVATE_PLACES = {
    "metadata": "http://169.254.169.254/latest/meta-data/",
    "ten": "http://10.0.0.1/",
    "lan": "http://192.168.0.1/",
    "localhost": "http://localhost:1/",
    "zero": "http://0.0.0.0:1/",
    "short": "http://127.1:1/",
    "decimal": "http://2130706433:1/",
    "hex": "http://0x7f000001:1/",
    "octal": "http://0177.0.0.1:1/",
    "ipv6": "http://[::1]:1/",
    "mapped": "http://[::ffff:127.0.0.1]:1/",
    "mapped_hex": "http://[::ffff:7f00:1]:1/",
    "nat64": "http://[64:ff9b::7f00:1]:1/",
    "unique_local": "http://[fd00::1]/",
    "link_local": "http://[fe80::1]/",
    "shared": "http://100.64.0.1/",
    "full_width": "http://\uff11\uff12\uff17\uff0e\uff10\uff0e\uff10\uff0e\uff11:1/",
    "dotted": "http://127.0.0.1.:1/",
    "enclosed": "http://\u2460\u2461\u2466.0.0.1:1/",
}
"""Private addresses, however written: nobody connects to them in a public crawl (promise 7)."""
for _name, _place in PRIVATE_PLACES.items():
    _redirect(
        f"redirect_private_{_name}", _place.encode().decode("latin-1"), f"a private address ({_name}) in a Location"
    )


def _chain(
    kind: str, why: str, follow: Callable[[str, str], str | None], *, endless: bool = False, asks: tuple[str, ...] = ()
) -> None:
    """Redirects that lead to redirects: ``follow(path, what is behind it)`` gives the next place."""

    def install(site: Site, path: str, host: str | None, target: str) -> None:
        def answer(request: Request) -> Response:
            place = follow(path, request.path[len(path) :])
            if place is None:
                return Response(_own(request.path))
            return Response(html_page("moved"), 302, HTML, {"Location": place})

        site.serve(path, answer, host=host)
        site.serve(f"{path}/*", answer, host=host)
        site.serve(f"{path}?*", answer, host=host)

    _add(kind, install, "redirects", (ANSWER, "TOO_MANY_REDIRECTS"), why, status=302, endless=endless, asks=asks)


def _count(rest: str) -> int:
    digits = re.sub(r"\D", "", rest)[:9]
    return int(digits or 0)


_chain("redirect_self", "to itself", lambda path, rest: path)
_chain("redirect_self_fragment", "to itself with another fragment", lambda path, rest: f"{path}#again")
_chain("redirect_pair", "two that lead to each other", lambda path, rest: path if rest else f"{path}/b", asks=("/b",))
_chain("redirect_triangle", "three in a ring", lambda path, rest: f"{path}/{(_count(rest) + 1) % 3}")
_chain(
    "redirect_chain_5",
    "five, then a page",
    lambda path, rest: f"{path}/{_count(rest) + 1}" if _count(rest) < 5 else None,
    asks=("/1", "/2", "/3", "/4", "/5"),
)
_chain(
    "redirect_chain_30",
    "thirty: more than the ten that are walked",
    lambda path, rest: f"{path}/{_count(rest) + 1}" if _count(rest) < 30 else None,
)
_chain("redirect_endless", "a new place every time", lambda path, rest: f"{path}/{_count(rest) + 1}", endless=True)
_chain(
    "redirect_endless_query", "a new query every time", lambda path, rest: f"{path}?n={_count(rest) + 1}", endless=True
)
_chain("redirect_growing", "a longer place every time", lambda path, rest: f"{path}{rest}/more", endless=True)


def _cookie_loop(site: Site, path: str, host: str | None, target: str) -> None:
    def answer(request: Request) -> Response:
        if "pass=1" in (request.header("cookie") or ""):
            return Response(_own(path))
        return Response(html_page("moved"), 302, HTML, {"Location": path, "Set-Cookie": "pass=1; Path=/"})

    site.serve(path, answer, host=host)


_add(
    "redirect_cookie_gate",
    _cookie_loop,
    "redirects",
    (ANSWER,),
    "to itself until the cookie comes back: any end is honest",
)

# --- cookies and other secrets


def _cookie(kind: str, why: str, *cookies: str) -> None:
    def install(site: Site, path: str, host: str | None, target: str) -> None:
        lines = [f"Set-Cookie: {cookie}" for cookie in cookies]
        own = _own(path)
        site.behave(path, _bytes_kept(_sized(own, *lines)), host=host)

    _add(kind, install, "cookies", (ANSWER, *BAD, "HEADERS_TOO_LARGE"), why, status=200)


_cookie("cookie_plain", "comes back to this host only", "plain=1; Path=/")
_cookie("cookie_foreign_domain", "for a domain that is not ours: dropped", "stolen=1; Domain=elsewhere.test; Path=/")
_cookie(
    "cookie_public_suffix",
    "for a whole public suffix: dropped",
    "wide=1; Domain=com; Path=/",
    "w=1; Domain=.co.uk; Path=/",
)
_cookie("cookie_parent_domain", "for the parent: siblings may get it, others not", "up=1; Domain=test; Path=/")
_cookie("cookie_secure", "Secure: never over plain HTTP", "safe=1; Secure; Path=/", "__Host-x=1; Secure; Path=/")
_cookie(
    "cookie_expired",
    "already over: not sent",
    "old=1; Max-Age=0; Path=/",
    "older=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
)
_cookie("cookie_path", "for one path only", "deep=1; Path=/nowhere/else")
_cookie("cookie_huge", "64 KB of cookie", "huge=" + "x" * 65_536 + "; Path=/")
_cookie("cookie_many", "500 cookies", *(f"c{n}=1; Path=/" for n in range(500)))
_cookie("cookie_binary", "bytes and controls in a cookie", "bin=\x01\x7f\xff; Path=/")
_cookie("cookie_injection", "line ends in a cookie", "inj=a\rX-Injected: 1; Path=/")
_cookie("cookie_nameless", "no name, no value", "=; Path=/", ";", "onlyname")

# --- urls: a page full of addresses


def _addresses(
    kind: str, why: str, hrefs: Sequence[str], asks: tuple[str, ...] = (), never: tuple[str, ...] = ()
) -> None:
    """A page that holds addresses; {path}, {site}, {authority} and {target} are filled in, and -leaf is a good page."""

    def install(site: Site, path: str, host: str | None, target: str) -> None:
        for suffix in asks:
            site.page((path + suffix).split("#")[0], host=host)
        own = site.at("", host)
        names = {
            "path": path,
            "site": own,
            "authority": own.partition("//")[2],
            "target": target or "http://elsewhere.test",
            "last": path.rpartition("/")[2],
        }
        links = [_fill(href, names) for href in hrefs]
        body = "".join(f'<p><a href="{link}">link</a></p>' for link in links)
        content = (
            f"<!doctype html><html><head><meta charset=utf-8><title>{path}</title></head><body>{body}</body></html>"
        )
        site.file(path, content.encode("utf-8", "surrogatepass"), HTML, host=host)

    _add(kind, install, "urls", (ANSWER,), why, status=200, asks=asks, never=never)


def _fill(href: str, names: Mapping[str, str]) -> str:
    for name, value in names.items():
        href = href.replace("{" + name + "}", value)
    return href.replace("&", "&amp;").replace('"', "&quot;")


_addresses(
    "urls_line_ends",
    "CR, LF and tab inside are dropped, as browsers do, and never sent",
    ["{path}-le\naf", "{path}-l\r\neaf", "\t{path}-leaf\n", "{path}-leaf\r\n\r\nX-Injected: 1"],
    asks=("-leaf",),
)
_addresses(
    "urls_escaped_line_ends",
    "escaped line ends stay escaped",
    ["{path}-leaf?a=%0d%0aX-Injected:%201"],
    asks=("-leaf?a=%0d%0aX-Injected:%201",),
)
_addresses(
    "urls_nul",
    "NUL in an address",
    ["{path}-leaf\0x", "{path}-leaf%00", "http://a\0b.test/", "{path}-leaf"],
    asks=("-leaf",),
)
_addresses(
    "urls_schemes",
    "other schemes are recorded and not opened",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        " javascript:void 0",
        "java\nscript:alert(1)",
        "mailto:a@b.test",
        "tel:+1",
        "file:///etc/passwd",
        "ftp://127.0.0.1/",
        "data:text/html,<a href=x>",
        "gopher://127.0.0.1/",
        "about:blank",
        "ws://x.test/",
        "blob:x",
        "vbscript:x",
        "intent://x",
        "sms:1",
        "magnet:?x",
        "urn:isbn:1",
        "chrome://x",
        "x:",
        ":",
        "1http://x.test/",
        "{path}-leaf",
    ],
    asks=("-leaf",),
)
_addresses(
    "urls_private", "private addresses, however written", [*PRIVATE_PLACES.values(), "{path}-leaf"], asks=("-leaf",)
)
_addresses(
    "urls_ports",
    "odd ports",
    [
        "http://127.0.0.1:0/",
        "http://127.0.0.1:65536/",
        "http://127.0.0.1:-1/",
        "http://127.0.0.1:22/",
        "http://127.0.0.1:80a/",
        "http://127.0.0.1:/",
        "{path}-leaf",
    ],
    asks=("-leaf",),
)
_addresses(
    "urls_credentials",
    "credentials in addresses are not sent",
    [
        "http://user:word@{authority}{path}-no",
        "http://{authority}@elsewhere.test/",
        "http://a@b@{authority}/",
        "{path}-leaf",
    ],
    asks=("-leaf",),
)
_addresses(
    "urls_dots",
    "dot segments, spelled in every way, are one page",
    [
        "{path}/../{last}-leaf",
        "{path}/./../{last}-leaf",
        "{path}/%2e%2e/{last}-leaf",
        "{path}/.%2E/{last}-leaf",
        "/../../..{path}-leaf",
        "{path}-leaf",
    ],
    asks=("-leaf",),
)
_addresses(
    "urls_backslashes",
    "backslashes are slashes",
    ["\\\\{authority}{path}-leaf", "http:\\\\{authority}{path}-leaf"],
    asks=("-leaf",),
)
_addresses(
    "urls_slashes",
    "slashes missing and too many after the scheme",
    ["http:////{authority}{path}-leaf", "http:{authority}{path}-leaf", "http:/{authority}{path}-leaf"],
    asks=("-leaf",),
)
_addresses(
    "urls_fragments",
    "fragments make no new page",
    ["{path}-leaf#a", "{path}-leaf#b", "{path}-leaf#", "#top", "#", ""],
    asks=("-leaf",),
)
_addresses(
    "urls_default_port",
    "another port is another site",
    ["{path}-leaf", "http://127.0.0.1/x", "//127.0.0.1/y"],
    asks=("-leaf",),
)
_addresses(
    "urls_unicode",
    "letters outside ASCII are escaped as UTF-8",
    ["{path}-\u00e9", "{path}-%C3%A9", "{path}?q=\u00fc\U0001f600"],
    asks=("-%C3%A9", "?q=%C3%BC%F0%9F%98%80"),
)
_addresses(
    "urls_percent",
    "broken escapes stay as they are",
    ["{path}-leaf?%", "{path}-leaf?%zz", "{path}-leaf?%4", "{path}-leaf?a%2Fb"],
    asks=("-leaf?%", "-leaf?%zz", "-leaf?%4", "-leaf?a%2Fb"),
)
_addresses(
    "urls_long",
    "very long addresses are refused with a reason",
    ["{path}-leaf?" + "x" * 100_000, "/" + "y/" * 50_000, "{path}-leaf"],
    asks=("-leaf",),
)
_addresses(
    "urls_hosts",
    "hosts that are none",
    [
        "http:///x",
        "http://",
        "http://..",
        "http://.test/",
        "http://a..test/",
        "http://-/",
        "http://a b/",
        "http://a%00b/",
        "http://[::1/",
        "http://[zz]/",
        "http://1.2.3.4.5/",
        "http://256.1.1.1/",
        "http://xn--/",
        "http://" + "a" * 64 + ".test/",
        "http://" + "a." * 200 + "test/",
        "http://ex%41mple.test/",
        "{path}-leaf",
    ],
    asks=("-leaf",),
)
_addresses("urls_surrogates", "half characters", ["{path}-leaf?\ud800", "{path}-leaf"], asks=("-leaf",))
_addresses(
    "urls_shell",
    "what a shell would like",
    ["{path}-leaf?;rm -rf /;`id`$(id)|cat&x", "{path}-leaf?../../../../etc/passwd", "{path}-leaf?C:\\con\\nul"],
    asks=(),
)


# --- robots.txt and sitemaps: the path is a plain page, the site's own files misbehave


def _robots(
    kind: str,
    outcomes: Sequence[str],
    why: str,
    content: bytes,
    status: int = 200,
    *,
    content_type: str = "text/plain",
    headers: Mapping[str, str] | None = None,
    asks: tuple[str, ...] = (),
    never: tuple[str, ...] = (),
) -> None:
    def install(site: Site, path: str, host: str | None, target: str) -> None:
        site.page(path, [f"{path}{suffix}" for suffix in (*asks, *never)], host=host)
        for suffix in (*asks, *never):
            site.page(path + suffix, host=host)
        text = content.replace(b"{path}", path.encode())
        site.file("/robots.txt", text, content_type, status=status, headers=headers, host=host)

    page = status if 300 > status >= 200 else None
    _add(kind, install, "robots", outcomes, why, status=page and 200, whole_site=True, asks=asks, never=never)


NOT_NOW = ("ROBOTS_UNAVAILABLE",)
DENIED = ("ROBOTS_DISALLOWED",)
FORBIDS = b"User-agent: *\nDisallow: {path}-no\n"
for _code in (500, 502, 503, 599):
    _robots(f"robots_{_code}", NOT_NOW, f"{_code}: nothing may be asked (RFC 9309, 2.3.1.4)", b"oops", _code)
_robots("robots_429", (*NOT_NOW, ANSWER), "429 is busy, not absent", b"busy", 429, headers={"Retry-After": "1"})
for _code in (400, 401, 403, 404, 410, 451):
    _robots(
        f"robots_{_code}",
        (ANSWER,),
        f"{_code}: all is allowed (RFC 9309, 2.3.1.3)",
        b"User-agent: *\nDisallow: /\n",
        _code,
    )
_robots("robots_denies_all", DENIED, "all forbidden", b"User-agent: *\nDisallow: /\n")
_robots("robots_denies_us", DENIED, "we are forbidden", b"User-agent: *\nAllow: /\n\nUser-agent: weft\nDisallow: /\n")
_robots(
    "robots_allows_us",
    (ANSWER,),
    "others are forbidden",
    b"User-agent: *\nDisallow: /\n\nUser-agent: weft\nDisallow:\n",
)
_robots(
    "robots_prefix_of_us",
    (ANSWER,),
    "a name that is longer than ours is not ours",
    b"User-agent: weftling\nDisallow: /\n",
)
_robots("robots_empty", (ANSWER,), "empty: all allowed", b"")
_robots("robots_html", (ANSWER,), "an error page with status 200", html_page("404"), content_type="text/html")
_robots("robots_binary", (ANSWER,), "random bytes", random.Random(3).randbytes(20_000))
_robots("robots_bom", (ANSWER,), "a byte order mark first", b"\xef\xbb\xbf" + FORBIDS, asks=("-yes",), never=("-no",))
_robots("robots_utf16", (ANSWER,), "UTF-16 is not UTF-8", FORBIDS.decode().encode("utf-16"))
_robots("robots_cr_only", (ANSWER,), "CR as line end", FORBIDS.replace(b"\n", b"\r"), asks=("-yes",), never=("-no",))
_robots("robots_nul", (ANSWER,), "NUL bytes between lines", b"\0\0\n" + FORBIDS, asks=("-yes",), never=("-no",))
_robots(
    "robots_no_colon", (ANSWER,), "lines without a colon", b"what is this\n" + FORBIDS, asks=("-yes",), never=("-no",)
)
_robots(
    "robots_huge",
    (ANSWER,),
    "600 KB; the first 500 count",
    FORBIDS + b"# filler\n" * 70_000,
    asks=("-yes",),
    never=("-no",),
)
_robots(
    "robots_long_line",
    (ANSWER,),
    "a line of 400 KB",
    b"#" + b"x" * 400_000 + b"\n" + FORBIDS,
    asks=("-yes",),
    never=("-no",),
)
_robots(
    "robots_stars",
    (ANSWER,),
    "patterns made to stall a matcher",
    b"User-agent: *\nDisallow: /" + b"*a" * 2_000 + b"$\nDisallow: {path}-no\n",
    asks=("-" + "a" * 200,),
    never=("-no",),
)
_robots(
    "robots_escapes",
    (ANSWER,),
    "a path escaped in another way",
    b"User-agent: *\nDisallow: {path}-%6Eo\n",
    never=("-no",),
)
_robots(
    "robots_longest",
    (ANSWER,),
    "the longest rule wins, not the first",
    b"User-agent: *\nDisallow: {path}-\nAllow: {path}-yes\n",
    asks=("-yes",),
    never=("-no",),
)
_robots("robots_delay_huge", (ANSWER,), "a day between requests: capped", b"User-agent: *\nCrawl-delay: 86400\n")
_robots(
    "robots_delay_nonsense",
    (ANSWER,),
    "delays that are none",
    b"User-agent: *\nCrawl-delay: -1\nCrawl-delay: soon\nCrawl-delay: 1e999\n",
)
_robots(
    "robots_many_groups",
    (ANSWER,),
    "5,000 groups",
    b"".join(b"User-agent: bot%d\nDisallow: /\n" % n for n in range(5_000)) + FORBIDS,
    asks=("-yes",),
    never=("-no",),
)
_robots(
    "robots_control_lines",
    (ANSWER,),
    "terminal escapes in comments",
    b"# \x1b]0;owned\x07\x1b[2J\n" + FORBIDS,
    never=("-no",),
)


def _broken_robots(kind: str, like: str, outcomes: Sequence[str], why: str) -> None:
    """robots.txt itself misbehaves like another kind."""

    def install(site: Site, path: str, host: str | None, target: str) -> None:
        site.page(path, host=host)
        _KINDS[like](site, "/robots.txt", host, target)

    expected = MISBEHAVIOURS[like]
    _add(kind, install, "robots", outcomes, why, whole_site=True, timeout=expected.timeout, endless=expected.endless)


_broken_robots("robots_reset", "reset_before_answer", (*LOST, *NOT_NOW), "unreachable: nothing may be asked")
_broken_robots("robots_cut", "short_body", (*CUT, *NOT_NOW), "cut off: nobody knows the rest")
_broken_robots("robots_hangs", "hang_before_answer", (*SLOW, *NOT_NOW), "never answers")
_broken_robots("robots_drips", "drip_body", (*SLOW, *NOT_NOW), "a byte a second")
_broken_robots("robots_garbage", "random_bytes", (*BAD, *NOT_NOW), "no HTTP at all")
_broken_robots("robots_endless", "endless_body", (ANSWER,), "without end: the first 500 KiB count")
_broken_robots("robots_bomb", "gzip_bomb", (ANSWER,), "a gzip bomb: the first 500 KiB count")
_broken_robots("robots_redirect_loop", "redirect_self", (ANSWER, *NOT_NOW), "leads to itself: as if there were none")
_broken_robots(
    "robots_redirect_endless",
    "redirect_chain_30",
    (ANSWER, *NOT_NOW),
    "more than five redirects: as if there were none",
)


def _robots_moved(site: Site, path: str, host: str | None, target: str) -> None:
    site.page(path, [f"{path}-no", f"{path}-yes"], host=host)
    site.page(f"{path}-no", host=host)
    site.page(f"{path}-yes", host=host)
    for step in range(4):
        site.redirect("/robots.txt" if step == 0 else f"/moved/{step}", f"/moved/{step + 1}", 301, host=host)
    site.file("/moved/4", FORBIDS.replace(b"{path}", path.encode()), "text/plain", host=host)


_add(
    "robots_moved",
    _robots_moved,
    "robots",
    (ANSWER,),
    "four redirects are followed, and the rules found there hold",
    status=200,
    whole_site=True,
    asks=("-yes",),
    never=("-no",),
)


def _sitemap(
    kind: str,
    why: str,
    content: Callable[[Site, str, str], bytes],
    *,
    asks: tuple[str, ...] = (),
    never: tuple[str, ...] = (),
    content_type: str = "application/xml",
    endless: bool = False,
) -> None:
    def install(site: Site, path: str, host: str | None, target: str) -> None:
        own = site.at("", host)
        site.page(path, host=host)
        for suffix in asks:
            site.page(path + suffix, host=host)
        site.robots(f"User-agent: *\nDisallow:\nSitemap: {own}{path}.xml\n", host=host)
        site.file(f"{path}.xml", content(site, own + path, target or "http://elsewhere.test"), content_type, host=host)
        site.serve(
            f"{path}.xml?*", lambda request: Response(content(site, own + path, target), 200, content_type), host=host
        )

    _add(
        kind, install, "sitemaps", (ANSWER,), why, status=200, whole_site=True, asks=asks, never=never, endless=endless
    )


def _urlset(*places: str, before: str = "") -> bytes:
    items = "".join(f"<url><loc>{place}</loc></url>" for place in places)
    return f'<?xml version="1.0"?>{before}<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{items}</urlset>'.encode()


def _mapindex(*places: str) -> bytes:
    items = "".join(f"<sitemap><loc>{place}</loc></sitemap>" for place in places)
    return f'<?xml version="1.0"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{items}</sitemapindex>'.encode()


_LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "ha" * 100}">' for n in range(10))
_sitemap(
    "sitemap_laughs",
    "a billion laughs",
    lambda site, url, target: _urlset(f"{url}-leaf", f"{url}-&l9;", before=f"<!DOCTYPE x [{_LAUGHS}]>"),
)
_sitemap(
    "sitemap_xxe",
    "an entity that is a file of ours",
    lambda site, url, target: _urlset(
        f"{url}-leaf", f"{url}-&f;", before='<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/hostname">]>'
    ),
)
_sitemap(
    "sitemap_external_dtd",
    "a DTD elsewhere is not fetched",
    lambda site, url, target: _urlset(f"{url}-leaf", before=f'<!DOCTYPE x SYSTEM "{url}-dtd">'),
    asks=("-leaf",),
    never=("-dtd",),
)
_sitemap("sitemap_self", "an index that holds itself", lambda site, url, target: _mapindex(f"{url}.xml"))
_sitemap(
    "sitemap_endless",
    "an index that always holds a new one",
    lambda site, url, target: _mapindex(*(f"{url}.xml?{random.SystemRandom().getrandbits(60)}" for _ in range(3))),
    endless=True,
)
_sitemap(
    "sitemap_other_host",
    "pages of another host are out of scope",
    lambda site, url, target: _urlset(f"{target}/x", f"{url}-leaf"),
    asks=("-leaf",),
)
_sitemap(
    "sitemap_schemes",
    "other schemes",
    lambda site, url, target: _urlset(
        "file:///etc/passwd", "javascript:1", "ftp://x.test/", "http://169.254.169.254/", "", f"{url}-leaf"
    ),
    asks=("-leaf",),
)
_sitemap(
    "sitemap_cut",
    "cut off inside an element: what came before counts",
    lambda site, url, target: _urlset(f"{url}-leaf", f"{url}-b")[:-40],
    asks=("-leaf",),
)
_sitemap("sitemap_html", "an error page instead", lambda site, url, target: html_page("404"), content_type="text/html")
_sitemap("sitemap_empty", "nothing", lambda site, url, target: b"")
_sitemap("sitemap_binary", "random bytes", lambda site, url, target: random.Random(5).randbytes(9_000))
_sitemap(
    "sitemap_text",
    "a plain list",
    lambda site, url, target: f"{url}-leaf\r\n\nnot a url\n".encode(),
    asks=("-leaf",),
    content_type="text/plain",
)
_sitemap(
    "sitemap_gzip",
    "gzip that says nothing of it",
    lambda site, url, target: _squash(_urlset(f"{url}-leaf")),
    asks=("-leaf",),
    content_type="application/octet-stream",
)
_sitemap(
    "sitemap_bomb",
    "a gzip bomb as a file",
    lambda site, url, target: _bomb_head(_urlset(f"{url}-leaf")) + _mebibyte_of(b" ") * 2_048,
    content_type="application/x-gzip",
)
_sitemap(
    "sitemap_blanks",
    "blanks, CDATA, comments, entities in addresses",
    lambda site, url, target: _urlset(f"\n  {url}-leaf \t", f"<![CDATA[{url}-b]]>", f"<!-- no -->{url}-c?x=1&amp;y=2"),
    asks=("-leaf", "-b", "-c?x=1&y=2"),
)
_sitemap(
    "sitemap_namespace",
    "prefixes and upper case",
    lambda site, url, target: (
        b'<s:urlset xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9"><s:url><s:loc>'
        + f"{url}-leaf".encode()
        + b"</s:loc></s:url></s:urlset>"
    ),
    asks=("-leaf",),
)
_sitemap(
    "sitemap_many",
    "60,000 addresses in one file: more than 50,000",
    lambda site, url, target: _urlset(*(f"{url}?n={n}" for n in range(60_000))),
    endless=True,
)
_sitemap(
    "sitemap_deep",
    "100,000 nested elements",
    lambda site, url, target: b"<a>" * 100_000 + f"<url><loc>{url}-leaf</loc></url>".encode(),
)

# --- traps: pages that never end


def _trap(
    kind: str, why: str, links: Callable[[str, str], Iterable[str]], body: Callable[[str], str] | None = None
) -> None:
    """A site below the path whose every page brings new ones: ``links(path, what is behind it)``."""

    def install(site: Site, path: str, host: str | None, target: str) -> None:
        def answer(request: Request) -> Response:
            text = body(request.path) if body else f"<p>{html.escape(request.path)}</p>"
            return Response(html_page(request.path, links(path, request.path[len(path) :]), body=text))

        for pattern in (path, f"{path}/*", f"{path}?*", f"{path};*", f"{path}//*"):
            site.serve(pattern, answer, host=host)

    _add(kind, install, "traps", (ANSWER,), why, status=200, endless=True)


def _noise(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}{zlib.adler32(text.encode()):08x}"


def _calendar(path: str, rest: str) -> list[str]:
    found = re.search(r"(\d+)[/-](\d+)", rest)
    month = int(found[1]) * 12 + int(found[2]) if found and len(found[1]) < 8 else 24_000
    return [f"{path}/{at // 12}/{at % 12}" for at in (month - 1, month + 1, month + 12)]


_trap("trap_calendar", "a calendar without end", _calendar)
_trap(
    "trap_calendar_query",
    "the same in the query",
    lambda path, rest: [f"{path}?date={place[len(path) + 1 :].replace('/', '-')}" for place in _calendar(path, rest)],
)
_trap(
    "trap_deep_path",
    "each page is one folder deeper",
    lambda path, rest: [f"{path}{rest.rstrip('/')}/{name}" for name in ("next", "more")],
)
_trap("trap_repeating_path", "folders that repeat", lambda path, rest: [f"{path}{rest.rstrip('/')}/a/b"])
_trap("trap_relative_path", "a relative link that forgot its slash", lambda path, rest: ["about/us/", "contact/"])
_trap("trap_numbers", "next page, for ever", lambda path, rest: [f"{path}/{_count(rest) + 1}"])
_trap("trap_numbers_query", "next page in the query", lambda path, rest: [f"{path}?page={_count(rest) + 1}"])
_trap(
    "trap_growing_query",
    "a query that grows",
    lambda path, rest: [f"{path}{rest}{'&' if '?' in rest else '?'}sort={len(rest)}"],
)
_trap(
    "trap_facets",
    "every order of every filter",
    lambda path, rest: [
        f"{path}{rest}{'&' if '?' in rest else '?'}{name}={value}"
        for name in ("size", "colour", "brand", "price")
        if name not in rest
        for value in range(12)
    ],
)
_trap(
    "trap_session",
    "a new session id on every page",
    lambda path, rest: [f"{path}/{n}?sid={_noise(rest + str(n))}" for n in range(5)],
    lambda where: f"<p>{where.partition('?')[0]}</p>",
)
_trap(
    "trap_session_path",
    "a session id in the path",
    lambda path, rest: [f"{path}/{n};jsessionid={_noise(rest + str(n)).upper()}" for n in range(5)],
    lambda where: f"<p>{where.partition(';')[0]}</p>",
)
_trap(
    "trap_random",
    "ten new random pages on every page",
    lambda path, rest: [f"{path}/{_noise(rest + str(n))}" for n in range(10)],
)
_trap(
    "trap_random_words",
    "new pages with speaking names",
    lambda path, rest: [
        f"{path}/{a}-{b}-{_noise(rest + a)[:5]}" for a in ("red", "old", "new") for b in ("house", "tree")
    ],
)
_trap("trap_slashes", "more slashes each time", lambda path, rest: [f"{path}{rest}//"])
_trap(
    "trap_same_body",
    "always the same body under a new address",
    lambda path, rest: [f"{path}/{_noise(rest)}"],
    lambda where: "<p>same</p>",
)
_trap(
    "trap_case",
    "the same page in other letters",
    lambda path, rest: [
        f"{path}/{''.join(c.upper() if (n >> i) & 1 else c for i, c in enumerate('abcdefghijkl'))}"
        for n in range(_count(rest), _count(rest) + 40)
    ],
    lambda where: "<p>same</p>",
)
_trap(
    "trap_escapes",
    "the same page in other escapes",
    lambda path, rest: [
        f"{path}/" + "".join(f"%{ord(c):02X}" if (n >> i) & 1 else c for i, c in enumerate("abcdefgh"))
        for n in range(256)
    ],
    lambda where: "<p>same</p>",
)
_trap(
    "trap_parameters",
    "an endless choice of parameters on one page",
    lambda path, rest: [f"{path}?id={_noise(rest + str(n))}" for n in range(20)],
)


def _trap_hosts(site: Site, path: str, host: str | None, target: str) -> None:
    def answer(request: Request) -> Response:
        names = [f"{_noise(request.host + str(n))}.{host or 'trap.test'}" for n in range(5)]
        return Response(html_page(request.host, [site.at(path, name) for name in names]))

    site.serve(path, answer)


_add("trap_hosts", _trap_hosts, "traps", (ANSWER,), "every page brings new host names", status=200, endless=True)


# --- connections: the whole server is like that


def _listener(
    kind: str, outcomes: Sequence[str], why: str, *, timeout: bool = False
) -> Callable[[Callable[[Line], Awaitable[bool]]], None]:
    def register(on_connect: Callable[[Line], Awaitable[bool]]) -> None:
        def install(site: Site, path: str, host: str | None, target: str) -> str:
            other = site.second(on_connect)
            other.page(path)
            return other.at(path, host)

        _add(kind, install, "connections", outcomes, why, timeout=timeout, listener=True)

    return register


@_listener("accept_close", LOST, "closes as soon as it accepts")
async def _accept_close(line: Line) -> bool:
    return False


@_listener("accept_reset", (*LOST, "CONNECT_FAILED", "CONNECT_REFUSED"), "resets as soon as it accepts")
async def _accept_reset(line: Line) -> bool:
    return await line.reset()


@_listener("accept_hang", SLOW, "accepts and never reads", timeout=True)
async def _accept_hang(line: Line) -> bool:
    return await line.hang()


@_listener("speaks_first", (ANSWER, *BAD, *LOST), "answers before it is asked: the real answers must not shift by one")
async def _speaks_first(line: Line) -> bool:
    await line.send(_poison())
    return True


@_listener("banner_first", (*BAD, *LOST), "a mail server that greets first")
async def _banner_first(line: Line) -> bool:
    await line.send(b"220 mail.test ESMTP ready\r\n")
    await line.hang(0.2)
    return False


def _refused(site: Site, path: str, host: str | None, target: str) -> str:
    return site.at(path, host).replace(f":{site.port}", f":{free_port(site.address)}")


_add("refused", _refused, "connections", ("CONNECT_REFUSED",), "nobody listens", listener=True)


def _backlog_full(site: Site, path: str, host: str | None, target: str) -> str:
    """A listener that never accepts and whose queue is full: Linux drops further SYNs."""
    port = free_port(site.address)
    listener = _listen(site.address, port, backlog=0)
    site._held.append(listener)
    for _ in range(4):
        filler = socket.socket(listener.family, socket.SOCK_STREAM)
        filler.setblocking(False)
        filler.connect_ex((site.address, port))
        site._held.append(filler)
    return site.at(path, host).replace(f":{site.port}", f":{port}")


_add(
    "backlog_full",
    _backlog_full,
    "connections",
    ("CONNECT_TIMEOUT", *SLOW),
    "never accepts",
    timeout=True,
    listener=True,
)


def _plain_on_https(site: Site, path: str, host: str | None, target: str) -> str:
    site.page(path, host=host)
    return site.at(path, host).replace("http://", "https://", 1)


_add(
    "plain_on_https",
    _plain_on_https,
    "tls",
    ("TLS_FAILED", *LOST, *BAD),
    "plain HTTP where TLS is expected",
    listener=True,
)

# --------------------------------------------------------------------------------------------------------------------
# TLS: a small authority of our own, by the openssl command.

TLS_KINDS: dict[str, Expectation] = {
    "good": Expectation("tls", frozenset({ANSWER}), "a certificate of the test authority", 200),
    "expired": Expectation("tls", frozenset({"TLS_CERTIFICATE"}), "over since yesterday"),
    "wrong_host": Expectation("tls", frozenset({"TLS_CERTIFICATE"}), "made out to another name"),
    "self_signed": Expectation("tls", frozenset({"TLS_CERTIFICATE"}), "signed by itself"),
    "unknown_authority": Expectation("tls", frozenset({"TLS_CERTIFICATE"}), "signed by an authority nobody trusts"),
    "client_certificate": Expectation("tls", frozenset({"TLS_CLIENT_CERTIFICATE"}), "asks for ours (G11)"),
}
"""Kinds of servers that `Authority.site` makes, with what is right for a crawl that trusts the authority."""


class Authority:
    """A certificate authority in a folder; needs the ``openssl`` command (`Authority.available`)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.certificate = folder / "ca.pem"
        self._root("ca")

    @staticmethod
    def available() -> bool:
        return shutil.which("openssl") is not None

    def issue(self, name: str, hosts: Sequence[str], *, days: int = 30, authority: str = "ca") -> Tls:
        """A certificate for hosts and addresses; ``days=-1`` is over already."""
        key, request, certificate = (self.folder / f"{name}.{end}" for end in ("key", "csr", "pem"))
        names = ",".join(f"{'IP' if re.fullmatch(r'[0-9.]+|.*:.*', host) else 'DNS'}:{host}" for host in hosts)
        self._openssl(
            "req",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-keyout",
            str(key),
            "-out",
            str(request),
            "-subj",
            f"/CN={name}",
            "-addext",
            f"subjectAltName={names}",
        )
        self._openssl(
            "x509",
            "-req",
            "-in",
            str(request),
            "-CA",
            f"{authority}.pem",
            "-CAkey",
            f"{authority}.key",
            "-CAcreateserial",
            "-days",
            str(days),
            "-copy_extensions",
            "copy",
            "-out",
            str(certificate),
        )
        return Tls(certificate, key)

    def client(self, name: str = "client") -> Tls:
        """A certificate for a client; ``bundle`` of it is what `--cert` takes."""
        return self.issue(name, [f"{name}.test"])

    def bundle(self, tls: Tls) -> Path:
        """One file with certificate and key."""
        place = tls.certificate.with_suffix(".both.pem")
        place.write_bytes(tls.certificate.read_bytes() + tls.key.read_bytes())
        return place

    def site(self, kind: str, host: str = "secure.test") -> Site:
        """A site of one of the `TLS_KINDS`, not started."""
        names = [host, "127.0.0.1", "::1"]
        if kind == "expired":
            tls = self.issue("expired", names, days=-1)
        elif kind == "wrong_host":
            tls = self.issue("wrong", ["other.invalid"])
        elif kind == "self_signed":
            tls = self._root("self", names)
        elif kind == "unknown_authority":
            self._root("unknown")
            tls = self.issue("stranger", names, authority="unknown")
        else:
            tls = self.issue("good", names)
            if kind == "client_certificate":
                tls = Tls(tls.certificate, tls.key, self.certificate)
        return Site(host=host, tls=tls)

    def _root(self, name: str, hosts: Sequence[str] = ()) -> Tls:
        key, certificate = self.folder / f"{name}.key", self.folder / f"{name}.pem"
        names = ",".join(f"{'IP' if re.fullmatch(r'[0-9.]+|.*:.*', host) else 'DNS'}:{host}" for host in hosts)
        extra = ["-addext", f"subjectAltName={names}"] if names else []
        self._openssl(
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-keyout",
            str(key),
            "-out",
            str(certificate),
            "-days",
            "30",
            "-subj",
            f"/CN=weft test {name}",
            *extra,
        )
        return Tls(certificate, key)

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True, timeout=30)


# --------------------------------------------------------------------------------------------------------------------
# Names: a small DNS server, for names that move, vanish, or lead to forbidden addresses.

_REFUSALS = {"servfail": 2, "nxdomain": 3, "refused": 5}


class NameServer:
    """A DNS server on a free UDP port; unknown names do not exist.

    ``names.add("a.test", "127.0.0.1")``; ``names.rotate("rebind.test", ["127.0.0.1"], ["10.0.0.1"])`` answers anew each
    time (the last one stays); ``names.fail("x.test", kind)`` with nxdomain, servfail, refused, silent, garbage or
    empty. A name may begin with ``*.``.
    """

    def __init__(self, address: str = "127.0.0.1") -> None:
        self.address = address
        self.port = free_port(address)
        self.queries: list[tuple[str, str]] = []  # name, type
        self._answers: dict[str, list[list[str]]] = {}
        self._failures: dict[str, str] = {}
        self._aliases: dict[str, str] = {}
        self._ttl: dict[str, int] = {}
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
            if answer is not None:
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
