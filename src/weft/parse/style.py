"""The files that a style sheet needs: what it imports, and every ``url()``."""

from __future__ import annotations

import re
from typing import Final

from weft.parse.attributes import unescaped_style
from weft.records import LinkKind, Links
from weft.text.patterns import regex
from weft.url import Resolver

MAX_STYLE: Final = 5_000_000  # characters that are read
_IMAGE, _STYLE, _MEDIA = (kind.value for kind in (LinkKind.IMAGE, LinkKind.STYLE, LinkKind.MEDIA))
_STRING = r"'((?:[^'\\\n]|\\.)*+)'|\"((?:[^\"\\\n]|\\.)*+)\""
_NEEDED = regex(
    rf"/\*(?:[^*]++|\*(?!/))*+(?:\*/|$)|(@font-face\s*+\{{)|(\}})"
    rf"|(?:(@import)\s++(?:url\(\s*+)?|\burl\(\s*+)(?:{_STRING}|([^\s'\"();]++))",
    re.IGNORECASE,
)


def style_links(style: str, url: str, encoding: str, max_links: int) -> Links:
    """What a style sheet needs, each once: style sheets that it imports, fonts as media, all else as images."""
    resolve, links, seen = Resolver(url, encoding, serialised=True).resolve, Links(), set()
    in_font = False
    for match in _NEEDED.finditer(style[:MAX_STYLE]):
        font, end, imports, *found = match.groups()
        if font or end:
            in_font = bool(font)
        reference = unescaped_style(next(filter(None, found), ""))
        target = resolve(reference) if reference and not reference.lower().startswith("data:") else None
        if target is None or not target[0].startswith("http") or target[0] in seen:
            continue
        if len(links) >= max_links:
            break
        seen.add(target[0])
        links.add(target[0], _STYLE if imports else _MEDIA if in_font else _IMAGE)
    return links
