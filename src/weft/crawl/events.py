"""Who watches a run: told of each tick after it is committed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from weft.records import Progress, StoredVisit


class Observer(Protocol):
    """Is told of every tick after it is committed; must be quick."""

    def ticked(self, visits: Sequence[StoredVisit], progress: Progress) -> None: ...
