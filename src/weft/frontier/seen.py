"""The seen-set: which URLs are known, with RAM bounded and the database behind it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable

import msgspec
import xxhash

ADMITTED = 1  # the page is, or was, in the queue
FINAL = 2  # refused for a reason of the URL itself: no other link can bring it in
HOPPED = 4  # known only as the target of redirects
DEPTH_SHIFT = 8
ID_SHIFT = 24
DEPTH_MAX = (1 << ID_SHIFT - DEPTH_SHIFT) - 1


def pack(url_id: int, depth: int, flags: int) -> int:
    """What is known of a URL in one integer: a hundred of these are looked at for every page."""
    return url_id << ID_SHIFT | min(depth, DEPTH_MAX) << DEPTH_SHIFT | flags


def url_id_of(info: int) -> int:
    return info >> ID_SHIFT


def depth_of(info: int) -> int:
    return info >> DEPTH_SHIFT & DEPTH_MAX


class Recent:
    """A dictionary of the most recently used texts: two generations, the older one dropped when the young is full.

    Nothing is dropped inside a tick: what was put there, new or looked up, is found until ``age`` is called.
    """

    def __init__(self, capacity: int) -> None:
        self._half = max(1, capacity // 2)
        self.young: dict[str, int] = {}  # may be read directly; what is not in it may still be found
        self._old: dict[str, int] = {}
        self.dropped = False  # once true, absence here says nothing

    def find(self, text: str) -> int | None:
        """What is known of a text, which is young from now on; None if it is not here."""
        info = self.young.get(text)
        if info is None:
            info = self._old.get(text)
            if info is not None:
                self.young[text] = info
        return info

    def put(self, text: str, info: int) -> None:
        self.young[text] = info

    def age(self) -> None:
        """Between ticks: a full young generation becomes the old one, which is dropped."""
        if len(self.young) > self._half:
            self.dropped = self.dropped or bool(self._old)
            self._old, self.young = self.young, {}

    def shed(self) -> None:
        """Gives the memory back."""
        self._old, self.young = {}, {}
        self.dropped = True


class Seen:
    """Texts of URLs to what is known of them, and keys to pages.

    A key's entry exists only where the key differs from the text it was made from; a page whose key is its own
    text is found by the text. So the common URL costs one entry.
    """

    def __init__(self, connection: sqlite3.Connection, seed: int, capacity: int) -> None:
        self._connection = connection
        self._seed = seed
        self.recent = Recent(capacity)
        self._keys = Recent(max(1_000, capacity // 8))
        self._new: list[tuple[int, int]] = []
        self._new_keys: list[tuple[int, int]] = []
        self.recent.dropped = connection.execute("SELECT 1 FROM seen LIMIT 1").fetchone() is not None
        self._keys.dropped = self._has_keys = (
            connection.execute("SELECT 1 FROM seen_key LIMIT 1").fetchone() is not None
        )

    def _hash(self, text: str) -> int:
        value = xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"), self._seed)
        return value - (1 << 64) if value >> 63 else value

    def prefetch(self, texts: Iterable[str], describe: Callable[[list[tuple[object, ...]]], None]) -> None:
        """Brings what the database knows of these texts into RAM; afterwards absence means new.

        Looked up in one sorted batch, so that each leaf of the B-tree is touched once. ``describe`` gets the rows
        (text, url id, page id, depth, state, reason, hops) and puts them.
        """
        if not self.recent.dropped:
            return
        hashes = sorted({self._hash(text) for text in texts if self.recent.find(text) is None})
        for start in range(0, len(hashes), 10_000):
            batch = msgspec.json.encode(hashes[start : start + 10_000]).decode()
            describe(
                self._connection.execute(
                    "SELECT u.text, u.id, p.id, p.depth, p.state, p.reason, p.hops FROM json_each(?) j"
                    " JOIN seen s ON s.hash = j.value JOIN url u ON u.id = s.url"
                    " LEFT JOIN page p ON p.id = coalesce(u.page, u.id)",
                    (batch,),
                ).fetchall()
            )

    def add(self, text: str, url_id: int, info: int) -> None:
        self._new.append((self._hash(text), url_id))
        self.recent.put(text, info)

    def page_of_key(self, key: str, text: str) -> int | None:
        """The page that has this key, where it was not made from the same text; None if there is none."""
        if self._has_keys:
            page = self._keys.find(key)
            if page is not None:
                return page
            if self._keys.dropped:
                row = self._connection.execute(
                    "SELECT page FROM seen_key WHERE hash = ?", (self._hash(key),)
                ).fetchone()
                if row is not None:
                    self._keys.put(key, row[0])
                    return int(row[0])
        if key == text:
            return None
        row = self._connection.execute(
            "SELECT coalesce(u.page, u.id) FROM seen s JOIN url u ON u.id = s.url WHERE s.hash = ? AND u.text = ?",
            (self._hash(key), key),
        ).fetchone()
        if row is not None:
            return int(row[0])
        info = self.recent.find(key)  # found in this very tick
        return url_id_of(info) if info is not None else None

    def add_key(self, key: str, page: int) -> None:
        self._has_keys = True
        self._new_keys.append((self._hash(key), page))
        self._keys.put(key, page)

    def flush(self) -> None:
        """Writes the new entries, sorted, inside the caller's transaction."""
        self._new.sort()
        self._new_keys.sort()
        # IGNORE: two texts with one 64-bit hash; the second stays known by RAM and is found again as new, which
        # costs a row and never a page
        self._connection.executemany("INSERT OR IGNORE INTO seen VALUES(?, ?)", self._new)
        self._connection.executemany("INSERT OR IGNORE INTO seen_key VALUES(?, ?)", self._new_keys)
        self._new, self._new_keys = [], []

    def age(self) -> None:
        """Between ticks: lets go of what was not used lately."""
        self.recent.age()
        self._keys.age()
