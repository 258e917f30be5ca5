"""Pages and styles with links that lead to the files of a mirror, so that they can be browsed from disk.

What is no part of the mirror becomes an absolute link to the web. A `<base>`, integrity digests (styles are changed)
and a Content-Security-Policy of the page are left out: each would keep a browser from reading the files.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from posixpath import dirname, relpath
from urllib.parse import quote

from weft.derive.export.names import Names
from weft.derive.read import Page, StoredCrawl
from weft.parse.bounds import tree_of
from weft.parse.content import decode, is_html
from weft.url import resolve

_CACHED = 50_000
_REDIRECTS = 10
_SAFE = "/~!$&'()*+,;=@-._"
_WEB = ("http://", "https://")
_CSS_URL = re.compile(
    r"""(?P<before>\burl\(\s*)(?P<quote>["']?)(?P<url>(?:\\.|[^"'()\\])*)(?P=quote)(?P<after>\s*\))"""
    r"""|(?P<import>@import\s+)(?P<mark>["'])(?P<name>(?:\\.|[^"'\\])*)(?P=mark)""",
    re.IGNORECASE,
)
_CSS_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6}\s?|.)", re.DOTALL)


class Rewriter:
    """Rewrites the links of one mirror. Where URLs lead is remembered, a bounded number of them."""

    def __init__(self, crawl: StoredCrawl, names: Names) -> None:
        self._crawl = crawl
        self._names = names
        self._paths: dict[str, str | None] = {}

    def rewritten(self, page: Page, path: str, body: bytes) -> tuple[bytes, list[str]]:
        """The body as it is stored at ``path``, and the URLs that it names and that are no part of the mirror."""
        media = page.type or ""
        away: dict[str, None] = {}
        if is_html(media):
            return self._html(page, path, body, away), list(away)
        if media == "text/css":
            text = decode(body, page.encoding or "utf-8")
            lead = self._lead(page.url, page.encoding or "utf-8", path, away)
            return b'@charset "utf-8";\n' + css_with(text, lead).encode("utf-8", "replace"), list(away)
        return body, []

    def _html(self, page: Page, path: str, body: bytes, away: dict[str, None]) -> bytes:
        encoding = page.encoding or "utf-8"
        tree = tree_of(body, encoding)
        if tree is None:  # too large a tree: the page stays as it is
            return body
        document = tree.document
        base_element = document.select_one("base[href]")
        base = page.url
        if base_element is not None:
            base = resolve(page.url, str(base_element.attrs.get("href") or ""), encoding) or page.url
        for element in document.select("base, meta[charset], meta[http-equiv]"):
            kind = str(element.attrs.get("http-equiv") or "").lower()
            if element.tag != "meta" or not kind or kind in ("content-type", "content-security-policy"):
                element.decompose()
        for element in document.select("[integrity]"):
            del element.attrs["integrity"]
        document.rewrite_links(self._lead(base, encoding, path, away))
        return _MARK + document.encode("utf-8").removeprefix(_MARK)

    def _lead(self, base: str, encoding: str, path: str, away: dict[str, None]) -> Callable[[str], str | None]:
        """What a link is replaced by: the way to its file, or its absolute URL; None: it stays."""
        folder = dirname(path)

        def lead(link: str) -> str | None:
            if link.startswith("#"):
                return None
            url = resolve(base, link, encoding)
            if url is None or not url.startswith(_WEB):
                return None
            bare, mark, fragment = url.partition("#")
            file = self._path(bare)
            if file is None:
                away[bare] = None
                return url
            return f"{quote(relpath(file, folder or '.'), safe=_SAFE)}{mark}{fragment}"

        return lead

    def _path(self, url: str) -> str | None:
        """The file that a URL leads to, through redirects; None where there is none."""
        if url not in self._paths:
            if len(self._paths) >= _CACHED:
                self._paths.clear()
            self._paths[url] = self._found(url)
        return self._paths[url]

    def _found(self, url: str) -> str | None:
        for _ in range(_REDIRECTS):
            page = self._crawl.page_id(url)
            if page is None:
                return None
            path = self._names.path_of(page)
            if path is not None:
                return path
            target = self._names.redirect_of(page)
            if target is None:
                return None
            url = target
        return None


_MARK = b"\xef\xbb\xbf"
"""A byte-order mark: it tells the encoding of a page that is read from disk, before anything else does."""


def css_with(text: str, lead: Callable[[str], str | None]) -> str:
    """A style with every URL replaced as ``lead`` says."""

    def replaced(found: re.Match[str]) -> str:
        link = found["url"] if found["import"] is None else found["name"]
        new = lead(_CSS_ESCAPE.sub(_unescaped, link.strip()))
        if new is None or not link.strip():
            return found[0]
        written = '"' + new.replace("\\", "\\\\").replace('"', "%22").replace("\n", "%0A") + '"'
        return f"url({written})" if found["import"] is None else f"{found['import']}{written}"

    return _CSS_URL.sub(replaced, text)


def _unescaped(found: re.Match[str]) -> str:
    digits = found[1].strip()
    if re.fullmatch("[0-9a-fA-F]{1,6}", digits):
        number = int(digits, 16)
        return chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
    return "" if found[1] == "\n" else found[1]
