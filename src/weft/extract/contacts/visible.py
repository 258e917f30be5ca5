"""The visible text of a stretch of HTML, with the place in the source of every character.

No tree is built: an address needs the few hundred bytes around its sign, and most pages have none.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Set
from html import unescape
from typing import Final, NamedTuple

from weft.extract.contacts.words import JOINT, SEAM

_MARKUP = re.compile(
    r"""<!--(?:(?!-->).)*+(?:-->|\Z)|<(?P<close>/?)(?P<name>[A-Za-z][^\s/>]*+)"""
    r"""(?P<rest>(?:[^>"']|"[^"]*+"|'[^']*+'|["'])*?)>"""
    r"""|<[!?/][^>]*+>""",
    re.DOTALL,
)
_BLOCKS: Final = frozenset(
    """address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption
    figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li listing main menu nav ol
    optgroup option p plaintext pre search section select summary table tbody td textarea tfoot th thead tr ul
    xmp title button label""".split()  # noqa: SIM905
) - {"label", "button"}
_NO_WIDTH: Final = frozenset({"wbr"})
_VOID: Final = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"})
_SILENT: Final = frozenset({"script", "style", "template"})
_SPOKEN_TAG = re.compile(r"(?:at|dot)\Z", re.IGNORECASE)  # <at> is no element: people write it instead of the sign

_ENTITY = re.compile(r"&(?:#[xX]?[0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);?")
_MAY_BE_SPECIAL = re.compile(r"style|STYLE|hidden")
_HIDING = re.compile(
    r"(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])|opacity\s*:\s*0(?![.\d]))", re.IGNORECASE
)
_MIRRORING = re.compile(r"(?=.*direction\s*:\s*rtl)(?=.*bidi-override)|(?=.*bidi-override)", re.IGNORECASE | re.DOTALL)
_AT_PICTURE = re.compile(
    r"(?:^|[/_-])(?:at|arroba|klammeraffe|at[_-]?sign|ät|a_t|afna|sobaka)\d*\.(?:gif|png|jpe?g|svg|webp)", re.IGNORECASE
)
_AT_ICON = re.compile(r"(?:^|[\s-])(?:fa-at|icon-at|glyphicon-at|bi-at|at-sign|arroba)(?:$|\s)", re.IGNORECASE)
ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)\s*(?:=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?""")

_ALIKE = str.maketrans(
    {
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f\u202a\u202c\u2063\u2061\u2062", JOINT),
        **dict.fromkeys("\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u3000", " "),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\uff0d\u2212", "-"),
        **{chr(0xFEE0 + ascii_code): chr(ascii_code) for ascii_code in range(0x21, 0x7F)},
        "\ufe6b": "@",
        "\u2024": ".",
        "\uff61": ".",
    }
)
_ODD = re.compile(f"[{re.escape(''.join(map(chr, _ALIKE)))}]")


class Element(NamedTuple):
    """A start tag: its name, its attributes as written, and where it stands in the source."""

    name: str
    attributes: str
    start: int
    end: int

    def named(self) -> dict[str, str]:
        """The attributes by their names in lower case, entities read."""
        return attributes_of(self.attributes)


class Visible:
    """A stretch of HTML as its reader sees it."""

    def __init__(self, source: str, start: int, end: int) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.elements: list[Element] = []
        self.hidden: list[tuple[int, int]] = []  # stretches that are not shown
        self.mirrored: list[tuple[int, int]] = []  # stretches of the text that were written from right to left
        self._pieces: list[str] = []
        self._at: list[int] = []  # where each piece begins in the text,
        self._from: list[int] = []  # and in the source
        self._is_literal: list[bool] = []  # the piece is the source, character by character
        self._length = 0
        self._keeps_lines = "<pre" in source
        self.text = ""

    def add(self, piece: str, source_at: int, is_literal: bool = False) -> None:
        if piece:
            self._pieces.append(piece)
            self._at.append(self._length)
            self._from.append(source_at)
            self._is_literal.append(is_literal)
            self._length += len(piece)

    def add_mirrored(self, text: str, source_at: int) -> None:
        self.mirrored.append((self._length, self._length + len(text)))
        self.add(f"\n{text}\n", source_at)

    def add_literal(self, start: int, end: int) -> None:
        """Takes text of the source as it is; its line ends are blanks, but for text that keeps its lines."""
        piece = self.source[start:end]
        self.add(piece if self._keeps_lines else piece.replace("\n", " "), start, True)

    def finish(self) -> None:
        text = "".join(self._pieces)
        self.text = text if text.isascii() or not _ODD.search(text) else text.translate(_ALIKE)

    def text_at(self, place: int) -> int:
        """Where in the text a place of the source is, or would be."""
        index = bisect_right(self._from, place) - 1
        if index < 0:
            return 0
        within = place - self._from[index] if self._is_literal[index] else 0
        return self._at[index] + min(within, len(self._pieces[index]))

    def source_at(self, place: int) -> int:
        """The place in the source of a character of the text."""
        index = bisect_right(self._at, place) - 1
        if index < 0:
            return self.start
        return self._from[index] + (place - self._at[index] if self._is_literal[index] else 0)


def visible(
    source: str, start: int, end: int, hiding: Set[str] = frozenset(), mirroring: Set[str] = frozenset()
) -> Visible:
    """The visible text of ``source[start:end]``; ``hiding`` and ``mirroring`` are classes of style sheets."""
    page = Visible(source, start, end)
    at = start
    for token in _MARKUP.finditer(source, start, end):
        if token.start() < at:
            continue
        _add_text(page, source, at, token.start())
        at = _add_tag(page, source, token, end, hiding, mirroring)
    _add_text(page, source, at, end)
    page.finish()
    return page


def attributes_of(written: str) -> dict[str, str]:
    """The attributes of a tag; of two with one name the first counts."""
    found: dict[str, str] = {}
    for name, double, single, bare in ATTRIBUTE.findall(written):
        value = double or single or bare
        found.setdefault(name.lower(), unescape(value) if "&" in value else value)
    return found


def _add_text(page: Visible, source: str, start: int, end: int) -> None:
    if start >= end:
        return
    if source.find("&", start, end) >= 0:
        for entity in _ENTITY.finditer(source, start, end):
            page.add_literal(start, entity.start())
            page.add(unescape(entity[0]), entity.start())
            start = entity.end()
    page.add_literal(start, end)


def _add_tag(page: Visible, source: str, token: re.Match[str], end: int, hiding: Set[str], mirroring: Set[str]) -> int:
    """Takes a tag, and where it hides or mirrors what it holds, all of its element; where to go on."""
    name = token["name"]
    if name is None:
        page.add(JOINT, token.start())
        return token.end()
    tag = name.lower()
    if token["close"]:
        page.add("\n" if tag in _BLOCKS else SEAM, token.start())
        return token.end()
    rest = token["rest"]
    if rest and not rest.isspace():
        page.elements.append(Element(tag, rest, token.start(), token.end()))
    if tag in _SILENT:
        close = _end_of(source, token, end)
        page.add(JOINT, token.start())
        return close[1]
    if rest and tag not in _VOID and (hiding or mirroring or _MAY_BE_SPECIAL.search(rest)):
        special = _special(rest, hiding, mirroring)
        if special:
            inner_end, outer_end = _end_of(source, token, end)
            if special == "hidden":
                page.hidden.append((token.end(), inner_end))
                page.add("\n" if tag in _BLOCKS else JOINT, token.start())
            else:
                inner = unescape(_MARKUP.sub("", source[token.end() : inner_end]))
                page.add_mirrored(inner[::-1], token.start())
            return outer_end
    if tag in _BLOCKS:
        page.add("\n", token.start())
    elif tag in _NO_WIDTH:
        page.add(JOINT, token.start())
    elif tag == "img" or tag == "i":
        page.add(_picture(tag, rest), token.start())
    elif _SPOKEN_TAG.match(tag):
        page.add(f"<{tag}>", token.start())
    else:
        page.add(SEAM, token.start())
    return token.end()


def _picture(tag: str, rest: str) -> str:
    """The sign, where a picture or an icon shows it."""
    if not rest:
        return SEAM
    attributes = attributes_of(rest)
    if tag == "i":
        return "@" if _AT_ICON.search(attributes.get("class", "")) else SEAM
    alt = attributes.get("alt", "").strip().lower()
    if alt in ("@", "at", "(at)", "[at]", "arroba", "@-zeichen", "at-zeichen", "[@]", "(@)", "klammeraffe"):
        return "@"
    if alt in (".", "dot", "punkt", "(dot)", "[dot]"):
        return "."
    return "@" if not alt and _AT_PICTURE.search(attributes.get("src", "")) else SEAM


def _special(rest: str, hiding: Set[str], mirroring: Set[str]) -> str:
    """Whether an element is hidden, or shows its text from right to left."""
    if "style" in rest or "STYLE" in rest:
        if _HIDING.search(rest):
            return "hidden"
        if "bidi-override" in rest and _MIRRORING.search(rest):
            return "mirrored"
    if "hidden" in rest and re.search(r"(?:^|\s)hidden(?:\s|=|/|$)", rest) and "aria-hidden" not in rest:
        return "hidden"
    if (hiding or mirroring) and "class" in rest:
        for word in attributes_of(rest).get("class", "").split():
            if word in mirroring:
                return "mirrored"
            if word in hiding:
                return "hidden"
    return ""


def _end_of(source: str, token: re.Match[str], end: int) -> tuple[int, int]:
    """Where what an element holds ends, and where the element ends."""
    name = re.escape(token["name"])
    depth = 1
    for tag in re.compile(rf"<(/?){name}(?=[\s/>])[^>]*+>", re.IGNORECASE).finditer(source, token.end(), end):
        depth += -1 if tag[1] else 1
        if not depth:
            return tag.start(), tag.end()
    return end, end
