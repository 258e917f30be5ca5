"""The compiled parts of weft (src/native); each is None where weft was set up without a C compiler.

Whoever uses one says the same in Python beside it. ``WEFT_PURE_PYTHON=1`` in the environment leaves them out.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    SortedEntries = tuple[array[int], array[int]]


def _load() -> ModuleType | None:
    if os.environ.get("WEFT_PURE_PYTHON"):
        return None
    try:
        import weft_native
    except ImportError:
        return None
    return weft_native  # type: ignore[no-any-return]


_native = _load()

is_there = _native is not None

read: Callable[..., tuple[bytes, bytes] | None] | None = getattr(_native, "read", None)
"""Reads an ordinary page (``weft.parse.quick``)."""

meta_label: Callable[[bytes, int, int], tuple[str, int] | None] | None = getattr(_native, "meta_label", None)
"""What a page says of its encoding (``weft.parse.content``)."""

resolve: Callable[[str, str], str | None] | None = getattr(_native, "resolve", None)
"""Where a plain reference leads (``weft.url.resolving``)."""

recall: Callable[..., tuple[bytearray, bytearray, list[int]]] | None = getattr(_native, "recall", None)
pack_links: Callable[..., str] | None = getattr(_native, "pack_links", None)
count_external: Callable[[list[str], str, str], int | None] | None = getattr(_native, "count_external", None)
"""What is known of the links of a page, how they are stored, and how many lead elsewhere (``weft.frontier.links``)."""

sift: Callable[[list[int], list[array[int]]], list[list[int]]] | None = getattr(_native, "sift", None)
fill_filter: Callable[[array[int], array[int]], None] | None = getattr(_native, "fill_filter", None)
merge_sorted: Callable[[list[SortedEntries]], tuple[bytes, bytes]] | None = getattr(_native, "merge_sorted", None)
"""The runs of the seen-set: the filters before them, and how they are merged (``weft.frontier.runs``)."""

csv_lines: Callable[[list[tuple[object, ...]]], str | None] | None = getattr(_native, "csv_lines", None)
"""Rows of the logs as CSV (``weft.observe``)."""

keep_freed_memory: Callable[[], None] | None = getattr(_native, "keep_freed_memory", None)
"""Has the C library keep what is freed (``weft.crew.cores``)."""
