"""What an invented web is made of: links, answers, entries of its key, and families of special addresses."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

SUFFIX = "weft.test"
BRANCHES = 12
FOLLOWED = frozenset({"a", "area", "frame", "iframe", "refresh", "onclick", "redirect", "sitemap"})
BINARY = (".pdf", ".png", ".mp3", ".swf", ".css", ".js")
TRAP_PREFIX = "/trap/"
MASK = (1 << 64) - 1


class Link(NamedTuple):
    """One link as a good parser finds it. Anchors are part of the key for kind ``a`` only."""

    target: str
    kind: str
    anchor: str = ""
    rel: str = ""
    fragment: str = ""


class Answer(NamedTuple):
    status: int
    content_type: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


class Entry(NamedTuple):
    """What the key knows of a URL. ``depth`` is None where no followed link leads to it."""

    url: str
    role: str
    status: int
    type: str
    depth: int | None
    title: str | None = None
    language: str | None = None
    encoding: str | None = None  # lower case
    noindex: bool = False
    nofollow: bool = False


class Planted(NamedTuple):
    """An address hidden in a page: its plain value, and the form it was written in."""

    value: str
    kind: str  # email, phone
    form: str


class Family(NamedTuple):
    """Special addresses ``prefix + number`` beside every page whose number is ``offset`` modulo ``stride``."""

    prefix: str
    stride: int
    offset: int
    suffix: str = ""
    rel: str = ""  # of the link that leads there
    linked: bool = True

    def has(self, number: int) -> bool:
        return number % self.stride == self.offset

    def path(self, number: int) -> str:
        return f"{self.prefix}{number}{self.suffix}"


FAMILIES: dict[str, Family] = {
    "redirect": Family("/go/", 10, 3),
    "missing": Family("/missing/", 15, 4, ".html"),
    "copy": Family("/print/", 12, 5),
    "near": Family("/near/", 14, 6),
    "private": Family("/private/", 20, 7),
    "open": Family("/private/open/", 40, 7),
    "nofollow": Family("/unvouched/", 25, 8, rel="nofollow"),
    "closed": Family("/closed/", 31, 9),
    "behind": Family("/behind/", 31, 9, linked=False),
    "orphan": Family("/orphan/", 50, 11, linked=False),
    "refresh": Family("/refresh/", 61, 12),
    "loop": Family("/loop/", 97, 14),
    "broken": Family("/broken/", 199, 15),
    "text": Family("/notes/", 40, 2, ".txt"),
    "document": Family("/files/", 6, 1, ".pdf"),
}


# What stands where on a page: host, path, kind, anchor (escaped), rel, fragment. A path without a leading slash is a
# whole address of another scheme.
Spot: TypeAlias = tuple[int, str, str, str, str, str]


class Plan(NamedTuple):
    """All links of a page in document order, by the block they stand in."""

    head: list[Spot]
    nav: list[Spot]
    contact: list[Spot]
    kinds: list[Spot]
    main: list[Spot]
    forms: list[Spot]
    foot: list[Spot]


def mix(a: int, b: int) -> int:
    """64 well-stirred bits of two numbers."""
    x = (a ^ (b * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019)) & MASK
    x ^= x >> 32
    x = (x * 0xD6E8FEB86659FD93) & MASK
    x ^= x >> 29
    x = (x * 0xD6E8FEB86659FD93) & MASK
    return x ^ (x >> 32)


def plain(text: str) -> str:
    return text.replace("&amp;", "&")
