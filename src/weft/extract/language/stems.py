"""The stems of words, so that the forms of a word are counted as one."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

_SNOWBALL: Final = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish",
    "hi": "hindi", "hr": "serbian", "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian",
    "lt": "lithuanian", "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian",
    "ru": "russian", "sv": "swedish", "tr": "turkish",
}  # fmt: skip
"""The languages with a stemmer of the Snowball project. Its Serbian one reads Croatian, too."""

_SLOVENE: Final = re.findall(
    r"\w+", "ega emu imi ima ami ama oma ema jem jih jim om em im ih ov ev mi ma ju ja je ji jo a e i o u"
)
"""Endings of Slovene nouns and adjectives; longer ones come first."""

_LEAST_SLOVENE_STEM: Final = 4


def stem_of(word: str, language: str) -> str:
    """The stem of a word in lower case. In a language without a stemmer it is the word itself."""
    return _stemmer(language)(word)


@lru_cache(maxsize=64)
def _stemmer(language: str) -> Callable[[str], str]:
    if language == "sl":
        return _slovene_stem
    name = _SNOWBALL.get(language)
    if name is None:
        return str
    import snowballstemmer

    stem: Callable[[str], str] = snowballstemmer.stemmer(name).stemWord
    return stem


def _slovene_stem(word: str) -> str:
    """The word without its ending. It is enough to count cases and numbers of a noun as one word."""
    for ending in _SLOVENE:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_SLOVENE_STEM:
            return word[: -len(ending)]
    return word
