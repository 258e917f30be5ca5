"""Exchanges written to a WARC file, and the file read back by another library."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import NamedTuple

from warcio.archiveiterator import ArchiveIterator

from weft.store.warc.writer import Exchange, Form, Place, RevisitOf, WarcWriter

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # fastwarc warns of its own old names while it loads
    from fastwarc.warc import ArchiveIterator as FastIterator

NOW = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
URL = "http://example.org/page?x=1"
REQUEST = b"GET /page?x=1 HTTP/1.1\r\nHost: example.org\r\nUser-Agent: weft\r\n\r\n"
HTML = b"<!DOCTYPE html><title>x</title><body><a href='/b'>link</a> " + b"text of the page " * 1300 + b"</body>"


def head(*lines: bytes, first: bytes = b"HTTP/1.1 200 OK") -> bytes:
    return b"\r\n".join([first, b"Content-Type: text/html", *lines, b"", b""])


def writer(
    folder: Path, *, prefix: str = "main", max_file_b: int = 10**9, compress: bool = True, block_digests: bool = False
) -> WarcWriter:
    numbers = count(1)
    return WarcWriter(
        folder,
        prefix=prefix,
        form=Form(max_file_b, compress, block_digests),
        software="weft/0.0",
        info={"robots": "obey"},
        now=lambda: NOW,
        new_id=lambda: f"urn:uuid:00000000-0000-4000-8000-{next(numbers):012d}",
    )


class Seen(NamedTuple):
    type: str
    url: str | None
    payload: bytes


def verified(path: Path) -> list[Seen]:
    """All records of a file, after warcio and fastwarc both checked every digest and agree on what there is."""
    seen = []
    with path.open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            payload = record.raw_stream.read()  # content_stream would also undo content encodings
            assert record.digest_checker.passed is not False
            seen.append(Seen(record.rec_type, record.rec_headers.get_header("WARC-Target-URI"), payload))
    fast = []
    for record in FastIterator(str(path), parse_http=False):
        assert "WARC-Block-Digest" not in record.headers or record.verify_block_digest(), record.headers
        record.parse_http()
        kind = record.headers.get("WARC-Type") or ""
        if kind == "response":
            assert record.verify_payload_digest(), record.headers
        url = record.headers.get("WARC-Target-URI")
        fast.append(Seen(kind, url, record.reader.read()))
    assert fast == seen
    return seen


def write(
    one: WarcWriter, url: str = URL, *lines: bytes, body: bytes = HTML, revisit: RevisitOf | None = None
) -> Place:
    return one.write_exchange(Exchange(url, NOW, REQUEST, head(*lines), body, "192.0.2.1"), lambda _: revisit)
