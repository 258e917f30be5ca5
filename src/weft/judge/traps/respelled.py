"""Pages that come under ever new spellings: other letters, another order, other marks between words (SPELLINGS).

No rule can know that ``/Shop/ITEM-5`` and ``/shop/item-5`` are one page. But a site of which most new URLs consist of
words that an earlier one had is a site that spells its pages anew; then only such URLs are refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from xxhash import xxh3_64_intdigest

from weft.errors import Reason
from weft.judge.traps.ledger import SAMPLED, Row
from weft.judge.traps.urls import Problem
from weft.text.patterns import regex

YOUNG = 64  # sampled URLs of a site that are not looked at: small sites cost nothing
PER_PAGE = 1  # further spellings among the sampled URLs for each different page, beside the budget
MAP_B = 4_096  # Bloom filter of the pages of one site, two bits for each
PAGES = 12_000  # different pages of a site after which the filter is too full to say anything
SITES = 1_000
YOUNG_SITES = 50_000
_BITS = MAP_B * 8
_HEAD_B = 8  # two numbers before the filter: further spellings, different pages

_ESCAPED = regex(r"%([0-7][0-9a-f])")
_WORD = regex(r"(?:-(?=\d))?[0-9a-z%=]+(?:[-._~!$'()*:@]+[0-9a-z%=]+)*")
_DIGIT = regex(r"\d")


class Respelled:
    """See the module. Durable as a ledger is, with one row for each site.

    Asked for sampled URLs, and for all of the ``sites`` that were found out.
    """

    prefix = "w"

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.sites: set[int] = set()
        self._young: dict[int, int] = {}
        self._rows: dict[int, bytearray] = {}
        self._changed: set[int] = set()

    def problem(self, path: str, query: str, site_id: int) -> Problem | None:
        """What is said against a URL whose words are known; counts it where nothing is."""
        row = self._rows.get(site_id)
        if row is None:
            row = self._begin(site_id)
            if row is None:
                return None
        pages = int.from_bytes(row[4:_HEAD_B], "big")
        if pages >= PAGES:
            return None
        again = int.from_bytes(row[:4], "big")
        mark = xxh3_64_intdigest(words_of(path, query).encode())
        first, second = mark % _BITS, (mark >> 32) % _BITS
        self._changed.add(site_id)
        if row[_HEAD_B + (first >> 3)] >> (first & 7) & 1 and row[_HEAD_B + (second >> 3)] >> (second & 7) & 1:
            if again >= self._limit // SAMPLED + PER_PAGE * pages:
                self.sites.add(site_id)
                detail = f"{SAMPLED * again} further spellings of {pages} pages (--trap-spellings {self._limit})"
                return Reason.SPELLINGS, detail
            row[:4] = (again + 1).to_bytes(4, "big")
            return None
        row[_HEAD_B + (first >> 3)] |= 1 << (first & 7)
        row[_HEAD_B + (second >> 3)] |= 1 << (second & 7)
        row[4:_HEAD_B] = (pages + 1).to_bytes(4, "big")
        return None

    def _begin(self, site_id: int) -> bytearray | None:
        """The row of a site that is no longer young."""
        count = self._young.get(site_id, 0) + 1
        if count <= YOUNG:
            if len(self._young) >= YOUNG_SITES:
                self._young.clear()
            self._young[site_id] = count
            return None
        if len(self._rows) >= SITES:
            oldest = next(iter(self._rows))
            del self._rows[oldest]
            self.sites.discard(oldest)
            self._changed.add(oldest)
        row = self._rows[site_id] = bytearray(_HEAD_B + MAP_B)
        return row

    def dump(self) -> Iterator[Row]:
        """The rows that changed since the last dump; empty bytes for one that is gone."""
        changed, self._changed = self._changed, set()
        for site_id in changed:
            yield f"{self.prefix}{site_id}", bytes(self._rows.get(site_id, b""))

    def restore(self, key: str, value: int | bytes) -> None:
        """Puts back a row of an earlier dump, without its prefix."""
        if isinstance(value, bytes) and len(value) == _HEAD_B + MAP_B and len(self._rows) < SITES:
            self._rows[int(key)] = bytearray(value)


def words_of(path: str, query: str) -> str:
    """What all spellings of a URL have in common: its words in one case and order, and what has digits as it comes.

    The order of numbers tells pages apart (``/unit/1/lesson/2``), and so does a parameter's value. Bytes beyond ASCII
    stay escaped: in which encoding they are is not known.
    """
    text = f"{path}/{query}".lower()
    if "%" in text:
        text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)).lower(), text)
    words = _WORD.findall(text)
    numbered = [word for word in words if _DIGIT.search(word) and "=" not in word]
    return " ".join((*sorted({*words}.difference(numbered)), *numbered))
