"""What two crawls of the same web have found, compared; and whether the folder of a crawl is sound.

A crawl that ends by itself has the same keys, links, states, depths and duplicates whatever happened to it: however
many workers it had, and however often it was stopped or killed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import shutil
import sqlite3
import tempfile
from dataclasses import dataclass
from pathlib import Path

from process import reading, use_source_tree

use_source_tree()

VOLATILE = ("url", "fetched_at", "server_date", "response_ms", "warc_file", "warc_offset", "found_on")
# Of a URL that was never admitted: which of its links was met first.
BY_CHANCE = ("depth", "reason")
NUMBERS = (
    "known",
    "refused",
    "waiting",
    "running",
    "completed",
    "errors",
    "pages",
    "links",
    "items",
    "hosts",
    "bytes",
    "bugs",
)


@dataclass(frozen=True)
class Result:
    """All that must not depend on kills: by URL and by source page, and the numbers of `weft status`."""

    pages: dict[str, dict[str, object]]
    links: dict[str, list[tuple[object, ...]]]
    items: dict[str, list[tuple[object, ...]]]
    numbers: dict[str, object]


def result_of(folder: Path) -> Result:
    """What a stored crawl found. Pages go by their keys: which spelling of a key is found first is chance."""
    from weft.derive.items.rows import Wanted, items_of, row_type
    from weft.derive.read import StoredCrawl

    items: dict[str, list[tuple[object, ...]]] = {}
    pages: dict[str, dict[str, object]] = {}
    links: dict[str, list[tuple[object, ...]]] = {}
    keys: dict[str | None, str] = {}
    with StoredCrawl(folder) as crawl:
        for page in crawl.pages(everything=True):
            left_out = VOLATILE if page.state is not None else (*VOLATILE, *BY_CHANCE)
            assert page.key not in pages, f"two pages have the key {page.key}"
            pages[page.key] = {name: getattr(page, name) for name in page.__struct_fields__ if name not in left_out}
            keys[page.url] = page.key
        for fields in pages.values():
            original = fields["duplicate_of"]
            fields["duplicate_of"] = keys[original] if isinstance(original, str) else None
        for link in crawl.links():
            row = tuple(getattr(link, name) for name in link.__struct_fields__ if name != "source")
            links.setdefault(keys.get(link.source, link.source), []).append(row)
        wanted = Wanted(doubtful=True)
        for item in items_of(crawl, wanted, row_type(crawl, wanted)):
            names = (name for name in item.__struct_fields__ if name not in ("page", "first_seen", "last_seen"))
            items.setdefault(keys.get(item.page, item.page), []).append(tuple(getattr(item, name) for name in names))
        status = crawl.status()
    numbers = {name: getattr(status, name) for name in (*NUMBERS, "state", "stop_reason")}
    return Result(pages, links, items, numbers)


def differences(one: Result, other: Result) -> list[str]:
    """What differs, a line each; the first result is the undisturbed one."""
    found = [
        f"{name}: {one.numbers[name]!r} became {other.numbers[name]!r}"
        for name in one.numbers
        if one.numbers[name] != other.numbers[name]
    ]
    for key in sorted(one.pages.keys() | other.pages.keys()):
        before, after = one.pages.get(key), other.pages.get(key)
        if before is None or after is None:
            found.append(f"page {key} is {'new' if before is None else 'missing'}: {_short(before or after)}")
        elif before != after:
            fields = [
                f"{name} {before.get(name)!r} -> {after.get(name)!r}"
                for name in before
                if before[name] != after.get(name)
            ]
            found.append(f"page {key}: {', '.join(fields)}")
    for page in sorted(one.items.keys() | other.items.keys()):
        if one.items.get(page) != other.items.get(page):
            found.append(f"items of {page}: {_link_difference(one.items.get(page), other.items.get(page))}")
    for source in sorted(one.links.keys() | other.links.keys()):
        if one.links.get(source) != other.links.get(source):
            found.append(f"links of {source}: {_link_difference(one.links.get(source), other.links.get(source))}")
    return found


def _short(page: dict[str, object] | None) -> str:
    names = ("key", "state", "reason", "status", "error", "depth")
    return ", ".join(f"{name} {page[name]!r}" for name in names if page is not None and page.get(name) is not None)


def _link_difference(one: list[tuple[object, ...]] | None, other: list[tuple[object, ...]] | None) -> str:
    if one is None or other is None:
        return f"{len(one or ())} became {len(other or ())}"
    for number, (before, after) in enumerate(itertools.zip_longest(one, other)):
        if before != after:
            return f"the one at {number} was {before}, is {after}"
    return "none"


def final_urls(folder: Path) -> set[str]:
    """The URLs that are done for good by what is committed: they must not be asked again."""
    path = folder / "crawl.db"
    if not path.exists() or path.stat().st_size == 0:
        return set()
    # Read as the next run will find it, without touching it: opening the file itself would tidy up after the kill.
    with tempfile.TemporaryDirectory(prefix="weft-kill-") as place:
        for name in ("crawl.db", "crawl.db-wal"):
            if (folder / name).exists():
                shutil.copyfile(folder / name, Path(place) / name)
        with contextlib.closing(sqlite3.connect(Path(place) / "crawl.db")) as database:
            if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'visit'").fetchone() is None:
                return set()
            return {row[0] for row in database.execute(_FINAL)}


_FINAL = """
SELECT u.text FROM visit v JOIN url u ON u.id = v.url LEFT JOIN page p ON p.id = v.page AND v.purpose = 0
     LEFT JOIN sitemap s ON s.url = v.url AND v.purpose = 2
WHERE (v.purpose = 0 AND p.state IN ('C', 'E')) OR (v.purpose = 1 AND v.status < 500)
     OR (v.purpose = 2 AND s.state IN ('C', 'E'))
"""


def archive_faults(folder: Path) -> list[str]:
    """What is wrong with the WARC files and their index: each visit has its record, each record its visit."""
    from weft.errors import FolderError
    from weft.store.warc.reader import read_record

    faults: list[str] = []
    places: dict[str, set[int]] = {}
    answers = 0
    with reading(folder) as database:
        for (check,) in database.execute("PRAGMA integrity_check").fetchall():
            if check != "ok":
                faults.append(f"crawl.db: {check}")
        for url, status, digest, file, offset, length in database.execute(_RECORDS):
            places.setdefault(file, set()).add(offset)
            answers += status is not None
            try:
                record = read_record(folder / "warc" / file, offset, length)
            except FolderError as error:
                faults.append(str(error))
                continue
            if record.headers.get("WARC-Target-URI") != url:
                faults.append(f"{file}:{offset} is of {record.headers.get('WARC-Target-URI')}, not of {url}")
            if digest is not None and record.headers.get("WARC-Payload-Digest") != digest:
                faults.append(f"{file}:{offset} has another digest than the visit of {url}")
        unarchived = database.execute(
            "SELECT count(*) FROM page p JOIN visit v ON v.id = p.visit WHERE p.state = 'C' AND v.warc IS NULL"
        ).fetchone()[0]
        listed = {row[0] for row in database.execute("SELECT file FROM warc")}
    if unarchived:
        faults.append(f"{unarchived} completed pages have no record")
    on_disk = {path.name for path in (folder / "warc").glob("*.warc.gz")}
    if on_disk != listed:
        faults.append(f"WARC files on disk and in the database differ: {sorted(on_disk ^ listed)}")
    for file in sorted(on_disk):
        faults += _scan_faults(folder / "warc" / file, places.get(file, set()))
    index = (folder / "warc" / "index.cdxj").read_bytes().splitlines()
    entries = [line for line in index if not line.startswith(b"!")]
    if entries != sorted(entries):
        faults.append("index.cdxj is not sorted")
    if len(entries) != answers:
        faults.append(f"index.cdxj has {len(entries)} lines for {answers} answers")
    return faults


_RECORDS = """
SELECT u.text, v.status, v.digest, w.file, v.warc_offset, v.warc_length FROM visit v JOIN url u ON u.id = v.url
     JOIN warc w ON w.id = v.warc
"""


def _scan_faults(path: Path, known: set[int]) -> list[str]:
    """Reads a WARC file from its begin to its end, as any other program would."""
    if importlib.util.find_spec("warcio") is None:
        return []
    from warcio.archiveiterator import ArchiveIterator

    faults: list[str] = []
    found: set[int] = set()
    try:
        with path.open("rb") as file:
            records = ArchiveIterator(file, check_digests=True)
            for record in records:
                offset = records.get_record_offset()
                if record.rec_type in ("response", "revisit", "metadata"):
                    found.add(offset)
                record.content_stream().read()
                if record.digest_checker.passed is False:
                    faults.append(f"{path.name}:{offset}: {record.digest_checker.problems}")
    except Exception as error:  # whatever another program's reader says is a finding
        faults.append(f"{path.name}: {type(error).__name__}: {error}")
    if found != known:
        faults.append(
            f"{path.name}: {len(found - known)} records of no visit, {len(known - found)} visits of no record"
        )
    return faults
