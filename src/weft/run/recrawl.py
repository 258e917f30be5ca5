"""Passes: when all pages of a crawl are asked again (T5, T9).

The first pass is the crawl itself. A further one is due ``--period`` after the start of the last one. It asks every
page once, with the validators of its last answer, so that a server that knows them sends only what changed. When a pass
is due is decided here alone: change rates and plans belong here too.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from weft.db.connection import DatabaseError, explain, open_reader
from weft.db.schema import VERSION
from weft.errors import FolderError
from weft.folder import Folder
from weft.records import StopReason
from weft.spec import CrawlSpec
from weft.store.state import StoredState, is_seeded

ENDS = (StopReason.DONE, StopReason.FAILED, StopReason.MAX_PAGES)
"""Reasons to stop after which a pass is over."""


class NextPass(NamedTuple):
    """The pass that follows one that is over."""

    number: int
    due_ms: int

    def is_due(self, now_ms: int) -> bool:
        return now_ms >= self.due_ms

    def words(self) -> str:
        """When it is due, in the user's own time."""
        moment = datetime.fromtimestamp(self.due_ms / 1000).astimezone()
        return f"pass {self.number} is due at {moment:%Y-%m-%d %H:%M:%S}"


def next_pass(folder: Folder, spec: CrawlSpec) -> NextPass | None:
    """The pass that follows; None where there is no period, or the last pass is not over."""
    if spec.recrawl.period_s is None or not folder.db.is_file() or not folder.db.stat().st_size:
        return None
    reader = open_reader(folder.db, VERSION)
    try:
        if not is_seeded(reader):
            return None
        state = StoredState(reader)
        last = state.last_run()
        if last is None or last[0] is None or last[1] not in ENDS or state.was_given_more:
            return None
        number, started_ms = state.last_pass
        return NextPass(number + 1, started_ms + int(spec.recrawl.period_s * 1000))
    except DatabaseError as error:
        raise FolderError(explain(error, folder.db)) from error
    finally:
        reader.close()
