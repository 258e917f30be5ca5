"""Checks of single texts: each returns the text in its normal form, or raises ValueError saying what is accepted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from weft.spec import Record, ScopeKind
from weft.text.patterns import regex

_HEADER_NAME = regex(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_TIME = regex(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ")
_TIME_B = 25
_LOG_BEGINS = b"time,purpose,url,"  # as the logs of ``observe`` do, which options need not load


def nearest(name: str, names: Iterable[str]) -> str:
    """The known name that looks most like ``name``; there is always one."""
    known = {key.lower().replace("_", "-"): key for key in names}
    from difflib import get_close_matches

    return known[get_close_matches(name.lower().replace("_", "-"), known, n=1, cutoff=0.0)[0]]


def regular_expression(pattern: str) -> str:
    """The pattern, when RE2 takes it."""
    import re2

    settings = re2.Options()
    settings.log_errors = False
    try:
        re2.compile(pattern, settings)
    except re2.error as error:
        reason = error.args[0] if error.args else "not understood"
        reason = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise ValueError(
            f"{shown(pattern)} is not a regular expression that RE2 takes ({reason}); look-ahead, look-behind and "
            "back-references do not exist there"
        ) from None
    return pattern


def country(text: str) -> str:
    """The two letters of a country whose phone numbers are known."""
    import phonenumbers

    code, known = text.upper(), phonenumbers.SUPPORTED_REGIONS
    if code not in known:
        raise ValueError(f"{shown(text)} is no country with phone numbers (nearest: {nearest(code, known)})")
    return code


def named_expression(line: str) -> str:
    """``NAME=REGEX``, when RE2 takes the expression."""
    name, expression = _named(line, r"[\w-]+(?:@html)?", "NAME=REGEX or NAME@html=REGEX")
    return f"{name}={regular_expression(expression)}"


def named_selector(line: str) -> str:
    """``NAME=CSS``, when the selector can be used."""
    from weft.text.selectors import css

    name, selector = _named(line, r"[\w-]+", "NAME=CSS")
    css(selector)
    return f"{name}={selector}"


def named_xpath(line: str) -> str:
    """``NAME=XPATH``, when the path can be used."""
    from weft.text.selectors import xpath

    name, path = _named(line, r"[\w-]+", "NAME=XPATH")
    xpath(path)
    return f"{name}={path}"


def usable_record(record: Record) -> Record:
    """The record, when its selectors can be used."""
    from weft.text.selectors import css, xpath

    _check_kind(record.name)
    if css(record.each).attribute:
        raise ValueError(f"{record.name}: each: {record.each!r} finds attributes; a record is an element")
    for field in record.fields:
        check = {"css": css, "xpath": xpath, "pattern": regular_expression}[field.how]
        try:
            check(field.what)
        except ValueError as error:
            raise ValueError(f"{record.name}: {field.name}: {error}") from None
    return record


def _named(line: str, form: str, accepts: str) -> tuple[str, str]:
    name, equals, rest = line.partition("=")
    if not equals or not re.fullmatch(form, name.strip()) or not rest.strip():
        raise ValueError(f"{shown(line)} is not {accepts}")
    _check_kind(name.strip())
    return name.strip(), rest.strip()


def _check_kind(name: str) -> None:
    if name.partition("@")[0] in ("email", "phone", "social", "find"):
        raise ValueError(f"{shown(name)} is the name of weft's own kind of items: take another one")


def header(line: str) -> str:
    """``Name: value``, one blank between."""
    name, colon, value = line.partition(":")
    if not colon or not _HEADER_NAME.fullmatch(name):
        raise ValueError(f"{shown(line)} is not a header; the form is 'Name: value'")
    if name.lower() in {"host", "content-length", "transfer-encoding", "connection", "te", "upgrade"}:
        raise ValueError(f"the header {name} belongs to the connection and cannot be set")
    if name.lower() == "user-agent":
        raise ValueError("the user agent is set by --user-agent")
    return f"{name}: {value.strip()}"


def header_name(line: str) -> str:
    return line.partition(":")[0].strip().lower()


def network(cidr: str) -> str:
    """A network in its normal form; one address is a network of one."""
    import ipaddress

    try:
        return str(ipaddress.ip_network(cidr, strict=False))
    except ValueError:
        raise ValueError(f"{shown(cidr)} is not a network such as 10.0.0.0/8, 192.168.1.7 or fd00::/8") from None


def host_with_port(text: str) -> str:
    """A host as URLs write it, with its port where one was given."""
    if "/" in text:
        raise ValueError(f"{shown(text)} is not a host; www.example.org or www.example.org:8443 is accepted")
    host, port = _split_port(text)
    return canonical_host(host) + (f":{port}" if port else "")


def canonical_host(text: str) -> str:
    """The host in lower case and ASCII (IPv6 in brackets), or ValueError."""
    from weft import url

    bare = f"[{text}]" if text.count(":") > 1 and not text.startswith("[") else text
    parsed = url.parse(f"http://{bare}/") if bare and not set(bare) & set("/?#@\\ ") else None
    if parsed is None or not parsed.startswith("http://") or not parsed.endswith("/"):
        raise ValueError(f"{shown(text)} is not a host such as www.example.org or 192.0.2.1")
    host = parsed[len("http://") : -1]
    if host.rpartition(":")[2].isdigit() and not host.endswith("]"):
        raise ValueError(f"{shown(text)} is a host with a port; the host alone is accepted")
    return host


def resolution(text: str) -> str:
    """``HOST=ADDRESS``; the host may be ``*`` or begin with ``*.``."""
    import ipaddress

    host, equals, address = text.rpartition("=")
    try:
        if not equals:
            raise ValueError
        star = next((prefix for prefix in ("*.", "*") if host.startswith(prefix)), "")
        name = canonical_host(host[len(star) :]) if host != "*" else ""
        if star == "*" and name:
            raise ValueError
        return f"{star}{name}={ipaddress.ip_address(address.strip().strip('[]'))}"
    except ValueError:
        raise ValueError(
            f"{shown(text)} is not of the form HOST=ADDRESS, such as example.org=192.0.2.1 or *.test=127.0.0.1"
        ) from None


def nameserver(text: str) -> str:
    """An address, with its port where one was given."""
    import ipaddress

    try:
        host, port = _split_port(text)
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        raise ValueError(
            f"{shown(text)} is not the address of a name server, such as 192.0.2.53 or [::1]:5353"
        ) from None
    if not port:
        return str(address)
    return f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"


def scope(text: str) -> str:
    """One of the scopes, ``suffix:`` with a domain behind it."""
    names = [kind.value for kind in ScopeKind if kind is not ScopeKind.SUFFIX]
    name, colon, rest = text.lower().partition(":")
    if name == ScopeKind.SUFFIX and rest.strip("."):
        return f"suffix:{canonical_host(rest.strip('.'))}"
    if text.lower() in names and not colon:
        return text.lower()
    raise ValueError(
        f"{shown(text)} is not a scope: {', '.join(names)} or suffix:NAME such as suffix:gov.si "
        f"(nearest: {nearest(text, (*names, 'suffix:NAME'))})"
    )


def credentials(text: str) -> str:
    """``USER:PASSWORD@HOST``. The text is a secret, so no message repeats it."""
    person, at, host = text.rpartition("@")
    if not at or ":" not in person or person.startswith(":"):
        raise ValueError("the credentials are not of the form USER:PASSWORD@HOST")
    try:
        return f"{person}@{host_with_port(host)}"
    except ValueError:
        raise ValueError(
            "the credentials are not of the form USER:PASSWORD@HOST (HOST is a host, or host:port)"
        ) from None


def proxy(text: str) -> str:
    """The URL of a proxy. It may hold a password, so no message repeats it."""
    from urllib.parse import urlsplit

    kinds = ("http", "https", "socks4", "socks4a", "socks5", "socks5h")
    wrong = f"the proxy is not a URL such as http://proxy.example:3128 ({', '.join(kinds)})"
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        if parts.scheme not in kinds or not parts.hostname or parts.path.strip("/") or parts.query or parts.fragment:
            raise ValueError(wrong)
        if parts.port == 0:
            raise ValueError(wrong)
    except ValueError:
        raise ValueError(wrong) from None
    return parts.geturl()


def _split_port(text: str) -> tuple[str, str]:
    """Host and port; the port is empty where none is given."""
    host, colon, port = text.rpartition(":")
    if not colon or (":" in host and not host.endswith("]")):
        return text, ""
    if not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65_536):
        raise ValueError(f"{shown(text)} has no port from 1 to 65535 behind its colon")
    return host, str(int(port))


def shown(raw: object) -> str:
    """The value as a person wrote it, quoted, not too long."""
    quoted = repr(raw) if isinstance(raw, str) else str(raw)
    return quoted if len(quoted) <= 100 else f"{quoted[:97]}..."


def certificates(path: Path) -> None:
    """Raises ValueError where a file holds no certificates to trust."""
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except ssl.SSLError:
        raise ValueError(f"there is no certificate in {path}: it has to be PEM") from None


def certificate_with_key(path: Path) -> None:
    """Raises ValueError where a file is no certificate with its key, or where a password locks the key."""
    import ssl

    def locked() -> str:
        raise ValueError(f"a password locks the key in {path}; weft cannot ask for it")

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(path, password=locked)
    except ssl.SSLError:
        raise ValueError(f"there is no certificate with its key in {path}: both have to be PEM, in one file") from None


def log_to_go_on_with(path: Path) -> None:
    """Raises ValueError where there is a file that is no log of weft's: nothing of somebody else's is written on."""
    first = _beginning_of(path, len(_LOG_BEGINS))
    if first and first != _LOG_BEGINS:
        raise ValueError(f"{path} is there, and is no log of weft's: name another file")


def words_to_go_on_with(path: Path) -> None:
    """Raises ValueError where there is a file that is no `--log-file` of weft's, whose lines begin with a time."""
    first = _beginning_of(path, _TIME_B)
    if first and not _TIME.fullmatch(first):
        raise ValueError(f"{path} is there, and is no log of weft's: name another file")


def _beginning_of(path: Path, size_b: int) -> bytes:
    """The first bytes of a file; none where there is no plain file, or it cannot be read."""
    if not path.is_file():  # a pipe would keep us waiting
        return b""
    try:
        with path.open("rb") as stream:
            return stream.read(size_b)
    except OSError:  # whoever writes it says what is wrong
        return b""


def text_file(path: Path) -> None:
    """Raises ValueError where a file is no text."""
    try:
        path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text") from None


def viewport(text: str) -> str:
    """The size of a window, or ValueError."""
    width, cross, height = text.partition("x")
    sizes = [int(part) for part in (width, height) if part.isascii() and part.isdecimal()]
    if text != "mobile" and not (cross and len(sizes) == 2 and all(100 <= size <= 10_000 for size in sizes)):
        raise ValueError(f"{text!r} is not WIDTHxHEIGHT, each from 100 to 10000, or mobile")
    return text


def blocked_types() -> tuple[str, ...]:
    """What pages load and can do without."""
    return ("image", "media", "font", "stylesheet", "script", "xhr", "document")
