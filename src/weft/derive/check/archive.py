"""The archive with the database: every listed file is whole, every record is at its place and what its digest says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from isal import isal_zlib

from weft.derive.check.checked import Checked
from weft.errors import FolderError
from weft.records import NOT_MODIFIED
from weft.store.warc.reader import IsalError, Record, read_record
from weft.store.warc.writer import OUR_FILE, payload_digest

_READ_B = 1 << 18
_TELL_EVERY = 500


def check_archive(checked: Checked) -> None:
    """Every listed file is there and whole, record by record; every record a visit names is at its place."""
    listed = checked.db.execute("SELECT id, file, committed_b FROM warc ORDER BY id").fetchall()
    checked.report.warc_files = len(listed)
    for number, name, committed_b in listed:
        path = checked.folder.warc / Path(name).name
        size_b = path.stat().st_size if path.is_file() else -1
        if size_b < 0:
            checked.problem("WARC_MISSING", f"{name}: it is listed, and is not there")
        elif size_b < committed_b:
            checked.problem("WARC_SHORT", f"{name}: it has {size_b:,} bytes, and {committed_b:,} are committed")
        elif size_b > committed_b:
            _past_commit(checked, f"{name} has {size_b - committed_b:,} bytes more than are committed", "WARC_LONG")
        if size_b >= 0:
            _check_file(checked, number, path, min(size_b, committed_b))
    checked.some("VISIT_WITHOUT_RECORD", _VISIT_WITHOUT_WARC, "visit {0}: its WARC file is not listed")
    names = {Path(row[1]).name for row in listed}
    for path in sorted(checked.folder.warc.iterdir()) if checked.folder.warc.is_dir() else ():
        if path.name not in names and OUR_FILE.fullmatch(path.name):
            _past_commit(checked, f"{path.name} is there and not listed", "WARC_UNLISTED")


def _past_commit(checked: Checked, what: str, kind: str) -> None:
    if checked.killed:
        checked.report.notes.append(f"{what}; weft resume removes what was not committed")
    else:
        checked.problem(kind, what)


def _check_file(checked: Checked, number: int, path: Path, end_b: int) -> None:
    """Walks a file and the visits that name it side by side, both by offset."""
    visits = checked.db.execute(_VISITS_OF_FILE, (number,))
    visit = visits.fetchone()
    for offset, length in _members(checked, path, end_b):
        while visit is not None and visit[1] < offset:
            checked.problem(
                "VISIT_WITHOUT_RECORD",
                f"visit {visit[0]} of {visit[3]}: no record begins at {visit[1]} of {path.name}",
            )
            visit = visits.fetchone()
        try:
            record = read_record(path, offset, length)
        except FolderError as error:
            checked.problem("RECORD_DAMAGED", str(error))
            continue
        checked.report.warc_records += 1
        _check_record(checked, path, offset, record)
        if visit is not None and visit[1] == offset:
            _check_record_of_visit(checked, path, length, record, visit)
            visit = visits.fetchone()
    while visit is not None:
        checked.problem(
            "VISIT_WITHOUT_RECORD", f"visit {visit[0]} of {visit[3]}: there is nothing at {visit[1]} of {path.name}"
        )
        visit = visits.fetchone()
    checked.report.warc_bytes += end_b


def _members(checked: Checked, path: Path, end_b: int) -> Iterator[tuple[int, int]]:
    """Offset and length of each gzip member up to ``end_b``; stops, with a problem, where there is none."""
    with path.open("rb") as file:
        offset = 0
        while offset < end_b:
            if checked.report.warc_records % _TELL_EVERY == 0:
                checked.progress(path.name, offset, end_b)
            length = _member_length(file.fileno(), offset, end_b)
            if length is None:
                checked.problem("RECORD_DAMAGED", f"{path.name}: no whole record begins at {offset}")
                return
            yield offset, length
            offset += length


def _check_record(checked: Checked, path: Path, offset: int, record: Record) -> None:
    block_digest = record.headers.get("WARC-Block-Digest")
    if block_digest is not None and block_digest != payload_digest(record.http_head + record.body):
        checked.problem("RECORD_DIGEST", f"{path.name} at {offset}: the record is not what its digest says")
    if record.type == "response" and record.headers.get("WARC-Payload-Digest") != payload_digest(record.body):
        checked.problem("RECORD_DIGEST", f"{path.name} at {offset}: the payload is not what its digest says")


def _check_record_of_visit(
    checked: Checked, path: Path, length: int, record: Record, visit: tuple[object, ...]
) -> None:
    number, offset, expected_length, url, digest, revisit, status = visit
    where = f"visit {number} of {url}, {path.name} at {offset}"
    # What was answered has a digest, also where weft itself failed on it (BUG) and knows no status.
    kind = "metadata" if digest is None else "revisit" if revisit else "response"
    if record.type != kind:
        checked.problem("RECORD_OTHER", f"{where}: the record is of type {record.type!r}, not {kind!r}")
    if record.headers.get("WARC-Target-URI") != url:
        checked.problem("RECORD_OTHER", f"{where}: the record is of {record.headers.get('WARC-Target-URI')}")
    if expected_length != length:
        checked.problem("RECORD_OTHER", f"{where}: {length} bytes, and {expected_length} are expected")
    if digest is not None and record.headers.get("WARC-Payload-Digest") != digest:
        checked.problem("RECORD_OTHER", f"{where}: the digests do not agree")
    if revisit and status != NOT_MODIFIED and not checked.db.execute(_STORED, (digest, number)).fetchone():
        checked.problem("REVISIT_OF_NOTHING", f"{where}: the record with the same payload is gone")


def _member_length(fd: int, offset: int, end_b: int) -> int | None:
    """How many bytes the gzip member at ``offset`` takes; None where none begins there, or it does not end in time."""
    stream = isal_zlib.decompressobj(31)
    at = offset
    try:
        while at < end_b and (data := os.pread(fd, min(_READ_B, end_b - at), at)):
            at += len(data)
            stream.decompress(data, _READ_B)
            while not stream.eof and stream.unconsumed_tail:
                stream.decompress(stream.unconsumed_tail, _READ_B)
            if stream.eof:
                return at - len(stream.unused_data) - offset
    except (OSError, IsalError):
        return None
    return None


_VISIT_WITHOUT_WARC = """
SELECT v.id FROM visit v LEFT JOIN warc w ON w.id = v.warc WHERE v.warc IS NOT NULL AND w.id IS NULL LIMIT 1000
"""
_VISITS_OF_FILE = """
SELECT v.id, v.warc_offset, v.warc_length, u.text, v.digest, v.revisit, v.status
FROM visit v LEFT JOIN url u ON u.id = v.url WHERE v.warc = ? ORDER BY v.warc_offset
"""
_STORED = """
SELECT 1 FROM visit v JOIN visit r ON r.hash = v.hash
WHERE v.digest = ? AND r.id = ? AND v.revisit = 0 AND v.warc IS NOT NULL LIMIT 1
"""
