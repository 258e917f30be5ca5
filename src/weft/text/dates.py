"""Instants as ISO 8601 in UTC with Z: of HTTP's dates, and of milliseconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

_MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {f" {name} ": number for number, name in enumerate(_MONTH_NAMES, 1)}


@lru_cache(maxsize=4096)
def iso_of_http_date(text: str | None) -> str | None:
    """An HTTP date as ISO 8601 UTC with Z; None where it is missing or no date (T8)."""
    moment = moment_of_http_date(text)
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def moment_of_http_date(text: str | None) -> datetime | None:
    """The instant of an HTTP date, in UTC; None where it is missing or no date."""
    if not text:
        return None
    try:
        return (_plain_date(text) or _any_date(text)).astimezone(UTC)
    except (ValueError, OverflowError, IndexError, TypeError):
        return None


def _plain_date(text: str) -> datetime | None:
    """The date of the form that nearly all servers send, ``Sun, 06 Nov 1994 08:49:37 GMT``; None for every other."""
    if len(text) != 29 or text[3:5] != ", " or text[25:] != " GMT" or text[7:12] not in _MONTHS:
        return None
    day, year, clock = text[5:7], text[12:16], text[17:25].split(":")
    if text[16] != " " or len(clock) != 3 or not (day + year + "".join(clock)).isdecimal() or clock[2] == "60":
        return None
    hour, minute, second = map(int, clock)
    return datetime(int(year), _MONTHS[text[7:12]], int(day), hour, minute, second, tzinfo=UTC)


def _any_date(text: str) -> datetime:
    from email.utils import parsedate_to_datetime  # loads a dozen modules

    moment = parsedate_to_datetime(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def http_date_of_iso(text: str | None) -> str:
    """The date of HTTP for one in ISO 8601; "" where there is none."""
    if not text:
        return ""
    moment = datetime.fromisoformat(text).astimezone(UTC)
    day = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[moment.weekday()]
    return f"{day}, {moment.day:02d} {_MONTH_NAMES[moment.month - 1]} {moment:%Y %H:%M:%S} GMT"


def iso_of_ms(epoch_ms: int | None) -> str | None:
    """An instant as ISO 8601 UTC with Z, milliseconds kept."""
    return None if epoch_ms is None else f"{_iso_of_s(epoch_ms // 1000)}.{epoch_ms % 1000:03d}Z"


@lru_cache(maxsize=64)
def _iso_of_s(epoch_s: int) -> str:
    return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%dT%H:%M:%S")
