"""The main text of a page, as plain text and as Markdown, with what the page says of itself.

1. ``metadata``: title, author, date, JSON-LD, OpenGraph, and whether the page calls itself an article.
2. ``names``: what classes and ids say about the text of an element.
3. ``prose``: how much text in long pieces, without links, stands where.
4. ``parts``: which elements are furniture, which stand beside an article, which hold its text.
5. ``content``: the element that holds the main text; the tree loses the rest.
6. ``reading``: all of these, and that element as text and as Markdown.
"""

from __future__ import annotations

from weft.extract.main_text.metadata import Metadata
from weft.extract.main_text.reading import MainText, left_out, read_main_text, read_plain_text

__all__ = ["MainText", "Metadata", "left_out", "read_main_text", "read_plain_text"]
