"""A bounded table of small values that remembers which of them changed."""

from __future__ import annotations

from collections.abc import Iterator
from zlib import crc32

from xxhash import xxh3_64_hexdigest

Value = int | bytes
Row = tuple[str, Value]


class Ledger:
    """Values by key, at most ``limit`` of them: the one that was not changed for longest makes room.

    What is forgotten is a count that starts again at nothing, so a bound is only ever reached later.
    """

    def __init__(self, prefix: str, limit: int) -> None:
        self.prefix = prefix
        self._limit = limit
        self._values: dict[str, Value] = {}
        self._changed: set[str] = set()

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def number(self, key: str) -> int:
        """The count under a key; 0 if there is none."""
        value = self._values.get(key, 0)
        return value if isinstance(value, int) else 0

    def blob(self, key: str) -> bytes:
        value = self._values.get(key, b"")
        return value if isinstance(value, bytes) else b""

    def put(self, key: str, value: Value) -> None:
        self._values.pop(key, None)
        self._values[key] = value
        self._changed.add(key)
        if len(self._values) > self._limit:
            self.drop(next(iter(self._values)))

    def add(self, key: str, amount: int = 1) -> int:
        """The count after the amount was added."""
        value = self._values.pop(key, 0)
        number = amount + (value if isinstance(value, int) else 0)
        self._values[key] = number
        self._changed.add(key)
        if len(self._values) > self._limit:
            self.drop(next(iter(self._values)))
        return number

    def drop(self, key: str) -> None:
        if self._values.pop(key, None) is not None:
            self._changed.add(key)

    def dump(self) -> Iterator[Row]:
        """What changed since the last dump; empty bytes for what is gone."""
        changed, self._changed = self._changed, set()
        for key in changed:
            yield self.prefix + key, self._values.get(key, b"")

    def restore(self, key: str, value: Value) -> None:
        """Puts back a row of an earlier dump, without its prefix."""
        if value != b"" and len(self._values) < self._limit:
            self._values[key] = value


SAMPLED = 4  # what is costly to look at is looked at for one in so many URLs, until it has found something


def is_sampled(url: str) -> bool:
    """Whether a URL is one of those that stand for all: the same ones in every run."""
    return not crc32(url.encode()) % SAMPLED


def mark_of(text: str) -> str:
    """A short key for a text of any length."""
    return xxh3_64_hexdigest(text.encode())
