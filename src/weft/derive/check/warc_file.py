"""Whether a WARC or WACZ file of any program is sound: every record whole, and what its digests say (E3)."""

from __future__ import annotations

import hashlib
from base64 import b16encode, b32encode
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from zipfile import BadZipFile, ZipFile

import msgspec

from weft.errors import FolderError
from weft.ports import Progress, silent
from weft.store.warc.foreign import AnyRecord, body_of_block, records_of

_MOST_PROBLEMS = 1_000
_TELL_EVERY = 200
_ALGORITHMS = ("sha1", "sha256", "sha512", "md5")
_REQUIRED = ("warc-record-id", "warc-date", "warc-type", "content-length")
_ABOUT_A_URL = ("response", "request", "revisit", "resource", "conversion", "continuation")


class WarcProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong."""

    file: str
    offset: int
    kind: str  # DAMAGED, CUT, LENGTH, NO_RECORD, TOO_LARGE, DIGEST, FIELD
    detail: str


class WarcReport(msgspec.Struct, kw_only=True):
    """The records of one file; ``problems`` holds the first thousand faults, ``wrong`` counts all of them."""

    file: str
    records: dict[str, int] = {}
    bytes: int = 0
    wrong: int = 0
    problems: list[WarcProblem] = []


def check_warc(path: Path, progress: Progress = silent) -> WarcReport:
    """Reads a file from its beginning to its end; in a WACZ, every WARC file inside."""
    report = WarcReport(file=str(path))
    kinds: Counter[str] = Counter()
    for name, stream, size_b in warcs_in(path):
        for number, one in enumerate(records_of(stream)):
            if number % _TELL_EVERY == 0:
                progress(name, one.offset, size_b)
            if isinstance(one, AnyRecord):
                kinds[one.type or "none"] += 1
                report.bytes += len(one.block)
                found = [(kind, detail) for kind, detail in _wrong_in(one)]
            else:
                found = [(one.kind, one.detail)]
            report.wrong += len(found)
            room = _MOST_PROBLEMS - len(report.problems)
            report.problems += [
                WarcProblem(file=name, offset=one.offset, kind=kind, detail=detail) for kind, detail in found[:room]
            ]
    report.records = dict(sorted(kinds.items()))
    return report


def warcs_in(path: Path) -> Iterator[tuple[str, IO[bytes], int]]:
    """The WARC files that a file is, or holds: name, content, size."""
    try:
        if path.suffix.lower() == ".wacz":
            with _opened(path) as zipped:
                names = [name for name in zipped.namelist() if name.lower().endswith((".warc", ".warc.gz"))]
                for name in names:
                    with zipped.open(name) as stream:
                        yield f"{path.name}: {name}", stream, zipped.getinfo(name).file_size
        else:
            with path.open("rb") as stream:
                yield path.name, stream, path.stat().st_size
    except OSError as error:
        raise FolderError(f"cannot read {path}: {error.strerror or error}") from error


@contextmanager
def _opened(path: Path) -> Iterator[ZipFile]:
    try:
        with ZipFile(path) as zipped:
            yield zipped
    except BadZipFile as error:
        raise FolderError(f"{path} is no sound WACZ file: {error}") from error


def _wrong_in(record: AnyRecord) -> Iterator[tuple[str, str]]:
    """What a record lacks, and digests that are not those of what it holds."""
    for name in _REQUIRED:
        if not record.headers.get(name):
            yield "FIELD", f"it has no {name}"
    if record.type in _ABOUT_A_URL and not record.url:
        yield "FIELD", f"a record of type {record.type} has no warc-target-uri"
    if _differs(record.headers.get("warc-block-digest"), record.block):
        yield "DIGEST", f"the block of {record.url or 'the record'} is not what its digest says"
    if record.type in ("response", "resource") and "warc-truncated" not in record.headers:
        payload = record.block
        if record.headers.get("content-type", "").lower().startswith("application/http"):
            payload = record.block.partition(b"\r\n\r\n")[2]
        said = record.headers.get("warc-payload-digest")
        if _differs(said, payload) and _differs(said, body_of_block(record.block)):
            yield "DIGEST", f"the payload of {record.url} is not what its digest says"


def _differs(said: str | None, content: bytes) -> bool:
    """Whether a digest is known to be another one; one in a way that nobody knows is not."""
    name, _, value = (said or "").partition(":")
    algorithm = name.strip().lower().replace("-", "")
    if algorithm not in _ALGORITHMS or not value.strip():
        return False
    raw = hashlib.new(algorithm, content, usedforsecurity=False).digest()
    value = value.strip().upper().rstrip("=")
    return value not in (b32encode(raw).decode().rstrip("="), b16encode(raw).decode())
