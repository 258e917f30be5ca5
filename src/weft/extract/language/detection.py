"""The language of a text, by its letters and its stop words."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from weft.extract.language.stop_words import languages_of_words, stop_words

_SAMPLE: Final = 1_500
"""How many characters are looked at, from the middle of the text."""

_LEAST_LETTERS: Final = 20
_WORD: Final = re.compile(r"[^\W\d_]+")
_SCRIPTS: Final = tuple(
    (language, re.compile(f"[{letters}]"), share)
    for language, letters, share in (
        ("ja", "\u3040-\u30ff", 0.05),
        ("ko", "\u1100-\u11ff\uac00-\ud7af", 0.1),
        ("zh", "\u4e00-\u9fff", 0.1),
        ("th", "\u0e00-\u0e7f", 0.3),
        ("el", "\u0370-\u03ff\u1f00-\u1fff", 0.3),
        ("he", "\u0590-\u05ff", 0.3),
        ("hy", "\u0530-\u058f", 0.3),
        ("ka", "\u10a0-\u10ff", 0.3),
        ("hi", "\u0900-\u097f", 0.3),
        ("bn", "\u0980-\u09ff", 0.3),
        ("ta", "\u0b80-\u0bff", 0.3),
    )
)
"""Scripts that one large language has, and the share of such letters from which a text is in that language. Japanese
comes before Chinese, since it has Chinese characters, too."""

_OTHER_SCRIPT: Final = re.compile("[\u0370-\u1dff\u1f00-\u1fff\u2e80-\ud7af]")
_LEAST_SHARE: Final = min(share for _, _, share in _SCRIPTS)
_CYRILLIC: Final = re.compile("[\u0400-\u04ff]")
_CYRILLIC_LETTERS: Final = (("mk", "ѓќѕ"), ("sr", "ђћџљњј"), ("be", "ў"), ("uk", "іїєґ"), ("ru", "ыэё"), ("bg", "ъ"))
"""Letters that only one of these languages has, or none that comes later here."""

_LEAST_POINTS: Final = 1.0
_LEAD: Final = 1.05


def detected_language(text: str) -> str | None:
    """The code of the language of a text; None where the text is too short to tell."""
    start = max(0, (len(text) - _SAMPLE) // 2)
    sample = text[start : start + _SAMPLE].lower()
    words = _WORD.findall(sample)
    letters = sum(map(len, words))
    if letters < _LEAST_LETTERS:
        return None
    if len(_OTHER_SCRIPT.findall(sample)) > _LEAST_SHARE * letters:
        for language, script, share in _SCRIPTS:
            if len(script.findall(sample)) > share * letters:
                return language
        if len(_CYRILLIC.findall(sample)) > letters / 2:
            return next((code for code, own in _CYRILLIC_LETTERS if any(letter in sample for letter in own)), None)
    return _by_stop_words(words)


def _by_stop_words(words: list[str]) -> str | None:
    """The language with the most stop words among these. A word of several languages counts for less in each.

    The lists are of unequal length, so the count is set against the length of the list.
    """
    languages = languages_of_words()
    points: Counter[str] = Counter()
    for word in words:
        of_word = languages.get(word, ())
        for language in of_word:
            points[language] += len(of_word) ** -0.5
    best = sorted(((count / len(stop_words(code)) ** 0.3, code) for code, count in points.items()), reverse=True)[:2]
    if not best or points[best[0][1]] < _LEAST_POINTS:
        return None
    return best[0][1] if len(best) == 1 or best[0][0] >= _LEAD * best[1][0] else None
