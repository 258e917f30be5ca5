"""The links of a page: what is known of them, and the forms in which others take them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import msgspec

from weft import native
from weft.frontier.seen import ADMITTED, ID, UNKNOWN
from weft.records import LEADS_ON, LinkKind, Links
from weft.url import site_of

_A = int(LinkKind.A)
_REFRESH = int(LinkKind.REFRESH)
_REL = 4  # its place in a packed link
_encode = msgspec.json.Encoder().encode

Infos = memoryview
"""What is known of each target, as numbers of eight bytes."""

PackedLink = tuple[int | str, ...]
"""Id of the target, number of the kind, 1 if it may be followed, anchor, and, if any link of the page has one, rel and
fragment."""


def recalled(
    known: dict[str, int], links: Links, by_kind: bytes, heeds_nofollow: bool, bound: int
) -> tuple[bytearray, Infos, list[int]]:
    """Which links may bring their targets in, what is known of each target, and where to look closer.

    1 where a link may, by what is said of its kind, and by its own nofollow where that is heeded. A closer look is for
    the unknown, and for those above the bound that may be brought in.
    """
    targets, rels = links.targets, links.rels if heeds_nofollow else {}
    offered, infos, places = native.recall(known, targets, links.kinds, _A, by_kind, rels, UNKNOWN, bound)
    return offered, memoryview(infos).cast("Q"), places


def leads_on(links: Links) -> bool:
    """Whether the page of these links has a refresh after 0 seconds. Then it counts as a redirect, with all its links:
    besides the refresh such a page links to its target once more, to itself, or back.
    """
    return any(kind == _REFRESH and links.rels.get(at) == LEADS_ON for at, kind in links.kinds.items())


def packed_leads_on(rows: Sequence[list[int | str]]) -> bool:
    """Whether the page of these stored links has a refresh after 0 seconds (``leads_on``)."""
    return any(row[1] == _REFRESH and row[_REL:][:1] == [LEADS_ON] for row in rows)


def packed_links(links: Links, infos: Infos, offered: bytearray) -> str:
    """The rows of a page's links, in order, as JSON."""
    if links.ends:
        return native.pack_links(infos, ID, _A, links.kinds, offered, links.texts_json, links.ends)
    links.unpack()
    columns: list[Sequence[int | str]] = [[info & ID for info in infos], links.kind_column(), offered, links.anchors]
    if links.rels or any(links.fragments):
        columns += links.rel_column(), links.fragments
    return packed(list(zip(*columns, strict=True)))


def packed(rows: Sequence[PackedLink]) -> str:
    """Rows of links as JSON."""
    return _encode(rows).decode()


class PageSite:
    """The site of a page, as the URLs of its links begin: its http and its https are one site."""

    __slots__ = ("_other", "_with_credentials", "prefix", "site")

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.site = 0  # its id, once it is needed
        self._other = f"http{prefix[5:]}" if prefix.startswith("https") else f"https{prefix[4:]}"
        self._with_credentials = "@" in prefix

    def external_links(self, targets: list[str]) -> int:
        """How many URLs lead to another site.

        With other credentials it is the same site: only those need a closer look.
        """
        if not self._with_credentials:
            count = native.count_external(targets, self.prefix, self._other)
            if count is not None:
                return count
        own = (self.prefix, self._other)
        outside = [target for target in targets if not target.startswith(own) and target.startswith("http")]
        if self._with_credentials or any("@" in target for target in outside):
            site = site_of(self.prefix)
            return sum(site_of(target) != site for target in outside)
        return len(outside)


class KnownLinks(Sequence[str]):
    """The targets on the page's own site that were admitted before, made when somebody asks for them."""

    __slots__ = ("_made", "_made_of")

    def __init__(self, targets: list[str], infos: Infos, offered: bytearray, prefix: str, first_new: int) -> None:
        self._made_of = (targets, infos, offered, prefix, first_new)
        self._made: list[str] | None = None

    def _all(self) -> list[str]:
        if self._made is None:
            self._made = self._make()
        return self._made

    def _make(self) -> list[str]:
        targets, infos, offered, prefix, first_new = self._made_of
        return [
            target
            for target, info, followed in zip(targets, infos, offered, strict=True)
            if followed and info & ADMITTED and info & ID < first_new and target.startswith(prefix)
        ]

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self._all()[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())
