"""The text of a page as a reader sees it."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from turbohtml import CData, Element, Node, Text

from weft.parse.bounds import tree_of
from weft.parse.content import charset_of, decode, is_html, media_type, sniff_encoding

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


def visible_text(body: bytes, content_type: str | None) -> str:
    """The text of a page, a line for each block; plain text as it is; nothing for what is no text.

    Scripts, styles, templates and the head are left out.
    """
    media = media_type(content_type, body)
    encoding = sniff_encoding(body, charset_of(content_type))
    if not is_html(media):
        return decode(body, encoding) if media.startswith("text/") else ""
    if encoding.startswith("utf-16"):
        body, encoding = decode(body, encoding).encode("utf-8", "replace"), "utf-8"
    try:
        tree = tree_of(body, encoding)
    except Exception:  # foreign code: a page it cannot take has no text
        return ""
    return _lines_of(tree.document) if tree else ""


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
