"""Ordinary pages read without a tree, by the compiled reader (src/native), where weft was set up with a C compiler.

The tree decides what a page says (``tree.py``). The reader answers only where the tags alone tell the same, and else
leaves the page to the tree, so that the two never differ but in time: a page costs a quarter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from weft import native
from weft.parse.attributes import MAX_ANCHOR, MAX_REL, collapsed, rel_words
from weft.parse.collected import CANONICAL, IFRAME, IMAGE, SCRIPT, A, kind_by_rel
from weft.parse.content import decode
from weft.parse.elements import Attr, Elements
from weft.url import MAX_MEANING, encoded_fragment

_TOOLS: Final = A, IMAGE, SCRIPT, CANONICAL, rel_words, kind_by_rel, collapsed, MAX_ANCHOR, MAX_REL, MAX_MEANING
_META_NAMES: Final = frozenset({"robots", "description", "refresh", "content-language"})
_OTHER_THAN_ASCII: Final = frozenset({"iso-2022-jp", "replacement"})
"""Encodings in which bytes of ASCII may mean something else. (UTF-16 is none by the time a page is read.)"""


class QuickPage(Elements):
    """Hears of the elements of a page from the compiled reader."""

    def read(self, markup: bytes, encoding: str) -> bool:
        """Whether the page was read; if not, what it has collected so far is to be forgotten."""
        if encoding in _OTHER_THAN_ASCII or not (encoding == "utf-8" or markup.isascii()):
            text = decode(markup, encoding)
            if text.startswith("\ufeff"):  # a character here, which the reader would take for a mark
                return False
            markup = text.encode("utf-8", "replace")
        links, resolver = self.links, self.resolver
        self._of_headers = len(links)
        columns = links.targets, links.anchors, links.fragments, links.kinds, links.rels
        names = _wanted_names(tuple(self.agents))
        resolved, directory = resolver.resolved, resolver.directory
        texts = native.read(markup, self, columns, resolved, directory, resolver.page, self.max_links, names, _TOOLS)
        if texts is None:
            return False
        links.texts_json, links.ends = texts
        return True

    def encoded_fragment(self, fragment: str) -> str:
        """A fragment as URLs hold it."""
        return encoded_fragment(fragment)

    def rebase(self, reference: str) -> tuple[dict[str, str], int, str, int] | bool | None:
        """What references mean behind a ``<base>``; None where nothing changes, False where it comes too late."""
        if not self.take_base(reference):
            return None
        if len(self.links) > self._of_headers or self.unresolved:
            return False
        return self.resolver.resolved, self.resolver.directory, self.resolver.page, self.max_links

    def learnt(self, count: int) -> None:
        """Hears how many references the reader has added to those resolved before."""
        self.resolver.learnt(count)

    def take(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Takes an element that is not among those the reader knows itself."""
        _TAKERS[tag](self, attributes.get)

    def take_iframe(self, attr: Attr) -> None:
        self.take_frame(attr, IFRAME)


@lru_cache(maxsize=64)
def _wanted_names(agents: tuple[str, ...]) -> frozenset[str]:
    """What a ``<meta>`` is called that the page wants to hear of."""
    return _META_NAMES.union(agents)


_TAKERS: Final[Mapping[str, Callable[[QuickPage, Attr], None]]] = {
    "area": QuickPage.take_area,
    "audio": QuickPage.take_media,
    "embed": QuickPage.take_embedded,
    "form": QuickPage.take_form,
    "iframe": QuickPage.take_iframe,
    "input": QuickPage.take_input,
    "meta": QuickPage.take_meta,
    "object": QuickPage.take_embedded,
    "source": QuickPage.take_media,
    "track": QuickPage.take_media,
    "video": QuickPage.take_media,
}
