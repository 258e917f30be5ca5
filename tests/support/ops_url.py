"""The vector ops about URLs, answered by ``weft.url``."""

from __future__ import annotations

import re
from collections.abc import Callable

from weft.url import DEFAULT_RULES, Normalizer, encode_query, host_of, origin_of, parse, resolve

FAILURE = {"failure": True}
_AUTHORITY_ONLY = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.\-]*:)?//[^/\\?#]+")
_SPECIAL = {"http", "https", "ws", "wss", "ftp"}


class Sameness(dict[str, str]):
    """``{"class": "must-merge"}`` or ``{"class": "must-not-merge"}``; true for the first."""

    def __bool__(self) -> bool:
        return self["class"] == "must-merge"


def parse_op(given: dict[str, object]) -> object:
    base, text = given.get("base"), str(given["input"])
    href = _absolute(text) if base is None else resolve(str(base), text)
    return FAILURE if href is None else _parts(href)


def host_to_ascii_op(given: dict[str, object]) -> object:
    if given["host"] == "":
        return ""  # no URL with this host reaches the domain parser
    url = parse(f"https://{given['host']}/x")
    return FAILURE if url is None else host_of(url)


def query_percent_encode_op(given: dict[str, object]) -> object:
    return encode_query(str(given["text"]), str(given["encoding"]))


def resolve_op(given: dict[str, object]) -> object:
    """The suites behind this op write references by RFC 3986: a bare authority gets no slash, and a reference that
    cannot be resolved stays as it is where ``resolve`` says None."""
    base, ref = str(given["base"] or ""), str(given["ref"])
    if not ref:
        return base  # with its fragment, which browsers leave out
    url = resolve(base, ref)
    if url is None:
        return ref
    return url.removesuffix("/") if _AUTHORITY_ONLY.fullmatch(ref) else url


def same_resource_op(given: dict[str, object]) -> object:
    key = Normalizer(DEFAULT_RULES).key
    first, second = parse(str(given["a"])), parse(str(given["b"]))
    same = first is not None and second is not None and key(first) == key(second)
    return Sameness({"class": "must-merge" if same else "must-not-merge"})


def _absolute(text: str) -> str | None:
    """An absolute URL with its fragment: resolving it against a base of another scheme leaves the base without say."""
    alone = parse(text)
    return None if alone is None else resolve("other://host/" if not alone.startswith("other:") else "weft://h/", text)


def _parts(href: str) -> dict[str, str]:
    """The attributes of a browser's URL object, cut out of a serialised URL."""
    rest, hash_sign, fragment = href.partition("#")
    rest, mark, query = rest.partition("?")
    scheme, _, path = rest.partition(":")
    username = password = site = ""
    if path.startswith("//"):
        authority, slash, path = path[2:].partition("/")
        path = slash + path
        credentials, _, site = authority.rpartition("@")
        username, _, password = credentials.partition(":")
    elif path.startswith("/.//"):
        path = path[2:]
    port = site.rpartition("]")[2].rpartition(":")[2] if ":" in site.rpartition("]")[2] else ""
    parts = {
        "href": href,
        "protocol": f"{scheme}:",
        "username": username,
        "password": password,
        "host": site,
        "hostname": site.removesuffix(f":{port}") if port else site,
        "port": port,
        "pathname": path,
        "search": mark + query if query else "",
        "hash": hash_sign + fragment if fragment else "",
    }
    # The origin of file: is left to each browser.
    return parts if scheme == "file" else {**parts, "origin": _origin(scheme, site, path)}


def _origin(scheme: str, site: str, path: str) -> str:
    if scheme in _SPECIAL:
        return f"{scheme}://{site}"
    inner = parse(path) if scheme == "blob" else None
    return origin_of(inner) if inner and inner.startswith("http") else "null"


OPS: dict[str, Callable[[dict[str, object]], object]] = {
    "url.parse": parse_op,
    "url.host_to_ascii": host_to_ascii_op,
    "url.query_percent_encode": query_percent_encode_op,
    "url.resolve": resolve_op,
    "url.same_resource": same_resource_op,
}
