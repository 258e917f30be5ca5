"""The main texts of the pages of a crawl, where ``--text`` or ``--keywords`` asks for them."""

from __future__ import annotations

import traceback

from weft.crawl.marks import ParseMark
from weft.parse.content import field_that_counts
from weft.records import PAGE, RENDERED_TYPE, Fetched, Lease, PageText


class TextReader:
    """Reads main texts. The page is marked while it is read."""

    def __init__(self, keywords: int, mark: ParseMark) -> None:
        self._keywords = keywords
        self._mark = mark

    def read(self, lease: Lease, answer: Fetched, language: str | None) -> tuple[PageText | None, str]:
        """The main text of a page, and the traceback where there is none because of a bug.

        ``language`` is what the answer says. A body that is no text has no main text.
        """
        if lease.purpose is not PAGE:
            return None, ""
        body, content_type = answer.body, field_that_counts(answer.header_values("content-type"))
        if answer.rendered is not None and answer.rendered.html:
            body, content_type = answer.rendered.html.encode("utf-8", "replace"), RENDERED_TYPE
        try:
            with self._mark.of(lease.url):
                return self._text(body, content_type, lease.url, language), ""
        except Exception:  # whatever a text does to it: the page is stored all the same
            return None, traceback.format_exc()

    def _text(self, body: bytes, content_type: str | None, url: str, language: str | None) -> PageText | None:
        from weft.extract.main_text import left_out, read_main_text, read_plain_text  # loaded for the first text
        from weft.parse.bounds import memory_bound
        from weft.parse.text import document_of, visible_text

        document = document_of(body, content_type)
        text = visible_text(body, content_type) if document is None else ""
        try:
            with memory_bound():
                if document is not None:
                    return read_main_text(document, url, language=language, keywords=self._keywords).stored()
                return read_plain_text(text, language=language, keywords=self._keywords).stored() if text else None
        except MemoryError:
            return left_out("it took too much memory")
