"""The keywords of a page: the words that its text is about, with the weight of each."""

from __future__ import annotations

from weft.extract.keywords.ranking import Keyword, Words, keywords_of

__all__ = ["Keyword", "Words", "keywords_of"]
