"""What other stages need of a body: its tree, its text, its source in one encoding.

``READING`` holds all of it, for who hands it on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from weft.parse.content import decode
from weft.parse.xhtml import markup_of
from weft.ports import Reading

if TYPE_CHECKING:
    from turbohtml import Document


def document_of(body: bytes, media: str, encoding: str) -> Document | None:
    """The tree of a page; None where no bound could be kept."""
    from weft.parse.bounds import tree_of  # the tree builder is loaded for the first page that needs it

    tree = tree_of(*markup_of(body, media, encoding))
    return tree.document if tree is not None else None


def text_of_document(document: Document) -> str:
    """The visible text, blocks told apart by whitespace. The tree is used up."""
    from weft.parse.text import flat_text

    return flat_text(document)


def utf8_of(body: bytes, encoding: str) -> bytes:
    """The same text in UTF-8; what is no text of its encoding is left as it is, or replaced."""
    if encoding == "utf-8" or (body.isascii() and not encoding.startswith(("utf-16", "iso-2022"))):
        return body
    return decode(body, encoding).encode("utf-8", "replace")


READING: Final = Reading(utf8_of, document_of, text_of_document)
