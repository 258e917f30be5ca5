"""WARC files of any program, read from their beginning to their end: what can be read is read, the rest is told.

Files are packed a record at a time, as a whole, or not at all. A record that is damaged, cut, or says another length
than it has is a ``Problem``; reading goes on at the next place where a record begins. What is held in memory is
bounded, whatever a file says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, NamedTuple

from isal import isal_zlib

from weft.store.warc.reader import IsalError

MAX_BLOCK_B = 256 << 20
"""No larger block is kept: its record is told as a problem."""

_READ_B = 1 << 18
_MAX_HEAD_B = 1 << 20
_MAX_SKIPPED_B = 16 << 30  # of one block that is too large: past it the rest of the packed member is not unpacked
_GZIP = b"\x1f\x8b\x08"
_BEGIN = b"WARC/"
_NEXT = (b"\r\n\r\nWARC/1.", b"\n\nWARC/1.", b"\nWARC/1.")


class AnyRecord(NamedTuple):
    """One record as it is in its file. Names of headers are in lower case."""

    offset: int  # of the record, or of the packed member that holds it
    version: str
    headers: dict[str, str]
    block: bytes

    @property
    def type(self) -> str:
        return self.headers.get("warc-type", "").lower()

    @property
    def url(self) -> str:
        """The URL that it is about; older programs write it in angle brackets."""
        url = self.headers.get("warc-target-uri", "").strip()
        return url[1:-1] if url.startswith("<") and url.endswith(">") else url


class Problem(NamedTuple):
    """What is wrong at a place of a file."""

    offset: int
    kind: str  # DAMAGED, CUT, LENGTH, NO_RECORD, TOO_LARGE
    detail: str


def records_of(file: IO[bytes], max_block_b: int = MAX_BLOCK_B, *, start: int = 0) -> Iterator[AnyRecord | Problem]:
    """Every record of a file, and every problem, in their order, from the place of a record on."""
    member: _Member | None = _Member(file, start)
    if member is not None and member.is_empty:
        yield Problem(0, "NO_RECORD", "there is nothing in the file")
    while member is not None:
        told = False
        for one in _records_of_member(member, max_block_b):
            told = isinstance(one, Problem)
            yield one
        if member.trouble and not told:
            yield Problem(member.offset, "CUT" if member.is_cut else "DAMAGED", member.trouble)
        end = member.end
        member = member.next_member()
        if end is not None and (member is None or member.offset > end) and _has_bytes(file, end):
            yield Problem(end, "DAMAGED", "what follows the record is none, up to the next one that can be read")


def _has_bytes(file: IO[bytes], offset: int) -> bool:
    file.seek(offset)
    return bool(file.read(1))


def _records_of_member(member: _Member, max_block_b: int) -> Iterator[AnyRecord | Problem]:
    while member.skip_blank():
        offset = member.place
        head = member.head()
        if head is None:
            yield Problem(offset, "NO_RECORD", member.trouble or "no record begins here")
            if not member.resume():
                return
            continue
        version, headers = head
        text = headers.get("content-length", "").strip()
        if not text.isdecimal() or len(text) > 18:
            yield Problem(offset, "LENGTH", f"its Content-Length is {text[:40]!r}")
            if not member.resume():
                return
            continue
        length = int(text)
        if length > max_block_b:
            yield Problem(offset, "TOO_LARGE", f"its block has {length:,} bytes, more than {max_block_b:,}")
            if length > _MAX_SKIPPED_B or member.skip(length) < length:
                return
            continue
        block = member.take(length)
        if len(block) < length:
            kind = "CUT" if member.is_cut else "DAMAGED" if member.trouble else "LENGTH"
            more = member.trouble or f"its block has {len(block):,} bytes where {length:,} are announced"
            yield Problem(offset, kind, more)
            return
        if not member.ends_well():
            yield Problem(offset, "LENGTH", f"something else than the end of a record follows {length:,} bytes")
            if not member.resume():
                return
            continue
        yield AnyRecord(offset, version, headers, block)


class _Member:
    """One packed member of a file, or a file that is not packed, unpacked little by little."""

    def __init__(self, file: IO[bytes], offset: int) -> None:
        self._file = file
        self.offset = offset
        self.trouble = ""  # why no more can be unpacked
        self._is_broken = False
        file.seek(offset)
        raw = file.read(_READ_B)
        self._read_b = offset + len(raw)  # how much of the file was read
        self._is_packed = raw.startswith(_GZIP[:2])
        self._stream = isal_zlib.decompressobj(31) if self._is_packed else None
        self._raw = raw
        self._held = bytearray()
        self._given_b = 0  # how much of what it unpacks to was given out
        self._ended = not raw
        self.is_empty = not raw

    @property
    def place(self) -> int:
        """Where what comes next lies in the file: exactly where it is not packed, else the packed member."""
        return self.offset if self._is_packed else self.offset + self._given_b

    @property
    def is_cut(self) -> bool:
        """Whether the file ends before this does, as far as anybody can tell."""
        return self._ended and not (self._is_packed and self.end is not None) and not self._is_broken

    @property
    def end(self) -> int | None:
        """Where the packed member ends; None where it is not packed, or its end was not reached."""
        if self._stream is None or not self._stream.eof:
            return None
        return self._read_b - len(self._stream.unused_data)

    def skip_blank(self) -> bool:
        """Goes past empty lines; whether anything is left."""
        while self._fill(1):
            rest = self._held.lstrip(b"\r\n")
            blank_b = len(self._held) - len(rest)
            self._drop(blank_b)
            if rest:
                return True
        return False

    def head(self) -> tuple[str, dict[str, str]] | None:
        """Version and named fields of the record that begins here; None where none does."""
        self._fill(len(_BEGIN))
        if not self._held.startswith(_BEGIN):
            return None
        size_b = 1 << 12
        while True:
            filled = self._fill(size_b)
            end, gap_b = _end_of_head(self._held)
            if end >= 0:
                break
            if not filled or size_b >= _MAX_HEAD_B:
                self.trouble = self.trouble or "its head has no end"
                return None
            size_b *= 4
        lines = bytes(self._held[:end]).decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
        self._drop(end + gap_b)
        headers: dict[str, str] = {}
        last = ""
        for line in lines[1:]:
            if line[:1] in " \t" and last:
                headers[last] += f" {line.strip()}"
                continue
            name, _, value = line.partition(":")
            last = name.strip().lower()
            headers.setdefault(last, value.strip())
        return lines[0].strip(), headers

    def take(self, size_b: int) -> bytes:
        """The next bytes; fewer where there are no more."""
        self._fill(size_b)
        taken = bytes(self._held[:size_b])
        self._drop(len(taken))
        return taken

    def skip(self, size_b: int) -> int:
        """Goes past so many bytes without keeping them; how many there were."""
        left = size_b
        while left and self._fill(1):
            step = min(left, len(self._held))
            self._drop(step)
            left -= step
        return size_b - left

    def ends_well(self) -> bool:
        """Whether a record may end here: at an empty line, at the next record, or at the end."""
        self._fill(2 * len(_NEXT[0]))
        return not self._held or self._held.startswith((b"\r", b"\n", _BEGIN))

    def resume(self) -> bool:
        """Goes to the next place of this member that looks like the beginning of a record; whether there is one."""
        self.trouble = ""
        while self._fill(len(_NEXT[0]) + 1):
            found = [at for at in (self._held.find(mark, 1) for mark in _NEXT) if at >= 0]
            if found:
                self._drop(min(found))
                return True
            self._drop(max(1, len(self._held) - len(_NEXT[0])))
        return False

    def next_member(self) -> _Member | None:
        """The packed member that follows; None at the end of the file. Past damage, the next that begins a record."""
        if not self._is_packed:
            return None
        if self.end is None:
            return self._searched(self.offset + 1)
        self._file.seek(self.end)
        if self._file.read(len(_GZIP)) == _GZIP:
            return _Member(self._file, self.end)
        return self._searched(self.end)

    def _searched(self, offset: int) -> _Member | None:
        """The first member from a place on that unpacks to a record."""
        while True:
            self._file.seek(offset)
            raw = self._file.read(_READ_B)
            if len(raw) < len(_GZIP):
                return None
            at = raw.find(_GZIP)
            while at >= 0:
                if _begins_record(raw[at:]):
                    return _Member(self._file, offset + at)
                at = raw.find(_GZIP, at + 1)
            offset += len(raw) - len(_GZIP) + 1

    def _fill(self, size_b: int) -> bool:
        """Has so many bytes at hand, if there are; whether there are."""
        while len(self._held) < size_b and not self._ended:
            if self._is_packed:
                self._unpack(size_b)
            else:
                self._held += self._raw
                self._read_more()
        return len(self._held) >= size_b

    def _unpack(self, size_b: int) -> None:
        assert self._stream is not None
        data = self._stream.unconsumed_tail or self._raw
        try:
            self._held += self._stream.decompress(data, max(_READ_B, size_b - len(self._held)))
        except IsalError as error:
            self.trouble, self._ended, self._is_broken = f"it cannot be unpacked: {error}", True, True
            return
        self._ended = self._stream.eof
        if not self._ended and not self._stream.unconsumed_tail:
            self._read_more()
            if self._ended:
                self.trouble = "the file ends in the midst of it"

    def _read_more(self) -> None:
        self._raw = self._file.read(_READ_B)
        self._read_b += len(self._raw)
        self._ended = not self._raw

    def _drop(self, size_b: int) -> None:
        del self._held[:size_b]
        self._given_b += size_b


def _end_of_head(held: bytearray) -> tuple[int, int]:
    """Where the head ends, and how long its end is; -1 where it does not. ``\\n`` alone may end lines."""
    strict, loose = held.find(b"\r\n\r\n"), held.find(b"\n\n")
    if strict >= 0 and (loose < 0 or strict < loose):
        return strict, 4
    return loose, 2


def _begins_record(raw: bytes) -> bool:
    """Whether packed bytes unpack to the beginning of a record."""
    try:
        return isal_zlib.decompressobj(31).decompress(raw[: 1 << 12], 64).startswith(_BEGIN)
    except IsalError:
        return False


def body_of_block(block: bytes) -> bytes:
    """The body of an HTTP answer without its chunks; the body as it is where it has none, or they are broken."""
    head, _, body = block.partition(b"\r\n\r\n")
    if b"chunked" not in head.lower():
        return body
    parts: list[bytes] = []
    at = 0
    while True:
        end = body.find(b"\r\n", at)
        size = body[at:end].partition(b";")[0].strip() if end >= 0 else b""
        if not size or len(size) > 15 or not all(digit in b"0123456789abcdefABCDEF" for digit in size):
            return body
        length = int(size, 16)
        if not length:
            return b"".join(parts)
        chunk = body[end + 2 : end + 2 + length]
        if len(chunk) < length or body[end + 2 + length : end + 4 + length] not in (b"\r\n", b""):
            return body
        parts.append(chunk)
        at = end + 4 + length
