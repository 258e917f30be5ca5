"""The words of a page with their weights.

The weight of a word is its weighted density in percent:

    weight = 100 * (the sum of the points of its occurrences) / (the number of all words of the text)

An occurrence in the text has one point, times the factors of its place, style and size (``places.py``). An occurrence
in the title or in the meta description and keywords has the points of that place, once for each of them. Stop words
and numbers are no keywords, but they are words of the text. Forms of a word with the same stem are one word; it is
shown in the form that occurs most.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Final

import msgspec
from turbohtml import Element, Text

from weft.extract.keywords.places import META, TEXT, TITLE, Settings
from weft.extract.language import primary_language, stem_of, stop_words

MAX_WORDS: Final = 200_000
"""How many words of a page are counted."""

_MIN_LENGTH: Final = 3
_MAX_LENGTH: Final = 60
_WORD: Final = re.compile(r"[^\W_][\w'\u2019+#.-]*[\w+#]|[^\W\d_]")
_HAN: Final = re.compile(r"[\u3005\u4e00-\u9fff]+")
_KANA: Final = re.compile(r"[\u3040-\u309f]+")
_UNSEPARATED: Final = re.compile(r"[\u3005\u3040-\u30ff\u4e00-\u9fff]")
"""Characters of languages that put no blanks between words."""

_LONGEST_HAN_WORD: Final = 4


class Keyword(msgspec.Struct, frozen=True):
    """A word of a page."""

    word: str
    weight: float
    count: int
    """How often it stands in the main text."""


class _Counted:
    def __init__(self, word: str) -> None:
        self.points = 0.0
        self.count = 0
        self.forms: Counter[str] = Counter({word: 0})


class Words:
    """The words of a text in their order, each with its points."""

    def __init__(self, texts: Iterable[tuple[str, float]]) -> None:
        self._texts = texts

    @classmethod
    def of_element(cls, element: Element) -> Words:
        """The words in an element; their points by place, style and size."""
        return cls(_texts_of(element))

    @classmethod
    def of_text(cls, text: str) -> Words:
        """The words of a plain text."""
        return cls([(text, TEXT)])

    def __iter__(self) -> Iterator[tuple[str, float]]:
        words = ((word, points) for text, points in self._texts for word in words_of(text))
        return islice(words, MAX_WORDS)


def keywords_of(
    words: Iterable[tuple[str, float]], title: str, metas: Iterable[str], language: str | None, number: int
) -> list[Keyword]:
    """The words that a page is about, the heaviest first, at most so many.

    ``words`` are those of the main text; ``metas`` are the texts of the meta description and keywords.
    """
    code = primary_language(language)
    counted: dict[str, _Counted] = {}
    total = 0
    for word, points in words:
        total += 1
        if stem := _stem_of(word, code):
            entry = counted.get(stem)
            if entry is None:
                entry = counted[stem] = _Counted(word)
            entry.points += points
            entry.count += 1
            entry.forms[word] += 1
    for text, points in ((title, TITLE), *((meta, META) for meta in metas)):
        for word in dict.fromkeys(words_of(text)):
            if stem := _stem_of(word, code):
                counted.setdefault(stem, _Counted(word)).points += points
    heaviest = sorted(counted.values(), key=lambda entry: -entry.points)[:number]
    return [
        Keyword(_shown(entry.forms), round(100 * entry.points / max(total, 1), 3), entry.count) for entry in heaviest
    ]


def words_of(text: str) -> Iterator[str]:
    """The words of a text as written. Chinese characters that follow each other are read in pairs."""
    for found in _WORD.finditer(text):
        word = found[0].strip("'\u2019.-")
        if _UNSEPARATED.search(word):
            yield from _unseparated(word)
        elif word:
            yield word[:_MAX_LENGTH]


def _unseparated(text: str) -> Iterator[str]:
    for piece in _KANA.split(text):
        if _HAN.fullmatch(piece) and len(piece) > _LONGEST_HAN_WORD:
            yield from (piece[at : at + 2] for at in range(len(piece) - 1))
        elif piece:
            yield piece[:_MAX_LENGTH]


def _texts_of(element: Element) -> Iterator[tuple[str, float]]:
    """The pieces of text in an element with the points of each of their words."""
    settings = Settings()
    for node in element.descendants:
        if type(node) is Text:
            parent = node.parent
            if isinstance(parent, Element):
                yield node.data, settings.of(parent).weight


@lru_cache(maxsize=50_000)
def _stem_of(word: str, language: str) -> str:
    """The stem that a word is counted under; empty for a word that is no keyword."""
    least = 2 if _UNSEPARATED.search(word) or word.isupper() or not word.isalpha() else _MIN_LENGTH
    if len(word) < least or not any(map(str.isalpha, word)) or word.lower() in stop_words(language or "en"):
        return ""
    return stem_of(word.lower(), language)


def _shown(forms: Counter[str]) -> str:
    """The form that occurs most; of a word that stands in lower case anywhere, one in lower case."""
    word = max(forms, key=lambda form: (forms[form], form.islower()))
    return next((form for form in forms if form == word.lower()), word)
