"""HTTP heads as WARC records hold them: every reader finds their end, and the payload's true length (promise 9).

A head that is sound is kept byte for byte; any other is repaired line by line, and what was wrong stays to be seen
under ``X-Crawler-`` names.
"""

from __future__ import annotations

import re

from weft.text.patterns import regex

_HEADER_LINES = rb"(?>[!-9;-~]++:[^\r\n\0]*+\r\n)*+\r\n"
_SOUND_RESPONSE = regex(rb"HTTP/1\.[01] \d\d\d(?: [^\r\n\0]*+)?\r\n" + _HEADER_LINES)
_SOUND_REQUEST = re.compile(rb"[A-Z]++ [!-~]++ HTTP/1\.[01]\r\n" + _HEADER_LINES)
_SOUND_HEADER = regex(rb"[!-9;-~]+[ \t]*:")
_STATUS_LINE = regex(rb"HTTP/(\d)(?:\.\d)? +(\d\d\d)(?: +(.*))?", re.DOTALL)
_ANY_STATUS = regex(rb"(?<!\d)\d\d\d(?!\d)")
_FOLD = regex(rb"\n[ \t]+")
_REQUEST_LINE = regex(rb"([A-Z]+) +([!-~]+)")
_LENGTH_HEADERS = (b"transfer-encoding:", b"content-length:")


def kept_response_head(head: bytes, body_b: int) -> bytes:
    """The head of an answer as its record holds it, before a payload of so many bytes."""
    return with_true_length(sound_response_head(head), body_b)


def sound_response_head(head: bytes) -> bytes:
    """The head as it is, if every reader will find its end where we put it; else repaired line by line."""
    if _SOUND_RESPONSE.fullmatch(head):
        return head
    first, lines = _head_lines(head)
    if found := _STATUS_LINE.fullmatch(first):
        version = b"1.0" if first.startswith(b"HTTP/1.0") else b"1.1"
        return _join_head(b"HTTP/%b %b %b" % (version, found[2], found[3] or b""), lines)
    status = _ANY_STATUS.search(first)  # "ICY 200 OK" and the like
    return _join_head(b"HTTP/1.1 %b " % (status[0] if status else b"000"), [b"X-Crawler-Status-Line: " + first, *lines])


def sound_request_head(head: bytes) -> bytes:
    """The same for the head of a request."""
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


def with_true_length(head: bytes, body_b: int) -> bytes:
    """The head with no header that tells another length, or another framing, than the payload has."""
    lower = head.lower()
    if not lower.count(b"\r\ntransfer-encoding"):  # `in` words an error before it looks for bytes in bytes
        lengths = lower.count(b"\r\ncontent-length")
        if not lengths or (lengths == 1 and _tells(lower, b"%d" % body_b)):
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
