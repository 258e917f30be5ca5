"""One writer, read-only readers, migrations: the only place that opens ``crawl.db``."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from weft.errors import HOW_TO_BEGIN, FolderError, StoreError
from weft.text.human import command

Migration = Callable[[sqlite3.Connection], None]

DatabaseError = sqlite3.Error
"""Any failure of the database, for modules that know no SQL; ``explain`` makes a sentence of it."""

APPLICATION_ID = 0x77656674  # "weft": tells our file from another program's
BUSY_MS = 10_000
PATH_MAX_B = 500  # SQLite's bound is 512, and -journal comes behind the name
PAGE_B = 8_192  # SQLite writes page by page: with the usual 4 KB, twice as many calls for hardly fewer bytes
CHECKPOINT_B = 16 << 20  # what is written again and again reaches the file once in so many bytes, with one wait
LARGE_B = 1 << 30  # of the file: from here on the wait is long, and a longer log small beside it
LARGE_CHECKPOINT_B = 64 << 20
ROWS_AT_ONCE = 32  # of one INSERT

# Python's module asks all types but four how they want to be stored. Without an answer it searches, fails and words an
# error that nobody reads, for every NULL and every flag: two thirds of the cost of a visit's row.
sqlite3.register_adapter(type(None), {None: None}.__getitem__)  # in C: half the cost of a function of ours
sqlite3.register_adapter(bool, int)


class Database:
    """The writing connection of one crawl. Autocommit outside ``transaction``."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.connection = connection
        self.path = path
        self._checkpoint_b = 0

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing. A store that cannot write raises StoreError, with what was open rolled back.

        SQLite goes on writing into a file that was removed, and all of it would be lost.
        """
        connection = self.connection
        try:
            size = self.path.stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            raise StoreError(f"{self.path} is gone: somebody has removed or moved it while the crawl ran") from None
        try:
            self._set_checkpoints(LARGE_CHECKPOINT_B if size > LARGE_B else CHECKPOINT_B)
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise StoreError(explain(error, self.path)) from error

    def _set_checkpoints(self, every_b: int) -> None:
        if every_b != self._checkpoint_b:
            self._checkpoint_b = every_b
            page_b = self.connection.execute("PRAGMA page_size").fetchone()[0]
            self.connection.execute(f"PRAGMA wal_autocheckpoint = {every_b // page_b}")

    def close(self) -> None:
        self.connection.close()


def insert(
    connection: sqlite3.Connection, into: str, rows: Iterable[tuple[object, ...]], at_once: int = ROWS_AT_ONCE
) -> None:
    """Inserts rows in their order, many with each statement, which has to begin and end only once for them.

    Narrow rows take two fifths less time so. Wide ones take more: their values are copied once more on the way.
    """
    rows = list(rows)
    if not rows:
        return
    row = f"({', '.join('?' * len(rows[0]))})"
    together = len(rows) // at_once * at_once if at_once > 1 else 0
    groups = (list(chain.from_iterable(rows[at : at + at_once])) for at in range(0, together, at_once))
    several = ", ".join([row] * at_once)
    connection.executemany(f"INSERT INTO {into} VALUES {several}", groups)
    connection.executemany(f"INSERT INTO {into} VALUES {row}", rows[together:])


def explain(error: sqlite3.Error, path: Path) -> str:
    """One sentence a person can act on."""
    text = str(error)
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith("SQLITE_FULL"):
        return f"the disk is full: {path} cannot grow. Make room, then go on with: {command('resume', path.parent)}"
    if name.startswith("SQLITE_IOERR"):
        return f"{path} cannot be written ({text}): is the disk full, or gone? Then: {command('resume', path.parent)}"
    if name.startswith("SQLITE_READONLY"):
        return f"{path} is read-only"
    if name.startswith("SQLITE_CANTOPEN") and len(os.fsencode(path.absolute())) > PATH_MAX_B:
        return f"{path} has too long a path: SQLite opens files with at most {PATH_MAX_B} bytes of it"
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return f"{path} is damaged ({text}). Its WARC files are whole; `sqlite3 {path} .recover` saves what can be read"
    return f"{path}: {text}"


def open_writer(path: Path, migrations: tuple[Migration, ...], cache_b: int = 64_000_000) -> Database:
    """The writing connection, brought to the newest schema. Raises FolderError for what is not ours to write."""
    existed = path.exists() and path.stat().st_size > 0
    try:
        connection = sqlite3.connect(path, isolation_level=None, cached_statements=256)
    except sqlite3.Error as error:
        raise FolderError(explain(error, path)) from error
    try:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if existed:
            _refuse_foreign(connection, path, version, len(migrations))
        connection.execute(f"PRAGMA page_size = {PAGE_B}")  # of a database that is new
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA cache_size = -{cache_b // 1024}")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA secure_delete = FAST")  # some systems overwrite what is deleted: twice the writing
        if version < len(migrations):  # before there is a write-ahead log, through which all would be written twice
            connection.execute("BEGIN IMMEDIATE")
            for migrate in migrations[version:]:
                migrate(connection)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {len(migrations)}")
            connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.Error as error:
        connection.close()
        raise FolderError(explain(error, path)) from error
    except FolderError:
        connection.close()
        raise
    return Database(connection, path)


def open_reader(path: Path, newest: int, lend: Migration | None = None) -> sqlite3.Connection:
    """A read-only connection. It never holds a snapshot longer than one statement, so the WAL can be checkpointed.

    ``lend`` may give the connection temporary views before it is closed to all writing.
    """
    if not path.is_file():
        raise FolderError(f"{path.parent} holds no crawl (there is no {path.name} in it): {HOW_TO_BEGIN}")
    # Plainly read-only; where a killed writer left something to be recovered, by a connection that may recover it;
    # on a medium that cannot be written, as it stands.
    trouble: sqlite3.Error | None = None
    for mode in ("mode=ro", "mode=rw", "mode=ro&immutable=1"):
        try:
            return _reading(path, mode, newest, lend)
        except sqlite3.OperationalError as error:
            if not getattr(error, "sqlite_errorname", "").startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN")):
                raise FolderError(explain(error, path)) from error
            trouble = trouble or error
        except sqlite3.Error as error:
            raise FolderError(explain(error, path)) from error
        except UnicodeDecodeError as error:  # of a message of SQLite about damage
            raise FolderError(f"{path} is damaged ({error})") from error
    assert trouble is not None
    raise FolderError(explain(trouble, path)) from trouble


def _reading(path: Path, mode: str, newest: int, lend: Migration | None) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None)
    try:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        if lend is not None:
            lend(connection)
        connection.execute("PRAGMA query_only = ON")
        _refuse_foreign(connection, path, connection.execute("PRAGMA user_version").fetchone()[0], newest)
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_foreign(connection: sqlite3.Connection, path: Path, version: int, newest: int) -> None:
    ours = connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    if not ours and connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None:
        return  # empty: we were killed before the first table was made
    if not ours:
        raise FolderError(f"{path} is another program's database, not a crawl of weft")
    if version > newest:
        raise FolderError(
            f"{path} was written by a newer weft (schema {version}, this one knows {newest}): use that version"
        )
