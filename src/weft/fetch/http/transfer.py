"""One request: a libcurl handle with its buffers and callbacks."""

from __future__ import annotations

import socket
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import pycurl

from weft.fetch.http.answer import final_head, parse_head, told_length
from weft.fetch.http.causes import Progress
from weft.fetch.http.watch import received_b
from weft.fetch.resolve import address_of_host
from weft.fetch.robots import MAX_BODY_B as ROBOTS_B
from weft.records import CHECK, FILE, PAGE, Asked, Lease, Purpose
from weft.spec import MAX_SITEMAP_B
from weft.url import host_of, request_target_of

if TYPE_CHECKING:
    from weft.fetch.http.fetcher import Fetcher

_ROBOTS = Purpose.ROBOTS
FLOOD_B, FLOOD_SHARE = 1 << 20, 8  # more than this, and so many times the body that is kept, is no answer


class Terms(msgspec.Struct, frozen=True):
    """The options of a handle that may change from request to request."""

    lines: list[bytes]
    insecure: bool
    address: str
    connect_ms: int
    whole_ms: int
    fresh: bool  # on a new connection
    alone: bool  # on one of its own, in HTTP/1.1


class Heard(msgspec.Struct, frozen=True):
    """How much had come in on a connection when its last answer ended."""

    fd: int
    size_b: int


class Transfer:
    """A pooled libcurl handle with its buffers. Options that stay the same from request to request are set once."""

    def __init__(self, fetcher: Fetcher, certified: bool) -> None:
        self._fetcher = fetcher
        self._is_own = False  # the last request had a method, a body or header lines of its own
        self.certified = certified  # shows the user's certificate to those who ask; cannot be taken back
        self.lease: Lease = NO_LEASE
        self.added = False  # libcurl has it
        self.head: list[bytes] = []
        self.body: list[bytes] = []
        self.held_b = 0
        self.max_size_b = 0  # of the body, as it comes and unpacked
        self.cut = False
        self.heard: Heard | None = None  # of a connection that was used before, where it has to be looked at
        self.had_b = 0  # what had come in on it before
        self.early = False  # the answer had come before it was asked for
        self.refusal = ""  # why the last address was not connected to
        self.trouble = ""  # what this machine lacked
        self.addresses: tuple[str, ...] = ()
        self.sendings = 0  # how often libcurl has sent the request
        self.renewed = False  # begun once more, on a new connection
        self.started_ms = 0
        self.deadline_s = 0.0
        self._seen_b: int | None = None  # what had come in on the connection before, as far as ``floods`` knows
        self._opened: socket.socket | None = None
        self.probing = False
        self.saw_certificate_wish = False
        self._sessions: Any = None  # the cache that the handle uses
        self._terms: Terms | None = None  # what the handle's changing options stand at
        self.usual_for: tuple[str, ...] | None = None  # the addresses, where these are the usual terms for them
        self.curl = fetcher.new_handle(certified)
        self._set, self.tell = self.curl.setopt, self.curl.getinfo  # pycurl looks its methods up slowly
        self.curl.setopt(pycurl.WRITEFUNCTION, self._write)
        self.curl.setopt(pycurl.HEADERFUNCTION, self.head.append)
        self.curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open_socket)
        self.curl.setopt(pycurl.SOCKOPTFUNCTION, self._socket_opened)
        self.curl.setopt(pycurl.PREREQFUNCTION, partial(fetcher.before_sending, self))

    def begin(self, addresses: tuple[str, ...]) -> None:
        """Make ready for the lease; raises ``pycurl.error`` for what libcurl does not take."""
        lease = self.lease
        url = lease.url
        secure = url.startswith("https:")
        self.max_size_b = self._fetcher.max_size_b if lease.purpose is PAGE else self._bound_of(lease.purpose)
        self.addresses = addresses
        self.renewed = False
        self._set(pycurl.URL, url)
        if secure:
            sessions = self._fetcher.session_cache(host_of(url))
            if sessions is not self._sessions:
                if self._sessions is not None:
                    self.curl.unsetopt(pycurl.SHARE)
                self.curl.setopt(pycurl.SHARE, sessions)
                self._sessions = sessions
        if lease.asked is not None or self._is_own:
            self._ask(lease.asked)
        # libcurl writes %2e as %2E in the URL's path; what was found is asked. A proxy needs the whole URL.
        whole = self._fetcher.proxied and not secure
        self._set(pycurl.REQUEST_TARGET, url if whole else request_target_of(url))
        # An error in TLS on the first attempt may have been the wish for a certificate: listen at the next.
        if self.probing or (secure and lease.attempt > 1):
            self.listen(secure and lease.attempt > 1)

    def _bound_of(self, purpose: Purpose) -> int:
        """The most that counts of a body. robots.txt and sitemaps have bounds of their own, however small pages are."""
        if purpose is _ROBOTS:
            return ROBOTS_B
        if purpose is FILE:
            return self._fetcher.max_file_b
        if purpose is CHECK:
            return 0
        return MAX_SITEMAP_B if purpose is Purpose.SITEMAP else self._fetcher.max_size_b

    def _ask(self, asked: Asked | None) -> None:
        """Set the method and the body of a request; None: those of any other."""
        curl, method = self.curl, asked.method if asked is not None else "GET"
        self._is_own = asked is not None
        curl.setopt(pycurl.NOBODY, method == "HEAD")
        if asked is not None and asked.body:
            curl.setopt(pycurl.POSTFIELDS, asked.body)
        elif method != "HEAD":
            curl.setopt(pycurl.HTTPGET, 1)
        if method in ("GET", "HEAD") and not (asked is not None and asked.body):
            curl.unsetopt(pycurl.CUSTOMREQUEST)
        else:
            curl.setopt(pycurl.CUSTOMREQUEST, method)

    def agree(self, terms: Terms) -> None:
        """Set the options that may differ from the handle's last request, where they do."""
        before = self._terms
        if terms == before:
            return
        curl = self.curl
        self._terms = None  # not known, should libcurl refuse one
        if before is None or terms.lines is not before.lines:
            curl.setopt(pycurl.HTTPHEADER, terms.lines)
        curl.setopt(pycurl.SSL_VERIFYPEER, 0 if terms.insecure else 1)
        curl.setopt(pycurl.SSL_VERIFYHOST, 0 if terms.insecure else 2)
        if terms.address:
            shown = f"[{terms.address}]" if ":" in terms.address else terms.address
            curl.setopt(pycurl.CONNECT_TO, [f"::{shown}:"])
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, terms.connect_ms)
        curl.setopt(pycurl.TIMEOUT_MS, terms.whole_ms)
        curl.setopt(pycurl.FRESH_CONNECT, terms.fresh)
        curl.setopt(pycurl.FORBID_REUSE, terms.alone)
        curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1 if terms.alone else self._fetcher.http_version)
        self._terms = terms

    def listen(self, on: bool) -> None:
        """Listen to libcurl's talk about the handshake, to learn whether the server wishes for a certificate."""
        if on:
            self.saw_certificate_wish = False
            self.curl.setopt(pycurl.DEBUGFUNCTION, self._overhear)
        if on != self.probing:
            self.curl.setopt(pycurl.VERBOSE, 1 if on else 0)
        self.probing = on

    def clear(self) -> None:
        """Forget the answer, keep the handle."""
        self.head.clear()
        self.body = []
        self._fetcher.held_b -= self.held_b
        self.held_b = 0
        self.cut = self.early = False
        self.heard = None
        self.had_b = 0
        self.refusal = self.trouble = ""
        self.sendings = 0
        self._seen_b = None

    @property
    def ip(self) -> str:
        """The address that is, or was last, connected to; empty behind a proxy."""
        return self.addresses[0] if self.addresses else ""

    def response_ms(self) -> int:
        """From the request's sending to the last byte."""
        total = self.curl.getinfo(pycurl.TOTAL_TIME_T) - self.curl.getinfo(pycurl.PRETRANSFER_TIME_T)
        return max(int(total) // 1000, 0)

    def progress(self) -> Progress:
        """How far the transfer came; only before the handle leaves libcurl's hands."""
        curl = self.curl
        return Progress(
            sent=curl.getinfo(pycurl.REQUEST_SIZE) > 0,
            answered=bool(self.head),
            head_complete=final_head(self.head) is not None,
            proxied=self._fetcher.proxied,
            errno=curl.getinfo(pycurl.OS_ERRNO),
        )

    def floods(self) -> bool:
        """Whether far more has come in than an answer of HTTP/1 may have.

        libcurl bounds headers, trailers and, here, the body; but it reads over the extensions of a chunk (RFC 9112
        7.1.1) for as long as they come. A body in chunks of one byte has five more with each.
        """
        if not self.head or not self.head[0].startswith(b"HTTP/1"):  # the streams of HTTP/2 share their connection
            return False
        size_b = received_b(self.curl.getinfo(pycurl.ACTIVESOCKET))
        if self._seen_b is None:
            self._seen_b = 0 if self.curl.getinfo(pycurl.NUM_CONNECTS) else size_b
        return size_b - self._seen_b > FLOOD_B + FLOOD_SHARE * self.max_size_b

    def came_too_early(self) -> bool:
        """Whether some of what was read had come in before it was asked for: then it is another one's answer.

        TLS reads ahead: what a server sends behind an answer is taken off the socket, where nobody sees it wait, and
        libcurl takes it for the next answer. But nothing is shorter in TLS than it is without, so at least as much must
        have come in since the last answer as was read since.
        """
        heard, self.heard = self.heard, None
        if heard is None:
            return False
        has_b = received_b(heard.fd)
        self.early = 0 < has_b < heard.size_b + sum(map(len, self.head)) + self.held_b
        return self.early

    # Callbacks of libcurl: they must not raise.

    def _write(self, chunk: bytes) -> int | None:
        fetcher = self._fetcher
        if fetcher.tight and fetcher.must_wait(self):
            return int(pycurl.WRITEFUNC_PAUSE)
        room_b = self.max_size_b - self.held_b
        if self.lease.purpose is FILE and not self.held_b and told_length(self.head) > self.max_size_b:
            room_b = 0  # nothing is kept in part, so nothing is received
        if len(chunk) > room_b and (room_b := self._room_of_file(room_b)) < len(chunk):
            self.cut = True
            chunk = chunk[:room_b]
        size_b = len(chunk)
        self.body.append(chunk)
        self.held_b += size_b
        fetcher.held_b += size_b
        if fetcher.held_b > fetcher.max_held_b or fetcher.is_metered:
            fetcher.account(size_b)
        if self.cut or (self.heard is not None and self.came_too_early()):
            return 0  # ends the transfer: nothing more is read, and the connection is closed
        return None

    def _room_of_file(self, room_b: int) -> int:
        """The room where the answer for a page turns out to be a file: it has the bound of files then."""
        fetcher = self._fetcher
        if self.lease.purpose is not PAGE or self.max_size_b >= fetcher.max_file_b or fetcher.is_file_type is None:
            return room_b
        head = parse_head(self.head)
        media = dict(head.headers).get("content-type", "") if head is not None else ""
        if fetcher.is_file_type(media.partition(";")[0].strip().lower()):
            self.max_size_b = fetcher.max_file_b
        return self.max_size_b - self.held_b

    def _open_socket(self, purpose: int, address: Any) -> socket.socket | int:
        """A socket for an address that may be connected to: the last check, on what is really connected to."""
        family, kind, protocol, peer = address
        if not self._fetcher.proxied:
            ip = peer[0] if isinstance(peer, tuple) else "?"
            refusal = self._fetcher.policy.refusal(host_of(self.lease.url), ip)
            if refusal is None and self.addresses and address_of_host(ip) != self.addresses[0]:
                refusal = f"{ip} is not the address that was asked for"
            if refusal is not None:
                self.refusal = refusal
                return int(pycurl.SOCKET_BAD)
        try:
            opened = self._opened = socket.socket(family, kind, protocol)
            return opened
        except OSError as error:  # no descriptor left, or no such family on this machine
            self.trouble = str(error)
            return int(pycurl.SOCKET_BAD)

    def _socket_opened(self, fd: int, purpose: int) -> int:
        if self._opened is not None:
            self._opened.close()  # pycurl has made a copy of its own
            self._opened = None
        self._fetcher.socket_opened(fd)
        return int(pycurl.SOCKOPT_OK)

    def _overhear(self, kind: int, text: bytes) -> None:
        if kind == pycurl.INFOTYPE_TEXT and b"Request CERT" in text:
            self.saw_certificate_wish = True


NO_LEASE = Lease(0, "", 0)
