"""A second reader of invented pages, by the standard library: it shares no code with the key of the web."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

from weft.demo.invented import InventedWeb


class Reader(HTMLParser):
    """Links, title and text of a page, by the standard library: a second opinion that shares no code with the key."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url
        self.links: list[tuple[str, str, str, str, str]] = []
        self.title = ""
        self.text: list[str] = []
        self.robots = ""
        self._open: list[str] = []

    def add(self, href: str, kind: str, rel: str = "") -> None:
        target, _, fragment = urljoin(self.url, href).partition("#")
        self.links.append((target, kind, "", rel, fragment))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._open.append(tag)
        rel = given.get("rel", "")
        if tag == "link":
            self.add(given["href"], {"stylesheet": "style", "canonical": "canonical"}.get(rel, "link"), rel)
        elif tag == "meta" and given.get("http-equiv") == "refresh":
            self.add(given["content"].partition("url=")[2], "refresh")
        elif tag == "meta" and given.get("name") == "robots":
            self.robots = given["content"]
        elif tag in ("a", "area"):
            self.add(given["href"], tag, rel)
        elif tag in ("img", "script", "iframe", "audio", "embed") and "src" in given:
            self.add(given["src"], {"img": "image", "audio": "media"}.get(tag, tag))
        elif tag == "form":
            self.add(given["action"], "form")
        if clicked := re.match(r"location\.href='(.*)'", given.get("onclick", "")):
            self.add(clicked[1], "onclick")

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "title":
            self.title += data
        if self._open and self._open[-1] == "a":
            target, kind, anchor, rel, fragment = self.links[-1]
            self.links[-1] = (target, kind, anchor + data, rel, fragment)
        self.text.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._open.append("/" + tag)


def read(web: InventedWeb, url: str) -> tuple[Reader, str]:
    answer = web.answer(url)
    charset = re.search(rb'charset="?([\w-]+)', answer.content_type.encode() + b" " + answer.body[:500])
    text = answer.body.decode(charset[1].decode() if charset else "utf-8")
    reader = Reader(url)
    reader.feed(text)
    reader.close()
    return reader, text
