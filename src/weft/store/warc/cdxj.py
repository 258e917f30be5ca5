"""The index of the archive: CDXJ, sorted, for replay tools.

Each line is a key, a 14-digit time and a JSON object. The key is the SURT form (Sort-friendly URI Reordering
Transform) in the normalisation of the Internet Archive, because replay tools compute the same key from what a user
types and look it up by binary search. It is for looking up only and much coarser than weft's own page key.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import re
import sqlite3
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO
from urllib.parse import quote_from_bytes, unquote_to_bytes

import msgspec

from weft.errors import StoreError
from weft.records import NOT_MODIFIED
from weft.text.patterns import regex

REVISIT_MIME = "warc/revisit"  # what the ``mime`` of a revisit record's row must be
UNKNOWN_MIME = "unk"

_RUN_B = 32 << 20  # lines sorted in memory at once
_LINES_AT_ONCE = 256
_FAN_IN = 8  # runs merged at once: few file descriptors, and three levels already hold 16 GB
_LINE_OVERHEAD_B = 100  # what Python needs for a line beside its bytes
_MAX_UNESCAPES = 16  # "%2525..." is unescaped until it stays the same; a URL made to go on for ever is left alone

# no escapes, no dots
_SIMPLE_TAIL = regex(r"(?>[A-Za-z0-9_~-][A-Za-z0-9_.~-]*+/?)*+(?:\?[A-Za-z0-9_.~=&/:;,+-]*+)?")
_SESSION_HINT = regex(r"sid=|sessionid|cfid=")
_WWW = regex(rb"www\d*\.")
_TO_ESCAPE = regex(rb"[^!-~]|[#%]")
_SAFE = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
_SESSION_PATHS = (
    regex(rb"/\((?:[a-z]\([0-9a-z]{24}\))+\)/(?=[^?]+\.aspx)"),
    regex(rb"/\([0-9a-z]{24}\)/(?=[^?]+\.aspx)"),
)
_SESSION_QUERIES = (
    regex(rb"jsessionid=[0-9a-z]{32}(?:&|$)"),
    regex(rb"phpsessid=[0-9a-z]{32}(?:&|$)"),
    regex(rb"sid=[0-9a-z]{32}(?:&|$)"),
    regex(rb"aspsessionid[a-z]{8}=[a-z]{24}(?:&|$)"),
    regex(rb"cfid=[^&]+&cftoken=[^&]+(?:&|$)"),
)
_NOT_PLAIN = regex(r"[^!-~]+")


CdxRow = tuple[str, int, str, int | None, str, int, int, str]
"""One response or revisit record of the archive: its URL, when it was asked for (ms since the epoch), media type,
status, digest, length and offset of the record, and the name of its file."""


def stored_rows(connection: sqlite3.Connection) -> Iterator[CdxRow]:
    """What the index has a line for: every answer whose record lies in the archive, in no order.

    304 is none to be shown: who looks for a page at that time is shown the answer that still held."""
    return connection.execute(_STORED)


_STORED = f"""
SELECT u.text, v.started_ms, CASE WHEN v.revisit THEN '{REVISIT_MIME}' ELSE coalesce(v.type, '') END, v.status,
       v.digest, v.warc_length, v.warc_offset, w.file
FROM visit v JOIN url u ON u.id = v.url JOIN warc w ON w.id = v.warc WHERE v.status <> {NOT_MODIFIED}
"""


class _Fields(msgspec.Struct, frozen=True, gc=False):
    """The JSON object as pywb and Common Crawl write it: numbers are strings, digests go without ``sha1:``."""

    url: str
    mime: str
    status: str
    digest: str
    length: str
    offset: str
    filename: str


_ENCODER = msgspec.json.Encoder()


def surt_key(url: str) -> str:
    """The key of an http or https URL, e.g. ``org,example)/path?a=1&b=2`` for
    ``http://www.example.org/Path/?b=2&a=1``.
    """
    scheme, _, rest = url.partition("://")
    authority, _, tail = rest.partition("/")
    if _SIMPLE_TAIL.fullmatch(tail):
        path, _, query = tail.lower().partition("?")
        key = f"{_host_key(scheme, authority)}/{path[:-1] if path.endswith('/') else path}"
        if not query:
            return key
        if not _SESSION_HINT.search(query):
            return f"{key}?{_sorted_query(query) if '&' in query else query}"
    return _careful_surt_key(url)


def _careful_surt_key(url: str) -> str:
    rest = url.encode("utf-8", "replace").partition(b"#")[0]
    scheme, _, rest = rest.partition(b"://")
    rest, _, query = rest.partition(b"?")
    authority, slash, path = rest.partition(b"/")
    key = _host_key(scheme.decode("utf-8", "replace"), authority.decode("utf-8", "replace"))
    key += _plain_path(slash + path).decode("ascii")
    plain_query = _plain_query(query) if query else ""
    return f"{key}?{plain_query}" if plain_query else key


@functools.lru_cache(maxsize=4096)
def _host_key(scheme: str, authority: str) -> str:
    """Host and port up to the closing bracket."""
    host, port = _host_and_port(authority.encode("utf-8", "replace").rpartition(b"@")[2])
    key = b",".join(reversed(_plain_host(host).split(b".")))
    if port and port != {"http": b"80", "https": b"443"}.get(scheme.lower()):
        key += b":" + port
    return key.decode("ascii", "replace") + ")"


def _host_and_port(authority: bytes) -> tuple[bytes, bytes]:
    if authority.startswith(b"["):
        host, _, port = authority[1:].partition(b"]")
        return host, port.lstrip(b":")
    host, _, port = authority.partition(b":")
    return host, port


def _plain_host(host: bytes) -> bytes:
    host = _unescaped(host).replace(b"..", b".").strip(b".").lower()
    www = _WWW.match(host)
    return _escaped(host[www.end() :] if www else host)


def _plain_path(path: bytes) -> bytes:
    kept: list[bytes] = []
    for segment in _unescaped(path).split(b"/")[1:]:
        if segment == b".." and kept:
            kept.pop()
        elif segment != b".":
            kept.append(segment)
    *folders, last = kept or [b""]
    plain = _escaped(b"/" + b"".join(name + b"/" for name in folders if name) + last).lower()
    for session in _SESSION_PATHS:
        plain = _without_last(session, plain, b"/")
    return plain[:-1] if plain.endswith(b"/") and len(plain) > 1 else plain


def _plain_query(query: bytes) -> str:
    plain = _escaped(_unescaped(query)).lower()
    for session in _SESSION_QUERIES:
        plain = _without_last(session, plain, b"")
    return _sorted_query(plain.decode("ascii"))


def _sorted_query(query: str) -> str:
    """The query's arguments in order; ``a`` comes before ``a=``, as tuples of one and two parts compare."""
    return "&".join(map("=".join, sorted(part.split("=", 1) for part in query.split("&"))))


def _without_last(pattern: re.Pattern[bytes], text: bytes, instead: bytes) -> bytes:
    found = list(pattern.finditer(text))
    return text[: found[-1].start()] + instead + text[found[-1].end() :] if found else text


def _unescaped(text: bytes) -> bytes:
    for _ in range(_MAX_UNESCAPES):
        if b"%" not in text:
            break
        once = unquote_to_bytes(text)
        if once == text:
            break
        text = once
    return text


def _escaped(text: bytes) -> bytes:
    if not _TO_ESCAPE.search(text):
        return text
    return quote_from_bytes(text, safe=_SAFE).encode("ascii")


def cdxj_line(row: CdxRow) -> bytes:
    """One line of the index, its line end included."""
    url, epoch_ms, mime, status, digest, length, offset, filename = row
    if not url.isascii() or not url.isprintable() or " " in url:
        url = _NOT_PLAIN.sub(_percent_encoded, url)
    if not mime.isascii() or not mime.isprintable():
        mime = _NOT_PLAIN.sub("", mime)
    mime, digest = mime or UNKNOWN_MIME, digest.removeprefix("sha1:")
    state = "-" if status is None else str(status)
    texts = f"{url}{mime}{digest}{filename}"
    if '"' in texts or "\\" in texts or not texts.isprintable():
        fields = _ENCODER.encode(_Fields(url, mime, state, digest, str(length), str(offset), filename)).decode()
    else:  # nothing to escape, as nearly always
        fields = (
            f'{{"url":"{url}","mime":"{mime}","status":"{state}","digest":"{digest}","length":"{length}",'
            f'"offset":"{offset}","filename":"{filename}"}}'
        )
    return f"{surt_key(url)} {_stamp(epoch_ms // 1000)} {fields}\n".encode("utf-8", "replace")


@functools.lru_cache(maxsize=64)
def _stamp(epoch_s: int) -> str:
    return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y%m%d%H%M%S").zfill(14)


def _percent_encoded(found: re.Match[str]) -> str:
    return quote_from_bytes(found[0].encode("utf-8", "replace"), safe="")


def write_cdxj(rows: Iterable[CdxRow], path: Path) -> int:
    """How many lines the index at ``path`` now has.

    It appears there whole or not at all. Memory stays the same for any number of rows: sorted runs go to unnamed
    files beside ``path``, which vanish with the process.
    """
    temporary = path.with_name(path.name + ".new")
    try:
        with _Sorter(path.parent) as sorter:
            lines = map(cdxj_line, rows)
            while some := list(itertools.islice(lines, _LINES_AT_ONCE)):
                sorter.add(some)
            with temporary.open("wb", buffering=1 << 20) as file:
                file.writelines(sorter.lines())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StoreError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from error
    return sorter.count


class _Sorter:
    """Lines in, sorted lines out: runs of one size are merged into one of the next as soon as there are eight."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._levels: list[list[IO[bytes]]] = []
        self._lines: list[bytes] = []
        self._held_b = 0
        self.count = 0

    def __enter__(self) -> _Sorter:
        return self

    def __exit__(self, *_: object) -> None:
        for run in self._runs():
            run.close()

    def add(self, lines: list[bytes]) -> None:
        self._lines += lines
        self.count += len(lines)
        self._held_b += sum(map(len, lines)) + _LINE_OVERHEAD_B * len(lines)
        if self._held_b >= _RUN_B:
            self._spill()

    def lines(self) -> Iterator[bytes]:
        self._lines.sort()
        runs = self._runs()
        return heapq.merge(*map(_rewound, runs), self._lines) if runs else iter(self._lines)

    def _runs(self) -> list[IO[bytes]]:
        return [run for level in self._levels for run in level]

    def _spill(self) -> None:
        self._lines.sort()
        self._keep(0, self._lines)
        self._lines = []
        self._held_b = 0

    def _keep(self, level: int, lines: Iterable[bytes]) -> None:
        if level == len(self._levels):
            self._levels.append([])
        import tempfile

        run: IO[bytes] = tempfile.TemporaryFile(dir=self._folder, buffering=1 << 17)  # noqa: SIM115  # closed in __exit__
        runs = self._levels[level]
        runs.append(run)
        run.writelines(lines)
        if len(runs) == _FAN_IN:
            self._levels[level] = []
            try:
                self._keep(level + 1, heapq.merge(*map(_rewound, runs)))
            finally:
                for merged in runs:
                    merged.close()


def _rewound(run: IO[bytes]) -> IO[bytes]:
    run.seek(0)
    return run
