"""The texts of a stored crawl as sketches and sets of shingles: from the database where they are, else the archive."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from weft.derive.body import answer_of_visit, page_of
from weft.derive.read import StoredCrawl
from weft.errors import SpecError, WeftError
from weft.judge.likeness import Likeness, Sketches
from weft.judge.sketch import Hashes, kept_text, shingles, sketch_size, sketcher
from weft.parse.text import plain_text
from weft.spec import Limits, MinHash

_CHUNK = 1_000
_MEMORY_B = 256 << 20  # for each of the tables that are kept in memory; past it they lie in files
_MEMORY_SHARE = 4  # and at most this part of --max-memory


class Texts:
    """What visits say, by their ids. Sets of shingles are kept while there is room for them."""

    def __init__(self, crawl: StoredCrawl, like: Likeness) -> None:
        self._crawl = crawl
        self._like = like
        self._sketch = sketcher(like.minhash)
        self._stored = _stored_kind(crawl)
        self._archived = bool(crawl.connection.execute("SELECT 1 FROM warc LIMIT 1").fetchone())
        self._sets: OrderedDict[int, Hashes] = OrderedDict()
        self._sets_b = 0
        self.memory_b = min(_MEMORY_B, _max_memory_b(crawl) // _MEMORY_SHARE)

    def sketches(self, visits: Sequence[int]) -> Iterator[tuple[Sequence[int], Sketches, list[bool]]]:
        """For some visits at a time: their sketches, and which of them have a text at all."""
        size, dtype = sketch_size(self._like.minhash), np.dtype(self._like.dtype).newbyteorder("<")
        blank = bytes(size)
        for start in range(0, len(visits), _CHUNK):
            some = visits[start : start + _CHUNK]
            stored = self._rows(some) if self._stored == self._like.minhash else {}
            data = [stored.get(visit, b"")[:size] for visit in some]
            data = [
                row if len(row) == size else self._sketch(self._text(visit))
                for visit, row in zip(some, data, strict=True)
            ]
            rows: Sketches = np.empty((len(some), self._like.width), self._like.dtype)
            rows[:] = np.frombuffer(b"".join(row or blank for row in data), dtype).reshape(len(some), -1)
            yield some, rows, [bool(row) for row in data]

    def shingles(self, visit: int) -> Hashes | None:
        """The set of shingles of a text; None where the text is kept nowhere."""
        found = self._sets.get(visit)
        if found is not None:
            self._sets.move_to_end(visit)
            return found
        text = self._text(visit)
        if not text:
            return None
        found = self._sets[visit] = shingles(text)
        self._sets_b += found.nbytes
        while self._sets_b > self.memory_b // 2 and len(self._sets) > 2:
            self._sets_b -= self._sets.popitem(last=False)[1].nbytes
        return found

    def _rows(self, visits: Sequence[int]) -> dict[int, bytes]:
        return dict(self._crawl.connection.execute(_SKETCHES, (msgspec.json.encode(list(visits)).decode(),)).fetchall())

    def _kept(self, visit: int) -> str | None:
        """The text that was kept beside the sketch, by a crawl without an archive."""
        if not self._stored or self._archived:
            return None
        data = self._rows([visit]).get(visit)
        return None if data is None else kept_text(data, self._stored)

    def _text(self, visit: int) -> str:
        kept = self._kept(visit)
        if kept is not None:
            return kept
        answer = answer_of_visit(self._crawl, visit)
        if answer is None:
            return ""
        try:
            body, content_type = page_of(self._crawl, answer)
        except WeftError:  # without its body a page has no text, and is like no other
            return ""
        return plain_text(body, content_type)


def _max_memory_b(crawl: StoredCrawl) -> int:
    try:
        return crawl.spec.limits.max_memory_b
    except (SpecError, OSError):
        return Limits().max_memory_b


def _stored_kind(crawl: StoredCrawl) -> MinHash | None:
    """Of which kind the sketches are that the crawl has stored; None where it has none."""
    known = crawl.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'sketch'").fetchone()
    if known is None or crawl.connection.execute("SELECT 1 FROM sketch LIMIT 1").fetchone() is None:
        return None
    try:
        return crawl.spec.duplicates.sketch
    except (SpecError, OSError):
        return None


_SKETCHES = "SELECT s.visit, s.data FROM json_each(?) j JOIN sketch s ON s.visit = j.value"
