"""Profiles in social networks that a page links to; links that only share the page are none."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from weft.records import Item

SOCIAL: Final = "social"
MAX_ITEMS: Final = 10_000

_NAME = r"[^/?#\s]+"
_NETWORKS: Final = (
    (
        r"(?:[a-z-]+\.)?facebook\.com|fb\.com|fb\.me",
        rf"(?:pages/{_NAME}/\d+|groups/{_NAME}|people/{_NAME}/\d+|profile\.php\?id=\d+|{_NAME})",
        "facebook.com",
    ),
    (r"(?:mobile\.)?twitter\.com|x\.com", r"@?\w{1,15}", "x.com"),
    (r"(?:[a-z]{2,3}\.)?linkedin\.com", rf"(?:in|company|school|showcase|pub)/{_NAME}", "linkedin.com"),
    (r"instagram\.com", r"[\w.]{1,30}", "instagram.com"),
    (r"(?:m\.)?youtube\.com", rf"(?:@{_NAME}|(?:channel|user|c)/{_NAME})", "youtube.com"),
    (r"tiktok\.com", r"@[\w.]+", "tiktok.com"),
    (r"github\.com", r"[\w-]{1,39}", "github.com"),
    (r"gitlab\.com", r"[\w.-]+", "gitlab.com"),
    (r"researchgate\.net", r"profile/[\w-]+", "researchgate.net"),
    (r"orcid\.org", r"\d{4}-\d{4}-\d{4}-\d{3}[\dXx]", "orcid.org"),
    (r"scholar\.google\.[a-z.]{2,6}", r"citations\?(?:[^#]*&)?user=[\w-]{12}", "scholar.google.com"),
    (r"xing\.com", rf"(?:profile|companies|pages)/{_NAME}", "xing.com"),
    (r"(?:m\.)?vk\.(?:com|ru)", r"[\w.]+", "vk.com"),
    (r"(?:m\.)?ok\.ru", rf"(?:group/|profile/)?{_NAME}", "ok.ru"),
    (r"t\.me|telegram\.me", r"(?:joinchat/)?\+?[\w-]+", "t.me"),
    (r"wa\.me", r"\d+", "wa.me"),
    (r"threads\.(?:net|com)", r"@[\w.]+", "threads.net"),
    (r"bsky\.app", rf"profile/{_NAME}", "bsky.app"),
    (r"pinterest\.[a-z.]{2,6}", r"[\w-]+", "pinterest.com"),
    (r"flickr\.com", rf"(?:photos|people)/{_NAME}", "flickr.com"),
    (r"vimeo\.com", r"(?!\d+$)\w+", "vimeo.com"),
    (r"soundcloud\.com", r"[\w-]+", "soundcloud.com"),
    (r"medium\.com", r"@[\w.-]+", "medium.com"),
    (r"(?:mastodon\.[a-z]+|mstdn\.[a-z]+|fosstodon\.org|[\w-]+\.social)", r"@\w+", ""),
)  # fmt: skip
_PROFILES: Final = tuple(
    (re.compile(rf"https?://(?:www\.)?({host})/({path})/?(?:[?#].*)?\Z", re.IGNORECASE), name)
    for host, path, name in _NETWORKS
)
_NAMES = """
    facebook fb twitter x linkedin instagram youtube tiktok github gitlab researchgate orcid google xing vk ok t
    telegram wa threads bsky pinterest flickr vimeo soundcloud medium mastodon mstdn fosstodon
"""
_HOSTS = re.compile(
    rf"(?:[\w-]+\.){{0,3}}(?:{'|'.join(_NAMES.split())})\.[a-z.]{{2,6}}\Z|[\w-]+\.social\Z", re.IGNORECASE
)
_NO_NAMES: Final = frozenset(
    """ads about accounts apps authorize business dialog developer embed enterprise events explore feed
    features hashtag help home i intent jobs js legal like.php login login.php marketplace oauth orgs p
    permalink.php photo.php pin plugin plugins policies pricing privacy reel reels sdk.js search security
    settings share share.php sharer sharer.php signup sponsors stories story.php terms topics tos tr v2.0 v3.0
    watch widgets""".split()  # noqa: SIM905
)
"""First parts of paths that are no names of people or firms."""


def profiles_of(links: Iterable[str]) -> list[Item]:
    """The profiles among the links of a page, each once, in their order; their place is the number of the link."""
    found: dict[str, Item] = {}
    for at, link in enumerate(links):
        profile = profile_of(link)
        if profile and len(found) < MAX_ITEMS:
            found.setdefault(profile, Item(SOCIAL, profile, "", "plain", at, 0.9))
    return list(found.values())


def profile_of(link: str) -> str:
    """The address of a profile in its shortest form; "" for any other link."""
    scheme, _, rest = link.partition("://")
    if scheme not in ("http", "https") or not _is_network(rest.partition("/")[0]):
        return ""
    for pattern, name in _PROFILES:
        found = pattern.match(link)
        if found:
            path = found[2]
            first = re.split(r"[/?]", path, maxsplit=1)[0].lower().lstrip("@")
            if first in _NO_NAMES or path.lower() in ("groups", "pages", "people"):
                return ""
            return f"https://{name or found[1].lower()}/{path.rstrip('/')}"
    return ""


@lru_cache(maxsize=4_096)
def _is_network(host: str) -> bool:
    """Whether a host may be that of a social network: nearly none of a page is."""
    return _HOSTS.match(host) is not None
