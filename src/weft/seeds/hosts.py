"""Lists of sites as RCCrawler has them (R1).

A line each: ``protocol://host;maxDownloadsAtTime;maxCrawlLevel;crawlDelay``.
The delay is in milliseconds; the level is inclusive, 0 being the index page alone and -1 no bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from weft.errors import SpecError
from weft.spec import NO_BOUND, SitePace
from weft.text.patterns import regex
from weft.url import host_of, parse, site_of

FORM = "protocol://host;maxDownloadsAtTime;maxCrawlLevel;crawlDelay"
MAX_DOWNLOADS = 10_000
MAX_DELAY_MS = 86_400_000

_LOOKS_LIKE_ONE = regex(r"(?:[a-z][a-z0-9+.-]*:/*)?[^/;\s]*/?\s*;", re.IGNORECASE)
_COMMENT = regex(r"(?:^|\s)#.*")
_WHOLE = regex(r"-?\d{1,15}", re.ASCII)


class HostLine(msgspec.Struct, frozen=True):
    """One site of the list: where it begins, and what it has of its own."""

    number: int  # of the line
    url: str
    pace: SitePace


def meaning_of(line: str) -> str:
    """The line without its comment and the blanks around it; "" where nothing is left."""
    return _COMMENT.sub("", line).strip()


def looks_like_one(text: str) -> bool:
    """Whether a line is of a list of sites: a semicolon stands right behind the host."""
    return _LOOKS_LIKE_ONE.match(text) is not None


def host_lines(path: Path, lines: Iterable[tuple[int, str]]) -> Iterator[HostLine]:
    """The sites of a list, each once; ``SpecError`` with file, line and reason for a line that is wrong."""
    found: dict[str, HostLine] = {}
    for number, line in lines:
        text = meaning_of(line)
        if not text:
            continue
        try:
            host = HostLine(number, *_host(text))
            earlier = found.setdefault(host.pace.site, host)
            if earlier.pace != host.pace:
                raise ValueError(f"{host.pace.site} stands on line {earlier.number} with other settings")
        except ValueError as error:
            raise SpecError(f"{path}:{number}: {error}") from None
        yield host
    if not found:
        raise SpecError(f"{path}: there is no site in it; each line is {FORM}")


def _host(text: str) -> tuple[str, SitePace]:
    fields = [field.strip() for field in text.split(";")]
    if len(fields) != 4:
        count = f"{len(fields)} field{'s' * (len(fields) != 1)}"
        raise ValueError(f"{_shown(text)} has {count} where four are wanted: {FORM}")
    url = _index_page(fields[0])
    pace = SitePace(
        site=site_of(url),
        per_host=_number("maxDownloadsAtTime", fields[1], 1, MAX_DOWNLOADS),
        max_depth=_number("maxCrawlLevel", fields[2], NO_BOUND, 1_000_000),
        delay_s=_number("crawlDelay", fields[3], 0, MAX_DELAY_MS) / 1000,
    )
    return url, pace


def _index_page(text: str) -> str:
    protocol, mark, rest = text.partition("://")
    if not mark:
        raise ValueError(f"{_shown(text)} names no protocol; http://host or https://host is wanted")
    if protocol.lower() not in ("http", "https"):
        raise ValueError(f"the protocol {_shown(protocol)} cannot be crawled; http and https can")
    if "@" in rest:
        raise ValueError("the host has credentials before it: give them with --auth instead")
    if re.search(r"[/?#\\]", rest.removesuffix("/")):
        raise ValueError(
            f"{_shown(text)} is more than a host; a site is crawled from its index page, {protocol}://host"
        )
    url = parse(text)
    if url is None or not can_be_resolved(host_of(url)):
        raise ValueError(f"{_shown(text)} has no host in it that can exist")
    return url


def can_be_resolved(host: str) -> bool:
    """Whether the host is an address or a name that DNS can carry; browsers' rules let more pass (``;``)."""
    if host.startswith("["):
        return True
    labels = host.removesuffix(".").split(".")
    return len(host) <= 254 and all(re.fullmatch(r"[0-9a-z_-]{0,63}", label) for label in labels)


def _number(name: str, text: str, low: int, high: int) -> int:
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{name} is {_shown(text)}, and a whole number from {low} to {high} is wanted")
    if not low <= int(text) <= high:
        raise ValueError(f"{name} is {text}, and only {low} to {high} makes sense")
    return int(text)


def _shown(text: str) -> str:
    quoted = repr(text)
    return quoted if len(quoted) <= 100 else f"{quoted[:97]}..."
