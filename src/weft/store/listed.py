"""Pages that a table lists instead of a web: documents with their texts, or links between URLs, as answers of HTML.

So a judged collection or somebody's graph becomes a crawl like any other. The pages are made here, and say so in a
header, ``X-Crawler-Made-From``.
"""

from __future__ import annotations

import csv
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path

import msgspec

from weft.errors import Cause
from weft.records import Failure, Fetched, Lease
from weft.store.warc.foreign import Problem
from weft.url import parse

_AT_ONCE = 1_000
_HEADINGS = 6
_LONGEST_FIELD = 1 << 27


class Document(msgspec.Struct, frozen=True):
    """A row of docs.jsonl; what else it has is left out."""

    url: str
    title: str | None = None
    text: str | None = None


class ListedAnswers:
    """Answers that are made of tables, in a database of its own in ``work``."""

    software = ""
    has_all_robots = False

    def __init__(self, work: Path) -> None:
        self._db = sqlite3.connect(work / "listed.db", isolation_level=None)
        self._db.executescript(_TABLES)
        self.counts: Counter[str] = Counter()
        self.problems: list[tuple[str, Problem]] = []

    def close(self) -> None:
        self._db.close()

    # ---- reading files in ------------------------------------------------------------------------------------

    def add_documents(self, path: Path) -> None:
        """Takes in a file with a JSON object a line: url, title, text (which may be Markdown)."""
        decode = msgspec.json.Decoder(Document).decode
        self._db.execute("BEGIN")
        with path.open("rb") as stream:
            offset = 0
            for line in stream:
                try:
                    row = decode(line) if line.strip() else None
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    self._wrong(path, offset, str(error))
                    row = None
                offset += len(line)
                if row is not None and (url := self._url(path, offset - len(line), row.url)) is not None:
                    self._db.execute(_ADD_PAGE, (url, row.title or "", row.text or "", path.name))
                    self.counts["documents"] += 1
        self._db.execute("COMMIT")

    def add_links(self, path: Path) -> None:
        """Takes in a CSV file: source, target and, if there is a third column, anchor. The first line may name them."""
        csv.field_size_limit(_LONGEST_FIELD)
        self._db.execute("BEGIN")
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            try:
                self._add_rows(path, csv.reader(stream))
            except csv.Error as error:
                self._wrong(path, 0, str(error))
        self._db.execute("COMMIT")

    def _add_rows(self, path: Path, rows: Iterable[list[str]]) -> None:
        for number, row in enumerate(rows, start=1):
            if not row or (number == 1 and row[0].strip().lower() in ("source", "from")):
                continue
            if len(row) < 2:
                self._wrong(path, number, f"line {number} has no target")
                continue
            source, target = (self._url(path, number, text.strip()) for text in row[:2])
            if source is None or target is None:
                continue
            for url in (source, target):
                self._db.execute(_ADD_PAGE, (url, "", "", path.name))
            self._db.execute("INSERT INTO link VALUES(?, ?, ?)", (source, target, row[2] if len(row) > 2 else ""))
            self.counts["links"] += 1

    def _url(self, path: Path, offset: int, text: str) -> str | None:
        url = parse(text)
        if url is None or not url.startswith(("http://", "https://")):
            self._wrong(path, offset, f"{text[:100]!r} is no URL of the web")
            return None
        return url.partition("#")[0]

    def _wrong(self, path: Path, offset: int, detail: str) -> None:
        self.counts["damaged"] += 1
        if len(self.problems) < _AT_ONCE:
            self.problems.append((path.name, Problem(offset, "ROW", detail)))

    # ---- answers ---------------------------------------------------------------------------------------------

    def has(self, url: str) -> bool:
        """Whether a URL is listed."""
        return self._db.execute("SELECT 1 FROM page WHERE url = ?", (url,)).fetchone() is not None

    def urls(self) -> Iterator[str]:
        """Every URL, in the order of the files."""
        last = 0
        query = "SELECT rowid, url FROM page WHERE rowid > ? ORDER BY rowid LIMIT ?"
        while rows := self._db.execute(query, (last, _AT_ONCE)).fetchall():
            last = rows[-1][0]
            yield from (url for _, url in rows)

    def answer(self, lease: Lease) -> Fetched | Failure:
        """The page that is made of what the tables say of a URL."""
        row = self._db.execute("SELECT title, text, file FROM page WHERE url = ?", (lease.url,)).fetchone()
        if row is None:
            return Failure(Cause.CONNECTION_LOST, "there is no such page in the files")
        title, text, file = row
        links = self._db.execute("SELECT target, anchor FROM link WHERE source = ? ORDER BY rowid", (lease.url,))
        body = "\n".join(
            [
                '<!DOCTYPE html>\n<meta charset="utf-8">',
                *([f"<title>{escape(title)}</title>"] if title else []),
                *_blocks(text),
                *(f'<a href="{escape(target)}">{escape(anchor)}</a>' for target, anchor in links),
            ]
        ).encode("utf-8", "replace")
        headers = (("content-type", "text/html; charset=utf-8"), ("x-crawler-made-from", _plain(file)))
        head = "".join(f"{name.title()}: {value}\r\n" for name, value in headers)
        return Fetched(
            status=200, head=f"HTTP/1.1 200 OK\r\n{head}\r\n".encode("latin-1", "replace"), headers=headers, wire=body,
            body=body, truncated=False, started_ms=0, response_ms=0, ip="", http_version="1.1",
        )  # fmt: skip

    def request_head(self, lease: Lease) -> bytes:
        """Nobody asked."""
        return b""


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs, and headings as Markdown marks them."""
    for block in text.replace("\r\n", "\n").split("\n\n"):
        plain = block.strip()
        if not plain:
            continue
        level = len(plain) - len(plain.lstrip("#"))
        if 0 < level <= _HEADINGS and plain[level : level + 1] == " " and "\n" not in plain:
            yield f"<h{level}>{escape(plain[level:].strip())}</h{level}>"
        else:
            yield f"<p>{escape(plain)}</p>"


def _plain(name: str) -> str:
    return "".join(character if " " <= character <= "~" else "_" for character in name)


_TABLES = """
PRAGMA journal_mode = MEMORY;
PRAGMA synchronous = OFF;
CREATE TABLE page(url TEXT PRIMARY KEY, title TEXT, text TEXT, file TEXT);
CREATE TABLE link(source TEXT, target TEXT, anchor TEXT);
CREATE INDEX link_source ON link(source);
"""
_ADD_PAGE = "INSERT OR IGNORE INTO page VALUES(?, ?, ?, ?)"
