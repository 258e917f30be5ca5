"""Cookies that never leave the origin that set them (promise 8).

Narrower than a browser on purpose: a cookie goes back to the scheme, host and port it came from and nowhere else. A
``Domain`` attribute that names a parent is narrowed to the host, one that names a stranger, or a suffix that is
nobody's, makes the cookie refused.
Only the user's own cookie file may speak for the hosts below a domain, if it is no public suffix. The grammar is that
of RFC 6265bis.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import msgspec

from weft.errors import SpecError
from weft.text.patterns import regex
from weft.url import host_of, is_public_suffix, origin_of, path_of

MAX_COOKIES_PER_ORIGIN = 50
MAX_COOKIE_B = 4_096
MAX_ATTRIBUTE_B = 1_024
MAX_ORIGINS = 10_000
MAX_TOTAL_B = 32_000_000
MAX_AGE_S = 400 * 86_400  # RFC 6265bis 5.5: nothing is kept for longer than 400 days
MAX_HEADER_B = 16_384

_CONTROLS = regex(r"[\x00-\x08\x0a-\x1f\x7f]")
_DATE_DELIMITERS = regex(r"[\x09\x20-\x2f\x3b-\x40\x5b-\x60\x7b-\x7e]+")
_TIME = regex(r"(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\D|$)")
_DAY = regex(r"(\d{1,2})(?:\D|$)")
_YEAR = regex(r"(\d{2,4})(?:\D|$)")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


class CookieRow(NamedTuple):
    """One cookie as the database keeps it; ``value`` None means: remove it."""

    origin: str
    path: str
    name: str
    value: str | None
    expires_s: float | None  # epoch; None lasts as long as the crawl


class _Cookie(msgspec.Struct, frozen=True):
    value: str | None  # None: the site took back a cookie of the user's file
    expires_s: float | None
    made: int  # order of creation


class _FileCookie(msgspec.Struct, frozen=True):
    domain: str
    below: bool  # hosts below the domain too
    path: str
    secure: bool
    expires_s: float | None
    name: str
    value: str


_Key = tuple[str, str]  # path, name


class Cookies(Protocol):
    """Where a fetcher finds the cookies of a request and leaves those of its answer: the jar, or its deputy."""

    @property
    def is_empty(self) -> bool:
        """No request gets any."""

    def header_for(self, url: str, now: float) -> str | None: ...

    def store(self, url: str, set_cookie_values: Iterable[str], now: float) -> None: ...


class CookieJar:
    """The cookies of one crawl: bounded, bound to their origins, least recently used origins leave first."""

    def __init__(self) -> None:
        self._origins: OrderedDict[str, dict[_Key, _Cookie]] = OrderedDict()
        self._file: dict[str, list[_FileCookie]] = {}
        self._changed: dict[tuple[str, str, str], None] = {}
        self._size_b = 0
        self._made = 0

    @property
    def is_empty(self) -> bool:
        return not self._origins and not self._file

    def header_for(self, url: str, now: float) -> str | None:
        """The value of the Cookie header for a URL, or None. Longer paths come first, then older cookies."""
        if not self._origins and not self._file:
            return None
        origin = origin_of(url)
        own = self._origins.get(origin)
        if own is None and not self._file:
            return None
        path = _path(url)
        found: list[tuple[int, int, str, str]] = []
        taken: set[str] = set()
        if own is not None:
            self._origins.move_to_end(origin)
            for (cookie_path, name), cookie in own.items():
                if (cookie.expires_s is None or cookie.expires_s > now) and _path_covers(cookie_path, path):
                    taken.add(name)
                    if cookie.value is not None:
                        found.append((-len(cookie_path), cookie.made, name, cookie.value))
        for mine in self._file_cookies(host_of(url)) if self._file else ():
            fresh = mine.expires_s is None or mine.expires_s > now
            safe = not mine.secure or url.startswith("https:")
            if fresh and safe and mine.name not in taken and _path_covers(mine.path, path):
                found.append((-len(mine.path), -1, mine.name, mine.value))
        return _header(found)

    def store(self, url: str, set_cookie_values: Iterable[str], now: float) -> None:
        """Take the Set-Cookie values of an answer. What is refused is refused in silence, as the RFC has it."""
        for number, line in enumerate(set_cookie_values):
            if number == MAX_COOKIES_PER_ORIGIN:
                return
            parsed = parse_set_cookie(line, url, now)
            if parsed is not None:
                self._put(parsed, now)

    def load_file(self, text: str, name: str = "cookies") -> None:
        """Take the user's cookies from a file of Netscape form; a line that is none is a ``SpecError``."""
        for cookie in parse_netscape(text, name):
            self._file.setdefault(cookie.domain, []).append(cookie)

    def dump(self) -> list[CookieRow]:
        """The rows that changed since the last dump, removed ones with ``value`` None."""
        rows = []
        for origin, path, name in self._changed:
            cookie = self._origins.get(origin, {}).get((path, name))
            value, expires = (None, None) if cookie is None else (cookie.value, cookie.expires_s)
            rows.append(CookieRow(origin, path, name, value, expires))
        self._changed.clear()
        return rows

    def load(self, rows: Iterable[CookieRow], now: float) -> None:
        """Take back rows of earlier dumps; they do not count as changed."""
        for row in rows:
            if row.value is not None and (row.expires_s is None or row.expires_s > now):
                self._put(row, now)
        self._changed.clear()

    def _put(self, row: CookieRow, now: float) -> None:
        own = self._origins.get(row.origin)
        key = (row.path, row.name)
        gone = row.value is None or (row.expires_s is not None and row.expires_s <= now)
        shadows = gone and any(mine.name == row.name for mine in self._file_cookies(host_of(row.origin + "/")))
        if own is None:
            if gone and not shadows:
                return
            own = self._origins[row.origin] = {}
        self._origins.move_to_end(row.origin)
        before = own.pop(key, None)
        if before is not None:
            self._size_b -= _size_b(key, before)
        if not gone or shadows:
            self._made += 1
            made = self._made if before is None else before.made
            cookie = _Cookie(None if gone else row.value, None if gone else row.expires_s, made)
            own[key] = cookie
            self._size_b += _size_b(key, cookie)
        if before is not None or not gone:
            self._note_change(row.origin, key)
        if not own:
            del self._origins[row.origin]
        elif len(own) > MAX_COOKIES_PER_ORIGIN:
            self._drop_one(row.origin, own, now)
        while len(self._origins) > MAX_ORIGINS or self._size_b > MAX_TOTAL_B:
            self._drop_oldest_origin()

    def _note_change(self, origin: str, key: _Key) -> None:
        self._changed[(origin, *key)] = None
        if len(self._changed) > MAX_ORIGINS * MAX_COOKIES_PER_ORIGIN:  # nobody dumps: keep the newest
            del self._changed[next(iter(self._changed))]

    def _drop_one(self, origin: str, own: dict[_Key, _Cookie], now: float) -> None:
        def age(key: _Key) -> tuple[bool, int]:
            expires = own[key].expires_s
            return (expires is None or expires > now, own[key].made)

        oldest = min(own, key=age)
        self._size_b -= _size_b(oldest, own.pop(oldest))
        self._note_change(origin, oldest)

    def _drop_oldest_origin(self) -> None:
        origin, own = self._origins.popitem(last=False)
        for key, cookie in own.items():
            self._size_b -= _size_b(key, cookie)
            self._note_change(origin, key)

    def _file_cookies(self, host: str) -> list[_FileCookie]:
        """The user's cookies whose domain covers a host. Addresses have no parents."""
        if not self._file:
            return []
        found = list(self._file.get(host, ()))
        if host.startswith("[") or host.replace(".", "").isdigit():
            return found
        _, dot, parent = host.partition(".")
        while dot:
            found += [cookie for cookie in self._file.get(parent, ()) if cookie.below]
            _, dot, parent = parent.partition(".")
        return found


def parse_set_cookie(line: str, url: str, now: float) -> CookieRow | None:
    """One Set-Cookie value as a row for the URL's own origin, or None where it must be refused."""
    if len(line) > 2 * MAX_COOKIE_B + 8 * MAX_ATTRIBUTE_B or _CONTROLS.search(line):
        return None
    pair, _, rest = line.partition(";")
    name, equals, value = pair.partition("=")
    if not equals:
        name, value = "", pair
    name, value = name.strip(" \t"), value.strip(" \t")
    if not (name or value) or len(name) + len(value) > MAX_COOKIE_B:
        return None
    attributes = _attributes(rest)
    https = url.startswith("https:")
    secure = "secure" in attributes
    if secure and not https:
        return None
    host = host_of(url)
    domain = attributes.get("domain", "").removeprefix(".").lower()
    if domain and domain != host and (not host.endswith("." + domain) or is_public_suffix(domain)):
        return None
    path = attributes.get("path", "")
    if not _prefix_holds(name or value, secure, path, "domain" in attributes):
        return None
    if not path.startswith("/"):
        path = _default_path(_path(url))
    return CookieRow(origin_of(url), path, name, value, _expiry(attributes, now))


def parse_netscape(text: str, file: str) -> list[_FileCookie]:
    """The cookies of a Netscape cookie file; raises ``SpecError`` with the number of the first bad line."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.removeprefix("\ufeff") if number == 1 else line
        line = line.removeprefix("#HttpOnly_")
        if line.startswith("#") or not line.strip():
            continue
        found.append(_netscape_line(line, f"{file}, line {number}"))
    return found


def _netscape_line(line: str, place: str) -> _FileCookie:
    fields = line.split("\t")
    if len(fields) == 6:  # an empty value is often written without its tab
        fields.append("")
    if len(fields) != 7:
        raise SpecError(f"{place}: a cookie needs seven fields with tabs between them, here are {len(fields)}")
    domain, below, path, secure, expires, name, value = (field.strip() for field in fields)
    domain = domain.lower()
    if below.upper() not in ("TRUE", "FALSE") or secure.upper() not in ("TRUE", "FALSE"):
        raise SpecError(f"{place}: the second and the fourth field of a cookie are TRUE or FALSE")
    if not domain.strip(".") or not path.startswith("/"):
        raise SpecError(f"{place}: a cookie needs a domain and a path that begins with /")
    try:
        expires_s = float(expires)
    except ValueError:
        raise SpecError(f"{place}: {expires[:40]!r} is no time of expiry (seconds since 1970, 0 for none)") from None
    if _CONTROLS.search(name + value) or ";" in name + value or "=" in name or len(name) + len(value) > MAX_COOKIE_B:
        raise SpecError(f"{place}: the name or the value of the cookie cannot be sent")
    wire_name, wire_value = (text.encode().decode("latin-1") for text in (name, value))
    domain = domain.removeprefix(".")
    return _FileCookie(
        domain=domain,
        below=below.upper() == "TRUE" and not is_public_suffix(domain),  # nobody's: strangers live below co.uk
        path=path,
        secure=secure.upper() == "TRUE",
        expires_s=expires_s if expires_s > 0 else None,  # also where it is nan
        name=wire_name,
        value=wire_value,
    )


def _header(found: Sequence[tuple[int, int, str, str]]) -> str | None:
    parts: list[str] = []
    size_b = 0
    for _, _, name, value in sorted(found):
        part = f"{name}={value}" if name else value
        size_b += len(part) + 2
        if size_b > MAX_HEADER_B:  # servers refuse larger heads: the most specific cookies are sent
            break
        parts.append(part)
    return "; ".join(parts) or None


def _size_b(key: _Key, cookie: _Cookie) -> int:
    return len(key[0]) + len(key[1]) + len(cookie.value or "") + 200


def _attributes(text: str) -> dict[str, str]:
    """The attributes of a cookie by lower-case name; of equal ones the last counts."""
    found: dict[str, str] = {}
    for part in text.split(";")[:40]:
        name, _, value = part.partition("=")
        value = value.strip(" \t")
        if len(value) <= MAX_ATTRIBUTE_B:
            found[name.strip(" \t").lower()] = value
    return found


def _prefix_holds(name: str, secure: bool, path: str, has_domain: bool) -> bool:
    lower = name.lower()
    if lower.startswith("__secure-"):
        return secure
    if lower.startswith("__host-"):
        return secure and path == "/" and not has_domain
    return True


def _path(url: str) -> str:
    return path_of(url).partition("?")[0] or "/"


def _default_path(request_path: str) -> str:
    return request_path[: request_path.rfind("/")] or "/" if request_path.startswith("/") else "/"


def _path_covers(cookie_path: str, path: str) -> bool:
    if not path.startswith(cookie_path):
        return False
    return cookie_path.endswith("/") or len(path) == len(cookie_path) or path[len(cookie_path)] == "/"


def _expiry(attributes: dict[str, str], now: float) -> float | None:
    """When a cookie ends, in epoch seconds: Max-Age wins over Expires; None for the length of the crawl."""
    age = attributes.get("max-age", "")
    digits = age.removeprefix("-")
    if digits.isascii() and digits.isdigit():
        if age.startswith("-"):
            return 0.0
        return now + min(int(digits[:12]), MAX_AGE_S) if int(digits[:12]) or len(digits) > 12 else 0.0
    if "expires" not in attributes:
        return None
    at = parse_cookie_date(attributes["expires"])
    return None if at is None else min(at, now + MAX_AGE_S)


def parse_cookie_date(text: str) -> float | None:
    """Epoch seconds of a cookie's date in any of the forms servers write (RFC 6265 5.1.1), or None."""
    time: tuple[int, int, int] | None = None
    day = month = year = None
    for token in _DATE_DELIMITERS.split(text[:200]):
        if time is None and (found := _TIME.match(token)):
            time = (int(found[1]), int(found[2]), int(found[3]))
        elif day is None and (found := _DAY.match(token)):
            day = int(found[1])
        elif month is None and token[:3].lower() in _MONTHS:
            month = _MONTHS.index(token[:3].lower()) + 1
        elif year is None and (found := _YEAR.match(token)):
            year = int(found[1])
    if time is None or day is None or month is None or year is None:
        return None
    if year < 100:
        year += 1900 if year >= 70 else 2000
    if not (1 <= day <= 31 and 1601 <= year <= 9999 and time[0] <= 23 and time[1] <= 59 and time[2] <= 59):
        return None
    from calendar import timegm  # which loads much, and most cookies have no date

    return float(timegm((year, month, day, *time)))
