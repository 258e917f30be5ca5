"""Endless sites, and crawls of many hosts at once: each host is one case, judged by what its server saw."""

from __future__ import annotations

import base64
import html
import random
import re
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from hostile import Crawled, crawl
from web import Request, Response, Site, html_page

ALL_TEST_HOSTS = ("--resolve", "*.test=127.0.0.1")
UNBOUND = (*ALL_TEST_HOSTS, "--delay", "0", "--per-host", "8")
GOOD = tuple(f"/good/{name}" for name in ("one", "two", "three", "four", "five", "six"))
MANY_REQUESTS = 6_000
"""A few thousand at most, without any limit given: 3,000 tell a made-up site, and a fast one gives many in a tick."""

Answer = Callable[[Request, str], Response]


@dataclass(frozen=True)
class Trap:
    """A site that never ends: what one of its addresses answers, where it begins, and what must be found in it."""

    answer: Answer
    start: str = "/trap"
    finds: tuple[str, ...] = ()  # titles of good pages inside the trap, whatever spelling they are found under
    most: int = MANY_REQUESTS


TRAPS: dict[str, Trap] = {}


def noise(*parts: object) -> str:
    """Sixteen hexadecimal digits that look like chance and are the same each time."""
    text = repr(parts).encode()
    return f"{zlib.crc32(text):08x}{zlib.crc32(text, 77):08x}"


def number_in(path: str) -> int:
    """The last number of a path, 0 where there is none."""
    found = re.findall(r"\d+", path)
    return int(found[-1][-12:]) if found else 0


_WORDS = (
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "field",
    "grove",
    "hazel",
    "iris",
    "juniper",
    "kettle",
    "linden",
    "maple",
    "north",
    "olive",
    "pine",
)


def words_of(*parts: object) -> str:
    chance = random.Random(repr(parts))
    return " ".join(chance.choices(_WORDS, k=40))


def page_of(
    path: str, links: Iterable[str], *, title: str | None = None, text: str | None = None, head: str = ""
) -> Response:
    """A page of a trap: its own words unless told otherwise."""
    body = f"<p>{html.escape(words_of(path) if text is None else text)}</p>"
    return Response(html_page(path if title is None else title, links, body, head))


def _trap(
    name: str, *, start: str = "/trap", finds: Sequence[str] = (), most: int = MANY_REQUESTS
) -> Callable[[Answer], Answer]:
    def register(answer: Answer) -> Answer:
        TRAPS[name] = Trap(answer, start, tuple(finds), most)
        return answer

    return register


def links_trap(
    name: str,
    links: Callable[[str], Iterable[str]],
    *,
    start: str = "/trap",
    text: str | None = None,
    most: int = MANY_REQUESTS,
) -> None:
    """A trap of ordinary pages: ``links`` of a path are the links on its page."""

    def answer(request: Request, _host: str) -> Response:
        return page_of(request.path, links(request.path), text=text)

    TRAPS[name] = Trap(answer, start, (), most)


# --- redirects that never end


@_trap("redirect-numbers", most=60)
def _(request: Request, _host: str) -> Response:
    return Response(b"", 302, headers={"Location": f"/trap/{number_in(request.path) + 1}"})


@_trap("redirect-noise", most=60)
def _(request: Request, _host: str) -> Response:
    return Response(b"", 301, headers={"Location": f"/trap/{noise(request.path)}"})


@_trap("redirect-growing", most=60)
def _(request: Request, _host: str) -> Response:
    return Response(b"", 307, headers={"Location": f"/trap?next={quote(request.path, safe='')}"[:3_000]})


@_trap("redirect-and-page")
def _(request: Request, _host: str) -> Response:
    """A page, a redirect, a page ..."""
    number = number_in(request.path)
    if "/go/" in request.path:
        return Response(b"", 302, headers={"Location": f"/trap/at/{number}"})
    return page_of(request.path, [f"/trap/go/{number + 1}"])


@_trap("redirect-forest")
def _(request: Request, _host: str) -> Response:
    """Every link is a redirect to a page nobody has seen."""
    if "/go/" in request.path:
        return Response(b"", 303, headers={"Location": f"/trap/at/{noise(request.path)}"})
    return page_of(request.path, [f"/trap/go/{noise(request.path, n)}" for n in range(4)])


@_trap("redirect-cookies", most=60)
def _(request: Request, _host: str) -> Response:
    """Always the same address, always a new cookie."""
    return Response(b"", 302, headers={"Location": request.path, "Set-Cookie": f"seen={noise(time.time())}"})


@_trap("refresh-numbers")
def _(request: Request, _host: str) -> Response:
    head = f'<meta http-equiv="refresh" content="0; url=/trap/{number_in(request.path) + 1}">'
    return page_of(request.path, [], head=head)


@_trap("refresh-header")
def _(request: Request, _host: str) -> Response:
    return Response(html_page(request.path), headers={"Refresh": f"0; url=/trap/{noise(request.path)}"})


@_trap("frames-endless")
def _(request: Request, _host: str) -> Response:
    target = f"/trap/{number_in(request.path) + 1}"
    return Response(html_page(request.path, body=f'<iframe src="{target}"></iframe>{words_of(request.path)}'))


@_trap("onclick-endless")
def _(request: Request, _host: str) -> Response:
    target = f"/trap/{number_in(request.path) + 1}"
    return Response(
        html_page(
            request.path, body=f"<button onclick=\"location.href='{target}'\">on</button>{words_of(request.path)}"
        )
    )


# --- calendars


def _day(path: str, step: int) -> str:
    found = re.search(r"(\d{4})[/-](\d{1,2})[/-](\d{1,2})", path)
    now = time.mktime((int(found[1]), int(found[2]), int(found[3]), 12, 0, 0, 0, 0, 0)) if found else 1.7e9
    return time.strftime("%Y/%m/%d", time.localtime(now + step * 86_400))


links_trap("calendar-days", lambda path: [f"/trap/{_day(path, 1)}", f"/trap/{_day(path, -1)}"], text="no events")
links_trap(
    "calendar-days-query",
    lambda path: [f"/trap?day={_day(path, step).replace('/', '-')}" for step in (1, -1, 7, 30)],
    text="no events",
)


def _months(path: str) -> list[str]:
    found = re.search(r"year=(-?\d+)&month=(\d+)", path)
    at = int(found[1]) * 12 + int(found[2]) - 1 if found else 24_300
    return [f"/trap?year={n // 12}&month={n % 12 + 1}" for n in (at - 1, at + 1, at + 12)]


links_trap("calendar-year-month", _months, text="nothing on")
links_trap(
    "calendar-weeks",
    lambda path: [
        f"/trap?week={2020 + (number_in(path) + 1) // 52}-W{(number_in(path) + 1) % 52:02}&n={number_in(path) + 1}"
    ],
)
links_trap(
    "calendar-seconds",
    lambda path: [f"/trap?ts={(number_in(path) or 1_700_000_000) + step * 86_400}" for step in (1, -1)],
)
links_trap(
    "calendar-views",
    lambda path: [f"/trap/{view}/{_day(path, step)}" for view in ("day", "week", "month", "list") for step in (1, -1)],
    text="nothing on",
)


@_trap("calendar-with-events", finds=[f"event {n}" for n in range(0, 60, 5)])
def _(request: Request, _host: str) -> Response:
    """Months without end; twelve of the first sixty have an event, which is a good page."""
    event = re.search(r"/event/(\d+)$", request.path)
    if event:
        return page_of(request.path, [], title=f"event {event[1]}")
    found = re.search(r"/(\d+)-(\d+)$", request.path)
    month = int(found[1]) * 12 + int(found[2]) - 1 if found else 2_020 * 12
    links = [f"/trap/{at // 12}-{at % 12 + 1:02}" for at in (month + 1, month - 1)]
    since = month - 2_020 * 12
    if 0 <= since < 60 and since % 5 == 0:
        links.append(f"/event/{since}")
    return page_of(request.path, links, text="")


# --- numbers, paths and queries that grow

links_trap("numbers-down", lambda path: [f"/trap/-{number_in(path) + 1}"])
links_trap("numbers-padded", lambda path: [f"/trap/{number_in(path) + 1:012}.html"])
links_trap(
    "numbers-hex", lambda path: [f"/trap/{int(path.rsplit('/', 1)[-1], 16) + 1 if path.count('/') > 1 else 4096:x}"]
)
links_trap(
    "numbers-base64", lambda path: [f"/trap/{base64.urlsafe_b64encode(noise(path).encode()).decode().rstrip('=')}"]
)
links_trap("numbers-many", lambda path: [f"/trap/{number_in(path) * 7 + n}" for n in range(1, 8)])
links_trap("time-stamps", lambda path: [f"/trap/{time.time_ns()}"])
links_trap(
    "chain-of-three-shapes",
    lambda path: [("/trap/a/{}", "/trap/b/{}/x", "/trap/c?at={}")[(n := number_in(path) + 1) % 3].format(n)],
)
links_trap("letters-grow", lambda path: [path + "x" if len(path) > 5 else "/trap/x"])
links_trap("value-grows", lambda path: [path + "x" if "?" in path else "/trap?q=x"])
links_trap("login-return", lambda path: [f"/trap/login?return={quote(path, safe='')}"])
links_trap("relative-grows", lambda path: ["archive/older/", "tags/all/"], start="/trap/")
links_trap("relative-words", lambda path: [f"{word}/" for word in _WORDS[:4]], start="/trap/")
links_trap("dots", lambda path: [f"{path.rstrip('/')}/a/../b{number_in(path) + 1}/./"])
links_trap("semicolons", lambda path: [f"{path};v={path.count(';')}"])
links_trap(
    "plus-tags", lambda path: ["/trap/" + "+".join(sorted({*filter(None, path[6:].split("+")), tag})) for tag in _WORDS]
)


def _filters(path: str) -> list[str]:
    unset = [name for name in ("size", "brand", "price", "colour", "shop") if name not in path]
    return [f"{path.rstrip('/')}/{name}-{value}" for name in unset for value in range(9)]


links_trap("filters-in-path", _filters)


# --- mazes


def _speaking(path: str) -> list[str]:
    names = (random.Random(f"{path} {n}").sample(_WORDS, 2) for n in range(6))
    return [f"/trap/{first}/{second}-{noise(path, n)[:4]}/" for n, (first, second) in enumerate(names)]


links_trap("maze-words", _speaking)
links_trap("maze-tree", lambda path: [f"{path.rstrip('/')}/{word}" for word in random.Random(path).sample(_WORDS, 5)])
links_trap("maze-html", lambda path: [f"/trap/{noise(path, n)[:10]}.html" for n in range(8)])
links_trap("maze-wide", lambda path: [f"/trap/{noise(path, n)}" for n in range(300)])
links_trap(
    "maze-uuid",
    lambda path: [
        f"/trap/{(h := noise(path, n) * 2)[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:32]}" for n in range(3)
    ],
)


@_trap("listing-endless", most=5_600)
def _(request: Request, _host: str) -> Response:
    """A list that never ends, and ten new articles on each of its pages."""
    if "/item/" in request.path:
        return page_of(request.path, ["/trap?page=1"])
    page = number_in(request.path)
    return page_of(request.path, [f"/trap?page={page + 1}", *(f"/item/{page * 10 + n}" for n in range(10))])


@_trap("base-moves")
def _(request: Request, _host: str) -> Response:
    return page_of(request.path, ["page", "other"], head=f'<base href="/trap/{noise(request.path)[:6]}/">')


@_trap("soft-404")
def _(request: Request, _host: str) -> Response:
    """Every address answers with the same page, whose links are relative."""
    return page_of("", ["a/b.html", "c/d.html", "e/"], title="welcome", text="welcome")


# --- one page under many spellings


_SHOP = [f"article {n}" for n in range(25)]


def _shop(links: Callable[[str, int, int], str]) -> Answer:
    """A small shop whose pages stand under a new spelling in every link."""

    def answer(request: Request, _host: str) -> Response:
        found = re.search(r"article-(\d+)", request.path)
        number = int(found[1]) if found else 0
        near = (number, *((number * 3 + step) % 25 for step in (1, 2, 3)), 0, 7, 13)
        hrefs = [links(request.path, to, turn) for turn, to in enumerate(near)]
        return page_of("", hrefs, title=f"article {number}", text=words_of(number))

    return answer


def shop_trap(name: str, links: Callable[[str, int, int], str], *, most: int = MANY_REQUESTS) -> None:
    """A shop whose every link spells its target, article ``n``, anew: ``links(path of the page, n, which link)``."""
    TRAPS[name] = Trap(_shop(links), "/article-0", tuple(_SHOP), most)


def mixed(text: str, key: str, change: Callable[[str], str]) -> str:
    """A text with half of its letters changed, others for each key."""
    bits = int(noise(key), 16)
    return "".join(change(letter) if bits >> place & 1 else letter for place, letter in enumerate(text))


def shuffled(key: str) -> str:
    return "&".join(random.Random(key).sample(("a=1", "b=2", "c=3", "d=4", "e=5"), 5))


shop_trap("spelling-session", lambda path, n, turn: f"/article-{n}?sid={noise(path, turn)}")
shop_trap("spelling-phpsessid", lambda path, n, turn: f"/article-{n}?view=1&PHPSESSID={noise(path, turn) * 2}")
shop_trap("spelling-session-path", lambda path, n, turn: f"/s/{noise(path, turn) * 2}/article-{n}")
shop_trap("spelling-asp-session", lambda path, n, turn: f"/(S({noise(path, turn)}abcdefgh))/article-{n}.aspx")
shop_trap("spelling-jsessionid", lambda path, n, turn: f"/article-{n};jsessionid={noise(path, turn).upper() * 2}")
shop_trap("spelling-utm", lambda path, n, turn: f"/article-{n}?utm_source={noise(path, turn)[:5]}&utm_id={turn}")
shop_trap("spelling-buster", lambda path, n, turn: f"/article-{n}?_={noise(path, turn)}")
shop_trap("spelling-from", lambda path, n, turn: f"/article-{n}?from={quote(path.partition('?')[0], safe='')}")
shop_trap("spelling-slashes", lambda path, n, turn: f"/shop{'/' * (1 + len(path) % 40 + turn)}article-{n}")
shop_trap("spelling-folders", lambda path, n, turn: f"{path.rpartition('/')[0]}/{_WORDS[turn]}/article-{n}")
shop_trap(
    "spelling-case",
    lambda path, n, turn: f"/{mixed('catalogue', f'{path} {turn}', str.upper)}/article-{n}",
    most=1_500,
)
shop_trap(
    "spelling-escapes",
    lambda path, n, turn: f"/{mixed('catalogue', f'{path} {turn}', lambda c: f'%{ord(c):02x}')}/article-{n}",
)
shop_trap("spelling-order", lambda path, n, turn: f"/article-{n}?{shuffled(f'{path} {turn}')}", most=1_500)
shop_trap("spelling-empty", lambda path, n, turn: f"/article-{n}{('?', '?&', '?&&', '#x', '?#', '')[turn % 6]}")


@_trap("products-sorted", finds=[f"product {n}" for n in range(40)])
def _(request: Request, _host: str) -> Response:
    """Forty products, and every way to sort, show and filter their list."""
    found = re.search(r"/product/(\d+)", request.path)
    if found:
        return page_of("", ["/trap"], title=f"product {found[1]}", text=words_of(found[1]))
    query = dict(pair.partition("=")[::2] for pair in request.path.partition("?")[2].split("&") if pair)
    links = []
    for name, values in {"sort": 6, "dir": 2, "view": 3, "per": 4, "brand": 9, "page": 4}.items():
        for value in range(values):
            links.append("/trap?" + "&".join(f"{k}={v}" for k, v in sorted((query | {name: str(value)}).items())))
    page = int(query.get("page", "0"))
    return page_of(request.path, [*links, *(f"/product/{page * 10 + n}" for n in range(10))])


def lay_trap(site: Site, name: str, host: str) -> str:
    """The start address of a host that is a trap with good pages around it: linked after it, and behind each other."""
    trap = TRAPS[name]

    def answer(request: Request) -> Response:
        return trap.answer(request, host)

    site.serve("/*", answer, host=host)
    site.robots("User-agent: *\nAllow: /\n", host=host)
    site.respond("/sitemap.xml", Response(status=404), host=host)
    site.page("/", [trap.start, *GOOD[:4]], host=host)
    behind = {GOOD[2]: [GOOD[4]], GOOD[4]: [GOOD[5]]}
    for path in GOOD:
        site.page(path, behind.get(path, ()), host=host)
    return site.at("/", host)


def crawl_traps(
    site: Site, names: Sequence[str], folder: Path, *options: str, limit_s: float = 900.0
) -> tuple[Crawled, dict[str, str]]:
    """One crawl over many traps, each on a host of its own, without any limit; and what is wrong with each of them."""
    hosts = {name: f"{name}.test" for name in names}
    seeds = [lay_trap(site, name, host) for name, host in hosts.items()]
    crawled = crawl(folder, seeds, *UNBOUND, *options, limit_s=limit_s)
    asked = Counter(request.host for request in list(site.requests))
    titles: dict[str, set[str | None]] = {host: set() for host in hosts.values()}
    for page in crawled.pages.values():
        host = page.url.partition("://")[2].partition(":")[0]
        if page.status == 200 and host in titles:
            titles[host].add(page.title)
    wrong: dict[str, str] = {}
    for name, host in hosts.items():
        missing = [title for title in ("/", *GOOD, *TRAPS[name].finds) if title not in titles[host]]
        if asked[host] > TRAPS[name].most or missing:
            wrong[name] = f"{asked[host]} requests, missing {missing}"
    return crawled, wrong


def requests_of(site: Site, host: str) -> list[Request]:
    """What a host was asked, in the order in which the server read it: when it came is known to milliseconds only."""
    return [request for request in list(site.requests) if request.host == host]


def host_of_kind(kind: str) -> str:
    return f"{kind.replace('_', '-')}.kind.test"
