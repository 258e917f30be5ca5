"""The fingerprints of all that is known, in sorted runs: found in batches, written in order, merged a little a tick.

A run is a list of (fingerprint, id) sorted by fingerprint, cut into chunks that fill pages of the database. New ones
are appended; eight of a size become one of the next size. So nothing is ever written at a random place, whatever the
number of URLs, and a filter of about two bytes an entry, kept in RAM, tells nearly all that is new without a look at
the disk (the ideas are those of IRLbot's DRUM, BUbiNG's sieve, and log-structured merge trees). All of it lies in the
crawl's database, inside its transactions: a kill at any moment leaves what the last tick left.
"""

from __future__ import annotations

import sqlite3
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from weft import native

if TYPE_CHECKING:
    from weft.native.pure import SortedEntries

RUN_ENTRIES = 1 << 16
FAN_IN = 8
SMALL_RUN = RUN_ENTRIES * FAN_IN**2
CHUNK_ENTRIES = 336  # of twelve bytes each: just what fits a page of 4 KiB, or half of one of 8
PREFIX_BITS = 47
_PREFIX_SHIFT = 64 - PREFIX_BITS
_RUNS_EVER = (1 << 63 - PREFIX_BITS) - 1
_LOOKED_UP_AT_ONCE = 10_000
_CHUNKS_READ_AT_ONCE = 16


def chunk_id(run: int, fingerprint: int) -> int:
    """The id of the chunk of a run that begins with this fingerprint."""
    return run << PREFIX_BITS | fingerprint >> _PREFIX_SHIFT


def empty_filter(entries: int) -> array[int]:
    """The words of a filter for so many entries: a power of two, with three to six entries a word.

    Of a small run with half as many: there are up to sixteen small ones, and together they take little memory.
    """
    a_word = 3 if entries < SMALL_RUN else 6
    return array("Q", bytes(8 << max(1, (entries // a_word).bit_length())))


def merged(parts: list[SortedEntries]) -> SortedEntries:
    """Sorted lists of fingerprints, and their ids, as one list; of those that several have, the id of the last."""
    fingerprints, ids = native.merge_sorted(parts)
    return array("Q", fingerprints), array("Q", ids)


class Run:
    """One run; ``keys`` of its entries are those of keys, and every URL up to ``upto`` is in it or an older one."""

    __slots__ = ("entries", "keys", "level", "number", "upto", "words")

    def __init__(self, number: int, level: int, entries: int, keys: int, upto: int, words: array[int]) -> None:
        self.number = number
        self.level = level
        self.entries = entries
        self.keys = keys
        self.upto = upto
        self.words = words


class Runs:
    """All runs of a crawl. Only ``add``, ``tidy`` and a start after a kill write, inside the caller's transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        rows = connection.execute(
            "SELECT id, level, entries, keys, upto, filter FROM seen_run ORDER BY entries DESC, id"
        )
        self._runs = [
            Run(number, level, entries, keys, upto, array("Q", words))
            for number, level, entries, keys, upto, words in rows
        ]
        self._merges: list[_Merge] = []  # each of a lower level than the one before it
        self._next = max((run.number for run in self._runs), default=0) + 1
        self._forget_unfinished()

    @property
    def upto(self) -> int:
        """The largest id of a URL that is in a run."""
        return max((run.upto for run in self._runs), default=0)

    @property
    def keys(self) -> int:
        return sum(run.keys for run in self._runs)

    def _forget_unfinished(self) -> None:
        """Merges that a kill cut short begin anew: their chunks belong to no run."""
        known = sorted(run.number for run in self._runs)
        for before, after in zip([0, *known], [*known, _RUNS_EVER], strict=True):
            first, last = (before + 1) << PREFIX_BITS, after << PREFIX_BITS
            if self._db.execute("SELECT 1 FROM seen WHERE id >= ? AND id < ? LIMIT 1", (first, last)).fetchone():
                self._db.execute("DELETE FROM seen WHERE id >= ? AND id < ?", (first, last))

    # ---- look-up ---------------------------------------------------------------------------------------------

    def find(self, fingerprints: list[int]) -> dict[int, int]:
        """The ids of those that are in a run; the others are new."""
        runs = self._runs
        if not runs:
            return {}
        asked = native.filter_hits(fingerprints, [run.words for run in runs])
        found: dict[int, int] = {}
        for run, mine in zip(runs, asked, strict=True):
            left = [one for one in mine if one not in found] if found else mine
            if left:
                found.update(look_up(self._db, run.number, left))
        return found

    def find_one(self, fingerprint: int) -> int | None:
        """The id of one that is in a run; None: it is new."""
        return self.find([fingerprint]).get(fingerprint)

    # ---- growth ----------------------------------------------------------------------------------------------

    def add(self, entries: Mapping[int, int], keys: int, upto: int, level: int = 0) -> None:
        """Writes a run of new entries."""
        number = self._take_number()
        fingerprints = array("Q", sorted(entries))
        words = empty_filter(len(fingerprints))
        native.fill_filter(words, fingerprints)
        self._store(_chunks(number, fingerprints, [entries[one] for one in fingerprints]))
        self._register(Run(number, level, len(fingerprints), keys, upto, words))

    def tidy(self, entries: int) -> None:
        """Merges runs that are due, about so many entries of them.

        Small runs first, even in the middle of a merge of large ones: those take so long that small ones would pile up
        meanwhile, and every look-up asks the filter of each.
        """
        while entries > 0:
            sources = self._due()
            if sources:
                self._merges.append(_Merge(self._db, self._take_number(), sources))
            if not self._merges:
                return
            chunks, merged = self._merges[-1].step()
            self._store(chunks)
            entries -= merged
            if not merged:
                self._end_merge(self._merges.pop())

    def _due(self) -> list[Run]:
        """The runs of the lowest level that has enough of them; none where these are being merged."""
        levels: dict[int, list[Run]] = {}
        for run in self._runs:
            levels.setdefault(run.level, []).append(run)
        lowest = min((level for level, runs in levels.items() if len(runs) >= FAN_IN), default=None)
        if lowest is None or (self._merges and self._merges[-1].level == lowest):
            return []
        return levels[lowest][:FAN_IN]

    def _end_merge(self, merge: _Merge) -> None:
        gone = {run.number for run in merge.sources}
        for number in gone:
            self._db.execute(
                "DELETE FROM seen WHERE id >= ? AND id < ?", (number << PREFIX_BITS, (number + 1) << PREFIX_BITS)
            )
            self._db.execute("DELETE FROM seen_run WHERE id = ?", (number,))
        self._runs = [run for run in self._runs if run.number not in gone]
        self._register(merge.result())

    def _take_number(self) -> int:
        self._next += 1
        return self._next - 1

    def _store(self, chunks: Iterable[tuple[int, bytes, bytes]]) -> None:
        self._db.executemany("INSERT INTO seen VALUES(?, ?, ?)", chunks)

    def _register(self, run: Run) -> None:
        self._db.execute(
            "INSERT INTO seen_run VALUES(?, ?, ?, ?, ?, ?)",
            (run.number, run.level, run.entries, run.keys, run.upto, run.words.tobytes()),
        )
        self._runs.append(run)
        self._runs.sort(key=lambda one: (-one.entries, one.number))


class _Merge:
    """Several runs on their way to become one."""

    def __init__(self, connection: sqlite3.Connection, number: int, sources: Sequence[Run]) -> None:
        self.number = number
        self.sources = sources
        self.level = sources[0].level
        self._streams = [_Stream(connection, run.number) for run in sources]
        self._words = empty_filter(sum(run.entries for run in sources))
        self._count = 0
        self._rest = (array("Q"), array("Q"))  # less than a chunk

    def step(self) -> tuple[list[tuple[int, bytes, bytes]], int]:
        """The next chunks, and how many entries they took; nothing and 0 at the end."""
        for stream in self._streams:
            stream.read()
        bounds = [stream.fingerprints[-1] for stream in self._streams if not stream.ended]
        ended = not bounds
        fingerprints, ids = merged([stream.cut(min(bounds) if bounds else None) for stream in self._streams])
        taken = len(fingerprints)
        native.fill_filter(self._words, fingerprints)
        self._count += taken
        fingerprints, ids = self._rest[0] + fingerprints, self._rest[1] + ids
        whole = len(fingerprints) if ended else _end_of_chunks(fingerprints)
        self._rest = (fingerprints[whole:], ids[whole:])
        return list(_chunks(self.number, fingerprints[:whole], ids[:whole])), taken

    def result(self) -> Run:
        upto, keys = max(run.upto for run in self.sources), sum(run.keys for run in self.sources)
        return Run(self.number, self.level + 1, self._count, keys, upto, self._words)


class _Stream:
    """A run read from its beginning to its end."""

    def __init__(self, connection: sqlite3.Connection, number: int) -> None:
        self._db = connection
        self._after, self._last = (number << PREFIX_BITS) - 1, (number + 1) << PREFIX_BITS
        self.fingerprints = array("Q")
        self.ids = array("Q")
        self.ended = False

    def read(self) -> None:
        """Makes sure that there is something to merge, if anything is left."""
        if self.ended or len(self.fingerprints) >= CHUNK_ENTRIES:
            return
        rows = self._db.execute(
            "SELECT id, fingerprints, ids FROM seen WHERE id > ? AND id < ? ORDER BY id LIMIT ?",
            (self._after, self._last, _CHUNKS_READ_AT_ONCE),
        ).fetchall()
        for number, fingerprints, ids in rows:
            self._after = number
            self.fingerprints.frombytes(fingerprints)
            self.ids.extend(_ids(fingerprints, ids))
        self.ended = len(rows) < _CHUNKS_READ_AT_ONCE

    def cut(self, bound: int | None) -> SortedEntries:
        """Takes out what is not above the bound."""
        at = len(self.fingerprints) if bound is None else bisect_right(self.fingerprints, bound)
        taken = self.fingerprints[:at], self.ids[:at]
        del self.fingerprints[:at], self.ids[:at]
        return taken


def _chunks(run: int, fingerprints: Sequence[int], ids: Sequence[int]) -> Iterator[tuple[int, bytes, bytes]]:
    """The rows of a stretch of a run. Two chunks of one prefix would have one id: then the first takes it all."""
    start = 0
    while start < len(fingerprints):
        end = min(start + CHUNK_ENTRIES, len(fingerprints))
        while end < len(fingerprints) and chunk_id(run, fingerprints[end]) == chunk_id(run, fingerprints[end - 1]):
            end += 1
        mine = ids[start:end]
        packed = array("I" if max(mine) < 1 << 32 else "Q", mine).tobytes()
        yield chunk_id(run, fingerprints[start]), array("Q", fingerprints[start:end]).tobytes(), packed
        start = end


def _end_of_chunks(fingerprints: Sequence[int]) -> int:
    """How many of these can be stored before more are known: whole chunks, and no prefix in two of them."""
    if not fingerprints:
        return 0
    end = min(
        len(fingerprints) // CHUNK_ENTRIES * CHUNK_ENTRIES,
        bisect_left(fingerprints, fingerprints[-1] >> _PREFIX_SHIFT << _PREFIX_SHIFT),
    )
    while end and fingerprints[end] >> _PREFIX_SHIFT == fingerprints[end - 1] >> _PREFIX_SHIFT:
        end -= 1
    return end


def _ids(fingerprints: bytes, ids: bytes) -> memoryview:
    """The ids of a chunk, of four bytes each, or of eight."""
    return memoryview(ids).cast("I" if len(ids) < len(fingerprints) else "Q")


def look_up(connection: sqlite3.Connection, run: int, fingerprints: Iterable[int]) -> dict[int, int]:
    """The ids of those fingerprints that are in a run. In order, so that each page is touched once."""
    found: dict[int, int] = {}
    wanted = sorted(fingerprints)
    for start in range(0, len(wanted), _LOOKED_UP_AT_ONCE):
        batch = wanted[start : start + _LOOKED_UP_AT_ONCE]
        places = msgspec.json.encode([chunk_id(run, one) for one in batch]).decode()
        rows = connection.execute(_CHUNK_OF, (places,)).fetchall()
        for one, (_, chunk, ids) in zip(batch, rows, strict=True):
            number = _look_into(chunk, ids, one) if chunk is not None else None
            if number is not None:
                found[one] = number
    return found


def look_everywhere(connection: sqlite3.Connection, fingerprint: int) -> set[int]:
    """The ids that the runs have for a fingerprint, by one statement: for those who read while a crawl writes."""
    rows = connection.execute(_CHUNKS_OF, (fingerprint >> _PREFIX_SHIFT,)).fetchall()
    found = {_look_into(chunk, ids, fingerprint) for chunk, ids in rows}
    return {number for number in found if number is not None}


def ids_of(chunk: bytes, ids: bytes) -> list[int]:
    """All ids of a chunk."""
    return _ids(chunk, ids).tolist()


def _look_into(chunk: bytes, ids: bytes, fingerprint: int) -> int | None:
    view = memoryview(chunk).cast("Q")
    at = bisect_left(view, fingerprint)
    return _ids(chunk, ids)[at] if at < len(view) and view[at] == fingerprint else None


_CHUNK_OF = """
SELECT j.key, s.fingerprints, s.ids FROM json_each(?) j
LEFT JOIN seen s ON s.id = (SELECT max(id) FROM seen WHERE id <= j.value) ORDER BY j.key
"""
_CHUNKS_OF = f"""
SELECT s.fingerprints, s.ids FROM seen_run r
JOIN seen s ON s.id = (SELECT max(id) FROM seen WHERE id <= (r.id << {PREFIX_BITS} | ?1))
"""
