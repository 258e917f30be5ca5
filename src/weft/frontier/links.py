"""The links of a page in the forms in which others take them: packed for the store, and those known before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from weft.frontier.seen import ADMITTED, ID_SHIFT

PackedLink = tuple[int | str, ...]
"""Id of the target, number of the kind, 1 if it may be followed, anchor; where they are not empty rel and fragment."""


def packed_links(
    infos: Sequence[int], kinds: Sequence[int], offered: Sequence[int], anchors: Sequence[str], rels: Sequence[str],
    fragments: Sequence[str],
) -> list[PackedLink]:  # fmt: skip
    """The rows of a page's links, in order."""
    ids = [info >> ID_SHIFT for info in infos]
    if not any(fragments) and not any(rels):
        return list(zip(ids, kinds, offered, anchors, strict=True))
    return [
        row if row[5] else row[:5] if row[4] else row[:4]
        for row in zip(ids, kinds, offered, anchors, rels, fragments, strict=True)
    ]


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
                if followed and info & ADMITTED and info < first_new and target.startswith(prefix)
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
