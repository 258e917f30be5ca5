"""What a document says: title, author, pages, text, and where its links lead.

It runs in a process of its own (``document_process``).
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Final
from xml.etree import ElementTree

import msgspec

MAX_TEXT: Final = 10_000_000  # characters
MAX_PART_B: Final = 100_000_000  # of one file in the archive of an office document, unpacked
MAX_LINKS: Final = 10_000
MAX_REFERENCE: Final = 2_000  # characters
_LINES = re.compile(r"[^\S\n]*\n\s*")
_SLIDE = re.compile(r"ppt/slides/slide(\d+)\.xml")
_RELATIONS = re.compile(r"(?:word|ppt/slides|xl/worksheets)/_rels/[a-z]+(\d*)\.xml\.rels")
_HREF: Final = "{http://www.w3.org/1999/xlink}href"
_OPEN_XML: Final = "application/vnd.openxmlformats-officedocument."
_OPEN_DOCUMENT: Final = "application/vnd.oasis.opendocument."
_OLE: Final = frozenset(
    {"application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint", "application/x-ole-storage"}
)


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """What a document says; None where it does not, or its format has no such thing."""

    title: str | None = None
    author: str | None = None
    pages: int | None = None  # of a PDF, or slides of a presentation
    text: str | None = None
    problem: str | None = None  # why it could not be read, or not all of it
    links: tuple[str, ...] | None = None  # where its links lead, each once, as they are written


def is_readable(media: str) -> bool:
    """Whether documents of this media type can be read."""
    return media == "application/pdf" or media.startswith((_OPEN_XML, _OPEN_DOCUMENT)) or media in _OLE


def read_document(body: bytes, media: str) -> Document:
    """What a document says; whatever is wrong with it is told as its problem."""
    try:
        return _reader_of(media)(body)
    except MemoryError:
        return Document(problem="it needs more memory than a document may have")
    except Exception as error:  # the border to foreign code: what it cannot take is a fact about the document
        return Document(problem=f"it cannot be read: {type(error).__name__}: {error}"[:500])


def _reader_of(media: str) -> Callable[[bytes], Document]:
    if media == "application/pdf":
        return _pdf
    if media in _OLE:
        return _ole
    return _open_document if media.startswith(_OPEN_DOCUMENT) else _open_xml


# ---- PDF


def _pdf(body: bytes) -> Document:
    import pypdfium2  # type: ignore[import-untyped]

    with pypdfium2.PdfDocument(body) as document:
        said = document.get_metadata_dict(skip_empty=True)
        pages, texts, length = len(document), [], 0
        links: list[str] = []
        for number in range(pages):
            page = document[number]
            links += _links_of_page(document, page)
            textpage = page.get_textpage()
            texts.append(textpage.get_text_bounded())
            textpage.close()
            page.close()
            length += len(texts[-1])
            if length > MAX_TEXT:
                break
        text, problem = _bounded("\n".join(texts).replace("\r", ""))
        return Document(
            title=_said(said.get("Title")), author=_said(said.get("Author")), pages=pages, text=text, problem=problem,
            links=_bounded_links(links),
        )  # fmt: skip


def _links_of_page(document: Any, page: Any) -> Iterator[str]:
    """The addresses behind the links of a page of a PDF."""
    from ctypes import byref, c_int, create_string_buffer

    from pypdfium2 import raw

    position, link = c_int(0), raw.FPDF_LINK()
    for _ in range(MAX_LINKS):
        if not raw.FPDFLink_Enumerate(page, byref(position), byref(link)):
            return
        action = raw.FPDFLink_GetAction(link)
        if action and raw.FPDFAction_GetType(action) == raw.PDFACTION_URI:
            buffer = create_string_buffer(MAX_REFERENCE + 2)
            size = raw.FPDFAction_GetURIPath(document, action, buffer, len(buffer))
            if size <= len(buffer):  # else nothing was written
                yield buffer.value.decode("utf-8", "replace")


# ---- archives of XML


def _open_xml(body: bytes) -> Document:
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        names = set(archive.namelist())
        title, author = _properties(archive, "docProps/core.xml", names, "title", "creator")
        slides = sorted((int(match[1]), name) for name in names if (match := _SLIDE.fullmatch(name)))
        parts = [name for _, name in slides] or [
            name for name in ("word/document.xml", "xl/sharedStrings.xml") if name in names
        ]
        text, problem = _bounded("\n".join(_text(_part(archive, name), {"p", "si"}, {"t"}) for name in parts))
        links = _links_of_parts(archive, names)
        return Document(title=title, author=author, pages=len(slides) or None, text=text, problem=problem, links=links)


def _links_of_parts(archive: zipfile.ZipFile, names: set[str]) -> tuple[str, ...] | None:
    """Where the parts of a document link to, in the order of its slides or sheets; None where this cannot be read."""
    relations = sorted((int(match[1] or 0), name) for name in names if (match := _RELATIONS.fullmatch(name)))
    try:
        return _bounded_links(target for _, name in relations for target in _hyperlinks(_part(archive, name)))
    except Exception:  # the border to foreign code: the text of the document was read all the same
        return None


def _hyperlinks(relations: ElementTree.Element) -> Iterator[str]:
    """The addresses outside of the document that a part of it links to."""
    for relation in relations.iter():
        if relation.get("TargetMode") == "External" and relation.get("Type", "").endswith("/hyperlink"):
            yield relation.get("Target", "")


def _open_document(body: bytes) -> Document:
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        names = set(archive.namelist())
        title, author = _properties(archive, "meta.xml", names, "title", "creator")
        root = _part(archive, "content.xml")
        slides = sum(_name(element) == "page" for element in root.iter())
        text, problem = _bounded(_text(root, {"p", "h"}, None))
        links = _bounded_links(element.get(_HREF, "") for element in root.iter() if _name(element) == "a")
        return Document(title=title, author=author, pages=slides or None, text=text, problem=problem, links=links)


def _part(archive: zipfile.ZipFile, name: str) -> ElementTree.Element:
    with archive.open(posixpath.normpath(name)) as file:
        content = file.read(MAX_PART_B + 1)
    if len(content) > MAX_PART_B:
        raise ValueError(f"{name} is larger than {MAX_PART_B:,} bytes when unpacked")
    return ElementTree.fromstring(content)


def _properties(
    archive: zipfile.ZipFile, name: str, names: set[str], title: str, author: str
) -> tuple[str | None, str | None]:
    if name not in names:
        return None, None
    found = {_name(element): element.text for element in _part(archive, name).iter()}
    return _said(found.get(title)), _said(found.get(author))


def _text(root: ElementTree.Element, blocks: set[str], holders: set[str] | None) -> str:
    """The text of a tree, a line for each block; ``holders`` are the elements that hold text (None: all in blocks)."""
    return "\n".join("".join(_pieces(block, holders)) for block in root.iter() if _name(block) in blocks)


def _pieces(block: ElementTree.Element, holders: set[str] | None) -> Iterator[str]:
    if holders is None:
        yield from block.itertext()
        return
    for element in block.iter():
        if _name(element) in holders:
            yield element.text or ""
        elif _name(element) in ("tab", "br"):
            yield " "


def _name(element: ElementTree.Element) -> str:
    return str(element.tag).rpartition("}")[2]


# ---- old Office files: their properties


def _ole(body: bytes) -> Document:
    import olefile  # type: ignore[import-untyped]

    with olefile.OleFileIO(io.BytesIO(body)) as file:
        said: Any = file.get_metadata()
        codepage = said.codepage if isinstance(said.codepage, int) and said.codepage > 0 else 1252
        encoding = "utf-8" if codepage == 65001 else f"cp{codepage}"
        return Document(
            title=_said(_decoded(said.title, encoding)), author=_said(_decoded(said.author, encoding)),
            pages=said.num_pages if isinstance(said.num_pages, int) and said.num_pages > 0 else None,
        )  # fmt: skip


def _decoded(value: object, encoding: str) -> str | None:
    if not isinstance(value, bytes):
        return None
    try:
        return value.decode(encoding, "replace")
    except LookupError:
        return value.decode("cp1252", "replace")


# ---- texts


def _said(value: object) -> str | None:
    return " ".join(value.replace("\0", "").split())[:2_000] or None if isinstance(value, str) else None


def _bounded_links(found: Iterable[str]) -> tuple[str, ...]:
    """The first of the addresses, each once."""
    tidy = (reference.strip() for reference in found)
    return tuple(islice(dict.fromkeys(one for one in tidy if 0 < len(one) <= MAX_REFERENCE), MAX_LINKS))


def _bounded(text: str) -> tuple[str, str | None]:
    """The text with its lines trimmed, and what is said where it was cut."""
    problem = f"its text is cut after {MAX_TEXT:,} characters" if len(text) > MAX_TEXT else None
    tidy = _LINES.sub("\n", text[:MAX_TEXT].replace("\0", "")).strip()
    return tidy.encode("utf-8", "replace").decode(), problem
