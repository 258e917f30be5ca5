"""The shape of an invented web: its hosts, the numbers, names and levels of its pages."""

from __future__ import annotations

import hashlib
import random
import re
import struct
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache

from weft.demo.invented.nouns import BRANCHES, FAMILIES, SUFFIX, TRAP_PREFIX, mix
from weft.demo.invented.words import LANGUAGES, SECTIONS

_NUMBER = re.compile(r"(?:^|[-/=])(\d{1,9})(?:\.html|\.php|/)?$")
_SENTENCES = 512
_DRAWS = struct.Struct("128H")


class Shape:
    """Hosts, pages and special addresses by number; what stands on them is told elsewhere, from these."""

    suffix = SUFFIX

    def __init__(
        self,
        seed: int,
        hosts: int = 3,
        pages: int = 300,
        *,
        port: int = 80,
        traps: bool = False,
        crawl_delays: tuple[float, ...] = (),
        edition: int = 0,
    ) -> None:
        if hosts < 1 or pages < hosts:
            raise ValueError("an invented web needs at least one host, and a page on each")
        self.seed = seed
        self.hosts = hosts
        self.pages = pages
        self.port = port
        self.traps = traps
        self.crawl_delays = tuple(crawl_delays)
        self.edition = edition
        self.trap_prefixes: tuple[str, ...] = (TRAP_PREFIX,) if traps else ()
        self._seed_bits = mix(0x57EF7, seed)
        self.port_text = "" if port == 80 else f":{port}"
        self.levels = _levels(pages)
        self.salt: Callable[[int], int] = lru_cache(1 << 12)(lambda host: mix(self._seed_bits, host))
        self.name: Callable[[int, int], tuple[str, str, int]] = lru_cache(1 << 15)(self._name_of)
        self.sentences: Callable[[int], tuple[list[str], list[str]]] = lru_cache(len(LANGUAGES))(self._sentences_of)

    # --- names

    def host_name(self, host: int) -> str:
        return f"h{host}.{self.suffix}"

    def host_number(self, name: str) -> int | None:
        """The number of a host name (a port is ignored), or None."""
        label, dot, rest = name.lower().partition(".")
        if not dot or rest.partition(":")[0] != self.suffix or label[:1] != "h" or not label[1:].isdecimal():
            return None
        number = int(label[1:8])
        return number if number < self.hosts and label == f"h{number}" else None

    def base(self, host: int) -> str:
        """The URL of a host without a path."""
        return f"http://h{host}.{self.suffix}{self.port_text}"

    def url(self, host: int, path: str = "/") -> str:
        return self.base(host) + path

    def seeds(self) -> list[str]:
        """The front pages of all hosts."""
        return [self.url(host) for host in range(self.hosts)]

    def place(self, url: str) -> tuple[int, str] | None:
        """Host number and path of a URL of this web, or None."""
        if not url.startswith("http://"):
            return None
        authority, _, rest = url[7:].partition("/")
        host = self.host_number(authority)
        if host is None or authority != f"{self.host_name(host)}{self.port_text}":
            return None
        return host, f"/{rest}".partition("#")[0]

    def size(self, host: int) -> int:
        """How many ordinary pages a host has."""
        return self.pages // self.hosts + (host < self.pages % self.hosts)

    # --- what stands at a path

    def page_number(self, host: int, path: str) -> int | None:
        """The number of the ordinary page at a path."""
        if path in ("/", "/index.html"):
            return 0
        found = _NUMBER.search(path)
        if found is None:
            return None
        number = int(found[1])
        return number if 0 < number < self.size(host) and self.name(host, number)[0] == path else None

    def member(self, host: int, path: str) -> tuple[str, int, int] | None:
        """Role, number and step of a special address."""
        found = re.fullmatch(r"(/[a-z]+/(?:open/)?)(\d{1,9})(\.[a-z]+)?(?:/([23]))?", path)
        if found is None:
            return None
        number, step = int(found[2]), int(found[4] or 1)
        for role, family in FAMILIES.items():
            if family.prefix == found[1] and family.suffix == (found[3] or ""):
                there = family.has(number) and 0 <= number < self.size(host) and str(number) == found[2]
                return (role, number, step) if there and step <= self.steps(role, host, number) else None
        return None

    def steps(self, role: str, host: int, number: int) -> int:
        """How many addresses a member is made of: redirects are chains of up to three, loops are pairs."""
        if role == "redirect":
            return 1 + mix(self.salt(host), number ^ 0xC4A1) % 3
        return 2 if role == "loop" else 1

    def numbers(self, host: int, role: str) -> range:
        family = FAMILIES[role]
        return range(family.offset, self.size(host), family.stride)

    def crawl_delay(self, host: int) -> float:
        """The delay that a host asks for; 0: none."""
        return self.crawl_delays[host % len(self.crawl_delays)] if self.crawl_delays else 0.0

    # --- ordinary pages

    def _name_of(self, host: int, number: int) -> tuple[str, str, int]:
        """Path, escaped title and language of a page; cached, since links repeat."""
        bits = mix(self.salt(host), number)
        tongue = (bits >> 8) % len(LANGUAGES) if bits % 5 == 0 else host % len(LANGUAGES)
        _, _, adjectives, nouns, _, _, slugs = LANGUAGES[tongue]
        noun = (bits >> 16) & 15
        joined = "" if bits & 0x300000000 else f"&amp; {nouns[noun - 3]} "
        title = f"{adjectives[(bits >> 24) & 15]} {nouns[noun]} {joined}{number}"
        if number == 0:
            return "/", f"{title} h{host}", tongue
        section = SECTIONS[(bits >> 36) & 7]
        slug = slugs[noun]
        form = (bits >> 40) % 10
        if form < 6:
            path = f"/{section}/{slug}-{number}.html"
        elif form == 6:
            path = f"/{section}/{slug}/{number}/"
        elif form == 7:
            path = f"/{section}/{slug}?id={number}"
        elif form == 8:
            path = f"/{section}/{number}"
        else:
            path = f"/{section}/{slug}-{number}.php"
        return path, title, tongue

    def level(self, number: int) -> int:
        """The least number of clicks from the front page."""
        return bisect_right(self.levels, number) - 1

    def limit(self, host: int, number: int) -> int:
        """Pages below this number may be linked from a page: they lie at most one level deeper."""
        return min(self.size(host), self.levels[self.level(number) + 2])

    def draws(self, host: int, number: int) -> tuple[int, ...]:
        """The 128 random numbers of 16 bits that a page is made of."""
        return _DRAWS.unpack(hashlib.shake_128(b"%d.%d.%d" % (self.seed, host, number)).digest(256))

    def _sentences_of(self, tongue: int) -> tuple[list[str], list[str]]:
        """512 beginnings and 512 ends of sentences of a language."""
        language = LANGUAGES[tongue]
        draw = random.Random(self.seed * 31 + tongue)
        words = language.others + language.nouns + tuple(word.lower() for word in language.adjectives)
        ends = [" ".join(draw.choices(words, k=draw.randint(4, 9))) for _ in range(2 * _SENTENCES)]
        return [end[:1].upper() + end[1:] for end in ends[:_SENTENCES]], ends[_SENTENCES:]


def _levels(pages: int) -> list[int]:
    """The first number of every level of the tree, with two levels to spare."""
    starts, first, width = [0], 1, BRANCHES
    while first < pages * BRANCHES * BRANCHES:
        starts.append(first)
        first += width
        width *= BRANCHES
    return [*starts, first, first + width]
