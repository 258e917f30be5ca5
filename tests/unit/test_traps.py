"""Traps (E20, issue 3 section 4): endless webs end by themselves with the good pages; honest webs lose nothing."""

from __future__ import annotations

import gzip
import html
import random
import re
import zlib
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trapweb import YEAR, Web, walk

from weft.errors import Reason
from weft.judge.traps import TrapBook
from weft.judge.traps.ledger import SAMPLED, Ledger
from weft.judge.traps.respelled import YOUNG, words_of
from weft.judge.traps.urls import Date, date_of, is_alias, path_problem, query_problem, shape_of, without_session
from weft.ports import Parent
from weft.records import ADMITTED
from weft.spec import Traps

FEW_THOUSAND = 3_600
GOOD = [f"/good/{n}" for n in range(40)]


def noise(text: str, length: int = 12) -> str:
    return f"{zlib.crc32(text.encode()):08x}{zlib.adler32(text.encode()):08x}"[:length]


def number(text: str) -> int:
    found = re.findall(r"\d+", text)
    return int(found[-1]) if found else 0


def trap(links: Callable[[str], Sequence[str]], text: Callable[[str], str] = str) -> Web:
    """A site with forty good pages in a row beside a trap: ``links(path)``, called with "" for its entrance."""

    def web(url: str) -> tuple[str, Sequence[str]]:
        parts = urlsplit(url)
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        if path == "/":
            return "home", [GOOD[0], *links("")]
        if path in GOOD:
            at = GOOD.index(path)
            return path, ["/", *GOOD[at + 1 : at + 2]]
        return text(path), links(path)

    return web


def grows(path: str, piece: str) -> str:
    return f"{path}{'&' if '?' in path else '?'}{piece}"


def months(path: str) -> list[str]:
    found = re.search(r"(\d+)/(\d+)", path)
    month = int(found[1]) * 12 + int(found[2]) - 1 if found else YEAR * 12
    return [f"/cal/{at // 12}/{at % 12 + 1}" for at in (month - 1, month + 1, month + 12)] + ["/"]


def days(path: str) -> list[str]:
    found = re.search(r"(\d+)-(\d+)-(\d+)", path)
    day = date(int(found[1]), int(found[2]), int(found[3])) if found else date(YEAR, 1, 1)
    steps = [(day + timedelta(n)).isoformat() for n in (-1, 1, -30, 30, -365, 365) if 3 < day.year < 9000]
    return [f"/cal?date={step}&view={view}" for step in steps for view in ("day", "week")]


def year_and_month(path: str) -> list[str]:
    query = dict(parse_qsl(path.partition("?")[2]))
    month = int(query.get("year", YEAR)) * 12 + int(query.get("month", 1)) - 1
    return [f"/c.php?year={at // 12}&month={at % 12 + 1}" for at in (month - 1, month + 1)] + [
        f"/c.php?year={month // 12}&month={month % 12 + 1}&day={day}" for day in range(1, 29)
    ]


def grid(path: str) -> list[str]:
    found = re.search(r"(\d{4})/(\d\d)", path)
    month = int(found[1]) * 12 + int(found[2]) - 1 if found else YEAR * 12
    year, place = month // 12, f"/cal/{month // 12}/{month % 12 + 1:02}"
    return [
        *(f"/cal/{at // 12}/{at % 12 + 1:02}/" for at in (month - 1, month + 1)),
        *(f"{place}/{day:02}/" for day in range(1, 29)),
        *(f"/cal/{at}/" for at in (year - 1, year + 1)),
        "/", "/about", f"{place}/add",
    ]  # fmt: skip


def tarpit(path: str) -> list[str]:
    """A tree with navigation, and the way back to the top on every page."""
    if not path:
        return ["/maze/"]
    pieces = path.split("/")
    back = ["/".join(pieces[:at]) + "/" for at in range(1, len(pieces) - 1)]
    return ["/", "/good/0", *back, *(f"{path.rstrip('/')}/{noise(path + str(n))}/" for n in range(8))]


def mixed_filters(path: str) -> list[str]:
    chosen = dict(parse_qsl(path.partition("?")[2]))
    mixtures = [{**chosen, name: str(n)} for name in ("brand", "colour", "size", "sort", "view") for n in range(6)]
    return [f"/shop?{'&'.join(f'{name}={mix[name]}' for name in sorted(mix))}" for mix in mixtures]


def soft_404(names: Sequence[str], entrance: str = "/x/") -> Web:
    """Relative links that nest for ever, on a page that is always the same."""
    return trap(lambda p: [f"{name}/" for name in names] if p or not entrance else [entrance], lambda p: "not found")


def several(make: Callable[[str, int], str], count: int) -> Web:
    """Each page brings so many new ones."""
    return trap(lambda p: [make(p, n) for n in range(count)])


def spelled(path: str, n: int) -> str:
    bits = zlib.crc32(f"{path}{n}".encode())
    return "/p/" + "".join(c.upper() if bits >> i & 1 else c for i, c in enumerate("abcdefghijklmnopqrstuvwxyz"))


MARKS = ("%20", ".", "!", ",", "+", "-", ";x=")


def cased(path: str, key: str) -> str:
    chance = random.Random(f"{key} {path}")
    return "".join(chance.choice((letter, letter.upper())) for letter in path)


def shuffled(path: str, n: int) -> str:
    return "&".join(random.Random(f"{path} {n}").sample([f"{name}=1" for name in "abcdefgh"], 8))


def filtered_categories(path: str) -> list[str]:
    place, _, query = path.partition("?")
    if not place:
        return [f"/c/{n}" for n in range(8)]
    chosen = dict(parse_qsl(query))
    mixtures = [{**chosen, name: str(n)} for name in ("brand", "colour", "size", "sort", "view") for n in range(6)]
    return [f"{place}?{'&'.join(f'{name}={mix[name]}' for name in sorted(mix))}" for mix in mixtures]


def tagged(path: str) -> list[str]:
    chosen = set(filter(None, path.partition("t=")[2].split(",")))
    return [f"/s?t={','.join(sorted(chosen ^ {tag}))}" for tag in "abcdefghijklmnop"]


def neighbours(path: str) -> list[str]:
    x, y = map(int, path.split("/")[2:]) if path else (0, 0)
    return [f"/map/{x + 1}/{y}", f"/map/{x}/{y + 1}", f"/map/{x - 1}/{y}", f"/map/{x}/{y - 1}"]


def bookings(path: str) -> list[str]:
    found = re.findall(r"\d+-\d+-\d+", path)
    first, last = map(date.fromisoformat, found) if found else (date(YEAR, 1, 1), date(YEAR, 1, 2))
    steps = [(first + timedelta(a), last + timedelta(b)) for a, b in ((1, 1), (0, 1), (7, 7), (-1, -1))]
    return [f"/book?check_in={arrival}&check_out={departure}" for arrival, departure in steps]


def ordered_filters(path: str) -> list[str]:
    names = [name for name in ("size", "brand", "sort", "colour") if name not in path]
    return [grows(path or "/shop", f"{name}={n}") for name in names for n in range(10)]


def changing(path: str) -> list[str]:
    n = number(path)
    return [f"/{'abc'[n % 3]}/{'x/' * (n % 2)}{n + 1}"]


def with_events(path: str) -> list[str]:
    return ["/"] if "event" in path else [*grid(path), f"/event/{noise(path)}"]


WORDS = [a + b for a in ("al", "be", "ca", "du", "ev", "fi", "go") for b in ("ba", "ct", "le", "mo", "ne", "rs")]


def worded(between: str, words: Sequence[str], most: int) -> Callable[[str, int], str]:
    """Names that are put together of one to ``most`` of the words, or two where the names are long."""

    def name(path: str, n: int) -> str:
        chance = random.Random(path + str(n))
        return between.join(chance.choices(words, k=chance.randint(1 + most // 5, most)))

    return name


def unending_lists(path: str) -> list[str]:
    """Thirty lists; each page behind the end of one has nothing but the next."""
    if not path:
        return [f"/list/{n}?page=1" for n in range(30)]
    if path.startswith("/item"):
        return ["/"]
    which, page = map(int, re.findall(r"\d+", path))
    items = [f"/item/{which}-{page}-{n}" for n in range(3)] if page <= 5 else []
    return ["/", *items, f"/list/{which}?page={page - 1}", f"/list/{which}?page={page + 1}"]


CHAINS: dict[str, Web] = {
    "counter": trap(lambda p: [f"/n/{number(p) + 1}", "/"]),
    "counter in the query": trap(lambda p: [f"/n?page={number(p) + 1}"]),
    "counter with ten links ahead": trap(lambda p: [f"/n/{number(p) + n}" for n in range(1, 11)]),
    "chain of random slugs": trap(lambda p: [f"/r/{noise(p)}-{noise(p + 'x')}.html"]),
    "chain that changes its shape": trap(changing),
    "list with far jumps": trap(lambda p: [f"/n?page={number(p) + n}" for n in (1, 2, 10, 100, 1_000)]),
    "grid": trap(neighbours),
    "lists that have no end": trap(unending_lists),
}
CALENDARS: dict[str, Web] = {
    "calendar in the path": trap(months),
    "calendar in the query": trap(days),
    "calendar by year and month": trap(year_and_month),
    "calendar of days, months and years": trap(grid),
    "calendar with an event a day": trap(with_events),
    "bookings from one date to another": trap(bookings),
}
SOFT_404S: dict[str, Web] = {
    "relative folders, always the same body": soft_404("abcdefgh"),
    "the same at the root": soft_404([f"w{n}" for n in range(10)], ""),
    "a hundred relative folders": soft_404([f"w{n}" for n in range(100)]),
    "thirty bodies under any name": trap(
        lambda p: [f"{name}/" for name in "abcdefgh"] if p else ["/x/"], lambda p: f"page {zlib.crc32(p.encode()) % 30}"
    ),
}
SESSIONS: dict[str, Web] = {
    "session ids": several(lambda p, n: f"/s/{n}?sid={noise(p + str(n))}", 9),
    "session ids in the path": several(lambda p, n: f"/s/{n};jsessionid={noise(p + str(n)).upper()}", 9),
}
TARPITS: dict[str, Web] = {
    "tarpit of relative links": trap(lambda p: [*(f"{noise(p + str(n), 5)}/" for n in range(4)), "../help/", "/"]),
    "tarpit": trap(tarpit),
    "random slugs": several(lambda p, n: f"/{noise(p + str(n))}", 10),
    "random folders": several(lambda p, n: f"/{noise(p + str(n))}/{noise(str(n) + p)}/", 10),
    "three tarpits in one": several(lambda p, n: f"/{'abc'[n % 3]}/{noise(p + str(n))}", 9),
    "tarpits that lead to each other": several(lambda p, n: f"/{'b' if p[:2] == '/a' else 'a'}/{noise(p + str(n))}", 6),
    "random names in twelve folders": several(
        lambda p, n: f"/{WORDS[zlib.crc32(p.encode()) % 12]}/{noise(p + str(n))}", 6
    ),
    "folders of few words": several(lambda p, n: f"/maze/{worded('/', WORDS, 4)(p, n)}/", 6),
    "folders of few words at the root": several(lambda p, n: f"/{worded('/', WORDS[:12], 5)(p, n)}.html", 6),
    "names of few words": several(lambda p, n: f"/maze/{worded('-', WORDS, 4)(p, n)}", 6),
    "a search for what was found": several(lambda p, n: f"/search?q={worded('+', WORDS, 2)(p, n)}%20{WORDS[n]}", 6),
    "folders of few numbers": several(lambda p, n: f"/maze/{worded('/', '0123456789', 8)(p, n)}/", 6),
    "cache busters": several(lambda p, n: f"/page?r={noise(p + str(n))}", 12),
}
SPELLINGS: dict[str, Web] = {
    "letters large and small": several(spelled, 8),
    "25 articles, letters large and small": several(
        lambda p, n: cased(f"/shop/article-{(number(p) * 3 + n) % 25}", p), 7
    ),
    "parameters in any order": several(
        lambda p, n: f"/article-{(number(p.partition('?')[0]) * 3 + n) % 60}?{shuffled(p, n)}", 7
    ),
    "marks behind the name": several(
        lambda p, n: f"/item-{(number(p) + n) % 25}{''.join(random.Random(p).choices(MARKS, k=n + 1))}", 6
    ),
    "relative folders, never the same body": trap(
        lambda p: ["a/", "news/", "about/", "c/d.html", "../", "index.html"] if p else ["/x/"]
    ),
}
TRAPS: dict[str, tuple[Web, Reason]] = {
    **{name: (web, Reason.CHAIN_TOO_LONG) for name, web in CHAINS.items()},
    **{name: (web, Reason.CALENDAR) for name, web in CALENDARS.items()},
    **{name: (web, Reason.DUPLICATES_ONLY) for name, web in SOFT_404S.items()},
    **{name: (web, Reason.SESSION_IDS) for name, web in SESSIONS.items()},
    **{name: (web, Reason.SPELLINGS) for name, web in SPELLINGS.items()},
    **{name: (web, Reason.ENDLESS_SITE) for name, web in TARPITS.items()},
    "relative folders": (trap(lambda p: ["a/", "bb/", "cc/"] if p else ["/x/"]), Reason.PATH_REPEATS),
    "one folder deeper": (trap(lambda p: [f"{p}/{noise(p)}"] if p else ["/t"]), Reason.PATH_TOO_DEEP),
    "growing query": (trap(lambda p: [grows(p or "/g", f"sort={len(p)}")]), Reason.QUERY_REPEATS),
    "growing query with semicolons": (
        trap(lambda p: [f"{p or '/g?a=1'}{piece}" for piece in (f";x={len(p)}", "&sort=up", "&sort=down")]),
        Reason.QUERY_REPEATS,
    ),
    "growing query, new names": (trap(lambda p: [grows(p or "/g", f"{noise(p)}=1")]), Reason.QUERY_TOO_LONG),
    "login inside login": (trap(lambda p: [f"/login?next={p or '/private'}"]), Reason.QUERY_REPEATS),
    "escaped again": (trap(lambda p: [p.replace("%", "%25") or "/a%20b"]), Reason.PATH_REPEATS),
    "filters": (trap(mixed_filters), Reason.QUERY_VARIANTS),
    "filters in any order": (trap(ordered_filters), Reason.QUERY_VARIANTS),
    "filters in eight categories": (trap(filtered_categories), Reason.QUERY_VARIANTS),
    "tags in one value": (trap(tagged), Reason.QUERY_VARIANTS),
    "slashes": (trap(lambda p: [f"{p or '/t'}//", f"{p or '/t'}//x/"]), Reason.SLASH_ALIASES),
    "semicolons": (trap(lambda p: [f"{p or '/t'};"]), Reason.SLASH_ALIASES),
}


@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_ends_by_itself_with_the_good_pages(name: str) -> None:
    """E20 and the hostile web's class `traps`: no limit given, a few thousand requests, every good page fetched."""
    web, reason = TRAPS[name]
    # the default of 3,000 pages is tried on one tarpit; the others are found out sooner, to keep this fast
    pages = 1_000 if name in TARPITS and name != "tarpit" else Traps().endless_site_pages
    crawl = walk(web, traps=Traps(endless_site_pages=pages), cap=20_000)
    assert crawl.waiting == 0
    assert len(crawl.fetched) <= FEW_THOUSAND
    assert reason in crawl.refused
    assert {f"http://t.test{path}" for path in GOOD} <= set(crawl.fetched)


@pytest.mark.parametrize("name", ["tarpit", "random slugs"])
def test_a_tarpit_that_is_read_depth_first_ends_too(name: str) -> None:
    """What lies beyond other bounds, as nearly all links of a deep page do, still tells a tree."""
    crawl = walk(TARPITS[name], traps=Traps(endless_site_pages=1_000), cap=20_000, dfs=True)
    assert crawl.waiting == 0
    assert len(crawl.fetched) <= FEW_THOUSAND
    assert {f"http://t.test{path}" for path in GOOD} <= set(crawl.fetched)


@pytest.mark.parametrize("links", [5, 1])
def test_endless_hosts_end(links: int) -> None:
    """E20: wildcard DNS makes hosts for nothing."""

    def web(url: str) -> tuple[str, list[str]]:
        return url, [f"http://{noise(url + str(n))}.t.test/" for n in range(links)]

    crawl = walk(web)
    assert crawl.waiting == 0
    assert len(crawl.fetched) <= 1 + Traps().hosts_per_domain
    assert crawl.refused[Reason.HOSTS_PER_DOMAIN] > 0


def test_a_rule_switched_off_refuses_nothing() -> None:
    """Each refusal has a switch that changes it (issue 3 section 4)."""
    off = Traps(**dict.fromkeys(Traps.__struct_fields__, 0))
    for name, (web, _) in TRAPS.items():
        assert walk(web, traps=off, cap=120).refused == {}, name


# ---- honest webs -------------------------------------------------------------------------------------------------


def random_graph(pages: int, links: int, folders: int = 0) -> Web:
    def web(url: str) -> tuple[str, list[str]]:
        seed = number(url) * links
        chosen = [(seed + n + 1) * 0x9E3779B97F4A7C15 % (1 << 64) * pages >> 64 for n in range(links)]
        return url, [f"/d{n % folders}/p{n}" if folders else f"/p/{n}" for n in chosen]

    return web


def two_words(url: str) -> tuple[str, list[str]]:
    """150 words, and a page for each pair of them."""
    chance = random.Random(url)
    words = [f"{a}{b}" for a in WORDS[:15] for b in WORDS[-10:]]
    return url, [f"/{'-'.join(chance.choices(words, k=2))}" for _ in range(10)]


def chain_of_pages(pages: int) -> Web:
    return lambda url: (url, [f"/n/{number(url) + 1}"] if number(url) < pages - 1 else [])


def newspaper(nested: bool, first_year: int) -> Web:
    """Years, months, days, articles: a pure tree, with nothing beside it but the way back to the top."""

    def web(url: str) -> tuple[str, list[str]]:
        path = urlsplit(url).path
        found = re.fullmatch(r"/archive/(\d+)/(?:(\d+)/)?(?:(\d+)/)?(.*)", path)
        if found is None:
            return url, ["/"] if path != "/" else [f"/archive/{year}/" for year in range(first_year, YEAR)]
        year, month, day, article = found.groups()
        if article:
            return url, ["/", f"/archive/{year}/"]
        if day:
            stories = [noise(path + str(n)) for n in range(3)]
            return url, ["/", *(f"{path}a-{story}-title.html" if nested else f"/article/{story}" for story in stories)]
        if month:
            return url, [f"{path}{n:02}/" for n in range(1, 29)]
        return url, [f"{path}{n:02}/" for n in range(1, 13)]

    return web


def shop(url: str) -> tuple[str, list[str]]:
    """Fifteen categories of 200 things, listed by pages and by three filters that mix."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    if parts.path == "/":
        return url, [f"/c/{n}" for n in range(15)]
    if parts.path.startswith("/product"):
        n = number(parts.path)
        return url, ["/", f"/c/{n // 200}", *(f"/product/{(n * 7 + i * 13) % 3000}" for i in range(4))]
    category, page = number(parts.path), int(query.pop("page", 1))
    pick = random.Random(f"{category}{sorted(query.items())}")
    things = [pick.randrange(200) for _ in range(20)] if query else range((page - 1) * 20, page * 20)
    filters = [
        {**query, name: str(n)} for name, count in (("colour", 6), ("size", 5), ("sort", 3)) for n in range(count)
    ]
    return url, [
        *(f"/c/{n}" for n in range(15)), *(f"/product/{category * 200 + n}" for n in things),
        *([f"/c/{category}?page={page + 1}"] if page < 10 and not query else []),
        *(f"/c/{category}?{'&'.join(f'{name}={mix[name]}' for name in sorted(mix))}" for mix in filters),
    ]  # fmt: skip


def forum(url: str) -> tuple[str, list[str]]:
    """Twelve boards of 400 topics: two and three parameters in every address, pages by `next` only."""
    query = {name: int(value) for name, value in parse_qsl(urlsplit(url).query) if value.isdigit()}
    board, start = query.get("f", 0), query.get("start", 0)
    if "viewforum" in url:
        following = [f"/viewforum.php?f={board}&start={start + 25}"] if start + 25 < 400 else []
        return url, ["/", *following, *(f"/viewtopic.php?f={board}&t={board * 400 + start + n}" for n in range(25))]
    if "viewtopic" in url:
        topic = query["t"]
        pages = [f"/viewtopic.php?f={board}&t={topic}&start={15 * n}" for n in range(1, topic % 4)]
        return url, ["/", f"/viewforum.php?f={board}", *pages, f"/memberlist.php?mode=viewprofile&u={topic % 900}"]
    return url, [f"/viewforum.php?f={n}" for n in range(12)]


def content_system(url: str) -> tuple[str, list[str]]:
    """Every page has one path and five parameters, one of which names it."""
    n = number(url.partition("&id=")[2].partition(":")[0])
    known = [i for i in range(n * 8 + 1, n * 8 + 9) if i < 5000]
    return url, ["/"] + [
        f"/index.php?option=com_content&view=article&id={i}:{noise(str(i))}&catid={i % 30}&Itemid={i % 12}"
        for i in known
    ]


def printed(url: str) -> tuple[str, list[str]]:
    """Beside each page its copy in one folder, found after all pages: nothing but bodies already known there."""
    n = number(url)
    below = [f"/p/{i}" for i in range(n * 8 + 1, n * 8 + 9) if i < 3_000]
    return f"page {n}", [*below, *([f"/print/{n}"] if not below else [])]


def framed(url: str) -> tuple[str, list[str]]:
    """A manual as javadoc wrote them: every page also links to the frames that show it, which are one file."""
    parts = urlsplit(url)
    if parts.query:
        return "frames", ["/api/0.html"]
    n = number(parts.path.rpartition("/")[2])
    below = [f"/api/{i}.html" for i in range(n * 8 + 1, n * 8 + 9) if i < 3_000]
    return f"page {n}", [*below, f"/api/index.html?{n}.html"]


def releases(count: int, pages: int) -> Web:
    """A manual in folders for each of its releases, in which no page has changed: all links inside are relative."""

    def web(url: str) -> tuple[str, list[str]]:
        path = urlsplit(url).path
        if path == "/":
            return url, [f"/v{n}/p0" for n in range(count)]
        n = number(path.rpartition("/")[2])
        return f"page {n}", [f"p{i}" for i in range(n * 5 + 1, n * 5 + 6) if i < pages]

    return web


def two_hosts(url: str) -> tuple[str, list[str]]:
    """A site, and a mirror of it under another name."""
    n = number(urlsplit(url).path)
    mirror = ["http://mirror.test/p/0"] if url == "http://t.test/p/7" else []
    return f"page {n}", [*(f"/p/{i}" for i in range(n * 8 + 1, n * 8 + 9) if i < 2_500), *mirror]


def course(url: str) -> tuple[str, list[str]]:
    """Units, lessons and steps by number: the same numbers in every order."""
    path = urlsplit(url).path
    level = len(re.findall(r"\d+", path))
    names = ("unit", "lesson", "step")
    return url, [f"{path.rstrip('/')}/{names[level]}/{n}" for n in range(12)] if level < 3 else ["/"]


def two_cases(url: str) -> tuple[str, list[str]]:
    """A server that does not care for case, and links in two."""
    n = number(url)
    below = [k for k in range(n * 4 + 1, n * 4 + 5) if k < 2_500]
    return url, [f"/{folder}{k}.aspx" for k in below for folder in ("Products/Item", "products/item")]


def short_names(url: str) -> tuple[str, list[str]]:
    """Every name of two letters, each case a page of its own."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return url, [f"/{a}{b}" for a in letters for b in letters] if urlsplit(url).path == "/" else ["/"]


def records(url: str) -> tuple[str, list[str]]:
    """Records by number, each with the one before, the next and one that is like it."""
    n = number(urlsplit(url).path)
    near = [k for k in (n - 1, n + 1) if 0 <= k < 5_000]
    return url, [f"/r/{k}" for k in (*near, random.Random(n).randrange(5_000))]


def variants(url: str) -> tuple[str, list[str]]:
    """Things in every colour and size."""
    parts = urlsplit(url)
    if parts.path == "/":
        return url, [f"/p/{n}" for n in range(300)]
    return url, [f"{parts.path}?colour={colour}&size={size}" for colour in range(5) for size in range(4)]


def lists(address: str, items: int, count: int = 10) -> Web:
    """Some lists of 400 pages, each with nothing but the next one and what is linked on it."""

    def web(url: str) -> tuple[str, list[str]]:
        path = url.removeprefix("http://t.test")
        if path == "/":
            return url, [address.format(n, 1) for n in range(count)]
        if path.startswith("/item"):
            return url, ["/"]
        which, page = map(int, re.findall(r"\d+", path))
        following = [address.format(which, page + 1)] if page < 400 else []
        return url, [*following, *(f"/item/{which}-{page}-{n}" for n in range(items))]

    return web


HONEST: dict[str, tuple[Web, int, int | None]] = {
    "ten lists": (lists("/list/{}/{}", 1), 10_000, 8_001),
    "three lists with nothing on them": (lists("/list/{}/{}", 0, 3), 10_000, 1_201),
    "ten lists with things on them": (lists("/list/{}/{}", 2), 20_000, 12_001),
    "ten lists by query with things on them": (lists("/list?category={}&page={}", 5), 30_000, 24_001),
    "a course": (course, 10_000, 1 + 12 + 144 + 1_728),
    "each page in two cases": (two_cases, 10_000, None),
    "names of two letters": (short_names, 10_000, 1 + 52 * 52),
    "records": (records, 10_000, 5_001),
    "300 things in 20 variants": (variants, 10_000, 1 + 300 + 6_000),
    "a folder of copies": (printed, 10_000, 3_000 + 2_625),
    "a manual with frames": (framed, 10_000, 1 + 2 * 3_000),
    "a manual in six releases": (releases(6, 900), 10_000, 1 + 6 * 900),
    "a mirror on another host": (two_hosts, 10_000, None),
    "50,000 pages, linked at random": (random_graph(50_000, 5), 60_000, None),
    "22,500 names of two words, linked at random": (two_words, 30_000, None),
    "a million pages, linked at random": (random_graph(1_000_000, 10), 9_000, 9_000),
    "a million pages in 97 folders": (random_graph(1_000_000, 10, 97), 3_500, 3_500),
    "400 pages, one after the other": (chain_of_pages(400), 1_000, 400),
    "newspaper": (newspaper(False, 2018), 60_000, 1 + 7 + 7 * 12 + 7 * 336 * 4),
    "newspaper with a tree of paths": (newspaper(True, 2019), 60_000, 1 + 6 + 6 * 12 + 6 * 336 * 4),
    "shop": (shop, 60_000, 1 + 15 + 3000 + 15 * (9 + 14 + 63 + 90)),
    "forum": (forum, 60_000, None),
    "content system": (content_system, 10_000, 5_000),
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_web_loses_nothing(name: str) -> None:
    """Few false alarms (issue 3 section 4)."""
    web, cap, pages = HONEST[name]
    crawl = walk(web, cap=cap)
    assert crawl.refused == {}
    assert pages is None or len(crawl.fetched) == pages


def test_a_newspaper_may_be_older_than_any_calendar() -> None:
    """Days that their month lists are no walk through a calendar."""
    crawl = walk(newspaper(False, 1880), "http://t.test/archive/1880/", cap=1_300)
    assert crawl.refused == {}
    assert "http://t.test/archive/1880/12/28/" in crawl.fetched


def test_depth_first_loses_nothing_either() -> None:
    """Long paths are not long chains: a page that comes nearer is offered again (DESIGN section 2)."""
    web, traps = random_graph(1_500, 6), Traps(chain=100)
    crawl = walk(web, traps=traps, dfs=True)
    assert crawl.refused == {}
    assert set(crawl.fetched) == set(walk(web, traps=traps).fetched)


def test_a_real_wiki_loses_nothing() -> None:
    """4,598 articles of an encyclopaedia, with the pages that wiki software puts beside each."""
    edges = Path(__file__).parents[3] / "shared/graphs/wikispeedia.edges.tsv.gz"
    if not edges.exists():
        pytest.skip("no ../shared/graphs beside the repository")
    graph: dict[str, list[str]] = {}
    with gzip.open(edges, "rt", encoding="utf-8") as lines:
        for line in lines:
            source, target = line.split("\t")[:2]
            graph.setdefault(source, []).append(f"/wiki/{target.strip()}")

    def web(url: str) -> tuple[str, list[str]]:
        name = url.rpartition("/wiki/")[2]
        if name == url or name.startswith("Special:"):
            return url, [f"/wiki/{title}" for title in list(graph)[:3]]
        tools = [f"/w/index.php?title={name}&action=edit", f"/w/index.php?title={name}&action=history&limit=500"]
        return url, [*graph.get(name, ()), *tools, f"/wiki/Special:WhatLinksHere/{name}"]

    crawl = walk(web)
    assert crawl.refused == {}
    assert len(crawl.fetched) > 4 * 4_000


TREES = {
    "postgresql-doc-15": ("/usr/share/doc/postgresql-doc-15/html", "index.html", 1_169),
    "python3.11": ("/usr/share/doc/python3.11/html", "index.html", 500),
    "libboost1.74-doc": ("/usr/share/doc/libboost1.74-doc", "doc/html/index.html", 5_000),
}


@pytest.mark.parametrize("package", TREES)
def test_real_documentation_loses_nothing(package: str) -> None:
    folder, start, least = TREES[package]
    root = Path(folder)
    if not (root / start).exists():
        pytest.skip(f"the documentation of {package} is not installed")
    reference = re.compile(r"<a\s[^>]*?href=\"(?![a-z]+:|//)([^\"#]+)", re.IGNORECASE)

    def web(url: str) -> tuple[str, list[str]] | None:
        path = root / urlsplit(url).path.lstrip("/")
        if path.is_dir():
            path = path / "index.html"
        if path.suffix not in (".html", ".htm") or not path.exists():
            return None
        text = path.read_text(encoding="utf-8", errors="replace")
        return text, [html.unescape(found).replace(" ", "%20") for found in reference.findall(text)]

    crawl = walk(web, f"http://t.test/{start}")
    assert crawl.refused == {}
    assert len(crawl.fetched) >= least


# ---- single rules ------------------------------------------------------------------------------------------------

ODD_PATHS = [
    "/a/b/a/b/a/b/",
    "/loop/loop/loop",
    "/x/about/us/about/us/about/us",
    "/c/d/e/c/d/e/c/d/e",
    "/1/1/1/1/1/1",
    "/a/a/a/a/a",
    "/news/about/news/contact/news/about/news/",
    "/a%252525b",
    "/a%252520b",
    "/" + "/".join(f"s{n}" for n in range(26)),
]
PLAIN_PATHS = [
    "/",
    "/en/en/",
    "/1/1/1",
    "/2019/11/11/11",
    "/a/b/a/b",
    "/e/e/e/abc.png",
    "/usr/share/doc/x/share/doc/",
    "/2/2/2/2",
    "/org/apache/xml/apache/org/",
    "/100%25",
    "/a%2520b",
    "/ri/String/%2525-i.ri",  # the file %25-i.ri tells of the operator %
    "/" + "/".join(f"s{n}" for n in range(25)),
    "/wiki/C%2B%2B",
]
ODD_QUERIES = [
    "a=1&a=1&a=1",
    "s=1&s=2&s=3&s=4&s=5&s=6",
    "C=N;O=D;O=D;O=D",
    "a=1&amp;s=1&s=2;s=3;s=4&amp;s=5;s=6",
    "next=/login?next=/login?next=/login?next=/",
    "p=a/b/a/b/a/b",
    "u=http://a.b/?u=http://a.b/?u=http://a.b/",
    "r=%2Fx%3Fr%3D%2Fx%253Fr%253D%252Fx%25253Fr%25253D",
    "x=%252525",
    "path=home%2Fhome%2Fhome",
    "q=" + "x" * 1_100,
]
PLAIN_QUERIES = [
    "id=5",
    "q=what???",
    "a=1&b=1&c=1",
    "tag=a&tag=b&tag=c",
    "a=1&amp;b=2&amp;c=3&amp;d=4&amp;e=5",
    "C=N;O=D",
    "u=http://a.b/&via=https://c.d/",
    "next=/login?next=/home",
    "next=%2Faccount%3Ftab%3D1",
    "path=/2019/01/01/01",
    "",
    "a&b&&c",
    "&&&&",
    "x=100%25",
    "file=100%2525",
    "file=src/lib/a.c",
]


def test_paths_that_repeat_are_refused_and_others_not() -> None:
    assert [path for path in ODD_PATHS if path_problem(path, 3, 25) is None] == []
    assert [path for path in PLAIN_PATHS if path_problem(path, 3, 25) is not None] == []


def test_queries_that_repeat_are_refused_and_others_not() -> None:
    assert [query for query in ODD_QUERIES if query_problem(query, 3, 1_024) is None] == []
    assert [query for query in PLAIN_QUERIES if query_problem(query, 3, 1_024) is not None] == []


@pytest.mark.parametrize(
    ("url", "bare"),
    [
        ("/a;jsessionid=0123456789ABCDEF?x=1", "/a?x=1"),
        ("/(S(lit3py55t21z5v55vlm25s55))/orders.aspx", "/orders.aspx"),
        ("/a?PHPSESSID=1", "/a"),
        ("/a?PHPSESSID=abcdef0123456789&id=7", "/a?&id=7"),
        ("/a?id=7&sid=0a1b2c3d4e", "/a?id=7"),
        ("/a?s=9e107d9d372bb6826bd81d3542a419d6", "/a"),
        ("/a?session_id=8231231231", "/a"),
        ("/story.php?sid=12345", None),
        ("/program?session=12", None),
        ("/talk?session_id=12", None),
        ("/commit/9e107d9d372bb6826bd81d3542a419d6", None),
        ("/doc?id=9e107d9d372bb6826bd81d3542a419d6", None),
        ("/?s=search+words", None),
        ("/assessment?assessor=abcdefgh", None),
        ("/f(x)/g", None),
    ],
)
def test_session_ids_are_told_from_names(url: str, bare: str | None) -> None:
    """E20: the page behind the id; numbers of stories, talks and commits are none."""
    origin = "http://t.test"
    assert without_session(origin + url) == origin + (url if bare is None else bare)


@pytest.mark.parametrize(
    ("path", "query", "expected"),
    [
        ("/cal/2024/5", "", (2024, 5, 0)),
        ("/cal/2024/05/17/", "", (2024, 5, 17)),
        ("/2024/05/17/index.html", "", (2024, 5, 17)),
        ("/events/2024-05.html", "", (2024, 5, 0)),
        ("/calendar/20240517", "", (2024, 5, 17)),
        ("/17-05-2024", "", (2024, 5, 17)),
        ("/pipermail/2024-March/", "", (2024, 3, 0)),
        ("/2024", "", (2024, 0, 0)),
        ("/c", "date=2024-05-17", (2024, 5, 17)),
        ("/c", "date=2024%2F05%2F17", (2024, 5, 17)),
        ("/c", "y=2024&m=5&d=17&view=week", (2024, 5, 17)),
        ("/c", "year=2024", (2024, 0, 0)),
        ("/c", "month=1715904000", (2024, 5, 17)),
        ("/c", "tribe-bar-date=2024-05-17", (2024, 5, 17)),
        ("/c", "year=2024&week=20", (2024, 120, 0)),
        ("/2024/05/17/the-title", "", None),
        ("/c", "id=7&date=2024-05-17", None),
        ("/c", "date=2024-05-17&q=something+quite+long", None),
        ("/topic/2019/5", "", None),
        ("/t/slug/1234/12", "", None),
        ("/item/20240517", "", None),
        ("/p/201905", "", None),
        ("/v2.10.12", "", None),
        ("/c", "m=5", None),
        ("/", "", None),
        ("/2024/13/40", "", None),
    ],
)
def test_dates_are_told_from_numbers(path: str, query: str, expected: tuple[int, int, int] | None) -> None:
    assert date_of(path, query) == expected


def test_a_date_holds_what_lies_in_it() -> None:
    assert Date(2024, 0, 0).holds(Date(2024, 5, 17)) and Date(2024, 5, 0).holds(Date(2024, 5, 17))
    assert Date(2024, 5, 17).holds(Date(2024, 5, 17))
    assert not Date(2024, 5, 17).holds(Date(2024, 5, 18)) and not Date(2024, 5, 0).holds(Date(2024, 6, 0))


def test_spellings_and_shapes() -> None:
    assert [path for path in ("/a//b", "//", "/a..", "/a../b", "/a;", "/a;/b") if not is_alias(path)] == []
    plain = ("/web/2019/http://example.org/", "/wiki/J._R.", "/wiki/Inc./x", "/a;b=1", "/a...b", "/")
    assert [path for path in plain if is_alias(path)] == []
    assert shape_of("/list/17/b", "page=3") == shape_of("/list/18/c", "page=4")
    assert shape_of("/list/17/b", "") != shape_of("/item/17/b", "") != shape_of("/item/17/b/", "")


ASCII = st.text(
    st.sampled_from("/?&=;.:%-_()0123456789abwxyz25FS") | st.characters(min_codepoint=33, max_codepoint=126),
    max_size=300,
)


@given(ASCII, ASCII)
@settings(max_examples=150)
def test_no_url_breaks_a_rule(path: str, query: str) -> None:
    """Hostile input never raises; what is refused once by a pure rule is refused by it again."""
    path = "/" + path.replace("?", "")
    url = f"http://t.test{path}?{query}"
    assert path_problem(path, 3, 25) == path_problem(path, 3, 25)
    assert query_problem(query, 3, 1_024) == query_problem(query, 3, 1_024)
    assert without_session(without_session(url)).startswith("http://t.test")
    date_of(path, query)
    date_of(path, "")
    book = TrapBook(Traps(), YEAR)
    book.judge(url, 1, Parent("http://t.test/2024/05/01/?x=1", 3, 2))
    book.fetched(url, 1, 7)
    book.linked(url, 1, 2, [url], [])


@pytest.mark.parametrize(
    "piece", [";sid", "&s", "%25", "/a", "aaaa", "?a=", "=2024-", "((", "//", "&a=1", ";", "2019/"]
)
def test_long_input_of_one_kind_is_read_in_one_pass(piece: str) -> None:
    """Would not come to an end if an expression backtracked."""
    text = piece * (60_000 // len(piece))
    path = "/" + text.replace("?", "")
    off = Traps(**dict.fromkeys(("path_segments", "query_b"), 0))
    book = TrapBook(off, YEAR)
    for url in (f"http://t.test{path}", f"http://t.test/?{text}", f"http://t.test/?a={text}"):
        book.judge(url, 1, Parent(url, 2, 1))
        book.fetched(url, 1, 7)


# ---- budgets -----------------------------------------------------------------------------------------------------


def test_what_was_used_survives_a_restart() -> None:
    """DESIGN section 2: budgets are kept with the crawl."""
    first = TrapBook(Traps(slash_aliases=3, session_ids=2, hosts_per_domain=2, duplicates_only=2), YEAR)
    for n in range(4):  # the first one may be the only spelling of the page
        assert first.judge(f"http://t.test/a/{'/' * (n + 1)}b", 1, None) is ADMITTED
    for n in range(2):
        assert first.judge(f"http://t.test/s?sid=abcdef12{n}", 1, None) is ADMITTED
        assert first.judge(f"http://h{n}.t.test/", 2 + n, None) is ADMITTED
    for n in range(8):
        first.fetched(f"http://t.test/same/{n}", 1, 7)
    rows = list(first.dump())
    assert list(first.dump()) == []
    second = TrapBook(Traps(slash_aliases=3, session_ids=2, hosts_per_domain=2, duplicates_only=2), YEAR)
    second.load(rows)
    for book in (first, second):
        assert book.judge("http://t.test/a///////b", 1, None).reason is Reason.SLASH_ALIASES
        assert book.judge("http://t.test//only//spelling", 1, None) is ADMITTED
        assert book.judge("http://t.test/s?sid=abcdef129", 1, None).reason is Reason.SESSION_IDS
        assert book.judge("http://h9.t.test/", 9, None).reason is Reason.HOSTS_PER_DOMAIN
        assert book.judge("http://h1.t.test/new", 3, None) is ADMITTED
        assert book.judge("http://t.test/same/9", 1, None).reason is Reason.DUPLICATES_ONLY
    assert {type(value) for _, value in rows} == {int, bytes}


def test_spellings_and_steps_survive_a_restart() -> None:
    """Budgets are kept with the crawl: what spells its pages anew, and where numbers go on."""
    traps = Traps(spellings=30, chain=10)
    first = TrapBook(traps, YEAR)
    for n in range(SAMPLED * YOUNG * 2):
        assert first.judge(f"http://t.test/young/{n}", 1, None) is ADMITTED
    for n in range(2_000):
        first.judge(f"http://t.test{cased('/one/and/the/same', str(n))}", 1, None)
    for n in range(200):
        for step in (1, 3):
            first.judge(f"http://t.test/n?page={n + step}", 2, Parent(f"http://t.test/n?page={n}", 1, 1))
    second = TrapBook(traps, YEAR)
    second.load(list(first.dump()))
    assert list(first.dump()) == []
    for book in (first, second):
        further = [book.judge(f"http://t.test{cased('/same/one/and/the', str(n))}", 1, None).reason for n in range(40)]
        assert further[-20:] == [Reason.SPELLINGS] * 20
        assert book.judge("http://t.test/the/same/and/another", 1, None) is ADMITTED
        assert book.judge("http://t.test/one/and/the/same/2", 1, None) is ADMITTED
        steps = [
            (f"http://t.test/n?page={n + 1}", 2, Parent(f"http://t.test/n?page={n}", 1, 1)) for n in range(900, 990)
        ]
        assert [book.judge(*step).reason for step in steps][-20:] == [Reason.CHAIN_TOO_LONG] * 20
        assert book.judge("http://t.test/n?page=989", 2, Parent("http://t.test/", 1, 0)) is ADMITTED


def test_words_of_a_url() -> None:
    """What makes two URLs spellings of one page, and what does not."""
    one = words_of("/shop/item-5", "a=1&b=2")
    for path, query in (
        ("/Shop/ITEM-5", "b=2&a=1"),
        ("/shop//item-5/", "a=1&b=2"),
        ("/%53hop/./item%2D5", "a=1&&b=2"),
        ("/shop/shop/item-5%20", "b=2;a=1"),
    ):
        assert words_of(path, query) == one, (path, query)
    for path, query in (("/shop/item-6", "a=1&b=2"), ("/shop/item-5", "a=2&b=1"), ("/shop/item-5", "")):
        assert words_of(path, query) != one, (path, query)
    assert words_of("/1/2", "") != words_of("/2/1", "") and words_of("/-5/1", "") != words_of("/5/1", "")
    assert words_of("/%c4%e3", "") != words_of("/%c4%e4", "")


def test_an_endless_part_stays_found_out_after_a_restart() -> None:
    crawl = walk(TARPITS["random folders"], traps=Traps(endless_site_pages=1_000))
    book = TrapBook(Traps(), YEAR)
    book.load(crawl.book.dump())
    assert book.judge("http://t.test/0a1b2c3d4e5f/3d4e5f0a1b2c/", 1, None).reason is Reason.ENDLESS_SITE
    assert book.judge_waiting("http://t.test/0a1b2c3d4e5f/3d4e5f0a1b2c/", 1).reason is Reason.ENDLESS_SITE
    assert book.judge("http://t.test/good/41", 1, None) is ADMITTED


TOKEN = re.compile(r"[0-9a-f]{12}")


@pytest.mark.parametrize("address", ["/{token}{page}", "{page}?zx={token}", "{page}/{token}.html"])
def test_pages_behind_tokens_are_found_though_the_site_is_endless(address: str) -> None:
    """E20: an id in every link, of no name that is known; the good pages lie one behind the other."""

    def web(url: str) -> tuple[str, list[str]]:
        found = re.search(r"/page/(\d+)", url)
        at = int(found[1]) if found else 0
        pages = [*range(1, 11), *([at + 1] if at < 25 else [])]
        return url, [address.format(page=f"/page/{n}", token=noise(url + str(n))) for n in pages]

    crawl = walk(web, traps=Traps(endless_site_pages=1_000), cap=20_000)
    assert crawl.waiting == 0
    assert len(crawl.fetched) <= 1_500
    assert crawl.refused[Reason.ENDLESS_SITE] > 0
    assert {TOKEN.sub("", url) for url in crawl.fetched} >= {
        f"http://t.test{address.format(page=f'/page/{n}', token='')}" for n in range(1, 26)
    }
    again = TrapBook(Traps(endless_site_pages=1_000), YEAR)
    again.load((key, value) for key, value in crawl.book.dump() if value != b"")
    site = 1
    last = [url for url in crawl.fetched if "/page/25" in url]
    assert 0 < len(last) <= 3
    verdicts = [again.judge_waiting(url.replace("/page/25", f"/page/{n}"), site) for url in last for n in (25, 26)]
    assert all(verdict.admitted for verdict in verdicts)
    assert again.judge_waiting(last[0].replace("/page/25", "/page/1"), site).reason == Reason.ENDLESS_SITE


def test_a_new_body_clears_a_folder_of_duplicates() -> None:
    book = TrapBook(Traps(duplicates_only=3), YEAR)
    for n in range(8):
        book.fetched(f"http://t.test/x/{n}", 1, 7)
    assert book.judge("http://t.test/x/7", 1, None).reason is Reason.DUPLICATES_ONLY
    assert book.judge("http://t.test/y/7", 1, None) is ADMITTED
    assert book.judge_waiting("http://t.test/x/8", 1) is ADMITTED, "what waits is asked a little longer"
    book.fetched("http://t.test/x/9", 1, None)
    assert book.judge("http://t.test/x/7", 1, None) is ADMITTED


def test_one_folder_of_duplicates_does_not_speak_for_the_site() -> None:
    """A members' area that always answers with the same log-in page."""
    book = TrapBook(Traps(), YEAR)
    for n in range(400):
        book.fetched(f"http://t.test/member/{n}", 1, 7)
        book.fetched(f"http://t.test/reply?to={n}", 1, 7)
    assert book.judge("http://t.test/member/x", 1, None).reason is Reason.DUPLICATES_ONLY
    assert book.judge("http://t.test/reply?to=x", 1, None).reason is Reason.DUPLICATES_ONLY
    assert book.judge("http://t.test/topic/1", 1, None) is ADMITTED


def test_a_suffix_crawl_may_have_any_number_of_domains() -> None:
    """G3: below `gov.si` every name is a domain of its own; hosts below one of them are counted."""
    book = TrapBook(Traps(hosts_per_domain=5), YEAR, suffix="gov.si")
    assert all(book.judge(f"http://ministry{n}.gov.si/", n, None) is ADMITTED for n in range(50))
    verdicts = [book.judge(f"http://h{n}.one.gov.si/", 100 + n, None) for n in range(8)]
    assert [verdict.admitted for verdict in verdicts] == [True] * 5 + [False] * 3
    assert "--trap-hosts-per-domain 5" in verdicts[-1].detail


def test_hosts_that_the_user_named_are_not_counted() -> None:
    book = TrapBook(Traps(hosts_per_domain=1), YEAR)
    for n in range(5):
        book.trust_host(f"s{n}.t.test")
    assert all(book.judge(f"http://s{n}.t.test/x", n, None) is ADMITTED for n in range(5))


def test_chains_are_counted_by_shape_and_never_beyond_the_depth() -> None:
    book = TrapBook(Traps(), YEAR)
    assert book.chain_of("http://t.test/n/2", None) == 0
    assert book.chain_of("http://t.test/n/2", Parent("http://t.test/n/1", 9, 4)) == 5
    assert book.chain_of("http://t.test/n/2", Parent("http://t.test/n/1", 2, 4)) == 3, "the page came nearer since"
    assert book.chain_of("http://t.test/m/2", Parent("http://t.test/n/1", 9, 4)) == 0
    assert book.chain_of("http://b.t.test/n/2", Parent("http://a.t.test/n/1", 9, 4)) == 5
    assert book.chain_of("http://other.test/n/2", Parent("http://t.test/n/1", 9, 4)) == 0
    refused = book.judge("http://t.test/n/2", 1, Parent("http://t.test/n/1", 700, 500))
    assert refused.reason is Reason.CHAIN_TOO_LONG and "--trap-chain 500" in refused.detail
    assert book.judge("http://t.test/n/2", 1, Parent("http://t.test/", 0, 0)) is ADMITTED, (
        "another link may bring it in"
    )


def test_a_ledger_is_bounded_and_tells_what_is_gone() -> None:
    ledger = Ledger("x", 3)
    for n in range(5):
        ledger.add(str(n))
    assert len(ledger) == 3 and "0" not in ledger
    rows = dict(ledger.dump())
    assert rows == {"x0": b"", "x1": b"", "x2": 1, "x3": 1, "x4": 1}
    again = Ledger("x", 3)
    for key, value in rows.items():
        again.restore(key[1:], value)
    assert sorted(again) == ["2", "3", "4"]
    assert list(again.dump()) == []
