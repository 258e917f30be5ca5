"""Dates of HTTP."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.text.dates import iso_of_http_date


@given(st.datetimes(datetime(1900, 1, 1), datetime(9999, 1, 1)))
def test_http_dates_are_read_as_the_library_reads_them(moment: datetime) -> None:
    """T8: the usual form takes a short way, all others the long one, with the same result."""
    text = format_datetime(moment.replace(microsecond=0, tzinfo=UTC), usegmt=True)
    slow = parsedate_to_datetime(text).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert iso_of_http_date(text) == iso_of_http_date(text.replace("GMT", "+0000")) == slow


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z"),
        ("Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37Z"),
        ("Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37Z"),
        ("Sun, 06 Nov 1994 10:49:37 +0200", "1994-11-06T08:49:37Z"),
        ("Sun, 31 Feb 1994 08:49:37 GMT", None),
        ("Sun, 06 Nov 1994 25:49:37 GMT", None),
        ("Sun, 06 Nov 1994 08:49:3x GMT", None),
        ("Sun, ٠٦ Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z"),
        ("yesterday", None),
        ("", None),
        (None, None),
    ],
)
def test_odd_http_dates(text: str | None, iso: str | None) -> None:
    assert iso_of_http_date(text) == iso
