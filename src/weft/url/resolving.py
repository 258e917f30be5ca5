"""Parsing and resolving by the WHATWG URL Standard.

The work is done by ``url-py`` (Rust); where it lags behind the standard, the rare URL is helped along here.
Resolving is what a crawler does most: sixty links a page, most of them the same as on the page before. So what a
reference means within a directory is kept for all pages of that directory.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import count
from typing import Final

from url import URL, IdnaError, URLError

from weft import native
from weft.text.patterns import regex
from weft.url.encodings import encode_query, is_utf8
from weft.url.parts import path_start

MAX_MEANING: Final = 512
"""References and URLs that are longer are not remembered."""

MAX_BASE_B: Final = 16_384
"""A longer base is no base: one <base> of a megabyte would make a megabyte of every link of the page."""

Target = tuple[str, str]  # the URL without its fragment, and the fragment

_WEB = ("http://", "https://")
_SPECIAL = frozenset({"http", "https", "ws", "wss", "ftp", "file"})
_QUERY_IN_PAGE_ENCODING = frozenset({"http", "https", "ftp", "file"})
_C0_AND_SPACE = "".join(map(chr, range(0x21)))
_TABS_AND_NEWLINES = str.maketrans("", "", "\t\n\r")
_SCHEME = regex(r"[A-Za-z][A-Za-z0-9+.\-]*(?=:)")
_AUTHORITY = regex(r"(?:[A-Za-z][A-Za-z0-9+.\-]*:)?[/\\]*(?:[^/\\?#]*@)?([^/\\?#@:]+)(?=[:/\\?#]|$)")
_ASCII_DOMAIN = regex(r"[!\"$&'()*+,\-.0-9;=_`a-z{}~]+")
_NUMBER = regex(r"\d+|0[xX][0-9A-Fa-f]*")
_DRIVE_IN_PATH = regex(r"https?://[^/]*/(?:[^?#]*/)?[A-Za-z][:|](?:[/?#]|$)")
_PARTS = regex(r"((?:https?:)?[/\\]{2,}[^/\\?#]*)?(?!https?:)([^?#]+)(.*)", re.IGNORECASE | re.DOTALL)
_is_plain_fragment = re.compile(r"[!#-;=?-_a-~]*").fullmatch


def parse(text: str) -> str | None:
    """The serialisation of an absolute URL without its fragment, or None."""
    href = _href(None, text)
    return None if href is None else href.partition("#")[0]


def resolve(base: str, ref: str, encoding: str = "utf-8") -> str | None:
    """The absolute serialisation of a reference found at ``base``, fragment included, or None.

    ``encoding`` is the page's: it decides how the query of the reference is written.
    """
    parsed = _base(base)
    return None if parsed is None else _href(parsed, _with_query_in(encoding, ref, parsed.scheme))


def encode_fragments(fragments: list[str]) -> None:
    """Writes fragments that came as they stood behind ``#`` as URLs hold them; those that are so already stay.

    One look at all of them: most pages have none with a space, a quote or a letter beyond ASCII.
    """
    if not _is_plain_fragment("".join(fragments)):
        fragments[:] = map(encoded_fragment, fragments)


def encoded_fragment(fragment: str) -> str:
    """A fragment that came as it stood behind ``#`` as URLs hold it."""
    if _is_plain_fragment(fragment):
        return fragment
    href = resolve("http://any.invalid/", f"#{fragment}")
    return href.partition("#")[2] if href else ""


class Resolver:
    """Resolves the references of one page; its base is the page's URL or that of its ``<base>``.

    ``serialised`` says that the base comes out of this module, so that it is parsed only when something is new.
    """

    __slots__ = ("_base", "_directory", "_encoding", "directory", "page", "resolved")

    def __init__(self, base: str, encoding: str = "utf-8", *, serialised: bool = False) -> None:
        self._encoding = "" if encoding == "utf-8" or is_utf8(encoding) else encoding.lower()
        self._base: URL | None = None
        if serialised and len(base) <= MAX_BASE_B:
            self.page = base
        else:
            self._base = _parsed(base)
            self.page = "" if self._base is None else str(self._base).partition("#")[0]
        self._directory = directory = _shared.of(self.page, self._encoding)
        # what references mean in this directory, as far as it is known: to be read by who cannot afford the call
        self.resolved = directory.resolved
        self.directory = directory.number  # no other ever has it

    def resolve(self, ref: str) -> Target | None:
        """The URL a reference leads to and its fragment (without ``#``, "" where there is none), or None."""
        head, mark, fragment = ref.partition("#")
        if not mark or _is_plain_fragment(fragment):
            # What stands before "#" means the same with every fragment.
            if mark and not head:
                return (self.page, fragment) if self.page else None
            known = self.resolved.get(head)
            if known is not None:
                return known, fragment
        return self.find(ref, head)

    def learnt(self, count: int) -> None:
        """Says that so many references were resolved; what each means holds on every page of the directory."""
        _shared.grew(count)

    def find(self, ref: str, head: str) -> Target | None:
        """What a reference means that was not resolved before; ``head`` is what stands before its ``#``.

        It is remembered if every page of the directory would find the same.
        """
        if not self.page:
            return None
        if not ref and self.page.startswith(_WEB) and "xn--" not in self.page:
            return self.page, ""
        if head.isascii() and (plain := native.resolve(self.page, head)) is not None:
            fragment = ref[len(head) + 1 :]
            if _is_plain_fragment(fragment):
                if len(plain) <= MAX_MEANING:
                    _shared.add(self.resolved, head, plain)
                return plain, fragment
        is_common = _means_same_in_directory(head, self.page)
        base = self._directory.base if is_common else self._base
        if base is None:
            base = self._base = self._base or _parsed(self.page)
            if base is None:
                return None
            if is_common:
                self._directory.base = base
        text = _with_query_in(self._encoding, ref, base.scheme) if self._encoding else ref
        href = _href(base, text)
        if href is None:
            return None
        url, _, fragment = href.partition("#")
        if is_common and len(url) <= MAX_MEANING and url.startswith(_WEB):
            _shared.add(self.resolved, head, url)
        return url, fragment


_Resolved = dict[str, str]  # references without their fragment, of the web only, to URLs


_numbers = count()


class _Directory:
    """What is known of a directory: a base that resolves what means the same on all its pages, and the references
    resolved by it.
    """

    __slots__ = ("base", "number", "resolved")

    def __init__(self) -> None:
        self.number = next(_numbers)
        self.base: URL | None = None
        self.resolved: _Resolved = {}


class _SharedReferences:
    """What references mean, per directory and encoding; bounded in directories, in entries, in length of each."""

    MAX_DIRECTORIES = 1_024
    MAX_ENTRIES = 32_768

    def __init__(self) -> None:
        self._directories: dict[str, _Directory] = {}
        self._entries = 0

    def of(self, page: str, encoding: str) -> _Directory:
        """What is known of a page's directory, shared; something fresh, shared with nobody, where it has none."""
        query = page.find("?")
        directory = page[: (page.rfind("/") if query < 0 else page.rfind("/", 0, query)) + 1]
        name = f"{encoding} {directory}" if encoding else directory
        found = self._directories.get(name)
        if found is None:
            if not page.startswith(_WEB) or len(directory) > MAX_MEANING:
                return _Directory()
            if len(self._directories) >= self.MAX_DIRECTORIES:
                oldest = next(iter(self._directories))
                self._entries -= len(self._directories.pop(oldest).resolved)
            found = self._directories[name] = _Directory()
        return found

    def add(self, resolved: _Resolved, ref: str, target: str) -> None:
        resolved[ref] = target
        self.grew(1)

    def grew(self, count: int) -> None:
        """Says that so many references were resolved; past the bound all are forgotten."""
        self._entries += count
        if self._entries > self.MAX_ENTRIES:
            for directory in self._directories.values():
                directory.resolved.clear()
            self._entries = 0


_shared = _SharedReferences()


def _means_same_in_directory(ref: str, page: str) -> bool:
    """Whether a reference without a fragment means the same on every page of a directory.

    Not so for the empty one and for ``?query``, nor for these behind the page's own scheme (``http:?query``), however
    hidden between spaces and newlines. Nor may a space end it, which is trimmed or not as a fragment follows or not.
    """
    if not ref or ref[0] in "? " or ref[-1] == " " or len(ref) > MAX_MEANING or not ref.isprintable():
        return False
    if ":" not in ref:
        return True
    scheme = page[: page.index(":") + 1]
    return ref[: len(scheme)].lower() != scheme or ref[len(scheme) : len(scheme) + 1] in ("/", "\\")


@lru_cache(maxsize=64)
def _base(text: str) -> URL | None:
    """The parsed base, kept."""
    return _parsed(text)


def _parsed(text: str) -> URL | None:
    """The parsed base, or None."""
    if len(text) > MAX_BASE_B:
        return None
    try:
        parsed = URL.parse(text)
        if "^" not in text:
            return parsed
    except (URLError, UnicodeEncodeError):
        pass
    href = _href(None, text)
    try:
        return None if href is None else URL.parse(href)
    except URLError:
        return None  # a domain that only we let pass


def _href(base: URL | None, text: str) -> str | None:
    """The serialisation of a URL, or None."""
    try:
        href = str(URL.parse(text) if base is None else base.join(text))
    except UnicodeEncodeError:
        return _href(base, _scalar_values(text))
    except URLError as error:
        helped = _href_of_ascii_domain(base, text) if isinstance(error, IdnaError) else _href_of_slashes(base, text)
        if helped is None:
            return None
        href = helped
    if (href.find(":/", 8) > 0 or "|" in href) and _DRIVE_IN_PATH.match(href):
        href = _href_past_drives(base, text) or href
    if "^" in href:
        href = _caret_encoded(href)
    # Only paths like that of mailto: may hold spaces; in lists of URLs they would do harm.
    return href if " " not in href else href.replace(" ", "%20")


def _href_past_drives(base: URL | None, text: str) -> str | None:
    """The serialisation of a web URL with ``C:`` in its path, which ``..`` may leave as any other, or None."""
    match = _PARTS.match(_trimmed(text))
    if match is None:
        return None
    before, path, behind = match[1] or "", match[2].replace("\\", "/"), match[3]
    if base is not None and path[0] != "/":
        path = base.path[: base.path.rfind("/") + 1] + path
    try:
        whole = f"{before}{_without_dots(path)}{behind}"
        return str(URL.parse(whole) if base is None else base.join(whole))
    except (URLError, UnicodeEncodeError):
        return None


def _without_dots(path: str) -> str:
    """A path that begins with a slash, its dot segments followed."""
    kept: list[str] = []
    is_dots = False
    for name in path.split("/")[1:]:
        plain = name.lower().replace("%2e", ".")
        is_dots = plain in (".", "..")
        if plain == "..":
            del kept[-1:]
        elif not is_dots:
            kept.append(name)
    return "/" + "/".join([*kept, ""] if is_dots else kept)


def _scalar_values(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced, as in every string a browser parses."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _trimmed(text: str) -> str:
    """The text without what the URL parser removes before it starts."""
    return text.strip(_C0_AND_SPACE).translate(_TABS_AND_NEWLINES)


def _href_of_slashes(base: URL | None, text: str) -> str | None:
    """The serialisation of ``///host/path``, whose further slashes are ignored, or None."""
    trimmed = _trimmed(text)
    host = trimmed.lstrip("/\\")
    if base is None or len(trimmed) - len(host) < 3 or base.scheme not in _SPECIAL or base.scheme == "file":
        return None
    return _href(None, f"{base.scheme}://{host}") if host else None


def _href_of_ascii_domain(base: URL | None, text: str) -> str | None:
    """The serialisation of a URL whose domain is ASCII and wrong punycode, which the standard lets pass, or None."""
    trimmed = _trimmed(text)
    match = _AUTHORITY.match(trimmed)
    domain = _ascii_domain(match[1]) if match else None
    if match is None or domain is None:
        return None
    try:
        stand_in = f"{trimmed[: match.start(1)]}x{trimmed[match.end(1) :]}"
        href = str(URL.parse(stand_in) if base is None else base.join(stand_in))
    except URLError:
        return None
    end = path_start(href)
    start = max(href.rfind("@", 0, end), href.find("//") + 1) + 1
    return f"{href[:start]}{domain}{href[start + 1 :]}" if href[start] == "x" else None


def _ascii_domain(host: str) -> str | None:
    """The domain in lower case, if it is ASCII with a punycode label and of characters that domains may have."""
    from urllib.parse import unquote_to_bytes  # for one domain in a million

    try:
        domain = unquote_to_bytes(host).decode("ascii").lower()
    except UnicodeError:
        return None
    labels = domain.removesuffix(".").split(".")
    if not any(label.startswith("xn--") for label in labels) or _NUMBER.fullmatch(labels[-1]):
        return None
    return domain if _ASCII_DOMAIN.fullmatch(domain) else None


def _caret_encoded(href: str) -> str:
    """The URL with ``^`` percent-encoded in its path, unless the path is opaque."""
    end = min(len(head) for head in (href.partition("?")[0], href.partition("#")[0]))
    if href[href.index(":") + 1 : end].startswith("/"):
        return href[:end].replace("^", "%5E") + href[end:]
    return href


def _with_query_in(encoding: str, ref: str, scheme: str) -> str:
    """The reference with its query percent-encoded in a legacy encoding; unchanged where that has no effect."""
    if ref.isascii() or "?" not in ref or is_utf8(encoding):
        return ref
    head, hash_sign, fragment = _trimmed(_scalar_values(ref)).partition("#")
    path, mark, query = head.partition("?")
    named = _SCHEME.match(path)
    if (named[0].lower() if named else scheme) not in _QUERY_IN_PAGE_ENCODING:
        return ref
    return f"{path}{mark}{encode_query(query, encoding)}{hash_sign}{fragment}"
