"""The answers of WARC files, found by their URLs: what an import is fed with in the place of the network (E3).

Of several answers of a URL the newest counts. A revisit record has the body of the record with its payload digest.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from weft.errors import Cause
from weft.records import Failure, Fetched, Lease
from weft.store.warc.foreign import AnyRecord, Problem, body_of_block, records_of
from weft.url import origin_of, parse

_STATUS = re.compile(rb"HTTP/(\d(?:\.\d)?)[ \t]+(\d{3})")
_AT_ONCE = 1_000


class WarcAnswers:
    """An index of files, in a database of its own in ``work``; the answers are read when they are asked for."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self._db = sqlite3.connect(work / "answers.db", isolation_level=None)
        self._db.executescript(_TABLES)
        self._files: list[IO[bytes]] = []
        self.counts: Counter[str] = Counter()
        self.problems: list[tuple[str, Problem]] = []
        self.software = ""

    def close(self) -> None:
        self._db.close()
        for file in self._files:
            file.close()

    # ---- reading files in --------------------------------------------------------------------------------------

    def add(self, path: Path, name: str) -> None:
        """Takes a file in. One that is packed as a whole is unpacked first: its records are found by their places."""
        file = path.open("rb")
        self._files.append(file)
        before, problems = self.counts.copy(), len(self.problems)
        seen = -1
        self._db.execute("BEGIN")
        for one in records_of(file):
            if isinstance(one, Problem):
                self._note(name, one)
            elif one.offset == seen:
                self._db.execute("ROLLBACK")
                self.counts = before
                del self.problems[problems:]
                self._add_unpacked(path, name)
                return
            else:
                seen = one.offset
                self._add_record(one)
        self._db.execute("COMMIT")

    def _add_unpacked(self, path: Path, name: str) -> None:
        """The same for a file that is packed as a whole."""
        self._files.pop().close()
        plain = self._work / f"{len(self._files)}.warc"
        with path.open("rb") as source, plain.open("wb") as target:
            for one in records_of(source):
                if isinstance(one, Problem):
                    self._note(name, one)
                    continue
                head = "".join(f"{key}: {value}\r\n" for key, value in one.headers.items())
                target.write(f"{one.version}\r\n{head}\r\n".encode("utf-8", "replace"))
                target.write(one.block + b"\r\n\r\n")
        file = plain.open("rb")
        self._files.append(file)
        self._db.execute("BEGIN")
        for one in records_of(file):
            if isinstance(one, AnyRecord):
                self._add_record(one)
        self._db.execute("COMMIT")

    def _note(self, name: str, problem: Problem) -> None:
        self.counts["damaged"] += 1
        if len(self.problems) < _AT_ONCE:
            self.problems.append((name, problem))

    def _add_record(self, record: AnyRecord) -> None:
        kind = record.type
        if kind == "warcinfo":
            found = re.search(rb"^software: *([^\r\n]*)", record.block, re.MULTILINE)
            self.software = self.software or (found[1].decode("utf-8", "replace") if found else "")
            return
        url = parse(record.url)
        if url is None or not url.startswith(("http://", "https://")):
            self.counts[f"{kind or 'other'} (not of the web)"] += 1
            return
        url = url.partition("#")[0]
        place = len(self._files) - 1, record.offset
        at_ms = _epoch_ms(record.headers.get("warc-date", ""))
        is_cause = kind == "metadata" and _cause_of(record.block) is not None
        if kind in ("response", "revisit", "resource") or is_cause:
            digest = record.headers.get("warc-payload-digest", "")
            self._db.execute(_ADD_ANSWER, (url, *place, at_ms, kind, digest, origin_of(url)))
            if digest and kind in ("response", "resource"):
                self._db.execute("INSERT OR IGNORE INTO payload VALUES(?, ?, ?)", (digest, *place))
        elif kind == "request":
            self._db.execute("INSERT OR REPLACE INTO request VALUES(?, ?, ?)", (url, *place))
        self.counts[kind or "other"] += 1

    # ---- what there is ---------------------------------------------------------------------------------------

    def has(self, url: str) -> bool:
        """Whether there is an answer of a URL."""
        return self._db.execute("SELECT 1 FROM answer WHERE url = ?", (url,)).fetchone() is not None

    def urls(self) -> Iterator[str]:
        """Every URL with an answer, in the order of the files; robots.txt is no page, and left out."""
        last = 0
        query = "SELECT rowid, url FROM answer WHERE rowid > ? ORDER BY rowid LIMIT ?"
        while rows := self._db.execute(query, (last, _AT_ONCE)).fetchall():
            last = rows[-1][0]
            yield from (url for _, url in rows if not url.endswith("/robots.txt"))

    @property
    def has_all_robots(self) -> bool:
        """Whether there is a robots.txt for the origin of every answer."""
        query = """SELECT count(*) FROM (SELECT DISTINCT origin FROM answer) o
                   WHERE NOT EXISTS (SELECT 1 FROM answer a WHERE a.url = o.origin || '/robots.txt')"""
        return bool(self._db.execute(query).fetchone()[0] == 0)

    # ---- answers ---------------------------------------------------------------------------------------------

    def answer(self, lease: Lease) -> Fetched | Failure:
        """What the files hold for a URL."""
        row = self._db.execute("SELECT file, at, ms, kind, digest FROM answer WHERE url = ?", (lease.url,)).fetchone()
        record = None if row is None else self._record(row[0], row[1])
        if row is None or record is None:
            return Failure(Cause.CONNECTION_LOST, "there is no answer in the files")
        if row[3] == "metadata":
            cause, detail = _cause_of(record.block) or (Cause.BAD_ANSWER, "")
            return Failure(cause, detail, started_ms=row[2])
        if row[3] == "resource":
            media = record.headers.get("content-type", "application/octet-stream")
            head = f"HTTP/1.1 200 OK\r\nContent-Type: {media}\r\n\r\n".encode("latin-1", "replace")
            return _fetched(head, record.block, record, row[2])
        head, _, _ = record.block.partition(b"\r\n\r\n")
        block = record.block
        if row[3] == "revisit" and b" 304" not in head[:13]:
            original = self._db.execute("SELECT file, at FROM payload WHERE digest = ?", (row[4],)).fetchone()
            stored = None if original is None else self._record(*original)
            if stored is None:
                return Failure(Cause.INCOMPLETE_BODY, "its body is in a record that is not in the files")
            block = stored.block
            head = head if _STATUS.match(head) else block.partition(b"\r\n\r\n")[0]
        if not _STATUS.match(head):
            return Failure(Cause.BAD_ANSWER, "the record holds no answer of HTTP", started_ms=row[2])
        body = block if stored_plain(block) else body_of_block(block)
        return _fetched(head + b"\r\n\r\n", body, record, row[2])

    def request_head(self, lease: Lease) -> bytes:
        """The request that was sent for a URL; nothing where no record tells."""
        row = self._db.execute("SELECT file, at FROM request WHERE url = ?", (lease.url,)).fetchone()
        record = None if row is None else self._record(*row)
        return b"" if record is None else record.block.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"

    def _record(self, file: int, offset: int) -> AnyRecord | None:
        found = next(records_of(self._files[file], start=offset), None)
        return found if isinstance(found, AnyRecord) else None


def stored_plain(block: bytes) -> bool:
    """Whether a block is a body by itself, without a head of HTTP."""
    return not block.startswith(b"HTTP/")


def _fetched(head: bytes, wire: bytes, record: AnyRecord, started_ms: int) -> Fetched:
    found = _STATUS.match(head)
    assert found is not None
    lines = head.decode("latin-1").split("\r\n")[1:]
    pairs = [line.partition(":") for line in lines if ":" in line]
    headers = tuple((name.strip().lower(), value.strip()) for name, _, value in pairs)
    return Fetched(
        status=int(found[2]), head=head, headers=headers, wire=wire, body=wire,
        truncated="warc-truncated" in record.headers, started_ms=started_ms, response_ms=0,
        ip=record.headers.get("warc-ip-address", ""), http_version=found[1].decode(),
    )  # fmt: skip


def _cause_of(block: bytes) -> tuple[Cause, str] | None:
    """Why there was no answer, as weft notes it in metadata records."""
    said = dict(line.partition(": ")[::2] for line in block.decode("utf-8", "replace").splitlines())
    cause = said.get("cause", "")
    return (Cause(cause), said.get("detail", "")) if cause in Cause.__members__ else None


def _epoch_ms(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return 0
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


_TABLES = """
PRAGMA journal_mode = MEMORY;
PRAGMA synchronous = OFF;
CREATE TABLE answer(url TEXT PRIMARY KEY, file INTEGER, at INTEGER, ms INTEGER, kind TEXT, digest TEXT, origin TEXT);
CREATE TABLE payload(digest TEXT PRIMARY KEY, file INTEGER, at INTEGER);
CREATE TABLE request(url TEXT PRIMARY KEY, file INTEGER, at INTEGER);
"""
_ADD_ANSWER = """
INSERT INTO answer VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT(url) DO UPDATE SET
    file = excluded.file, at = excluded.at, ms = excluded.ms, kind = excluded.kind, digest = excluded.digest
WHERE excluded.ms >= ms
"""
