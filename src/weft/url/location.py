"""Where a redirect leads."""

from __future__ import annotations

from weft.records import Fetched
from weft.text.patterns import regex
from weft.url import resolve

REDIRECTS = frozenset({301, 302, 303, 307, 308})

_BEYOND_ASCII = regex(r"[^\x00-\x7f]")


def location_of(answer: Fetched, url: str) -> str | None:
    """The absolute URL, fragment included, that an answer for ``url`` redirects to; None where it does not.

    Nor does a redirect without a Location that can be resolved.
    """
    location = answer.header("location") if answer.status in REDIRECTS else None
    reference = _as_written(location) if location is not None else ""
    return resolve(url, reference) if reference else None


def _as_written(value: str) -> str:
    """A header's text as browsers read it: as UTF-8, and bytes that are none escaped one by one."""
    if value.isascii():
        return value
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return _BEYOND_ASCII.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode("latin-1")), value)
