"""Answers kept as WARC 1.1, a gzip member per record, and read back by place (E3).

An exchange is a ``response`` (or ``revisit``) record followed by its ``request`` record, which names the first by
WARC-Concurrent-To. The payload is the body as received, content encoding still on it. The transfer encoding is gone
by then, and a header that still spoke of it would make replay take chunks off that are not there; so length headers
that no longer fit are kept under ``X-Crawler-`` names and one true Content-Length is added, as Common Crawl does.
HTTP/2 heads are written in HTTP/1.1 form with WARC-Protocol beside them: all readers insist on ``HTTP/1.x``.

Bytes reach the disk when ``flush`` is called, once a tick. The database then commits ``positions()``, and after a
kill ``recover`` cuts every file back to what was committed. No file is ever opened again for writing.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from isal import igzip_lib, isal_zlib

from weft.errors import FolderError, StoreError
from weft.lazy import regex

LEVEL = 1  # the next one takes a quarter more time for one byte in a hundred
SMALL_B = 2_048
SMALL_LEVEL = 0  # the better levels take six times as long to begin as such a record takes
MAX_RECORD_B = 1 << 30  # no record is read past this, whatever a damaged or foreign file says
REVISIT_PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
CONFORMS_TO = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"

_WRITE_AT_B = 16 << 20  # bytes held in memory before they are written although no tick is due
_READ_B = 1 << 16
_MAX_SERIAL = 99_999
_IsalError: type[Exception] = isal_zlib.IsalError  # type: ignore[assignment]  # its stub names an instance, not the class

OUR_FILE = regex(r"weft-[A-Za-z0-9_-]+-\d{14}-\d{5}\.warc(\.gz)?")
_PREFIX = regex(r"[A-Za-z0-9_-]{1,64}")
_HEADER_LINES = rb"(?>[!-9;-~]++:[^\r\n\0]*+\r\n)*+\r\n"
_SOUND_RESPONSE = re.compile(rb"HTTP/1\.[01] \d\d\d(?: [^\r\n\0]*+)?\r\n" + _HEADER_LINES)
_SOUND_REQUEST = re.compile(rb"[A-Z]++ [!-~]++ HTTP/1\.[01]\r\n" + _HEADER_LINES)
_SOUND_HEADER = regex(rb"[!-9;-~]+[ \t]*:")
_STATUS_LINE = regex(rb"HTTP/(\d)(?:\.\d)? +(\d\d\d)(?: +(.*))?", re.DOTALL)
_ANY_STATUS = regex(rb"(?<!\d)\d\d\d(?!\d)")
_FOLD = regex(rb"\n[ \t]+")
_REQUEST_LINE = regex(rb"([A-Z]+) +([!-~]+)")
_LENGTH_HEADERS = (b"transfer-encoding:", b"content-length:")
_CONTROL = regex(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_NOT_NAME = regex(r"[^A-Za-z0-9_.-]+")
_LATIN_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_BASE32_PAIRS = [first + second for first in _LATIN_DIGITS for second in _LATIN_DIGITS]
_BASE32_SHIFTS = range(150, -1, -10)
_PROTOCOLS = {"2": "h2", "3": "h3", "1.0": "http/1.0"}


class Place(NamedTuple):
    """Where a record lies, and the digest of its payload (empty where there is none)."""

    file: str
    offset: int
    length: int
    digest: str = ""


class RevisitOf(NamedTuple):
    """The record that holds the same payload: its URL, its WARC-Date, and the digest of both."""

    url: str
    date: datetime
    digest: str


class Record(NamedTuple):
    """One record. ``http_head`` is empty and ``body`` the whole block where the block is no HTTP message."""

    type: str
    headers: dict[str, str]
    http_head: bytes
    body: bytes


def payload_digest(wire: bytes, more: bytes = b"") -> str:
    """The digest of a payload, or of its two parts, as WARC and CDXJ spell it: ``sha1:`` and 32 base32 characters."""
    found = hashlib.sha1(wire, usedforsecurity=False)
    if more:
        found.update(more)
    number = int.from_bytes(found.digest())
    return "sha1:" + "".join([_BASE32_PAIRS[number >> shift & 1023] for shift in _BASE32_SHIFTS])


def record_ids(source: random.Random) -> Callable[[], str]:
    """What gives every record of a writer its id: a version 8 UUID (RFC 9562) as a URN.

    74 bits are the writer's own, drawn by chance, the last 48 count: unique, no secret, and a fifth of the cost of
    drawing all of them for each record.
    """
    digits = f"{source.getrandbits(80):020x}"
    own = f"{digits[:8]}-{digits[8:12]}-8{digits[13:16]}-{'89ab'[int(digits[16], 16) & 3]}{digits[17:20]}"
    numbers = count()
    return lambda: f"urn:uuid:{own}-{next(numbers):012x}"


class WarcWriter:
    """Writes records into files of its own, one after the other.

    One writer belongs to one thread of one process; two writers in a folder need different prefixes or they share
    the numbering of names (never a file). After a ``StoreError`` nothing more is written: what the file held at the
    last successful ``flush`` is what it holds, and the rest is given up.
    """

    def __init__(
        self,
        folder: Path,
        *,
        prefix: str,
        max_file_b: int,
        software: str,
        info: Mapping[str, str],
        now: Callable[[], datetime],
        new_id: Callable[[], str] | None = None,
        compress: bool = True,
    ) -> None:
        if not _PREFIX.fullmatch(prefix):
            raise ValueError(f"a WARC prefix is made of letters, digits, - and _, not {prefix!r}")
        self._folder = folder
        self._prefix = prefix
        self._max_file_b = max_file_b
        self._fields = {"software": software, "format": "WARC File Format 1.1", "conformsTo": CONFORMS_TO, **info}
        self._now = now
        # a source of its own, seeded by the system: two writers never make the same, also after a fork
        self._new_id = new_id or record_ids(random.Random())
        self._compress = compress
        self._serial = 0
        self._name = ""  # of the file being written; empty: none
        self._fd = -1
        self._buffer: list[bytes] = []
        self._buffered_b = 0
        self._disk_b = 0
        self._closed: dict[str, int] = {}
        self._unsynced: set[str] = set()
        self._broken = ""

    def write_exchange(
        self,
        url: str,
        fetched_at: datetime,
        request_head: bytes,
        response_head: bytes,
        body: bytes,
        ip: str = "",
        http_version: str = "1.1",
        truncated: str | None = None,
        revisit: RevisitOf | None = None,
        digest: str = "",
    ) -> Place:
        """The place of the response (or, for a payload kept before, revisit) record; its request record follows it.

        ``body`` are the wire bytes without transfer encoding; a revisit needs them too, for its length header.
        ``truncated`` says why it is not all there: ``length``, ``time``, ``disconnect``, ``unspecified``.
        ``digest`` is ``payload_digest(body)`` where the caller has it already.
        """
        self._make_room()
        about = f"WARC-Date: {_iso(fetched_at)}\r\nWARC-Target-URI: {_safe_url(url)}\r\n"
        if ip:
            about += f"WARC-IP-Address: {_one_line(ip)}\r\n"
        if http_version in _PROTOCOLS:
            about += f"WARC-Protocol: {_PROTOCOLS[http_version]}\r\n"
        digest = revisit.digest if revisit else digest or payload_digest(body)
        own = f"WARC-Payload-Digest: {_one_line(digest)}\r\n"
        if truncated:
            own += f"WARC-Truncated: {_one_line(truncated)}\r\n"
        if revisit:
            own += (
                f"WARC-Profile: {REVISIT_PROFILE}\r\nWARC-Refers-To-Target-URI: {_safe_url(revisit.url)}\r\n"
                f"WARC-Refers-To-Date: {_iso(revisit.date)}\r\n"
            )
        head = _with_true_length(_sound_response_head(response_head), len(body))
        record_id = self._new_id()
        place = self._append(
            "revisit" if revisit else "response",
            record_id,
            about + own,
            "application/http; msgtype=response",
            head,
            b"" if revisit else body,
        )
        if request_head:
            about += f"WARC-Concurrent-To: <{record_id}>\r\n"
            request = _sound_request_head(request_head)
            self._append("request", self._new_id(), about, "application/http; msgtype=request", request)
        return Place(place.file, place.offset, place.length, digest)

    def write_metadata(self, url: str, date: datetime, fields: Mapping[str, str]) -> Place:
        """The place of a metadata record, e.g. why there is no answer (``cause``, ``detail``)."""
        self._make_room()
        about = f"WARC-Date: {_iso(date)}\r\nWARC-Target-URI: {_safe_url(url)}\r\n"
        return self._append("metadata", self._new_id(), about, "application/warc-fields", _warc_fields(fields))

    def flush(self) -> None:
        """All that was written so far is the operating system's. Raises ``StoreError`` where it cannot be."""
        if not self._buffer:
            return
        data = self._buffer[0] if len(self._buffer) == 1 else b"".join(self._buffer)
        self._buffer.clear()
        self._buffered_b = 0
        try:
            _write_all(self._fd, data)
        except OSError as error:
            self._give_up()
            raise self._failure(self._name, error) from error
        if not (self._folder / self._name).exists():  # the system takes bytes for a file that nobody can open any more
            self._give_up()
            raise self._failure(self._name, FileNotFoundError())
        self._disk_b += len(data)
        self._unsynced.add(self._name)

    def sync(self) -> None:
        """What was flushed is on the disk itself, also after a power cut."""
        for name in sorted(self._unsynced):
            try:
                fd = os.open(self._folder / name, os.O_RDONLY)
                try:
                    os.fdatasync(fd)
                finally:
                    os.close(fd)
            except OSError as error:
                raise self._failure(name, error) from error
            self._unsynced.discard(name)

    def positions(self) -> dict[str, tuple[int, bool]]:
        """For each file of this writer: how many bytes are on disk, whether it is closed. Whole records only."""
        found = {name: (size_b, True) for name, size_b in self._closed.items()}
        if self._name and self._disk_b:
            found[self._name] = (self._disk_b, self._fd < 0)
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

    def _append(
        self, kind: str, record_id: str, about: str, content_type: str, block: bytes, more: bytes = b""
    ) -> Place:
        packed = self._packed(kind, record_id, about, content_type, block, more)
        place = Place(self._name, self._disk_b + self._buffered_b, len(packed))
        self._buffer.append(packed)
        self._buffered_b += len(packed)
        return place

    def _packed(
        self, kind: str, record_id: str, about: str, content_type: str, block: bytes, more: bytes = b""
    ) -> bytes:
        """A record whose block comes in two parts, of which the second may be large: it is copied once."""
        head = (
            f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <{record_id}>\r\n{about}"
            f"WARC-Block-Digest: {payload_digest(block, more)}\r\nContent-Type: {content_type}\r\n"
            f"Content-Length: {len(block) + len(more)}\r\n\r\n"
        )
        record = b"%b%b%b\r\n\r\n" % (head.encode("utf-8", "replace"), block, more)
        if not self._compress:
            return record
        return igzip_lib.compress(record, LEVEL if len(record) > SMALL_B else SMALL_LEVEL, igzip_lib.COMP_GZIP)

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
            if self._serial > _MAX_SERIAL:
                raise StoreError(f"{self._folder} holds too many WARC files: no name is left after {name}")
            try:
                self._fd = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
            except FileExistsError:
                continue
            except OSError as error:
                raise self._failure(name, error) from error
        self._name, self._disk_b = name, 0
        about = f"WARC-Date: {_iso(date)}\r\nWARC-Filename: {name}\r\n"
        block = _warc_fields(self._fields)
        packed = self._packed("warcinfo", self._new_id(), about, "application/warc-fields", block)
        self._buffer.append(packed)
        self._buffered_b = len(packed)

    def _close_file(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._closed[self._name] = self._disk_b
        self._name, self._fd, self._disk_b = "", -1, 0

    def _give_up(self) -> None:
        """Leaves the file with whole records only. Best effort: ``recover`` does the same at the next start."""
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


def _write_all(fd: int, data: bytes) -> None:
    written_b = os.write(fd, data)
    if written_b == len(data):
        return
    view = memoryview(data)
    while written_b < len(data):
        step_b = os.write(fd, view[written_b:])
        if step_b <= 0:
            raise OSError("the disk takes no more bytes")
        written_b += step_b


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


def _sound_response_head(head: bytes) -> bytes:
    """The head as it is, if every reader will find its end where we put it; else repaired line by line."""
    if _SOUND_RESPONSE.fullmatch(head):
        return head
    first, lines = _head_lines(head)
    if found := _STATUS_LINE.fullmatch(first):
        version = b"1.0" if first.startswith(b"HTTP/1.0") else b"1.1"
        return _join_head(b"HTTP/%b %b %b" % (version, found[2], found[3] or b""), lines)
    status = _ANY_STATUS.search(first)  # "ICY 200 OK" and the like
    return _join_head(b"HTTP/1.1 %b " % (status[0] if status else b"000"), [b"X-Crawler-Status-Line: " + first, *lines])


def _sound_request_head(head: bytes) -> bytes:
    if _SOUND_REQUEST.fullmatch(head):
        return head
    first, lines = _head_lines(head)
    found = _REQUEST_LINE.match(first)
    return _join_head(b"%b %b HTTP/1.1" % (found[1], found[2]) if found else b"GET / HTTP/1.1", lines)


def _head_lines(head: bytes) -> tuple[bytes, list[bytes]]:
    """First line and header lines: folds undone, no empty line, every line a ``name: value``."""
    flat = head.replace(b"\r\n", b"\n").replace(b"\r", b" ").replace(b"\0", b" ")
    first, *rest = _FOLD.sub(b" ", flat).strip(b"\n ").split(b"\n")
    lines: list[bytes] = []
    for line in rest:
        if not line.decode("latin-1").strip():  # some readers end the head at a line of any Unicode space
            continue
        if _SOUND_HEADER.match(line):
            lines.append(line)
        else:
            lines.append(b"X-Crawler-Bad-Header: " + line.strip())
    return first, lines


def _join_head(first: bytes, lines: list[bytes]) -> bytes:
    return b"\r\n".join([first, *lines, b"", b""])


def _with_true_length(head: bytes, body_b: int) -> bytes:
    """The head with no header that tells another length, or another framing, than the payload has."""
    lower = head.lower()
    if b"\r\ntransfer-encoding" not in lower:
        lengths = lower.count(b"\r\ncontent-length")
        length = b"%d" % body_b
        if not lengths or (lengths == 1 and (b"\r\ncontent-length: %b\r\n" % length in lower or _tells(lower, length))):
            return head
    if not body_b and head[9:12] in (b"204", b"304"):  # they have no body, and a length there speaks of another answer
        return head
    first, *lines = head[:-4].split(b"\r\n")
    renamed = [b"X-Crawler-" + line if _is_length_header(line) else line for line in lines]
    return _join_head(first, [*renamed, b"Content-Length: %d" % body_b])


def _tells(lower: bytes, length: bytes) -> bool:
    """Whether the only Content-Length of a head, in lower case, has this value, however it is spaced."""
    line = lower.partition(b"\r\ncontent-length")[2].partition(b"\r\n")[0]
    return line.partition(b":")[2].strip() == length


def _is_length_header(line: bytes) -> bool:
    name, colon, _ = line.partition(b":")
    return name.strip().lower() + colon in _LENGTH_HEADERS


# Coming back


def recover(folder: Path, committed: Mapping[str, int]) -> list[str]:
    """The names of committed files that are missing or shorter than they must be; all others are made to fit.

    A file is cut back to its committed length; a file of ours that is not committed is removed. Files that have
    other names than we give are left alone, and nothing is cut through a link.
    """
    damaged = []
    try:
        for name, size_b in sorted(committed.items()):
            path = folder / name
            surplus_b = path.stat().st_size - size_b if Path(name).name == name and path.is_file() else -1
            if surplus_b < 0 or (surplus_b and path.is_symlink()):
                damaged.append(name)
            elif surplus_b:
                os.truncate(path, size_b)
        for path in our_files(folder):
            if path.name not in committed and not path.is_dir():
                path.unlink()
    except OSError as error:
        raise StoreError(f"cannot tidy {folder}: {error.strerror or error}") from error
    return damaged


def our_files(folder: Path) -> list[Path]:
    """The files in a folder that have names as we give them, committed or not."""
    return sorted(path for path in folder.iterdir() if OUR_FILE.fullmatch(path.name)) if folder.is_dir() else []


def keep_aside(folder: Path) -> None:
    """Gives our files names that no crawl takes for its own: `kept-` before the old one."""
    try:
        for path in our_files(folder):
            path.rename(_free_name(path.with_name(f"kept-{path.name}")))
    except OSError as error:
        raise StoreError(f"cannot tidy {folder}: {error.strerror or error}") from error


def _free_name(path: Path) -> Path:
    number, free = 1, path
    while free.exists():
        free = path.with_name(f"{number}-{path.name}")
        number += 1
    return free


def cut_files(folder: Path, prefix: str, sizes: Mapping[str, int]) -> None:
    """Makes the files of one writer that is gone end where they are known to; those that nobody knows are removed."""
    try:
        for path in folder.glob(f"weft-{prefix}-*.warc*"):
            size_b = sizes.get(path.name)
            if size_b is None:
                path.unlink()
            elif path.stat().st_size > size_b:
                os.truncate(path, size_b)
    except OSError as error:
        raise StoreError(f"cannot tidy {folder}: {error.strerror or error}") from error


def read_record(path: Path, offset: int, length: int | None = None, *, max_b: int = MAX_RECORD_B) -> Record:
    """The record that begins at ``offset``; ``FolderError`` where there is none, or it is damaged or past ``max_b``."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe in its place keeps nobody waiting
    except OSError as error:
        raise FolderError(f"cannot read {path}: {error.strerror}") from error
    try:
        return _parsed_record(_raw_record(fd, offset, length, max_b))
    except (OSError, OverflowError, ValueError, _IsalError) as error:
        raise FolderError(f"{path} holds no sound record at {offset}: {error}") from error
    finally:
        os.close(fd)


def _raw_record(fd: int, offset: int, length: int | None, max_b: int) -> bytes:
    """The bytes of one record, unpacked, and possibly some more."""
    data = os.pread(fd, _READ_B if length is None else min(length, max_b, os.fstat(fd).st_size), offset)
    if data[:2] != b"\x1f\x8b":
        return data if length is not None else _raw_plain_record(fd, data, offset, max_b)
    stream = isal_zlib.decompressobj(31)
    parts: list[bytes] = []
    left = max_b
    while data:
        part = stream.decompress(data, left + 1)
        parts.append(part)
        left -= len(part)
        if left < 0:
            raise ValueError(f"it is larger than {max_b} bytes")
        if stream.eof:
            return parts[0] if len(parts) == 1 else b"".join(parts)
        offset += len(data)
        data = os.pread(fd, _READ_B, offset) if length is None else b""
    raise ValueError("it ends early")


def _raw_plain_record(fd: int, start: bytes, offset: int, max_b: int) -> bytes:
    headers, head_b = _record_headers(start)
    record_b = head_b + int(headers["Content-Length"])
    if not 0 <= record_b <= max_b:
        raise ValueError(f"it is larger than {max_b} bytes")
    return os.pread(fd, min(record_b, os.fstat(fd).st_size), offset)


def _record_headers(raw: bytes) -> tuple[dict[str, str], int]:
    """The named fields, and how many bytes they take with the empty line after them."""
    end = raw.find(b"\r\n\r\n")
    if not raw.startswith(b"WARC/1.") or end < 0:
        raise ValueError("it does not begin with WARC/1")
    headers: dict[str, str] = {}
    for line in raw[:end].decode("utf-8", "replace").split("\r\n")[1:]:
        name, _, value = line.partition(":")
        headers[name] = value.strip()
    if not headers.get("Content-Length", "").isdecimal():
        raise ValueError("it has no length")
    return headers, end + 4


def _parsed_record(raw: bytes) -> Record:
    headers, head_b = _record_headers(raw)
    end = head_b + int(headers["Content-Length"])
    if len(raw) < end:
        raise ValueError("it ends early")
    http_end = head_b
    if headers.get("Content-Type", "").startswith("application/http"):
        found = raw.find(b"\r\n\r\n", head_b, end)
        http_end = found + 4 if found >= 0 else end
    return Record(headers.get("WARC-Type", ""), headers, raw[head_b:http_end], raw[http_end:end])
