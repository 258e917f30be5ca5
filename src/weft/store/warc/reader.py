"""Records of the archive read back by their place, bounded whatever a damaged or foreign file says (E3)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from isal import isal_zlib

from weft.errors import FolderError

MAX_RECORD_B = 1 << 30  # no record is read past this, whatever a damaged or foreign file says
_READ_B = 1 << 16
IsalError: type[Exception] = isal_zlib.IsalError  # type: ignore[assignment]  # its stub names an instance, not the class


class Record(NamedTuple):
    """One record. ``http_head`` is empty and ``body`` the whole block where the block is no HTTP message."""

    type: str
    headers: dict[str, str]
    http_head: bytes
    body: bytes


def read_record(path: Path, offset: int, length: int | None = None, *, max_b: int = MAX_RECORD_B) -> Record:
    """The record that begins at ``offset``; ``FolderError`` where there is none, or it is damaged or past ``max_b``."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe in its place keeps nobody waiting
    except OSError as error:
        raise FolderError(f"cannot read {path}: {error.strerror}") from error
    try:
        return _parsed_record(_raw_record(fd, offset, length, max_b))
    except (OSError, OverflowError, ValueError, IsalError) as error:
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
