"""Which names can stand behind the sign of an e-mail address, and which of these names are only examples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Final

MAX_DOMAIN: Final = 253
MAX_LOCAL: Final = 64

_ASCII_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\Z")
_ANY_LABEL = re.compile(r"[^\W_](?:(?:[^\W_]|-){0,61}[^\W_])?\Z")
_GLUED = re.compile(
    r"([a-z]{2,18})(?=[A-Z0-9-]|[^\x00-\x7f])"
)  # "siTel", "edu520-621": two cells of a table without a blank
_IMAGE_SCALE = re.compile(r"\d(?:\.\d)?x\.", re.IGNORECASE)  # logo@2x.png
_VERSION = re.compile(r"\d+\.\d+(?:\.|\Z)")  # react@18.2.0
_FILES = frozenset({"zip", "mov"})  # top-level domains that are nearly always the ends of file names

_RESERVED = frozenset({"test", "example", "invalid", "localhost"})  # RFC 2606, section 2
_RESERVED_DOMAINS = frozenset({"example.com", "example.net", "example.org", "example.edu"})
_MADE_UP_DOMAINS = frozenset(
    """domain.com domain.tld mydomain.com yourdomain.com your-domain.com yoursite.com yourwebsite.com yourcompany.com
    company.com mysite.com website.com youremail.com sentry.io wixpress.com""".split()  # noqa: SIM905
)


def domain_of_labels(labels: Sequence[str]) -> str:
    """The longest domain that the first labels make, in lower case; "" if they make none.

    What follows an address without a blank is cut off: ``uni.si.Next``, ``uni.siTel``.
    """
    cut = list(labels)
    for at in range(2, len(cut)):
        if cut[at][:1].isupper() and cut[at][1:].islower() and cut[at - 1].islower() and is_domain(cut[:at]):
            cut = cut[:at]
            break
    while len(cut) >= 2:
        cut[-1] = cut[-1].rstrip("-")
        if is_domain(cut):
            return ".".join(cut).lower()
        glued = _GLUED.match(cut[-1])
        if glued and is_domain([*cut[:-1], glued[1]]):
            return ".".join([*cut[:-1], glued[1]]).lower()
        cut.pop()
    return ""


def is_domain(labels: Sequence[str]) -> bool:
    """Whether labels make a name under a real top-level domain that can receive mail."""
    top = labels[-1].lower()
    if len(labels) < 2 or not (top in top_level_domains() or top in _RESERVED) or top in _FILES:
        return False
    name = ".".join(labels)
    if len(name) > MAX_DOMAIN or _IMAGE_SCALE.match(name) or _VERSION.match(name):
        return False
    label = _ASCII_LABEL if name.isascii() else _ANY_LABEL
    return all(map(label.match, labels))


@lru_cache(maxsize=4096)
def is_reserved(domain: str) -> bool:
    """Whether a domain is one of the names kept for examples (RFC 2606), or one that templates put in their place."""
    labels = domain.split(".")
    return labels[-1] in _RESERVED or ".".join(labels[-2:]) in _RESERVED_DOMAINS | _MADE_UP_DOMAINS


@cache
def top_level_domains() -> frozenset[str]:
    """All top-level domains there are, those in other scripts in both of their forms."""
    from importlib.util import find_spec
    from pathlib import Path

    spec = find_spec("publicsuffixlist")  # finds the folder, imports nothing
    folders = spec.submodule_search_locations if spec else None
    if not folders:
        raise ModuleNotFoundError("the package publicsuffixlist is missing: install weft again")
    names = set()
    with Path(folders[0], "public_suffix_list.dat").open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("// ===END ICANN"):
                break
            if line[0] not in "/ \n":
                names.add(line.split(None, 1)[0].rpartition(".")[2].lower())
    return frozenset(names | {f"xn--{name.encode('punycode').decode()}" for name in names if not name.isascii()})
