"""The text of a page as a reader sees it."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import Final

from turbohtml import CData, Document, Element, Node, PlainText, Text

from weft.parse.bounds import tree_of
from weft.parse.content import charset_of, decode, is_html, media_type, sniff_encoding
from weft.parse.xhtml import markup_of

MAX_NODES: Final = 2_000
"""How many nodes of one element are looked at for a short text."""

MAX_PAGE_NODES: Final = 1_000_000

UNSEEN: Final = frozenset({"script", "style", "title", "noframes", "noembed", "iframe", "object", "datalist"})
"""Elements whose own text no reader sees."""

_BLOCKS = frozenset(
    re.findall(
        r"\w+",
        """address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption
        figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li listing main menu nav ol
        optgroup option p plaintext pre search section select summary table tbody textarea tfoot thead tr ul xmp""",
    )
)
_CELLS = frozenset({"td", "th"})

# The renderer of plain text in C is thirty times as fast as a walk. It lays tables and lists out, indents quotations
# and knows fewer blocks than we do: under other names they are plain blocks to it.
_RENDERING = PlainText(layout="strict", bullet="", table_cell_separator=" ")
_TO_BLOCKS = tuple(
    re.findall(
        r"\w+",
        """blockquote caption center dialog dir fieldset form hgroup legend li listing menu ol optgroup option plaintext
        search select table tbody td textarea tfoot th thead tr ul xmp""",
    )
)
_TO_INLINE = (*UNSEEN, "rp")


def visible_text(body: bytes, content_type: str | None) -> str:
    """The text of a page, a line for each block; plain text as it is; nothing for what is no text.

    Scripts, styles, templates and the head are left out.
    """
    return _text_of(body, content_type, _lines_of)


def plain_text(body: bytes, content_type: str | None) -> str:
    """The text that near-duplicates are told by: the same as ``visible_text``, but for whitespace, and faster."""
    return _text_of(body, content_type, flat_text)


def document_of(body: bytes, content_type: str | None) -> Document | None:
    """The tree of an HTML document; None of what is none, and where no bound could be kept."""
    media = media_type(content_type, body)
    if not is_html(media):
        return None
    tree = tree_of(*markup_of(body, media, sniff_encoding(body, charset_of(content_type), media)))
    return tree.document if tree else None


def _text_of(body: bytes, content_type: str | None, text_of: Callable[[Document], str]) -> str:
    media = media_type(content_type, body)
    if not is_html(media):
        encoding = sniff_encoding(body, charset_of(content_type), media)
        return decode(body, encoding) if media.startswith("text/") else ""
    try:
        document = document_of(body, content_type)
        return text_of(document) if document else ""
    except Exception:  # foreign code: a page it cannot take has no text
        return ""


def flat_text(document: Document) -> str:
    """The same characters as ``visible_text`` has, whitespace apart, in a fraction of the time. The tree is used up.

    Blocks are told apart by whitespace, but for what follows a block inside an inline element.
    """
    for element in list(document.iter_elements(_TO_BLOCKS)):
        element.tag = "div"
    for element in list(document.iter_elements(_TO_INLINE)):
        if element.tag in UNSEEN:
            for node in list(element.children):
                if isinstance(node, Text | CData):
                    node.extract()
        element.tag = "span"
    return document.to_text(_RENDERING)


def seen_text(element: Element) -> str:
    """The text of one element without scripts, styles and templates; of large elements the beginning."""
    pieces: list[str] = []
    skipped = 0
    for node in islice(element.descendants, MAX_NODES):
        if skipped:
            skipped -= 1
        elif isinstance(node, Text | CData):
            if _tag(node.parent) not in UNSEEN:
                pieces.append(node.data)
        elif _tag(node) == "template":
            skipped = _size(node)
    return " ".join("".join(pieces).split())


def _lines_of(root: Node) -> str:
    lines: list[str] = []
    line: list[str] = []

    def end_line() -> None:
        text = " ".join("".join(line).split())
        if text:
            lines.append(text)
        line.clear()

    skipped = preserved = 0
    for node in islice(root.descendants, MAX_PAGE_NODES):
        if skipped:
            skipped -= 1
            continue
        tag = _tag(node)
        before = _tag(node.previous_sibling)
        if tag in _BLOCKS or before in _BLOCKS:
            end_line()
        elif tag in _CELLS or before in _CELLS:
            line.append(" ")
        if tag == "template" or tag == "head":
            skipped = _size(node)
        elif isinstance(node, Text | CData) and _tag(node.parent) not in UNSEEN:
            first, *others = node.data.split("\n") if preserved else [node.data]
            line.append(first)
            for other in others:
                end_line()
                line.append(other)
        preserved = _size(node) if tag == "pre" and not preserved else max(0, preserved - 1)
    end_line()
    return "\n".join(lines)


def _tag(node: Node | None) -> str:
    return node.tag if isinstance(node, Element) else ""


def _size(node: Node) -> int:
    """How many nodes there are below this one."""
    return sum(1 for _ in node.descendants)
