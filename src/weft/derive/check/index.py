"""The index of the archive with the database."""

from __future__ import annotations

import xxhash

from weft.derive.check.checked import Checked
from weft.store.warc.cdxj import cdxj_line, stored_rows

_MASK = (1 << 64) - 1


def check_index(checked: Checked) -> None:
    """index.cdxj has exactly the lines that the database gives, in order.

    Both are added up as sets of hashes, so that neither has to be sorted or kept.
    """
    if not checked.folder.cdxj.is_file():
        if checked.count("SELECT count(*) FROM warc"):
            checked.problem("INDEX", f"there is no {checked.folder.cdxj.name}")
        return
    lines, summed, previous = 0, 0, b""
    with checked.folder.cdxj.open("rb") as file:
        for line in file:
            lines += 1
            summed += xxhash.xxh3_64_intdigest(line)
            if line < previous:
                checked.problem("INDEX", f"line {lines} of {checked.folder.cdxj.name} is not in order")
            previous = line
    checked.report.index_lines = lines
    expected, wanted = 0, 0
    for row in stored_rows(checked.db):
        wanted += xxhash.xxh3_64_intdigest(cdxj_line(row))
        expected += 1
    if lines != expected:
        checked.problem("INDEX", f"{checked.folder.cdxj.name} has {lines:,} lines, and {expected:,} answers are stored")
    elif summed & _MASK != wanted & _MASK:
        checked.problem("INDEX", f"lines of {checked.folder.cdxj.name} are not those of the answers stored")
