"""Stop words: the words of a language that say nothing of the subject of a text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

LANGUAGES: Final = re.findall(
    r"\w+",
    """ar bg ca cs da de el en es et eu fa fi fr ga gl he hi hr hu hy id it ja ko lt lv nl no pl pt ro ru sk sl sv th
    tr uk vi zh""",
)
"""The languages that weft tells apart by their stop words. The lists of others are too short, or too like these."""

_SAME: Final = {"nb": "no", "nn": "no", "sr": "hr", "bs": "hr", "sh": "hr", "iw": "he", "in": "id"}
"""Languages that have the stop words of another one."""


def primary_language(tag: str | None) -> str:
    """The language of a tag, without region and script, under the code that lists of words are kept by."""
    code = (tag or "").replace("_", "-").partition("-")[0].lower()
    return _SAME.get(code, code)


@lru_cache(maxsize=64)
def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language, in lower case; of a language without a list none."""
    import stopwordsiso  # reads its lists when it is loaded

    code = primary_language(language)
    return frozenset(stopwordsiso.stopwords(code)) if stopwordsiso.has_lang(code) else frozenset()


@lru_cache(maxsize=1)
def languages_of_words() -> Mapping[str, tuple[str, ...]]:
    """The languages that each stop word belongs to."""
    found: dict[str, list[str]] = {}
    for language in LANGUAGES:
        for word in stop_words(language):
            found.setdefault(word, []).append(language)
    return {word: tuple(languages) for word, languages in found.items()}
