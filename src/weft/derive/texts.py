"""The main texts of stored pages: as the crawl kept them, else read anew from the archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from weft.derive.body import answer_of_visit, page_of
from weft.extract.main_text import MainText, left_out, read_main_text, read_plain_text
from weft.records import PageText

if TYPE_CHECKING:
    from weft.derive.read import StoredCrawl

_STORED = f"SELECT {', '.join(PageText.__struct_fields__)} FROM text WHERE visit = ?"


def main_text_of(crawl: StoredCrawl, visit: int, keywords: int = 0) -> MainText | None:
    """The main text of what a visit brought, with so many keywords; None of an answer that is no text.

    ``WeftError`` where the crawl did not keep it and the body cannot be had.
    """
    stored = _stored(crawl, visit, keywords)
    return stored if stored is not None else _read_anew(crawl, visit, keywords)


def text_row_of(crawl: StoredCrawl, visit: int, keywords: int) -> PageText | None:
    """The row that a crawl with ``--text`` keeps of a visit; None of an answer that is no text.

    ``WeftError`` where the body cannot be had.
    """
    try:
        found = _read_anew(crawl, visit, keywords)
    except MemoryError:
        return left_out("it took too much memory")
    return None if found is None else found.stored()


def _stored(crawl: StoredCrawl, visit: int, keywords: int) -> MainText | None:
    """The text as it is kept; None where none is, or with fewer keywords."""
    if not crawl.has_texts:
        return None
    row = crawl.connection.execute(_STORED, (visit,)).fetchone()
    if row is None:
        return None
    *others, is_article, records, found = row
    text = MainText.of_row(msgspec.convert([*others, bool(is_article), records, found], PageText), keywords)
    is_all = keywords <= crawl.spec.extract.keywords or len(text.keywords or ()) == keywords
    return text if is_all else None


def _read_anew(crawl: StoredCrawl, visit: int, keywords: int) -> MainText | None:
    from weft.parse.bounds import memory_bound
    from weft.parse.text import document_of, visible_text

    answer = answer_of_visit(crawl, visit)
    if answer is None or answer.status is None:
        return None
    body, content_type = page_of(crawl, answer)
    language = crawl.connection.execute("SELECT language FROM visit WHERE id = ?", (visit,)).fetchone()[0]
    document = document_of(body, content_type)
    text = visible_text(body, content_type) if document is None else ""
    with memory_bound():
        if document is not None:
            return read_main_text(document, answer.url, language=language, keywords=keywords)
        return read_plain_text(text, language=language, keywords=keywords) if text else None
