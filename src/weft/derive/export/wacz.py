"""WACZ 1.1.1: one file with the archive, its index, the list of pages with their texts, and what all of it is.

Everything in it is stored, not packed once more, so that a player reads single records out of the middle.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import msgspec

from weft.derive.export.model import Chosen, first_seed
from weft.derive.export.warc import write_warc
from weft.derive.read import Page
from weft.errors import WeftError
from weft.parse.content import is_html
from weft.store.warc.cdxj import CdxRow, write_cdxj
from weft.text.dates import iso_of_ms
from weft.text.version import __version__

WACZ_VERSION = "1.1.1"
_WARC = "data.warc.gz"
_COPIED_B = 1 << 20
_TEXT_B = 1_000_000  # of one page: a player holds the list in memory


class Resource(msgspec.Struct, frozen=True):
    """A file inside, as datapackage.json lists it."""

    name: str
    path: str
    hash: str
    bytes: int


def write_wacz(chosen: Chosen, work: Path, made: Path) -> int:
    """Writes the file; how many pages it lists."""
    folder = work / "archive"
    folder.mkdir()
    _write_archive(chosen, folder)
    listed = _write_pages(chosen, folder / "pages.jsonl")
    with ZipFile(made, "w", allowZip64=True) as zipped:
        resources = [
            _store(zipped, folder / _WARC, f"archive/{_WARC}", ZIP_STORED),
            _store(zipped, folder / "index.cdx.gz", "indexes/index.cdx.gz", ZIP_STORED),
            _store(zipped, folder / "pages.jsonl", "pages/pages.jsonl", ZIP_DEFLATED),
        ]
        package = _json(_package(chosen, resources))
        _write(zipped, "datapackage.json", package)
        digest = {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(package).hexdigest()}"}
        _write(zipped, "datapackage-digest.json", _json(digest))
    return listed


def _write_archive(chosen: Chosen, folder: Path) -> None:
    """The records, and their index."""
    notes = folder / "notes"
    encode = msgspec.json.Encoder().encode
    with notes.open("wb", buffering=_COPIED_B) as stream:

        def note(row: CdxRow) -> None:
            stream.write(encode(row) + b"\n")

        write_warc(chosen, folder, lambda _: _WARC, note=note)
    write_cdxj(_noted(notes), folder / "index.cdxj")
    notes.unlink()
    with (folder / "index.cdxj").open("rb") as plain, _gzip(folder / "index.cdx.gz") as packed:
        while some := plain.read(_COPIED_B):
            packed.write(some)
    (folder / "index.cdxj").unlink()


def _noted(path: Path) -> Iterator[CdxRow]:
    decode = msgspec.json.Decoder(CdxRow).decode
    with path.open("rb") as stream:
        yield from map(decode, stream)


def _gzip(path: Path) -> gzip.GzipFile:
    return gzip.GzipFile(path, "wb", compresslevel=6, mtime=0)


def _write_pages(chosen: Chosen, path: Path) -> int:
    """pages.jsonl: every HTML page that was answered with 2xx, its title and its visible text."""
    encode = msgspec.json.Encoder().encode
    count = 0
    seeds = {row[0] for row in chosen.crawl.connection.execute("SELECT page FROM seed")}
    with path.open("wb", buffering=_COPIED_B) as stream:
        head = {"format": "json-pages-1.0", "id": "pages", "title": "All Pages", "hasText": True}
        stream.write(encode(head) + b"\n")
        for page in chosen.answered("reading texts"):
            if page.type is not None and is_html(page.type):
                stream.write(encode(_page(page, page.ids[0] in seeds)) + b"\n")
                count += 1
    return count


def _page(page: Page, is_seed: bool) -> dict[str, object]:
    number, _ = page.ids
    found: dict[str, object] = {"id": f"p{number}", "url": page.url, "ts": _second(page.fetched_at)}
    if page.title:
        found["title"] = page.title
    if is_seed:
        found["seed"] = True
    try:
        found["text"] = page.text[:_TEXT_B]
    except WeftError:  # its body is not in the archive any more; the page is listed all the same
        found["text"] = ""
    return found


def _second(moment: str | None) -> str:
    """The instant of a record: WARC dates have no finer grain, and a player looks for this one."""
    return f"{moment[:19]}Z" if moment else ""


def _package(chosen: Chosen, resources: list[Resource]) -> dict[str, Any]:
    crawl, choice = chosen.crawl, chosen.choice
    ended = crawl.connection.execute("SELECT max(started_ms) FROM visit WHERE id <= ?", (chosen.newest,)).fetchone()[0]
    moment = _second(iso_of_ms(ended))
    seed = first_seed(crawl)
    package: dict[str, Any] = {
        "profile": "data-package",
        "wacz_version": WACZ_VERSION,
        "software": f"weft/{__version__}",
        "created": moment,
        "modified": moment,
        "title": f"Crawl of {seed}" if seed else "Crawl",
        "mainPageUrl": seed,
        "mainPageDate": moment,
        "description": choice.description,
        "resources": resources,
    }
    return {name: value for name, value in package.items() if value}


def _json(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2)


def _write(zipped: ZipFile, name: str, content: bytes) -> None:
    with zipped.open(_entry(name, ZIP_DEFLATED), "w") as inside:
        inside.write(content)


def _store(zipped: ZipFile, path: Path, name: str, how: int) -> Resource:
    """Takes a file in; its digest is made on the way."""
    digest, size_b = hashlib.sha256(), 0
    with path.open("rb") as source, zipped.open(_entry(name, how), "w", force_zip64=True) as inside:
        while some := source.read(_COPIED_B):
            digest.update(some)
            size_b += len(some)
            inside.write(some)
    path.unlink()
    return Resource(path.name, name, f"sha256:{digest.hexdigest()}", size_b)


def _entry(name: str, how: int) -> ZipInfo:
    entry = ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type = how
    entry.external_attr = 0o644 << 16
    return entry
