"""The links of a page in the forms in which others take them: packed for the store, and those known before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import msgspec

from weft.frontier.seen import ADMITTED, ID
from weft.native import count_external, pack_links
from weft.records import LinkKind, Links
from weft.url import site_of

_A = int(LinkKind.A)
_encode = msgspec.json.Encoder().encode

PackedLink = tuple[int | str, ...]
"""Id of the target, number of the kind, 1 if it may be followed, anchor, and, if any link of the page has one, rel and
fragment."""


def packed_links(links: Links, infos: list[int], offered: list[int]) -> str:
    """The rows of a page's links, in order, as JSON."""
    if links.ends and pack_links is not None:
        return pack_links(infos, ID, _A, links.kinds, offered, links.tails, links.ends)
    links.unpack()
    columns: list[Sequence[int | str]] = [[info & ID for info in infos], links.kind_column(), offered, links.anchors]
    if links.rels or any(links.fragments):
        columns += links.rel_column(), links.fragments
    return packed(list(zip(*columns, strict=True)))


def packed(rows: Sequence[PackedLink]) -> str:
    """Rows of links as JSON."""
    return _encode(rows).decode()


def external_links(targets: list[str], prefix: str) -> int:
    """How many URLs lead to another site than the one whose URLs begin like this.

    Its http and its https are one site, and so is it with other credentials: only those need a closer look.
    """
    other = f"http{prefix[5:]}" if prefix.startswith("https") else f"https{prefix[4:]}"
    if count_external is not None and "@" not in prefix:
        count = count_external(targets, prefix, other)
        if count is not None:
            return count
    own = (prefix, other)
    outside = [target for target in targets if not target.startswith(own) and target.startswith("http")]
    if "@" in prefix or any("@" in target for target in outside):
        site = site_of(prefix)
        return sum(site_of(target) != site for target in outside)
    return len(outside)


class KnownLinks(Sequence[str]):
    """The targets on the page's own site that were admitted before, made when somebody asks for them."""

    def __init__(
        self, targets: Sequence[str], infos: Sequence[int], offered: Sequence[int], prefix: str, first_new: int
    ) -> None:  # fmt: skip
        self._parts = targets, infos, offered
        self._prefix = prefix
        self._first_new = first_new
        self._made: list[str] | None = None

    def _all(self) -> list[str]:
        if self._made is None:
            prefix, first_new = self._prefix, self._first_new
            self._made = [
                target
                for target, info, followed in zip(*self._parts, strict=True)
                if followed and info & ADMITTED and info & ID < first_new and target.startswith(prefix)
            ]
        return self._made

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
