"""Whether a crawl's folder is consistent: the database with itself, with the archive, and with the index.

Everything streams: memory does not grow with the crawl, but for a bit for each URL where ids have gaps. A crawl that
was killed is consistent by design; what its resume will tidy up is told as a note and not as a problem.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import xxhash
from isal import isal_zlib

from weft.derive.read import PackedLink, StoredCrawl
from weft.errors import FolderError, Reason, SpecError
from weft.frontier.runs import ids_of, look_up
from weft.human import counted
from weft.records import LinkKind, Purpose
from weft.store.cdxj import cdxj_line, stored_rows
from weft.store.losses import LOST_RECORD
from weft.store.warc import OUR_FILE, Record, payload_digest, read_record

Progress = Callable[[str, int, int], None]
"""Is told what is being looked at, how far, and of how many (0: not known)."""

MOST_TOLD = 20  # problems of one kind that are told; the others are counted
_CHUNK = 5_000
_READ_B = 1 << 18
_TELL_EVERY = 500
_STATES = {"W": "waiting", "R": "running", "C": "completed", "E": "errors", None: "refused"}
_MASK = (1 << 64) - 1
_IsalError: type[Exception] = isal_zlib.IsalError  # type: ignore[assignment]  # its stub names an instance


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong: its kind, in a word that does not change, and what it is about."""

    kind: str
    about: str


class Report(msgspec.Struct, kw_only=True):
    """What ``weft check --json`` prints. ``counts`` has every kind of problem with how often it was met."""

    folder: str
    consistent: bool = True
    pages: int = 0
    visits: int = 0
    links: int = 0
    urls: int = 0
    warc_files: int = 0
    warc_records: int = 0
    warc_bytes: int = 0
    index_lines: int = 0
    counts: dict[str, int] = {}
    problems: list[Problem] = []
    notes: list[str] = []

    def problem(self, kind: str, about: str) -> None:
        self.consistent = False
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if self.counts[kind] <= MOST_TOLD:
            self.problems.append(Problem(kind, about))


def check_folder(crawl: StoredCrawl, progress: Progress) -> Report:
    """The report on a crawl that does not run; ``FolderError`` where it does."""
    if crawl.folder.is_running():
        raise FolderError(
            f"a crawl is running in {crawl.folder.path}, and what runs changes:"
            f" stop it first with `weft stop {crawl.folder.path}`"
        )
    report = Report(folder=str(crawl.folder.path))
    _Check(crawl, report, progress).run()
    if crawl.folder.is_running():
        raise FolderError(
            f"a crawl was started in {crawl.folder.path} while it was checked: what was found says nothing"
        )
    return report


class _Check:
    """One pass over one folder."""

    def __init__(self, crawl: StoredCrawl, report: Report, progress: Progress) -> None:
        self._crawl = crawl
        self._db = crawl.connection
        self._folder = crawl.folder
        self._report = report
        self._problem = report.problem
        self._progress = progress
        self._archived = True
        self._killed = False

    def run(self) -> None:
        if not self._is_sound():
            return
        try:
            self._archived = self._crawl.spec.keep.archive
        except (SpecError, OSError) as error:
            self._problem("SPECIFICATION", f"{self._folder.spec.name} cannot be read: {error}")
        last = self._db.execute("SELECT ended_ms FROM run ORDER BY id DESC LIMIT 1").fetchone()
        self._killed = last is not None and last[0] is None
        self._urls()
        self._pages()
        links = self._links()
        self._visits()
        self._counters(links)
        self._archive()
        if self._archived and not self._killed and last is not None:
            self._index()

    def _rows(self, what: str, query: str, total: int) -> Iterator[tuple[object, ...]]:
        """The rows of a query by ascending id (its first column, ``:after``), told to the progress as they come."""
        last = seen = 0
        while rows := self._db.execute(query, {"after": last, "most": _CHUNK}).fetchall():
            self._progress(what, seen, total)
            yield from rows
            last = rows[-1][0]
            seen += len(rows)

    def _count(self, query: str) -> int:
        return int(self._db.execute(query).fetchone()[0] or 0)

    def _some(self, kind: str, query: str, sentence: str) -> None:
        """A problem for each row of a query that should find none; the row fills the sentence."""
        for row in self._db.execute(query):
            self._problem(kind, sentence.format(*row))

    # ---- the database ----------------------------------------------------------------------------------------

    def _is_sound(self) -> bool:
        """Whether the database file itself is whole; what is inside a damaged one is not looked at."""
        self._progress("the database file", 0, 0)
        self._db.set_progress_handler(lambda: self._progress("the database file", 0, 0), 5_000_000)
        try:
            found = [row[0] for row in self._db.execute(f"PRAGMA integrity_check({MOST_TOLD})")]
        except sqlite3.DatabaseError as error:
            found = [str(error)]
        finally:
            self._db.set_progress_handler(None, 0)
        for text in found:
            if text != "ok":
                self._problem("DATABASE", f"{self._folder.db.name}: {text}")
        return found == ["ok"]

    def _urls(self) -> None:
        """Every URL is found by its hash: else it could be fetched a second time, and `weft why` would not know it.

        What is newer than the runs of the seen-set is found without them.
        """
        self._report.urls = total = self._count("SELECT count(*) FROM url")
        if not self._crawl.has_runs:
            return
        upto, after = self._count("SELECT max(upto) FROM seen_run"), 0
        query = "SELECT id, text FROM url WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"
        while rows := self._db.execute(query, (after, upto, _CHUNK)).fetchall():
            self._progress("URLs", after, total)
            after = rows[-1][0]
            left = {self._crawl.fingerprint_of(text): (number, text) for number, text in rows}
            for (run,) in self._db.execute("SELECT id FROM seen_run ORDER BY entries DESC").fetchall():
                for found in look_up(self._db, run, left):
                    del left[found]
            for number, text in left.values():
                self._problem("URL_NOT_FINDABLE", f"URL {number}, {text}: not in the seen-set")
        for _, chunk, ids in self._rows("the seen-set", _SEEN, 0):
            assert isinstance(chunk, bytes) and isinstance(ids, bytes)
            named = msgspec.json.encode(ids_of(chunk, ids)).decode()
            for (number,) in self._db.execute(_SEEN_WITHOUT_URL, (named,)):
                self._problem("URL_NOT_FINDABLE", f"the seen-set names URL {number}, which does not exist")

    def _pages(self) -> None:
        """Every page has its URL, its site and one state; an answered one has its visit."""
        self._report.pages = total = self._count("SELECT count(*) FROM page")
        reasons = set(Reason)
        for page, state, reason, url, other, site, visit, status, purpose, visit_page, warc in self._rows(
            "pages", _PAGES, total
        ):
            name = url if url is not None else f"page {page}"
            if url is None or other:
                self._problem("PAGE_WITHOUT_URL", f"{name}: its URL does not exist")
            if site is None:
                self._problem("PAGE_WITHOUT_SITE", f"{name}: its site does not exist")
            if state not in _STATES:
                self._problem("PAGE_STATE", f"{name}: there is no state {state!r}")
            if (state is None) != (reason is not None) or (reason is not None and reason not in reasons):
                self._problem("PAGE_STATE", f"{name}: state {state!r} with reason {reason!r}")
            if state == "C" and (visit is None or status is None or visit_page != page or purpose != Purpose.PAGE):
                self._problem("PAGE_WITHOUT_VISIT", f"{name}: it is completed and has no visit that was answered")
            elif state == "C" and self._archived and warc is None:
                self._problem("PAGE_WITHOUT_RECORD", f"{name}: its answer is not in the archive")
            elif state == "R" and not self._killed:
                self._problem("PAGE_RUNNING", f"{name}: it is marked as running, and no crawl runs")
        self._some("URL_WITHOUT_PAGE", _URL_WITHOUT_PAGE, "URL {0}, {1}: its page does not exist")
        self._some("PAGE_TWICE", _PAGE_TWICE, "{0}: {1} pages have this key")
        running = self._count("SELECT count(*) FROM page WHERE state = 'R'")
        if running and self._killed:
            self._report.notes.append(
                f"the crawl was killed with {counted(running, 'page')} under way; weft resume asks again"
            )

    def _links(self) -> int:
        """How many links there are. Each pack can be read, and names URLs that exist."""
        newest = self._count("SELECT coalesce(max(id), 0) FROM url")
        gaps = self._ids_with_gaps(newest) if newest != self._report.urls else None
        total, links = self._count("SELECT count(*) FROM link_pack"), 0
        decode, kinds = msgspec.json.Decoder(list[PackedLink]).decode, {kind.value for kind in LinkKind}
        for visit, pack, out_links, detail in self._rows("links", _PACKS, total):
            try:
                found = decode(str(pack))
            except (msgspec.DecodeError, UnicodeError) as error:
                self._problem("LINKS_UNREADABLE", f"the links of visit {visit}: {error}")
                continue
            links += len(found) if detail != LOST_RECORD else 0
            wrong = [
                link for link in found if not 0 < link.target <= newest or (gaps is not None and not gaps[link.target])
            ]
            if wrong:
                self._problem(
                    "LINK_WITHOUT_URL", f"a link of visit {visit} leads to URL {wrong[0].target}, which does not exist"
                )
            if any(link.kind not in kinds for link in found):
                self._problem("LINKS_UNREADABLE", f"the links of visit {visit}: there is no such kind of link")
            if out_links is None:
                self._problem("LINKS_WITHOUT_VISIT", f"the links of visit {visit}: there is no such visit")
            elif out_links != len(found):
                self._problem("LINK_COUNT", f"visit {visit} says {out_links} links and has {len(found)}")
        self._some("LINK_COUNT", _WITHOUT_PACK, "visit {0} says {1} links and has none")
        self._report.links = links
        return links

    def _ids_with_gaps(self, newest: int) -> bytearray:
        exists = bytearray(newest + 1)
        for (number,) in self._rows(
            "URLs", "SELECT id FROM url WHERE id > :after ORDER BY id LIMIT :most", self._report.urls
        ):
            exists[int(str(number))] = 1
        return exists

    def _visits(self) -> None:
        self._report.visits = self._count("SELECT count(*) FROM visit")
        self._some("VISIT_WITHOUT_URL", _VISIT_WITHOUT_URL, "visit {0}: its URL does not exist")
        self._some("VISIT_WITHOUT_PAGE", _VISIT_WITHOUT_PAGE, "visit {0}: its page does not exist")

    def _counters(self, links: int) -> None:
        kept = dict(self._db.execute("SELECT name, value FROM counter").fetchall())
        states = dict(self._db.execute("SELECT state, count(*) FROM page GROUP BY state").fetchall())
        counted = {name: states.get(state, 0) for state, name in _STATES.items()}
        counted |= {
            "known": self._report.pages,
            "hosts": self._count("SELECT count(*) FROM site"),
            "pages": self._count(_STORED_PAGES),
            "links": links,
            "bytes": self._count("SELECT sum(size_wire) FROM visit"),
            "bugs": self._count("SELECT count(*) FROM bug"),
        }
        for name, number in counted.items():
            if kept.get(name, 0) != number:
                self._problem("COUNTER", f"the counter {name} is {kept.get(name, 0):,}, and the tables hold {number:,}")

    # ---- the archive -----------------------------------------------------------------------------------------

    def _archive(self) -> None:
        """Every listed file is there and whole, record by record; every record a visit names is at its place."""
        listed = self._db.execute("SELECT id, file, committed_b FROM warc ORDER BY id").fetchall()
        self._report.warc_files = len(listed)
        for number, name, committed_b in listed:
            path = self._folder.warc / Path(name).name
            size_b = path.stat().st_size if path.is_file() else -1
            if size_b < 0:
                self._problem("WARC_MISSING", f"{name}: it is listed, and is not there")
            elif size_b < committed_b:
                self._problem("WARC_SHORT", f"{name}: it has {size_b:,} bytes, and {committed_b:,} are committed")
            elif size_b > committed_b:
                self._past_commit(f"{name} has {size_b - committed_b:,} bytes more than are committed", "WARC_LONG")
            if size_b >= 0:
                self._file(number, path, min(size_b, committed_b))
        self._some("VISIT_WITHOUT_RECORD", _VISIT_WITHOUT_WARC, "visit {0}: its WARC file is not listed")
        names = {Path(row[1]).name for row in listed}
        for path in sorted(self._folder.warc.iterdir()) if self._folder.warc.is_dir() else ():
            if path.name not in names and OUR_FILE.fullmatch(path.name):
                self._past_commit(f"{path.name} is there and not listed", "WARC_UNLISTED")

    def _past_commit(self, what: str, kind: str) -> None:
        if self._killed:
            self._report.notes.append(f"{what}; weft resume removes what was not committed")
        else:
            self._problem(kind, what)

    def _file(self, number: int, path: Path, end_b: int) -> None:
        """Walks a file and the visits that name it side by side, both by offset."""
        visits = self._db.execute(_VISITS_OF_FILE, (number,))
        visit = visits.fetchone()
        for offset, length in self._members(path, end_b):
            while visit is not None and visit[1] < offset:
                self._problem(
                    "VISIT_WITHOUT_RECORD",
                    f"visit {visit[0]} of {visit[3]}: no record begins at {visit[1]} of {path.name}",
                )
                visit = visits.fetchone()
            try:
                record = read_record(path, offset, length)
            except FolderError as error:
                self._problem("RECORD_DAMAGED", str(error))
                continue
            self._report.warc_records += 1
            self._record(path, offset, record)
            if visit is not None and visit[1] == offset:
                self._record_of_visit(path, length, record, visit)
                visit = visits.fetchone()
        while visit is not None:
            self._problem(
                "VISIT_WITHOUT_RECORD", f"visit {visit[0]} of {visit[3]}: there is nothing at {visit[1]} of {path.name}"
            )
            visit = visits.fetchone()
        self._report.warc_bytes += end_b

    def _members(self, path: Path, end_b: int) -> Iterator[tuple[int, int]]:
        """Offset and length of each gzip member up to ``end_b``; stops, with a problem, where there is none."""
        with path.open("rb") as file:
            offset = 0
            while offset < end_b:
                if self._report.warc_records % _TELL_EVERY == 0:
                    self._progress(path.name, offset, end_b)
                length = _member_length(file.fileno(), offset, end_b)
                if length is None:
                    self._problem("RECORD_DAMAGED", f"{path.name}: no whole record begins at {offset}")
                    return
                yield offset, length
                offset += length

    def _record(self, path: Path, offset: int, record: Record) -> None:
        block_digest = record.headers.get("WARC-Block-Digest")
        if block_digest is not None and block_digest != payload_digest(record.http_head + record.body):
            self._problem("RECORD_DIGEST", f"{path.name} at {offset}: the record is not what its digest says")
        if record.type == "response" and record.headers.get("WARC-Payload-Digest") != payload_digest(record.body):
            self._problem("RECORD_DIGEST", f"{path.name} at {offset}: the payload is not what its digest says")

    def _record_of_visit(self, path: Path, length: int, record: Record, visit: tuple[object, ...]) -> None:
        number, offset, expected_length, url, digest, revisit = visit
        where = f"visit {number} of {url}, {path.name} at {offset}"
        # What was answered has a digest, also where weft itself failed on it (BUG) and knows no status.
        kind = "metadata" if digest is None else "revisit" if revisit else "response"
        if record.type != kind:
            self._problem("RECORD_OTHER", f"{where}: the record is of type {record.type!r}, not {kind!r}")
        if record.headers.get("WARC-Target-URI") != url:
            self._problem("RECORD_OTHER", f"{where}: the record is of {record.headers.get('WARC-Target-URI')}")
        if expected_length != length:
            self._problem("RECORD_OTHER", f"{where}: {length} bytes, and {expected_length} are expected")
        if digest is not None and record.headers.get("WARC-Payload-Digest") != digest:
            self._problem("RECORD_OTHER", f"{where}: the digests do not agree")
        if revisit and not self._db.execute(_STORED, (digest, number)).fetchone():
            self._problem("REVISIT_OF_NOTHING", f"{where}: the record with the same payload is gone")

    # ---- the index -------------------------------------------------------------------------------------------

    def _index(self) -> None:
        """index.cdxj has exactly the lines that the database gives, in order.

        Both are added up as sets of hashes, so that neither has to be sorted or kept.
        """
        if not self._folder.cdxj.is_file():
            if self._count("SELECT count(*) FROM warc"):
                self._problem("INDEX", f"there is no {self._folder.cdxj.name}")
            return
        lines, summed, previous = 0, 0, b""
        with self._folder.cdxj.open("rb") as file:
            for line in file:
                lines += 1
                summed += xxhash.xxh3_64_intdigest(line)
                if line < previous:
                    self._problem("INDEX", f"line {lines} of {self._folder.cdxj.name} is not in order")
                previous = line
        self._report.index_lines = lines
        expected, wanted = 0, 0
        for row in stored_rows(self._db):
            wanted += xxhash.xxh3_64_intdigest(cdxj_line(row))
            expected += 1
        if lines != expected:
            self._problem("INDEX", f"{self._folder.cdxj.name} has {lines:,} lines, and {expected:,} answers are stored")
        elif summed & _MASK != wanted & _MASK:
            self._problem("INDEX", f"lines of {self._folder.cdxj.name} are not those of the answers stored")


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
    except (OSError, _IsalError):
        return None
    return None


_PAGES = """
SELECT p.id, p.state, p.reason, o.text, p.url IS NOT NULL AND u.id IS NULL, s.id, p.visit, v.status, v.purpose, v.page,
       v.warc
FROM page p LEFT JOIN url o ON o.id = p.id LEFT JOIN url u ON u.id = p.url LEFT JOIN site s ON s.id = p.site
     LEFT JOIN visit v ON v.id = p.visit
WHERE p.id > :after ORDER BY p.id LIMIT :most
"""
_SEEN = "SELECT id, fingerprints, ids FROM seen WHERE id > :after ORDER BY id LIMIT :most / 50"
_SEEN_WITHOUT_URL = "SELECT j.value FROM json_each(?) j LEFT JOIN url u ON u.id = j.value WHERE u.id IS NULL"
_URL_WITHOUT_PAGE = """
SELECT u.id, u.text FROM url u LEFT JOIN page p ON p.id = coalesce(u.page, u.id)
WHERE u.page IS NOT 0 AND p.id IS NULL LIMIT 1000
"""
_PAGE_TWICE = """
SELECT coalesce(p.key, u.text) AS name, count(*) FROM page p JOIN url u ON u.id = p.id
GROUP BY name HAVING count(*) > 1 LIMIT 1000
"""
_STORED_PAGES = f"""
SELECT count(*) FROM visit
WHERE purpose = 0 AND status BETWEEN 200 AND 299 AND detail IS NOT '{LOST_RECORD}'
"""
_PACKS = """
SELECT l.visit, l.links, v.out_links, v.detail FROM link_pack l LEFT JOIN visit v ON v.id = l.visit
WHERE l.visit > :after ORDER BY l.visit LIMIT :most
"""
_WITHOUT_PACK = """
SELECT v.id, v.out_links FROM visit v LEFT JOIN link_pack l ON l.visit = v.id
WHERE v.out_links > 0 AND l.visit IS NULL LIMIT 1000
"""
_VISIT_WITHOUT_URL = "SELECT v.id FROM visit v LEFT JOIN url u ON u.id = v.url WHERE u.id IS NULL LIMIT 1000"
_VISIT_WITHOUT_PAGE = """
SELECT v.id FROM visit v LEFT JOIN page p ON p.id = v.page WHERE v.purpose = 0 AND p.id IS NULL LIMIT 1000
"""
_VISIT_WITHOUT_WARC = """
SELECT v.id FROM visit v LEFT JOIN warc w ON w.id = v.warc WHERE v.warc IS NOT NULL AND w.id IS NULL LIMIT 1000
"""
_VISITS_OF_FILE = """
SELECT v.id, v.warc_offset, v.warc_length, u.text, v.digest, v.revisit
FROM visit v LEFT JOIN url u ON u.id = v.url WHERE v.warc = ? ORDER BY v.warc_offset
"""
_STORED = """
SELECT 1 FROM visit v JOIN visit r ON r.hash = v.hash
WHERE v.digest = ? AND r.id = ? AND v.revisit = 0 AND v.warc IS NOT NULL LIMIT 1
"""
