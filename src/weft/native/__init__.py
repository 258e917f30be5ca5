"""The parts of weft that are compiled (src/native), or ``pure`` with the same names where they are not.

They are not where weft was set up without a C compiler, nor with ``WEFT_PURE_PYTHON=1`` in the environment. Callers do
not ask which of the two they have: both say the same, and each may leave a case to its caller, as ``pure`` tells.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING or os.environ.get("WEFT_PURE_PYTHON"):
    from weft.native import pure as _parts
else:
    try:
        import weft_native as _parts
    except ImportError:
        from weft.native import pure as _parts

is_compiled = _parts.__name__ == "weft_native"
"""Whether these are the compiled parts: ordinary pages are read without a tree then."""

read = _parts.read
"""Reads an ordinary page (``weft.parse.quick``)."""

meta_label = _parts.meta_label
"""What a page says of its encoding (``weft.parse.content``)."""

resolve = _parts.resolve
"""Where a plain reference leads (``weft.url.resolving``)."""

recall = _parts.recall
pack_links = _parts.pack_links
count_external = _parts.count_external
"""What is known of the links of a page, how they are stored, and how many lead elsewhere (``weft.frontier.links``)."""

filter_hits = _parts.filter_hits
fill_filter = _parts.fill_filter
merge_sorted = _parts.merge_sorted
"""The runs of the seen-set: the filters before them, and how they are merged (``weft.frontier.runs``)."""

csv_lines = _parts.csv_lines
"""Rows of the logs as CSV (``weft.crawl.logs``)."""

keep_freed_memory = _parts.keep_freed_memory
"""Has the C library keep what is freed (``weft.crawl.machine``)."""
