"""Names of files for URLs: `host/path` wherever a file system takes that, and safe whatever the web sends (T6).

A name that cannot stay as it is keeps its beginning and gets `~` and eight hexadecimal digits of the URL's MD5: one
that is too long, that another URL has already (also where only the case differs), or that is a folder of others.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import md5
from typing import NamedTuple

from weft.derive.export.scratch import Scratch
from weft.url import path_of, site_of

INDEX_PAGE = "index.html"
RESERVED = ("files.tsv", "missing.tsv", "index.txt")
"""Names that the mirror itself uses."""

_LONGEST_NAME = 180  # file systems take 255 bytes, some of them less
_LONGEST_PATH = 1_000
_ESCAPED = frozenset('<>:"|?*\\/')
_DEVICES = frozenset(("con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(10))))
_AT_ONCE = 500


class Place(NamedTuple):
    """What lies where in a mirror."""

    page: int
    url: str
    path: str


class Names:
    """The files of a mirror, in a private database on disk: memory does not grow with their number.

    All URLs are added first, because a name may be a folder of a later one; ``settle`` then gives each its file.
    """

    def __init__(self, database: Scratch) -> None:
        self._db = database
        self._db.execute("CREATE TABLE wanted(page INTEGER PRIMARY KEY, url TEXT NOT NULL, path TEXT NOT NULL)")
        self._db.execute("CREATE TABLE taken(name TEXT PRIMARY KEY) WITHOUT ROWID")
        self._db.execute("CREATE TABLE place(page INTEGER PRIMARY KEY, url TEXT NOT NULL, path TEXT NOT NULL)")
        self._db.execute("CREATE TABLE redirect(page INTEGER PRIMARY KEY, target TEXT NOT NULL)")
        self._take(RESERVED)

    def add(self, page: int, url: str, path: str) -> None:
        """Notes which path a URL would have."""
        self._db.execute("INSERT OR IGNORE INTO wanted VALUES(?, ?, ?)", (page, url, path))
        folders = path.split("/")[:-1]
        self._take("/".join(folders[: depth + 1]) for depth in range(len(folders)))

    def add_redirect(self, page: int, target: str) -> None:
        """Notes where a page without a file leads."""
        self._db.execute("INSERT OR IGNORE INTO redirect VALUES(?, ?)", (page, target))

    def settle(self) -> None:
        """Gives every URL its file; in the order of their ids, so that the first to want a name has it."""
        last = -1
        while rows := self._db.execute(_WANTED, (last, _AT_ONCE)).fetchall():
            last = rows[-1][0]
            for page, url, path in rows:
                self._db.execute("INSERT INTO place VALUES(?, ?, ?)", (page, url, self._free(url, path)))

    def places(self) -> Iterable[Place]:
        """Every file, in the order of the ids of the pages."""
        last = -1
        while rows := self._db.execute(_PLACES, (last, _AT_ONCE)).fetchall():
            last = rows[-1][0]
            yield from map(Place._make, rows)

    def path_of(self, page: int) -> str | None:
        """The file of a page; None where it has none."""
        row = self._db.execute("SELECT path FROM place WHERE page = ?", (page,)).fetchone()
        return None if row is None else str(row[0])

    def redirect_of(self, page: int) -> str | None:
        """The URL to which a page redirects; None where it does not."""
        row = self._db.execute("SELECT target FROM redirect WHERE page = ?", (page,)).fetchone()
        return None if row is None else str(row[0])

    def _take(self, names: Iterable[str]) -> None:
        self._db.executemany("INSERT OR IGNORE INTO taken VALUES(?)", [(folded(name),) for name in names])

    def _free(self, url: str, path: str) -> str:
        """The path, or one like it that nothing has."""
        digest = digest_of(url)
        number = 0
        free = path
        while not self._db.execute("INSERT OR IGNORE INTO taken VALUES(?)", (folded(free),)).rowcount:
            number += 1
            free = marked(path, digest[:8] if number == 1 else digest if number == 2 else f"{digest}-{number}")
        return free


def folded(path: str) -> str:
    """A path as file systems see it that do not tell upper from lower case."""
    return path.casefold()


def digest_of(url: str) -> str:
    """The MD5 of a URL, in hexadecimal."""
    return md5(url.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


def marked(path: str, mark: str) -> str:
    """A path with a mark before the ending of its name."""
    folder, slash, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    if not stem or len(ending) > 8:
        stem, dot, ending = name, "", ""
    return f"{folder}{slash}{stem[: _LONGEST_NAME - len(mark) - len(ending) - 2]}~{mark}{dot}{ending}"


def path_for(url: str, ending: str = "") -> str:
    """``host/path`` of a URL, each part safe as the name of a file; ``ending`` is added where the name has another."""
    path, mark, query = path_of(url).partition("?")
    *folders, last = path.lstrip("/").split("/") if path.startswith("/") else [path]
    name = f"{last or INDEX_PAGE}{mark}{query}"
    if ending and not name.lower().endswith(_alike(ending)):
        name += ending
    digest = digest_of(url)
    parts = [_host(site_of(url)), *(_safe(folder, digest_of(folder)) for folder in folders), _safe(name, digest)]
    whole = "/".join(parts)
    if len(whole) > _LONGEST_PATH:
        _, dot, kept = parts[-1].rpartition(".")
        return f"{parts[0]}/~long/{digest}{dot}{kept if len(kept) <= 8 else ''}"
    return whole


def md5_path(url: str) -> str:
    """A name of one length for every URL (E3), below a folder of its first two digits."""
    digest = digest_of(url)
    return f"{digest[:2]}/{digest}"


def _alike(ending: str) -> tuple[str, ...]:
    return (".html", ".htm", ".xhtml") if ending == ".html" else (ending,)


def _host(site: str) -> str:
    """The folder of a site; ``HOST_PORT`` where the port is not the scheme's own."""
    name = _safe(site.replace("[", "").replace("]", "").replace(":", "_"), digest_of(site))
    return f"{name}~" if name.lower() in RESERVED else name


def _safe(name: str, digest: str) -> str:
    """A name that every common file system takes, with percent escapes for what some do not."""
    if not name:
        return "~"
    safe = "".join(map(_escaped, name))
    if safe.strip(".") == "":
        safe = "%2E" * len(safe)
    if safe[-1] in ". ":
        safe = f"{safe[:-1]}%{ord(safe[-1]):02X}"
    if safe.partition(".")[0].lower() in _DEVICES:
        safe = f"%{ord(safe[0]):02X}{safe[1:]}"
    return safe if len(safe) <= _LONGEST_NAME else marked(safe, digest[:8])


def _escaped(character: str) -> str:
    if character in _ESCAPED or not character.isascii() or not character.isprintable():
        return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "replace"))
    return character


_WANTED = "SELECT page, url, path FROM wanted WHERE page > ? ORDER BY page LIMIT ?"
_PLACES = "SELECT page, url, path FROM place WHERE page > ? ORDER BY page LIMIT ?"
