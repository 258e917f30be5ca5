"""The stored files of a crawl as files of a folder, under names that are safe on every system (G5, T11).

A body that several URLs have is written once. ``files.csv`` has a row for each file and page that shows or links it.
"""

from __future__ import annotations

import csv
import mimetypes
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from weft.derive.body import answer_of_visit, body_of
from weft.errors import SpecError, WeftError
from weft.ports import Progress
from weft.text.safe import cell
from weft.url import host_of, path_of

if TYPE_CHECKING:
    from weft.derive.read import StoredCrawl

INDEX = "files.csv"
COLUMNS = (
    "url", "page", "kind", "alt", "type", "size", "hash", "width", "height", "title", "author", "pages", "path",
    "error",
)  # fmt: skip
_NAME_MAX = 100  # characters; bytes stay below the 255 of file systems, with the hash before them
_UNSAFE = re.compile(r"[^\w.-]+")
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)  # names that Windows keeps for itself
_USUAL = {
    "image/jpeg": ".jpg",
    "image/x-icon": ".ico",
    "image/tiff": ".tif",
    "text/html": ".html",
    "text/plain": ".txt",
}


class Written(NamedTuple):
    """What ``weft files`` wrote."""

    files: int
    rows: int


def write_files(crawl: StoredCrawl, folder: Path, progress: Progress) -> Written:
    """Writes every stored file, and ``files.csv``. Files of an earlier call that are whole are left as they are."""
    _make_ready(folder)
    paths: dict[int, str] = {}
    reasons: dict[int, str] = {}
    total = crawl.connection.execute(_COUNT).fetchone()[0]
    for done, (visit, url, media, digest) in enumerate(_stored(crawl)):
        progress("files", done, total)
        try:
            paths[visit] = _write(crawl, folder, visit, name_of(url, media, digest), host_of(url))
        except WeftError as error:
            reasons[visit] = str(error)
    rows = 0
    new = folder / f"{INDEX}.new"
    try:
        with new.open("w", encoding="utf-8", errors="replace", newline="") as file:
            table = csv.writer(file)
            table.writerow(COLUMNS)
            for *values, visit, cause in crawl.connection.execute(_ROWS):
                rows += 1
                path, trouble = paths.get(visit), cause or reasons.get(visit)
                table.writerow([cell(value) for value in (*values, path, trouble)])
        new.replace(folder / INDEX)
    except OSError as error:
        raise WeftError(f"{folder / INDEX} cannot be written: {error.strerror or error}") from error
    return Written(len(set(paths.values())), rows)


def name_of(url: str, media: str | None, digest: str) -> str:
    """A name for a file, by the last segment of its URL and its content: no two bodies have one name."""
    last = unquote(path_of(url).partition("?")[0].rpartition("/")[2])
    stem, dot, ending = _UNSAFE.sub("_", last).strip("._-").rpartition(".")
    if not dot or not (ending.isascii() and ending.isalnum() and len(ending) <= 5):
        stem, ending = f"{stem}{dot}{ending}", ""
    suffix = f".{ending.lower()}" if ending else _USUAL.get(media or "") or mimetypes.guess_extension(media or "") or ""
    stem = stem[:_NAME_MAX].strip("._-") or "file"
    while len(stem.encode()) > 180:
        stem = stem[:-1]
    if _DEVICES.match(stem):
        stem = f"_{stem}"
    return f"{stem}-{digest}{suffix}"


def _make_ready(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise SpecError(f"{folder} is no folder: name one that is new or empty")
    if folder.is_dir() and not (folder / INDEX).exists() and any(folder.iterdir()):
        raise SpecError(f"{folder} holds other files: name a folder that is new or empty")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SpecError(f"{folder} cannot be made: {error.strerror or error}") from error


def _write(crawl: StoredCrawl, folder: Path, visit: int, name: str, host: str) -> str:
    """Writes one body, whole or not at all, into the folder of its host; its path in the folder."""
    place = Path(_UNSAFE.sub("_", host).strip("._-")[:_NAME_MAX] or "host") / name
    target = folder / place
    if not target.exists():
        answer = answer_of_visit(crawl, visit)
        assert answer is not None
        body = body_of(crawl, answer)
        try:
            target.parent.mkdir(exist_ok=True)
            new = target.with_name(f".{answer.visit}.new")
            new.write_bytes(body)
            new.replace(target)
        except OSError as error:
            raise SpecError(f"{target} cannot be written: {error.strerror or error}") from error
    return place.as_posix()


def _stored(crawl: StoredCrawl) -> Iterator[tuple[int, str, str | None, str]]:
    """Visit, URL, type and digest of each stored file; those of one body have the name of its first URL."""
    first: dict[str, tuple[str, str | None]] = {}
    for visit, url, media, digest in crawl.connection.execute(_STORED):
        name = first.setdefault(digest, (url, media))
        yield visit, *name, digest


_FILES = (
    "FROM page p JOIN visit v ON v.id = p.visit"
    " WHERE p.role IN (2, 3) AND v.status BETWEEN 200 AND 299 AND v.hash IS NOT NULL"
)
_COUNT = f"SELECT count(*) {_FILES}"
_STORED = f"""
SELECT v.id, (SELECT text FROM url WHERE id = v.url) AS text, v.type, printf('%016x', v.hash) {_FILES}
ORDER BY v.hash, text
"""
_ROWS = """
SELECT url, page, min(kind), max(CASE WHEN kind = 'image' AND rel IS NOT 'background' THEN anchor END), type, size,
       hash, width, height, title, author, pages, visit, coalesce(cause, problem)
FROM shown_file LEFT JOIN file_fact USING(visit) GROUP BY url, page ORDER BY page, min(position)
"""
