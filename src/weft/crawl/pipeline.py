"""The pipeline: what happens to one answer, from top to bottom. The same in every process.

It knows nothing of the crawl, which comes afterwards: ``loop`` decides what follows, ``tick`` stores.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, assert_never

import msgspec

from weft.crawl.conclude import conclude, conclude_check, conclude_failure, is_shown, target_of, with_detail
from weft.crawl.items import ItemReader
from weft.crawl.reading import PageReader
from weft.crawl.texts import TextReader
from weft.errors import Cause
from weft.parse.content import declared_type
from weft.parse.html import NeedsTree
from weft.ports import Archive
from weft.records import (
    CHECK,
    NOWHERE,
    PAGE,
    Concluded,
    Failure,
    Fetched,
    Item,
    Lease,
    Parsed,
    Processed,
    Rendered,
    Rendering,
)
from weft.spec import Limits

if TYPE_CHECKING:
    from weft.crawl.file_reading import FileReader

Sketch = Callable[[str], bytes]
"""The sketch of a text, by which near-duplicates are found."""

HandOver = Callable[[Lease, Fetched], None]
"""Gives a page to the process that reads the pages that need a tree."""


class Pipeline:
    """Decode (``fetch.decode``, before the answer comes here), parse, conclude, sketch, extract, archive."""

    def __init__(
        self, limits: Limits, reader: PageReader, archive: Archive, sketch: Sketch | None, texts: TextReader | None,
        items: ItemReader | None, files: FileReader | None,
    ) -> None:  # fmt: skip
        self._limits = limits
        self._files = files
        self._reader = reader
        self._sketch = sketch
        self._texts = texts
        self._items = items
        self.archive = archive
        self._hand_over: HandOver | None = None

    def process(self, lease: Lease, answer: Fetched | Failure) -> Processed | None:
        """One answer with its conclusion and its place in the archive. None: another process reads it."""
        text, sketch, bug, main_text = "", b"", "", None
        rendering: Rendering | None = None
        items: list[Item] = []
        said = answer
        try:
            match answer:
                case Failure():
                    done = conclude_failure(lease, answer, self._limits)
                case Fetched():
                    fields = answer.first_values()
                    target = target_of(lease, answer)
                    parsed = self._parsed(lease, answer, fields, target)
                    done = conclude(lease, answer, fields, target, parsed)
                    text, rendering = parsed.text, parsed.rendering
                    if self._files is not None:
                        done = self._files.concluded(done, answer)
                case _:
                    assert_never(answer)
            if lease.purpose is CHECK:
                done = conclude_check(done)
            if text and self._sketch is not None and done.is_stored_2xx:
                sketch, bug = _sketched(self._sketch, text)
            if self._texts is not None and done.is_stored_2xx and isinstance(answer, Fetched):
                main_text, bug = self._texts.read(lease, answer, done.facts.language)
            if self._items is not None and done.is_stored_2xx and isinstance(answer, Fetched):
                found = self._items.read(lease, answer, done.facts, done.links.targets)
                items, bug, done = found.items, found.bug or bug, with_detail(done, found.problem)
        except NeedsTree:
            assert self._hand_over is not None and isinstance(answer, Fetched)
            self._hand_over(lease, answer)
            return None
        except Exception:  # the border to the parser: one hostile page must not end the crawl
            said, bug = bug_being_handled(), traceback.format_exc()
            done = conclude_failure(lease, said, self._limits)
        place = self.archive.keep(done, answer)
        if rendering is not None and isinstance(answer, Fetched) and answer.rendered is not None:
            rendering = self._kept(done, answer.rendered, rendering)
        return Processed(
            done=done, place=place, sketch=sketch, rendering=rendering, bug=bug, text=main_text, items=items,
            answer=None if lease.purpose.is_queued else said,
        )  # fmt: skip

    def _parsed(self, lease: Lease, answer: Fetched, fields: dict[str, str], target: str | None) -> Parsed:
        """The links, facts and text of an answer. robots.txt and sitemaps are read by the process of the crawl."""
        if not is_shown(answer, target):
            return Parsed("")
        if lease.purpose is not PAGE:
            return Parsed(type=declared_type(fields.get("content-type")))
        return self._reader.read(answer, lease.url, fields)

    def _kept(self, done: Concluded, rendered: Rendered, rendering: Rendering) -> Rendering:
        """The page as its scripts left it goes into the archive, behind the answer that it was made of."""
        place = self.archive.keep_rendered(done, rendered.html) if rendered.html else NOWHERE
        return msgspec.structs.replace(rendering, place=place)

    def hand_over(self, to: HandOver | None) -> None:
        """Pages that need a tree go to ``to`` from now on. None: they are read here, as all others."""
        self._hand_over = to
        self._reader.builds_trees = to is None


def bug_being_handled() -> Failure:
    """The exception that is being handled, as the failure of a lease."""
    return Failure(Cause.BUG, traceback.format_exc(limit=-1)[-500:])


def _sketched(sketch: Sketch, text: str) -> tuple[bytes, str]:
    """The sketch of a text, and the traceback where there is none."""
    try:
        return sketch(text), ""
    except Exception:  # whatever a text does to it: the page is stored all the same
        return b"", traceback.format_exc()
