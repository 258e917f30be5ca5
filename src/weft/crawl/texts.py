"""The main texts of the pages of a crawl, where ``--text`` or ``--keywords`` asks for them."""

from __future__ import annotations

import traceback

from weft.crawl.conclude import Concluded
from weft.crawl.marks import ParseMark
from weft.extract.main_text import read_main_text, read_plain_text
from weft.parse.bounds import memory_bound
from weft.parse.content import field_that_counts
from weft.parse.text import document_of, visible_text
from weft.records import PAGE, Failure, Fetched, PageText

_LEFT_OUT = "main text left out: it took too much memory"


class TextReader:
    """Adds its main text to what was concluded of an answer. The page is marked while it is read."""

    def __init__(self, keywords: int, mark: ParseMark) -> None:
        self._keywords = keywords
        self._mark = mark

    def read(self, done: Concluded, answer: Fetched | Failure) -> None:
        """Reads the text of a page that answered 2xx. A bug met there is recorded; the page is stored all the same."""
        if not done.stored_2xx or done.lease.purpose is not PAGE or isinstance(answer, Failure):
            return
        content_type = field_that_counts(answer.header_values("content-type"))
        try:
            with self._mark.of(done.lease.url):
                done.text = self._text(answer.body, content_type, done)
        except MemoryError:
            done.visit.detail = "; ".join(filter(None, (done.visit.detail, _LEFT_OUT)))
        except Exception:  # the border to the parser: whatever a text does to it must not end the crawl
            done.bug = traceback.format_exc()

    def _text(self, body: bytes, content_type: str | None, done: Concluded) -> PageText | None:
        url, language = done.lease.url, done.visit.language
        document = document_of(body, content_type)
        text = visible_text(body, content_type) if document is None else ""
        if document is None and not text:
            return None
        with memory_bound():
            if document is None:
                return read_plain_text(text, language=language, keywords=self._keywords).stored()
            return read_main_text(document, url, language=language, keywords=self._keywords).stored()
