"""What weft knows of languages: which one a text has, its stop words, the stems of its words."""

from __future__ import annotations

from weft.extract.language.detection import detected_language
from weft.extract.language.stems import stem_of
from weft.extract.language.stop_words import primary_language, stop_words

__all__ = ["detected_language", "primary_language", "stem_of", "stop_words"]
