"""The answer key: what a crawl of an invented web finds, without a crawl.

What ends in ``_of`` is a method of `InventedWeb`, and described there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from weft.demo.invented.maps import sitemaps_of
from weft.demo.invented.nouns import BINARY, FAMILIES, FOLLOWED, TRAP_PREFIX, Entry, Link, Planted, Spot, plain
from weft.demo.invented.pages import encoding_of, noindex_of, plan_of
from weft.demo.invented.planted import planted_on
from weft.demo.invented.shape import Shape
from weft.demo.invented.special import IMAGE_SIZE, redirect_of, small_spots, trap_places
from weft.demo.invented.words import LANGUAGES


def entry_of(web: Shape, url: str) -> Entry | None:
    place = web.place(url)
    if place is None:
        return None
    host, path = place
    number = web.page_number(host, path)
    if number is not None:
        return _page_entry(
            web, url, "copy" if path == "/index.html" else "page", number, host, int(path == "/index.html")
        )
    member = web.member(host, path)
    return None if member is None else _member_entry(web, url, host, *member)


def _page_entry(web: Shape, url: str, role: str, number: int, host: int, deeper: int) -> Entry:
    _, title, tongue = web.name(host, number)
    language = LANGUAGES[tongue]
    encoding = encoding_of(number, language)
    depth, noindex = web.level(number) + deeper, noindex_of(number)[0]
    return Entry(url, role, 200, "text/html", depth, plain(title), language.code, encoding, noindex)


def _member_entry(web: Shape, url: str, host: int, role: str, number: int, step: int) -> Entry:
    depth = web.level(number) + 1
    if role in ("copy", "near"):
        return _page_entry(web, url, role, number, host, 1)
    if role in ("redirect", "loop"):
        return Entry(url, role, redirect_of(web, host, role, number, step)[0], "text/html", depth, "moved")
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


def entries_of(web: Shape, host: int | None = None, roles: Iterable[str] | None = None) -> Iterator[Entry]:
    wanted = None if roles is None else set(roles)
    for at in range(web.hosts) if host is None else (host,):
        for number in range(web.size(at)) if wanted is None or "page" in wanted else ():
            yield _page_entry(web, web.url(at, web.name(at, number)[0]), "page", number, at, 0)
        if wanted is None or "copy" in wanted:
            yield _page_entry(web, web.url(at, "/index.html"), "copy", 0, at, 1)
        for role, family in FAMILIES.items():
            if wanted is not None and role not in wanted:
                continue
            for number in web.numbers(at, role):
                for step in range(1, web.steps(role, at, number) + 1):
                    path = family.path(number) + (f"/{step}" if step > 1 else "")
                    yield _member_entry(web, web.url(at, path), at, role, number, step)


def links_of(web: Shape, url: str) -> list[Link]:
    place = web.place(url)
    if place is None:
        return []
    host, path = place
    number = web.page_number(host, path)
    if number is None:
        member = web.member(host, path)
        if member is None:
            return _trap_links(web, host, path)
        role, number, step = member
        if role in ("redirect", "loop"):
            target = redirect_of(web, host, role, number, step)[1]
            return [Link(target if target.startswith("http") else web.url(host, target), "redirect")]
        if role in ("missing", "broken", "document", "text"):
            return []
        if role not in ("copy", "near"):
            return [_link(web, spot) for spot in small_spots(web, host, role, number)]
    plan = plan_of(web, host, number, path, web.draws(host, number))
    return [_link(web, spot) for block in plan for spot in block]


def _trap_links(web: Shape, host: int, path: str) -> list[Link]:
    if not web.traps or not path.startswith(TRAP_PREFIX):
        return []
    places = [("/", "Home"), *trap_places(web, path)]
    return [Link(web.url(host, place), "a", anchor) for place, anchor in places]


def _link(web: Shape, spot: Spot) -> Link:
    host, path, kind, anchor, rel, fragment = spot
    target = web.url(host, path) if path.startswith("/") else path
    return Link(target, kind, plain(anchor) if kind == "a" else "", rel, fragment)


def shown_of(web: Shape, url: str) -> dict[str, tuple[int, int]]:
    """The images that a URL shows, icons among them, each with its width and height."""
    shown = (link.target for link in links_of(web, url) if link.kind == "image" or link.rel == "icon")
    return dict.fromkeys(shown, IMAGE_SIZE)


def linked_documents_of(web: Shape, url: str) -> list[str]:
    """The documents that a URL links to, each once."""
    linked = (link.target for link in links_of(web, url) if link.kind == "a")
    return [target for target in dict.fromkeys(linked) if target.endswith(".pdf")]


def duplicates_of(web: Shape, host: int | None = None) -> Iterator[tuple[str, ...]]:
    for at in range(web.hosts) if host is None else (host,):
        yield web.url(at, "/"), web.url(at, "/index.html")
        for number in web.numbers(at, "copy"):
            yield web.url(at, web.name(at, number)[0]), web.url(at, FAMILIES["copy"].path(number))


def near_duplicates_of(web: Shape, host: int | None = None) -> Iterator[tuple[str, str]]:
    for at in range(web.hosts) if host is None else (host,):
        for number in web.numbers(at, "near"):
            yield web.url(at, web.name(at, number)[0]), web.url(at, FAMILIES["near"].path(number))


def disallowed_of(web: Shape, host: int | None = None) -> Iterator[str]:
    for at in range(web.hosts) if host is None else (host,):
        for number in web.numbers(at, "private"):
            yield web.url(at, FAMILIES["private"].path(number))


def planted_of(web: Shape, url: str) -> list[Planted]:
    place = web.place(url)
    entry = entry_of(web, url)
    if place is None or entry is None or entry.role not in ("page", "copy", "near"):
        return []
    number = web.page_number(*place)
    if number is None:
        member = web.member(*place)
        number = 0 if member is None else member[1]
    return planted_on(web, place[0], number)


# --- a crawl, as it should be


def expected_of(
    web: Shape,
    seeds: Iterable[str] | None = None,
    *,
    scope: str = "host",
    sitemaps: bool = True,
    obey_robots: bool = True,
    follow_nofollow: bool = False,
    max_depth: int | None = None,
) -> dict[str, Entry]:
    starts = web.seeds() if seeds is None else list(seeds)
    places = [web.place(url) for url in starts]
    hosts = {place[0] for place in places if place is not None}
    queue = deque((url, 0) for url in starts)
    mapped: set[int] = set()
    found: dict[str, Entry] = {}
    while queue:
        url, depth = queue.popleft()
        place = web.place(url)
        if url in found or place is None or (max_depth is not None and depth > max_depth):
            continue
        host, path = place
        if (scope == "host" and host not in hosts) or path.startswith(TRAP_PREFIX) or path.endswith(BINARY):
            continue
        if obey_robots and path.startswith("/private/") and not path.startswith("/private/open/"):
            continue
        entry = entry_of(web, url) or Entry(url, "unknown", 404, "text/html", depth, "404")
        found[url] = entry._replace(depth=depth)
        closed = entry.nofollow and not follow_nofollow
        links = [] if closed else links_of(web, url)
        for link in links:
            if link.kind == "redirect":
                queue.appendleft((link.target, depth))
            elif link.kind in FOLLOWED and (follow_nofollow or "nofollow" not in link.rel):
                queue.append((link.target, depth + 1))
        if sitemaps and host not in mapped:
            mapped.add(host)
            # the front of the queue is of this depth or the next; sitemaps speak for depth 1
            _add_mapped(web, queue, host, depth)
    return found


def _add_mapped(web: Shape, queue: deque[tuple[str, int]], host: int, depth: int) -> None:
    listed = [
        url for place, urls in sitemaps_of(web, host).items() if not place.endswith("/sitemap.xml") for url in urls
    ]
    if depth == 0:
        queue.extend((url, 1) for url in listed)
    else:
        queue.extendleft((url, 1) for url in reversed(listed))
