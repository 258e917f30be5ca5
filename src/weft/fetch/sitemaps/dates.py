"""Dates as sitemaps and feeds write them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

_W3C = re.compile(
    r"(\d{4})(?:-(\d\d?)(?:-(\d\d?)"
    r"(?:[Tt ]\s?(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s?([Zz]|[+-]\d\d:?\d\d|[+-]\d\d)?)?)?)?"
)
_RSS = re.compile(
    r"(?:[A-Za-z]{3,9}\.?,?\s+)?(\d\d?)[\s-]([A-Za-z]{3})[a-z]{0,6}\.?[\s-](\d{4}|\d\d)\s+(\d\d?):(\d\d)(?::(\d\d))?"
    r"\s*([+-]\d\d:?\d\d|[A-Za-z]{1,4})"
)
_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec"
_ZONES: Final = {"z": 0, "ut": 0, "utc": 0, "gmt": 0} | {
    f"{zone}{season}t": hours + (season == "d")  # RFC 822: EST, EDT ... PST, PDT
    for zone, hours in (("e", -5), ("c", -6), ("m", -7), ("p", -8))
    for season in "sd"
}


def _offset(text: str) -> timedelta | None:
    if text[0] in "+-":
        digits = text[1:].replace(":", "")
        hours, minutes = int(digits[:2]), int(digits[2:] or 0)
        if hours > 23 or minutes > 59:
            return None
        offset = timedelta(hours=hours, minutes=minutes)
        return -offset if text[0] == "-" else offset
    named = _ZONES.get(text.lower())
    return None if named is None else timedelta(hours=named)


def _utc(year: int, month: int, day: int, clock: tuple[int, int, int, int], zone: str) -> str | None:
    """The instant in UTC, as written in ISO 8601, or None if there is no such day, hour or zone."""
    offset = _offset(zone)
    hour, minute, second, millis = clock
    if offset is None:
        return None
    try:
        moment = datetime(year, month, day, hour, minute, min(second, 59), millis * 1000) - offset
    except (ValueError, OverflowError):
        return None
    return moment.isoformat(timespec="milliseconds" if millis else "seconds") + "Z"


@lru_cache(maxsize=4096)
def w3c_date(text: str) -> str | None:
    """A W3C date, from a year alone to fractions of a second, as ISO 8601 in UTC; None if it is none.

    A time without zone is taken for UTC.
    """
    found = _W3C.fullmatch(text.strip()[:64])
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    millis = int(((fraction or "0") + "00")[:3])
    clock = (int(hour or 0), int(minute or 0), int(second or 0), millis)
    return _utc(int(year), int(month or 1), int(day or 1), clock, zone or "Z")


@lru_cache(maxsize=4096)
def rss_date(text: str) -> str | None:
    """A date of RFC 822 or 2822, as ISO 8601 in UTC; None if it is none. Without a zone it is none."""
    found = _RSS.fullmatch(text.strip()[:64])
    if found is None:
        return None
    day, month, year, hour, minute, second, zone = found.groups()
    place = _MONTHS.find(month.lower())
    if place % 4:
        return None
    full_year = int(year) if len(year) == 4 else int(year) + (2000 if int(year) < 50 else 1900)
    return _utc(full_year, place // 4 + 1, int(day), (int(hour), int(minute), int(second or 0), 0), zone)
