"""The archive as one WARC file, or as files of a given size: the records as they lie in the crawl's own files.

Nothing is packed again. Without a filter all that was asked is there, robots.txt and sitemaps too; with one, every
answer of the chosen pages, and the records that their revisit records name.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from isal import isal_zlib

from weft.derive.export.model import Chosen, first_seed
from weft.derive.read import StoredCrawl
from weft.errors import FolderError, SpecError
from weft.fetch.http.headers import user_agent_of
from weft.records import NOT_MODIFIED
from weft.store.warc.cdxj import REVISIT_MIME, CdxRow
from weft.store.warc.reader import IsalError
from weft.store.warc.writer import Form, WarcWriter
from weft.text.human import command
from weft.text.version import __version__

_AT_ONCE = 500
_OPEN_FILES = 32
_REQUEST_B = 1 << 14
_LARGEST_FILE_B = 1 << 62


class _Stored(NamedTuple):
    """A record of the archive and the visit that it holds."""

    visit: int
    page: int | None
    purpose: int
    url: str
    started_ms: int
    status: int | None
    type: str | None
    digest: str | None
    hash: int | None
    revisit: int
    file: str
    offset: int
    length: int


def write_warc(
    chosen: Chosen, folder: Path, name_of: Callable[[int], str], *, max_file_b: int | None = None,
    note: Callable[[CdxRow], None] | None = None,
) -> int:  # fmt: skip
    """Copies the records into files of ``folder``; how many pages they hold. ``note`` is told of every answer."""
    crawl = chosen.crawl
    if not crawl.scalar("SELECT count(*) FROM warc"):
        raise SpecError(f"the crawl in {crawl.folder.path} keeps no answers (--no-archive): there is no WARC to export")
    writer = WarcWriter(
        folder,
        prefix="export",
        form=Form(max_file_b or _LARGEST_FILE_B, name_of=name_of),
        software=f"weft/{__version__}",
        info=warcinfo_of(chosen),
        now=lambda: datetime.now(UTC),
    )
    pages = bytearray(crawl.newest_url() + 1)
    count = 0
    with _Files(crawl) as files:
        for stored in _records(chosen):
            raw = files.exchange(stored)
            place = writer.copy(raw, stored.length)
            if note is not None and stored.status not in (None, NOT_MODIFIED) and stored.digest is not None:
                media = REVISIT_MIME if stored.revisit else stored.type or ""
                assert place.offset is not None
                note(
                    (
                        stored.url,
                        stored.started_ms,
                        media,
                        stored.status,
                        stored.digest,
                        stored.length,
                        place.offset,
                        place.file,
                    )
                )
            if stored.page is not None and not pages[stored.page]:
                pages[stored.page] = 1
                count += 1
        writer.close()
    return count


def warcinfo_of(chosen: Chosen) -> dict[str, str]:
    """What the first record of an exported file says of the crawl."""
    crawl, choice = chosen.crawl, chosen.choice
    identity = crawl.spec.identity
    info = {
        "operator": choice.operator or identity.contact,
        "contact": identity.contact,
        "description": choice.description or f"crawl of {first_seed(crawl)}",
        "isPartOf": crawl.folder.path.resolve().name,
        "http-header-user-agent": user_agent_of(identity),
        "robots": "ignore" if crawl.spec.politeness.ignore_robots else "obey",
    }
    return {name: value for name, value in info.items() if value}


def _records(chosen: Chosen) -> Iterator[_Stored]:
    """The records that are copied, each once, in the order of their visits."""
    total = chosen.newest
    wanted = None if chosen.is_everything else _wanted(chosen)
    last = 0
    while rows := chosen.crawl.connection.execute(_STORED, (last, chosen.newest, _AT_ONCE)).fetchall():
        last = rows[-1][0]
        chosen.progress("copying records", last, total)
        for row in rows:
            if wanted is None or wanted[row[0]]:
                yield _Stored(*row)


def _wanted(chosen: Chosen) -> bytearray:
    """For each id of a visit whether its record is copied: all attempts of chosen pages, and what they refer to."""
    db = chosen.crawl.connection
    wanted = bytearray(chosen.newest + 1)
    for page in chosen.pages("choosing pages"):
        number, _ = page.ids
        for visit, body_hash, digest, revisit in db.execute(_VISITS_OF_PAGE, (number, chosen.newest)).fetchall():
            wanted[visit] = 1
            if revisit:
                original = db.execute(_ORIGINAL, (body_hash, digest)).fetchone()
                if original is not None and original[0] <= chosen.newest:
                    wanted[original[0]] = 1
    return wanted


class _Files:
    """The WARC files of a crawl, a few of them open at once."""

    def __init__(self, crawl: StoredCrawl) -> None:
        self._crawl = crawl
        self._open: OrderedDict[str, int] = OrderedDict()

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._open.values():
            os.close(descriptor)

    def exchange(self, stored: _Stored) -> bytes:
        """A record as it lies in its file, with the request record behind it if there is one."""
        descriptor = self._descriptor(stored.file)
        first = os.pread(descriptor, stored.length, stored.offset)
        if len(first) < stored.length or not first.startswith(b"\x1f\x8b"):
            more = f"{command('check', self._crawl.folder.path)} tells more"
            raise FolderError(
                f"{stored.file} is damaged: the record of {stored.url} is not at {stored.offset} ({more})"
            )
        if stored.status is None and stored.digest is None:
            return first  # why there was no answer: it has no request record
        return first + _request_at(descriptor, stored.offset + stored.length)

    def _descriptor(self, file: str) -> int:
        descriptor = self._open.get(file)
        if descriptor is None:
            if len(self._open) >= _OPEN_FILES:
                os.close(self._open.popitem(last=False)[1])
            path = self._crawl.folder.warc / Path(file).name
            try:
                descriptor = self._open[file] = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            except OSError as error:
                raise FolderError(f"cannot read {path}: {error.strerror}") from error
        self._open.move_to_end(file)
        return descriptor


def _request_at(descriptor: int, offset: int) -> bytes:
    """The packed request record that begins at an offset; nothing where another kind of record does."""
    size_b = _REQUEST_B
    while True:
        data = os.pread(descriptor, size_b, offset)
        stream = isal_zlib.decompressobj(31)
        try:
            text = stream.decompress(data, 1 << 20)
        except IsalError:
            return b""
        head = text[: text.find(b"\r\n\r\n")]
        if b"\r\nWARC-Type: request\r\n" not in head:
            return b""
        if stream.eof:
            return data[: len(data) - len(stream.unused_data)]
        if len(data) < size_b:
            return b""
        size_b *= 8


_STORED = """
SELECT v.id, v.page, v.purpose, u.text, v.started_ms, v.status, v.type, v.digest, v.hash, v.revisit, w.file,
       v.warc_offset, v.warc_length
FROM visit v JOIN url u ON u.id = v.url JOIN warc w ON w.id = v.warc
WHERE v.id > ? AND v.id <= ? AND v.warc_offset IS NOT NULL ORDER BY v.id LIMIT ?
"""
_VISITS_OF_PAGE = "SELECT id, hash, digest, revisit FROM visit WHERE page = ? AND id <= ?"
_ORIGINAL = """
SELECT id FROM visit WHERE hash = ? AND digest = ? AND revisit = 0 AND warc IS NOT NULL ORDER BY id LIMIT 1
"""
