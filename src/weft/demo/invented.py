"""A made-up web in which every answer is a pure function of the seed and the URL.

No disk, and no memory that grows with the number of pages: a million pages cost nothing until they are asked for. The
same functions that write a page also tell what is on it, so the answer key (pages, depths, links, duplicates, refused
areas, planted addresses) is exact without a crawl.

How a host is made. Its ``n`` pages are numbered; page 0 is ``/``, page k has the children 12k+1 .. 12k+12, so every
page is reachable and few clicks deep. All other links of a page lead at most one level deeper than the page itself,
hence the least distance from ``/`` is the level in that tree, with or without sitemaps, for one host or for all of them
as seeds. Beside a page with a certain number stand special addresses that carry the number in their name: ``/go/13`` is
the redirect that page 13 links to, ``/print/17`` the exact copy of page 17, and so on (`FAMILIES`).
"""
# ruff: noqa: RUF001 - words of many languages are meant

from __future__ import annotations

import gzip
import hashlib
import random
import re
import struct
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from email.utils import formatdate
from functools import lru_cache
from html import escape
from typing import NamedTuple

SUFFIX = "weft.test"
BRANCHES = 12
SITEMAP_URLS = 5_000
FOLLOWED = frozenset({"a", "area", "frame", "iframe", "refresh", "onclick", "redirect", "sitemap"})
BINARY = (".pdf", ".png", ".mp3", ".swf", ".css", ".js")
TRAP_PREFIX = "/trap/"


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

_LINKED = [(role, family.stride, family.offset) for role, family in FAMILIES.items() if family.linked]
MASK = (1 << 64) - 1


def mix(a: int, b: int) -> int:
    """64 well-stirred bits of two numbers."""
    x = (a ^ (b * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019)) & MASK
    x ^= x >> 32
    x = (x * 0xD6E8FEB86659FD93) & MASK
    x ^= x >> 29
    x = (x * 0xD6E8FEB86659FD93) & MASK
    return x ^ (x >> 32)


class Language(NamedTuple):
    code: str
    legacy: str  # the charset of some of its pages
    adjectives: tuple[str, ...]
    nouns: tuple[str, ...]
    others: tuple[str, ...]
    related: str  # a heading
    slugs: tuple[str, ...]  # the nouns as they stand in paths


def _language(code: str, legacy: str, related: str, adjectives: str, nouns: str, others: str) -> Language:
    from urllib.parse import quote

    names = tuple(nouns.split())
    return Language(
        code, legacy, tuple(adjectives.split()), names, tuple(others.split()), related, tuple(map(quote, names))
    )


LANGUAGES: tuple[Language, ...] = (
    _language(
        "en", "windows-1252", "Related pages",
        "Old Quiet Green Northern Open Small Bright Early Common Wide Silver Hidden Long Early Plain Warm",
        "river garden letter market bridge winter harbour story mountain window kitchen teacher "
        "forest museum morning valley",
        "the of and a in that is was for on with as by from at which this many where when they have "
        "people found between "
        "year often made new first town every built little water road known under since house light "
        "after before most",
    ),
    _language(
        "de", "windows-1252", "Verwandte Seiten",
        "Alte Stille Grüne Große Offene Kleine Helle Frühe Schöne Weite Silberne Lange Warme Neue Rote Ferne",
        "brücke straße küche stadt blume geschichte schule wiese mühle quelle burg kirche insel "
        "höhle werkstatt ernte",
        "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es "
        "an werden aus er hat "
        "daß sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder "
        "aber vor zur bis mehr",
    ),
    _language(
        "sl", "windows-1250", "Sorodne strani",
        "Stara Tiha Zelena Velika Odprta Majhna Svetla Zgodnja Lepa Široka Srebrna Dolga Topla Nova Rdeča Daljna",
        "reka hiša šola cesta knjiga zgodba gora voda trgovina delavnica pokrajina jesen ladja sveča češnja žetev",
        "je in na se v za da so ki ne pa bi z kot po tudi od ali še že le kako zelo vse tako kjer "
        "med pri pod nad človek "
        "leto mesto delo dan svet država čas življenje otrok vprašanje pot stran beseda",
    ),
    _language(
        "fr", "windows-1252", "Pages voisines",
        "Vieille Calme Verte Grande Ouverte Petite Claire Belle Large Longue Chaude Nouvelle Rouge "
        "Lointaine Simple Rare",
        "rivière maison école lettre forêt fenêtre cuisine montagne île église histoire moisson "
        "lumière côte fête vallée",
        "le la les de des et en un une du que qui dans pour pas au sur ce par avec plus est sont "
        "mais comme ou où leur "
        "bien sans peut tout aussi après depuis année été même très encore toujours pays ville",
    ),
    _language(
        "ru", "windows-1251", "Похожие страницы",
        "Старая Тихая Зелёная Большая Открытая Малая Светлая Ранняя Красивая Широкая Долгая Тёплая "
        "Новая Красная Дальняя Редкая",
        "река книга школа дорога вода гора зима осень улица мельница площадь картина деревня песня станция лодка",
        "и в не на что он с как это по но они мы она так его за от меня бы только о из когда уже "
        "для вот кто да год был "
        "человек время дело жизнь день рука работа слово место друг дом город вопрос земля",
    ),
    _language(
        "el", "iso-8859-7", "Σχετικές σελίδες",
        "Παλιά Ήσυχη Πράσινη Μεγάλη Ανοιχτή Μικρή Φωτεινή Όμορφη Πλατιά Μακριά Ζεστή Νέα Κόκκινη Μακρινή Απλή Σπάνια",
        "θάλασσα πόλη σχολή βιβλιοθήκη γέφυρα ιστορία ελιά αγορά εκκλησία πλατεία νύχτα άνοιξη "
        "λίμνη κουζίνα εικόνα βάρκα",
        "και το να του η της με που την από για τα είναι των σε ο οι στο θα τη στην τον δεν τους "
        "ένα μια ότι αυτό όπως "
        "πολύ κάθε χρόνο άνθρωπος ημέρα ζωή κόσμος σπίτι δρόμος νερό λόγος",
    ),
    _language(
        "fa", "utf-8", "صفحه‌های مرتبط",
        "قدیمی آرام سبز بزرگ باز کوچک روشن زیبا پهن بلند گرم تازه سرخ دور ساده کمیاب",
        "رودخانه کتاب مدرسه خیابان باغ کوه زمستان پاییز بازار پل داستان دریا روستا پنجره چراغ نامه",
        "و در به از که این را با است برای آن یک خود تا کرد بر هم نیز گفت می شد او ما اما یا شده باید هر مردم سال روز "
        "کار زندگی شهر خانه آب راه زمان دست جهان",
    ),
)  # fmt: skip

SECTIONS = ("news", "guide", "shop", "people", "archive", "research", "events", "help")
_NUMBER = re.compile(r"(?:^|[-/=])(\d{1,9})(?:\.html|\.php|/)?$")
_SENTENCES = 512
_FIRST_NAMES = ("anna", "maja", "ivan", "eleni", "omid", "luc", "greta", "tom", "sara", "nikos", "vera", "jan")
_LAST_NAMES = ("novak", "schmidt", "petrov", "rossi", "karimi", "dubois", "papas", "smith", "kovac", "lind")
_MAIL_DOMAINS = ("example.com", "example.org", "example.net", "mail.example.com")
MAIL_FORMS = (
    "plain", "mailto", "mailto_encoded", "spaced", "words", "round", "square", "curly", "pipes", "entities",
    "cloudflare",
)  # fmt: skip
PHONE_FORMS = ("international", "tel")

# What stands where on a page: host, path, kind, anchor (escaped), rel, fragment. A path without a leading slash is a
# whole address of another scheme.
_Spot = tuple[int, str, str, str, str, str]


class _Plan(NamedTuple):
    """All links of a page in document order, by the block they stand in."""

    head: list[_Spot]
    nav: list[_Spot]
    contact: list[_Spot]
    kinds: list[_Spot]
    main: list[_Spot]
    forms: list[_Spot]
    foot: list[_Spot]


class InventedWeb:
    """A web of ``pages`` ordinary pages on ``hosts`` hosts (``h0.weft.test`` ...), with its answer key.

    ``crawl_delays``: seconds for the robots.txt of the hosts in turn (0: none). ``traps``: endless areas below
    `TRAP_PREFIX`. ``edition``: every eighth page differs between editions, for recrawls. ``port`` belongs to the URLs.
    """

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
        suffix: str = SUFFIX,
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
        self.suffix = suffix
        self.trap_prefixes: tuple[str, ...] = (TRAP_PREFIX,) if traps else ()
        self._seed_bits = mix(0x57EF7, seed)
        self._port_text = "" if port == 80 else f":{port}"
        self._levels = _levels(pages)
        self._salt: Callable[[int], int] = lru_cache(1 << 12)(lambda host: mix(self._seed_bits, host))
        self._name: Callable[[int, int], tuple[str, str, int]] = lru_cache(1 << 15)(self._name_of)
        self._sentences: Callable[[int], tuple[list[str], list[str]]] = lru_cache(len(LANGUAGES))(self._sentences_of)

    def at_port(self, port: int) -> InventedWeb:
        """The same web with another port in its URLs."""
        return InventedWeb(
            self.seed, self.hosts, self.pages, port=port, traps=self.traps, crawl_delays=self.crawl_delays,
            edition=self.edition, suffix=self.suffix,
        )  # fmt: skip

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
        return f"http://h{host}.{self.suffix}{self._port_text}"

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
        if host is None or authority != f"{self.host_name(host)}{self._port_text}":
            return None
        return host, f"/{rest}".partition("#")[0]

    def size(self, host: int) -> int:
        """How many ordinary pages a host has."""
        return self.pages // self.hosts + (host < self.pages % self.hosts)

    # --- answers

    def answer(self, url: str) -> Answer:
        """What the web says to a GET of this URL; 404 for what it does not have."""
        place = self.place(url)
        return _missing("no such host") if place is None else self.answer_at(*place)

    def answer_at(self, host: int, path: str) -> Answer:
        """The same for a host number and a path with its query."""
        number = self._page_number(host, path)
        if number is not None:
            return self._page(host, number, path)
        if path == "/robots.txt":
            return Answer(200, "text/plain; charset=utf-8", (), self.robots(host).encode())
        if path.startswith("/sitemap"):
            return self._sitemap(host, path)
        if path.startswith(("/static/", "/img/")):
            return _static(path)
        if self.traps and path.startswith(TRAP_PREFIX):
            return self._trap(host, path)
        member = self._member(host, path)
        return _missing(path) if member is None else self._special(host, path, *member)

    def _page_number(self, host: int, path: str) -> int | None:
        """The number of the ordinary page at a path."""
        if path in ("/", "/index.html"):
            return 0
        found = _NUMBER.search(path)
        if found is None:
            return None
        number = int(found[1])
        return number if 0 < number < self.size(host) and self._name(host, number)[0] == path else None

    def _member(self, host: int, path: str) -> tuple[str, int, int] | None:
        """Role, number and step of a special address."""
        found = re.fullmatch(r"(/[a-z]+/(?:open/)?)(\d{1,9})(\.[a-z]+)?(?:/([23]))?", path)
        if found is None:
            return None
        number, step = int(found[2]), int(found[4] or 1)
        for role, family in FAMILIES.items():
            if family.prefix == found[1] and family.suffix == (found[3] or ""):
                there = family.has(number) and 0 <= number < self.size(host) and str(number) == found[2]
                return (role, number, step) if there and step <= self._steps(role, host, number) else None
        return None

    def _steps(self, role: str, host: int, number: int) -> int:
        """How many addresses a member is made of: redirects are chains of up to three, loops are pairs."""
        if role == "redirect":
            return 1 + mix(self._salt(host), number ^ 0xC4A1) % 3
        return 2 if role == "loop" else 1

    def _special(self, host: int, path: str, role: str, number: int, step: int) -> Answer:
        if role == "copy":
            return self._page(host, number, self._name(host, number)[0])
        if role == "near":
            return self._page(host, number, path, near=True)
        if role in ("redirect", "loop"):
            status, target = self._redirect(host, role, number, step)
            body = f'<!doctype html><title>moved</title><a href="{target}">moved</a>'.encode()
            return Answer(status, "text/html; charset=utf-8", (("Location", target),), body)
        if role == "missing":
            return Answer(410, "text/html; charset=utf-8", (), _GONE) if number % 45 == 4 else _missing(path)
        if role == "broken":
            return Answer(500, "text/html; charset=utf-8", (), _BROKEN)
        if role == "text":
            return Answer(200, "text/plain; charset=utf-8", (), self._notes(host, number).encode())
        if role == "document":
            return Answer(200, "application/pdf", (), _pdf(number))
        return self._small(host, path, role, number)

    def _redirect(self, host: int, role: str, number: int, step: int) -> tuple[int, str]:
        """Status and target of one step of a chain."""
        draw = mix(self._salt(host), number * 4 + step)
        prefix = FAMILIES[role].path(number)
        if role == "loop":
            return 302, f"{prefix}/2" if step == 1 else prefix
        if step < self._steps(role, host, number):
            return (301, 302, 303, 307, 308)[draw % 5], f"{prefix}/{step + 1}"
        target = self._name(host, (draw >> 8) % self._limit(host, number))[0]
        return (301, 302, 307, 308)[draw % 4], target if draw & 32 else self.base(host) + target

    def _notes(self, host: int, number: int) -> str:
        first, second = self._sentences(host % len(LANGUAGES))
        return f"Notes {number} of h{host}\n\n{first[number % 512]}, {second[host % 512]}.\n"

    # --- ordinary pages

    def _name_of(self, host: int, number: int) -> tuple[str, str, int]:
        """Path, escaped title and language of a page; cached, since links repeat."""
        bits = mix(self._salt(host), number)
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
        return bisect_right(self._levels, number) - 1

    def _limit(self, host: int, number: int) -> int:
        """Pages below this number may be linked from a page: they lie at most one level deeper."""
        return min(self.size(host), self._levels[self.level(number) + 2])

    def _draws(self, host: int, number: int) -> tuple[int, ...]:
        """The 128 random numbers of 16 bits that a page is made of."""
        return _DRAWS.unpack(hashlib.shake_128(b"%d.%d.%d" % (self.seed, host, number)).digest(256))

    def _plan(self, host: int, number: int, own: str, draws: tuple[int, ...]) -> _Plan:
        name = self._name
        contact = [
            (host, _mail_target(item), "a", item.value, "", "")
            for item in self._planted(host, number)
            if item.form in ("mailto", "mailto_encoded", "tel")
        ]
        head: list[_Spot] = [(host, "/static/style.css", "style", "", "stylesheet", "")]
        head.append((host, "/static/icon.png", "link", "", "icon", ""))
        if number % 9 == 2:
            head.append((host, name(host, number)[0], "canonical", "", "canonical", ""))
        head.append((host, "/static/app.js", "script", "", "", ""))
        nav: list[_Spot] = [(host, "/", "a", "Home", "", "")]
        if number:
            path, title, _ = name(host, (number - 1) // BRANCHES)
            nav.append((host, path, "a", title, "up", ""))
            path, title, _ = name(host, number - 1)
            nav.append((host, path, "a", title, "prev", ""))
        else:
            nav.append((host, "/index.html", "a", "Index", "", ""))
            other = range(BRANCHES * host + 1, min(BRANCHES * host + BRANCHES + 1, self.hosts))
            nav += [(at, "/", "a", name(at, 0)[1], "", "") for at in other]
            if self.traps:
                nav += [
                    (host, f"{TRAP_PREFIX}{place}", "a", place, "", "")
                    for place in ("calendar/2024/1", "maze/a", "cart?sid=0")
                ]
        foot: list[_Spot] = [(host, own, "a", "Top", "", "top")]
        return _Plan(
            head,
            nav,
            contact,
            self._kinds(host, number, draws),
            self._main(host, number, draws),
            _forms(host, number),
            foot,
        )

    def _main(self, host: int, number: int, draws: tuple[int, ...]) -> list[_Spot]:
        """Children, related pages, pages of other hosts, what the page's number brings, pictures."""
        name = self._name
        size, limit = self.size(host), self._limit(host, number)
        first = BRANCHES * number + 1
        numbers = list(range(first, min(first + BRANCHES, size)))
        numbers += [draw % limit for draw in draws[:6]]
        # squared, so that few pages are linked by many
        numbers += [(draw * draw >> 16) * limit >> 16 for draw in draws[6 : 14 + draws[14] % 9]]
        spots: list[_Spot] = []
        for at in numbers:
            path, title, _ = name(host, at)
            spots.append((host, path, "a", title, "", ""))
        if self.hosts > 1:
            level = self.level(number)
            for draw in draws[24 : 24 + draws[23] % 4]:
                other = (host + 1 + draw % (self.hosts - 1)) % self.hosts
                path, title, _ = name(other, draws[draw & 63] % min(self.size(other), self._levels[level + 2]))
                spots.append((other, path, "a", title, "", ""))
        for role, stride, offset in _LINKED:
            if number % stride == offset:
                family = FAMILIES[role]
                spots.append((host, family.path(number), "a", f"{role} {number}", family.rel, ""))
        if number & 1:
            spots.append((host, f"/img/{number % 100}.png", "image", "", "", ""))
            spots.append((host, "/img/logo@2x.png", "image", "", "", ""))
        return spots

    def _kinds(self, host: int, number: int, draws: tuple[int, ...]) -> list[_Spot]:
        """A block with links of the rarer kinds, on every 29th page."""
        if number % 29 != 7:
            return []
        limit = self._limit(host, number)
        places = [self._name(host, draw % limit)[0] for draw in draws[28:31]]
        return [
            (host, places[0], "iframe", "", "", ""),
            (host, places[1], "area", "", "", ""),
            (host, places[2], "onclick", "", "", ""),
            (host, f"/static/{number}.mp3", "media", "", "", ""),
            (host, f"/static/{number}.swf", "embed", "", "", ""),
        ]

    def _page(self, host: int, number: int, own: str, *, near: bool = False) -> Answer:
        """An ordinary page as it is sent; ``own`` is the path it is asked at."""
        _, title, tongue = self._name(host, number)
        language = LANGUAGES[tongue]
        encoding = self._encoding(number, language)
        draws = self._draws(host, number)
        plan = self._plan(host, number, own, draws)
        prefix = self._href_prefix(host, number, own)
        noindex, by_header = self._noindex(number)
        head = "".join([self._head_tag(host, spot) for spot in plan.head])
        robots = '<meta name="robots" content="noindex">' if noindex and not by_header else ""
        nav = " | ".join([self._anchor(host, spot, prefix) for spot in plan.nav])
        listed = "".join(
            [
                f'<li><a href="{prefix}{spot[1][1:]}">{spot[3]}</a></li>\n'  # the most of them, without a call
                if spot[0] == host and spot[3] and not spot[4]
                else self._item(host, spot, prefix)
                for spot in plan.main
            ]
        )
        turned = ' dir="rtl"' if language.code == "fa" else ""
        text = (
            f'<!doctype html>\n<html lang="{language.code}"{turned}>\n<head>\n<meta charset="{encoding}">\n'
            f'<title>{title}</title>\n<meta name="description" content="{title} - {SECTIONS[number % 8]}">\n'
            f"{robots}{head}</head>\n<body>\n<nav>{nav}</nav>\n<h1>{title}</h1>\n"
            f"{self._text(host, number, tongue, draws, near)}{self._contact(host, number, plan)}"
            f"{self._kinds_html(plan)}<h2>{language.related}</h2>\n<ul>\n{listed}</ul>\n{_forms_html(number)}"
            f'<footer><a href="#top">Top</a> <small>h{host}, {number}</small></footer>\n</body>\n</html>\n'
        )
        body = text.encode(encoding, "xmlcharrefreplace")
        headers = [
            ("Last-Modified", self._last_modified(host, number)),
            ("ETag", f'"{self._tag(host, number, near):x}"'),
        ]
        if noindex and by_header:
            headers.append(("X-Robots-Tag", "noindex"))
        named = "text/html" if number % 8 == 2 else f"text/html; charset={encoding}"
        return Answer(200, named, tuple(headers), body)

    def _href_prefix(self, host: int, number: int, own: str) -> str:
        """What makes links of a page relative: some pages climb to the root; pages with exact copies never do."""
        if number == 0 or number % 5 or FAMILIES["copy"].has(number):
            return "/"
        return "../" * (own.partition("?")[0].count("/") - 1) or "./"

    def _anchor(self, host: int, spot: _Spot, prefix: str) -> str:
        at, path, _, anchor, rel, _ = spot
        href = prefix + path[1:] if at == host else f"http://h{at}.{self.suffix}{self._port_text}{path}"
        return f'<a href="{href}" rel="{rel}">{anchor}</a>' if rel else f'<a href="{href}">{anchor}</a>'

    def _item(self, host: int, spot: _Spot, prefix: str) -> str:
        if spot[2] == "image":
            return f'<img src="{spot[1]}" alt="picture">\n'
        at, path, _, anchor, rel, _ = spot
        href = prefix + path[1:] if at == host else f"http://h{at}.{self.suffix}{self._port_text}{path}"
        return (
            f'<li><a href="{href}" rel="{rel}">{anchor}</a></li>\n'
            if rel
            else f'<li><a href="{href}">{anchor}</a></li>\n'
        )

    def _head_tag(self, host: int, spot: _Spot) -> str:
        if spot[2] == "script":
            return f'<script src="{spot[1]}"></script>\n'
        place = f"{self.base(host)}{spot[1]}" if spot[2] == "canonical" else spot[1]
        return f'<link rel="{spot[4]}" href="{place}">\n'

    def _kinds_html(self, plan: _Plan) -> str:
        if not plan.kinds:
            return ""
        frame, area, click, media, embed = (spot[1] for spot in plan.kinds)
        return (
            f'<iframe src="{frame}"></iframe>\n'
            f'<map name="m"><area shape="rect" coords="0,0,9,9" href="{area}" alt="part"></map>\n'
            f"<button onclick=\"location.href='{click}'\">go</button>\n"
            f'<audio src="{media}"></audio>\n<embed src="{embed}">\n'
        )

    def _text(self, host: int, number: int, tongue: int, draws: tuple[int, ...], near: bool) -> str:
        """Paragraphs; a page that has a near-duplicate is longer, so that one other word leaves 99 % of it the same."""
        first, second = self._sentences(tongue)
        long = FAMILIES["near"].has(number)
        count = 30 if long else 6 + draws[32] % 9
        sentences = [f"{first[draw & 511]}, {second[draw >> 7]}. " for draw in draws[33 : 33 + count]]
        sentences[0] = f"{sentences[0]}{LANGUAGES[tongue].nouns[number % 16]} {host}.{number}. "
        if self.edition and mix(self._salt(host), number) & 7 == 0:
            sentences[1] = f"{sentences[1]}({self.edition}) "
        if near:
            sentences[-1] = f"{sentences[-1]}{LANGUAGES[tongue].nouns[number % 7]} "
        return "".join([f"<p>{''.join(sentences[at : at + 4])}</p>\n" for at in range(0, count, 4)])

    def _sentences_of(self, tongue: int) -> tuple[list[str], list[str]]:
        """512 beginnings and 512 ends of sentences of a language."""
        language = LANGUAGES[tongue]
        draw = random.Random(self.seed * 31 + tongue)
        words = language.others + language.nouns + tuple(word.lower() for word in language.adjectives)
        ends = [" ".join(draw.choices(words, k=draw.randint(4, 9))) for _ in range(2 * _SENTENCES)]
        return [end[:1].upper() + end[1:] for end in ends[:_SENTENCES]], ends[_SENTENCES:]

    def _encoding(self, number: int, language: Language) -> str:
        return language.legacy if number % 4 == 2 else "utf-8"

    def _noindex(self, number: int) -> tuple[bool, bool]:
        """Whether a page asks not to be indexed, and whether it says so in a header."""
        return number % 37 == 5, number % 2 == 1

    def _tag(self, host: int, number: int, near: bool) -> int:
        bits = mix(self._salt(host), number)
        return mix(bits, self.edition if bits & 7 == 0 else 0) ^ near

    def _last_modified(self, host: int, number: int) -> str:
        edition = self.edition if mix(self._salt(host), number) & 7 == 0 else 0
        return _http_date(1_600_000_000 + (number % 997) * 86_400 + edition * 3_600)

    # --- planted addresses

    def _planted(self, host: int, number: int) -> list[Planted]:
        found = []
        bits = mix(self._salt(host) ^ 0xE3A11, number)
        if number % 3 == 0:
            person = f"{_FIRST_NAMES[bits % len(_FIRST_NAMES)]}.{_LAST_NAMES[(bits >> 8) % len(_LAST_NAMES)]}"
            value = f"{person}.{host}x{number}@{_MAIL_DOMAINS[(bits >> 16) % len(_MAIL_DOMAINS)]}"
            found.append(Planted(value, "email", MAIL_FORMS[(bits >> 24) % len(MAIL_FORMS)]))
        if number % 5 == 0:
            digits = (bits >> 32) % 100
            value = f"+120255501{digits:02}" if bits & (1 << 40) else f"+4420794609{digits:02}"
            found.append(Planted(value, "phone", PHONE_FORMS[(bits >> 44) & 1]))
        return found

    def _contact(self, host: int, number: int, plan: _Plan) -> str:
        planted = self._planted(host, number)
        if not planted:
            return ""
        return f"<p>{'; '.join([_written(item) for item in planted])}</p>\n"

    # --- special pages

    def _small(self, host: int, path: str, role: str, number: int) -> Answer:
        """The pages beside the ordinary ones: short, each with a body of its own."""
        head = headers = ""
        links = "".join(self._small_tag(spot) for spot in self._small_spots(host, role, number))
        if role == "closed":
            head, headers = ("", "nofollow") if number % 2 else ('<meta name="robots" content="nofollow">', "")
        text = f"<p>{self._notes(host, number)} {role} {number}</p>"
        body = (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{role} {number}</title>{head}'
            f"</head>\n<body><h1>{role} {number} of h{host}</h1>{text}{links}</body></html>\n"
        ).encode()
        return Answer(200, "text/html; charset=utf-8", (("X-Robots-Tag", headers),) if headers else (), body)

    def _small_spots(self, host: int, role: str, number: int) -> list[_Spot]:
        spots: list[_Spot] = []
        if role == "refresh":
            spots.append(
                (
                    host,
                    self._name(host, mix(self._salt(host), number ^ 0x4EF) % self._limit(host, number))[0],
                    "refresh",
                    "",
                    "",
                    "",
                )
            )
        spots.append((host, "/", "a", "Home", "", ""))
        if role == "closed":
            spots.append((host, FAMILIES["behind"].path(number), "a", f"behind {number}", "", ""))
        return spots

    def _small_tag(self, spot: _Spot) -> str:
        if spot[2] == "refresh":
            return f'<meta http-equiv="refresh" content="0; url={spot[1]}">'
        return f'<p><a href="{spot[1]}">{spot[3]}</a></p>'

    def _trap(self, host: int, path: str) -> Answer:
        links = "".join(f'<li><a href="{escape(place)}">{anchor}</a></li>' for place, anchor in self._trap_places(path))
        body = (
            "<!doctype html>\n<html><head><meta charset=utf-8><title>trap</title></head>"
            f"<body><p>{escape(path.partition('?')[0])}</p>"
            f'<ul><li><a href="/">Home</a></li>{links}</ul></body></html>\n'
        )
        return Answer(200, "text/html; charset=utf-8", (), body.encode())

    def _trap_places(self, path: str) -> list[tuple[str, str]]:
        if found := re.match(r"/trap/calendar/(\d{1,6})/(\d{1,2})$", path):
            month = int(found[1]) * 12 + int(found[2]) - 1
            return [
                (f"/trap/calendar/{at // 12}/{at % 12 + 1}", f"{at // 12}-{at % 12 + 1}")
                for at in (month - 1, month + 1)
            ]
        if path.startswith("/trap/maze/"):
            return [(f"{path[:2_000].rstrip('/')}/{name}", name) for name in ("a", "b")]
        noise = hashlib.blake2b(f"{self.seed}{path}".encode(), digest_size=16).hexdigest()
        return [(f"/trap/cart?sid={noise}", "cart"), (f"/trap/cart/{noise[:3]}?sid={noise}", "goods")]

    # --- robots.txt and sitemaps

    def crawl_delay(self, host: int) -> float:
        """The delay that a host asks for; 0: none."""
        return self.crawl_delays[host % len(self.crawl_delays)] if self.crawl_delays else 0.0

    def robots(self, host: int) -> str:
        delay = self.crawl_delay(host)
        wait = f"Crawl-delay: {delay:g}\n" if delay else ""
        return (
            f"# h{host}\nUser-agent: *\nDisallow: {FAMILIES['private'].prefix}\nAllow: {FAMILIES['open'].prefix}\n"
            f"{wait}\nUser-agent: greedybot\nDisallow: /\n\nSitemap: {self.url(host, '/sitemap.xml')}\n"
        )

    def sitemaps(self, host: int) -> dict[str, list[str]]:
        """Every sitemap of a host with the URLs in it; the index holds sitemaps, the others pages."""
        orphans = self._numbers(host, "orphan")
        count = (len(orphans) + SITEMAP_URLS - 1) // SITEMAP_URLS
        parts = [self.url(host, f"/sitemap-orphans-{at}.xml.gz") for at in range(count)]
        maps = {self.url(host, "/sitemap.xml"): [self.url(host, "/sitemap-pages.xml"), *parts]}
        front = range(min(self.size(host), self._levels[2]))
        maps[self.url(host, "/sitemap-pages.xml")] = [self.url(host, self._name(host, at)[0]) for at in front]
        for at, part in enumerate(parts):
            chunk = orphans[at * SITEMAP_URLS : (at + 1) * SITEMAP_URLS]
            maps[part] = [self.url(host, FAMILIES["orphan"].path(number)) for number in chunk]
        return maps

    def _sitemap(self, host: int, path: str) -> Answer:
        places = self.sitemaps(host).get(self.url(host, path))
        if places is None:
            return _missing(path)
        outer, inner = ("sitemapindex", "sitemap") if path == "/sitemap.xml" else ("urlset", "url")
        items = "".join(f"<{inner}><loc>{place}</loc><lastmod>2024-01-02</lastmod></{inner}>\n" for place in places)
        text = (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f'<{outer} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{items}</{outer}>\n'
        ).encode()
        if path.endswith(".gz"):
            return Answer(200, "application/gzip", (), gzip.compress(text, 6, mtime=0))
        return Answer(200, "application/xml", (), text)

    def _numbers(self, host: int, role: str) -> range:
        family = FAMILIES[role]
        return range(family.offset, self.size(host), family.stride)

    # --- the answer key

    def entry(self, url: str) -> Entry | None:
        """What the key knows of a URL; None for what the web does not name itself (unknown paths, traps)."""
        place = self.place(url)
        if place is None:
            return None
        host, path = place
        number = self._page_number(host, path)
        if number is not None:
            return self._page_entry(
                url, "copy" if path == "/index.html" else "page", number, host, int(path == "/index.html")
            )
        member = self._member(host, path)
        return None if member is None else self._member_entry(url, host, *member)

    def _page_entry(self, url: str, role: str, number: int, host: int, deeper: int) -> Entry:
        _, title, tongue = self._name(host, number)
        language = LANGUAGES[tongue]
        encoding = self._encoding(number, language)
        depth, noindex = self.level(number) + deeper, self._noindex(number)[0]
        return Entry(url, role, 200, "text/html", depth, _plain(title), language.code, encoding, noindex)

    def _member_entry(self, url: str, host: int, role: str, number: int, step: int) -> Entry:
        depth = self.level(number) + 1
        if role in ("copy", "near"):
            return self._page_entry(url, role, number, host, 1)
        if role in ("redirect", "loop"):
            return Entry(url, role, self._redirect(host, role, number, step)[0], "text/html", depth, "moved")
        if role in ("missing", "broken"):
            status = 500 if role == "broken" else 410 if number % 45 == 4 else 404
            return Entry(url, role, status, "text/html", depth, str(status))
        if role == "document":
            return Entry(url, role, 200, "application/pdf", None)
        if role == "text":
            return Entry(url, role, 200, "text/plain", depth, encoding="utf-8")
        reached: int | None = depth
        if role in ("nofollow", "behind", "private"):
            reached = None
        elif role == "orphan":
            reached = 1
        closed = role == "closed"
        return Entry(url, role, 200, "text/html", reached, f"{role} {number}", "en", "utf-8", nofollow=closed)

    def entries(self, host: int | None = None, roles: Iterable[str] | None = None) -> Iterator[Entry]:
        """Every address the web names itself, of one host or of all: ordinary pages first, then the special ones."""
        wanted = None if roles is None else set(roles)
        for at in range(self.hosts) if host is None else (host,):
            for number in range(self.size(at)) if wanted is None or "page" in wanted else ():
                yield self._page_entry(self.url(at, self._name(at, number)[0]), "page", number, at, 0)
            if wanted is None or "copy" in wanted:
                yield self._page_entry(self.url(at, "/index.html"), "copy", 0, at, 1)
            for role, family in FAMILIES.items():
                if wanted is not None and role not in wanted:
                    continue
                for number in self._numbers(at, role):
                    for step in range(1, self._steps(role, at, number) + 1):
                        path = family.path(number) + (f"/{step}" if step > 1 else "")
                        yield self._member_entry(self.url(at, path), at, role, number, step)

    def links(self, url: str) -> list[Link]:
        """The exact links of a URL, in document order; a redirect has the one it leads to."""
        place = self.place(url)
        if place is None:
            return []
        host, path = place
        number = self._page_number(host, path)
        if number is None:
            member = self._member(host, path)
            if member is None:
                return self._trap_links(host, path)
            role, number, step = member
            if role in ("redirect", "loop"):
                target = self._redirect(host, role, number, step)[1]
                return [Link(target if target.startswith("http") else self.url(host, target), "redirect")]
            if role in ("missing", "broken", "document", "text"):
                return []
            if role not in ("copy", "near"):
                return [self._link(spot) for spot in self._small_spots(host, role, number)]
        plan = self._plan(host, number, path, self._draws(host, number))
        return [self._link(spot) for block in plan for spot in block]

    def _trap_links(self, host: int, path: str) -> list[Link]:
        if not self.traps or not path.startswith(TRAP_PREFIX):
            return []
        places = [("/", "Home"), *self._trap_places(path)]
        return [Link(self.url(host, place), "a", anchor) for place, anchor in places]

    def _link(self, spot: _Spot) -> Link:
        host, path, kind, anchor, rel, fragment = spot
        target = self.url(host, path) if path.startswith("/") else path
        return Link(target, kind, _plain(anchor) if kind == "a" else "", rel, fragment)

    def duplicates(self, host: int | None = None) -> Iterator[tuple[str, ...]]:
        """Groups of URLs that answer with the very same bytes (HTML pages answered 200)."""
        for at in range(self.hosts) if host is None else (host,):
            yield self.url(at, "/"), self.url(at, "/index.html")
            for number in self._numbers(at, "copy"):
                yield self.url(at, self._name(at, number)[0]), self.url(at, FAMILIES["copy"].path(number))

    def near_duplicates(self, host: int | None = None) -> Iterator[tuple[str, str]]:
        """Pairs of pages whose texts differ in one word."""
        for at in range(self.hosts) if host is None else (host,):
            for number in self._numbers(at, "near"):
                yield self.url(at, self._name(at, number)[0]), self.url(at, FAMILIES["near"].path(number))

    def disallowed(self, host: int | None = None) -> Iterator[str]:
        """URLs that are linked and that robots.txt forbids."""
        for at in range(self.hosts) if host is None else (host,):
            for number in self._numbers(at, "private"):
                yield self.url(at, FAMILIES["private"].path(number))

    def planted(self, url: str) -> list[Planted]:
        """The addresses that stand on a page."""
        place = self.place(url)
        entry = self.entry(url)
        if place is None or entry is None or entry.role not in ("page", "copy", "near"):
            return []
        number = self._page_number(*place)
        if number is None:
            member = self._member(*place)
            number = 0 if member is None else member[1]
        return self._planted(place[0], number)

    def expected(
        self,
        seeds: Iterable[str] | None = None,
        *,
        scope: str = "host",
        sitemaps: bool = True,
        obey_robots: bool = True,
        follow_nofollow: bool = False,
        max_depth: int | None = None,
    ) -> dict[str, Entry]:
        """What a crawl from ``seeds`` (default: every front page) tries, with the depth it finds it at.

        Walks the links of the key, not the web. ``scope`` is host or free. Traps are left out: how many of their pages
        a crawl takes is its own affair. Files with binary extensions and what robots.txt forbids are not tried.
        """
        starts = self.seeds() if seeds is None else list(seeds)
        places = [self.place(url) for url in starts]
        hosts = {place[0] for place in places if place is not None}
        queue = deque((url, 0) for url in starts)
        mapped: set[int] = set()
        found: dict[str, Entry] = {}
        while queue:
            url, depth = queue.popleft()
            place = self.place(url)
            if url in found or place is None or (max_depth is not None and depth > max_depth):
                continue
            host, path = place
            if (scope == "host" and host not in hosts) or path.startswith(TRAP_PREFIX) or path.endswith(BINARY):
                continue
            if obey_robots and path.startswith("/private/") and not path.startswith("/private/open/"):
                continue
            entry = self.entry(url) or Entry(url, "unknown", 404, "text/html", depth, "404")
            found[url] = entry._replace(depth=depth)
            closed = entry.nofollow and not follow_nofollow
            links = [] if closed else self.links(url)
            for link in links:
                if link.kind == "redirect":
                    queue.appendleft((link.target, depth))
                elif link.kind in FOLLOWED and (follow_nofollow or "nofollow" not in link.rel):
                    queue.append((link.target, depth + 1))
            if sitemaps and host not in mapped:
                mapped.add(host)
                # the front of the queue is of this depth or the next; sitemaps speak for depth 1
                self._add_mapped(queue, host, depth)
        return found

    def _add_mapped(self, queue: deque[tuple[str, int]], host: int, depth: int) -> None:
        listed = [
            url for place, urls in self.sitemaps(host).items() if not place.endswith("/sitemap.xml") for url in urls
        ]
        if depth == 0:
            queue.extend((url, 1) for url in listed)
        else:
            queue.extendleft((url, 1) for url in reversed(listed))


_DRAWS = struct.Struct("128H")


def _levels(pages: int) -> list[int]:
    """The first number of every level of the tree, with two levels to spare."""
    starts, first, width = [0], 1, BRANCHES
    while first < pages * BRANCHES * BRANCHES:
        starts.append(first)
        first += width
        width *= BRANCHES
    return [*starts, first, first + width]


@lru_cache(4_096)
def _http_date(epoch_s: int) -> str:
    return formatdate(epoch_s, usegmt=True)


def _plain(text: str) -> str:
    return text.replace("&amp;", "&")


def _missing(path: str) -> Answer:
    return Answer(404, "text/html; charset=utf-8", (), _NOT_FOUND)


_NOT_FOUND = b"<!doctype html>\n<html><head><title>404</title></head><body><h1>404</h1><p>Not here.</p></body></html>\n"
_GONE = b"<!doctype html>\n<html><head><title>410</title></head><body><h1>410</h1><p>Gone for good.</p></body></html>\n"
_BROKEN = b"<!doctype html>\n<html><head><title>500</title></head><body><h1>500</h1><p>Our fault.</p></body></html>\n"
_PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)
_STATIC_TYPES = {
    "css": ("text/css", b"body { margin: 2em auto; max-width: 50em; }\n"),
    "js": ("text/javascript", b"document.documentElement.dataset.ready = '1';\n"),
    "png": ("image/png", _PNG),
    "mp3": ("audio/mpeg", b"ID3\x03\x00\x00\x00\x00\x00\x00"),
    "swf": ("application/x-shockwave-flash", b"FWS\x06\x0a\x00\x00\x00"),
}


def _static(path: str) -> Answer:
    kind = _STATIC_TYPES.get(path.rpartition(".")[2])
    return _missing(path) if kind is None else Answer(200, kind[0], (), kind[1])


def _pdf(number: int) -> bytes:
    """A PDF of one empty page that says its number in a comment."""
    return (
        b"%%PDF-1.4\n%%%d\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj\ntrailer<</Root 1 0 R>>\n%%%%EOF\n" % number
    )


def _forms(host: int, number: int) -> list[_Spot]:
    if number % 16 == 8:
        return [(host, "/login", "form", "", "", "")]
    return [(host, "/search", "form", "", "", "")] if number % 8 == 0 else []


def _forms_html(number: int) -> str:
    if number % 16 == 8:
        return '<form action="/login" method="post"><input name="user"><input name="word" type="password"></form>\n'
    return '<form action="/search"><input name="q" type="search"></form>\n' if number % 8 == 0 else ""


def _mail_target(item: Planted) -> str:
    if item.form == "tel":
        return f"tel:{item.value}"
    if item.form == "mailto_encoded":
        return f"mailto:%{ord(item.value[0]):02X}{item.value[1:].replace('@', '%40')}"
    return f"mailto:{item.value}"


def _written(item: Planted) -> str:
    """A planted address as it stands in the page."""
    value, form = item.value, item.form
    if item.kind == "phone":
        spaced = (
            f"{value[:2]} {value[2:5]} {value[5:8]} {value[8:]}"
            if value[1] == "1"
            else f"+44 20 {value[5:9]} {value[9:]}"
        )
        return f'<a href="tel:{value}">{value}</a>' if form == "tel" else f"Tel. {spaced}"
    user, _, domain = value.partition("@")
    words = domain.replace(".", " dot ")
    if form in ("mailto", "mailto_encoded"):
        return f'<a href="{_mail_target(item)}">{value}</a>'
    if form == "entities":
        return "".join([f"&#{ord(letter)};" for letter in value])
    if form == "cloudflare":
        coded = "2a" + "".join([f"{ord(letter) ^ 0x2A:02x}" for letter in value])
        return f'<span class="__cf_email__" data-cfemail="{coded}">[email&#160;protected]</span>'
    return {
        "plain": value,
        "spaced": f"{user} @ {domain}",
        "words": f"{user} at {words}",
        "round": f"{user}(AT){domain.replace('.', '(DOT)')}",
        "square": f"{user} [at] {domain.replace('.', ' [dot] ')}",
        "curly": f"{user}{{at}}{domain.replace('.', '{dot}')}",
        "pipes": f"{user}|at|{domain}",
    }[form]
