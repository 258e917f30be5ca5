"""Answers kept as WARC 1.1, a gzip member per record (E3); ``warc_reader`` reads them back by their places.

An exchange is a ``response`` (or ``revisit``) record followed by its ``request`` record, which names the first by
WARC-Concurrent-To. The payload is the body as received, content encoding still on it. The transfer encoding is gone
by then, and a header that still spoke of it would make replay take chunks off that are not there; so length headers
that no longer fit are kept under ``X-Crawler-`` names and one true Content-Length is added, as Common Crawl does.
HTTP/2 heads are written in HTTP/1.1 form with WARC-Protocol beside them: all readers insist on ``HTTP/1.x``.

Bytes reach the disk when ``flush`` is called, once a tick. The database then commits ``positions()``, and after a
kill ``warc_recovery`` cuts every file back to what was committed. No file is ever opened again for writing.
"""

from __future__ import annotations

import os
from base64 import b32encode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha1
from itertools import count
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import msgspec
from isal import igzip_lib

from weft.errors import StoreError
from weft.records import FilePosition, Place
from weft.store.warc.heads import kept_response_head, sound_request_head
from weft.text.patterns import regex

LEVEL = 1  # the next one takes a quarter more time for one byte in a hundred
SMALL_B = 2_048
SMALL_LEVEL = 0  # the better levels take six times as long to begin as such a record takes
REVISIT_PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED_PROFILE = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
CONFORMS_TO = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"

_WRITE_AT_B = 16 << 20  # bytes held in memory before they are written although no tick is due
_WRITTEN_AT_ONCE = 1_024  # records: what Linux, macOS and the BSDs take at most
_MAX_SERIAL = 99_999

OUR_FILE = regex(r"weft-[A-Za-z0-9_-]+-\d{14}-\d{5}\.warc(\.gz)?")
_PREFIX = regex(r"[A-Za-z0-9_-]{1,64}")
_CONTROL = regex(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_NOT_NAME = regex(r"[^A-Za-z0-9_.-]+")
_RESPONSE, _REQUEST = "application/http; msgtype=response", "application/http; msgtype=request"
_FIELDS = "application/warc-fields"
_PROTOCOLS = {"2": "h2", "3": "h3", "1.0": "http/1.0"}


class RevisitOf(msgspec.Struct, frozen=True):
    """The record that holds the same payload: its URL, its WARC-Date, and the digest of both."""

    url: str
    date: datetime
    digest: str


SameAs = Callable[[str], RevisitOf | None]
"""The record that holds a payload with this digest, or None."""


def payload_digest(wire: bytes, more: bytes = b"") -> str:
    """The digest of a payload, or of its two parts, as WARC and CDXJ spell it: ``sha1:`` and 32 base32 characters."""
    found = sha1(wire, usedforsecurity=False)
    if more:
        found.update(more)
    return "sha1:" + b32encode(found.digest()).decode()


def _about(url: str, date: str, ip: str, protocol: str) -> str:
    """What both records of an exchange say."""
    about = f"WARC-Date: {date}\r\nWARC-Target-URI: {_safe_url(url)}\r\n"
    if ip:
        about += f"WARC-IP-Address: {_one_line(ip)}\r\n"
    return f"{about}WARC-Protocol: {protocol}\r\n" if protocol else about


def _of_payload(digest: str, truncated: str | None) -> str:
    said = f"WARC-Payload-Digest: {_one_line(digest)}\r\n"
    return f"{said}WARC-Truncated: {_one_line(truncated)}\r\n" if truncated else said


def _of_original(of: RevisitOf) -> str:
    """What a revisit record says of the record that holds its payload."""
    return (
        f"WARC-Profile: {REVISIT_PROFILE}\r\nWARC-Refers-To-Target-URI: {_safe_url(of.url)}\r\n"
        f"WARC-Refers-To-Date: {_iso(of.date)}\r\n"
    )


def record_ids(chance: bytes) -> Callable[[], str]:
    """What gives every record of a writer its id: a version 8 UUID (RFC 9562) as a URN.

    74 bits of ``chance``, ten bytes, are the writer's own, the last 48 count: unique, no secret, and a fifth of the
    cost of drawing all of them for each record.
    """
    digits = chance.hex()
    own = f"{digits[:8]}-{digits[8:12]}-8{digits[13:16]}-{'89ab'[int(digits[16], 16) & 3]}{digits[17:20]}"
    return map(f"urn:uuid:{own}-{{:012x}}".format, count()).__next__


class Form(NamedTuple):
    """The form of the files."""

    max_file_b: int
    compress: bool = True
    block_digests: bool = False
    name_of: Callable[[int], str] | None = None  # by their number; None: names that no other writer gives


class Exchange(NamedTuple):
    """A request and its answer."""

    url: str
    fetched_at: datetime
    request_head: bytes
    response_head: bytes
    body: bytes  # the wire bytes without transfer encoding; a revisit needs them too, for its length header
    ip: str = ""
    http_version: str = "1.1"
    truncated: str | None = None  # why it is not all there: length, time, disconnect, unspecified
    is_unchanged: bool = False  # the server says that an earlier answer holds (304)


class WarcWriter:
    """Writes records into files of its own, one after the other.

    One writer belongs to one thread of one process; two writers in a folder need different prefixes or they share
    the numbering of names (never a file). After a ``StoreError`` nothing more is written: what the file held at the
    last successful ``flush`` is what it holds, and the rest is given up.
    """

    def __init__(
        self, folder: Path, *, prefix: str, form: Form, software: str, info: Mapping[str, str],
        now: Callable[[], datetime], new_id: Callable[[], str] | None = None,
    ) -> None:  # fmt: skip
        if not _PREFIX.fullmatch(prefix):
            raise ValueError(f"a WARC prefix is made of letters, digits, - and _, not {prefix!r}")
        self._folder = folder
        self._prefix = prefix
        self._max_file_b, self._compress, self._block_digests, self._name_of = form
        self._fields = {"software": software, "format": "WARC File Format 1.1", "conformsTo": CONFORMS_TO, **info}
        self._now = now
        # from the system: two writers never make the same, also after a fork
        self._new_id = new_id or record_ids(os.urandom(10))
        self._serial = 0
        self._name = ""  # of the file being written; empty: none
        self._path = folder
        self._fd = -1
        self._buffer: list[bytes] = []
        self._buffered_b = 0
        self._disk_b = 0
        self._closed: dict[str, int] = {}
        self._broken = ""

    def write_exchange(self, exchange: Exchange, same_as: SameAs | None = None) -> Place:
        """The place of the response (or, for a payload kept before, revisit) record; its request record follows it.

        ``same_as`` is asked whether the payload was kept before.
        """
        url, fetched_at, request_head, response_head, body, ip, http_version, truncated, _ = exchange
        self._make_room()
        record_id, digest = self._new_id(), payload_digest(body)
        about = _about(url, _iso(fetched_at), ip, _PROTOCOLS.get(http_version, ""))
        head = kept_response_head(response_head, len(body))
        kept = same_as(digest) if same_as is not None else None
        if exchange.is_unchanged:
            said = f"{about}{_of_payload(digest, None)}WARC-Profile: {NOT_MODIFIED_PROFILE}\r\n"
            said += f"WARC-Refers-To-Target-URI: {_safe_url(url)}\r\n"
            records = [self._record("revisit", record_id, said, _RESPONSE, head)]
        elif kept is None:
            said = about + _of_payload(digest, truncated)
            records = [self._record("response", record_id, said, _RESPONSE, head, body)]
        else:
            digest = kept.digest
            said = about + _of_payload(digest, truncated) + _of_original(kept)
            records = [self._record("revisit", record_id, said, _RESPONSE, head)]
        if request_head:
            about += f"WARC-Concurrent-To: <{record_id}>\r\n"
            request = sound_request_head(request_head)
            records.append(self._record("request", self._new_id(), about, _REQUEST, request))
        offset = self._disk_b + self._buffered_b
        length = self._append(*records)
        return Place(self._name, offset, length, digest, kept is not None or exchange.is_unchanged)

    def write_metadata(self, url: str, date: datetime, fields: Mapping[str, str]) -> Place:
        """The place of a metadata record, e.g. why there is no answer (``cause``, ``detail``)."""
        self._make_room()
        about = f"WARC-Date: {_iso(date)}\r\nWARC-Target-URI: {_safe_url(url)}\r\n"
        offset = self._disk_b + self._buffered_b
        length = self._append(self._record("metadata", self._new_id(), about, _FIELDS, _warc_fields(fields)))
        return Place(self._name, offset, length)

    def write_conversion(self, url: str, date: datetime, block: bytes, media: str) -> Place:
        """The place of a conversion record: another form of what was received, e.g. a page that scripts have made."""
        self._make_room()
        about = (
            f"WARC-Date: {_iso(date)}\r\nWARC-Target-URI: {_safe_url(url)}\r\n"
            f"WARC-Payload-Digest: {payload_digest(block)}\r\n"
        )
        offset = self._disk_b + self._buffered_b
        length = self._append(self._record("conversion", self._new_id(), about, media, block))
        return Place(self._name, offset, length)

    def copy(self, exchange: bytes, first_b: int) -> Place:
        """The place of an exchange that is taken as it lies in another file of this codec.

        ``first_b`` is the length of its first record, response or revisit.
        """
        self._make_room()
        offset = self._disk_b + self._buffered_b
        self._buffer.append(exchange)
        self._buffered_b += len(exchange)
        return Place(self._name, offset, first_b)

    def flush(self) -> None:
        """All that was written so far is the operating system's. Raises ``StoreError`` where it cannot be."""
        if not self._buffer:
            return
        records, size_b = self._buffer, self._buffered_b
        self._buffer, self._buffered_b = [], 0
        try:
            _write_all(self._fd, records)
        except OSError as error:
            self._give_up()
            raise self._failure(self._name, error) from error
        if not self._path.exists():  # the system takes bytes for a file that nobody can open any more
            self._give_up()
            raise self._failure(self._name, FileNotFoundError())
        self._disk_b += size_b

    def positions(self) -> dict[str, FilePosition]:
        """The files of this writer."""
        found = {name: FilePosition(size_b, is_closed=True) for name, size_b in self._closed.items()}
        if self._name and self._disk_b:
            found[self._name] = FilePosition(self._disk_b, is_closed=self._fd < 0)
        return found

    def close(self) -> None:
        """Flushes and closes the current file; a second call does nothing. A later write begins a new file."""
        if not self._broken:
            self.flush()
            self._close_file()

    def _make_room(self) -> None:
        """Before an exchange, never inside it: a file to write to, and not too much held in memory."""
        if self._broken:
            raise StoreError(self._broken)
        if not self._name or self._disk_b + self._buffered_b >= self._max_file_b:
            self._begin_file()
        elif self._buffered_b >= _WRITE_AT_B:
            self.flush()

    def _record(self, kind: str, record_id: str, about: str, media: str, block: bytes, more: bytes = b"") -> bytes:
        """A record whose block comes in two parts, of which the second may be large: it is copied once."""
        if self._block_digests:
            about += f"WARC-Block-Digest: {payload_digest(block, more)}\r\n"
        head = (
            f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <{record_id}>\r\n{about}Content-Type: {media}\r\n"
            f"Content-Length: {len(block) + len(more)}\r\n\r\n"
        )
        return b"".join((head.encode("utf-8", "replace"), block, more, b"\r\n\r\n"))

    def _append(self, *records: bytes) -> int:
        """How many bytes the first of these records takes, compressed."""
        first_b = 0
        for record in records:
            if self._compress:
                level = LEVEL if len(record) > SMALL_B else SMALL_LEVEL
                record = igzip_lib.compress(record, level, igzip_lib.COMP_GZIP)
            self._buffer.append(record)
            self._buffered_b += len(record)
            first_b = first_b or len(record)
        return first_b

    def _begin_file(self) -> None:
        """A new file, its name taken at once so that no other writer can have it, with its warcinfo record."""
        self.flush()
        self._close_file()
        date = self._now()
        suffix = ".warc.gz" if self._compress else ".warc"
        while self._fd < 0:
            self._serial += 1
            stamp = date.astimezone(UTC).strftime("%Y%m%d%H%M%S")
            name = f"weft-{self._prefix}-{stamp}-{self._serial:05d}{suffix}"
            if self._name_of is not None:
                name = self._name_of(self._serial)
            if self._serial > _MAX_SERIAL:
                raise StoreError(f"{self._folder} holds too many WARC files: no name is left after {name}")
            try:
                self._fd = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
            except FileExistsError:
                continue
            except OSError as error:
                raise self._failure(name, error) from error
        self._name, self._path, self._disk_b = name, self._folder / name, 0
        about = f"WARC-Date: {_iso(date)}\r\nWARC-Filename: {name}\r\n"
        self._append(self._record("warcinfo", self._new_id(), about, _FIELDS, _warc_fields(self._fields)))

    def _close_file(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._closed[self._name] = self._disk_b
        self._name, self._fd, self._disk_b = "", -1, 0

    def _give_up(self) -> None:
        """Leaves the file with whole records only. Best effort: ``warc_recovery`` does the same at the next start."""
        path = self._folder / self._name
        try:
            os.ftruncate(self._fd, self._disk_b)
            os.close(self._fd)
            if not self._disk_b:
                path.unlink()
        except OSError:
            return
        finally:
            self._fd = -1

    def _failure(self, name: str, error: OSError) -> StoreError:
        path = self._folder / name
        self._broken = f"cannot write {path}: {(error.strerror or str(error)).lower()}"
        if isinstance(error, FileNotFoundError):
            gone = path if self._folder.exists() else self._folder
            self._broken = f"{gone} is gone: somebody has removed or moved it while the crawl ran"
        return StoreError(self._broken)


def _write_all(fd: int, records: list[bytes]) -> None:
    for start in range(0, len(records), _WRITTEN_AT_ONCE):
        group = records[start : start + _WRITTEN_AT_ONCE]
        written_b = os.writev(fd, group)  # as they lie in memory: nothing is copied to stand in a row
        if written_b < sum(map(len, group)):
            _write_rest(fd, memoryview(b"".join(group))[written_b:])


def _write_rest(fd: int, rest: memoryview) -> None:
    """Writes what the system has not taken at once."""
    while rest:
        step_b = os.write(fd, rest)
        if step_b <= 0:
            raise OSError("the disk takes no more bytes")
        rest = rest[step_b:]


# What goes into a record, made safe: nothing the web sends can end a header or a record early (promise 9).


@lru_cache(maxsize=256)
def _iso(date: datetime) -> str:
    return date.astimezone(UTC).isoformat("T", "seconds")[:19] + "Z"


def _safe_url(url: str) -> str:
    """The URL as it is; if it holds what no URL may (spaces, control characters, non-ASCII), those percent-encoded."""
    if url.isascii() and url.isprintable() and " " not in url:
        return url
    return quote(url, safe="!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", errors="replace")


def _one_line(text: str) -> str:
    if text.isprintable():
        return text
    return _CONTROL.sub(" ", text)


def _warc_fields(fields: Mapping[str, str]) -> bytes:
    lines = [f"{_NOT_NAME.sub('-', name) or '-'}: {_one_line(value)}\r\n" for name, value in fields.items()]
    return "".join(lines).encode("utf-8", "replace")
