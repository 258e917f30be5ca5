"""The lines of a robots.txt as statements, whatever its bytes are: encodings, misspellings and missing colons."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from weft.text.patterns import regex

AGENT: Final = "weft"
MAX_BODY_B: Final = 500 * 1024  # RFC 9309, section 2.5: at least this much must be parsed
MAX_LINE_B: Final = 2083 * 8 - 1
MAX_DELAY_S: Final = 1e9  # keeps a number with thousands of digits finite; the crawl has its own, lower cap


class LineKind(StrEnum):
    """What a line of a robots.txt is to us."""

    BLANK = "blank"
    COMMENT = "comment"
    GROUP = "group"
    ALLOW = "allow"
    DISALLOW = "disallow"
    DELAY = "crawl-delay"
    SITEMAP = "sitemap"
    IGNORED = "ignored"


class Statement(NamedTuple):
    """A line that says something: a name and its value."""

    line: int
    kind: LineKind
    key: str  # as written, for unknown keys
    value: str  # bytes of the file as Latin-1 characters


_USER_AGENT = ("user-agent", "useragent", "user agent")
_DISALLOW = ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw")
_DELAY = ("crawl-delay", "crawldelay", "crawl delay")
_SITEMAP = ("sitemap", "site-map")
_SITEMAP_WITHOUT_COLON = regex(r"site-?map[^\s:]*[ \t]+(?=[a-z]+://)", re.IGNORECASE)
_GZIP_MAGIC: Final = b"\x1f\x8b"
_BLANKS: Final = " \t\v\f"  # bytes of UTF-8 stand here as Latin-1: strip() alone would take the A0 of "à" for a space
_NUMBER = regex(r"\d+(?:[.,]\d+)?|[.,]\d+")
_BLANK_RUN = regex(rf"[{_BLANKS}]+")
_TOKEN = regex(r"[A-Za-z_-]*")


def product_token(user_agent: str) -> str:
    """The part of a user agent that robots.txt groups are named by: ``weft`` of ``weft/1.0 (+https://...)``."""
    found = _TOKEN.match(user_agent)
    return found.group() if found else ""


def agents_of(user_agent: str | None) -> tuple[str, ...]:
    """The names, in lower case, that a site may call us by: that of the user agent that is sent, and our own."""
    return tuple(dict.fromkeys(filter(None, (product_token(user_agent or "").lower(), AGENT))))


def _kind_of_key(key: str) -> LineKind:
    lowered = key.lower()
    if lowered.startswith(_USER_AGENT):
        return LineKind.GROUP
    if lowered.startswith("allow"):
        return LineKind.ALLOW
    if lowered.startswith(_DISALLOW):
        return LineKind.DISALLOW
    if lowered.startswith(_DELAY):
        return LineKind.DELAY
    if lowered.startswith(_SITEMAP):
        return LineKind.SITEMAP
    return LineKind.IGNORED


def _without_bom(body: bytes) -> bytes:
    """The body without a byte order mark, or without the beginning of a broken one, as Google skips it."""
    for mark in (b"\xef\xbb\xbf", b"\xef\xbb", b"\xef"):
        if body.startswith(mark):
            return body[len(mark) :]
    return body


def _in_utf8(body: bytes) -> bytes:
    """The body with UTF-16 turned into UTF-8.

    The mark alone is not believed: files exist that carry it before plain ASCII.
    """
    big = body[0:32:2].count(0)
    little = body[1:32:2].count(0)
    enough = max(1, len(body[:32]) // 4)
    if big >= enough and little == 0:
        return body.decode("utf-16-be", "replace").removeprefix("\ufeff").encode("utf-8", "replace")
    if little >= enough and big == 0:
        return body.decode("utf-16-le", "replace").removeprefix("\ufeff").encode("utf-8", "replace")
    return _without_bom(body)


def lines_of(body: bytes) -> list[bytes]:
    """The lines of the part that is parsed. A line that the bound cuts in two is left out: half a rule is another."""
    if body.startswith(_GZIP_MAGIC):  # packed, and nobody said so
        from weft.fetch.decode import decode_body

        body = decode_body(body, ("gzip",), MAX_BODY_B).body
    cut = len(body) >= MAX_BODY_B  # also when whoever fetched it cut it there
    lines = _in_utf8(body[:MAX_BODY_B]).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    return lines[:-1] if cut else lines


def _key_and_value(text: str) -> tuple[str, str] | None:
    """``key: value`` taken apart, or None. Without a colon exactly two words count, as people forget it."""
    key, colon, value = text.partition(":")
    if not colon:
        words = _BLANK_RUN.split(text)
        if len(words) != 2:
            return None
        key, value = words
    elif missing := _SITEMAP_WITHOUT_COLON.match(text):
        return text[: missing.end()].rstrip(_BLANKS), text[missing.end() :]
    key = key.rstrip(_BLANKS)
    return (key, value.strip(_BLANKS)) if key else None


def statements(lines: list[bytes]) -> Iterator[Statement]:
    """The lines that say something, in order; comments, blank lines and what is not understood are left out."""
    kinds: dict[str, LineKind] = {}
    for number, raw in enumerate(lines, start=1):
        if not raw:
            continue
        # Google's lines are C strings: a NUL ends them, and so does a comment
        text = raw[:MAX_LINE_B].partition(b"\0")[0].partition(b"#")[0].decode("latin-1").strip(_BLANKS)
        pair = _key_and_value(text) if text else None
        if pair is None:
            continue
        key, value = pair
        kind = kinds.get(key)
        if kind is None:
            kind = _kind_of_key(key)
            if len(kinds) < 1000:
                kinds[key] = kind
        yield Statement(number, kind, key, value)


def token_of(value: str) -> str:
    """The token that names a group: ``*``, also with words behind it, or the leading product token, maybe empty."""
    if value.startswith("*") and not value[1:2].strip():
        return "*"
    return product_token(value).lower()


def delay_of(value: str) -> float | None:
    """The seconds of a Crawl-delay; None where it begins with no number."""
    found = _NUMBER.match(value)
    if found is None:
        return None
    return min(float(found.group().replace(",", ".")), MAX_DELAY_S)
