"""One pass over the tree of a page: its links of every kind, title, description, language, base, canonical, directives.

A page of 22 KB costs twice as much as building its tree, if the rest stays in C: one filtered walk gives the elements
that matter, one search tells whether any has an ``onclick``. Python runs once for each of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from time import monotonic
from typing import Final

from turbohtml import Document, Element, Namespace

from weft.parse.attributes import MAX_ANCHOR, code_urls, collapsed, rel_words, words_of
from weft.parse.bounds import tree_of
from weft.parse.collected import FRAME, IFRAME, IMAGE, ONCLICK, SCRIPT, A
from weft.parse.elements import LAZY_SOURCE_SETS, LAZY_SOURCES, NOT_BY_IMG, SHARED_IMAGES, Elements
from weft.parse.style import style_links
from weft.parse.text import flat_text, seen_text
from weft.url import encode_fragments

_MAX_WALK_S = 3.0  # twenty thousand links take a fiftieth of that

_FRAME_LEFT_OUT = "documents in frames left out: they took too much time or memory"
# A member of an enumeration costs a search: sixty times a page.
_HTML: Final = Namespace.HTML
_SVG: Final = Namespace.SVG


def read_tree(page: TreePage, markup: bytes, encoding: str, with_text: bool) -> None:
    """Tells the page what the tree of a document says; never raises."""
    try:
        tree = tree_of(markup, encoding)
        if tree is None:
            page.problems.append("too large a tree: parsing took too much memory")
            return
        page.text_left = len(markup) + MAX_ANCHOR
        page.problems.extend(filter(None, [tree.problem]))
        page.take_tree(tree.document)
        if with_text:
            page.text = flat_text(tree.document)
    except Exception as error:  # the border to foreign code: what it cannot take is a fact about the page
        page.problems.append(f"parser failed: {type(error).__name__}: {error}"[:500])


class TreePage(Elements):
    """Reads the tree of one document. Links found before a late ``<base>`` are taken again."""

    anchor: Element | None = None  # the last link of the web,
    anchor_at = 0  # its place,
    unnamed: Element | None = None  # and the last one of them that had no text of its own
    is_inner = False
    with_shown = False  # takes also the images that scripts and styles show
    with_assets = False  # and what styles import, and their fonts
    text_left = 0  # anchors together cannot be longer than the document, unless links are nested to do harm
    deadline_s = 0.0

    def take_tree(self, document: Document) -> None:
        """Everything the tree holds."""
        of_headers = len(self.links), self.unresolved, self.canonical
        if not self._walk(document):
            links, self.unresolved, self.canonical = of_headers
            self.links.keep_first(links)
            self.cut, self.anchor = False, None
            self.late.clear()
            self.late_left = None
            self._walk(document)
        if self.with_shown:
            self._take_shown(document)

    def _take_shown(self, document: Document) -> None:
        """Images that a walk over links does not meet: lazy ones, those of styles, and those meant for sharing."""
        for element in document.select(_SHOWN):
            if element.tag == "meta":
                self.take_shared_image(element.attr)
            elif element.tag == "style":
                self._take_style(element.text)
            else:
                self.take_lazy_image(element.attr)
                self.add_style_urls(element.attr("style") or "")

    def _take_style(self, style: str) -> None:
        if not self.with_assets:
            self.add_style_urls(style)
            return
        for link in style_links(style, self.base or self.url, self.encoding, self.max_links):
            self.add(link.target, link.kind, rel=NOT_BY_IMG)

    def _walk(self, document: Document) -> bool:
        """Whether all was resolved with the right base; if not, that base is known now."""
        has_code = document.select_one("[onclick]") is not None
        found: Iterable[Element] = document.select(_TAGS_AND_CODE) if has_code else document.iter_elements(_TAGS)
        elements = iter(found)
        of_headers = len(self.links)
        targets, anchors, fragments, rels = (
            self.links.targets,
            self.links.anchors,
            self.links.fragments,
            self.links.rels,
        )
        max_links, page, resolved = self.max_links, self.resolver.page or None, self.resolver.resolved.get
        taker = _TAKERS.get
        has_room = self.text_left > 0
        for element in elements:
            tag = element.tag
            if tag == "a":
                reference = element.attr("href")
                count = len(targets)
                if reference is None or count >= max_links:
                    if reference is not None or element.namespace is _SVG:
                        self._take_unusual_a(element, reference)
                        max_links = self.max_links
                    target = None
                elif "#" in reference:
                    # most references of a page were met on its sisters, or lead into the page itself: no call for those
                    path, _, fragment = reference.partition("#")
                    target = resolved(path) if path else page
                    if target is None:
                        target, fragment = self._resolved(element, reference, path)
                else:
                    target, fragment = resolved(reference), ""
                    if target is None:
                        target, fragment = self._resolved(element, reference, reference)
                if target is not None:
                    if count & 31 == 31:
                        self._watch_time()
                        has_room = self.text_left > 0
                    text = element.text if has_room else ""
                    if len(text) > MAX_ANCHOR:
                        text = self._shortened(text)
                        has_room = self.text_left > 0
                    anchor = " ".join(text.split())
                    rel = element.attr("rel")
                    if rel and (words := rel_words(rel)):
                        rels[count] = words
                    targets.append(target)
                    anchors.append(anchor)
                    fragments.append(fragment)
                    self.anchor, self.anchor_at = element, count
                    if not anchor:
                        self.unnamed = element
            elif tag == "base":
                if self._take_base(element):
                    if len(targets) > of_headers or self.unresolved:
                        return False
                    max_links, page, resolved = self.max_links, self.resolver.page or None, self.resolver.resolved.get
            elif tag == "template":
                for _ in range(_unseen_size(element, has_code)):
                    next(elements, None)
            else:
                take = taker(tag)
                if take is not None:
                    take(self, element)
            if has_code:
                self._take_code(element)
        encode_fragments(fragments)
        return True

    def _resolved(self, element: Element, reference: str, path: str) -> tuple[str | None, str]:
        """Where a link of the web leads, and its fragment; what leads elsewhere is taken here."""
        found = self.resolver.find(reference, path)
        if found is not None and found[0].startswith("http"):
            return found
        self._take_unusual_a(element, reference)
        return None, ""

    def _anchor_text(self, element: Element) -> str:
        """The text of a link, spaces collapsed; of a link without text the ``alt`` of its images."""
        self._watch_time()
        text = element.text if self.text_left > 0 else ""
        return " ".join((self._shortened(text) if len(text) > MAX_ANCHOR else text).split()) or self._alt(element)

    def _shortened(self, text: str) -> str:
        """The beginning of a long anchor, which has its price."""
        self.text_left -= len(text)
        return collapsed(text, MAX_ANCHOR)

    def _watch_time(self) -> None:
        """Takes no more texts past the deadline: where links hold links, each text is that of all within."""
        now_s = monotonic()
        if not self.deadline_s:
            self.deadline_s = now_s + _MAX_WALK_S
        elif now_s > self.deadline_s and self.text_left > 0:
            self.problems.append("texts of nested links left out")
            self.text_left = 0

    def _alt(self, element: Element) -> str:
        if self.text_left <= 0:
            return ""
        images = element.find_all("img", limit=10)
        return collapsed(" ".join([image.attr("alt") or "" for image in images]), MAX_ANCHOR) if images else ""

    def _take_unusual_a(self, element: Element, reference: str | None) -> None:
        """Takes a link that leads out of the web, or nowhere, or is one too many, or is one of SVG."""
        self.anchor = None
        if reference is None:
            reference = element.attr("xlink:href")
            if reference is None:
                return
        if not self.has_room() and not self.late_room():
            self.cut = True
        else:
            self.add(reference, A, self._anchor_text(element), rel_words(element.attr("rel") or ""))

    def _take_base(self, element: Element) -> bool:
        """Whether this is the base of the document, which changes what all its links mean."""
        reference = element.attr("href")
        return reference is not None and element.namespace is _HTML and self.take_base(reference)

    def _take_title(self, element: Element) -> None:
        if element.namespace is _HTML:
            self.take_title(element.text)

    def _take_html(self, element: Element) -> None:
        self.take_language(element.attr("lang"), element.attr("xml:lang"))

    def _take_meta(self, element: Element) -> None:
        self.take_meta(element.attr)

    def _take_link(self, element: Element) -> None:
        if element.namespace is _HTML:
            self.take_link(element.attr)

    def _take_area(self, element: Element) -> None:
        self.take_area(element.attr)

    def _take_form(self, element: Element) -> None:
        self.take_form(element.attr)

    def _take_image(self, element: Element) -> None:
        if self.unnamed is not None:
            self._name_anchor(element, words_of(element.attr("alt")))
        self.take_image(element.attr)

    def _name_anchor(self, image: Element, alt: str) -> None:
        """Gives a link without text the ``alt`` of its images. The first one that stands elsewhere ends it."""
        if self.unnamed is not self.anchor or (image.parent != self.anchor and image.closest("a") != self.anchor):
            self.unnamed = None
        elif alt:
            anchors, at = self.links.anchors, self.anchor_at
            anchors[at] = f"{anchors[at]} {alt}"[:MAX_ANCHOR] if anchors[at] else alt

    def _take_svg_image(self, element: Element) -> None:
        reference = _svg_href(element)
        if reference and element.namespace is _SVG:
            self.add(reference, IMAGE)

    def _take_input(self, element: Element) -> None:
        self.take_input(element.attr)

    def _take_script(self, element: Element) -> None:
        reference = _svg_href(element) if element.namespace is _SVG else element.attr("src")
        if reference:
            self.add(reference, SCRIPT)
        self._take_unseen(element)

    def _take_unseen(self, element: Element) -> None:
        """Takes the text of a script or a style sheet out of the link that it stands in."""
        if self.anchor is not None and element.closest("a") == self.anchor:
            self.links.anchors[self.anchor_at] = seen_text(self.anchor)[:MAX_ANCHOR]
            self.anchor = None

    def _take_media(self, element: Element) -> None:
        self.take_media(element.attr)

    def _take_frame(self, element: Element) -> None:
        document = element.attr("srcdoc")
        if document and not self.is_inner and element.tag == "iframe":
            self._take_inner(document)
        self.take_frame(element.attr, FRAME if element.tag == "frame" else IFRAME)

    def _take_inner(self, markup: str) -> None:
        """Takes the links of a document that an attribute holds: its base is ours, what it says is its own."""
        self._watch_time()
        tree = tree_of(markup.encode("utf-8", "replace"), "utf-8") if self.text_left > 0 else None
        if tree is None:
            if _FRAME_LEFT_OUT not in self.problems:
                self.problems.append(_FRAME_LEFT_OUT)
            return
        inner = TreePage(self.base or self.url, self.encoding, self.max_links - len(self.links), self.agents)
        inner.is_inner, inner.text_left, inner.deadline_s = True, len(markup) + MAX_ANCHOR, self.deadline_s
        inner.with_shown, inner.with_assets = self.with_shown, self.with_assets
        inner.take_tree(tree.document)
        for link in inner.links:
            self.links.add(*link)
        self.unresolved += inner.unresolved
        self.cut = self.cut or inner.cut

    def _take_embedded(self, element: Element) -> None:
        self.take_embedded(element.attr)

    def _take_code(self, element: Element) -> None:
        code = element.attr("onclick")
        if code:
            for reference in code_urls(code):
                self.add(reference, ONCLICK, self._anchor_text(element))


_TAKERS: Final = {
    "applet": TreePage._take_embedded,
    "area": TreePage._take_area,
    "audio": TreePage._take_media,
    "embed": TreePage._take_embedded,
    "form": TreePage._take_form,
    "frame": TreePage._take_frame,
    "html": TreePage._take_html,
    "iframe": TreePage._take_frame,
    "image": TreePage._take_svg_image,
    "img": TreePage._take_image,
    "input": TreePage._take_input,
    "link": TreePage._take_link,
    "meta": TreePage._take_meta,
    "object": TreePage._take_embedded,
    "script": TreePage._take_script,
    "source": TreePage._take_media,
    "style": TreePage._take_unseen,
    "title": TreePage._take_title,
    "track": TreePage._take_media,
    "video": TreePage._take_media,
}
_SHOWN: Final = ",".join(
    [
        *(f"[{name}]" for name in LAZY_SOURCES + LAZY_SOURCE_SETS),
        '[style*="url("]',
        "style",
        *(f'meta[{name}="{value}"]' for name, value in SHARED_IMAGES),
    ]
)
_TAGS: Final = ("a", "base", "template", *_TAKERS)
_TAGS_AND_CODE: Final = ",".join([*_TAGS, "[onclick]"])


def _unseen_size(template: Element, has_code: bool) -> int:
    """How many of the elements that matter stand in a template that is no part of the page.

    A declarative shadow root is part of it.
    """
    if template.namespace is not _HTML:
        return 0
    if (template.attr("shadowrootmode") or "").lower() in ("open", "closed"):
        return 0
    return len(template.select(_TAGS_AND_CODE)) if has_code else sum(1 for _ in template.iter_elements(_TAGS))


def _svg_href(element: Element) -> str | None:
    reference = element.attr("href")
    return element.attr("xlink:href") if reference is None else reference
