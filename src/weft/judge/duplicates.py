"""Whether a page is a duplicate of one met before: asked while the crawl runs, where their links are not followed (G7).

The first page that answers counts, so the result may depend on which that is; what `weft duplicates` tells afterwards
does not. Near-duplicates are told by their sketches alone here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from weft.spec import Duplicates, Skip

if TYPE_CHECKING:
    from weft.judge.likeness import Sketches

Body = tuple[int, int | None, str | None]
"""The hash, the size and the digest of a body."""


class Met(Protocol):
    """What was met before this tick, and what this tick has added to it."""

    def has_body(self, body_hash: int, size: int | None, digest: str | None, page: int | None) -> bool: ...
    def sharing(self, bands: Sequence[int]) -> list[int]: ...
    def sketch(self, visit: int) -> tuple[int, bytes] | None: ...
    def add(self, visit: int, bands: Sequence[int]) -> None: ...


class Skips:
    """Says of each page of a tick, in order, whether its links are left alone."""

    def __init__(self, settings: Duplicates, met: Met) -> None:
        self._met = met
        self._near = _NearSkips(settings, met) if settings.skip is Skip.NEAR else None
        self._bodies: dict[Body, int] = {}

    def begin(self) -> None:
        """A new tick: what the last one brought is stored."""
        self._bodies.clear()
        if self._near is not None:
            self._near.begin()

    def is_duplicate(self, page: int, visit: int, body: Body | None, sketch: bytes) -> bool:
        """``visit`` is the attempt that brought the body; None stands for no body, which is no duplicate."""
        if body is None:
            return False
        if self._bodies.setdefault(body, page) != page or self._met.has_body(*body, page):
            return True
        return self._near is not None and bool(sketch) and self._near.is_near(page, visit, sketch)


class _NearSkips:
    """The same by texts. Only texts that are near none before are compared with: clusters, not chains."""

    def __init__(self, settings: Duplicates, met: Met) -> None:
        from weft.judge.likeness import Likeness, bands_of

        self._like = Likeness(settings.near or 0.0, settings.sketch, settings.similarity)
        self._bands = bands_of(self._like)
        self._met = met
        self._new: dict[int, tuple[int, bytes]] = {}

    def begin(self) -> None:
        self._new.clear()

    def is_near(self, page: int, visit: int, data: bytes) -> bool:
        from weft.judge.likeness import band_numbers, sketch_row

        if self._bands is None:
            return False
        sketch = sketch_row(data, self._like)
        bands = band_numbers(sketch, self._bands)
        for other in self._met.sharing(bands):
            known = self._new.get(other) or self._met.sketch(other)
            if known is not None and known[0] != page and self._alike(sketch, sketch_row(known[1], self._like)):
                return True
        self._met.add(visit, bands)
        self._new[visit] = (page, data)
        return False

    def _alike(self, one: Sketches, other: Sketches) -> bool:
        from weft.judge.likeness import estimates, signature_similarity

        if self._like.by_signature:
            return signature_similarity(one, other) >= self._like.threshold
        told, _ = estimates(one, other[None, :])
        return float(told[0]) >= self._like.threshold
