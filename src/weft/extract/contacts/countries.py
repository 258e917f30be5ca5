"""In which country the telephone numbers of a page are, where they do not say so themselves."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

_LANGUAGE = re.compile(
    rb"""<html[^>]*?\slang\s*=\s*["']?([A-Za-z]{2,3}(?:[-_][A-Za-z]{4})?(?:[-_][A-Za-z]{2})?)\b""", re.IGNORECASE
)
_OWN_HOST = re.compile(
    rb"""<(?:link|meta|base)[^>]*?(?:canonical|og:url|<base)[^>]*?(?:href|content)\s*=\s*["']?https?://([^/"'\s>:?#]+)""",
    re.IGNORECASE,
)
_HEAD_B: Final = 32_768

# Domains of countries that are sold to everybody tell nothing of a country.
_FOR_ALL: Final = frozenset(
    "ac ai app bz cc co fm gg gl im io la ly me ms mu nu pw sc sh st tk to tv vc ws cx eu".split()  # noqa: SIM905
)
_OTHERWISE: Final = {
    "uk": "GB",
    "su": "RU",
    "edu": "US",
    "gov": "US",
    "mil": "US",
    "cat": "ES",
    "рф": "RU",
    "xn--p1ai": "RU",
}

# Languages that are at home in one country, by which most pages in them are.
_HOME: Final = dict(
    pair.split(":")
    for pair in """sl:SI el:GR ru:RU de:DE fr:FR es:ES it:IT pl:PL cs:CZ sk:SK hu:HU hr:HR sr:RS bs:BA mk:MK bg:BG
    ro:RO nl:NL da:DK sv:SE nb:NO nn:NO no:NO fi:FI et:EE lv:LV lt:LT is:IS ja:JP ko:KR zh:CN tr:TR uk:UA be:BY fa:IR
    he:IL pt:PT ca:ES eu:ES gl:ES sq:AL ka:GE hy:AM az:AZ kk:KZ th:TH vi:VN id:ID ms:MY mt:MT""".split()  # noqa: SIM905
)


def country_of(body: bytes, host: str, numbers: Iterable[str], domains: Iterable[str]) -> str:
    """The country that most speaks for, as ISO 3166 has it; "" where nothing does.

    ``numbers`` are the countries of numbers that say theirs, ``domains`` those of the addresses of the page.
    """
    votes: Counter[str] = Counter()
    for country, count in Counter(numbers).items():
        votes[country] += 2 * min(count, 3)
    head = body[:_HEAD_B]
    language = _LANGUAGE.search(head)
    if language:
        parts = language[1].decode("ascii").replace("_", "-").split("-")
        if len(parts) > 1 and len(parts[-1]) == 2:
            votes[parts[-1].upper()] += 3
        elif parts[0].lower() in _HOME:
            votes[_HOME[parts[0].lower()]] += 1
    own = _OWN_HOST.search(head)
    for name in {host, own[1].decode("ascii", "replace") if own else ""}:
        country = country_of_domain(name)
        if country:
            votes[country] += 4
    for country in {country_of_domain(domain) for domain in domains}:
        if country:
            votes[country] += 2
    return max(votes, key=lambda country: (votes[country], country)) if votes else ""


def country_of_domain(host: str) -> str:
    """The country of a host by its top-level domain; "" where that is open to all."""
    top = host.rpartition(".")[2].lower()
    if top in _OTHERWISE:
        return _OTHERWISE[top]
    return top.upper() if len(top) == 2 and top.isalpha() and top not in _FOR_ALL else ""
