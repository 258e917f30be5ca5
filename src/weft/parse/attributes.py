"""What the values of attributes mean: lists of pictures, addresses in code, relations, words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from weft.text.patterns import regex

MAX_ANCHOR: Final = 500
MAX_REL: Final = 200
_MAX_CODE = 10_000  # of an onclick attribute

_SRCSET_URL = regex(r"[\s,]*([^\s]+)")
_SRCSET_DESCRIPTORS = regex(r"(?:[^,(]++|\([^)]*+(?:\)|$))*+,?")
_CODE_LINK = regex(
    r"(?<![\w$.])(?:(?:window|document|self|top|parent|this)\s*+\.\s*+)*+"
    r"(?:location(?:\s*+\.\s*+href)?\s*+=(?!=)\s*+|location\s*+\.\s*+(?:assign|replace)\s*+\(\s*+"
    r"|(?<=window\.)open\s*+\(\s*+)"
    r"(?:'((?:[^'\\\n]|\\.)*+)'|\"((?:[^\"\\\n]|\\.)*+)\")(?!\s*+\+)"
)
_MAX_STYLE = 1_000_000
_STYLE_URL = regex(
    r"/\*(?:[^*]++|\*(?!/))*+(?:\*/|$)|@font-face\s*+\{[^}]*+\}?|@(?:import|namespace)[^;]*+;?"
    r"|\burl\(\s*+(?:'((?:[^'\\\n]|\\.)*+)'|\"((?:[^\"\\\n]|\\.)*+)\"|([^\s'\"()]++))\s*+\)",
    re.IGNORECASE,
)
_STYLE_ESCAPE = regex(r"\\([^0-9a-fA-F\n])")
_ESCAPE = regex(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|(.))", re.DOTALL)


def srcset_urls(srcset: str) -> Iterator[str]:
    """The references of a ``srcset``, in order (HTML, parsing a srcset attribute); descriptors are not judged."""
    at = 0
    while match := _SRCSET_URL.match(srcset, at):
        reference, at = match[1], match.end()
        if reference.endswith(","):
            reference = reference.rstrip(",")
        else:
            descriptors = _SRCSET_DESCRIPTORS.match(srcset, at)
            at = descriptors.end() if descriptors else len(srcset)
        if reference:
            yield reference


def style_urls(style: str) -> Iterator[str]:
    """The references of images in a style: every ``url()`` outside of rules for fonts and of imports."""
    for match in _STYLE_URL.finditer(style[:_MAX_STYLE]):
        reference = match[1] or match[2] or match[3]
        if reference:
            yield unescaped_style(reference)


def unescaped_style(reference: str) -> str:
    """A reference as it stands in a style sheet, without the backslashes before signs."""
    return _STYLE_ESCAPE.sub(r"\1", reference).strip()


def style_url(value: str) -> str:
    """The reference in a value that may be written as ``url(...)``."""
    return next(style_urls(value), value) if value.lstrip()[:4].lower() == "url(" else value


def code_urls(code: str) -> Iterator[str]:
    """The references that an ``onclick`` leads to, as far as they are written out."""
    for match in _CODE_LINK.finditer(code[:_MAX_CODE]):
        yield _ESCAPE.sub(_unescaped, match[1] if match[1] is not None else match[2])


def _unescaped(match: re.Match[str]) -> str:
    """The character that an escape in a JavaScript string stands for."""
    code = match[1] or match[2]
    if code is None:
        return {"n": "\n", "r": "\r", "t": "\t"}.get(match[3], match[3])
    return chr(int(code, 16)) if not 0xD800 <= int(code, 16) <= 0xDFFF else "\ufffd"


def rel_words(rel: str) -> str:
    """A ``rel`` as it is kept: in lower case, its words apart by single spaces."""
    return _short_rel_words(rel[:MAX_REL])


@lru_cache(maxsize=256)
def _short_rel_words(rel: str) -> str:
    return " ".join(rel.lower().replace(",", " ").split())  # people write "external,nofollow" too


def words_of(value: str | None) -> str:
    """What an attribute says to readers, as long as an anchor may be."""
    if not value:
        return ""
    return " ".join(value.split()) if len(value) <= MAX_ANCHOR else collapsed(value, MAX_ANCHOR)


def collapsed(text: str, limit: int) -> str:
    """The text with its spaces collapsed, cut to a limit."""
    if len(text) > limit:
        text = text.lstrip()[: 4 * limit]
    return " ".join(text.split())[:limit]
