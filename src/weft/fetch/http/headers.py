"""What is asked: the header lines of a request, secrets only for those they belong to."""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable

from weft.errors import SpecError
from weft.fetch.cookies import Cookies
from weft.records import Asked, Lease
from weft.spec import CrawlSpec, Identity, Network
from weft.text.version import __version__
from weft.url import origin_of, site_and_path_of

ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
ACCEPT_ENCODING = "gzip, deflate, br, zstd"


def user_agent_of(identity: Identity) -> str:
    """The User-Agent header: the user's own text, or weft's with the contact in it."""
    if identity.user_agent:
        return identity.user_agent
    return f"weft/{__version__} (+{identity.contact or 'a web crawler; its operator gave no contact'})"


class RequestHeaders:
    """The header lines of every request: fixed order, and secrets only for those they belong to (promise 8).

    A ``Cookie`` or ``Authorization`` that the user gives as a plain header belongs to the seeds' origins, a
    ``Proxy-Authorization`` to the proxy alone.
    """

    def __init__(
        self, spec: CrawlSpec, jar: Cookies | None, seed_origins: frozenset[str], epoch_ms: Callable[[], int]
    ) -> None:
        self._jar = jar
        self._epoch_ms = epoch_ms
        self._seed_origins = seed_origins
        self.plain, self._secret = _base_lines(spec.identity)
        self._by_name = {line.partition(b":")[0].decode("latin-1").lower(): line for line in self.plain}
        self._plain_block = b"".join([line + b"\r\n" for line in self.plain])
        self._passwords = _parse_auth(spec.network, seed_origins)
        self._place, self._path_at, self._behind_path = "-", 0, b""  # of the origin shown last: all but the path

    def lines(self, lease: Lease) -> list[bytes]:
        """All header lines but Host: ``plain`` itself for every lease that needs nothing of its own."""
        own = self._validators(lease) if lease.etag or lease.last_modified else []
        plain = self.plain if lease.asked is None else self._merged(lease.asked)
        if self._passwords or self._secret or (self._jar is not None and not self._jar.is_empty):
            own += self._secrets(lease.url)
        return plain + own if own else plain

    def _merged(self, asked: Asked) -> list[bytes]:
        """Our lines and those of a page's script, which replace ours but for who we are and what the user says."""
        theirs = {
            name.lower(): _wire(name) + b": " + _wire(value) for name, value in asked.lines if _is_sound(name, value)
        }
        theirs.update((name, line) for name, line in self._by_name.items() if name != "accept" or name not in theirs)
        if asked.body:
            theirs["expect"] = b"Expect:"  # libcurl would wait for a leave to send it
        return list(theirs.values())

    def shown_head(self, lease: Lease) -> bytes:
        """The request as it went out, for the archive, without cookies and credentials."""
        url = lease.url
        if url.startswith(self._place):
            path = url[self._path_at :]
        else:
            site, path = site_and_path_of(url)
            self._path_at = len(url) - len(path)
            self._place = url[: self._path_at] + "/"
            self._behind_path = b" HTTP/1.1\r\nHost: %b\r\n%b" % (site.encode(), self._plain_block)
        own, method = b"", b"GET"
        if lease.asked is not None:
            method = lease.asked.method.encode()
            secret = ("authorization", "cookie")
            lines = [
                _wire(name) + b": " + _wire(value) + b"\r\n"
                for name, value in lease.asked.lines
                if _is_sound(name, value) and name.lower() not in self._by_name and name.lower() not in secret
            ]
            own = b"".join(lines)
        if lease.etag or lease.last_modified:
            own = b"".join([line + b"\r\n" for line in self._validators(lease)])
        return b"%b %b%b%b\r\n" % (method, path.encode(), self._behind_path, own)

    def _validators(self, lease: Lease) -> list[bytes]:
        own: list[bytes] = []
        if lease.etag and lease.etag.isprintable():
            own.append(b"If-None-Match: " + _wire(lease.etag))
        if lease.last_modified and lease.last_modified.isprintable():
            own.append(b"If-Modified-Since: " + _wire(lease.last_modified))
        return own

    def _secrets(self, url: str) -> list[bytes]:
        own: list[bytes] = []
        cookies: list[bytes] = []
        password = b""
        if self._passwords:
            password = self._passwords.get(origin_of(url), b"")
        if self._secret and origin_of(url) in self._seed_origins:
            for name, value in self._secret:
                if name == _PROXY_SECRET:
                    continue
                if name == "cookie":
                    cookies.append(value)
                elif not (name == "authorization" and password):
                    own.append(name.title().encode() + b": " + value)
        if self._jar is not None and (kept := self._jar.header_for(url, self._epoch_ms() / 1000)):
            cookies.append(_wire(kept))
        if cookies:
            own.append(b"Cookie: " + b"; ".join(cookies))
        if password:
            own.append(b"Authorization: Basic " + password)
        return own


def _is_sound(name: str, value: str) -> bool:
    """Whether a header line can be sent as it is."""
    return name.isascii() and name.isprintable() and ":" not in name and not any(sign in value for sign in "\r\n\0")


def _wire(text: str) -> bytes:
    """A header's text as bytes: what came as latin-1 goes back as it was, the rest as UTF-8."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8")


_DEFAULT_PORTS = (("https", ":443"), ("http", ":80"))
_PROXY_SECRET = "proxy-authorization"
_SECRET_NAMES = ("authorization", "cookie", _PROXY_SECRET)
_CONNECTION_NAMES = ("host", "content-length", "transfer-encoding", "connection", "te", "upgrade", "expect")


def _base_lines(identity: Identity) -> tuple[list[bytes], list[tuple[str, bytes]]]:
    """The lines that every request has, and the secret headers apart. The user's replace ours of the same name."""
    ours = {
        "user-agent": ("User-Agent", user_agent_of(identity)),
        "accept": ("Accept", ACCEPT),
        "accept-encoding": ("Accept-Encoding", ACCEPT_ENCODING),
    }
    if identity.contact:
        ours["from"] = ("From", identity.contact)
    lines = list(ours.values())
    secret: list[tuple[str, bytes]] = []
    for line in identity.headers:
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or not name or name.lower() in _CONNECTION_NAMES:
            raise SpecError(f"--header {name[:80]!r}: no header of the form 'Name: value' that could be sent")
        if name.lower() in _SECRET_NAMES:
            secret.append((name.lower(), _wire(value)))
            continue
        if name.lower() in ours:
            lines.remove(ours.pop(name.lower()))
        lines.append((name, value))
    for name, value in lines:
        if not (name.isascii() and name.isprintable()) or any(c in value for c in "\r\n\0"):
            raise SpecError(f"the header {name[:80]!r} holds characters that cannot be sent")
    return [_wire(name) + b": " + _wire(value) for name, value in lines], secret


def proxy_lines(identity: Identity) -> list[bytes]:
    """The header lines that are for the proxy alone: what the user gives as ``Proxy-Authorization``."""
    _, secret = _base_lines(identity)
    return [b"Proxy-Authorization: " + value for name, value in secret if name == _PROXY_SECRET]


def _parse_auth(network: Network, seed_origins: frozenset[str]) -> dict[str, bytes]:
    """Credentials by origin. They go over plain http only where the seeds do not name that site by https.

    A host without a port is also meant where a seed names it with one.
    """
    found: dict[str, bytes] = {}
    for text in network.auth:
        person, at, site = text.rpartition("@")
        if not at or ":" not in person:
            raise SpecError("--auth: the form is USER:PASSWORD@HOST, or HOST:PORT")  # the text itself is a secret
        token = b2a_base64(person.encode(), newline=False)
        site = site.lower()
        default_of = next((scheme for scheme, port in _DEFAULT_PORTS if site.endswith(port)), None)
        if default_of is not None:
            site = site.rpartition(":")[0]
            found[f"{default_of}://{site}"] = token
            continue
        found[f"https://{site}"] = token
        if f"https://{site}" not in seed_origins or f"http://{site}" in seed_origins:
            found[f"http://{site}"] = token
        for origin in seed_origins:
            host, colon, port = origin.partition("://")[2].rpartition(":")
            if colon and port.isdecimal() and host == site:
                found.setdefault(origin, token)
    return found
