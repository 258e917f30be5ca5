"""What a sitemap names, and the bounds within which it is read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from weft.url import host_of, resolve

MAX_URLS: Final = 50_000  # sitemaps.org
MAX_TEXT_B: Final = 16_384  # of one field or line; a longer one is no URL
MAX_TAG_B: Final = 4_096  # of a tag whose attributes are read
MAX_ALTERNATES: Final = 200  # of one entry
MAX_EXTRA_FIELDS: Final = 1_000  # of one extension
MAX_TAGS: Final = 2_000_000  # 50,000 entries with 35 tags each; a body of nothing but tags costs no more than that
MAX_IDLE_TAGS: Final = 100_000  # that name nothing, in a row: an entry with a thousand images has some ten thousand
WINDOW_B: Final = 1 << 18
LEFT_OUT: Final = "the rest is left out"

_BEHIND_HOST = re.compile(r"(?::\d{1,5})?(?:[/?#]|\Z)")

Kind = Literal["urlset", "index", "rss", "atom", "text", "none"]


class Extra(NamedTuple):
    """One image, video, news or PageMap element of an entry: its elements in order as (name, text, attributes).

    An element comes before those inside it. ``links`` and ``mobile`` are such elements too, of one field and of none.
    """

    kind: str
    fields: tuple[tuple[str, str, dict[str, str]], ...]


class SitemapEntry(NamedTuple):
    """One URL that a sitemap names. ``url`` is absolute and serialised; texts are as written, None where absent."""

    url: str
    lastmod: str | None = None  # ISO 8601, UTC, ends in Z; None where absent or not a date
    loc: str = ""
    lastmod_text: str | None = None
    changefreq: str | None = None
    priority: str | None = None
    alternates: tuple[str, ...] = ()
    extras: tuple[Extra, ...] = ()


@dataclass
class Sitemap:
    """What a sitemap names: pages in ``entries``, further sitemaps in ``children``."""

    kind: Kind = "none"
    root: str = ""  # local name of the first element, lower case
    entries: list[SitemapEntry] = field(default_factory=list)
    children: list[SitemapEntry] = field(default_factory=list)
    problem: str = ""

    @property
    def is_cut(self) -> bool:
        """Whether a bound was reached, and what was read until then is all there is."""
        return LEFT_OUT in self.problem


def http_url(base: str, loc: str) -> str | None:
    """The URL that an entry names; None where it is none of the web. The sitemap's own host may lack its scheme."""
    if loc[:4] != "http" and _names_host(host_of(base), loc):
        loc = f"//{loc}"
    found = resolve(base, loc) if loc else None
    if found is None or not found.startswith(("http://", "https://")):
        return None
    return found.partition("#")[0]


def _names_host(host: str, loc: str) -> bool:
    """Whether a text without scheme begins with this host, and maybe its port."""
    return bool(host) and loc[: len(host)].lower() == host and _BEHIND_HOST.match(loc, len(host)) is not None
