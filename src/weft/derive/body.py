"""One stored answer: its head from the database, its body from the archive, content encodings taken off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin

import msgspec

from weft.errors import SpecError, WeftError
from weft.records import RENDERED_TYPE, Purpose
from weft.text.human import command

if TYPE_CHECKING:
    from turbohtml import Element

    from weft.derive.items.rows import ItemRow
    from weft.derive.read import LinkRow, StoredCrawl
    from weft.extract.main_text import MainText

_TEXT_ENDINGS = ("xml", "json", "javascript")
_FOLD = re.compile(r"\r?\n[ \t]+")


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The newest attempt at a page, and where it lies."""

    visit: int
    url: str
    status: int | None
    cause: str | None
    detail: str | None
    head: str | None  # as received; Latin-1 gives the bytes back
    size: int | None
    hash: int | None
    digest: str | None
    revisit: bool
    file: str | None
    offset: int | None
    length: int | None

    def header_values(self, name: str) -> list[str]:
        """All values of a header, its name in lower case."""
        lines = _FOLD.sub(" ", self.head or "").splitlines()[1:]
        pairs = (line.partition(":") for line in lines)
        return [value.strip() for key, _, value in pairs if key.strip().lower() == name]


class Content(NamedTuple):
    """What one visit of a page brought, read from the archive whenever it is asked for."""

    crawl: StoredCrawl
    visit: int | None
    page: int

    def body(self) -> bytes:
        """The body, content encodings taken off; empty where nothing was answered."""
        return self._read(as_shown=False)[1]

    def html(self) -> str:
        """The body as text, in its own encoding; empty where it is no text."""
        from weft.parse.content import charset_of, decode, is_html, media_type, sniff_encoding

        content_type, body = self._read()
        media = media_type(content_type, body)
        if not (media.startswith("text/") or media.endswith(_TEXT_ENDINGS) or is_html(media)):
            return ""
        return decode(body, sniff_encoding(body, charset_of(content_type), media))

    def text(self) -> str:
        """What a reader sees of it, a line for each block; empty where it is no text."""
        from weft.parse.text import visible_text

        content_type, body = self._read()
        return visible_text(body, content_type)

    def main_text(self, keywords: int = 0) -> MainText:
        """Its main text; empty where it is no text."""
        from weft.derive.texts import main_text_of
        from weft.extract.main_text import MainText

        if self.visit is None:
            return MainText()
        with self._crawl_at_hand() as crawl:
            return main_text_of(crawl, self.visit, keywords) or MainText()

    def links(self, url: str) -> list[LinkRow]:
        """The links of the page with this URL."""
        with self._crawl_at_hand() as crawl:
            return list(crawl.links(source=url))

    def items(self) -> list[ItemRow]:
        """The items of the page."""
        from weft.derive.items.rows import items_of_page

        if self.visit is None:
            return []
        with self._crawl_at_hand() as crawl:
            return items_of_page(crawl, self.page, self.visit)

    def select(self, url: str, selector: str) -> list[Element]:
        """The elements that a CSS selector finds, their addresses absolute; none where it is no HTML."""
        from turbohtml import SelectorSyntaxError

        from weft.parse.text import document_of

        content_type, body = self._read()
        document = document_of(body, content_type)
        if document is None:
            return []
        base = document.select_one("base[href]")
        document.resolve_links(urljoin(url, (base.attr("href") if base else None) or ""))
        try:
            return document.select(selector)
        except SelectorSyntaxError as error:
            raise SpecError(f"{selector!r} is no CSS selector: {error}") from error

    @contextmanager
    def _crawl_at_hand(self) -> Iterator[StoredCrawl]:
        """The crawl, opened; ``WeftError`` where its folder is gone."""
        if not self.crawl.folder.exists:
            raise WeftError(
                f"the crawl in {self.crawl.folder.path} is gone: give weft.crawl a folder to keep what its pages hold"
            )
        with self.crawl.at_hand() as crawl:
            yield crawl

    def _read(self, *, as_shown: bool = True) -> tuple[str | None, bytes]:
        """Content-Type and body; ``as_shown``: of the page as it was rendered, where it was."""
        if self.visit is None:
            return None, b""
        from weft.parse.content import field_that_counts

        with self._crawl_at_hand() as crawl:
            answer = answer_of_visit(crawl, self.visit)
            if answer is None or answer.status is None:
                return None, b""
            if as_shown:
                body, content_type = page_of(crawl, answer)
                return content_type, body
            return field_that_counts(answer.header_values("content-type")), body_of(crawl, answer)


def answer_of(crawl: StoredCrawl, page: int) -> Answer | None:
    """The newest answer of a page, or its newest failure where it never answered; None where it was never asked."""
    db = crawl.connection
    visit = db.execute("SELECT visit FROM page WHERE id = ?", (page,)).fetchone()
    row = None
    if visit is not None and visit[0] is not None:
        row = db.execute(f"{_ANSWER} WHERE v.id = ?", visit).fetchone()
        if row is not None and row[2] is None:  # the last attempt failed; an earlier one may have been answered
            earlier = (
                f"{_ANSWER} WHERE v.page = ? AND v.purpose IN ({Purpose.PAGE.value}, {Purpose.FILE.value})"
                " AND v.status IS NOT NULL ORDER BY v.id DESC LIMIT 1"
            )
            row = db.execute(earlier, (page,)).fetchone() or row
    return None if row is None else _answer(row)


def answer_of_visit(crawl: StoredCrawl, visit: int) -> Answer | None:
    """The answer of one visit; None where there is no such visit."""
    row = crawl.connection.execute(f"{_ANSWER} WHERE v.id = ?", (visit,)).fetchone()
    return None if row is None else _answer(row)


def original_of(crawl: StoredCrawl, answer: Answer) -> Answer:
    """The answer whose record holds the payload: the same one, or for a revisit record the one it names by digest."""
    if not answer.revisit:
        return answer
    row = crawl.connection.execute(
        f"{_ANSWER} WHERE v.hash = ? AND v.digest = ? AND v.revisit = 0 AND v.warc IS NOT NULL ORDER BY v.id LIMIT 1",
        (answer.hash, answer.digest),
    ).fetchone()
    if row is None:
        raise WeftError(
            f"the body of {answer.url} was stored once, with an earlier answer, and that is gone from the archive"
        )
    return _answer(row)


def body_of(crawl: StoredCrawl, answer: Answer) -> bytes:
    """The body as weft read it: decoded, cut at the same bound. ``WeftError`` says why it cannot be had."""
    if answer.status is None:
        raise never_answered(answer)
    stored = original_of(crawl, answer)
    if stored.file is None or stored.offset is None:
        raise WeftError(_no_body(crawl, answer))
    from weft.fetch.decode import decode_body
    from weft.store.warc.reader import read_record

    record = read_record(crawl.folder.warc / stored.file, stored.offset, stored.length)
    size = answer.size if answer.size is not None else len(record.body)
    return decode_body(record.body, answer.header_values("content-encoding"), size).body


def rendered_of(crawl: StoredCrawl, answer: Answer) -> bytes:
    """The page as a browser left it, in UTF-8. ``WeftError`` says why there is none."""
    row = crawl.connection.execute(
        "SELECT w.file, r.warc_offset, r.warc_length, r.note FROM rendering r LEFT JOIN warc w ON w.id = r.warc"
        " WHERE r.visit = ?",
        (answer.visit,),
    ).fetchone()
    if row is None:
        raise WeftError(f"{answer.url} was not rendered ({command('why', crawl.folder.path, answer.url)} tells more)")
    file, offset, length, note = row
    if file is None:
        reason = note if crawl.spec.keep.archive else "the crawl keeps no bodies (--no-archive)"
        raise WeftError(f"there is no rendered page of {answer.url}: {reason}")
    from weft.store.warc.reader import read_record

    return read_record(crawl.folder.warc / file, offset, length).body


def page_of(crawl: StoredCrawl, answer: Answer) -> tuple[bytes, str | None]:
    """What a reader of a page has before him, and its content type: as rendered where it was, else as received."""
    from weft.parse.content import field_that_counts

    is_rendered = crawl.connection.execute(
        "SELECT 1 FROM rendering WHERE visit = ? AND warc IS NOT NULL", (answer.visit,)
    ).fetchone()
    if is_rendered is not None:
        return rendered_of(crawl, answer), RENDERED_TYPE
    return body_of(crawl, answer), field_that_counts(answer.header_values("content-type"))


def never_answered(answer: Answer) -> WeftError:
    """Says why there is neither a head nor a body."""
    detail = f" ({answer.detail})" if answer.detail else ""
    return WeftError(f"{answer.url} never answered: {answer.cause}{detail}")


def _no_body(crawl: StoredCrawl, answer: Answer) -> str:
    if not crawl.spec.keep.archive:
        return f"the crawl in {crawl.folder.path} keeps no bodies (--no-archive); --headers of {answer.url} are there"
    return f"the body of {answer.url} is gone from the archive ({command('check', crawl.folder.path)} tells more)"


def _answer(row: tuple[object, ...]) -> Answer:
    fields = dict(zip(Answer.__struct_fields__, row, strict=True))
    return msgspec.convert({**fields, "revisit": bool(fields["revisit"])}, Answer)


# in the order of the fields of Answer
_ANSWER = """
SELECT v.id, u.text, v.status, v.cause, v.detail, v.headers, v.size, v.hash, v.digest, v.revisit, w.file, v.warc_offset,
       v.warc_length
FROM visit v JOIN url u ON u.id = v.url LEFT JOIN warc w ON w.id = v.warc
"""
