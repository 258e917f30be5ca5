"""What one document says, as it is collected: its links, resolved and bounded, and what it says of itself."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Final

from weft.parse.attributes import MAX_REL, rel_words, srcset_urls
from weft.parse.directives import Directives, header_links, language_of, parse_refresh, x_robots_directives
from weft.records import LEADS_ON, Link, LinkKind, Links, Parsed
from weft.url import MAX_BASE_B, Resolver, Target

MAX_OPAQUE: Final = 2_000
_MAX_TARGETS = 8_000_000  # characters that links may take from a long base, all together
_MORE_TO_THE_SAME = 10  # times as many links where they lead to few URLs: indexes of manuals, pages full of their types

_WEB = ("http://", "https://")
_NO_BASE = ("data:", "javascript:")  # HTML Standard, "set the frozen base URL"; any other scheme is a base
_CONTENT_ITSELF = ("data:", "blob:")  # pictures and the like that stand in the page itself are no links
# As numbers: a member of an enumeration costs a search and a conversion, sixty times a page.
A: Final = int(LinkKind.A)
AREA: Final = int(LinkKind.AREA)
EMBED: Final = int(LinkKind.EMBED)
FORM: Final = int(LinkKind.FORM)
FRAME: Final = int(LinkKind.FRAME)
IFRAME: Final = int(LinkKind.IFRAME)
IMAGE: Final = int(LinkKind.IMAGE)
MEDIA: Final = int(LinkKind.MEDIA)
ONCLICK: Final = int(LinkKind.ONCLICK)
SCRIPT: Final = int(LinkKind.SCRIPT)
CANONICAL: Final = int(LinkKind.CANONICAL)
_LINK: Final = int(LinkKind.LINK)
_REFRESH: Final = int(LinkKind.REFRESH)
_STYLE: Final = int(LinkKind.STYLE)
_TO_PAGES: Final = frozenset({A, AREA, FRAME, IFRAME, _REFRESH, ONCLICK})
"""Kinds that lead to pages: of a page with too many links they are kept before images, scripts and the like."""


class Collected:
    """See the module. Whoever reads the document adds to it, and asks for the whole in the end (``parsed``)."""

    # what a page begins with: most of it is never set, and reading a class's default is as quick
    base: str | None = None
    base_known = False
    cut = False
    unresolved = 0
    title: str | None = None
    description: str | None = None
    language: str | None = None
    meta_language: str | None = None
    header_language: str | None = None
    canonical: str | None = None
    directives = Directives()
    text = ""
    is_crowded = False  # full, and its links lead to many URLs
    late_left: int | None = None  # how many more there may be: as many as there are links to make room for them

    def __init__(self, url: str, encoding: str, max_links: int, agents: Collection[str]) -> None:
        self.url = url
        self.encoding = encoding
        self.agents = agents
        self.resolver = Resolver(url, encoding, serialised=True)
        self.links_wanted = max_links
        self.max_links = max_links
        if max_links * (len(url) + 1) > _MAX_TARGETS:
            self.max_links = min(max_links, max(100, _MAX_TARGETS // (len(url) + 1)))
        self.links = Links()
        self.late: list[Link] = []  # those to pages that came when the page was full
        self.problems: list[str] = []

    def take_headers(
        self, x_robots_tag: Sequence[str], link_headers: Sequence[str], refresh: str | None, language: str | None
    ) -> None:
        if x_robots_tag:
            self.directives = x_robots_directives(x_robots_tag, self.agents)
        for link in header_links(link_headers) if link_headers else ():
            title = link.title.encode("utf-8", "replace").decode("utf-8")
            self.add_by_rel(link.reference, link.rel, title)
        if refresh:
            self.add_refresh(refresh)
        if language:
            self.header_language = language_of(language)

    def take_base(self, reference: str) -> bool:
        """Whether this becomes the base of the document, which changes what all its links mean; only the first does."""
        if self.base_known:
            return False
        self.base_known = True
        found = Resolver(self.url, self.encoding, serialised=True).resolve(reference)
        if found is None or found[0] == self.url or found[0].startswith(_NO_BASE) or len(found[0]) > MAX_BASE_B:
            return False
        self.base, self.resolver = found[0], Resolver(found[0], self.encoding, serialised=True)
        self.max_links = min(self.max_links, max(100, _MAX_TARGETS // (len(found[0]) + 1)))
        return True

    def add_refresh(self, content: str) -> None:
        refresh = parse_refresh(content)
        if refresh and refresh.url:
            self.add(refresh.url, _REFRESH, rel="" if refresh.delay_s else LEADS_ON)

    def add_by_rel(self, reference: str, rel: str, title: str) -> None:
        kind, words = kind_by_rel(rel[:MAX_REL])
        target = self.add(reference, kind, title, words)
        if kind == CANONICAL and self.canonical is None and target and target.startswith(_WEB):
            self.canonical = target

    def add_srcset(self, srcset: str, alt: str = "") -> None:
        for reference in srcset_urls(srcset):
            if self.cut:
                break
            self.add(reference, IMAGE, alt)

    def add(self, reference: str, kind: int, anchor: str = "", rel: str = "") -> str | None:
        """The target of a link, now among the links; None where it leads nowhere, or nowhere that counts."""
        target, fragment = self.resolver.resolved.get(reference), ""
        if target is None:
            found = self.target_of(reference, kind)
            if found is None:
                return None
            target, fragment = found
        if len(self.links.targets) < self.max_links:
            self.links.add(target, kind, anchor, rel, fragment)
            return target
        self.cut = True
        if kind in _TO_PAGES and (room := self.late_room()):
            self.late_left = room - 1
            self.late.append(Link(target, kind, anchor, rel, fragment))
        return target

    def target_of(self, reference: str, kind: int) -> Target | None:
        """Where a link leads, and its fragment; None where it leads nowhere, or nowhere that counts."""
        if reference[:5].lower() == "data:":
            if kind not in _TO_PAGES:
                return None
            reference = reference[:MAX_OPAQUE]
        resolver = self.resolver
        found = resolver.resolve(reference) if "#" in reference else resolver.find(reference, reference)
        if found is None:
            self.unresolved += 1
            return None
        target, fragment = found
        if target.startswith(_WEB):
            return found
        if target.startswith("about:") or (kind not in _TO_PAGES and target.startswith(_CONTENT_ITSELF)):
            return None
        return target[:MAX_OPAQUE], fragment[:MAX_OPAQUE]

    def has_room(self) -> bool:
        """Whether one more link is kept: a full page takes more as long as its links lead to few URLs."""
        targets = self.links.targets
        if len(targets) < self.max_links:
            return True
        most = min(self.links_wanted * _MORE_TO_THE_SAME, _MAX_TARGETS // (len(self.base or self.url) + 1))
        if self.is_crowded or self.max_links >= most:
            return False
        self.is_crowded = 2 * len(set(targets)) > self.links_wanted
        if not self.is_crowded:
            self.max_links = min(self.max_links + self.links_wanted, most)
        return len(targets) < self.max_links

    def late_room(self) -> int:
        """How many links to pages a full page still takes: in the place of others."""
        if self.late_left is None:
            self.late_left = sum(kind not in _TO_PAGES for kind in self.links.kinds.values())
        return self.late_left

    def _make_room(self) -> None:
        """Puts the links to pages that came late in the place of the last links that lead to none."""
        kept, leaving = [], len(self.late)
        for link in reversed(list(self.links)):
            if leaving and link.kind not in _TO_PAGES:
                leaving -= 1
            else:
                kept.append(link)
        self.links = Links.of([*reversed(kept), *self.late])

    def parsed(self, media: str, encoding: str | None) -> Parsed:
        if self.unresolved:
            self.problems.append(f"links that cannot be resolved: {self.unresolved}")
        if self.late:
            self._make_room()
        if self.cut:
            self.problems.append(f"more than {self.max_links} links: the others are left out")
        language = self.language or self.meta_language or self.header_language
        noindex, nofollow, _ = self.directives
        # by their places: a record that looks for each by its name takes longer
        return Parsed(
            media, encoding, language, self.title, self.description, self.canonical, self.base, noindex, nofollow,
            self.links, self.cut, "; ".join(self.problems), self.text,
        )  # fmt: skip


@lru_cache(maxsize=256)
def kind_by_rel(rel: str) -> tuple[int, str]:
    """What kind of link a ``<link>`` with this ``rel`` is, and the rel as it is kept."""
    words = rel_words(rel)
    if "stylesheet" in words:
        return _STYLE, words
    return (CANONICAL if "canonical" in words.split() else _LINK), words
