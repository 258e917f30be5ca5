"""What single elements say: links, names, directives. Whoever reads a document hands their attributes over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from weft.parse.attributes import collapsed, rel_words, style_url, style_urls, words_of
from weft.parse.collected import AREA, EMBED, FORM, IMAGE, MEDIA, Collected
from weft.parse.directives import language_of, robots_directives

MAX_TITLE: Final = 2_000

LAZY_SOURCES: Final = ("data-src", "data-lazy-src", "data-original", "data-lazy", "data-bg", "data-background-image")
LAZY_SOURCE_SETS: Final = ("data-srcset", "data-lazy-srcset")
"""Attributes in which scripts find the image to show, once a reader comes near."""

NOT_BY_IMG: Final = "background"
"""The ``rel`` of an image that no ``<img>`` shows, so that it can have no ``alt``."""

SHARED_IMAGES: Final = (
    ("property", "og:image"),
    ("property", "og:image:url"),
    ("property", "og:image:secure_url"),
    ("name", "twitter:image"),
    ("name", "twitter:image:src"),
)

Attr = Callable[[str], str | None]
"""The value of an attribute by its name, or None."""


class Elements(Collected):
    """What one document says, element by element, however it is read."""

    def take_title(self, text: str) -> None:
        if self.title is None:
            self.title = collapsed(text, MAX_TITLE)

    def take_language(self, language: str | None, xml_language: str | None) -> None:
        if self.language is None:
            self.language = language_of(language) or language_of(xml_language)

    def take_meta(self, attr: Attr) -> None:
        content = attr("content")
        if content is None:
            return
        name = (attr("name") or "").strip().lower()
        if name == "robots" or name in self.agents:
            self.directives |= robots_directives(content)
        elif name == "description" and not self.description:
            self.description = collapsed(content, MAX_TITLE) or None
        pragma = (attr("http-equiv") or "").strip().lower()
        if pragma == "refresh":
            self.add_refresh(content)
        elif pragma == "content-language" and self.meta_language is None:
            self.meta_language = language_of(content)

    def take_link(self, attr: Attr) -> None:
        reference = attr("href")
        if reference:
            self.add_by_rel(reference, attr("rel") or "", words_of(attr("title")))

    def take_area(self, attr: Attr) -> None:
        reference = attr("href")
        if reference is not None:
            self.add(reference, AREA, words_of(attr("alt")), rel_words(attr("rel") or ""))

    def take_form(self, attr: Attr) -> None:
        reference = attr("action")
        if reference is not None:
            self.add(reference, FORM)

    def take_image(self, attr: Attr) -> None:
        alt = words_of(attr("alt"))
        reference = attr("src")
        if reference:
            self.add(reference, IMAGE, alt)
        srcset = attr("srcset")
        if srcset:
            self.add_srcset(srcset, alt)

    def take_input(self, attr: Attr) -> None:
        reference = attr("src")
        if reference and (attr("type") or "").lower() == "image":
            self.add(reference, IMAGE, words_of(attr("alt")))

    def take_media(self, attr: Attr) -> None:
        reference = attr("src")
        if reference:
            self.add(reference, MEDIA)
        poster = attr("poster")
        if poster:
            self.add(poster, IMAGE)
        srcset = attr("srcset")
        if srcset:
            self.add_srcset(srcset)

    def take_frame(self, attr: Attr, kind: int) -> None:
        reference = attr("src")
        if reference:
            self.add(reference, kind, words_of(attr("title")))

    def take_embedded(self, attr: Attr) -> None:
        reference = attr("src") or attr("data") or attr("code") or attr("archive")
        if reference:
            self.add(reference, EMBED)

    def take_lazy_image(self, attr: Attr) -> None:
        alt = words_of(attr("alt"))
        for name in LAZY_SOURCES:
            reference = attr(name)
            if reference and not reference.lstrip().startswith(("{", "[")):  # the settings of a script
                self.add(style_url(reference), IMAGE, alt)
        for name in LAZY_SOURCE_SETS:
            srcset = attr(name)
            if srcset:
                self.add_srcset(srcset, alt)

    def take_shared_image(self, attr: Attr) -> None:
        reference = attr("content")
        if reference:
            self.add(reference, IMAGE, rel=NOT_BY_IMG)

    def add_style_urls(self, style: str) -> None:
        for reference in style_urls(style):
            if self.cut:
                break
            self.add(reference, IMAGE, rel=NOT_BY_IMG)
