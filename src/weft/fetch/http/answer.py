"""What is answered: the final head, taken apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

import msgspec

MAX_SHORT_LINE: Final = 256
_BLANKS: Final = " \t"  # those of HTTP (RFC 9110 5.6.3): the last byte of a letter such as à is none
_MAX_LENGTH_DIGITS: Final = 18  # no body is longer; libcurl takes a length past its range for none


class _AmbiguousError(Exception):
    """Where the body ends cannot be told."""


class Head(msgspec.Struct, frozen=True, gc=False):
    """The head of the final answer, taken apart."""

    raw: bytes  # clean CRLF lines, the final empty line included
    status: int
    version: str
    headers: tuple[tuple[str, str], ...]


def final_head(lines: Sequence[bytes]) -> Sequence[bytes] | None:
    """The lines of the last answer's head with its empty line, or None where it is not complete.

    Interim answers (1xx) come before it, the trailers of a chunked body after it; both are left out.
    """
    start = 0
    for end, line in enumerate(lines):
        if line.strip(b"\r\n"):
            continue
        if end > start and not 100 <= _status_of(lines[start]) < 200:
            return lines[start : end + 1]
        start = end + 1
    return None


def told_length(lines: list[bytes]) -> int:
    """The Content-Length of an answer; 0 where it has none."""
    head = parse_head(lines)
    told = dict(head.headers).get("content-length", "") if head is not None else ""
    return int(told) if told.isdecimal() and len(told) <= _MAX_LENGTH_DIGITS else 0


def parse_head(lines: list[bytes]) -> Head | None:
    """The final head, or None where there is none, or it does not say clearly what is answered and where it ends."""
    raw = b"".join(lines)
    breaks = len(lines)
    # Nearly always there is one head, and it is clean: no need to look at its lines one by one.
    if raw.find(b"\r\n\r\n") != len(raw) - 4 or not (
        raw.count(b"\r\n") == raw.count(b"\n") == raw.count(b"\r") == breaks
    ):
        own = final_head(lines)
        if own is None:
            return None
        raw = b"".join(line.rstrip(b"\r\n").replace(b"\r", b" ").replace(b"\n", b" ") + b"\r\n" for line in own)
    status_line, *rest = raw[:-4].decode("latin-1").split("\r\n")
    status = _status_of(raw[: raw.find(b"\r\n")])
    if status < 200:
        return None
    if raw.count(b"\n ") or raw.count(b"\n\t"):  # `in` words an error before it looks for bytes in bytes
        rest = _unfolded(rest)
    of_line = _short_header_of if len(max(rest, key=len, default="")) <= MAX_SHORT_LINE else _header_parts
    try:
        headers = tuple(filter(None, map(of_line, rest)))
    except _AmbiguousError:
        return None
    return Head(raw, status, status_line.split(None, 1)[0][5:], headers)


@lru_cache(maxsize=1_024)
def _short_header_of(line: str) -> tuple[str, str] | None:
    """The parts of a line, kept: most header lines of a server come with every answer."""
    return _header_parts(line)


def _header_parts(line: str) -> tuple[str, str] | None:
    """Name in lower case and value of a header line; None where it is none."""
    name, colon, value = line.partition(":")
    bare = name.strip(_BLANKS).lower()
    if bare == "transfer-encoding" and name[-1] in _BLANKS:  # libcurl has read over it, others do not (RFC 9112 5.1)
        raise _AmbiguousError
    return (bare, value.strip(_BLANKS)) if colon else None


def _unfolded(lines: Iterable[str]) -> list[str]:
    """Header lines with those joined that go on in the next line (RFC 9112 5.2)."""
    found: list[list[str]] = []
    for line in lines:
        if line[:1] in (" ", "\t") and found:
            found[-1].append(line.strip(_BLANKS))
        else:
            found.append([line])
    return [" ".join(parts) for parts in found]


def _status_of(line: bytes) -> int:
    """The status of a status line, 0 where it is none. Three digits of any kind are one (999 is seen in the wild)."""
    if not line.startswith(b"HTTP/"):
        return 0
    code = line.split(None, 2)[1:2]
    return int(code[0]) if code and len(code[0]) == 3 and code[0].isdigit() else 0


def ends_without_goodbye(message: str, head: Head) -> bool:
    """Whether an answer without a length ended by a closed connection that TLS was not told of: browsers take it."""
    if "unexpected eof" not in message.lower() or head.version not in ("1.0", "1.1"):
        return False
    return not any(name in ("content-length", "transfer-encoding") for name, _ in head.headers)


def is_whole(head: Head, held_b: int) -> bool:
    """Whether all of a body came whose Transfer-Encoding says that there is none, while its connection stays open.

    libcurl waits for the end of the connection then; to others the Content-Length holds (RFC 2616 4.4).
    """
    codings = [value.lower() for name, value in head.headers if name == "transfer-encoding"]
    lengths = {value for name, value in head.headers if name == "content-length"}
    return bool(codings) and not {*codings} - {"", "identity"} and lengths == {str(held_b)}


def promises_too_much(length: str, head: Head) -> bool:
    """Whether an answer has a Content-Length that no body can have: then it did not come whole."""
    if len(length) <= _MAX_LENGTH_DIGITS or not length.isdecimal():
        return False
    if len(length.lstrip("0")) <= _MAX_LENGTH_DIGITS or head.status in (204, 304):
        return False
    return not any(name == "transfer-encoding" for name, _ in head.headers)  # which says where it ends


def wishes_certificate(head: Head, wire: bytes) -> bool:
    """Whether this is nginx's answer to a client that gave no certificate, which it sends inside TLS."""
    return b"No required SSL certificate was sent" in wire[:1_000] and ("server", "nginx") in (
        (name, value[:5].lower()) for name, value in head.headers
    )
