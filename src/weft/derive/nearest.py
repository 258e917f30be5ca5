"""The known URLs that are most like one that is not known. Bounded work, however large the crawl."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Sequence
from difflib import SequenceMatcher, get_close_matches

import msgspec

from weft.derive.read import StoredCrawl
from weft.url import origin_of, parse, path_of, resolve, scheme_of, site_of

MOST = 5
_ANCESTORS = 6
_LINKS_OF_ANCESTORS = 5_000
_SCANNED = 40_000  # ids looked at from each end of the table of URLs
_CANDIDATES = 8_000  # taken from each end
_LIKE_AT_AN_END = 300  # of them: those that begin like the URL, and those that end like it
_COMPARED = 40
_LIKE = 0.6
_SITES = 20_000


def nearest_urls(crawl: StoredCrawl, url: str, most: int = MOST) -> list[str]:
    """Up to ``most`` URLs of pages, the likest first; other spellings of the same thing before all others."""
    text = parse(url) or url
    if not text.startswith(("http://", "https://")):
        return []
    found = dict.fromkeys(_pages(crawl, [other for other in _variants(text) if other != text]))
    if len(found) < most:
        candidates = _candidates(crawl, text)
        found.update(dict.fromkeys(_likest(text, candidates, most)))
    parent = resolve(text, ".")
    if len(found) < most and parent is not None and crawl.page_id(parent) is not None:
        found[parent] = None
    if not found:
        found = dict.fromkeys(_roots_of_like_sites(crawl, text, most))
    found.pop(text, None)
    return list(found)[:most]


def _pages(crawl: StoredCrawl, urls: Sequence[str]) -> dict[str, int]:
    """Those that are pages of the crawl, and which."""
    places = zip(urls, crawl.find_all(urls), strict=True)
    return {url: place.page for url, place in places if place is not None and place.page is not None}


def _variants(url: str) -> Iterator[str]:
    """What people mean: with or without the slash, the query, www, the name of the index page; the other scheme."""
    scheme, site, path = scheme_of(url), site_of(url), path_of(url)
    bare, mark, query = path.partition("?")
    paths = [
        bare.rstrip("/") + mark + query,
        bare + "/" + mark + query,
        bare,
        bare.rstrip("/"),
        bare + "/",
        bare.lower(),
    ]
    paths += [f"{bare.rstrip('/')}/index.html", f"{bare}.html", bare.removesuffix(".html")]
    sites = [site, site.removeprefix("www.") if site.startswith("www.") else f"www.{site}"]
    for other_scheme in (scheme, "http" if scheme == "https" else "https"):
        for other_site in sites:
            yield from (f"{other_scheme}://{other_site}{other or '/'}" for other in [path, *paths])


def _candidates(crawl: StoredCrawl, url: str) -> set[str]:
    """URLs of the same origin: those linked from the folders above, then those found first and last."""
    origin = origin_of(url) + "/"
    found = {text for text in _linked_from_above(crawl, url) if text.startswith(origin)}
    newest = crawl.newest_url()
    for low, high in ((0, _SCANNED), (max(_SCANNED, newest - _SCANNED), newest)):
        rows = crawl.connection.execute(
            "SELECT text FROM url WHERE id > ? AND id <= ? AND text >= ? AND text < ? AND page IS NOT 0 LIMIT ?",
            (low, high, origin, origin[:-1] + "0", _CANDIDATES),
        )
        found.update(row[0] for row in rows)
    return found


def _linked_from_above(crawl: StoredCrawl, url: str) -> Iterator[str]:
    left = _LINKS_OF_ANCESTORS
    for page in _pages(crawl, list(_folders_above(url))).values():
        visit = crawl.connection.execute("SELECT visit FROM page WHERE id = ?", (page,)).fetchone()
        if visit is not None and visit[0] is not None:
            targets = list(dict.fromkeys(link.target for link in crawl.packed_links(visit[0])))[:left]
            left -= len(targets)
            ids = msgspec.json.encode(targets).decode()
            query = "SELECT u.text FROM json_each(?) j JOIN url u ON u.id = j.value WHERE u.page IS NOT 0"
            yield from (row[0] for row in crawl.connection.execute(query, (ids,)))
        if left <= 0:
            return


def _folders_above(url: str) -> Iterator[str]:
    """The nearest first."""
    origin, path = origin_of(url), path_of(url).partition("?")[0]
    for _ in range(_ANCESTORS):
        path = path.rstrip("/").rpartition("/")[0] + "/"
        yield origin + path
        if path == "/":
            return


def _likest(url: str, candidates: Collection[str], most: int) -> list[str]:
    """Compared at their ends first, which is cheap, then by shared triples of characters, then letter by letter."""
    wanted, backwards = _triples(url), url[::-1]
    begins = heapq.nlargest(_LIKE_AT_AN_END, candidates, key=lambda text: _shared(url, text))
    ends = heapq.nlargest(_LIKE_AT_AN_END, candidates, key=lambda text: _shared(backwards, text[::-1]))
    by_triples = sorted({*begins, *ends}, key=lambda text: (_overlap(wanted, _triples(text)), text), reverse=True)
    matcher = SequenceMatcher(b=url, autojunk=False)
    scored = []
    for text in by_triples[:_COMPARED]:
        matcher.set_seq1(text)
        scored.append((matcher.ratio(), text))
    start = len(origin_of(url)) / max(1, len(url))  # what all of them share says nothing
    return [text for score, text in sorted(scored, reverse=True) if score >= start + (1 - start) * _LIKE / 2][:most]


def _shared(one: str, other: str) -> int:
    """How many characters at their beginning two texts have in common."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _triples(text: str) -> frozenset[str]:
    text = text[:500].lower()
    return frozenset(text[i : i + 3] for i in range(len(text) - 2))


def _overlap(wanted: frozenset[str], other: frozenset[str]) -> float:
    return len(wanted & other) / (len(wanted | other) or 1)


def _roots_of_like_sites(crawl: StoredCrawl, url: str, most: int) -> Iterator[str]:
    rows = crawl.connection.execute("SELECT name FROM site ORDER BY id LIMIT ?", (_SITES,))
    for name in get_close_matches(site_of(url), [row[0] for row in rows], n=most, cutoff=_LIKE):
        for root in (f"https://{name}/", f"http://{name}/"):
            if crawl.page_id(root) is not None:
                yield root
