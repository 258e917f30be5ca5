"""The seen-set: which URLs are known, with RAM bounded and the database behind it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable

import msgspec
from xxhash import xxh3_64_intdigest

from weft.frontier.runs import RUN_ENTRIES, Runs

ID_BITS = 34
ADMITTED = 1 << ID_BITS  # the page is, or was, in the queue
FINAL = 2 << ID_BITS  # refused for a reason of the URL itself: no other link can bring it in
HOPPED = 4 << ID_BITS  # known only as the target of redirects
JUDGED_FILE = 8 << ID_BITS  # admitted, or refused, as a file: another link that shows it changes nothing
CHECKED = 16 << ID_BITS  # no page and no file: asked whether it answers
DEPTH_SHIFT = ID_BITS + 5
DEPTH_MAX = (1 << 16) - 1
OPEN = 1 << DEPTH_SHIFT + 16  # any link may change something: not admitted, and not for good; or by redirects alone
UNKNOWN = OPEN << 1  # larger than anything that is known of a URL
ID = (1 << ID_BITS) - 1
_MERGED_PER_NEW = 6  # entries of runs merged for each new one: each is merged once a level
_MERGED_AT_LEAST = 10_000
_READ_AT_ONCE = 50_000


def pack(url_id: int, depth: int, flags: int) -> int:
    """What is known of a URL in one integer: a hundred of these are looked at for every page.

    It is larger than ``reach(depth)`` exactly where a link that leads to that depth may change something; so the
    largest of a page's links tells whether any of them does.
    """
    if flags & FINAL:
        return url_id | flags
    known = url_id | flags | min(depth, DEPTH_MAX) << DEPTH_SHIFT
    return known if flags == ADMITTED else known | OPEN


def reach(depth: int) -> int:
    """The largest number of a URL that a link to this depth does not bring nearer."""
    return (min(depth, DEPTH_MAX) + 1 << DEPTH_SHIFT) - 1


def depth_of(info: int) -> int:
    """The depth that is known of a URL which is not refused for good."""
    return info >> DEPTH_SHIFT & DEPTH_MAX


def url_id_of(info: int) -> int:
    return info & ID


def fingerprint_of(text: str, seed: int) -> int:
    """The 64 bits by which a text is found. Of a key, which is another thing than a text, with the seed one higher."""
    return xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"), seed)


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

    A key has an entry only where it differs from the text that it was made from; a page whose key is its own text is
    found by the text. So the common URL costs one entry. The newest entries are kept in RAM alone: after a kill they
    are made again from the rows of ``url`` and ``page`` behind the last run.
    """

    def __init__(
        self, connection: sqlite3.Connection, seed: int, capacity: int, run_entries: int = RUN_ENTRIES
    ) -> None:  # fmt: skip
        self._connection = connection
        self._seed = seed
        self._run_entries = run_entries
        self.recent = Recent(capacity)
        self._newest: dict[int, int] = {}
        self._fingerprints: dict[str, int] = {}  # of the texts that the last prefetch did not find
        self._new_keys = 0
        self._hashes_of_keys: set[int] = set()  # of the keys that are among the newest: what is not here is not there
        self._flushed = 0
        began = not connection.in_transaction
        if began:
            connection.execute("BEGIN IMMEDIATE")
        self._runs = Runs(connection)
        self.has_keys = self._runs_have_keys = self._runs.keys > 0
        self._read_newest()
        if began:
            connection.execute("COMMIT")
        self.recent.dropped = bool(self._newest) or self._runs.upto > 0

    def _read_newest(self) -> None:
        """Makes the entries again that no run holds."""
        last = self._runs.upto
        while True:
            urls = self._connection.execute(
                "SELECT id, text FROM url WHERE id > ? ORDER BY id LIMIT ?", (last, _READ_AT_ONCE)
            ).fetchall()
            if not urls:
                return
            keys = self._connection.execute(
                "SELECT id, key FROM page WHERE id > ? AND id <= ? AND key IS NOT NULL", (last, urls[-1][0])
            ).fetchall()
            last = urls[-1][0]
            seed = self._seed
            self._newest.update((fingerprint_of(text, seed), number) for number, text in urls)
            for number, key in keys:
                self.add_key(key, number)
            if len(self._newest) >= self._run_entries:
                self._write_run(last)

    def prefetch(self, texts: Iterable[str], describe: Callable[[list[tuple[object, ...]]], None]) -> None:
        """Brings what the database knows of these texts into RAM; afterwards absence means new.

        ``describe`` gets the rows (text, url id, page id, depth, state, reason, hops, role) and puts them.
        """
        if not self.recent.dropped:
            return
        find, seed = self.recent.find, self._seed
        missing = [text for text in set(texts).difference(self.recent.young) if find(text) is None]
        if not missing:
            return
        fingerprints = {text: fingerprint_of(text, seed) for text in missing}
        newest = self._newest
        ids = []
        older = []
        for one in fingerprints.values():
            number = newest.get(one)
            if number is None:
                older.append(one)
            else:
                ids.append(number)
        ids += self._runs.find(older).values()
        ids.sort()
        for start in range(0, len(ids), 10_000):
            batch = msgspec.json.encode(ids[start : start + 10_000]).decode()
            describe(self._connection.execute(_DESCRIBED, (batch,)).fetchall())
        self._fingerprints = fingerprints

    def id_of_key(self, key: str, text: str) -> int | None:
        """The id of a URL whose page has this key, where it was not made from the same text; None if there is none."""
        if self._runs_have_keys or hash(key) in self._hashes_of_keys:
            found = self._find(fingerprint_of(key, self._seed + 1))
            if found is not None:
                return found
        if key == text:
            return None
        info = self.recent.find(key)
        return url_id_of(info) if info is not None else self._find(fingerprint_of(key, self._seed))

    def _find(self, fingerprint: int) -> int | None:
        number = self._newest.get(fingerprint)
        return number if number is not None else self._runs.find_one(fingerprint)

    def add_key(self, key: str, page: int) -> None:
        self.has_keys = True
        self._new_keys += 1
        self._hashes_of_keys.add(hash(key))
        self._newest[fingerprint_of(key, self._seed + 1)] = page

    def flush(self, new: Iterable[tuple[int, str, object]], upto: int) -> None:
        """Takes in the new URLs of a tick, known by the recent ones until now: id, text, and what else they have.

        Writes a run when enough is new, and goes on merging, inside the caller's transaction. ``upto`` is the largest
        id of a URL given so far.
        """
        seed, known = self._seed, self._fingerprints.get
        newest = self._newest
        for url_id, text, _ in new:
            newest[known(text) or fingerprint_of(text, seed)] = url_id
        added = upto - self._flushed if self._flushed else 0
        self._flushed = upto
        if len(self._newest) >= self._run_entries:
            self._write_run(upto)
        self._runs.tidy(max(_MERGED_AT_LEAST, _MERGED_PER_NEW * added))

    def close(self, upto: int) -> None:
        """Leaves nothing to RAM alone: a crawl that rests is read by others."""
        if self._newest:
            self._write_run(upto)

    def _write_run(self, upto: int) -> None:
        self._runs.add(self._newest, self._new_keys, upto)
        self._runs_have_keys = self._runs_have_keys or self._new_keys > 0
        self._newest, self._new_keys, self._hashes_of_keys = {}, 0, set()

    def age(self) -> None:
        """Between ticks: lets go of what was not used lately."""
        self.recent.age()
        self._fingerprints = {}


_DESCRIBED = """
SELECT u.text, u.id, p.id, p.depth, p.state, p.reason, p.hops, p.role FROM json_each(?) j JOIN url u ON u.id = j.value
LEFT JOIN page p ON p.id = coalesce(u.page, u.id)
"""
