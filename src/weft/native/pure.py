"""The counterparts of the compiled parts (src/native) in Python. They say what is right: tests compare the two."""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import repeat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    SortedEntries = tuple[array[int], array[int]]
    """Fingerprints in their order, and the id of each."""

_MARKUP = re.compile(rb"<(?:(?P<comment>!--)|(?:/?(?P<tag>[A-Za-z][^\t\n\x0c\r >/]*))|[!/?])")
# The same in one step for what heads begin with: tags of plain attributes, up to the first meta.
_PLAIN_TO_META = re.compile(
    rb"""(?:[^<]++|<![A-Za-z][^>]*+>"""
    rb"""|<(?!meta[\t\n\x0c\r /])/?[A-Za-z][^<>"'=]*+(?:=(?:"[^"]*+"|'[^']*+'|[^<>"'=\s]++)[^<>"'=]*+)*+>)*+"""
    rb"""<(?P<tag>meta)(?=[\t\n\x0c\r /])""",
    re.IGNORECASE,
)
_REST_OF_TAG = re.compile(
    rb"""(?:[\t\n\x0c\r /]++|[^\t\n\x0c\r />][^\t\n\x0c\r />=]*+[\t\n\x0c\r ]*+"""
    rb"""(?:=[\t\n\x0c\r ]*+(?:"[^"]*+"|'[^']*+'|(?!["'])[^\t\n\x0c\r >]*+)|(?!=)))*+>"""
)
_ATTRIBUTE = re.compile(
    rb"""([^\t\n\x0c\r />][^\t\n\x0c\r />=]*+)[\t\n\x0c\r ]*+"""
    rb"""(?:=[\t\n\x0c\r ]*+(?:"([^"]*+)"|'([^']*+)'|([^\t\n\x0c\r >]*+)))?+"""
)
_CHARSET_IN_CONTENT = re.compile(
    rb"""charset[\t\n\x0c\r ]*=[\t\n\x0c\r ]*(?:"([^"]*)"|'([^']*)'|([^"'\t\n\x0c\r ;][^\t\n\x0c\r ;]*))""",
    re.IGNORECASE,
)
_LOWEST = (1 << 12) - 1


def read(*_: object) -> tuple[bytes, bytes] | None:
    """The tails of the links of an ordinary page, and where each of them ends; None leaves the page to its tree."""
    return None


def meta_label(body: bytes, at: int, limit: int) -> tuple[str, int] | None:
    """The label that the first meta to give one gives, from a place on, and where that meta ends; or None."""
    head = body[:limit]
    while match := _PLAIN_TO_META.match(head, at) or _MARKUP.search(head, at):
        if match.lastgroup == "comment":  # "<!-->" is a whole one
            end = head.find(b"-->", match.start() + 2) + 3
        elif match.lastgroup == "tag":
            tag = _REST_OF_TAG.match(head, match.end())
            end = tag.end() if tag else 0
            if tag and match["tag"].lower() == b"meta" and head[match.start("tag") - 1 : match.start("tag")] == b"<":
                label = _label_of(tag[0])
                if label:
                    return label.decode("latin-1"), end
        else:
            end = head.find(b">", match.end()) + 1
        if end < at + 3:
            return None
        at = end
    return None


def _label_of(attributes: bytes) -> bytes | None:
    """The label of an encoding in the attributes of a meta, or None."""
    values: dict[bytes, bytes] = {}
    for match in _ATTRIBUTE.finditer(attributes):
        values.setdefault(match[1].lower(), match[2] or match[3] or match[4] or b"")
    label = values.get(b"charset")
    if label is None and values.get(b"http-equiv", b"").lower() == b"content-type":
        content = _CHARSET_IN_CONTENT.search(values.get(b"content", b""))
        label = content and (content[1] or content[2] or content[3])
    return label


def resolve(base: str, reference: str) -> str | None:
    """The URL that a plain reference leads to; None leaves the reference to the parser of URLs."""
    return None


def recall(
    known: dict[str, int], targets: list[str], kinds: dict[int, int], kind: int, by_kind: bytes,
    rels: Mapping[int, str], unknown: int, bound: int,
) -> tuple[bytearray, bytearray, list[int]]:  # fmt: skip
    """Which links of a page are offered, what is known of each target (eight bytes each), and where to look closer.

    A link is offered as ``by_kind`` says of its kind, and not where its rel has nofollow. ``kind`` is that of all links
    but those in ``kinds``. A closer look is for the unknown, and for the offered whose number is above the bound.
    """
    offered = bytearray(by_kind[kind : kind + 1]) * len(targets)
    for at, own in kinds.items():
        offered[at] = by_kind[own]
    for at, rel in rels.items():
        if "nofollow" in rel and "nofollow" in rel.split():
            offered[at] = 0
    infos = array("Q", map(known.get, targets, repeat(unknown)))
    closer = [at for at, info in enumerate(infos) if info == unknown or (info > bound and offered[at])]
    return offered, bytearray(infos), closer


def pack_links(
    infos: memoryview, mask: int, kind: int, kinds: dict[int, int], offered: bytearray, texts_json: bytes, ends: bytes
) -> str:
    """The rows of a page's links as JSON, made of the tails that ``read`` gave; an info has its target's id."""
    rows = []
    start = 0
    stops = memoryview(ends).cast("I")
    for at, (info, followed, stop) in enumerate(zip(infos.cast("B").cast("Q"), offered, stops, strict=True)):
        rows.append(f"[{info & mask},{kinds.get(at, kind)},{followed},{texts_json[start:stop].decode()}]")
        start = stop
    return f"[{','.join(rows)}]"


def count_external(targets: list[str], own: str, other: str) -> int | None:
    """How many URLs of the web begin with neither; None where one may have credentials and wants a closer look."""
    outside = [target for target in targets if not target.startswith((own, other)) and target.startswith("http")]
    return None if any("@" in target for target in outside) else len(outside)


@cache
def _marks_of_fingerprints() -> tuple[int, ...]:
    """What a filter keeps of a fingerprint: four bits of a word, one in each quarter, chosen by its lowest bits.

    Filters are stored, so this never changes. It is quick, as every crawl needs it once: random numbers took as long as
    a third of the start of a crawl.
    """
    pairs = [1 << (x >> 4) | 1 << 16 + (x & 15) for x in range(256)]  # for eight bits, those of two quarters
    lower_pairs = [pair << 32 for pair in pairs]
    spread = [low * 0x9E3779B97F4A7C15 >> 48 & 0xFFFF for low in range(_LOWEST + 1)]  # Fibonacci hashing
    return tuple([pairs[x >> 8] | lower_pairs[x & 255] for x in spread])


def _shift_of(words: array[int]) -> int:
    return 64 - (len(words).bit_length() - 1)


def fill_filter(words: array[int], fingerprints: array[int]) -> None:
    """Takes fingerprints into a filter."""
    shift, marks = _shift_of(words), _marks_of_fingerprints()
    for one in fingerprints:
        words[one >> shift] |= marks[one & _LOWEST]


def filter_hits(fingerprints: list[int], filters: Sequence[array[int]]) -> list[list[int]]:
    """For each filter, those of the fingerprints that it lets through."""
    passed: list[list[int]] = [[] for _ in filters]
    asked = [(words, _shift_of(words), mine.append) for words, mine in zip(filters, passed, strict=True)]
    marks, lowest = _marks_of_fingerprints(), _LOWEST
    for one in fingerprints:
        mark = marks[one & lowest]
        for words, shift, let_through in asked:
            if words[one >> shift] & mark == mark:
                let_through(one)
    return passed


def merge_sorted(parts: list[SortedEntries]) -> tuple[bytes, bytes]:
    """Sorted lists of fingerprints, and their ids, as one; of those that several have, the id of the last."""
    entries: dict[int, int] = {}
    for part in parts:
        entries.update(zip(*part, strict=True))
    order = sorted(entries)
    return array("Q", order).tobytes(), array("Q", map(entries.__getitem__, order)).tobytes()


def csv_lines(rows: list[tuple[object, ...]]) -> str | None:
    """Rows as CSV, safe for spreadsheets; None leaves them to the library."""
    return None


def keep_freed_memory() -> None:
    """Has the C library keep what is freed; nothing is done without C."""
