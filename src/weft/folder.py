"""A crawl is a folder: its files, its lock, and the signals that other processes leave in it."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from weft.errors import HOW_TO_BEGIN, FolderError
from weft.text.human import command
from weft.text.patterns import regex

try:
    import fcntl
except ImportError:  # no such locks on this system: the file's existence is the lock
    fcntl = None  # type: ignore[assignment]

_HAS_LOCKS: bool = fcntl is not None

SPEC_FILE = "crawl.toml"
DB_FILE = "crawl.db"
STOP_FILE = "STOP"
_URL = r"(https?://[^/\s]+/\S*)"  # as they are written, in their normal form
_ADDED = regex(f"{_URL}(?: {_URL})?", re.ASCII)  # and what is asked where the first does not answer
_FILES = (SPEC_FILE, DB_FILE, f"{DB_FILE}-wal", f"{DB_FILE}-shm", STOP_FILE, "lock", "parsing")
_FOLDERS = ("warc", "logs", "index", "added")
_RESULT = "result"  # made by the crawl, for its user to work in

Added = tuple[str, str | None]
"""A URL that `weft add` gives to a crawl, and the one that is asked where it does not answer."""


def _is_ours(name: str) -> bool:
    """Whether a file is one that a crawl makes, or was making when it was killed."""
    return name in (*_FILES, *_FOLDERS, _RESULT) or name.startswith(f".{SPEC_FILE}.")


def not_begun(path: Path) -> FolderError:
    """Says that the crawl of a folder was prepared, and nothing of it is there to read."""
    return FolderError(f"the crawl in {path} has not begun: start it with `{command('resume', path)}`")


def in_use(path: Path) -> FolderError:
    """Says that another process works in a folder."""
    return FolderError(f"a crawl is running in {path}: stop it with `{command('stop', path)}`")


class Folder:
    """Paths inside one crawl's folder. Making one touches nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.spec = path / SPEC_FILE
        self.db = path / DB_FILE
        self.warc = path / "warc"
        self.cdxj = path / "warc" / "index.cdxj"
        self.new_cdxj = path / "warc" / "index.cdxj.new"
        self.logs = path / "logs"
        self.result = path / _RESULT
        self.stop = path / STOP_FILE
        self.added = path / "added"
        self.parsing = path / "parsing"
        self._lock = path / "lock"

    @property
    def exists(self) -> bool:
        """Whether a crawl was ever started here."""
        return self.spec.is_file() or self.db.is_file()

    def require(self) -> None:
        """Raises FolderError unless there is a crawl to read."""
        if not self.path.exists():
            raise FolderError(f"there is no folder {self.path}: {HOW_TO_BEGIN}")
        if not self.path.is_dir():
            raise FolderError(f"{self.path} is a file, not the folder of a crawl: {HOW_TO_BEGIN}")
        if not self.db.is_file() and self.spec.is_file():
            raise not_begun(self.path)
        if not self.db.is_file():
            raise FolderError(f"{self.path} holds no crawl (there is no {DB_FILE} in it): {HOW_TO_BEGIN}")

    def make(self) -> None:
        """Makes the folder, or says why it cannot be used."""
        if self.path.exists() and not self.path.is_dir():
            raise FolderError(f"{self.path} is a file: name a folder with -o")
        if self.path.is_dir() and not self.exists:
            foreign = sorted(entry.name for entry in self.path.iterdir() if not _is_ours(entry.name))
            if foreign:
                raise FolderError(
                    f"{self.path} is not empty and holds no crawl (there is {foreign[0]!r} in it):"
                    " name another folder with -o"
                )
        try:
            for path in (self.path, self.warc, self.logs):
                path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FolderError(f"{self.path} cannot be made: {error.strerror}") from error
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise FolderError(f"{self.path} is read-only: make it writable, or name another folder")
        self._refuse_links()

    def _refuse_links(self) -> None:
        """Raises FolderError where writing into the folder would write elsewhere, or wait for ever.

        A folder may come from somebody else: a link in it could lead to any file of the user's.
        """
        logs = (self.logs / name for name in ("common.csv", "error.csv", "weft.log"))
        new = () if self.db.exists() and self.db.stat().st_size else (self.db,)  # a database may lie elsewhere
        for path in (self._lock, self.parsing, self.new_cdxj, *logs, *new):
            try:
                kind = path.lstat().st_mode
            except OSError:
                continue
            if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):  # what a folder there means, its writer says
                what = "a link" if stat.S_ISLNK(kind) else "no plain file"
                raise FolderError(f"{path} is {what}, and weft would write through it: remove it first")

    def owns(self, path: Path) -> bool:
        """Whether a file is one that the crawl itself works with."""
        real, home = path.resolve(), self.path.resolve()
        inside = real.parent in {home / name for name in _FOLDERS}
        return inside or real in {(home / name).resolve() for name in _FILES}

    def set_aside(self) -> Path:
        """Renames the folder (`--fresh`): nothing is thrown away. Returns its new name."""
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.old{number}")).exists():
            number += 1
        self.path.rename(aside)
        return aside

    def is_running(self) -> bool:
        """Whether a live process holds the lock."""
        if not _HAS_LOCKS:
            return self._lock.exists()
        return _is_held(self._lock) or _is_held(self.path)

    def lock(self) -> Lock:
        return Lock(self._lock)

    def take_added(self) -> list[tuple[Path, list[Added]]]:
        """URLs that `weft add` left for a running crawl, file by file; the caller removes the files once stored.

        What others have put there is left alone.
        """
        found = []
        for path in sorted(self.added.glob("*.txt")) if self.added.is_dir() else ():
            try:
                lines = path.read_text(encoding="utf-8").splitlines()
            except (OSError, ValueError):
                continue
            matches = [match for match in map(_ADDED.fullmatch, lines) if match is not None]
            if len(matches) == len(lines):
                found.append((path, [(match[1], match[2]) for match in matches]))
        return found

    def leave_added(self, urls: Iterable[Added]) -> None:
        """Leaves URLs for the crawl that runs; whole or not at all."""
        import uuid  # takes longer to load than all the rest, and only `weft add` needs it

        self.added.mkdir(exist_ok=True)
        name = uuid.uuid4().hex
        part = self.added / f"{name}.part"
        part.write_text("\n".join(" ".join(filter(None, pair)) for pair in urls), encoding="utf-8")
        part.rename(self.added / f"{name}.txt")


class StopFile:
    """A file of the user's that stops the crawl by appearing (R5).

    It is never removed. One that was obeyed counts again only when it is touched, so a resume need not mind it.
    """

    def __init__(self, name: str | None, obeyed: int | None) -> None:
        self.path = Path(name) if name else None
        self.obeyed = obeyed  # when the file was last changed that a run stopped for, in nanoseconds

    def appeared(self) -> bool:
        """Whether the file is there, and is not the one that was obeyed before."""
        if self.path is None:
            return False
        try:
            changed = self.path.stat().st_mtime_ns
        except OSError:
            return False
        if changed == self.obeyed:
            return False
        self.obeyed = changed
        return True


def _is_held(path: Path) -> bool:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe in its place keeps nobody waiting
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(file)
    return False


class Lock:
    """The right to write into the folder; freed by the system when the process dies, however it dies.

    Two things are locked: a file, which every system can, and the folder itself, because people remove lock files.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        self._folder: int | None = None

    def __enter__(self) -> Lock:
        try:
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
            self._file = os.open(self._path, flags if _HAS_LOCKS else flags | os.O_EXCL, 0o644)
            if _HAS_LOCKS:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._lock_folder()
        except (BlockingIOError, FileExistsError) as error:
            self._close()
            raise in_use(self._path.parent) from error
        except OSError as error:
            raise FolderError(f"{self._path} cannot be locked: {error.strerror}") from error
        os.ftruncate(self._file, 0)
        os.write(self._file, f"{os.getpid()}\n".encode())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not _HAS_LOCKS:
            self._path.unlink(missing_ok=True)
        self._close()

    def _lock_folder(self) -> None:
        self._folder = os.open(self._path.parent, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        try:
            fcntl.flock(self._folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:  # not every file system can; the file is locked all the same
            return

    def _close(self) -> None:
        for descriptor in (self._folder, self._file):
            if descriptor is not None:
                os.close(descriptor)
        self._file = self._folder = None
